r"""The private mechanism that tells two distributions of the answers apart with the fewest people,
and the exact test from its reports.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any, get_args

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.inversion import require_possible
from ldpopt.foundation.display import Facts, HasFacts
from ldpopt.foundation.numbers import (
    Float,
    frozen,
    inner_share,
    require_choice,
    require_kind,
    whole_number,
)
from ldpopt.hypotheses.result import TwoHypothesesResult
from ldpopt.hypotheses.scores import Scores, binomial_power, critical_counts
from ldpopt.hypotheses.sequential import SequentialTest, expected_people
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.polytope.convex import best_channel
from ldpopt.polytope.convex_optimum import ConvexOptimum
from ldpopt.polytope.convex_utility import Divergence, f_divergence
from ldpopt.privacy.notion import Notion
from ldpopt.problem.prior import read_prior

MAX_PEOPLE = 10**9
CHUNK = 1 << 12  # numbers of people that are tried at once


@dataclass(frozen=True, eq=False)
class BinaryTest(HasFacts):
    r"""A mechanism, and the most powerful test from its reports of a first distribution of the
    answers (the hypothesis) against a second one (the alternative).

    .. math:: T = \sum_i \log \frac{M_1(y_i)}{M_0(y_i)}, \qquad
              M_0 = P^T \mathrm{first}, \quad M_1 = P^T \mathrm{second}

    is large if the second distribution holds; the law of ``T`` is computed, not approximated.

    Attributes
    ----------
    mechanism : Mechanism
        What draws the reports; its inputs are the answers.
    first, second : ndarray, shape (n,)
        The two distributions, in the order of the mechanism's inputs.
    optimum : ConvexOptimum or None
        Value and bound of the mechanism's divergence, with their proof; None for a mechanism of
        one's own.
    """

    mechanism: Mechanism
    first: Float
    second: Float
    optimum: ConvexOptimum | None = None

    @classmethod
    def of(cls, mechanism: Mechanism, first: Any, second: Any) -> BinaryTest:
        """The test from the reports of any mechanism, to compare it with the best one.

        Parameters
        ----------
        mechanism : Mechanism
            What draws the reports.
        first, second : array_like, shape (n,), or mapping or Series label -> weight
            The distributions of its inputs.

        Raises
        ------
        StatementError
            If the distributions do not fit, or their reports have the same distribution.

        Examples
        --------
        >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]])
        >>> BinaryTest.of(coin, [0.5, 0.5], [0.2, 0.8]).people()
        93
        """
        require_kind(mechanism, Mechanism, "BinaryTest.of()", "pass Mechanism(channel)")
        p, _ = read_prior(first, mechanism.inputs, "first distribution")
        q, _ = read_prior(second, mechanism.inputs, "second distribution")
        return cls(mechanism, p, q)._require_different()

    @property
    def bound(self) -> Fraction | float | None:
        """No private mechanism has a larger divergence; None for a mechanism of one's own."""
        return None if self.optimum is None else self.optimum.bound

    @cached_property
    def scores(self) -> Scores:
        """Likelihood ratios of the reports."""
        channel = self.mechanism.channel
        return Scores.of(self.first @ channel, self.second @ channel)

    @property
    def log_ratios(self) -> dict[Hashable, float]:
        """Logarithm of the likelihood ratio of each report, second over first, in nats."""
        return dict(zip(self.mechanism.outputs, self.scores.logs.tolist(), strict=True))

    def people(self, level: float = 0.05, power: float = 0.9) -> int:
        r"""Number of people for a level and a power.

        .. math:: N \approx \left( \frac{z_{\text{level}} s_0 + z_{\text{power}} s_1}{m_1 - m_0}
                  \right)^2

        is where the search begins: with :math:`m, s` the mean and standard deviation of one
        report's log ratio under both hypotheses.

        Parameters
        ----------
        level : float
            Probability, at most, of rejecting the first distribution if it holds; default:
            ``0.05``.
        power : float
            Probability, at least, of rejecting it if the second one holds; default: ``0.9``.

        Returns
        -------
        int
            If the reports have two likelihood ratios the first number from there on for which the
            exact test has both; otherwise one found by bisection. With a few people more the power
            can be slightly below again, since counts are whole numbers: `power` computes it.

        Raises
        ------
        StatementError
            If a share is not between 0 and 1, power is not above level, more than 10^9 people are
            needed, or a share is below the rounding of probabilities.

        Notes
        -----
        For two ratios O(1) for each number that is tried, by binomial sums; otherwise O(K sqrt N
        log N) for scores of K steps.

        Examples
        --------
        >>> best([0.25] * 4, [0.1, 0.2, 0.3, 0.4], "log(3)").people()
        213
        """
        level, power = _promises(level, power)
        start = self._require_people(level, power)
        if len(self.scores.levels) == 2:
            return self._first_of_binomial(start, level, power)
        return self._first_by_bisection(start, level, power)

    def power(self, people: int, level: float = 0.05) -> float:
        """Power of the exact test with so many people, rounded down.

        Parameters
        ----------
        people : int
            Number of reports, from 1 to 10^9.
        level : float
            Probability, at most, of rejecting the first distribution if it holds; default:
            ``0.05``.

        Raises
        ------
        StatementError
            If the number or the level does not fit.
        """
        return self.scores.law(_people(people)).power(inner_share(level, "level"))

    def test(self, reports: Any, *, level: float = 0.05) -> TwoHypothesesResult:
        """Test the first distribution against the second one.

        Parameters
        ----------
        reports : Counts, or sequence of labels, or mapping or Series label -> count
            Anything that `Counts.of` takes, without weights.
        level : float
            Level for which the power is stated; default: ``0.05``.

        Returns
        -------
        TwoHypothesesResult
            Log likelihood ratio, p-value, and the power of so many people.

        Raises
        ------
        StatementError
            If there are no reports, they have weights, or cannot come from the mechanism.

        Examples
        --------
        >>> test = best({"no": 0.9, "yes": 0.1}, {"no": 0.6, "yes": 0.4}, "log(3)")
        >>> test.test({"no": 60, "yes": 40}).p_value.__round__(3)
        0.021
        """
        level = inner_share(level, "level")
        counts = Counts.of(self.mechanism, reports).require_some()
        if counts.is_weighted or counts.sampled is not None:
            raise StatementError(
                "the test is exact for people of equal weight who were drawn one by one",
                code="weights",
                do="test a number of a weighted estimate: estimate(...).contrast(...).test(value)",
            )
        people = _people(counts.n_reports)
        require_possible(self.mechanism.channel, counts)
        law = self.scores.law(people)
        seen = counts.values > 0
        with np.errstate(invalid="ignore"):
            statistic = float(self.scores.logs[seen] @ counts.values[seen])
        total = int(self.scores.whole(people) @ counts.values.astype(np.int64))
        return TwoHypothesesResult(
            statistic,
            None,
            law.p_value(total),
            "the answers have the first distribution, against the second",
            level,
            law.power(level),
        )

    def sequential(self, level: float = 0.05, power: float = 0.9) -> SequentialTest:
        """The test that looks at reports as they come, and stops as soon as they are clear.

        Parameters
        ----------
        level, power : float
            Both promises hold, whenever somebody looks; default: ``0.05`` and ``0.9``.

        Raises
        ------
        StatementError
            If a share is not between 0 and 1, power is not above level, or about 10^9 people are
            needed.

        Examples
        --------
        >>> test = best([0.9, 0.1], [0.6, 0.4], "log(3)").sequential()
        >>> test.decide([0, 1, 1, 1] * 100).n_reports
        14
        """
        level, power = _promises(level, power)
        self._require_people(level, power)
        scores = self.scores
        means = scores.moments(scores.first)[0], scores.moments(scores.second)[0]
        people = expected_people(-math.log(level), math.log1p(-power), means)
        return SequentialTest(level, power, self.log_ratios, people)

    def facts(self) -> Facts:
        """People for the usual level and power, the divergence with its bound, the mechanism."""
        usual = "people, level 5 %, power 90 %"
        start = self._start(0.05, 0.9)
        parts: list[Any] = [(usual, f"about {start:.3g}")]
        if start <= MAX_PEOPLE / 2:  # near the limit `people` may refuse
            parts = [(usual, self.people())]
            first, second = self.sequential().expected_people
            means = f"{first:,.0f} (first), {second:,.0f} (second)"
            parts.append(("sequential: mean people", means))
        if self.optimum is not None:
            parts += [("divergence", self.optimum.value), ("bound", float(self.optimum.bound))]
        channel = self.mechanism.facts().parts
        return Facts("Test of two distributions", [*parts, *channel])

    def __repr__(self) -> str:
        size = f"{len(self.first)} answers, {len(self.mechanism.outputs)} reports"
        if self.optimum is None:
            return f"BinaryTest({size})"
        return f"BinaryTest({size}, divergence {self.optimum.value:.6g})"

    def _require_different(self) -> BinaryTest:
        """Return the test, or refuse one whose reports tell nothing."""
        if len(self.scores.levels) < 2:
            raise StatementError(
                "reports have the same distribution under both hypotheses",
                code="same-hypotheses",
                do="give two distributions that differ, and a mechanism that shows it",
            )
        return self

    def _start(self, level: float, power: float) -> float:
        """The number of people by the normal approximation."""
        scores = self.scores
        mean_0, spread_0 = scores.moments(scores.first)
        mean_1, spread_1 = scores.moments(scores.second)
        distance = mean_1 - mean_0
        normal = NormalDist()
        reach = -normal.inv_cdf(level) * spread_0 + normal.inv_cdf(power) * spread_1
        return max(1.0, (reach / distance) ** 2) if reach > 0 else 1.0

    def _require_people(self, level: float, power: float) -> int:
        """The number of people where the search begins; more than there are is refused."""
        start = math.ceil(self._start(level, power))
        if start > MAX_PEOPLE:
            raise _too_many(start)
        return start

    def _first_of_binomial(self, start: int, level: float, power: float) -> int:
        """The first number from a start on with level and power, where reports count as 0 or 1."""
        law = self.scores.law(1)
        first = float(law.first[1])
        second = float(law.second[1])
        for low in range(start, MAX_PEOPLE + 1, CHUNK):
            people = np.arange(low, min(low + CHUNK, MAX_PEOPLE + 1))
            counts = critical_counts(people, first, level)
            reached = binomial_power(people, second, counts)
            if (reached >= power).any():
                return int(people[np.argmax(reached >= power)])
        raise _too_many(MAX_PEOPLE)

    def _first_by_bisection(self, start: int, level: float, power: float) -> int:
        """A number from a start on with level and power, beside one without."""

        def holds(people: int) -> bool:
            law = self.scores.law(people)
            if min(level, 1 - power) <= law.doubt:
                raise StatementError(
                    f"level = {level:g} or 1 - power = {1 - power:.2g} is below the rounding of "
                    f"the law of {people:,} reports, {law.doubt:.2g}",
                    code="rounding",
                    do="allow a larger level, or a smaller power",
                )
            return law.power(level) >= power

        if holds(start):
            return start
        low = start
        step = max(1, start // 256)
        high = start + step
        while not holds(high):
            low, step = high, 2 * step
            high += step
            if high > MAX_PEOPLE:
                raise _too_many(high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return high


def best(
    first: Any,
    second: Any,
    epsilon: Notion | float | str,
    *,
    kind: Divergence = "kl",
) -> BinaryTest:
    r"""Find the private mechanism for testing a first distribution of the answers against a second.

    .. math:: \max_P D(M_1 \| M_0), \qquad M_0 = P^T \mathrm{first}, \quad M_1 = P^T \mathrm{second}

    over all private mechanisms with any number of reports. The Kullback-Leibler divergence is the
    rate at which the error of the second kind falls at a fixed level (Stein).

    Parameters
    ----------
    first : array_like, shape (n,), or mapping or Series label -> weight
        The hypothesis: a distribution of the answers, at most 2000 under pure privacy.
    second : array_like, shape (n,), or mapping or Series label -> weight
        The alternative, matched by label.
    epsilon : Notion, float or str
        The budget of pure privacy in nats, positive, or ``"log(3)"``; or a notion that
        `convex.best_channel` takes.
    kind : {"kl", "total_variation", "chi_square", "squared_hellinger"}
        What is maximized; ``"kl"`` needs at most .1 % more people than the best of the usual
        divergences up to epsilon 1, 2 % at 2, and 1.7 % in the mean (32 % at worst) at 4. Default:
        ``"kl"``.

    Returns
    -------
    BinaryTest
        The mechanism, the proved bound, and the test.

    Raises
    ------
    StatementError
        If a distribution is invalid, their answers differ, they are the same, or the divergence is
        infinite.
    NotRepresentableError
        If the extreme rays of a notion are too many to list.

    Notes
    -----
    ``O(n**2)`` under pure privacy. Theory: docs, "Tests of two distributions" and "Extremal
    channels of any size".

    References
    ----------
    Kairouz, Oh and Viswanath 2016.

    Examples
    --------
    >>> test = best({"rural": 0.5, "urban": 0.5}, {"rural": 0.4, "urban": 0.6}, "log(3)")
    >>> test.mechanism.outputs, test.people()
    (('rural', 'urban'), 866)
    """
    require_choice(kind, get_args(Divergence), "kind")
    # the second distribution is the one from which the mean of the log ratio is taken
    utility = f_divergence(second, first, kind)
    p, labels = read_prior(first, utility.inputs, "first distribution")
    q, _ = read_prior(second, labels, "second distribution")
    if np.array_equal(p, q):
        raise StatementError(
            "the two distributions are the same",
            code="same-distributions",
            do="give an alternative that differs from the hypothesis",
        )
    optimum = best_channel(utility, epsilon)
    return BinaryTest(optimum.mechanism, frozen(p), frozen(q), optimum)._require_different()


def _promises(level: Any, power: Any) -> tuple[float, float]:
    """Read a level and a power."""
    level = inner_share(level, "level", do="pass a level such as 0.05")
    power = inner_share(power, "power", do="pass a power such as 0.9")
    if power <= level:
        raise StatementError(
            f"power = {power:g} is not above level = {level:g}: without any report it is reached",
            code="power",
            do="pass a power above the level",
        )
    return level, power


def _people(number: Any) -> int:
    """Read a number of people."""
    return whole_number(number, "people", 1, MAX_PEOPLE)


def _too_many(people: float) -> StatementError:
    """Error for more people than there are."""
    return StatementError(
        f"{people:.3g} people or more are needed",
        code="people",
        do="give a larger epsilon, or distributions that differ more",
    )
