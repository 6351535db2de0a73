"""Coordinates in which reversing the answers only changes signs: information falls into blocks.

Where a permutation that is its own inverse leaves the problem alone, columns and their images have the same
probability. Their information then has no entries between vectors that stay and vectors that change sign, and half the
columns say all.
"""

from __future__ import annotations

import numpy as np

from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.symmetry import Permutations
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.columns import Columns


def involutions(permutations: Permutations) -> Permutations:
    """Keep a group of permutations if each is its own inverse; else the identity and one that is, if any."""
    own = [order for order in permutations if np.array_equal(order[order], np.arange(len(order)))]
    return np.array(own if len(own) == len(permutations) else own[:2])


class Coordinates:
    """Blocks of contrasts.

    Attributes
    ----------
    bases : list of ndarray, shape (n, d)
        Orthonormal; the first one has the vectors that all permutations leave alone.
    grams : list of ndarray, shape (d, d)
        The centered workload's, over the square of the unit.
    unit : float
        What columns are divided by, so that small budgets lose no digits.
    """

    def __init__(self, contrasts: Contrasts, permutations: Permutations, unit: float) -> None:
        bases = [contrasts.basis]
        for order in permutations[1:]:
            bases = [half for basis in bases for half in _halves(basis, order)]
        self.weights, self.unit = contrasts.weights, unit
        self.bases = [basis for basis in bases if basis.shape[1]]
        self.has_fixed = bool(bases[0].shape[1])
        self.grams = [basis.T @ contrasts.centered @ basis / unit**2 for basis in self.bases]

    def atoms(self, columns: Columns) -> list[Float]:
        """Coordinates of columns in each block, one a row."""
        said = columns.said(self.weights) / self.unit
        return [np.ascontiguousarray(said @ basis) for basis in self.bases]

    def whole(self, blocks: list[Float]) -> Float:
        """Form over all answers."""
        parts = [basis @ block @ basis.T for basis, block in zip(self.bases, blocks, strict=True)]
        return np.asarray(np.sum(parts, axis=0) / self.unit**2)

    def line(self, slope: Float) -> Float:
        """Linear form over all answers of one in the first block."""
        return np.asarray(self.bases[0] @ slope / self.unit if self.has_fixed else np.zeros(len(self.weights)))


def _halves(basis: Float, order: np.ndarray) -> tuple[Float, Float]:
    """Vectors that a permutation leaves alone, and those whose sign it changes."""
    moved = basis.T @ basis[order]
    values, vectors = np.linalg.eigh((moved + moved.T) / 2)
    return basis @ vectors[:, values > 0], basis @ vectors[:, values <= 0]
