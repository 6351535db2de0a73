"""Designs for the worst case: the weights that are hardest, and a design that is as good for every answer.

The smallest worst variance equals the largest average over the weights. A bound for any weights is therefore a bound
for the worst case, with the same certificate.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpopt.designing.column_generation import UNUSED, Optimum, Solved, generate_columns
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.dual import Dual
from ldpopt.designing.masters import MinimaxDesign, MinimaxMaster, half_inverse
from ldpopt.designing.pricing import Cone, Price
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.columns import Columns

LEAST = 0.01
"""Weights of the answers together that are equal, in multiples of the gap aimed at: the bound loses no larger share."""

LEAST_WEIGHT = 1e-9
"""At least so much: reports of answers with weights near 0 have coordinates that floats cannot hold."""


def generate_worst(
    gram: Float, cone: Cone, *, gap: float = 1e-6, deadline: Deadline = NO_LIMIT
) -> tuple[Optimum, float]:
    """Design for the largest variance over the answers, by column generation.

    Shapes: ``gram`` (n, n).
    """
    n = len(gram)
    master = _Worst(gram, gap)
    return generate_columns(master, cone, cone.first(gram), np.full(n, 1 / n), gap=gap, deadline=deadline)


class _Worst:
    """The largest variance over the answers."""

    def __init__(self, gram: Float, gap: float) -> None:
        n = len(gram)
        self.gram, self.least = gram, least_weight(n, gap)
        self.symmetries, self.room = np.arange(n)[None], n * (n + 1) // 2 + n

    def solve(self, columns: Columns, x: Float | None, r: Float, gap: float, deadline: Deadline) -> Solved:
        found = solve_minimax(self.gram, columns, x, r, gap=gap, least=self.least, deadline=deadline)
        optimum, variance = worst_design(self.gram, columns, found, used=UNUSED)
        dual = optimum.dual
        form = dual.inverse.T @ optimum.contrasts.centered @ dual.inverse
        return Solved(
            found.theta, dual.weights, Price(form, dual.slope, dual.weights), found.gap, found.off, optimum, variance
        )


def least_weight(n: int, gap: float) -> float:
    """Smallest weight of an answer."""
    return max(LEAST * gap, LEAST_WEIGHT) / n


def solve_minimax(
    gram: Float, columns: Columns, theta: Float | None, r: Float, *, gap: float, least: float, deadline: Deadline
) -> MinimaxDesign:
    """Saddle point on given columns."""
    v, unit = columns.vectors, float(np.trace(gram))
    start = np.full(len(v), 1 / v.sum(axis=0).max()) if theta is None else theta
    found = MinimaxMaster(v, gram / unit, least).solve(start, r, gap=gap, deadline=deadline)
    return replace(found, r=found.r / found.r.sum(), line=found.line * unit)


def worst_design(gram: Float, columns: Columns, found: MinimaxDesign, *, used: float) -> tuple[Optimum, float]:
    """Design of a saddle point with its multipliers, and its largest variance.

    Columns with less than ``used`` of the largest multiple are left out.
    """
    places = np.flatnonzero(found.theta > used * found.theta.max())
    columns = columns.take(places)
    contrasts = Contrasts(gram, found.r)
    contrasts = replace(contrasts, unit=float(np.abs(contrasts.atoms(columns)).max()))
    r, atoms, mass = found.r, contrasts.atoms(columns), columns.mass(found.r)
    q = found.theta[places] * mass
    q /= q.sum()
    half = half_inverse(atoms, q, contrasts.reduced)
    inverse = half @ half.T
    value = contrasts.value(float(np.sum(inverse * contrasts.reduced)))
    whole = contrasts.needed(inverse)
    # The saddle prices the workload as it is: the part of its average over the weights is taken off.
    mean = gram @ r
    line = found.line - 2 * whole.T @ (mean - r @ mean)
    dual = Dual(r, whole, value, value, line - r * line.sum())
    estimator = contrasts.basis / contrasts.unit @ (half @ (atoms @ half).T)
    moments = np.einsum("xa,xa->a", contrasts.centered @ estimator, estimator)
    theta = q / mass
    second = (columns.vectors.T @ (theta * moments)) / (columns.vectors.T @ theta)
    variance = float((second - np.diag(contrasts.centered)).max())
    return Optimum(contrasts, columns, q, value, dual, 0), variance
