"""What a design's proof claims is compared to the last digit: costs of sets, values, biases, bounds
and gaps."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from builders import refused
from ldpopt import Workload
from ldpopt.certificate import design_bound as proof
from ldpopt.certificate.design_bound import FormBound, NoBound
from ldpopt.certificate.design_bound_product import ProductBound, Spectrum
from ldpopt.certificate.design_statement import (
    AnswerClasses,
    DesignValue,
    Statement,
    value_of,
    with_first_row,
)
from ldpopt.certificate.integers import Rationals
from ldpopt.certificate.scheme import Scheme
from ldpopt.errors import CertificateError, ModelFileError
from ldpopt.foundation.budget import Budget, round_up
from ldpopt.foundation.documents import Entry
from ldpopt.privacy.cones.rays import Rays

NOTHING = FormBound(np.zeros((3, 3)), np.zeros(3))


def statement(matrix, weights):
    matrix = np.array(matrix, dtype=float)
    return Statement.of(matrix, np.array(weights, dtype=float), AnswerClasses.of(matrix))


PREFIX = statement([[1, 0, 0], [1, 1, 0]], [0.5, 0.25, 0.25])


@pytest.mark.parametrize(
    "value", [2, 4, Fraction(1, 3), 10**200, 10**200 + 1, Fraction(1, 10**150), Fraction(9, 4), 0]
)
def test_a_bias_is_rounded_up(value):
    bias = DesignValue(Fraction(1), Fraction(value), Fraction(0)).bias
    assert value <= bias**2 <= value * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize(
    "matrix",
    [
        [[2**26 - 1, -3], [2**26, 5]],
        [[2**27 + 1, 1], [2**27 - 1, 7]],
        [[0.5, 3], [1, 2]],
        [[1e-9, 1e9], [3, 3]],
    ],
)
def test_the_gram_matrix_is_exact(matrix):
    rows = [[Fraction(entry) for entry in row] for row in matrix]
    r = [Fraction(1, 3), Fraction(2, 3)]
    centered = [[entry - sum(map(Fraction.__mul__, r, row)) for entry in row] for row in rows]
    plain = [[sum(row[i] * row[j] for row in centered) for j in range(2)] for i in range(2)]
    gram = Statement.of(np.array(matrix, dtype=float), np.array([1.0, 2.0])).gram
    assert [
        [Fraction(entry, gram.denominator) for entry in row] for row in gram.whole.tolist()
    ] == plain


@pytest.mark.parametrize("constant", [1.0, 2.0**40, -3.0])
def test_constants_change_no_statement(constant):
    matrix = np.array([[0.5, 3, 1], [1, 2, 7]])
    weights = np.array([1.0, 2.0, 3.0])
    one = Statement.of(matrix, weights)
    two = Statement.of(matrix + constant, weights)
    assert np.array_equal(one.rows.whole() * two.unit, two.rows.whole() * one.unit)
    assert one.spread == two.spread


def costs(given, inverse, base):
    """``v N v`` and ``r v`` of the columns of all sets, number by number."""
    n = len(inverse)
    gram = given.gram.whole * Fraction(1, given.gram.denominator)
    s = np.array([[Fraction(entry) for entry in row] for row in inverse])
    form = s.T @ gram @ s
    for chosen in itertools.product([False, True], repeat=n):
        v = np.array([Fraction(1) if chosen[x] else base for x in range(n)])
        yield v @ form @ v, (given.weights.whole @ v) / Fraction(given.weights.denominator)


@pytest.mark.parametrize("base", [Fraction(1, 3), Fraction(1, 10**6), Fraction(9, 10)])
@pytest.mark.parametrize("seed", range(3))
def test_one_unit_of_the_line_decides_whether_all_sets_cost_no_more(base, seed):
    inverse = np.random.default_rng(seed).integers(-9, 10, (3, 3)) / 4
    weights = np.array([0.5, 0.25, 0.25])
    least = max(cost / mass**2 for cost, mass in costs(PREFIX, inverse, base))  # of t in y = t r
    enough = round_up(least)
    assert FormBound(inverse, enough * weights).holds(PREFIX, base)
    assert not FormBound(inverse, np.nextafter(enough, 0) * weights).holds(PREFIX, base)


def test_costs_that_are_just_the_allowed_ones_hold():
    assert NOTHING.holds(PREFIX, Fraction(1, 3))


@pytest.mark.parametrize("no_number", [np.nan, np.inf, -np.inf])
def test_multipliers_that_are_no_numbers_prove_nothing(no_number):
    """They were read as if they were whole numbers."""
    line = np.array([1.0, 1.0, 1.0])
    assert FormBound(np.zeros((3, 3)), line).holds(PREFIX, Fraction(1, 3))
    assert not FormBound(np.full((3, 3), no_number), line * 1e60).holds(PREFIX, Fraction(1, 3))
    line[0] = abs(no_number)
    assert not FormBound(np.zeros((3, 3)), line).holds(PREFIX, Fraction(1, 3))


def test_sets_are_listed_up_to_the_limit(monkeypatch):
    multipliers = FormBound(np.eye(3), np.array([50.0, 25.0, 25.0]))
    for most, holds in ((3, True), (2, False)):
        monkeypatch.setattr(proof, "LISTED", most)
        assert multipliers.holds(PREFIX, Fraction(1, 3)) == holds


@pytest.mark.parametrize("kind", [np.int64, object])
@pytest.mark.parametrize("n", range(1, 8))
def test_values_of_all_sets_by_half_are_those_of_each_set(n, kind):
    rng = np.random.default_rng(n)
    upper = np.triu(rng.integers(-99, 100, (n, n))).astype(kind)
    constant = int(rng.integers(-99, 100))
    every = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    value = constant + ((every @ upper) * every).sum(axis=1)
    found, numbers = proof.least_by_half(constant, upper)
    assert (found == value.reshape(-1, 2 ** (n // 2)).min(axis=1)).all()
    assert (value[numbers] == found).all()


def test_all_sets_of_24_answers_are_checked():
    n = 24
    base = Fraction(1, 3)
    alike = Statement.of(np.eye(n), np.ones(n))
    # A set of k answers costs v N v = 4 / 9 (k - k^2 / n), and is allowed (y.v)(r.v) = t ((n + 2 k)
    # / 3 / n)^2
    least = max(4 / 9 * (k - k * k / n) / ((n + 2 * k) / 3 / n) ** 2 for k in range(n + 1))
    for share, holds in ((1 + 1e-12, True), (1 - 1e-12, False)):
        assert FormBound(np.eye(n), np.full(n, share * least / n)).holds(alike, base) == holds


CHANNEL = (np.eye(3) + 1) / 4


@pytest.mark.parametrize("objective", ["average", "worst_case"])
def test_the_value_is_that_of_the_left_inverse(objective):
    alike = statement(np.eye(3), [1, 1, 1])
    inverse = np.linalg.inv(CHANNEL).round()
    found = value_of(alike, CHANNEL, inverse, objective)
    # 11 of 3, -1, -1, minus that of the truth
    assert found == DesignValue(Fraction(10), Fraction(0), Fraction(2, 3))
    assert found.is_unbiased
    # The first row is not read: constants count nothing.
    other = inverse + np.array([[7.0], [0.0], [0.0]])
    assert value_of(alike, CHANNEL, other, objective) == found
    off = value_of(alike, CHANNEL, inverse + 2.0**-20 * np.array([[0.0], [1.0], [0.0]]), objective)
    assert off.bias_squared == Fraction(2, 2**40)
    assert not off.is_unbiased


@pytest.mark.parametrize("rows", [2, 5])
def test_numbers_and_their_gram_matrix_have_the_same_value(rows):
    """Fewer numbers than answers are computed as they are, more by their Gram matrix."""
    rng = np.random.default_rng(rows)
    matrix = rng.standard_normal((rows, 4))
    channel = rng.multinomial(2**30, np.full(6, 1 / 6), 4) / 2.0**30
    inverse = with_first_row(rng.standard_normal((4, 6)))
    weights = np.array([1.0, 2.0, 0.0, 3.0])
    w, c, x = (
        [[Fraction(entry) for entry in row] for row in part] for part in (matrix, channel, inverse)
    )
    moved = [[entry - row[0] for entry in row] for row in w]
    v = [[sum(row[z] * x[z][y] for z in range(1, 4)) for y in range(6)] for row in moved]
    mse = [
        sum(c[z][y] * sum((v[k][y] - moved[k][z]) ** 2 for k in range(rows)) for y in range(6))
        for z in range(4)
    ]
    bias = [
        sum((sum(c[z][y] * v[k][y] for y in range(6)) - moved[k][z]) ** 2 for k in range(rows))
        for z in range(4)
    ]
    given = Statement.of(matrix, weights)
    assert value_of(given, channel, inverse, "worst_case").achieved == max(mse)
    found = value_of(given, channel, inverse, "average")
    assert found.achieved == (mse[0] + 2 * mse[1] + 3 * mse[3]) / 6
    assert found.bias_squared == max(bias)


def test_a_left_inverse_of_another_shape_is_refused():
    with refused("inverse-shape", CertificateError):
        value_of(PREFIX, CHANNEL, np.eye(2), "average")


def test_the_first_row_is_the_nearest_float():
    left = np.array([[0.0, 0.0], [1e-30, 0.1], [1.0, 0.2], [-1.0, 0.3]])
    assert with_first_row(left)[0].tolist() == [1.0, 0.4]


def test_a_form_of_more_answers_than_are_listed_needs_a_diagonal():
    n = proof.LISTED + 1
    alike = Statement.of(np.eye(n), np.ones(n))
    large = np.full(n, 1e6)
    assert not FormBound(np.eye(n), large).holds(alike, Fraction(1, 3))


def test_multipliers_of_unknown_keys_are_refused():
    for bound, value in ((NoBound, {"line": []}), (FormBound, {"line": [0.0]}), (ProductBound, {})):
        with pytest.raises(ModelFileError):
            bound.read(Entry(value, "file"), 1)
    assert NoBound.read(Entry({}, "file"), 1).plain() == {}


@pytest.mark.parametrize("sizes", [(6,), (2, 3)])
def test_a_gram_matrix_near_the_scheme_has_a_slightly_lower_bound(sizes):
    """Whatever the workload, the bound of the scheme holds for every set."""
    base = Fraction(1, 3)
    scheme = Scheme(sizes)
    rng = np.random.default_rng(0)
    exactly = Workload.frequencies(6).matrix
    bounds = []
    for size in (0.0, 2.0**-30, 0.1):
        given = Statement.of(exactly + size * rng.standard_normal((6, 6)), np.ones(6))
        spectrum = Spectrum.of(given, scheme)
        assert (spectrum.beside > 0) == (size > 0)
        found = ProductBound.best(spectrum, base)
        assert found.holds(given, base)
        assert not replace(found, level=np.nextafter(found.level, 0)).holds(given, base)
        form = FormBound(
            scheme.matrix(found.eigenvalues.reshape(scheme.shape)),
            np.full(6, found.level * (1 + 1e-12)),
        )
        assert form.holds(given, base)
        bounds.append(float(found.value(given)))
    assert bounds[1] == pytest.approx(bounds[0], rel=1e-7)
    assert bounds[2] < bounds[0]
    assert Spectrum.of(Statement.of(exactly, np.arange(1.0, 7.0)), scheme) is None


# Extreme rays.


def exactly(array: Any, denominator: int = 1) -> Rationals:
    return Rationals(np.array(array, dtype=object), denominator)


def rational(given: Rationals) -> Any:
    return given.whole * Fraction(1, given.denominator)


def scaled(given: Rationals, factor: Fraction) -> Rationals:
    return Rationals(given.whole * factor.numerator, given.denominator * factor.denominator)


def worst(form: Any, line: Any, weights: Any, vs: Any) -> Fraction:
    """Largest ``v N v / ((y.v)(r.v))``."""
    return max((v @ form @ v) / ((line @ v) * (weights @ v)) for v in vs)


def test_entries_are_known_from_below() -> None:
    """To ``RELATIVE`` bits and ``ROUNDED`` units of the last one, as the proof has it."""
    for budget, unit in (
        (Budget(0.3), Fraction(1, 7)),
        (Budget("log(3)"), Fraction(1)),
        (Budget(2**-9), Fraction(1)),
    ):
        table = proof.Exponentials(Rays(budget, unit, np.zeros((1, 1), int)), 300)
        for size in (0, 1, 40, 255, 256, 257, 511, 700, 65536 // 300, 1000):
            low, high = (1 / end for end in reversed(budget.enclosure(unit * size)))
            found = Fraction(int(table.of(np.array([[size]]))[0, 0]), 1 << 300)
            assert found <= high
            assert low <= found * (1 + Fraction(1, 1 << proof.RELATIVE)) + Fraction(
                proof.ROUNDED, 1 << 300
            )
        assert table.of(np.array([[proof.ZERO, 0], [0, 0]])).tolist() == [
            [0, 1 << 300],
            [1 << 300, 1 << 300],
        ]


@pytest.mark.parametrize("depth", [0, 100])
@pytest.mark.parametrize("weights", [[0, 5], [3, 3]])
def test_a_ray_that_may_cost_more_is_refused(
    depth: int, weights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One entry is as far below as it may be, the other such that the ray costs too much by a last
    bit."""
    rays = Rays(Budget(1.0), Fraction(1), np.array([[0, depth]]))
    r = exactly(weights, 5)
    for form, line in (
        (exactly([[4, 0], [0, 0]], 3), exactly([0, 3], 2)),
        (exactly([[0, 0], [0, 0]], 1000), exactly([-3, 3], 2)),
        (exactly([[0, 700], [700, 0]], 1000), exactly([0, 3], 2)),
        (exactly([[10**9, -(10**9)], [-(10**9), 10**9]], 1000), exactly([0, 3], 2)),
    ):

        def spare(v: Any, form: Rationals = form, line: Rationals = line) -> Fraction:
            return (rational(line) @ v) * (rational(r) @ v) - v @ rational(form) @ v

        def found(self: Any, below: Any, spare: Any = spare) -> Any:
            first = Fraction(1 << self.bits)
            low = 1 << (self.bits // 2)
            high = 1 << self.bits
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (
                    (low, middle)
                    if spare(np.array([first, Fraction(middle)])) >= 0
                    else (middle, high)
                )
            assert spare(np.array([first, Fraction(low)])) < 0
            least = int((first - proof.ROUNDED) / (1 + Fraction(1, 1 << proof.RELATIVE)))
            return np.array([[least + 1, low]], dtype=object)

        monkeypatch.setattr(proof.Exponentials, "of", found)
        assert not proof.rays_hold(form, line, r, rays)


@pytest.mark.parametrize("budget", [Budget(0.3), Budget("log(3)"), Budget(30.0)])
def test_rays_hold_up_to_little(budget: Budget) -> None:
    """Entries 1 and ``exp(-epsilon)``: the cost of one, and what it may be."""
    rays = Rays(budget, Fraction(1), np.array([[1, 0], [0, 1], [0, 0]]))
    form = exactly([[1, 0], [0, 0]], 3)
    weights = exactly([1, 2], 7)
    base = 1 / budget.enclosure()[0]
    line = exactly([2, 1], 5)
    vs = [
        np.array(v) for v in ((base, Fraction(1)), (Fraction(1), base), (Fraction(1), Fraction(1)))
    ]
    most = 1 / worst(rational(form), rational(line), rational(weights), vs)
    for factor, holds in (
        (most * (1 - Fraction(1, 1 << 150)), True),
        (most, False),
        (most * (1 + Fraction(1, 1 << 150)), False),
    ):
        assert proof.rays_hold(scaled(form, factor), line, weights, rays) == holds
