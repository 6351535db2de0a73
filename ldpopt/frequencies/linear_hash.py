r"""A linear hash over a finite field: short reports on millions of labels, decoded for all labels
at once; its points and their decoding are in `linear_decode`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.frequency_certificate import SubsetRandomizer
from ldpopt.closed_forms.form import ResponseSampler
from ldpopt.errors import StatementError
from ldpopt.foundation.fields import prime_power
from ldpopt.foundation.numbers import (
    Float,
    Int,
    any_array,
    require_memory,
    short_repr,
    whole_number,
)
from ldpopt.foundation.seeds import generator_of
from ldpopt.frequencies.linear_decode import (
    Arithmetic,
    ProjectiveSpace,
    length_of,
    number_of_points,
    points_of_hashes,
    points_of_numbers,
    support_of_labels,
)
from ldpopt.frequencies.protocol import FrequencyProtocol
from ldpopt.frequencies.randomized_response import kept_and_other
from ldpopt.frequencies.rule import Positions
from ldpopt.mechanism.exact_draws import coin_tosses, uniform_below
from ldpopt.mechanism.sampling import Random, bit_source, chunks

MAX_LABELS = 10**7
MAX_ELEMENTS = 1 << 10  # largest field
# of fields with at most this many times the smallest variance the shortest reports are taken
NEAR = Fraction(101, 100)
PUBLIC = np.dtype([("hash", np.int64), ("value", np.int64)])


class LinearHash(FrequencyProtocol):
    r"""Report a point of a projective space over a field of ``q`` elements; it supports about one
    label in ``q``.

    .. math:: \max_{x, u, u'} \frac{P(u \mid x)}{P(u' \mid x)} \le E, \qquad
              \frac{c}{m} = \frac{q^{t-1} - 1}{q^t - 1} \approx \frac1q

    with ``m`` points, of which ``c`` support a label. With a public coin all but the last digit of
    ``u`` are public random numbers, and the last one is sent by randomized response on ``q``
    symbols.

    Parameters
    ----------
    inputs : int or sequence of hashable
        The labels or their number, from 2 to ``10**7``.
    epsilon : float or str
        Budget in nats, positive.
    public_coin : bool
        Whether the hash function is public, so that a report has ``log2 q`` bits; default:
        ``False``.
    q : int, optional
        Number of elements of the field, a power of a prime up to 1024; default: of those within 1 %
        of the least variance the one with the shortest reports.

    Raises
    ------
    StatementError
        If epsilon is not positive, labels or ``q`` do not fit, budget and labels are exchanged, or
        the tables are too large for the memory.

    Notes
    -----
    Within 1 % of the best possible variance for most budgets (`total_variance` beside
    `ldpopt.design` for frequencies). A private report is the number of a point, a public one has
    the fields ``hash`` and ``value``. O(t) per report to draw, with ``q**(t-1)`` at least the
    number of labels; O(q m) to decode all reports together, exactly: supports are rounded to whole
    numbers. The masses are integers over ``2**53``, rounded so that no ratio exceeds
    ``e**epsilon``.

    References
    ----------
    Feldman, Nelson, Nguyen and Talwar 2022 (projective geometry response); Wang et al. 2017 for a
    public hash.

    Examples
    --------
    >>> short = LinearHash(1000, 2.0)
    >>> short.bits, short.audit().verdict, LinearHash(1000, 2.0, public_coin=True).bits
    (12, 'certified', 3)
    """

    def __init__(
        self,
        inputs: int | Sequence[Hashable],
        epsilon: float | str,
        public_coin: bool = False,
        *,
        q: int | None = None,
    ) -> None:
        super().__init__(inputs, epsilon)
        if not isinstance(public_coin, (bool, np.bool_)):
            problem = f"public_coin = {short_repr(public_coin)} is neither True nor False"
            raise StatementError(
                problem,
                code="coin",
                do="pass True for a hash that everybody knows, False for one that is reported",
            )
        self.public_coin = bool(public_coin)
        if len(self.inputs) > MAX_LABELS:
            problem = f"{len(self.inputs)} labels are more than {MAX_LABELS}"
            raise StatementError(problem, code="many-labels", do="join rare labels into one")
        self.elements = self._best_field() if q is None else whole_number(q, "q", 2, MAX_ELEMENTS)
        self.length = length_of(len(self.inputs), self.elements)
        self.space = ProjectiveSpace(Arithmetic(self.elements), self.length)
        require_memory(64 * len(self.inputs), f"a table of {len(self.inputs)} labels")
        self.p, self.q = self._probabilities(self.elements)
        self._require_distinguishable()

    def __repr__(self) -> str:
        coin = ", public_coin=True" if self.public_coin else ""
        return (
            f"LinearHash({len(self.inputs)} labels, epsilon={self.epsilon!r}, "
            f"q={self.elements}{coin})"
        )

    @property
    def bits(self) -> int:
        """Bits of what is sent: the number of a point, or one symbol."""
        sent = self.elements if self.public_coin else self.space.size
        return max(1, (sent - 1).bit_length())

    def _response(self, q: int) -> ResponseSampler:
        """Randomized response on the symbols of a public hash."""
        return ResponseSampler(range(q), np.arange(q), np.arange(q), self.epsilon)

    def _distribution(self, q: int) -> SubsetRandomizer:
        """Mass of the points that support the truth."""
        length = length_of(len(self.inputs), q)
        return SubsetRandomizer.of(
            number_of_points(q, length), number_of_points(q, length - 1), self.epsilon
        )

    def _probabilities(self, q: int) -> tuple[Fraction, Fraction]:
        """Probabilities that a report supports the true label, and another one."""
        if self.public_coin:
            return kept_and_other(self._response(q))[0], Fraction(1, q)
        randomizer = self._distribution(q)
        both = number_of_points(q, length_of(len(self.inputs), q) - 2)
        elsewhere = Fraction(randomizer.size - both, randomizer.n - randomizer.size)
        other = randomizer.p * Fraction(both, randomizer.size) + (1 - randomizer.p) * elsewhere
        return randomizer.p, other

    def _best_field(self) -> int:
        """Number of elements with the shortest reports, of those with nearly the least variance."""
        around = float(min(self.epsilon.enclosure()[0] + 1, Fraction(MAX_ELEMENTS)))
        sizes = range(
            max(2, math.floor(around / 3)), min(MAX_ELEMENTS, math.ceil(3 * around) + 3) + 1
        )
        variances = {}
        for q in filter(prime_power, sizes):
            p, other = self._probabilities(q)
            if p > other:
                variances[q] = len(self.inputs) * other * (1 - other) / (p - other) ** 2 + (
                    1 - p - other
                ) / (p - other)
        near = [
            q for q, variance in variances.items() if variance <= NEAR * min(variances.values())
        ]
        points = {q: number_of_points(q, length_of(len(self.inputs), q)) for q in near}
        return min(near, key=lambda q: (q if self.public_coin else points[q], points[q]), default=2)

    def _randomize(self, answers: Positions, rng: Random) -> NDArray[Any]:
        generator = None if rng is None else generator_of(rng)
        response = self._response(self.elements)
        words = bit_source(generator)
        reports = np.empty(len(answers), PUBLIC if self.public_coin else np.int64)
        for part in chunks(len(answers)):
            digits = self.space.digits(answers[part])
            drawn = np.stack(
                [
                    uniform_below(self.elements, digits.shape[1], words)
                    for _ in range(self.length - 1)
                ]
            )
            if self.public_coin:
                reports["hash"][part] = self.elements ** np.arange(self.length - 2, -1, -1) @ drawn
                reports["value"][part] = response.draw(
                    self.space.product(drawn, digits), rng=generator
                )
                continue
            supports = coin_tosses(int(self.p * (1 << 53)), digits.shape[1], words)
            vectors = self._completed(drawn, digits, supports)
            while len(zero := np.flatnonzero(~vectors.any(axis=0))):  # no point: drawn again
                drawn = np.stack(
                    [uniform_below(self.elements, len(zero), words) for _ in range(self.length - 1)]
                )
                vectors[:, zero] = self._completed(drawn, digits[:, zero], supports[zero])
            reports[part] = self.space.numbers(vectors)
        return reports

    def _completed(self, drawn: Int, digits: Int, supports: NDArray[np.bool_]) -> Int:
        """Add the last digit with which the product with the label is 0 if the report supports it,
        and else 1.
        """
        field = self.space.field
        opposite = field.negative[self.space.product(drawn, digits)]
        return np.vstack([drawn, field.sums[np.where(supports, 0, 1), opposite]])

    def _support(self, reports: Any, weights: Float | None) -> tuple[Any, int]:
        array = any_array(reports, "list of reports")
        read = points_of_hashes if self.public_coin else points_of_numbers
        numbers = read(self.space, array, repr(self))
        empty = 0.0
        if self.public_coin:
            is_zero = numbers < 0  # the hash that is 0, with the value 0: it supports every label
            empty = float(is_zero.sum() if weights is None else weights[is_zero].sum())
            numbers, weights = numbers[~is_zero], None if weights is None else weights[~is_zero]
        if weights is None:
            numbers, sums = np.unique(numbers, return_counts=True)
        else:
            numbers, place = np.unique(numbers, return_inverse=True)
            sums = np.bincount(place, weights, minlength=len(numbers))
        support = support_of_labels(self.space, len(self.inputs), numbers, sums.astype(float))
        support += empty
        return np.rint(support) if weights is None else support, len(array)

    def _ratio(self) -> Fraction:
        if not self.public_coin:
            return self._distribution(self.elements).odds
        return self.p * (self.elements - 1) / (1 - self.p)

    def _delta(self, alpha: Fraction) -> Fraction:
        """The least delta at ``alpha = exp(epsilon)``: the excess of the reports that support one
        label and not the other, each of which has a true probability less ``alpha`` times the
        other one.
        """
        if self.public_coin:  # labels with the same value of the hash have the same reports
            return (1 - self.q) * (self.p - alpha * (1 - self.p) / (self.elements - 1))
        randomizer = self._distribution(self.elements)
        # Reports are vectors up to a factor: so many have the product 0 with the first label only.
        one_only = Fraction(self.elements ** (self.length - 2))
        return one_only * (
            randomizer.p / randomizer.size
            - alpha * (1 - randomizer.p) / (randomizer.n - randomizer.size)
        )

    def _witness(self) -> Any:
        if self.public_coin:
            return "the first label's own value, where the hashes differ"
        first = self.space.digits(np.array([0, 1]))[:, 0]
        second = self.space.digits(np.array([0, 1]))[:, 1]
        return int(self.space.numbers(np.append(second - first, 0)[:, None])[0])
