r"""The condition for all sets of more answers than can be listed, as one semidefinite form, checked
in integers.

With signs ``s`` a staircase column is ``v = a + h s``, ``a = (1 + base) / 2``, ``h = (1 - base) /
2``. The condition ``v N v <= (y.v)(r.v)`` is a quadratic form in ``z = (1, s)``. A diagonal whose
sum is 0 adds 0, because all squares are 1; if the form with it is positive semidefinite, the
condition holds for every set. (The elliptope relaxation, as for cuts of graphs.) Two inequalities
make it tighter: with ``p`` the indicator of a set, ``p_x p_y >= 0``, and ``(|A| - k)(|A| - k - 1)
>= 0`` for every whole number ``k``. Multiples of them may be subtracted from the form.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.certificate.integers import Integers, Rationals, product
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.numbers import Float, frozen

BITS = 62  # fractional bits of the scaled matrix whose factor is sought


@dataclass(frozen=True, eq=False)
class Inequalities:
    """Multipliers of the inequalities, all at least 0."""

    pairs: Float  # of p_x p_y for x < y, shape (n, n); the rest is not read
    size: int  # k
    factor: float  # of (|A| - k)(|A| - k - 1)

    def times(self, scale: float) -> "Inequalities":
        """All multipliers times a number."""
        return replace(self, pairs=scale * self.pairs, factor=scale * self.factor)

    def plain(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {"pairs": self.pairs.tolist(), "size": self.size, "factor": self.factor}

    @classmethod
    def read(cls, entry: Entry, n: int) -> "Inequalities | None":
        """Read what `plain` wrote, or null, for ``n`` answers."""
        if entry.value is None:
            return None
        table = entry.table("pairs", "size", "factor")
        return cls(
            frozen(table["pairs"].numbers(n, n)),
            table["size"].whole(n + 1),
            table["factor"].number(),
        )

    @property
    def form(self) -> Float:
        """The form in ``(1, s)``, which is not negative for any set, in floats."""
        upper = np.triu(self.pairs, 1)
        return np.asarray(_eighths(upper + upper.T, self.size, self.factor) / 8, dtype=np.float64)

    def exact(self) -> Rationals | None:
        """The form exactly; None if a multiplier is negative or not finite."""
        upper = np.triu(self.pairs, 1)
        floats = np.append(upper.ravel(), self.factor)
        if not (np.isfinite(floats).all() and floats.min() >= 0):
            return None
        read = Rationals.of(floats)
        integers = read.whole[:-1].reshape(upper.shape)
        return Rationals(
            _eighths(integers + integers.T, self.size, read.whole[-1]), 8 * read.denominator
        )


def _eighths(both: np.ndarray, size: int, factor: float) -> np.ndarray:
    """Eight times the form over ``(1, s)`` of the inequalities: of pairs, ``both`` (n, n), and of
    the size.
    """
    n = len(both)
    sums = both.sum(axis=1)
    matrix = np.empty((n + 1, n + 1), dtype=both.dtype)
    matrix[1:, 1:] = both
    matrix[0, 1:] = matrix[1:, 0] = sums
    matrix[0, 0] = sums.sum()
    # Half of this is |A| - k - 1/2, whose square less a quarter is the product.
    twice = np.ones(n + 1, dtype=both.dtype)
    twice[0] = n - 2 * size - 1
    matrix = matrix + 2 * factor * (twice[:, None] * twice)
    matrix[0, 0] -= 2 * factor
    return matrix


def is_positive(
    form: Rationals,
    line: Rationals,
    weights: Rationals,
    base: Fraction,
    shift: Float,
    inequalities: Inequalities | None = None,
) -> bool:
    """Whether the form proves the condition for all sets, in integers; False may also mean that its
    proof fails.
    """
    # shift is the diagonal, shape (n + 1,), whose first entry is set to minus the sum of the
    # others.
    numbers = Rationals.of(shift)
    diagonal = numbers.whole.copy()
    diagonal[0] = -int(diagonal[1:].sum())
    # Everything times 2: 2 v = (1 + base) + (1 - base) s, over the denominator of base.
    low, high = base.numerator, base.denominator
    right = _in_signs(line.whole, high + low, high - low)
    outer = right[:, None] * _in_signs(weights.whole, high + low, high - low)
    twice = (outer + outer.T) * form.denominator
    scale = line.denominator * weights.denominator
    total = (
        twice - 2 * scale * _form_in_signs(form.whole, high + low, high - low)
    ) * numbers.denominator
    unit = 8 * high * high * form.denominator * scale
    total[np.diag_indices_from(total)] += unit * diagonal
    if inequalities is None:
        return is_semidefinite(total)
    taken = inequalities.exact()
    if taken is None:
        return False
    return is_semidefinite(total * taken.denominator - (unit * numbers.denominator) * taken.whole)


def _form_in_signs(form: Integers, constant: int, step: int) -> Integers:
    """Write a quadratic form of a column ``constant + step s`` as a quadratic form of ``(1, s)``,
    with signs ``s``.
    """
    sums = form.sum(axis=0)
    cost = np.empty((len(form) + 1, len(form) + 1), dtype=object)
    cost[1:, 1:] = step * step * form
    cost[0, 1:] = cost[1:, 0] = constant * step * sums
    cost[0, 0] = constant * constant * int(sums.sum())
    return cost


def _in_signs(vector: Integers, constant: int, step: int) -> Integers:
    """Write a linear form of a column ``constant + step s`` as a linear form of ``(1, s)``, with
    signs ``s``.
    """
    return np.concatenate([np.array([constant * int(vector.sum())], dtype=object), step * vector])


def is_semidefinite(matrix: Integers) -> bool:
    """Whether a symmetric integer matrix is positive semidefinite: ``L L^T`` in integers plus a
    dominant diagonal.
    """
    # True is a proof. False may also mean that the smallest eigenvalue is too near 0 for floats.
    sizes = [int(entry).bit_length() for entry in np.diag(matrix)]
    # Rows and columns times powers of two bring the diagonal near 1.
    powers = np.array([-(-size // 2) for size in sizes], dtype=object)
    most = int(powers.max(initial=0)) + BITS
    scaled = matrix << (most - powers)
    scaled = scaled << (most - powers)[:, None]
    if (np.abs(scaled) >> (2 * most)).any():
        # an entry above the geometric mean of its diagonal ones: floats might not hold it
        return False
    floats = (
        (scaled >> (2 * most - 1000)).astype(np.float64) / 2.0**1000
        if 2 * most > 1000
        else _floats(scaled, most)
    )
    from scipy.linalg import cholesky  # takes a third of a second

    for slack in (1e-14, 1e-13, 1e-12, 1e-11, 1e-10):
        try:
            factor = cholesky(floats - slack * len(floats) * np.eye(len(floats)), lower=True)
        except np.linalg.LinAlgError:
            return False
        root: Integers = np.ldexp(factor, BITS - 8).astype(np.int64).astype(object)
        remainder = scaled - (product(root, root.T) << (2 * (most - BITS + 8)))
        # The sum contains the absolute value of the diagonal entry, which therefore is not
        # negative.
        if bool((2 * np.diag(remainder) >= np.abs(remainder).sum(axis=1)).all()):
            return True
    return False


def _floats(scaled: Integers, most: int) -> Float:
    """The integers over ``2**(2 most)`` as floats."""
    return np.array(
        [[float(Fraction(int(entry), 1 << (2 * most))) for entry in row] for row in scaled]
    )
