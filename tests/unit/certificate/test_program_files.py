"""Certificates: the safe bound, files that say everything themselves, and a recheck that trusts
only the statement."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from builders import hops, refused, run_cli, run_python
from ldpopt import (
    ApproximateLDP,
    GraphDP,
    MetricDP,
    OneSided,
    Problem,
    PureLDP,
    RowBlock,
    Utility,
    UtilityOptimizedLDP,
    certify,
    constraints,
    solve,
)
from ldpopt.certificate import Certificate, program_files, recheck
from ldpopt.errors import CertificateError, ModelFileError

LABELS = ("a", "b", "c", "d")
HOPS = hops(4) * 0.7
NOTIONS = {
    "pure": PureLDP("log(7/2)"),
    "decimal": PureLDP("0.3"),
    "event": ApproximateLDP(0.5, 0.1),
    "entry": ApproximateLDP(0.5, 0.1, "entry"),
    "graph": GraphDP(1.0, nx.path_graph(LABELS)),
    "metric": MetricDP(1.0, HOPS),
    "one-sided": OneSided(0.7, ["b"]),
    "utility-optimized": UtilityOptimizedLDP(0.7, ["b"]),
}
GAIN = (np.random.default_rng(5).random((4, 3)) / 4 + np.eye(4, 3)).round(3)
HALF = constraints.linear(GAIN.round(1), lower=0.5, upper=2.2, name="half")


def stated(notion="pure", objective="expected", sense="gain", blocks=()):
    prior = np.array([0.4, 0.3, 0.2, 0.1]) if objective == "expected" else None
    utility = Utility(GAIN, sense)
    return Problem(
        prior, utility, NOTIONS[notion], inputs=LABELS, objective=objective, constraints=blocks
    )


def proof_of(*args, form=None, **kwargs):
    return certify(solve(stated(*args, **kwargs), form=form))


@pytest.mark.parametrize("form", [None, "pairwise"])
@pytest.mark.parametrize(
    "objective, sense", [("expected", "gain"), ("worst_case", "loss"), ("worst_case", "gain")]
)
@pytest.mark.parametrize("notion", NOTIONS)
def test_a_file_has_every_part_of_the_certificate(tmp_path, notion, objective, sense, form):
    proof = proof_of(notion, objective, sense, [HALF], form=form)
    assert proof.relative_gap < 1e-9
    proof.save(tmp_path / "proof.json")
    read = Certificate.load(tmp_path / "proof.json")
    assert read == proof
    assert (read.problem.inputs, read.problem.outputs) == (
        proof.problem.inputs,
        proof.problem.outputs,
    )
    assert np.array_equal(read.mechanism.counts, proof.mechanism.counts)
    checked = recheck(read)
    assert checked.failures == ()
    assert checked.is_same
    read.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "proof.json").read_bytes()


def test_a_graph_is_written_by_positions_and_also_read_by_name(tmp_path):
    proof = proof_of("graph")
    proof.save(tmp_path / "proof.json")
    data = json.loads((tmp_path / "proof.json").read_text())
    stated = data["statement"]["privacy"]
    assert stated.pop("edges") == [[0, 1], [1, 2], [2, 3]]
    stated["neighbors"] = {"kind": "path"}
    (tmp_path / "old.json").write_text(json.dumps(data))
    read = Certificate.load(tmp_path / "old.json")
    assert read == proof
    assert recheck(read).is_same
    del stated["neighbors"]
    stated["edges"] = [[0, 1], [1, 4], [2, 3]]
    (tmp_path / "old.json").write_text(json.dumps(data))
    with pytest.raises(ModelFileError, match=r"positions of inputs") as caught:
        Certificate.load(tmp_path / "old.json")
    assert caught.value.where.endswith("statement.privacy.edges[1]")


def test_generated_events_are_in_the_file(tmp_path):
    proof = proof_of("event", "worst_case")
    assert len(proof.multipliers.pairs.value) > 0
    assert np.bincount(proof.multipliers.pairs.row).max() > 1
    proof.save(tmp_path / "proof.json")
    data = json.loads((tmp_path / "proof.json").read_text())
    assert any(len(event) > 1 for _, _, event, _ in data["multipliers"]["privacy"])
    data["multipliers"]["privacy"] = []
    (tmp_path / "proof.json").write_text(json.dumps(data))
    failures = recheck(Certificate.load(tmp_path / "proof.json")).failures
    assert [failure.split(":")[0] for failure in failures] == ["bound"]


def moved_mass(data):
    row = data["mechanism"]["masses"][0]
    row[0], row[1] = row[0] - 1, row[1] + 1


def put(*path):
    """Set the value at a path of keys."""
    *keys, last, value = path

    def change(data):
        for key in keys:
            data = data[key]
        data[last] = value(data[last]) if callable(value) else value

    return change


def scaled(text, factor):
    return str(Fraction(text) * factor)


TAMPERED = {
    "one unit of mass": (moved_mass, "achieved"),
    "a bound one ulp lower": (
        put("claim", "bound", lambda b: scaled(b, 1 - Fraction(1, 2**53))),
        "bound",
    ),
    "a better value": (
        put("claim", "achieved", lambda a: scaled(a, 1 + Fraction(1, 2**300))),
        "achieved",
    ),
    "a smaller gap": (put("claim", "gap", "0"), "gap"),
    "a smaller relative gap": (put("claim", "relative_gap", "0x0.0p+0"), "relative_gap"),
    "no residual": (put("claim", "residuals", "unbiased", "0x0.0p+0"), "residual of 'unbiased'"),
    "a multiplier": (put("multipliers", "constraints", "unbiased", 0, "0x1.8p+3"), "bound"),
    "a row's multiplier": (put("multipliers", "row_sums", 1, "-0x1.0p+0"), "bound"),
    "less epsilon": (put("statement", "privacy", "epsilon", "log(2)"), "privacy"),
    "more epsilon": (put("statement", "privacy", "epsilon", "log(4)"), "bound"),
    "another prior": (put("statement", "prior", [0.25, 0.25, 0.5]), "achieved"),
    "another loss": (put("statement", "utility", 0, 0, 0.5), "achieved"),
    "another target": (
        put("statement", "constraints", 0, "lower", 0, -0.9),
        "residual of 'unbiased'",
    ),
}


@pytest.fixture(scope="module")
def unbiased(tmp_path_factory):
    """A certificate in which every kind of number matters."""
    block = constraints.unbiased([-1, 0, 1], [-3, -1, 1, 3])
    loss = np.square(np.subtract.outer([-1, 0, 1], [-3, -1, 1, 3])).astype(float)
    problem = Problem(
        [0.5, 0.3, 0.2], Utility(loss, "loss"), PureLDP("log(3)"), constraints=[block]
    )
    path = tmp_path_factory.mktemp("certificate") / "unbiased.json"
    certify(solve(problem)).save(path)
    return path


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_found(tmp_path, unbiased, name):
    change, number = TAMPERED[name]
    data = json.loads(unbiased.read_text())
    if name == "a bound one ulp lower":
        # of a loss: higher is better
        data["claim"]["bound"] = scaled(data["claim"]["bound"], 1 + Fraction(1, 2**52))
        change = lambda data: None  # noqa: E731
    change(data)
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(data))
    assert number in [failure.split(":")[0] for failure in recheck(Certificate.load(path)).failures]
    result = run_cli("certify", str(path))
    assert result.exit_code == 1
    assert f"{number}:" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "notion, change",
    [
        ("graph", put("statement", "privacy", "edges", [[0, 1], [1, 2], [0, 3]])),
        ("event", put("statement", "privacy", "form", "entry")),
        ("graph", put("multipliers", "form", "compact")),
        ("metric", put("multipliers", "privacy", 0, 1, lambda _: None)),
    ],
)
def test_rows_that_do_not_follow_from_the_statement_prove_nothing(tmp_path, notion, change):
    proof_of(notion, "worst_case").save(tmp_path / "proof.json")
    data = json.loads((tmp_path / "proof.json").read_text())
    change(data)
    if data["multipliers"]["form"] == "compact":
        data["multipliers"]["row_sums"] = data["multipliers"]["row_sums"] or ["0x0.0p+0"] * 4
    row = data["multipliers"]["privacy"][0]
    row[1] = row[0] if row[1] is None else row[1]
    (tmp_path / "proof.json").write_text(json.dumps(data))
    checked = recheck(Certificate.load(tmp_path / "proof.json"))
    assert checked.found is None
    assert any(failure.startswith("bound: ") for failure in checked.failures)
    result = run_cli("certify", str(tmp_path / "proof.json"), "--json", "-")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["found"] is None


def test_a_more_cautious_claim_holds_too(unbiased):
    proof = Certificate.load(unbiased)
    looser = replace(proof, bound=proof.bound - 1, gap=proof.gap + 1)
    failures = recheck(looser).failures
    assert [failure.split(":")[0] for failure in failures] == ["relative_gap"]
    assert not recheck(looser).is_same


BAD = {
    "nothing": "",
    "a list": "[]",
    "nan": '{"format": NaN}',
    "a key twice": '{"format": "x", "format": "x"}',
    "deep": "[" * 100_000 + "]" * 100_000,
    "another file": '{"inputs": [], "outputs": [], "channel": []}',
}
WRONG = {
    "an unknown key": put("hint", 1),
    "another format": put("format", "ldpopt certificate 9"),
    "masses that do not sum": put("mechanism", "masses", 0, 0, 1),
    "a negative mass": put("mechanism", "masses", 0, 0, -1),
    "a mass that is a float": put("mechanism", "masses", 0, 0, 1.0),
    "too few rows": put("mechanism", "masses", lambda rows: rows[1:]),
    "fewer bits": put("mechanism", "bits", 16),
    "an infinite number": put("statement", "prior", 0, 1e999),
    "an integer beyond floats": put("statement", "utility", 0, 0, 10**400),
    "a truth value": put("statement", "prior", 0, True),
    "a prior that does not sum": put("statement", "prior", 0, 0.6),
    "a negative budget": put("statement", "privacy", "epsilon", -1.0),
    "an unknown notion": put("statement", "privacy", "kind", "homemade"),
    "a label twice": put("statement", "inputs", ["a", "a", "b"]),
    "a decimal multiplier": put("multipliers", "row_sums", 0, "0.5"),
    "a nan multiplier": put("multipliers", "row_sums", 0, "nan"),
    "a huge exponent": put("multipliers", "row_sums", 0, "0x1.0p+9999"),
    "no rational": put("claim", "bound", "1e99999999"),
    "a rational over zero": put("claim", "bound", "1/00"),
    "a rational beyond floats": put("claim", "bound", "1" * 400),
    "a missing multiplier": put("multipliers", "constraints", {}),
    "an event of no output": put("multipliers", "privacy", [[0, 1, [9], "0x1.0p+0"]]),
    "an event twice": put("multipliers", "privacy", [[0, 1, [1, 1], "0x1.0p+0"]]),
    "a negative multiplier": put("multipliers", "privacy", [[0, 1, [1], "-0x1.0p+0"]]),
    "a side outside": put("statement", "constraints", 0, "rows", 0, 0, [7, 0, 1.0]),
}


@pytest.mark.parametrize("name", [*BAD, *WRONG])
def test_a_bad_file_is_refused_in_one_line(tmp_path, unbiased, name):
    path = tmp_path / "bad.json"
    text = BAD.get(name)
    if text is None:
        data = json.loads(unbiased.read_text())
        if name == "an unknown key":
            data["hint"] = 0
        WRONG[name](data)
        text = json.dumps(data)
    path.write_text(text)
    with pytest.raises(ModelFileError):
        Certificate.load(path)
    result = run_cli("certify", str(path))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "bad.json" in result.stderr


@pytest.mark.parametrize(
    "change",
    [
        put("multipliers", "privacy", 0, 3, "0x1.fffffffffffffp+1023"),
        put("multipliers", "constraints", "half", 0, "-0x1.fffffffffffffp+1023"),
        put(
            "statement",
            "privacy",
            "distance",
            [[0 if x == y else 1e300 for y in range(4)] for x in range(4)],
        ),
        put("statement", "privacy", "epsilon", 1e4),
        put("statement", "utility", [[1e308] * 3] * 4),
        put("statement", "constraints", 0, "upper", 0, 5e-324),
        put("claim", "relative_gap", "-0x1.fffffffffffffp+1023"),
    ],
)
def test_huge_numbers_end_in_a_verdict(tmp_path, change):
    proof_of("metric", "worst_case", blocks=[HALF]).save(tmp_path / "proof.json")
    data = json.loads((tmp_path / "proof.json").read_text())
    change(data)
    (tmp_path / "proof.json").write_text(json.dumps(data))
    for extra in ([], ["--json", "-"]):
        result = run_cli("certify", str(tmp_path / "proof.json"), *extra)
        assert result.exit_code == 1, result.exception
        assert result.stderr.count("\n") == 1


def test_certificates_that_cannot_be_saved_are_refused(tmp_path):
    class Homemade(PureLDP):
        pass

    proof = certify(solve(Problem([0.5, 0.5], "identity", Homemade(1.0))))
    assert proof.relative_gap < 1e-12
    with refused("notion-kind", CertificateError):
        proof.save(tmp_path / "proof.json")
    cells = Problem([0.5, 0.5], "identity", PureLDP(1.0), inputs=[(0, 0), (0, 1)])
    certify(solve(cells)).save(tmp_path / "proof.json")
    assert Certificate.load(tmp_path / "proof.json").problem.inputs == ((0, 0), (0, 1))
    (tmp_path / "proof.json").unlink()
    odd = Problem([0.5, 0.5], "identity", PureLDP(1.0), inputs=[None, "a"])
    with pytest.raises(CertificateError, match="label None"):
        certify(solve(odd)).save(tmp_path / "proof.json")
    rounded = certify(solve(stated()), exact=False)
    for use in (lambda: rounded.save(tmp_path / "proof.json"), lambda: recheck(rounded)):
        with pytest.raises(CertificateError, match="floats"):
            use()
    with pytest.raises(ModelFileError, match="cannot read"):
        Certificate.load(tmp_path / "missing.json")
    assert list(tmp_path.iterdir()) == []


WITHOUT_SOLVERS = """
import sys
sys.modules.update(dict.fromkeys(["highspy", "pulp", "cvxpy", "scipy.optimize"]))
from ldpopt import Problem, PureLDP, solve
from ldpopt.cli import main
from ldpopt.errors import SolverNotFoundError
sys.argv[1:] = ["certify", "proof.json", "--json", "-"]
try:
    main()
except SystemExit as end:
    assert not end.code
try:
    solve(Problem([0.5, 0.5], "identity", PureLDP(1.0)))
except SolverNotFoundError:
    print("no solver", file=sys.stderr)
"""


def test_a_recheck_needs_no_solver(tmp_path):
    proof_of("event", "worst_case", blocks=[HALF]).save(tmp_path / "proof.json")
    done = run_python(WITHOUT_SOLVERS, cwd=tmp_path)
    assert done.stderr == "no solver\n"
    assert json.loads(done.stdout)["holds"] is True


MODEL = """
[alphabet]
inputs = ["no", "yes"]
[prior]
values = [0.5, 0.5]
[privacy]
kind = "pure"
epsilon = "log(3)"
"""


def test_the_verb_certifies_a_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("coin.toml").write_text(MODEL)
    made = run_cli("certify", "coin.toml", "-o", "one.json")
    assert made.exit_code == 0
    assert "the certificate holds" in made.stdout
    assert run_cli("solve", "coin.toml", "--certificate", "two.json").exit_code == 0
    assert Certificate.load("one.json") == Certificate.load("two.json")
    data = json.loads(run_cli("certify", "two.json", "--json", "-").stdout)
    assert data["holds"] is True
    assert data["claimed"] == data["found"]
    assert data["audit"]["verdict"] == "certified"
    assert run_cli("certify", "two.json", "-o", "three.json").exit_code == 2
    assert not Path("three.json").exists()
    Path("odd.toml").write_text(MODEL.replace('"log(3)"', "1.0"))
    assert run_cli("certify", "odd.toml", "--gap", "0").exit_code == 1
    assert run_cli("certify", "coin.toml", "-o", "nowhere/one.json").exit_code == 2


def test_the_value_of_tiny_losses_is_exact(tmp_path):
    loss = np.array([[0.0, 1e-200], [3e-200, 0.0]])
    proof = certify(solve(Problem([0.5, 0.5], Utility(loss, "loss"), PureLDP("log(3)"))))
    masses = proof.mechanism.masses
    worth = sum(Fraction(float(u)) * int(v) for u, v in zip(loss.flat, masses.flat, strict=True))
    assert proof.achieved == worth / 2**54
    assert proof.bound <= proof.achieved
    proof.save(tmp_path / "proof.json")
    assert recheck(Certificate.load(tmp_path / "proof.json")).is_same


def test_a_block_of_several_rows_survives_the_file(tmp_path):
    rows = RowBlock(
        "two",
        np.array([0, 0, 1]),
        np.array([0, 1, 2]),
        np.array([0, 0, 1]),
        np.array([1.0, -1.0, 0.1]),
        np.array([-np.inf, 0.0]),
        np.array([0.1, np.inf]),
    )
    proof = proof_of("pure", blocks=[rows, HALF])
    proof.save(tmp_path / "proof.json")
    back = Certificate.load(tmp_path / "proof.json").problem.constraints[0]
    for part in ("row", "x", "y", "coefficient", "lower", "upper"):
        assert np.array_equal(getattr(back, part), getattr(rows, part))


def test_a_certificate_that_could_not_be_read_is_not_written(tmp_path, monkeypatch):
    distance = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    proof = certify(solve(Problem([0.5, 0.3, 0.2], "identity", MetricDP(1.0, distance))))
    assert proof.multipliers is not None
    size = 19 * 27 + 44 * len(proof.multipliers.pairs.value)
    monkeypatch.setattr(program_files, "LARGEST_FILE", size)
    proof.save(tmp_path / "proof.json")
    monkeypatch.setattr(program_files, "LARGEST_FILE", size - 1)
    with refused("file-size", CertificateError):
        proof.save(tmp_path / "larger.json")
    assert [path.name for path in tmp_path.iterdir()] == ["proof.json"]


@pytest.fixture
def pairwise_proof(tmp_path):
    path = tmp_path / "proof.json"
    problem = Problem([0.5, 0.5], "identity", PureLDP("log(3)"), inputs=["a", "b"])
    certify(solve(problem, form="pairwise")).save(path)
    return path, json.loads(path.read_text())


def test_multipliers_are_positive_and_masses_sum_to_one(pairwise_proof):
    path, data = pairwise_proof
    assert Certificate.load(path).recheck() == ()
    rows = data["multipliers"]["privacy"]
    assert rows
    for number in ("0x0.0p+0", "-0x1p-1074", "-0x1p-1"):
        data["multipliers"]["privacy"] = [*rows, [0, 1, [0], number]]
        path.write_text(json.dumps(data))
        with pytest.raises(ModelFileError):
            Certificate.load(path)
    data["multipliers"]["privacy"] = [[0, 1, [0], "0x1p-1074"], *rows]
    path.write_text(json.dumps(data))
    assert Certificate.load(path)
    first = data["mechanism"]["masses"][0]
    for wrong in ([first[0] + 1, first[1]], [first[0] - 1, first[1]], [2**53 + 1, -1], [2**54, 0]):
        data["mechanism"]["masses"][0] = wrong
        path.write_text(json.dumps(data))
        with pytest.raises(ModelFileError, match=r"masses"):
            Certificate.load(path)


def test_labels_in_files_are_text_or_numbers(pairwise_proof):
    path, data = pairwise_proof
    data["statement"]["inputs"] = data["statement"]["outputs"] = ["a", 1]
    path.write_text(json.dumps(data))
    assert Certificate.load(path).problem.inputs == ("a", 1)
    for wrong in (None, [None], {}):
        data["statement"]["inputs"] = ["a", wrong]
        path.write_text(json.dumps(data))
        with pytest.raises(ModelFileError):
            Certificate.load(path)
