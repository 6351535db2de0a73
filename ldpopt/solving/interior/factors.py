"""Factors of all outputs' matrices, and the sum of their inverses that couples the outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.foundation.threads import in_threads, over_rows, parts_of
from ldpopt.solving.interior.levels import Levels


@dataclass(frozen=True, eq=False)
class LevelFactors:
    """Block tridiagonal factors of one matrix for each output.

    Attributes
    ----------
    levels : Levels
        Blocks of the matrices.
    off : float array, shape (m, edges)
        Minus the entries off the diagonals.
    blocks : float array, shape (m, numbers)
        Eliminated pivot blocks.
    sums : tuple of float arrays, shape (n, n)
        The sum of the inverses ``G``; with weights also the sums of ``G w`` and ``w G w``.
    """

    levels: Levels
    off: Float
    blocks: Float
    sums: tuple[Float, ...]

    @classmethod
    def of(
        cls, levels: Levels, scale: Float, excess: Float, off: Float, weights: Float | None, room: Float
    ) -> LevelFactors:
        """Factor the matrices with these entries off the diagonal whose products with ``scale`` are ``excess / scale``.

        Shapes: ``scale``, ``excess`` (m, n), ``off`` (m, edges), ``weights`` (m, n), ``room`` (m, numbers).

        Notes
        -----
        With ``s`` the size of a level, ``n s**2`` operations for each output, and ``n**2 s`` for its inverse.
        """
        from ldpopt.solving.interior import level_loops

        m, n = scale.shape
        parts = parts_of(m, float(n) ** 2 * float(levels.sizes.max()))
        totals = np.zeros((len(parts), 1 if weights is None else 4, levels.sum_numbers))
        weights = np.zeros((0, n)) if weights is None else weights

        def work(part: slice, total: Float) -> None:
            arrays = scale[part], excess[part], off[part], room[part], weights[part]
            level_loops.factor(*_shape(levels), *arrays, total)

        in_threads(lambda one: work(*one), list(zip(parts, totals, strict=True)))
        total = totals.sum(axis=0)  # part by part: the same on any number of cores
        plain = levels.unpacked(total[0], total[0])
        if len(total) == 1:
            return cls(levels, off, room, (plain,))
        return cls(levels, off, room, (plain, levels.unpacked(total[1], total[2]), levels.unpacked(total[3], total[3])))

    def solve(self, right: Float) -> Float:
        """Solve every output's system, right-hand sides of shape (m, n)."""
        from ldpopt.solving.interior import level_loops

        found = np.empty(right.shape)
        arrays = self.off, self.blocks, np.array(right, order="C"), found
        over_rows(level_loops.solve, _shape(self.levels), arrays, 2.0 * self.levels.numbers)
        return found


def _shape(levels: Levels) -> tuple[Int, Int, Int, Int, Int]:
    """Blocks of the matrices, as the loops take them."""
    return levels.start, levels.low, levels.high, levels.inner, levels.cross
