"""Layers of a neighbor set of whole numbers: levels of the integers by search."""

import math
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Int, frozen
from ldpopt.noise.interval_layers import LayerIntegrals, require_few_layers
from ldpopt.noise.intervals import Blocks

MAX_SEARCH_STEPS = 200_000_000  # largest number of (integer, step) pairs in a search
MAX_TABLE_SIZE = 10_000_000  # largest number of integers in a table of levels


class IntegerLayers:
    """Layers of a set of whole numbers, given by blocks of their absolute values, and a widening
    ``d >= 0``.
    """

    def __init__(self, blocks: Blocks, d: Fraction) -> None:
        self.blocks = blocks
        self.d = int(d)
        self.c = int(blocks[-1][1])
        self.members = [k for low, high in blocks for k in range(int(low), int(high) + 1) if k]

    @cached_property
    def table(self) -> Int:
        """Levels of ``0, 1, ...`` until they continue as ``L(k + c) = L(k) + 1``.

        Among any ``c`` steps other than ``+-c`` some sum to a multiple of ``c``, so at most ``c -
        1`` of them are needed, and levels repeat from ``(c - 1) v + d`` on, with the second largest
        member ``v``.
        """
        values, c, d = self.members, self.c, self.d
        if 2 * d + 1 < (divisor := math.gcd(*values)):
            problem = (
                f"all members are multiples of {divisor}: the other integers are never reached"
            )
            raise StatementError(problem, code="divisor", do=f"count in units of {divisor}")
        _require_table(c + d)
        start = (c - 1) * (values[-2] if len(values) > 1 else 0) + d
        # a shortest path can be reordered to overshoot by less than one step
        full = start + 2 * c + d
        widest = int(np.diff([0, *values]).max())
        steps = np.array([*values, *(-v for v in values)])
        levels = np.full(d + 1, 0, dtype=np.int64)
        # No step from a smaller integer leaves 0 .. d.
        frontier = np.arange(max(d + 1 - c, 0), d + 1)
        t = 0
        work = 0
        count = top = d
        while True:
            # B_t contains every integer up to its end, which the search did not cut off; so do all
            # later ones.
            if count == top == d + t * c and 2 * top + 1 >= widest:
                return np.concatenate((levels[: top + 1], np.full(c, t + 1)))
            if len(levels) > full and (levels[: start + c] >= 0).all():
                return levels[: start + c]
            t, work = t + 1, work + len(frontier) * len(steps)
            if work > MAX_SEARCH_STEPS:
                problem = (
                    "the levels of the set of whole numbers take more than "
                    f"{MAX_SEARCH_STEPS:.1g} steps to find"
                )
                raise StatementError(
                    problem, do="pass intervals that contain the set, or fewer numbers"
                )
            longer = min(d + t * c, full) + 1
            _require_table(longer)
            levels = np.concatenate((levels, np.full(longer - len(levels), -1, dtype=np.int64)))
            new = np.unique(np.abs(np.add.outer(frontier, steps)))
            new = new[new <= full]
            frontier = new[levels[new] < 0]
            levels[frontier] = t
            count, top = count + len(frontier), max(top, int(frontier.max(initial=0)))

    @cached_property
    def steps(self) -> int:
        """Number ``n``: from layer ``n`` on, each layer is the previous one moved outward by
        ``c``.
        """
        # R_{s+1} = R_s + c fails for s = L(k) and s = L(k+c) - 1 if they differ, and for s = L(k) -
        # 1 if k < c.
        table, c = self.table, self.c
        longer = np.concatenate((table, table[len(table) - c :] + 1))
        now = longer[:-c]
        then = longer[c:]
        broken = now + 1 != then
        return max(
            1, 1 + int(np.concatenate((now[broken], then[broken] - 1, longer[:c] - 1)).max())
        )

    def level(self, size: Int) -> Int:
        """Return the layer of each whole number ``size >= 0``."""
        periods = np.maximum(-(-(size - len(self.table) + 1) // self.c), 0)
        return np.asarray(self.table[size - periods * self.c] + periods)

    @cached_property
    def sorted_members(self) -> tuple[Int, Int]:
        """The integers ``>= 0`` of layers ``0 .. n``, ascending by layer, and the index of the
        first of each layer.
        """
        n = self.steps
        require_few_layers(n)
        level = self.level(np.arange(n * self.c + self.d + 1))
        order = np.argsort(level, kind="stable")
        starts = np.searchsorted(level[order], np.arange(n + 2))
        return order[: starts[-1]], starts

    @cached_property
    def moments(self) -> LayerIntegrals:
        """Sums over the layers ``0 .. n``."""
        order, starts = self.sorted_members
        level = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        table = np.array(
            [2 * np.bincount(level, order.astype(float) ** power) for power in range(3)]
        )
        table[0, 0] -= 1  # 0 is its own mirror image
        return LayerIntegrals(*frozen(table))

    def find_failure(self) -> tuple[str, str] | None:
        """Return why the levels are not private, with its code, or None; exact."""
        # Levels of k and k + v are compared for all members, over the start and two periods; the
        # rest repeats.
        k = np.arange(-self.c, len(self.table) + 2 * self.c)
        level = self.level(np.abs(k))
        for v in self.members:
            if (np.abs(self.level(np.abs(k + v)) - level) > 1).any():
                return f"a step of {v} changes the level by more than one", "level-step"
        return None


def _require_table(size: int) -> None:
    if size > MAX_TABLE_SIZE:
        problem = f"a table of levels of {float(size):.3g} integers is too large"
        raise StatementError(
            problem, code="table-size", do="count in a larger unit, or use intervals"
        )
