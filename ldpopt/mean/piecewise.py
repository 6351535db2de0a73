r"""The piecewise mechanism of Wang et al.: reports in a band around the answer are likely, others are not."""

from __future__ import annotations

import math

from ldpopt.foundation.budget import Budget
from ldpopt.mean.banded import Banded


class Piecewise(Banded):
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
    Reports are bounded. The density in the band is ``exp(epsilon)`` times that of the rest; the bands of the answers
    -1 and 1 are disjoint, so delta at a smaller budget ``e`` is ``(exp(epsilon) - exp(e)) / (s (s + 1))``. Drawn
    exactly on a grid, see `Banded`. Above about 25 nats the band is only a few cells wide, and the variance is larger
    than the formula says. O(1) per report.

    References
    ----------
    Wang et al. 2019; Liu and Zhou 2023, section 2.

    Examples
    --------
    >>> round(Piecewise(1.0).worst_case_variance, 9)
    5.223597452
    """

    def __init__(self, epsilon: float | str, *, domain: tuple[float, float] | None = None) -> None:
        inverse = math.exp(-Budget(epsilon) / 2)
        super().__init__(epsilon, inverse / (1 + inverse), domain)
        self._scale(1 / self.band)
        self.size = self.report_range[1]
