r"""The exact optimum of a small problem, by simplex pivots in rationals; independent of the
certificate's bound.

The constraints are written with a rational :math:`\alpha` close to :math:`e^\epsilon`. If all pairs
have the same constraint, the smallest entry :math:`l_y` of every column is a variable:

.. math:: l_y \le P(x, y), \qquad \alpha^{-1} P(x, y) - l_y \le \alpha^{-1} \delta .

HiGHS proposes a basis in floats, and pivots in rationals make it optimal. A larger budget never
makes the optimum worse, so a rational below :math:`e^\epsilon` and one above it enclose the true
optimum.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor

import numpy as np

from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.budget import LARGEST, Budget
from ldpopt.foundation.numbers import require_kind
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy import Ties
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility
from ldpopt.solvers import Status, find
from ldpopt.solvers.program import LinearProgram, Span
from ldpopt.solving.exact.simplex import canonical_form, improve
from ldpopt.solving.exact.simplex.standard_form import basis_in
from ldpopt.solving.solution import Solution

MAX_SIZE = 8  # largest number of inputs, and of outputs, of a problem that is solved in rationals
# Fractional bits of the rationals close to ``e**-epsilon``; few, because every pivot makes the
# numbers longer
BITS = 96
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
        ``low <= optimum <= high`` for the real ``e**epsilon``, in the utility's unit, about
        ``2**-96`` apart; equal if ``e**epsilon`` is given as a rational (for a metric, with integer
        distances).

    Raises
    ------
    NotRepresentableError
        If the problem is larger, if the notion is a plug-in without ties, or if ``epsilon d``
        exceeds 10000 nats.
    NoSolutionError
        If no channel satisfies the side constraints.

    Notes
    -----
    Every pivot repeats the elimination, but few pivots are needed: 8 x 8 takes about a second, and
    several seconds beyond epsilon = 30, because the basis from floats is then less accurate. With
    an event-wise delta, events are added until the exact optimum violates none.

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> from ldpopt.solving.exact.optimum import exact_optimum
    >>> exact_optimum(Problem([0.5, 0.25, 0.25], "identity", PureLDP("log(2)")))
    (Fraction(1, 2), Fraction(1, 2))
    """
    require_kind(problem, Problem, "exact_optimum()")
    n, m = problem.utility.shape
    if max(n, m) > MAX_SIZE:
        message = (
            f"{n} answers and {m} reports are too many for pivots in rationals: at most "
            f"{MAX_SIZE} of each"
        )
        raise NotRepresentableError(message, code="size", do="use certify(solution)")
    ties = problem.definition()
    if ties is None:
        raise NotRepresentableError(
            f"{problem.privacy!r} is a plug-in without ties",
            code="plug-in",
            do="use certify(solution)",
        )
    farthest = float(max(_distances(ties), default=Fraction(0)))
    if float(ties.budget) * farthest > LARGEST:
        message = f"epsilon times the distance {farthest:.6g} is beyond {LARGEST:g} nats"
        raise NotRepresentableError(message, code="distance", do="use certify(solution)")
    # If every needed power of e**epsilon is a known rational, one program is enough.
    is_rational = all(low == high for low, high in map(ties.budget.enclosure, _distances(ties)))
    ends = [_optimum(problem, ties, up) for up in ((False,) if is_rational else (False, True))]
    return min(ends), max(ends)


@dataclass
class _Rows:
    """Rows of a program in Fractions; columns 0 .. n m - 1 are the entries of the channel."""

    columns: int
    terms: list[Terms] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)

    def add(self, terms: Terms, lower: float = -np.inf, upper: float = np.inf) -> None:
        """Add a row ``lower <= terms <= upper``."""
        self.terms.append({j: a for j, a in terms.items() if a})
        self.lower.append(lower)
        self.upper.append(upper)


def _distances(ties: Ties) -> set[Fraction]:
    """All distances of tied pairs."""
    return (
        {Fraction(1)}
        if ties.distance is None
        else {Fraction(d) for d in np.unique(ties.distance).tolist()}
    )


def ratio_between(budget: Budget, distance: Fraction, up: bool) -> Fraction:
    """``exp(-epsilon d)``: exact if it is rational, else rounded down (more budget) for ``up``, and
    up otherwise.
    """
    low, high = budget.enclosure(distance)
    if low == high:
        return 1 / low
    scale = 1 << BITS - min(0, low.denominator.bit_length() - low.numerator.bit_length())
    return Fraction(floor(scale / high), scale) if up else Fraction(ceil(scale / low), scale)


def _optimum(problem: Problem, ties: Ties, up: bool) -> Fraction:
    """The exact optimum at one end of the budget's enclosure; events are added until it violates
    none.
    """
    n, m = problem.utility.shape
    rows = _write_rows(problem, ties, up)
    ratio = ratio_between(ties.budget, Fraction(1), up)
    slack = ratio * Fraction(ties.delta)
    while True:
        value, channel = _solve_exactly(problem, rows)
        events = list(_violated(channel, ratio, slack)) if ties.is_shared else []
        if not events:
            return value
        for x, k, event in events:
            terms = {x * m + y: ratio for y in event} | {k * m + y: Fraction(-1) for y in event}
            rows.add(terms | {n * m: -slack}, upper=0.0)


def _violated(
    channel: list[list[Fraction]], ratio: Fraction, slack: Fraction
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """The most violated event of every pair of inputs, as its two inputs and its outputs."""
    for x, row in enumerate(channel):
        for k, other in enumerate(channel):
            over = [ratio * p - q for p, q in zip(row, other, strict=True)]
            if sum(v for v in over if v > 0) > slack:
                yield x, k, tuple(y for y, v in enumerate(over) if v > 0)


def _write_rows(problem: Problem, ties: Ties, up: bool) -> _Rows:
    """Write row sums, the notion by its definition, the worst case and the side constraints."""
    n, m = problem.utility.shape
    unit = Fraction(1)
    # Columns: entries, a constant 1 (right-hand sides that are not floats), smallest entries, the
    # worst case.
    rows = _Rows(n * m + 1 + (m if ties.is_compact else 0) + (problem.prior is None))
    for x in range(n):
        rows.add({x * m + y: unit for y in range(m)}, 1.0, 1.0)
    for x, y in np.argwhere(~ties.allowed(m)).tolist():
        rows.add({x * m + y: unit}, upper=0.0)
    (_write_columns if ties.is_compact else _write_pairs)(rows, ties, m, up)
    if problem.prior is None:
        _write_worst_case(rows, problem.utility)
    for block in problem.constraints:
        _write_block(rows, block, m)
    return rows


def _write_worst_case(rows: _Rows, utility: Utility) -> None:
    """Bound the last column by every input's expectation."""
    n, m = utility.shape
    is_gain = utility.sense == "gain"
    for x in range(n):
        expected = {x * m + y: -Fraction(float(u)) for y, u in enumerate(utility.matrix[x])}
        rows.add(
            expected | {rows.columns - 1: Fraction(1)},
            -np.inf if is_gain else 0.0,
            0.0 if is_gain else np.inf,
        )


def _write_columns(rows: _Rows, ties: Ties, m: int, up: bool) -> None:
    """Bound every entry below by its column's minimum and, for capped inputs, above by ``alpha``
    times that.
    """
    n = ties.n
    unit = Fraction(1)
    ratio = ratio_between(ties.budget, Fraction(1), up)
    delta = Fraction(ties.delta)
    for x in range(n):
        for y in np.flatnonzero(ties.tied_outputs(m)).tolist():
            least = n * m + 1 + y
            rows.add({x * m + y: unit, least: -unit}, lower=0.0)
            if ties.capped_inputs()[x]:
                rows.add({x * m + y: ratio, least: -unit, n * m: -ratio * delta}, upper=0.0)


def _write_pairs(rows: _Rows, ties: Ties, m: int, up: bool) -> None:
    """Write every tied pair and output."""
    for (x, k), d in ties.distances().items():
        ratio = ratio_between(ties.budget, Fraction(d), up)
        for y in np.flatnonzero(ties.tied_outputs(m)).tolist():
            slack = -ratio * Fraction(ties.delta)
            rows.add({x * m + y: ratio, k * m + y: Fraction(-1), ties.n * m: slack}, upper=0.0)


def _write_block(rows: _Rows, block: RowBlock, m: int) -> None:
    """Write the rows of a side constraint."""
    for r in range(len(block)):
        inside = block.row == r
        terms: Terms = {}
        for x, y, a in zip(
            block.x[inside], block.y[inside], block.coefficient[inside], strict=True
        ):
            terms[int(x * m + y)] = terms.get(int(x * m + y), Fraction(0)) + Fraction(float(a))
        rows.add(terms, float(block.lower[r]), float(block.upper[r]))


def _solve_exactly(problem: Problem, rows: _Rows) -> tuple[Fraction, list[list[Fraction]]]:
    """Find a basis in floats, make it optimal in Fractions, and return the value and the
    channel.
    """
    n, m = problem.utility.shape
    exact = _program(problem, rows)
    rounded = replace(
        exact, objective=exact.objective.astype(float), value=exact.value.astype(float)
    )
    outcome = find("highs").solve(rounded)
    if outcome.status is not Status.OPTIMAL:
        raise Solution(
            problem, outcome.status, outcome.raw_status, "highs", 0.0, {}, {}
        ).no_solution()
    table = improve(canonical_form(*basis_in(exact, outcome)))
    point = list(table.point.values())
    value: Fraction = table.objective
    return value, [point[x * m : (x + 1) * m] for x in range(n)]


def _program(problem: Problem, rows: _Rows) -> LinearProgram:
    """Put the rows together, with coefficients and objective as arrays of Fractions."""
    n, m = problem.utility.shape
    objective = np.full(rows.columns, Fraction(0), dtype=object)
    lower = np.zeros(rows.columns)
    upper = np.full(rows.columns, np.inf)
    lower[n * m] = upper[n * m] = 1.0
    if problem.prior is None:
        objective[-1] = Fraction(1)
        lower[-1] = -np.inf
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
