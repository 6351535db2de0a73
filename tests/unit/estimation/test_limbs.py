"""Products by digits are those of Python's integers, and floats are read exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from builders import cases
from ldpopt.certificate.integers import TERMS, Digits, product
from ldpopt.certificate.integers import Exactly

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
    digits, denominator = Digits.read(array)
    plain = Exactly.of(array)
    assert denominator == plain.denominator
    assert np.array_equal(digits.whole(), plain.whole)


@pytest.mark.parametrize("sign", [1, -1])
def test_long_sums_of_the_largest_digits_are_exact(sign):
    many = 2 * TERMS + 3
    row = np.full((1, many), 2**54 - 1, dtype=object)
    assert product(row, sign * row.T)[0, 0] == sign * many * (2**54 - 1) ** 2
