"""Layers of a neighbor set of intervals: the points that ``t`` steps of the set reach, and ``t -
1`` steps do not.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, Int, frozen
from ldpopt.noise import intervals

MAX_LAYERS = 20_000  # largest number of layers of a partition; time grows with its square
# largest number of intervals over all layers of a union: about half a minute
MAX_INTERVALS = 20_000_000


class LayerIntegrals(NamedTuple):
    """Integrals of 1, ``|r|`` and ``r**2`` over layers ``0 .. n``; sums over the integers of a set
    of whole numbers.
    """

    measure: Float
    first: Float
    second: Float


def require_few_layers(count: int) -> None:
    """Check that moments and proofs over this number of layers end within seconds."""
    if count > MAX_LAYERS:
        problem = f"the noise has {count:,} different layers; {MAX_LAYERS:,} are the most"
        raise StatementError(problem, do="widen more, or join the intervals")


class IntervalLayers(ABC):
    """Layers that are unions of intervals, for one neighbor set and widening; a subclass computes
    their ends.
    """

    @property
    @abstractmethod
    def steps(self) -> int:
        """Number ``n``: from layer ``n`` on, each layer is the previous one moved outward by the
        largest member.
        """

    @abstractmethod
    def level(self, size: Float) -> Int:
        """Return the layer of each ``size >= 0``."""

    @abstractmethod
    def half_layers(self) -> Iterable[tuple[Float, Float]]:
        """Return left ends and lengths of the positive half of the layers ``0 .. n``."""

    @abstractmethod
    def check_steps(self) -> tuple[int | None, intervals.Intervals, intervals.Intervals, int]:
        r"""Return the first ``t <= n`` without :math:`B_{t-1} + W \subseteq B_t`, ``B_{n-1}``,
        ``B_n`` and ``max W``.

        In ints of one scale; both sets may be given without the widening.
        """

    @cached_property
    def moments(self) -> LayerIntegrals:
        """Integrals over both halves of the layers ``0 .. n``."""
        require_few_layers(self.steps)
        table = np.zeros((3, self.steps + 1))
        for t, (left, length) in enumerate(self.half_layers()):
            middle = left + length / 2
            table[:, t] = 2 * np.array(
                [length.sum(), length @ middle, length @ (middle**2 + length**2 / 12)]
            )
        return LayerIntegrals(*frozen(table))

    @cached_property
    def pieces(self) -> tuple[Float, Float, Int]:
        """Left ends, lengths and levels of the intervals of the positive half, ascending, up to
        layer ``n``.
        """
        require_few_layers(self.steps)
        parts = list(self.half_layers())
        left, length = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        level = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        order = np.argsort(left, kind="stable")
        order = order[length[order] > 0]
        return frozen(left[order]), frozen(length[order]), frozen(level[order])

    def find_failure(self) -> tuple[str, str] | None:
        """Return why the layers are not private, with its code, or None if they are; exact.

        They are if each layer moved by a neighbor is inside the next one, and from ``n`` on the
        sets are single intervals that grow by the largest neighbor a step.
        """
        # From n - 1 on the sets are intervals that grow alike, so the inclusion at n implies all
        # later ones.
        require_few_layers(self.steps)
        violation, inner, outer, growth = self.check_steps()
        if violation is not None:
            return (
                f"layer {violation - 1} moved by a neighbor leaves layer {violation}",
                "inclusion",
            )
        if len(inner) != 1 or len(outer) != 1 or outer[0][1] - inner[0][1] != growth:
            return f"layer {self.steps} has not converged", "convergence"
        return None


def converges(blocks: intervals.Blocks, d: Fraction) -> bool:
    """Whether the layers become intervals: the farthest cluster, joined across ``2 d``, is not a
    single point.
    """
    clusters = intervals.merge(intervals.symmetric(blocks), 2 * d)  # type: ignore[arg-type]
    return len(clusters) == 1 or clusters[-1][0] < clusters[-1][1]


class UnionLayers(IntervalLayers):
    """Layers of a union of blocks, given by their absolute values, and a widening ``d > 0``."""

    def __init__(self, blocks: intervals.Blocks, d: Fraction) -> None:
        self.blocks, self.d = blocks, d

    @cached_property
    def widened(self) -> tuple[list[intervals.Intervals], int]:
        """The sets ``B_0 .. B_n`` in ints, and their scale."""
        # Once B_t = [-A, A] with 2 A at least the widest gap of W, all later ones are intervals.
        cores, scale = intervals.to_integers(self.blocks, self.d)
        width = int(self.d * scale)
        steps = intervals.symmetric(cores)
        widest = max((high[0] - low[1] for low, high in pairwise(steps)), default=0)
        sets: list[intervals.Intervals] = []
        core: intervals.Intervals = [(0, 0)]
        work = 0
        while True:
            sets.append([(low - width, high + width) for low, high in core])
            if len(core) == 1 and 2 * (core[0][1] + width) >= widest:
                end = sets[-1][0][1]
                c = steps[-1][1]
                return [*sets, [(-end - c, end + c)]], scale
            work += len(core) * len(steps)
            if len(sets) > MAX_LAYERS or work > MAX_INTERVALS:
                problem = f"layers still have gaps after {len(sets)} steps"
                raise StatementError(problem, do="widen more, or join some of the intervals")
            core = intervals.minkowski_sum(core, steps, 2 * width)

    @property
    def steps(self) -> int:
        """See `IntervalLayers.steps`."""
        return len(self.widened[0]) - 1

    def level(self, size: Float) -> Int:
        """Return the layer of each ``size >= 0``, by bisection."""
        left, length, level = self.pieces
        piece = np.clip(np.searchsorted(left, size, side="left") - 1, 0, None)
        union, scale = self.widened
        beyond = np.ceil(
            np.minimum((size - union[-2][0][1] / scale) / float(self.blocks[-1][1]), 2.0**60)
        )
        is_inner = size <= left[-1] + length[-1]
        return np.where(
            is_inner, level[piece], np.maximum(self.steps - 1 + beyond, self.steps)
        ).astype(np.int64)

    def half_layers(self) -> Iterable[tuple[Float, Float]]:
        """See `IntervalLayers.half_layers`."""
        union, scale = self.widened
        for inner, outer in pairwise([[], *union]):
            layer = intervals.difference(
                [(max(low, 0), high) for low, high in outer if high > 0], inner
            )
            yield (
                np.array([low / scale for low, _ in layer]),
                np.array([(high - low) / scale for low, high in layer]),
            )

    def check_steps(self) -> tuple[int | None, intervals.Intervals, intervals.Intervals, int]:
        """See `IntervalLayers.check_steps`."""
        union, scale = self.widened
        steps = intervals.symmetric(
            [(int(low * scale), int(high * scale)) for low, high in self.blocks]
        )
        violation = None
        for t, (inner, outer) in enumerate(pairwise(union), 1):
            if not intervals.is_inside(intervals.minkowski_sum(inner, steps), outer):
                violation = t
                break
        return violation, union[-2], union[-1], steps[-1][1]
