"""Points made feasible without a program: covering lowers multipliers, balancing makes a channel (docs, "Rays")."""

import numpy as np

from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.threads import max_product
from ldpopt.solving.methods.rays.master import Groups

COVERING_PASSES = 12  # number of times that a point of the covering program is scaled
# Largest number of rounds of balancing, and of those that change all columns at once; later ones change parts
ROUNDS, WHOLE_ROUNDS = 12, 6
SMALL_ERROR = 0.02  # error of the rows' sums from which on columns are changed in parts
PARTS, PART_COLUMNS = 8, 40  # largest number of parts of the columns, and smallest number of columns of a part
MAX_FACTOR = 2.0  # largest intended factor of an entry in one round
MAX_ERROR = 1e-9  # error of the rows' sums at which to stop
# Seconds on two cores per column and pair of inputs, estimated high; a round takes two products
PRODUCT_SECONDS = 2e-10

Entries = tuple[Int, Int, Float]


def cover(need: Float, rays: Float, weights: Float, groups: Groups | None = None) -> Float:
    """Reductions of the multipliers, (n,), that raise the price of every ray, (m, n), by what it needs, (m,)."""
    if not (lacking := need > 0).any():
        return np.zeros_like(weights)
    need, parts, total = need[lacking], rays[lacking] * weights, weights
    if groups is not None:
        parts, total = groups.summed_rows(parts), groups.summed(weights)
    near = np.sqrt(parts / total)  # reductions are made where a ray is large
    near /= near.max(axis=1, keepdims=True)
    lift = (near * (need / parts.sum(axis=1))[:, None]).max(axis=0)
    best, least = lift, np.inf
    for _ in range(COVERING_PASSES):
        met = need / (parts @ lift)
        lift = lift * met.max()
        if (value := float(total @ lift)) < least:
            best, least = lift, value
        lift = lift * (near * (met / met.max())[:, None]).max(axis=0)
    return np.asarray(weights * (best if groups is None else best[groups.number]))


def cover_sparse(need: Float, rays: Entries, weights: Float) -> Float:
    """The same for positive needs, and for rays of which only some entries count: their rows, columns and values."""
    row, column, value = rays
    part, near = value * weights[column], np.sqrt(value)
    largest = np.zeros(len(need))
    np.maximum.at(largest, row, near)
    near /= largest[row]

    def highest(factors: Float) -> Float:
        """For each input, the largest product of a ray's factor and its share there."""
        found = np.zeros(len(weights))
        np.maximum.at(found, column, near * factors[row])
        return found

    lift = highest(need / np.bincount(row, part))
    best, least = lift, np.inf
    for _ in range(COVERING_PASSES):
        met = need / np.bincount(row, part * lift[column])
        lift = lift * met.max()
        if (total := float(weights @ lift)) < least:
            best, least = lift, total
        lift = lift * highest(met / met.max())
    return np.asarray(weights * best)


def balanced(columns: Float, table: Float, deadline: Deadline) -> Float:
    """A private channel, (n, k + 1), from columns of a cone, (n, k), which change little; ``table`` are the losses."""
    kernel = np.exp(-table)
    np.fill_diagonal(kernel, 1.0)
    columns, source = columns.copy(), np.random.default_rng(0)
    parts = max(1, min(PARTS, columns.shape[1] // PART_COLUMNS))
    for turn in range(ROUNDS):
        is_whole = turn < WHOLE_ROUNDS and np.abs(1 - columns.sum(axis=1)).max() > SMALL_ERROR
        order = source.permutation(columns.shape[1])
        for part in np.array_split(order, 1 if is_whole else parts):
            lacking, some = 1 - columns.sum(axis=1), columns[:, part]
            if deadline.is_over or np.abs(lacking).max() <= MAX_ERROR:
                return _with_missing_mass(columns, table)
            factor = np.clip(1 + lacking / some.sum(axis=1), 1 / MAX_FACTOR, MAX_FACTOR)
            some *= factor[:, None]  # a copy, near which elements of the cone are found
            columns[:, part] = np.sqrt(max_product(kernel, some)) / np.sqrt(max_product(kernel, 1 / some))
    return _with_missing_mass(columns, table)


def balancing_seconds(n: int, columns: int) -> float:
    """How long balancing takes, about."""
    return 2 * ROUNDS * PRODUCT_SECONDS * n**2 * columns


def _with_missing_mass(columns: Float, table: Float) -> Float:
    """Divide the columns by the rows' sums, after one more column of the cone has made these equal."""
    total = columns.sum(axis=1)
    missing, constant = total.max() - total, 0.0
    for x, losses in enumerate(table):
        with np.errstate(invalid="ignore", divide="ignore"):  # at the input itself
            need = (np.exp(-losses) * missing[x] - missing) / -np.expm1(-losses)
        constant = max(constant, float(np.delete(need, x).max()))
    return np.asarray(np.column_stack([columns, missing + constant]) / (total.max() + constant))
