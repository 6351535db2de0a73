r"""The least influence that a private design can have, by a linear program.

In the weights :math:`\theta_A` of the columns and :math:`u_{Aj} = \theta_A V_{Aj} / \lambda`,

.. math:: \max 1 / \lambda \quad \text{subject to} \quad \sum_A \theta_A v_A = 1, \quad
          \sum_A u_{Aj} v_A = W_j / \lambda, \quad |u_{Aj}| \le b_j \theta_A,

is the least factor by which the limits ``b`` have to be multiplied. Columns are added by their
price, the slack of the dual condition :math:`\sum_j b_j |K_j \cdot v| \le y \cdot v`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.certificate.design_bound import subset_sums
from ldpopt.designing.methods.capped.columns import CappedColumns
from ldpopt.designing.private_columns import ListedRays, Staircases, indicators, local_maxima
from ldpopt.errors import CertificateError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

ROUNDS = 200
TOLERANCE = 1e-11
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class Least:
    """The least factor of the limits from above and from below, and a design that has it."""

    factor: float
    proved: float  # no design has less, but for the rounding of floats
    vectors: Float  # columns, shape (m, n)
    weights: Float  # theta, (m,)
    slope: Float  # K, (k, n), of the dual program
    line: Float  # y, of sum 1


def of_one_number(cone: Staircases, row: Float, limit: float) -> Least:
    r"""The least factor of the limit of one number under pure privacy, :math:`\coth(\epsilon / 2)`
    if that is half of its span: the columns are those of thresholds of the number, in proportion to
    the steps between its values.
    """
    places = np.unique(row)
    sets = np.array([row > place for place in places[:-1]], dtype=np.float64)
    share = np.diff(places) / (places[-1] - places[0]) / (1 + cone.base)
    vectors = cone.columns(np.vstack([sets, 1 - sets])).vectors
    half = (places[-1] - places[0]) / 2
    factor = (1 + cone.base) / cone.spread * half / limit
    line = np.zeros(len(row))
    line[[row.argmin(), row.argmax()]] = 0.5
    slope = np.zeros((1, len(row)))
    # sum_j b_j |K_j.v| <= y.v is an equation for sets with one of both
    slope[0, [row.argmin(), row.argmax()]] = np.array([-0.5, 0.5]) * factor / half
    return Least(factor, factor, vectors, np.concatenate([share, share]), slope, line)


def least_factor(
    columns: CappedColumns, rows: Float, limits: Float, start: Float, deadline: Deadline
) -> Least:
    """The least factor of the limits for which an unbiased design exists, by column generation:
    solve the program of some columns, price all others, add the worst.

    ``rows`` are those of the workload (k, n), ``limits`` its caps (k,), ``start`` columns (m, n) of
    which some design is made. The result has ``K`` as ``slope`` and ``y`` as ``line``.
    """
    vectors = np.unique(start, axis=0)
    low = 0.0
    for _ in range(ROUNDS):
        factor, theta, slope, line = _restricted(vectors, rows, limits)
        over, more = _priced(columns, slope, line, limits, 4 * vectors.shape[1])
        # the sum of y is 1, and y raised by `over` holds for all columns
        low = max(low, factor / (1 + max(over, 0.0) * len(line)))
        known = {vector.tobytes() for vector in vectors}
        fresh = [vector for vector in more if vector.tobytes() not in known]
        if factor - low <= TOLERANCE * factor or not fresh or deadline.is_over:
            break
        vectors = np.vstack([vectors, *fresh])
    return Least(factor, low, vectors[theta > 0], theta[theta > 0], slope, line)


def _restricted(vectors: Float, rows: Float, limits: Float) -> tuple[float, Float, Float, Float]:
    """The program of some columns: its factor and weights, ``K`` and ``y`` of sum 1."""
    from scipy import optimize, sparse

    sp: Any = sparse
    linprog: Any = optimize.linprog

    m, n = vectors.shape
    k = len(rows)
    matrix = sp.csr_matrix(vectors.T)
    # variables theta, u_1 .. u_k, 1 / lambda
    equal = sp.block_array(
        [
            [matrix, None, sp.csr_matrix((n, 1))],
            [None, sp.kron(sp.eye(k), matrix), sp.csr_matrix(-rows.reshape(-1, 1))],
        ],
        format="csr",
    )
    limit = sp.kron(sp.csr_matrix(-limits[:, None]), sp.eye(m))
    size = sp.eye(k * m)
    zero = sp.csr_matrix((k * m, 1))
    upper = sp.block_array([[limit, size, zero], [limit, -size, zero]], format="csr")
    cost = np.zeros((k + 1) * m + 1)
    cost[-1] = -1.0
    bounds = [(0, None)] * m + [(None, None)] * (k * m) + [(0, None)]
    right = np.concatenate([np.ones(n), np.zeros(k * n)])
    program = {"A_ub": upper, "b_ub": np.zeros(2 * k * m), "A_eq": equal, "b_eq": right}
    solved = linprog(cost, **program, bounds=bounds, method="highs-ds", options=EXACT)
    if solved.status != 0 or not solved.x[-1] > 0:
        raise CertificateError(
            "the linear program for the least influence has no solution in floats",
            code="least-influence",
            do="choose another epsilon, or merge answers that are alike",
        )
    prices = solved.eqlin.marginals
    total = -prices[:n].sum()
    slope = prices[n:].reshape(k, n) / total
    return 1 / float(solved.x[-1]), solved.x[:m], slope, -prices[:n] / total


def _priced(
    columns: CappedColumns, slope: Float, line: Float, limits: Float, most: int
) -> tuple[float, Float]:
    """The largest excess of ``sum_j b_j |K_j.v|`` over ``y.v``, as a share of the sum of ``v``, and
    columns of large excess.
    """
    cone = columns.cone
    if isinstance(cone, ListedRays):
        vectors = cone.all.vectors
        costs = limits @ np.abs(slope @ vectors.T) - vectors @ line
        order = np.argsort(-costs)[:most]
        over = float((costs / vectors.sum(axis=1)).max())
        return over, vectors[order[costs[order] > TOLERANCE]]
    n = cone.n
    costs = -(cone.base * line.sum() + cone.spread * subset_sums(line))
    for row, limit in zip(slope, limits, strict=True):
        costs += limit * np.abs(cone.base * row.sum() + cone.spread * subset_sums(row))
    sums = cone.base * n + cone.spread * subset_sums(np.ones(n))
    places = np.flatnonzero(local_maxima(costs, n) & (costs > TOLERANCE))
    places = places[np.argsort(-costs[places])][:most]
    return float((costs / sums).max()), cone.columns(indicators(places, n)).vectors
