r"""Compiled loops over block tridiagonal matrices, one per output: factors, the sum of inverses, solutions.

Level ``i`` of an output's matrix has the diagonal block ``A_i`` and, with the level before it, the block ``-B_i``, with
``B_i`` not negative. With

.. math:: D_i = A_i - B_i D_{i-1}^{-1} B_i^T, \qquad U_i = B_i D_{i-1}^{-1}

the inverse ``G`` has :math:`G_{ll} = D_l^{-1}` for the last level ``l`` and, backwards, :math:`G_{k, i-1} = G_{ki} U_i`
for all levels ``k >= i`` and :math:`G_{i-1, i-1} = D_{i-1}^{-1} + U_i^T G_{ii} U_i`.

Row sums are stored instead of diagonals, and elimination only adds: no digits are lost to subtraction, however small a
pivot is (Grassmann, Taksar and Heyman 1985).
"""

from typing import NamedTuple

import numpy as np

from ldpopt.foundation.compiled import compiled
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int

PANEL = 32  # number of columns of a block that are eliminated before the rest is updated by a matrix product
LEAST_PIVOT = 1e-6  # smallest pivot, relative to the sum of all rows
LEAST_FLOAT = 1e-300  # smallest pivot
GROUP = 4  # number of outputs whose inverses are added in one pass over the sum


class Shape(NamedTuple):
    """The levels of a graph and its edges, by level, as in `Levels`."""

    start: Int
    low: Int
    high: Int
    inner: Int
    cross: Int


@compiled
def eliminate(block: Float, excess: Float, least: float) -> None:
    """Eliminate the unknowns of a symmetric matrix, in place."""
    # Its entries off the diagonal are not positive, and its rows have the sums excess; the diagonal is not read. Both
    # halves are replaced by the multipliers, which are not negative, and the diagonal by the inverses of the pivots. No
    # pivot is smaller than least; excess is overwritten.
    size = len(block)
    for k in range(size):
        pivot = excess[k]
        for c in range(k + 1, size):
            pivot -= block[k, c]
        pivot = max(pivot, least)
        inverse = 1.0 / pivot
        for r in range(k + 1, size):
            multiplier = -block[k, r] * inverse
            if multiplier != 0.0:
                excess[r] += multiplier * excess[k]
                for c in range(k + 1, size):
                    block[r, c] += multiplier * block[k, c]
        for r in range(k + 1, size):
            block[k, r] = block[r, k] = -block[k, r] * inverse
        block[k, k] = inverse


@compiled
def eliminate_panels(block: Float, excess: Float, least: float) -> None:
    """Eliminate as `eliminate` does, `PANEL` unknowns at a time."""
    size = len(block)
    if size <= PANEL:
        eliminate(block, excess, least)
        return
    for a in range(0, size, PANEL):
        b = min(a + PANEL, size)
        own, mass = block[a:b, a:b].copy(), excess[a:b].copy()
        for k in range(b - a):
            for c in range(b, size):
                mass[k] -= block[a + k, c]
        eliminate(own, mass, least)
        forward = forward_matrix(own)
        pivots = np.diag(own).copy()
        block[a:b, a:b] = own
        if b == size:
            return
        later = -block[b:, a:b].copy()
        raw = np.dot(later, forward.T.copy())
        multiplier = raw * pivots
        excess[b:] += np.dot(multiplier, np.dot(forward, excess[a:b]))
        block[b:, b:] -= np.dot(multiplier, raw.T.copy())
        block[b:, a:b] = multiplier
        block[a:b, b:] = multiplier.T


@compiled
def forward_matrix(block: Float) -> Float:
    """The matrix that elimination applies to a right-hand side: lower triangular, not negative, 1 on the diagonal."""
    size = len(block)
    found = np.zeros((size, size))
    for r in range(size):
        row = found[r]
        row[r] = 1.0
        for k in range(r):
            multiplier, other = block[r, k], found[k]
            for c in range(k + 1):
                row[c] += multiplier * other[c]
    return found


@compiled
def forward_matrix_panels(block: Float) -> Float:
    """The same matrix, computed `PANEL` rows at a time."""
    size = len(block)
    if size <= PANEL:
        return forward_matrix(block)
    found = np.zeros((size, size))
    for a in range(0, size, PANEL):
        b = min(a + PANEL, size)
        own = forward_matrix(block[a:b, a:b].copy())
        found[a:b, a:b] = own
        if a > 0:
            found[a:b, :a] = np.dot(own, np.dot(block[a:b, :a].copy(), found[:a, :a].copy()))
    return found


@compiled
def inverse(block: Float) -> Float:
    """Inverse of an eliminated matrix, by additions only."""
    size = len(block)
    forward = forward_matrix_panels(block)
    weighted = np.empty((size, size))
    for r in range(size):
        weight = block[r, r]
        for c in range(size):
            weighted[r, c] = weight * forward[r, c]
    found: Float = np.dot(forward.T, weighted)
    return found


@compiled
def solve_block(block: Float, right: Float) -> None:
    """Solve a system with an eliminated matrix, in place."""
    size = len(block)
    for k in range(size):
        row, value = block[k], right[k]
        for c in range(k + 1, size):
            right[c] += row[c] * value
    for k in range(size):
        right[k] *= block[k, k]
    for k in range(size - 1, -1, -1):
        row, value = block[k], right[k]
        for c in range(k):
            right[c] += row[c] * value


@compiled
def factor(shape: Shape, scale: Float, excess: Float, off: Float, blocks: Float, gain: Float, total: Float) -> None:
    """Factor the matrices of some outputs, and add their inverses to a sum."""
    # scale, excess, gain have the shape (outputs, n), off (outputs, edges), total (1 or 4, numbers).
    start, n = shape.start, scale.shape[1]
    count, widest = len(start) - 1, start[1] - start[0]
    for i in range(1, count):
        widest = max(widest, start[i + 1] - start[i])
    upper = np.empty((GROUP, widest * widest * count))
    inverses, workspace = np.empty((GROUP, blocks.shape[1])), np.empty((GROUP, 2, n * widest))
    for j in range(0, len(scale), GROUP):
        outputs = min(GROUP, len(scale) - j)
        for k in range(outputs):
            one = j + k
            _factor_one(shape, scale[one], excess[one], off[one], blocks[one], widest, upper[k], inverses[k])
        _add_inverses(start, inverses[:outputs], upper, widest, workspace, gain[j : j + outputs], total)


@compiled
def _factor_one(
    shape: Shape, scale: Float, excess: Float, off: Float, blocks: Float, widest: int, upper: Float, inverses: Float
) -> None:
    """Eliminate one output's unknowns level by level; write all ``U_i`` and the inverses of ``D_i``."""
    start, low, high, inner, cross = shape
    count, begin = len(start) - 1, 0
    least = max(LEAST_PIVOT * excess.sum(), LEAST_FLOAT)
    for i in range(count):
        left, size = start[i], start[i + 1] - start[i]
        block = blocks[begin : begin + size * size].reshape(size, size)
        block[:] = 0.0
        for e in range(inner[i], cross[i]):
            u, v = low[e], high[e]
            block[u - left, v - left] = block[v - left, u - left] = -off[e] * scale[u] * scale[v]
        if i > 0:
            above = start[i] - start[i - 1]
            before = inverses[begin - above * above : begin].reshape(above, above)
            across = upper[i * widest * widest : i * widest * widest + size * above].reshape(size, above)
            _couple(shape, i, off, scale, before, across, block)
            excess[left : left + size] += np.dot(across, excess[left - above : left])
            _rescale(before, scale[left - above : left], across, scale[left : left + size])
        own = excess[left : left + size].copy()
        if i < count - 1:
            for e in range(cross[i + 1], inner[i + 2]):
                own[low[e] - left] += off[e] * scale[low[e]] * scale[high[e]]
        eliminate_panels(block, own, least)
        inverses[begin : begin + size * size] = inverse(block).reshape(size * size)
        _rescale_multipliers(block, scale[left : left + size])
        begin += size * size
    left, size = start[count - 1], start[count] - start[count - 1]
    last = inverses[begin - size * size : begin].reshape(size, size)
    _rescale(last, scale[left:], np.zeros((0, size)), scale[:0])


@compiled
def _rescale(before: Float, scale: Float, across: Float, below: Float) -> None:
    """Undo the scaling of the inverse of a pivot block and of the next ``U``."""
    for r in range(len(before)):
        for c in range(len(scale)):
            before[r, c] *= scale[r] * scale[c]
    for r in range(len(across)):
        for c in range(len(scale)):
            across[r, c] *= scale[c] / below[r]


@compiled
def _rescale_multipliers(block: Float, scale: Float) -> None:
    """Undo the scaling of an eliminated block."""
    size = len(block)
    for k in range(size):
        block[k, k] *= scale[k] * scale[k]
        for r in range(k + 1, size):
            block[k, r] = block[r, k] = block[k, r] * (scale[k] / scale[r])


@compiled
def _couple(shape: Shape, i: int, off: Float, scale: Float, before: Float, across: Float, block: Float) -> None:
    """Compute ``across = B D^-1`` for level ``i`` from the level before, and subtract ``B D^-1 B^T`` from the block."""
    low, high, above_start, left = shape.low, shape.high, shape.start[i - 1], shape.start[i]
    begin, end = shape.cross[i], shape.inner[i + 1]
    size, above = across.shape
    if (end - begin) * 4 > size * above:
        dense = np.zeros((size, above))
        for e in range(begin, end):
            dense[high[e] - left, low[e] - above_start] = off[e] * scale[low[e]] * scale[high[e]]
        across[:] = np.dot(dense, before)
        block -= np.dot(across, dense.T)
        return
    across[:] = 0.0
    for e in range(begin, end):
        u, v, weight = low[e] - above_start, high[e] - left, off[e] * scale[low[e]] * scale[high[e]]
        for c in range(above):
            across[v, c] += weight * before[u, c]
    for e in range(begin, end):
        u, w, weight = low[e] - above_start, high[e] - left, off[e] * scale[low[e]] * scale[high[e]]
        for v in range(size):
            block[v, w] -= weight * across[v, u]


@compiled
def _add_inverses(
    start: Int, inverses: Float, upper: Float, widest: int, workspace: Float, gain: Float, total: Float
) -> None:
    """Add the inverses of some outputs to the sum, from the last level to the first."""
    count = len(start) - 1
    n, flip = start[count], 0
    place, square = total.shape[1], inverses.shape[1]
    for i in range(count - 1, -1, -1):
        left, size = start[i], start[i + 1] - start[i]
        rows = n - left
        square -= size * size
        place -= rows * size
        for j in range(len(inverses)):
            column = workspace[j, flip, : rows * size].reshape(rows, size)
            own = inverses[j, square : square + size * size].reshape(size, size)
            if i == count - 1:
                column[:] = own
            else:
                below = start[i + 2] - start[i + 1]
                base = (i + 1) * widest * widest
                across = upper[j, base : base + below * size].reshape(below, size)
                last = workspace[j, 1 - flip, : (rows - size) * below].reshape(rows - size, below)
                np.dot(last, across, column[size:])
                column[:size] = own + np.dot(across.T, column[size : size + below])
            if len(total) > 1:
                _add_weighted(column, gain[j], left, total, place)
        if len(total) == 1:
            _add_columns(workspace[: len(inverses), flip, : rows * size], total[0, place : place + rows * size])
        flip = 1 - flip


@compiled
def _add_columns(columns: Float, target: Float) -> None:
    """Add the rows of an array to the target; `GROUP` rows in one pass over the target."""
    if len(columns) == GROUP:
        one, two, three, four = columns[0], columns[1], columns[2], columns[3]
        for k in range(len(target)):
            target[k] += (one[k] + two[k]) + (three[k] + four[k])
    else:
        for j in range(len(columns)):
            row = columns[j]
            for k in range(len(target)):
                target[k] += row[k]


@compiled
def _add_weighted(column: Float, gain: Float, left: int, total: Float, place: int) -> None:
    """Add a part of an inverse, and the part with its columns, its rows, and both multiplied by the weights."""
    rows, size = column.shape
    for r in range(rows):
        for c in range(size):
            k, value = place + r * size + c, column[r, c]
            total[0, k] += value
            total[1, k] += value * gain[left + c]
            total[2, k] += value * gain[left + r]
            total[3, k] += value * gain[left + r] * gain[left + c]


@compiled
def solve(shape: Shape, off: Float, blocks: Float, right: Float, found: Float) -> None:
    """Solve the systems of some outputs, by a forward and a backward pass; ``right`` and ``found`` are (outputs, n)."""
    start, low, high, inner, cross = shape
    count = len(start) - 1
    for j in range(len(right)):
        r, x, weight, begin = right[j], found[j], off[j], 0
        for i in range(count):
            left, size = start[i], start[i + 1] - start[i]
            for e in range(cross[i], inner[i + 1]):
                r[high[e]] += weight[e] * x[low[e]]
            x[left : left + size] = r[left : left + size]
            if i < count - 1:
                solve_block(blocks[j, begin : begin + size * size].reshape(size, size), x[left : left + size])
            begin += size * size
        for i in range(count - 1, -1, -1):
            left, size = start[i], start[i + 1] - start[i]
            begin -= size * size
            if i < count - 1:
                x[left : left + size] = r[left : left + size]
                for e in range(cross[i + 1], inner[i + 2]):
                    x[low[e]] += weight[e] * x[high[e]]
            solve_block(blocks[j, begin : begin + size * size].reshape(size, size), x[left : left + size])
