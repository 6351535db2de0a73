r"""Prices that prove a partition best, in floats: a closed form, then cutting planes over shares.

A price lies between the tangent plane of the answer's own block and the best one of another block;
its share says where. Theory: docs, "Extremal channels of any size".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.polytope.likelihood.search import AnswerPrices, OrderedAnswers, Partition, lifted
from ldpopt.solvers.program import LinearProgram, Span

CLOSED = 1e-13  # relative gap at which a dual is as good as floats can say
KNOTS = (3, 9, 33, 99)  # of the shares along a block, one number after the other
ROUNDS = 25  # of cutting planes for each number of knots
CUTS = 200  # largest number of new cuts in a round
MOST_CUTS = 6000  # after which the search of prices ends
HUGE = 1e12  # of the value: programs with larger numbers are left out
LEAST_CUT = 1e-11  # of the value: smallest excess that is cut off


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
    # Ratios near the largest float overflow on the way: then prices are 0, or those met before.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _searched(block_dual(answers, partition), deadline)


def _searched(dual: BlockDual, deadline: Deadline) -> AnswerPrices:
    """Try a closed form, then cutting planes with more and more knots."""
    partition = dual.partition
    best = closed_prices(dual)
    if not np.isfinite(best.prices).all():
        best = AnswerPrices(np.zeros(dual.answers.n), 0.0)
    goal = partition.value * (1 + CLOSED)
    cuts: list[Cut] = []
    for knots in KNOTS:
        for prices in _cutting_planes(dual, knots, cuts):
            if prices.total < best.total:
                best = prices
            if best.total <= goal or len(cuts) > MOST_CUTS or deadline.is_over:
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
    # program cost nothing. Cuts live in prices, and are kept when knots are added.
    shape = -dual.room[:, None] * _hats(dual.partition.cuts, knots)
    size = abs(dual.partition.value)
    if not np.abs(shape).max() < HUGE * size:
        return
    program = _program(dual, shape)
    new = cuts
    for _ in range(ROUNDS):
        _add_cuts(program, dual, shape, new)
        program.run()
        shares = np.array(program.getSolution().col_value)
        if not np.isfinite(shares).all():
            return
        prices = dual.settled(dual.top + shape @ shares[:-1])
        raised, sets = lifted(dual.answers, AnswerPrices(prices, dual.partition.value))
        yield raised
        weights = distances(dual.slopes, sets.slope) ** 2
        over = sets.excess + shares[-1] * weights * size
        worst = np.argsort(-over)[:CUTS]
        worst = worst[over[worst] > LEAST_CUT * size]
        if not len(worst):
            return
        members = sets.members(worst)
        least = sets.excess[worst] + dual.answers.beta * (members @ prices)
        new = list(map(Cut, members, weights[worst], least))
        cuts += new


def _program(dual: BlockDual, shape: Float) -> Any:
    """The linear program without cuts, for HiGHS: shares with the sums of all blocks, and the
    margin.

    ``shape``, (n, shares), is the change of the prices by each share. The last column is the
    margin, from -1 to 1, which is maximized; it is in no row but the cuts.
    """
    totals = dual.totals(shape)
    scale = np.abs(totals).max(axis=1, keepdims=True)
    scale[scale == 0] = 1.0
    sides = (dual.sums - dual.totals(dual.top)) / scale[:, 0]
    rows = csr_matrix(np.hstack([totals / scale, np.zeros_like(scale)]))
    count = rows.shape[1]
    is_margin = np.arange(count) == count - 1
    names = Span("share", 0, count), Span("block", 0, len(sides))
    program = LinearProgram(
        objective=is_margin.astype(np.float64),
        maximize=True,
        start=rows.indptr.astype(np.int64),
        index=rows.indices.astype(np.int64),
        value=rows.data,
        row_lower=sides,
        row_upper=sides,
        column_lower=-is_margin.astype(np.float64),
        column_upper=np.ones(count),
        rows=names[1:],
        columns=names[:1],
    ).to_highs(named=False)
    # Points inside: vertices of so flat a polytope jump, and then the cuts never end.
    for name, value in (("solver", "ipm"), ("run_crossover", "off"), ("presolve", "off")):
        program.setOptionValue(name, value)
    return program


def _add_cuts(program: Any, dual: BlockDual, shape: Float, cuts: list[Cut]) -> None:
    """Add a row for each cut."""
    if not cuts:
        return
    factor = dual.answers.beta / abs(dual.partition.value)
    members = np.array([cut.members for cut in cuts])
    least = np.array([cut.least for cut in cuts]) / abs(dual.partition.value)
    weights = np.array([[cut.weight] for cut in cuts])
    rows = np.hstack([factor * (members @ shape), -weights])
    count, width = rows.shape
    program.addRows(
        count,
        least - factor * (members @ dual.top),
        np.full(count, np.inf),
        rows.size,
        np.arange(count, dtype=np.int32) * width,
        np.tile(np.arange(width, dtype=np.int32), count),
        rows.ravel(),
    )


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
