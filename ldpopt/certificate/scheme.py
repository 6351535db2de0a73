r"""Matrices whose entry (x, x') depends only on the set of attributes in which the answers x and x'
differ.

They form an association scheme with one eigenspace for each set ``T`` of attributes, onto which

.. math:: E_T = \bigotimes_{i \in T} (1 - J / q_i) \otimes \bigotimes_{i \notin T} J / q_i,
          \qquad \operatorname{rank} E_T = \prod_{i \in T} (q_i - 1)

projects. Arrays over the sets ``T``, or over patterns of differences, have the shape ``(2,) * d``.
"""

import math
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.numbers import Float

Permutation = NDArray[np.int64]

SAME = 1e-12  # relative difference up to which two entries of a matrix are the same


@dataclass(frozen=True)
class Scheme:
    """A product alphabet, in lexicographic order of the attributes."""

    sizes: tuple[int, ...]  # number of values of each attribute

    @property
    def n(self) -> int:
        """Number of answers."""
        return math.prod(self.sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of an array over the sets of attributes."""
        return (2,) * len(self.sizes)

    @cached_property
    def digits(self) -> NDArray[np.int64]:
        """Values of the attributes, shape ``(d, n)``."""
        return np.indices(self.sizes).reshape(len(self.sizes), -1)

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """Dimension of each eigenspace."""
        return np.asarray(
            reduce(np.multiply.outer, [np.array([1, size - 1]) for size in self.sizes]),
            dtype=np.int64,
        )

    @cached_property
    def patterns(self) -> NDArray[np.int64]:
        """For every pair of answers the flat index of the set of attributes in which they differ,
        shape ``(n, n)``.
        """
        patterns = np.zeros((self.n, self.n), dtype=np.int64)
        for digit in self.digits:
            patterns = 2 * patterns + (digit[:, None] != digit)
        return patterns

    def eigenvalues(self, matrix: NDArray) -> NDArray | None:  # type: ignore[type-arg]
        """Eigenvalues of a symmetric matrix over all answers; None if it is not in the scheme."""
        # Floats may differ by rounding; integers must not.
        flat = np.zeros(2 ** len(self.sizes), dtype=matrix.dtype)
        flat[self.patterns[0]] = matrix[0]
        expected = flat[self.patterns]
        same = (
            _close(matrix, expected)
            if matrix.dtype == np.float64
            else bool((matrix == expected).all())
        )
        return self.transform(flat.reshape(self.shape)) if same else None

    def transform(self, entries: NDArray) -> NDArray:  # type: ignore[type-arg]
        """Eigenvalues of a matrix over the answers, from its entry for each pattern of differences;
        both have the shape ``(2,) * d``.

        One attribute after the other: of the matrix with ``a`` on its diagonal and ``b`` off it the
        eigenvalues are ``a + (size - 1) b`` for constant vectors and ``a - b`` for contrasts.
        """
        for axis, size in enumerate(self.sizes):
            same = np.take(entries, 0, axis)
            other = np.take(entries, 1, axis)
            entries = np.stack([same + (size - 1) * other, same - other], axis)
        return entries

    def entries(self, eigenvalues: Float) -> Float:
        """The entry for each pattern of differences, from the eigenvalues."""
        for axis, size in enumerate(self.sizes):
            zero = np.take(eigenvalues, 0, axis)
            eigenvalues_of_one = np.take(eigenvalues, 1, axis)
            eigenvalues = (
                np.stack([zero + (size - 1) * eigenvalues_of_one, zero - eigenvalues_of_one], axis)
                / size
            )
        return eigenvalues

    def matrix(self, eigenvalues: Float) -> Float:
        """The matrix over all answers, from its eigenvalues."""
        return np.asarray(self.entries(eigenvalues).ravel()[self.patterns])

    def energies(self, functions: Float) -> Float:
        """Mean square of every part ``E_T f`` of functions ``f``, one a row; shape ``(m,) + (2,) *
        d``.
        """
        cubes = functions.reshape(len(functions), *self.sizes)
        squares = np.empty((len(functions), *self.shape))
        for kept in np.ndindex(*self.shape):
            away = tuple(1 + axis for axis, stays in enumerate(kept) if not stays)
            part = cubes.mean(axis=away) if away else cubes
            squares[(slice(None), *kept)] = (part**2).reshape(len(functions), -1).mean(axis=1)
        # An average over the other attributes contains the parts of all subsets.
        for axis in range(1, 1 + len(self.sizes)):
            low = np.take(squares, 0, axis)
            high = np.take(squares, 1, axis)
            squares = np.stack([low, high - low], axis)
        return np.maximum(squares, 0.0)

    def interchangeable(self, eigenvalues: NDArray) -> tuple[int, ...]:  # type: ignore[type-arg]
        """Class of each attribute; attributes of a class can be exchanged in the matrix with these
        eigenvalues.
        """
        classes: list[int] = []
        for place, size in enumerate(self.sizes):
            kin = (k for k in range(place) if self.sizes[k] == size)
            first = next(
                (k for k in kin if _close(eigenvalues, eigenvalues.swapaxes(k, place))), None
            )
            classes.append(max(classes, default=-1) + 1 if first is None else classes[first])
        return tuple(classes)


def _close(first: NDArray, second: NDArray) -> bool:  # type: ignore[type-arg]
    return bool(np.abs(first - second).max() <= SAME * np.abs(first).max())
