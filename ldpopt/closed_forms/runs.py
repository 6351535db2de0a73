"""Exact geometric draws at every budget: the number of coins until one fails, in time that does not depend on it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.closed_forms.samplers import TOTAL, Codes, Source, uniform_below
from ldpopt.mechanism.sampling import BITS

SHORT = 32
"""Mean length up to which coins are simply tossed."""

MARGIN = 2.0 ** (BITS - 40)
"""More than the error of a float power below, in units of ``2**-53``; words that close to it are settled exactly."""


def runs(weight: int, size: int, source: Source) -> Codes:
    r"""Count the coins of weight ``b = weight / 2**53`` that fall before the first that fails.

    .. math:: P(k) = (1 - b) b^k, \qquad k = u + t v, \quad P(u) \propto b^u \; (u < t), \quad P(v) \propto b^{tv}

    Parameters
    ----------
    weight : int
        ``0 <= weight < 2**53``.
    size : int
        Number of draws.
    source : callable
        Uniform 53-bit words.

    Returns
    -------
    ndarray of int64, shape (size,)
        At most ``2**53`` times a number that exceeds 500 with probability below ``exp(-250)``.

    Notes
    -----
    With ``t`` near ``1 / (1 - b)`` a uniform ``u`` is kept with probability ``b**u > 1/3``, and ``v`` is a short run
    of coins of weight ``b**t``: about ten words a draw at any ``b`` (Canonne, Kamath and Steinke 2020, algorithm 2).
    """
    block = TOTAL // (TOTAL - weight)
    counted = np.zeros(size, dtype=np.int64)
    if block < SHORT:
        alive = np.arange(size)
        while len(alive):
            alive = alive[source(len(alive)) < np.uint64(weight)]
            counted[alive] += 1
        return counted
    waiting = np.arange(size)
    while len(waiting):
        place = uniform_below(block, len(waiting), source)
        kept = power_coins(weight, place, source)
        counted[waiting[kept]] = place[kept]
        waiting = waiting[~kept]
    alive = np.arange(size)
    while len(alive):
        alive = alive[power_coins(weight, np.full(len(alive), block), source)]
        counted[alive] += block
    return counted


def power_coins(weight: int, exponent: Codes, source: Source) -> NDArray[np.bool_]:
    """Toss coins that fall with probability exactly ``(weight / 2**53) ** exponent``, ``exponent <= 2**53 / failing``.

    A word decides wherever it is farther from a float power than its error; the others (one in ``2**38``) get further
    words and an enclosure by whole numbers until they are decided.
    """
    words = source(len(exponent))
    power = np.exp(exponent * math.log1p(-(TOTAL - weight) / TOTAL)) * TOTAL
    distance = power - words.astype(float)
    falls: Any = distance > 0
    for i in np.flatnonzero(np.abs(distance) < MARGIN).tolist():
        falls[i] = _settled(weight, int(exponent[i]), int(words[i]), source)
    return np.asarray(falls)


def _settled(weight: int, exponent: int, word: int, source: Source) -> bool:
    """Whether the uniform number that begins with that word is below the power."""
    bits = BITS
    while True:
        word, bits = word << BITS | int(source(1)[0]), bits + BITS
        low, high = _power(weight, exponent, bits)
        if word + 1 <= low:
            return True
        if word >= high:
            return False


def _power(weight: int, exponent: int, bits: int) -> tuple[int, int]:
    """Whole numbers around ``(weight / 2**53) ** exponent * 2**bits``, by squaring with a guard for the roundings."""
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
