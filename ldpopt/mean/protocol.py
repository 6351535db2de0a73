r"""The interface of protocols for one mean: a domain, reports whose mean is affine in the answer, and an audit."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.auditing.divergence import Audit, Verdict
from ldpopt.errors import StatementError
from ldpopt.estimation.inversion import Estimate, normal_quantile
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float, quoted, real_array
from ldpopt.mean.randomizer import Random, Randomizer, chunks, read_domain
from ldpopt.mechanism.exact_draws import Source
from ldpopt.mechanism.sampling import bit_source

MAX_REPORT = 1e150
"""Largest report; its square does not overflow."""


class Protocol(Randomizer):
    r"""A randomizer of one bounded number per user, and the unbiased estimate of the users' mean.

    The mean of a report is affine in the answer, so the inverse map is unbiased:

    .. math:: E[r \mid x] = o + s x, \qquad \hat\mu = \frac{\bar r - o}{s}

    Parameters
    ----------
    epsilon : float or str
        Budget in nats, positive; ``"log(p/q)"`` is read exactly.
    domain : tuple of float, optional
        Least and largest answer, in the unit of the data, such as ``(0, 120)`` for ages: answers, estimates, variances
        and bias have this unit, reports keep the protocol's own scale. Default: the natural domain.

    Attributes
    ----------
    epsilon : Budget
        The nominal budget; `audit` finds the true one.
    domain, natural_domain : tuple of float
        Least and largest answer, in the unit of the data and on the protocol's own scale.
    report_range : tuple of float
        Least and largest report; infinite if unbounded.
    offset, slope : float
        The numbers ``o`` and ``s`` above, on the protocol's own scale.
    bias : float
        Bound on the bias that rounding answers to the grid causes.
    knots : tuple of float
        Answers between which the variance is a quadratic.

    Raises
    ------
    StatementError
        If epsilon is not positive, or the domain is not an interval.

    Notes
    -----
    Every report is drawn exactly by comparing random words with integers: bits and two-point reports from integer
    masses, real reports on a public grid of about ``2**40`` points. `variance` and `audit` describe this discrete law.
    It differs from the continuous law by less than ``1e-9`` at epsilon from 0.1 to 10. The low bits of continuous
    floats would reveal answers; `simulate` draws them for comparison. Theory: docs, "Means".

    References
    ----------
    Liu and Zhou 2023; Mironov 2012, on the low bits of floats.
    """

    report_range: tuple[float, float] = (-math.inf, math.inf)
    offset: float = 0.0
    slope: float = 1.0

    _is_ternary = False
    """Whether the privacy loss of the worst pair of answers is -epsilon, 0 or epsilon."""

    def __init__(self, epsilon: float | str, domain: tuple[float, float] | None = None) -> None:
        self.epsilon, self._stated_domain = Budget.positive(epsilon), read_domain(domain)

    def __repr__(self) -> str:
        """Kind, budget, and the domain if one was stated."""
        domain = "" if self._stated_domain is None else f", domain={self._stated_domain}"
        return f"{type(self).__name__}(epsilon={self.epsilon!r}{domain})"

    @property
    def bias(self) -> float:
        """Bound on the bias that rounding answers to the grid causes, in the unit of the data."""
        return self._unit * self._bias

    @property
    @abstractmethod
    def _bias(self) -> float:
        """The same on the natural scale."""

    def privatize(self, x: ArrayLike, *, rng: Random = None) -> NDArray[Any]:
        """Draw one report for each answer.

        Parameters
        ----------
        x : array_like, shape (N,)
            Answers within the domain; nothing is clipped.
        rng : numpy.random.Generator or int, optional
            Makes the draws repeatable (default: every bit from the operating system's generator).

        Returns
        -------
        ndarray, shape (N,)
            The reports.

        Raises
        ------
        StatementError
            If the answers are not a vector, one is outside the domain, or ``rng`` is not a valid source.
        """
        return self._draw(x, rng, self._randomize)

    def simulate(self, x: ArrayLike, *, rng: Random = None) -> NDArray[Any]:
        """Draw from the continuous law of the literature, in floats: **for simulation only**.

        The low bits of its floats reveal the answers. Arguments and reports are those of `privatize`; the draws differ
        only if reports are real numbers.
        """
        return self._draw(x, rng, self._simulate)

    def estimate(self, reports: ArrayLike, confidence: float = 0.95) -> Estimate:
        r"""Estimate the mean answer from the reports, without bias.

        .. math:: \hat\mu = (\bar r - o) / s, \qquad
                  \mathrm{se}^2 = \frac{1}{s^2 N (N - 1)} \sum_i (r_i - \bar r)^2

        Parameters
        ----------
        reports : array_like, shape (N,)
            What `privatize` returned, ``N >= 1``.
        confidence : float
            Coverage of the normal interval, ``0 < confidence < 1``; default: ``0.95``.

        Returns
        -------
        Estimate
            ``values`` of shape (1,), in the unit of the answers, not clipped to the domain.

        Raises
        ------
        StatementError
            If there are no reports, or one that the protocol cannot produce.

        Notes
        -----
        The standard error is right for answers drawn at random. For fixed answers it is too large by their variance. If
        all reports are equal, the worst case is used.
        """
        normal_quantile(confidence)
        array = self._reports(reports)
        scale = self._unit / self.slope
        sample_variance = float(array.var(ddof=1)) * scale**2 if len(array) > 1 else 0.0
        error = math.sqrt((sample_variance if sample_variance > 0 else self.worst_case_variance) / len(array))
        value = self._in_units((float(array.mean()) - self.offset) / self.slope)
        return Estimate(np.array([value]), np.array([error]), len(array), float(confidence), type(self).__name__)

    def audit(self) -> Audit:
        """Return the true two-sided privacy of the law, in closed form.

        Returns
        -------
        Audit
            The smallest pure epsilon over all pairs of answers and all events (``inf`` if none exists), delta at
            the nominal epsilon, the verdict on the nominal claim, and ``delta_at``.
        """
        epsilon, witness, verdict = self._privacy()
        if witness is not None and self._stated_domain is not None:
            witness = (float(self._in_units(witness[0])), float(self._in_units(witness[1])), witness[2])
        delta = 0.0 if verdict == "certified" else self._delta(float(self.epsilon))
        claim = f"{float(self.epsilon):.6g}-LDP"
        return Audit(epsilon, delta, witness, verdict, claim, curve=lambda budget: self._delta(float(budget)))

    def _reports(self, reports: ArrayLike) -> Float:
        kind = getattr(getattr(reports, "dtype", None), "kind", "")
        bits = kind == "b" and not np.ma.is_masked(reports)
        if bits or (isinstance(reports, (list, tuple)) and set(map(type, reports)) <= {bool, np.bool_}):
            reports = np.asarray(reports, np.float64)
        array = real_array(reports, "list of reports")
        if array.ndim != 1 or not array.size:
            raise StatementError(f"reports have shape {array.shape}; expected a vector with at least one entry")
        low, high = self.report_range
        low, high = max(low, -MAX_REPORT), min(high, MAX_REPORT)
        slack = 1e-9 * max(abs(low), abs(high))
        smallest, largest = array.min(), array.max()
        # Two reductions without temporaries; nan fails every comparison.
        if not (low - slack <= smallest and largest <= high + slack and np.isfinite([smallest, largest]).all()):
            bad = int(np.argmin(np.isfinite(array) & (array >= low - slack) & (array <= high + slack)))
            raise StatementError(
                f"the report{quoted(float(array[bad]))} cannot come from {self!r}",
                where=f"entry {bad}",
                do="pass the reports of this protocol, at this epsilon",
            )
        return array

    def _draw(self, x: ArrayLike, rng: Random, law: Callable[[Float, Source], NDArray[Any]]) -> NDArray[Any]:
        source, answers = bit_source(rng), self._answers(x)
        if answers.ndim != 1:
            raise StatementError(f"answers have shape {answers.shape}; expected a vector", do="pass a list")
        if not answers.size:
            return law(answers, source)
        return np.concatenate([law(answers[part], source) for part in chunks(len(answers))])

    @abstractmethod
    def _randomize(self, x: Float, source: Source) -> NDArray[Any]:
        """Reports of some users, drawn exactly."""

    def _simulate(self, x: Float, source: Source) -> NDArray[Any]:
        return self._randomize(x, source)

    @abstractmethod
    def _privacy(self) -> tuple[float, tuple[Any, Any, Any] | None, Verdict]:
        """True epsilon, witness (x, x', event) and the verdict on the nominal epsilon."""

    @abstractmethod
    def _delta(self, epsilon: float) -> float:
        """Largest delta over all pairs of answers, at a budget ``>= 0``."""
