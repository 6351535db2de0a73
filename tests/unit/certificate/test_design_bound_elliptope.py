"""The condition for all sets as a semidefinite form: against definitions in rationals and every
set."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import pytest

from ldpopt.certificate import design_bound_elliptope as signs
from ldpopt.certificate.design_bound_elliptope import Inequalities
from ldpopt.certificate.integers import Rationals


def columns(n: int, base: F) -> list[Any]:
    """``v = base + (1 - base) 1_A`` of every set."""
    return [
        np.array([base + (1 - base) * inside for inside in part])
        for part in product((0, 1), repeat=n)
    ]


def exactly(array: Any, denominator: int = 1) -> Rationals:
    return Rationals(np.array(array, dtype=object), denominator)


def rational(given: Rationals) -> Any:
    return given.whole * F(1, given.denominator)


def drawn(rng: Any, n: int) -> tuple[Rationals, Rationals, Rationals]:
    """A positive form, a line and weights, over three denominators."""
    half = rng.integers(-5, 6, (n, n)).astype(object)
    return (
        exactly(half @ half.T, 3),
        exactly(rng.integers(1, 9, n).tolist(), 5),
        exactly(rng.integers(1, 9, n), 7),
    )


def inequalities_of(rng: Any, n: int) -> Inequalities:
    return Inequalities(
        rng.integers(0, 9, (n, n)) / 4, int(rng.integers(0, n + 1)), int(rng.integers(1, 9)) / 16
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_form_of_the_inequalities_is_their_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 1 + seed % 4
    given = inequalities_of(rng, n)
    found = given.exact()
    assert found is not None
    assert (given.form == rational(found).astype(float)).all()
    assert (given.times(0.5).form == given.form / 2).all()
    for part in product((0, 1), repeat=n):
        z = np.array([1, *(2 * inside - 1 for inside in part)], dtype=object)
        both = sum(F(given.pairs[x, y]) for y in range(n) for x in range(y) if part[x] and part[y])
        number = sum(part) - given.size
        assert z @ rational(found) @ z == both + F(given.factor) * number * (number - 1)


@pytest.mark.parametrize("odd", [-5e-324, float("inf"), float("nan")])
def test_negative_or_infinite_multipliers_of_inequalities_are_refused(odd: float) -> None:
    weights = exactly([1, 1])
    line = exactly([9, 9])
    for pairs, factor in (([[0.0, odd], [0.0, 0.0]], 0.0), (np.zeros((2, 2)), odd)):
        given = Inequalities(np.array(pairs), 1, factor)
        assert given.exact() is None
        assert not signs.is_positive(
            exactly([[1, 0], [0, 1]]), line, weights, F(1, 2), np.zeros(3), given
        )
    below = Inequalities(np.array([[odd, 0.0], [odd, odd]]), 1, 0.0)
    assert below.exact() is not None  # the rest is not read


@pytest.mark.parametrize("seed", range(8))
def test_costs_in_signs_are_those_of_every_set(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the diagonal: ``(y.v)(r.v) - v N v`` less what is taken, times a number above 0."""
    rng = np.random.default_rng(seed)
    n = 1 + seed % 4
    base = [F(1, 3), F(9, 10)][seed % 2]
    form, line, weights = drawn(rng, n)
    taken = inequalities_of(rng, n) if seed >= 4 else None
    exact = taken.exact() if taken else None
    off = rational(exact) if exact else np.zeros((n + 1, n + 1), dtype=object)
    cases = []
    for part, v in zip(product((0, 1), repeat=n), columns(n, base), strict=True):
        z = np.array([1, *(2 * inside - 1 for inside in part)], dtype=object)
        cases.append(
            (
                z,
                (rational(line) @ v) * (rational(weights) @ v)
                - v @ rational(form) @ v
                - z @ off @ z,
            )
        )

    def priced(shift: Any) -> Any:
        seen: list[Any] = []
        monkeypatch.setattr(
            signs, "is_semidefinite", lambda matrix: bool(seen.append(matrix)) or True
        )
        assert signs.is_positive(form, line, weights, base, shift, taken)
        units = {F(int(z @ seen[0] @ z)) / plain for z, plain in cases}
        assert len(units) == 1
        assert min(units) > 0
        assert (seen[0] == seen[0].T).all()
        return seen[0] / min(units)

    shift = rng.integers(-9, 10, n + 1) / 8
    x = int(rng.integers(1, n + 1))
    more = priced(shift + np.eye(n + 1)[x] * 0.75) - priced(shift)
    assert np.array_equal(
        more,
        F(3, 4) * (np.diag(np.arange(n + 1) == x).astype(int) - np.diag(np.arange(n + 1) == 0)),
    )


def by_elimination(matrix: Any) -> bool:
    """By elimination in rationals."""
    rows = [[F(int(entry)) for entry in row] for row in matrix]
    while rows:
        pivot, *first = rows[0]
        if pivot < 0 or (pivot == 0 and any(first)):
            return False
        rows = [
            [e - (row[0] * o / pivot if pivot else 0) for e, o in zip(row[1:], first, strict=True)]
            for row in rows[1:]
        ]
    return True


@pytest.mark.parametrize("size", [0, 60, 700, 3000])
@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_a_matrix_that_is_called_semidefinite_is(n: int, size: int) -> None:
    rng = np.random.default_rng(n)
    half = rng.integers(-(2**20), 2**20, (n, n)).astype(object)
    powers = np.array([1 << (size * x // n) for x in range(n)], dtype=object)
    gram = (half @ half.T << 60) * powers * powers[:, None]
    own = np.diag(np.diag(gram))
    assert signs.is_semidefinite(gram + (own >> 20))
    vector = rng.integers(-3, 4, n).astype(object)
    for share in (24, 40, 45, 50, 55, 60, 70):  # a direction of cost 0, less a share
        whole = np.hstack([gram, (gram @ vector)[:, None]])
        bent = np.vstack(
            [
                whole,
                np.append(whole[:, -1], vector @ gram @ vector - max(1, int(gram[0, 0]) >> share)),
            ]
        )
        assert not by_elimination(bent)
        assert not signs.is_semidefinite(bent)
    assert not signs.is_semidefinite(-gram)
    assert not signs.is_semidefinite(
        np.array([[1 << size, 2 << size], [2 << size, 1 << size]], dtype=object)
    )
    assert not signs.is_semidefinite(np.array([[-1, 0], [0, 1 << size]], dtype=object))


def test_a_wrong_factor_in_floats_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Floats propose, integers decide."""
    matrix = np.array([[4 if i == j else 1 for j in range(3)] for i in range(3)], dtype=object)
    assert signs.is_semidefinite(matrix)
    import scipy.linalg

    right = scipy.linalg.cholesky
    for change in (lambda f: 0.9 * f, lambda f: 1.1 * f, lambda f: f + 0.01 * (f == 0)):
        monkeypatch.setattr(
            scipy.linalg,
            "cholesky",
            lambda floats, lower, change=change: change(right(floats, lower=lower)),
        )
        assert signs.is_semidefinite(matrix) == (change(1.0) < 1)
    last = np.diag([0.0, 0.0, 0.1])
    monkeypatch.setattr(
        scipy.linalg, "cholesky", lambda floats, lower: right(floats, lower=lower) + last
    )
    assert not signs.is_semidefinite(matrix)
