"""Solutions and certificates: statuses, errors, notes, duals, and the constant report at a
limit."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from builders import refused, where_installed
from ldpopt import (
    ApproximateLDP,
    MetricDP,
    Problem,
    PureLDP,
    Status,
    Utility,
    UtilityOptimizedLDP,
    certify,
    constraints,
    solve,
    utility,
)
from ldpopt.errors import (
    CertificateError,
    InfeasibleError,
    LimitReachedError,
    NoSolutionError,
    StatementError,
    UnboundedError,
)
from ldpopt.solving.solution import Solution, value_of, with_constant_report

PRIOR = np.array([0.5, 0.3, 0.2])


def simple(**changes):
    return Problem(PRIOR, "identity", PureLDP("log(3)"), **changes)


@pytest.mark.parametrize("solver", where_installed("highs", "cbc", "cvxpy", "piqp"))
def test_a_solution_has_every_part(solver):
    answer = solve(simple(), solver=solver)
    assert answer.status is Status.OPTIMAL
    assert answer.value == pytest.approx(0.6, abs=1e-7)
    assert answer.value == value_of(answer.problem, answer.mechanism.channel)
    assert set(answer.duals) == {"row_sum", "privacy"}
    assert set(answer.reduced_costs) == {"Q", "M"}
    assert answer.solver == f"{solver} (compact)"
    assert answer.runtime > 0
    assert answer.notes[-1:] == (f'direct: solver="{solver}" was requested',)
    assert repr(answer).startswith("Solution(optimal, value=0.")


def test_conflicting_constraints_are_named():
    far = constraints.unbiased([0, 1, 2], [0, 1, 2])
    harmless = constraints.linear(np.eye(3), upper=3.0, name="harmless")
    answer = solve(simple(constraints=[harmless, far]))
    assert answer.status is Status.INFEASIBLE
    assert math.isnan(answer.value)
    assert answer.conflict[1:] == ("'unbiased'",)
    with refused("conflict", InfeasibleError) as caught:
        _ = answer.mechanism
    assert caught.value.solution is answer
    assert "privacy (PureLDP" in str(caught.value)
    assert "'unbiased' together" in str(caught.value)
    assert "harmless" not in str(caught.value)
    assert "\n" not in caught.value.one_line
    assert "infeasible" in repr(answer)
    with pytest.raises(InfeasibleError):
        certify(answer)


def test_both_of_two_conflicting_constraints_are_named():
    matrix = np.eye(3)
    blocks = [
        constraints.linear(matrix, 2.0, name="much"),
        constraints.linear(matrix, upper=1.0, name="little"),
    ]
    answer = solve(Problem(PRIOR, "identity", PureLDP(5.0), constraints=blocks))
    assert answer.conflict[1:] == ("'much'", "'little'")


def test_a_limit_is_not_an_optimum():
    n = 60
    problem = Problem(
        None, utility.squared_error(np.arange(n) ** 1.1), PureLDP(1.0), objective="worst_case"
    )
    answer = solve(problem, time_limit=1e-3)
    assert answer.status is Status.LIMIT
    assert math.isnan(answer.value)
    assert answer.conflict == ()
    with pytest.raises(LimitReachedError, match="time_limit") as caught:
        _ = answer.mechanism
    assert caught.value.solution is answer
    assert isinstance(caught.value, NoSolutionError)


@pytest.mark.parametrize(
    "status, error",
    [
        (Status.UNBOUNDED, UnboundedError),
        (Status.FAILED, NoSolutionError),
        (Status.INFEASIBLE, InfeasibleError),
        (Status.LIMIT, LimitReachedError),
    ],
)
def test_every_other_status_has_its_error(status, error):
    answer = Solution(simple(), status, "raw status", "toy", 0.0, {}, {})
    with pytest.raises(error) as caught:
        _ = answer.mechanism
    assert type(caught.value) is error
    assert caught.value.solution is answer


def test_an_iteration_limit_gives_the_status_limit():
    assert solve(simple(), simplex_iteration_limit=0, presolve="off").status is Status.LIMIT


def test_only_problems_are_solved():
    with pytest.raises(StatementError, match="a list"):
        solve([0.5, 0.5])
    with refused("unknown-form"):
        solve(simple(), form="dense")


@pytest.mark.parametrize(
    "problem, words",
    [
        (Problem([1.0], "identity", PureLDP(1.0)), "only one input"),
        (Problem(PRIOR, "identity", PureLDP(0)), "constant row"),
        (Problem(PRIOR, "identity", ApproximateLDP(1.0, 1.0)), "protects nobody"),
        (Problem(PRIOR, "identity", PureLDP(50)), r"below 2\*\*-53"),
        (
            Problem([0.2] * 5, np.random.default_rng(0).random((5, 5)), ApproximateLDP(0.5, 0.1)),
            "row generation",
        ),
    ],
)
def test_special_cases_are_noted(problem, words):
    assert any(re.search(words, note) for note in solve(problem).notes)


def test_the_dual_of_a_constraint_is_the_slope_of_the_value():
    def capped(upper):
        block = constraints.linear([[0, 0, 0], [0, 0, 0], [0, 0, 1]], upper=upper, name="cap")
        return solve(Problem([1 / 3] * 3, "identity", PureLDP("log(3)"), constraints=block))

    step = 2.0**-10
    slope = (capped(0.3 + step).value - capped(0.3 - step).value) / (2 * step)
    assert slope > 0.01
    assert capped(0.3).duals["cap"].tolist() == pytest.approx([slope], abs=1e-9)


def test_a_certificate_has_rationals_or_floats():
    answer = solve(simple())
    proof = certify(answer)
    rounded = certify(answer, exact=False)
    assert isinstance(proof.achieved, Fraction)
    assert isinstance(proof.bound, Fraction)
    assert proof.gap == proof.bound - proof.achieved
    assert (rounded.achieved, rounded.bound, rounded.exact) == (
        float(proof.achieved),
        float(proof.bound),
        False,
    )
    assert set(proof.to_dict()) == {"achieved", "bound", "gap", "relative_gap"}
    masses = answer.mechanism.masses
    by_hand = sum(Fraction(w) * Fraction(int(masses[x, x]), 2**53) for x, w in enumerate(PRIOR))
    assert proof.achieved == by_hand


def test_a_gap_that_is_too_large_is_refused():
    answer = solve(Problem(PRIOR, "identity", PureLDP(1.0)), solver="cbc")
    gap = certify(answer).relative_gap
    assert certify(answer, gap=2 * gap + 1e-9).relative_gap == gap
    with refused("gap", CertificateError):
        certify(answer, gap=-1.0)


def test_side_constraints_are_checked_in_the_certificate():
    block = constraints.unbiased([-1, 1], [-3, 3])
    answer = solve(
        Problem(
            [0.5, 0.5], utility.squared_error([-1, 1], [-3, 3]), PureLDP(1.0), constraints=block
        )
    )
    assert set(certify(answer).residuals) == {"unbiased"}
    assert certify(answer).residuals["unbiased"] < 1e-14


def test_the_worst_case_is_the_worst_row():
    problem = Problem(None, utility.absolute_error([0, 1, 5]), PureLDP(1.0), objective="worst_case")
    answer = solve(problem)
    by_input = (problem.utility.matrix * answer.mechanism.channel).sum(axis=1)
    assert answer.value == by_input.max()
    assert np.abs(answer.duals["worst_case"]).sum() == pytest.approx(1.0)


TABLE = np.array([[0.0, 1.0, 4.0], [3.0, 0.0, 2.0], [5.0, 1.5, 0.0]])
ONE_CONSTRAINT = [constraints.linear(np.eye(3), lower=0.1)]


def ended(problem, status=Status.LIMIT):
    return with_constant_report(
        Solution(problem, status, "time was over", "toy", 0.0, {}, {}), problem
    )


@pytest.mark.parametrize(
    "sense, choose, trivial", [("loss", np.min, np.min), ("gain", np.max, np.max)]
)
@pytest.mark.parametrize("privacy", [PureLDP(1.0), MetricDP(1.0, np.ones((3, 3)) - np.eye(3))])
def test_the_constant_report_is_the_best_column(sense, choose, trivial, privacy):
    answer = ended(Problem(PRIOR, Utility(TABLE, sense), privacy))
    assert answer.value == pytest.approx(choose(PRIOR @ TABLE))
    proof = certify(answer)
    assert proof.audit.verdict == "certified"
    assert float(proof.achieved) == pytest.approx(answer.value)
    assert float(proof.bound) == pytest.approx(PRIOR @ trivial(TABLE, axis=1))
    assert answer.solver == "constant report"
    assert any("whatever the answer" in note for note in answer.notes)


def test_a_report_that_reveals_an_answer_is_no_constant_report():
    revealing = UtilityOptimizedLDP(1.0, sensitive=[0])
    answer = ended(Problem(PRIOR, Utility(TABLE), revealing))
    assert (PRIOR @ TABLE).argmax() != 0  # the best report is one that only its own answer may give
    assert answer.mechanism.channel.tolist() == [[1.0, 0.0, 0.0]] * 3
    assert certify(answer).audit.verdict == "certified"


@pytest.mark.parametrize(
    "prior, more",
    [(None, {"objective": "worst_case"}), (PRIOR, {"constraints": ONE_CONSTRAINT})],
    ids=["worst case", "side constraint"],
)
def test_other_problems_have_no_constant_report(prior, more):
    answer = ended(Problem(prior, Utility(TABLE), PureLDP(1.0), **more))
    with pytest.raises(LimitReachedError, match="time was over"):
        _ = answer.mechanism


def test_only_a_limit_has_a_constant_report():
    assert ended(Problem(PRIOR, Utility(TABLE), PureLDP(1.0)), Status.FAILED).repaired is None
