r"""What every protocol for means shares: a domain, reports that are affine in the answer on average, and an audit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.budget import Budget
from ldpopt.divergence import Audit, Verdict
from ldpopt.errors import StatementError
from ldpopt.estimate import Estimate, normal_quantile
from ldpopt.sampling import BITS, bit_source
from ldpopt.utility import Float, real_array

Random = np.random.Generator | int | None
Source = Callable[[int], NDArray[np.uint64]]

GRID_BITS = 30
"""Real-valued reports are published on a grid of about this many bits across their range."""


class Protocol:
    r"""A randomizer of one bounded number a user, and the unbiased estimate of the users' mean.

    The mean of a report is affine in the answer, so that its inverse is unbiased:

    .. math:: E[r \mid x] = o + s x, \qquad \hat\mu = \frac{\bar r - o}{s}

    Parameters
    ----------
    epsilon : float or str
        Budget in nats, positive; ``"log(p/q)"`` is read exactly.

    Attributes
    ----------
    epsilon : Budget
        The nominal budget; `audit` finds the true one.
    domain : tuple of float
        Least and largest answer.
    report_range : tuple of float
        Least and largest report, infinite where there is none.
    offset, slope : float
        The numbers ``o`` and ``s`` above.
    knots : tuple of float
        Answers between which the variance is a quadratic.

    Raises
    ------
    StatementError
        If epsilon is not positive.

    Notes
    -----
    Bits and designed reports are drawn exactly, in integers, and are private as they are. The other reports are floats
    first, whose low bits would tell answers apart; they are then rounded at random, without bias, to a public grid of
    about ``2**-30`` of their range. That takes the fingerprint away, but the law on the grid is only as exact as
    floats are: use them to simulate, and the exact ones on people.

    References
    ----------
    Liu and Zhou 2023; Mironov 2012, on the low bits of floats.
    """

    domain: tuple[float, float] = (-1.0, 1.0)
    report_range: tuple[float, float] = (-math.inf, math.inf)
    offset: float = 0.0
    slope: float = 1.0

    def __init__(self, epsilon: float | str) -> None:
        self.epsilon = Budget(epsilon)
        if not self.epsilon > 0:
            raise StatementError("epsilon = 0 lets no report depend on the answer", do="state epsilon > 0")

    def __repr__(self) -> str:
        """Kind and budget."""
        return f"{type(self).__name__}(epsilon={self.epsilon!r})"

    @property
    def knots(self) -> tuple[float, ...]:
        """Answers between which the variance is a quadratic."""
        return self.domain

    def randomize(self, x: ArrayLike, *, rng: Random = None) -> NDArray[Any]:
        """Draw one report for each answer.

        Parameters
        ----------
        x : array_like, shape (N,)
            Answers within the domain; nothing is clipped.
        rng : numpy.random.Generator or int, optional
            Makes the draws repeatable; None draws every bit from the operating system's generator.

        Returns
        -------
        ndarray, shape (N,)
            The reports.

        Raises
        ------
        StatementError
            If the answers are no vector, one is outside the domain, or ``rng`` is no source.
        """
        source, answers = bit_source(rng), self._answers(x)
        if answers.ndim != 1:
            raise StatementError(
                f"answers have shape {answers.shape}; they are a vector", do="pass a list, even of one"
            )
        return self._randomize(answers, source)

    def estimate(self, reports: ArrayLike, confidence: float = 0.95) -> Estimate:
        r"""Estimate the mean answer from the reports, without bias.

        .. math:: \hat\mu = (\bar r - o) / s, \qquad
                  \mathrm{se}^2 = \frac{1}{s^2 N (N - 1)} \sum_i (r_i - \bar r)^2

        Parameters
        ----------
        reports : array_like, shape (N,)
            What `randomize` returned, ``N >= 1``.
        confidence : float
            Coverage of the normal interval, ``0 < confidence < 1``.

        Returns
        -------
        Estimate
            ``values`` of shape (1,), in the unit of the answers, not clipped to the domain.

        Raises
        ------
        StatementError
            If there are no reports, or one that the protocol cannot make.

        Notes
        -----
        The standard error is right for answers drawn at random; where the answers are fixed numbers it is too large
        by their spread. Reports that are all the same say nothing of it: then the worst case is used.
        """
        normal_quantile(confidence)
        array = self._reports(reports)
        spread = float(array.var(ddof=1)) / self.slope**2 if len(array) > 1 else 0.0
        error = math.sqrt((spread if spread > 0 else self.worst_case_variance) / len(array))
        value = (float(array.mean()) - self.offset) / self.slope
        return Estimate(np.array([value]), np.array([error]), len(array), float(confidence), type(self).__name__)

    def variance(self, x: ArrayLike) -> Any:
        """Variance of one report's unbiased value, in the squared unit of the answers.

        Parameters
        ----------
        x : array_like
            Answers within the domain.

        Returns
        -------
        float or ndarray
            In the shape of ``x``.
        """
        array = self._answers(x)
        return self._variance(array) if array.ndim else float(self._variance(array))

    @property
    def worst_case_variance(self) -> float:
        """Largest `variance` over the whole domain."""
        return quadratic_maximum(lambda x: self._variance(x), self.knots)

    def audit(self) -> Audit:
        """Tell the true two-sided privacy of the law, in closed form.

        Returns
        -------
        Audit
            The smallest pure epsilon over all pairs of answers and all events (``inf`` where there is none), delta at
            the nominal epsilon, the verdict on the nominal claim, and ``delta_at``.
        """
        epsilon, witness, verdict = self._privacy()
        claim = f"{float(self.epsilon):.6g}-LDP"
        delta = 0.0 if verdict == "certified" else self._delta(float(self.epsilon))
        return Audit(epsilon, delta, witness, verdict, claim, curve=lambda budget: self._delta(float(budget)))

    def _answers(self, x: ArrayLike) -> Float:
        array = real_array(x, "list of answers")
        low, high = self.domain
        # Two reductions without temporaries; nan fails both comparisons.
        if array.size and not (array.min() >= low and array.max() <= high):
            bad = int(np.argmax(~((array >= low) & (array <= high)).ravel()))
            raise StatementError(
                f"answer {float(array.ravel()[bad])!r} lies outside [{low:g}, {high:g}]",
                where=f"entry {bad}",
                do="scale the answers into the domain; nothing is clipped in silence",
            )
        return array

    def _reports(self, reports: ArrayLike) -> Float:
        array = np.asarray(reports)
        array = np.asarray(array, np.float64) if array.dtype.kind == "b" else real_array(array, "list of reports")
        if array.ndim != 1 or not array.size:
            raise StatementError(f"reports have shape {array.shape}; they are a vector of at least one")
        low, high = self.report_range
        slack = 1e-9 * max(abs(low), abs(high)) if math.isfinite(high - low) else 0.0
        fits = np.isfinite(array) & (array >= low - slack) & (array <= high + slack)
        if not fits.all():
            bad = int(np.argmin(fits))
            raise StatementError(
                f"report {float(array[bad])!r} cannot come from {self!r}",
                where=f"entry {bad}",
                do="pass the reports of this protocol, at this epsilon",
            )
        return array

    def _randomize(self, x: Float, source: Source) -> NDArray[Any]:
        raise NotImplementedError

    def _variance(self, x: Any) -> Any:
        raise NotImplementedError

    def _privacy(self) -> tuple[float, tuple[Any, Any, Any] | None, Verdict]:
        """True epsilon, witness (x, x', event) and the verdict on the nominal epsilon."""
        low, high = self.domain
        return float(self.epsilon), (high, low, "the largest reports"), "certified"

    def _delta(self, epsilon: float) -> float:
        raise NotImplementedError


def quadratic_maximum(function: Callable[[Any], Any], knots: tuple[float, ...]) -> float:
    """Return the exact maximum of a function that is a quadratic between neighboring knots: ends and vertices."""
    grid = np.asarray(knots, float)
    left, right = grid[:-1], grid[1:]
    start, middle, stop = (np.asarray(function(x), float) for x in (left, (left + right) / 2, right))
    bend = 2 * (start + stop - 2 * middle)
    rise = stop - start - bend
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.where(bend < 0, np.clip(-rise / (2 * bend), 0.0, 1.0), 0.0)
    return float(max(start.max(), stop.max(), (start + rise * vertex + bend * vertex**2).max()))


def uniforms(source: Source, size: int) -> Float:
    """Floats in [0, 1) from whole words."""
    return np.asarray(source(size) * 2.0**-BITS, np.float64)


def grid_step(low: float, high: float) -> float:
    """Return the power of two that cuts a range into about ``2**30`` steps."""
    return 2.0 ** (math.ceil(math.log2(high - low)) - GRID_BITS)


def to_grid(values: Float, step: float, source: Source) -> Float:
    """Round at random to a neighboring multiple of ``step``, without bias; adds at most ``step**2 / 4`` of variance."""
    return np.asarray(np.floor(values / step + uniforms(source, len(values))) * step)
