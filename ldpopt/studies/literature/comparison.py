"""All methods for one problem side by side: closed forms, solvers, extreme points, mechanisms of the literature."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.closed_forms.recognize import Match, recognize
from ldpopt.errors import LdpoptError, NoSolutionError, NotRepresentableError, PrivacyViolationError, StatementError
from ldpopt.foundation.display import Facts, HasFacts, Part, Table, shown
from ldpopt.foundation.numbers import require_kind, short_repr
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.polytope.vertices import extreme_points, require_extreme_optimum
from ldpopt.problem.problem import Problem
from ldpopt.solvers import installed
from ldpopt.solving.certify import certify
from ldpopt.solving.formulation import default_form, size
from ldpopt.solving.solution import Solution, value_of
from ldpopt.solving.solve import solve
from ldpopt.studies.literature.exponential import exponential, sharpened_exponential
from ldpopt.studies.literature.planar_laplace import planar_laplace
from ldpopt.studies.literature.tight import tight_constraints

if TYPE_CHECKING:
    import pandas as pd

LITERATURE = "literature"  # kind of the mechanisms that need not be optimal
REMAPPED = ", remapped"  # end of the name of a mechanism whose reports are replaced by what is best for the prior
ROUNDING = 1e-9  # share of the optimum by which rounding may make another mechanism better
MAX_PAIRWISE_NONZEROS = 200_000  # largest number of non-zeros for which the pairwise form is solved too
# Largest number of entries of a channel for the best extreme point, without and with delta
MAX_ENTRIES = {False: 16, True: 9}
FIRST = ("highs", "cbc", "cvxpy")  # solvers in the order of the rows; others follow


Method = Callable[[], dict[str, Any]]
"""Runs a method; returns the fields of its row, with a value and a mechanism."""


@dataclass(frozen=True, eq=False)
class ComparisonRow:
    """One method or mechanism of a comparison.

    Attributes
    ----------
    name : str
        A closed form, a solver with the form of its program, or a mechanism by its name in the literature.
    kind : str
        ``"closed form"``, ``"solver"``, ``"extreme point"``, ``"optimum"`` (given by the caller) or ``"literature"``.
    seconds : float
        Wall time.
    value : float
        Expected (or worst-case) gain or loss of the mechanism; nan without one, as the other numbers.
    difference, ratio : float
        ``value`` minus the best value, and over it; the ratio is nan if the best value is 0.
    bound, relative_gap : float
        The method's own bound on all mechanisms, nan if it has none; and the relative gap to it, else to the tightest
        bound of all methods.
    epsilon : float
        Smallest epsilon of the notion that the mechanism keeps, by audit: nats, per unit of distance for a metric.
    verdict : str
        The audit's verdict on the notion; empty without a mechanism.
    note : str
        Why there is no mechanism, or a remark.
    applies : bool
        Whether the method is for such problems; it may have failed nevertheless.
    mechanism : Mechanism or None
        Exactly private, with integer masses.
    failure : Exception or None
        Why there is no mechanism.
    """

    name: str
    kind: str
    seconds: float
    value: float = math.nan
    difference: float = math.nan
    ratio: float = math.nan
    bound: float = math.nan
    relative_gap: float = math.nan
    epsilon: float = math.nan
    verdict: str = ""
    note: str = ""
    applies: bool = True
    mechanism: Mechanism | None = field(default=None, repr=False)
    failure: Exception | None = field(default=None, repr=False)


# Attributes of a row in tables of data
COLUMNS = ("kind", "value", "difference", "ratio", "relative_gap", "epsilon", "verdict", "seconds", "note")


@dataclass(frozen=True, eq=False)
class Comparison(HasFacts):
    """All methods for a problem, and the mechanisms of the literature.

    Attributes
    ----------
    problem : Problem
        The problem that all of them are for.
    rows : tuple of ComparisonRow
        The methods for the optimum, then the mechanisms of the literature, the best of them first, then those that do
        not apply. A form of the program that a solver does not support is left out, if it solved the other.
    bound : float
        The tightest certified bound; nan without one.
    finished, planned : int
        Number of methods that ran, and of all; fewer ran if Ctrl-C ended the comparison.
    """

    problem: Problem
    rows: tuple[ComparisonRow, ...]
    bound: float
    finished: int
    planned: int

    @property
    def best(self) -> ComparisonRow:
        """First row with the best value of the methods for the optimum.

        Raises
        ------
        LdpoptError
            If no method has a mechanism: the problem is infeasible, or a limit was reached.
        """
        for row in self.methods:
            if row.difference == 0.0:
                return row
        failures = [row.failure for row in self.methods if row.failure is not None]
        failures.sort(key=lambda why: (not isinstance(why, NoSolutionError), isinstance(why, NotRepresentableError)))
        raise failures[0]

    @property
    def methods(self) -> tuple[ComparisonRow, ...]:
        """The rows of the methods for the optimum."""
        return tuple(row for row in self.rows if row.kind != LITERATURE)

    @property
    def literature(self) -> tuple[ComparisonRow, ...]:
        """The rows of the mechanisms from the literature that apply, the best first."""
        return tuple(row for row in self.rows if row.kind == LITERATURE and row.mechanism is not None)

    @property
    def is_beaten(self) -> bool:
        """Whether a mechanism is better than the optimum by more than rounding: then a time limit ended its search."""
        sign = 1 if self.problem.utility.sense == "gain" else -1
        others = self.literature
        return bool(others) and sign * others[0].difference > ROUNDING * abs(others[0].value - others[0].difference)

    def __repr__(self) -> str:
        """The facts as text."""
        return self.summary()

    def facts(self) -> Facts:
        """The methods with a bound on all mechanisms, the mechanisms of the literature, and what does not apply."""
        sense, literature = self.problem.utility.sense, self.literature
        found = [row for row in self.methods if row.mechanism is not None]
        parts: list[Part] = []
        if any(row.kind != "optimum" for row in found):
            rows = []
            for row in found:
                numbers = (f"{row.value:.12g}", f"{row.difference:.1e}", f"{row.relative_gap:.1e}")
                rows.append([row.name, *numbers, row.verdict, f"{row.seconds:.3f}"])
            ahead = "" if math.isnan(self.bound) else f"{self.bound - self.best.value:.1e}"
            rows.append(["certified bound", shown(self.bound, 12), ahead, "", "", ""])
            parts.append(Table(["method", sense, "difference", "relative gap", "audit", "seconds"], rows))
        if literature:
            rows = [
                [r.name, shown(r.value, 9), f"{r.difference:.1e}", f"{r.ratio:.4f}", shown(r.epsilon), r.verdict]
                for r in (replace(self.best, name="optimum"), *literature)
            ]
            parts.append(Table(["mechanism", sense, "difference", "ratio", "epsilon", "audit"], rows))
        parts += [f"{row.name}: {row.note}" for row in found if row.note]
        left_out = [row for row in self.rows if row.mechanism is None]
        for applies, note in dict.fromkeys((row.applies, row.note) for row in left_out):
            names = [row.name for row in left_out if (row.applies, row.note) == (applies, note)]
            names = names if applies else [*dict.fromkeys(map(_solver_of, names))]
            parts.append(f"{'failed' if applies else 'does not apply'}: {', '.join(names)}: {note}")
        if self.is_beaten:
            parts.append(f"{literature[0].name} is better than what was found for the optimum: give more time")
        if self.finished < self.planned:
            parts.append(f"interrupted: {self.finished} of {self.planned} methods are finished")
        return Facts(repr(self.problem), parts)

    def to_frame(self) -> pd.DataFrame:
        """Return a table: one row for each method and mechanism, with its kind, numbers, verdict, seconds and note."""
        from ldpopt.foundation.optional import pandas as pd

        table = {row.name: [getattr(row, column) for column in COLUMNS] for row in self.rows}
        return pd.DataFrame.from_dict(table, orient="index", columns=list(COLUMNS))

    def to_dict(self) -> dict[str, Any]:
        """Return what the command writes as JSON: the best value, the bound, and the rows; nan is None."""
        rows = [{name: getattr(row, name) for name in ("name", *COLUMNS, "applies")} for row in self.rows]
        rows = [{key: None if value != value else value for key, value in row.items()} for row in rows]
        has_best = any(row.difference == 0.0 for row in self.methods)
        return {
            "sense": self.problem.utility.sense,
            "best": self.best.value if has_best else None,
            "bound": None if math.isnan(self.bound) else self.bound,
            "rows": rows,
        }


def compare(
    problem: Problem,
    *,
    points: Any = None,
    best: Solution | Mechanism | None = None,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    r"""Solve a problem by every method that applies, and compare the mechanisms of the literature with the optimum.

    .. math:: \text{difference} = \text{value} - \text{best value}

    The methods are the closed forms, each installed solver in each form of the program, and the best extreme point of a
    small problem. The mechanisms are the exponential mechanism, the same with the largest private factor, the mechanism
    of tight constraints, and the planar Laplace mechanism; each also with optimal remapping of its reports, if that
    changes a report. If one fails, the others go on. ``ldpopt compare MODEL`` prints the result.

    Parameters
    ----------
    problem : Problem
        Alphabet, prior, utility and notion.
    points : array_like, shape (n, 2), or DataFrame or mapping label -> coordinates, optional
        Places in a plane, for the planar Laplace mechanism; default: computed from the distances of a metric.
    best : Solution or Mechanism, optional
        The optimum, if it is known; then no method is run for it.
    time_limit : float, optional
        Seconds for each solver; default: no limit.
    progress : callable, optional
        Called with the name of each method before it runs.

    Returns
    -------
    Comparison
        Value, difference, seconds and true epsilon of each method and mechanism, or why it does not apply. After Ctrl-C
        the methods that are finished, if there is one.

    Raises
    ------
    StatementError
        If the points or ``best`` do not fit the problem.

    Notes
    -----
    All are rounded to integer masses and audited for the problem's notion, in exact arithmetic.

    Examples
    --------
    >>> from ldpopt import Problem, PureLDP
    >>> found = compare(Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0)))
    >>> found.best.name, round(found.best.value, 6), found.literature[0].name
    ('closed form top_k', 0.584847, 'tight constraints')
    """
    require_kind(problem, Problem, "compare()")
    steps = [*_methods(problem, time_limit)] if best is None else [_given(problem, best)]
    mechanisms, rows, finished = _builders(points), [], 0
    try:
        for name, kind, run in steps:
            if progress is not None:
                progress(name)
            rows.append(_run(name, kind, run, problem))
            finished += 1
        for name, build in mechanisms.items():
            if progress is not None:
                progress(name)
            rows += _literature(name, build, problem)
            finished += 1
    except KeyboardInterrupt:
        if not rows:
            raise
    return _completed(problem, rows, finished, len(steps) + len(mechanisms))


def _completed(problem: Problem, rows: Sequence[ComparisonRow], finished: int, planned: int) -> Comparison:
    """Fill in the numbers that depend on other rows, and sort the literature."""
    is_gain = problem.utility.sense == "gain"
    solved = [row for row in rows if row.kind != LITERATURE and row.mechanism is not None]
    best = (max if is_gain else min)((row.value for row in solved), default=math.nan)
    bounds = [row.bound for row in rows if not math.isnan(row.bound)]
    bound = (min if is_gain else max)(bounds, default=math.nan)
    solvers = {_solver_of(row.name) for row in solved}
    kept = []
    for row in rows:
        if row.applies or _solver_of(row.name) not in solvers:
            own = math.nan if row.kind == LITERATURE else abs(bound - row.value) / (abs(bound) or 1.0)
            gap = own if math.isnan(row.relative_gap) else row.relative_gap
            ratio = row.value / best if best else math.nan
            kept.append(replace(row, difference=row.value - best, ratio=ratio, relative_gap=gap))
    # Those equal up to rounding keep their order; nan, without a mechanism, comes last.
    order = {row.name: (-1 if is_gain else 1) * float(f"{row.value:.12g}") for row in kept}
    literature = sorted(
        (row for row in kept if row.kind == LITERATURE), key=lambda r: (math.isnan(r.value), order[r.name])
    )
    methods = [row for row in kept if row.kind != LITERATURE]
    return Comparison(problem, (*methods, *literature), bound, finished, planned)


def _run(name: str, kind: str, run: Method, problem: Problem) -> ComparisonRow:
    """Run one method; an error becomes part of its row."""
    began = time.perf_counter()
    try:
        fields = run()
    except Exception as error:
        if kind == LITERATURE and isinstance(error, StatementError):
            raise  # the points do not fit
        seconds, applies = time.perf_counter() - began, not isinstance(error, NotRepresentableError)
        note = " ".join(error.what.split()) if isinstance(error, LdpoptError) else f"{type(error).__name__}: {error}"
        return ComparisonRow(name, kind, seconds, note=note, applies=applies, failure=error)
    seconds, audit = time.perf_counter() - began, problem.privacy.audit(fields["mechanism"])
    return ComparisonRow(name, kind, seconds, **fields, epsilon=audit.epsilon, verdict=audit.verdict)


def _solver_of(name: str) -> str:
    """Name of a method without the form of its program."""
    return name.partition(" (")[0]


# The optimum


def _given(problem: Problem, best: Any) -> tuple[str, str, Method]:
    """The optimum that the caller knows."""
    optimum = best.mechanism if isinstance(best, Solution) else best
    require_kind(optimum, Mechanism, "compare(best=...)")
    fields = _evaluated(problem, optimum)
    return "optimum", "optimum", lambda: fields


def _methods(problem: Problem, time_limit: float | None) -> Iterator[tuple[str, str, Method]]:
    """Names and kinds of all methods, and functions that run them, in the order of the rows."""
    matches = recognize(problem)
    for match in matches:
        yield f"closed form {match.name}", "closed form", partial(_closed_form, match, problem)
    if not matches:
        yield "closed form", "closed form", partial(_does_not_apply, "no family of closed forms fits")
    states = installed()
    names = [name for name in (*FIRST, *states) if states.get(name) == "installed"]
    for form in _forms(problem):
        for name in dict.fromkeys(names):
            yield f"{name} ({form})", "solver", partial(_solve, problem, name, form, time_limit)
    yield "best extreme point", "extreme point", partial(_best_extreme_point, problem)


def _does_not_apply(why: str) -> dict[str, Any]:
    raise NotRepresentableError(why)


def _closed_form(match: Match, problem: Problem) -> dict[str, Any]:
    form = match.build()
    return {"value": float(form.value), "mechanism": match.mechanism(form, problem)}


def _solve(problem: Problem, solver: str, form: Any, time_limit: float | None) -> dict[str, Any]:
    solution = solve(problem, solver=solver, form=form, time_limit=time_limit)
    fields = {"value": solution.value, "mechanism": solution.mechanism}
    certificate = certify(solution, exact=False)
    return fields | {"bound": float(certificate.bound), "relative_gap": certificate.relative_gap}


def _forms(problem: Problem) -> Iterator[Any]:
    """Yield the default form, and the other one if it exists and is small."""
    chosen = "compact" if default_form(problem) != "pairwise" else "pairwise"
    yield chosen
    if chosen != "pairwise" and size(problem, "pairwise").nonzeros <= MAX_PAIRWISE_NONZEROS:
        yield "pairwise"


def _best_extreme_point(problem: Problem) -> dict[str, Any]:
    """The best extreme point of a small problem; its note has the exact formula."""
    require_extreme_optimum(problem)
    n, m = problem.utility.shape
    ties = problem.ties() if n * m <= max(MAX_ENTRIES.values()) else None
    if ties is None or n * m > MAX_ENTRIES[ties.delta > 0]:
        what = f"{n} x {m} channels have too many extreme points to list here, or the notion has no ties"
        raise NotRepresentableError(what)
    best = extreme_points(problem.privacy, n, m, inputs=problem.inputs).best(problem)
    formula = best.vertices[0].formula
    more = "" if best.is_unique else f" and {len(best.vertices) - 1} more"
    note = f"{formula}{more}{', a = e^epsilon' * ('a' in formula)}: exact entries; the value is a float"
    return {"value": float(best.value), "mechanism": best.mechanism, "note": note}


# The literature


def _builders(points: Any) -> dict[str, Callable[[Problem], Mechanism]]:
    return {
        "tight constraints": tight_constraints,
        "planar Laplace": partial(planar_laplace, points=points),
        "exponential": exponential,
        "sharpened exponential": sharpened_exponential,
    }


def _literature(name: str, build: Callable[[Problem], Mechanism], problem: Problem) -> list[ComparisonRow]:
    """The row of a mechanism, and that of the mechanism with remapped reports."""
    built: list[Mechanism] = []

    def run() -> dict[str, Any]:
        try:
            built.append(build(problem))
        except PrivacyViolationError as error:
            raise NotRepresentableError(error.what) from None
        if not set(built[0].outputs) <= set(problem.outputs):
            raise NotRepresentableError("it reports inputs, which are not all among the outputs")
        return _evaluated(problem, built[0])

    rows = [_run(name, LITERATURE, run, problem)]
    if built and problem.prior is not None:
        better = built[0].remapped(problem.prior, problem.utility, outputs=problem.outputs)
        if better != built[0]:
            rows.append(_run(name + REMAPPED, LITERATURE, partial(_evaluated, problem, better), problem))
    return rows


def _evaluated(problem: Problem, mechanism: Mechanism) -> dict[str, Any]:
    """Fields of a mechanism with the inputs of a problem and some of its outputs, in any order."""
    if mechanism.inputs != problem.inputs:
        what = f"the mechanism has the inputs {short_repr(mechanism.inputs)}, the problem {short_repr(problem.inputs)}"
        raise StatementError(what, do="pass a mechanism for the same problem")
    place = {label: y for y, label in enumerate(problem.outputs)}
    unknown = next((label for label in mechanism.outputs if label not in place), None)
    if unknown is not None:
        raise StatementError(
            f"report {unknown!r} of the mechanism is not an output of the problem",
            do="pass a mechanism for the same problem",
        )
    channel = np.zeros(problem.utility.shape)
    channel[:, [place[label] for label in mechanism.outputs]] = mechanism.channel
    return {"value": value_of(problem, channel), "mechanism": mechanism}
