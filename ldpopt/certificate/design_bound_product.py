r"""The bound for workloads whose Gram matrix is in the association scheme of some attributes
(`scheme`).

With equal weights and ``S = sum_T sigma_T E_T`` the cost of a column is at most ``max_T nu_T``
times the square of its contrast, ``nu_T = sigma_T^2 mu_T``, which depends on the size of its set
only. With ``y`` a constant,

.. math:: \max_T \nu_T \, (1-b)^2 \frac{k (n-k)}{n} \le \frac{y}{n} \big(b n + (1-b) k\big)^2
          \quad \text{for } k = 0, \dots, n

is the condition; a Gram matrix up to ``delta`` (in absolute row sums) from the scheme has ``mu_T +
delta``. If the workload depends on two attributes, on each separately, only Ferrers diagrams can
have the largest cost.

The bound by pairs takes ``nu' >= nu`` in place of ``nu``, and any ``nu'`` of the empty set, whose
own term is known. The cost is linear in the shares of pairs with some difference that are in the
set, from ``2 m - 1`` to its share ``m``.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.design_statement import Cone, Statement
from ldpopt.certificate.integers import BITS as DIGIT
from ldpopt.certificate.scheme import Scheme
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.columns import RayList

DIAGRAMS = 5000  # largest number of Ferrers diagrams that are enumerated


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of a centered Gram matrix in a scheme, and its distance from the scheme.

    Entries are averaged over the pairs that differ in the same attributes.
    """

    scheme: Scheme
    mu: tuple[Fraction, ...]  # eigenvalues of the average, by the sets of attributes
    # delta: largest absolute row sum of the Gram matrix less the average; 0 if it is in the scheme
    beside: Fraction

    @classmethod
    def of(cls, statement: Statement, scheme: Scheme) -> "Spectrum | None":
        """Spectrum of a statement; None if its answers are not those of the scheme, or have
        different weights.
        """
        if (
            len(statement.weights.whole) != scheme.n
            or (statement.weights.whole != statement.weights.whole[0]).any()
        ):
            return None
        patterns = scheme.patterns.ravel()
        # The integer matrix in parts of few digits, (parts, n, n); of each part the entries by
        # pattern, as its first row has them.
        parts = statement.centered.parts
        in_first_row = np.zeros((len(parts), 2 ** len(scheme.sizes)), dtype=np.int64)
        in_first_row[:, scheme.patterns[0]] = parts[:, 0]
        is_in_scheme = all(
            (part == entries[scheme.patterns]).all()
            for part, entries in zip(parts, in_first_row, strict=True)
        )
        # Of each pattern the sum of the entries of some pairs, and the number of these pairs.
        if is_in_scheme:
            sums = _joined(in_first_row)
            counts = np.ones(in_first_row.shape[1], dtype=np.int64).astype(object)
            beside = Fraction(0)
        else:
            counts = np.bincount(patterns).astype(object)
            # Sums of digits are below 2**53 for up to 2**17 answers, hence exact in floats.
            digits = [
                np.bincount(patterns, part.ravel().astype(np.float64), len(counts))
                for part in parts
            ]
            sums = _joined(np.array(digits).astype(np.int64))
            common = int(np.lcm.reduce(counts))
            remainder = statement.gram.whole * common - (sums * (common // counts))[scheme.patterns]
            beside = Fraction(int(np.abs(remainder).sum(axis=1).max()), common * statement.scale)
        entries = np.array(
            [Fraction(int(s), int(c) * statement.scale) for s, c in zip(sums, counts, strict=True)]
        )
        return cls(scheme, tuple(scheme.transform(entries.reshape(scheme.shape)).ravel()), beside)

    def least_level(self, sigma: Sequence[Fraction], base: Fraction) -> Fraction:
        """Smallest ``y`` that holds, with ``base = e**-epsilon`` rounded down."""
        n, low, high = self.scheme.n, base.numerator, base.denominator
        if self.is_separable:
            costs = (
                Fraction(energy * n, (low * n + (high - low) * k) ** 2)
                for k, energy in self._energies(
                    [s * s * m for s, m in zip(sigma, self.mu, strict=True)]
                )
            )
            return (high - low) ** 2 * max(costs)
        largest = max(s * s * (m + self.beside) for s, m in zip(sigma, self.mu, strict=True))
        # k (n - k) / (low n + (high - low) k)^2 rises and then falls: it is largest at one of these
        # sizes.
        best = n * low // (low + high)
        sizes = {min(n - 1, max(1, k)) for k in (best, best + 1)}
        largest_contrast = max(
            Fraction(k * (n - k), (low * n + (high - low) * k) ** 2) for k in sizes
        )
        return largest * (high - low) ** 2 * largest_contrast

    def least_by_pairs(
        self, sigma: Sequence[Fraction], raised: Sequence[Fraction], base: Fraction
    ) -> Fraction:
        """Smallest ``y`` that holds by the pairs of answers in a set, with raised eigenvalues."""
        proved = (s * s * (m + self.beside) for s, m in zip(sigma[1:], self.mu[1:], strict=True))
        nu = np.array([raised[0], *map(max, proved, raised[1:])], dtype=object).reshape(
            self.scheme.shape
        )
        first, *others = self.scheme.entries(nu).ravel() * self.scheme.ranks.ravel().astype(object)
        more = first + sum(c for c in others if c > 0)
        less = sum(-c for c in others if c < 0)
        costs: Iterator[Fraction] = (
            (m * more - max(2 * m - 1, Fraction(0)) * less - raised[0] * m * m)
            / (base + (1 - base) * m) ** 2
            for m in (Fraction(k, self.scheme.n) for k in range(1, self.scheme.n + 1))
        )
        return max(Fraction(0), (1 - base) ** 2 * max(costs))

    @property
    def is_separable(self) -> bool:
        """Whether the workload depends on two attributes, on each separately, and Ferrers diagrams
        are few enough.
        """
        sizes = self.scheme.sizes
        return (
            len(sizes) == 2
            and not self.mu[3]
            and not self.beside
            and math.comb(sum(sizes), sizes[0]) <= DIAGRAMS
        )

    def _energies(self, nu: Sequence[Fraction]) -> Iterator[tuple[int, Fraction]]:
        """Size and ``sum_T nu_T |E_T 1_A|^2`` of the sets that may cost most, if ``nu`` of both
        attributes is 0.
        """
        # The bits of an index of nu are attributes: nu[2] is that of the first one, with p values.
        # That sum depends only on the row sums and column sums of the set. Column sums are
        # majorized by the conjugate of the row sums (Gale and Ryser), and the sum of their squares
        # is largest there: the set is a Ferrers diagram.
        (p, q), n = self.scheme.sizes, self.scheme.n
        for rows in combinations_with_replacement(range(q + 1), p):
            k = sum(rows)
            squares = sum(row * row for row in rows)
            if 0 < k < n:
                columns = sum(sum(row > z for row in rows) ** 2 for z in range(q))
                share = Fraction(k * k, n)
                yield (
                    k,
                    nu[2] * (Fraction(squares, q) - share) + nu[1] * (Fraction(columns, p) - share),
                )

    def bound(self, sigma: Sequence[Fraction], level: Fraction) -> Fraction:
        """``2 tr(S G_c) - 1.y``: the bound that multipliers prove, plus the spread."""
        parts = zip(sigma, self.mu, self.scheme.ranks.ravel().tolist(), strict=True)
        return 2 * sum((s * m * rank for s, m, rank in parts), Fraction(0)) - self.scheme.n * level


def _joined(parts: NDArray[np.int64]) -> NDArray[np.object_]:
    """Python integers, shape ``(columns,)``, from their digits, shape ``(digits, columns)``."""
    total = np.zeros(parts.shape[1], dtype=object)
    for part in parts[::-1]:
        total = (total << DIGIT) + part.astype(object)
    return total


@dataclass(frozen=True, eq=False)
class ProductBound:
    """Multipliers in the scheme, as floats that are read exactly."""

    sizes: tuple[int, ...]  # number of values of each attribute
    eigenvalues: Float  # sigma, by the sets of attributes, shape (2**d,)
    level: float  # y of every answer
    # nu' of the bound by pairs, shape (2**d,); a smaller one than nu counts as nu
    raised: Float | None = None

    kind: ClassVar[str] = "product"

    def plain(self) -> dict[str, Any]:
        """Plain values for a file."""
        plain = {
            "sizes": list(self.sizes),
            "eigenvalues": self.eigenvalues.tolist(),
            "level": self.level,
        }
        return plain if self.raised is None else {**plain, "raised": self.raised.tolist()}

    @classmethod
    def read(cls, entry: Entry, n: int) -> "ProductBound":
        """Read what `plain` wrote, for ``n`` answers."""
        # only a bound by pairs has raised eigenvalues
        more = ["raised"] if isinstance(entry.value, dict) and "raised" in entry.value else []
        table = entry.table("sizes", "eigenvalues", "level", *more)
        sizes = tuple(size.whole(n + 1) for size in table["sizes"].list())
        if any(size < 2 for size in sizes) or Scheme(sizes).n != n:
            raise table["sizes"].error(
                f"attributes with {list(sizes)} values do not make {n} answers"
            )
        eigenvalues, *raised = (
            table[key].numbers(2 ** len(sizes)) for key in ("eigenvalues", *more)
        )
        return cls(sizes, eigenvalues, table["level"].number(), *raised)

    @classmethod
    def best(cls, spectrum: Spectrum, base: Fraction) -> "ProductBound":
        """The multipliers with the largest bound if all answers cost alike; their level is proved
        in rationals.
        """
        mu = np.array([float(value) for value in spectrum.mu])
        beside = float(spectrum.beside)
        ranks = spectrum.scheme.ranks.ravel()
        n = spectrum.scheme.n
        needed = mu > 0
        needed[0] = False
        sigma = np.zeros(len(mu))
        sigma[needed] = 1 / np.sqrt(mu[needed] + beside)
        if spectrum.is_separable:
            sigma[1] *= _best_ratio(spectrum, sigma, base)
        least = spectrum.least_level(_fractions(sigma), base)
        if least:
            sigma *= float(Fraction(float((sigma * mu) @ ranks)) / (n * least))
        return cls(
            spectrum.scheme.sizes, sigma, round_up(spectrum.least_level(_fractions(sigma), base))
        )

    def holds(self, statement: Statement, cone: Cone) -> bool:
        """Whether no column costs more than ``y`` allows."""
        spectrum = None if isinstance(cone, RayList) else Spectrum.of(statement, Scheme(self.sizes))
        return (
            spectrum is not None
            and not isinstance(cone, RayList)
            and self.is_proved_by(spectrum, cone)
        )

    def is_proved_by(self, spectrum: Spectrum, base: Fraction) -> bool:
        """As `holds`, for a spectrum that is known already."""
        return self.sizes == spectrum.scheme.sizes and Fraction(self.level) >= self.least_level(
            spectrum, base
        )

    def least_level(self, spectrum: Spectrum, base: Fraction) -> Fraction:
        """Smallest ``y`` that no column exceeds, so that the multipliers prove a bound."""
        if self.raised is None:
            return spectrum.least_level(_fractions(self.eigenvalues), base)
        return spectrum.least_by_pairs(_fractions(self.eigenvalues), _fractions(self.raised), base)

    def value(self, statement: Statement) -> Fraction:
        """The bound ``2 tr(S G_c) - 1.y - spread``, exactly."""
        spectrum = Spectrum.of(statement, Scheme(self.sizes))
        assert spectrum is not None
        return self.value_of(spectrum) - statement.spread

    def value_of(self, spectrum: Spectrum) -> Fraction:
        """The bound plus the spread, for a spectrum that is known already."""
        return spectrum.bound(_fractions(self.eigenvalues), Fraction(self.level))


def _fractions(array: Float) -> list[Fraction]:
    """The exact values of floats, one after the other."""
    return [Fraction(float(value)) for value in array.ravel()]


def _best_ratio(spectrum: Spectrum, sigma: Float, base: Fraction) -> float:
    """Power of 2 by which to multiply the eigenvalue of the last attribute for the largest bound,
    by bisection.
    """
    mu = np.array([float(value) for value in spectrum.mu])
    ranks = spectrum.scheme.ranks.ravel()

    def bound(power: float) -> float:
        tried = sigma * np.array([1.0, 2.0**power, 1.0, 1.0])
        return float((tried * mu) @ ranks) ** 2 / float(
            spectrum.least_level(_fractions(tried), base)
        )

    best = 0.0
    for step in 2.0 ** -np.arange(12.0):
        best = max((best, best - step, best + step), key=bound)
    return float(2.0**best)
