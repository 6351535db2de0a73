"""The mechanism at hand when no method found one in time."""

from __future__ import annotations

import numpy as np
import pytest

import ldpopt as lo
from ldpopt import constraints
from ldpopt.errors import LimitReachedError
from ldpopt.solvers import Status
from ldpopt.solving.certify import certify
from ldpopt.solving.solution import Solution, with_constant_report

PRIOR, WORTH = np.array([0.5, 0.2, 0.3]), np.array([[0.0, 1.0, 4.0], [3.0, 0.0, 2.0], [5.0, 1.5, 0.0]])
ONE_CONSTRAINT = [constraints.linear(np.eye(3), lower=0.1)]


def ended(problem, status=Status.LIMIT):
    return with_constant_report(Solution(problem, status, "time was over", "toy", 0.0, {}, {}), problem)


@pytest.mark.parametrize("sense, choose, trivial", [("loss", np.min, np.min), ("gain", np.max, np.max)])
@pytest.mark.parametrize("privacy", [lo.PureLDP(1.0), lo.MetricDP(1.0, np.ones((3, 3)) - np.eye(3))])
def test_it_is_the_best_column_and_its_bound_is_the_value_without_privacy(sense, choose, trivial, privacy):
    answer = ended(lo.Problem(PRIOR, lo.Utility(WORTH, sense), privacy))
    assert answer.value == pytest.approx(choose(PRIOR @ WORTH))
    proof = certify(answer)
    assert proof.audit.verdict == "certified"
    assert float(proof.achieved) == pytest.approx(answer.value)
    assert float(proof.bound) == pytest.approx(PRIOR @ trivial(WORTH, axis=1))
    assert answer.solver == "constant report"
    assert any("whatever the answer" in note for note in answer.notes)


@pytest.mark.parametrize(
    "prior, more",
    [(None, {"objective": "worst_case"}), (PRIOR, {"constraints": ONE_CONSTRAINT})],
    ids=["worst case", "side constraint"],
)
def test_other_problems_get_none(prior, more):
    answer = ended(lo.Problem(prior, lo.Utility(WORTH), lo.PureLDP(1.0), **more))
    with pytest.raises(LimitReachedError, match="time was over"):
        _ = answer.mechanism


def test_only_a_limit_gets_one():
    assert ended(lo.Problem(PRIOR, lo.Utility(WORTH), lo.PureLDP(1.0)), Status.FAILED).repaired is None
