r"""The interface of frequency protocols: reports that support labels, unbiased estimates, variance
and privacy.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.auditing.audits import Audit, audit_by_odds
from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts, ReportSource
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.exact_fit import support_p_value
from ldpopt.estimation.fit import checked_fit
from ldpopt.estimation.influence import Influence, influence_of_support
from ldpopt.estimation.liars import read_liars, widened
from ldpopt.estimation.reports import report_weights
from ldpopt.foundation.numbers import Float, inner_share, real_array, short_repr, whole_number
from ldpopt.frequencies.rule import Rule
from ldpopt.frequencies.support import SupportBand, sampled_shares, scales_of_shares
from ldpopt.mechanism.channels import digest
from ldpopt.mechanism.codec import LabelCodec, Randomizer
from ldpopt.mechanism.sampling import Random
from ldpopt.problem.prior import read_prior
from ldpopt.tables.coding import Missing


def chernoff(share: Float, number: Any, low: Any, high: Any) -> float:
    """Bound on the probability that one of several shares of ``number`` reports is as far outside
    of its range.
    """
    nearest = np.clip(share, low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        supporting = np.where(share > 0, share * np.log(share / nearest), 0.0)
        others = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - nearest)), 0.0)
    return min(1.0, 2 * len(share) * math.exp(-float((number * (supporting + others)).max())))


class FrequencyProtocol(Rule, ReportSource):
    r"""A randomizer of one label per user, whose report *supports* some labels, and the unbiased
    estimate from it; a new one writes the `Rule`.

    A report supports the true label with probability ``p`` and any other with probability ``q <
    p``. With ``c_x`` of ``N`` reports supporting ``x``,

    .. math:: \hat f_x = \frac{c_x / N - q}{p - q}, \qquad
              N \operatorname{Var} \hat f_x = \frac{q (1-q)}{(p-q)^2} + f_x \frac{1 - p - q}{p - q}

    Parameters
    ----------
    inputs : int or sequence of hashable
        The labels, at least two; a number ``d`` stands for ``0 .. d-1``.
    epsilon : float or str
        Budget in nats, positive; ``"log(p/q)"`` is read exactly.

    Attributes
    ----------
    epsilon : Budget
        The nominal budget; `audit` returns the true one, which is never larger.
    p, q : Fraction
        The support probabilities *of the draws*, with a power of two as denominator: rounded so
        that no ratio exceeds ``e**epsilon``. Estimates use the same numbers, so they are exactly
        unbiased.

    Raises
    ------
    StatementError
        If there are fewer than two labels, two are the same, labels and budget are exchanged, or
        epsilon is not positive or so small that ``p`` and ``q`` are equal in 53-bit words.

    References
    ----------
    Wang, Blocki, Li and Jha 2017 (pure protocols, Theorem 2).
    """

    # Protocols of the literature, each of which is constructed from labels and a budget
    PUBLISHED: ClassVar[list[type[FrequencyProtocol]]] = []

    def __init_subclass__(cls, *, published: bool = False) -> None:
        super().__init_subclass__()
        if published:
            cls.PUBLISHED.append(cls)

    def privatize(self, x: Any, *, rng: Random = None) -> NDArray[Any]:
        """Draw one report for each answer.

        Parameters
        ----------
        x : sequence of labels, shape (N,)
            True answers.
        rng : numpy.random.Generator, SeedSequence or int, optional
            Makes the draws repeatable (default: every bit from the operating system's generator).

        Raises
        ------
        StatementError
            If an answer is not one of the labels, or ``rng`` is no seed.
        """
        return self._randomize(self._codes(x, "answer"), rng)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of kind, labels, ``p`` and ``q``, by which counts are recognized."""
        return digest(type(self).__name__, (self.inputs,), (self.p, self.q, self._ratio()))

    @cached_property
    def names(self) -> tuple[Hashable, ...]:
        """The labels, whose frequencies are estimated."""
        return tuple(self.inputs)

    @property
    def randomizer(self) -> Randomizer:
        """The channel, if its reports are few enough to list."""
        return self.mechanism

    @property
    def codec(self) -> LabelCodec:
        """Refused, except for protocols whose reports can be written in a table."""
        raise StatementError(
            "the reports of a protocol are not a column of a table",
            code="column",
            do="pass what privatize returned",
        )

    def count(self, reports: Any, *, weights: Any = None) -> Counts:
        """Count the reports that support each label, so that the reports need not be kept.

        Parameters
        ----------
        reports : array_like, N rows
            What `privatize` returned; counts of parts of it can be added.
        weights : array_like, shape (N,), or Series, optional
            Weight of each report, finite and ``>= 0``; default: all 1.

        Raises
        ------
        StatementError
            If there are no reports, one is none of this protocol, or a weight is negative or not
            finite.
        """
        return Counts.of(self, reports, weights=weights)

    def counts_of(self, reports: Any, weights: Any = None, missing: Missing = "refuse") -> Counts:
        """Count what `privatize` returned; none of its reports is missing."""
        support, size = self._support(reports, None)
        total: tuple[float, float] = (size, size)
        squares = support = support.astype(np.int64)
        numbers = report_weights(weights, reports, size)
        if numbers is not None:
            support, squares = (self._support(reports, power)[0] for power in (numbers, numbers**2))
            total = (float(numbers.sum()), float((numbers**2).sum()))
        return Counts(self.digest, self.names, support, squares, *total, size)

    def variances(self, prior: Any = None) -> Float:
        """Variance for each label of one report's value, for users drawn at random; default: at the
        worst frequency.
        """
        p = float(self.p)
        q = float(self.q)
        if prior is None:
            return self.variance_at_support(np.full(len(self.inputs), min(p, max(q, 0.5))))
        return self.variance_at_support(q + read_prior(prior, tuple(self.inputs))[0] * (p - q))

    def variance_at_support(self, share: Float) -> Float:
        """Variance of a value if this share of reports supports the label, ``s (1 - s) / (p -
        q)^2``.
        """
        share = real_array(share, "share")
        if share.size and not (share.min() >= 0 and share.max() <= 1):
            raise StatementError("a share is not in [0, 1]", code="range", do="give shares")
        return np.asarray(share * (1 - share) / float(self.p - self.q) ** 2)

    @property
    def moments(self) -> tuple[Float, Float]:
        """Shares of the people with a label and of all others, and the mean squares of their values
        in it, shape (d, 2).
        """
        p = float(self.p)
        q = float(self.q)
        squares = [(s * (1 - q) ** 2 + (1 - s) * q**2) / (p - q) ** 2 for s in (p, q)]
        shape = (len(self.inputs), 2)
        return np.broadcast_to([1.0, 0.0], shape), np.broadcast_to(squares, shape)

    @property
    def spans(self) -> Float:
        """1 for each label, since the numbers are shares."""
        return np.ones(len(self.inputs))

    @property
    def influence(self) -> Influence:
        """How far one report can move each frequency: it raises one by :math:`(1 - q) / (p - q)`
        people, and lowers one by :math:`p / (p - q)`.
        """
        return influence_of_support(self.names, self.p, self.q)

    def p_value(self, counts: Counts) -> float:
        """Bound on the probability of a share of supporting reports as far outside ``[q, p]``: the
        exact one of the furthest label, times the number of labels.
        """
        counts = self.own_counts(counts)
        return support_p_value(counts.values, counts.n_reports, float(self.q), float(self.p))

    def estimate(
        self,
        reports: Any,
        confidence: float = 0.95,
        *,
        simultaneous: bool = False,
        check_fit: bool = True,
        weights: Any = None,
        liars: float = 0.0,
    ) -> Estimate:
        r"""Estimate the frequency of each label from the reports, without bias.

        .. math:: \mathrm{se}_x^2 = \frac{s_x (1 - s_x)}{N (p - q)^2},
                  \qquad s_x = c_x / N \text{ within } [q, p]

        With weights, one over ``N`` is as in `ldpopt.estimation.band`.

        Parameters
        ----------
        reports : Counts, or array_like, N rows
            What `count` or `privatize` returned, ``N >= 1``.
        confidence, simultaneous, check_fit, weights, liars
            As in `estimate_frequencies`, for score intervals, or binomial ones (Clopper and Pearson
            1934) that hold all at once; default: ``0.95`` and ``False`` and ``True`` and ``None``
            and ``0.0``.

        Returns
        -------
        Estimate
            ``d`` frequencies in the order of ``inputs``, not clipped and not made to sum to 1.

        Raises
        ------
        StatementError
            If there are no reports, or they cannot come from this protocol.

        Notes
        -----
        The standard error is right for users drawn at random. For fixed users the variance is too
        large by ``f (1 - f) / N``. O(N d) time, O(N) memory besides the reports.
        """
        liars = read_liars(liars)
        counts = Counts.of(self, reports, weights=weights).require_some()
        fit = checked_fit(self, counts, check_fit)
        estimate = Estimate.of_band(
            self._band(counts, among=(1, 1) if simultaneous else None),
            counts,
            confidence,
            simultaneous=simultaneous,
            method=type(self).__name__,
            labels=self.names,
            fit=fit,
            is_distribution=True,
        )
        return widened(estimate, liars, lambda: self.influence.each)

    def largest(
        self,
        reports: Any,
        k: int,
        confidence: float = 0.95,
        *,
        check_fit: bool = True,
        weights: Any = None,
        liars: float = 0.0,
    ) -> Estimate:
        r"""Estimate the labels with the ``k`` largest estimates, with intervals that hold for all
        of them at once.

        .. math:: \Pr(l_x \le f_x \le u_x \text{ for all } x \text{ listed}) \ge \text{confidence}

        although the labels are chosen by the same reports.

        Parameters
        ----------
        reports : Counts, or array_like, N rows
            As in `estimate`.
        k : int
            Number of labels, from 1 to ``d``, fixed before the reports are seen.
        confidence : float
            Probability that all ``k`` intervals hold. Default: ``0.95``.
        check_fit, weights, liars
            As in `estimate`; default: ``True`` and ``None`` and ``0.0``.

        Returns
        -------
        Estimate
            ``k`` frequencies, the largest first. They were chosen for being large, so that they are
            too large on average; the intervals are not.

        Raises
        ------
        StatementError
            As `estimate`, and if ``k`` does not fit.

        Notes
        -----
        Binomial limits (Clopper and Pearson 1934), also for fixed users; with weights
        approximately. Half of the risk is for the lower limits, among all ``d`` labels, and half
        for the upper ones, among ``k`` only: docs, "Frequencies". O(d) besides the support.

        Examples
        --------
        >>> from ldpopt.frequencies import LinearHash
        >>> protocol = LinearHash(10**5, 2.0)
        >>> top = protocol.largest(protocol.privatize([7] * 5000 + [8] * 3000, rng=1), 2)
        >>> top.labels, top.interval.round(2).tolist()
        ((7, 8), [[0.55, 0.65], [0.33, 0.42]])
        """
        size = whole_number(k, "k", 1, len(self.inputs))
        share = inner_share(confidence, "confidence", do="pass a coverage such as 0.95")
        liars = read_liars(liars)
        counts = Counts.of(self, reports, weights=weights).require_some()
        fit = checked_fit(self, counts, check_fit)
        chosen = np.argpartition(counts.values, len(self.inputs) - size)[-size:]
        chosen = chosen[np.lexsort((chosen, -counts.values[chosen]))]
        estimate = Estimate.of_band(
            self._band(counts, chosen, (len(self.inputs), size)),
            counts,
            share,
            method=type(self).__name__,
            labels=tuple(self.inputs[place] for place in chosen.tolist()),
            fit=fit,
            is_distribution=size == len(self.inputs),
        )
        return widened(estimate, liars, lambda: self.influence.each[chosen])

    def _band(
        self, counts: Counts, chosen: Any = ..., among: tuple[int, int] | None = None
    ) -> SupportBand:
        """The band of all labels, or of those at some positions; for limits that hold together,
        ``among`` how many labels the lower and the upper ones were chosen.
        """
        p = float(self.p)
        q = float(self.q)
        share = (counts.values / counts.total)[chosen]
        sampled = sampled_shares(counts, np.arange(len(counts.values))[chosen], p, q)
        scales = scales_of_shares(share, sampled, counts)
        if sampled is None:  # these are of all labels; those of a sample are of the chosen ones
            scales = scales.at(chosen)
        error = np.sqrt(self.variance_at_support(np.clip(share, q, p)) * scales.error)
        effect = scales.design_effects(counts, len(share))
        return SupportBand(
            share,
            scales,
            error,
            q,
            float(self.p - self.q),
            among,
            effect=effect,
            of_sample=sampled,
        )

    def variance(self, frequency: ArrayLike = 0.0) -> Any:
        """Variance of one report's unbiased value for a label of this frequency; divide by N for
        the estimate.

        Parameters
        ----------
        frequency : array_like
            Shares of the label, within [0, 1]; default: ``0.0``. For users drawn at random add ``f
            (1 - f)``.

        Raises
        ------
        StatementError
            If a number is not a share.
        """
        share = real_array(frequency, "frequency")
        if not ((share >= 0) & (share <= 1)).all():
            raise StatementError(
                f"frequency = {short_repr(frequency)} is not a share",
                code="share",
                do="pass numbers from 0 to 1",
            )
        base = float(self.q * (1 - self.q) / (self.p - self.q) ** 2)
        variances = base + share * float((1 - self.p - self.q) / (self.p - self.q))
        return variances if share.ndim else float(variances)

    @property
    def total_variance(self) -> float:
        """Sum of `variance` over all labels; it does not depend on their frequencies."""
        p, q = self.p, self.q
        return float(len(self.inputs) * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q))

    def audit(self) -> Audit:
        """Return the exact true privacy of the draws, two-sided, over all pairs of labels and all
        reports.

        Epsilon is the smallest one, rounded up; the verdict on the nominal budget is decided in
        rationals.
        """
        witness = (self.inputs[0], self.inputs[1], self._witness())
        return audit_by_odds(self._ratio(), self.epsilon, self._delta, witness)

    @property
    def odds(self) -> Fraction:
        """Largest ratio of the probabilities of a report under two labels, exactly."""
        return self._ratio()
