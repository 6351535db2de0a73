r"""The piecewise mechanism of Wang et al.: a likely band around the answer, an unlikely rest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.mean.protocol import Protocol, Source, grid_step, to_grid, uniforms
from ldpopt.utility import Float


class Piecewise(Protocol):
    r"""Report a number in ``[-C, C]`` for a number in [-1, 1]: with probability ``s / (s + 1)`` from a band.

    .. math:: C = \coth\frac{\epsilon}{4}, \quad s = e^{\epsilon/2}, \quad
              \text{band } [l, l + C - 1], \; l = \frac{(C + 1) t - (C - 1)}{2}, \quad
              V(t) = \frac{t^2}{s - 1} + \frac{s + 3}{3 (s - 1)^2}

    Parameters
    ----------
    epsilon : float or str
        Budget in nats, positive.

    Notes
    -----
    Reports are bounded. The density in the band is ``exp(epsilon)`` times that of the rest; the bands of two distant
    answers are disjoint, so that delta at a smaller budget ``e`` is
    ``(exp(epsilon) - exp(e)) / (s (s + 1))``. For simulation, see `Protocol`.

    References
    ----------
    Wang et al. 2019; Liu and Zhou 2023, section 2.

    Examples
    --------
    >>> round(Piecewise(1.0).worst_case_variance, 9)
    5.223597452
    """

    def __init__(self, epsilon: float | str) -> None:
        super().__init__(epsilon)
        self.inverse = math.exp(-self.epsilon / 2)
        self.share = -math.expm1(-self.epsilon / 2)
        self.size = (1 + self.inverse) / self.share
        self.width = 2 * self.inverse / self.share
        self.report_range = (-self.size, self.size)
        self.step = grid_step(-self.size, self.size)

    def _randomize(self, x: Float, source: Source) -> NDArray[Any]:
        place, coin = uniforms(source, x.size), uniforms(source, x.size)
        left = ((self.size + 1) * x - self.width) / 2
        outside = (self.size + 1) * place - self.size
        outside += np.where(outside >= left, self.width, 0.0)
        inside = left + self.width * place
        drawn = to_grid(np.where(coin * (1 + self.inverse) < 1, inside, outside), self.step, source)
        return np.clip(drawn, -self.size, self.size)

    def _variance(self, x: Any) -> Any:
        r, gap = self.inverse, self.share
        return x**2 * r / gap + r * (1 + 3 * r) / (3 * gap**2)

    def _delta(self, epsilon: float) -> float:
        return max(0.0, -math.expm1(min(epsilon - self.epsilon, 0.0)) / (1 + self.inverse))
