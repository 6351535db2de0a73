r"""Best private channels for functions of a likelihood ratio, with any number of answers.

The answers are ordered by their ratio; the search finds blocks of neighbors and prices, and the
proof is in integers. Theory: docs, "Extremal channels of any size".
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, pairwise

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.labelled import Labels
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.repair import repair
from ldpopt.polytope.likelihood.bound import LikelihoodPair, Membership, ratio_key
from ldpopt.polytope.likelihood.certificate import ConvexCertificate
from ldpopt.polytope.likelihood.dual import best_prices
from ldpopt.polytope.likelihood.forms import FORMS
from ldpopt.polytope.likelihood.polish import polished
from ldpopt.polytope.likelihood.search import (
    AnswerPrices,
    OrderedAnswers,
    best_partition,
    sets_along,
)
from ldpopt.privacy import PureLDP

MAX_ANSWERS = 2000  # a table of their square is kept
LEAST_B = 1e-300  # the search needs no smaller factor between the entries of a column


@dataclass(frozen=True, eq=False)
class Groups:
    """Answers of one ratio each, in order: as sets of positions, and as the search sees them."""

    members: list[list[int]]
    answers: OrderedAnswers


@dataclass(frozen=True, eq=False)
class BestBlocks:
    """The best channel of a pair: randomized response on blocks of answers."""

    certificate: ConvexCertificate
    blocks: list[list[int]]
    columns: Float  # (blocks, n): 1 on the block, b elsewhere
    weight: float  # of each column
    binary: float  # best value of two reports
    randomized_response: float  # value of one report for each answer


def best_blocks(
    masses: tuple[Float, Float, str], budget: Budget, inputs: Labels | None, deadline: Deadline
) -> BestBlocks:
    """Find and prove the best channel of a pair (p, q) and the name of f."""
    n = len(masses[1])
    if n > MAX_ANSWERS:
        raise StatementError(
            f"{n} answers: supported are up to {MAX_ANSWERS} of a likelihood ratio",
            code="many-answers",
            do="merge answers of similar ratios",
        )
    pair = LikelihoodPair.read(masses)
    groups = _groups(pair, budget)
    partition = best_partition(groups.answers)
    if not np.isfinite(partition.value):
        raise _infinite(pair.form, budget)
    blocks = [
        sorted(x for group in groups.members[first:end] for x in group)
        for first, end in pairwise(partition.cuts)
    ]
    columns = np.full((len(blocks), n), budget.b)
    for column, block in zip(columns, blocks, strict=True):
        column[block] = 1.0
    weight = 1 / (1 + (len(blocks) - 1) * budget.b)
    fixed = repair(columns.T * weight, PureLDP(budget), inputs=inputs)
    prices = best_prices(groups.answers, partition, deadline)
    rough = _declared(pair, groups, prices)
    proof = polished(pair, budget, *rough)
    certificate = ConvexCertificate.of(pair, budget, fixed.mechanism, *proof)
    constant = float(pair.constant)
    two = constant + _best_of_two(groups.answers)
    every = constant + _of_all(pair, groups.answers)
    return BestBlocks(certificate, blocks, columns, weight, two, every)


def _groups(pair: LikelihoodPair, budget: Budget) -> Groups:
    """Merge answers of equal ratio: their rows may be equal, so nothing is lost."""
    key = ratio_key(pair)
    is_empty = [not (z or q) for z, q in zip(pair.z, pair.q, strict=True)]
    order = sorted((x for x, empty in enumerate(is_empty) if not empty), key=key)
    members = [list(group) for _, group in groupby(order, key=key)]
    p = [a + c for a, c in zip(pair.z, pair.q, strict=True)]
    exact = (pair.z, pair.q, p)
    masses = [[sum(part[x] for x in group) / pair.unit for group in members] for part in exact]
    # Answers that nobody has may be in any block.
    members[0] += [x for x, empty in enumerate(is_empty) if empty]
    if budget.b == 0 and not all(masses[1]):
        raise _infinite(pair.form, budget)
    b = max(budget.b, LEAST_B)
    return Groups(members, OrderedAnswers(np.array(masses), FORMS[pair.form], b, budget.beta))


def _infinite(name: str, budget: Budget) -> StatementError:
    return StatementError(
        f"{name} is infinite at epsilon = {budget}",
        code="infinite-value",
        do="state a smaller epsilon",
    )


def _declared(
    pair: LikelihoodPair, groups: Groups, prices: AnswerPrices
) -> tuple[list[Fraction], list[Membership]]:
    """Prices of all answers, and the slopes between which they are above them, as rationals."""
    sets = sets_along(groups.answers, prices)
    exact = [Fraction(0)] * len(pair.q)
    declared = [Membership(Fraction(0), Fraction(0))] * len(pair.q)
    for k, group in enumerate(groups.members):
        part = pair.q if groups.answers.masses[1, k] else pair.z
        total = sum(part[x] for x in group)
        interval = _membership(sets.enter[k], sets.leave[k], groups.answers.range)
        for x in group:
            share = Fraction(part[x], total)
            exact[x] = Fraction(prices.prices[k]) * share
            declared[x] = interval
    # The total has digits that the sum of floats has not.
    missing = (Fraction(prices.total) - sum(exact)) / len(exact)
    return [price + missing for price in exact], declared


def _membership(enter: float, leave: float, ends: tuple[float, float]) -> Membership:
    """Slopes as rationals; those at an end of the range are moved beyond the exact end."""
    low, high = ends
    if enter < leave:
        enter = enter - abs(enter) - 1 if enter <= low else enter
        leave = leave + abs(leave) + 1 if leave >= high else leave
    return Membership(Fraction(enter), Fraction(leave))


def _best_of_two(answers: OrderedAnswers) -> float:
    """Best value of two reports: of a prefix of the answers and the others."""
    if answers.n == 1:
        return 0.0
    heads = answers.sums[:, 1:-1]
    tails = answers.sums[:, -1:] - heads
    both = answers.value(heads) + answers.value(tails)
    return float(both.max() / (1 + answers.b))


def _of_all(pair: LikelihoodPair, answers: OrderedAnswers) -> float:
    """Value of randomized response over all answers."""
    n = len(pair.q)
    if n == 1:
        return 0.0
    z = np.array([part / pair.unit for part in pair.z])
    q = np.array([part / pair.unit for part in pair.q])
    values = answers.value(np.stack([z, q, z + q]))
    return float(values.sum() / (1 + (n - 1) * answers.b))
