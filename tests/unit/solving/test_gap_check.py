"""What a method calls optimal is believed as far as it is proved, also after the repair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ldpopt import ApproximateLDP, Problem, PureLDP, Status, Utility, certify, solve
from ldpopt.solvers import Outcome
from ldpopt.solving import gap_check
from ldpopt.solving.gap_check import check_gap, repair_and_measure
from ldpopt.solving.methods.method import RawSolution

PROBLEM = Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0))
OPTIMUM = solve(PROBLEM, solver="highs")
BEST = np.asarray(OPTIMUM.mechanism.channel)


def answer(channel, gap=None):
    """A method's answer with the multipliers of the optimum."""
    return RawSolution(OPTIMUM.program, OPTIMUM.outcome, channel, 1, "a method", gap)


@pytest.mark.parametrize("gap", [None, 1e-9])
def test_the_gap_is_the_certificates_whatever_the_method_says(gap):
    found = repair_and_measure(answer(np.eye(3), gap), PROBLEM)
    assert found.repaired.audit.verdict == "certified"
    assert found.gap == certify(replace(OPTIMUM, repaired=found.repaired)).relative_gap > 0.01


@pytest.mark.parametrize("gap", [None, 1e-9])
def test_a_gap_that_the_repair_opens_is_no_optimum(gap, monkeypatch):
    """In floats alike, where a program is too large for integers."""
    found = [repair_and_measure(answer(np.eye(3), gap), PROBLEM)]
    monkeypatch.setattr(gap_check, "EXACT_NONZEROS", 0)
    found.append(repair_and_measure(answer(np.eye(3), gap), PROBLEM))
    for one in found:
        judged = check_gap(one, 0.01)
        assert judged.outcome.status is Status.FAILED
        assert "but a gap of" in judged.outcome.raw_status
    assert found[1].gap == pytest.approx(
        1 - found[0].repaired.mechanism.expected(PROBLEM.prior, np.eye(3)) if gap else found[0].gap
    )


def test_a_little_that_the_repair_took_counts_in_floats_too(monkeypatch):
    """The method's gap is as large as is believed, and the repair takes about 1e-6 more."""
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
def test_a_small_change_is_within_what_was_asked_for(moved, gap, status, exact, monkeypatch):
    monkeypatch.setattr(gap_check, "EXACT_NONZEROS", 1e9 if exact else 0)
    found = repair_and_measure(answer((1 - moved) * BEST + moved / 3), PROBLEM)
    assert check_gap(found, gap).outcome.status is status


@pytest.mark.parametrize("most", [0, 10**9])
def test_the_gap_of_a_worst_case_is_the_certificates_for_programs_of_any_size(most, monkeypatch):
    """In floats, the noise of a multiplier may be all of the bound where spreads differ by so much."""
    monkeypatch.setattr(gap_check, "EXACT_NONZEROS", most)
    gains = np.array([[1.0, 0.0, 0.5], [3e9, 2e6, 1e6], [2.0, 1e5, 3.0]])
    problem = Problem(None, gains, ApproximateLDP(0.5, 0.05), objective="worst_case")
    solution = solve(problem, solver="highs")
    raw = RawSolution(solution.program, solution.outcome, np.full((3, 3), 1 / 3), 1, "a method", 1e-9)
    found = repair_and_measure(raw, problem)
    assert found.gap == certify(replace(solution, repaired=found.repaired)).relative_gap > 1e-3


def test_what_is_not_called_optimal_stays():
    stopped = replace(answer(np.eye(3)), outcome=Outcome(Status.LIMIT, "time was over"), gap=0.5)
    assert check_gap(stopped, 1e-6) is stopped


def test_without_multipliers_or_a_channel_nothing_is_known():
    bare = replace(answer(BEST), outcome=Outcome(Status.OPTIMAL, "Optimal"))
    assert repair_and_measure(bare, PROBLEM).gap is None
    assert check_gap(repair_and_measure(bare, PROBLEM), 0.0).outcome.status is Status.OPTIMAL
    assert repair_and_measure(answer(None), PROBLEM).repaired is None


def test_noise_on_inputs_that_are_never_the_worst_case_proves_nothing_less():
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
    worth = np.array([[3.0, 1.0, 2.0], [1.0, 4.0, 1.5], [2.5, 1.0, 5.0]])
    problem = Problem([0.5, 0.3, 0.2], Utility(worth, sense), PureLDP(1.0))
    optimum = solve(problem, solver="highs", form="pairwise")
    raw = RawSolution(optimum.program, optimum.outcome, None, 1, "highs")
    mixed = 0.9 * np.asarray(optimum.mechanism.channel) + 0.1 / 3
    found = repair_and_measure(replace(raw, channel=mixed), problem).gap
    assert gap_check.gap_of_multipliers(raw, problem, mixed) == pytest.approx(found, rel=1e-9)


def test_where_all_reports_are_alike_no_gap_is_left_in_floats():
    problem = Problem([0.5, 0.5], [[1.0, 1.0], [2.0, 2.0]], PureLDP("log(3)"))
    optimum = solve(problem, solver="highs", form="pairwise")
    raw = RawSolution(optimum.program, optimum.outcome, None, 1, "highs")
    assert gap_check.gap_of_multipliers(raw, problem, np.full((2, 2), 0.5)) == 0.0
