"""Laws of exact sampling, for every channel that hypothesis can think of."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from builders import cases
from ldpopt.mechanism.sampling import AliasTable, round_rows

WEIGHTS = st.one_of(st.just(0.0), st.floats(1e-300, 1.0), st.floats(0.01, 1.0))


@st.composite
def channels(draw: st.DrawFn) -> np.ndarray:
    """Row-stochastic arrays with zeros, dust and rows that sum to 1 only within 1e-9."""
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 19))
    weights = draw(arrays(np.float64, (n, m), elements=WEIGHTS))
    weights[np.arange(n), draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n))] = 1.0
    return weights / weights.sum(axis=1, keepdims=True) * (1 + draw(st.floats(-9e-10, 9e-10)))


@st.composite
def tables(draw: st.DrawFn, bits: int) -> np.ndarray:
    """Integer masses: gaps between sorted cuts, so that zeros and ties abound."""
    m = draw(st.integers(1, 19))
    cuts = st.one_of(st.integers(0, 1 << bits), st.integers(0, 16).map(lambda k: k << (bits - 4)))
    rows = draw(st.lists(st.lists(cuts, min_size=m - 1, max_size=m - 1), min_size=1, max_size=3))
    return np.array([np.diff([0, *sorted(row), 1 << bits]) for row in rows], dtype=np.int64)


@given(channels(), st.sampled_from([8, 16, 53, 62]))
@cases(150)
def test_rounding_keeps_sums_zeros_and_nearness(channel, bits):
    masses = round_rows(channel, bits)
    assert (masses.sum(axis=1) == 1 << bits).all()
    assert (masses >= 0).all()
    assert not masses[channel == 0].any()
    # From 53 bits on, float rounding of the remainders may move one more unit.
    slack = 1 if bits < 53 else 2
    for row, rounded in zip(channel, masses, strict=True):
        total = sum(map(Fraction, row.tolist()))
        for p, mass in zip(row.tolist(), rounded.tolist(), strict=True):
            assert abs(mass - Fraction(p) * 2**bits / total) <= slack


@given(tables(53))
@cases(150)
def test_rounding_leaves_the_grid_alone(masses):
    assert np.array_equal(round_rows(masses / (1 << 53)), masses)


@given(tables(53))
@cases(150)
def test_realized_masses_are_the_counts(masses):
    table = AliasTable(masses)
    assert np.array_equal(table.realized(), masses)
    assert table.threshold.min() >= 0
    assert table.threshold.max() <= (1 << 53) // table.threshold.shape[1]


@given(tables(10))
@cases(100)
def test_every_word_counted_once(masses):
    table = AliasTable(masses, bits=10)
    words = np.tile(np.arange(1 << 10, dtype=np.uint64), len(masses))
    rows = np.repeat(np.arange(len(masses)), 1 << 10)
    seen = np.zeros_like(masses)
    np.add.at(seen, (rows, table.choose(rows, words)), 1)
    assert np.array_equal(seen, masses)


@given(tables(53), st.integers(0, 2**32))
@cases(50)
def test_draws_are_possible_outputs_and_repeat(masses, seed):
    table = AliasTable(masses)
    rows = np.arange(len(masses)).repeat(30)
    drawn = table.draw(rows, rng=seed)
    assert (masses[rows, drawn] > 0).all()
    assert np.array_equal(drawn, table.draw(rows, rng=seed))
