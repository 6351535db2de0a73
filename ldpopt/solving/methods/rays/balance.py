r"""Balance: columns whose rows sum to about 1 become a channel, at a small loss and without a linear program.

Divided by the sums of the rows, the columns would sum to 1, but leave the cone. Each is replaced by the geometric mean
of the least element of the cone above it and the greatest one below it,

.. math:: \max_z e^{-\ell(x, z)} p_z \qquad \text{and} \qquad \min_z e^{\ell(x, z)} p_z ,

which is in the cone again; and so on until the sums are 1. Theory: docs, "Rays".
"""

from __future__ import annotations

import numpy as np

from ldpopt.foundation.compiled import max_product
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

ROUNDS, WHOLE_ROUNDS = 12, 6
"""Largest number of rounds, and of those that change all columns at once; later ones change part after part."""

NEAR = 0.02
"""Error of the rows' sums from which on columns are changed part after part."""

PARTS, PART_COLUMNS = 8, 40
"""Largest number of parts of the columns, and least number of columns of a part."""

MOST = 2.0
"""Largest factor by which an entry is to change at once."""

ENOUGH = 1e-9
"""Error of the rows' sums at which to stop."""

PRODUCT_SECONDS = 2e-10
"""Seconds on two cores for each column and pair of inputs, some to spare; two products are needed a round."""


def balanced(columns: Float, table: Float, deadline: Deadline) -> Float:
    """Change columns of a cone a little, so that all rows have the same sum, and divide them by it.

    Shapes: ``columns`` (n, k), ``table`` (n, n); result (n, k + 1).
    """
    kernel = np.exp(-table)
    np.fill_diagonal(kernel, 1.0)
    columns, source = columns.copy(), np.random.default_rng(0)
    parts = max(1, min(PARTS, columns.shape[1] // PART_COLUMNS))
    for turn in range(ROUNDS):
        is_whole = turn < WHOLE_ROUNDS and np.abs(1 - columns.sum(axis=1)).max() > NEAR
        order = source.permutation(columns.shape[1])
        for part in np.array_split(order, 1 if is_whole else parts):
            lacking, some = 1 - columns.sum(axis=1), columns[:, part]
            if deadline.is_over or np.abs(lacking).max() <= ENOUGH:
                return _filled(columns, table)
            factor = np.clip(1 + lacking / some.sum(axis=1), 1 / MOST, MOST)
            columns[:, part] = _in_cone(some * factor[:, None], kernel)
    return _filled(columns, table)


def seconds(n: int, columns: int) -> float:
    """How long balancing takes, about."""
    return 2 * ROUNDS * PRODUCT_SECONDS * n**2 * columns


def _in_cone(columns: Float, kernel: Float) -> Float:
    """Elements of the cone near to some columns."""
    return np.asarray(np.sqrt(max_product(kernel, columns)) / np.sqrt(max_product(kernel, 1 / columns)))


def _filled(columns: Float, table: Float) -> Float:
    """Add a column that makes all rows' sums equal, with the constant that keeps it in the cone; divide by the sums."""
    total = columns.sum(axis=1)
    missing = total.max() - total
    constant = 0.0
    for x, losses in enumerate(table):
        with np.errstate(invalid="ignore", divide="ignore"):  # an input and itself
            need = (np.exp(-losses) * missing[x] - missing) / -np.expm1(-losses)
        constant = max(constant, float(np.delete(need, x).max()))
    return np.asarray(np.column_stack([columns, missing + constant]) / (total.max() + constant))
