"""Points made feasible without a program: covering lowers multipliers, balancing makes a channel
(docs, "Rays").
"""

import numpy as np

from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.threads import max_product
from ldpopt.solving.methods.rays.trees import Trees

COVERING_PASSES = 12  # number of times that a point of the covering program is scaled
# smallest entry of a ray, relative to its root's, at whose input a multiplier is lowered
NEAR = 1e-3
RAYS_AT_ONCE = 500
# Largest number of rounds of balancing, and of those that change all columns at once; later ones
# change parts
ROUNDS, WHOLE_ROUNDS = 12, 6
SMALL_ERROR = 0.02  # error of the rows' sums from which on columns are changed in parts
# largest number of parts of the columns, and smallest number of columns of a part
PARTS, PART_COLUMNS = 8, 40
MAX_FACTOR = 2.0  # largest intended factor of an entry in one round
ERROR_SHARE = 3e-4  # error of the rows' sums at which to stop, as a share of the gap

Entries = tuple[Int, Int, Float]


def cover(trees: Trees, need: Float, weights: Float) -> Float:
    """Reductions of the multipliers, (n,), that raise the price of every ray, (m, n), by what it
    needs, (m,).
    """
    if not len(lacking := np.flatnonzero(need > 0)):
        return np.zeros_like(weights)
    need, parts = need[lacking], []
    for begin in range(0, len(lacking), RAYS_AT_ONCE):
        rays = trees.rays(lacking[begin : begin + RAYS_AT_ONCE])
        row, column = np.nonzero(rays >= NEAR)
        parts.append((begin + row, column, rays[row, column]))
    row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    with np.errstate(all="ignore"):  # an output without costs cannot be covered, and is not used
        return cover_entries(need, (row, column, value), weights)


def cover_entries(need: Float, rays: Entries, weights: Float) -> Float:
    """The same for positive needs, and for rays of which only some entries count: their rows,
    columns and values.
    """
    row, column, value = rays
    part = value * weights[column]
    near = np.sqrt(value)
    largest = np.zeros(len(need))
    np.maximum.at(largest, row, near)
    near /= largest[row]

    def highest(factors: Float) -> Float:
        """For each input, the largest product of a ray's factor and its share there."""
        largest = np.zeros(len(weights))
        np.maximum.at(largest, column, near * factors[row])
        return largest

    lift = highest(need / np.bincount(row, part))
    best, least = lift, np.inf
    for _ in range(COVERING_PASSES):
        met = need / np.bincount(row, part * lift[column])
        lift = lift * met.max()
        if (total := float(weights @ lift)) < least:
            best, least = lift, total
        lift = lift * highest(met / met.max())
    return np.asarray(weights * best)


def balanced(columns: Float, table: Float, gap: float, deadline: Deadline) -> Float:
    """A private channel, (n, k + 1), from columns of a cone, (n, k), which change little; ``table``
    are the losses.

    Its value is lost up to a small share of the relative gap, because rows' sums that are nearly 1
    are accepted.
    """
    kernel = np.exp(-table)
    np.fill_diagonal(kernel, 1.0)
    columns, source = columns.copy(), np.random.default_rng(0)
    parts = max(1, min(PARTS, columns.shape[1] // PART_COLUMNS))
    for turn in range(ROUNDS):
        is_whole = turn < WHOLE_ROUNDS and np.abs(1 - columns.sum(axis=1)).max() > SMALL_ERROR
        order = source.permutation(columns.shape[1])
        for part in np.array_split(order, 1 if is_whole else parts):
            lacking = 1 - columns.sum(axis=1)
            some = columns[:, part]
            if deadline.is_over or np.abs(lacking).max() <= ERROR_SHARE * gap:
                return _with_missing_mass(columns, table)
            factor = np.clip(1 + lacking / some.sum(axis=1), 1 / MAX_FACTOR, MAX_FACTOR)
            some *= factor[:, None]  # a copy, near which elements of the cone are found
            # the geometric mean of the least column of the cone above, and of the largest below
            columns[:, part] = np.sqrt(max_product(kernel, some)) / np.sqrt(
                max_product(kernel, 1 / some)
            )
    return _with_missing_mass(columns, table)


def _with_missing_mass(columns: Float, table: Float) -> Float:
    """Divide the columns by the rows' sums, after one more column of the cone has made these
    equal.
    """
    total = columns.sum(axis=1)
    missing = total.max() - total
    constant = 0.0
    for x, losses in enumerate(table):
        with np.errstate(invalid="ignore", divide="ignore"):  # at the input itself
            need = (np.exp(-losses) * missing[x] - missing) / -np.expm1(-losses)
        constant = max(constant, float(np.delete(need, x).max()))
    return np.asarray(np.column_stack([columns, missing + constant]) / (total.max() + constant))
