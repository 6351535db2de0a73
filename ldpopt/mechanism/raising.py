"""Raise columns into the cone of their ties: the smallest array above a given one that satisfies all ties."""

from typing import Any

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.foundation.products import ROWS
from ldpopt.foundation.threads import in_threads
from ldpopt.native import raise_columns, raise_to_products
from ldpopt.privacy import Ties

PRODUCT_ENTRIES = 1e5  # number of entries, over all pairs, from which whole rows may be compared by max-products
COLUMNS = 64  # number of columns that are raised together: few enough to fit in the processor's cache
DENSE_SHARE = 0.02  # share of all pairs above which whole rows are then compared
DENSE_COLUMNS = 512  # number of columns that are raised together by matrix products


def raised(values: Float, ties: Ties, ratio: Float, slack: Any, *, is_whole: bool) -> Float:
    r"""Raise the rows in order and in reverse order, until nothing changes.

    .. math:: v_{x'} \ge r_{x x'} (v_x - s) \quad \text{for every pair } (x, x')

    ``values`` has shape (n, m); ``ratio`` are the ``exp(-epsilon d)`` of the pairs, or one number; ``slack`` is one
    number, or has shape (n, n, m); with ``is_whole`` values are raised to the next integer. O(pairs x m) a sweep,
    usually two to four; with one number as slack shared among the cores.
    """
    first, second = ties.pairs()
    is_number = np.ndim(slack) == 0
    is_large = len(first) * values.shape[1] >= PRODUCT_ENTRIES and len(first) >= DENSE_SHARE * ties.n**2
    if is_number and is_large and not slack:
        return _by_products(values, ties, ratio, is_whole=is_whole)
    ratio = np.broadcast_to(ratio, first.shape)
    by_target = np.argsort(second, kind="stable")
    ends = np.searchsorted(second[by_target], np.arange(len(values) + 1))
    if is_number:
        partner, factor = first[by_target].astype(np.int32), ratio[by_target]
        return _by_blocks(values, ties, (ends, partner, factor, float(slack), is_whole))
    tied, order, found = ties.tied_outputs(values.shape[1]), list(range(len(values))), values.copy()
    for _ in range(2 * len(values) + 2):
        before = found.copy()
        for x in order:
            pairs = by_target[ends[x] : ends[x + 1]]
            if len(pairs):
                floor = (found[first[pairs]] - slack[first[pairs], x]) * ratio[pairs, None]
                floor = (np.ceil(floor) if is_whole else floor).max(axis=0)
                np.maximum(found[x], floor * tied, out=found[x])
        order.reverse()
        if np.array_equal(before, found):
            break
    return found


def _by_blocks(values: Float, ties: Ties, arguments: tuple[Any, ...]) -> Float:
    """Raise some columns at a time by compiled loops."""
    found = values.copy()
    tied = np.flatnonzero(ties.tied_outputs(values.shape[1]))

    def work(columns: Any) -> None:
        block = np.ascontiguousarray(found[:, columns])
        raise_columns(block, *arguments)
        found[:, columns] = block

    in_threads(work, np.array_split(tied, max(1, len(tied) // COLUMNS)))
    return found


def _by_products(values: Float, ties: Ties, ratio: Float, *, is_whole: bool) -> Float:
    """Raise some columns at a time, without slack: each row to its largest product with a row of ratios."""
    n, found = ties.n, values.copy()
    table = np.zeros((n, n))
    first, second = ties.pairs()
    table[second, first] = ratio
    tied = np.flatnonzero(ties.tied_outputs(values.shape[1]))
    starts = list(range(0, n, ROWS))

    def work(columns: Any) -> None:
        block = np.ascontiguousarray(found[:, columns])
        order = list(starts)
        for _ in range(2 * n + 2):
            before = block.copy()
            for start in order:
                rows = slice(start, start + ROWS)
                raise_to_products(table[rows], block, block[rows])
                if is_whole:
                    np.ceil(block[rows], out=block[rows])
            order.reverse()
            if np.array_equal(before, block):
                break
        found[:, columns] = block

    in_threads(work, np.array_split(tied, -(-len(tied) // DENSE_COLUMNS)))
    return found
