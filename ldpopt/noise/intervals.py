"""Unions of closed intervals, exactly: sorted lists of pairs of ints (or Fractions).

Sets are kept as *cores*: the real set is the core widened by ``d`` on both sides, so cores whose gap is at most ``2 d``
are one piece. Widening then costs nothing, and inclusion of cores is inclusion of the widened sets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.foundation.checks import is_whole, real_number, require_room, short_repr

Union = list[tuple[int, int]]


def merge(pairs: Iterable[tuple[int, int]], gap: int = 0) -> Union:
    """Sort intervals and join those that are at most ``gap`` apart.

    Parameters
    ----------
    pairs : iterable of (int, int)
        Closed intervals ``low <= high``; points are allowed.
    gap : int
        Twice the widening, ``gap >= 0``.

    Returns
    -------
    list of (int, int)
        Disjoint, ascending.

    Examples
    --------
    >>> merge([(5, 6), (0, 1), (2, 3)], gap=1)
    [(0, 3), (5, 6)]
    """
    joined: Union = []
    for low, high in sorted(pairs):
        if joined and low <= joined[-1][1] + gap:
            joined[-1] = joined[-1][0], max(high, joined[-1][1])
        else:
            joined.append((low, high))
    return joined


def dilate(first: Union, second: Union, gap: int = 0) -> Union:
    """Return the Minkowski sum of two unions, joined across ``gap``."""
    return merge(((a + c, b + d) for a, b in first for c, d in second), gap)


def difference(first: Union, second: Union) -> Union:
    """Cut ``second`` out of ``first``; intervals of length zero are left out.

    Examples
    --------
    >>> difference([(0, 10)], [(2, 3), (5, 12)])
    [(0, 2), (3, 5)]
    """
    left: Union = []
    for low, high in first:
        start = low
        for a, b in second:
            if a < high and b > start:
                if a > start:
                    left.append((start, a))
                start = b
        if start < high:
            left.append((start, high))
    return left


def is_inside(first: Union, second: Union) -> bool:
    """Whether every interval of ``first`` lies in one interval of ``second``; both joined and ascending."""
    place = 0
    for low, high in first:
        while place < len(second) and second[place][1] < high:
            place += 1
        if place == len(second) or second[place][0] > low:
            return False
    return True


def symmetric(pairs: Union) -> Union:
    """Return the union of a set of non-negative numbers, its mirror image and 0."""
    return merge([(0, 0), *pairs, *((-b, -a) for a, b in pairs)])


def read_intervals(intervals: Iterable[Any]) -> tuple[list[tuple[Fraction, Fraction]], bool]:
    """Read a neighbor set as absolute values: exact intervals, and whether it is a set of whole numbers.

    Parameters
    ----------
    intervals : iterable of (low, high), or of int
        Intervals of finite numbers, or whole numbers.

    Returns
    -------
    tuple of list and bool
        Joined intervals of absolute values, with 0; for whole numbers, runs of consecutive ones.

    Raises
    ------
    StatementError
        If an entry is neither, or nothing but 0 is left.

    Examples
    --------
    >>> read_intervals([1, 2, 5])[0]
    [(Fraction(0, 1), Fraction(2, 1)), (Fraction(5, 1), Fraction(5, 1))]
    """
    is_list = isinstance(intervals, Iterable) and getattr(intervals, "ndim", 1) > 0
    if not is_list or isinstance(intervals, (str, bytes, Mapping)):
        raise StatementError(
            f"{short_repr(intervals)} is no set of intervals", do="pass intervals such as [(0, 1), (20, 21)]"
        )
    require_room(intervals, "set of whole numbers")
    # A frame's own order is that of its column names.
    entries = list(intervals.to_numpy() if hasattr(intervals, "to_numpy") else intervals)
    whole = bool(entries) and all(map(is_whole, entries))
    pairs: list[Any] = [(Fraction(0), Fraction(0))]
    for entry in entries:
        if whole:
            pairs.append((Fraction(abs(int(entry))),) * 2)
            continue
        low, high = _pair(entry)
        pairs.append(
            (Fraction(0), max(-low, high)) if low <= 0 <= high else (min(abs(low), abs(high)), max(-low, high))
        )
    joined: Any = merge(pairs, 1 if whole else 0)
    if joined[-1][1] == 0:
        raise StatementError("the neighbor set holds nothing but 0", do="a query that never changes needs no noise")
    return joined, whole


def scaled(pairs: Sequence[tuple[Fraction, Fraction]], *more: Fraction) -> tuple[Union, int]:
    """Multiply by the common denominator of all (and of ``more``), so that the arithmetic is that of ints."""
    scale = math.lcm(*(v.denominator for pair in pairs for v in pair), *(v.denominator for v in more))
    return [(int(a * scale), int(b * scale)) for a, b in pairs], scale


def _pair(entry: Any) -> tuple[Fraction, Fraction]:
    try:
        low, high = (
            Fraction(v)
            if isinstance(v, (int, Fraction)) and not isinstance(v, bool)
            else Fraction(real_number(v, "end"))
            for v in entry
        )
    except (TypeError, ValueError, OverflowError):
        raise StatementError(
            f"{short_repr(entry)} is no interval (low, high) of finite numbers",
            do="pass intervals such as [(0, 1), (20, 21)], or a set of whole numbers",
        ) from None
    if low > high:
        raise StatementError(f"the interval {entry!r} ends before it begins")
    return low, high
