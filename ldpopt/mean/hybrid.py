r"""The hybrid mechanism of Wang et al.: piecewise or two-point, by a coin that is independent of
the answer.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.numbers import Float
from ldpopt.mean.banded import Piecewise
from ldpopt.mean.duchi import Duchi
from ldpopt.mean.protocol import Domain, NumberProtocol, Privacy
from ldpopt.mechanism.exact_draws import TOTAL, Source, coin_tosses

# Budget below which the two-point mechanism alone has the least worst case: about 0.6093525
THRESHOLD = math.log(
    (
        -5
        + 2 * (6353 - 405 * math.sqrt(241)) ** (1 / 3)
        + 2 * (6353 + 405 * math.sqrt(241)) ** (1 / 3)
    )
    / 27
)


class Hybrid(NumberProtocol, published=True):
    r"""Report by the piecewise mechanism with probability ``1 - exp(-epsilon / 2)``, else by
    Duchi's, on [-1, 1].

    .. math:: V(t) = \frac{s + 3}{3 s (s - 1)} + \frac{1}{s} \coth^2 \frac{\epsilon}{2},
              \qquad s = e^{\epsilon/2}

    for ``epsilon`` above 0.6093525, the same for every ``t``; below, it is Duchi's mechanism.

    Parameters
    ----------
    epsilon : float or str
        Budget in nats, positive.

    Raises
    ------
    StatementError
        If epsilon is not positive, or too small for masses over 2**53, or the domain is not an
        interval.

    Notes
    -----
    Delta is the mixture of the two deltas, since -1 and 1 are the worst pair of both parts. The
    coin's probability is rounded to a multiple of ``2**-53``. This does not affect privacy: both
    parts are exactly private.

    References
    ----------
    Wang et al. 2019, section III.

    Examples
    --------
    >>> float(round(Hybrid(1.0).variance(0.0) - Hybrid(1.0).variance(1.0), 12))
    0.0
    """

    def __init__(self, epsilon: float | str, *, domain: Domain = None) -> None:
        super().__init__(epsilon, domain)
        self.piecewise, self.duchi = Piecewise(self.epsilon), Duchi(self.epsilon)
        self.mass = round(TOTAL * -math.expm1(-self.epsilon / 2)) if self.epsilon > THRESHOLD else 0
        self.weight, self._duchi_weight = self.mass / TOTAL, (TOTAL - self.mass) / TOTAL
        size = self.piecewise.size if self.mass else self.duchi.size
        self.report_range, self._natural_bias = (
            (-size, size),
            max(self.piecewise.bias, self.duchi.bias),
        )

    @property
    def _has_three_losses(self) -> bool:  # type: ignore[override]
        # Above 36 nats the two parts have different epsilons, since masses are multiples of 2**-53.
        return math.isclose(self.piecewise._privacy()[0], self.duchi._privacy()[0], rel_tol=1e-12)

    def _randomize(self, x: Float, source: Source) -> NDArray[Any]:
        coin = coin_tosses(self.mass, x.size, source)
        reports = np.empty(x.size)
        first = np.flatnonzero(coin)
        second = np.flatnonzero(~coin)
        reports[first] = self.piecewise._randomize(x[first], source)
        reports[second] = self.duchi._randomize(x[second], source)
        return reports

    def _variance(self, x: Any) -> Any:
        return self.weight * self.piecewise._variance(
            x
        ) + self._duchi_weight * self.duchi._variance(x)

    def _privacy(self) -> Privacy:
        # The two parts have different reports, so the larger epsilon of those with positive
        # probability is attained.
        parts = [
            part
            for part, mass in ((self.piecewise, self.mass), (self.duchi, TOTAL - self.mass))
            if mass
        ]
        return max((part._privacy() for part in parts), key=lambda privacy: privacy[0])

    def _delta(self, epsilon: float) -> float:
        return self.weight * self.piecewise._delta(
            epsilon
        ) + self._duchi_weight * self.duchi._delta(epsilon)
