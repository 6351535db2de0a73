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

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int, short_repr
from ldpopt.privacy import TiedNotion
from ldpopt.privacy.cones.vertices import MAX_RAYS, lengths_of, vertices
from ldpopt.privacy.ties import Ties

ZERO = -1  # marks an entry that is 0: the answer never gives the report


@dataclass(frozen=True, eq=False)
class Rays:
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
        return Columns(
            values * -np.expm1(nats - self.depth) / spread, float(np.exp(-self.depth)), spread
        )

    @cached_property
    def response(self) -> Float:
        """Shapes of randomized response for the shortest tie, which satisfies all others."""
        n = self.below.shape[1]
        columns = self.columns
        low = np.exp(-float(self.budget) * float(self.unit) * self.nearest)
        return np.asarray(((1 - low) * np.eye(n) + low - columns.base) / columns.spread)


def rays_of(
    privacy: Any, inputs: Sequence[Hashable], *, most: int = MAX_RAYS, deadline: Deadline = NO_LIMIT
) -> Rays:
    """List the extreme rays of a notion, from its definition.

    Parts of a graph that no tie connects are listed one by one, with zeros elsewhere. Errors: the
    notion has no cone, the rays are too many, or the deadline is over.
    """
    ties = cone_ties(privacy, inputs)
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


def cone_ties(privacy: Any, inputs: Sequence[Hashable]) -> Ties:
    """All ties of a notion whose columns form a cone.

    A cone needs ties without a delta, with the same condition for every report, mutual or between
    all inputs. The ties are those of the definition and not the few that are written into programs.
    """
    ties = privacy.definition(inputs) if isinstance(privacy, TiedNotion) else None
    is_cone = ties is not None and ties.delta == 0 and ties.owner is None and not ties.is_shared
    if ties is None or not is_cone or not (ties.is_mutual or ties.first is None):
        problem = f"designs are not known for {short_repr(privacy)}: its columns do not form a cone"
        raise NotRepresentableError(problem, do="use PureLDP, GraphDP, MetricDP or OneSided")
    return ties


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
        raise NotRepresentableError(problem, do="merge sensitive answers into at most 16")
    sets = np.arange(1, 2 ** len(sensitive))
    below = np.ones((len(sets), ties.n), np.int64)
    below[:, sensitive] = 1 - ((sets[:, None] >> np.arange(len(sensitive))) & 1)
    others = np.where(np.eye(ties.n, dtype=bool)[~ties.capped], 0, ZERO)
    return Rays(ties.budget, Fraction(1), np.vstack([below, others]))


def require_weights(rays: Rays, weights: Float, inputs: Sequence[Hashable]) -> None:
    """Refuse weights of 0 for all answers that some report has a positive probability for.

    The score ``v / (r.v)`` of a column ``v`` that only such answers have is infinite.
    """
    if len(silent := np.flatnonzero((rays.below != ZERO) @ (weights > 0) == 0)):
        x = int(np.argmax(rays.below[silent[0]] != ZERO))
        problem = f"answer {inputs[x]!r} and all answers that it is protected against have weight 0"
        raise StatementError(
            problem,
            where="the weights",
            do="give one of them a weight: reports may reveal the answer",
        )


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns ``base + spread * shape`` of a cone; shapes are from 0 to 1, those of staircases are
    0 or 1.
    """

    shapes: Float
    base: float
    spread: float

    def __len__(self) -> int:
        return len(self.shapes)

    @property
    def vectors(self) -> Float:
        """The columns, one in each row."""
        return self.base + self.spread * self.shapes

    def mass(self, r: Float) -> Float:
        """Mass ``r.v`` of each column ``v``."""
        return np.asarray(self.base + self.spread * (self.shapes @ r))

    def scores(self, r: Float) -> Float:
        """Score vectors ``v / (r.v) - 1``, without cancellation."""
        return np.asarray(
            (self.shapes - (self.shapes @ r)[:, None]) * (self.spread / self.mass(r))[:, None]
        )

    def take(self, positions: Int) -> Columns:
        """The columns at some positions."""
        return Columns(self.shapes[positions], self.base, self.spread)

    def with_more(self, shapes: Float) -> Columns:
        """These columns and columns of other shapes."""
        return Columns(np.vstack([self.shapes, shapes]), self.base, self.spread)
