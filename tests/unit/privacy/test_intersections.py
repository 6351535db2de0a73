"""Intersections with notions that are about events: reports of one answer, labels, repair."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.errors import NotRepresentableError, StatementError

LABELS = ("a", "b", "c")
PRIOR = {"a": 5, "b": 3, "c": 2}
EVENTS = lo.ApproximateLDP(1.0, 0.01)
OWNED = lo.UtilityOptimizedLDP(1.0, ["a"])


def replace_privacy(problem, privacy):
    return lo.Problem(problem.prior, problem.utility, privacy)


def masses_of(mechanism):
    return [[Fraction(entry) for entry in row] for row in mechanism.channel.tolist()]


def test_reports_of_one_answer_stay_when_events_are_bounded_too():
    solution = lo.solve(lo.Problem(PRIOR, "identity", OWNED & EVENTS))
    rows = masses_of(solution.mechanism)
    assert rows[0][1] == rows[0][2] == rows[1][2] == rows[2][1] == 0
    # two answers say the same but for delta: .5 for the most frequent one, .01 for another
    assert solution.value == pytest.approx(0.505, abs=1e-9)
    assert lo.certify(solution).gap < 1e-9
    for notion in (OWNED, EVENTS):
        assert notion.audit(solution.mechanism).verdict == "certified"


@pytest.mark.parametrize("outputs", [("z",), ("a", "b", "z", "y")])
def test_rows_are_about_the_labels_of_the_outputs(outputs):
    gain = np.linspace(0, 1, 3 * len(outputs)).reshape(3, -1)
    problem = lo.Problem(PRIOR, gain, OWNED & EVENTS, inputs=LABELS, outputs=outputs)
    solution = lo.solve(problem)
    assert problem.privacy.audit(solution.mechanism).verdict == "certified"
    assert lo.certify(solution).gap < 1e-9
    near = lo.Mechanism.private(np.ones((3, len(outputs))), OWNED & EVENTS, LABELS, outputs)
    assert problem.privacy.audit(near).verdict == "certified"
    cp = pytest.importorskip("cvxpy")
    channel = cp.Variable((3, len(outputs)))
    rows = problem.privacy.constraints(channel, inputs=LABELS, outputs=outputs)
    weights = problem.prior[:, None] * problem.utility.matrix
    model = cp.Problem(cp.Maximize(cp.sum(cp.multiply(weights, channel))), rows)
    assert float(model.solve(solver="CLARABEL")) == pytest.approx(solution.value, abs=1e-6)


def test_the_nearest_channel_is_found_and_does_not_wait_for_its_time_limit():
    both = lo.PML(0.5, PRIOR) & EVENTS
    mechanism = lo.Mechanism.private(np.eye(3), both, LABELS, LABELS)
    assert both.audit(mechanism).verdict == "certified"
    assert not any("nearer channel may exist" in note for note in mechanism.notes)


def test_too_many_events_are_refused_with_a_way_out():
    problem = lo.Problem([1 / 16] * 16, "identity", lo.PML(1.0) & EVENTS)
    with refused("rows", NotRepresentableError) as caught:
        lo.solve(problem)
    assert 'form="entry"' in caught.value.do
    entries = lo.PML(1.0) & lo.ApproximateLDP(1.0, 0.01, form="entry")
    solution = lo.solve(replace_privacy(problem, entries))
    assert lo.certify(solution).gap < 1e-9


def test_a_table_of_budgets_can_be_replaced():
    notion = lo.PairwiseLDP({("a", "b"): 1, ("b", "a"): "log(3)", ("c", "a"): None})
    assert replace(notion) == notion
    other = {("a", "b"): 2}
    assert replace(notion, table=other) == lo.PairwiseLDP(other) != notion


def test_weights_without_an_order_are_refused():
    with refused("distribution", StatementError):
        lo.PML(1.0, {0.5, 0.3, 0.2})
