"""Before a fit: equal rows become one, and columns get mean 0 and deviation 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, Int, short_repr

TRIED = 2000  # first rows, of which some must be equal if it is worth while to look for equal rows
DIFFERENT = 0.9  # share of different ones among them up to which it is


def equal_rows(columns: Sequence[Any]) -> tuple[Int, Int]:
    """Positions of different rows, and for each row the number of the one that it equals.

    Rows are compared by sums of multiples of their entries, which are computed in the same way for
    equal rows, and then entry by entry: a sum decides nothing.
    """
    size = len(columns[0])
    every = np.arange(size)
    key = _keys([column[:TRIED] for column in columns])
    if size > TRIED and len(np.unique(key)) > DIFFERENT * TRIED:
        return every, every
    _, first, place = np.unique(_keys(columns), return_index=True, return_inverse=True)
    if all(np.array_equal(column, column[first[place]]) for column in columns):
        return first, place
    rows = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, place.ravel()


def _keys(columns: Sequence[Any]) -> Float:
    key = np.zeros(len(columns[0]))
    for number, column in enumerate(columns, 1):
        key += np.sin(number) * column
    return key


@dataclass(frozen=True, eq=False)
class Scaling:
    """Columns of a matrix less their means, over their deviations; without a column of ones they
    keep their means.
    """

    means: Float  # (k,)
    deviations: Float  # (k,)
    ones: int | None  # position of the column of ones

    @classmethod
    def of(cls, matrices: Sequence[Float], has_free_mean: bool) -> Scaling:
        """Those of some matrices together; with a free mean, such as the cuts of an ordered model,
        no column of ones is needed.
        """
        means = np.mean([matrix.mean(axis=0) for matrix in matrices], axis=0)
        squares = [((matrix - means) ** 2).mean(axis=0) for matrix in matrices]
        deviations = np.sqrt(np.mean(squares, axis=0))
        size = np.max([np.abs(matrix).max(axis=0, initial=0.0) for matrix in matrices], axis=0)
        is_constant = deviations <= 64 * np.finfo(float).eps * size
        constant = np.flatnonzero(is_constant & (means != 0))
        ones = int(constant[0]) if len(constant) and not has_free_mean else None
        if ones is not None:
            deviations[ones] = means[ones]
            means[ones] = 0.0
        elif not has_free_mean:
            means = np.zeros(len(means))
            deviations = size
        is_zero = deviations <= 64 * np.finfo(float).eps * size
        return cls(means, np.where(is_zero, 1.0, deviations), ones)

    def applied(self, matrix: Float) -> Float:
        """A matrix in the new units."""
        scaled = np.ascontiguousarray(matrix - self.means)
        scaled /= self.deviations
        return scaled

    @property
    def back(self) -> Float:
        """Matrix that makes coefficients of the columns as they were, shape (k, k)."""
        matrix = np.diag(1 / self.deviations)
        if self.ones is not None:
            matrix[self.ones] -= self.means / self.deviations / self.deviations[self.ones]
        return matrix


def require_independent(matrices: Sequence[Float], names: Sequence[str]) -> None:
    """Refuse linearly dependent columns of scaled matrices, by name."""
    if not len(names):
        return
    gram = sum(matrix.T @ matrix for matrix in matrices)
    values, vectors = np.linalg.eigh(np.asarray(gram))
    if values[0] > 64 * len(names) * np.finfo(float).eps * values[-1]:
        return
    inside = np.flatnonzero(np.abs(vectors[:, 0]) > 1e-3)
    raise StatementError(
        "linearly dependent covariates: "
        f"{', '.join(short_repr(names[place]) for place in inside[:6])}",
        code="dependent-covariates",
        where="the formula",
        do="leave one of them out; a factor with all its levels needs no intercept, and an ordered "
        "model has none",
    )
