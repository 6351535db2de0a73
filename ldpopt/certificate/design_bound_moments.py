r"""The bound by moments of sets, for questions with two answers each and any workload in their
scheme.

With ``S`` and ``y`` as in `design_bound_product`, ``sigma`` by the number of attributes, the
condition on a set is

.. math:: (1-b)^2 \sum_j \nu_j W_j \le y \, \big(b^2 + 2 b (1-b) m + (1-b)^2 W_0\big), \quad
          \nu_j = \sigma_j^2 \max_{|T| = j} \mu_T,

linear in the moments of the set (`moments`). It holds if the right side less the left is a sum of
``tr(L^T M L)`` over the matrices ``M`` of moments plus a form that is not negative for moments
between 0 and ``m``: that is compared in rationals. No matrix has to be tested, since ``L L^T`` is
positive semidefinite for any numbers ``L``.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, ClassVar

import numpy as np

from ldpopt.certificate.design_bound_product import Spectrum
from ldpopt.certificate.design_statement import Cone, Statement
from ldpopt.certificate.moments import Moments
from ldpopt.certificate.scheme import Scheme
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.columns import RayList

MOST = 24  # largest number of attributes
# largest number of attributes for moments of four answers, whose matrices have millions of entries
MOST_FOUR = 16


@dataclass(frozen=True)
class MomentLevels:
    """Eigenvalues of a centered Gram matrix over ``2**d`` answers, by the number of attributes."""

    largest: tuple[Fraction, ...]  # largest of each number, shape (d + 1,)
    total: tuple[Fraction, ...]  # their sums

    @classmethod
    def of(cls, spectrum: Spectrum) -> "MomentLevels | None":
        """The levels of a spectrum; None if an attribute has more than two values."""
        if set(spectrum.scheme.sizes) != {2}:
            return None
        parts: list[list[Fraction]] = [[] for _ in range(len(spectrum.scheme.sizes) + 1)]
        for place, mu in enumerate(spectrum.mu):
            parts[place.bit_count()].append(mu)
        return cls(
            tuple(max(mu) + spectrum.beside for mu in parts),
            tuple(sum(mu, Fraction(0)) for mu in parts),
        )

    @classmethod
    def marginals(cls, d: int, ways: int, unit: Fraction = Fraction(1)) -> "MomentLevels":
        """Those of all ``ways``-way marginals, times a unit."""
        mu = [
            unit**2 * 2 ** (d - ways) * (comb(d - j, ways - j) if 0 < j <= ways else 0)
            for j in range(d + 1)
        ]
        return cls(tuple(mu), tuple(value * comb(d, j) for j, value in enumerate(mu)))

    @property
    def d(self) -> int:
        """Number of attributes."""
        return len(self.total) - 1


@dataclass(frozen=True, eq=False)
class MomentBound:
    """Multipliers of the moments of sets, as floats that are read exactly."""

    eigenvalues: Float  # sigma, by the number of attributes, shape (d + 1,)
    level: float  # y of every answer
    factors: Float  # lower triangles L of all matrices, row by row, one after the other
    apart: tuple[int, ...]  # distances of two given answers with matrices of four answers

    kind: ClassVar[str] = "moments"

    def plain(self) -> dict[str, Any]:
        """Plain values for a file."""
        numbers = {
            "eigenvalues": self.eigenvalues.tolist(),
            "level": self.level,
            "factors": self.factors.tolist(),
        }
        return {**numbers, "apart": list(self.apart)}

    @classmethod
    def read(cls, entry: Entry, n: int) -> "MomentBound":
        """Read what `plain` wrote, for ``n`` answers."""
        table = entry.table("eigenvalues", "level", "factors", "apart")
        d = n.bit_length() - 1
        if n != 2**d or not 0 < d <= MOST:
            problem = f"{n} answers are not those of 1 to {MOST} questions with two answers each"
            raise table["eigenvalues"].error(problem)
        apart = tuple(distance.whole(d + 1) for distance in table["apart"].list())
        if apart != tuple(sorted({*apart} - {0})) or (apart and d > MOST_FOUR):
            problem = (
                f"{list(apart)} are not ascending distances from 1 to {d}, of at most "
                f"{MOST_FOUR} questions"
            )
            raise table["apart"].error(problem)
        factors = table["factors"].numbers(Moments.of(d, apart).entries)
        return cls(table["eigenvalues"].numbers(d + 1), table["level"].number(), factors, apart)

    def holds(self, statement: Statement, cone: Cone) -> bool:
        """Whether no column costs more than ``y`` allows."""
        levels = None if isinstance(cone, RayList) else self._levels(statement)
        return (
            levels is not None and not isinstance(cone, RayList) and self.is_proved_by(levels, cone)
        )

    def _levels(self, statement: Statement) -> MomentLevels | None:
        spectrum = Spectrum.of(statement, Scheme((2,) * (len(self.eigenvalues) - 1)))
        return None if spectrum is None else MomentLevels.of(spectrum)

    def is_proved_by(self, levels: MomentLevels, base: Fraction) -> bool:
        """As `holds`, for levels that are known already."""
        numbers = (self.eigenvalues, self.factors, np.array(self.level))
        d = levels.d
        if len(self.eigenvalues) != d + 1 or not all(0 < a <= d for a in self.apart):
            return False
        is_whole = len(self.factors) == Moments.of(d, self.apart).entries
        is_finite = all(np.isfinite(part).all() for part in numbers)
        return is_whole and is_finite and self.least_level(levels, base) <= Fraction(self.level)

    def least_level(self, levels: MomentLevels, base: Fraction) -> Fraction:
        """The given level if it proves a bound, else a larger one that does."""
        coefficients = self._rest(levels, base)
        n = 2**levels.d
        # Moments are from 0 to m: the rest is at least a linear function of m from 0 to 1.
        ends = (
            coefficients[0],
            coefficients[0]
            + coefficients[1]
            + sum(min(entry, Fraction(0)) for entry in coefficients[2:]),
        )
        # A larger level adds at least these multiples of it.
        rates = n * base * base, n * base * (2 - base)
        more = max(
            Fraction(0), *(Fraction(-end / rate) for end, rate in zip(ends, rates, strict=True))
        )
        return Fraction(self.level) + more

    def _rest(self, levels: MomentLevels, base: Fraction) -> list[Fraction]:
        """Coefficients of the moments in ``2**d`` times the condition, less the matrices with their
        multipliers.
        """
        moments = Moments.of(levels.d, self.apart)
        sigma = [Fraction(float(entry)) for entry in self.eigenvalues]
        level = Fraction(self.level)
        other = (1 - base) ** 2
        total, denominator = moments.combined(self.factors)
        coefficients = [Fraction(-int(entry), denominator) for entry in total]
        shares = [
            level * other,
            *(-other * s * s * m for s, m in zip(sigma[1:], levels.largest[1:], strict=True)),
        ]
        for share, row in zip(shares, moments.weights, strict=True):
            if share:
                for i, factor in enumerate(row.tolist()):
                    coefficients[1 + i] += share * factor
        n = 2**levels.d
        coefficients[0] += n * level * base**2
        coefficients[1] += n * level * 2 * base * (1 - base)
        return coefficients

    def value(self, statement: Statement) -> Fraction:
        """The bound ``2 tr(S G_c) - 1.y - spread``, exactly."""
        levels = self._levels(statement)
        assert levels is not None
        return self.value_of(levels) - statement.spread

    def value_of(self, levels: MomentLevels) -> Fraction:
        """The bound plus the spread, for levels that are known already."""
        parts = zip(self.eigenvalues.tolist(), levels.total, strict=True)
        trace = sum((Fraction(s) * total for s, total in parts), Fraction(0))
        return 2 * trace - Fraction(2**levels.d) * Fraction(self.level)
