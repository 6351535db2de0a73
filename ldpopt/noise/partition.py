r"""Neighbor-set partition: a budget is spent on steps of the neighbor set, not on distance.

A linear query moves its answer by a member of the neighbor set ``V``. With ``W = +-V u {0}`` and a radius ``d``,

.. math:: B_t = tW + [-d, d], \qquad L(r) = \min\{t : r \in B_t\}, \qquad p(r) = e^{-\epsilon L(r)} / Z

Levels of ``r`` and ``r + v`` differ by at most one, so adding this noise is exactly ``epsilon`` private.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import CertificateError, StatementError
from ldpopt.foundation.checks import Float, frozen, real_number, short_repr, whole_number
from ldpopt.noise.interval_layers import MOST_STEPS, converges, grow, halves, integer_levels
from ldpopt.noise.intervals import Union, difference, dilate, is_inside, read_intervals, scaled, symmetric
from ldpopt.noise.noise import MOST, places, positive
from ldpopt.noise.two_blocks import Levels, TwoBlocks

if TYPE_CHECKING:
    from ldpopt.noise.level_noise import LatticeNoise, LevelNoise


class Moments(NamedTuple):
    """Integrals of 1, ``|r|`` and ``r**2`` over layers ``0 .. n``; from ``n`` on they move out by ``c``."""

    measure: Float
    first: Float
    second: Float


class NeighborPartition:
    r"""Partition of the line into the layers ``R_t = B_t \ B_{t-1}`` that ``t`` steps of a neighbor set reach.

    Parameters
    ----------
    intervals : iterable of (low, high), or set of int
        What one record may change the answer by: any finite union of intervals, in the unit of the answer; 0 and the
        mirror image are added. A set of whole numbers makes everything discrete: layers are sets of integers.
    widening : float, Fraction or int
        Radius ``d`` of the innermost layer, positive; for whole numbers a whole number, ``d >= 0``.

    Attributes
    ----------
    sensitivity : float
        Largest member ``c`` of the set.
    is_discrete : bool
        Whether the noise lives on the integers.

    Raises
    ------
    StatementError
        If the set is ill posed, or its layers never become intervals: the farthest block is a point with a gap below
        it, so the gaps below its multiples never close.

    Notes
    -----
    Nothing here depends on epsilon: layers and moments are computed once. For ``[0, a] u [b, c]`` everything is in
    closed form (docs, "Noise for linear queries"), O(n) to O(n**2); otherwise by exact interval arithmetic. Sets of
    whole numbers need no gap to close: their layers repeat (see `integer_levels`).

    References
    ----------
    Wu, Xia and He, sections 5 and 6.

    Examples
    --------
    >>> part = NeighborPartition([(0, 1), (1000, 1001)], 0.5)
    >>> part.steps, part.level([0.2, 3.0, 1000.0]).tolist()
    (1000, [0, 3, 1])
    """

    def __init__(self, intervals: Iterable[Any], widening: float | Fraction | int) -> None:
        self.blocks, self.is_discrete = read_intervals(intervals)
        self.widening = _read_widening(widening, self.is_discrete)
        self.sensitivity = positive(self.blocks[-1][1], "sensitivity")
        self._closed: TwoBlocks | None = None
        if self.is_discrete:
            return
        if len(self.blocks) <= 2:
            a, c = self.blocks[0][1], self.blocks[-1][1]
            b = self.blocks[1][0] if len(self.blocks) == 2 else c
            self._closed = TwoBlocks(a, b, c, self.widening)
        if not converges(self.blocks, self.widening):
            c = self.blocks[-1][1]
            raise StatementError(
                f"the layers never become intervals: {float(c):g} is a point of its own, and the gap below each "
                f"multiple of it stays open",
                do=f"widen the point to an interval, or use [(0, {float(c):g})]; whole numbers can be given as a set",
            )

    def __repr__(self) -> str:
        """Blocks and widening."""
        shown = ", ".join(f"[{float(low):g}, {float(high):g}]" for low, high in self.blocks[:4])
        more = ", ..." if len(self.blocks) > 4 else ""
        kind = ", integers" if self.is_discrete else ""
        return f"NeighborPartition({shown}{more}, widening={float(self.widening):g}{kind})"

    @property
    def steps(self) -> int:
        """Definition 2's ``n``: from layer ``n`` on, each layer is the one before moved out by `sensitivity`."""
        if self.is_discrete:
            return self._integers[2]
        if self._closed is not None:
            assert self._closed.settled is not None
            return self._closed.settled + 1
        return len(self._grown[0])

    def level(self, r: ArrayLike) -> Levels:
        """Return how many steps reach each ``r``.

        Parameters
        ----------
        r : array_like
            Noise values; whole numbers for a discrete set.

        Returns
        -------
        ndarray of int64, shape of ``r``
            Levels ``>= 0``, no iteration over layers; on the border of two layers the inner one, up to rounding.

        Raises
        ------
        StatementError
            If the set is discrete and a value is no whole number, or a value is not finite.
        """
        size = np.abs(places(r))
        if not np.isfinite(size).all():
            raise StatementError("levels are defined for finite numbers only")
        if self.is_discrete:
            if (size != np.floor(size)).any():
                raise StatementError("this partition is one of the integers: levels exist for whole numbers only")
            return self._integer_level(np.minimum(size, 2.0**62).astype(np.int64))  # no mass is left beyond
        if self._closed is not None:
            return self._closed.level(size)
        union = self._grown[0]
        ends = [b[0][1] / self._grown[1] for b in (union[-1],)]
        left, length, level = self.pieces
        place = np.clip(np.searchsorted(left, size, side="left") - 1, 0, None)
        beyond = len(union) - 1 + np.ceil(np.minimum((size - ends[0]) / self.sensitivity, 2.0**60))
        inner = size <= left[-1] + length[-1]
        return np.where(inner, level[place], np.maximum(beyond, len(union))).astype(np.int64)

    @property
    def layers(self) -> tuple[tuple[tuple[Fraction, Fraction], ...], ...]:
        """Exact layers ``R_0 .. R_n``, positive half: disjoint intervals (integers ``k`` are the points ``(k, k)``)."""
        if self.is_discrete:
            levels = self._integer_level(np.arange(self.steps * int(self.sensitivity) + int(self.widening) + 1))
            points = [np.flatnonzero(levels == t) for t in range(self.steps + 1)]
            return tuple(tuple((Fraction(int(k)), Fraction(int(k))) for k in layer) for layer in points)
        d, found = self.widening, [self.core(t) for t in range(self.steps + 1)]
        rows: list[Any] = []
        inside: Any = []
        for core, scale in found:
            union: Any = [(Fraction(low, scale) - d, Fraction(high, scale) + d) for low, high in core]
            half = [(max(low, Fraction(0)), high) for low, high in union if high > 0]
            rows.append(tuple(difference(half, inside)))
            inside = half
        return tuple(rows)

    def core(self, t: int) -> tuple[Union, int]:
        """Return ``t W`` in ints over a scale, joined where the widened set is: ``B_t`` is it widened by ``d``."""
        t = whole_number(t, "t", 0, MOST_STEPS + 1)
        cores, scale = scaled(self.blocks)
        gap = math.floor(2 * self.widening * scale) + (1 if self.is_discrete else 0)
        if self._closed is not None:
            return self._closed.core(t, scale, gap), scale
        union: Union = [(0, 0)]
        for _ in range(t):
            union = dilate(union, symmetric(cores), gap)
        return union, scale

    def certify(self) -> bool:
        r"""Prove privacy from the layers alone: :math:`B_{t-1} + W \subseteq B_t` for ``t <= n``, then for all t.

        Returns
        -------
        bool
            True; anything else raises.

        Raises
        ------
        CertificateError
            With the layer that fails.

        Notes
        -----
        In whole numbers, on the sets that `level` and `noise` use. From ``n - 1`` on the sets are intervals that grow
        by ``c``, so the inclusion at ``n`` carries on; layers of integers repeat, which is compared over two periods.
        """
        if self.is_discrete:
            return self._certify_integers()
        n, c = self._feasible_steps, self.blocks[-1][1]
        if self._closed is not None:
            scale = scaled(self.blocks)[1]
            leak = self._closed.find_leak(n, scale, math.floor(2 * self.widening * scale))
            inner, last = self.core(n - 1)[0], self.core(n)[0]
        else:
            scale = self._grown[1]
            leak, inner, last = self._find_leak()
        if leak is not None:
            raise CertificateError(f"layer {leak - 1} moved by a neighbor leaves layer {leak}", where=repr(self))
        if len(inner) != 1 or len(last) != 1 or last[0][1] - inner[0][1] != c * scale:
            raise CertificateError(f"layer {n} has not converged", where=repr(self))
        return True

    def noise(self, epsilon: float | str) -> LevelNoise | LatticeNoise:
        """Return the noise with density ``exp(-epsilon level(r)) / Z``.

        Parameters
        ----------
        epsilon : float or str
            Nats, ``0 < epsilon <= 10000``, or ``"log(3)"``.

        Returns
        -------
        Noise
            Its moments are sums of this partition's, O(n) for each epsilon.
        """
        from ldpopt.noise.level_noise import LatticeNoise, LevelNoise

        return LatticeNoise(self, epsilon) if self.is_discrete else LevelNoise(self, epsilon)

    @property
    def unit(self) -> float:
        """Power of two about as large as the farthest end of layers 0 and 1: in it, no sum leaves the floats."""
        return math.ldexp(1.0, math.frexp(self.sensitivity + float(self.widening))[1])

    @cached_property
    def moments(self) -> Moments:
        """Integrals over both halves of the layers ``0 .. n``; sums over integers where discrete."""
        n = self._feasible_steps
        table = np.zeros((3, n + 1))
        if self.is_discrete:
            r = np.arange(n * int(self.sensitivity) + int(self.widening) + 1)
            level = self._integer_level(r)
            r, level = r[level <= n].astype(float), level[level <= n]
            for power in range(3):
                table[power] = 2 * np.bincount(level, r**power, n + 1)
            table[0, 0] -= 1  # 0 is its own mirror image
        else:
            for t, (left, length) in enumerate(self._half_layers()):
                middle = left + length / 2
                table[:, t] = 2 * np.array([length.sum(), length @ middle, length @ (middle**2 + length**2 / 12)])
        return Moments(*(frozen(row) for row in table))

    @cached_property
    def pieces(self) -> tuple[Float, Float, Levels]:
        """Positive half as pieces of one level, ascending: left ends, lengths, levels, up to layer ``n``."""
        parts = list(self._half_layers())
        left, length = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        level = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        keep = length > 0
        left, length, level = left[keep], length[keep], level[keep]
        order = np.argsort(left, kind="stable")
        return frozen(left[order]), frozen(length[order]), frozen(level[order])

    def _find_leak(self) -> tuple[int | None, Union, Union]:
        """First layer that leaves the next, among the widened sets that `moments` uses, and the last two of them."""
        union, scale = self._grown
        steps = symmetric([(int(low * scale), int(high * scale)) for low, high in self.blocks])
        c = steps[-1][1]
        union = [*union, [(union[-1][0][0] - c, union[-1][-1][1] + c)]]
        leaks = (t for t, pair in enumerate(pairwise(union), 1) if not is_inside(dilate(pair[0], steps), pair[1]))
        return next(leaks, None), union[-2], union[-1]

    @property
    def _feasible_steps(self) -> int:
        if self.steps > MOST_STEPS:
            raise StatementError(f"{self.steps} layers are too many", do="widen more, or join the intervals")
        return self.steps

    def _half_layers(self) -> Iterable[tuple[Float, Float]]:
        if self._closed is not None:
            return self._closed.layers(self._feasible_steps)
        union, scale = self._grown
        width = int(self.blocks[-1][1] * scale)
        last = [(union[-1][0][0] - width, union[-1][0][1] + width)]
        return halves([*union, last], scale)

    @cached_property
    def _grown(self) -> tuple[list[Union], int]:
        return grow(self.blocks, self.widening)

    @cached_property
    def _integers(self) -> tuple[Levels, int, int]:
        values = [v for low, high in self.blocks for v in range(int(low), int(high) + 1) if v]
        return integer_levels(values, int(self.widening))

    @property
    def integer_table(self) -> Levels:
        """Levels of ``0, 1, ...`` up to where they go on as ``L(r + c) = L(r) + 1``; for discrete sets."""
        return self._integers[0]

    def _integer_level(self, size: Levels) -> Levels:
        table = self.integer_table
        periods = np.maximum(-(-(size - len(table) + 1) // int(self.sensitivity)), 0)
        return np.asarray(table[size - periods * int(self.sensitivity)] + periods)

    def _certify_integers(self) -> bool:
        """Levels of ``r`` and ``r + v``, all steps, over the start and two periods more; the rest repeats."""
        table = self.integer_table
        c = int(self.sensitivity)
        r = np.arange(-c, len(table) + 2 * c)
        level = self._integer_level(np.abs(r))
        for low, high in self.blocks:
            for v in range(int(low), int(high) + 1):
                if (np.abs(self._integer_level(np.abs(r + v)) - level) > 1).any():
                    raise CertificateError(f"a step of {v} changes the level by more than one", where=repr(self))
        return True


def _read_widening(widening: Any, is_discrete: bool) -> Fraction:
    number = real_number(widening, "widening", -MOST, MOST, do=f"state a radius up to {MOST:g}")
    d = Fraction(widening if isinstance(widening, (int, Fraction)) else number)
    if is_discrete and (d < 0 or d.denominator != 1):
        raise StatementError(
            f"widening = {short_repr(widening)} is no whole number >= 0", do="widen a set of integers by integers"
        )
    if not is_discrete and number <= 0:
        raise StatementError(
            f"widening = {short_repr(widening)} is not positive: the innermost layer would have no mass",
            do="state a radius > 0",
        )
    return d
