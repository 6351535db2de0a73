"""The extreme rays of a notion's cone of columns, as logarithms in integers.

A column of a channel is private if its entries satisfy the ties; such columns form a cone, and
every one is a sum of extreme rays. A design is a choice of rays and of their sizes, and the
condition of a bound is convex: it holds for all columns if it holds for each ray. The bounds trust
this list; the checker makes it again by other code.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int, short_repr
from ldpopt.privacy import Comparisons, Notion, TiedNotion
from ldpopt.privacy.cones.columns import Columns, RayList
from ldpopt.privacy.cones.double_description import primitive_integers
from ldpopt.privacy.cones.exact_rays import MOST_RAYS, ColumnRays, column_rays, raised
from ldpopt.privacy.cones.vertices import MAX_RAYS, lengths_of, vertices
from ldpopt.privacy.ties import Ties

MOST_DEPTH = 64  # largest power of a ratio by which rays are written in integers
ZERO = -1  # marks an entry that is 0: the answer never gives the report


@dataclass(frozen=True, eq=False)
class Rays(RayList):
    r"""Columns ``exp(-epsilon unit below)``, one for each extreme ray.

    What goes in are integers, and not floats, so that a proof can bound each entry by rationals;
    `columns` are the same rays in floats, for a search. The notion's real budget is meant
    throughout, not the float next to it.
    """

    budget: Budget  # epsilon
    unit: Fraction  # distance of 1 in ``below``
    # Logarithms, shape (k, n): an entry is ``exp(-epsilon unit below)``, the largest is 1; ``ZERO``
    # marks an entry 0
    below: Int
    nearest: int = 1  # length of the shortest tie

    @cached_property
    def depth(self) -> float:
        """Nats between the largest and the smallest positive entry."""
        return float(self.budget) * float(self.unit) * int(self.below.max())

    @cached_property
    def columns(self) -> Columns:
        """The columns in floats, as ``base + spread v`` with ``v`` from 0 to 1 (base 0, spread 1 if
        an entry is 0).

        If no entry is 0, the smallest entry of all rays is split off as ``base``, and the rest
        scaled to 1: for a small budget all entries are nearly equal, and their differences would
        lose digits.
        """
        nats = float(self.budget) * float(self.unit) * self.below
        values = np.exp(-nats)
        if (self.below == ZERO).any():
            return Columns(np.where(self.below == ZERO, 0.0, values), 0.0, 1.0)
        spread = float(-np.expm1(-self.depth))
        # v = (exp(-nats) - base) / spread without the difference of two near numbers
        return Columns(
            values * -np.expm1(nats - self.depth) / spread, float(np.exp(-self.depth)), spread
        )

    @property
    def support(self) -> NDArray[np.bool_]:
        """Which entries are positive, shape (k, n)."""
        return np.asarray(self.below != ZERO)

    def is_symmetric(self, order: Int) -> bool:
        """Whether a permutation of the answers turns rays into rays."""
        return np.array_equal(
            np.unique(self.below[:, order], axis=0), np.unique(self.below, axis=0)
        )

    @cached_property
    def response(self) -> Float:
        """Shapes of randomized response for the shortest tie, which satisfies all others."""
        n = self.below.shape[1]
        columns = self.columns
        low = np.exp(-float(self.budget) * float(self.unit) * self.nearest)
        return np.asarray(((1 - low) * np.eye(n) + low - columns.base) / columns.spread)


def rays_of(
    privacy: Any,
    inputs: Sequence[Hashable],
    *,
    most: int | None = None,
    deadline: Deadline = NO_LIMIT,
) -> RayList:
    """List the extreme rays of a notion, from its definition.

    Mutual ties, and ties between all inputs, have rays in logarithms (`Rays`); parts of a graph
    that no tie connects are listed one by one, with zeros elsewhere. Of every other notion the rays
    are those of its comparisons (`ColumnRays`). Errors: the notion is not about single reports, the
    rays are more than ``most`` or than the limit of their kind, or the deadline is over.
    """
    ties = tied_cone(privacy, inputs)
    if ties is None:
        comparisons = cone_comparisons(privacy, inputs)
        return column_rays(comparisons, most=most or MOST_RAYS, deadline=deadline)
    return _of_ties(ties, most or MAX_RAYS, deadline)


def whole_rays_of(
    privacy: Any, inputs: Sequence[Hashable], *, deadline: Deadline = NO_LIMIT
) -> ColumnRays:
    """List the extreme rays of a notion in integers, for utilities that are not about logarithms.

    Rays in few powers of ``e**epsilon`` become powers of a rational that is not smaller; those of
    many different distances are listed again, from the comparisons.
    """
    ties = tied_cone(privacy, inputs)
    if ties is not None:
        rays = _of_ties(ties, MAX_RAYS, deadline)
        if (depth := int(rays.below.max())) <= MOST_DEPTH:
            return _powers(rays, depth)
    return column_rays(cone_comparisons(privacy, inputs), deadline=deadline)


def _powers(rays: Rays, depth: int) -> ColumnRays:
    """Rays of logarithms as powers of one rational: the ties ``c_x <= a**length c_z`` have the same
    rays for every ``a`` above 1.
    """
    low, high = rays.budget.enclosure(rays.unit)
    ratio = low if low == high else raised(high)
    top = ratio.numerator
    bottom = ratio.denominator
    known = {size: bottom**size * top ** (depth - size) for size in range(depth + 1)} | {ZERO: 0}
    rows = [primitive_integers([known[size] for size in ray]) for ray in rays.below.tolist()]
    whole = np.empty(rays.below.shape, dtype=object)
    whole[:] = rows
    return ColumnRays(whole, ratio**rays.nearest)


def _of_ties(ties: Ties, most: int, deadline: Deadline) -> Rays:
    """Rays of ties, part by part."""
    if ties.capped is not None and ties.first is None:
        return _one_sided(ties, most)
    lengths = lengths_of(ties)
    rows = []
    for part in lengths.parts:
        below = vertices(lengths.within(part), most=most, deadline=deadline)
        exponents = np.full((len(below), ties.n), ZERO, np.int64)
        exponents[:, part] = below
        rows.append(exponents)
    nearest = int(lengths.length.min(initial=np.iinfo(np.int64).max)) if len(lengths.length) else 1
    return Rays(ties.budget, lengths.unit, np.vstack(rows), nearest)


def tied_cone(privacy: Any, inputs: Sequence[Hashable]) -> Ties | None:
    """All ties of a notion, if they are mutual or between all inputs, with the same condition for
    every report and without a delta; None for other notions.

    The ties are those of the definition and not the few that are written into programs. A notion
    that names its reports is refused: which columns are used is not known before.
    """
    if isinstance(privacy, Notion):
        privacy.reports(inputs, np.ones((len(inputs), 1)))
    ties = privacy.definition(inputs) if isinstance(privacy, TiedNotion) else None
    if ties is None or ties.delta or ties.owner is not None or ties.is_shared:
        return None
    return ties if ties.is_mutual or ties.first is None else None


def cone_comparisons(privacy: Any, inputs: Sequence[Hashable]) -> Comparisons:
    """The comparisons of a notion that is about single reports; others are refused."""
    listed: Comparisons | None = privacy.comparisons(inputs)
    if listed is None:
        raise NotRepresentableError(
            f"the private columns of {short_repr(privacy)} do not form a cone: whether a report is "
            "private depends on the other reports",
            code="no-cone",
            do="use a notion without delta, such as PureLDP, GraphDP or PML",
        )
    return listed


def _one_sided(ties: Ties, most: int) -> Rays:
    """Rays of one-sided privacy: sets of sensitive answers, with all other answers at the minimum,
    and unit columns.

    A sensitive answer compares with all others, and none of the others does: a report of an
    unprotected answer may exclude everyone else, which gives the unit columns.
    """
    assert ties.capped is not None
    if len(sensitive := np.flatnonzero(ties.capped)) > np.log2(most):
        problem = (
            f"the cone of {len(sensitive)} sensitive answers has 2**{len(sensitive)} extreme rays"
        )
        do = f"merge sensitive answers into at most {int(np.log2(most))}"
        raise NotRepresentableError(problem, do=do)
    sets = np.arange(1, 2 ** len(sensitive))  # by their bits
    below = np.ones((len(sets), ties.n), np.int64)
    below[:, sensitive] = 1 - ((sets[:, None] >> np.arange(len(sensitive))) & 1)
    others = np.where(np.eye(ties.n, dtype=bool)[~ties.capped], 0, ZERO)
    return Rays(ties.budget, Fraction(1), np.vstack([below, others]))


def require_weights(rays: RayList, weights: Float, inputs: Sequence[Hashable]) -> None:
    """Refuse weights of 0 for all answers that some report has a positive probability for.

    The score ``v / (r.v)`` of a column ``v`` that only such answers have is infinite.
    """
    if len(silent := np.flatnonzero(rays.support @ (weights > 0) == 0)):
        x = int(np.argmax(rays.support[silent[0]]))
        problem = f"answer {inputs[x]!r} and all answers that it is protected against have weight 0"
        raise StatementError(
            problem,
            where="the weights",
            do="give one of them a weight: reports may reveal the answer",
        )
