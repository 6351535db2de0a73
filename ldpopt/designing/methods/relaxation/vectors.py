r"""The relaxed program: a unit vector for each answer in place of its signs.

Signs ``s`` of a set are replaced by unit vectors ``z_x``, and 1 by ``z_0``. The channel's equations say that all
``z_x`` have the same product ``t`` with the direction of ``p = a z_0 + h sum_x r_x z_x``. Splitting them along it
leaves free unit vectors ``u_x``:

.. math:: z_x = (t, \sqrt{1 - t^2}\, u_x), \quad
          |p| = h t + \sqrt{a^2 - h^2 (1 - t^2) |\bar u|^2}, \quad \bar u = \sum_x r_x u_x ,

with the objective :math:`|p|^2 / (h^2 (1 - t^2)) \operatorname{tr}(G (T U U^T T^T)^{-1})`. The share of the sets
that have both of two answers becomes ``(1 + z_0 z_x + z_0 z_y + z_x z_y) / 4``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.pricing import Staircases
from ldpopt.foundation.numbers import Float


@dataclass(frozen=True, eq=False)
class Moments:
    """What unit vectors say.

    Attributes
    ----------
    units : ndarray, shape (n, n)
        ``u_x``, one a row.
    tilt : float
        ``t``.
    mean : ndarray, shape (n,)
        The mean of ``u`` over the weights.
    root, length : float
        The root above, and ``|p|``.
    products : ndarray, shape (n, n)
        ``u_x u_y``.
    shares : ndarray, shape (n, n)
        Share of the sets that have two answers; on the diagonal, one answer.
    """

    units: Float
    tilt: float
    mean: Float
    root: float
    length: float
    products: Float
    shares: Float

    @property
    def spread(self) -> float:
        """``1 - t^2``."""
        return 1 - self.tilt**2


class Program:
    """Objective and moments of unit vectors, with their derivatives."""

    def __init__(self, contrasts: Contrasts, cone: Staircases, lift: float) -> None:
        n = len(contrasts.weights)
        self.r, self.n = contrasts.weights, n
        self.a, self.h = cone.base + cone.spread / 2, cone.spread / 2
        # A little of every direction, also of those that the workload does not need.
        self.gram = contrasts.reduced + lift / n * np.eye(n - 1)
        self.tilted = contrasts.basis.T @ (np.eye(n) - np.outer(np.ones(n), self.r))

    def moments(self, units: Float, tilt: float) -> Moments:
        """Moments at given vectors."""
        a, h, spread = self.a, self.h, 1 - tilt**2
        mean = self.r @ units
        root = math.sqrt(max(a * a - h * h * float(mean @ mean) * spread, 1e-300))
        products = units @ units.T
        along = tilt * root / a - (h * spread / a) * (units @ mean)
        shares = (1 + along[:, None] + along + tilt**2 + spread * products) / 4
        return Moments(units, tilt, mean, root, h * tilt + root, products, shares)

    def inverse(self, at: Moments) -> Float:
        """``S`` in the coordinates of the contrasts with unit 1."""
        part = self.tilted @ at.units
        return np.asarray(np.linalg.inv(part @ part.T) * self._scale(at))

    def value(self, at: Moments) -> tuple[float, Float, float, float]:
        """Objective, and its derivatives by the unit vectors, ``|p|`` and ``t``."""
        part = self.tilted @ at.units
        inverse = np.linalg.inv(part @ part.T)
        through, scale = self.gram @ inverse, self._scale(at)
        value = float(np.trace(through)) * scale
        by_units = -2 * scale * (self.tilted.T @ (inverse @ (through @ part)))
        return value, by_units, 2 * value / at.length, 2 * value * at.tilt / at.spread

    def pull(self, at: Moments, by_shares: Float, by_length: float) -> tuple[Float, float]:
        """Derivatives by the unit vectors and ``t`` of what depends on shares and ``|p|``."""
        a, h, t, spread = self.a, self.h, at.tilt, at.spread
        by_along = by_shares.sum(axis=1) / 2
        by_product = -(h * spread / a) * by_along
        by_root = by_length + float(by_along.sum()) * t / a
        square = float(at.mean @ at.mean)
        by_units = (spread / 2) * (by_shares @ at.units) + np.outer(by_product, at.mean)
        pulled = by_product @ at.units - (h * h * spread / at.root * by_root) * at.mean
        by_units += np.outer(self.r, pulled)
        by_tilt = float((by_shares * (1 - at.products)).sum()) * t / 2
        by_tilt += float(by_along.sum()) * at.root / a + (2 * t * h / a) * float(by_along @ (at.units @ at.mean))
        by_tilt += h * by_length + h * h * square * t / at.root * by_root
        return by_units, by_tilt

    def _scale(self, at: Moments) -> float:
        return at.length**2 / (self.h**2 * at.spread)
