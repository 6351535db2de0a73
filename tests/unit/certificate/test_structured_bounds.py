"""What proves a design for a single mean or for marginals, part by part, against definitions in
rationals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from itertools import product
from math import isqrt
from typing import Any

import numpy as np
import pytest

from builders import thorough_or
from ldpopt.certificate.design_bound_mean import (
    MeanBound,
    all_hold,
    compare_roots,
    exact_sign,
    rounded_root,
)
from ldpopt.certificate.design_bound_product import ProductBound, Spectrum
from ldpopt.certificate.design_statement import AnswerClasses, Statement
from ldpopt.certificate.integers import Rationals
from ldpopt.certificate.scheme import Scheme
from ldpopt.errors import ModelFileError
from ldpopt.foundation.documents import Entry


def columns(n: int, base: F) -> list[Any]:
    """``v = base + (1 - base) 1_A`` of every set."""
    return [
        np.array([base + (1 - base) * inside for inside in part])
        for part in product((0, 1), repeat=n)
    ]


def fractions(array: Any) -> Any:
    return np.array([F(float(value)) for value in np.ravel(array)], dtype=object).reshape(
        np.shape(array)
    )


def rational(given: Rationals) -> Any:
    return given.whole * F(1, given.denominator)


# Means.


def sign_of(a: int, b: int, d: int, c: int, e: int) -> int:
    """By 400 digits of the roots, which tell all these numbers from 0."""
    unit = 10**400
    rough = a * unit + b * isqrt(d * unit**2) + c * isqrt(e * unit**2)
    return 0 if abs(rough) <= abs(b) + abs(c) else 1 if rough > 0 else -1


@pytest.mark.parametrize("most", [3, 12, 10**6])
def test_signs_of_sums_of_roots(most: int) -> None:
    rng = np.random.default_rng(most)
    for a, b, d, c, e in rng.integers(-most, most + 1, (thorough_or(200, 1500), 5)).tolist():
        d, e = abs(d), abs(e)
        near = [(a, b, d, c, e), (a, b, d, c, d), (a, b, d, -b, d), (a, b, d * d, c, e * e)]
        near += [(-b * d - c * e, b, d * d, c, e * e), (a, -1, a * a, 0, e), (a, 0, d, -1, a * a)]
        near += [
            (-b * isqrt(d) - c * isqrt(e), b, d, c, e),
            (1 - b * isqrt(d) - c * isqrt(e), b, d, c, e),
        ]
        for case in near:
            assert exact_sign(*case) == sign_of(*case), case


def test_roots_are_put_in_order_exactly() -> None:
    large = 10**140
    for sign in (-1, 1):
        one = rounded_root(1, sign, 2, 1, 0, True)
        two = rounded_root(2, sign, 8, 2, 1, True)
        assert compare_roots(one, two) == compare_roots(two, one) == 0
        one = rounded_root(0, sign, large, 1, 0, True)
        two = rounded_root(0, sign, large + 1, 1, 1, True)
        assert compare_roots(one, two) == -sign == -compare_roots(two, one)
        one = rounded_root(5, sign, 2, 3, 0, True)
        two = rounded_root(7, sign, 2, 3, 1, True)
        assert compare_roots(one, two) == -1 == -compare_roots(two, one)


@pytest.mark.parametrize("base", [F(1, 3), F(1, 50), F(9, 10)])
@pytest.mark.parametrize("seed", range(thorough_or(5, 40)))
def test_slopes_without_weight_hold_up_to_equality(seed: int, base: F) -> None:
    rng = np.random.default_rng(seed)
    n = 2 + seed % 4
    k, y, r = (
        part.astype(object) for part in rng.integers([[-8], [1], [0]], [[9], [9], [3]], (3, n))
    )
    r[0] += 1
    y[-1] = y[-1] * [1, -1][seed % 2]
    vs = columns(n, base)
    if min(y @ v for v in vs) <= 0:
        assert all_hold(k, y, r, base) == all(
            y @ v >= 0 and (k @ v) ** 2 <= (y @ v) * (r @ v) for v in vs
        )
        return
    most = max((k @ v) ** 2 / ((y @ v) * (r @ v)) for v in vs)
    for factor, holds in ((most, True), (most * (1 - F(1, 10**30)), most == 0)):
        p, q = factor.numerator, factor.denominator
        assert all_hold(q * k, p * y, q * r, base) == holds


@pytest.mark.parametrize("y", [[1, -3], [1, -2]])
def test_negative_lines_do_not_hold(y: Any) -> None:
    none = np.array([0, 0], dtype=object)
    base = F(1, 2) if y[1] == -3 else F(9, 10)
    for r in ([1, 1], [1, 0], [0, 1]):
        assert not all_hold(none, np.array(y, dtype=object), np.array(r, dtype=object), base)
        assert all_hold(
            none, np.array([2, y[1] // 3], dtype=object), np.array(r, dtype=object), base
        )


def mean_statement(rng: Any, n: int) -> tuple[Any, Any, Statement]:
    """Numbers, weights, and rows that are multiples of the numbers plus constants."""
    numbers = rng.permutation(np.arange(n) ** 2 + rng.integers(0, 2, n) * 0.5) / 4
    weights = rng.integers(1, 6, n).astype(float)
    matrix = np.outer([2.0, -1.5], numbers) + np.array([[1.0], [3.0]])
    return numbers, weights, Statement.of(matrix, weights, AnswerClasses.of(matrix))


@pytest.mark.parametrize("seed", range(24))
def test_a_line_holds_if_and_only_if_it_holds_for_every_set(seed: int) -> None:
    """Near the threshold, to ``2**-30``."""
    rng = np.random.default_rng(seed)
    n = 2 + seed % 4
    base = [F(1, 3), F(1, 50), F(9, 10)][seed % 3]
    numbers, weights, statement = mean_statement(rng, n)
    k = rng.integers(-8, 9, n) / 8
    y = rng.integers(1, 9, n) / 4
    r = fractions(weights) / F(float(weights.sum()))
    vs = columns(n, base)
    k[0] = k[0] or 1.0
    if seed % 4 == 0:
        k[-1], y[-1] = k[0], y[0]
    most = max((fractions(k) @ v) ** 2 / ((fractions(y) @ v) * (r @ v)) for v in vs)
    for factor, holds in (
        (1 + F(1, 2**30), True),
        (1 - F(1, 2**30), False),
        (F(1, 2), False),
        (F(2), True),
    ):
        line = y * float(most * factor)
        true = all((fractions(k) @ v) ** 2 <= (fractions(line) @ v) * (r @ v) for v in vs)
        given = MeanBound(numbers, k, line)
        assert given.holds(statement, base) == true == holds
        # two numbers are a multiple of any two
        other = replace(given, numbers=numbers + np.eye(n)[0])
        assert n == 2 or not other.holds(statement, base)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_a_mean_is_that_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 3 + seed
    numbers = rng.permutation(np.arange(n) ** 2) / 4
    weights = rng.integers(1, 6, n).astype(float)
    matrix = np.outer([2.0, -1.5], numbers) + 1.0
    statement = Statement.of(matrix, weights, AnswerClasses.of(matrix))
    r = fractions(weights) / F(float(weights.sum()))
    w = fractions(numbers)
    centered = w - r @ w
    factor = F(2) ** 2 + F(3, 2) ** 2
    spread = factor * (r @ centered**2)
    assert spread == statement.spread
    k = rng.integers(-8, 9, n) / 8
    y = rng.integers(1, 9, n) / 4
    given = MeanBound(numbers, k, y)
    assert (
        given.value(statement)
        == factor * (2 * fractions(k) @ centered - fractions(y).sum()) - spread
    )
    enough = replace(given, slope=k / 1024, line=y * 1e6)
    assert enough.holds(statement, F(1, 3))
    for wrong in (numbers + 2.0**-40 * np.eye(n)[0], np.zeros(n), numbers[1:]):
        assert not replace(enough, numbers=wrong).holds(statement, F(1, 3))
    assert replace(enough, numbers=numbers + 5.0).holds(statement, F(1, 3))
    one = np.arange(n)[None] ** 3.0 + numbers
    assert not enough.holds(Statement.of(one, weights, AnswerClasses.of(one)), F(1, 3))


# Marginals.


def projections(sizes: tuple[int, ...]) -> dict[tuple[int, ...], Any]:
    """``E_T`` of every set of attributes, in rationals."""
    found = {}
    for kept in np.ndindex(*(2,) * len(sizes)):
        whole = np.full((1, 1), F(1), dtype=object)
        for stays, size in zip(kept, sizes, strict=True):
            flat = np.full((size, size), F(1, size), dtype=object)
            whole = np.kron(
                whole, np.array(np.eye(size, dtype=int), dtype=object) - flat if stays else flat
            )
        found[kept] = whole
    return found


def product_statement(sizes: tuple[int, ...], mu: Any) -> Statement:
    """With eigenvalues that are squares: the rows are the projections times the roots."""
    n = int(np.prod(sizes))
    rows = (
        sum(
            isqrt(value) * part for value, part in zip(mu, projections(sizes).values(), strict=True)
        )
        * n
    )
    return Statement.of(np.array(rows, dtype=float), np.ones(n))


def spectrum_of(statement: Statement, sizes: tuple[int, ...]) -> Spectrum:
    found = Spectrum.of(statement, Scheme(sizes))
    assert found is not None
    assert not found.beside
    return found


CASES = [
    ((4,), [0, 16]),
    ((2, 3), [0, 4, 1, 16]),
    ((3, 2), [0, 4, 0, 16]),
    ((2, 2, 2), [0, 4, 1, 16, 1, 4, 4, 1]),
]


@pytest.mark.parametrize(("sizes", "mu"), CASES)
@pytest.mark.parametrize("base", [F(0), F(1, 3), F(1, 50), F(9, 10)])
def test_the_least_level_is_that_of_every_set(sizes: Any, mu: Any, base: F) -> None:
    statement = product_statement(sizes, mu)
    spectrum = spectrum_of(statement, sizes)
    scale = F(spectrum.mu[-1], mu[-1])
    assert list(spectrum.mu) == [scale * value for value in mu]
    sigma = fractions([0.0] + [1 / m**0.5 if m else 0.0 for m in mu[1:]])
    s = sum(value * part for value, part in zip(sigma, projections(sizes).values(), strict=True))
    form = s @ rational(statement.gram) @ s
    n = len(s)
    told = max((v @ form @ v) * n / v.sum() ** 2 for v in columns(n, base) if any(v))
    least = spectrum.least_level(sigma, base)
    assert least >= told
    assert least == told or 0 in mu[1:]
    assert spectrum.least_level(2 * sigma, base) == 4 * least
    assert spectrum.least_level(-sigma, base) == least
    assert spectrum.least_level(np.append(sigma[:-1], 3 * sigma[-1]), base) == 9 * least
    level = float(least)
    for given in (np.nextafter(level, 0), level, np.nextafter(level, np.inf)):
        found = ProductBound(sizes, sigma.astype(float), float(given))
        assert found.holds(statement, base) == (F(float(given)) >= least)
        trace = (s @ rational(statement.gram)).trace()
        assert found.value(statement) == 2 * trace - n * F(float(given)) - statement.spread


@pytest.mark.parametrize("base", [F(1, 10**6), F(1, 3), F(99, 100)])
def test_two_sizes_next_to_each_other_decide(base: F) -> None:
    for n in (2, 3, 10, 31):
        spectrum = Spectrum(Scheme((n,)), (F(0), F(1)), F(0))
        every = max(F(k * (n - k)) / (base * n + (1 - base) * k) ** 2 for k in range(1, n))
        assert spectrum.least_level((F(0), F(1)), base) == (1 - base) ** 2 * every


@pytest.mark.parametrize(("sizes", "mu"), CASES)
def test_the_best_multipliers_are_the_best_multiple(sizes: Any, mu: Any) -> None:
    statement = product_statement(sizes, mu)
    base = F(1, 3)
    spectrum = spectrum_of(statement, sizes)
    best = ProductBound.best(spectrum, base)
    assert best.holds(statement, base)
    for factor in (0.99, 1.01):
        sigma = factor * best.eigenvalues
        other = ProductBound(sizes, sigma, float(spectrum.least_level(fractions(sigma), base)))
        assert other.value(statement) < best.value(statement)


def test_other_weights_and_sizes_have_no_level() -> None:
    statement = product_statement((2, 3), [0, 4, 1, 16])
    for sizes, is_in in (((2, 3), True), ((3, 2), False), ((6,), False)):
        found = Spectrum.of(statement, Scheme(sizes))
        assert found is not None
        assert (found.beside == 0) == is_in
    assert Spectrum.of(statement, Scheme((2, 2))) is None
    uneven = Statement(
        statement.rows, statement.unit, Rationals(np.array([2, 1, 1, 1, 1, 1], dtype=object), 7)
    )
    assert Spectrum.of(uneven, Scheme((2, 3))) is None
    assert not ProductBound((2, 3), np.ones(4), 1e9).holds(uneven, F(1, 2))


@pytest.mark.parametrize(
    ("sizes", "holds"),
    [([6], True), ([2, 3], True), ([3, 2], True), ([1, 6], False), ([2, 2], False), ([7], False)],
)
def test_sizes_make_all_answers(sizes: list[int], holds: bool) -> None:
    numbers = [0.5] * 2 ** len(sizes)
    values = {"sizes": sizes, "eigenvalues": numbers, "level": 2.0}
    table = Entry(values, "file")
    if holds:
        found = ProductBound.read(table, 6)
        assert (found.sizes, found.eigenvalues.tolist(), found.level) == (
            tuple(sizes),
            numbers,
            2.0,
        )
        assert found.plain() == values
    else:
        with pytest.raises(ModelFileError):
            ProductBound.read(table, 6)


@pytest.mark.parametrize("sizes", [(2, 3, 4), (2, 2, 3), (5,)])
def test_eigenvalues_and_energies_are_those_of_the_projections(sizes):
    scheme = Scheme(sizes)
    n = int(np.prod(sizes))
    rng = np.random.default_rng(0)
    values = rng.random(scheme.shape)
    form = scheme.matrix(values)
    assert np.allclose(scheme.eigenvalues(form), values)
    assert np.trace(form) == pytest.approx(np.sum(values * scheme.ranks))
    functions = rng.random((3, n))
    energies = scheme.energies(functions)
    for part in product((0, 1), repeat=len(sizes)):
        one = np.zeros(scheme.shape)
        one[part] = 1
        projection = scheme.matrix(one)
        assert np.allclose(projection @ projection, projection)
        assert np.allclose(
            np.einsum("ax,xy,ay->a", functions, projection, functions) / n,
            energies[(slice(None), *part)],
        )
    assert scheme.eigenvalues(form + np.diag(np.arange(n))) is None


@pytest.mark.parametrize("sizes", [(2, 3), (3, 3), (2, 2, 3)])
@pytest.mark.parametrize("base", [F(1, 3), F(1, 50)])
def test_pairs_bound_the_cost_of_every_set_whatever_is_raised(sizes: Any, base: F) -> None:
    scheme = Scheme(sizes)
    rng = np.random.default_rng(len(sizes))
    sets = (np.arange(1, 2**scheme.n)[:, None] >> np.arange(scheme.n)) & 1
    energies = scheme.energies(sets.astype(float)).reshape(len(sets), -1)
    shares = sets.mean(axis=1)
    for _ in range(6):
        mu = (F(0), *(F(int(entry)) for entry in rng.integers(0, 9, 2 ** len(sizes) - 1)))
        spectrum = Spectrum(scheme, mu, F(int(rng.integers(0, 2)), 5))
        sigma = fractions(np.append(0.0, rng.random(len(mu) - 1)))
        costs = energies @ np.array(
            [float(s * s * (m + spectrum.beside)) for s, m in zip(sigma, mu, strict=True)]
        )
        told = (
            (1 - float(base)) ** 2 * costs / (float(base) + (1 - float(base)) * shares) ** 2
        ).max()
        for _ in range(6):
            raised = fractions(rng.random(len(mu)) * 9 - np.append(4.0, np.zeros(len(mu) - 1)))
            assert spectrum.least_by_pairs(sigma, raised, base) >= told * (1 - 1e-12)
        most = max(s * s * (m + spectrum.beside) for s, m in zip(sigma, mu, strict=True))
        plain = Spectrum(scheme, (F(0), *[F(1)] * (len(mu) - 1)), F(0)).least_level(
            [F(1)] * len(mu), base
        )
        assert spectrum.least_by_pairs(sigma, [most] * len(mu), base) == most * plain
