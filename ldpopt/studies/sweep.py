"""Grids of problems: the same problem at many budgets and priors, in one table.

The module can be called: ``ldpopt.sweep(problem, epsilons)`` is `sweep`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.display import Facts, HasFacts, Table, shown, thinned
from ldpopt.foundation.numbers import Float, frozen, short_repr
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.notion import with_epsilon
from ldpopt.problem.prior import read_priors
from ldpopt.problem.problem import Problem
from ldpopt.processes.pool import Lost, count_of, run
from ldpopt.studies.points import Case, Grid, Place, Row, checkpoint_of, restated
from ldpopt.studies.table import write_csv

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MAX_POINTS", "Row", "SweepResult", "sweep"]

MAX_POINTS = 1_000_000
"""Largest number of points of a grid; guards against typing errors."""


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult(HasFacts):
    """Result of `sweep`: a table with one row per point of the grid.

    Attributes
    ----------
    rows : tuple of Row
        Finished points in the order of the grid: priors vary fastest, then budgets, deltas, problems.
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
    cases : tuple of Case
        Name, delta and problem, where problems or deltas are varied; empty otherwise.
    mechanisms : tuple of Mechanism or None
        Mechanism of each row, where they are kept; None where there is none.
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
    places: tuple[int, ...] = field(default=(), repr=False)
    cases: tuple[Case, ...] = field(default=(), repr=False)
    mechanisms: tuple[Mechanism | None, ...] = field(default=(), repr=False)
    notions: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def aim(self) -> str:
        """What the values are: such as ``"worst-case gain"``."""
        return f"{self.objective.replace('_', '-')} {self.sense}"

    def __repr__(self) -> str:
        """Size of the grid."""
        points, priors = len(self.rows), 1 if self.priors is None else len(self.priors)
        interrupted = ", interrupted" if self.interrupted else ""
        return f"SweepResult({points} points, {len(self.epsilons)} budgets, {priors} priors, {self.aim}{interrupted})"

    def facts(self) -> Facts:
        """Value, closed form, gap and status of each point; of many points some, evenly spaced."""
        rows, more = thinned(self.rows)
        columns = {
            "model": [row.model for row in rows],
            "delta": [row.delta for row in rows],
            "epsilon": [row.epsilon for row in rows],
            "first prior": [] if self.priors is None else [float(self.priors[row.prior, 0]) for row in rows],
            self.sense: [shown(row.value, 9) for row in rows],
            "closed form": [shown(row.closed_form, 9) for row in rows],
            "relative gap": [shown(row.relative_gap, 2) for row in rows],
            "status": [row.status[:60] for row in rows],
        }
        if not any(columns["model"]):
            del columns["model"]
        if all(map(math.isnan, columns["delta"])):
            del columns["delta"]
        if self.priors is None:
            del columns["first prior"]
        title = f"{len(self.rows):,} point{'s' if len(self.rows) != 1 else ''}{more}"
        return Facts(title, [Table(list(columns), list(zip(*columns.values(), strict=True)))])

    def column(self, name: str) -> Float:
        """One column of numbers, shape (rows,)."""
        return np.array([getattr(row, name) for row in self.rows], float)

    def grid(self, name: str = "value") -> Float:
        """One column over the grid, shape (k, l), or (cases, k, l) if there are cases; nan if a point is missing."""
        shape = len(self.epsilons), 1 if self.priors is None else len(self.priors)
        shape = (len(self.cases), *shape) if self.cases else shape  # type: ignore[assignment]
        flat = np.full(math.prod(shape), np.nan)
        flat[list(self.places) or slice(len(self.rows))] = self.column(name)
        return flat.reshape(shape)

    def records(self) -> Iterator[dict[str, Any]]:
        """Rows as mappings; with the weights of the prior by label if the grid has priors."""
        for row in self.rows:
            record = {name: getattr(row, name) for name in self._columns()}
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
        return write_csv(self.records(), path, self._header())

    def _header(self) -> list[str]:
        weights = [] if self.priors is None else [f"weight[{label}]" for label in self.labels]
        return self._columns() + weights

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
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SweepResult:
    """Solve and certify a problem, or several, at many budgets, deltas and priors.

    Parameters
    ----------
    problem : Problem, or mapping name -> Problem
        The problem; its notion must be a dataclass with ``epsilon``, which is replaced. Several by name, such as
        ``{f"n = {n}": ... for n in (4, 8)}``, are gains alike or losses alike.
    epsilons : iterable of float or str
        Budgets in nats, as a notion takes them.
    priors : array_like, shape (l, n), DataFrame, or sequence of mappings, optional
        Priors instead of the problem's own, one in each row, as `Problem` reads them; columns are aligned with the
        inputs by their labels. With several problems they must have the same inputs.
    deltas : iterable of float, optional
        Deltas that replace that of the notion; default: its own.
    keep : bool
        Whether mechanisms are kept, also in the checkpoint; default: ``False``.
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
    budgets = tuple(Budget(epsilon) for epsilon in epsilons)
    problems = problem if isinstance(problem, Mapping) else {"": problem}
    cases = tuple(_cases(problems, deltas))
    first = cases[0].problem
    weights = None if priors is None else _priors(priors, [case.problem for case in cases])
    points = len(cases) * len(budgets) * (1 if weights is None else len(weights))
    if not 0 < points <= MAX_POINTS:
        raise StatementError(f"a grid of {points} points", where="sweep", do=f"state 1 to {MAX_POINTS} points")
    # All priors are checked before the first point is solved; other points are stated when they are solved.
    stated = [None] if weights is None else [_checked(first, budgets[0], prior) for prior in weights]
    for case in cases:
        with_epsilon(case.problem.privacy, budgets[0])
    grid = Grid(cases, budgets, tuple(stated), solver, time_limit, keep)
    ranges = range(len(cases)), range(len(budgets)), range(len(stated))
    places = dict(enumerate(Place(*place) for place in product(*ranges)))
    record = None if checkpoint is None else checkpoint_of(grid, points, checkpoint)
    count_of(jobs)
    done = run(grid, places, jobs=jobs, executor=executor, checkpoint=record, progress=progress)
    found = {place: done.results[place] for place in sorted(done.results)}
    solved = [grid.lost(places[place], one) if isinstance(one, Lost) else one for place, one in found.items()]
    return SweepResult(
        tuple(point.row for point in solved),
        frozen(np.array([float(budget) for budget in budgets])),
        weights,
        first.inputs,
        first.utility.sense,
        done.interrupted,
        first.objective,
        tuple(found),
        cases if deltas is not None or isinstance(problem, Mapping) else (),
        tuple(point.mechanism for point in solved) if keep else (),
        tuple(case.problem.privacy for case in cases),
    )


def _cases(problems: Mapping[Any, Problem], deltas: Iterable[float] | None) -> Iterator[Case]:
    """All problems at all deltas."""
    if not problems:
        raise StatementError("no problems to sweep", where="sweep", do='pass a problem, or {"name": problem, ...}')
    chosen = None if deltas is None else [float(delta) for delta in deltas]
    if chosen is not None and not chosen:
        raise StatementError("no deltas to sweep", where="sweep", do="state at least one, or leave deltas out")
    senses = {(one.utility.sense, one.objective) for one in problems.values()}
    if len(senses) > 1:
        do = "sweep gains and losses, expected and worst cases by themselves"
        raise StatementError("the problems have values of several kinds", where="sweep", do=do)
    for name, one in problems.items():
        if chosen is None:
            yield Case(str(name), math.nan, one)
        for delta in chosen or ():
            yield Case(str(name), delta, restated(one, _with_delta(one.privacy, delta)))


def _with_delta(privacy: Any, delta: float) -> Any:
    """The same notion with another delta."""
    has_delta = is_dataclass(privacy) and any(entry.name == "delta" and entry.init for entry in fields(privacy))
    if not has_delta or isinstance(privacy, type):
        what = f"{short_repr(privacy)} has no delta to sweep"
        raise StatementError(
            what, do="use a notion with a delta, such as ApproximateLDP (in a model file: kind = 'approximate')"
        )
    return replace(privacy, delta=delta)


def _checked(problem: Problem, epsilon: Budget, prior: Float) -> Float | None:
    """A prior that the problem accepts."""
    return restated(problem, with_epsilon(problem.privacy, epsilon), prior).prior


def _priors(priors: Any, problems: list[Problem]) -> Float:
    inputs = problems[0].inputs
    if any(problem.prior is None for problem in problems):
        raise StatementError("a worst-case problem has no prior to vary", do="sweep its epsilon only")
    if any(problem.inputs != inputs for problem in problems):
        raise StatementError("priors for problems with different inputs", do="sweep them by themselves")
    return read_priors(priors, inputs)[0]
