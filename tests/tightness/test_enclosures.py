"""Enclosures where one unit decides: values a hair beside a number of 192 bits, and every rounding step by itself."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from ldpopt.foundation import budget as module
from ldpopt.foundation.budget import Budget, log_enclosure

DIGITS = 200
HAIR = Fraction(1, 2**640)
"""Far below the last of the bits that an enclosure keeps, and above the error of 200 digits."""

NATS = [2.0**-185, 1e-40, 1e-17, 1e-9, 0.1, 0.49, 0.51, 1.0, 3.7, 25.0, 700.0, 745.0, 1000.0]


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workdps(DIGITS):
        yield


def fraction(value):
    """A number of mpmath, exactly."""
    mantissa, exponent = mpmath.mpf(value).man_exp
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def real(value):
    return mpmath.mpf(value.numerator) / value.denominator


def beside(nats, seed):
    """A number of 192 bits near ``exp(nats)``, its last unit, and nats a hair below and above its logarithm."""
    unit = Fraction(2) ** (math.floor(nats / math.log(2)) - 191)
    number = math.floor(fraction(mpmath.exp(nats)) / unit) * unit + seed * unit
    log = fraction(mpmath.log1p(real(number - 1)) if nats < 1 else mpmath.log(real(number)))
    return number, unit, log - HAIR, log + HAIR


def assert_within_a_unit(nats, seed):
    number, unit, below, above = beside(nats, seed)
    low, high = module._exp_enclosure(below)
    assert number - unit <= low < number <= high <= number + unit
    low, high = module._exp_enclosure(above)
    assert number - unit <= low <= number < high <= number + unit


@pytest.mark.parametrize("nats", NATS)
def test_an_end_is_on_its_side_however_near_the_exponential_is_to_it(nats):
    for seed in range(1, 13):
        assert_within_a_unit(nats, seed)


@pytest.mark.parametrize("nats", NATS)
def test_a_step_of_squaring_is_rounded_to_its_side(nats, monkeypatch):
    # With a series that is exact to the last unit, nothing hides the rounding of the squares.
    def exactly(x, bits):
        return fraction(mpmath.exp(mpmath.mpf(x) / 2**bits)) * 2**bits

    monkeypatch.setattr(module, "_taylor_down", lambda x, bits: math.floor(exactly(x, bits)))
    monkeypatch.setattr(module, "_taylor_up", lambda x, bits: math.ceil(exactly(x, bits)))
    module._exp_enclosure.cache_clear()
    for seed in range(20, 50):
        assert_within_a_unit(nats, seed)
    module._exp_enclosure.cache_clear()


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8, 208, 230])
def test_the_series_are_on_their_sides_and_near(bits):
    half = 1 << bits - 1
    for x in {0, 1, 2, 3, half // 2, half - 1, half, *range(0, half, max(1, half // 37))} - {-1}:
        exact = mpmath.exp(mpmath.mpf(min(x, half)) / 2**bits) * 2**bits
        down, up = module._taylor_down(min(x, half), bits), module._taylor_up(min(x, half), bits)
        assert 0 <= exact - down < 2 + bits / 2
        assert 0 <= up - exact < 2 + bits / 2


def test_bits_are_cut_off_on_the_stated_side():
    for mantissa in range(1, 200):
        for bits in (1, 3, 6):
            for up in (False, True):
                short, exponent = module._shorten(mantissa, -5, bits, up=up)
                assert (short.bit_length() <= bits) or (up and short == 1 << bits)
                error = short * Fraction(2) ** exponent - mantissa * Fraction(2) ** -5
                assert error >= 0 if up else error <= 0
                assert abs(error) < Fraction(2) ** exponent
                assert exponent == -5 or mantissa.bit_length() - bits == exponent + 5


def test_ends_are_rounded_outward_by_less_than_a_unit():
    for low, high in (
        (Fraction(1, 3), Fraction(2, 3)),
        (Fraction(-1, 3), Fraction(5, 7)),
        (Fraction(1), Fraction(3, 2)),
    ):
        below, above = module._outward(low, high, 5)
        assert low - Fraction(1, 32) < below <= low <= high <= above < high + Fraction(1, 32)


def test_the_text_one_tenth_is_no_float():
    low, high = Budget("0.1").enclosure()
    tenth = mpmath.exp(mpmath.mpf(1) / 10)
    assert real(low) <= tenth <= real(high)
    assert Fraction(0.1) != Budget("0.1").nats
    assert Budget(0.1).enclosure() != (low, high)


def test_zero_is_exact():
    assert Budget(0).enclosure() == Budget("log(1)").enclosure() == (1, 1)
    assert module._exp_enclosure(Fraction(1, 10**300))[0] == 1 < module._exp_enclosure(Fraction(1, 10**300))[1]


@pytest.mark.parametrize("ratio", [Fraction(3), Fraction(7, 2), 1 + Fraction(1, 10**30), Fraction(10**300)])
@pytest.mark.parametrize("multiple", [Fraction(1, 3), Fraction(65), Fraction(129, 2)])
def test_powers_of_a_ratio_are_enclosed_as_tightly_as_stated(ratio, multiple):
    low, high = Budget(f"log({ratio})").enclosure(multiple)
    power = mpmath.power(real(ratio), real(multiple))
    assert real(low) <= power <= real(high)
    assert high <= low * (1 + Fraction(1, 2**180))


def test_a_whole_power_of_a_ratio_is_exact_up_to_64():
    budget = Budget("log(3)")
    assert budget.enclosure(64) == (3**64, 3**64)
    low, high = budget.enclosure(65)
    assert low < 3**65 < high
    low, high = budget.enclosure(Fraction(1, 2))
    assert low * low < 3 < high * high


def test_the_largest_power_is_the_one_that_still_fits():
    module._exp_enclosure.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_NATS", 100)
        assert Budget(1.0).enclosure(100)[0] > 0
        with pytest.raises(Exception, match="too many digits"):
            Budget(1.0).enclosure(Fraction(101))


@pytest.mark.parametrize("nats", [2.0**-70, 1e-9, 0.3, 0.6, 1.0, 20.0, 300.0])
def test_logarithms_are_on_their_sides_and_near(nats):
    rng = np.random.default_rng(1)
    for _ in range(10):
        ratio = 1 + Fraction(math.expm1(nats)) * Fraction(int(rng.integers(10**9, 2 * 10**9)), 10**9)
        low, high = log_enclosure(ratio)
        log = mpmath.log1p(real(ratio - 1))
        assert real(low) < log < real(high)
        assert real(high - low) < max(1, log) * mpmath.mpf(2) ** -189


def test_logarithms_of_one_and_two():
    assert log_enclosure(Fraction(1)) == (0, 0)
    low, high = log_enclosure(Fraction(2))
    assert real(low) < mpmath.log(2) < real(high)


@pytest.mark.parametrize("nats", [1e-9, 0.1, 1.0, 3.0, 37.0, 700.0])
def test_the_least_float_above_a_logarithm_is_found_however_near_one_is(nats):
    exponential = fraction(mpmath.exp(nats))
    for hair in (Fraction(1, 2**230), Fraction(1, 2**300)):
        above = Budget(f"log({(exponential * (1 + hair)).limit_denominator(10**180)})")
        assert above.rounded_up == math.nextafter(nats, math.inf)
        below = Budget(f"log({(exponential * (1 - hair)).limit_denominator(10**180)})")
        assert below.rounded_up in (nats, math.nextafter(nats, math.inf))
    assert Budget(nats).rounded_up == nats
