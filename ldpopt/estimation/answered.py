r"""Shares among those who answered: ratios of two estimates, with score intervals.

With ``a`` an estimated number to which missing answers contribute nothing, and ``f`` the share of
people without an answer: those who did not answer, and those who were not asked,

.. math:: t = \frac{a}{1 - f}, \qquad \text{so that} \quad a - t (1 - f) = 0 .

The left side is estimated without bias, linearly in the reports. An interval has all ``t`` for
which its estimate differs from 0 by at most ``z`` standard errors (Fieller 1954), with the variance
that it has if its mean is 0. Weights that are related to the answers are accounted for as in
`ldpopt.estimation.band`, by the values in ``a - t (1 - f)`` at the estimated ``t``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.band import Band, MultiplesBand, Scales, effects_of, scales_of_sample
from ldpopt.estimation.counts import Counts, ListedSource
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.intervals import null_variances, student_quantile
from ldpopt.estimation.liars import LiarsBand, plain_band, share_of_liars
from ldpopt.estimation.sampled import InfluenceValues, ReportNoise, SampledNumbers
from ldpopt.estimation.sums import Sums
from ldpopt.foundation.numbers import Float

ANSWERED = "answered"  # the method of such estimates
STEPS = 26  # bisections of an interval's end: to less than a ten-millionth of the range


def among_answered(
    estimates: Estimate,
    source: Any,
    counts: Counts,
    missing: int | Sequence[int],
    *,
    simultaneous: bool = False,
    kind: type[RatioBand] | None = None,
) -> Estimate:
    """Divide estimates, shape (k,), by the share of those who answered; the last ones are the
    shares of people without an answer, whose positions are ``missing``.

    Numbers that are equal for all who answered are left out; intervals end one span beyond the
    possible ones. O(k n).
    """
    if counts.sampled is not None and not isinstance(source, ListedSource):
        raise StatementError(
            "the reports are sets of answers, and counts of a sample do not show which answers are "
            "in one set",
            code="answered-of-sample",
            where="shares among those who answered",
            do="use weights alone, or at most 20 answers",
        )
    excluded = (missing,) if isinstance(missing, (int, np.integer)) else tuple(missing)
    band = (kind or RatioBand)(estimates.bounds, source, counts, excluded)
    places = np.append(band.rows, excluded)
    labels = estimates.labels
    return Estimate.of_band(
        band,
        counts,
        estimates.confidence,
        simultaneous=simultaneous,
        method=ANSWERED,
        labels=None if labels is None else tuple(labels[place] for place in places),
        fit=estimates.fit,
    )


@dataclass(frozen=True, eq=False)
class RatioBand:
    """Some numbers ``t = a / (1 - f)`` among those who answered, and last the shares of people
    without an answer, whose sum is ``f``.

    A person's value in ``a - t (1 - f)`` has a second moment that is a polynomial in ``t``, of
    which ``second_moments`` has the three coefficients by answer.
    """

    of_all: Band  # of the numbers among all people, shape (k,)
    source: Any  # what estimates them
    counts: Counts
    missing: tuple[int, ...]  # positions of the shares of people without an answer among them
    has_missing: bool = (
        True  # whether these shares are the last numbers; else only the ratios are there
    )

    @cached_property
    def rows(self) -> Any:
        """Positions of the numbers that differ between those who answered."""
        differs = np.ptp(self._answered_numbers, axis=1) > 0
        differs |= not self.has_missing  # sums of ratios: all that were asked for
        is_other = ~np.isin(np.arange(len(differs)), self.missing)
        return np.flatnonzero(differs & is_other)

    @property
    def _answered_numbers(self) -> Float:
        """The numbers of the answers that are not missing, shape (k, n')."""
        return np.asarray(self.source.wanted[:, self._is_missing == 0])

    @property
    def _is_missing(self) -> Float:
        """Which answers are those of people without one, shape (n,)."""
        return np.asarray(self.source.wanted[list(self.missing)].sum(axis=0))

    @property
    def shown(self) -> int:
        """How many shares of people without an answer are the last numbers."""
        return len(self.missing) if self.has_missing else 0

    @property
    def answered(self) -> Float:
        """The numbers of the answers of those who answered, shape (k, n'); where reports are about
        other questions as well, of each answer to this one once.
        """
        numbers = np.asarray(self._answered_numbers[self.rows])
        if self._own_answers is None:
            return numbers
        _, first = np.unique(numbers, axis=1, return_index=True)
        return numbers[:, np.sort(first)]

    @property
    def _own_answers(self) -> tuple[Hashable, ...] | None:
        """The answers to the question, if the reports are about others as well."""
        return getattr(self.source, "own_answers", None)

    @property
    def inputs(self) -> tuple[Hashable, ...] | None:
        """The answers of those who answered; None if only sums of ratios are there."""
        if not self.has_missing:
            return None
        if self._own_answers is not None:
            return self._own_answers
        is_missing = self._is_missing != 0
        names = zip(self.source.answers, is_missing, strict=True)
        return tuple(answer for answer, is_out in names if not is_out)

    @cached_property
    def _numbers(self) -> Float:
        """Estimates of ``a``."""
        return np.asarray(self.of_all.values[self.rows])

    @cached_property
    def _answered(self) -> float:
        """Estimate of ``1 - f``."""
        return 1 - float(self.of_all.values[list(self.missing)].sum())

    @cached_property
    def _ratios(self) -> Float:
        """The ratios; if nobody seems to have answered, nothing is known."""
        if self._answered > 0:
            return self._numbers / self._answered
        return np.full(len(self._numbers), np.nan)

    @cached_property
    def values(self) -> Float:
        """The ratios, and the share of missing answers."""
        return self._with_missing(self._ratios, self.of_all.values)

    @cached_property
    def errors(self) -> Float:
        """Standard errors, by the variance of ``a - t (1 - f)``."""
        spread = np.sqrt(self._scales.error * self._variances(self._ratios)) / self._answered
        return self._with_missing(spread, self.of_all.errors)

    def _with_missing(self, of_ratios: Float, of_all: Float) -> Float:
        """Numbers for each ratio (k,), followed by those for the shares of people without an
        answer, which are shares of all people and stand in ``of_all`` at their places.
        """
        return np.concatenate([of_ratios, of_all[list(self.missing)][: self.shown]])

    @property
    def covariance(self) -> None:
        """Not known: sums of ratios have bands of their own."""
        return None

    @property
    def effect(self) -> Float | None:
        """Design effect of the weights for each number."""
        effect = self._scales.design_effects(self.counts, len(self.rows))
        of_all = self.of_all.effect
        if effect is None or of_all is None:
            return effect
        return self._with_missing(effect, of_all)

    @property
    def possible(self) -> Float:
        """The least and the largest number of those who answered; shares are from 0 to 1."""
        numbers = self._answered_numbers[self.rows]
        ends = np.stack([numbers.min(axis=1), numbers.max(axis=1)], axis=-1)
        of_all = np.broadcast_to([0.0, 1.0], (max(self.missing) + 1, 2))
        return self._with_missing(ends, of_all)

    @cached_property
    def _second_moments(self) -> tuple[Float, Float, Float]:
        return self._moments_of(self.source)

    def _moments_of(self, source: Any) -> tuple[Float, Float, Float]:
        # (v - t (1 - u))^2 = v^2 + 2 t (v u - v) + t^2 (u^2 - 2 u + 1) for values v, u in a, f
        wanted = source.wanted
        moments = [source.second_moments(place) for place in self.missing]
        squares = moments[0][0]
        products = sum(each for _, each in moments)  # with u, the sum over those without an answer
        linear = 2 * (products[self.rows] - wanted[self.rows])
        square = products[list(self.missing)].sum(axis=0)
        return squares[self.rows], linear, square - 2 * self._is_missing + 1

    @cached_property
    def _of_sample(self) -> SampledNumbers | None:
        """What is known of the errors of ``a - t (1 - f)`` from a sample."""
        if self.counts.sampled is None:
            return None
        t = np.nan_to_num(self._ratios)[:, None]
        values, wanted, channel = self.source.estimator, self.source.wanted, self._channel
        values, wanted = (
            each[self.rows] + t * each[list(self.missing)].sum(axis=0) for each in (values, wanted)
        )
        noise = ReportNoise.of(values, wanted, channel, self.source.left_inverse)
        return SampledNumbers(self.counts.sampled, values - t, self.counts.total, noise)

    @property
    def _channel(self) -> Float:
        return np.asarray(self.source.channel)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of Student's t, with clusters."""
        return self.of_all.freedom

    @property
    def influence_values(self) -> InfluenceValues | None:
        """How much each person of a sample moves the ratios and the share of missing answers."""
        if self._of_sample is None or self.of_all.influence_values is None:
            return None
        rows = np.eye(len(self.of_all.values))[list(self.missing)][: self.shown]
        ratios = self._of_sample.influence_values.parts
        last = self.of_all.influence_values.contrast(rows)
        parts = [
            (groups, np.concatenate([values / self._answered, share]))
            for (groups, values), (_, share) in zip(ratios, last.parts, strict=True)
        ]
        return replace(last, parts=parts)

    @cached_property
    def _scales(self) -> Scales:
        """One over the number of reports, for each ratio."""
        if self._of_sample is not None:
            return scales_of_sample(self._of_sample, self.counts)
        if not self.counts.is_weighted or not self._answered > 0:
            return Scales.of(self.counts)
        plain, heavy = (
            self.source.ratio_squares(each, self.rows, self.missing, self._ratios)
            for each in (self.counts, self.counts.with_squared_weights)
        )
        largest = self._second_moments[0].max(axis=1)
        return Scales.of(self.counts, effects_of(heavy, plain, largest))

    @cached_property
    def _frequencies(self) -> Float:
        """Frequencies of the answers, shape (n,)."""
        return np.asarray(self.source.frequencies(self.counts))

    def _variances(self, t: Float) -> Float:
        """Variances of one person's values in ``a - t (1 - f)`` if their means are 0, for ``t`` of
        shape (k,) or (2, k).
        """
        constant, linear, square = self._second_moments
        factor = t[..., None]
        second = constant + factor * linear + factor**2 * square
        wanted = self.source.wanted[self.rows] - factor * (1 - self._is_missing)
        answers = wanted.shape[-1]  # both sides at once, since a bisection calls this very often
        wanted = wanted.reshape(-1, answers)
        second = second.reshape(-1, answers)
        return null_variances(wanted, second, self._frequencies).reshape(t.shape)

    @property
    def liars(self) -> float:
        """The share of liars for which the intervals are widened."""
        return share_of_liars(self.of_all)

    @property
    def plain(self) -> RatioBand:
        """The same of reports that are all true."""
        return replace(self, of_all=plain_band(self.of_all)) if self.liars else self

    def _moved_by_liars(self, t: Float) -> Float | float:
        """By how much liars can move the estimates of ``a - t (1 - f)``, shape (k,)."""
        if not isinstance(self.of_all, LiarsBand):
            return 0.0
        influence = self.source.ratio_influence(self.rows, list(self.missing), t)
        return np.asarray(self.of_all.share * influence)

    def ends(self, z: Any) -> Float:
        """Ends of the score intervals, shape (k, 2), by bisection, and those of the shares of
        people without an answer; for liars an interval has all ``t`` that they can have moved to
        one of those that true reports would not contradict.
        """
        low, high = self.possible[: len(self.rows)].T
        span = high - low
        far = np.stack([np.fmin(self._ratios, low - span), np.fmax(self._ratios, high + span)])
        near = np.broadcast_to(self._ratios, far.shape)
        quantile = student_quantile(z if np.ndim(z) == 0 else z[: len(self.rows)], self.freedom)
        of_all = z
        if np.ndim(z):  # one for each number; those of the ratios are not used
            of_all = np.zeros(len(self.of_all.values))
            of_all[list(self.missing)[: self.shown]] = z[len(self.rows) :]
        for _ in range(STEPS if self._answered > 0 else 0):
            middle = (near + far) / 2
            spread = self._scales.interval * self._variances(middle)
            moved = np.stack([self._moved_by_liars(side) + np.zeros(len(side)) for side in middle])
            distance = np.abs(self._numbers - middle * self._answered) - moved
            is_out = np.maximum(distance, 0.0) ** 2 > quantile * quantile * spread
            near = np.where(is_out, near, middle)
            far = np.where(is_out, middle, far)
        return self._with_missing(far.T, self.of_all.ends(of_all))

    def contrast(self, matrix: Float) -> Band:
        """Sums of the ratios are ratios of sums, with intervals of the same kind.

        Raises
        ------
        StatementError
            If shares of those who answered are added to the share of missing answers, or the
            values of the reports are not listed.
        """
        size = len(self.rows)
        if (matrix[:, size:] != 0).any() or not isinstance(self.source, ListedSource):
            return MultiplesBand.of(self, matrix)
        # numerators of the sums, and last the share of people without an answer, which all have
        sums = np.zeros((len(matrix) + 1, len(self.of_all.values)))
        sums[:-1, self.rows] = matrix[:, :size]
        sums[-1, list(self.missing)] = 1.0
        source = self._sums(sums)
        missing = (len(matrix),)
        return type(self)(
            self.of_all.contrast(sums), source, self.counts, missing, has_missing=False
        )

    def _sums(self, matrix: Float) -> Any:
        """The source of sums of the numbers."""
        return Sums(self.source, matrix)


class FollowersBand(RatioBand):
    """Shares among those who follow a rule, with the standard errors of a function of the shares of
    all people: from the reports that were seen, as theirs are.
    """

    @cached_property
    def errors(self) -> Float:
        """Standard errors, by the squares of ``a - t (1 - f)`` over the reports."""
        if self.counts.sampled is not None or not self._answered > 0:
            return super().errors
        values = self.source.estimator
        answered = 1 - values[list(self.missing)].sum(axis=0)
        deviations = values[self.rows] - self._ratios[:, None] * answered
        spread = deviations**2 @ (self.counts.squares / self.counts.total**2)
        return self._with_missing(np.sqrt(spread) / self._answered, self.of_all.errors)
