"""An answer is called optimal only if its multipliers prove a small gap of the repaired channel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldpopt import ApproximateLDP, Problem, PureLDP, Status, Utility, certify, solve
from ldpopt.solvers import Outcome
from ldpopt.solving import gap_check
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


@pytest.mark.parametrize("gap", [None, 1e-9])
def test_a_gap_caused_by_the_repair_is_not_optimal(gap, monkeypatch):
    """Also in floats, which are used for large programs."""
    found = [repair_and_measure(answer(np.eye(3), gap), PROBLEM)]
    monkeypatch.setattr(gap_check, "EXACT_NONZEROS", 0)
    found.append(repair_and_measure(answer(np.eye(3), gap), PROBLEM))
    for one in found:
        checked = check_gap(one, 0.01)
        assert checked.outcome.status is Status.FAILED
        assert "but a gap of" in checked.outcome.raw_status
    assert found[1].gap == pytest.approx(
        1 - found[0].repaired.mechanism.expected(PROBLEM.prior, np.eye(3)) if gap else found[0].gap
    )


def test_the_cost_of_the_repair_is_added_in_floats(monkeypatch):
    """The method's gap is as large as permitted, and the repair costs about 1e-6."""
    monkeypatch.setattr(gap_check, "EXACT_NONZEROS", 0)
    found = repair_and_measure(answer((1 - 1e-6) * BEST + 1e-6 * np.eye(3), 1e-6), PROBLEM)
    assert 1.3e-6 < found.gap < 2.5e-6
    assert check_gap(found, 1e-6).outcome.status is Status.FAILED
    assert repair_and_measure(answer(BEST, 1e-6), PROBLEM).gap == pytest.approx(1e-6, abs=1e-12)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("moved", "gap", "status"),
    [(0.0, 1e-9, Status.OPTIMAL), (1e-3, 1e-2, Status.OPTIMAL), (1e-3, 1e-4, Status.FAILED)],
)
def test_a_small_change_is_within_the_requested_gap(moved, gap, status, exact, monkeypatch):
    monkeypatch.setattr(gap_check, "EXACT_NONZEROS", 1e9 if exact else 0)
    found = repair_and_measure(answer((1 - moved) * BEST + moved / 3), PROBLEM)
    assert check_gap(found, gap).outcome.status is status


@pytest.mark.parametrize("most", [0, 10**9])
def test_the_gap_of_a_worst_case_is_that_of_the_certificate_at_any_size(most, monkeypatch):
    """With such different spreads, a multiplier's rounding error may be the whole bound in floats."""
    monkeypatch.setattr(gap_check, "EXACT_NONZEROS", most)
    gains = np.array([[1.0, 0.0, 0.5], [3e9, 2e6, 1e6], [2.0, 1e5, 3.0]])
    problem = Problem(None, gains, ApproximateLDP(0.5, 0.05), objective="worst_case")
    solution = solve(problem, solver="highs")
    raw = RawSolution(solution.program, solution.outcome, np.full((3, 3), 1 / 3), 1, "a method", 1e-9)
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


def test_rounding_errors_at_inputs_that_are_never_the_worst_case_do_not_weaken_the_bound():
    """The second input gains at least 2e6 in every case; its true gains would raise the bound by 1e-12 of them."""
    gains = np.array([[1.0, 0.0], [5e6, 2e6]])
    solution = solve(Problem(None, gains, PureLDP("log(3)"), objective="worst_case"), solver="highs")
    span = next(span for span in solution.program.rows if span.name == "worst_case")
    duals = solution.outcome.row_duals.copy()
    duals[span.start + 1] = 1e-12
    noisy = replace(solution, outcome=replace(solution.outcome, row_duals=duals))
    assert certify(noisy).relative_gap == certify(solution).relative_gap <= 1e-14


@pytest.mark.parametrize("sense", ["gain", "loss"])
def test_the_gap_in_floats_is_that_of_the_certificate(sense):
    table = np.array([[3.0, 1.0, 2.0], [1.0, 4.0, 1.5], [2.5, 1.0, 5.0]])
    problem = Problem([0.5, 0.3, 0.2], Utility(table, sense), PureLDP(1.0))
    optimum = solve(problem, solver="highs", form="pairwise")
    raw = RawSolution(optimum.program, optimum.outcome, None, 1, "highs")
    mixed = 0.9 * np.asarray(optimum.mechanism.channel) + 0.1 / 3
    found = repair_and_measure(replace(raw, channel=mixed), problem).gap
    assert gap_check.gap_of_multipliers(raw, problem, mixed) == pytest.approx(found, rel=1e-9)


def test_equal_reports_have_no_gap_in_floats():
    problem = Problem([0.5, 0.5], [[1.0, 1.0], [2.0, 2.0]], PureLDP("log(3)"))
    optimum = solve(problem, solver="highs", form="pairwise")
    raw = RawSolution(optimum.program, optimum.outcome, None, 1, "highs")
    assert gap_check.gap_of_multipliers(raw, problem, np.full((2, 2), 0.5)) == 0.0


COIN = formulate(Problem([0.5, 0.5], "identity", PureLDP("log(3)")), "pairwise")


def coin_answer(duals: Any, *, status: Any = Status.OPTIMAL) -> Any:
    point = np.array([0.75, 0.25, 0.25, 0.75, *([0.0] * (COIN.shape[1] - 4))])
    outcome = Outcome(status, "Optimal", point, np.array(duals, float))
    return RawSolution(COIN, outcome, np.array([[0.75, 0.25], [0.25, 0.75]]), 1, "highs")


@pytest.mark.parametrize("most", [0, 10**9])
def test_the_status_is_decided_by_the_proved_gap(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row sums priced at 3/8 prove 3/4; a price of ``d`` more proves ``d`` more, in floats and in integers."""
    monkeypatch.setattr(gap_check, "EXACT_NONZEROS", most)
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
    assert gap_check.bound_in_floats(COIN, best, coin_answer(best).outcome.point) == pytest.approx(0.75, abs=1e-12)
    assert gap_check.bound_in_floats(COIN, off, coin_answer(best).outcome.point) == pytest.approx(0.76, abs=1e-12)


def test_infinite_bounds_are_replaced_by_the_point_and_a_margin() -> None:
    def largest_sum(*given: Any) -> float:
        with np.errstate(invalid="ignore"):
            return gap_check._largest_sum(*given)

    one, zero, infinite = np.array([2.0]), np.array([0.0]), np.array([np.inf])
    assert largest_sum(one, -infinite, np.array([3.0]), zero) == 6.0
    assert largest_sum(-one, np.array([-4.0]), infinite, zero) == 8.0
    assert largest_sum(one, zero, infinite, np.array([5.0])) == 2 * 5 + 2 * 5
    assert largest_sum(one, zero, infinite, np.array([0.5])) == 2 * 0.5 + 2
    assert largest_sum(-one, -infinite, zero, np.array([-3.0])) == 6 + 6
    assert largest_sum(zero, -infinite, infinite, np.array([5.0])) == 0.0
