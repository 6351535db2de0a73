"""Neighbor sets without a closed form: layers by exact interval arithmetic, levels on the integers by search."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.noise.intervals import Intervals, difference, merge, minkowski_sum, symmetric, to_integers

Levels = NDArray[np.int64]

MAX_LAYERS = 20_000
"""Largest number of layers of a partition; time grows with its square."""

MAX_INTERVALS = 20_000_000
"""Largest number of intervals over all layers of a general union: about half a minute."""

MAX_SEARCH_STEPS = 200_000_000
"""Largest number of (integer, step) pairs in a search over an integer set."""

MAX_TABLE_SIZE = 10_000_000
"""Largest number of integers in a table of levels."""


def widened_unions(pairs: list[tuple[Fraction, Fraction]], d: Fraction) -> tuple[list[Intervals], int]:
    """Widened unions ``B_0 .. B_n0`` in ints, up to the last with a gap, and their common denominator.

    Shapes: ``pairs`` (Fraction, Fraction).

    Notes
    -----
    Once ``B_t = [-A, A]`` with ``2 A`` at least the widest gap of ``W``, all later ones are intervals.
    """
    cores, scale = to_integers(pairs, d)
    width, steps = int(d * scale), symmetric(cores)
    widest = max((high[0] - low[1] for low, high in pairwise(steps)), default=0)
    found: list[Intervals] = []
    core: Intervals = [(0, 0)]
    work = 0
    while True:
        found.append([(low - width, high + width) for low, high in core])
        if len(core) == 1 and 2 * (core[0][1] + width) >= widest:
            return found, scale
        work += len(core) * len(steps)
        if len(found) > MAX_LAYERS or work > MAX_INTERVALS:
            raise StatementError(
                f"layers still have gaps after {len(found)} steps", do="widen more, or join some of the intervals"
            )
        core = minkowski_sum(core, steps, 2 * width)


def converges(pairs: list[tuple[Fraction, Fraction]], d: Fraction) -> bool:
    """Whether the layers become intervals: the farthest cluster, joined across ``2 d``, is not a single point."""
    clusters = merge(symmetric(pairs), 2 * d)  # type: ignore[arg-type]
    return len(clusters) == 1 or clusters[-1][0] < clusters[-1][1]


def positive_halves(found: list[Intervals], scale: int) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Positive half of each layer, as left ends and lengths."""
    pieces = []
    for t, union in enumerate(found):
        layer = difference([(max(a, 0), b) for a, b in union if b > 0], found[t - 1] if t else [])
        pieces.append((np.array([a / scale for a, _ in layer]), np.array([(b - a) / scale for a, b in layer])))
    return pieces


def integer_levels(values: list[int], d: int) -> tuple[Levels, int, int]:
    r"""Levels of ``0, 1, 2, ...`` for a set of whole numbers, until they repeat.

    Notes
    -----
    Among any ``c`` steps other than ``+-c`` some sum to a multiple of ``c``. Steps of ``c`` can replace them, and at
    most as many are needed. So at most ``c - 1`` other steps are needed, and levels repeat from ``(c - 1) v + d`` on,
    where ``v`` is the second largest member. The search ends earlier if all integers up to a bound are reached without
    a gap.
    """
    values = sorted(set(values))
    c, divisor = values[-1], math.gcd(*values)
    if 2 * d + 1 < divisor:
        raise StatementError(
            f"all members are multiples of {divisor}: the other integers are never reached",
            do=f"count in units of {divisor}",
        )
    _require_table(c + d)
    second = values[-2] if len(values) > 1 else 0
    start = (c - 1) * second + d
    steps = np.array([*values, *(-v for v in values)])
    levels = np.full(d + 1, 0, dtype=np.int64)
    widest = int(np.diff([0, *values]).max())
    # No step from a smaller integer leaves 0 .. d.
    frontier, t, work = np.arange(max(d + 1 - c, 0), d + 1), 0, 0
    full = start + 2 * c + d  # a shortest path can be reordered to overshoot by less than one step
    count = top = d
    while True:
        # B_t contains every integer up to its end, which the search did not cut off; so do all later ones.
        if count == top == d + t * c and 2 * top + 1 >= widest:
            return np.concatenate((levels[: top + 1], np.full(c, t + 1))), top + 1, t + 1
        if len(levels) > full and (levels[: start + c] >= 0).all():
            return levels[: start + c], start, _first_repeating_layer(levels[: start + c], start, c)
        t, work = t + 1, work + len(frontier) * len(steps)
        if work > MAX_SEARCH_STEPS:
            raise StatementError("the set of whole numbers takes too long to search", do="use intervals, or a subset")
        longer = min(d + t * c, full) + 1
        _require_table(longer)
        levels = np.concatenate((levels, np.full(longer - len(levels), -1, dtype=np.int64)))
        new = np.unique(np.abs(np.add.outer(frontier, steps)))
        new = new[new <= full]
        frontier = new[levels[new] < 0]
        levels[frontier] = t
        count, top = count + len(frontier), max(top, int(frontier.max(initial=0)))


def _require_table(size: int) -> None:
    if size > MAX_TABLE_SIZE:
        raise StatementError(
            f"a table of levels of {float(size):.3g} integers is too large",
            do="count in a larger unit, or use intervals",
        )


def _first_repeating_layer(levels: Levels, start: int, c: int) -> int:
    """First layer from which every layer is the previous one moved by ``c``."""
    longer = np.concatenate((levels, levels[start:] + 1))
    now, then = longer[: start + c], longer[c : start + 2 * c]
    broken = now + 1 != then
    bad = np.concatenate((now[broken], then[broken] - 1, longer[:c] - 1))
    return max(1, int(bad.max()) + 1)
