"""Extreme rays of lists of comparisons against linear programs over the same cones."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from builders import cases, notions_of_averages, thorough_or
from ldpopt import (
    ColumnCone,
    OddsBound,
    PairwiseLDP,
)
from ldpopt.privacy.cones.exact_rays import column_rays
from ldpopt.privacy.cones.rays import rays_of, whole_rays_of

NUMBERS = {
    "PML .2": (4, 6, 11, 20, 44, 70),
    "PML 1": (5, 10, 24, 48, 103, 216),
    "LIP .5": (5, 10, 24, 48, 103, 216),
    "pure 1": (6, 14, 30, 62, 126, 254),
    "path": (4, 8, 16, 32, 64, 128),
    "pure and path": (4, 12, 38, 110, 320, 890),
    "PML and path": (5, 12, 38, 88, 210, 518),
}


def rows_of(privacy, n):
    """The comparisons in floats, as rows ``v - a u`` of a cone ``rows c <= 0``."""
    listed = privacy.comparisons(range(n))
    rows = np.zeros((len(listed), n))
    for row, over, under, budget, d in zip(
        rows, listed.over, listed.under, listed.budget, listed.multiple, strict=True
    ):
        for x, weight in over.items():
            row[x] += float(weight)
        for x, weight in under.items():
            row[x] -= math.exp(float(budget) * float(d)) * float(weight)
    return rows


@pytest.mark.parametrize("n", thorough_or([3, 6], range(3, 9)))
@pytest.mark.parametrize("name", notions_of_averages(3))
def test_the_best_ray_is_the_optimum_of_a_linear_program(n, name):
    privacy = notions_of_averages(n)[name]
    rays = column_rays(privacy.comparisons(range(n)))
    if name in NUMBERS:
        assert len(rays) == NUMBERS[name][n - 3]
    shares = rays.columns.vectors
    shares = shares / shares.sum(axis=1, keepdims=True)
    rows = rows_of(privacy, n)
    assert (rows @ shares.T).max() < 1e-14
    for cost in np.random.default_rng(n).normal(size=(3, n)):
        best = linprog(cost, rows, np.zeros(len(rows)), np.ones((1, n)), [1.0])
        assert abs(best.fun - (shares @ cost).min()) < 1e-9


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("privacy", ["pure 1", "path"])
def test_rays_of_ties_are_those_of_their_comparisons(privacy, n):
    """Logarithms, their powers, and the double description list the same columns."""
    notion = notions_of_averages(n)[privacy]
    lists = (
        rays_of(notion, range(n)),
        whole_rays_of(notion, range(n)),
        column_rays(notion.comparisons(range(n))),
    )
    tables = [np.unique(rays.columns.vectors.round(9), axis=0) for rays in lists]
    assert np.allclose(tables[0], tables[1], rtol=0, atol=1e-9)
    assert np.allclose(tables[0], tables[2], rtol=0, atol=1e-9)


@st.composite
def cones(draw):
    """A few bounds between averages of 3 or 4 answers, with small whole weights."""
    n = draw(st.integers(3, 4))
    weights = st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any)
    bounds = []
    for _ in range(draw(st.integers(1, 5))):
        sides = [{x: w for x, w in enumerate(draw(weights)) if w} for _ in range(2)]
        bounds.append(OddsBound(*sides, draw(st.sampled_from([0.5, 1.0, "log(2)", "log(3/2)"]))))
    return n, ColumnCone(bounds)


def columns_of(rays, order=None):
    chosen = rays.whole if order is None else rays.whole[:, order]
    return {tuple(ray) for ray in chosen.tolist()}


@cases(30)
@given(cones(), st.randoms(use_true_random=False))
def test_other_labels_permute_the_rays(cone, random):
    n, privacy = cone
    order = list(range(n))
    random.shuffle(order)
    plain = whole_rays_of(privacy, range(n))
    moved = whole_rays_of(privacy, order)
    assert columns_of(moved) == columns_of(plain, order)


@cases(30)
@given(cones(), cones())
def test_rays_of_an_intersection_are_within_both(one, two):
    n = min(one[0], two[0])
    labels = range(max(one[0], two[0]))
    joined = one[1] & two[1]
    vectors = whole_rays_of(joined, labels).columns.vectors
    assert n >= 3
    for part in (one[1], two[1]):
        rows = rows_of(part, len(labels))
        assert (rows @ vectors.T).max() < 1e-12


@cases(30)
@given(cones())
def test_no_ray_is_a_sum_of_the_others(cone):
    n, privacy = cone
    vectors = whole_rays_of(privacy, range(n)).columns.vectors
    rows = np.vstack([rows_of(privacy, n), -np.eye(n)])
    for ray in vectors:
        tight = np.abs(rows @ ray) < 1e-9
        assert np.linalg.matrix_rank(rows[tight], tol=1e-7) == n - 1


def test_every_ratio_is_at_least_that_of_its_budget():
    """A smaller cone would make a bound too small."""
    from ldpopt.privacy.cones.exact_rays import raised_ratios

    budgets = {"a": 0.5, "b": "log(3)", "c": 0.7, "d": "1/3"}
    listed = PairwiseLDP.of_answers(budgets).comparisons(tuple(budgets))
    for ratio, (_, high) in zip(raised_ratios(listed), listed.enclosures, strict=True):
        assert high <= ratio < high * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize(("rule", "number"), [("own", 14), ("min", 8), ("mean", 14)])
def test_ratios_of_a_chain_are_powers_of_one(rule, number):
    """Rounded one by one, the ratios of .5, 1, 2 and 3 nats would split rays."""
    privacy = PairwiseLDP.of_answers({"a": 0.5, "b": 1, "c": 2, "d": 3}, rule)
    assert len(rays_of(privacy, "abcd")) == number
