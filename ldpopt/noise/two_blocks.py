r"""Neighbor sets ``[0, a] u [b, c]``: levels and layers in closed form.

.. math:: tW = \bigcup_{0 \le k \le t} \pm [k b - E_{t-k}, k c + E_{t-k}], \qquad
          E_r = \max(r a, \lfloor r/2 \rfloor (c - b) + (r \bmod 2) a)

Lower and upper ends ascend with ``k``. So the complement of the widened set in ``[0, t c + d]``
consists of the gaps between consecutive ``k``, and a layer is the part of these gaps that one more
step covers.
"""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, Int
from ldpopt.noise.interval_layers import MAX_LAYERS, IntervalLayers
from ldpopt.noise.intervals import Intervals, merge


class TwoBlocks(IntervalLayers):
    """Levels and layers in closed form, for ``0 <= a <= b <= c``, ``c > 0``, and one widening ``d >
    0``.
    """

    def __init__(self, a: Fraction, b: Fraction, c: Fraction, d: Fraction) -> None:
        self.exact = a, b, c, d
        self.a, self.b, self.c, self.d, self.w = (float(v) for v in (a, b, c, d, c - b))
        gap = b - a - 2 * d
        # First layer without gaps. None: the block [b, c] is a point, so the gap below k c never
        # closes.
        self.gaps_closed_at: int | None = (
            0 if gap <= 0 else None if c == b else 1 + math.ceil(gap / (c - b))
        )

    @property
    def steps(self) -> int:
        """See `IntervalLayers.steps`; the gaps must close."""
        assert self.gaps_closed_at is not None
        return self.gaps_closed_at + 1

    def half_layers(self) -> Iterable[tuple[Float, Float]]:
        """See `IntervalLayers.half_layers`."""
        return self.layers(self.steps)

    def reach(self, last: int) -> Float:
        """Return ``E_r = max(r a, floor(r / 2) w + (r mod 2) a)`` for r = 0 .. last; docs,
        "Additive noise".
        """
        r = np.arange(last + 1)
        return np.asarray(np.maximum(r * self.a, (r // 2) * self.w + (r % 2) * self.a))

    def level(self, r: Float) -> Int:
        r"""Return the level of each ``r``: :math:`\min_k k + \text{steps}(\text{dist}(|r|, [kb-d,
        kc+d]))`.
        """
        # Beyond 2**60 steps the probability is 0 and int64 overflows.
        size = np.minimum(np.abs(np.asarray(r, dtype=np.float64)), self.c * 2.0**60)
        best = np.full(size.shape, np.inf)
        last = float(size.max(initial=0.0)) / self.b + 1 if self.b > 0 else 0
        if self.gaps_closed_at is not None:
            last = min(last, self.gaps_closed_at + 1)
        if last > MAX_LAYERS:
            problem = (
                f"these levels need {last:.3g} steps of the neighbor set; {MAX_LAYERS:,} "
                "are the most"
            )
            raise StatementError(problem, do="widen more, or join the intervals")
        for k in range(int(last) + 1):
            missing = np.maximum(
                np.maximum(k * self.b - self.d - size, size - k * self.c - self.d), 0.0
            )
            np.minimum(best, k + self._steps(missing), out=best)
        if self.gaps_closed_at is not None:
            far = self.gaps_closed_at * self.c + self.d
            best = np.where(size > far, self.gaps_closed_at + np.ceil((size - far) / self.c), best)
        return best.astype(np.int64)

    def _steps(self, x: Float) -> Float:
        """Return the least number of further steps that cover a distance ``x`` to the blocks
        reached so far.
        """
        fewest = np.where(x > 0, np.inf, 0.0)
        if self.a > 0:
            with np.errstate(over="ignore"):  # infinite: never the minimum
                np.minimum(fewest, np.ceil(x / self.a), out=fewest)
        if self.w > 0:
            np.minimum(fewest, 2 * np.ceil(x / self.w), out=fewest)
            np.minimum(
                fewest, np.where(x <= self.a, 1, 2 * np.ceil((x - self.a) / self.w) + 1), out=fewest
            )
        return np.where(x > 0, fewest, 0.0)

    def layers(self, last: int) -> Iterator[tuple[Float, Float]]:
        """Yield left ends and lengths of the positive half of layers ``0 .. last``; O(t) each."""
        # Lengths come from differences of E, never from differences of large ends. So no digits
        # cancel: lengths and their sums are accurate to rounding.
        b, c, d, w = self.b, self.c, self.d, self.w
        reach = self.reach(last + 2)
        both = reach[1:] + reach[:-1]
        growth = np.diff(reach)
        k = np.arange(last + 1)
        # At k: the widened points k c and (k + 1) b, between which the blocks k and k + 1 grow by
        # E_{t-k} and E_{t-k-1}, and the width of the gap between these points.
        tops = k * c + d
        bottoms = (k + 1) * b - d
        gaps = b - k * w - 2 * d
        yield np.zeros(1), np.array([d])
        for t in range(1, last + 1):
            is_closed = self.gaps_closed_at is not None and t >= self.gaps_closed_at
            # Of the gaps k = 0 .. t-2, left after t-1 steps: their widths before and after step t,
            # their ends, and the parts that step t covers from the left and from the right. Arrays
            # of terms in t - k are reversed.
            before = gaps[: t - 1] - both[t - 2 :: -1][: t - 1]
            after = gaps[: t - 1] - both[t - 1 : 0 : -1]
            low = tops[: t - 1] + reach[t - 1 : 0 : -1]
            high = bottoms[: t - 1] - reach[t - 2 :: -1][: t - 1]
            shrinks = (after > 0) & (not is_closed)
            left = growth[t - 1 : 0 : -1]
            right = growth[t - 2 :: -1][: t - 1]
            if not shrinks.all():
                left = np.where(shrinks, left, np.maximum(before, 0.0))
                right, keep = np.where(shrinks, right, 0.0), before > 0
                low, high, left, right = low[keep], high[keep], left[keep], right[keep]
            start, size = self._beyond(t, is_closed)
            yield (
                np.concatenate((low, high - right, start)),
                np.concatenate((left, right, size)),
            )

    def _beyond(self, t: int, is_closed: bool) -> tuple[Float, Float]:
        """Return left ends and lengths of layer ``t`` beyond the block ``t - 1``: one piece, or two
        around a gap.
        """
        a, b, c, d, w = self.a, self.b, self.c, self.d, self.w
        if b - (t - 1) * w - a - 2 * d > 0 and not is_closed:
            return np.array([(t - 1) * c + d, t * b - d]), np.array([a, t * w + 2 * d])
        return np.array([(t - 1) * c + d]), np.array([c])

    def _in_integers(self) -> tuple[list[int], int, int]:
        """Return ``a, b, c`` in ints, their scale, and the largest gap that the widening closes."""
        scale = math.lcm(*(v.denominator for v in self.exact[:3]))
        return (
            [int(v * scale) for v in self.exact[:3]],
            scale,
            math.floor(2 * self.exact[3] * scale),
        )

    def check_steps(self) -> tuple[int | None, Intervals, Intervals, int]:
        """See `IntervalLayers.check_steps`."""
        n = self.steps
        return (
            self._first_violation(n),
            self.core(n - 1)[0],
            self.core(n)[0],
            self._in_integers()[0][2],
        )

    def _first_violation(self, last: int) -> int | None:
        """Return the first ``t <= last`` with ``B_{t-1} + W`` not inside ``B_t``, or None; in exact
        integers.
        """
        (a, b, c), _, gap = self._in_integers()
        moves = [(-c, -b), (-a, a), (b, c)]
        before = self._ends(0)
        for t in range(1, last + 1):
            low, high = self._ends(t)
            starts = np.flatnonzero(
                np.concatenate(([True], low[1:] > np.maximum.accumulate(high)[:-1] + gap))
            )
            left = low[starts]
            right = np.maximum.reduceat(high, starts)
            for down, up in moves:
                piece = np.searchsorted(left, before[0] + down, side="right") - 1
                if (piece < 0).any() or (right[piece] < before[1] + up).any():
                    return t
            before = low, high
        return None

    def core(self, t: int) -> tuple[Intervals, int]:
        """Return ``t W`` in ints and their scale; intervals that touch after they are widened are
        joined.
        """
        _, scale, gap = self._in_integers()
        return merge(zip(*(ends.tolist() for ends in self._ends(t)), strict=True), gap), scale

    def _ends(self, t: int) -> tuple[Any, Any]:
        """Lower and upper ends of the intervals of ``t W``, ascending, in int64 or, if these may
        overflow, in ints.
        """
        (a, b, c), _, gap = self._in_integers()
        k = np.arange(t + 1).astype(np.int64 if (t + 2) * (c + gap) < 2**62 else object)
        r = t - k
        reach = np.maximum(r * a, (r // 2) * (c - b) + (r % 2) * a)
        low = k * b - reach
        high = k * c + reach
        return np.concatenate((-high[:0:-1], low)), np.concatenate((-low[:0:-1], high))
