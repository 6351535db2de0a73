"""Budgets: exact reading, rational enclosures of e**epsilon against 400-bit arithmetic, refusals."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, log_enclosure, round_down, round_up

TIGHT = 1 + Fraction(1, 2**180)

fractions = st.fractions(min_value=1, max_value=10**6, max_denominator=10**6)


def real(value):
    return mpmath.mpf(value.numerator) / value.denominator


def encloses(low, high, truth):
    """Compare with a relative guard far below the width that is claimed, and far above 400-bit rounding."""
    guard = mpmath.mpf(2) ** -380 * abs(truth)
    return real(low) <= truth + guard and truth - guard <= real(high)


@pytest.fixture(autouse=True)
def bits():
    with mpmath.workprec(400):
        yield


@pytest.mark.parametrize("epsilon", [1e-300, 1e-17, 1e-9, 1e-6, 0.1, 0.5, math.log(2), 1.0, 25, 37, 700.5, 745.2, 1e4])
def test_enclosure_holds_the_exponential_and_nothing_else(epsilon):
    low, high = Budget(epsilon).enclosure()
    assert low <= high <= low * TIGHT
    assert encloses(low, high, mpmath.exp(mpmath.mpf(epsilon)))


@given(st.floats(0, 1e4, allow_subnormal=True), st.fractions(0, 3, max_denominator=1000))
def test_enclosure_of_any_budget_and_multiple(epsilon, multiple):
    low, high = Budget(epsilon).enclosure(multiple)
    with mpmath.workprec(400):
        assert low <= high <= low * TIGHT
        assert encloses(low, high, mpmath.exp(mpmath.mpf(epsilon) * real(multiple)))


@given(fractions, st.fractions(Fraction(1, 100), 80, max_denominator=1000))
def test_enclosure_of_a_power_of_a_known_ratio(ratio, multiple):
    low, high = Budget(f"log({ratio})").enclosure(multiple)
    with mpmath.workprec(400):
        assert low <= high <= low * TIGHT
        assert encloses(low, high, mpmath.power(real(ratio), real(multiple)))


@given(fractions)
def test_logarithms_are_enclosed(ratio):
    low, high = log_enclosure(ratio)
    with mpmath.workprec(400):
        assert low <= high
        assert encloses(low, high, mpmath.log(real(ratio)))
        assert real(high - low) <= mpmath.mpf(2) ** -180 * max(1, real(high))


@pytest.mark.parametrize("tiny", [Fraction(1, 2**60), Fraction(1, 2**90), Fraction(1, 10**50), Fraction(1, 2**1000)])
def test_the_logarithm_of_nearly_one(tiny):
    low, high = log_enclosure(1 + tiny)
    assert tiny - tiny**2 / 2 <= high
    assert low <= tiny - tiny**2 / 2 + tiny**3 / 3
    assert high - low < tiny / 2**90
    assert tiny > 2.0**-96 or high - low == tiny**2 / 2
    assert round_up(high) in (float(tiny), math.nextafter(float(tiny), 1))


def test_a_known_ratio_is_exact():
    budget = Budget("log(7/2)")
    assert budget.enclosure() == (Fraction(7, 2), Fraction(7, 2))
    assert budget.enclosure(3) == (Fraction(343, 8), Fraction(343, 8))
    assert float(budget) == math.log(3.5)
    assert Budget(0).enclosure() == (1, 1)
    assert Budget(1.0).enclosure(0) == (1, 1)


@pytest.mark.parametrize(
    "text, nats, ratio",
    [
        ("0.1", Fraction(1, 10), None),
        (0.1, Fraction(0.1), None),
        (Fraction(1, 3), Fraction(1, 3), None),
        (2, Fraction(2), None),
        (np.float64(0.5), Fraction(1, 2), None),
        (np.float32(0.5), Fraction(1, 2), None),
        (np.int64(3), Fraction(3), None),
        (np.array(0.1), Fraction(0.1), None),
        (np.array("0.1"), Fraction(1, 10), None),
        (" 1e-6 ", Fraction(1, 10**6), None),
        ("3/4", Fraction(3, 4), None),
        (" Ln( 3 ) ", None, Fraction(3)),
        ("log(1.5)", None, Fraction(3, 2)),
        ("log(1)", None, Fraction(1)),
    ],
)
def test_reading_is_exact(text, nats, ratio):
    budget = Budget(text)
    assert (budget.nats, budget.ratio) == (nats, ratio)


@pytest.mark.parametrize(
    "epsilon, why",
    [
        (-1, "is negative"),
        (-1e-300, "is negative"),
        ("-0.5", "is negative"),
        ("log(1/2)", "is negative"),
        ("log(0)", "is negative"),
        (math.nan, "not a finite number"),
        ("nan", "not a number"),
        (math.inf, "is infinite"),
        (-math.inf, "not a finite number"),
        ("inf", "not a number"),
        (10000.1, "above 10000"),
        ("log(1e50000)", "not a number of reasonable size"),
        ("log(1e5000)", "above 10000"),
        ("1e999999999", "not a number of reasonable size"),
        ("one", "not a number"),
        ("", "not a number"),
        ("log()", "not a number"),
        ("log(1/0)", "not a number"),
        ("exp(1)", "not a number"),
        (None, "not a number"),
        (True, "not a number"),
        ([1.0, 2.0], "not a number"),
        (1 + 2j, "not a number"),
    ],
    ids=repr,
)
def test_refusals_say_why(epsilon, why):
    with pytest.raises(StatementError, match=why) as caught:
        Budget(epsilon)
    assert "\n" not in caught.value.one_line
    assert "nats" in caught.value.do


@pytest.mark.parametrize(
    "ratio",
    [
        Fraction(1),
        1 + Fraction(1, 10**40),
        Fraction(2) - Fraction(1, 10**400),
        Fraction(2),
        Fraction(10**3000 + 1, 10**2997),
        Fraction(10) ** 308,
        Fraction(7, 3) * Fraction(10) ** 2000,
        Fraction(10) ** 4000,
    ],
)
def test_the_float_of_a_ratio_is_its_logarithm_to_the_last_digits(ratio):
    log = mpmath.log1p(real(ratio - 1)) if ratio < 2 else mpmath.log(real(ratio))
    assert abs(mpmath.mpf(float(Budget(Fraction(0) if ratio == 1 else f"log({ratio})"))) - log) <= log * 2.0**-51


def test_a_long_text_is_not_repeated_whole():
    with pytest.raises(StatementError) as caught:
        Budget("9" * 100_000)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("epsilon", [0, 1.5, "0.1", "log(3)", "log(7/2)", Fraction(1, 3), 1e-300])
def test_copies_and_pickles_are_the_same_budget(epsilon):
    budget = Budget(epsilon)
    for twin in (pickle.loads(pickle.dumps(budget)), copy.deepcopy(budget), Budget(budget)):
        assert (twin, twin.nats, twin.ratio) == (budget, budget.nats, budget.ratio)
        assert twin.enclosure() == budget.enclosure()


@pytest.mark.parametrize("epsilon", [0.1, "log(3)", 1e-300, 3])
def test_what_is_shown_reads_back(epsilon):
    assert Budget(eval(repr(Budget(epsilon)))) == Budget(epsilon)


@pytest.mark.parametrize("epsilon", [0, 1e-15, 1e-9, 0.3, "log(3)", 25, 700, 744.9, 800, 1e4])
def test_b_is_below_and_beta_above_by_an_ulp_at_most(epsilon):
    budget = Budget(epsilon)
    low, high = budget.enclosure()
    assert Fraction(budget.b) <= 1 / high
    assert Fraction(math.nextafter(budget.b, 2)) > 1 / high
    assert Fraction(budget.beta) >= 1 - 1 / high
    assert Fraction(math.nextafter(budget.beta, -1)) < 1 - 1 / low or epsilon == 0
    assert math.copysign(1, budget.beta) == 1


@given(st.fractions())
def test_rounding_is_to_the_neighbour_on_the_stated_side(value):
    down, up = round_down(value), round_up(value)
    assert Fraction(down) <= value <= Fraction(up)
    assert up in (down, math.nextafter(down, math.inf))


def test_rounding_at_the_ends_of_the_range():
    assert round_up(Fraction(10) ** 400) == math.inf
    assert round_up(Fraction(1, 10**400)) == math.ulp(0)
    assert round_down(Fraction(1, 10**400)) == 0
    assert round_up(Fraction(0)) == 0
