r"""The proof of a design whose workload only sees in which attributes answers differ.

With weights alike and ``S = sum_T sigma_T E_T`` the cost of a column is at most ``max_T nu_T`` times the square of its
contrast, ``nu_T = sigma_T^2 mu_T``, and that depends on the size of its set only. With ``y`` a constant,

.. math:: \max_T \nu_T \, (1-b)^2 \frac{k (n-k)}{n} \le \frac{y}{n} \big(b n + (1-b) k\big)^2
          \quad \text{for } k = 0, \dots, n

is all there is to check. The information of the channel is in the scheme as well, so that its value is a rational.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.design_bound import UNBOUNDED, Statement, is_unbiased
from ldpopt.certificate.scheme import Scheme, value_generators
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.checks import Float

if TYPE_CHECKING:
    from ldpopt.certificate.entries import Entry

MASSES = 1 << 53
"""Sum of a row's masses."""


@dataclass(frozen=True, eq=False)
class ProductMultipliers:
    """What proves a bound in the scheme, as floats that are read exactly.

    Attributes
    ----------
    sizes : tuple of int
        How many values each attribute has.
    eigenvalues : ndarray, shape (2**d,)
        ``sigma``, by the sets of attributes.
    level : float
        ``y`` of every answer.
    """

    sizes: tuple[int, ...]
    eigenvalues: Float
    level: float

    kind: ClassVar[str] = "product"
    keys: ClassVar[tuple[str, ...]] = ("sizes", "eigenvalues", "level")

    def stated(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {"sizes": list(self.sizes), "eigenvalues": self.eigenvalues.tolist(), "level": self.level}

    @classmethod
    def read(cls, table: dict[str, Entry], n: int, m: int) -> ProductMultipliers:
        """Read what `stated` wrote, for ``n`` answers."""
        sizes = tuple(entry.whole(n + 1) for entry in table["sizes"].list())
        if any(size < 2 for size in sizes) or Scheme(sizes).n != n:
            raise table["sizes"].error(f"the sizes do not make {n} answers")
        return cls(sizes, table["eigenvalues"].numbers(2 ** len(sizes)), table["level"].number())

    def costs_hold(self, statement: Statement, base: Fraction) -> bool:
        """Whether no column costs more than ``y`` allows, with ``base = e**-epsilon`` rounded down."""
        least = least_level(statement, self.sizes, self.eigenvalues, base)
        return least is not None and Fraction(self.level) >= least

    def bound_below(self, statement: Statement) -> Fraction:
        """``2 tr(S G_c) - 1.y - spread``: a bound if `costs_hold`."""
        scheme = Scheme(self.sizes)
        sigma, mu = _fractions(self.eigenvalues), _eigenvalues(statement, scheme)
        assert mu is not None
        parts = zip(sigma, mu, scheme.ranks.ravel().tolist(), strict=True)
        trace = sum((s * m * rank for s, m, rank in parts), Fraction(0))
        return 2 * trace - scheme.n * Fraction(self.level) - statement.spread

    def value_above(self, statement: Statement, channel: Float, left_inverse: Float, objective: str) -> Fraction:
        """Variance of the best unbiased estimator of a channel whose information is in the scheme."""
        scheme = Scheme(self.sizes)
        mu = _eigenvalues(statement, scheme)
        told = information(scheme, np.ldexp(channel, 53).astype(np.int64))
        if mu is None or told is None or not is_unbiased(statement, channel, left_inverse):
            return UNBOUNDED
        if objective == "worst_case" and not _same_for_all(scheme, channel):
            return UNBOUNDED
        total = -statement.spread
        for m, have, rank in zip(mu[1:], told[1:], scheme.ranks.ravel()[1:], strict=True):
            if m and not have:
                return UNBOUNDED
            total += m * int(rank) / have if m else 0
        return total


def best_multipliers(statement: Statement, sizes: tuple[int, ...], base: Fraction) -> ProductMultipliers:
    """Multipliers with all costs alike, the best in the scheme, and the least level that holds in rationals."""
    scheme = Scheme(sizes)
    exact = _eigenvalues(statement, scheme)
    assert exact is not None
    mu, ranks, n = np.array([float(value) for value in exact]), scheme.ranks.ravel(), scheme.n
    needed = mu > 0
    needed[0] = False
    root = np.zeros(len(mu))
    root[needed] = np.sqrt(mu[needed])
    sigma = np.zeros(len(mu))
    sigma[needed] = 1 / root[needed]
    least = least_level(statement, sizes, sigma, base)
    assert least is not None
    sigma *= float(root @ ranks) / (n * float(least))
    least = least_level(statement, sizes, sigma, base)
    assert least is not None
    return ProductMultipliers(sizes, sigma, round_up(least))


def least_level(statement: Statement, sizes: tuple[int, ...], sigma: Float, base: Fraction) -> Fraction | None:
    """Smallest ``y`` that holds for given eigenvalues; None where workload or weights are not in the scheme."""
    scheme, n = Scheme(sizes), len(statement.weights.whole)
    mu = _eigenvalues(statement, scheme)
    if mu is None or len(set(statement.weights.whole.tolist())) > 1:
        return None
    largest = max(s * s * m for s, m in zip(_fractions(sigma), mu, strict=True))
    low, step = base.numerator, base.denominator - base.numerator
    told = max(Fraction(k * (n - k), (low * n + step * k) ** 2) for k in range(1, n))
    return largest * step * step * told


def information(scheme: Scheme, masses: NDArray[np.int64]) -> list[Fraction] | None:
    """Eigenvalues of the information of a channel with two masses in each column, None where it is not in the scheme.

    Columns with the same masses and sets of the same size are counted together.
    """
    n = scheme.n
    high, low = masses.max(axis=0), masses.min(axis=0)
    inside = masses == high
    if not (inside | (masses == low)).all():
        return None
    inside &= high > low
    found = [Fraction(0)] * 2 ** len(scheme.sizes)
    for key in {*zip(high.tolist(), low.tolist(), inside.sum(axis=0).tolist(), strict=True)}:
        chosen = (high == key[0]) & (low == key[1]) & (inside.sum(axis=0) == key[2])
        sets = inside[:, chosen].astype(np.float64)
        pairs = scheme.eigenvalues((sets @ sets.T).astype(np.int64))
        if pairs is None:
            return None
        step, mass = key[0] - key[1], key[1] * n + (key[0] - key[1]) * key[2]
        if step:
            share = Fraction(step * step * n, MASSES * mass)
            found = [have + share * int(more) for have, more in zip(found, pairs.ravel(), strict=True)]
    return found


def _same_for_all(scheme: Scheme, channel: Float) -> bool:
    """Whether the channel stays as it is, up to the order of its reports, where the values of an attribute move on."""
    cube = np.arange(scheme.n).reshape(scheme.sizes)
    plain = _sorted_columns(channel)
    moves = (
        np.take(cube, order, axis=axis).ravel()
        for axis, size in enumerate(scheme.sizes)
        for order in value_generators(size)
    )
    return all(np.array_equal(plain, _sorted_columns(channel[move])) for move in moves)


def _sorted_columns(channel: Float) -> Float:
    return np.asarray(channel[:, np.lexsort(channel)])


def _eigenvalues(statement: Statement, scheme: Scheme) -> list[Fraction] | None:
    if len(statement.weights.whole) != scheme.n:
        return None
    found = scheme.eigenvalues(statement.gram.whole)
    return None if found is None else [Fraction(int(value), statement.gram.denominator) for value in found.ravel()]


def _fractions(array: Float) -> list[Fraction]:
    return [Fraction(float(value)) for value in array.ravel()]
