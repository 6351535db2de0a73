r"""The square wave mechanism of Li et al., made unbiased by the inverse of its affine mean."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.inversion import estimate_frequencies
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import whole_number
from ldpopt.mean.banded import Banded
from ldpopt.mean.protocol import Domain
from ldpopt.mechanism.mechanism import Mechanism

# budget below which the half-width is computed by a series: differences cancel
SERIES_BELOW = 0.005


class SquareWave(Banded, published=True):
    r"""Report a number in ``[-w, 1 + w]`` for a number in [0, 1], likely within ``w`` of it.

    .. math:: w = \frac{\epsilon E - E + 1}{2 E (E - 1 - \epsilon)}, \quad
              p = \frac{E}{2 w E + 1} \text{ for } |y - x| \le w,
              \quad q = \frac{1}{2 w E + 1} \text{ elsewhere},
              \quad E[y \mid x] = \frac{q (1 + 2w)}{2} + 2 w (p - q) x

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
    ``p`` and ``q`` are densities. The mean is affine in ``x``, so `estimate` is unbiased (contrary
    to the paper). The variance is a convex quadratic, largest at 0 and 1. Bands of 0 and 1 are
    disjoint (``w <= 1/2``), so delta at a smaller budget ``e`` is ``2 w (p - exp(e) q)``. Drawn
    exactly on a grid, see `Banded`.

    References
    ----------
    Li et al. 2020; Liu and Zhou 2023, section 2.

    Examples
    --------
    >>> round(SquareWave(1.0).width, 6), round(SquareWave(1e-9).width, 6)
    (0.256083, 0.5)
    """

    natural_domain = (0.0, 1.0)

    def __init__(self, epsilon: float | str, *, domain: Domain = None) -> None:
        width = half_width(float(Budget(epsilon)))
        super().__init__(epsilon, 2 * width / (1 + 2 * width), domain)
        self._scale(1.0)
        self.width = self.band_cells * self.half_cell
        self.low_density = self.rest / (1 + 2 * self.width)

    def estimate_distribution(
        self, reports: ArrayLike, *, bins: int = 8, confidence: float = 0.95
    ) -> Estimate:
        r"""Estimate the distribution of the answers in equal bins of the domain, by maximum
        likelihood.

        .. math:: \hat\pi = \arg\max_\pi \sum_j n_j \ln \sum_i \pi_i P(j \mid i), \qquad
                  P(j \mid i) = q |B_j| + (p - q) \, E_{x \sim i} |B_j \cap [x - w, x + w]|

        Parameters
        ----------
        reports : array_like, shape (N,)
            What `privatize` returned.
        bins : int
            Number of bins ``i``, 2 to 512, in which answers are assumed uniform; reports are
            counted in twice as many bins ``B_j`` of ``[-w, 1 + w]``; default: ``8``.
        confidence : float
            Coverage of each interval on its own, ``0 < confidence < 1``; default: ``0.95``.

        Returns
        -------
        Estimate
            Shares that sum to 1, labelled by the centers; the errors are those of
            `estimate_frequencies`.

        Raises
        ------
        StatementError
            If ``bins`` is not from 2 to 512, or the reports cannot come from this protocol.

        Notes
        -----
        The result is the limit of the EM iterations of Li et al., found by Newton steps. With many
        bins or a small budget it has a few high spikes. Li et al. smooth it; here use fewer bins.

        Examples
        --------
        >>> wave = SquareWave(3.0)
        >>> reports = wave.privatize(np.repeat([0.125, 0.625], [30_000, 10_000]), rng=1)
        >>> shares = wave.estimate_distribution(reports, bins=4).values
        >>> np.abs(shares - [0.75, 0, 0.25, 0]).max() < 0.02
        np.True_
        """
        bins = whole_number(bins, "bins", 2, 512)
        w, q = self.width, self.low_density
        edges = np.linspace(-w, 1 + w, 2 * bins + 1)
        cuts = np.arange(bins + 1) / bins
        # The likely part is a uniform answer plus uniform noise; this is its distribution function
        # at the edges. It integrates a ramp that rises from 0 to 1 over 2 w.
        u = edges[None, :] - cuts[:, None] + w
        rise = np.clip(u, 0.0, 2 * w)
        ramp = rise * (rise / (4 * w)) + np.maximum(u - 2 * w, 0.0)
        likely = np.diff((ramp[:-1] - ramp[1:]) * bins, axis=1)
        channel = np.maximum(q * np.diff(edges) + self.slope * likely, 0.0)
        centers = self._to_data_unit((cuts[:-1] + cuts[1:]) / 2)
        bin_of_report = np.clip(
            np.searchsorted(edges, self._read_reports(reports), side="right") - 1, 0, 2 * bins - 1
        )
        counts = dict(enumerate(np.bincount(bin_of_report, minlength=2 * bins).tolist()))
        model = Mechanism(
            channel / channel.sum(axis=1, keepdims=True), centers.tolist(), range(2 * bins)
        )
        # The bins only approximate the wave: reports of the wave need not fit them.
        options: Any = {"method": "maximum_likelihood", "check_fit": False}
        return replace(
            estimate_frequencies(model, counts, confidence=confidence, **options), fit=None
        )


def half_width(epsilon: float) -> float:
    """Half-width ``w`` of the band, without cancellation; 0 on underflow."""
    if epsilon < SERIES_BELOW:
        return 1 / 2 - epsilon / 3 + epsilon**2 / 9 - 7 * epsilon**3 / 270 + 2 * epsilon**4 / 405
    b = math.exp(-epsilon)
    return b * (epsilon + math.expm1(-epsilon)) / (2 * (-math.expm1(-epsilon) - epsilon * b))
