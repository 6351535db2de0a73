r"""A linear hash over a finite field: short reports on millions of labels, decoded for all labels
at once.

The label with digits ``x_1 .. x_(t-1)`` in base ``q`` is the vector ``(x_1, .., x_(t-1), 1)`` over
the field of ``q`` elements. A report is a vector up to its unit, a point of the projective space,
and supports the labels whose vectors are orthogonal to it: every two labels are supported by
equally many points. The support of all labels is a Fourier transform: along the line of all
multiples of a label's vector, the transform of the counts is that of the numbers of reports by
their product with the vector.
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
from ldpopt.foundation.fields import field
from ldpopt.foundation.numbers import (
    Float,
    Int,
    any_array,
    require_memory,
    short_repr,
    whole_number,
)
from ldpopt.frequencies.protocol import FrequencyProtocol, Positions
from ldpopt.frequencies.randomized_response import kept_and_other
from ldpopt.mechanism.exact_draws import coin_tosses, uniform_below
from ldpopt.mechanism.sampling import CHUNK, Random, bit_source, chunks, generator_of

MAX_LABELS = 10**7
MAX_ELEMENTS = 1 << 10  # largest field
# of fields with at most this many times the smallest variance the shortest reports are taken
NEAR = Fraction(101, 100)
PUBLIC = np.dtype([("hash", np.int64), ("value", np.int64)])


class Arithmetic:
    """Tables of a field, whose elements are the numbers ``0 .. q-1`` with their digits modulo
    ``p``.
    """

    def __init__(self, q: int) -> None:
        finite = field(q)
        if finite is None:
            raise StatementError(
                f"there is no field of {q} elements",
                do="pass a power of a prime, such as 4, 5 or 7",
            )
        self.q, self.p, self.e = q, finite.p, finite.e
        digits = np.arange(q)[:, None] // self.p ** np.arange(self.e) % self.p
        self.sums = finite.numbers(digits[:, None] + digits[None])
        self.negative = finite.numbers(-digits)
        powers = finite.numbers(finite.powers)
        logarithm = np.zeros(q, np.int64)
        logarithm[powers] = np.arange(q - 1)
        self.products = powers[(logarithm[:, None] + logarithm) % (q - 1)]
        self.products[0] = self.products[:, 0] = 0
        self.inverse = powers[-logarithm % (q - 1)]
        trace = np.zeros(q, np.int64)
        trace[powers] = finite.trace(np.arange(q - 1), self.p)[:, 0]
        # The trace of a product of two elements is the product of the digits of one and the dual
        # digits of the other.
        basis = self.p ** np.arange(self.e)
        self.dual = trace[self.products[:, basis]] @ basis
        self.characters = np.exp(-2j * np.pi / self.p * trace[self.products])


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
    epsilon : float or str
        Budget in nats, positive.
    n : int or sequence of hashable
        The labels or their number, from 2 to ``10**7``.
    public_coin : bool
        Whether the hash function is public, so that a report has ``log2 q`` bits; default:
        ``False``.
    q : int, optional
        Number of elements of the field, a power of a prime up to 1024; default: of those within 1 %
        of the least variance the one with the shortest reports.

    Raises
    ------
    StatementError
        If epsilon is not positive, ``n`` or ``q`` does not fit, or the tables are too large for the
        memory.

    Notes
    -----
    Within 1 % of the best possible variance for most budgets (`total_variance` beside
    `ldpopt.design` for frequencies). A private report is the number of a point, a public one has
    the fields ``hash`` and ``value``. O(t) per report to draw, with ``q**(t-1) >= n``; O(q m) to
    decode all reports together, exactly: supports are rounded to whole numbers. The masses are
    integers over ``2**53``, rounded so that no ratio exceeds ``e**epsilon``.

    References
    ----------
    Feldman, Nelson, Nguyen and Talwar 2022 (projective geometry response); Wang et al. 2017 for a
    public hash.

    Examples
    --------
    >>> short = LinearHash(2.0, 1000)
    >>> short.bits, short.audit().verdict, LinearHash(2.0, 1000, public_coin=True).bits
    (12, 'certified', 3)
    """

    def __init__(
        self,
        epsilon: float | str,
        n: int | Sequence[Hashable],
        public_coin: bool = False,
        *,
        q: int | None = None,
    ) -> None:
        super().__init__(n, epsilon)
        if not isinstance(public_coin, (bool, np.bool_)):
            problem = f"public_coin = {short_repr(public_coin)} is neither True nor False"
            raise StatementError(
                problem,
                do="pass True for a hash that everybody knows, False for one that is reported",
            )
        self.public_coin = bool(public_coin)
        if len(self.inputs) > MAX_LABELS:
            problem = f"{len(self.inputs)} labels are more than {MAX_LABELS}"
            raise StatementError(problem, do="join rare labels into one")
        self.elements = self._best_field() if q is None else whole_number(q, "q", 2, MAX_ELEMENTS)
        self._field = Arithmetic(self.elements)
        self.length = _length(len(self.inputs), self.elements)
        require_memory(64 * len(self.inputs), f"a table of {len(self.inputs)} labels")
        self.p, self.q = self._probabilities(self.elements)
        self._require_distinguishable()

    def __repr__(self) -> str:
        coin = ", public_coin=True" if self.public_coin else ""
        return (
            f"LinearHash(epsilon={self.epsilon!r}, {len(self.inputs)} labels, "
            f"q={self.elements}{coin})"
        )

    @property
    def bits(self) -> int:
        """Bits of what is sent: the number of a point, or one symbol."""
        sent = self.elements if self.public_coin else _points(self.elements, self.length)
        return max(1, (sent - 1).bit_length())

    def _response(self, q: int) -> ResponseSampler:
        """Randomized response on the symbols of a public hash."""
        return ResponseSampler(range(q), np.arange(q), np.arange(q), self.epsilon)

    def _distribution(self, q: int) -> SubsetRandomizer:
        """Mass of the points that support the truth."""
        length = _length(len(self.inputs), q)
        return SubsetRandomizer.of(_points(q, length), _points(q, length - 1), self.epsilon)

    def _probabilities(self, q: int) -> tuple[Fraction, Fraction]:
        """Probabilities that a report supports the true label, and another one."""
        if self.public_coin:
            return kept_and_other(self._response(q))[0], Fraction(1, q)
        randomizer = self._distribution(q)
        both = _points(q, _length(len(self.inputs), q) - 2)
        elsewhere = Fraction(randomizer.size - both, randomizer.n - randomizer.size)
        return randomizer.p, randomizer.p * Fraction(both, randomizer.size) + (
            1 - randomizer.p
        ) * elsewhere

    def _best_field(self) -> int:
        """Number of elements with the shortest reports, of those with nearly the least variance."""
        around = float(min(self.epsilon.enclosure()[0] + 1, Fraction(MAX_ELEMENTS)))
        sizes = range(
            max(2, math.floor(around / 3)), min(MAX_ELEMENTS, math.ceil(3 * around) + 3) + 1
        )
        variances = {}
        for q in filter(field, sizes):
            p, other = self._probabilities(q)
            if p > other:
                variances[q] = len(self.inputs) * other * (1 - other) / (p - other) ** 2 + (
                    1 - p - other
                ) / (p - other)
        near = [
            q for q, variance in variances.items() if variance <= NEAR * min(variances.values())
        ]
        points = {q: _points(q, _length(len(self.inputs), q)) for q in near}
        return min(near, key=lambda q: (q if self.public_coin else points[q], points[q]), default=2)

    def _randomize(self, answers: Positions, rng: Random) -> NDArray[Any]:
        generator = None if rng is None else generator_of(rng)
        response = self._response(self.elements)
        words = bit_source(generator)
        reports = np.empty(len(answers), PUBLIC if self.public_coin else np.int64)
        for part in chunks(len(answers)):
            digits = self._digits(answers[part])
            drawn = np.stack(
                [
                    uniform_below(self.elements, digits.shape[1], words)
                    for _ in range(self.length - 1)
                ]
            )
            if self.public_coin:
                reports["hash"][part] = self.elements ** np.arange(self.length - 2, -1, -1) @ drawn
                reports["value"][part] = response.draw(self._product(drawn, digits), rng=generator)
                continue
            supports = coin_tosses(int(self.p * (1 << 53)), digits.shape[1], words)
            vectors = self._completed(drawn, digits, supports)
            while len(zero := np.flatnonzero(~vectors.any(axis=0))):  # no point: drawn again
                drawn = np.stack(
                    [uniform_below(self.elements, len(zero), words) for _ in range(self.length - 1)]
                )
                vectors[:, zero] = self._completed(drawn, digits[:, zero], supports[zero])
            reports[part] = self._numbers(vectors)
        return reports

    def _completed(self, drawn: Int, digits: Int, supports: NDArray[np.bool_]) -> Int:
        """Add the last digit with which the product with the label is 0 if the report supports it,
        and else 1.
        """
        wanted = np.where(supports, 0, 1)
        return np.vstack(
            [drawn, self._field.sums[wanted, self._field.negative[self._product(drawn, digits)]]]
        )

    def _digits(self, answers: Positions) -> Int:
        """Digits of labels, shape (t - 1, N), the largest first."""
        return np.asarray(
            answers // self.elements ** np.arange(self.length - 2, -1, -1)[:, None] % self.elements
        )

    def _product(self, vectors: Int, digits: Int) -> Int:
        """Products of vectors and labels without their last digits, shape (N,)."""
        total = np.zeros(vectors.shape[1], np.int64)
        for left, right in zip(vectors, digits, strict=True):
            total = self._field.sums[total, self._field.products[left, right]]
        return total

    def _numbers(self, vectors: Int) -> Int:
        """Numbers of the points of vectors other than 0, shape (t, N): the first digit that is not
        0 becomes 1.
        """
        q, t = self.elements, self.length
        lead = (vectors != 0).argmax(axis=0)
        unit = self._field.inverse[vectors[lead, np.arange(vectors.shape[1])]]
        place = q ** (t - 1 - lead)
        value = q ** np.arange(t - 1, -1, -1) @ self._field.products[vectors, unit]
        # points with a later lead come first
        return np.asarray(value - place + (place - 1) // (q - 1))

    def _support(self, reports: Any, weights: Float | None) -> tuple[Any, int]:
        array = any_array(reports, "list of reports")
        numbers = self._checked(array)
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
        support = self._decoded(numbers, sums.astype(float)) + empty
        return np.rint(support) if weights is None else support, len(array)

    def _checked(self, array: NDArray[Any]) -> Int:
        """Numbers of the points of reports; -1 for the vector 0 of a public hash."""
        q, t = self.elements, self.length
        if not self.public_coin:
            if (
                array.ndim != 1
                or array.dtype.kind not in "iu"
                or (array >= _points(q, t)).any()
                or (array < 0).any()
            ):
                raise StatementError(
                    f"a report cannot come from {self!r}", do="pass what privatize returned"
                )
            return array.astype(np.int64)
        if (
            array.ndim != 1
            or array.dtype.names is None
            or set(array.dtype.names) != {"hash", "value"}
        ):
            raise StatementError(
                "the reports need the fields hash and value", do="pass what privatize returned"
            )
        hashes, values = (array[name].astype(np.int64) for name in ("hash", "value"))
        is_possible = (hashes >= 0) & (hashes < q ** (t - 1)) & (values >= 0) & (values < q)
        if not is_possible.all():
            where = f"entry {int(is_possible.argmin())}"
            do = "pass the reports of this protocol"
            raise StatementError(f"a report cannot come from {self!r}", where=where, do=do)
        vectors = np.vstack([self._digits(hashes), self._field.negative[values]])
        points = np.full(len(array), -1)
        is_point = vectors.any(axis=0)
        points[is_point] = self._numbers(vectors[:, is_point])
        return points

    def _decoded(self, numbers: Int, sums: Float) -> Float:
        """Support of every label, shape (n,), from the numbers of points and the sums of their
        reports.
        """
        n = len(self.inputs)
        q = self.elements
        start = 1
        total = np.zeros(1)  # of the point (0, .., 0, 1), which supports no label
        # points whose first digit that is not 0 is followed by so many digits
        for followers in range(1, self.length):
            rows = q if followers < self.length - 1 else -(-n // len(total))
            part = slice(*np.searchsorted(numbers, (start, start + q**followers)))
            total = (
                self._slices(numbers[part] - start, sums[part], rows, followers - 1) + total
            ).ravel()
            start += q**followers
        return np.asarray(total[:n])

    def _slices(self, vectors: Int, sums: Float, rows: int, length: int) -> Float:
        """Support of labels ``(x, y, 1)`` by points ``(1, u)``, one row for each ``x``; ``length``
        digits of ``y``.
        """
        from scipy.fft import fftn

        finite, q = self._field, self.elements
        first, last = np.divmod(vectors, q)
        support = np.full((rows, q**length), float(sums.sum()) / q)
        multiples = np.arange(1, q)
        # the transform at -a is the conjugate of that at a
        multiples = multiples[multiples <= finite.negative[1:]]
        for part in chunks(len(multiples), max(1, CHUNK // support.shape[1])):
            lines = np.empty((len(multiples[part]), 2, support.shape[1]))
            for line, multiple in zip(lines, multiples[part], strict=True):
                waves = finite.characters[multiple, last]
                sheet = np.empty(support.shape[1], np.complex128)
                for wave, side in ((waves.real, sheet.real), (waves.imag, sheet.imag)):
                    side[:] = np.bincount(first, sums * wave, minlength=len(sheet))
                at = np.zeros(1, np.int64)  # the places of the multiple of (y, 1)
                for _ in range(length):
                    at = np.add.outer(at * q, finite.dual[finite.products[multiple]]).ravel()
                spectrum = fftn(
                    sheet.reshape((finite.p,) * (finite.e * length)), overwrite_x=True
                ).ravel()[at]
                line[:] = spectrum.real, -spectrum.imag
            # The number of points with the product c is a transform of the line; x + c = 0.
            weight = np.where(multiples[part] == finite.negative[multiples[part]], 1, 2) / q
            waves = finite.characters[:rows, multiples[part]] * weight
            support += np.stack([waves.real, waves.imag], axis=2).reshape(rows, -1) @ lines.reshape(
                -1, support.shape[1]
            )
        return support

    def _ratio(self) -> Fraction:
        if not self.public_coin:
            return self._distribution(self.elements).odds
        return self.p * (self.elements - 1) / (1 - self.p)

    def _delta(self, alpha: Fraction) -> Fraction:
        if self.public_coin:  # labels with the same value of the hash have the same reports
            return (1 - self.q) * (self.p - alpha * (1 - self.p) / (self.elements - 1))
        randomizer = self._distribution(self.elements)
        one_only = Fraction(self.elements ** (self.length - 2))
        return one_only * (
            randomizer.p / randomizer.size
            - alpha * (1 - randomizer.p) / (randomizer.n - randomizer.size)
        )

    def _witness(self) -> Any:
        if self.public_coin:
            return "the first label's own value, where the hashes differ"
        first = self._digits(np.array([0, 1]))[:, 0]
        second = self._digits(np.array([0, 1]))[:, 1]
        return int(self._numbers(np.append(second - first, 0)[:, None])[0])


def _length(n: int, q: int) -> int:
    """Digits of a label's vector: those of the largest label in base ``q``, at least one, and the
    1.
    """
    digits = 1
    while q**digits < n:
        digits += 1
    return digits + 1


def _points(q: int, length: int) -> int:
    """Number of points of the projective space of vectors of this length."""
    return int((q**length - 1) // (q - 1))
