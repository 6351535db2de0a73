"""Regions against the listing of extreme points, the closed form and the solver, in rationals."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from builders import thorough_or
from ldpopt import ApproximateLDP, Problem, PureLDP, solve
from ldpopt.polytope.regions import epsilon_breakpoints, prior_regions
from ldpopt.polytope.vertices import extreme_points


def random_priors(n, count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        weights = [F(int(v)) for v in rng.integers(1, 60, n)]
        yield [w / sum(weights) for w in weights]


def top_k_value(prior, alpha):
    ordered = sorted(prior, reverse=True)
    return max(alpha * sum(ordered[:k]) / (alpha + k - 1) for k in range(1, len(prior) + 1))


@pytest.mark.parametrize("n", thorough_or([2, 3], [2, 3, 4]))
@pytest.mark.parametrize("alpha", [F(3), F(7, 2), F(5, 4)])
def test_cells_have_the_value_of_the_n_ary_theorem(n, alpha):
    regions = prior_regions(PureLDP(f"log({alpha})"), n)
    for prior in random_priors(n, 25, n):
        holding = [region for region in regions if region.contains(prior)]
        assert holding
        for region in holding:
            assert sum(w * u for w, u in zip(prior, region.utilities, strict=True)) == top_k_value(
                prior, alpha
            )


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("alpha", [F(3), F(9, 4), F(8)])
def test_epsilon_ranges_agree_with_all_extreme_points(n, alpha):
    """The extreme points' exact diagonals say which k is best at this alpha."""
    points = extreme_points(PureLDP(f"log({alpha})"), n)
    diagonals = {tuple(vertex[x, x] for x in range(n)) for vertex in points.vertices}
    for prior in random_priors(n, 8, n + 10):
        best = max(
            sum(w * d for w, d in zip(prior, diagonal, strict=True)) for diagonal in diagonals
        )
        for found in epsilon_breakpoints(prior):
            low, high = found.ratios
            worth = alpha * sum(prior[x] for x in found.members) / (alpha + found.k - 1)
            is_inside = low <= alpha and (high is None or alpha <= high)
            assert (worth == best) == is_inside


@pytest.mark.parametrize(
    "utility", thorough_or(["absolute_error"], ["identity", "absolute_error", "squared_error"])
)
@pytest.mark.parametrize("privacy", [PureLDP("log(3)"), ApproximateLDP("log(3)", 0.125)])
def test_cells_agree_with_the_solver(utility, privacy):
    regions = prior_regions(privacy, 3, utility)
    for prior in random_priors(3, 4, 3):
        floats = np.array(prior, dtype=float)
        value = solve(Problem(floats / floats.sum(), utility, privacy)).value
        region = next(region for region in regions if region.contains(prior))
        assert float(
            sum(w * u for w, u in zip(prior, region.utilities, strict=True))
        ) == pytest.approx(value, abs=1e-9)
