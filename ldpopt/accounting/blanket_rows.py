"""The pairs of answers of a channel beside its blanket, each once, as masses of reports.

A bound by the blanket rises with the masses ``p`` of the first answer, and falls with those of the
second one, ``q``, and with the blanket: less of it at larger values spreads them. So numbers that
differ by the rounding of masses only are one number: the largest, or the smallest.
"""

from collections.abc import Iterator

import numpy as np

from ldpopt.accounting.privacy_loss import ChannelSource
from ldpopt.foundation.numbers import Float, Int

CLOSE = 2.0**-30  # relative distance of numbers that are taken as one
BITS = 64  # of a ratio to the blanket
Rows = tuple[list[int], list[int], list[int]]  # p, q and blanket of each report
Pair = dict[tuple[int, int], int]  # masses of the blanket by the kinds of both ratios to it


def distinct_rows(channel: ChannelSource) -> list[Rows]:
    """The distinct pairs of rows with the blanket, rounded so that a bound rises.

    Reports whose probabilities have equal ratios to the blanket count as one report, since only
    these ratios and the mass of all of them matter.
    """
    least = channel.counts.min(axis=0)
    is_shared = least > 0
    shared = _Classes(channel.counts[:, is_shared], least[is_shared])
    alone = _Classes(channel.counts[:, ~is_shared], np.ones((~is_shared).sum(), np.int64))
    pairs = list(zip(channel.first.tolist(), channel.second.tolist(), strict=True))
    blanket = least[is_shared].tolist()
    tables = [_masses(shared.kinds[x], shared.kinds[z], blanket) for x, z in pairs]
    sums = np.array([[mass for table in tables for mass in table.values()]])
    masses = _Classes(sums, np.ones(sums.shape[1], np.int64))
    kinds = iter(masses.kinds.ravel().tolist())
    distinct = set()
    for (x, z), table in zip(pairs, tables, strict=True):
        reports = list(_reports(shared, masses, table, kinds))
        for first, second in zip(alone.kinds[x].tolist(), alone.kinds[z].tolist(), strict=True):
            reports.append((alone.highest[first] >> BITS, alone.lowest[second] >> BITS, 0))
        distinct.add(tuple(sorted(reports)))  # their order does not matter
    columns = (zip(*reports, strict=True) for reports in sorted(distinct))
    return [tuple(map(list, column)) for column in columns]  # type: ignore[misc]


class _Classes:
    """Kinds of numbers, quotients of a matrix and a row of positive integers, that are nearly
    equal, with bounds on those of each kind over ``2**BITS``.
    """

    def __init__(self, counts: Int, under: Int) -> None:
        self.kinds = _kinds(counts / under)
        self.highest: dict[int, int] = {}
        self.lowest: dict[int, int] = {}
        for kinds, row in zip(self.kinds.tolist(), counts.tolist(), strict=True):
            for kind, count, divisor in zip(kinds, row, under.tolist(), strict=True):
                above = -(-(count << BITS) // divisor)
                below = (count << BITS) // divisor
                self.highest[kind] = max(self.highest.get(kind, above), above)
                self.lowest[kind] = min(self.lowest.get(kind, below), below)


def _kinds(values: Float) -> Int:
    """The kind of each number: those from one on that are larger by `CLOSE` at most are one
    kind.
    """
    distinct, places = np.unique(values, return_inverse=True)
    kinds = np.zeros(len(distinct), int)
    begin = 0
    for i in range(1, len(distinct)):
        is_new = distinct[i] > distinct[begin] * (1 + CLOSE)
        kinds[i] = kinds[i - 1] + is_new
        begin = i if is_new else begin
    return kinds[places].reshape(values.shape)


def _masses(first: Int, second: Int, blanket: list[int]) -> Pair:
    """Masses of the blanket at each pair of kinds of ratios to it."""
    masses: Pair = {}
    for x, z, mass in zip(first.tolist(), second.tolist(), blanket, strict=True):
        masses[x, z] = masses.get((x, z), 0) + mass
    return masses


def _reports(
    shared: _Classes, masses: _Classes, table: Pair, kinds: Iterator[int]
) -> Iterator[tuple[int, int, int]]:
    """Reports with the masses of both answers and of the blanket."""
    for first, second in table:
        kind = next(kinds)
        most = masses.highest[kind] >> BITS
        least = masses.lowest[kind] >> BITS
        above = -(-shared.highest[first] * most >> BITS)
        yield above, shared.lowest[second] * least >> BITS, least
