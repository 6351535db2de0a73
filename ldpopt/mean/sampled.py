r"""One attribute a user: the protocols for many means, with Horvitz-Thompson and ratio estimators."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.divergence import Audit
from ldpopt.errors import StatementError
from ldpopt.estimate import Estimate, normal_quantile
from ldpopt.mean.protocol import Protocol, Random, quadratic_maximum, uniforms
from ldpopt.sampling import bit_source
from ldpopt.utility import Float

Method = Literal["ratio", "horvitz_thompson"]


class Sampled:
    r"""Each user reports one attribute, chosen uniformly, with the whole budget, and says which one it is.

    .. math:: \text{ratio: } \frac{1}{s} \Bigl( \frac{\sum_{i : j_i = j} r_i}{n_j} - o \Bigr), \qquad
              \text{Horvitz-Thompson: } \frac{1}{s} \Bigl( \frac{m}{n} \sum_{i : j_i = j} r_i - o \Bigr)

    with ``n_j`` of the ``n`` reports on attribute ``j``, and ``E[r | x] = o + s x``.

    Parameters
    ----------
    protocol : Protocol
        What randomizes the chosen attribute.
    attributes : int
        Number of attributes ``m``, at least 1.
    method : {"ratio", "horvitz_thompson"}
        How `estimate` works. The paper's Algorithm 6 is Horvitz-Thompson on the bits.

    Raises
    ------
    StatementError
        If ``attributes`` is no whole number >= 1 or the method is unknown.

    Notes
    -----
    With random censoring it is RCP_Multiple (and RCP_Multiple_Opt, which is as little private as RCP_Opt), with Duchi's
    mechanism Harmony. The choice does not depend on the answers, so that the privacy is that of ``protocol``, however
    many attributes two users differ in.

    The variance of one user's contribution is ``m (V + u**2) - u**2`` with ``u = x + o / s`` for Horvitz-Thompson, and
    ``m V + (m - 1) w`` for the ratio to first order, with ``w`` the users' variance of the attribute. On bits coded
    {0, 1} Horvitz-Thompson costs up to ``sqrt(2)`` in error; coded ``+-C`` it costs next to nothing. The ratio is
    unbiased given that a report has arrived, and undefined (nan) if none has.

    O(1) a user: only the chosen attributes are read, and only they are checked against the domain.

    References
    ----------
    Liu and Zhou 2023, Algorithms 4-8; Nguyen et al. 2016 (Harmony).

    Examples
    --------
    >>> from ldpopt.mean.duchi import Duchi
    >>> harmony = sampled(Duchi(1.0), attributes=3)
    >>> len(harmony.estimate(harmony.randomize(np.zeros((900, 3)), rng=1)).values)
    3
    """

    def __init__(self, protocol: Protocol, attributes: int, method: Method = "ratio") -> None:
        if isinstance(attributes, bool) or not isinstance(attributes, (int, np.integer)) or attributes < 1:
            raise StatementError(f"attributes = {attributes!r} is no whole number >= 1")
        if method not in ("ratio", "horvitz_thompson"):
            raise StatementError(f"method {method!r} is unknown", do="use 'ratio' or 'horvitz_thompson'")
        self.protocol, self.attributes, self.method = protocol, int(attributes), method
        self.domain = protocol.domain

    def __repr__(self) -> str:
        """Protocol, number of attributes and method."""
        return f"Sampled({self.protocol!r}, attributes={self.attributes}, method={self.method!r})"

    def randomize(self, x: ArrayLike, *, rng: Random = None) -> NDArray[Any]:
        """Choose an attribute for each user and randomize it.

        Parameters
        ----------
        x : array_like, shape (N, m)
            Answers, one user a row.
        rng : numpy.random.Generator or int, optional
            Makes the draws repeatable; None draws every bit from the operating system's generator.

        Returns
        -------
        structured ndarray, shape (N,)
            Fields ``attribute`` (0 .. m-1) and ``report``.

        Raises
        ------
        StatementError
            If the shape does not fit, or a chosen answer is outside the domain.
        """
        answers = np.asarray(x)
        if answers.ndim != 2 or answers.shape[1] != self.attributes:
            raise StatementError(f"answers have shape {answers.shape}; they need (users, {self.attributes})")
        source = bit_source(rng)
        n = len(answers)
        chosen = (uniforms(source, n) * self.attributes).astype(np.int64)
        reports = np.empty(n, dtype=[("attribute", np.int32), ("report", np.float64)])
        reports["attribute"] = chosen
        read = self.protocol._answers(answers[np.arange(n), chosen])
        reports["report"] = self.protocol._randomize(read, source)
        return reports

    def estimate(self, reports: NDArray[Any], confidence: float = 0.95) -> Estimate:
        """Estimate the mean of each attribute.

        Parameters
        ----------
        reports : structured ndarray, shape (N,)
            What `randomize` returned.
        confidence : float
            Coverage of each normal interval on its own, ``0 < confidence < 1``.

        Returns
        -------
        Estimate
            ``m`` values with sample standard errors. For the ratio an attribute without a report is nan; for one
            whose reports are all the same the error is that of the worst case.

        Raises
        ------
        StatementError
            If there are no reports, or they name an unknown attribute.
        """
        normal_quantile(confidence)
        array = np.asarray(reports)
        if array.dtype.names is None or not {"attribute", "report"} <= set(array.dtype.names):
            raise StatementError(
                "the reports have no fields 'attribute' and 'report'", do="pass what randomize returned"
            )
        place, values = array["attribute"].astype(np.int64), self.protocol._reports(array["report"])
        if place.min() < 0 or place.max() >= self.attributes:
            raise StatementError(f"a report names an attribute outside 0 .. {self.attributes - 1}")
        n, m = len(values), self.attributes
        slope, offset = self.protocol.slope, self.protocol.offset
        counts = np.bincount(place, minlength=m)
        # Squares are taken around one center for all, so that large reports do not cancel.
        center = float(values.mean()) if self.method == "ratio" else 0.0
        first = np.bincount(place, values - center, minlength=m)
        second = np.bincount(place, (values - center) ** 2, minlength=m)
        if self.method == "ratio":
            with np.errstate(divide="ignore", invalid="ignore"):
                means = first / counts
                spread = (second - counts * means**2) / np.maximum(counts - 1, 1) / slope**2
            worst = self.protocol.worst_case_variance
            spread = np.where(counts > 0, np.where(spread > 0, spread, worst), math.nan)
            error = np.sqrt(spread / np.maximum(counts, 1))
            means = means + center
        else:
            means = np.asarray(first * (m / n), np.float64)
            spread = (second * (m * m / n) - means**2) / max(1, n - 1) / slope**2
            error = np.sqrt(np.where(spread > 0, spread, self.worst_case_variance / n))
        return Estimate((means - offset) / slope, error, n, float(confidence), f"{self.method}, {self.protocol!r}")

    def variance(self, x: ArrayLike) -> Any:
        """Variance of one user's contribution to the mean of an attribute, among users who all answer ``x`` there.

        For ``n`` users divide by ``n``. Exact for Horvitz-Thompson; to first order in ``m / n`` for the ratio.

        Parameters
        ----------
        x : array_like
            Answers within the domain.

        Returns
        -------
        float or ndarray
            In the shape of ``x``.
        """
        array = self.protocol._answers(x)
        return self._variance(array) if array.ndim else float(self._variance(array))

    @property
    def worst_case_variance(self) -> float:
        """Largest `variance` over the domain."""
        return quadratic_maximum(self._variance, self.protocol.knots)

    def audit(self) -> Audit:
        """Tell the true privacy: that of the protocol, for users who may differ in all attributes."""
        return self.protocol.audit()

    def _variance(self, x: Any) -> Any:
        alone: Float = self.protocol._variance(x)
        if self.method == "ratio":
            return self.attributes * alone
        mean = x + self.protocol.offset / self.protocol.slope
        return self.attributes * alone + (self.attributes - 1) * mean**2


def sampled(protocol: Protocol, *, attributes: int, method: Method = "ratio") -> Sampled:
    """Make the one-attribute-a-user form of a protocol: RCP_Multiple, Harmony, ...

    Parameters
    ----------
    protocol : Protocol
        What randomizes the chosen attribute.
    attributes : int
        Number of attributes ``m``, at least 1.
    method : {"ratio", "horvitz_thompson"}
        How means are estimated.

    Returns
    -------
    Sampled
        The protocol for vectors; its `estimate` has ``m`` values.

    Raises
    ------
    StatementError
        See `Sampled`.

    Examples
    --------
    >>> from ldpopt.mean.duchi import Duchi
    >>> sampled(Duchi(1.0), attributes=36).audit().epsilon
    1.0
    """
    return Sampled(protocol, attributes, method)
