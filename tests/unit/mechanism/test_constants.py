"""Repair by constants: every channel, also far from private, at every budget."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, thorough_or
from ldpopt.foundation.budget import Budget
from ldpopt.mechanism.constants import TOTAL, repaired_by_constants
from ldpopt.mechanism.repair import repair
from ldpopt.privacy import Comparisons

EPSILONS = ["1e-20", "1e-16", "1e-15", "1e-9", "1e-3", "1/2", "log(3/2)", "5", "40"]


@st.composite
def averages(draw, n):
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    return {x: Fraction(w, sum(weights)) for x, w in enumerate(weights) if w}


@st.composite
def lists(draw):
    """Comparisons of random averages with budgets from nothing to much."""
    n = draw(st.integers(1, 5))
    count = draw(st.integers(1, 2 * n))
    return Comparisons(
        n,
        tuple(draw(averages(n)) for _ in range(count)),
        tuple(draw(averages(n)) for _ in range(count)),
        tuple(Budget(draw(st.sampled_from(EPSILONS))) for _ in range(count)),
    )


@st.composite
def channels(draw, n):
    """Channels far from private, with zero entries and unused reports."""
    m = draw(st.integers(1, 5))
    entry = st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0, 1e-9, 1e-15])
    rows = st.lists(entry, min_size=m, max_size=m).filter(any)
    table = np.array(draw(st.lists(rows, min_size=n, max_size=n)))
    table /= table.sum(axis=1, keepdims=True)
    share = draw(st.sampled_from([0.0, 1e-12, 1e-9, 1e-3, 0.5, 1.0]))
    mixed = share * table + (1 - share) * table[:1]
    return mixed / mixed.sum(axis=1, keepdims=True)


def holds(masses, comparisons):
    """Every comparison of every column, in rationals, with the lower end of the ratio."""
    columns = [[int(mass) for mass in column] for column in masses.T]
    for over, under, budget in zip(
        comparisons.over, comparisons.under, comparisons.budget, strict=True
    ):
        low, _ = budget.enclosure()
        for column in columns:
            above = sum(weight * column[x] for x, weight in over.items())
            below = sum(weight * column[x] for x, weight in under.items())
            if above > low * below:
                return False
    return True


@cases(300)
@given(lists().flatmap(lambda part: st.tuples(st.just(part), channels(part.n))))
def test_any_channel_becomes_private(parts):
    comparisons, channel = parts
    masses = repaired_by_constants(channel, comparisons)
    assert (masses >= 0).all()
    assert (masses == np.floor(masses)).all()
    assert [int(sum(map(int, row))) for row in masses] == [TOTAL] * comparisons.n
    assert holds(masses, comparisons)


def test_a_private_channel_moves_by_rounding_alone():
    rng = np.random.default_rng(0)
    for _ in range(thorough_or(20, 50)):
        n = int(rng.integers(2, 6))
        notion = lo.PML(1.0, dict(enumerate(rng.integers(1, 9, n).tolist())))
        problem = lo.Problem(rng.dirichlet(np.ones(n)), rng.random((n, n)), notion)
        assert repair(lo.solve(problem).mechanism.channel, notion).moved < 1e-14


@pytest.mark.parametrize("noise", thorough_or([1e-7], [1e-9, 1e-7]))
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("n", thorough_or([3], [3, 5]))
def test_errors_of_solvers_are_not_multiplied(n, epsilon, noise):
    """A constant that repairs an error h is h / (e^epsilon - 1); the nearest channel is not so
    far.
    """
    rng = np.random.default_rng(n)
    labels = range(n)
    notions = [
        lo.PML.example(epsilon, labels),
        lo.InformationPrivacy.example(epsilon, labels),
        lo.Secrets.example(epsilon, labels),
        lo.PairwiseLDP.example(epsilon, labels),
        lo.ColumnCone.example(epsilon, labels),
        lo.PML.example(epsilon, labels) & lo.PureLDP(2 * epsilon),
    ]
    for notion in notions:
        best = lo.solve(lo.Problem([1 / n] * n, rng.random((n, n)), notion)).mechanism.channel
        spoilt = np.maximum(best + noise * rng.normal(size=best.shape), 0.0)
        fixed = repair(spoilt / spoilt.sum(axis=1, keepdims=True), notion)
        assert fixed.audit.verdict == "certified"
        assert fixed.moved < 1e-6


def test_reports_of_one_answer_keep_their_mass():
    notion = lo.UtilityOptimizedLDP(1.0, [0, 1]) & lo.PML(2.0, [0.4, 0.4, 0.2])
    comparisons = notion.comparisons(range(3))
    rng = np.random.default_rng(2)
    for _ in range(thorough_or(5, 20)):
        channel = rng.dirichlet(np.ones(3), 3)
        channel[:2, 2] = 0.0
        channel /= channel.sum(axis=1, keepdims=True)
        masses = repaired_by_constants(channel, comparisons)
        assert holds(masses[:, :2], comparisons)
        assert masses[:2, 2].tolist() == [0.0, 0.0]
        scale = masses[2, 2] / channel[2, 2]
        assert TOTAL / 3 < scale <= TOTAL  # all masses are scaled, to make room for constants
        fixed = repair(rng.dirichlet(np.ones(3), 3), notion, inputs=range(3), outputs=range(3))
        assert fixed.audit.verdict == "certified"
        assert not fixed.mechanism.channel[:2, 2].any()
