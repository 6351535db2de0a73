"""Budgets: exact reading, enclosures of e**epsilon and logarithms against 200 digits, every
rounding step, refusals."""

from __future__ import annotations

import copy
import math
import pickle
import random
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import refused
from ldpopt.errors import StatementError
from ldpopt.foundation import budget as module
from ldpopt.foundation.budget import (
    Budget,
    budget_above,
    decimal_of,
    epsilon_above,
    log_above,
    log_enclosure,
    round_down,
    round_up,
)

TIGHT = 1 + Fraction(1, 2**180)

HAIR = Fraction(1, 2**640)
"""Far below the last of the bits that an enclosure keeps, and above the error of 200 digits."""

NATS = [2.0**-185, 1e-40, 1e-17, 1e-9, 0.1, 0.49, 0.51, 1.0, 3.7, 25.0, 700.0, 745.0, 1000.0]

fractions = st.fractions(min_value=1, max_value=10**6, max_denominator=10**6)


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workdps(200):
        yield


def real(value):
    return mpmath.mpf(value.numerator) / value.denominator


def encloses(low, high, truth):
    """Compare with a relative guard far below the width that is claimed, and above the rounding of
    200 digits."""
    guard = mpmath.mpf(2) ** -600 * abs(truth)
    return real(low) <= truth + guard and truth - guard <= real(high)


def fraction(value):
    """A number of mpmath, exactly."""
    mantissa, exponent = mpmath.mpf(value).man_exp
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def beside(nats, seed):
    """A number of 192 bits near ``exp(nats)``, its last unit, and nats a hair below and above its
    logarithm."""
    unit = Fraction(2) ** (math.floor(nats / math.log(2)) - 191)
    number = math.floor(fraction(mpmath.exp(nats)) / unit) * unit + seed * unit
    log = fraction(mpmath.log1p(real(number - 1)) if nats < 1 else mpmath.log(real(number)))
    return number, unit, log - HAIR, log + HAIR


def assert_within_a_unit(nats, seed):
    number, unit, below, above = beside(nats, seed)
    low, high = module.exp_enclosure(below)
    assert number - unit <= low < number <= high <= number + unit
    low, high = module.exp_enclosure(above)
    assert number - unit <= low <= number < high <= number + unit


@pytest.mark.parametrize(
    "epsilon", [1e-300, 1e-17, 1e-9, 1e-6, 0.1, 0.5, math.log(2), 1.0, 25, 37, 700.5, 745.2, 1e4]
)
def test_enclosures_are_tight(epsilon):
    low, high = Budget(epsilon).enclosure()
    assert low <= high <= low * TIGHT
    assert encloses(low, high, mpmath.exp(real(decimal_of(epsilon))))


@given(st.floats(0, 1e4, allow_subnormal=True), st.fractions(0, 3, max_denominator=1000))
def test_enclosures_of_multiples(epsilon, multiple):
    low, high = Budget(epsilon).enclosure(multiple)
    assert low <= high <= low * TIGHT
    assert encloses(low, high, mpmath.exp(real(decimal_of(epsilon)) * real(multiple)))


@given(fractions, st.fractions(Fraction(1, 100), 80, max_denominator=1000))
def test_enclosures_of_powers_of_a_rational(ratio, multiple):
    low, high = Budget(f"log({ratio})").enclosure(multiple)
    assert low <= high <= low * TIGHT
    assert encloses(low, high, mpmath.power(real(ratio), real(multiple)))


@given(fractions)
def test_logarithms_are_enclosed(ratio):
    low, high = log_enclosure(ratio)
    assert low <= high
    assert encloses(low, high, mpmath.log(real(ratio)))
    assert real(high - low) <= mpmath.mpf(2) ** -180 * max(1, real(high))


@pytest.mark.parametrize(
    "tiny", [Fraction(1, 2**60), Fraction(1, 2**90), Fraction(1, 10**50), Fraction(1, 2**1000)]
)
def test_logarithms_near_one(tiny):
    low, high = log_enclosure(1 + tiny)
    assert tiny - tiny**2 / 2 <= high
    assert low <= tiny - tiny**2 / 2 + tiny**3 / 3
    assert high - low < tiny / 2**90
    assert tiny > 2.0**-96 or high - low == tiny**2 / 2
    assert round_up(high) in (float(tiny), math.nextafter(float(tiny), 1))


def test_rational_exponentials_are_exact():
    budget = Budget("log(7/2)")
    assert budget.enclosure() == (Fraction(7, 2), Fraction(7, 2))
    assert budget.enclosure(3) == (Fraction(343, 8), Fraction(343, 8))
    assert float(budget) == math.log(3.5)
    assert (
        Budget(0).enclosure() == Budget("log(1)").enclosure() == Budget(1.0).enclosure(0) == (1, 1)
    )
    assert (
        module.exp_enclosure(Fraction(1, 10**300))[0]
        == 1
        < module.exp_enclosure(Fraction(1, 10**300))[1]
    )


@pytest.mark.parametrize(
    "text, nats, ratio",
    [
        ("0.1", Fraction(1, 10), None),
        (0.1, Fraction(1, 10), None),
        (0.1 + 0.2, Fraction("0.30000000000000004"), None),
        (np.float32(0.4), Fraction(2, 5), None),
        (np.float16(0.4), Fraction(2, 5), None),
        (np.longdouble(0.5), Fraction(1, 2), None),
        (Decimal("0.12345678901234567890123"), Fraction("0.12345678901234567890123"), None),
        (Fraction(1, 3), Fraction(1, 3), None),
        (2, Fraction(2), None),
        (np.float64(0.5), Fraction(1, 2), None),
        (np.float32(0.5), Fraction(1, 2), None),
        (np.int64(3), Fraction(3), None),
        (np.array(0.1), Fraction(1, 10), None),
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
    "epsilon, code",
    [
        (-1, "negative-epsilon"),
        (-1e-300, "negative-epsilon"),
        ("-0.5", "negative-epsilon"),
        ("log(1/2)", "negative-epsilon"),
        ("log(0)", "negative-epsilon"),
        (math.nan, "epsilon"),
        ("nan", "epsilon"),
        (math.inf, "infinite-epsilon"),
        (Decimal("inf"), "infinite-epsilon"),
        (Decimal("nan"), "epsilon"),
        (Decimal("1e-999999"), "epsilon-size"),
        (np.float32("inf"), "infinite-epsilon"),
        (-math.inf, "epsilon"),
        ("inf", "epsilon"),
        (10000.1, "large-epsilon"),
        ("log(1e50000)", "epsilon-size"),
        ("log(1e5000)", "large-epsilon"),
        ("1e999999999", "epsilon-size"),
        ("one", "epsilon"),
        ("", "epsilon"),
        ("log()", "epsilon"),
        ("log(1/0)", "epsilon"),
        ("exp(1)", "epsilon-size"),
        (None, "epsilon"),
        (True, "epsilon"),
        ([1.0, 2.0], "epsilon"),
        (1 + 2j, "epsilon"),
    ],
    ids=repr,
)
def test_refusals_say_why(epsilon, code):
    with refused(code) as caught:
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
def test_floats_of_rational_exponentials_are_correct_to_the_last_digits(ratio):
    log = mpmath.log1p(real(ratio - 1)) if ratio < 2 else mpmath.log(real(ratio))
    assert (
        abs(mpmath.mpf(float(Budget(Fraction(0) if ratio == 1 else f"log({ratio})"))) - log)
        <= log * 2.0**-51
    )


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
def test_representations_read_back(epsilon):
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
def test_rounding_up_and_down(value):
    down = round_down(value)
    up = round_up(value)
    assert Fraction(down) <= value <= Fraction(up)
    assert up in (down, math.nextafter(down, math.inf))


def test_rounding_at_the_ends_of_the_range():
    assert round_up(Fraction(10) ** 400) == math.inf
    assert round_up(Fraction(1, 10**400)) == math.ulp(0)
    assert round_down(Fraction(1, 10**400)) == 0
    assert round_up(Fraction(0)) == 0


@pytest.mark.parametrize("nats", NATS)
def test_ends_near_the_exponential_are_rounded_outward(nats):
    for seed in range(1, 13):
        assert_within_a_unit(nats, seed)


def test_the_float_one_tenth_is_the_text():
    low, high = Budget("0.1").enclosure()
    tenth = mpmath.exp(mpmath.mpf(1) / 10)
    assert real(low) <= tenth <= real(high)
    assert Budget(0.1).enclosure() == (low, high)
    assert Budget(0.1).nats != Fraction(0.1)


numbers = st.floats(0, 1e4) | st.decimals(0, 10**4, places=4).map(float)


@given(numbers)
def test_a_float_is_its_shortest_writing(epsilon):
    budget = Budget(epsilon)
    for written in (repr(epsilon), f" {epsilon!r} ", np.float64(epsilon), Decimal(repr(epsilon))):
        assert Budget(written).nats == budget.nats == Fraction(repr(epsilon))
    assert budget.exact_text == repr(budget) == repr(float(budget)) == repr(epsilon)
    assert budget.above == epsilon


@given(st.integers(0, 2**40), st.integers(0, 40))
def test_dyadic_budgets_keep_all_bits(number, bits):
    epsilon = number / 2**bits
    if epsilon <= 1e4 and len(repr(epsilon)) < 17:
        assert Budget(epsilon).nats == Fraction(epsilon)


@given(fractions, st.integers(1, 12))
def test_the_shares_of_a_logarithm_stay_below_it(ratio, count):
    budget = Budget(f"log({ratio})")
    share = budget.share(Fraction(1, count))
    assert count == 1 or share.nats * count == budget.lower_nats
    assert Budget(share.exact_text).nats == share.nats


@given(st.fractions(0, 10**4))
def test_a_float_above_is_the_smallest_that_is_read_as_one(value):
    above = budget_above(value)
    assert Budget(above).nats >= value if above <= 1e4 else decimal_of(above) >= value
    assert above == 0 or decimal_of(math.nextafter(above, -1)) < value


@pytest.mark.parametrize(
    "ratio", [Fraction(3), Fraction(7, 2), 1 + Fraction(1, 10**30), Fraction(10**300)]
)
@pytest.mark.parametrize("multiple", [Fraction(1, 3), Fraction(65), Fraction(129, 2)])
def test_powers_of_a_rational_are_enclosed_tightly(ratio, multiple):
    low, high = Budget(f"log({ratio})").enclosure(multiple)
    power = mpmath.power(real(ratio), real(multiple))
    assert real(low) <= power <= real(high)
    assert high <= low * (1 + Fraction(1, 2**180))


def test_whole_powers_of_a_rational_are_exact_up_to_64():
    budget = Budget("log(3)")
    assert budget.enclosure(64) == (3**64, 3**64)
    low, high = budget.enclosure(65)
    assert low < 3**65 < high
    low, high = budget.enclosure(Fraction(1, 2))
    assert low * low < 3 < high * high


def test_the_largest_multiple_is_included():
    module.exp_enclosure.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_NATS", 100)
        assert Budget(1.0).enclosure(100)[0] > 0
        with refused("digits"):
            Budget(1.0).enclosure(Fraction(101))


@pytest.mark.parametrize("nats", [2.0**-70, 1e-9, 0.3, 0.6, 1.0, 20.0, 300.0])
def test_logarithms_are_rounded_outward_by_little(nats):
    rng = np.random.default_rng(1)
    for _ in range(10):
        ratio = 1 + Fraction(math.expm1(nats)) * Fraction(
            int(rng.integers(10**9, 2 * 10**9)), 10**9
        )
        low, high = log_enclosure(ratio)
        log = mpmath.log1p(real(ratio - 1))
        assert real(low) < log < real(high)
        assert real(high - low) < max(1, log) * mpmath.mpf(2) ** -189


def test_logarithms_of_one_and_two():
    assert log_enclosure(Fraction(1)) == (0, 0)
    low, high = log_enclosure(Fraction(2))
    assert real(low) < mpmath.log(2) < real(high)


@pytest.mark.parametrize("nats", [1e-9, 0.1, 1.0, 3.0, 37.0, 700.0])
def test_budgets_near_a_float_are_rounded_up(nats):
    exponential = fraction(mpmath.exp(nats))
    for hair in (Fraction(1, 2**230), Fraction(1, 2**300)):
        above = Budget(f"log({(exponential * (1 + hair)).limit_denominator(10**180)})")
        assert above.rounded_up == math.nextafter(nats, math.inf)
        below = Budget(f"log({(exponential * (1 - hair)).limit_denominator(10**180)})")
        assert below.rounded_up in (nats, math.nextafter(nats, math.inf))
    assert Budget(nats).rounded_up == nats


@pytest.mark.parametrize("seed", range(4))
def test_a_few_digits_of_a_logarithm_decide_as_all_of_them(seed):
    rng = random.Random(seed)
    ratios = [Fraction(rng.randrange(1, 2**53), rng.randrange(1, 2**53)) for _ in range(40)]
    ratios += [Fraction(10**301), 1 + Fraction(1, 10**30), Fraction(102, 100), Fraction(3)]
    for _ in range(20):  # next to the exponential of a float or decimal, few digits do not decide
        nats = Fraction(rng.uniform(0.01, 600)) if rng.random() < 0.5 else decimal_of(rng.random())
        ends = Budget(nats).enclosure()
        ratios += [*ends, ends[0] * (1 - Fraction(1, 2**52))]
    for ratio in ratios:
        at_least_one = max(ratio, 1 / ratio)
        assert log_above(at_least_one) == epsilon_above(log_enclosure(at_least_one)[1])
