"""Proofs of bounds in column generation: multipliers are changed until few prices are negative
(docs, "Rays").
"""

from typing import Any

import numpy as np

from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.solving.methods.rays.feasibility import cover
from ldpopt.solving.methods.rays.progress import Progress
from ldpopt.solving.methods.rays.trees import Prices

PROOFS = 3  # number of attempts to prove a bound at multipliers that were lowered by a covering
# Shares of the initial multipliers that are proved if time is over before all outputs were priced
LOWER_SHARES = (0.7, 0.55, 0.45, 0.35, 0.25, 0.15)


def prove(work: Progress, sums: Float, deadline: Deadline, gap: float = 0.0) -> None:
    """Prove a bound at multipliers with few negative prices, by the same trees, which are
    improved if necessary.

    The trees are not improved if this relative gap can be reached without.
    """
    for _ in range(PROOFS):
        prices = work.trees.prices(work.costs, sums)
        work.keep_proof(sums, prices)
        wrong = np.flatnonzero(prices.least < 0)
        if work.views is None or not work.uses_covering or not len(wrong) or deadline.is_over:
            break
        wrong = _prove_by_hanging(work, sums, wrong)
        if not len(wrong) or work.has_gap(gap):
            break
        work.views.improve(work.costs, sums, max(work.value - work.bound, 0.0), deadline, wrong)
        sums = sums + shift(work, work.trees.prices(work.costs, sums), wrong)


def _prove_by_hanging(work: Progress, sums: Float, wrong: Int) -> Int:
    """Prove a bound by trees of which parts hang from the roots; return outputs whose prices
    stay negative.
    """
    trees = work.trees
    work.trees = trees.copy()
    left = []
    for _ in range(PROOFS):
        work.trees.hang_from_roots(work.costs, sums, wrong)
        prices = work.trees.prices(work.costs, sums)
        work.keep_proof(sums, prices)
        wrong = np.flatnonzero(prices.least < 0)
        left.append(wrong)
        if not len(wrong):
            break
        sums = sums + shift(work, prices, wrong)
    work.trees = trees  # whose rays are in the cone, as pivots require
    return left[0]


def prove_less(work: Progress) -> None:
    """Prove a bound at lower multipliers without pivots, because time was over before all
    outputs were priced.
    """
    trees = work.trees
    work.trees = trees.copy()
    for share in LOWER_SHARES:
        sums = share * work.center
        work.trees.reset_to_stars(work.costs, sums)
        work.keep_proof(sums, work.trees.prices(work.costs, sums))
    work.trees = trees


def shift(work: Progress, prices: Prices, outputs: Any = slice(None)) -> Float:
    """A change of the multipliers, (n,), that makes negative prices of some outputs about 0."""
    if not work.uses_covering:
        return np.full(len(work.center), min(0.0, float((prices.least / prices.total).min())))
    need = np.zeros(len(work.roots))
    need[outputs] = np.maximum(-prices.least[outputs], 0.0)
    return -cover(work.trees, need, work.weights)
