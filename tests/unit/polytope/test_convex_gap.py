"""A convex objective of one's own: value and bound meet, and what is no tangent plane is
refused."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

from builders import refused, thorough_or
from ldpopt import (
    ApproximateLDP,
    GraphDP,
    Mechanism,
    PureLDP,
    certify_convex,
    constraints,
    neighbors,
)
from ldpopt.errors import MechanismError

PRIOR = np.array([0.4, 0.3, 0.2, 0.1])
LEVELS = PRIOR[:, None]


def information(channel):
    return float((LEVELS * channel * np.log(channel / (PRIOR @ channel))).sum())


def slope_of_information(channel):
    return LEVELS * np.log(channel / (PRIOR @ channel))


def squares(shape):
    """Squares to the identity, and their gradient."""
    target = np.eye(*shape)
    return lambda c: ((c - target) ** 2).sum(), lambda c: 2 * (c - target)


def randomized_response(n, epsilon):
    table = np.full((n, n), 1 / (math.exp(epsilon) + n - 1))
    np.fill_diagonal(table, math.exp(epsilon) / (math.exp(epsilon) + n - 1))
    return table


@pytest.fixture(scope="module")
def least_informative():
    """Optimum of a model in cvxpy: the least information at privacy 2 and truth .6."""
    P = cp.Variable((4, 4))
    reports = cp.reshape(PRIOR @ P, (1, 4), order="C")
    loss = cp.sum(cp.rel_entr(cp.multiply(LEVELS, P), LEVELS @ reports))
    rows = [*PureLDP(2.0).constraints(P), PRIOR @ cp.diag(P) >= 0.6]
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-13)
    cp.Problem(cp.Minimize(loss), rows).solve(solver="CLARABEL", **tight)
    return P.value


TRUTH = constraints.linear(np.diag(PRIOR), lower=0.6, name="truth")


def test_least_information_at_a_level_of_truth(least_informative):
    proof = certify_convex(
        least_informative, PureLDP(2.0), information, slope_of_information, constraints=TRUTH
    )
    assert proof.value == pytest.approx(0.1740125136, abs=5e-11)
    assert -1e-13 < proof.gap < 1e-11
    assert proof.bound == proof.value - proof.gap
    assert proof.mechanism.audit(PureLDP(2.0)).verdict == "certified"
    assert proof.program.gap <= proof.gap
    assert "subgradient of a convex" in str(proof)


def test_a_gain_is_a_loss_with_the_other_sign(least_informative):
    loss = certify_convex(
        least_informative, PureLDP(2.0), information, slope_of_information, constraints=TRUTH
    )
    gain = certify_convex(
        least_informative,
        PureLDP(2.0),
        lambda c: -information(c),
        lambda c: -slope_of_information(c),
        sense="gain",
        constraints=TRUTH,
    )
    assert gain.bound == pytest.approx(-loss.bound, rel=1e-13)
    assert gain.value == -loss.value
    assert "supergradient of a concave" in gain.assumption


def test_nearest_channel_to_the_identity_is_randomized_response():
    table = randomized_response(5, 1.0)
    proof = certify_convex(table, PureLDP(1.0), *squares((5, 5)))
    p = math.e / (math.e + 4)
    assert proof.value == pytest.approx(5 * ((1 - p) ** 2 + 4 * ((1 - p) / 4) ** 2), rel=1e-13)
    assert proof.value == pytest.approx(2.21556024297, abs=5e-12)
    assert 0 <= proof.gap < 1e-12


@pytest.mark.parametrize("seed", range(thorough_or(3, 6)))
def test_the_bound_holds_for_drawn_channels_and_vanishes_at_no_other(seed):
    """A channel that is not the best has a gap of at least its distance in value from a better
    one."""
    rng = np.random.default_rng(seed)
    target = rng.dirichlet(np.ones(3), 4)
    notion = [PureLDP(1.0), GraphDP(0.7, neighbors.path(range(4))), ApproximateLDP(0.5, 0.05)][
        seed % 3
    ]
    functions = (lambda c: ((c - target) ** 2).sum(), lambda c: 2 * (c - target))
    others = [
        Mechanism.private(rng.dirichlet(np.ones(3), 4), notion) for _ in range(thorough_or(6, 20))
    ]
    proof = certify_convex(np.full((4, 3), 1 / 3), notion, *functions)
    best = min(functions[0](other.channel) for other in others)
    assert proof.bound <= best < proof.value


USED = randomized_response(5, 1.0)
UNUSED = np.hstack([USED, np.zeros((5, 1))])


@pytest.mark.parametrize("table", [USED, UNUSED], ids=["used", "a report unused"])
def test_what_is_no_tangent_plane_is_refused(table):
    value, gradient = squares(table.shape)
    assert certify_convex(table, PureLDP(1.0), value, gradient).gap < 1e-12
    for wrong in (
        (value, lambda c: 2 * c),
        (lambda c: -value(c), lambda c: -gradient(c)),
        (value, lambda c: gradient(c) * (1 + 1e-4)),
        (lambda c: value(c) - 10 * (c[0, 0] > 0.5), gradient),
    ):
        with refused("tangent"):
            certify_convex(table, PureLDP(1.0), *wrong)
    with refused("tangent"):
        certify_convex(table, PureLDP(1.0), value, gradient, sense="gain")


@pytest.mark.parametrize(
    ("code", "value", "gradient"),
    [
        ("infinite-value", lambda c: math.inf, lambda c: c),
        ("infinite-value", lambda c: math.nan, lambda c: c),
        ("returned-value", lambda c: c, lambda c: c),
        ("returned-value", lambda c: "far", lambda c: c),
        ("gradient-shape", lambda c: 0.0, lambda c: c[0]),
        ("returned-gradient", lambda c: 0.0, lambda c: None),
        ("infinite-gradient", lambda c: 0.0, lambda c: np.full(c.shape, np.inf)),
        ("infinite-gradient", lambda c: 0.0, lambda c: np.full(c.shape, np.nan)),
    ],
)
def test_what_the_functions_may_return(code, value, gradient):
    with refused(code):
        certify_convex(USED, PureLDP(1.0), value, gradient)


def test_an_unused_report_whose_logarithm_is_infinite_is_refused():
    table = np.hstack([randomized_response(4, 1.0), np.zeros((4, 1))])
    with refused("infinite-value"), np.errstate(all="ignore"):
        certify_convex(table, PureLDP(1.0), information, slope_of_information)


def test_a_channel_that_violates_a_constraint_is_refused():
    truth = constraints.linear(np.eye(5) / 5, lower=0.9, name="truth")
    with refused("constraint", MechanismError):
        certify_convex(USED, PureLDP(1.0), *squares((5, 5)), constraints=[truth])


def test_labels_decide_the_order():
    names = ["a", "b", "c", "d"]
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.dirichlet(np.ones(4), 4), names, names)
    moved = table.loc[names[::-1], names[::-1]]
    proofs = [
        certify_convex(given, PureLDP(1.0), *squares((4, 4)), inputs=names)
        for given in (table, moved)
    ]
    moved_proof = certify_convex(moved, PureLDP(1.0), *squares((4, 4)))
    assert proofs[0].mechanism.inputs == proofs[1].mechanism.inputs == tuple(names)
    assert proofs[1].mechanism.outputs == tuple(names)
    assert moved_proof.mechanism.inputs == moved_proof.mechanism.outputs == tuple(names[::-1])
    mechanism = Mechanism(moved)
    again = certify_convex(mechanism, PureLDP(1.0), *squares((4, 4)), inputs=names)
    assert again.mechanism.outputs == tuple(names)
    assert again.value == pytest.approx(proofs[0].value, rel=1e-12)
    assert proofs[0].value == pytest.approx(proofs[1].value, rel=1e-12)
    assert proofs[0].bound == pytest.approx(moved_proof.bound, rel=1e-12)


def test_the_functions_cannot_change_the_channel():
    def gradient(channel):
        slope = 2 * (channel - np.eye(5))
        channel[:] = 0
        return slope

    assert certify_convex(USED, PureLDP(1.0), squares((5, 5))[0], gradient).gap < 1e-12


def test_one_report_and_one_answer():
    nothing = certify_convex(np.ones((3, 1)), PureLDP(1.0), lambda c: 4.0, lambda c: 0 * c)
    assert (nothing.value, nothing.bound, nothing.gap) == (4.0, 4.0, 0.0)
    single = certify_convex([[0.3, 0.7]], PureLDP(1.0), lambda c: c[0, 0], lambda c: [[1.0, 0.0]])
    assert single.bound == pytest.approx(0.0, abs=1e-15)


def test_its_program_is_a_certificate_that_the_checker_reads(tmp_path, least_informative):
    proof = certify_convex(
        least_informative, PureLDP(2.0), information, slope_of_information, constraints=TRUTH
    )
    assert proof.program.recheck() == ()
    proof.program.save(tmp_path / "tangent.json")
    checker = Path(__file__).parents[3] / "ldpopt_check.py"
    ended = subprocess.run([sys.executable, checker, tmp_path / "tangent.json"], check=False)
    assert ended.returncode == 0
