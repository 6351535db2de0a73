"""Exact draws of coins, uniform and geometric numbers, made of 53-bit words."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.budget import Budget
from ldpopt.mechanism.sampling import BITS

Codes = NDArray[np.int64]
# returns so many uniform 53-bit words; see `bit_source`
Source = Callable[[int], NDArray[np.uint64]]
TOTAL = 1 << BITS  # number of different words: probabilities are whole multiples of ``1 / TOTAL``
MAX_TOSSED_MEAN = 32  # largest mean for which coins are tossed one by one
# Bound on the error of a float power, in units of ``2**-53``; words this close to it are compared
# exactly
FLOAT_MARGIN = 2.0 ** (BITS - 40)


def coin_tosses(mass: int, size: int, source: Source) -> NDArray[np.bool_]:
    """Toss coins with probability of heads ``mass / 2**53``."""
    return np.asarray(source(size) < np.uint64(mass))


def toss_lazily(
    mass: int, first: NDArray[np.uint8], source: Source, heads: NDArray[np.bool_]
) -> None:
    """Toss coins with probability of heads ``mass / 2**53``, ``mass < 2**53``: a byte decides,
    rarely with a word.

    ``heads``, shape (N,), is written; ``first`` are uniform bytes, one for each coin.
    """
    leading, trailing = divmod(mass, 1 << (BITS - 8))
    np.less(first, np.uint8(leading), out=heads)
    undecided = np.flatnonzero(first == np.uint8(leading))
    heads[undecided] = source(len(undecided)) >> np.uint64(8) < np.uint64(trailing)


def fair_bits(size: int, source: Source) -> NDArray[np.uint8]:
    """Toss fair coins, 48 from each word."""
    return np.unpackbits(source(-(-size // 48)).astype("<u8").view(np.uint8).reshape(-1, 8)[:, :6])[
        :size
    ]


def uniform_below(bound: int | Codes, size: int, source: Source) -> Codes:
    """Draw exactly uniform integers ``0 .. bound-1``, with one bound for all draws or one for
    each.
    """
    if isinstance(bound, int):
        if bound <= 1:
            return np.zeros(size, dtype=np.int64)
        if bound < 1 << (64 - BITS):
            return _multiply_and_shift(bound, size, source)
    limit = TOTAL - TOTAL % bound  # words from the last multiple of the bound on are drawn again
    words = source(size).astype(np.int64)
    while len(late := np.flatnonzero(words >= limit)):
        words[late] = source(len(late)).astype(np.int64)
    return np.asarray(words % bound)


def _multiply_and_shift(bound: int, size: int, source: Source) -> Codes:
    """Draw uniform integers below a small bound without division: the upper part of a product
    (Lemire 2019).
    """
    products = source(size) * np.uint64(bound)
    # each number has TOTAL // bound words; surplus words are below this
    surplus = np.uint64(TOTAL % bound)
    while len(late := np.flatnonzero((products & np.uint64(TOTAL - 1)) < surplus)):
        products[late] = source(len(late)) * np.uint64(bound)
    return (products >> np.uint64(BITS)).view(np.int64)


def round_decay_up(epsilon: Budget, share: Fraction | int = 1) -> int:
    r"""Return :math:`\lceil 2^{53} e^{-\text{share} \cdot \epsilon} \rceil`: rounding up keeps
    coins private.
    """
    return math.ceil(TOTAL / epsilon.enclosure(share)[0])


def two_sided_geometric_draws(weight: int, size: int, source: Source) -> Codes:
    r"""Draw whole numbers with :math:`P(k) \propto b^{|k|}`, ``b = weight / 2**53``; ``b = 1``
    gives +-2**62.
    """
    drawn = np.zeros(size, dtype=np.int64)
    waiting = np.arange(size)
    while len(waiting):
        magnitude = (
            np.full(len(waiting), 1 << 62)
            if weight == TOTAL
            else geometric_draws(weight, len(waiting), source)
        )
        minus = (source(len(waiting)) & np.uint64(1)).astype(bool)
        drawn[waiting] = np.where(minus, -magnitude, magnitude)
        waiting = waiting[minus & (magnitude == 0)]  # -0 is drawn again: else 0 would count twice
    return drawn


def geometric_draws(weight: int, size: int, source: Source) -> Codes:
    r"""Draw the number of heads before the first tail, for a coin with probability of heads ``b =
    weight / 2**53``.

    .. math:: P(k) = (1 - b) b^k,
              \qquad k = u + t v, \quad P(u) \propto b^u \; (u < t), \quad P(v) \propto b^{tv}
    """
    # With t near 1 / (1 - b), a uniform u is kept with probability b**u > 1/3, and v counts heads
    # of a coin with probability b**t: about ten words per draw at any b (Canonne, Kamath and
    # Steinke 2020, algorithm 2).
    block = TOTAL // (TOTAL - weight)
    counted = np.zeros(size, dtype=np.int64)
    if block < MAX_TOSSED_MEAN:
        alive = np.arange(size)
        while len(alive):
            alive = alive[source(len(alive)) < np.uint64(weight)]
            counted[alive] += 1
        return counted
    waiting = np.arange(size)
    while len(waiting):
        remainder = uniform_below(block, len(waiting), source)
        kept = power_coin_tosses(weight, remainder, source)
        counted[waiting[kept]] = remainder[kept]
        waiting = waiting[~kept]
    alive = np.arange(size)
    while len(alive):
        alive = alive[power_coin_tosses(weight, np.full(len(alive), block), source)]
        counted[alive] += block
    return counted


def power_coin_tosses(weight: int, exponent: Codes, source: Source) -> NDArray[np.bool_]:
    """Toss coins with probability of heads exactly ``(weight / 2**53) ** exponent``."""
    # The exponent is at most 2**53 / (2**53 - weight). A word farther from the float power than its
    # error decides. The others (one in 2**38) get more words, and integer bounds of the power,
    # until they decide.
    words = source(len(exponent))
    power = np.exp(exponent * math.log1p(-(TOTAL - weight) / TOTAL)) * TOTAL
    distance = power - words.astype(float)
    heads: Any = distance > 0
    for i in np.flatnonzero(np.abs(distance) < FLOAT_MARGIN).tolist():
        heads[i] = _is_below_power(weight, int(exponent[i]), int(words[i]), source)
    return np.asarray(heads)


def _is_below_power(weight: int, exponent: int, word: int, source: Source) -> bool:
    """Whether the uniform number whose first word is ``word`` is below the power."""
    bits = BITS
    while True:
        word, bits = word << BITS | int(source(1)[0]), bits + BITS
        low, high = _power_bounds(weight, exponent, bits)
        if word + 1 <= low:
            return True
        if word >= high:
            return False


def _power_bounds(weight: int, exponent: int, bits: int) -> tuple[int, int]:
    """Integer bounds of ``(weight / 2**53) ** exponent * 2**bits``, by squaring with guard bits for
    the rounding.
    """
    guard = 2 * exponent.bit_length() + 8
    fine = bits + guard
    low = high = 1 << fine
    square_low = square_high = weight << (fine - BITS)
    while exponent:
        if exponent & 1:
            low, high = low * square_low >> fine, -(-high * square_high >> fine)
        square_low, square_high = (
            square_low * square_low >> fine,
            -(-square_high * square_high >> fine),
        )
        exponent >>= 1
    return low >> guard, -(-high >> guard)
