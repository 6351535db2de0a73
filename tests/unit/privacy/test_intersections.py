"""Intersections with notions that are about events: reports of one answer, labels, repair."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import ldpopt as lo
from builders import refused, thorough_or
from ldpopt.errors import StatementError
from ldpopt.foundation.rows import RowBlock

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


ANSWERS = thorough_or(4, 6)


@pytest.mark.parametrize(
    "both",
    [
        lo.PML(1.0) & EVENTS,
        lo.PML(0.5) & lo.GaussianLDP(1.0),
        lo.PureLDP(2.0) & lo.ApproximateLDP.of_curve([(0.5, 0.1), (1.0, 0.01)]),
        lo.GraphDP(1.0, lo.neighbors.path(range(ANSWERS))) & lo.ApproximateLDP(2.0, 0.05),
        EVENTS & lo.ApproximateLDP(0.5, 0.05),
    ],
)
def test_events_are_generated_beside_other_notions(both):
    weights = np.arange(ANSWERS, 0, -1)
    problem = lo.Problem(weights / weights.sum(), "identity", both)
    answer = lo.solve(problem)
    proof = lo.certify(answer)
    assert proof.relative_gap < 1e-9
    for part in problem.privacy.notions:
        assert part.audit(answer.mechanism).verdict == "certified"
        assert lo.solve(replace_privacy(problem, part)).value >= answer.value - 1e-9


def test_many_events_are_generated():
    weights = np.arange(thorough_or(10, 16), 0, -1)
    problem = lo.Problem(weights / weights.sum(), "identity", lo.PML(1.0) & EVENTS)
    answer = lo.solve(problem)
    assert lo.certify(answer).relative_gap < 1e-9
    entries = lo.PML(1.0) & lo.ApproximateLDP(1.0, 0.01, form="entry")
    weaker = lo.solve(replace_privacy(problem, entries))
    assert lo.certify(weaker).gap < 1e-9
    assert weaker.value >= answer.value - 1e-9


@pytest.mark.parametrize(
    ("change", "is_valid"),
    [
        ({}, True),
        ({"upper": 2.0}, True),  # weaker
        ({"upper": 0.5}, False),
        ({"ratio": 0.9}, True),  # a smaller ratio, with its own side
        ({"ratio": 1.2}, False),  # nothing is known above e^-epsilon
        ({"second": -0.5}, False),
        ({"lower": -1.0}, False),
    ],
)
def test_rows_of_events_are_recognized_by_their_numbers(change, is_valid):
    both = lo.PML(1.0, [0.5, 0.3, 0.2]) & EVENTS
    b = EVENTS.epsilon.b * change.get("ratio", 1.0)
    side = np.nextafter(b * 0.01, 1.0) * change.get("upper", 1.0)
    block = RowBlock(
        "privacy",
        np.zeros(4, np.int64),
        np.array([0, 1, 0, 1]),
        np.array([0, 0, 2, 2]),
        np.array([b, -1.0, b, change.get("second", -1.0)]),
        np.array([change.get("lower", -np.inf)]),
        np.array([side]),
        tuple(range(3)),
        tuple(range(3)),
    )
    assert both.is_valid(block) == is_valid


def test_a_table_of_budgets_can_be_replaced():
    notion = lo.PairwiseLDP({("a", "b"): 1, ("b", "a"): "log(3)", ("c", "a"): None})
    assert replace(notion) == notion
    other = {("a", "b"): 2}
    assert replace(notion, table=other) == lo.PairwiseLDP(other) != notion


def test_weights_without_an_order_are_refused():
    with refused("distribution", StatementError):
        lo.PML(1.0, {0.5, 0.3, 0.2})


def test_an_average_that_is_compared_with_itself_bounds_nothing():
    mean = {"a": 1, "b": 2, "c": 1}
    same = lo.ColumnCone([lo.OddsBound(mean, mean, "log(2)"), lo.OddsBound({"a": 1}, {"a": 1}, 1)])
    leakage = lo.PML("log(3/2)", PRIOR)
    alone = lo.solve(lo.Problem(PRIOR, "identity", leakage))
    problem = lo.Problem(PRIOR, "identity", leakage & same)
    for form in ("averages", "pairwise"):
        assert lo.formulate(problem, form).shape[0] > 0
    solution = lo.solve(problem)
    assert solution.value == pytest.approx(alone.value, abs=1e-9)
    assert lo.certify(solution).gap < 1e-9
    # one answer that is certain is the average, too
    certain = {"a": 1, "b": 0, "c": 0}
    both = lo.PML(1.0, certain) & lo.InformationPrivacy(1.0, PRIOR)
    assert lo.certify(lo.solve(lo.Problem(PRIOR, "identity", both))).gap < 1e-9


@pytest.mark.parametrize(
    "notion", [lo.PML(0.5), lo.PML(0.5) & lo.PureLDP(1.0), OWNED & lo.PML(1.0)]
)
def test_what_a_time_limit_leaves_is_certified(notion, tmp_path):
    solution = lo.solve(lo.Problem(PRIOR, "identity", notion), time_limit=1e-9)
    assert solution.solver == "constant report"
    proof = lo.certify(solution)
    assert proof.achieved == Fraction(solution.value) <= proof.bound
    proof.save(tmp_path / "proof.json")
    assert lo.Certificate.load(tmp_path / "proof.json").recheck() == ()
