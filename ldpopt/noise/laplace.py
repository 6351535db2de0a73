"""Laplace noise for the answer of a query (`ldpopt.mean.Laplace` is the mean protocol that adds
it).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.foundation.numbers import Float
from ldpopt.noise.geometric import Geometric
from ldpopt.noise.noise import Noise, Random, read_points, read_positive, uniforms


class Laplace(Noise):
    r"""Laplace noise of scale ``sensitivity / epsilon`` for queries; `ldpopt.mean.Laplace` is a
    mean protocol.

    .. math:: p(r) = \frac{\epsilon}{2\Delta} e^{-\epsilon |r| / \Delta}

    Parameters
    ----------
    sensitivity : float
        Largest change of the answer between neighbors, positive.
    epsilon : float or str
        Nats, positive, or ``"log(3)"``.

    Raises
    ------
    StatementError
        If the sensitivity or epsilon is not positive.

    Notes
    -----
    `sample` works in floats and is for simulation; ``on_grid`` gives two-sided geometric noise,
    drawn exactly.

    References
    ----------
    Dwork, McSherry, Nissim and Smith 2006.

    Examples
    --------
    >>> Laplace(1.0, 0.5).expected_abs
    2.0
    """

    @property
    def scale(self) -> float:
        """``sensitivity / epsilon``."""
        return self.sensitivity / float(self.epsilon)

    @property
    def expected_abs(self) -> float:
        """``sensitivity / epsilon``."""
        return self.scale

    @property
    def variance(self) -> float:
        """Twice the squared scale."""
        return 2 * self.scale**2

    @property
    def normalizer(self) -> float:
        """Twice the scale."""
        return 2 * self.scale

    def _steps(self, r: ArrayLike) -> Float:
        """Distances from 0 divided by the scale; infinite on overflow."""
        with np.errstate(over="ignore"):
            return np.asarray(np.abs(read_points(r)) / self.scale)

    def pdf(self, r: ArrayLike) -> Float:
        """See `Noise.pdf`."""
        return np.asarray(np.exp(-self._steps(r)) / self.normalizer)

    def cdf(self, r: ArrayLike) -> Float:
        """See `Noise.cdf`."""
        r = read_points(r)
        tail = np.exp(-self._steps(r)) / 2
        return np.asarray(np.where(r < 0, tail, 1 - tail))

    def sample(self, size: int, *, rng: Random = None) -> Float:
        """Draw for simulation; see `Noise.sample`."""
        u = uniforms(size, rng) - 0.5
        return np.asarray(-self.scale * np.sign(u) * np.log1p(-2 * np.abs(u)))

    def on_grid(self, step: float) -> Geometric:
        """Return geometric noise of sensitivity ``ceil(sensitivity / step)``, which covers
        rounding; see `Noise`.
        """
        return Geometric(math.ceil(self.sensitivity / read_positive(step, "step")), self.epsilon)
