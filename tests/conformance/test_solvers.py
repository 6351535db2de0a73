"""The shipped conformance suite, over every built-in solver and a plug-in; and what it catches in a
bad one."""

from __future__ import annotations

import types
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import ldpopt as lo
from builders import THOROUGH, random_problem, refused, thorough_or, where_installed
from ldpopt import solvers
from ldpopt.auditing.divergence import Audit
from ldpopt.auditing.exact_matrices import exact
from ldpopt.errors import (
    NotRepresentableError,
    SolverNotFoundError,
    SolverOptionError,
    StatementError,
)
from ldpopt.foundation.plugins import registered
from ldpopt.solvers import Outcome, Status
from ldpopt.solving.formulation import formulate
from ldpopt.testing import Tolerances, check_solver, checks

TOLERANCES = {
    "cbc": Tolerances(value=1e-6, residual=1e-6, dual=1e-6),
    "cvxpy": Tolerances(value=1e-7, residual=1e-7, dual=1e-5),
    "cvxpy:HIGHS": Tolerances(value=1e-7, residual=1e-6, dual=1e-6),
}
"""Of solvers that are less accurate than others."""


class Scipy(solvers.Solver):
    """A plug-in: scipy's linprog, which knows one-sided rows only and minimises."""

    name = "scipy"

    def __init__(self, method: str = "highs") -> None:
        self.method = method

    def solve(
        self, program: lo.LinearProgram, *, time_limit: float | None = None, **options: Any
    ) -> Outcome:
        if set(options) - {"presolve"}:
            raise SolverOptionError(f"linprog refuses {sorted(options)}")
        settings = options | ({} if time_limit is None else {"time_limit": time_limit})
        sign = -1.0 if program.maximize else 1.0
        over = np.isfinite(program.row_upper)
        under = np.isfinite(program.row_lower)
        matrix = program.matrix.toarray()
        found = linprog(
            sign * program.objective,
            np.concatenate([matrix[over], -matrix[under]]),
            np.concatenate([program.row_upper[over], -program.row_lower[under]]),
            bounds=np.stack([program.column_lower, program.column_upper], axis=1),
            method=self.method,
            options=settings,
        )
        status = {0: Status.OPTIMAL, 1: Status.LIMIT, 2: Status.INFEASIBLE, 3: Status.UNBOUNDED}
        if found.status:
            return Outcome(status.get(found.status, Status.FAILED), found.message)
        duals = np.zeros(program.shape[0])
        duals[over] += sign * found.ineqlin.marginals[: over.sum()]
        duals[under] -= sign * found.ineqlin.marginals[over.sum() :]
        return Outcome(
            Status.OPTIMAL, "optimal", found.x, duals, program.objective - matrix.T @ duals
        )


@pytest.mark.parametrize("check", checks())
@pytest.mark.parametrize("name", where_installed(*registered("ldpopt.solvers"), "cvxpy:HIGHS"))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")
def test_built_in_solver(name, check):
    if not THOROUGH and name == "cvxpy:HIGHS" and check in ("signs of duals", "reduced costs"):
        pytest.skip("in the thorough set")
    check_solver(name, TOLERANCES.get(name), only=[check])


@pytest.mark.parametrize("name", where_installed(*registered("ldpopt.solvers")))
def test_a_solver_has_the_name_by_which_it_is_found(name):
    own = solvers.find(name).name
    assert own.partition(":")[0] == name, (
        f"name = {own!r} in the class that is registered as {name!r}"
    )


@pytest.fixture
def with_scipy(monkeypatch):
    """Offer the plug-in as an installed package would, and one that tries to replace HiGHS."""
    points = [types.SimpleNamespace(name=name, load=lambda: Scipy) for name in ("scipy", "highs")]
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: points if group == "ldpopt.solvers" else []
    )


def test_a_plug_in_passes_by_name_and_serves_solve(with_scipy):
    some = ["optimum of a maximum", "infeasible", "channel programs", "unknown option"]
    check_solver("scipy", Tolerances(value=1e-8, residual=1e-8), only=thorough_or(some, None))
    problem = lo.Problem([0.5, 0.3, 0.2], "identity", lo.PureLDP("log(3)"))
    answer = lo.solve(problem, solver="scipy:highs-ds")
    assert answer.solver == "scipy (compact)"
    assert answer.value == pytest.approx(0.6, abs=1e-12)
    assert lo.certify(answer).relative_gap < 1e-9


def test_an_instance_serves_solve_without_a_name_in_a_package():
    problem = lo.Problem([0.5, 0.3, 0.2], privacy=lo.PureLDP(1.0))
    mine = Scipy()
    found = lo.solve(problem, solver=mine)
    assert found.value == pytest.approx(lo.solve(problem).value, abs=1e-9)
    assert lo.plan(problem, solver=mine)[0].because == f"the solver {mine.name} was requested"


def test_every_check_is_named_if_a_solver_raises():
    class Broken(solvers.Solver):
        name = "broken"

        def solve(self, program, *, time_limit=None, **options):
            raise KeyError("no such thing")

    with pytest.raises(AssertionError, match=r"infeasible: .*KeyError"):
        check_solver(Broken(), only=["infeasible"])


def test_a_plug_in_serves_row_generation_and_worst_cases(with_scipy):
    notion = lo.ApproximateLDP(0.5, 0.1)
    problem = lo.Problem(None, lo.utility.absolute_error(range(4)), notion, objective="worst_case")
    assert lo.solve(problem, solver="scipy").value == pytest.approx(
        lo.solve(problem).value, abs=1e-8
    )


def test_a_plug_in_cannot_replace_a_solver_of_ours(with_scipy):
    assert type(solvers.find("highs").solver).__name__ == "Highs"
    found = solvers.installed()
    assert set(found) == {*registered("ldpopt.solvers"), "scipy"}
    assert found["scipy"] == found["highs"] == "installed"


def test_unknown_solvers_are_named_with_those_that_there_are():
    with refused("unknown-solver", SolverNotFoundError) as caught:
        lo.solve(lo.Problem([1.0], "identity", lo.PureLDP(1)), solver="hihgs")
    assert "'hihgs'" in str(caught.value)
    assert all(name in str(caught.value) for name in registered("ldpopt.solvers"))
    with refused("cvxpy-solver", SolverNotFoundError) as caught:
        solvers.find("cvxpy:NONE").solve(formulate(lo.Problem([1.0], "identity", lo.PureLDP(1))))
    assert "'NONE'" in str(caught.value)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf")])
def test_a_time_limit_is_a_positive_number(limit):
    with pytest.raises(StatementError, match="time_limit"):
        lo.solve(lo.Problem([1.0], "identity", lo.PureLDP(1)), time_limit=limit)


class Faulty(solvers.Solver):
    """HiGHS with one fault."""

    name = "faulty"

    def __init__(self, spoil: Any, options: bool = False) -> None:
        self.spoil, self.takes_options = spoil, options

    def solve(
        self, program: lo.LinearProgram, *, time_limit: float | None = None, **options: Any
    ) -> Outcome:
        options = {} if self.takes_options else options
        return self.spoil(
            solvers.find("highs").solve(program, time_limit=time_limit, **options), program
        )


def lying(outcome, program):
    return replace(outcome, status=Status.OPTIMAL) if outcome.status is Status.LIMIT else outcome


def backwards(outcome, program):
    return outcome if outcome.row_duals is None else replace(outcome, row_duals=-outcome.row_duals)


def minimising(outcome, program):
    """Duals with the sign of a minimisation, whatever was asked."""
    return backwards(outcome, program) if program.maximize else outcome


def shifted(outcome, program):
    return outcome if outcome.point is None else replace(outcome, point=outcome.point + 1e-4)


def everything_fails(outcome, program):
    return (
        replace(outcome, status=Status.FAILED) if outcome.status is Status.INFEASIBLE else outcome
    )


def refusing(outcome, program):
    raise NotRepresentableError("this solver takes no programs")


def meddling(outcome, program):
    program.row_upper[:] += 1
    return outcome


@pytest.mark.parametrize(
    "solver, words",
    [
        (Faulty(lying), "time limit: optimal within"),
        (Faulty(backwards), "signs of duals"),
        (Faulty(minimising), "signs of duals"),
        (Faulty(backwards), "reduced costs"),
        (Faulty(shifted), "violates a row or bound"),
        (Faulty(everything_fails), "infeasible: status failed"),
        (Faulty(meddling), "changed the program"),
        (Faulty(refusing), "channel programs: refuses .* takes no programs"),
        (Faulty(lambda outcome, _: outcome, options=True), "unknown option: .* without an error"),
    ],
    ids=["limit", "duals", "signs", "costs", "point", "status", "meddling", "refusal", "options"],
)
def test_the_suite_catches_a_fault(solver, words):
    with pytest.raises(AssertionError, match=words):
        check_solver(solver)


@dataclass(frozen=True)
class Additive(lo.privacy.Notion):
    """A notion with nothing but rows and an audit: no probability differs by more than ``gap``
    between answers."""

    gap: float

    def rows(self, inputs, n_outputs):
        n = len(inputs)
        m = n_outputs
        first, second = np.nonzero(~np.eye(n, dtype=bool))
        x = np.stack([np.repeat(first, m), np.repeat(second, m)], axis=1).ravel()
        y = np.repeat(np.tile(np.arange(m), len(first)), 2)
        size = len(first) * m
        sides = np.full(size, -np.inf), np.full(size, self.gap)
        return lo.RowBlock(
            "privacy", np.repeat(np.arange(size), 2), x, y, np.tile([1.0, -1.0], size), *sides
        )

    def audit(self, channel):
        matrix = exact(channel)
        spread = matrix.entries.max(axis=0) - matrix.entries.min(axis=0)
        worst = Fraction(int(spread.max()), matrix.denominator)
        verdict = "certified" if worst <= Fraction(self.gap) else "violated"
        return Audit(float("inf"), float(worst), None, verdict, f"gap = {self.gap}")


def test_a_notion_of_rows_and_audit_alone_is_solved_repaired_and_certified():
    problem = lo.Problem([0.5, 0.5], "identity", Additive(0.25))
    answer = lo.solve(problem)
    assert answer.value == pytest.approx(0.625, abs=1e-12)
    proof = lo.certify(answer)
    assert proof.audit.verdict == "certified"
    assert proof.achieved <= proof.bound
    assert proof.relative_gap < 1e-9


def test_a_notion_of_ones_own_survives_a_rough_solver():
    problem = random_problem(Additive(0.1), 4, 3, rng=5)
    one, other = (lo.solve(problem, solver=name) for name in ("highs", "cbc"))
    assert other.mechanism.audit(problem.privacy).verdict == "certified"
    assert one.value == pytest.approx(other.value, abs=1e-7)
