"""Bounds computed some outputs at a time, in 64-bit integers, against those in integers of any size."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases
from ldpopt.errors import CertificateError
from ldpopt.foundation.budget import Budget
from ldpopt.solving.bounds import blocks
from ldpopt.solving.bounds.blocks import exponential_below
from ldpopt.solving.bounds.duals import Multipliers, PairRows, bound


@cases(200)
@given(st.floats(0, 700) | st.sampled_from([5e-324, 1e-17, float(np.log(2)), 2 * blocks.LN2[0], 699.9999]))
def test_exponentials_are_below_by_less_than_the_margin(exponent):
    found = Fraction(float(exponential_below(np.array([exponent]))[0]))
    low, high = Budget(1.0).enclosure(Fraction(exponent))
    assert (1 - Fraction(10 + 2 * exponent) / 2**50) / low < found
    # Roundings take a fifth of the margin: the rest is for those of the exponent.
    assert found < (1 - Fraction(4 + 0.8 * exponent) / 2**50) / high


def test_exponentials_of_large_numbers_are_zero():
    assert exponential_below(np.array([700.0, np.nextafter(700.0, 701), 1e300])).tolist() == [
        pytest.approx(np.exp(-700.0), rel=1e-12, abs=0),
        0.0,
        0.0,
    ]


def statement(n, m, sense, rng, **changes):
    places = rng.choice(30, n, replace=False) / 7
    utility = lo.Utility(rng.normal(size=(n, m)) * rng.choice([1e-9, 1.0, 1e9]), sense)
    privacy = lo.MetricDP(rng.uniform(0.1, 3), np.abs(np.subtract.outer(places, places)))
    return lo.Problem(**{"prior": rng.dirichlet(np.ones(n)), "utility": utility, "privacy": privacy, **changes})


def multipliers(problem, rng, rows=25):
    n, m = problem.utility.shape
    first = rng.integers(0, n, rows)
    second = (first + rng.integers(1, n, rows)) % n
    value = rng.exponential(np.abs(problem.utility.matrix).max() / n, rows)
    pairs = PairRows(first, second, np.arange(rows), rng.integers(0, m, rows), value)
    return Multipliers("pairwise", None, None, pairs, ())


@cases(60)
@given(st.integers(2, 7), st.integers(1, 6), st.sampled_from(["gain", "loss"]), st.integers(0, 10**6))
def test_blocks_prove_hardly_less_and_never_more(n, m, sense, seed):
    rng = np.random.default_rng(seed)
    problem = statement(n, m, sense, rng)
    given_ = multipliers(problem, rng, rows=int(rng.integers(0, 40)))
    exactly = bound(problem, given_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MIN_ENTRIES", 0)
        patch.setattr(blocks, "BLOCK", 2 * n)
        found = bound(problem, given_)
    loose = (found - exactly) * (1 if sense == "gain" else -1)
    largest = Fraction(float(np.abs(problem.utility.matrix).max() + given_.pairs.value.sum()))
    assert 0 <= loose < largest * n / 2**42
    assert found != exactly


def test_one_unit_decides():
    # Without pairs the bound is the sum of the largest costs: each is the next whole number of units.
    worth = np.array([[0.5, 0.25], [0.125, 1.0]])
    nothing = PairRows.joined([])
    total, bits = blocks.pairs_bound(np.array([0.5, 0.5]), worth, nothing, Budget(1.0), np.zeros(0))
    assert 0 < total - int(0.75 * 2.0**bits) <= 2 + 2**9
    total, bits = blocks.pairs_bound(np.array([-0.5, -0.5]), worth, nothing, Budget(1.0), np.zeros(0))
    assert 0 < total + int(0.1875 * 2.0**bits) <= 2 + 2**9


def test_other_statements_are_proved_in_larger_integers(monkeypatch):
    rng = np.random.default_rng(1)
    forbidding = lo.constraints.linear(rng.random((3, 3)), upper=2.0, name="some")
    huge = lo.Utility(1e300 * np.eye(3), "gain")
    for changes in (
        {"prior": None, "objective": "worst_case"},
        {"privacy": lo.ApproximateLDP(1.0, 0.1)},
        {"utility": huge},
        {"constraints": [forbidding]},
    ):
        problem = statement(3, 3, "gain", rng, **changes)
        given_ = multipliers(problem, rng, rows=4)
        if problem.constraints:
            block = problem.constraints[0]
            given_ = Multipliers("pairwise", None, None, given_.pairs, ((block, np.full(len(block), 0.1)),))
        exactly = bound(problem, given_)
        with monkeypatch.context() as patch:
            patch.setattr(blocks, "MIN_ENTRIES", 0)
            assert bound(problem, given_) == exactly


def test_a_multiplier_of_no_pair_is_refused(monkeypatch):
    monkeypatch.setattr(blocks, "MIN_ENTRIES", 0)
    rng = np.random.default_rng(1)
    problem = statement(3, 3, "gain", rng)
    pairs = PairRows(*map(np.array, ([1], [1], [0], [0], [0.3])))
    with pytest.raises(CertificateError, match="does not tie 1 to 1"):
        bound(problem, Multipliers("pairwise", None, None, pairs, ()))
