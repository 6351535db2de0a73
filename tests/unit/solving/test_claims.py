"""What a method calls optimal is believed as far as it is proved, also after the repair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldpopt import Problem, PureLDP, Status, certify, solve
from ldpopt.solvers import Outcome
from ldpopt.solving.claims import believed
from ldpopt.solving.methods.method import RawSolution

PROBLEM = Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0))
NO_PROGRAM: Any = None


def claimed(channel, gap):
    """The answer of a method that knows its gap."""
    return RawSolution(NO_PROGRAM, Outcome(Status.OPTIMAL, "converged"), channel, 1, "a method", gap=gap)


def test_a_gap_that_the_repair_opens_is_no_optimum():
    private = np.asarray(solve(PROBLEM).mechanism.channel)
    judged = believed(claimed(np.eye(3), 1e-9), PROBLEM, private, None)
    assert judged.outcome.status is Status.FAILED
    assert "making the channel exactly private leaves a gap of" in judged.outcome.raw_status
    assert judged.gap == pytest.approx(1.0 - solve(PROBLEM).value, abs=1e-8)  # the identity's gain is 1


@pytest.mark.parametrize(
    ("moved", "gap", "status"),
    [(1e-9, None, Status.OPTIMAL), (1e-3, 1e-2, Status.OPTIMAL), (1e-3, 1e-4, Status.FAILED)],
)
def test_a_small_change_is_within_what_was_asked_for(moved, gap, status):
    channel = np.asarray(solve(PROBLEM).mechanism.channel)
    mixed = (1 - moved) * channel + moved / 3
    assert believed(claimed(channel, 1e-12), PROBLEM, mixed, gap).outcome.status is status


def test_what_is_not_called_optimal_stays():
    raw = claimed(np.eye(3), 1e-9)
    stopped = replace(raw, outcome=Outcome(Status.LIMIT, "time was over"))
    assert believed(stopped, PROBLEM, np.full((3, 3), 1 / 3), None) is stopped


def test_noise_on_inputs_that_are_never_the_worst_case_proves_nothing_less():
    """The second input gains at least 2e6 in every case; its true gains would raise the bound by 1e-12 of them."""
    gains = np.array([[1.0, 0.0], [5e6, 2e6]])
    solution = solve(Problem(None, gains, PureLDP("log(3)"), objective="worst_case"), solver="highs")
    span = next(span for span in solution.program.rows if span.name == "worst_case")
    duals = solution.outcome.row_duals.copy()
    duals[span.start + 1] = 1e-12
    noisy = replace(solution, outcome=replace(solution.outcome, row_duals=duals))
    assert certify(noisy).relative_gap == certify(solution).relative_gap <= 1e-14
