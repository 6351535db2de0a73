r"""Randomizers with two probabilities: likely reports and others; on a grid, in a band around the
answer.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.audits import Verdict, verdict_of_ratio
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float
from ldpopt.mean.protocol import Domain, NumberProtocol, Privacy
from ldpopt.mechanism.exact_draws import TOTAL, Source, coin_tosses, uniform_below
from ldpopt.mechanism.sampling import BITS


@dataclass(frozen=True)
class TwoLevel:
    r"""With probability ``p`` a uniform report from the likely set, else a uniform report from all
    reports.

    .. math:: \frac{P(\text{likely report})}{P(\text{other report})} =
              1 + \frac{p}{(1 - p) f} \le e^\epsilon, \qquad
              \delta(e) = p - (e^e - 1) (1 - p) f

    with ``p`` the largest multiple of ``2**-53`` that keeps the inequality. The share ``f`` of
    likely reports is the same for every answer, at most 1/2. Two answers with disjoint likely sets
    attain delta, the maximum over all pairs.
    """

    budget: Budget
    fraction: Fraction

    @cached_property
    def mass(self) -> int:
        """``p`` in units of ``2**-53``."""
        raised = (self.budget.enclosure()[0] - 1) * self.fraction
        mass = int(TOTAL * raised / (1 + raised))
        if not mass:
            problem = f"epsilon = {self.budget!r} is too small for masses of 2**-53"
            raise StatementError(problem, do="give an epsilon above 1e-15")
        return mass

    @property
    def likely(self) -> float:
        """Probability ``p`` of a draw from the likely set, exactly."""
        return self.mass / TOTAL

    @property
    def rest(self) -> float:
        """Probability ``1 - p`` of a draw from all reports, exactly."""
        return (TOTAL - self.mass) / TOTAL

    def privacy(self) -> tuple[float, Verdict]:
        """True epsilon, rounded up, and the verdict on the budget."""
        return verdict_of_ratio(
            1 + Fraction(self.mass, TOTAL - self.mass) / self.fraction, self.budget
        )

    def delta(self, epsilon: float) -> float:
        """Largest delta at a budget ``>= 0``."""
        return max(
            0.0, self.likely - math.expm1(min(epsilon, 709.0)) * self.rest * float(self.fraction)
        )


class Banded(NumberProtocol):
    r"""Report one of ``N`` cells: with probability ``p`` uniform in a band of ``W`` cells, else
    uniform in all.

    .. math:: P(y \mid i) = \frac{p}{W} [i \le y < i + W] + \frac{1 - p}{N},
              \qquad i = 0, \dots, N - W, \qquad
              \frac{p N}{(1 - p) W} \le e^\epsilon - 1

    with ``p`` the largest multiple of ``2**-53`` that satisfies the inequality, which is privacy
    for every two answers. The answer is rounded to the nearest of ``N - W + 1`` points ``i`` of its
    domain; the band's share ``W / N <= 1/2``.
    """

    cell_bits: int = 40  # binary digits of `N`
    _has_three_losses = True

    def __init__(self, epsilon: float | str, fraction: float, domain: Domain = None) -> None:
        super().__init__(epsilon, domain)
        self.cells = 1 << self.cell_bits
        self.band_cells = min(max(round(fraction * self.cells), 1), self.cells // 2)
        self.levels = TwoLevel(self.epsilon, Fraction(self.band_cells, self.cells))
        self.band, self.rest = self.levels.likely, self.levels.rest
        self.steps = self.cells - self.band_cells
        low, high = self.natural_domain
        self._natural_bias = (high - low) / (2 * self.steps)

    def _scale(self, gain: float) -> None:
        """Place the centers of the cells: answers are scaled by ``gain`` around the middle of the
        domain.
        """
        low, high = self.natural_domain
        self.middle, self.half_cell = (low + high) / 2, gain * (high - low) / (2 * self.steps)
        self.slope = self.band * gain
        self.offset, reach = self.middle * (1 - self.slope), (self.cells - 1) * self.half_cell
        self.report_range = (self.middle - reach, self.middle + reach)

    def _randomize(self, x: Float, source: Source) -> NDArray[Any]:
        low, high = self.natural_domain
        start = np.rint((x - low) * (self.steps / (high - low))).astype(np.int64)
        start += uniform_below(self.band_cells, x.size, source)
        anywhere = (source(x.size) >> np.uint64(BITS - self.cell_bits)).view(np.int64)
        cell = np.where(coin_tosses(self.levels.mass, x.size, source), start, anywhere)
        return np.asarray(self.middle + (2 * cell - (self.cells - 1)) * self.half_cell)

    def _variance(self, x: Any) -> Any:
        # A uniform choice among n cells has variance (n**2 - 1) / 12, in squared cells.
        band = self.band
        elsewhere = self.rest
        half = (self.natural_domain[1] - self.natural_domain[0]) / 2
        noise = (band * (self.band_cells**2 - 1) + elsewhere * (self.cells**2 - 1)) / (
            3 * (band * self.steps) ** 2
        )
        return (x - self.middle) ** 2 * (elsewhere / band) + half**2 * noise

    def _privacy(self) -> Privacy:
        low, high = self.natural_domain
        epsilon, verdict = self.levels.privacy()
        return epsilon, (high, low, "the largest reports"), verdict

    def _delta(self, epsilon: float) -> float:
        # The bands of the least and the largest answer are disjoint.
        return self.levels.delta(epsilon)


class Piecewise(Banded, published=True):
    r"""Report a number in ``[-C, C]`` for a number in [-1, 1]: with probability ``s / (s + 1)``
    from a band.

    .. math:: C = \coth\frac{\epsilon}{4}, \quad s = e^{\epsilon/2}, \quad
              \text{band } [l, l + C - 1], \; l = \frac{(C + 1) t - (C - 1)}{2}, \quad
              V(t) = \frac{t^2}{s - 1} + \frac{s + 3}{3 (s - 1)^2}

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
    Reports are bounded. The density in the band is ``exp(epsilon)`` times that of the rest; the
    bands of the answers -1 and 1 are disjoint, so delta at a smaller budget ``e`` is
    ``(exp(epsilon) - exp(e)) / (s (s + 1))``. Drawn exactly on a grid, see `Banded`. Above about 25
    nats the band is only a few cells wide, and the variance is larger than in the formula. O(1) per
    report.

    References
    ----------
    Wang et al. 2019; Liu and Zhou 2023, section 2.

    Examples
    --------
    >>> round(Piecewise(1.0).worst_case_variance, 9)
    5.223597452
    """

    def __init__(self, epsilon: float | str, *, domain: Domain = None) -> None:
        inverse = math.exp(-Budget(epsilon) / 2)
        super().__init__(epsilon, inverse / (1 + inverse), domain)
        self._scale(1 / self.band)
        self.size = self.report_range[1]
