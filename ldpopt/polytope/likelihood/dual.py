r"""Prices that prove a partition best, in floats: a closed form, then cutting planes over shares.

A price lies between the tangent plane of the answer's own block and the best one of another block;
its share says where. Theory: docs, "Extremal channels of any size".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.polytope.likelihood.search import AnswerPrices, OrderedAnswers, Partition, lifted

CLOSED = 1e-13  # relative gap at which a dual is as good as floats can say
KNOTS = (1, 3, 5, 9, 17, 33)  # of the shares along a block, one number after the other
ROUNDS = 25  # of cutting planes for each number of knots
CUTS = 25  # largest number of new cuts in a round


@dataclass(frozen=True, eq=False)
class BlockDual:
    """A partition seen from the dual: prices are ``top - room * share``, shares from 0 to 1, and
    the prices of a block add up to ``sums``.
    """

    answers: OrderedAnswers
    partition: Partition
    slopes: Float  # of the blocks' columns
    top: Float
    room: Float
    sums: Float

    def totals(self, part: Float) -> Float:
        """Sums over the blocks, of each column, with the digits of a long double."""
        precise = part.astype(np.longdouble)
        sums = np.add.reduceat(precise, self.partition.cuts[:-1])
        return sums.astype(np.float64)

    def spread(self, numbers: Float) -> Float:
        """A number of each block, at its answers."""
        return np.repeat(numbers, np.diff(self.partition.cuts))

    def settled(self, prices: Float) -> Float:
        """Prices with the exact sums of all blocks, changed where there is room."""
        missing = self.sums - self.totals(prices)
        width = self.room + 1e-300
        return prices + self.spread(missing / self.totals(width)) * width


def block_dual(answers: OrderedAnswers, partition: Partition) -> BlockDual:
    """First-order conditions of the dual at a partition."""
    masses = np.diff(answers.sums[:, partition.cuts])
    slopes = answers.slope(masses)
    planes = np.stack([answers.planes(u) for u in slopes])
    sizes = np.diff(partition.cuts)
    block = np.repeat(np.arange(len(slopes)), sizes)
    mine = (block, np.arange(answers.n))
    top = planes[mine]
    planes[mine] = -np.inf
    others = planes.max(axis=0) if len(slopes) > 1 else top - abs(partition.value)
    share = answers.b * partition.value
    sums = (answers.value(masses) - share) / answers.beta
    room = np.maximum(top - others, 0.0)
    return BlockDual(answers, partition, slopes, top, room, sums)


def closed_prices(dual: BlockDual) -> AnswerPrices:
    """Give all answers of a block the same share: the one that makes the block tight."""
    width = dual.totals(dual.room)
    over = dual.totals(dual.top) - dual.sums
    share = np.divide(over, width, out=np.zeros_like(over), where=width > 0)
    equal = dual.top - dual.room * dual.spread(share)
    prices = dual.settled(equal)
    return lifted(dual.answers, AnswerPrices(prices, dual.partition.value))[0]


def best_prices(answers: OrderedAnswers, partition: Partition, deadline: Deadline) -> AnswerPrices:
    """Look for prices that prove the partition best; the lowest total that was met."""
    dual = block_dual(answers, partition)
    best = closed_prices(dual)
    goal = partition.value * (1 + CLOSED)
    cuts: list[Cut] = []
    for knots in KNOTS:
        for prices in _cutting_planes(dual, knots, cuts):
            if prices.total < best.total:
                best = prices
            if best.total <= goal or deadline.is_over:
                return best
    return best


@dataclass(frozen=True, eq=False)
class Cut:
    """A set whose column must be cheaper than its price, by a margin times a weight."""

    members: Float
    weight: float
    least: float  # smallest sum of the members' prices, times beta


def _cutting_planes(dual: BlockDual, knots: int, cuts: list[Cut]) -> Iterator[AnswerPrices]:
    """Shares that are linear between knots, with the largest margin for the sets met so far."""
    # A set far from all blocks must be cheaper than its price by a margin: so the errors of the
    # linear program cost nothing. Cuts live in prices, and are kept when knots are added.
    from scipy.optimize import linprog

    beta = dual.answers.beta
    size = abs(dual.partition.value)
    shape = -dual.room[:, None] * _hats(dual.partition.cuts, knots)
    program = _program(dual, shape)
    for _ in range(ROUNDS):
        rows = []
        sides = []
        for cut in cuts:
            row = -beta * (cut.members @ shape) / size
            rows.append(np.append(row, cut.weight))
            most = beta * (cut.members @ dual.top) - cut.least
            sides.append(most / size)
        if cuts:
            program |= {"A_ub": np.array(rows), "b_ub": sides}
        result: Any = linprog(**program, method="highs")
        if result.x is None:
            return
        prices = dual.top + shape @ result.x[:-1]
        settled = dual.settled(prices)
        raised, sets = lifted(dual.answers, AnswerPrices(settled, dual.partition.value))
        yield raised
        weights = distances(dual.slopes, sets.slope) ** 2
        over = sets.excess + result.x[-1] * weights * size
        new = np.argsort(-over)[:CUTS]
        new = new[over[new] > 1e-11 * size]
        if not len(new):
            return
        members = sets.members(new)
        least = sets.excess[new] + beta * (members @ settled)
        cuts += map(Cut, members, weights[new], least)


def _program(dual: BlockDual, shape: Float) -> dict[str, Any]:
    """The linear program without cuts: shares with the sums of all blocks, and the margin."""
    totals = dual.totals(shape)
    scale = np.abs(totals).max(axis=1, keepdims=True)
    scale[scale == 0] = 1.0
    missing = dual.sums - dual.totals(dual.top)
    count = shape.shape[1]
    return {
        "c": np.append(np.zeros(count), -1.0),
        "A_eq": np.hstack([totals / scale, np.zeros_like(scale)]),
        "b_eq": missing / scale[:, 0],
        "bounds": [(0, 1)] * count + [(-1, 1)],
    }


def _hats(cuts: Int, knots: int) -> Float:
    """Functions that are linear between knots within each block, one for each column."""
    parts = []
    for first, end in pairwise(cuts):
        size = end - first
        count = min(knots, size)
        places = np.linspace(0, count - 1, size) if count > 1 else np.zeros(size)
        part = np.zeros((cuts[-1], count))
        away = np.abs(places[:, None] - np.arange(count))
        part[first:end] = np.maximum(0, 1 - away)
        parts.append(part)
    return np.hstack(parts)


def distances(blocks: Float, slopes: Float) -> Float:
    """Distance of slopes from the nearest block's, in units of the distance between two blocks."""
    if len(blocks) == 1:
        return np.ones_like(slopes)
    last = len(blocks) - 2
    after = np.searchsorted(blocks, slopes)
    before = np.clip(after - 1, 0, last)
    width = np.diff(blocks)[before]
    width[width == 0] = 1.0
    place = (slopes - blocks[before]) / width
    nearest = np.minimum(np.abs(place), np.abs(place - 1))
    return np.minimum(1.0, nearest)
