"""Exact geometric draws: the number of heads before the first tail, in time independent of the budget."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.closed_forms.samplers import TOTAL, Codes, Source, uniform_below
from ldpopt.mechanism.sampling import BITS

MAX_TOSSED_MEAN = 32
"""Largest mean for which coins are tossed one by one."""

FLOAT_MARGIN = 2.0 ** (BITS - 40)
"""Bound on the error of a float power, in units of ``2**-53``; words this close to it are compared exactly."""


def geometric_draws(weight: int, size: int, source: Source) -> Codes:
    r"""Draw the number of heads before the first tail, for a coin with probability of heads ``b = weight / 2**53``.

    .. math:: P(k) = (1 - b) b^k, \qquad k = u + t v, \quad P(u) \propto b^u \; (u < t), \quad P(v) \propto b^{tv}

    Result: (size,).

    Notes
    -----
    With ``t`` near ``1 / (1 - b)`` a uniform ``u`` is kept with probability ``b**u > 1/3``, and ``v`` counts heads of a
    coin with probability ``b**t``: about ten words per draw at any ``b`` (Canonne, Kamath and Steinke 2020, algorithm
    2).
    """
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
    """Toss coins with probability of heads exactly ``(weight / 2**53) ** exponent``.

    The exponent is at most ``2**53 / (2**53 - weight)``. A word farther from the float power than its error decides.
    The others (one in ``2**38``) get more words, and integer bounds of the power, until they decide.
    """
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
    """Integer bounds of ``(weight / 2**53) ** exponent * 2**bits``, by squaring with guard bits for the rounding."""
    guard = 2 * exponent.bit_length() + 8
    fine = bits + guard
    low = high = 1 << fine
    square_low = square_high = weight << (fine - BITS)
    while exponent:
        if exponent & 1:
            low, high = low * square_low >> fine, -(-high * square_high >> fine)
        square_low, square_high = square_low * square_low >> fine, -(-square_high * square_high >> fine)
        exponent >>= 1
    return low >> guard, -(-high >> guard)
