"""The normal distribution function between rationals, against mpmath."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases
from ldpopt.foundation.normal import normal_cdf, probit

POINTS = [0, Fraction(1, 3), -8, Fraction(-83, 10), 30, -37, Fraction(1, 10**40), Fraction(399, 10)]


def contains(ends: tuple[Fraction, Fraction], value: mpmath.mpf) -> bool:
    low, high = (mpmath.mpf(end.numerator) / end.denominator for end in ends)
    return bool(low <= value <= high)


@pytest.mark.parametrize("z", POINTS)
def test_it_encloses_the_function_closely(z: Fraction) -> None:
    with mpmath.workprec(3000):
        value = mpmath.ncdf(mpmath.mpf(Fraction(z).numerator) / Fraction(z).denominator)
        ends = normal_cdf(Fraction(z))
        assert contains(ends, value)
        assert ends[1] - ends[0] <= ends[1] / 2**180


@cases(60)
@given(st.fractions(-45, 45, max_denominator=10**9))
def test_it_encloses_the_function(z: Fraction) -> None:
    with mpmath.workprec(3000):
        assert contains(normal_cdf(z), mpmath.ncdf(mpmath.mpf(z.numerator) / z.denominator))


@cases(40)
@given(st.fractions(0, 1, max_denominator=2**60), st.booleans())
def test_its_inverse_is_proved(u: Fraction, fine: bool) -> None:
    if not 0 < u < 1:
        return
    low, high = probit(u, fine=fine)
    assert normal_cdf(low)[1] <= u <= normal_cdf(high)[0]
    assert high - low < (Fraction(1, 2**140) if fine else Fraction(1, 2**30))


@pytest.mark.parametrize(
    "power", [53, 200, pytest.param(900, marks=pytest.mark.long), 1001, 1074, 4000]
)
def test_far_tails(power: int) -> None:
    u = Fraction(1, 2**power)
    low, high = probit(u)
    assert low < high < 0
    assert normal_cdf(high)[0] >= u or power > 1000
    if low > -40:
        assert normal_cdf(low)[1] <= u
    assert probit(1 - u) == (-high, -low)
