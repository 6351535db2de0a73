"""The Laplace protocol for the mean of bounded numbers (`ldpopt.noise.Laplace` is noise for
queries).
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import epsilon_above, log_enclosure
from ldpopt.foundation.numbers import Float
from ldpopt.mean.protocol import Domain, NumberProtocol, Privacy
from ldpopt.mechanism.exact_draws import TOTAL, Source, fair_bits, geometric_draws
from ldpopt.mechanism.sampling import BITS


class Laplace(NumberProtocol, published=True):
    r"""Mean protocol: add Laplace noise of scale ``2 / epsilon`` to a number in [-1, 1].

    .. math:: r = t + \mathrm{Lap}(2 / \epsilon), \qquad V(t) = 8 / \epsilon^2

    Parameters
    ----------
    epsilon : float or str
        Budget in nats, positive.

    Raises
    ------
    StatementError
        If epsilon is not positive, or too small for words of 53 bits, or the domain is not an
        interval.

    Notes
    -----
    Its delta at a smaller budget ``e`` is ``1 - exp((e - epsilon) / 2)``.

    The draws: the answer is rounded to one of ``K + 1`` points, and noise ``z + 1/2``, in units of
    their distance, is added,

    .. math:: P(z) = \frac{b^z}{2T} \; (z \ge 0), \quad P(-1 - z) = P(z), \quad b = 1 - \frac1T,
              \quad
              K = \lfloor \epsilon / \ln \tfrac1b \rfloor,
              \quad V = \frac{4}{K^2} \Bigl( 2 T^2 - 2 T + \frac14 \Bigr)

    with ``T`` a power of two, about ``2**53``. The true epsilon is ``K ln(1/b)``. About 10 random
    words per report.

    References
    ----------
    Dwork, McSherry, Nissim and Smith 2006; Liu and Zhou 2023, section 2.

    Examples
    --------
    >>> round(Laplace(1.0).worst_case_variance, 9)
    8.0
    """

    bits: int = BITS  # binary digits of `T`; fewer if there would be more than `2**61` points

    def __init__(self, epsilon: float | str, *, domain: Domain = None) -> None:
        super().__init__(epsilon, domain)
        self.bits = min(self.bits, 61 - math.ceil(math.log2(max(self.epsilon, 1.0))))
        self.scale = 1 << self.bits
        self._step = log_enclosure(1 + Fraction(1, self.scale - 1))[1]
        self.points = int(self.epsilon.lower_nats / self._step)
        if not self.points:
            problem = f"epsilon = {self.epsilon!r} is too small for words of {self.bits} bits"
            raise StatementError(problem, do=f"give an epsilon above {float(self._step):.2g}")
        self._natural_bias = 1 / self.points

    def _randomize(self, x: Float, source: Source) -> NDArray[Any]:
        """The nearest point of the grid, moved by a geometric number of steps up or down."""
        point = self._nearest_point(x)
        minus = fair_bits(x.size, source).astype(np.int64)
        # z, or its complement -1 - z
        point += geometric_draws(TOTAL - (TOTAL >> self.bits), x.size, source) ^ -minus
        return np.asarray((point + 0.5) * (2 / self.points) - 1)

    def _nearest_point(self, x: Float) -> NDArray[np.int64]:
        # The number of points may exceed float precision; rounding must not move an answer beyond
        # the last point.
        return np.asarray(
            np.minimum(np.rint((x + 1) * (self.points / 2)).astype(np.int64), self.points)
        )

    def _variance(self, x: Any) -> Any:
        return np.full(np.shape(x), (2 * self.scale * (self.scale - 1) + 0.25) * 4 / self.points**2)

    def _privacy(self) -> Privacy:
        # The number of points is the largest that is private, so the verdict is always the same.
        epsilon = min(epsilon_above(self.points * self._step), self.epsilon.above)
        return epsilon, (1.0, -1.0, "the largest reports"), "certified"

    def _delta(self, epsilon: float) -> float:
        """The excess ``P(S | 1) - exp(epsilon) P(S | -1)`` of the worst event, the largest reports:
        the two answers are the last and the first of ``K + 1`` points, ``K`` steps apart.
        """
        # A report at point `y`, counted from the first one, has the ratio b**(K - 1 - 2 y): the
        # event has all from the first `y` on at which this is above exp(epsilon).
        step = float(self._step)
        start = min(math.ceil((epsilon / step + self.points - 1) / 2), self.points)
        from_high = math.expm1(-step * (self.points - start)) / 2
        from_low = math.expm1(min(epsilon - step * start, 0.0)) / 2
        return max(0.0, -from_high - from_low)
