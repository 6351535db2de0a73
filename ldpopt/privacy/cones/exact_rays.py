r"""The extreme rays of any list of comparisons of averages, in integers.

A column is private if :math:`a_r\, u_r \cdot c - v_r \cdot c \ge 0` for every comparison, with
:math:`a_r = e^{\epsilon_r}`. Where ``a`` is not rational, a slightly larger rational is taken: the
cone becomes larger, so that every bound that holds for its rays holds for the notion. A bound grows
by about ``2**-60`` of what privacy costs, less than the error of one float, and a channel of such
rays is moved by as little when it is repaired.

Budgets that are whole multiples of one number of nats become powers of one rational. At many rays
more comparisons are tight than are needed to determine them: along a chain of answers with the
budgets 1 and 2, the second is the sum of two of the first kind. If each ratio were rounded by
itself, such chains would miss each other by the last bit, and one ray would become a cluster of
nearly equal ones: no bound would be wrong, but lists would be twice as long. A budget that is
stated as a logarithm of a rational is exact anyway.

The list is made by the double description method. It begins with as many rows as there are answers,
whose cone has one ray for each of them, and adds the others one by one; each splits the rays into
those that are kept and those that are replaced by new ones on the row. All numbers are Python
integers, and whether two rays are neighbors is decided by the rows on which they lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.budget import Budget, log_of
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy.comparisons import Comparisons
from ldpopt.privacy.cones.columns import Columns, RayList
from ldpopt.privacy.cones.double_description import known_rays

BITS = 60  # significant bits of ``e**epsilon - 1``, rounded up
LOWERED = Fraction(1, 2**176)  # far above the errors of enclosures
MOST_POWERS = 16  # largest power of a common ratio; its entries have 16 times as many bits
MOST_ANSWERS = 16  # the rays of more answers are hardly ever few enough
MOST_RAYS = 20_000  # about a minute


@dataclass(frozen=True, eq=False)
class ColumnRays(RayList):
    """Rays as rows of integers without a common divisor, shape (k, n), of type object."""

    whole: NDArray[Any]
    ratio: Fraction  # the smallest of the ratios ``e**epsilon``, rounded up

    @cached_property
    def _exact(self) -> list[list[Fraction]]:
        """Entries divided by the largest one of the ray."""
        return [[Fraction(v, max(ray)) for v in ray] for ray in self.whole.tolist()]

    @cached_property
    def columns(self) -> Columns:
        """The rays as ``base + spread * shape``: the base is the smallest entry of all, and is
        subtracted in rationals, so that the differences of nearly equal entries keep their digits.
        """
        base = min(min(ray) for ray in self._exact)
        if base == 1:  # the constant is the only ray
            base = Fraction(0)
        shapes = [[float((v - base) / (1 - base)) for v in ray] for ray in self._exact]
        return Columns(np.array(shapes), float(base), float(1 - base))

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """Which entries are positive, shape (k, n)."""
        return np.asarray(self.whole > 0, bool)

    @cached_property
    def depth(self) -> float:
        """Nats between the largest and the smallest positive entry of a ray."""
        pairs = ((max(ray), min(v for v in ray if v)) for ray in self.whole.tolist())
        return max((log_of(Fraction(top, least)) for top, least in pairs), default=0.0)

    @cached_property
    def response(self) -> Float:
        r"""Shapes of the randomized response with the smallest ratio.

        If all entries of a column are within a factor ``a``, so are any two averages of them.
        """
        columns = self.columns
        n = self.whole.shape[1]
        low = float(1 / self.ratio)
        high = float(1 - 1 / self.ratio)
        return np.asarray((high * np.eye(n) + low - columns.base) / columns.spread)

    def is_symmetric(self, order: Int) -> bool:
        """Whether a permutation of the answers turns rays into rays."""
        known = {tuple(ray) for ray in self.whole.tolist()}
        return {tuple(ray) for ray in self.whole[:, order].tolist()} == known


def column_rays(
    comparisons: Comparisons, *, most: int = MOST_RAYS, deadline: Deadline = NO_LIMIT
) -> ColumnRays:
    """List the extreme rays of the columns that satisfy some comparisons, and the reports of one
    answer that are allowed besides, sorted.

    More than `MOST_ANSWERS` answers, more than ``most`` rays, and a deadline that is over are
    errors: a part of the list would prove a bound for a smaller cone.
    """
    n = comparisons.n
    if n > MOST_ANSWERS:
        raise NotRepresentableError(
            f"the extreme rays of {n} answers are too many to list",
            code="ray-answers",
            do=f"merge answers into at most {MOST_ANSWERS}, or solve the program",
        )
    ratios = raised_ratios(comparisons)
    rows = np.eye(n, dtype=int).tolist()
    for ratio, (over, under, _) in zip(ratios, comparisons.whole, strict=True):
        high = ratio.numerator
        low = ratio.denominator
        rows.append([high * under.get(x, 0) - low * over.get(x, 0) for x in range(n)])
    try:
        rays, is_complete = known_rays(rows, most, deadline)
    except NotRepresentableError:
        is_complete = False
        rays = np.zeros((most, n), dtype=object)
    if not is_complete:
        if deadline.is_over:
            problem = f"the extreme rays of {n} answers were not listed within the time limit"
            raise NotRepresentableError(problem, code="ray-time", do="give a longer time_limit")
        raise NotRepresentableError(
            f"the cone of columns of {n} answers has more than {most:,} extreme rays, or too many "
            "pairs of them to compare",
            code="ray-number",
            do="merge answers, leave out bounds or make budgets equal, or solve the program",
        )
    units = [[int(x == z) for x in range(n)] for z in comparisons.units]
    distinct = sorted({tuple(ray) for ray in [*rays.tolist(), *units]}, reverse=True)
    whole = np.empty((len(distinct), n), dtype=object)
    whole[:] = distinct
    return ColumnRays(whole, min(ratios, default=Fraction(2)))


def raised_ratios(comparisons: Comparisons) -> list[Fraction]:
    r"""A rational of few digits for each comparison, at least :math:`e^{\epsilon d}`; known
    rationals are exact.
    """
    return _ratios(comparisons, lambda ends: raised(ends[1]))


def lowered_ratios(comparisons: Comparisons) -> list[Fraction]:
    r"""A rational for each comparison, at most the lower end of :math:`e^{\epsilon d}`, and less by
    few parts in ``2**176``; known rationals are exact.
    """
    # Powers of a lower end may be above the lower end of a power.
    return _ratios(comparisons, lambda ends: ends[0] * (1 - LOWERED))


def _ratios(
    comparisons: Comparisons, rounded: Callable[[tuple[Fraction, Fraction]], Fraction]
) -> list[Fraction]:
    """A rational for each comparison; those of whole multiples of one number of nats are powers of
    one.
    """
    parts = zip(comparisons.budget, comparisons.multiple, comparisons.enclosures, strict=True)
    ratios: list[Fraction] = []
    nats: dict[int, Fraction] = {}
    for place, (budget, multiple, (low, high)) in enumerate(parts):
        ratios.append(low if low == high else rounded((low, high)))
        if low < high and budget.nats is not None:
            nats[place] = budget.nats * multiple
    if nats:
        step = reduce(_common, nats.values())
        if max(nats.values()) / step <= MOST_POWERS:
            base = rounded(Budget(step).enclosure())
            for place, size in nats.items():
                ratios[place] = base ** int(size / step)
    return ratios


def raised(ratio: Fraction) -> Fraction:
    """A rational above 1 rounded up, to `BITS` significant bits of what it exceeds 1 by."""
    excess = ratio - 1
    shift = BITS + max(0, excess.denominator.bit_length() - excess.numerator.bit_length())
    return 1 + Fraction(math.ceil(excess * 2**shift), 2**shift)


def _common(first: Fraction, second: Fraction) -> Fraction:
    """The largest number of which both are whole multiples."""
    below = math.lcm(first.denominator, second.denominator)
    return Fraction(math.gcd(int(first * below), int(second * below)), below)
