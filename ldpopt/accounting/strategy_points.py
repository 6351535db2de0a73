"""Where the curve of the best strategy bends, in floats: a search, which decides nothing.

The points are where the integers of `strategy_lines` take an upper bound, with chords between them,
and between which they take one test as a lower bound. Whatever points are taken, both hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ldpopt.accounting.losses import PrivacyLoss
from ldpopt.foundation.numbers import Float, Int

APART = 2.0**-39  # points that differ by less are one
LEAST = 2.0**-60  # points below are left out: there the curve is 1, but for this
MOST = 2.0**995  # of a point
STRAIGHT = 2.0**-49  # a bend of the curve, relative to it, that is none
NEGLIGIBLE = 2.0**-110  # an excess that is not looked at
ROUNDS = 6  # of crossings: each finds what the points of the one before have made straight
SMALL = 2.0**-70  # excesses below are not bounded as well, relative to them


@dataclass(frozen=True, eq=False)
class FloatLoss:
    """A loss in floats: ratios, and masses under the first answer."""

    ratios: Float
    masses: Float
    certain: float

    @classmethod
    def of(cls, loss: PrivacyLoss, weight: float) -> "FloatLoss":
        """A loss with its weight."""
        masses = np.array([float(p) for p in loss.masses]) * weight
        ratios = np.array([float(r) for r in loss.ratios])
        return cls(ratios, masses, float(loss.certain) * weight)

    def values(self, x: Float, table: "FloatTable") -> Float:
        """What is left to reveal after this report, at some points."""
        total = np.full(len(x), self.certain)
        for ratio, mass in zip(self.ratios, self.masses, strict=True):
            total += mass * table.at(x / ratio)
        return total


@dataclass(frozen=True, eq=False)
class FloatTable:
    """The curve of the best strategy for some channels: points, ascending, and values there."""

    points: Float
    values: Float
    is_thinned: bool = False  # whether it, or one before it, would bend at more points

    def at(self, x: Float) -> Float:
        """Values by chords, 1 at 0, and level after the last point."""
        return np.interp(x, self._ends, self._heights)

    @cached_property
    def _ends(self) -> Float:
        return np.append(0.0, self.points)

    @cached_property
    def _heights(self) -> Float:
        return np.append(1.0, self.values)


FloatParts = list[list[FloatLoss]]  # choices in each part of a question
Asked = Sequence[tuple[FloatParts, FloatTable]]  # what may be asked next, and what is left then
START = FloatTable(np.array([1.0]), np.array([0.0]))  # no report: max(1 - a, 0)


def next_table(asked: Asked, most: int) -> FloatTable:
    """The curve before one more report: at most so many points, the important ones."""
    places = [np.ones(1)]
    for parts, table in asked:
        for loss in (loss for choices in parts for loss in choices):
            places += [table.points * ratio for ratio in loss.ratios]
    points = _apart(np.concatenate(places))
    contests, values = _contests(asked, points)
    for _ in range(ROUNDS):
        crossings = [_crossings(points, contest) for contest in contests if len(contest) > 1]
        more = _apart(np.concatenate([points, *crossings]))
        if len(more) == len(points):
            break
        points = more
        # Of three lines the middle one may be the largest where the other two cross; and what is
        # revealed after a channel bends where its pairs cross, so that two channels do elsewhere.
        contests, values = _contests(asked, points)
    table = _thinned(points, values, most)
    return replace(table, is_thinned=any([table.is_thinned, *(t.is_thinned for _, t in asked)]))


def _apart(points: Float) -> Float:
    """Points in order, each once."""
    points = np.sort(points[(points > LEAST) & (points < MOST)])
    # 1, the point of a guess, stays whatever is close to it
    is_new = np.append(True, np.diff(points) > APART * points[1:])
    points = points[is_new]
    points[np.abs(points - 1) < APART] = 1.0
    return np.asarray(points)


def _contests(asked: Asked, x: Float) -> tuple[list[Float], Float]:
    """Values of what may be chosen, one matrix for each choice, and the largest of all."""
    contests = []
    totals = []
    for parts, table in asked:
        each = [np.stack([loss.values(x, table) for loss in choices]) for choices in parts]
        contests += each
        totals.append(sum(values.max(axis=0) for values in each))
    last = np.stack(totals)
    return [*contests, last], last.max(axis=0)


def _crossings(x: Float, values: Float) -> Float:
    """Where another one of some curves becomes the largest, by lines between points."""
    best = values.argmax(axis=0)
    k = np.flatnonzero(best[1:] != best[:-1])
    left = values[best[k], k] - values[best[k + 1], k]
    right = values[best[k + 1], k + 1] - values[best[k], k + 1]
    height = values[best[k], k]
    is_real = (left > STRAIGHT * height) & (right > STRAIGHT * height)
    k = k[is_real]
    share = left[is_real] / (left + right)[is_real]
    return np.asarray(x[k] + (x[k + 1] - x[k]) * share)


def _thinned(x: Float, values: Float, most: int) -> FloatTable:
    """The curve without points on a line, and with at most some points.

    A point that is left out raises the upper bound to the chord of its neighbors: those go first
    where this is least, relative to the curve, and never two neighbors at once.
    """
    end = int(np.searchsorted(-values, -(values[-1] + NEGLIGIBLE))) + 1
    x = x[:end]
    values = values[:end]
    is_thinned = False
    while len(x) > 2:
        before = np.append(0.0, x[:-2])
        height = np.append(1.0, values[:-2])
        share = (x[:-1] - before) / (x[1:] - before)
        chord = height + (values[1:] - height) * share
        rise = (chord - values[:-1]) / (values[:-1] + SMALL)
        rise[x[:-1] == 1] = np.inf
        spare = len(x) - most
        limit = STRAIGHT
        if spare > 0:
            # a third at most in each round, as those on lines are many at first
            limit = max(limit, float(np.sort(rise)[min(spare, len(rise) // 3)]))
            is_thinned = is_thinned or limit > STRAIGHT
        is_out = _alternate((rise <= limit) & np.isfinite(rise))
        if not is_out.any():
            break
        kept = np.append(~is_out, True)
        x = x[kept]
        values = values[kept]
    return FloatTable(x, values, is_thinned)


def _alternate(is_low: Int) -> Int:
    """Every second one of each run."""
    places = np.arange(len(is_low))
    starts = np.where(is_low & ~np.append(False, is_low[:-1]), places, 0)
    return np.asarray(is_low & ((places - np.maximum.accumulate(starts)) % 2 == 0))
