r"""Joint reports on yes/no questions: a random set of questions with a random pattern of answers to
them.

A report names ``s`` of the ``2d`` answers, one to each reported question. A reported answer is the
true one with probability ``p``, so that shares are estimated as those of randomized response; two
reported answers are a report of a channel on four pairs, so that the table of any two questions is
estimated too.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.divergence import Audit
from ldpopt.certificate.yes_no_certificate import TOTAL, YesNoCertificate
from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts, MechanismSource, ReportSource
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.exact_fit import support_p_value
from ldpopt.estimation.fit import checked_fit
from ldpopt.estimation.influence import Influence, influence_of_support
from ldpopt.estimation.inversion import estimate_frequencies
from ldpopt.estimation.liars import read_liars, widened
from ldpopt.estimation.reports import report_weights
from ldpopt.estimation.sampled import SampledNumbers
from ldpopt.foundation.numbers import Float, any_array, real_array, shaped_array
from ldpopt.frequencies.rule import Positions
from ldpopt.frequencies.subset_selection import SetCodec
from ldpopt.frequencies.support import SupportBand, scales_of_shares
from ldpopt.mechanism.channels import digest
from ldpopt.mechanism.codec import Randomizer
from ldpopt.mechanism.keyed import Draws, KeyedDraws
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.sampling import BITS, bit_source
from ldpopt.tables.coding import MISSING, Codes, Missing

# Used in place of a digest: which questions are reported does not depend on the answers, also with
# a key
QUESTIONS_DRAW = digest("which questions are reported together", [], [])


@dataclass(frozen=True)
class WordChoices:
    """Choices by uniform 53-bit words: ``words(rows, count)`` returns new ones, shape ``(len(rows),
    count)``.
    """

    words: Callable[[Positions, int], NDArray[np.uint64]]

    @classmethod
    def of(cls, source: Draws, digest: str, codes: Codes) -> "WordChoices":
        """Choices for all persons, by a generator, or keyed: the same for the same code."""
        if isinstance(source, KeyedDraws):
            streams = source.streams(digest, codes)  # of 64-bit words
            return cls(lambda rows, count: streams(rows, count) >> np.uint64(64 - BITS))
        bits = bit_source(source)
        return cls(lambda rows, count: bits(len(rows) * count).reshape(-1, count))

    def below(self, rows: Positions, ends: Any) -> Positions:
        """Words modulo the end; those in the last, incomplete period are drawn again."""
        end = np.broadcast_to(np.asarray(ends, dtype=np.int64), rows.shape)
        drawn = np.empty(len(rows), dtype=np.int64)
        waiting = np.arange(len(rows))
        while len(waiting):
            word = self.words(rows[waiting], 1)[:, 0].astype(np.int64)
            limit = end[waiting]
            is_whole = word < TOTAL - TOTAL % limit
            drawn[waiting[is_whole]] = (word % limit)[is_whole]
            waiting = waiting[~is_whole]
        return drawn

    def is_below(self, rows: Positions, mass: int) -> NDArray[np.bool_]:
        """Compare one word with the mass."""
        return np.asarray(self.words(rows, 1)[:, 0] < np.uint64(mass))


def draw_order(choices: Any, rows: Positions, count: int, size: int) -> Positions:
    """Draw ``size`` different numbers below ``count`` in random order, shape ``(len(rows),
    size)``.
    """
    chosen = np.empty((len(rows), size), dtype=np.int64)
    for drawn in range(size):
        place = choices.below(rows, count - drawn)
        for earlier in np.sort(chosen[:, :drawn], axis=1).T:
            place = place + (place >= earlier)
        chosen[:, drawn] = place
    return chosen


@dataclass(frozen=True, eq=False)
class NamedNoise:
    """The variance, by randomization alone, of how much reports that name a question move the two
    shares of its answers; which questions they name is random, too.
    """

    columns: slice
    share: Float  # (2,): of the reports that name the question
    chance: float  # that a report names it
    bias: float

    def at(self, rows: slice) -> "NamedNoise":
        """Both shares."""
        return self

    def covariance(self, squares: Float) -> Float:
        """That of the sums of people with some squared weights, (2, 2)."""
        named = squares[self.columns] / self.chance
        total = named.sum()
        gap = float(np.clip((named[1] - named[0]) / self.bias, -total, total))
        second = self.share[1]
        variance = 0.0
        for people, says in ((total - gap) / 2, -1), ((total + gap) / 2, 1):
            yes = (1 + says * self.bias) / 2  # the second of the two answers, if it is named
            square = (1 - second) ** 2 * yes + second**2 * (1 - yes)
            variance += people * (self.chance * square - (self.chance * (yes - second)) ** 2)
        return variance * np.array([[1.0, -1.0], [-1.0, 1.0]])


class YesNoPatterns(ReportSource):
    r"""Report answers to ``s`` random questions together, in a pattern that is likely to agree with
    the true ones.

    .. math:: \frac{P(\text{agreement in at least } t \text{ places})}{P(\text{any other pattern})}
              = e^\epsilon
              \text{ for each pattern}

    Parameters
    ----------
    questions : mapping name -> pair of answers
        At least one question.
    certificate : YesNoCertificate
        Budget, size of the patterns, value and bound.

    Raises
    ------
    StatementError
        If epsilon is too small for 53-bit words, or the certificate is for another number of
        questions.
    """

    def __init__(
        self, questions: Mapping[str, Sequence[Hashable]], certificate: YesNoCertificate
    ) -> None:
        self.questions = {name: tuple(answers) for name, answers in questions.items()}
        self.certificate, self.pattern = certificate, certificate.randomizer
        self.bias = float(self.pattern.bias)
        if not self.pattern.bias > 0:
            problem = f"epsilon = {certificate.epsilon!r} is too small for words of 53 bits"
            raise StatementError(problem, do="pass a larger epsilon")
        if len(self.questions) != self.pattern.questions:
            problem = (
                f"there are {len(self.questions)} questions, but the certificate is for "
                f"{self.pattern.questions}"
            )
            raise StatementError(problem, do="pass all questions of the survey")

    def __repr__(self) -> str:
        drawn = self.pattern
        return (
            f"YesNoPatterns({drawn.questions} questions, {drawn.least} of {drawn.size} "
            "answers agree)"
        )

    @property
    def size(self) -> int:
        """Number of answers in a report."""
        return self.pattern.size

    @cached_property
    def names(self) -> tuple[Hashable, ...]:
        """Question and answer of each share that is estimated."""
        return tuple(
            (name, answer) for name, answers in self.questions.items() for answer in answers
        )

    @property
    def inputs(self) -> Sequence[Hashable]:
        """The answers that a report may name."""
        return self.names

    @property
    def unit_columns(self) -> Sequence[Hashable]:
        """The same: a report is a set of them."""
        return self.names

    def in_table(self, reports: Any) -> tuple[Any, Any]:
        """Sets of answers, one to each of ``s`` questions."""
        return self.checked(reports), slice(None)

    @property
    def randomizer(self) -> Randomizer:
        """What draws the reports: this object itself."""
        return self

    @cached_property
    def digest(self) -> str:
        """Digest of the questions, their answers and the distribution of the reports."""
        drawn = self.pattern
        return digest(
            "YesNoPatterns", [self.names], [drawn.questions, drawn.size, drawn.least, drawn.mass]
        )

    @property
    def codec(self) -> "PatternCodec":
        """How reports are written in a table: positions of the named answers, with spaces between
        them.
        """
        return PatternCodec(self)

    @property
    def odds(self) -> Fraction:
        """Largest ratio of the probabilities of a report under two rows of answers."""
        return self.pattern.odds

    def audit(self) -> Audit:
        """Exact audit, over all pairs of rows of answers."""
        return self.certificate.audit

    @cached_property
    def worst_pair(self) -> Mechanism:
        """The number of agreements with one row of answers, under this row and the opposite one,
        rounded to 53 bits.
        """
        # No two rows are easier to tell apart by a report, at any ratio of probabilities.
        shares = [float(share) for share in self.pattern.agreements()]
        return Mechanism([shares, shares[::-1]], ["this", "opposite"], range(self.size + 1))

    def privatize(self, answers: Codes, source: Draws) -> Positions:
        """Draw reports of rows of answers, positions 0 and 1 of shape (N, d): positions of answers,
        shape (N, s).
        """
        same = np.zeros(len(answers), dtype=np.int64)
        people = WordChoices.of(source, QUESTIONS_DRAW, same)

        def patterns(truth: Codes) -> WordChoices:
            if not isinstance(source, KeyedDraws):
                return people
            # Other true answers to the reported questions give another pattern, independently.
            packed = [bits.tobytes() for bits in np.packbits(truth.astype(bool), axis=1)]
            ids = [bits + name for bits, name in zip(packed, source.ids, strict=True)]
            return WordChoices.of(KeyedDraws(source.key, source.question, ids), self.digest, same)

        return self.choose(answers, people, patterns)

    def choose(self, answers: Codes, people: Any, patterns: Callable[[Codes], Any]) -> Positions:
        """Map choices to reports: of questions, which may not depend on answers, and then of
        patterns.
        """
        rows = np.arange(len(answers))
        drawn = self.pattern
        size = self.size
        asked = np.sort(draw_order(people, rows, drawn.questions, size), axis=1)
        truth = np.take_along_axis(np.asarray(answers), asked, axis=1)
        choices = patterns(truth)
        is_close = choices.is_below(rows, drawn.mass)
        pattern = choices.below(rows, np.where(is_close, drawn.close, drawn.far))
        numbers = [math.comb(size, a) for a in range(size + 1)]
        ends_far = np.cumsum(numbers[: drawn.least])
        ends_close = np.cumsum(numbers[drawn.least :])
        few, many = (
            np.searchsorted(ends, pattern, side="right") for ends in (ends_far, ends_close)
        )
        agreements = np.where(is_close, drawn.least + many, few)
        agrees = np.zeros((len(rows), size), dtype=bool)
        np.put_along_axis(
            agrees,
            draw_order(choices, rows, size, size),
            np.arange(size) < agreements[:, None],
            axis=1,
        )
        return np.asarray(2 * asked + np.where(agrees, truth, 1 - truth))

    def checked(self, reports: Any) -> Positions:
        """Return reports of shape (N, s) after checking that each names one answer to each of ``s``
        questions.
        """
        array = any_array(reports, "list of reports")
        fits = array.ndim == 2 and array.shape[1] == self.size and array.dtype.kind in "iu"
        if fits and array.size:
            fits = (
                array.min() >= 0
                and array.max() < len(self.names)
                and bool((np.diff(array // 2, axis=1) > 0).all())
            )
        if not fits:
            problem = (
                f"a report does not have answers to {self.size} of {self.pattern.questions} "
                "questions, in order"
            )
            raise StatementError(problem, do="pass what privatize of this survey returned")
        return array.astype(np.int64, copy=False)

    def counts_of(self, reports: Any, weights: Any = None, missing: Missing = "refuse") -> Counts:
        """Count how many reports name each answer; none of the reports is missing."""
        array = self.checked(reports)
        numbers = report_weights(weights, reports, len(array))
        total: tuple[float, float] = (len(array), len(array))
        ones: Any = np.bincount(array.ravel(), minlength=len(self.names)).astype(np.int64)
        values, squares = ones, ones
        if numbers is not None:
            powers = (np.repeat(numbers, self.size), np.repeat(numbers**2, self.size))
            values, squares = (
                np.bincount(array.ravel(), power, len(self.names)) for power in powers
            )
            total = (float(numbers.sum()), float((numbers**2).sum()))
        return Counts(self.digest, self.names, values, squares, *total, len(array))

    def variances(self, prior: Any = None) -> Float:
        """Variance of one person's contribution to each share, at these shares; default: at the
        worst ones.
        """
        return self.variances_at(
            np.full(len(self.names), 0.5)
            if prior is None
            else shaped_array(prior, "prior", len(self.names))
        )

    def variances_at(self, shares: Float) -> Float:
        """Variance of one person's contribution to each share of an answer."""
        shares = real_array(shares, "shares")
        named = (1 + self.bias * (2 * shares - 1)) / 2
        return np.asarray(self.pattern.questions / self.size * named * (1 - named) / self.bias**2)

    @property
    def spans(self) -> Float:
        """The largest minus the least possible value of each share, which is 1."""
        return np.ones(len(self.names))

    @property
    def influence(self) -> Influence:
        """How far one report can move each share: by that of the answers that are named, times the
        questions over those in a report, since forgers choose which questions they name.
        """
        factor = self.pattern.questions / self.size
        return self.influence_of_named(self.names).times(factor)

    def influence_of_named(self, names: Sequence[Hashable]) -> Influence:
        """How far one report that names a question can move the shares among such reports."""
        miss = (1 - self.pattern.bias) / 2
        return influence_of_support(names, 1 - miss, miss)

    def p_value(self, counts: Counts) -> float:
        """Bound on the probability of shares of answers as far outside ``[1 - p, p]``: the exact
        one of the furthest question, times their number.
        """
        counts = self.own_counts(counts)
        named = counts.values.reshape(-1, 2)
        return support_p_value(
            named[:, 0], named.sum(axis=1), (1 - self.bias) / 2, (1 + self.bias) / 2
        )

    def place(self, name: str) -> int:
        """Position of a question."""
        return list(self.questions).index(name)

    def estimate_one(
        self,
        name: str,
        counts: Counts,
        confidence: float,
        *,
        simultaneous: bool = False,
        check_fit: bool = True,
        liars: float = 0.0,
    ) -> Estimate:
        """Estimate the shares of the answers to a question, from the reports that name one of them;
        all liars may name it.
        """
        liars = read_liars(liars)
        columns = slice(2 * self.place(name), 2 * self.place(name) + 2)
        fit = checked_fit(self, counts.require(self.digest).require_some(), check_fit)
        values = counts.values[columns].astype(float)
        squares = counts.squares[columns]
        total = float(values.sum())
        if not total > 0:
            raise StatementError(f"no report has an answer to {name!r}", do="ask more people")
        share = values / total
        number = counts.n_reports if counts.is_weighted else int(total)
        asked = replace(
            counts,
            values=values,
            squares=squares,
            total=total,
            total_squares=float(squares.sum()),
            n_reports=number,
        )
        numbers = self._of_sample(counts, columns, share, total)
        scales = scales_of_shares(share, numbers, asked)
        error = np.sqrt(share * (1 - share) * scales.error) / self.bias
        effect = scales.design_effects(asked, 2)
        if (
            effect is not None and counts.is_weighted
        ):  # of the reports that are expected to name the question
            effect *= self.size / self.pattern.questions
        miss = (1 - self.bias) / 2
        band = SupportBand(
            share,
            scales,
            error,
            miss,
            self.bias,
            is_pair=True,
            effect=effect,
            of_sample=numbers,
        )
        estimate = Estimate.of_band(
            band,
            asked,
            confidence,
            simultaneous=simultaneous,
            labels=self.questions[name],
            fit=fit,
            is_distribution=True,
        )
        named = self.influence_of_named(self.questions[name])
        return widened(estimate, liars, lambda: named.each, times=counts.total / total)

    def _of_sample(
        self, counts: Counts, columns: slice, share: Float, total: float
    ) -> SampledNumbers | None:
        """What is known from a sample of the errors of the two shares of the reports that name a
        question.
        """
        if counts.sampled is None:
            return None
        deviations = np.zeros((2, len(counts.values) + 1))
        deviations[:, columns] = np.eye(2) - share[:, None]
        noise = NamedNoise(columns, share, self.size / self.pattern.questions, self.bias)
        return SampledNumbers(counts.sampled, deviations, total, noise)

    @cached_property
    def shows_pairs(self) -> bool:
        """Whether reports show how the answers to two questions go together: their channel on four
        pairs has full rank, in rationals.
        """
        both, only, none = self.pattern.pair() if self.size > 1 else (0, 0, 0)
        return both + none != 2 * only

    def pair(self, name: str, other: str) -> "PairOfAnswers":
        """What counts and estimates the table of two questions."""
        if not self.shows_pairs:
            problem = (
                f"the reports, with {self.size} answers each, do not show how two answers "
                "depend on each other"
            )
            do = "use a larger epsilon, or the scheme 'split'"
            raise StatementError(problem, code="dependence", do=do)
        return PairOfAnswers(self, name, other)


class PairOfAnswers(MechanismSource):
    """Reports of two questions of `YesNoPatterns`: those that name an answer to both."""

    def __init__(self, patterns: YesNoPatterns, name: str, other: str) -> None:
        self.patterns = patterns
        self.places = (patterns.place(name), patterns.place(other))
        both, only, none = map(float, patterns.pattern.pair())
        rows = [
            [both, only, only, none],
            [only, both, none, only],
            [only, none, both, only],
            [none, only, only, both],
        ]
        super().__init__(
            Mechanism(rows, list(product(patterns.questions[name], patterns.questions[other])))
        )

    @property
    def randomizer(self) -> Randomizer:
        """What drew the reports."""
        return self.patterns

    @property
    def influence(self) -> Influence:
        """That of the reports that name both questions, of which forgers choose theirs: times all
        pairs of questions over those in a report.
        """
        pairs, named = (
            size * (size - 1) for size in (self.patterns.pattern.questions, self.patterns.size)
        )
        return super().influence.times(pairs / named)

    def in_table(self, reports: Any) -> tuple[Any, Any]:
        """Pairs of answers in reports of shape (N, s), of those that name an answer to both."""
        array = self.patterns.checked(reports)
        masks = [array // 2 == place for place in self.places]
        has_both = masks[0].any(axis=1) & masks[1].any(axis=1)
        first, second = ((array * mask).sum(axis=1)[has_both] % 2 for mask in masks)
        return 2 * first + second, has_both

    def counts_of_array(self, reports: Any, weights: Float | None = None) -> Counts:
        """Count the pairs of answers in reports of shape (N, s)."""
        pairs, has_both = self.in_table(reports)
        return super().counts_of_array(pairs, None if weights is None else weights[has_both])

    def estimate(
        self, counts: Counts, confidence: float = 0.95, *, liars: float = 0.0, **options: Any
    ) -> Estimate:
        """Estimate the shares of the pairs of answers; all liars may name both questions."""
        liars = read_liars(liars)
        part = replace(counts, source=self.mechanism.digest)
        estimate = estimate_frequencies(self.mechanism, part, confidence=confidence, **options)
        return widened(estimate, liars, lambda: self.influence.each)


class PatternCodec(SetCodec):
    """Reports of `YesNoPatterns`: answers are codes of shape (N, d), and a person without a report
    has none of them.
    """

    form = "patterns"
    randomizer: Any

    def is_answered(self, codes: Codes) -> NDArray[np.bool_]:
        """Which persons answered."""
        return np.asarray(codes[:, 0] != MISSING)

    def sets(self, codes: Codes, source: Draws) -> Positions:
        """Draw the reports of rows of answers."""
        return np.asarray(self.randomizer.privatize(codes, source))
