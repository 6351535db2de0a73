r"""Duchi, Jordan and Wainwright's two-point mechanism, which is Harmony in one dimension."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.numbers import Float
from ldpopt.mean.protocol import Domain, NumberProtocol, Privacy
from ldpopt.mean.random_censoring import RandomCensoring
from ldpopt.mechanism.exact_draws import Source
from ldpopt.mechanism.mechanism import Mechanism


class Duchi(NumberProtocol, published=True):
    r"""Report ``C`` or ``-C`` for a number in [-1, 1].

    .. math:: \Pr(C \mid t) = \frac12 + \frac{t}{2C}, \qquad C = \coth\frac{\epsilon}{2},
              \qquad V(t) = C^2 - t^2

    Parameters
    ----------
    epsilon : float or str
        Budget in nats, positive.

    Attributes
    ----------
    bit : RandomCensoring
        The protocol of the underlying bit.
    size : float
        ``C``.

    Raises
    ------
    StatementError
        If epsilon is not positive, or too small for masses over 2**53, or the domain is not an
        interval.

    Notes
    -----
    The same bit as symmetric random censoring of ``(t + 1) / 2``, coded as ``+-C``. Its delta at a
    smaller budget ``e`` is ``(exp(epsilon) - exp(e)) / (exp(epsilon) + 1)``. O(1) per report, drawn
    in integers, exactly private.

    References
    ----------
    Duchi, Jordan and Wainwright 2018; Nguyen et al. 2016 (Harmony); Liu and Zhou 2023, section 2.

    Examples
    --------
    >>> round(Duchi(1.0).worst_case_variance, 9)
    4.682694377
    """

    _has_three_losses = True

    def __init__(self, epsilon: float | str, *, domain: Domain = None) -> None:
        super().__init__(epsilon, domain)
        self.bit = RandomCensoring(self.epsilon)
        self.size = 1 / self.bit.slope
        self.report_range = (-self.size, self.size)
        self._report_values, self._natural_bias = np.array(self.report_range), 2 * self.bit.bias

    @property
    def mechanism(self) -> Mechanism:
        """The channel from the ends -1 and 1 to the reports ``-C`` and ``C``, exactly private."""
        return Mechanism(self.bit.mechanism.channel, [-1.0, 1.0], [-self.size, self.size])

    def _randomize(self, x: Float, source: Source) -> NDArray[Any]:
        return np.where(self.bit._randomize((x + 1) / 2, source), self.size, -self.size)

    def _variance(self, x: Any) -> Any:
        return (self.size - x) * (self.size + x)

    def _privacy(self) -> Privacy:
        epsilon, _, verdict = self.bit._privacy()
        return epsilon, (1.0, -1.0, self.size), verdict

    def _delta(self, epsilon: float) -> float:
        return self.bit._delta(epsilon)
