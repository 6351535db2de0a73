"""All methods for one problem: closed forms, solvers, extreme points, mechanisms of the
literature.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ldpopt.closed_forms.recognize import Match, recognize
from ldpopt.errors import LdpoptError, NotRepresentableError, PrivacyViolationError, StatementError
from ldpopt.foundation.numbers import positive_seconds, require_function, require_kind, short_repr
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.polytope.points import require_extreme_optimum
from ldpopt.polytope.vertices import extreme_points
from ldpopt.problem.problem import Problem
from ldpopt.solvers import installed
from ldpopt.solving.certify import certify
from ldpopt.solving.formulation import default_form, size
from ldpopt.solving.solution import Solution, value_of
from ldpopt.solving.solve import solve
from ldpopt.studies.literature.comparison import LITERATURE, Comparison, ComparisonRow, completed
from ldpopt.studies.literature.exponential import (
    exponential,
    sharpened_exponential,
    tight_constraints,
)
from ldpopt.studies.literature.planar_laplace import coordinates, planar_laplace, require_apart

# end of the name of a mechanism whose reports are replaced by what is best for the prior
REMAPPED = ", remapped"
# largest number of non-zeros for which the pairwise form is solved too
MAX_PAIRWISE_NONZEROS = 200_000
# largest channel for the best extreme point, without and with delta
MAX_ENTRIES = {False: 16, True: 9}
FIRST = ("highs", "cbc", "cvxpy")  # solvers in the order of the rows; others follow
# runs a method; returns the fields of its row, with a value and a mechanism
Method = Callable[[], dict[str, Any]]


def compare(
    problem: Problem,
    *,
    points: Any = None,
    best: Solution | Mechanism | None = None,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    r"""Solve a problem by every method that applies, and compare the mechanisms of the literature
    with the optimum.

    .. math:: \text{difference} = \text{value} - \text{best value}

    The methods are the closed forms, each installed solver in each form of the program, and the
    best extreme point of a small problem. The mechanisms are the exponential mechanism, the same
    with the largest private factor, the mechanism of tight constraints, and the planar Laplace
    mechanism; each also with optimal remapping of its reports, if that changes a report. If one
    fails, the others go on. ``ldpopt compare MODEL`` prints the result.

    Parameters
    ----------
    problem : Problem
        Alphabet, prior, utility and notion.
    points : array_like, shape (n, 2), or DataFrame or mapping label -> coordinates, optional
        Places in a plane, for the planar Laplace mechanism; default: computed from the distances of
        a metric.
    best : Solution or Mechanism, optional
        The optimum, if it is known; then no method is run for it.
    time_limit : float, optional
        Seconds for each solver; default: no limit.
    progress : callable, optional
        Called with the name of each method before it runs.

    Returns
    -------
    Comparison
        Value, difference, seconds and true epsilon of each method and mechanism, or why it does not
        apply. After Ctrl-C the methods that are finished, if there is one.

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
    time_limit = positive_seconds(time_limit)
    if progress is not None:
        require_function(progress, "progress")
    if points is not None:
        require_apart(coordinates(points, problem.inputs))  # before hours of solvers
    steps = [*_methods(problem, time_limit)] if best is None else [_given(problem, best)]
    planar = partial(planar_laplace, points=points)
    mechanisms: dict[str, Any] = {"tight constraints": tight_constraints, "planar Laplace": planar}
    mechanisms |= {"exponential": exponential, "sharpened exponential": sharpened_exponential}
    rows: list[ComparisonRow] = []
    finished = 0
    report = progress or (lambda name: None)
    try:
        for name, kind, run in steps:
            report(name)
            rows.append(_run(name, kind, run, problem))
            finished += 1
        for name, build in mechanisms.items():
            report(name)
            rows += _literature(name, build, problem)
            finished += 1
    except KeyboardInterrupt:
        if not rows:
            raise
    return completed(problem, rows, finished, len(steps) + len(mechanisms))


def _run(name: str, kind: str, run: Method, problem: Problem) -> ComparisonRow:
    """Run one method; an error becomes part of its row."""
    began = time.perf_counter()
    try:
        fields = run()
    except Exception as error:
        seconds = time.perf_counter() - began
        applies = not isinstance(error, NotRepresentableError)
        note = (
            " ".join(error.what.split())
            if isinstance(error, LdpoptError)
            else f"{type(error).__name__}: {error}"
        )
        return ComparisonRow(name, kind, seconds, note=note, applies=applies, failure=error)
    seconds = time.perf_counter() - began
    audit = problem.privacy.audit(fields["mechanism"])
    return ComparisonRow(
        name, kind, seconds, **fields, epsilon=audit.epsilon, verdict=audit.verdict
    )


# The optimum


def _given(problem: Problem, best: Any) -> tuple[str, str, Method]:
    """The optimum that the caller gave."""
    optimum = best.mechanism if isinstance(best, Solution) else best
    require_kind(optimum, Mechanism, "compare(best=...)")
    fields = _evaluated(problem, optimum)
    return "optimum", "optimum", lambda: fields


def _methods(problem: Problem, time_limit: float | None) -> Iterator[tuple[str, str, Method]]:
    """Names and kinds of all methods, and functions that run them, in the order of the rows."""
    matches: list[Match | None] = [*recognize(problem)]
    for match in matches or [None]:
        name = "closed form" if match is None else f"closed form {match.name}"
        yield name, "closed form", partial(_closed_form, match, problem)
    states = installed()
    names = [name for name in (*FIRST, *states) if states.get(name) == "installed"]
    for form in _forms(problem):
        for name in dict.fromkeys(names):
            title = f"{name} ({form or 'generated rows'})"
            yield title, "solver", partial(_solve, problem, name, form, time_limit)
    yield "best extreme point", "extreme point", partial(_best_extreme_point, problem)


def _closed_form(match: Match | None, problem: Problem) -> dict[str, Any]:
    if match is None:
        raise NotRepresentableError("no family of closed forms fits", code="closed-form")
    form = match.build()
    return {"value": float(form.value), "mechanism": match.mechanism(form, problem)}


def _solve(problem: Problem, solver: str, form: Any, time_limit: float | None) -> dict[str, Any]:
    solution = solve(problem, solver=solver, form=form, time_limit=time_limit)
    certificate = certify(solution, exact=False)
    fields = {"value": solution.value, "mechanism": solution.mechanism}
    return fields | {"bound": float(certificate.bound), "relative_gap": certificate.relative_gap}


def _forms(problem: Problem) -> Iterator[Any]:
    """Yield the default form, and the other one if it exists and is small; None for a notion whose
    rows are generated, without ties.
    """
    if problem.privacy.is_separated and problem.ties() is None:
        yield None
        return
    chosen = "pairwise" if default_form(problem) in ("pairwise", "averages") else "compact"
    yield chosen
    if chosen != "pairwise" and size(problem, "pairwise").nonzeros <= MAX_PAIRWISE_NONZEROS:
        yield "pairwise"


def _best_extreme_point(problem: Problem) -> dict[str, Any]:
    """The best extreme point of a small problem; its note has the exact formula."""
    require_extreme_optimum(problem)
    n, m = problem.utility.shape
    ties = problem.ties() if n * m <= max(MAX_ENTRIES.values()) else None
    if ties is None or n * m > MAX_ENTRIES[ties.delta > 0]:
        message = (
            f"{n} x {m} channels have too many extreme points to list here, or the notion "
            "has no ties"
        )
        raise NotRepresentableError(message, code="extreme-points")
    best = extreme_points(problem.privacy, n, m, inputs=problem.inputs).best(problem)
    formula = best.vertices[0].formula
    more = "" if best.is_unique else f" and {len(best.vertices) - 1} more"
    note = (
        f"{formula}{more}{', a = e^epsilon' * ('a' in formula)}: exact entries; the value is "
        "a float"
    )
    return {"value": float(best.value), "mechanism": best.mechanism, "note": note}


# The literature


def _literature(
    name: str, build: Callable[[Problem], Mechanism], problem: Problem
) -> list[ComparisonRow]:
    """The row of a mechanism, and that of the mechanism with remapped reports."""
    built: list[Mechanism] = []

    def run() -> dict[str, Any]:
        try:
            built.append(build(problem))
        except PrivacyViolationError as error:
            raise NotRepresentableError(error.what, code="audit") from None
        if not set(built[0].outputs) <= set(problem.outputs):
            raise NotRepresentableError(
                "the mechanism reports inputs, which are not all among the outputs",
                code="reported-inputs",
            )
        return _evaluated(problem, built[0])

    rows = [_run(name, LITERATURE, run, problem)]
    if built and problem.prior is not None:
        better = built[0].remapped(problem.prior, problem.utility, outputs=problem.outputs)
        if better != built[0]:
            rows.append(
                _run(name + REMAPPED, LITERATURE, partial(_evaluated, problem, better), problem)
            )
    return rows


def _evaluated(problem: Problem, mechanism: Mechanism) -> dict[str, Any]:
    """Fields of a mechanism with the inputs of a problem and some of its outputs, in any order."""
    if mechanism.inputs != problem.inputs:
        message = (
            f"the mechanism has the inputs {short_repr(mechanism.inputs)}, the problem "
            f"{short_repr(problem.inputs)}"
        )
        raise StatementError(
            message, code="other-inputs", do="pass a mechanism for the same problem"
        )
    place = {label: y for y, label in enumerate(problem.outputs)}
    unknown = next((label for label in mechanism.outputs if label not in place), None)
    if unknown is not None:
        message = f"report {unknown!r} of the mechanism is not an output of the problem"
        raise StatementError(
            message, code="unknown-output", do="pass a mechanism for the same problem"
        )
    channel = np.zeros(problem.utility.shape)
    channel[:, [place[label] for label in mechanism.outputs]] = mechanism.channel
    return {"value": value_of(problem, channel), "mechanism": mechanism}
