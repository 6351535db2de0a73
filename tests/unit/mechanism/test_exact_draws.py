"""Exact uniform and geometric draws: their distribution, and the coins that integer bounds
decide."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from ldpopt.mechanism.exact_draws import TOTAL, geometric_draws, power_coin_tosses, uniform_below
from ldpopt.mechanism.sampling import bit_source


@pytest.mark.parametrize("b", [0.3, 0.98, 1 - 1e-3, 1 - 1e-9, 1 - 2.0**-53])
def test_geometric_draws_follow_the_distribution(b):
    """Equal shares in ten cells of equal probability, tail included; false alarms below 1e-6."""
    weight = int(b * TOTAL)
    drawn = geometric_draws(weight, 200_000, bit_source(5))
    b = weight / TOTAL
    ends = np.unique(np.ceil(np.log1p(-np.arange(1, 10) / 10) / np.log(b)).astype(int)) - 1
    below = -np.expm1((ends + 1) * np.log(b))
    expected = np.diff(np.concatenate([[0.0], below, [1.0]]))
    counted = np.diff(
        np.concatenate([[0], [np.count_nonzero(drawn <= e) for e in ends], [len(drawn)]])
    )
    assert stats.chisquare(counted, expected * len(drawn)).pvalue > 1e-6


def test_small_numbers_are_geometric_one_by_one():
    """Within a block every single number has its geometric probability."""
    weight = int(0.98 * TOTAL)
    drawn = geometric_draws(weight, 400_000, bit_source(6))
    expected = (1 - 0.98) * 0.98 ** np.arange(150)
    counted = np.bincount(drawn, minlength=150)[:150]
    rest = len(drawn) - counted.sum()
    assert (
        stats.chisquare([*counted, rest], np.append(expected, 0.98**150) * len(drawn)).pvalue > 1e-6
    )


@pytest.mark.parametrize("exponent", [0, 1, 2, 33, 49])
@pytest.mark.parametrize("further", [0, 1, TOTAL // 3, TOTAL - 1])
def test_words_next_to_the_power_are_decided_exactly(exponent, further):
    """Every word near the threshold is compared with the rational power, for all words that
    follow."""
    weight = int(0.98 * TOTAL)
    power = Fraction(weight, TOTAL) ** exponent
    middle = int(power * TOTAL)
    for word in range(max(middle - 3, 0), min(middle + 4, TOTAL)):
        following = iter([word])
        falls = power_coin_tosses(
            weight,
            np.array([exponent]),
            lambda size, following=following: np.array(
                [next(following, further)] * size, np.uint64
            ),
        )[0]
        low = Fraction(word * TOTAL + further, TOTAL**2)
        high = Fraction(word * TOTAL + further + 1, TOTAL**2)
        if high <= power:
            assert falls
        elif low >= power:
            assert not falls


@pytest.mark.parametrize(
    "bound, words, again, drawn",
    [
        (6144, [TOTAL - 1, 7], 5, [5, 7]),
        (3, [0, TOTAL - 1], TOTAL // 2, [1, 2]),
        (np.array([3, 7]), [TOTAL - 1, 9], 5, [2, 2]),
    ],
    ids=["modulo", "product", "a bound for each"],
)
def test_uniform_draws_reject_the_surplus_words(bound, words, again, drawn):
    served = iter([np.array(words, dtype=np.uint64), np.array([again], dtype=np.uint64)])
    assert uniform_below(bound, 2, lambda size: next(served)).tolist() == drawn
