"""Layers of a neighbor set: the points that ``t`` steps of the set reach, and ``t - 1`` steps do not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, frozen
from ldpopt.foundation.rows import Int
from ldpopt.noise.intervals import Intervals

MAX_LAYERS = 20_000
"""Largest number of layers of a partition; time grows with its square."""


class Moments(NamedTuple):
    """Integrals of 1, ``|r|`` and ``r**2`` over layers ``0 .. n``; sums over the integers of a set of whole numbers."""

    measure: Float
    first: Float
    second: Float

    @classmethod
    def of(cls, table: Float) -> Moments:
        """Freeze the rows of a table, shape ``(3, n + 1)``."""
        return cls(*(frozen(row) for row in table))


class NeighborLayers(ABC):
    """Layers ``R_t = B_t - B_{t-1}`` of a neighbor set and a widening ``d``; subclasses are kinds of sets."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """Number ``n``: from layer ``n`` on, each layer is the previous one moved outward by the largest member."""

    @property
    def checked_steps(self) -> int:
        """Return `steps`; too many raise."""
        if self.steps > MAX_LAYERS:
            raise StatementError(f"{self.steps} layers are too many", do="widen more, or join the intervals")
        return self.steps

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """Integrals over both halves of the layers ``0 .. n``."""

    @abstractmethod
    def level(self, size: Float) -> Int:
        """Return the layer of each ``size >= 0``."""

    @abstractmethod
    def core(self, t: int) -> tuple[Intervals, int]:
        """Return ``t W`` in ints and their scale; intervals that touch after widening are joined."""

    @abstractmethod
    def find_failure(self) -> str | None:
        r"""Return where :math:`B_{t-1} + W \subseteq B_t` fails, in words; None if it holds for all t. Exact."""


class IntervalLayers(NeighborLayers):
    """Layers that are unions of intervals."""

    @abstractmethod
    def half_layers(self) -> Iterable[tuple[Float, Float]]:
        """Return left ends and lengths of the positive half of the layers ``0 .. n``."""

    @cached_property
    def moments(self) -> Moments:
        """See `NeighborLayers.moments`."""
        table = np.zeros((3, self.checked_steps + 1))
        for t, (left, length) in enumerate(self.half_layers()):
            middle = left + length / 2
            table[:, t] = 2 * np.array([length.sum(), length @ middle, length @ (middle**2 + length**2 / 12)])
        return Moments.of(table)

    @cached_property
    def pieces(self) -> tuple[Float, Float, Int]:
        """Left ends, lengths and levels of the intervals of the positive half, ascending, up to layer ``n``."""
        parts = list(self.half_layers())
        left, length = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        level = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        order = np.argsort(left, kind="stable")
        order = order[length[order] > 0]
        return frozen(left[order]), frozen(length[order]), frozen(level[order])

    def find_failure(self) -> str | None:
        """From ``n - 1`` on the sets are intervals that grow alike: the inclusion at ``n`` implies all later ones."""
        violation, inner, outer, growth = self._check_steps()
        if violation is not None:
            return f"layer {violation - 1} moved by a neighbor leaves layer {violation}"
        if len(inner) != 1 or len(outer) != 1 or outer[0][1] - inner[0][1] != growth:
            return f"layer {self.steps} has not converged"
        return None

    @abstractmethod
    def _check_steps(self) -> tuple[int | None, Intervals, Intervals, int]:
        """Return the first ``t <= n`` whose inclusion fails, ``(n-1) W`` and ``n W``, and the largest member."""
