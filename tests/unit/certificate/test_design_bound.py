"""What a design's proof claims is compared to the last digit: roots, costs of sets, values, bounds and gaps."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from ldpopt import PureLDP, Workload, design
from ldpopt.certificate import design_bound as proof
from ldpopt.certificate.answer_classes import merge
from ldpopt.certificate.design_bound import Multipliers, Statement, costs_hold, exact_gram, is_unbiased, value_above
from ldpopt.certificate.design_certificate import bounded
from ldpopt.certificate.documents import Entry
from ldpopt.errors import ModelFileError
from ldpopt.foundation.budget import round_up

TINY = Fraction(1, 2**500)
NOTHING = Multipliers(np.zeros((3, 3)), np.zeros(3))


def statement(matrix, weights):
    matrix = np.array(matrix, dtype=float)
    return Statement.of(matrix, np.array(weights, dtype=float), merge(matrix))


PREFIX = statement([[1, 0, 0], [1, 1, 0]], [0.5, 0.25, 0.25])


@pytest.fixture(scope="module")
def certificate():
    return design(Workload.prefix(3), PureLDP("log(3)"), weights=[2, 1, 1], gap=1e-9).certificate


@pytest.mark.parametrize("value", [2, 4, Fraction(1, 3), 10**200, 10**200 + 1, Fraction(1, 10**150), Fraction(9, 4)])
def test_roots_are_just_above(value):
    root = proof._root(Fraction(value))
    assert value < root**2 < value * (1 + Fraction(1, 2**190))


def test_there_is_no_root_of_less_than_nothing():
    assert proof._root(Fraction(0)) == proof._root(-TINY) == 0


@pytest.mark.parametrize(
    "matrix", [[[2**26 - 1, -3], [2**26, 5]], [[2**27 + 1, 1], [2**27 - 1, 7]], [[0.5, 3], [1, 2]]]
)
def test_products_of_a_workload_are_exact(matrix):
    rows = [[Fraction(entry) for entry in row] for row in matrix]
    plain = [[sum(row[i] * row[j] for row in rows) for j in range(2)] for i in range(2)]
    gram = exact_gram(np.array(matrix, dtype=float))
    assert [[Fraction(entry, gram.denominator) for entry in row] for row in gram.whole.tolist()] == plain


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
    assert costs_hold(PREFIX, Multipliers(inverse, enough * weights), base)
    assert not costs_hold(PREFIX, Multipliers(inverse, np.nextafter(enough, 0) * weights), base)


def test_costs_that_are_just_the_allowed_ones_hold():
    assert costs_hold(PREFIX, NOTHING, Fraction(1, 3))


def test_sets_are_listed_up_to_the_limit(monkeypatch):
    # Unequal weights are beyond the proof by the sizes of sets.
    multipliers = Multipliers(np.eye(3), np.array([50.0, 25.0, 25.0]))
    for most, holds in ((3, True), (2, False)):
        monkeypatch.setattr(proof, "LISTED", most)
        assert costs_hold(PREFIX, multipliers, Fraction(1, 3)) == holds


@pytest.mark.parametrize("factor", [1 - 1e-6, 1 + 1e-6])
def test_an_error_of_the_left_inverse_makes_the_value_no_smaller(factor):
    alike = statement(np.eye(3), [1, 1, 1])
    channel = (np.eye(3) + 1) / 4
    inverse = np.linalg.inv(channel)
    exactly = 32 / 3 - 2 / 3  # second moment of the centered columns 3, -1, -1, minus that of a known answer
    for objective in ("average", "worst_case"):
        assert float(value_above(alike, channel, inverse, objective)) == pytest.approx(exactly, rel=1e-12)
        above = float(value_above(alike, channel, factor * inverse, objective))
        assert exactly <= above <= exactly * (1 + 1e-5)
        assert value_above(alike, channel, 0 * inverse, objective) == proof.UNBOUNDED


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_left_inverse_is_one_up_to_rounding(scale):
    given = statement(scale * np.eye(3), [1, 1, 1])
    channel = (np.eye(3) + 1) / 4
    inverse = np.linalg.inv(channel)
    for error, is_one in ((0.0, True), (0.9e-6, True), (1.1e-6, False)):
        assert is_unbiased(given, channel, (1 + error) * inverse) == is_one
    assert not is_unbiased(given, channel, inverse[:, :2])


def test_a_claim_that_is_off_by_a_hair_is_named(certificate):
    matrix = certificate.workload.matrix
    proved = certificate.multipliers.bound_below(Statement.of(matrix, certificate.weights, merge(matrix)))
    assert replace(certificate, bound=proved).recheck() == ()
    assert replace(certificate, bound=proved + TINY).recheck() == ("the multipliers prove less than the bound claimed",)
    found = replace(certificate, achieved=certificate.bound).recheck()
    assert found == ("the estimator has a larger variance than claimed",)


def test_multipliers_that_prove_nothing_prove_that_no_variance_is_negative(certificate):
    idle = replace(certificate, multipliers=NOTHING, bound=Fraction(0))
    assert idle.recheck() == ()
    assert replace(idle, bound=TINY).recheck() == ("the multipliers prove less than the bound claimed",)


@pytest.mark.parametrize("achieved, bound", [(Fraction(7, 2), Fraction(1, 3)), (Fraction(1, 9), Fraction(0))])
def test_the_gap_is_relative_to_the_value(certificate, achieved, bound):
    claim = replace(certificate, achieved=achieved, bound=bound)
    assert claim.gap == achieved - bound
    assert claim.relative_gap == round_up((achieved - bound) / achieved)


def test_a_value_of_nothing_has_no_gap(certificate):
    assert replace(certificate, achieved=Fraction(0), bound=Fraction(0)).relative_gap == 0.0


@pytest.mark.parametrize("holds", [True, False])
def test_a_bound_is_that_of_multipliers_that_hold(holds):
    multipliers = Multipliers(np.eye(3), np.ones(3))
    dual = SimpleNamespace(weights=np.ones(3), multipliers=lambda margin: multipliers)
    found, bound = bounded(PREFIX, dual, SimpleNamespace(hold=lambda *_: holds))
    assert bound == found.bound_below(PREFIX)
    assert (found is multipliers) == holds
    assert holds or bound == -PREFIX.spread < 0


@pytest.mark.parametrize("n, diagonal, is_read", [(20, None, True), (21, None, False), (21, [0.0] * 22, True)])
def test_multipliers_of_many_answers_need_a_diagonal(n, diagonal, is_read):
    stated = {"inverse": [[0.0] * n] * n, "line": [0.0] * n, "shift": diagonal, "inequalities": None}
    table = {key: Entry(value, key) for key, value in stated.items()}
    if is_read:
        assert (Multipliers.read(table, n, n).shift is None) == (diagonal is None)
    else:
        with pytest.raises(ModelFileError, match="a bound for 21 answers needs a diagonal"):
            Multipliers.read(table, n, n)
