"""Grids of problems: the same problem at many budgets and priors, in one table."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.certificate import certify
from ldpopt.closed_forms.recognize import closed_form
from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.checks import Float, frozen
from ldpopt.foundation.files import replacing
from ldpopt.privacy.notion import with_epsilon
from ldpopt.solvers import Status
from ldpopt.solving.solve import solve
from ldpopt.statement.prior import read_priors
from ldpopt.statement.problem import Problem

if TYPE_CHECKING:
    import pandas as pd

MAX_POINTS = 1_000_000
"""Largest number of points of a grid; guards against typing errors."""


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
    """

    epsilon: float
    prior: int
    value: float
    relative_gap: float
    closed_form: float
    status: str
    seconds: float


@dataclass(frozen=True, eq=False)
class SweepResult:
    """Result of `sweep`: a table with one row per point of the grid.

    Attributes
    ----------
    rows : tuple of Row
        Finished points in the order of the grid; priors vary fastest.
    epsilons : float array, shape (k,)
        Budgets of the grid.
    priors : float array, shape (l, n), or None
        Priors of the grid; None for the problem's own prior.
    labels : tuple
        The problem's inputs.
    sense : str
        ``"gain"`` or ``"loss"``.
    interrupted : bool
        Whether a keyboard interrupt ended the sweep early.
    objective : str
        ``"expected"`` or ``"worst_case"``.
    """

    rows: tuple[Row, ...]
    epsilons: Float
    priors: Float | None
    labels: tuple[Any, ...] = field(repr=False)
    sense: str = "gain"
    interrupted: bool = False
    objective: str = "expected"

    @property
    def aim(self) -> str:
        """What the values are: such as ``"worst-case gain"``."""
        return f"{self.objective.replace('_', '-')} {self.sense}"

    def column(self, name: str) -> Float:
        """One column of numbers, shape (rows,)."""
        return np.array([getattr(row, name) for row in self.rows], float)

    def grid(self, name: str = "value") -> Float:
        """One column over the grid, shape (k, l); nan if a point is missing."""
        width = 1 if self.priors is None else len(self.priors)
        flat = np.full(len(self.epsilons) * width, np.nan)
        flat[: len(self.rows)] = self.column(name)
        return flat.reshape(len(self.epsilons), width)

    def records(self) -> Iterator[dict[str, Any]]:
        """Rows as mappings; with the weights of the prior by label if the grid has priors."""
        for row in self.rows:
            record = {entry.name: getattr(row, entry.name) for entry in fields(row)}
            if self.priors is not None:
                weights = self.priors[row.prior].tolist()
                record |= {f"weight[{label}]": w for label, w in zip(self.labels, weights, strict=True)}
            yield record

    def to_frame(self) -> pd.DataFrame:
        """The table as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self.records()), columns=self._header())

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the table as CSV with exact floats; with a path, also write it atomically."""
        stream = io.StringIO()
        writer = csv.DictWriter(stream, self._header(), lineterminator="\n")
        writer.writeheader()
        for record in self.records():
            writer.writerow({k: "" if isinstance(v, float) and math.isnan(v) else v for k, v in record.items()})
        if path is not None:
            with replacing(path) as file:
                file.write(stream.getvalue())
        return stream.getvalue()

    def _header(self) -> list[str]:
        weights = [] if self.priors is None else [f"weight[{label}]" for label in self.labels]
        return [entry.name for entry in fields(Row)] + weights


def sweep(
    problem: Problem,
    epsilons: Iterable[float | str],
    priors: ArrayLike | None = None,
    *,
    solver: str = "auto",
    time_limit: float | None = None,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> SweepResult:
    """Solve and certify a problem at many budgets, and many priors.

    Parameters
    ----------
    problem : Problem
        The problem; its notion must be a dataclass with ``epsilon``, which is replaced.
    epsilons : iterable of float or str
        Budgets in nats, as a notion takes them.
    priors : array_like, shape (l, n), DataFrame, or sequence of mappings, optional
        Priors instead of the problem's own, one in each row, as `Problem` reads them; columns are aligned with the
        inputs by their labels.
    solver, time_limit
        As in `solve`, for each point; default: ``"auto"`` and ``None``.
    jobs : int
        Processes; default: ``1``. More than one (or -1 for all cores) needs joblib and uses its active backend, such as
        Dask.
    progress : callable, optional
        Called with (finished, total) after each point.

    Returns
    -------
    SweepResult
        A point that fails has the error as status; the others are still solved. A keyboard interrupt ends the sweep
        and keeps the finished rows, with ``interrupted`` set.

    Raises
    ------
    StatementError
        If a budget or prior is ill posed, the notion has no epsilon, or the grid is empty or too large.
    LdpoptError
        If ``jobs`` asks for joblib and it is not installed.

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> found = sweep(Problem([0.2, 0.8], "identity", PureLDP(1.0)), [0.1, 2.0])
    >>> found.column("value").round(6)
    array([0.8     , 0.880797])
    """
    budgets = [Budget(epsilon) for epsilon in epsilons]
    weights = None if priors is None else _priors(priors, problem)
    points = len(budgets) * (1 if weights is None else len(weights))
    if not 0 < points <= MAX_POINTS:
        raise StatementError(f"a grid of {points} points", where="sweep", do=f"state 1 to {MAX_POINTS} points")
    notions = [with_epsilon(problem.privacy, budget) for budget in budgets]
    # All priors are checked before the first point is solved; other points are stated when they are solved.
    stated = [_restate(problem, notions[0], prior) for prior in ([None] if weights is None else weights)]
    tasks = (
        (_restate(problem, notion, one.prior), budget, k, solver, time_limit)
        for notion, budget in zip(notions, budgets, strict=True)
        for k, one in enumerate(stated)
    )
    rows, interrupted = _collect(_solved(tasks, jobs), points, progress)
    found = np.array([float(budget) for budget in budgets])
    about = problem.inputs, problem.utility.sense, interrupted, problem.objective
    return SweepResult(tuple(rows), frozen(found), weights, *about)


def _collect(solved: Iterable[Row], points: int, progress: Callable[[int, int], None] | None) -> tuple[list[Row], bool]:
    """Finished rows, and whether a keyboard interrupt ended the sweep."""
    rows: list[Row] = []
    try:
        for row in solved:
            rows.append(row)
            if progress is not None:
                progress(len(rows), points)
    except KeyboardInterrupt:
        return rows, True
    return rows, False


def _solved(tasks: Iterable[tuple[Any, ...]], jobs: int) -> Iterator[Row]:
    return (_point(*task) for task in tasks) if jobs == 1 else _parallel(tasks, jobs)


def _point(problem: Problem, epsilon: Budget, prior: int, solver: str, time_limit: float | None) -> Row:
    """Solve and certify one point; an error becomes its status."""
    form = closed_form(problem)
    formula = math.nan if form is None else float(form.value)
    value = gap = seconds = math.nan
    try:
        solution = solve(problem, solver=solver, time_limit=time_limit)
        status, seconds = solution.status.value, solution.runtime
        if solution.status is Status.FAILED:
            status = f"{status}: {solution.raw_status}"
        if solution.repaired is not None:
            value = solution.value
            gap = certify(solution, exact=False).relative_gap
    except LdpoptError as error:
        status = error.what
    return Row(float(epsilon), prior, value, gap, formula, status, seconds)


def _parallel(tasks: Iterable[tuple[Any, ...]], jobs: int) -> Iterator[Row]:
    try:
        from joblib import Parallel, delayed
    except ImportError:
        what = f"jobs = {jobs} needs joblib, which is not installed"
        raise LdpoptError(what, do='pip install "ldpopt[sweep]"') from None
    if jobs == 0 or jobs < -1:
        raise StatementError(f"jobs = {jobs} is not a number of processes", do="state 1, 2, ..., or -1 for all cores")
    found: Iterator[Row] = Parallel(n_jobs=jobs, return_as="generator")(delayed(_point)(*task) for task in tasks)
    return found


def _restate(problem: Problem, privacy: Any, prior: Float | None) -> Problem:
    return Problem(
        problem.prior if prior is None else prior,
        problem.utility,
        privacy,
        inputs=problem.inputs,
        outputs=problem.outputs,
        objective=problem.objective,
        constraints=problem.constraints,
    )


def _priors(priors: Any, problem: Problem) -> Float:
    if problem.prior is None:
        raise StatementError("a worst-case problem has no prior to vary", do="sweep its epsilon only")
    return read_priors(priors, problem.inputs)[0]
