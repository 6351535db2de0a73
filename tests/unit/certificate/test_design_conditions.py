"""What proves a design, part by part, against definitions in rationals and every set."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import pytest

from ldpopt.certificate import design_bound as check
from ldpopt.certificate import design_bound_elliptope as signs
from ldpopt.certificate.design_bound_elliptope import Inequalities
from ldpopt.certificate.integers import Rationals
from ldpopt.foundation.budget import Budget
from ldpopt.privacy.cones.rays import Rays

TINY = F(1, 10**30)


def columns(n: int, base: F) -> list[Any]:
    """``v = base + (1 - base) 1_A`` of every set."""
    return [np.array([base + (1 - base) * inside for inside in part]) for part in product((0, 1), repeat=n)]


def exactly(array: Any, denominator: int = 1) -> Rationals:
    return Rationals(np.array(array, dtype=object), denominator)


def rational(given: Rationals) -> Any:
    return given.whole * F(1, given.denominator)


def scaled(given: Rationals, factor: F) -> Rationals:
    return Rationals(given.whole * factor.numerator, given.denominator * factor.denominator)


def worst(form: Any, line: Any, weights: Any, vs: Any) -> F:
    """Largest ``v N v / ((y.v)(r.v))``."""
    return max((v @ form @ v) / ((line @ v) * (weights @ v)) for v in vs)


def drawn(rng: Any, n: int) -> tuple[Rationals, Rationals, Rationals]:
    """A positive form, a line and weights, over three denominators."""
    half = rng.integers(-5, 6, (n, n)).astype(object)
    return exactly(half @ half.T, 3), exactly(rng.integers(1, 9, n).tolist(), 5), exactly(rng.integers(1, 9, n), 7)


# By signs.


def inequalities_of(rng: Any, n: int) -> Inequalities:
    return Inequalities(rng.integers(0, 9, (n, n)) / 4, int(rng.integers(0, n + 1)), int(rng.integers(1, 9)) / 16)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_taken_off_is_of_pairs_and_sizes(seed: int) -> None:
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
def test_multipliers_that_are_negative_or_no_number_take_nothing_off(odd: float) -> None:
    weights, line = exactly([1, 1]), exactly([9, 9])
    for pairs, factor in (([[0.0, odd], [0.0, 0.0]], 0.0), (np.zeros((2, 2)), odd)):
        given = Inequalities(np.array(pairs), 1, factor)
        assert given.exact() is None
        assert not signs.is_positive(exactly([[1, 0], [0, 1]]), line, weights, F(1, 2), np.zeros(3), given)
    below = Inequalities(np.array([[odd, 0.0], [odd, odd]]), 1, 0.0)
    assert below.exact() is not None  # the rest is not read


@pytest.mark.parametrize("seed", range(8))
def test_costs_in_signs_are_those_of_every_set(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the diagonal: ``(y.v)(r.v) - v N v`` less what is taken, times a number above 0."""
    rng = np.random.default_rng(seed)
    n, base = 1 + seed % 4, [F(1, 3), F(9, 10)][seed % 2]
    form, line, weights = drawn(rng, n)
    taken = inequalities_of(rng, n) if seed >= 4 else None
    exact = taken.exact() if taken else None
    off = rational(exact) if exact else np.zeros((n + 1, n + 1), dtype=object)
    cases = []
    for part, v in zip(product((0, 1), repeat=n), columns(n, base), strict=True):
        z = np.array([1, *(2 * inside - 1 for inside in part)], dtype=object)
        cases.append((z, (rational(line) @ v) * (rational(weights) @ v) - v @ rational(form) @ v - z @ off @ z))

    def priced(shift: Any) -> Any:
        seen: list[Any] = []
        monkeypatch.setattr(signs, "is_semidefinite", lambda matrix: bool(seen.append(matrix)) or True)
        assert signs.is_positive(form, line, weights, base, shift, taken)
        units = {F(int(z @ seen[0] @ z)) / plain for z, plain in cases}
        assert len(units) == 1
        assert min(units) > 0
        assert (seen[0] == seen[0].T).all()
        return seen[0] / min(units)

    shift, x = rng.integers(-9, 10, n + 1) / 8, int(rng.integers(1, n + 1))
    more = priced(shift + np.eye(n + 1)[x] * 0.75) - priced(shift)
    assert np.array_equal(more, F(3, 4) * (np.diag(np.arange(n + 1) == x).astype(int) - np.diag(np.arange(n + 1) == 0)))


def by_elimination(matrix: Any) -> bool:
    """By elimination in rationals."""
    rows = [[F(int(entry)) for entry in row] for row in matrix]
    while rows:
        pivot, *first = rows[0]
        if pivot < 0 or (pivot == 0 and any(first)):
            return False
        rows = [
            [e - (row[0] * o / pivot if pivot else 0) for e, o in zip(row[1:], first, strict=True)] for row in rows[1:]
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
        bent = np.vstack([whole, np.append(whole[:, -1], vector @ gram @ vector - max(1, int(gram[0, 0]) >> share))])
        assert not by_elimination(bent)
        assert not signs.is_semidefinite(bent)
    assert not signs.is_semidefinite(-gram)
    assert not signs.is_semidefinite(np.array([[1 << size, 2 << size], [2 << size, 1 << size]], dtype=object))
    assert not signs.is_semidefinite(np.array([[-1, 0], [0, 1 << size]], dtype=object))


def test_a_wrong_factor_in_floats_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Floats propose, integers decide."""
    matrix = np.array([[4 if i == j else 1 for j in range(3)] for i in range(3)], dtype=object)
    assert signs.is_semidefinite(matrix)
    right = signs.cholesky
    for change in (lambda f: 0.9 * f, lambda f: 1.1 * f, lambda f: f + 0.01 * (f == 0)):
        monkeypatch.setattr(signs, "cholesky", lambda floats, lower, change=change: change(right(floats, lower=lower)))
        assert signs.is_semidefinite(matrix) == (change(1.0) < 1)
    last = np.diag([0.0, 0.0, 0.1])
    monkeypatch.setattr(signs, "cholesky", lambda floats, lower: right(floats, lower=lower) + last)
    assert not signs.is_semidefinite(matrix)


# By rays.


def test_entries_are_known_from_below() -> None:
    """To ``RELATIVE`` bits and ``ROUNDED`` units of the last one, as the proof has it."""
    for budget, unit in ((Budget(0.3), F(1, 7)), (Budget("log(3)"), F(1)), (Budget(2**-9), F(1))):
        table = check._Exponentials(Rays(budget, unit, np.zeros((1, 1), int)), 300)
        for size in (0, 1, 40, 255, 256, 257, 511, 700, 65536 // 300, 1000):
            low, high = (1 / end for end in reversed(budget.enclosure(unit * size)))
            found = F(int(table.of(np.array([[size]]))[0, 0]), 1 << 300)
            assert found <= high
            assert low <= found * (1 + F(1, 1 << check.RELATIVE)) + F(check.ROUNDED, 1 << 300)
        assert table.of(np.array([[check.ZERO, 0], [0, 0]])).tolist() == [[0, 1 << 300], [1 << 300, 1 << 300]]


@pytest.mark.parametrize("depth", [0, 100])
@pytest.mark.parametrize("weights", [[0, 5], [3, 3]])
def test_a_ray_that_may_cost_more_is_refused(depth: int, weights: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One entry is as far below as it may be, the other such that the ray costs too much by a last bit."""
    rays, r = Rays(Budget(1.0), F(1), np.array([[0, depth]])), exactly(weights, 5)
    for form, line in (
        (exactly([[4, 0], [0, 0]], 3), exactly([0, 3], 2)),
        (exactly([[0, 0], [0, 0]], 1000), exactly([-3, 3], 2)),
        (exactly([[0, 700], [700, 0]], 1000), exactly([0, 3], 2)),
        (exactly([[10**9, -(10**9)], [-(10**9), 10**9]], 1000), exactly([0, 3], 2)),
    ):

        def spare(v: Any, form: Rationals = form, line: Rationals = line) -> F:
            return (rational(line) @ v) * (rational(r) @ v) - v @ rational(form) @ v

        def found(self: Any, below: Any, spare: Any = spare) -> Any:
            first, low, high = F(1 << self.bits), 1 << (self.bits // 2), 1 << self.bits
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if spare(np.array([first, F(middle)])) >= 0 else (middle, high)
            assert spare(np.array([first, F(low)])) < 0
            least = int((first - check.ROUNDED) / (1 + F(1, 1 << check.RELATIVE)))
            return np.array([[least + 1, low]], dtype=object)

        monkeypatch.setattr(check._Exponentials, "of", found)
        assert not check._rays_hold(form, line, r, rays)


@pytest.mark.parametrize("budget", [Budget(0.3), Budget("log(3)"), Budget(30.0)])
def test_rays_hold_up_to_little(budget: Budget) -> None:
    """Entries 1 and ``exp(-epsilon)``: the cost of one, and what it may be."""
    rays = Rays(budget, F(1), np.array([[1, 0], [0, 1], [0, 0]]))
    form, weights, base = exactly([[1, 0], [0, 0]], 3), exactly([1, 2], 7), 1 / budget.enclosure()[0]
    line = exactly([2, 1], 5)
    vs = [np.array(v) for v in ((base, F(1)), (F(1), base), (F(1), F(1)))]
    most = 1 / worst(rational(form), rational(line), rational(weights), vs)
    for factor, holds in ((most * (1 - F(1, 1 << 150)), True), (most, False), (most * (1 + F(1, 1 << 150)), False)):
        assert check._rays_hold(scaled(form, factor), line, weights, rays) == holds
