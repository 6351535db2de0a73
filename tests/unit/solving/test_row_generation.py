"""Event-wise delta: row generation, the interior point, the definition and its bounds on both sides agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog

import ldpopt as lo
from builders import cases, random_problem
from ldpopt.solvers import Status
from ldpopt.solving.interior.events import Events
from ldpopt.solving.methods import event_interior as events
from ldpopt.solving.methods import row_generation as generation


def problem(n, epsilon, delta, seed, *, m=None, sense="gain", objective="expected", form="event"):
    return random_problem(lo.ApproximateLDP(epsilon, delta, form), n, m, rng=seed, sense=sense, objective=objective)


@pytest.fixture
def at_once(monkeypatch):
    """Hand every event-wise program to the interior point as soon as its relaxation is violated."""
    monkeypatch.setattr(generation, "FEWEST", 2)
    monkeypatch.setattr(generation, "HEAVY", 0)


CASES = [
    (0.5, 0.01, "gain", "expected"),
    (1.0, 0.05, "loss", "expected"),
    (2.0, 0.2, "gain", "worst_case"),
    (4.0, 0.05, "loss", "worst_case"),
    (0.0, 0.1, "gain", "expected"),
]


@pytest.mark.parametrize("epsilon, delta, sense, objective", CASES)
def test_interior_point_agrees_with_row_generation(at_once, epsilon, delta, sense, objective):
    case = problem(8, epsilon, delta, 4, m=9, sense=sense, objective=objective)
    answer, rows = lo.solve(case), lo.solve(case, solver="highs")
    assert rows.solver == "highs (compact)"
    assert answer.solver == "events (compact)"
    assert answer.value == pytest.approx(rows.value, rel=1e-9)
    proof = lo.certify(answer)
    assert proof.relative_gap < 1e-9
    assert proof.audit.verdict == "certified"
    assert answer.program.residual(answer.outcome.point) < 1e-9


def inner_restriction(case):
    """Optimum where an input's whole excess over the column minima is at most delta: n m + n rows."""
    (n, m), b, delta = case.utility.shape, case.privacy.epsilon.b, case.privacy.delta
    p, floor, over = (np.eye(n * m), np.kron(np.ones((n, 1)), np.eye(m)), np.eye(n * m))
    nothing, sums = np.zeros((n * m, n * m)), np.kron(np.eye(n), np.ones((1, m)))
    rows = [
        np.hstack([-p, floor, nothing]),
        np.hstack([b * p, -floor, -over]),
        np.hstack([np.zeros((n, n * m + m)), sums]),
    ]
    right = np.concatenate([np.zeros(2 * n * m), np.full(n, b * delta)])
    cost = np.concatenate([-(case.prior[:, None] * case.utility.matrix).reshape(-1), np.zeros(m + n * m)])
    equal = np.hstack([sums, np.zeros((n, m + n * m))])
    return -linprog(cost, np.vstack(rows), right, equal, np.ones(n)).fun


@pytest.mark.parametrize("seed", range(3))
def test_event_optimum_lies_between_the_inner_restriction_and_the_entry_relaxation(at_once, seed):
    case = problem(5, 0.7, 0.1, seed)
    value = lo.solve(case).value
    assert value == pytest.approx(lo.solve(case, form="pairwise").value, abs=1e-10)  # every event written out
    assert inner_restriction(case) <= value + 1e-9
    assert value <= lo.solve(problem(5, 0.7, 0.1, seed, form="entry")).value + 1e-9


def test_outputs_left_out_at_first_are_priced_and_added():
    case = problem(7, 1.0, 0.05, 3)
    start = np.zeros((7, 7))
    start[:, 0] = 1.0
    program, outcome, channel = events.solve_events(case, lo.formulate(case), start, math.inf)
    assert outcome.status is Status.OPTIMAL
    value = float((case.prior[:, None] * case.utility.matrix * channel).sum())
    assert value == pytest.approx(lo.solve(case, solver="highs").value, rel=1e-9)
    assert (channel.max(axis=0) > 1e-6).sum() > 1
    assert len(outcome.row_duals) == program.shape[0]


def test_a_time_limit_is_kept(at_once):
    case = problem(8, 1.0, 0.05, 3)
    _program, outcome, channel = events.solve_events(case, lo.formulate(case), np.full((8, 8), 0.125), 0.0)
    assert outcome.status is Status.LIMIT
    assert channel is None


def test_side_constraints_and_large_systems_stay_with_row_generation(at_once, monkeypatch):
    case = problem(8, 1.0, 0.05, 3)
    monkeypatch.setattr(events, "MOST", 10)
    assert lo.solve(case).solver == "highs (compact)"


@given(hnp.arrays(float, (4, 6), elements=st.floats(0, 1)))
@cases(40)
def test_nested_events_add_up_to_the_shares(shares):
    pair, weight, member = events.nested(shares)
    total = np.zeros_like(shares)
    for e, w, inside in zip(pair, weight, member, strict=True):
        total[inside, e] += w
    assert np.allclose(total, shares, atol=1e-15)
    assert (weight > 0).all()


def test_shares_that_fall_short_are_measured():
    costs = np.array([[1.0, 0.0]])
    whole = Events(costs, None, 0.5, 0.1)
    shares, short = events.price(whole, costs, np.array([0.5, 0.2]), np.array([0.2, 0.0]))
    # b * 0.2 of the 0.5 that input 0 lacks can go to input 1.
    assert short == pytest.approx([0.4])
    assert shares.tolist() == [[0.2, 0.0]]
