"""Neighbor sets that are any union of intervals: layers by exact interval arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.noise.intervals import (
    Blocks,
    Intervals,
    difference,
    is_inside,
    merge,
    minkowski_sum,
    symmetric,
    to_integers,
)
from ldpopt.noise.neighbor_layers import MAX_LAYERS, IntervalLayers

MAX_INTERVALS = 20_000_000
"""Largest number of intervals over all layers of a union: about half a minute."""


def converges(blocks: Blocks, d: Fraction) -> bool:
    """Whether the layers become intervals: the farthest cluster, joined across ``2 d``, is not a single point."""
    clusters = merge(symmetric(blocks), 2 * d)  # type: ignore[arg-type]
    return len(clusters) == 1 or clusters[-1][0] < clusters[-1][1]


class UnionLayers(IntervalLayers):
    """Layers of a union of blocks, given by their absolute values, and a widening ``d > 0``."""

    def __init__(self, blocks: Blocks, d: Fraction) -> None:
        self.blocks, self.d = blocks, d

    @cached_property
    def widened(self) -> tuple[list[Intervals], int]:
        """The sets ``B_0 .. B_n`` in ints, and their scale.

        Once ``B_t = [-A, A]`` with ``2 A`` at least the widest gap of ``W``, all later ones are intervals.
        """
        cores, scale = to_integers(self.blocks, self.d)
        width, steps = int(self.d * scale), symmetric(cores)
        widest = max((high[0] - low[1] for low, high in pairwise(steps)), default=0)
        found: list[Intervals] = []
        core: Intervals = [(0, 0)]
        work = 0
        while True:
            found.append([(low - width, high + width) for low, high in core])
            if len(core) == 1 and 2 * (core[0][1] + width) >= widest:
                end, c = found[-1][0][1], steps[-1][1]
                return [*found, [(-end - c, end + c)]], scale
            work += len(core) * len(steps)
            if len(found) > MAX_LAYERS or work > MAX_INTERVALS:
                raise StatementError(
                    f"layers still have gaps after {len(found)} steps", do="widen more, or join some of the intervals"
                )
            core = minkowski_sum(core, steps, 2 * width)

    @property
    def steps(self) -> int:
        """See `NeighborLayers.steps`."""
        return len(self.widened[0]) - 1

    def level(self, size: Float) -> Int:
        """Return the layer of each ``size >= 0``, by bisection."""
        left, length, level = self.pieces
        place = np.clip(np.searchsorted(left, size, side="left") - 1, 0, None)
        union, scale = self.widened
        beyond = np.ceil(np.minimum((size - union[-2][0][1] / scale) / float(self.blocks[-1][1]), 2.0**60))
        is_inner = size <= left[-1] + length[-1]
        return np.where(is_inner, level[place], np.maximum(self.steps - 1 + beyond, self.steps)).astype(np.int64)

    def core(self, t: int) -> tuple[Intervals, int]:
        """Return ``t W`` in ints and their scale; intervals that touch after widening are joined."""
        cores, scale = to_integers(self.blocks)
        union: Intervals = [(0, 0)]
        for _ in range(t):
            union = minkowski_sum(union, symmetric(cores), int(2 * self.d * scale))
        return union, scale

    def half_layers(self) -> Iterable[tuple[Float, Float]]:
        """See `IntervalLayers.half_layers`."""
        union, scale = self.widened
        for inner, outer in pairwise([[], *union]):
            layer = difference([(max(low, 0), high) for low, high in outer if high > 0], inner)
            yield np.array([low / scale for low, _ in layer]), np.array([(high - low) / scale for low, high in layer])

    def _check_steps(self) -> tuple[int | None, Intervals, Intervals, int]:
        union, scale = self.widened
        steps = symmetric([(int(low * scale), int(high * scale)) for low, high in self.blocks])
        moved = (minkowski_sum(inner, steps) for inner in union)
        fails = (
            t for t, (inner, outer) in enumerate(zip(moved, union[1:], strict=False), 1) if not is_inside(inner, outer)
        )
        return next(fails, None), union[-2], union[-1], steps[-1][1]
