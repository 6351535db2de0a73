r"""Variances of numbers that are estimated from several channels with fixed numbers of people.

With the share :math:`s_j` of people in channel ``j``, values ``v`` and the mean
:math:`m_{jx} = \sum_y P_j(y \mid x) v_{jy}`, the variance of a person's value within channels is

.. math:: \sum_j s_j \Big( \sum_{x, y} p_x P_j(y \mid x) v_{jy}^2
          - \Big( \sum_x p_x m_{jx} \Big)^2 \Big),

which is concave in ``p``. Values that are moved by a constant of their channel have the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ldpopt.foundation.numbers import Float


def variances_within(source: Any, slices: Sequence[slice], prior: Float | None) -> Float:
    """Variance of one person's value for each number, shape (k,), at a prior, or at most as large
    as what is returned, at the worst one; O(k n^2 m).
    """
    shares = np.array([source.channel[0, part].sum() for part in slices])
    squares = source.estimator**2 @ source.channel.T
    # (j, k, n): the means of the values in each channel
    means = np.stack(
        [
            source.estimator[:, part] @ (source.channel[:, part] / share).T
            for part, share in zip(slices, shares, strict=True)
        ]
    )
    return np.array(
        [
            _variance(squares[row], means[:, row], shares, prior)
            if prior is not None
            else _largest(squares[row], means[:, row], shares)
            for row in range(len(squares))
        ]
    )


def _variance(squares: Float, means: Float, shares: Float, p: Float) -> float:
    """The variance at the shares ``p``."""
    return float(squares @ p - shares @ (means @ p) ** 2)


def _largest(squares: Float, means: Float, shares: Float) -> float:
    """An upper bound on the largest variance, from a point near the maximum and its tangent."""
    from scipy.optimize import minimize

    n = len(squares)

    def slope(p: Float) -> Float:
        return np.asarray(squares - 2 * (shares * (means @ p)) @ means)

    scale = max(float(squares.max()), 1.0)
    search: Any = minimize
    nearby = search(
        lambda p: -_variance(squares, means, shares, p) / scale,
        np.full(n, 1 / n),
        jac=lambda p: -slope(p) / scale,
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones(n)},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    p = np.maximum(nearby.x, 0.0)
    p = p / p.sum()
    gradient = slope(p)
    return _variance(squares, means, shares, p) + float(gradient.max() - gradient @ p)
