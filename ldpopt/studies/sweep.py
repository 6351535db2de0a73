"""The same problem, or several, at many budgets, deltas and priors, in one table."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, is_dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.closed_forms.recognize import closed_form
from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation import optional
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.display import Facts, HasFacts, Table, shown, thinned
from ldpopt.foundation.files import FilePath, write_csv
from ldpopt.foundation.numbers import (
    Float,
    frozen,
    listed_items,
    positive_seconds,
    real_number,
    require_choice,
    require_kind,
    short_repr,
    truth,
)
from ldpopt.mechanism.files import labels_of
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.notion import with_epsilon
from ldpopt.problem.plain import plain
from ldpopt.problem.prior import read_priors
from ldpopt.problem.problem import Problem, with_privacy
from ldpopt.processes.checkpoint import Checkpoint
from ldpopt.processes.pool import Lost, count_of, run
from ldpopt.processes.run import RunOptions
from ldpopt.solvers import Status
from ldpopt.solving.certify import certify
from ldpopt.solving.solve import solve

__all__ = ["MAX_POINTS", "Row", "SweepResult", "sweep"]
MAX_POINTS = 1_000_000  # largest number of points of a grid; guards against typing errors


@dataclass(frozen=True)
class Row:
    """One solved point of a grid."""

    epsilon: float  # budget in nats
    prior: int  # position among the priors
    value: float  # of the mechanism; nan without one
    relative_gap: float  # certified; nan without a mechanism
    closed_form: float  # value by a closed form; nan if none applies
    status: str  # status of the solve; the error message if it failed
    seconds: float  # wall time
    model: str = ""  # name of the problem, if there are several
    delta: float = math.nan  # delta of the notion, if it is varied; else nan


class Case(NamedTuple):
    """A problem with a name, and its delta if deltas are varied."""

    model: str
    delta: float
    problem: Problem


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult(HasFacts):
    """Result of `sweep`: a table with one row per point of the grid.

    Attributes
    ----------
    rows : tuple of Row
        Finished points in the order of the grid: priors vary fastest, then budgets, deltas,
        problems.
    epsilons : float array, shape (k,)
        Budgets of the grid.
    priors : float array, shape (l, n), or None
        Priors of the grid; None for the problem's own prior.
    sense : str
        ``"gain"`` or ``"loss"``.
    interrupted : bool
        Whether Ctrl-C or SIGTERM ended the sweep early.
    objective : str
        ``"expected"`` or ``"worst_case"``.
    positions : tuple of int
        Position of each row in the grid.
    cases : tuple of Case
        Name, delta and problem, if problems or deltas are varied; empty otherwise.
    mechanisms : tuple of Mechanism or None
        Mechanism of each row, if mechanisms are kept; None for a point without a mechanism.
    notions : tuple
        Privacy notion of each case, or of the one problem; its epsilon is varied.
    """

    rows: tuple[Row, ...]
    epsilons: Float
    priors: Float | None
    labels: tuple[Any, ...] = field(repr=False)
    sense: str = "gain"
    interrupted: bool = False
    objective: str = "expected"
    positions: tuple[int, ...] = field(default=(), repr=False)
    cases: tuple[Case, ...] = field(default=(), repr=False)
    mechanisms: tuple[Mechanism | None, ...] = field(default=(), repr=False)
    notions: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def aim(self) -> str:
        """Name of the values, such as ``"worst-case gain"``."""
        return f"{self.objective.replace('_', '-')} {self.sense}"

    def __repr__(self) -> str:
        points = len(self.rows)
        priors = 1 if self.priors is None else len(self.priors)
        interrupted = ", interrupted" if self.interrupted else ""
        return (
            f"SweepResult({points} points, {len(self.epsilons)} budgets, {priors} priors, "
            f"{self.aim}{interrupted})"
        )

    def facts(self) -> Facts:
        """Value, closed form, gap and status of each point; of many points some, evenly spaced."""
        rows, more = thinned(self.rows)
        columns: dict[str, Any] = (
            {"model": [row.model for row in rows]} if any(row.model for row in rows) else {}
        )
        if not all(math.isnan(row.delta) for row in rows):
            columns["delta"] = [row.delta for row in rows]
        columns["epsilon"] = [row.epsilon for row in rows]
        if self.priors is not None:
            columns["first prior"] = [float(self.priors[row.prior, 0]) for row in rows]
        columns[self.sense] = [shown(row.value, 9) for row in rows]
        columns["closed form"] = [shown(row.closed_form, 9) for row in rows]
        columns["relative gap"] = [shown(row.relative_gap, 2) for row in rows]
        columns["status"] = [row.status[:60] for row in rows]
        title = f"{len(self.rows):,} point{'s' if len(self.rows) != 1 else ''}{more}"
        return Facts(title, [Table(list(columns), list(zip(*columns.values(), strict=True)))])

    def column(self, name: str) -> Float:
        """One column of numbers, shape (rows,)."""
        known = [field.name for field in fields(Row) if field.name not in ("model", "status")]
        require_choice(name, known, "name")
        return np.array([getattr(row, name) for row in self.rows], float)

    def grid(self, name: str = "value") -> Float:
        """One column over the grid, shape (k, l), or (cases, k, l) if there are cases; nan if a
        point is missing.
        """
        shape = len(self.epsilons), 1 if self.priors is None else len(self.priors)
        shape = (len(self.cases), *shape) if self.cases else shape  # type: ignore[assignment]
        flat = np.full(math.prod(shape), np.nan)
        flat[list(self.positions)] = self.column(name)
        return flat.reshape(shape)

    def records(self) -> Iterator[dict[str, Any]]:
        """Rows as mappings; with the weights of the prior by label if the grid has priors."""
        for row in self.rows:
            record = {name: getattr(row, name) for name in self._columns()}
            if self.priors is not None:
                weights = self.priors[row.prior].tolist()
                record |= {
                    f"weight[{label}]": w for label, w in zip(self.labels, weights, strict=True)
                }
            yield record

    def to_frame(self) -> optional.pandas.DataFrame:
        """The table as a DataFrame."""
        return optional.pandas.DataFrame(list(self.records()), columns=self._header())

    def to_csv(self, path: FilePath | None = None) -> str:
        """Return the table as CSV with exact floats; with a path, also write it atomically."""
        return write_csv(self.records(), path, self._header())

    def _header(self) -> list[str]:
        return self._columns() + (
            [] if self.priors is None else [f"weight[{label}]" for label in self.labels]
        )

    def _columns(self) -> list[str]:
        """Fields of the rows, without those that are not varied."""
        unused = {"model"} if not any(case.model for case in self.cases) else set()
        unused |= {"delta"} if all(math.isnan(case.delta) for case in self.cases) else set()
        return [entry.name for entry in fields(Row) if entry.name not in unused]


def sweep(
    problem: Problem | Mapping[Hashable, Problem],
    epsilons: Iterable[float | str],
    priors: ArrayLike | None = None,
    *,
    deltas: Iterable[float] | None = None,
    keep: bool = False,
    solver: str = "auto",
    time_limit: float | None = None,
    jobs: int = 1,
    executor: Any = None,
    checkpoint: FilePath | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SweepResult:
    """Solve and certify a problem, or several, at many budgets, deltas and priors.

    Parameters
    ----------
    problem : Problem, or mapping name -> Problem
        The problem; its notion must be a dataclass with ``epsilon``, which is replaced. Several
        problems by name, such as ``{f"n = {n}": ... for n in (4, 8)}``, must be all gains or all
        losses.
    epsilons : iterable of float or str
        Budgets in nats, in the form that a notion accepts.
    priors : array_like, shape (l, n), DataFrame, or sequence of mappings, optional
        Priors instead of the problem's own, one in each row, as `Problem` reads them; columns are
        aligned with the inputs by their labels. With several problems they must have the same
        inputs.
    deltas : iterable of float, optional
        Deltas to use in place of the notion's own; default: the notion's own.
    keep : bool
        Whether to keep the mechanisms, also in the checkpoint; default: ``False``.
    solver, time_limit
        As in `solve`, for each point; default: ``"auto"`` and ``None``.
    jobs : int
        Processes; default: ``1``. -1 for one on each core. If a worker dies, the points in progress
        are tried again, one at a time; a point at which three workers died is given up, and its
        status says so.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Solves the points instead of processes that are started for this call.
    checkpoint : str or path-like, optional
        A file to which each point is appended as soon as it is solved; the points in it are not
        solved again. Points that failed are not in it: the next call tries them again.
    progress : callable, optional
        Called with (finished, total) after each point.

    Returns
    -------
    SweepResult
        A point that fails has the error as status; the others are still solved. Ctrl-C and SIGTERM
        end the sweep and keep the finished rows, with ``interrupted`` set.

    Raises
    ------
    StatementError
        If a budget or prior is invalid, the notion has no epsilon, the grid is empty or too large,
        or a problem with a checkpoint cannot be written to a file.
    ModelFileError
        If the checkpoint is that of another sweep, or cannot be written.

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> found = sweep(Problem([0.2, 0.8], "identity", PureLDP(1.0)), [0.1, 2.0])
    >>> found.column("value").round(6)
    array([0.8     , 0.880797])
    """
    budgets = _budgets(epsilons)
    time_limit = positive_seconds(time_limit)
    keep = truth(keep, "keep")
    problems = problem if isinstance(problem, Mapping) else {"": problem}
    for each in problems.values():
        require_kind(each, Problem, "sweep()", "pass a Problem, or {name: problem, ...}")
    cases = tuple(_cases(problems, deltas))
    first = cases[0].problem
    weights = None if priors is None else _priors(priors, [case.problem for case in cases])
    size = len(cases) * len(budgets) * (1 if weights is None else len(weights))
    if not 0 < size <= MAX_POINTS:
        raise StatementError(
            f"a grid of {size} points",
            code="grid",
            where="sweep",
            do=f"pass 1 to {MAX_POINTS} points",
        )
    valid_priors = _valid_priors(cases, budgets[0], weights)
    count_of(jobs)
    grid = Grid(cases, budgets, valid_priors, solver, time_limit, keep)
    points = dict(enumerate(grid.points()))
    record = None if checkpoint is None else grid.checkpoint(checkpoint)
    done = run(grid, points, RunOptions(jobs, executor, record, progress))
    positions = sorted(done.results)
    solved = [grid.solved(points[position], done.results[position]) for position in positions]
    epsilons = frozen(np.array([float(budget) for budget in budgets]))
    about = first.inputs, first.utility.sense, done.interrupted, first.objective, tuple(positions)
    varied = cases if deltas is not None or isinstance(problem, Mapping) else ()
    kept = tuple(each.mechanism for each in solved) if keep else ()
    notions = tuple(case.problem.privacy for case in cases)
    return SweepResult(
        tuple(each.row for each in solved), epsilons, weights, *about, varied, kept, notions
    )


def _budgets(epsilons: Any) -> tuple[Budget, ...]:
    """Read the budgets of the grid."""
    budgets = listed_items(epsilons, "epsilons", "pass a list, such as [0.5, 1.0]")
    return tuple(map(Budget, budgets))


def _valid_priors(
    cases: Sequence[Case], budget: Budget, weights: Float | None
) -> tuple[Float | None, ...]:
    """Check all notions and priors before the first point is solved; None is the prior of a
    problem.
    """
    at_first = [
        replace(case.problem, privacy=with_epsilon(case.problem.privacy, budget)) for case in cases
    ]
    if weights is None:
        return (None,)
    return tuple(replace(at_first[0], prior=prior).prior for prior in weights)


def _cases(problems: Mapping[Any, Problem], deltas: Iterable[float] | None) -> Iterator[Case]:
    """All problems at all deltas."""
    if not problems:
        raise StatementError(
            "no problems to sweep",
            code="no-problems",
            where="sweep",
            do='pass a problem, or {"name": problem, ...}',
        )
    wanted = (
        None
        if deltas is None
        else [real_number(delta, "delta", 0, 1) for delta in listed_items(deltas, "deltas")]
    )
    if wanted is not None and not wanted:
        raise StatementError(
            "no deltas to sweep",
            code="no-deltas",
            where="sweep",
            do="pass at least one delta, or leave deltas out",
        )
    if len({(problem.utility.sense, problem.objective) for problem in problems.values()}) > 1:
        do = "sweep gains and losses, and expected and worst cases, separately"
        raise StatementError(
            "the problems have values of several kinds", code="mixed-values", where="sweep", do=do
        )
    for name, problem in problems.items():
        if wanted is None:
            yield Case(str(name), math.nan, problem)
        for delta in wanted or ():
            yield Case(
                str(name), delta, replace(problem, privacy=_with_delta(problem.privacy, delta))
            )


def _with_delta(privacy: Any, delta: float) -> Any:
    """The same notion with another delta."""
    has_delta = is_dataclass(privacy) and any(
        entry.name == "delta" and entry.init for entry in fields(privacy)
    )
    if not has_delta or isinstance(privacy, type):
        do = (
            "use a notion with a delta, such as ApproximateLDP (in a model file: kind = "
            "'approximate')"
        )
        raise StatementError(f"{short_repr(privacy)} has no delta to sweep", code="delta", do=do)
    return replace(privacy, delta=delta)


def _priors(priors: Any, problems: list[Problem]) -> Float:
    """Read the priors of the grid, shape (l, n), for problems with the same inputs."""
    inputs = problems[0].inputs
    if any(problem.prior is None for problem in problems):
        raise StatementError(
            "a worst-case problem has no prior to vary",
            code="worst-case",
            do="sweep its epsilon only",
        )
    if any(problem.inputs != inputs for problem in problems):
        raise StatementError(
            "the problems have different inputs, so no prior is for all",
            code="other-inputs",
            do="sweep each by itself",
        )
    return read_priors(priors, inputs)[0]


class GridPoint(NamedTuple):
    """A point of a grid: positions of its case, budget and prior."""

    case: int
    budget: int
    prior: int


class SweepRow(NamedTuple):
    """The row of a point, and its mechanism if that is kept."""

    row: Row
    mechanism: Mechanism | None = None


@dataclass(frozen=True)
class Grid:
    """The task of a sweep: solve and certify the problem at a point, here or in another process."""

    cases: tuple[Case, ...]
    budgets: tuple[Budget, ...]
    priors: tuple[Float | None, ...]
    solver: str
    time_limit: float | None
    keep: bool

    def points(self) -> Iterator[GridPoint]:
        """All points: priors vary fastest, then budgets, then cases."""
        return (
            GridPoint(*at)
            for at in product(
                *(range(len(axis)) for axis in (self.cases, self.budgets, self.priors))
            )
        )

    def __call__(self, point: GridPoint) -> SweepRow:
        """Solve and certify one point; an error becomes its status."""
        problem = self.problem(point)
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
                gap = certify(solution).relative_gap
        except LdpoptError as error:
            status = error.what
        return SweepRow(
            self._row(point, value, gap, formula, status, seconds), mechanism if self.keep else None
        )

    def problem(self, point: GridPoint) -> Problem:
        """The problem at a point."""
        case = self.cases[point.case].problem
        prior = self.priors[point.prior]
        privacy = with_epsilon(case.privacy, self.budgets[point.budget])
        if prior is None:
            return with_privacy(case, privacy)
        return replace(case, privacy=privacy, prior=prior)

    def solved(self, point: GridPoint, result: SweepRow | Lost) -> SweepRow:
        """The row of a point, also of one that was given up."""
        if not isinstance(result, Lost):
            return result
        status = f"failed: {result.reason}"
        return SweepRow(self._row(point, math.nan, math.nan, math.nan, status, math.nan))

    def _row(self, point: GridPoint, *numbers: Any) -> Row:
        model, delta, _ = self.cases[point.case]
        fields: list[Any] = [float(self.budgets[point.budget]), point.prior, *numbers, model, delta]
        return Row(*fields)

    def checkpoint(self, path: FilePath) -> Checkpoint:
        """The checkpoint of the sweep; its statement is all that the rows depend on."""
        try:
            problems = [
                (
                    name,
                    None if math.isnan(delta) else delta,
                    plain(self.problem(GridPoint(case, 0, 0))),
                )
                for case, (name, delta, _) in enumerate(self.cases)
            ]
        except StatementError as error:
            problem = f"a checkpoint needs a problem that can be written to a file: {error.what}"
            raise StatementError(
                problem, code="unwritable-problem", do=error.do or "sweep without a checkpoint"
            ) from None
        priors = [None if prior is None else prior.tolist() for prior in self.priors]
        statement = {
            "problems": problems,
            "epsilons": list(map(repr, self.budgets)),
            "priors": priors,
        }
        statement |= {"solver": self.solver, "time_limit": self.time_limit, "mechanisms": self.keep}
        low = min(map(float, self.budgets))
        high = max(map(float, self.budgets))
        first = self.cases[0].problem
        size = len(list(self.points()))
        title = (
            f"sweep of {size} points, {len(first.inputs)} inputs, {type(first.privacy).__name__}"
        )
        return Checkpoint(
            path, statement, f"{title}, epsilon {low:g} to {high:g}", pack=_packed, unpack=_unpacked
        )


def _packed(solved: SweepRow) -> list[Any] | None:
    """A point as JSON data, in which nan is null; None for one that failed, perhaps because its
    solver was killed.
    """
    if solved.row.status not in {status.value for status in Status}:
        return None
    row = [
        None if isinstance(value, float) and math.isnan(value) else value
        for value in astuple(solved.row)
    ]
    return [row, None if solved.mechanism is None else solved.mechanism.to_dict()]


def _unpacked(values: list[Any]) -> SweepRow:
    """Read what `_packed` returned."""
    row, mechanism = values
    numbers: list[Any] = [math.nan if value is None else value for value in row]
    if mechanism is None:
        return SweepRow(Row(*numbers))
    if set(mechanism) != {"inputs", "outputs", "channel"}:
        raise ValueError("a mechanism has other keys than inputs, outputs and channel")
    inputs = labels_of(mechanism["inputs"])
    outputs = labels_of(mechanism["outputs"])
    return SweepRow(Row(*numbers), Mechanism(mechanism["channel"], inputs, outputs))
