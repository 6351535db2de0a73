r"""What reports show of the answers: the one place that decides which numbers can be estimated.

A channel ``P`` (answers x reports) turns the shares ``p`` of the answers into the shares
:math:`q = P^T p` of the reports, and the reports show ``q`` alone. A number :math:`t = w \cdot p`
is *identified* if equal ``q`` always mean equal ``t``. That is so if and only if ``w`` is in the
row space of :math:`P^T`,

.. math:: w = P v \quad \text{for some values } v_y \text{ of the reports}
          \qquad \Longleftrightarrow \qquad
          w \cdot z = 0 \quad \text{for every } z \text{ with } P^T z = 0 ,

and then the mean of the values ``v`` estimates ``t`` without bias. A *null vector* ``z`` is the
reason why a number is not identified: since rows of a channel sum to 1, its positive and its
negative part, scaled to sum 1, are two distributions of the answers that give the same reports.
Rows of ``P`` may be answers or behaviors of people, and ``P`` may be stacked from several channels:
any matrix of integers will do, and scaling its columns changes nothing.

**The decision is exact.** Masses are integers and ``w`` is a row of floats, which are rationals.

1. Rows are independent if the product of the channel and an approximate inverse differs from the
   identity by a matrix of norm below 1. That is computed in floats with a bound of their rounding:
   the proof for nearly all channels, at the price of one product.
2. Otherwise rows are eliminated modulo a prime. Rows that are independent modulo a prime are
   independent. Each other row is then written as a combination of them in rationals (p-adic
   lifting: Dixon 1982), which is checked for all reports in integers. Both together prove the rank,
   and the combinations are a basis of all null vectors. If a check fails, the prime was an unlucky
   one, and the next one is taken.
3. ``w . z`` is computed in integers for each vector of the basis.

No tolerance, and no rank of a matrix of floats, has a part in it. The values are computed for
independent rows only, where they exist: a number of a channel of deficient rank is estimated from
the rows of the basis, on which it then depends alone.

**The variance decides, too.** By rounding, or by a search that ends in its interior, a channel
may have full rank only because some reports have a probability of 1e-12. Then ``t`` is identified,
but its values for these reports are about 1e6, and a survey in which nobody gives one of them shows
nothing of ``t``, while the spread of the reports that were given is small. For every null vector of
the other reports alone, ``z``, no estimator without bias has a smaller second moment than
:math:`(w \cdot z)^2 / \sum_y (P^T z)_y^2 / q_y`: no other choice of values helps. So

* reports of which all ``N`` people together are expected to give fewer than `RARE`, whatever they
  answer, count in the standard error at their expected shares, not at those that were seen;
* a number is refused if such reports alone make its standard error `WIDEST` of its span (of a
  share: 1/2). The middle of the span, which needs no reports, is as near as that;
* a number is refused if `PEOPLE` people, more than there are, would not bring it below that.

A number that is estimated badly from reports that do occur is not refused: its error is seen in the
reports, and its interval is as wide as it has to be.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, lcm, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, Int, short_repr

RARE = 0.05  # expected number of reports, of all people, that practically do not occur
WIDEST = 0.5  # share of a number's span that a standard error reaches if it says nothing
PEOPLE = 1e10  # more than there are
PRIMES = (67108859, 67108837, 67108819, 67108777, 67108763)  # below 2^26: sums of products fit
BLOCK = 1 << 11  # largest number of products of two residues that 63 bits hold the sum of
SHOWN = 4  # answers of a mixture that a message lists

Integers = NDArray[np.object_]  # Python integers
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dependence:
    """The linear dependence of the rows of a channel, proved: a basis of its null vectors.

    The rows at ``kept`` are independent. Each other row is a combination of them,
    ``scales[j] * rows[others[j]] = weights[j] @ rows[kept]``, in integers.
    """

    kept: Positions  # (r,)
    others: Positions  # (n - r,)
    weights: Integers  # (n - r, r)
    scales: Integers  # (n - r,): positive

    @classmethod
    def of(cls, masses: Int) -> Dependence:
        """The dependence of rows of integers, in O(n m r) and the size of the solutions."""
        for prime in PRIMES:
            kept, columns = _independent(masses % prime, prime)
            others = np.setdiff1d(np.arange(len(masses)), kept)
            solved = _combinations(masses, kept, columns, others, prime)
            if solved is not None:
                return cls(kept, others, *solved)
        raise StatementError(
            "the rank of the channel could not be proved",
            code="unproved-rank",
            do="merge answers with equal rows",
        )

    @property
    def rank(self) -> int:
        """The rank of the channel."""
        return len(self.kept)

    def hidden(self, wanted: Float) -> Positions:
        """Positions of the numbers, rows of shape (k, n), that the reports do not identify."""
        if not len(self.others):
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero((self._products(wanted) != 0).any(axis=1))

    def null_vector(self, number: Float) -> dict[int, Fraction]:
        """A null vector with which a number, shape (n,), is not 0, by position of the answer."""
        place = int(np.flatnonzero(self._products(number[None])[0] != 0)[0])
        scale = int(self.scales[place])
        weights = zip(self.kept.tolist(), self.weights[place].tolist(), strict=True)
        vector = {row: Fraction(-int(weight), scale) for row, weight in weights if weight}
        return {int(self.others[place]): Fraction(1), **vector}

    def reason(self, number: Float, inputs: Sequence[Hashable]) -> str:
        """Which two distributions of the answers give the same reports, in words."""
        vector = self.null_vector(number)
        sides = [
            _mixture({inputs[row]: sign * part for row, part in vector.items() if sign * part > 0})
            for sign in (1, -1)
        ]
        return f"{sides[0]} and {sides[1]} give the same reports"

    def _products(self, wanted: Float) -> Integers:
        """Each number times each null vector of the basis, up to positive factors."""
        rows = integers(wanted)
        return np.asarray(
            rows[:, self.others] * self.scales - rows[:, self.kept] @ self.weights.T, dtype=object
        )


def independent_numbers(wanted: Float) -> Positions:
    """Positions of numbers, rows of shape (k, n), none of which is a sum of others and a constant
    for every answer, as the last of all shares is; decided in rationals.
    """
    rows: Any = integers(np.vstack([np.ones(wanted.shape[1]), wanted]))
    return Dependence.of(rows).kept[1:] - 1


def has_independent_rows(channel: Float, inverse: Float) -> bool:
    """Whether an approximate left inverse, shape (n, m), proves that the rows are independent.

    If ``|I - P A'| < 1`` in the norm of the largest row, ``P A'`` is invertible, so that ``z' P =
    0`` for ``z = 0`` only. A computed product of m terms is within ``(m + 4) u |P| |A'|``, also if
    the entries of ``P`` were rounded once.
    """
    n, m = channel.shape
    if n > m or not np.isfinite(inverse).all():
        return False
    error = np.abs(channel @ inverse.T - np.eye(n)).sum(axis=1)
    rounding = (m + n + 8) * np.finfo(float).eps * (channel @ np.abs(inverse).sum(axis=0))
    return bool((error + rounding < 0.5).all())


def least_values(channel: Float, wanted: Float, expected: Float) -> Float:
    """Values of the reports, shape (k, m), for identified numbers of a channel of independent rows.

    Of all values without bias they have the least second moment for reports with the ``expected``
    shares. Singular values close to rounding are left out where the numbers do not need them: where
    that leaves no bias beyond rounding.
    """
    root = np.zeros(len(expected))
    np.divide(1.0, np.sqrt(expected), out=root, where=expected > 0)
    left, singular, right = np.linalg.svd(channel * root, full_matrices=False)
    parts = wanted @ left
    size = np.abs(wanted).max(axis=1)
    rounding = 64 * len(channel) * np.finfo(float).eps
    few = np.where(singular > rounding * singular[0], parts / singular, 0.0) @ right * root
    values = np.asarray((parts / singular) @ right * root)
    is_enough = np.abs(few @ channel.T - wanted).max(axis=1) <= rounding * size
    values[is_enough] = few[is_enough]
    return values


def rare_reports(channel: Float, people: float) -> NDArray[np.bool_]:
    """Which reports practically none of so many people give, whatever they answer.

    They are rare together with all that are at most twice as likely: of a thousand reports that are
    all as likely, none is rarer than the others.
    """
    most = channel.max(axis=0)
    order = np.sort(most)
    until = np.searchsorted(order, 2 * most, side="right")
    return np.asarray(people * np.append(0.0, np.cumsum(order))[until] < RARE)


def unseen_variances(estimator: Float, channel: Float, frequencies: Float, people: float) -> Float:
    """Part of the variance of each estimate, shape (k,), of the reports that practically nobody
    gives.
    """
    is_rare = rare_reports(channel, people)
    expected = frequencies @ channel[:, is_rare]
    return np.asarray(estimator[:, is_rare] ** 2 @ expected / people)


def silent_numbers(
    estimator: Float, channel: Float, wanted: Float, people: float
) -> tuple[Positions, Float]:
    """Positions of the numbers of which the reports of so many people say nothing, and the standard
    errors of all, shape (k,).

    Answers are taken as equally common: those of others change no second moment by more than the
    ratio of the probabilities of a report.
    """
    n = len(channel)
    frequencies = np.full(n, 1 / n)
    second = estimator**2 @ (frequencies @ channel)
    variances = np.maximum(second - (wanted @ frequencies) ** 2, 0.0)
    unseen = unseen_variances(estimator, channel, frequencies, people)
    most = (WIDEST * np.ptp(wanted, axis=1)) ** 2
    is_silent = (most > 0) & ((unseen >= most) | (variances / PEOPLE >= most))
    return np.flatnonzero(is_silent), np.sqrt(variances / people)


def require_shown(
    estimator: Float, channel: Float, wanted: Float, names: Sequence[Hashable], people: float
) -> None:
    """Refuse the numbers of which the reports of so many people say nothing, by name.

    Raises
    ------
    StatementError
        With the standard error that the first one would have.
    """
    silent, errors = silent_numbers(estimator, channel, wanted, people)
    if len(silent):
        shown = ", ".join(short_repr(names[place]) for place in silent[:SHOWN])
        raise StatementError(
            f"the reports of {people:,.0f} people do not show {shown}"
            f"{', ...' if len(silent) > SHOWN else ''}: {silence(errors[silent[0]])}",
            code="silent",
            do="use a larger epsilon, or ask more people",
        )


def silence(error: float) -> str:
    """Why a number with such a standard error is refused, in words."""
    return (
        "only reports that practically nobody gives tell the answers apart, and the standard error "
        f"would be {error:.2g}"
    )


def _mixture(parts: dict[Hashable, Fraction]) -> str:
    """A distribution of answers in words."""
    total = sum(parts.values())
    if len(parts) == 1:
        return short_repr(next(iter(parts)))
    shown = [
        f"{_share(part / total)} {short_repr(name)}" for name, part in list(parts.items())[:SHOWN]
    ]
    return f"a mixture of {', '.join(shown)}{', ...' if len(parts) > SHOWN else ''}"


def _share(share: Fraction) -> str:
    return str(share) if share.denominator < 1000 else f"{float(share):.3g}"


def integers(rows: Float) -> Integers:
    """Rows of floats as integers over one denominator, exactly."""
    fractions = [[Fraction(value) for value in row] for row in np.asarray(rows, float).tolist()]
    scale = lcm(*(value.denominator for row in fractions for value in row))
    scaled = np.empty(np.shape(rows), dtype=object)
    scaled[...] = [[int(value * scale) for value in row] for row in fractions]
    return scaled


def _independent(rows: Int, prime: int) -> tuple[Positions, Positions]:
    """Positions of rows that are independent modulo a prime, the first ones, and a column for
    each: elimination.
    """
    rows = rows.astype(np.int64)
    kept: list[int] = []
    columns: list[int] = []
    for place in range(len(rows)):
        there = np.flatnonzero(rows[place])
        if not len(there):
            continue
        column = int(there[0])
        kept.append(place)
        columns.append(column)
        factors = rows[place + 1 :, column] * pow(int(rows[place, column]), -1, prime) % prime
        below = np.flatnonzero(factors) + place + 1
        rows[below] = (rows[below] - factors[below - place - 1, None] * rows[place]) % prime
    return np.array(kept, dtype=np.int64), np.array(columns, dtype=np.int64)


def _combinations(
    masses: Int, kept: Positions, columns: Positions, others: Positions, prime: int
) -> tuple[Integers, Integers] | None:
    """Weights and scales of `Dependence` for the other rows; None if one is independent of those
    kept.
    """
    rank = len(kept)
    weights = np.zeros((len(others), rank), dtype=object)
    scales = np.ones(len(others), dtype=object)
    if not len(others):
        return weights, scales
    exact = masses.astype(object)
    square = exact[np.ix_(kept, columns)].T
    inverse = _inverse(square, prime)
    remainders = exact[np.ix_(others, columns)].T  # of the right sides, in units of the modulus
    residues = np.zeros((rank, len(others)), dtype=object)
    waiting = np.arange(len(others))
    modulus = 1
    # Cramer's rule and Hadamard's bound: numerators and denominators are below the root of this.
    bits = 2 * rank * (log2(int(masses.max()) + 1) + log2(rank + 1)) + 2
    step = 0
    while True:
        digits = _product(inverse, (remainders % prime).astype(np.int64), prime).astype(object)
        residues = residues + digits * modulus
        remainders = (remainders - square @ digits) // prime
        modulus *= prime
        step += 1
        is_last = modulus.bit_length() > bits + 1
        if not is_last and step & (step - 1):
            continue
        solved = []
        for place, row in enumerate(waiting):
            fractions = _fractions(residues[:, place].tolist(), modulus)
            if fractions is None:
                continue
            numerators, scale = fractions
            combination = np.array(numerators, dtype=object) @ exact[kept]
            if (combination == scale * exact[others[row]]).all():
                weights[row] = numerators
                scales[row] = scale
                solved.append(place)
        left = np.setdiff1d(np.arange(len(waiting)), solved)
        waiting = waiting[left]
        if not len(waiting):
            return weights, scales
        if is_last:
            return None
        residues = residues[:, left]
        remainders = remainders[:, left]


def _product(matrix: Int, other: Int, prime: int) -> Int:
    """Product of matrices of residues."""
    total = np.zeros((len(matrix), other.shape[1]), dtype=np.int64)
    for start in range(0, matrix.shape[1], BLOCK):
        part = slice(start, start + BLOCK)
        total = (total + matrix[:, part] @ other[part] % prime) % prime
    return total


def _inverse(square: Integers, prime: int) -> Int:
    """Inverse of a matrix modulo a prime (Gauss and Jordan)."""
    n = len(square)
    both = np.hstack([(square % prime).astype(np.int64), np.eye(n, dtype=np.int64)])
    for place in range(n):
        pivot = place + int(np.flatnonzero(both[place:, place])[0])
        both[[place, pivot]] = both[[pivot, place]]
        both[place] = both[place] * pow(int(both[place, place]), -1, prime) % prime
        factors = both[:, place].copy()
        factors[place] = 0
        both = (both - factors[:, None] * both[place]) % prime
    return np.asarray(both[:, n:])


def _fractions(residues: list[int], modulus: int) -> tuple[list[int], int] | None:
    """Numerators over one positive denominator with these residues, all below the root of half the
    modulus, if there are any.
    """
    most = isqrt(modulus // 2)
    scale = 1
    numerators: list[int] = []
    for residue in residues:
        # The denominators that were found divide that of the row in nearly all cases.
        scaled = residue * scale % modulus
        numerator, factor = _fraction(scaled, modulus, most)
        if abs(factor) * scale > most:
            return None
        numerators = [factor * each for each in numerators]
        numerators.append(numerator)
        scale *= factor
    return numerators, scale


def _fraction(residue: int, modulus: int, most: int) -> tuple[int, int]:
    """Numerator and positive denominator with a residue, the numerator at most ``most`` (Wang
    1981): Euclid's algorithm.
    """
    high, low = modulus, residue
    before, factor = 0, 1
    while low > most:
        quotient = high // low
        high, low = low, high - quotient * low
        before, factor = factor, before - quotient * factor
    return (low, factor) if factor > 0 else (-low, -factor)
