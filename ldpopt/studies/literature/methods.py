"""All methods for one problem side by side: closed forms, every installed solver in every form, the extreme points."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from ldpopt.closed_forms.recognize import Match, recognize
from ldpopt.errors import LdpoptError, NoSolutionError, NotRepresentableError
from ldpopt.foundation.display import Table, shown
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.polytope.vertices import extreme_points
from ldpopt.problem.problem import Problem
from ldpopt.solvers import installed
from ldpopt.solving.certify import certify
from ldpopt.solving.formulation import default_form, size
from ldpopt.solving.solve import solve

MAX_PAIRWISE_NONZEROS = 200_000
"""Largest number of non-zeros for which the other form is solved too."""

MAX_ENTRIES = {False: 16, True: 9}
"""Largest number of entries of a channel for the best extreme point, without and with delta."""

FIRST = ("highs", "cbc", "cvxpy")
"""Solvers in the order of the rows; others follow."""


class Answer(NamedTuple):
    """What a method found: a mechanism, and a bound on all others if the method has one."""

    value: float
    mechanism: Mechanism
    bound: float | None = None
    relative_gap: float | None = None


@dataclass(frozen=True, eq=False)
class MethodResult:
    """One method and its result.

    Attributes
    ----------
    name : str
        The method: a closed form, a solver with the form of its program, or the best extreme point.
    seconds : float
        Wall time.
    value, relative_gap : float
        Value of the mechanism, and its relative gap to the method's own bound (else to the tightest bound of all
        methods); nan without a mechanism.
    difference : float
        ``value`` minus the best value of all methods.
    verdict : str
        The audit's verdict on the notion; empty without a mechanism.
    mechanism : Mechanism or None
        The mechanism that was found.
    failure : Exception or None
        Why there is no mechanism.
    """

    name: str
    seconds: float
    value: float = math.nan
    relative_gap: float = math.nan
    difference: float = math.nan
    verdict: str = ""
    mechanism: Mechanism | None = field(default=None, repr=False)
    failure: Exception | None = None

    @property
    def applies(self) -> bool:
        """Whether the method is for such problems; it may have failed nevertheless."""
        return not isinstance(self.failure, NotRepresentableError)

    @property
    def error(self) -> str:
        """Why there is no mechanism, on one line; empty if there is one."""
        if self.failure is None or isinstance(self.failure, LdpoptError):
            return "" if self.failure is None else " ".join(self.failure.what.split())
        return f"{type(self.failure).__name__}: {self.failure}"


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """Results of all methods for a problem.

    Attributes
    ----------
    problem : Problem
        What was solved.
    rows : tuple of MethodResult
        One for each method. A form of the program that a solver does not support is left out, if it solved the other.
    best, bound : float
        Best value, and the tightest certified bound; nan without one.
    finished, planned : int
        Number of methods that ran, and of all; fewer ran if Ctrl-C ended the comparison.
    """

    problem: Problem
    rows: tuple[MethodResult, ...]
    best: float
    bound: float
    finished: int
    planned: int

    @property
    def mechanism(self) -> Mechanism:
        """Mechanism of the first method with the best value.

        Raises
        ------
        LdpoptError
            If no method has one: the problem is infeasible, or a limit was reached.
        """
        for row in self.rows:
            if row.mechanism is not None and row.value == self.best:
                return row.mechanism
        failures = [row.failure for row in self.rows if row.failure is not None]
        failures.sort(key=lambda why: (not isinstance(why, NoSolutionError), isinstance(why, NotRepresentableError)))
        raise failures[0]

    def table(self, title: str = "") -> Table:
        """The rows as a table, and the tightest bound."""
        rows = []
        for row in self.rows:
            if row.mechanism is None:
                state, seconds = ("failed", f"{row.seconds:.3f}") if row.applies else ("does not apply", "")
                rows.append([row.name, state, "", "", "", seconds])
            else:
                numbers = (f"{row.value:.12g}", f"{row.difference:.1e}", f"{row.relative_gap:.1e}")
                rows.append([row.name, *numbers, row.verdict, f"{row.seconds:.3f}"])
        rows.append(["certified bound", shown(self.bound, 12), f"{self.bound - self.best:.1e}", "", "", ""])
        headings = ["method", self.problem.utility.sense, "difference", "relative gap", "audit", "seconds"]
        return Table(headings, rows, title)


def compare_methods(
    problem: Problem, *, time_limit: float | None = None, progress: Callable[[str], None] | None = None
) -> MethodComparison:
    """Solve a problem by every method that applies; if one fails, the others go on.

    Parameters
    ----------
    problem : Problem
        What is solved.
    time_limit : float, optional
        Seconds for each solver; default: no limit.
    progress : callable, optional
        Called with the name of each method before it runs.

    Returns
    -------
    MethodComparison
        After Ctrl-C the methods that are finished, if there is one.

    Examples
    --------
    >>> from ldpopt import Problem, PureLDP
    >>> found = compare_methods(Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0)))
    >>> found.rows[0].name, round(found.best, 6)
    ('closed form top_k', 0.584847)
    """
    methods = dict(_methods(problem, time_limit))
    results: list[tuple[MethodResult, Answer | None]] = []
    try:
        for name, method in methods.items():
            if progress is not None:
                progress(name)
            results.append(_run(name, method, problem))
    except KeyboardInterrupt:
        if not results:
            raise
    is_gain = problem.utility.sense == "gain"
    answers = [answer for _, answer in results if answer is not None]
    best = (max if is_gain else min)((answer.value for answer in answers), default=math.nan)
    bounds = [answer.bound for answer in answers if answer.bound is not None]
    bound = (min if is_gain else max)(bounds, default=math.nan)
    solved = {_solver_of(row.name) for row, answer in results if answer is not None}
    rows = [
        _finished(row, answer, best, bound)
        for row, answer in results
        if row.applies or _solver_of(row.name) not in solved
    ]
    return MethodComparison(problem, tuple(rows), best, bound, len(results), len(methods))


def _run(name: str, method: Callable[[], Answer], problem: Problem) -> tuple[MethodResult, Answer | None]:
    """Run one method; an error becomes part of its result."""
    began = time.perf_counter()
    try:
        answer = method()
    except Exception as error:
        return MethodResult(name, time.perf_counter() - began, failure=error), None
    seconds, verdict = time.perf_counter() - began, problem.privacy.audit(answer.mechanism).verdict
    return MethodResult(name, seconds, answer.value, verdict=verdict, mechanism=answer.mechanism), answer


def _finished(row: MethodResult, answer: Answer | None, best: float, bound: float) -> MethodResult:
    """Fill in the numbers that depend on the other methods."""
    if answer is None:
        return row
    gap = abs(bound - answer.value) / (abs(bound) or 1.0) if answer.relative_gap is None else answer.relative_gap
    return replace(row, difference=answer.value - best, relative_gap=gap)


def _solver_of(name: str) -> str:
    """Name of a method without the form of its program."""
    return name.partition(" (")[0]


def _methods(problem: Problem, time_limit: float | None) -> Iterator[tuple[str, Callable[[], Answer]]]:
    """Names of all methods, and functions that run them, in the order of the rows."""
    matches = recognize(problem)
    for match in matches:
        yield f"closed form {match.name}", partial(_closed_form, match, problem)
    if not matches:
        yield "closed form", partial(_does_not_apply, "no family of closed forms fits")
    states = installed()
    names = [name for name in (*FIRST, *states) if states.get(name) == "installed"]
    for form in _forms(problem):
        for name in dict.fromkeys(names):
            yield f"{name} ({form})", partial(_solve, problem, name, form, time_limit)
    why = _why_no_extreme_points(problem)
    yield "best extreme point", partial(_does_not_apply, why) if why else partial(_best_extreme_point, problem)


def _does_not_apply(why: str) -> Answer:
    raise NotRepresentableError(why)


def _closed_form(match: Match, problem: Problem) -> Answer:
    form = match.build()
    return Answer(float(form.value), match.mechanism(form, problem))


def _solve(problem: Problem, solver: str, form: Any, time_limit: float | None) -> Answer:
    solution = solve(problem, solver=solver, form=form, time_limit=time_limit)
    mechanism = solution.mechanism
    certificate = certify(solution, exact=False)
    return Answer(solution.value, mechanism, float(certificate.bound), certificate.relative_gap)


def _best_extreme_point(problem: Problem) -> Answer:
    best = extreme_points(problem.privacy, *problem.utility.shape, inputs=problem.inputs).best(problem)
    return Answer(float(best.value), best.mechanism)


def _forms(problem: Problem) -> Iterator[Any]:
    """Yield the default form, and the other one if it exists and is small."""
    chosen = "compact" if default_form(problem) != "pairwise" else "pairwise"
    yield chosen
    if chosen != "pairwise" and size(problem, "pairwise").nonzeros <= MAX_PAIRWISE_NONZEROS:
        yield "pairwise"


def _why_no_extreme_points(problem: Problem) -> str:
    """Why the optimum is not looked for among the extreme points; empty if it is."""
    n, m = problem.utility.shape
    if problem.prior is None or problem.constraints:
        return "with a worst case or a side constraint the optimum need not be an extreme point"
    ties = problem.ties() if n * m <= max(MAX_ENTRIES.values()) else None
    if ties is None:
        return "there are too many extreme points to list, or the notion has no ties"
    if not ties.is_mutual:
        return "only extreme points of notions that tie both ways are listed"
    if n * m > MAX_ENTRIES[ties.delta > 0]:
        return "there are too many extreme points to list"
    if ties.budget.ratio is None and (ties.delta or not ties.is_complete):
        return 'e^epsilon is not rational: give epsilon as "log(p/q)"'
    return ""
