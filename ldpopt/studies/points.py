"""Points of a sweep: each is stated, solved and certified by itself, here or in another process."""

from __future__ import annotations

import math
import os
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

from ldpopt.closed_forms.recognize import closed_form
from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.notion import with_epsilon
from ldpopt.problem.plain import plain
from ldpopt.problem.problem import Problem
from ldpopt.processes.checkpoint import Checkpoint
from ldpopt.processes.pool import Lost
from ldpopt.solvers import Status
from ldpopt.solving.certify import certify
from ldpopt.solving.solve import solve


@dataclass(frozen=True)
class Row:
    """One solved point of a grid.

    Attributes
    ----------
    epsilon : float
        Budget in nats.
    prior : int
        Index into the priors.
    value, relative_gap : float
        Value of the mechanism and its certified gap; nan without a mechanism.
    closed_form : float
        Value by a closed form; nan if none applies.
    status : str
        Status of the solve; the error message if it failed.
    seconds : float
        Wall time.
    model : str
        Name of the problem, where there are several.
    delta : float
        Delta of the notion, where it is varied.
    """

    epsilon: float
    prior: int
    value: float
    relative_gap: float
    closed_form: float
    status: str
    seconds: float
    model: str = ""
    delta: float = math.nan


class Case(NamedTuple):
    """A problem with a name, and its delta where that is varied."""

    model: str
    delta: float
    problem: Problem


class Place(NamedTuple):
    """A point of a grid: places in its cases, budgets and priors."""

    case: int
    budget: int
    prior: int


class Point(NamedTuple):
    """A solved point, with its mechanism where that is kept."""

    row: Row
    mechanism: Mechanism | None = None


@dataclass(frozen=True)
class Grid:
    """The task of a sweep: solve and certify the problem at a place."""

    cases: tuple[Case, ...]
    budgets: tuple[Budget, ...]
    priors: tuple[Float | None, ...]
    solver: str
    time_limit: float | None
    keep: bool

    def __call__(self, place: Place) -> Point:
        """Solve and certify one point; an error becomes its status."""
        problem = self.problem(place)
        form = closed_form(problem)
        formula = math.nan if form is None else float(form.value)
        value = gap = seconds = math.nan
        mechanism = None
        try:
            solution = solve(problem, solver=self.solver, time_limit=self.time_limit)
            status, seconds = solution.status.value, solution.runtime
            if solution.status is Status.FAILED:
                status = f"{status}: {solution.raw_status}"
            if solution.repaired is not None:
                value, mechanism = solution.value, solution.mechanism
                gap = certify(solution, exact=False).relative_gap
        except LdpoptError as error:
            status = error.what
        return Point(self.row(place, value, gap, formula, status, seconds), mechanism if self.keep else None)

    def problem(self, place: Place) -> Problem:
        """The problem at a place."""
        case, prior = self.cases[place.case].problem, self.priors[place.prior]
        return restated(case, with_epsilon(case.privacy, self.budgets[place.budget]), prior)

    def row(self, place: Place, value: float, gap: float, formula: float, status: str, seconds: float) -> Row:
        """A row of the table."""
        model, delta, _ = self.cases[place.case]
        epsilon = float(self.budgets[place.budget])
        return Row(epsilon, place.prior, value, gap, formula, status, seconds, model, delta)

    def lost(self, place: Place, found: Lost) -> Point:
        """A point at which workers died."""
        nan = math.nan
        return Point(self.row(place, nan, nan, nan, f"failed: {found.reason}", nan))


def checkpoint_of(grid: Grid, points: int, path: str | os.PathLike[str]) -> Checkpoint:
    """The checkpoint of a sweep; its statement is all that the rows depend on."""
    try:
        problems = [
            (name, None if math.isnan(delta) else delta, plain(grid.problem(Place(case, 0, 0))))
            for case, (name, delta, _) in enumerate(grid.cases)
        ]
    except StatementError as error:
        raise StatementError(f"a checkpoint needs a problem that can be written to a file: {error.what}") from None
    statement = {
        "problems": problems,
        "epsilons": [repr(epsilon) for epsilon in grid.budgets],
        "priors": [None if prior is None else prior.tolist() for prior in grid.priors],
        "solver": grid.solver,
        "time_limit": grid.time_limit,
        "mechanisms": grid.keep,
    }
    low, high = min(map(float, grid.budgets)), max(map(float, grid.budgets))
    first = grid.cases[0].problem
    title = f"sweep of {points} points, {len(first.inputs)} inputs, {type(first.privacy).__name__}"
    return Checkpoint(path, statement, f"{title}, epsilon {low:g} to {high:g}", pack=_packed, unpack=_unpacked)


def _packed(point: Point) -> list[Any]:
    row = [None if isinstance(value, float) and math.isnan(value) else value for value in astuple(point.row)]
    return [row, None if point.mechanism is None else point.mechanism.to_dict()]


def _unpacked(plain: list[Any]) -> Point:
    values: list[Any] = [math.nan if value is None else value for value in plain[0]]
    return Point(Row(*values), None if plain[1] is None else _mechanism(plain[1]))


def _mechanism(plain: dict[str, Any]) -> Mechanism:
    """A mechanism from what `Mechanism.to_dict` gives."""
    inputs, outputs = ([tuple(x) if isinstance(x, list) else x for x in plain[side]] for side in ("inputs", "outputs"))
    return Mechanism(plain["channel"], inputs, outputs)


def restated(problem: Problem, privacy: Any, prior: Float | None = None) -> Problem:
    """The same problem with another notion, and another prior unless that is None."""
    return Problem(
        problem.prior if prior is None else prior,
        problem.utility,
        privacy,
        inputs=problem.inputs,
        outputs=problem.outputs,
        objective=problem.objective,
        constraints=problem.constraints,
    )
