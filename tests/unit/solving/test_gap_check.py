"""An answer is called optimal only if its multipliers prove a small gap of the repaired channel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldpopt import ApproximateLDP, Problem, PureLDP, Status, certify, solve
from ldpopt.errors import CertificateError
from ldpopt.solvers import Outcome, Solver
from ldpopt.solving.formulation import formulate
from ldpopt.solving.gap_check import check_gap, repair_and_measure
from ldpopt.solving.methods.method import RawSolution

PROBLEM = Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0))
OPTIMUM = solve(PROBLEM, solver="highs")
BEST = np.asarray(OPTIMUM.mechanism.channel)


def answer(channel, gap=None):
    """A method's answer with the multipliers of the optimum."""
    return RawSolution(OPTIMUM.program, OPTIMUM.outcome, channel, 1, "a method", gap)


@pytest.mark.parametrize("gap", [None, 1e-9])
def test_the_gap_is_that_of_the_certificate_not_of_the_method(gap):
    found = repair_and_measure(answer(np.eye(3), gap), PROBLEM)
    assert found.repaired.audit.verdict == "certified"
    assert found.gap == certify(replace(OPTIMUM, repaired=found.repaired)).relative_gap > 0.01


def test_a_gap_caused_by_the_repair_is_not_optimal():
    checked = check_gap(repair_and_measure(answer(np.eye(3), 1e-9), PROBLEM), 0.01)
    assert checked.outcome.status is Status.FAILED
    assert "but a gap of" in checked.outcome.raw_status


@pytest.mark.parametrize(
    ("moved", "gap", "status"),
    [(0.0, 1e-9, Status.OPTIMAL), (1e-3, 1e-2, Status.OPTIMAL), (1e-3, 1e-4, Status.FAILED)],
)
def test_a_small_change_is_within_the_requested_gap(moved, gap, status):
    found = repair_and_measure(answer((1 - moved) * BEST + moved / 3), PROBLEM)
    assert check_gap(found, gap).outcome.status is status


def test_the_gap_of_a_worst_case_is_that_of_the_certificate():
    """With such different spreads, a multiplier's rounding error may be the whole bound in
    floats."""
    gains = np.array([[1.0, 0.0, 0.5], [3e9, 2e6, 1e6], [2.0, 1e5, 3.0]])
    problem = Problem(None, gains, ApproximateLDP(0.5, 0.05), objective="worst_case")
    solution = solve(problem, solver="highs")
    raw = RawSolution(
        solution.program, solution.outcome, np.full((3, 3), 1 / 3), 1, "a method", 1e-9
    )
    found = repair_and_measure(raw, problem)
    assert found.gap == certify(replace(solution, repaired=found.repaired)).relative_gap > 1e-3


def test_other_statuses_are_unchanged():
    stopped = replace(answer(np.eye(3)), outcome=Outcome(Status.LIMIT, "time was over"), gap=0.5)
    assert check_gap(stopped, 1e-6) is stopped


def test_without_multipliers_or_a_channel_the_gap_is_unknown():
    bare = replace(answer(BEST), outcome=Outcome(Status.OPTIMAL, "Optimal"))
    assert repair_and_measure(bare, PROBLEM).gap is None
    assert check_gap(repair_and_measure(bare, PROBLEM), 0.0).outcome.status is Status.OPTIMAL
    assert repair_and_measure(answer(None), PROBLEM).repaired is None


class Silent(Solver):
    """Claims that a channel with equal rows is optimal, and gives no multipliers."""

    name = "silent"
    in_process_nonzeros = np.inf

    def solve(self, program: Any, *, time_limit: Any = None, **options: Any) -> Outcome:
        point = np.zeros(program.shape[1])
        point[:9] = 1 / 3
        return Outcome(Status.OPTIMAL, "told", point)


def test_a_solver_without_multipliers_is_believed_and_proves_nothing() -> None:
    found = solve(PROBLEM, solver=Silent(), form="pairwise")
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(1 / 3)
    with pytest.raises(CertificateError):
        certify(found)


def test_rounding_errors_at_inputs_that_are_never_the_worst_case_do_not_weaken_the_bound():
    """The second input gains at least 2e6 in every case; its true gains would raise the bound by
    1e-12 of them."""
    gains = np.array([[1.0, 0.0], [5e6, 2e6]])
    solution = solve(
        Problem(None, gains, PureLDP("log(3)"), objective="worst_case"), solver="highs"
    )
    span = next(span for span in solution.program.rows if span.name == "worst_case")
    duals = solution.outcome.row_duals.copy()
    duals[span.start + 1] = 1e-12
    noisy = replace(solution, outcome=replace(solution.outcome, row_duals=duals))
    assert certify(noisy).relative_gap == certify(solution).relative_gap <= 1e-14


COIN = formulate(Problem([0.5, 0.5], "identity", PureLDP("log(3)")), "pairwise")


def coin_answer(duals: Any, *, status: Any = Status.OPTIMAL) -> Any:
    point = np.array([0.75, 0.25, 0.25, 0.75, *([0.0] * (COIN.shape[1] - 4))])
    outcome = Outcome(status, "Optimal", point, np.array(duals, float))
    return RawSolution(COIN, outcome, np.array([[0.75, 0.25], [0.25, 0.75]]), 1, "highs")


def test_the_status_is_decided_by_the_proved_gap() -> None:
    """Row sums priced at 3/8 prove 3/4; a price of ``d`` more proves ``d`` more."""
    problem = Problem([0.5, 0.5], "identity", PureLDP("log(3)"))
    solution = solve(problem, form="pairwise", solver="highs")
    assert solution.outcome is not None
    assert solution.outcome.row_duals is not None
    best = np.asarray(solution.outcome.row_duals)
    at = {span.name: span for span in COIN.rows}["row_sum"].start

    def status(duals: Any, gap: float, **changes: Any) -> Status:
        measured = repair_and_measure(replace(coin_answer(duals), **changes), problem)
        found: Status = check_gap(measured, gap).outcome.status
        return found

    assert status(best, 1e-12) is Status.OPTIMAL
    multipliers = {span.name: best[span.slice] for span in COIN.rows}["privacy"].max()
    off = best.copy()
    off[at] += 0.01
    more = best.copy()
    more[best == multipliers] *= 1 + 1e-5  # the privacy rows cost more
    assert status(more, 1e-7) is Status.FAILED
    assert status(more, 1e-4) is Status.OPTIMAL
    assert status(off[:-1], 0.0) is Status.OPTIMAL  # not the program's rows: nothing is known
    assert status(best, 0.3, channel=np.full((2, 2), 0.5)) is Status.FAILED
    assert status(best, 0.34, channel=np.full((2, 2), 0.5)) is Status.OPTIMAL
