"""Bounds computed some outputs at a time, in 64-bit integers, against those in integers of any
size."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, refused
from ldpopt import foundation
from ldpopt.certificate import program_bound as blocks
from ldpopt.certificate import program_bound as duals
from ldpopt.certificate.program_bound import Multipliers, PairRows, bound, exponential_below
from ldpopt.errors import CertificateError
from ldpopt.foundation.budget import Budget, log_enclosure


@cases(200)
@given(
    st.floats(0, 700)
    | st.sampled_from([5e-324, 1e-17, float(np.log(2)), 2 * blocks.LN2[0], 699.9999])
)
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
    return lo.Problem(
        **{"prior": rng.dirichlet(np.ones(n)), "utility": utility, "privacy": privacy, **changes}
    )


def multipliers(problem, rng, rows=25):
    n, m = problem.utility.shape
    first = rng.integers(0, n, rows)
    second = (first + rng.integers(1, n, rows)) % n
    value = rng.exponential(np.abs(problem.utility.matrix).max() / n, rows)
    pairs = PairRows(first, second, np.arange(rows), rng.integers(0, m, rows), value)
    return Multipliers("pairwise", None, None, pairs, ())


@cases(60)
@given(
    st.integers(2, 7), st.integers(2, 6), st.sampled_from(["gain", "loss"]), st.integers(0, 10**6)
)
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
    # Without pairs the bound is the sum of the largest costs: each is the next whole number of
    # units.
    worth = np.array([[0.5, 0.25], [0.125, 1.0]])
    nothing = PairRows.joined([])
    total, bits = blocks.pairs_bound(np.array([0.5, 0.5]), worth, nothing, Budget(1.0), np.zeros(0))
    assert 0 < total - int(0.75 * 2.0**bits) <= 2 + 2**9
    total, bits = blocks.pairs_bound(
        np.array([-0.5, -0.5]), worth, nothing, Budget(1.0), np.zeros(0)
    )
    assert 0 < total + int(0.1875 * 2.0**bits) <= 2 + 2**9


@pytest.mark.parametrize("largest", [2.0**59, 2.0**60, 2.0**80, 1e299])
@pytest.mark.parametrize("smallest", [1e-60, 5e-324])
def test_the_smallest_cost_counts_beside_the_largest(largest, smallest, monkeypatch):
    worth = np.full((2, 2), smallest)
    worth[0, 0] = -largest
    problem = lo.Problem([0.5, 0.5], worth, lo.MetricDP(1.0, 1.0 - np.eye(2)))
    nothing = Multipliers("pairwise", None, None, PairRows.joined([]), ())
    exactly = bound(problem, nothing)
    monkeypatch.setattr(blocks, "MIN_ENTRIES", 0)
    assert bound(problem, nothing) >= exactly > 0


@pytest.mark.parametrize("form", ["pairwise", "compact"])
def test_the_bound_is_exact_if_the_utility_ignores_the_report(form, monkeypatch):
    """A gap of zero is relative to nothing: whatever roundings add to it would be all of it."""
    monkeypatch.setattr(blocks, "MIN_ENTRIES", 0)
    monkeypatch.setattr(duals, "MIN_COARSE_ENTRIES", 0)
    row_sums = np.array([0.5, -0.5]) if form == "compact" else None
    given_ = Multipliers(form, row_sums, None, PairRows.joined([]), ())
    problem = lo.Problem([0.5, 0.5], [[1.0, 1.0], [-1.0, -1.0]], lo.PureLDP(1.0))
    assert bound(problem, given_) == 0
    assert bound(replace(problem, utility=[[1.0, 1.0], [-1.0, -0.9]]), given_) > Fraction(1, 2**62)


def test_the_bound_does_not_depend_on_the_last_bits_of_the_logarithm(monkeypatch):
    found = set()
    logarithm = foundation.budget.log_of
    for direction in (0.0, 0.5, 2.0):
        with monkeypatch.context() as patch:
            patch.setattr(
                foundation.budget,
                "log_of",
                lambda ratio, to=direction: np.nextafter(logarithm(ratio), to),
            )
            log_enclosure.cache_clear()
            ties = np.array([0]), np.array([1]), np.array([0]), np.array([0]), np.array([0.3])
            worth = np.eye(2)
            distance = np.array([7.0])
            found.add(
                blocks.pairs_bound(
                    np.full(2, 0.5), worth, PairRows(*ties), Budget("log(2.5)"), distance
                )
            )
    log_enclosure.cache_clear()
    assert len(found) == 1


def test_many_multipliers_of_one_output_do_not_overflow(monkeypatch):
    problem = statement(
        3, 2, "gain", np.random.default_rng(3), utility=lo.Utility(np.eye(3, 2), "gain")
    )
    first = np.array([0, 1] * 40)
    second = np.array([1, 2] * 40)
    pairs = PairRows(first, second, np.arange(80), np.zeros(80, np.int64), np.ones(80))
    given_ = Multipliers("pairwise", None, None, pairs, ())
    exactly = bound(problem, given_)
    monkeypatch.setattr(blocks, "MIN_ENTRIES", 0)
    assert 0 < bound(problem, given_) - exactly < 2.0**-40


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
            given_ = Multipliers(
                "pairwise", None, None, given_.pairs, ((block, np.full(len(block), 0.1)),)
            )
        exactly = bound(problem, given_)
        with monkeypatch.context() as patch:
            patch.setattr(blocks, "MIN_ENTRIES", 0)
            assert bound(problem, given_) == exactly


def test_a_multiplier_of_no_pair_is_refused(monkeypatch):
    monkeypatch.setattr(blocks, "MIN_ENTRIES", 0)
    rng = np.random.default_rng(1)
    problem = statement(3, 3, "gain", rng)
    pairs = PairRows(*map(np.array, ([1], [1], [0], [0], [0.3])))
    with refused("untied", CertificateError) as caught:
        bound(problem, Multipliers("pairwise", None, None, pairs, ()))
    assert "1 to 1" in str(caught.value)
