r"""The hybrid mechanism of Wang et al.: piecewise or two-point, by a coin that does not see the answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.mean.duchi import Duchi
from ldpopt.mean.piecewise import Piecewise
from ldpopt.mean.protocol import Protocol, Source, uniforms
from ldpopt.utility import Float

THRESHOLD = math.log(
    (-5 + 2 * (6353 - 405 * math.sqrt(241)) ** (1 / 3) + 2 * (6353 + 405 * math.sqrt(241)) ** (1 / 3)) / 27
)
"""Budget below which the two-point mechanism alone has the least worst case: about 0.6093525."""


class Hybrid(Protocol):
    r"""Report by the piecewise mechanism with probability ``1 - exp(-epsilon / 2)``, else by Duchi's, on [-1, 1].

    .. math:: V(t) = \frac{s + 3}{3 s (s - 1)} + \frac{1}{s} \coth^2 \frac{\epsilon}{2}, \qquad s = e^{\epsilon/2}

    for ``epsilon`` above 0.6093525, the same for every ``t``; below that it is Duchi's mechanism.

    Parameters
    ----------
    epsilon : float or str
        Budget in nats, positive.

    Notes
    -----
    Delta is the mixture of the two deltas, as the answers -1 and 1 are the worst pair of both. For simulation, see
    `Protocol`.

    References
    ----------
    Wang et al. 2019, section III.

    Examples
    --------
    >>> float(round(Hybrid(1.0).variance(0.0) - Hybrid(1.0).variance(1.0), 12))
    0.0
    """

    def __init__(self, epsilon: float | str) -> None:
        super().__init__(epsilon)
        self.piecewise, self.duchi = Piecewise(self.epsilon), Duchi(self.epsilon)
        self.weight = self.piecewise.share if self.epsilon > THRESHOLD else 0.0
        size = self.piecewise.size if self.weight else self.duchi.size
        self.report_range = (-size, size)

    def _randomize(self, x: Float, source: Source) -> NDArray[Any]:
        two_point = self.duchi._randomize(x, source)
        if not self.weight:
            return two_point
        coin = uniforms(source, x.size) < self.weight
        return np.where(coin, self.piecewise._randomize(x, source), two_point)

    def _variance(self, x: Any) -> Any:
        if not self.weight:
            return self.duchi._variance(x)
        r, gap = self.piecewise.inverse, self.piecewise.share
        # The coefficients of x**2 cancel: gap * r / gap - r = 0.
        return np.full(np.shape(x), r * (1 + 3 * r) / (3 * gap) + r * self.duchi.size**2)

    def _delta(self, epsilon: float) -> float:
        return self.weight * self.piecewise._delta(epsilon) + (1 - self.weight) * self.duchi._delta(epsilon)
