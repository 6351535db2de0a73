r"""The program on a given list of columns: an optimal design, by a primal-dual interior point.

In the coordinates of `contrasts` a column is a probability ``q`` of its report and a vector ``g``:

.. math:: \min_q \operatorname{tr}(G M^{-1}), \quad M = \sum_A q_A g_A g_A^T
          \qquad \text{subject to} \quad \sum_A q_A = 1, \quad \sum_A q_A g_A = 0, \quad q \ge 0 .

With ``S = M^-1`` and ``N = S G S`` the multipliers ``(eta, slope)`` of the equations prove a bound where
``g N g <= eta + slope g`` for every column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ldpopt.foundation.checks import Float
from ldpopt.foundation.clock import NO_LIMIT, Deadline

STEPS = 100
"""Limit on Newton steps; 10 to 30 are usual."""

TO_BORDER = 0.99
"""Share of the way to the border that a step may go."""

CURVED = 0.3
"""Share of the gap by which slacks may differ from what the prices leave before the gap is reduced further."""

STALLED = 20
"""Steps without a smaller gap before the iteration ends."""


@dataclass(frozen=True, eq=False)
class Restricted:
    """A design on given columns.

    Attributes
    ----------
    q : ndarray, shape (m,)
        Probability of the report of each column, shared by its images.
    inverse : ndarray, shape (d, d)
        ``S``.
    price : ndarray, shape (d, d)
        ``N``.
    slope : ndarray, shape (d,)
        Multipliers of the centers.
    value : float
        ``tr(G S)``.
    gap : float
        Relative gap on these columns, at least `off`.
    off : float
        Relative residual of the equations: until it is small the value is that of no design.
    """

    q: Float
    inverse: Float
    price: Float
    slope: Float
    value: float
    gap: float
    off: float


class _Iterate:
    """Information, value and prices at weights ``q``."""

    def __init__(self, atoms: Float, images: Float, gram: Float, q: Float) -> None:
        # Averaging over the group: the images of a column share its probability.
        information = np.zeros_like(gram)
        for image in images:
            turned = atoms @ image
            information += (turned.T * q) @ turned
        information /= len(images)
        self.inverse = _inverse(information)
        self.price = self.inverse @ gram @ self.inverse
        self.value = float(np.sum(gram * self.inverse))
        self.left = atoms @ self.inverse
        self.weighted = atoms @ self.price
        self.prices = np.einsum("ad,ad->a", self.weighted, atoms)

    def hessian(self, atoms: Float, images: Float) -> Float:
        """Second derivatives of the value."""
        total = np.zeros((len(atoms), len(atoms)))
        for image in images:
            turned = (atoms @ image).T
            part = self.left @ turned
            part *= self.weighted @ turned
            total += part
        total *= 2.0 / len(images)
        return total


def _inverse(information: Float) -> Float:
    """Inverse of a positive definite matrix, scaled to a unit diagonal first."""
    scale = 1 / np.sqrt(np.diag(information))
    scaled = information * scale * scale[:, None]
    try:
        factor = cho_factor(scaled)
        inverse = cho_solve(factor, np.eye(len(scaled)))
    except LinAlgError:
        values, vectors = np.linalg.eigh(scaled)
        inverse = (vectors / np.maximum(values, 1e-15)) @ vectors.T
    inverse = (inverse + inverse.T) / 2
    return np.asarray(inverse * scale * scale[:, None])


def solve_restricted(
    atoms: Float,
    gram: Float,
    images: Float,
    *,
    start: Float | None = None,
    gap: float = 1e-11,
    deadline: Deadline = NO_LIMIT,
) -> Restricted:
    """Minimise over the probabilities of given columns.

    Parameters
    ----------
    atoms : ndarray, shape (m, d)
        The vectors ``g``, which span the space.
    gram : ndarray, shape (d, d)
        ``G``, invariant under the images.
    images : ndarray, shape (h, d, d)
        A group of orthogonal matrices; ``atoms @ image`` are the images of the columns.
    start : ndarray, shape (m,), optional
        Positive probabilities to begin with.
    gap : float
        Relative gap at which to stop. Default: ``1e-11``.
    deadline : Deadline
        When to stop anyway. Default: ``NO_LIMIT``.

    Returns
    -------
    Restricted
        The best iterate.
    """
    rows = _equations(atoms, images)
    q = np.full(len(atoms), 1.0 / len(atoms)) if start is None else start / start.sum()
    at = _Iterate(atoms, images, gram, q)
    multipliers = np.zeros(len(rows))
    multipliers[0] = 1.1 * at.prices.max()
    slack = multipliers @ rows - at.prices
    best, stalled = None, 0
    for _ in range(STEPS):
        found = _measured(at, q, multipliers, rows, images, atoms)
        if best is None or found.gap < 0.9 * best.gap:
            best, stalled = found, 0
        else:
            stalled += 1
        if best.gap <= gap or stalled >= STALLED or deadline.is_over:
            break
        move = _direction(at, atoms, images, rows, q, slack, multipliers)
        if move is None:
            break
        dq, dslack, dual = move
        length = min(_length(q, dq), _length(slack, dslack))
        q, slack, multipliers = q + length * dq, slack + length * dslack, multipliers + length * dual
        at = _Iterate(atoms, images, gram, q)
    assert best is not None
    return best


def _equations(atoms: Float, images: Float) -> Float:
    """Rows of the equations: the total, and the center in the directions that the group leaves alone."""
    kept, sizes, _ = np.linalg.svd(images.mean(axis=0))
    centers = atoms @ kept[:, sizes > 0.5]
    return np.vstack([np.ones(len(atoms)), centers.T])


def _measured(at: _Iterate, q: Float, multipliers: Float, rows: Float, images: Float, atoms: Float) -> Restricted:
    """Gap of an iterate: its bound is scaled to the worst column, its value to a total of 1."""
    slope = multipliers[1:]
    kept, sizes, _ = np.linalg.svd(images.mean(axis=0))
    offset = float(np.max(at.prices - slope @ rows[1:]))
    bound = at.value**2 / offset if offset > 0 else 0.0
    off = float(np.abs(rows @ q - np.eye(len(rows))[0]).max() / max(np.abs(rows).max(), 1e-300))
    gap = max(1 - bound / at.value, off)
    return Restricted(q, at.inverse, at.price, kept[:, sizes > 0.5] @ slope, at.value, gap, off)


def _direction(
    at: _Iterate, atoms: Float, images: Float, rows: Float, q: Float, slack: Float, multipliers: Float
) -> tuple[Float, Float, Float] | None:
    """Predict without centering, then correct: directions of probabilities, slacks and multipliers."""
    scale = np.sqrt(q / slack)
    matrix = at.hessian(atoms, images)
    matrix *= scale
    matrix *= scale[:, None]
    matrix[np.diag_indices_from(matrix)] += 1.0
    try:
        factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    scaled = rows * scale
    solved = cho_solve(factor, scaled.T, check_finite=False)
    schur = scaled @ solved
    short = np.eye(len(rows))[0] - rows @ q

    def step(target: Float) -> tuple[Float, Float, Float]:
        right = scale * (at.prices - multipliers @ rows + target / q)
        base = cho_solve(factor, right, check_finite=False)
        dual = np.linalg.lstsq(schur, scaled @ base - short, rcond=1e-14)[0]
        dq = scale * (base - solved @ dual)
        return dq, (target - slack * dq) / q - slack, dual

    mean = float(q @ slack) / len(q)
    dq, dslack, _ = step(np.zeros(len(q)))
    length = min(1.0, _length(q, dq), _length(slack, dslack))
    # The prices curve: where the slacks are far from what the prices leave, they come first.
    curved = float(q @ np.abs(multipliers @ rows - at.prices - slack))
    if curved > CURVED * mean * len(q):
        return step(np.full(len(q), mean))
    centering = (1 - length) ** 3 + (1e-3 if curved < 1e-3 * mean * len(q) else 0.03)
    return step(centering * mean - np.clip(dq * dslack, -mean, mean) * length**2)


def _length(point: Float, step: Float) -> float:
    shrinking = step < 0
    return min(1.0, TO_BORDER * float(np.min(-point[shrinking] / step[shrinking], initial=np.inf)))
