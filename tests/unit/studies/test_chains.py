"""Points that differ in their budget alone: the answers of a chain are those of `solve`, proved as
well, and do not depend on the order, process or thread in which points are solved."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldpopt import ApproximateLDP, Problem, PureLDP, Utility, constraints, solve
from ldpopt.foundation.budget import Budget
from ldpopt.solvers.kept_program import KeptAnswer, KeptProgram
from ldpopt.studies.chains import BLOCK, FARTHEST, GridPoint
from ldpopt.studies.sweep import Case, Grid, sweep

EPSILONS = np.linspace(0.2, 5.0, 11).tolist()


def problem(n: int, m: int, sense: Any, **parts: Any) -> Problem:
    """A random problem; a prior of None is for a worst case."""
    rng = np.random.default_rng(100 * n + m)
    prior = rng.dirichlet(np.ones(n))
    given = {"privacy": PureLDP(1.0), "prior": prior} | parts
    return Problem(utility=Utility(rng.random((n, m)), sense), **given)


def no_solve(*arguments: Any, **options: Any) -> Any:
    raise AssertionError("a point was given to solve()")


@pytest.mark.parametrize("sense", ["gain", "loss"])
@pytest.mark.parametrize("shape", [(2, 2), (5, 3), (3, 6), (12, 12)])
def test_values_are_those_of_solve_with_the_same_proof(
    shape: tuple[int, int], sense: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = problem(*shape, sense)
    monkeypatch.setattr("ldpopt.studies.sweep.solve", no_solve)
    found = sweep(stated, ["log(3)", *EPSILONS], keep=True)
    assert {row.status for row in found.rows} == {"optimal"}
    for row, mechanism in zip(found.rows, found.mechanisms, strict=True):
        epsilon = "log(3)" if row is found.rows[0] else row.epsilon
        privacy = PureLDP(epsilon)
        assert row.value == pytest.approx(solve(replace(stated, privacy=privacy)).value, rel=1e-12)
        assert row.relative_gap <= 1e-12
        assert mechanism is not None
        assert mechanism.audit(privacy).verdict == "certified"


def test_priors_have_a_chain_each(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = problem(6, 6, "gain")
    priors = np.random.default_rng(1).dirichlet(np.ones(6), 3)
    monkeypatch.setattr("ldpopt.studies.sweep.solve", no_solve)
    found = sweep(stated, EPSILONS, priors)
    for row in found.rows:
        one = replace(stated, prior=priors[row.prior], privacy=PureLDP(row.epsilon))
        assert row.value == pytest.approx(solve(one).value, rel=1e-12)


def grid(budgets: list[Any], stated: Problem | None = None) -> Grid:
    stated = problem(7, 7, "gain") if stated is None else stated
    case = Case("", float("nan"), stated)
    return Grid((case,), tuple(map(Budget, budgets)), (None,), "auto", None, True)


def channels(task: Callable[[GridPoint], Any], points: list[GridPoint]) -> dict[int, Any]:
    return {point.budget: task(point).mechanism.channel.tolist() for point in points}


def test_answers_do_not_depend_on_what_was_solved_before() -> None:
    """Neither in the reverse order, nor alone, nor by a task that was sent to another process."""
    budgets = np.random.default_rng(2).permutation(np.linspace(0.3, 4.0, 2 * BLOCK + 3)).tolist()
    task = grid(budgets)
    points = list(task.points())
    whole = channels(task, points)
    assert channels(grid(budgets), points[::-1]) == whole
    sent: Grid = pickle.loads(pickle.dumps(task))
    assert channels(sent, points[5:9]) == {place: whole[place] for place in range(5, 9)}
    for point in points[::4]:
        assert channels(grid(budgets), [point])[point.budget] == whole[point.budget]


def test_threads_give_the_same_table() -> None:
    stated = problem(8, 8, "loss")
    alone = sweep(stated, EPSILONS)
    with ThreadPoolExecutor(3) as executor:
        shared = sweep(stated, EPSILONS, executor=executor)
    assert shared.column("value").tolist() == alone.column("value").tolist()


def test_a_search_starts_at_the_budget_before_unless_that_is_far_or_in_another_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    has_start: list[bool] = []
    plain = KeptProgram.solve

    def watched(self: KeptProgram, costs: Any, last_row: Any, basis: Any) -> Any:
        has_start.append(basis is not None)
        return plain(self, costs, last_row, basis)

    monkeypatch.setattr(KeptProgram, "solve", watched)
    near = [0.5 + 0.1 * k for k in range(4)]
    sweep(problem(4, 4, "gain"), [*near, near[-1] + 1.1 * FARTHEST])
    assert has_start == [False, True, True, True, False]
    has_start.clear()
    sweep(problem(4, 4, "gain"), [0.5 + 0.01 * k for k in range(2 * BLOCK)])
    assert has_start == ([False] + [True] * (BLOCK - 1)) * 2


@pytest.mark.parametrize("kind", ["worst point", "wrong multipliers", "nothing", "no numbers"])
def test_an_answer_without_a_proof_is_not_taken(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stated = problem(5, 5, "gain")
    plain = KeptProgram.solve

    def wrong(self: KeptProgram, costs: Any, last_row: Any, basis: Any) -> Any:
        if kind == "nothing":
            return None
        if kind == "worst point":
            worst = plain(self, costs.max() - costs, last_row, None)
            return None if worst is None else worst._replace(basis=None)
        right = plain(self, costs, last_row, basis)
        assert isinstance(right, KeptAnswer)
        if kind == "no numbers":
            return right._replace(row_duals=np.full_like(right.row_duals, np.nan))
        return right._replace(row_duals=-right.row_duals)

    monkeypatch.setattr(KeptProgram, "solve", wrong)
    found = sweep(stated, EPSILONS)
    expected = [solve(replace(stated, privacy=PureLDP(epsilon))).value for epsilon in EPSILONS]
    assert found.column("value").tolist() == expected
    assert found.column("relative_gap").max() <= 1e-12


def test_budgets_that_floats_do_not_follow_are_solved_as_before() -> None:
    stated = problem(4, 4, "gain")
    epsilons = [0.0, 1e-9, 1e-3, 12.0, 40.0, 800.0]
    found = sweep(stated, epsilons)
    expected = [solve(replace(stated, privacy=PureLDP(epsilon))).value for epsilon in epsilons]
    assert found.column("value").tolist() == expected


@pytest.mark.parametrize(
    "stated",
    [
        problem(4, 4, "gain", privacy=ApproximateLDP(1.0, 0.1)),
        problem(4, 4, "gain", privacy=ApproximateLDP(1.0, 0.1, "entry")),
        problem(4, 4, "loss", prior=None, objective="worst_case"),
        problem(4, 4, "gain", constraints=[constraints.unbiased([0, 1, 2, 3], [0, 1, 2, 3])]),
        problem(1, 3, "gain"),
    ],
    ids=["event", "entry", "worst case", "constraint", "one answer"],
)
def test_other_programs_are_those_of_solve(stated: Problem) -> None:
    found = sweep(stated, [0.5, 1.0, 1.5])
    for row in found.rows:
        privacy = replace(stated.privacy, epsilon=row.epsilon)
        one = solve(replace(stated, privacy=privacy))
        assert row.status == one.status.value
        if one.repaired is not None:
            assert row.value == one.value


def test_a_problem_without_costs_is_solved() -> None:
    stated = Problem([0.5, 0.5], Utility(np.zeros((2, 2)), "gain"), PureLDP(1.0))
    assert sweep(stated, [0.5, 1.0]).column("value").tolist() == [0.0, 0.0]
