"""Products by digits are those of Python's integers, floats are read exactly, and roundings have
the right side."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from builders import cases, refused
from ldpopt.certificate.integers import (
    GRID,
    MASK,
    TERMS,
    Digits,
    Rationals,
    exact_grid,
    fraction_bits,
    integers,
    product,
)
from ldpopt.errors import CertificateError

edges = st.sampled_from([0, -1, 2**18, -(2**18)])
wholes = st.one_of(st.integers(-(2**400), 2**400), st.integers(-(2**20), 2**20), edges)


def matrices(rows, columns, entries=wholes):
    return st.lists(entries, min_size=rows * columns, max_size=rows * columns).map(
        lambda values: np.array(values, dtype=object).reshape(rows, columns)
    )


@cases(60)
@given(matrices(3, 4), matrices(4, 2))
def test_products_are_those_of_integers(left, right):
    assert np.array_equal(product(left, right), left @ right)


@cases(60)
@given(matrices(3, 4), matrices(3, 4))
def test_sums_of_products(left, right):
    found = Digits.of(left).sums_of_products(Digits.of(right)).whole()
    assert np.array_equal(found[0], (left * right).sum(axis=0))


@cases(60)
@given(arrays(np.float64, (2, 5), elements=st.floats(-1e200, 1e200)))
def test_floats_are_read_exactly(array):
    bits = fraction_bits(array)
    plain = Rationals.of(array)
    for more in (bits, bits + 7):
        assert np.array_equal(
            Digits.read(array, more).whole() * plain.denominator, plain.whole << more
        )
    assert bits == 0 or (Digits.read(array, bits).whole() % 2).any()


@cases(60)
@given(matrices(3, 4), matrices(3, 1), matrices(1, 4), wholes)
def test_sums_differences_and_multiples_are_those_of_integers(left, column, row, factor):
    digits = Digits.of(left)
    for other in (left, column, row):
        assert np.array_equal((digits + Digits.of(other)).whole(), left + other)
        found = digits - Digits.of(other)
        assert np.array_equal(found.whole(), left - other)
        assert np.abs(found.parts).max() <= MASK
    assert np.array_equal(digits.times(factor).whole(), left * factor)


def test_whole_numbers_have_few_digits():
    assert fraction_bits(np.array([[3.0, -1024.0, 0.0]])) == 0
    assert len(Digits.read(np.array([[3.0, -1024.0, 0.0]]), 0).parts) == 1
    assert fraction_bits(np.array([[0.75]])) == 2


def test_numbers_too_far_apart_are_refused():
    with refused("digits", CertificateError):
        Digits.read(np.array([[1e308]]), 5000)


@pytest.mark.parametrize("sign", [1, -1])
def test_long_sums_of_the_largest_digits_are_exact(sign):
    many = 2 * TERMS + 3
    row = np.full((1, many), 2**54 - 1, dtype=object)
    assert product(row, sign * row.T)[0, 0] == sign * many * (2**54 - 1) ** 2


def test_floats_of_every_exponent_are_on_their_sides_of_the_grid():
    for exponent in range(-340, -240):
        for mantissa in (1.0, 2 - 2.0**-52, -1.0, -1.5):
            value = math.ldexp(mantissa, exponent)
            exactly = Fraction(value) * 2**GRID
            assert integers([value]).tolist() == [math.floor(exactly)]
            assert integers([value], up=True).tolist() == [math.ceil(exactly)]


def test_the_grid_is_as_fine_as_the_finest_float_needs():
    full = 1 - 2.0**-53
    assert exact_grid(np.array([full])) == GRID
    assert exact_grid(np.array([full * 2.0**-267])) == GRID
    assert exact_grid(np.array([full * 2.0**-268])) == GRID + 1
    assert exact_grid(np.array([1.0, 0.0]), np.array([full * 2.0**-400, 3.0])) == 453
    assert exact_grid(np.zeros(3)) == exact_grid(np.zeros(0)) == GRID
