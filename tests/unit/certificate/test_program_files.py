"""Certificates: the safe bound, files that say everything themselves, and a recheck that trusts
only the statement."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from builders import refused, run_python
from certificate_cases import (
    BAD,
    HALF,
    HUGE,
    NOTIONS,
    TAMPERED,
    WRONG,
    bad_text,
    proof_of,
    put,
    stated,
    tamper,
    unbiased_proof,
)
from ldpopt import (
    MetricDP,
    Problem,
    PureLDP,
    RowBlock,
    Utility,
    certify,
    solve,
)
from ldpopt.certificate import Certificate, program_files, recheck
from ldpopt.errors import CertificateError, ModelFileError


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


@pytest.fixture(scope="module")
def unbiased(tmp_path_factory):
    path = tmp_path_factory.mktemp("certificate") / "unbiased.json"
    unbiased_proof().save(path)
    return path


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_found(tmp_path, unbiased, name):
    path = tmp_path / "bad.json"
    data = json.loads(unbiased.read_text())
    number = tamper(data, name)
    path.write_text(json.dumps(data))
    assert number in [failure.split(":")[0] for failure in recheck(Certificate.load(path)).failures]


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


def test_a_more_cautious_claim_holds_too(unbiased):
    proof = Certificate.load(unbiased)
    looser = replace(proof, bound=proof.bound - 1, gap=proof.gap + 1)
    failures = recheck(looser).failures
    assert [failure.split(":")[0] for failure in failures] == ["relative_gap"]
    assert not recheck(looser).is_same


@pytest.mark.parametrize("name", [*BAD, *WRONG])
def test_a_bad_file_is_refused_by_name(tmp_path, unbiased, name):
    path = tmp_path / "bad.json"
    path.write_text(bad_text(name, json.loads(unbiased.read_text())))
    with pytest.raises(ModelFileError) as caught:
        Certificate.load(path)
    assert "bad.json" in str(caught.value)


@pytest.mark.parametrize("change", HUGE)
def test_huge_numbers_end_in_a_verdict(tmp_path, change):
    proof_of("metric", "worst_case", blocks=[HALF]).save(tmp_path / "proof.json")
    data = json.loads((tmp_path / "proof.json").read_text())
    change(data)
    (tmp_path / "proof.json").write_text(json.dumps(data))
    assert not recheck(Certificate.load(tmp_path / "proof.json")).holds


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
from ldpopt import Certificate, Problem, PureLDP, solve
from ldpopt.certificate import recheck
from ldpopt.errors import SolverNotFoundError
assert recheck(Certificate.load("proof.json")).is_same
print("holds")
try:
    solve(Problem([0.5, 0.5], "identity", PureLDP(1.0)), solver="highs")
except SolverNotFoundError:
    print("no solver", file=sys.stderr)
"""


def test_a_recheck_needs_no_solver(tmp_path):
    proof_of("event", "worst_case", blocks=[HALF]).save(tmp_path / "proof.json")
    done = run_python(WITHOUT_SOLVERS, cwd=tmp_path)
    assert done.stderr == "no solver\n"
    assert done.stdout == "holds\n"


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
