r"""Certificate of the joint report on yes/no questions: size of the patterns, value, and a bound
for every channel.

A report is a random set of ``s`` of the ``d`` questions with a pattern of answers to them. With the
bias

.. math:: \theta = \frac{(E-1) \binom{s-1}{t-1}}{2^s + (E-1) \sum_{a \ge t} \binom{s}{a}},
          \qquad E = e^\epsilon

of a reported answer, the total variance is :math:`\frac{d}{2} (d / (s \theta^2) - 1)`, and no
private channel has less than :math:`\frac{d}{2} (d / I^* - 1)`, ``I*`` being the largest
information of a set of rows of answers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import comb, isqrt, prod
from typing import Any

from ldpopt.auditing.audits import Audit, audit_by_odds
from ldpopt.foundation.budget import Budget, round_down, round_up
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.numbers import require_text, whole_number

FORMAT = "ldpopt joint report 1"

TOTAL = 1 << 53  # sum of the masses
MAX_SIZE = 50  # largest number of questions in a report: the number of patterns fits into a word
# largest number of questions for which all sets that may be best are listed: 1,172 of them
MAX_LISTED = 6
MAX_SUMMED = 200  # largest number of random signs whose moments are summed
MAX_MOMENT = 12  # highest even moment of a sum of random signs from which a bound is computed
ROOT_BITS = 200  # binary digits of roots
# ends of the ranges of questions, two sizes and mass in a file
LARGEST = (10**6, MAX_SIZE + 1, MAX_SIZE + 1, TOTAL)


@dataclass(frozen=True)
class PatternRandomizer:
    """A random pattern of answers to ``size`` of ``questions`` yes/no questions.

    It agrees with the truth in at least ``least`` places with probability ``mass / 2**53``; given
    that, and given the contrary, all patterns are equally likely.
    """

    questions: int
    size: int
    least: int
    mass: int

    @classmethod
    def of(cls, questions: int, size: int, least: int, epsilon: Budget) -> PatternRandomizer:
        """Patterns of some size with the largest mass that the budget allows."""
        close = _close(size, least)
        ratio = Budget(epsilon).enclosure()[0]
        return cls(
            questions, size, least, int(TOTAL * close * ratio / (close * ratio + 2**size - close))
        )

    @classmethod
    def best(cls, questions: int, epsilon: Budget) -> PatternRandomizer:
        """Patterns with the most information; the shortest of equally good ones."""
        ratio = Budget(epsilon).enclosure()[0]
        sizes = [
            (s, t)
            for s in range(1, min(questions, MAX_SIZE) + 1)
            for t in range((s + 1) // 2, s + 1)
        ]
        size, least = max(sizes, key=lambda pair: (information(pair[0], pair[1], ratio), -pair[0]))
        return cls.of(questions, size, least, epsilon)

    @property
    def close(self) -> int:
        """Number of patterns that agree with the truth in at least ``least`` places."""
        return _close(self.size, self.least)

    @property
    def far(self) -> int:
        """Number of all other patterns."""
        return int(2**self.size - self.close)

    def agreements(self) -> list[Fraction]:
        """Probability of each number of places, 0 .. ``size``, in which the pattern agrees with the
        truth.
        """
        share = Fraction(self.mass, TOTAL)
        each = (((1 - share) / self.far), share / self.close)
        return [comb(self.size, a) * each[a >= self.least] for a in range(self.size + 1)]

    @property
    def bias(self) -> Fraction:
        """Expected product of a reported answer and the true one, as signs."""
        return (
            sum((p * (2 * a - self.size) for a, p in enumerate(self.agreements())), Fraction(0))
            / self.size
        )

    def pair(self) -> tuple[Fraction, Fraction, Fraction]:
        """Probabilities that two reported answers are both true, that only a given one is, and that
        none is.
        """
        s = self.size
        law = self.agreements()
        counts = ([a * (a - 1) for a in range(s + 1)], [a * (s - a) for a in range(s + 1)])
        both, single = (
            sum((n * p for n, p in zip(count, law, strict=True)), Fraction(0)) for count in counts
        )
        pairs = s * (s - 1)
        return both / pairs, single / pairs, 1 - both / pairs - 2 * single / pairs

    @property
    def odds(self) -> Fraction:
        """Largest ratio of the probabilities of a report under two rows of answers, either way
        round.
        """
        ratio = Fraction(self.mass * self.far, (TOTAL - self.mass) * self.close)
        return max(ratio, 1 / ratio)

    def delta(self, ratio: Fraction) -> Fraction:
        """Hockey-stick divergence of two opposite rows of answers, the largest one, before it is
        clipped at 0.
        """
        # Sets of patterns that are near to both rows shrink with the number of answers that differ.
        moved = _close(self.size, max(self.least, self.size - self.least + 1))
        share = Fraction(self.mass, TOTAL)
        near = share / self.close
        far = (1 - share) / self.far
        return moved * max(near - ratio * far, far - ratio * near)

    @property
    def value(self) -> Fraction:
        """Variance of one respondent's unbiased values, summed over the shares of both answers to
        all questions.
        """
        d = self.questions
        return Fraction(d, 2) * (Fraction(d, self.size) / self.bias**2 - 1)


def information(size: int, least: int, ratio: Fraction) -> Fraction:
    """Information of patterns of a size: the square of their bias times the size."""
    bias = (
        (ratio - 1)
        * comb(size - 1, least - 1)
        / (Fraction(2) ** size + (ratio - 1) * _close(size, least))
    )
    return size * bias * bias


def most_information(questions: int, epsilon: Budget) -> Fraction:
    """Upper bound of the information of every set of rows of answers, for the real
    ``e**epsilon``.

    Up to `MAX_LISTED` questions the sets that may be best are listed. Beyond, one question is best
    for ratios up to 3; for larger ones the even moments of a sum of random signs bound all sets at
    once, each in its own way, and the smallest of these bounds is taken.
    """
    return _most_information(questions, epsilon.enclosure()[1])


@lru_cache(maxsize=256)
def _most_information(questions: int, ratio: Fraction) -> Fraction:
    """The bound for a ratio that is at least ``e**epsilon``; budgets with the same float differ."""
    if questions <= MAX_LISTED:
        gain = ratio - 1
        rows = Fraction(2) ** questions
        return max(
            weight * gain * gain / (rows + gain * size) ** 2
            for size, weight in _listed_sets(questions)
        )
    if ratio <= 3:  # one question is best
        return information(1, 1, ratio)
    bounds = []
    for k in range(1, MAX_MOMENT // 2 + 1):
        # E (l - c)^+ <= E l^(2k) (2k-1)^(2k-1) / (2 (2k)^(2k) c^(2k-1))
        share = Fraction((2 * k - 1) ** (2 * k - 1), 2 * (2 * k) ** (2 * k))
        bounds.append(_root_up((ratio - 1) * _largest_moment(questions, 2 * k) * share, k))
    return min(bounds)


def least_variance(questions: int, epsilon: Budget) -> Fraction:
    """Lower bound on the total variance of every private channel, with any number of reports."""
    return max(
        Fraction(questions, 2) * (questions / most_information(questions, epsilon) - 1), Fraction(0)
    )


@dataclass(frozen=True, eq=False)
class YesNoCertificate:
    """A claim about the joint report on yes/no questions: ``achieved`` and ``bound`` are total
    variances.
    """

    epsilon: Budget
    randomizer: PatternRandomizer
    achieved: Fraction
    bound: Fraction

    @classmethod
    def of(cls, questions: int, epsilon: Budget) -> YesNoCertificate:
        """The best patterns, with their value and the bound."""
        questions, epsilon = whole_number(questions, "questions", 1), Budget(epsilon)
        randomizer = PatternRandomizer.best(questions, epsilon)
        # At a tiny budget rounded masses have no bias: the protocol refuses them.
        value = randomizer.value if randomizer.bias > 0 else Fraction(0)
        return cls(epsilon, randomizer, value, min(least_variance(questions, epsilon), value))

    @property
    def relative_gap(self) -> float:
        """``1 - bound / achieved``, rounded up."""
        return round_up(1 - self.bound / self.achieved)

    @cached_property
    def audit(self) -> Audit:
        """Exact audit of the randomizer; the witness is two rows of answers to the questions of a
        report, and it.
        """
        drawn = self.randomizer
        truth = ("yes",) * drawn.size
        other = ("no",) * drawn.size
        return audit_by_odds(drawn.odds, self.epsilon, drawn.delta, (truth, other, truth))

    def recheck(self) -> tuple[str, ...]:
        """Compute every number again; return what does not hold."""
        failures = []
        drawn = self.randomizer
        if self.audit.verdict != "certified":
            failures.append(f"the reports are not private: epsilon {self.audit.epsilon:.9g} found")
        if drawn.bias <= 0 or drawn.value > self.achieved:
            failures.append(
                f"the estimator has a larger variance than claimed: {float(self.achieved):.9g}"
            )
        proved = least_variance(drawn.questions, self.epsilon)
        if proved < self.bound:
            failures.append(f"the theorem proves less than the bound claimed: {float(proved):.9g}")
        return tuple(failures)

    def to_dict(self) -> dict[str, Any]:
        """Statement, randomizer and claim as JSON data."""
        data = {"format": FORMAT, "epsilon": self.epsilon.exact_text, **vars(self.randomizer)}
        return data | {"achieved": str(self.achieved), "bound": str(self.bound)}

    @classmethod
    def from_dict(cls, data: Any, where: str) -> YesNoCertificate:
        """Read what `to_dict` returned; ``where`` is the place in error messages."""
        require_text(where, "where")
        numbers = ("questions", "size", "least", "mass")
        table = Entry(data, where).table("format", "epsilon", *numbers, "achieved", "bound")
        table["format"].text(FORMAT)
        questions, size, least, mass = (
            table[key].whole(most) for key, most in zip(numbers, LARGEST, strict=True)
        )
        if not 1 <= least <= size <= questions or not 0 < mass < TOTAL:
            raise table["size"].error(
                f"no patterns have size {size} of {questions}, least {least}, mass {mass}"
            )
        drawn = PatternRandomizer(questions, size, least, mass)
        return cls(
            Budget(table["epsilon"].text()),
            drawn,
            table["achieved"].rational(),
            table["bound"].rational(),
        )

    def __repr__(self) -> str:
        drawn = self.randomizer
        numbers = f"variance {round_up(self.achieved):.9g}, bound {round_down(self.bound):.9g}"
        return (
            f"YesNoCertificate({drawn.questions} questions, {drawn.least} of "
            f"{drawn.size}, {numbers})"
        )


def _close(size: int, least: int) -> int:
    """Number of patterns of a size with at least so many given places."""
    return sum(comb(size, a) for a in range(least, size + 1))


@lru_cache(maxsize=8)
def _listed_sets(questions: int) -> tuple[tuple[int, int], ...]:
    """Sizes of the sets of rows that may be best, and sums of their squared level-1 coefficients
    times ``4**d``.
    """
    rows = list(itertools.product((1, 0), repeat=questions))
    places = {row: place for place, row in enumerate(rows)}
    above = [[places[other] for other in _larger(row)] for row in rows]
    signs = [[2 * answer - 1 for answer in row] for row in rows]
    sets = set()
    for chosen in _up_sets(above):
        level = [sum(column) for column in zip(*(signs[place] for place in chosen), strict=True)]
        sets.add((len(chosen), sum(entry * entry for entry in level)))
    return tuple(sorted(sets))


def _larger(row: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The next larger rows: a last 0 that becomes 1, or a 1 that moves to the place before it."""
    if not row[-1]:
        yield (*row[:-1], 1)
    for j in range(1, len(row)):
        if row[j] and not row[j - 1]:
            yield (*row[: j - 1], 1, 0, *row[j + 1 :])


def _up_sets(above: list[list[int]]) -> Iterator[list[int]]:
    """All non-empty sets that have with each element the elements above it, which come earlier in
    the order.
    """
    stack: list[tuple[int, list[int]]] = [(0, [])]
    while stack:
        place, chosen = stack.pop()
        if place == len(above):
            if chosen:
                yield chosen
            continue
        stack.append((place + 1, chosen))
        if set(above[place]) <= set(chosen):
            stack.append((place + 1, [*chosen, place]))


def _largest_moment(count: int, power: int) -> Fraction:
    """Largest even moment of a sum of ``count`` random signs of variance 1; of many, that of a
    normal variable.
    """
    if count > MAX_SUMMED:
        return Fraction(prod(range(1, power, 2)))
    moment = sum(comb(count, heads) * (2 * heads - count) ** power for heads in range(count + 1))
    return Fraction(moment, 2**count * count ** (power // 2))


def _root_up(value: Fraction, k: int) -> Fraction:
    """Upper bound of a ``k``-th root, at most ``2**-ROOT_BITS`` too large."""
    scaled = -(-(value.numerator << (k * ROOT_BITS)) // value.denominator)
    low = 0
    high = 1 << (scaled.bit_length() // k + 1)
    if k == 2:
        low = high = isqrt(scaled) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle**k >= scaled else (middle, high)
    return Fraction(high, 1 << ROOT_BITS)
