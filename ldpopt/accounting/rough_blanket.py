"""The privacy blanket in floats, by one transform: to search with, never to prove.

It is the bound of `blanket`, with the same lattices and no rounding, so that a search ends next to
what is then proved.
"""

from math import exp, log, sqrt

import numpy as np

from ldpopt.accounting.blanket import RARE, Blanket
from ldpopt.accounting.blanket_rows import Rows
from ldpopt.accounting.lattice import tilt_of
from ldpopt.accounting.privacy_loss import ONE
from ldpopt.foundation.numbers import Float

FINENESS = 8  # places to a standard deviation
REACH = 12  # standard deviations to both sides
MAX_PLACES = 1 << 18
LARGEST = 600.0  # exponent of a weight


def rough_excess(blanket: Blanket, a: float) -> float:
    """About the excess of shuffled reports at ``a``, by the worst of all pairs of answers."""
    return max(_of_pair(rows, a, blanket.n) for rows in blanket.rows)


def _of_pair(rows: Rows, a: float, n: int) -> float:
    """The bound of a pair of answers in floats, for rows as in `blanket`: reports that are rare in
    the blanket count alone, the others by the sum of n scores.
    """
    p, q, least = (np.array(row, float) / ONE for row in rows)
    is_rare = least * n * RARE < 1
    alone = np.maximum(p - a * q, 0)[is_rare].sum()
    masses = least[~is_rare]
    values = (p - a * q)[~is_rare] / masses
    if not len(values) or values.max() <= 0:
        return float(alone)
    return float(alone) + _positive_part(values, masses, n) / n


def _positive_part(values: Float, masses: Float, n: int) -> float:
    """Mean positive part of a sum of n variables, 0 with what is left of their mass, about.

    The law is tilted, so that the sum is centered at 0: what counts is there, and floats of a
    transform have an error relative to it.
    """
    tilt = tilt_of(values, masses)
    values = np.append(values, 0.0)
    masses = np.append(masses, max(1 - masses.sum(), 0.0))
    weights = masses * np.exp(np.minimum(tilt * values, LARGEST))
    deviation = sqrt(float(weights @ values**2 / weights.sum()))
    step = deviation / FINENESS
    width = max(2 * REACH * sqrt(n) * deviation, 3 * np.abs(values).max())
    size = 1 << int(np.ceil(np.log2(width / step)))
    if size > MAX_PLACES:
        step *= size / MAX_PLACES
        size = MAX_PLACES
    places = np.floor(values / step).astype(int)
    shares = values / step - places
    law = np.zeros(size)
    # between two places with its mean kept, as in `positive_part`
    for offset, part in ((0, 1 - shares), (1, shares)):
        ends = places + offset
        np.add.at(law, ends % size, masses * part * np.exp(np.minimum(tilt * step * ends, LARGEST)))
    total = law.sum()
    sums = np.fft.irfft(np.fft.rfft(law / total) ** n, size)
    s = np.arange(1, size // 2)
    terms = s * sums[1 : size // 2] * np.exp(-tilt * step * s)
    return float(terms.sum()) * step * exp(n * log(total))
