r"""The worst case on a given list of columns: designs against weights, a saddle point by Newton steps.

.. math:: \min_{\theta \ge 0, \sum \theta_A v_A = 1} \; \max_{r \ge 0, \sum r = 1} \;
          \operatorname{tr}\Big(G \big(\textstyle\sum_A \theta_A v_A v_A^T / (r \cdot v_A)\big)^{-1}\Big)
          - \sum_x r_x G_{xx}

convex in ``theta`` and concave in ``r``. Logarithms keep both positive; their weight falls from step to step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.foundation.checks import Float
from ldpopt.foundation.clock import NO_LIMIT, Deadline

STEPS = 150
"""Limit on Newton steps."""

TO_BORDER = 0.95
"""Share of the way to the border that a step may go."""


@dataclass(frozen=True, eq=False)
class Saddle:
    """A point near the saddle.

    Attributes
    ----------
    theta : ndarray, shape (m,)
        Multiples of the columns.
    r : ndarray, shape (n,)
        Weights of the answers: the hardest ones.
    line : ndarray, shape (n,)
        Multipliers of ``sum theta v = 1``.
    """

    theta: Float
    r: Float
    line: Float


class _Scaled:
    """The columns with their contrasts stretched to about 1, and the Gram matrix that fits: small budgets lose nothing.

    Sums to 1 stay sums to 1. The objective is divided by the square of the stretch.
    """

    def __init__(self, v: Float, gram: Float) -> None:
        n = v.shape[1]
        middle = v.mean(axis=1, keepdims=True)
        self.stretch = 1 / float(np.abs(v - middle).max())
        self.vectors = middle + self.stretch * (v - middle)
        self.map = self.stretch * np.eye(n) + np.full((n, n), (1 - self.stretch) / n)
        self.gram = self.map @ gram @ self.map / self.stretch**2
        self.own = np.diag(gram) / self.stretch**2

    def line(self, line: Float) -> Float:
        """Multipliers of the columns as they are."""
        return np.asarray(self.map @ line * self.stretch**2)


class _State:
    """Derivatives at a point."""

    def __init__(self, v: Float, scaled: _Scaled, theta: Float, r: Float) -> None:
        gram, said = scaled.gram, scaled.vectors
        self.mass = v @ r
        weight = theta / self.mass
        inverse = np.linalg.inv((said.T * weight) @ said)
        inverse = (inverse + inverse.T) / 2
        price = inverse @ gram @ inverse
        left = said @ price
        self.cost = np.einsum("ax,ax->a", left, said)
        curved = 2 * (said @ inverse @ said.T) * (left @ said.T)
        bent = v * (weight / self.mass)[:, None]
        cross = curved @ bent
        self.by_theta = -self.cost / self.mass
        self.by_r = bent.T @ self.cost - scaled.own
        self.theta_theta = curved / self.mass / self.mass[:, None]
        self.theta_r = v * (self.cost / self.mass**2)[:, None] - cross / self.mass[:, None]
        self.r_r = bent.T @ cross - 2 * (v.T * (self.cost * weight / self.mass**2)) @ v


def solve_saddle(
    v: Float, gram: Float, theta: Float, r: Float, *, gap: float = 1e-9, deadline: Deadline = NO_LIMIT
) -> Saddle:
    """Find the saddle point.

    Parameters
    ----------
    v : ndarray, shape (m, n)
        The columns.
    gram : ndarray, shape (n, n)
        ``W^T W``, of trace about 1.
    theta, r : ndarray
        Positive point to begin with.
    gap : float
        Sum of the complementary products at which to stop. Default: ``1e-9``.
    deadline : Deadline
        When to stop anyway. Default: ``NO_LIMIT``.
    """
    m, n = v.shape
    scaled, level = _Scaled(v, gram), 0.1
    slack, spare = level / theta, level / r
    line, total = np.zeros(n), 0.0
    for _ in range(STEPS):
        at = _State(v, scaled, theta, r)
        first = at.by_theta + scaled.vectors @ line - slack
        second = at.by_r - total + spare
        off = np.abs(scaled.vectors.T @ theta - 1).max() + abs(r.sum() - 1)
        curved = float(theta @ np.abs(first) + r @ np.abs(second))
        if level * (m + n) <= gap and curved <= 10 * gap and off <= gap:
            break
        if curved + off <= level * (m + n):
            level = max(0.2 * level, 0.3 * gap / (m + n))
        step = _step(at, scaled.vectors, (theta, r, slack, spare, line, total), level)
        if step is None or deadline.is_over:
            break
        dtheta, dr, dslack, dspare, dline, dtotal = step
        length = min(_length(theta, dtheta), _length(r, dr), _length(slack, dslack), _length(spare, dspare))
        theta, r = theta + length * dtheta, r + length * dr
        slack, spare = slack + length * dslack, spare + length * dspare
        line, total = line + length * dline, total + length * dtotal
    return Saddle(theta, r, scaled.line(line))


def _step(at: _State, v: Float, point: tuple[Float, Float, Float, Float, Float, float], level: float) -> tuple | None:  # type: ignore[type-arg]
    """Newton step of the conditions, with products at ``level``."""
    theta, r, slack, spare, line, total = point
    m, n = v.shape
    size = m + 2 * n + 1
    matrix, right = np.zeros((size, size)), np.zeros(size)
    ends = m + n
    matrix[:m, :m] = at.theta_theta + np.diag(slack / theta)
    matrix[:m, m:ends] = at.theta_r
    matrix[m:ends, :m] = at.theta_r.T
    matrix[m:ends, m:ends] = at.r_r - np.diag(spare / r)
    matrix[:m, ends:-1] = v
    matrix[ends:-1, :m] = v.T
    matrix[m:ends, -1] = matrix[-1, m:ends] = -1.0
    right[:m] = -(at.by_theta + v @ line) + level / theta
    right[m:ends] = -(at.by_r - total) - level / r
    right[ends:-1] = 1 - v.T @ theta
    right[-1] = r.sum() - 1
    scale = np.ones(size)
    scale[:ends] = np.concatenate([theta, r])
    try:
        solved = scale * np.linalg.solve(matrix * scale * scale[:, None], right * scale)
    except np.linalg.LinAlgError:
        return None
    dtheta, dr = solved[:m], solved[m:ends]
    dslack = (level - slack * dtheta) / theta - slack
    dspare = (level - spare * dr) / r - spare
    return dtheta, dr, dslack, dspare, solved[ends:-1], float(solved[-1])


def _length(point: Float, step: Float) -> float:
    shrinking = step < 0
    return min(1.0, TO_BORDER * float(np.min(-point[shrinking] / step[shrinking], initial=np.inf)))
