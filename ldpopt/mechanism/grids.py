r"""Numbers that are rounded at random to the points of a grid before a report is drawn.

A number ``x`` between two points becomes one of them,

.. math:: R(g_i \mid x) = \frac{g_{i+1} - x}{g_{i+1} - g_i}, \qquad
          R(g_{i+1} \mid x) = 1 - R(g_i \mid x) ,

whose mean is ``x`` and whose variance :math:`(x - g_i)(g_{i+1} - x)` is at most a quarter of the
squared step of the grid. The law of the report of ``x`` is :math:`\sum_i R(g_i \mid x) P(y \mid
g_i)`, a mixture of rows of ``P``. The numbers at the points have these rows themselves, so the
largest ratio of two probabilities, and every divergence that is convex in both laws, are those of
``P``: its audit and its account are those of the numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.exact_draws import TOTAL, uniform_below
from ldpopt.mechanism.keyed import Draws, KeyedDraws
from ldpopt.mechanism.sampling import BITS, bit_source
from ldpopt.tables.coding import MISSING, Codes

ROUNDING = b"ldpopt: rounding to a grid"


@dataclass(frozen=True)
class RoundingGrid:
    """Points among some numbers, ascending, with the first and the last one; ``digest`` is that of
    the mechanism at the points, and ``others`` the number of inputs beside them.
    """

    points: tuple[int, ...]
    numbers: range
    others: int = 0

    @cached_property
    def _lower(self) -> Codes:
        """Position of the lower point of each number; of the last one, the point before it."""
        places = np.searchsorted(self.points, self.numbers, side="right") - 1
        return np.minimum(places, len(self.points) - 2)

    @cached_property
    def _parts(self) -> tuple[Codes, Codes]:
        """Distances of each number from its lower point, and between its two points."""
        points = np.array(self.points)
        above = np.array(self.numbers) - points[self._lower]
        return above, np.diff(points)[self._lower]

    def place(self, codes: Codes, source: Draws, digest: str) -> Codes:
        """Positions of inputs, shape (N,), for those of answers: the numbers, then the others. A
        missing answer stays missing, and takes a word like all others.
        """
        count = len(self.numbers)
        is_number = (codes >= 0) & (codes < count)
        inside = np.where(is_number, codes, 0)
        above, step = (part[inside] for part in self._parts)
        step = np.where(is_number, step, 1)
        low = self._lower[inside]
        drawn = _below(step, codes, source, digest)
        points = low + (drawn < above)
        others = np.where(codes == MISSING, MISSING, codes - count + len(self.points))
        return np.where(is_number, points, others)

    def shares(self, answers: Float) -> Float:
        """Shares of the inputs for those of the answers, shape (n,)."""
        answers = np.asarray(answers, dtype=np.float64)
        count = len(self.numbers)
        above, step = self._parts
        up = answers[:count] * above / step
        size = len(self.points)
        shares = np.bincount(self._lower, answers[:count] - up, size)
        shares += np.bincount(self._lower + 1, up, size)
        return np.append(shares, answers[count:])

    def spread(self, shares: Float) -> Float:
        """Shares of the answers for those of the inputs: each point's is divided among the numbers
        that are rounded to it.
        """
        shares = np.asarray(shares, dtype=np.float64)
        size = len(self.points)
        above, step = self._parts
        up = above / step
        sums = self.shares(np.append(np.ones(len(up)), np.zeros(self.others)))[:size]
        each = shares[:size] / sums
        spread = (1 - up) * each[self._lower] + up * each[self._lower + 1]
        return np.append(spread, shares[size:])

    def masses(self, code: int, rows: Sequence[Sequence[Any]]) -> list[Fraction]:
        """Masses of the reports of an answer, exactly, by those of the inputs."""
        count = len(self.numbers)
        if code >= count:
            return list(map(Fraction, rows[code - count + len(self.points)]))
        low = int(self._lower[code])
        above, step = (int(part[code]) for part in self._parts)
        up = Fraction(above, step)
        return [
            (1 - up) * int(first) + up * int(second)
            for first, second in zip(rows[low], rows[low + 1], strict=True)
        ]


def _below(bounds: Codes, codes: Codes, source: Draws, digest: str) -> Codes:
    """Uniform numbers below the bounds, shape (N,), each of the words of its own record."""
    if not isinstance(source, KeyedDraws):
        return uniform_below(bounds, len(bounds), bit_source(source))
    purpose = hashlib.sha256(ROUNDING + bytes.fromhex(digest)).hexdigest()
    streams = source.streams(purpose, np.maximum(codes, 0))
    drawn = np.zeros(len(bounds), dtype=np.int64)
    waiting = np.arange(len(bounds))
    while len(waiting):
        words = (streams(waiting, 1)[:, 0] >> np.uint64(64 - BITS)).astype(np.int64)
        some = bounds[waiting]
        is_drawn = words < TOTAL - TOTAL % some
        drawn[waiting[is_drawn]] = (words % some)[is_drawn]
        waiting = waiting[~is_drawn]
    return drawn
