r"""What every set satisfies besides ``s_x^2 = 1``: two inequalities that make the bound tighter.

With ``p`` the indicator of a set, ``p_x p_y >= 0``, and ``(|A| - k)(|A| - k - 1) >= 0`` for every whole number ``k``,
since no size lies between ``k`` and ``k + 1``. Multiples of them, as forms in ``z = (1, s)``, may be taken off a form
that has to be positive for all signs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.certificate.exactly import Exactly
from ldpopt.foundation.checks import Float, frozen

if TYPE_CHECKING:
    from ldpopt.certificate.entries import Entry


@dataclass(frozen=True, eq=False)
class Inequalities:
    """Multipliers of the inequalities.

    Attributes
    ----------
    pairs : ndarray, shape (n, n)
        Multiplier of ``p_x p_y`` for ``x < y``, at least 0; the rest is not read.
    size : int
        ``k``.
    factor : float
        Multiplier of ``(|A| - k)(|A| - k - 1)``, at least 0.
    """

    pairs: Float
    size: int
    factor: float

    def times(self, scale: float) -> Inequalities:
        """All multipliers times a number."""
        return replace(self, pairs=scale * self.pairs, factor=scale * self.factor)

    def stated(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {"pairs": self.pairs.tolist(), "size": self.size, "factor": self.factor}

    @classmethod
    def read(cls, entry: Entry, n: int) -> Inequalities | None:
        """Read what `stated` wrote, or null, for ``n`` answers."""
        if entry.value is None:
            return None
        table = entry.table("pairs", "size", "factor")
        return cls(frozen(table["pairs"].numbers(n, n)), table["size"].whole(n + 1), table["factor"].number())

    @property
    def form(self) -> Float:
        """The form in ``(1, s)`` that is not negative for any set, in floats."""
        upper = np.triu(self.pairs, 1)
        matrix = _eighths(upper + upper.T, self.size, self.factor)
        return np.asarray(matrix / 8, dtype=np.float64)

    def exact(self) -> Exactly | None:
        """The form exactly; None if a multiplier is negative or no number."""
        upper = np.triu(self.pairs, 1)
        given = np.append(upper.ravel(), self.factor)
        if not (np.isfinite(given).all() and given.min() >= 0):
            return None
        read = Exactly.of(given)
        whole = read.whole[:-1].reshape(upper.shape)
        return Exactly(_eighths(whole + whole.T, self.size, read.whole[-1]), 8 * read.denominator)


def _eighths(both: np.ndarray, size: int, factor: float) -> np.ndarray:
    """Eight times the form, of multipliers in a symmetric matrix."""
    n = len(both)
    sums = both.sum(axis=1)
    matrix = np.empty((n + 1, n + 1), dtype=both.dtype)
    matrix[1:, 1:] = both
    matrix[0, 1:] = matrix[1:, 0] = sums
    matrix[0, 0] = sums.sum()
    # |A| - k - 1/2 is half of this, and its square less a quarter is the product.
    twice = np.ones(n + 1, dtype=both.dtype)
    twice[0] = n - 2 * size - 1
    matrix = matrix + 2 * factor * (twice[:, None] * twice)
    matrix[0, 0] -= 2 * factor
    return matrix
