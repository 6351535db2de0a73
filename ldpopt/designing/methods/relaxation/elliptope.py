r"""The bound for any number of answers: the smallest cost that a positive semidefinite matrix can prove.

.. math:: \min \eta \quad \text{subject to} \quad
          \eta \, p p^T + \tfrac12 (p u^T + u p^T) + \operatorname{diag}(d) - \bar N \succeq 0, \quad
          \textstyle\sum u = 0, \quad \sum d = 0

with ``p = (a, h r)`` and ``N`` in signs, to which multiples of inequalities of sets are added: see
`design_bound_elliptope`. A barrier method with Newton steps over ``eta``, ``u`` and ``d``.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from ldpopt.designing.private_columns import Dual, Staircases
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float

FASTER = 0.15  # factor of the weight of the barrier from one center to the next
STEPS = 400  # limit on Newton steps; 40 to 80 are usual


@dataclass(frozen=True, eq=False)
class _Cost:
    """The matrix inequality, divided by the value."""

    direction: Float
    cost: Float

    def slack(self, x: Float) -> Float:
        """The matrix at ``x = (eta, u, d)``, which has to be positive definite."""
        n = len(self.direction) - 1
        tilt = np.concatenate([[0.0], x[1 : n + 1]])
        cross = np.outer(self.direction, x[0] * self.direction + tilt)
        matrix = (cross + cross.T) / 2 - self.cost
        matrix[np.diag_indices_from(matrix)] += x[n + 1 :]
        return matrix

    def derivatives(self, inverse: Float) -> tuple[Float, Float]:
        """Gradient and Hessian of minus the log determinant."""
        n, p = len(self.direction) - 1, self.direction
        along = inverse @ p
        through = float(p @ along)
        gradient = -np.concatenate([[through], along[1:], np.diag(inverse)])
        hessian = np.empty((2 * n + 2, 2 * n + 2))
        hessian[0, 0] = through**2
        hessian[0, 1 : n + 1] = through * along[1:]
        hessian[0, n + 1 :] = along**2
        hessian[1 : n + 1, 1 : n + 1] = (through * inverse[1:, 1:] + np.outer(along[1:], along[1:])) / 2
        hessian[1 : n + 1, n + 1 :] = inverse[1:] * along
        hessian[n + 1 :, n + 1 :] = inverse**2
        lower = np.tril_indices_from(hessian, -1)
        hessian[lower] = hessian.T[lower]
        return gradient, hessian


def raise_cost(dual: Dual, form: Float, cone: Staircases, gap: float, deadline: Deadline = NO_LIMIT) -> Dual:
    """The dual with the smallest cost that is proved for all columns; ``form`` is ``N``, shape ``(n, n)``."""
    r, size = dual.weights, dual.value
    n, a, h = len(r), cone.base + cone.spread / 2, cone.spread / 2
    tilt = np.eye(n) - np.outer(np.ones(n), r)
    cost = np.zeros((n + 1, n + 1))
    cost[1:, 1:] = h**2 * (tilt.T @ form @ tilt) / size
    if dual.inequalities is not None:
        cost += dual.inequalities.form / size
    inequality = _Cost(np.concatenate([[a], h * r]), cost)
    x = _follow(inequality, _start(inequality, r, a, h), gap, deadline)
    return replace(dual, largest=float(x[0]) * size, slope=x[1 : n + 1] / h * size, shift=x[n + 1 :] * size)


def _start(inequality: _Cost, r: Float, a: float, h: float) -> Float:
    """An interior point: a large multiple of one for the cost 0."""
    n = len(r)
    mixed = (1 - h * h / (a * a)) / 2
    share = (1 - mixed) * r + mixed / n
    room = (a * a - h * h * float(np.sum(r * r / share))) / 2
    x = np.concatenate([[1.0], np.zeros(n), [-room], room * share])
    free = _Cost(inequality.direction, np.zeros_like(inequality.cost)).slack(x)
    most = float(eigh(inequality.cost, free, eigvals_only=True)[-1])
    return 2 * most * x


def _follow(inequality: _Cost, x: Float, gap: float, deadline: Deadline) -> Float:
    """Newton steps along the path of centers."""
    n = len(inequality.direction) - 1
    weight = float(x[0])
    equations = np.zeros((2, 2 * n + 2))
    equations[0, 1 : n + 1], equations[1, n + 1 :] = 1.0, 1.0
    for _ in range(STEPS):
        step, size = _newton(inequality, x, weight, equations)
        x = _inside(inequality, x, step)
        if deadline.is_over and x[0] < 1e3:
            break
        if size < 0.5:
            if weight * (n + 1) <= gap * x[0]:
                break
            weight *= FASTER
    return x


def _newton(inequality: _Cost, x: Float, weight: float, equations: Float) -> tuple[Float, float]:
    """Newton step for ``eta / weight - log det`` and its length in the local norm."""
    inverse = np.linalg.inv(inequality.slack(x))
    gradient, hessian = inequality.derivatives((inverse + inverse.T) / 2)
    gradient[0] += 1 / weight
    diagonal = np.diag(hessian)
    if not (diagonal > 0).all():  # the inverse overflows
        return np.zeros_like(x), 0.0
    scale = 1 / np.sqrt(diagonal)
    hessian *= scale
    hessian *= scale[:, None]
    rows = equations * scale
    try:
        hessian[np.diag_indices_from(hessian)] += 1e-13
        factor = cho_factor(hessian, check_finite=False)
        solved = cho_solve(factor, np.column_stack([gradient * scale, rows.T]), check_finite=False)
    except LinAlgError:
        return np.zeros_like(x), 0.0
    # The step also corrects rounding errors of the equations.
    dual = np.linalg.solve(rows @ solved[:, 1:], rows @ solved[:, 0] - equations @ x)
    step = scale * (solved[:, 1:] @ dual - solved[:, 0])
    return step, math.sqrt(max(-float(gradient @ step), 0.0))


def _inside(inequality: _Cost, x: Float, step: Float) -> Float:
    """The point after nine tenths of the longest step, at most 1, with a positive definite matrix."""
    length = 1.0
    for _ in range(60):
        try:
            np.linalg.cholesky(inequality.slack(x + length / 0.9 * step))
        except np.linalg.LinAlgError:
            length *= 0.7
            continue
        return np.asarray(x + length * step)
    return x
