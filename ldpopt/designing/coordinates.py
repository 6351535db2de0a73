r"""Coordinates in which a design is well scaled: scores of columns, and the workload's Gram matrix.

A column ``v`` of the cone, reported with probability ``q = theta (r.v)``, has the score vector ``g
= v / (r.v) - 1``, which is orthogonal to the weights ``r``, as are the rows of the centered
workload: coordinates are in that space.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy.cones.columns import Columns

CONSTANT = 1e-13  # a centered workload below this share of the workload itself depends on no answer
# the workload does not need directions with less than this share of the largest eigenvalue
UNNEEDED = 1e-14


@dataclass(frozen=True, eq=False)
class Contrasts:
    """A workload's Gram matrix and the weights of the answers, with coordinates for scores of
    columns.
    """

    gram: Float  # W^T W, shape (n, n)
    weights: Float  # r, shape (n,), summing to 1; zeros are allowed
    unit: float = 1.0  # coordinates of scores are divided by it

    def scaled_to(self, columns: Columns) -> "Contrasts":
        """The unit with which the largest coordinate of these columns is 1."""
        return replace(self, unit=float(np.abs(self.scores(columns)).max()))

    @cached_property
    def basis(self) -> Float:
        """Orthonormal basis of the vectors orthogonal to the weights, shape ``(n, n - 1)``."""
        # Along the directions of the workload: those that it does not need have coordinates of
        # their own, so that little information there costs no digits elsewhere.
        return self._directions[0]

    @cached_property
    def _directions(self) -> tuple[Float, Float]:
        """The basis, and the diagonal of the Gram matrix in it."""
        complete: Float = np.linalg.qr(self.weights[:, None], mode="complete")[0]
        plain = complete[:, 1:]
        values, vectors = np.linalg.eigh(plain.T @ self.centered @ plain)
        values = np.where(values > UNNEEDED * values[-1], values, 0.0)
        return np.asarray(plain @ vectors[:, ::-1]), values[::-1].copy()

    @cached_property
    def reduced(self) -> Float:
        """Gram matrix of the centered workload in these coordinates, divided by `size`."""
        return np.diag(self._directions[1] / self.size)

    @cached_property
    def centered(self) -> Float:
        """Gram matrix of the workload less the average of each row over the weights."""
        mean = self.gram @ self.weights
        return np.asarray(self.gram - mean - mean[:, None] + self.weights @ mean)

    @cached_property
    def size(self) -> float:
        """Trace of the Gram matrix of the centered workload."""
        trace = float(self._directions[1].sum())
        if not trace > CONSTANT * float(np.trace(self.gram)):
            raise constant_workload()
        return trace

    @cached_property
    def spread(self) -> float:
        """``sum_x r_x |W_x - W r|^2``: variance of the true values among people."""
        # `value` is the variance of a report plus this.
        return float(self.weights @ np.maximum(np.diag(self.centered), 0.0))

    def scores(self, columns: Columns) -> Float:
        """Coordinates of the scores of columns, one column a row."""
        return np.asarray(columns.scores(self.weights) @ self.basis / self.unit)

    def over_answers(self, matrix: Float) -> Float:
        """A quadratic form, or a vector, in these coordinates, rewritten for vectors over all
        answers.
        """
        if matrix.ndim == 1:
            return np.asarray(self.basis @ matrix / self.unit)
        return np.asarray(self.basis @ matrix @ self.basis.T / self.unit**2)

    def needed(self, inverse: Float) -> Float:
        """``S`` over all answers, without the rows that the workload does not need: they may be
        huge.
        """
        kept = self._directions[1] > 0
        return np.asarray(self.basis[:, kept] @ inverse[kept] @ self.basis.T / self.unit**2)

    def value(self, reduced_value: float) -> float:
        """``tr(W_c I^-1 W_c^T)`` in the workload's own unit."""
        return reduced_value * self.size / self.unit**2

    def rotations(self, permutations: Int) -> Float:
        """Orthogonal matrices by which permutations of the answers change the coordinates, acting
        from the right.
        """
        return np.array([self.basis[order].T @ self.basis for order in permutations])


def constant_workload() -> StatementError:
    """The error for a workload that depends on no answer."""
    problem = "every number of the workload is the same for all answers: it is known without asking"
    return StatementError(
        problem, code="constant-workload", do="give a workload that depends on the answer"
    )
