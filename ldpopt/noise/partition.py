r"""Neighbor-set partition: the noise falls by ``exp(-epsilon)`` per step of the neighbor set, not
per distance.

Neighboring databases change the answer of a linear query by a member of the neighbor set ``V``.
With ``W = +-V u {0}`` and a radius ``d``,

.. math:: B_t = tW + [-d, d], \qquad L(r) = \min\{t : r \in B_t\},
          \qquad p(r) = e^{-\epsilon L(r)} / Z

Levels of ``r`` and ``r + v`` differ by at most one, so adding this noise is exactly ``epsilon``
private.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import CertificateError, StatementError
from ldpopt.foundation.numbers import Int, real_number, short_repr, whole_number
from ldpopt.noise.integer_layers import IntegerLayers
from ldpopt.noise.interval_layers import MAX_LAYERS, LayerIntegrals, UnionLayers, converges
from ldpopt.noise.intervals import (
    Blocks,
    Intervals,
    difference,
    minkowski_sum,
    read_intervals,
    symmetric,
    to_integers,
)
from ldpopt.noise.level_noise import IntegerLevelNoise, LevelNoise
from ldpopt.noise.noise import MAX_LENGTH, read_points, read_positive
from ldpopt.noise.two_blocks import TwoBlocks

# largest number of integers in a set on a grid; they are read one by one
MAX_GRID_MEMBERS = 100_000


class NeighborPartition:
    r"""Partition of the line into layers ``R_t = B_t \ B_{t-1}``: the points that ``t`` steps of a
    neighbor set reach.

    Parameters
    ----------
    intervals : iterable of (low, high), or set of int
        Possible changes of the answer by one record: any finite union of intervals, in the unit of
        the answer. 0 and the mirror image are added. With a set of whole numbers the layers are
        sets of integers.
    widening : float, Fraction or int
        Radius ``d`` of the innermost layer, positive; for a set of whole numbers a whole number,
        ``d >= 0``.

    Attributes
    ----------
    sensitivity : float
        Largest member ``c`` of the set.
    is_discrete : bool
        Whether the noise has integer values.

    Raises
    ------
    StatementError
        If the set is ill posed, or its layers never become intervals: if the farthest block is a
        point with a gap below it, the gaps below its multiples never close.

    Notes
    -----
    The partition does not depend on epsilon: layers and moments are computed once. For ``[0, a] u
    [b, c]`` they have a closed form (docs, "Noise for linear queries"), O(n) to O(n**2); otherwise
    they take exact interval arithmetic. Layers of a set of whole numbers repeat even if gaps stay
    open.

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
        self.neighbor_layers = layers_of(self.blocks, self.widening, self.is_discrete)

    def __repr__(self) -> str:
        shown = ", ".join(f"[{float(low):g}, {float(high):g}]" for low, high in self.blocks[:4])
        more = ", ..." if len(self.blocks) > 4 else ""
        kind = ", integers" if self.is_discrete else ""
        return f"NeighborPartition({shown}{more}, widening={float(self.widening):g}{kind})"

    @property
    def steps(self) -> int:
        """Definition 2's ``n``: from layer ``n`` on, each layer is the previous one moved outward
        by `sensitivity`.
        """
        return self.neighbor_layers.steps

    def level(self, r: ArrayLike) -> Int:
        """Return the number of steps that reach each ``r``, int64 in the shape of ``r``, without
        iteration over layers.

        Parameters
        ----------
        r : array_like
            Finite noise values; whole numbers for a discrete set. A border has the inner level, up
            to rounding.

        Raises
        ------
        StatementError
            If a value is not finite, or not a whole number for a discrete set.
        """
        size = np.abs(read_points(r))
        if not np.isfinite(size).all():
            raise StatementError(
                "levels are defined for finite numbers only", do="leave infinities out"
            )
        if isinstance(self.neighbor_layers, IntegerLayers):
            if (size != np.floor(size)).any():
                problem = (
                    f"{size[size != np.floor(size)][0]:g} has no level in a partition of "
                    "the integers"
                )
                raise StatementError(problem, do="pass whole numbers, or a partition of intervals")
            # beyond, the mass is 0
            return self.neighbor_layers.level(np.minimum(size, 2.0**62).astype(np.int64))
        return self.neighbor_layers.level(size)

    @property
    def layers(self) -> tuple[tuple[tuple[Fraction, Fraction], ...], ...]:
        """Exact layers ``R_0 .. R_n``, positive half: disjoint intervals (integers ``k`` are the
        points ``(k, k)``).
        """
        if isinstance(self.neighbor_layers, IntegerLayers):
            order, starts = self.neighbor_layers.sorted_members
            parts = np.split(order, starts[1:-1])
            return tuple(tuple((Fraction(k), Fraction(k)) for k in part.tolist()) for part in parts)
        d = self.widening
        cores = [self.core(t) for t in range(self.steps + 1)]
        rows: list[Any] = []
        inside: Any = []
        for core, scale in cores:
            union: Any = [
                (Fraction(low, scale) - d, Fraction(high, scale) + d) for low, high in core
            ]
            half = [(max(low, Fraction(0)), high) for low, high in union if high > 0]
            rows.append(tuple(difference(half, inside)))
            inside = half
        return tuple(rows)

    def core(self, t: int) -> tuple[Intervals, int]:
        """Return ``t W`` as intervals of ints, and their scale; ``B_t`` is ``t W`` widened by
        ``d``.

        Intervals that touch after they are widened are joined.
        """
        t = whole_number(t, "t", 0, MAX_LAYERS + 1)
        if isinstance(self.neighbor_layers, TwoBlocks):
            return self.neighbor_layers.core(t)
        blocks, scale = to_integers(self.blocks)
        gap = math.floor(2 * self.widening * scale) + int(self.is_discrete)
        union: Intervals = [(0, 0)]
        for _ in range(t):
            union = minkowski_sum(union, symmetric(blocks), gap)
        return union, scale

    def certify(self) -> bool:
        r"""Prove privacy from the layers alone: :math:`B_{t-1} + W \subseteq B_t` for ``t <= n``,
        then for all t.

        Returns True; a failure raises a CertificateError, which names the layer.

        Notes
        -----
        Exact, on the same sets that `level` and `noise` use. From ``n - 1`` on the sets are
        intervals that grow by ``c``, so the inclusion at ``n`` implies all later ones. Layers of
        integers repeat; two periods are compared.
        """
        failure = self.neighbor_layers.find_failure()
        if failure is not None:
            problem, code = failure
            do = "widen more, or report this as a defect of ldpopt"
            raise CertificateError(problem, code=code, where=repr(self), do=do)
        return True

    def noise(self, epsilon: float | str) -> LevelNoise | IntegerLevelNoise:
        """Return the noise with density ``exp(-epsilon level(r)) / Z``; its moments take O(n) for
        each epsilon.

        Parameters
        ----------
        epsilon : float or str
            Nats, ``0 < epsilon <= 10000``, or ``"log(3)"``.

        Raises
        ------
        StatementError
            If epsilon is not positive, or above 10000.
        """
        return IntegerLevelNoise(self, epsilon) if self.is_discrete else LevelNoise(self, epsilon)

    def on_grid(self, step: float) -> NeighborPartition:
        """Return the partition of the integers whose set covers the changes of an answer rounded to
        ``step``.

        Parameters
        ----------
        step : float
            Grid, in the unit of the answer, positive: the unit of the new partition. Blocks are
            rounded outward.

        Raises
        ------
        StatementError
            If the step is not positive, or the set contains too many multiples of it.
        """
        h = Fraction(read_positive(step, "step"))
        ranges = [(int(low // h), int(-(-high // h))) for low, high in self.blocks]
        if (members := sum(high - low + 1 for low, high in ranges)) > MAX_GRID_MEMBERS:
            problem = (
                f"the set contains {float(members):.3g} multiples of step = "
                f"{short_repr(step)}: too many"
            )
            raise StatementError(problem, do="state a larger step")
        members_on_grid = {v for low, high in ranges for v in range(low, high + 1)}
        return NeighborPartition(members_on_grid, max(0, round(self.widening / h - Fraction(1, 2))))

    @property
    def moments(self) -> LayerIntegrals:
        """Integrals over both halves of the layers ``0 .. n``; sums over integers for a set of
        whole numbers.
        """
        return self.neighbor_layers.moments


def layers_of(
    blocks: Blocks, d: Fraction, is_discrete: bool
) -> UnionLayers | TwoBlocks | IntegerLayers:
    """Return the layers of a set by the fastest method for it."""
    c = blocks[-1][1]
    if is_discrete:
        return IntegerLayers(blocks, d)
    if not converges(blocks, d):
        point = (
            f"the farthest block is the point {float(c):g}, and the gap below each multiple of "
            "it stays open"
        )
        do = (
            f"widen the point to an interval, use [(0, {float(c):g})], or pass a set of "
            "whole numbers"
        )
        raise StatementError(f"the layers never become intervals: {point}", code="layer-gap", do=do)
    if len(blocks) > 2:
        return UnionLayers(blocks, d)
    return TwoBlocks(blocks[0][1], blocks[1][0] if len(blocks) == 2 else c, c, d)


def _read_widening(widening: Any, is_discrete: bool) -> Fraction:
    number = real_number(
        widening, "widening", -MAX_LENGTH, MAX_LENGTH, do=f"state a radius up to {MAX_LENGTH:g}"
    )
    d = Fraction(widening if isinstance(widening, (int, Fraction)) else number)
    if is_discrete and (d < 0 or d.denominator != 1):
        problem = f"widening = {short_repr(widening)} is not a whole number >= 0"
        raise StatementError(
            problem,
            code="whole-number",
            do="give a whole number as the widening of a set of integers",
        )
    if not is_discrete and number <= 0:
        problem = (
            f"widening = {short_repr(widening)} is not positive: the innermost layer would "
            "have no mass"
        )
        raise StatementError(problem, code="zero-widening", do="state a radius > 0")
    return d
