"""The safe dual bound: right for any multipliers, and rounded to the safe side."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from builders import hops
from ldpopt import ApproximateLDP, GraphDP, MetricDP, Problem, PureLDP, certify, constraints, solve, utility
from ldpopt.certificate import Multipliers, PairRows, bound
from ldpopt.certificate.integers import GRID, exact_grid, integers
from ldpopt.certificate.program_certificate import prove

PRIOR = np.array([0.4, 0.3, 0.2, 0.1])
GAIN = (np.random.default_rng(5).random((4, 3)) / 4 + np.eye(4, 3)).round(3)
HALF = constraints.linear(GAIN.round(1), lower=0.5, upper=2.2, name="half")
HOPS = hops(4) * 0.7
NOTIONS = {
    "pure": PureLDP("log(7/2)"),
    "event": ApproximateLDP(0.5, 0.1),
    "entry": ApproximateLDP(0.5, 0.1, "entry"),
    "graph": GraphDP(1.0, nx.path_graph(4)),
    "metric": MetricDP(1.0, HOPS),
}


def plain_bound(problem, multipliers):
    """The bound of pairwise rows, number by number."""
    cost = [[Fraction(float(p)) * Fraction(float(u)) for u in row] for p, row in zip(problem.prior, GAIN, strict=True)]
    constant, pairs = Fraction(0), multipliers.pairs
    privacy = problem.privacy
    for r, value in enumerate(pairs.value):
        x, k, event = pairs.first[r], pairs.second[r], pairs.y[pairs.row == r]
        distance = HOPS[x, k] if isinstance(privacy, MetricDP) else 1
        b = Fraction(math.floor(2**GRID / privacy.epsilon.enclosure(Fraction(float(distance)))[1]), 2**GRID)
        for y in event:
            cost[x][y] -= Fraction(float(value)) * b
            cost[k][y] += Fraction(float(value))
        constant += Fraction(float(value)) * b * Fraction(getattr(privacy, "delta", 0.0))
    for block, values in multipliers.blocks:
        for r, value in enumerate(values.tolist()):
            side = float(block.upper[r] if value > 0 else block.lower[r])
            if value == 0 or np.isinf(side):
                continue
            for x, y, a in zip(block.x, block.y, block.coefficient, strict=True):
                cost[x][y] -= Fraction(value) * Fraction(float(a))
            constant += Fraction(value) * Fraction(side)
    return constant + sum(max(row) for row in cost)


@pytest.mark.parametrize("notion", ["pure", "event", "graph", "metric"])
@pytest.mark.parametrize("tiny", [1.0, 2.0**-300, 2.0**-322, 2.0**-1000])
def test_the_bound_is_the_plain_one_rounded_up(notion, tiny):
    rng = np.random.default_rng(2)
    for _ in range(4):
        odd = constraints.linear(rng.normal(size=(4, 3)) * tiny, -tiny, tiny, "odd")
        problem = Problem(PRIOR, GAIN, NOTIONS[notion], constraints=[odd])
        pairs = PairRows(
            np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([0, 1, 2, 2]), np.array([2, 0, 0, 1]), rng.random(3)
        )
        multipliers = Multipliers("pairwise", None, None, pairs, ((odd, rng.normal(size=1) / tiny**0.5),))
        exact, found = plain_bound(problem, multipliers), bound(problem, multipliers)
        assert 0 <= found - exact < Fraction(16, 2**320) * Fraction(1 / tiny) + Fraction(1, 2**150)


def test_any_multipliers_prove_a_bound():
    rng = np.random.default_rng(8)
    for notion in ("pure", "event", "entry"):
        proof = certify(solve(Problem(PRIOR, GAIN, NOTIONS[notion], constraints=[HALF])))
        good = proof.multipliers
        for scale in (1e-9, 1e-3, 1.0):
            pairs = replace(good.pairs, value=good.pairs.value * (1 + scale * rng.random(len(good.pairs.value))))
            blocks = tuple((block, values + scale * rng.normal(size=1)) for block, values in good.blocks)
            rough = replace(good, row_sums=good.row_sums + scale * rng.normal(size=4), pairs=pairs, blocks=blocks)
            assert bound(proof.problem, rough) >= proof.achieved
            assert bound(proof.problem, rough) - proof.bound < 40 * scale + 1e-12


def test_a_gap_over_nothing_is_relative_to_everyones_stake():
    # All weight on an input that never loses proves no more than that a loss is not negative.
    problem = Problem(None, utility.table([[0, 0], [1, 2]], "loss"), PureLDP(1.0), objective="worst_case")
    idle = Multipliers("pairwise", None, np.array([1.0, 0.0]), PairRows.joined([]), ())
    proof = prove(problem, solve(problem).mechanism, idle)
    assert proof.bound == 0 < proof.gap
    assert proof.relative_gap == 200  # a gap of 1 over a hundredth of the average spread, 1/2
    free = Problem(None, utility.table([[0, 0], [0, 0]], "loss"), PureLDP(1.0), objective="worst_case")
    assert prove(free, solve(free).mechanism, idle).relative_gap == 0


def test_the_bound_sees_a_budget_that_floats_do_not():
    # e**epsilon = 1 + 1e-100: a coin that leans by 2.5e-101 is private, and better than a fair one.
    ratio = 1 + Fraction(1, 10**100)
    proof = certify(solve(Problem([0.5, 0.5], "identity", PureLDP(f"log({ratio})"))))
    best = ratio / (1 + ratio)
    assert Fraction(1, 2) < best <= proof.bound
    assert proof.relative_gap < 1e-15


def test_the_grid_holds_floats_or_rounds_them_to_one_side():
    numbers = np.array([0.1, -0.1, 5e-324, -5e-324, 0.0, 1e300])
    exactly = [Fraction(float(v)) * 2**GRID for v in numbers]
    assert all(low <= v < low + 1 for low, v in zip(integers(numbers), exactly, strict=True))
    assert all(high - 1 < v <= high for high, v in zip(integers(numbers, up=True), exactly, strict=True))
    fine = exact_grid(numbers)
    assert [Fraction(int(v), 2**fine) for v in integers(numbers, grid=fine)] == [Fraction(float(v)) for v in numbers]
    assert exact_grid(np.zeros(2)) == exact_grid(np.array([0.5])) == GRID
