r"""The optimum of a small problem in rationals, by exact simplex pivots: a witness that shares no line with the bound.

The definition of privacy is written at a rational :math:`\alpha` beside :math:`e^\epsilon`. Where all pairs are tied
alike, with the least entry :math:`l_y` of every column as a variable:

.. math:: l_y \le P(x, y), \qquad \alpha^{-1} P(x, y) - l_y \le \alpha^{-1} \delta .

HiGHS proposes a basis in floats; elimination and pivots in rationals make it optimal, whatever it was. More budget
never hurts, so a rational below :math:`e^\epsilon` and one above it bracket the true optimum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor

import numpy as np

from ldpopt.certificate.simplex import canonical_form, improve
from ldpopt.certificate.simplex.standard import basis_in
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.budget import LARGEST, Budget
from ldpopt.privacy import ApproximateLDP, GraphDP, MetricDP, PureLDP
from ldpopt.solvers import Status, find
from ldpopt.solvers.program import LinearProgram, Span
from ldpopt.solving.solution import Solution
from ldpopt.statement.problem import Problem

MOST = 8
"""Inputs and outputs of a problem that is solved in rationals."""

BITS = 96
"""Fractional bits of the rationals beside ``e**-epsilon``: short ones, as pivots multiply their lengths."""

Terms = dict[int, Fraction]


def exact_optimum(problem: Problem) -> tuple[Fraction, Fraction]:
    """Enclose the best value of any private channel between two exactly solved linear programs.

    Parameters
    ----------
    problem : Problem
        At most 8 inputs and 8 outputs; any notion of the library, objective and side constraints.

    Returns
    -------
    tuple of Fraction
        ``low <= optimum <= high`` for the real ``e**epsilon``, in the utility's unit, about ``2**-96`` apart; equal
        where ``e**epsilon`` is a stated rational (for a metric, with whole distances).

    Raises
    ------
    NotRepresentableError
        If the problem is larger, the notion a plug-in's, or ``e**(epsilon d)`` beyond ``e**10000``.
    NoSolutionError
        If no channel keeps the side constraints.

    Notes
    -----
    Every pivot eliminates afresh, but few are needed: about a second for 8 x 8, and some beyond epsilon = 30, where the
    basis that floats propose is a poor one. Events are added as an exact optimum violates them: the last violates none.

    Examples
    --------
    >>> from ldpopt.certificate import exact_optimum
    >>> exact_optimum(Problem([0.5, 0.25, 0.25], "identity", PureLDP("log(2)")))
    (Fraction(1, 2), Fraction(1, 2))
    """
    n, m = problem.utility.shape
    if max(n, m) > MOST:
        raise NotRepresentableError(f"{n} x {m} is more than {MOST} x {MOST}", do="use certify(solution)")
    if type(problem.privacy) not in (PureLDP, ApproximateLDP, GraphDP, MetricDP):
        raise NotRepresentableError(f"{problem.privacy!r} is a plug-in", do="use certify(solution)")
    farthest = float(max(_distances(problem), default=Fraction(0)))
    if float(problem.privacy.epsilon) * farthest > LARGEST:
        raise NotRepresentableError(f"epsilon times the distance {farthest:.6g} is beyond {LARGEST:g} nats")
    ends = [_optimum(problem, up) for up in (False, True)] if not _is_rational(problem) else [_optimum(problem, False)]
    return min(ends), max(ends)


@dataclass
class _Rows:
    """Rows of a program in the making, in Fractions; columns 0 .. n m - 1 are the channel's."""

    columns: int
    terms: list[Terms] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)

    def add(self, terms: Terms, lower: float = -np.inf, upper: float = np.inf) -> None:
        self.terms.append({j: a for j, a in terms.items() if a})
        self.lower.append(lower)
        self.upper.append(upper)


def _is_rational(problem: Problem) -> bool:
    """Whether every power of ``e**epsilon`` that matters is known as a rational, so that one program is enough."""
    return all(low == high for low, high in (problem.privacy.epsilon.enclosure(d) for d in _distances(problem)))


def _distances(problem: Problem) -> set[Fraction]:
    if isinstance(problem.privacy, MetricDP):
        matrix = problem.privacy.matrix(problem.inputs)
        return {Fraction(float(d)) for d in matrix[matrix > 0]}
    return {Fraction(1)}


def _ratio(problem: Problem, distance: Fraction, up: bool) -> Fraction:
    """``exp(-epsilon d)``, exact or on the near side: smaller (more budget) for the upper end."""
    budget: Budget = problem.privacy.epsilon
    low, high = budget.enclosure(distance)
    if low == high:
        return 1 / low
    scale = 1 << BITS - min(0, low.denominator.bit_length() - low.numerator.bit_length())
    return Fraction(floor(scale / high), scale) if up else Fraction(ceil(scale / low), scale)


def _optimum(problem: Problem, up: bool) -> Fraction:
    """Solve at one end, adding events until the exact optimum violates none."""
    n, m = problem.utility.shape
    rows = _written(problem, up)
    ratio, privacy = _ratio(problem, Fraction(1), up), problem.privacy
    slack = ratio * Fraction(privacy.delta) if isinstance(privacy, ApproximateLDP) else Fraction(0)
    while True:
        value, channel = _solved(problem, rows)
        events = list(_violated(channel, ratio, slack)) if getattr(privacy, "form", "") == "event" else []
        if not events:
            return value
        for x, k, event in events:
            terms = {x * m + y: ratio for y in event} | {k * m + y: Fraction(-1) for y in event}
            rows.add(terms | {n * m: -slack}, upper=0.0)


def _violated(
    channel: list[list[Fraction]], ratio: Fraction, slack: Fraction
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    for x, row in enumerate(channel):
        for k, other in enumerate(channel):
            over = [ratio * p - q for p, q in zip(row, other, strict=True)]
            if sum(v for v in over if v > 0) > slack:
                yield x, k, tuple(y for y, v in enumerate(over) if v > 0)


def _written(problem: Problem, up: bool) -> _Rows:
    """Write row sums, the notion by its definition, the worst case and the side constraints."""
    n, m = problem.utility.shape
    one, privacy = Fraction(1), problem.privacy
    tied = isinstance(privacy, (GraphDP, MetricDP))
    # A column n m that is fixed at 1 carries what is no float; then the least entries; at last the worst case.
    rows = _Rows(n * m + 1 + (0 if tied else m) + (problem.prior is None))
    for x in range(n):
        rows.add({x * m + y: one for y in range(m)}, 1.0, 1.0)
    if tied:
        for x, k, distance in _pairs(problem):
            ratio = _ratio(problem, distance, up)
            for y in range(m):
                rows.add({x * m + y: ratio, k * m + y: -one}, upper=0.0)
    else:
        ratio, delta = _ratio(problem, one, up), Fraction(getattr(privacy, "delta", 0.0))
        for x in range(n):
            for y in range(m):
                least = n * m + 1 + y
                rows.add({x * m + y: one, least: -one}, lower=0.0)
                rows.add({x * m + y: ratio, least: -one, n * m: -ratio * delta}, upper=0.0)
    if problem.prior is None:
        for x in range(n):
            worth = {x * m + y: -Fraction(float(u)) for y, u in enumerate(problem.utility.matrix[x])}
            gain = problem.utility.sense == "gain"
            rows.add(worth | {rows.columns - 1: one}, -np.inf if gain else 0.0, 0.0 if gain else np.inf)
    for block in problem.constraints:
        for r in range(len(block)):
            inside = block.row == r
            terms: Terms = {}
            for x, y, a in zip(block.x[inside], block.y[inside], block.coefficient[inside], strict=True):
                terms[int(x * m + y)] = terms.get(int(x * m + y), Fraction(0)) + Fraction(float(a))
            rows.add(terms, float(block.lower[r]), float(block.upper[r]))
    return rows


def _pairs(problem: Problem) -> Iterator[tuple[int, int, Fraction]]:
    """Ordered pairs that a graph or metric ties, and their distances."""
    if isinstance(problem.privacy, MetricDP):
        for (x, k), distance in np.ndenumerate(problem.privacy.matrix(problem.inputs)):
            if x != k:
                yield x, k, Fraction(float(distance))
        return
    place = {label: x for x, label in enumerate(problem.inputs)}
    for one, other in problem.privacy.graph.edges():
        if one != other:
            yield place[one], place[other], Fraction(1)
            yield place[other], place[one], Fraction(1)


def _solved(problem: Problem, rows: _Rows) -> tuple[Fraction, list[list[Fraction]]]:
    """Find a basis in floats and make it optimal in Fractions; return value and channel."""
    n, m = problem.utility.shape
    exact = _program(problem, rows)
    rounded = replace(exact, objective=exact.objective.astype(float), value=exact.value.astype(float))
    outcome = find("highs").solve(rounded)
    if outcome.status is not Status.OPTIMAL:
        raise Solution(problem, outcome.status, outcome.raw_status, "highs", 0.0, {}, {}).no_solution()
    table = improve(canonical_form(*basis_in(exact, outcome)))
    point = list(table.point.values())
    value: Fraction = table.objective
    return value, [point[x * m : (x + 1) * m] for x in range(n)]


def _program(problem: Problem, rows: _Rows) -> LinearProgram:
    """Put the rows together; coefficients and objective are arrays of Fractions."""
    n, m = problem.utility.shape
    objective = np.full(rows.columns, Fraction(0), dtype=object)
    lower, upper = np.zeros(rows.columns), np.full(rows.columns, np.inf)
    lower[n * m] = upper[n * m] = 1.0
    if problem.prior is None:
        objective[-1], lower[-1] = Fraction(1), -np.inf
    else:
        for (x, y), u in np.ndenumerate(problem.utility.matrix):
            objective[x * m + y] = Fraction(float(problem.prior[x])) * Fraction(float(u))
    terms = [sorted(row.items()) for row in rows.terms]
    return LinearProgram(
        objective,
        problem.utility.sense == "gain",
        np.cumsum([0, *map(len, terms)]),
        np.array([j for row in terms for j, _ in row]),
        np.array([a for row in terms for _, a in row], dtype=object),
        np.array(rows.lower),
        np.array(rows.upper),
        lower,
        upper,
        (Span("row", 0, len(terms)),),
        (Span("v", 0, rows.columns),),
    )
