"""Exact geometric draws: law, and the coins decided by enclosures."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from ldpopt import noise
from ldpopt.closed_forms.runs import geometric_draws, power_coin_tosses
from ldpopt.closed_forms.samplers import TOTAL
from ldpopt.mechanism.sampling import bit_source


@pytest.mark.parametrize("b", [0.3, 0.98, 1 - 1e-3, 1 - 1e-9])
def test_law(b):
    """Equal shares in ten cells of equal probability, tail included; false alarms below 1e-6."""
    weight = int(b * TOTAL)
    drawn = geometric_draws(weight, 200_000, bit_source(5))
    b = weight / TOTAL
    ends = np.unique(np.ceil(np.log1p(-np.arange(1, 10) / 10) / np.log(b)).astype(int)) - 1
    below = -np.expm1((ends + 1) * np.log(b))
    expected = np.diff(np.concatenate([[0.0], below, [1.0]]))
    counted = np.diff(np.concatenate([[0], [np.count_nonzero(drawn <= e) for e in ends], [len(drawn)]]))
    assert stats.chisquare(counted, expected * len(drawn)).pvalue > 1e-6


def test_low_digits_are_exact_too():
    """Within a block the law is geometric number by number, not only in the large."""
    weight = int(0.98 * TOTAL)
    drawn = geometric_draws(weight, 400_000, bit_source(6))
    expected = (1 - 0.98) * 0.98 ** np.arange(150)
    counted = np.bincount(drawn, minlength=150)[:150]
    rest = len(drawn) - counted.sum()
    assert stats.chisquare([*counted, rest], np.append(expected, 0.98**150) * len(drawn)).pvalue > 1e-6


@pytest.mark.parametrize("exponent", [0, 1, 2, 33, 49])
@pytest.mark.parametrize("further", [0, 1, TOTAL // 3, TOTAL - 1])
def test_coins_next_to_the_power(exponent, further):
    """Every word near the threshold is decided as the rational number says, whatever words follow."""
    weight = int(0.98 * TOTAL)
    power = Fraction(weight, TOTAL) ** exponent
    middle = int(power * TOTAL)
    for word in range(max(middle - 3, 0), min(middle + 4, TOTAL)):
        following = iter([word])
        falls = power_coin_tosses(
            weight,
            np.array([exponent]),
            lambda size, following=following: np.array([next(following, further)] * size, np.uint64),
        )[0]
        low, high = Fraction(word * TOTAL + further, TOTAL**2), Fraction(word * TOTAL + further + 1, TOTAL**2)
        if high <= power:
            assert falls
        elif low >= power:
            assert not falls


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3])
def test_tiny_budgets_are_drawn(epsilon):
    """Mean size is 1 / epsilon, within six deviations."""
    law = noise.Geometric(1, epsilon)
    drawn = np.abs(law.sample(20_000, rng=3)).astype(float)
    assert abs(drawn.mean() * epsilon - 1) < 6 / np.sqrt(20_000)
