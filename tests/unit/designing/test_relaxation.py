"""Designs for more than 20 answers: proved, near the bound, refused where anything was changed."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest

from builders import thorough_or
from ldpopt import DesignCertificate, PureLDP, Workload, design
from ldpopt.certificate.documents import digest_of
from ldpopt.errors import LdpoptError

N = thorough_or(24, 40)
"""Answers: more than can be listed."""


def rechecked(made):
    assert made.certificate.recheck() == ()
    assert made.mechanism.audit(made.privacy).verdict == "certified"
    assert np.allclose(made.estimator @ made.mechanism.channel.T, made.workload.matrix, atol=1e-8 * np.sqrt(made.value))
    return made


@pytest.mark.parametrize("kind", ["prefix", "ranges"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_near_the_bound(kind, epsilon):
    gap = thorough_or(3e-3, 2e-3)
    made = rechecked(design(getattr(Workload, kind)(N), PureLDP(epsilon), gap=gap))
    assert made.relative_gap <= gap
    assert made.certificate.multipliers.shift is not None


@pytest.mark.parametrize("weights", [1.0 / np.arange(1, N + 1), np.r_[np.zeros(4), np.ones(N - 4)]])
def test_weights_that_are_not_equal(weights):
    gap = thorough_or(1e-2, 3e-3)
    made = rechecked(design(Workload.prefix(N), PureLDP(1.0), weights=weights, gap=gap))
    assert made.relative_gap <= gap


@pytest.mark.parametrize("epsilon", [1e-3, 0.05, 4.0])
def test_small_and_large_budgets(epsilon):
    gap = thorough_or(2e-2, 5e-3)
    made = rechecked(design(Workload.prefix(N), PureLDP(epsilon), gap=gap))
    assert made.relative_gap <= gap


@pytest.mark.parametrize("limit", [1e-3, 0.3])
def test_a_time_limit_leaves_a_proved_design(limit):
    made = rechecked(design(Workload.prefix(32), PureLDP(1.0), gap=1e-9, time_limit=limit))
    assert 0 <= made.bound <= made.value


def test_a_larger_bound_is_proved_by_the_inequalities():
    """With a large budget sets are small, and that two answers are never both out of few is what the bound needs."""
    made = design(Workload.prefix(32), PureLDP(2.0), gap=2e-3)
    assert made.certificate.multipliers.inequalities.pairs.max() > 0
    assert made.relative_gap <= 2e-3


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("proof") / "proof.json"
    design(Workload.prefix(24), PureLDP(2.0), gap=1e-2).certificate.save(path)
    return path


def test_saved_and_rechecked(saved):
    assert DesignCertificate.load(saved).recheck() == ()


def sealed(data, proof, change):
    """With a digest of its own; multipliers are in an object of theirs."""
    parts = {key: value for key, value in change.items() if key in proof}
    found = {**data, **{key: value for key, value in change.items() if key not in proof}}
    found["multipliers"] = {**proof, **parts}
    return {**found, "digest": digest_of(found)}


FIELDS = ["workload", "epsilon", "weights", "masses", "left_inverse", "inverse", "line", "shift"]
FIELDS += ["pairs", "negative", "size", "factor", "none", "achieved", "bound"]


@pytest.mark.parametrize("field", FIELDS)
def test_tampered_certificates_are_refused(saved, tmp_path, field):
    data = json.loads(saved.read_text())
    proof = data["multipliers"]
    taken = proof["inequalities"]
    negative = [list(row) for row in taken["pairs"]]
    negative[0][1] = -1e-9
    changes = {
        "workload": {"workload": [[1.01 * entry for entry in row] for row in data["workload"]]},
        "epsilon": {"privacy": {"kind": "pure", "epsilon": "1.99"}},
        "weights": {"weights": [2.0, *data["weights"][1:]]},
        "masses": {"masses": [[row[1], row[0], *row[2:]] if not x else row for x, row in enumerate(data["masses"])]},
        "left_inverse": {"left_inverse": [[1.001 * entry for entry in row] for row in data["left_inverse"]]},
        "inverse": {"inverse": [[1.001 * entry for entry in row] for row in proof["inverse"]]},
        "line": {"line": [entry * 0.999 for entry in proof["line"]]},
        "shift": {"shift": [1.1 * entry for entry in proof["shift"]]},
        "pairs": {"inequalities": {**taken, "pairs": [[1.1 * entry for entry in row] for row in taken["pairs"]]}},
        "negative": {"inequalities": {**taken, "pairs": negative}},
        "size": {"inequalities": {**taken, "size": 1.5}},
        "factor": {"inequalities": {**taken, "factor": taken["factor"] + 0.1 * float(np.abs(proof["line"]).sum())}},
        "none": {"inequalities": None},
        "achieved": {"achieved": "1"},
        "bound": {"bound": "1000"},
    }
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(sealed(data, proof, changes[field])))
    with contextlib.suppress(LdpoptError):
        assert DesignCertificate.load(path).recheck() != ()


def test_the_worst_case_of_many_answers_is_the_largest_average():
    made = design(Workload.prefix(22), PureLDP(1.0), objective="worst_case", gap=5e-3)
    assert made.relative_gap <= 6e-3
    assert made.variance().max() == pytest.approx(made.value, rel=1e-9)
    assert made.bound <= design(Workload.prefix(22), PureLDP(1.0), weights=made.weights, gap=2e-2).value
    rechecked(made)
