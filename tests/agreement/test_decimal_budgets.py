"""Budgets in decimals: what is written means the same number in the library, in every file and in
the independent checker."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
import ldpopt_check as checker
from builders import cases, refused, run_cli, thorough_or
from ldpopt.accounting.certificate import CurveCertificate
from ldpopt.foundation.budget import Budget
from ldpopt.problem.modelfile import load_model, save_model

EPSILONS = [0.4, 0.3, 0.1, 0.7, 1.1, "0.1", "1/3", 2.3, np.float64(0.1) + 0.2, 1.0, "log(3)"]
FEW = thorough_or(["0.1", np.float64(0.1) + 0.2, "log(3)"], EPSILONS)
"""A decimal, a float that reads as another number, and a ratio."""
LABELS = ("a", "b", "c")
NOTIONS: dict[str, Callable[[Any], Any]] = {
    "pure": lo.PureLDP,
    "event": lambda e: lo.ApproximateLDP(e, 0.05),
    "entry": lambda e: lo.ApproximateLDP(e, 0.05, "entry"),
    "graph": lambda e: lo.GraphDP(e, nx.path_graph(LABELS)),
    "metric": lambda e: lo.MetricDP(e, np.abs(np.subtract.outer(range(3), range(3)))),
    "one-sided": lambda e: lo.OneSided(e, ["a"]),
    "utility-optimized": lambda e: lo.UtilityOptimizedLDP(e, ["a"]),
}


def problem(notion: Any) -> lo.Problem:
    return lo.Problem([0.2, 0.3, 0.5], "identity", notion, inputs=LABELS)


def two(epsilon: Any) -> dict[str, Any]:
    asked = lo.Workload.frequencies(["no", "yes"])
    half = Budget(epsilon).share(Fraction(1, 2))
    return {name: lo.design(asked, lo.PureLDP(half)) for name in ("smokes", "drinks")}


def account(epsilon: Any) -> CurveCertificate:
    """Two points of the curve of three reports, one of them at the budget itself."""
    response = lo.frequencies.RandomizedResponse(3, epsilon).mechanism
    curve = lo.accounting.compose([response] * 3)
    return CurveCertificate.of(curve, [float(Budget(epsilon)), curve.epsilon(1e-3)])


def joint(epsilon: Any) -> lo.Survey:
    asked = {"smokes": ["no", "yes"], "drinks": ["no", "yes"]}
    return lo.Survey(asked, epsilon=epsilon, scheme="joint")


SAVED: dict[str, Callable[[Any, Path], None]] = {
    **{
        name: lambda e, path, make=make: lo.certify(lo.solve(problem(make(e)))).save(path)
        for name, make in NOTIONS.items()
    },
    "sets": lambda e, path: lo.design(lo.Workload.frequencies(LABELS), lo.PureLDP(e)).save(path),
    "columns": lambda e, path: lo.design(lo.Workload.prefix(LABELS), lo.PureLDP(e)).save(path),
    "mean": lambda e, path: lo.design(lo.Workload.mean([0, 1, 3]), lo.PureLDP(e)).save(path),
    "rays": lambda e, path: lo.design(lo.Workload.frequencies(LABELS), NOTIONS["graph"](e)).save(
        path
    ),
    "account": lambda e, path: account(e).save(path),
}
SURVEYS: dict[str, Callable[[Any], lo.Survey]] = {
    "split": lambda e: lo.Survey(two(e), epsilon=e),
    "joint": joint,
}


@given(st.floats(0, 1e4) | st.decimals(0, 10**4, places=3).map(float) | st.integers(0, 10**4))
@cases(200)
def test_library_and_checker_read_the_same_number(epsilon: float) -> None:
    read = json.loads(json.dumps(epsilon))
    ratio, low, high = checker.nats(read)
    is_exact = 1 if epsilon == 0 else None  # e**0 = 1
    assert (ratio, low, high) == (is_exact, Budget(epsilon).nats, Budget(epsilon).nats)
    assert low == Fraction(repr(epsilon))


@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [(kind, epsilon) for kind in SAVED for epsilon in (EPSILONS if kind == "pure" else FEW)],
    ids=repr,
)
def test_what_is_saved_rechecks_in_library_and_checker(
    kind: str, epsilon: Any, tmp_path: Path
) -> None:
    path = tmp_path / "saved.json"
    SAVED[kind](epsilon, path)
    done = run_cli("certify", path)
    assert done.exit_code == 0, done.stderr
    checker.check(path)
    if kind != "account":
        table = json.loads(path.read_text())
        stated = table.get("statement", table)["privacy"]["epsilon"]
        assert (Budget(stated).nats, Budget(stated).ratio) == (
            Budget(epsilon).nats,
            Budget(epsilon).ratio,
        )


@pytest.mark.parametrize("epsilon", FEW, ids=repr)
@pytest.mark.parametrize("kind", SURVEYS)
def test_a_survey_keeps_its_budget(kind: str, epsilon: Any, tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    survey = SURVEYS[kind](epsilon)
    survey.save(path)
    found = lo.Survey.load(path)
    assert (found.limit.nats, found.limit.ratio) == (Budget(epsilon).nats, Budget(epsilon).ratio)
    assert survey.epsilon == found.epsilon <= Budget(epsilon).above
    assert run_cli("audit", path, "--epsilon", Budget(epsilon).exact_text).exit_code == 0


@pytest.mark.parametrize("epsilon", EPSILONS, ids=repr)
def test_a_model_file_keeps_its_budget(epsilon: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    save_model(problem(lo.PureLDP(epsilon)), path)
    found = load_model(path).privacy.epsilon
    assert (found.nats, found.ratio) == (Budget(epsilon).nats, Budget(epsilon).ratio)


@pytest.mark.parametrize("delta", [0.1, 1 / 3, 0.1 + 2.0**-56])
def test_files_and_the_checker_keep_a_delta_as_the_float(delta: float, tmp_path: Path) -> None:
    stated = problem(lo.ApproximateLDP(1.0, delta))
    save_model(stated, tmp_path / "model.toml")
    assert load_model(tmp_path / "model.toml").privacy.delta == delta
    lo.certify(lo.solve(stated)).save(tmp_path / "proof.json")
    written = json.loads((tmp_path / "proof.json").read_text())["statement"]["privacy"]
    assert Fraction(checker.delta_of(written), checker.S) == Fraction(delta)


@pytest.mark.parametrize(("each", "count"), [(0.4, 10), (0.1, 3), (0.7, 7), (0.3, 9), (1.1, 5)])
def test_decimals_add_up_as_on_paper(each: float, count: int) -> None:
    """Ten questions at 0.4 hold under 4, eleven do not."""
    asked = lo.design(lo.Workload.frequencies(["no", "yes"]), lo.PureLDP(each))
    total = float(Fraction(repr(each)) * count)
    questions = {f"q{place}": asked for place in range(count)}
    assert lo.Survey(questions, epsilon=total).epsilon <= total
    with refused("budget"):
        lo.Survey({**questions, "one more": asked}, epsilon=total)
    with refused("budget"):
        lo.Survey(questions, epsilon=total - 1e-9)


@pytest.mark.parametrize("total", ["4.0", "0.1", "1/3", "log(3)", "0.7"])
@pytest.mark.parametrize("count", [3, 7, 10])
def test_shares_in_a_survey_file_are_exact(total: str, count: int, tmp_path: Path) -> None:
    parts = "".join(
        f'[question.q{place}]\nlabels = ["a", "b"]\nshare = {round(1 / count, 2)}\n'
        for place in range(1, count)
    )
    path = tmp_path / "survey.toml"
    path.write_text(f'epsilon = "{total}"\n{parts}[question.q0]\nlabels = ["a", "b"]\n')
    from ldpopt.surveys.statement import read_survey

    budgets = read_survey(path).budgets.values()
    assert sum((part.nats for part in budgets), Fraction(0)) == Budget(total).lower_nats


def test_a_sum_is_compared_beyond_the_digits_of_floats() -> None:
    """Two questions of log(3) are log(9) = 2.197224577336219382..."""
    coin = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    below, above = (Fraction(f"2.1972245773362193{digit}") for digit in (8, 9))
    assert float(below) == float(above)
    assert lo.Survey({"a": coin, "b": coin}, epsilon=above).epsilon == float(above)
    with refused("budget"):
        lo.Survey({"a": coin, "b": coin}, epsilon=below)
