"""Grids of problems: the same problem at many budgets and priors, in one table.

The module can be called: ``ldpopt.sweep(problem, epsilons)`` is `sweep`.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.certificate import certify
from ldpopt.certificate.statement import plain_problem
from ldpopt.closed_forms.recognize import closed_form
from ldpopt.errors import CertificateError, LdpoptError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.callable_modules import make_callable
from ldpopt.foundation.checks import Float, frozen
from ldpopt.foundation.display import table_html
from ldpopt.foundation.files import replacing
from ldpopt.privacy.notion import with_epsilon
from ldpopt.solvers import Status
from ldpopt.solving.solve import solve
from ldpopt.statement.prior import read_priors
from ldpopt.statement.problem import Problem
from ldpopt.workers.board import Lost
from ldpopt.workers.checkpoint import Checkpoint
from ldpopt.workers.run import count_of, run

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


@dataclass(frozen=True, eq=False, repr=False)
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
        Whether Ctrl-C or SIGTERM ended the sweep early.
    objective : str
        ``"expected"`` or ``"worst_case"``.
    places : tuple of int
        Place of each row in the grid; all places in order if empty.
    """

    rows: tuple[Row, ...]
    epsilons: Float
    priors: Float | None
    labels: tuple[Any, ...] = field(repr=False)
    sense: str = "gain"
    interrupted: bool = False
    objective: str = "expected"
    places: tuple[int, ...] = field(default=(), repr=False)

    @property
    def aim(self) -> str:
        """What the values are: such as ``"worst-case gain"``."""
        return f"{self.objective.replace('_', '-')} {self.sense}"

    def __repr__(self) -> str:
        """Size of the grid."""
        points, priors = len(self.rows), 1 if self.priors is None else len(self.priors)
        interrupted = ", interrupted" if self.interrupted else ""
        return f"SweepResult({points} points, {len(self.epsilons)} budgets, {priors} priors, {self.aim}{interrupted})"

    def _repr_html_(self) -> str:
        rows = (record.values() for record in self.records())
        return table_html(repr(self), self._header(), (list(row) for row in rows), len(self.rows))

    def column(self, name: str) -> Float:
        """One column of numbers, shape (rows,)."""
        return np.array([getattr(row, name) for row in self.rows], float)

    def grid(self, name: str = "value") -> Float:
        """One column over the grid, shape (k, l); nan if a point is missing."""
        width = 1 if self.priors is None else len(self.priors)
        flat = np.full(len(self.epsilons) * width, np.nan)
        flat[list(self.places) or slice(len(self.rows))] = self.column(name)
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
    executor: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
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
        Processes; default: ``1``. -1 for one on each core. A worker that is killed costs the point that it was at,
        which is tried again; after three of them its status says so.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Solves the points instead of processes of our own.
    checkpoint : str or path-like, optional
        A file to which each point is appended as soon as it is solved; the points in it are not solved again.
    progress : callable, optional
        Called with (finished, total) after each point.

    Returns
    -------
    SweepResult
        A point that fails has the error as status; the others are still solved. Ctrl-C and SIGTERM end the sweep and
        keep the finished rows, with ``interrupted`` set.

    Raises
    ------
    StatementError
        If a budget or prior is ill posed, the notion has no epsilon, the grid is empty or too large, or the problem
        has no form in a file to compare a checkpoint with.
    ModelFileError
        If the checkpoint is that of another sweep, or cannot be written.

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
    task = _Points(
        problem, tuple(zip(notions, budgets, strict=True)), [one.prior for one in stated], solver, time_limit
    )
    places = dict(enumerate((i, k) for i in range(len(budgets)) for k in range(len(stated))))
    record = None if checkpoint is None else _record(checkpoint, task, problem, points)
    count_of(jobs)
    done = run(task, places, jobs=jobs, executor=executor, checkpoint=record, progress=progress)
    found = {place: _row(task, places[place], done.results[place]) for place in sorted(done.results)}
    epsilon = frozen(np.array([float(budget) for budget in budgets]))
    about = problem.inputs, problem.utility.sense, done.interrupted, problem.objective
    return SweepResult(tuple(found.values()), epsilon, weights, *about, tuple(found))


@dataclass(frozen=True)
class _Points:
    """The task of a sweep: solve and certify the point at a budget and a prior."""

    problem: Problem
    budgets: tuple[tuple[Any, Budget], ...]
    priors: list[Float | None]
    solver: str
    time_limit: float | None

    def __call__(self, place: tuple[int, int]) -> Row:
        (notion, epsilon), prior = self.budgets[place[0]], self.priors[place[1]]
        return _point(_restate(self.problem, notion, prior), epsilon, place[1], self.solver, self.time_limit)


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


def _row(task: _Points, place: tuple[int, int], found: Row | Lost) -> Row:
    """A row, also for a point without a result."""
    if isinstance(found, Row):
        return found
    nan = math.nan
    return Row(float(task.budgets[place[0]][1]), place[1], nan, nan, nan, f"failed: {found.reason}", nan)


def _record(path: str | os.PathLike[str], task: _Points, problem: Problem, points: int) -> Checkpoint:
    """The checkpoint of a sweep; its statement is all that the rows depend on."""
    try:
        plain = plain_problem(_restate(problem, task.budgets[0][0], None))
    except CertificateError as error:
        raise StatementError(f"a checkpoint needs a problem that has a form in a file: {error.what}") from None
    statement = {
        "problem": plain,
        "epsilons": [repr(epsilon) for _, epsilon in task.budgets],
        "priors": [None if prior is None else prior.tolist() for prior in task.priors],
        "solver": task.solver,
        "time_limit": task.time_limit,
    }
    low, high = min(float(epsilon) for _, epsilon in task.budgets), max(float(epsilon) for _, epsilon in task.budgets)
    title = f"sweep of {points} points, {len(problem.inputs)} inputs, {type(problem.privacy).__name__}"
    return Checkpoint(path, statement, f"{title}, epsilon {low:g} to {high:g}", pack=_packed, unpack=_unpacked)


def _packed(row: Row) -> list[Any]:
    return [None if isinstance(value, float) and math.isnan(value) else value for value in astuple(row)]


def _unpacked(plain: list[Any]) -> Row:
    values: list[Any] = [math.nan if value is None else value for value in plain]
    return Row(*values)


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


make_callable(__name__, "sweep")
