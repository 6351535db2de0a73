r"""The reduced program: which sets, each with all its images, tell most where it counts.

With ``s_j(A)`` what the images of a set tell of the class ``j`` of eigenspaces, and ``c_j = mu_j rank_j^2``,

.. math:: \min_{q \ge 0, \sum q = 1} \sum_j \frac{c_j}{\sum_A q_A s_j(A)} .
"""

from __future__ import annotations

import numpy as np

from ldpopt.foundation.numbers import Float

STEPS = 200
"""Limit on Newton steps; 20 to 40 are usual."""

TO_BORDER = 0.95
"""Share of the way to the border that a step may go."""


def solve_reduced(cost: Float, told: Float, gap: float) -> tuple[Float, float]:
    r"""Probabilities of the sets, and the value.

    The value is homogeneous: ``sum q = 1`` is replaced by adding ``sum q`` to the value and scaling at the end.

    Shapes: ``cost`` (c,), ``told`` (m, c).

    Examples
    --------
    >>> import numpy as np
    >>> q, value = solve_reduced(np.array([1.0, 1.0]), np.array([[1.0, 0.0], [0.0, 1.0], [0.4, 0.4]]), 1e-9)
    >>> q.round(6).tolist(), round(float(value), 6)
    ([0.5, 0.5, 0.0], 4.0)
    """
    scale = told.max(axis=0)
    told, cost = told / scale, cost / scale
    cost, unit = cost / cost.sum(), cost.sum()
    q = np.full(len(told), 1.0 / len(told))
    q *= np.sqrt((cost / (q @ told)).sum())
    slack = np.ones(len(q))
    for _ in range(STEPS):
        s = q @ told
        price = told @ (cost / s**2)
        value = float((cost / s).sum())
        # value * sum q is the value at a total of 1, (value of the prices)^2 / largest its bound.
        if 1 - value / (q.sum() * price.max()) <= gap:
            break
        level = float(q @ slack) / len(q) * 0.1
        # (2 diag(told c / s^3 told^T) + diag(slack / q)) dq = price - 1 + level / q, by the inverse of a small matrix.
        spread = q / slack
        right = price - 1 + level / q
        small = np.diag(s**3 / (2 * cost)) + (told.T * spread) @ told
        dq = spread * (right - told @ np.linalg.solve(small, told.T @ (spread * right)))
        dslack = (level - slack * dq) / q - slack
        length = min(_length(q, dq), _length(slack, dslack))
        q, slack = q + length * dq, slack + length * dslack
    return q / q.sum(), value * float(q.sum()) * unit


def _length(point: Float, step: Float) -> float:
    shrinking = step < 0
    return min(1.0, TO_BORDER * float(np.min(-point[shrinking] / step[shrinking], initial=np.inf)))
