"""The independent checker, one file of plain Python, agrees with ``recheck`` on certificates, true
and tampered."""

from __future__ import annotations

import ast
import copy
import functools
import json
import operator
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
import ldpopt_check as checker
from builders import run_cli, thorough_or
from checker_cases import ALL_SETS, SLOW, designs, is_short, saved
from ldpopt import load_design
from ldpopt.certificate import recheck
from ldpopt.certificate.program_bound import Multipliers, PairRows
from ldpopt.certificate.program_certificate import prove
from ldpopt.errors import LdpoptError
from ldpopt.privacy import notion as notions
from tampering import tamperings, with_digest

BUDGETS = (0.0, 1e-6, 0.3, 1.0, 5.0, 40.0, 720.0, "0.1", "log(3)", "log(1000001/1000000)")


KINDS = [kind for kind, known in notions.KINDS.items() if known.__module__.startswith("ldpopt.")]


def notion(kind: str, inputs: list[str], rng: np.random.Generator) -> Any:
    epsilon: Any = BUDGETS[rng.integers(len(BUDGETS))]
    n = len(inputs)
    some = [str(name) for name in rng.choice(inputs, int(rng.integers(1, n + 1)), replace=False)]
    if kind == "pure":
        return lo.PureLDP(epsilon)
    if kind == "approximate":
        form: Any = rng.choice(["event", "entry"]).item()
        delta = float(rng.choice([0.0, 1e-9, 0.05, 0.3]))
        path = nx.relabel_nodes(nx.path_graph(n), dict(enumerate(inputs)))
        return lo.ApproximateLDP(epsilon, delta, form, graph=[None, path][rng.integers(2)])
    if kind == "curve":
        more = [("1/7", 0.2), (2.5, float(rng.choice([0.0, 0.05])))]
        return lo.ApproximateLDP.of_curve([*more, (epsilon, 0.3)])
    if kind == "gaussian":
        return lo.GaussianLDP(["1/3", 0.01, 1, 2.5, 20][rng.integers(5)])
    if kind == "graph":
        graph = [
            nx.path_graph(n),
            nx.cycle_graph(n),
            nx.random_labeled_tree(n, seed=int(rng.integers(10**6))),
        ]
        return lo.GraphDP(
            epsilon,
            nx.relabel_nodes(graph[rng.integers(3 if n > 2 else 1)], dict(enumerate(inputs))),
        )
    if kind == "metric":
        places = np.sort(rng.random(n)) + np.arange(n)
        return lo.MetricDP(epsilon, np.abs(np.subtract.outer(places, places)))
    if kind in ("one_sided", "utility_optimized"):
        tied = lo.OneSided if kind == "one_sided" else lo.UtilityOptimizedLDP
        return tied(epsilon, some)
    epsilon = BUDGETS[rng.integers(1, len(BUDGETS))]
    if kind == "all":
        return several(inputs, rng)
    assert kind in AVERAGED, f"notion() makes no notion of the kind {kind!r}: add one"
    return AVERAGED[kind](epsilon, inputs, rng)


def weights(names: list[str], rng: np.random.Generator) -> dict[str, Any]:
    """Weights by label: decimals, fractions as text, and some that are 0."""
    drawn = rng.integers(0, 5, len(names))
    drawn[rng.integers(len(names))] += 1
    forms: Any = (lambda w: int(w), lambda w: f"{w}/7", lambda w: w / 10)
    return {
        name: forms[rng.integers(3)](weight)
        for name, weight in zip(names, drawn.tolist(), strict=True)
    }


def secrets(epsilon: Any, inputs: list[str], rng: np.random.Generator) -> lo.Secrets:
    names = ["ill", "well", "unknown"][: int(rng.integers(2, 4))]
    pairs = [(s, t) for s in names for t in names if s != t and rng.random() < 0.7]
    return lo.Secrets(epsilon, {name: weights(inputs, rng) for name in names}, pairs or None)


def budgets(epsilon: Any, inputs: list[str], rng: np.random.Generator) -> lo.PairwiseLDP:
    pairs = [(x, other) for x in inputs for other in inputs if x != other]
    table = {pair: BUDGETS[rng.integers(1, len(BUDGETS))] for pair in pairs if rng.random() < 0.6}
    return lo.PairwiseLDP(dict.fromkeys(pairs) | {pairs[0]: epsilon} | table)


def bounds(epsilon: Any, inputs: list[str], rng: np.random.Generator) -> lo.ColumnCone:
    def side() -> dict[str, Any]:
        size = int(rng.integers(1, len(inputs) + 1))
        return weights(rng.choice(inputs, size, replace=False).tolist(), rng)

    return lo.ColumnCone([lo.OddsBound(side(), side(), epsilon) for _ in range(rng.integers(1, 7))])


def several(inputs: list[str], rng: np.random.Generator) -> Any:
    """Two or three notions at once, of any kinds that a list of comparisons may hold."""
    parts = []
    while len(parts) < 2 + (rng.random() < 0.3):
        part = notion(str(rng.choice([kind for kind in KINDS if kind != "all"])), inputs, rng)
        has_events = part.is_separated or getattr(part, "delta", 0)
        if not has_events and getattr(part, "epsilon", 1) > 0:
            parts.append(part)
    return functools.reduce(operator.and_, parts)


AVERAGED: dict[str, Any] = {
    "leakage": lambda epsilon, inputs, rng: lo.PML(epsilon, stated(inputs, rng)),
    "information": lambda epsilon, inputs, rng: lo.InformationPrivacy(epsilon, stated(inputs, rng)),
    "secrets": secrets,
    "pairwise": budgets,
    "cone": bounds,
}


def stated(inputs: list[str], rng: np.random.Generator) -> Any:
    """A prior of the notion; None for that of the problem."""
    return weights(inputs, rng) if rng.random() < 0.6 else None


@functools.cache
def certificate(seed: int) -> Any:
    """Certificate of a random problem; None where no channel fits."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    m = n if seed % 4 else int(rng.integers(2, 7))
    inputs = [f"answer {x}" for x in range(n)]
    outputs = inputs if m == n else [f"report {y}" for y in range(m)]
    worst = bool(rng.random() < 0.3)
    utility = lo.Utility(
        rng.random((n, m)) * 10.0 ** rng.integers(-3, 4), rng.choice(["gain", "loss"]).item()
    )
    constraints = ()
    if seed % 7 == 0:
        cost = rng.random((n, m))
        constraints = (lo.constraints.linear(cost, upper=1.02 * float(cost.sum() / m)),)
    privacy = notion(KINDS[seed % len(KINDS)], inputs, rng)
    try:
        problem = lo.Problem(
            None if worst else rng.dirichlet(np.ones(n)),
            utility,
            privacy,
            inputs=inputs,
            outputs=outputs,
            objective="worst_case" if worst else "expected",
            constraints=constraints,
        )
        return lo.certify(lo.solve(problem))
    except lo.errors.InfeasibleError:
        return None
    except lo.errors.StatementError as error:
        # no prior in a worst case, or no report that all notions allow an answer
        if error.code not in ("notion-prior", "silent-input"):
            raise
        return None


def verdict(data: dict[str, Any], path: Path) -> str:
    """What the checker says: private, refused, or no certificate."""
    path.write_text(json.dumps(data))
    try:
        checker.check(path)
    except checker.ClaimError:
        return "refused"
    except Exception:  # as in the checker: any failure is one of the file
        return "no certificate"
    return "holds"


def test_it_is_one_file_that_imports_the_standard_library_alone() -> None:
    tree = ast.parse(Path(checker.__file__).read_text(encoding="utf-8"))
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names


@pytest.mark.parametrize("seed", range(thorough_or(len(KINDS), 100)))
def test_certificates_of_every_notion_hold(tmp_path: Path, seed: int) -> None:
    proof = certificate(seed)
    if proof is None:
        pytest.skip("no channel fits")
    path = tmp_path / "proof.json"
    proof.save(path)
    _, bound, gap = checker.check(path)
    assert float(gap) == pytest.approx(float(proof.gap), abs=1e-9 * max(1.0, abs(float(bound))))


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the numbers and words of a file stand."""
    if isinstance(data, (dict, list)):
        entries = data.items() if isinstance(data, dict) else enumerate(data)
        return [place for key, part in entries for place in places(part, (*path, key))]
    return [path]


def changed(data: Any, place: tuple[Any, ...], rng: np.random.Generator) -> Any:
    """A copy with another value at a place."""
    data = copy.deepcopy(data)
    table = data
    for key in place[:-1]:
        table = table[key]
    old = table[place[-1]]
    if isinstance(old, str) and "/" in old and place[0] == "claim":
        new: Any = str(
            checker.Fraction(old) * checker.Fraction(str(rng.choice(["0.99", "1.01", "-1"])))
        )
    elif isinstance(old, str) and old.startswith(("0x", "-0x")):
        new = (float.fromhex(old) * rng.choice([-1.0, 0.5, 2.0]) + 0.01).hex()
    elif isinstance(old, int) and not isinstance(old, bool):
        new = old + int(rng.choice([-1, 1, 2**40, -(2**60)]))
    elif isinstance(old, float):
        new = old * rng.choice([0.5, 1.5, -1.0]) + rng.choice([0.0, 0.1])
    else:
        new = rng.choice(["", "0", "other"]).item() if isinstance(old, str) else 1.0
    table[place[-1]] = new
    return data


def rechecked(data: dict[str, Any], path: Path) -> bool:
    """Whether the library's own check accepts a file."""
    path.write_text(json.dumps(data))
    try:
        if not {"workload", "size", "sizes", "kinds"}.isdisjoint(data):
            return not load_design(path).certificate.recheck()
        found = recheck(lo.Certificate.load(path))
        return found.holds or is_near(found)
    except LdpoptError:
        return False


def is_near(checked: Any) -> bool:
    """Whether the claim is off by no more than the checker allows a bound to be."""
    if checked.found is None or any(
        not part.startswith(("bound", "relative_gap")) for part in checked.failures
    ):
        return False
    stake = checked.found.problem.utility.matrix.max() - checked.found.problem.utility.matrix.min()
    off = abs(float(checked.claimed.bound - checked.found.bound))
    return bool(
        off <= 1e-15 * stake
        and abs(checked.claimed.relative_gap - checked.found.relative_gap) <= 1e-15
    )


@pytest.mark.parametrize("seed", range(thorough_or(6, 30)))
def test_changed_values_have_the_same_verdict_as_in_the_library(tmp_path: Path, seed: int) -> None:
    proof = certificate(seed)
    if proof is None:
        pytest.skip("no channel fits")
    path = tmp_path / "proof.json"
    proof.save(path)
    data = json.loads(path.read_text())
    rng = np.random.default_rng(seed)
    found = [place for place in places(data) if place[0] != "format"]
    for number in rng.choice(len(found), 5):
        other = changed(data, found[number], rng)
        assert (verdict(other, path) == "holds") == rechecked(other, path), found[number]


USUAL = [name for name in designs() if name not in thorough_or(SLOW, ())]
"""Designs that are quickly made; tests of the checker alone try every one."""


@pytest.mark.parametrize("name", USUAL)
def test_designs_hold_and_changed_ones_have_the_same_verdict(tmp_path: Path, name: str) -> None:
    """As the library writes them; one that is changed is judged alike, but for what only this
    checker proves."""
    path = tmp_path / "design.json"
    path.write_text(saved(name))
    found = load_design(path)
    _, bound, gap = checker.check(path)
    assert not found.certificate.recheck()
    assert float(bound) == pytest.approx(found.bound, rel=1e-9)
    assert float(gap) == pytest.approx(float(found.certificate.gap), abs=1e-9 * found.value)
    data = json.loads(saved(name))
    rng = np.random.default_rng(0)
    data.pop("about", None)  # its digest would refuse most changes before anything is proved
    at = [place for place in places(data) if place[0] not in ("format", "digest")]
    for number in rng.choice(len(at), thorough_or(1, 12)):
        other = with_digest(changed(data, at[number], rng))
        assert (verdict(other, path) == "holds") == rechecked(other, path), at[number]


@pytest.mark.parametrize("name", USUAL)
def test_tampering_has_the_same_verdict_in_the_library(tmp_path: Path, name: str) -> None:
    data = json.loads(saved(name))
    path = tmp_path / "design.json"
    usual = 4 if is_short(name) else 2
    for what, other, is_false in tamperings(
        data, thorough_or(usual, 15 if name in ALL_SETS else 35)
    ):
        assert rechecked(other, path) != is_false, what
        assert not rechecked({**other, "digest": data["digest"]}, path), what


def test_as_a_program(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    lo.certify(lo.solve(lo.Problem([0.5, 0.5], "identity", lo.PureLDP("log(3)")))).save(path)
    command = [sys.executable, "-I", checker.__file__]
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, "holds" in done.stdout) == (0, True)
    path.write_text(path.read_text().replace("log(3)", "log(2)"))
    done = subprocess.run(
        [*command, str(path), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "DOES NOT HOLD" in done.stdout
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: ")


def test_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    lo.certify(lo.solve(lo.Problem([0.5, 0.5], "identity", lo.PureLDP("log(3)")))).save(path)
    done = run_cli("certify", "--independent", path)
    assert done.exit_code == 0
    assert "the independent checker" in done.stderr


def test_ambiguous_numbers_are_refused(tmp_path: Path) -> None:
    """Numbers as text that is no hexadecimal, no epsilon, a tiny claim beyond the proof, log(1)."""
    path = tmp_path / "proof.json"
    distance = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    lo.certify(lo.solve(lo.Problem([0.5, 0.3, 0.2], "identity", lo.MetricDP(1.0, distance)))).save(
        path
    )
    data = json.loads(path.read_text())
    for place, new in (
        (
            ("statement", "privacy", "distance"),
            [["0", "10", "20"], ["10", "0", "10"], ["20", "10", "0"]],
        ),
        (("statement", "privacy", "epsilon"), None),
    ):
        other = copy.deepcopy(data)
        table = other
        for key in place[:-1]:
            table = table[key]
        table[place[-1]] = new
        assert verdict(other, path) == "no certificate"
    bound = checker.Fraction(data["claim"]["bound"]) - checker.Fraction(1, 10**12)
    other = copy.deepcopy(data)
    other["claim"]["bound"] = str(bound)
    other["claim"]["gap"] = str(bound - checker.Fraction(data["claim"]["achieved"]))
    assert verdict(other, path) == "refused"
    assert checker.power("log(1)", checker.Fraction(1, 3))[:2] == (1, 1)


@pytest.mark.parametrize("weight", [0.0, 2.0**-51, 2.0**-30])
def test_the_stake_of_a_worst_case_does_not_vanish_with_the_multipliers(
    tmp_path: Path, weight: float
) -> None:
    utility = lo.utility.table([[0.0, 0.0], [4000.0, 0.0], [0.0, 1000.0]], "gain")
    problem = lo.Problem(None, utility, lo.PureLDP(1.0), objective="worst_case")
    rough = Multipliers(
        "pairwise", None, np.array([1.0 - weight, weight, 0.0]), PairRows.joined([]), ()
    )
    proof = prove(problem, lo.solve(problem).mechanism, rough)
    assert proof.relative_gap <= 4000 * weight / (1000 / 300) * (1 + 1e-9)
    proof.save(tmp_path / "proof.json")
    checker.check(tmp_path / "proof.json")
    data = json.loads((tmp_path / "proof.json").read_text())
    data["claim"]["relative_gap"] = (proof.relative_gap + 1e-14).hex()
    (tmp_path / "proof.json").write_text(json.dumps(data))
    with pytest.raises(checker.ClaimError, match="relative_gap"):
        checker.check(tmp_path / "proof.json")
