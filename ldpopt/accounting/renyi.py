"""Renyi divergences in floats, raised by what rounding can lose: none is below the truth.

The sum of ``p (p / q)**(s - 1)`` is not computed itself. For an order near 1 it is close to 1, so
that its logarithm would be rounding; for a large order it is no float.
"""

from fractions import Fraction
from math import log, log1p

import numpy as np

from ldpopt.foundation.numbers import Float, Int

LARGEST = 500.0  # exponent above which the largest power is a factor of its own
LARGEST_ORDER = 1e290  # of a finite order; times a logarithm of two masses it is a float
ROUNDING = 2.0**-49  # of a number, relative to it
MAX_FLOAT = 1e300


def renyi_divergence(
    p: Float, logs: Float, order: float, differences: Float | float = 0.0
) -> Float:
    r"""Renyi divergences along the last axis, of a finite order of at least 1.

    .. math:: \frac{1}{t} \log \Bigl(1 + \sum_y p_y (e^{t L_y} - 1) + t (q_y - p_y)\Bigr),
              \quad t = s - 1

    With ``q - p``, whose sum is 0, no term is negative, since ``1 - q / p`` is at most ``L``.

    Parameters
    ----------
    p : ndarray of shape (..., m)
        Probabilities under the first answer.
    logs : ndarray of shape (..., m)
        Logarithms ``L`` of the likelihood ratios; 0 where ``p`` is.
    order : float
        The order ``s``.
    differences : ndarray of shape (..., m), or float
        ``q - p``; default: ``0.0``, a sum whose terms have both signs.
    """
    t = order - 1
    if not t:
        terms = p * logs + differences
        lost = p * np.abs(logs) + np.abs(differences)
        return np.asarray((terms + ROUNDING * lost).sum(axis=-1))
    if t > LARGEST_ORDER:  # the exponents are beyond floats: the divergence of order inf is above
        return np.asarray(np.maximum(logs.max(axis=-1, initial=0.0), 0.0) * (1 + ROUNDING))
    exponents = t * logs
    shift = exponents.max(axis=-1, initial=0.0)
    bounded = np.minimum(exponents, LARGEST)
    powers = p * np.expm1(bounded)
    # an error of an exponent is one of its power, relative to it
    lost = p * np.exp(bounded) * np.abs(bounded) + np.abs(powers) + t * np.abs(differences)
    small = np.log1p((powers + t * differences + ROUNDING * lost).sum(axis=-1))
    with np.errstate(under="ignore"):
        sums = (p * np.exp(exponents - shift[..., None])).sum(axis=-1)
    large = shift + np.log(np.where(shift > LARGEST, sums, 1.0)) + ROUNDING * shift
    moments = np.where(shift > LARGEST, large, small)
    return np.asarray(moments / t * (1 + ROUNDING))


def log_ratios(p: Int, q: Int) -> Float:
    """Logarithms of the ratios of masses: 0 where the first mass is 0, infinite where only the
    second one is.
    """
    both = (p > 0) & (q > 0)
    over = np.where(both, p, 1)
    under = np.where(both, q, 1)
    # close to 1 the difference of two masses is exact, and their ratio is not
    is_close = 2 * over > under
    near = np.log1p(np.where(is_close, (over - under) / under, 0.0))
    found = np.where(is_close, near, np.log(over / under))
    return np.where((p > 0) & (q == 0), np.inf, found)


def log_ratio(ratio: Fraction) -> float:
    """Logarithm of a positive ratio of any size."""
    if 0.5 < ratio < MAX_FLOAT:
        return log1p(float(ratio - 1))
    return log(ratio.numerator) - log(ratio.denominator)
