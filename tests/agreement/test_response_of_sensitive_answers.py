"""Where the response of Murakami and Kawamoto (2019) is the best design among all utility-optimized
mechanisms, decided by counts of high entries in rationals; no code of the library decides it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ldpopt import UtilityOptimizedLDP, Workload, design

# (n, s): the ratio e**epsilon from which on the response is optimal; 1 is always
BORDERS = {
    (3, 1): 1.0,
    (8, 1): 1.0,
    (6, 2): 1.0,
    (10, 2): 1.0,
    (4, 3): 1.0,
    (6, 3): 1.0,
    (10, 3): 2.051,
    (5, 4): 2.000,
    (8, 4): 3.077,
    (6, 5): 2.833,
    (9, 5): 4.175,
    (8, 6): 4.087,
    (10, 6): 5.100,
    (10, 8): 5.645,
}


class TwoKinds:
    """Symmetric matrices that are invariant when answers of a kind are exchanged: one entry on the
    diagonal and one beside it for each kind, and one between the kinds."""

    def __init__(self, sizes, diagonal, beside, between):
        self.sizes, self.diagonal, self.beside, self.between = sizes, diagonal, beside, between

    def inverse_squared(self):
        """Its inverse and the square of that, by the eigenvalues within kinds and a 2 x 2 block."""
        s, t = self.sizes
        inner = [d - b for d, b in zip(self.diagonal, self.beside, strict=True)]
        a = inner[0] + s * self.beside[0]
        d = inner[1] + t * self.beside[1]
        determinant = a * d - s * t * self.between**2
        sums = (d / determinant, a / determinant)  # inverse on sums over a kind
        between = -self.between / determinant
        inverse = self._of(inner, sums, between, power=1)
        squared = self._of(
            inner,
            (
                sums[0] ** 2 + s * t * between**2,
                sums[1] ** 2 + s * t * between**2,
            ),
            between * (sums[0] + sums[1]),
            power=2,
        )
        return inverse, squared

    def _of(self, inner, sums, between, power):
        beside = [
            (total - inner[k] ** -power) / size if size else Fraction(0)
            for k, (total, size) in enumerate(zip(sums, self.sizes, strict=True))
        ]
        diagonal = [b + inner[k] ** -power for k, b in enumerate(beside)]
        return TwoKinds(self.sizes, diagonal, beside, between)

    def quadratic(self, i, j, a):
        """``c'Zc`` for a column with i and j entries ``a`` in the kinds, and 1 elsewhere."""
        s, t = self.sizes
        value = Fraction(0)
        for k, (high, size) in enumerate(((i, s), (j, t))):
            total = high * a + size - high
            squares = high * a * a + size - high
            value += (self.diagonal[k] - self.beside[k]) * squares + self.beside[k] * total**2
        return value + 2 * self.between * (i * a + s - i) * (j * a + t - j)


def response(n, s, a):
    """Variance of the response, and the largest slack of a column with counts (i, j) of high
    entries."""
    t = n - s
    r = Fraction(1, n)
    scale = s + a - 1
    mass = r * (a + n - 1)
    # information: sum of c c' / r.c over the columns, protected ones and those of one answer
    high = Fraction(1) / (scale * mass)
    sensitive = (a * a + s - 1) * high
    beside = (2 * a + s - 2) * high
    matrix = TwoKinds(
        (s, t),
        (sensitive, s * high + (a - 1) / scale / r),
        (beside, s * high),
        (a + s - 1) * high,
    )
    inverse, squared = matrix.inverse_squared()
    of_unit = n * squared.diagonal[1]
    of_column = squared.quadratic(1, 0, a) / mass
    of_sensitive = (of_column - of_unit * t) / (a + s - 1)
    slack = None
    for i in range(s + 1):
        for j in range(t + 1):
            if (i, j) != (1, 0):
                total = r * (i * a + s - i + j * a + t - j)
                price = of_sensitive * (i * a + s - i) + of_unit * (j * a + t - j)
                excess = squared.quadratic(i, j, a) / total - price
                slack = excess if slack is None else max(slack, excess)
    return s * inverse.diagonal[0] + t * inverse.diagonal[1] - 1, slack


@pytest.mark.parametrize(("n", "s"), BORDERS)
def test_borders(n, s):
    border = BORDERS[n, s]
    if border == 1.0:
        for a in (1.01, 1.2, 2.0, 5.0, 40.0):
            assert response(n, s, Fraction(str(a)))[1] <= 0
        return
    assert response(n, s, Fraction(str(border)) + Fraction(1, 1000))[1] <= 0
    assert response(n, s, Fraction(str(border)) - Fraction(1, 1000))[1] > 0
    assert response(n, s, Fraction(50))[1] <= 0


def test_six_answers_of_which_two_are_sensitive():
    value, slack = response(6, 2, Fraction(2718281828459045, 10**15))
    assert abs(float(value) - 2.617316130908) < 1e-12
    assert abs(float(slack) + 2.03) < 0.01


@pytest.mark.parametrize(
    ("n", "s", "a"), [(4, 1, "3/2"), (5, 4, "19/10"), (5, 4, "3"), (6, 5, "2")]
)
def test_designs_agree(n, s, a):
    """The design is the response where the counts say so, and better elsewhere."""
    value, slack = response(n, s, Fraction(a))
    best = design(Workload.frequencies(n), UtilityOptimizedLDP(f"log({a})", range(s)), gap=1e-8)
    assert best.relative_gap < 1e-8
    if slack <= 0:
        assert best.value == pytest.approx(float(value), rel=1e-7)
    else:
        assert best.value < float(value) * (1 - 1e-4)


def test_the_matrices_are_those_of_numpy():
    n, s, a = 5, 2, 3.0
    t = s + a - 1
    columns = [np.where(np.arange(n) == y, a / t, 1 / t) for y in range(s)]
    columns += [np.where(np.arange(n) == y, (a - 1) / t, 0.0) for y in range(s, n)]
    information = sum(np.outer(c, c) / c.mean() for c in columns)
    inverse = np.linalg.inv(information)
    assert abs(np.trace(inverse) - 1 - float(response(n, s, Fraction(3))[0])) < 1e-12
