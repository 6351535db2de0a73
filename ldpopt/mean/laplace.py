"""The Laplace mechanism for one bounded number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.mean.protocol import Protocol, Source, to_grid, uniforms
from ldpopt.utility import Float


class Laplace(Protocol):
    r"""Add Laplace noise of scale ``2 / epsilon`` to a number in [-1, 1].

    .. math:: r = t + \mathrm{Lap}(2 / \epsilon), \qquad V(t) = 8 / \epsilon^2

    Parameters
    ----------
    epsilon : float or str
        Budget in nats, positive.

    Notes
    -----
    Its delta at a smaller budget ``e`` is ``1 - exp((e - epsilon) / 2)``. For simulation, see `Protocol`: a float has
    no tail beyond ``2**-53``.

    References
    ----------
    Dwork, McSherry, Nissim and Smith 2006; Liu and Zhou 2023, section 2.

    Examples
    --------
    >>> Laplace(1.0).worst_case_variance
    8.0
    """

    def __init__(self, epsilon: float | str) -> None:
        super().__init__(epsilon)
        self.scale = 2 / float(self.epsilon)
        self.step = 2.0 ** (math.ceil(math.log2(1 + self.scale)) - 24)

    def _randomize(self, x: Float, source: Source) -> NDArray[Any]:
        # The middle of a word's interval: never 0, so that the logarithm is finite.
        left = uniforms(source, x.size) + 2.0**-54
        tail = -np.log(np.minimum(left, 1 - left) * 2)
        return to_grid(x + self.scale * np.where(left < 0.5, -tail, tail), self.step, source)

    def _variance(self, x: Any) -> Any:
        return np.full(np.shape(x), 2 * self.scale**2)

    def _delta(self, epsilon: float) -> float:
        return max(0.0, -math.expm1(min(epsilon - self.epsilon, 0.0) / 2))
