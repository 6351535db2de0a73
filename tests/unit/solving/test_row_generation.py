"""Event-wise delta: row generation, the interior point, the definition, an inner restriction and a
relaxation agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog

import ldpopt as lo
from builders import cases, random_problem
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.solvers import Status
from ldpopt.solving.interior.events import EventProgram
from ldpopt.solving.methods.event_interior import EventInteriorPoint, nested_events, price
from ldpopt.solving.methods.method import Switch, Task
from ldpopt.solving.problem_form import ProblemForm


def problem(n, epsilon, delta, seed, *, m=None, sense="gain", objective="expected", form="event"):
    return random_problem(
        lo.ApproximateLDP(epsilon, delta, form), n, m, rng=seed, sense=sense, objective=objective
    )


AT_ONCE = lo.Limits(event_inputs=2, event_nonzeros=0, event_worst_nonzeros=0)
"""Row generation switches to the interior point as soon as an event is violated."""


CASES = [
    (0.5, 0.01, "gain", "expected"),
    (1.0, 0.05, "loss", "expected"),
    (2.0, 0.2, "gain", "worst_case"),
    (4.0, 0.05, "loss", "worst_case"),
    (0.0, 0.1, "gain", "expected"),
]


@pytest.mark.parametrize("epsilon, delta, sense, objective", CASES)
def test_interior_point_agrees_with_row_generation(epsilon, delta, sense, objective):
    case = problem(8, epsilon, delta, 4, m=9, sense=sense, objective=objective)
    answer = lo.solve(case, limits=AT_ONCE)
    rows = lo.solve(case, solver="highs")
    assert rows.solver == "highs (compact)"
    assert answer.solver == "event interior (compact)"
    assert any(note.startswith("switched to the event interior point") for note in answer.notes)
    assert answer.value == pytest.approx(rows.value, rel=1e-9)
    proof = lo.certify(answer)
    assert proof.relative_gap < 1e-9
    assert proof.audit.verdict == "certified"
    assert answer.program.residual(answer.outcome.point) < 1e-9


@pytest.mark.parametrize(
    "changed, objective, switches",
    [
        ({}, "expected", False),
        ({"event_falling": 0.1}, "expected", True),
        ({"event_falling_nonzeros": 600}, "expected", True),
        ({}, "worst_case", True),
    ],
)
def test_rows_continue_while_fewer_entries_violate_them(changed, objective, switches):
    # 690 non-zeros in the second round, with 80 violated entries after 290
    case = problem(8, 1.0, 0.05, 0, objective=objective)
    limits = lo.Limits(event_inputs=2, event_nonzeros=500, event_worst_nonzeros=400, **changed)
    answer = lo.solve(case, limits=limits)
    assert switches == any("switched to the event interior point" in note for note in answer.notes)
    assert lo.certify(answer).relative_gap < 1e-9


def inner_restriction(case):
    """Optimum if each input's total excess over the column minima is at most delta: n m + n
    rows."""
    (n, m), b, delta = case.utility.shape, case.privacy.epsilon.b, case.privacy.delta
    p = np.eye(n * m)
    floor = np.kron(np.ones((n, 1)), np.eye(m))
    over = np.eye(n * m)
    nothing = np.zeros((n * m, n * m))
    sums = np.kron(np.eye(n), np.ones((1, m)))
    rows = [
        np.hstack([-p, floor, nothing]),
        np.hstack([b * p, -floor, -over]),
        np.hstack([np.zeros((n, n * m + m)), sums]),
    ]
    right = np.concatenate([np.zeros(2 * n * m), np.full(n, b * delta)])
    cost = np.concatenate(
        [-(case.prior[:, None] * case.utility.matrix).reshape(-1), np.zeros(m + n * m)]
    )
    equal = np.hstack([sums, np.zeros((n, m + n * m))])
    return -linprog(cost, np.vstack(rows), right, equal, np.ones(n)).fun


@pytest.mark.parametrize("seed", range(3))
def test_event_optimum_lies_between_the_inner_restriction_and_the_entry_relaxation(seed):
    case = problem(5, 0.7, 0.1, seed)
    value = lo.solve(case, limits=AT_ONCE).value
    # lists every event
    assert value == pytest.approx(lo.solve(case, form="pairwise").value, abs=1e-10)
    assert inner_restriction(case) <= value + 1e-9
    assert value <= lo.solve(problem(5, 0.7, 0.1, seed, form="entry")).value + 1e-9


def test_outputs_left_out_at_first_are_priced_and_added():
    case = problem(7, 1.0, 0.05, 3)
    start = np.zeros((7, 7))
    start[:, 0] = 1.0
    raw = switch(case, start)
    program, outcome, channel = raw.program, raw.outcome, raw.channel
    assert outcome.status is Status.OPTIMAL
    value = float((case.prior[:, None] * case.utility.matrix * channel).sum())
    assert value == pytest.approx(lo.solve(case, solver="highs").value, rel=1e-9)
    assert (channel.max(axis=0) > 1e-6).sum() > 1
    assert len(outcome.row_duals) == program.shape[0]


def switch(case, channel, deadline=NO_LIMIT):
    """Switch to the interior point with a channel, as row generation does."""
    start = Switch(
        "event interior point",
        "test",
        lo.formulate(case, "relaxation"),
        channel,
        1e-6,
        lambda: None,
    )
    return EventInteriorPoint().solve(Task(case, ProblemForm.of(case), deadline), start)


def test_a_time_limit_is_kept():
    raw = switch(problem(8, 1.0, 0.05, 3), np.full((8, 8), 0.125), Deadline(0.0))
    assert raw.outcome.status is Status.LIMIT
    assert raw.channel is None


def test_row_generation_continues_if_the_system_is_too_large():
    case = problem(8, 1.0, 0.05, 3)
    answer = lo.solve(case, limits=replace(AT_ONCE, event_entries=10))
    assert answer.solver == "highs (compact)"
    assert any(
        "need too large a system" in note and "row generation continues" in note
        for note in answer.notes
    )
    assert lo.certify(answer).relative_gap < 1e-9


def test_the_inner_point_is_returned_at_a_limit(monkeypatch):
    case = problem(9, 1.0, 0.05, 3)
    answer = lo.solve(case, solver="highs", limits=lo.Limits(generation_rounds=1))
    assert answer.status is Status.LIMIT
    proof = lo.certify(answer)
    assert proof.audit.verdict == "certified"
    assert float(proof.achieved) <= lo.solve(case).value <= float(proof.bound) + 1e-12


@given(hnp.arrays(float, (4, 6), elements=st.floats(0, 1)))
@cases(40)
def test_nested_events_add_up_to_the_shares(shares):
    pair, weight, member = nested_events(shares)
    total = np.zeros_like(shares)
    for e, w, inside in zip(pair, weight, member, strict=True):
        total[inside, e] += w
    assert np.allclose(total, shares, atol=1e-15)
    assert (weight > 0).all()


def test_shortfalls_of_shares_are_measured():
    costs = np.array([[1.0, 0.0]])
    whole = EventProgram(costs, None, 0.5, 0.1)
    shares, short = price(whole, costs, np.array([0.5, 0.2]), np.array([0.2, 0.0]))
    # Input 0 lacks 0.5, of which b * 0.2 are covered by the pair's multiplier.
    assert short == pytest.approx([0.4])
    assert shares.tolist() == [[0.2, 0.0]]
