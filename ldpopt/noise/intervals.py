"""Exact arithmetic with unions of closed intervals: sorted lists of pairs of ints (or Fractions).

A widened set is stored as its *core*, the set before it is widened by ``d``; gaps of at most ``2
d`` are closed.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import is_whole, real_number, require_room, short_repr

Intervals = list[tuple[int, int]]
Blocks = list[tuple[Fraction, Fraction]]


def merge(pairs: Iterable[tuple[int, int]], gap: int = 0) -> Intervals:
    """Sort intervals and join those that are at most ``gap`` apart."""
    joined: Intervals = []
    for low, high in sorted(pairs):
        if joined and low <= joined[-1][1] + gap:
            joined[-1] = joined[-1][0], max(high, joined[-1][1])
        else:
            joined.append((low, high))
    return joined


def minkowski_sum(first: Intervals, second: Intervals, gap: int = 0) -> Intervals:
    """Return the Minkowski sum of two unions, joined across ``gap``."""
    return merge(((a + c, b + d) for a, b in first for c, d in second), gap)


def difference(first: Intervals, second: Intervals) -> Intervals:
    """Remove ``second`` from ``first``; intervals of length zero are dropped."""
    remaining: Intervals = []
    for low, high in first:
        start = low
        for a, b in second:
            if a < high and b > start:
                if a > start:
                    remaining.append((start, a))
                start = b
        if start < high:
            remaining.append((start, high))
    return remaining


def is_inside(first: Intervals, second: Intervals) -> bool:
    """Whether every interval of ``first`` lies in one interval of ``second``; both joined and
    ascending.
    """
    index = 0
    for low, high in first:
        while index < len(second) and second[index][1] < high:
            index += 1
        if index == len(second) or second[index][0] > low:
            return False
    return True


def symmetric(pairs: Intervals) -> Intervals:
    """Return the union of a set of numbers, its mirror image and 0."""
    return merge([(0, 0), *pairs, *((-b, -a) for a, b in pairs)])


def read_intervals(intervals: Iterable[Any]) -> tuple[Blocks, bool]:
    """Read a neighbor set as the exact intervals of its absolute values, and whether it is a set of
    whole numbers.
    """
    # A whole number is an interval of length zero; neighbors are joined: 1, 2, 5 are [0, 2] and [5,
    # 5].
    entries = _read_entries(intervals)
    is_discrete = bool(entries) and all(map(is_whole, entries))
    read: Any = (lambda k: (Fraction(abs(int(k))),) * 2) if is_discrete else _read_interval
    pairs: list[Any] = [(Fraction(0), Fraction(0)), *map(read, entries)]
    joined: Any = merge(pairs, int(is_discrete))
    if joined[-1][1] == 0:
        raise StatementError(
            "the only member of the neighbor set is 0",
            code="members",
            do="a query that never changes needs no noise",
        )
    return joined, is_discrete


def to_integers(
    pairs: Sequence[tuple[Fraction, Fraction]], *more: Fraction
) -> tuple[Intervals, int]:
    """Return the pairs in units of ``1 / scale``, and the scale: the common denominator of all
    pairs and ``more``.
    """
    scale = math.lcm(
        *(v.denominator for pair in pairs for v in pair), *(v.denominator for v in more)
    )
    return [(int(a * scale), int(b * scale)) for a, b in pairs], scale


def _read_entries(intervals: Any) -> list[Any]:
    """Read the members of a neighbor set, of any kind of list or table."""
    is_list = isinstance(intervals, Iterable) and getattr(intervals, "ndim", 1) > 0
    if not is_list or isinstance(intervals, (str, bytes, Mapping)):
        problem = f"{short_repr(intervals)} is not a set of intervals"
        raise StatementError(problem, do="pass intervals such as [(0, 1), (20, 21)]")
    require_room(intervals, "set of whole numbers")
    # Iterating over a DataFrame gives its column names, not its rows.
    return list(intervals.to_numpy() if hasattr(intervals, "to_numpy") else intervals)


def _read_interval(entry: Any) -> tuple[Fraction, Fraction]:
    """Return the absolute values of the numbers in an interval ``(low, high)``."""
    try:
        low, high = (
            Fraction(v if type(v) in (int, Fraction) else real_number(v, "end")) for v in entry
        )
    except (TypeError, ValueError, OverflowError):
        problem = f"{short_repr(entry)} is not an interval (low, high) of finite numbers"
        raise StatementError(
            problem,
            code="interval",
            do="pass intervals such as [(0, 1), (20, 21)], or a set of whole numbers",
        ) from None
    if low > high:
        raise StatementError(
            f"the interval {entry!r} has low > high",
            code="ends",
            do="give (low, high) with low <= high",
        )
    if low <= 0 <= high:
        return Fraction(0), max(-low, high)
    return min(abs(low), abs(high)), max(-low, high)
