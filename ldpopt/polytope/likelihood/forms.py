r"""The functions f of likelihood ratios in floats, for the search: values, slopes and conjugates.

A function f enters less its tangent: with :math:`z = p - q` (for scores: z are the scores' masses)
the utility of a column is :math:`\mu(c) = q \cdot c \; g(z \cdot c / q \cdot c)` with g convex,
:math:`g(0) = g'(0) = 0`. So small budgets lose no digits.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ldpopt.foundation.numbers import Float

NEAR = 0.03  # ratios this near to 0 are summed as a series
SMALL_SLOPE = 0.3  # so are exponentials of slopes this small


@dataclass(frozen=True)
class Form:
    r"""One g: :math:`q g(z/q)` and :math:`g'(z/q)` from z, q and ``p = z + q``,, and
    :math:`g^*(u) = \max_r u r - g(r)`.
    """

    value: Callable[[Float, Float, Float], Float]
    slope: Callable[[Float, Float, Float], Float]
    conjugate: Callable[[Float], Float]


def kl_terms(p: Float, q: Float, z: Float | None = None) -> Float:
    r""":math:`p \log(p/q) - p + q >= 0`, without cancellation near q; z is the difference, if it
    is known better.
    """
    z = p - q if z is None else z
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r = np.where(q > 0, z / q, 0.0)
        away = np.where(p > 0, p * np.log(p / q), 0.0) - z
    is_near = np.abs(r) < NEAR
    r = np.where(is_near, r, 0.0)
    near = q * np.polyval(_SERIES, r) * r * r
    at_zero = np.where(p > 0, np.inf, 0.0)
    return np.where(q > 0, np.where(is_near, near, away), at_zero)


# Coefficients of ``((1 + r) log(1 + r) - r) / r**2``, highest power first
_SERIES = [(-1) ** k / (k * (k - 1)) for k in range(12, 1, -1)]
# Coefficients of ``(exp(u) - 1 - u) / u**2``, highest power first
_EXPONENTIAL = 1 / np.cumprod(np.arange(1.0, 18.0))[:0:-1]


def _kl_slope(z: Float, q: Float, p: Float) -> Float:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r = z / q
        away = np.log(p / q)
    is_near = np.abs(r) < 0.5
    near = np.log1p(np.where(is_near, r, 0.0))
    return np.where(is_near, near, away)


def _kl_conjugate(u: Float) -> Float:
    is_small = np.abs(u) < SMALL_SLOPE
    small = np.where(is_small, u, 0.0)
    near = np.polyval(_EXPONENTIAL, small) * small**2
    with np.errstate(over="ignore"):
        away = np.expm1(u) - u
    return np.where(is_small, near, away)


def _square(z: Float, q: Float, p: Float) -> Float:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(z == 0, 0.0, z * z / q)


def _square_slope(z: Float, q: Float, p: Float) -> Float:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return 2 * z / q


def _hellinger(z: Float, q: Float, p: Float) -> Float:
    with np.errstate(divide="ignore", invalid="ignore"):
        root = z / (np.sqrt(p) + np.sqrt(q))
        return np.where(z == 0, 0.0, root**2)


def _hellinger_conjugate(u: Float) -> Float:
    """The conjugate, infinite from 1 on."""
    slopes = np.asarray(u, np.float64)
    infinite = np.full(slopes.shape, np.inf)
    return np.asarray(np.divide(slopes * slopes, 1 - slopes, out=infinite, where=slopes < 1))


def _hellinger_slope(z: Float, q: Float, p: Float) -> Float:
    # 1 - sqrt(q / p), without cancellation near q
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(p)
        slope = z / (root * (root + np.sqrt(q)))
        return np.where(z == 0, 0.0, slope)


SQUARE = Form(_square, _square_slope, lambda u: u * u / 4)
FORMS: dict[str, Form] = {
    "kl": Form(
        lambda z, q, p: kl_terms(p, q, z),
        _kl_slope,
        _kl_conjugate,
    ),
    "chi_square": SQUARE,
    "fisher": SQUARE,
    "squared_hellinger": Form(
        _hellinger,
        _hellinger_slope,
        _hellinger_conjugate,
    ),
    "total_variation": Form(
        lambda z, q, p: np.abs(z) / 2,
        lambda z, q, p: np.sign(z) / 2,
        np.zeros_like,
    ),
}
