"""Arguments of loops in C are checked before a pointer is passed; a library that is missing or old
is an error."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from builders import refused
from ldpopt import native
from ldpopt.errors import LdpoptError
from ldpopt.native import (
    MOST_UNITS,
    Lengths,
    add_adjoint,
    in_units,
    kernel_tree,
    raise_to_products,
    write_rays,
)


@pytest.fixture
def unloaded():
    """The library is loaded again in the test, and once more afterwards."""
    native.library.cache_clear()
    yield
    native.library.cache_clear()


def test_a_missing_library_is_named_with_what_to_do(unloaded, monkeypatch, tmp_path):
    monkeypatch.setattr(native, "LIBRARY", tmp_path / "loops.bin")
    with refused("library", LdpoptError) as caught:
        native.library()
    assert caught.value.where == str(tmp_path / "loops.bin")
    assert "pip install -e ." in caught.value.do


def test_a_library_of_other_sources_is_refused(unloaded, monkeypatch, tmp_path):
    (tmp_path / "loops.bin").write_bytes(native.LIBRARY.read_bytes())
    monkeypatch.setattr(native, "LIBRARY", tmp_path / "loops.bin")
    native.library()  # without sources, as in a wheel of others
    native.library.cache_clear()
    (tmp_path / "ties.c").write_text("/* changed */")
    with refused("old-library", LdpoptError):
        native.library()


SQUARE = np.ones((3, 3))


@pytest.mark.parametrize(
    ("left", "right", "error"),
    [
        (SQUARE.astype(np.float32), SQUARE, TypeError),
        (SQUARE.tolist(), SQUARE, TypeError),
        (SQUARE, SQUARE.astype(int), TypeError),
        (SQUARE, np.ones((4, 3)), ValueError),
        (SQUARE, np.ones(9), ValueError),
        (SQUARE, np.ones((3, 3, 1)), ValueError),
        (np.ones((3, 6))[:, ::2], SQUARE, ValueError),
        (SQUARE, np.asfortranarray(SQUARE), ValueError),
    ],
)
def test_wrong_arrays_are_refused(left, right, error):
    with pytest.raises(error, match=r"left|right"):
        raise_to_products(left, right, np.zeros((3, 3)))


def test_an_array_that_is_written_must_not_be_read_only():
    found = np.zeros((3, 3))
    found.flags.writeable = False
    with pytest.raises(ValueError, match="found"):
        raise_to_products(SQUARE, SQUARE, found)
    with pytest.raises(ValueError, match="shorter"):
        raise_to_products(SQUARE, SQUARE)


def test_arrays_of_one_length_are_compared_and_may_be_read_only_if_they_are_not_written():
    first = np.array([0, 1])
    second = np.array([1, 0])
    ratio = np.array([0.5, 0.25])
    ties = np.array([[2.0, 4.0]])
    found = np.zeros((1, 2))
    for array in (first, second, ratio, ties):
        array.flags.writeable = False
    add_adjoint(first, second, ratio, ties, found)
    expected = np.zeros((1, 2))
    add_adjoint(*(array.copy() for array in (first, second, ratio, ties)), expected)
    assert found.any()
    assert np.array_equal(found, expected)
    for wrong in (np.array([1]), np.array([[1, 0]])):
        with pytest.raises(ValueError, match="second"):
            add_adjoint(first, wrong, ratio, ties, found)


@pytest.mark.parametrize("kind", [np.int8, np.int64, float])
def test_nodes_have_two_or_four_bytes(kind):
    with pytest.raises(TypeError, match="parent"):
        kernel_tree(0, SQUARE, np.zeros(3, kind), np.zeros(3))


def test_losses_of_other_inputs_are_refused():
    rows = np.zeros(5, np.int64), np.zeros(0, np.int32), np.zeros(0)
    lengths = Lengths(*rows, np.zeros((0, 0)), np.zeros((0, 0), np.uint16), 1.0, False)
    one = np.zeros(1, np.int64)
    sides = np.zeros((1, 3), np.int8)
    with pytest.raises(ValueError, match="4 nodes, not 3"):
        write_rays(one, one, np.zeros((1, 3), np.int16), sides, lengths, np.zeros((1, 3)))


@pytest.mark.parametrize("most", [1e-320, 1e-300, 0.7, 1e6])
def test_losses_in_units_are_rounded_down(most):
    table = np.random.default_rng(0).random((7, 7)) * most
    table[0, 1] = table[2, 2] = np.inf
    rough, unit = in_units(table)
    finite = np.isfinite(table)
    assert (rough[finite] * unit <= table[finite] * (1 + 1e-12)).all()
    assert (rough[finite] * unit >= table[finite] - 1.001 * unit).all()
    assert rough.max() == MOST_UNITS == rough[0, 1]
    assert np.isfinite(1 / unit)
    assert in_units(np.full((2, 2), np.inf))[1] > 0


def test_threads_run_loops_at_the_same_time():
    rng = np.random.default_rng(0)
    left = rng.random((50, 40))
    right = rng.random((40, 30))
    expected = (left[:, :, None] * right).max(axis=1)

    def product(_):
        found = np.zeros((50, 30))
        raise_to_products(left, right, found)
        return np.array_equal(found, expected)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(product, range(100)))
