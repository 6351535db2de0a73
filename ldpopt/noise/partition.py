r"""Neighbor-set partition: the noise falls by ``exp(-epsilon)`` per step of the neighbor set, not per distance.

Neighboring databases change the answer of a linear query by a member of the neighbor set ``V``. With ``W = +-V u {0}``
and a radius ``d``,

.. math:: B_t = tW + [-d, d], \qquad L(r) = \min\{t : r \in B_t\}, \qquad p(r) = e^{-\epsilon L(r)} / Z

Levels of ``r`` and ``r + v`` differ by at most one, so adding this noise is exactly ``epsilon`` private.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import CertificateError, StatementError
from ldpopt.foundation.numbers import Float, frozen, real_number, short_repr, whole_number
from ldpopt.noise.interval_layers import MAX_LAYERS, converges, integer_levels, positive_halves, widened_unions
from ldpopt.noise.intervals import (
    Intervals,
    difference,
    is_inside,
    minkowski_sum,
    read_intervals,
    symmetric,
    to_integers,
)
from ldpopt.noise.level_noise import IntegerLevelNoise, LevelNoise, Moments
from ldpopt.noise.noise import MAX_LENGTH, read_points, read_positive
from ldpopt.noise.two_blocks import Levels, TwoBlocks

MAX_GRID_MEMBERS = 100_000
"""Largest number of integers in a set on a grid; they are read one by one."""


class NeighborPartition:
    r"""Partition of the line into layers ``R_t = B_t \ B_{t-1}``: the points that ``t`` steps of a neighbor set reach.

    Parameters
    ----------
    intervals : iterable of (low, high), or set of int
        Possible changes of the answer by one record: any finite union of intervals, in the unit of the answer. 0 and
        the mirror image are added. With a set of whole numbers the layers are sets of integers.
    widening : float, Fraction or int
        Radius ``d`` of the innermost layer, positive; for a set of whole numbers a whole number, ``d >= 0``.

    Attributes
    ----------
    sensitivity : float
        Largest member ``c`` of the set.
    is_discrete : bool
        Whether the noise has integer values.

    Raises
    ------
    StatementError
        If the set is ill posed, or its layers never become intervals: if the farthest block is a point with a gap below
        it, the gaps below its multiples never close.

    Notes
    -----
    The partition does not depend on epsilon: layers and moments are computed once. For ``[0, a] u [b, c]`` they have a
    closed form (docs, "Noise for linear queries"), O(n) to O(n**2); otherwise they take exact interval arithmetic.
    Layers of a set of whole numbers repeat even if gaps stay open (see `integer_levels`).

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
        self.sensitivity = read_positive(self.blocks[-1][1], "sensitivity")
        self._closed_form: TwoBlocks | None = None
        if self.is_discrete:
            return
        if len(self.blocks) <= 2:
            a, c = self.blocks[0][1], self.blocks[-1][1]
            b = self.blocks[1][0] if len(self.blocks) == 2 else c
            self._closed_form = TwoBlocks(a, b, c, self.widening)
        if not converges(self.blocks, self.widening):
            c = self.blocks[-1][1]
            raise StatementError(
                f"the layers never become intervals: the farthest block is the point {float(c):g}, and the gap below "
                f"each multiple of it stays open",
                do=f"widen the point to an interval, use [(0, {float(c):g})], or pass a set of whole numbers",
            )

    def __repr__(self) -> str:
        """Blocks and widening."""
        shown = ", ".join(f"[{float(low):g}, {float(high):g}]" for low, high in self.blocks[:4])
        more = ", ..." if len(self.blocks) > 4 else ""
        kind = ", integers" if self.is_discrete else ""
        return f"NeighborPartition({shown}{more}, widening={float(self.widening):g}{kind})"

    @property
    def steps(self) -> int:
        """Definition 2's ``n``: from layer ``n`` on, each layer is the previous one moved outward by `sensitivity`."""
        if self.is_discrete:
            return self._integers[2]
        if self._closed_form is not None:
            assert self._closed_form.gaps_closed_at is not None
            return self._closed_form.gaps_closed_at + 1
        return len(self._widened_unions[0])

    def level(self, r: ArrayLike) -> Levels:
        """Return the number of steps that reach each ``r``.

        Parameters
        ----------
        r : array_like
            Noise values; whole numbers for a discrete set.

        Returns
        -------
        ndarray of int64, shape of ``r``
            Levels ``>= 0``, without iteration over layers; on a border the inner layer, up to rounding.

        Raises
        ------
        StatementError
            If the set is discrete and a value is not a whole number, or a value is not finite.
        """
        size = np.abs(read_points(r))
        if not np.isfinite(size).all():
            raise StatementError("levels are defined for finite numbers only")
        if self.is_discrete:
            if (size != np.floor(size)).any():
                raise StatementError("this is a partition of the integers: levels exist for whole numbers only")
            return self._integer_level(np.minimum(size, 2.0**62).astype(np.int64))  # beyond, the mass is 0
        if self._closed_form is not None:
            return self._closed_form.level(size)
        union = self._widened_unions[0]
        ends = [b[0][1] / self._widened_unions[1] for b in (union[-1],)]
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

    def core(self, t: int) -> tuple[Intervals, int]:
        """Return ``t W`` in ints and their scale, joined as in the widened set: ``B_t`` is ``t W`` widened by ``d``."""
        t = whole_number(t, "t", 0, MAX_LAYERS + 1)
        cores, scale = to_integers(self.blocks)
        gap = math.floor(2 * self.widening * scale) + (1 if self.is_discrete else 0)
        if self._closed_form is not None:
            return self._closed_form.core(t, scale, gap), scale
        union: Intervals = [(0, 0)]
        for _ in range(t):
            union = minkowski_sum(union, symmetric(cores), gap)
        return union, scale

    def certify(self) -> bool:
        r"""Prove privacy from the layers alone: :math:`B_{t-1} + W \subseteq B_t` for ``t <= n``, then for all t.

        Returns
        -------
        bool
            True; a failure raises.

        Raises
        ------
        CertificateError
            Names the layer that fails.

        Notes
        -----
        Exact, on the same sets that `level` and `noise` use. From ``n - 1`` on the sets are intervals that grow by
        ``c``, so the inclusion at ``n`` implies all later ones. Layers of integers repeat; two periods are compared.
        """
        if self.is_discrete:
            return self._certify_integers()
        n, c = self._checked_steps, self.blocks[-1][1]
        if self._closed_form is not None:
            scale = to_integers(self.blocks)[1]
            violation = self._closed_form.find_violation(n, scale, math.floor(2 * self.widening * scale))
            inner, last = self.core(n - 1)[0], self.core(n)[0]
        else:
            scale = self._widened_unions[1]
            violation, inner, last = self._find_violation()
        if violation is not None:
            raise CertificateError(
                f"layer {violation - 1} moved by a neighbor leaves layer {violation}", where=repr(self)
            )
        if len(inner) != 1 or len(last) != 1 or last[0][1] - inner[0][1] != c * scale:
            raise CertificateError(f"layer {n} has not converged", where=repr(self))
        return True

    def noise(self, epsilon: float | str) -> LevelNoise | IntegerLevelNoise:
        """Return the noise with density ``exp(-epsilon level(r)) / Z``.

        Parameters
        ----------
        epsilon : float or str
            Nats, ``0 < epsilon <= 10000``, or ``"log(3)"``.

        Returns
        -------
        Noise
            Its moments are sums of the partition's moments, O(n) for each epsilon.
        """
        return IntegerLevelNoise(self, epsilon) if self.is_discrete else LevelNoise(self, epsilon)

    def on_grid(self, step: float) -> NeighborPartition:
        """Return the partition of the integers whose set covers the changes of an answer rounded to ``step``.

        Parameters
        ----------
        step : float
            Grid, in the unit of the answer, positive.

        Returns
        -------
        NeighborPartition
            Discrete, in units of ``step``; blocks are rounded outward.

        Raises
        ------
        StatementError
            If the step is not positive, or the set contains too many multiples of it.
        """
        h = Fraction(read_positive(step, "step"))
        ranges = [(int(low // h), int(-(-high // h))) for low, high in self.blocks]
        if (members := sum(high - low + 1 for low, high in ranges)) > MAX_GRID_MEMBERS:
            what = f"the set contains {float(members):.3g} multiples of step = {short_repr(step)}: too many"
            raise StatementError(what, do="state a larger step")
        members_on_grid = {v for low, high in ranges for v in range(low, high + 1)}
        return NeighborPartition(members_on_grid, max(0, round(self.widening / h - Fraction(1, 2))))

    @property
    def unit(self) -> float:
        """Power of two near the farthest end of layers 0 and 1; in this unit no sum overflows."""
        return math.ldexp(1.0, math.frexp(self.sensitivity + float(self.widening))[1])

    @cached_property
    def moments(self) -> Moments:
        """Integrals over both halves of the layers ``0 .. n``; sums over integers where discrete."""
        n = self._checked_steps
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
        """Positive half, ascending: left ends, lengths and levels of its intervals, up to layer ``n``."""
        parts = list(self._half_layers())
        left, length = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        level = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        keep = length > 0
        left, length, level = left[keep], length[keep], level[keep]
        order = np.argsort(left, kind="stable")
        return frozen(left[order]), frozen(length[order]), frozen(level[order])

    def _find_violation(self) -> tuple[int | None, Intervals, Intervals]:
        """First layer that a step moves outside the next one, and the last two sets, as `moments` uses them."""
        union, scale = self._widened_unions
        steps = symmetric([(int(low * scale), int(high * scale)) for low, high in self.blocks])
        c = steps[-1][1]
        union = [*union, [(union[-1][0][0] - c, union[-1][-1][1] + c)]]
        violations = (
            t for t, pair in enumerate(pairwise(union), 1) if not is_inside(minkowski_sum(pair[0], steps), pair[1])
        )
        return next(violations, None), union[-2], union[-1]

    @property
    def _checked_steps(self) -> int:
        if self.steps > MAX_LAYERS:
            raise StatementError(f"{self.steps} layers are too many", do="widen more, or join the intervals")
        return self.steps

    def _half_layers(self) -> Iterable[tuple[Float, Float]]:
        if self._closed_form is not None:
            return self._closed_form.layers(self._checked_steps)
        union, scale = self._widened_unions
        width = int(self.blocks[-1][1] * scale)
        last = [(union[-1][0][0] - width, union[-1][0][1] + width)]
        return positive_halves([*union, last], scale)

    @cached_property
    def _widened_unions(self) -> tuple[list[Intervals], int]:
        return widened_unions(self.blocks, self.widening)

    @cached_property
    def _integers(self) -> tuple[Levels, int, int]:
        values = [v for low, high in self.blocks for v in range(int(low), int(high) + 1) if v]
        return integer_levels(values, int(self.widening))

    @property
    def integer_table(self) -> Levels:
        """Levels of ``0, 1, ...`` until they continue as ``L(r + c) = L(r) + 1``; for discrete sets."""
        return self._integers[0]

    def _integer_level(self, size: Levels) -> Levels:
        table = self.integer_table
        periods = np.maximum(-(-(size - len(table) + 1) // int(self.sensitivity)), 0)
        return np.asarray(table[size - periods * int(self.sensitivity)] + periods)

    def _certify_integers(self) -> bool:
        """Compare levels of ``r`` and ``r + v`` for all steps, over the start and two periods; the rest repeats."""
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
    number = real_number(widening, "widening", -MAX_LENGTH, MAX_LENGTH, do=f"state a radius up to {MAX_LENGTH:g}")
    d = Fraction(widening if isinstance(widening, (int, Fraction)) else number)
    if is_discrete and (d < 0 or d.denominator != 1):
        raise StatementError(
            f"widening = {short_repr(widening)} is not a whole number >= 0", do="widen a set of integers by integers"
        )
    if not is_discrete and number <= 0:
        raise StatementError(
            f"widening = {short_repr(widening)} is not positive: the innermost layer would have no mass",
            do="state a radius > 0",
        )
    return d
