"""Designs for the worst case: the weights that are hardest, and a design that is as good for every answer.

The smallest worst variance equals the largest average over the weights. A bound for any weights is therefore a bound
for the worst case, with the same certificate.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpopt.designing.column_generation import ROUNDS, UNUSED, Optimum, fresh_ones, generate
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.dual import Dual
from ldpopt.designing.pricing import Cone, Price, Priced
from ldpopt.designing.saddle import Saddle, solve_saddle
from ldpopt.foundation.checks import Float
from ldpopt.foundation.clock import NO_LIMIT, Deadline
from ldpopt.privacy.cones.columns import Columns

FINEST = 1e-15
"""Smallest gap of a saddle that is asked for, in multiples of the trace of the Gram matrix."""

POOR = 1e-3
"""Gap above which the average design for the same weights is asked for better multipliers."""


def generate_worst(
    gram: Float, cone: Cone, *, gap: float = 1e-6, deadline: Deadline = NO_LIMIT
) -> tuple[Optimum, float]:
    """Design for the largest variance over the answers, by column generation.

    Parameters
    ----------
    gram : ndarray, shape (n, n)
        ``W^T W``; no two answers are alike.
    cone : Cone
        The columns; all are priced.
    gap : float
        Relative gap that is aimed at. Default: ``1e-6``.
    deadline : Deadline
        When to stop anyway. Default: ``NO_LIMIT``.

    Returns
    -------
    Optimum
        The design for its own weights, and multipliers that prove a bound for theirs.
    float
        Largest variance of the design.
    """
    n = len(gram)
    columns = cone.first(gram)
    identity = np.arange(n)[None]
    # Scaled by what single answers cost.
    unit = gram / np.trace(gram)
    theta = np.full(len(columns), 1 / columns.vectors.sum(axis=0).max())
    r, target, rounds = np.full(n, 1.0 / n), 1e-2, 0
    best: tuple[Optimum, float] | None = None
    dual: tuple[Contrasts, Dual] | None = None
    while True:
        rounds += 1
        found = solve_saddle(columns.vectors, unit, theta, r, gap=target, deadline=deadline)
        now, priced, worst = _priced(gram, cone, columns, found, rounds)
        if best is None or worst < best[1]:
            best = now, worst
        if dual is None or _bound(now.contrasts, now.dual) > _bound(*dual):
            dual = now.contrasts, now.dual
        left = 1 - _bound(*dual) / best[1]
        if left <= gap or rounds == ROUNDS or deadline.is_over:
            break
        fresh = fresh_ones(priced.shapes, columns, identity)
        # The saddle's gap is one of the costs, of which little is left where the budget is large.
        least = max(gap * 1e-3 * min(1.0, best[1] / np.trace(gram)), FINEST)
        if not len(fresh) and target <= least:
            break
        reached = max(1 - now.value / now.dual.largest, 0.0)
        target = max(min(0.1 * reached if len(fresh) else target / 10, target), least)
        kept = np.flatnonzero((found.theta > 1e-6 / len(columns)) | (columns.shapes.sum(axis=1) == 1))
        columns = columns.take(kept).with_more(fresh)
        theta = np.concatenate([found.theta[kept], np.zeros(len(fresh))])
        theta = 0.7 * theta + 0.3 * theta.sum() / len(theta)
        r = 0.9 * found.r / found.r.sum() + 0.1 / n
    if left > max(gap, POOR) and not deadline.is_over:
        dual = _steadier(dual, cone, gap, deadline)
    return replace(best[0], dual=dual[1], rounds=rounds), best[1]


def _steadier(dual: tuple[Contrasts, Dual], cone: Cone, gap: float, deadline: Deadline) -> tuple[Contrasts, Dual]:
    """Multipliers of the average design for the same weights, where they prove more: floats may spoil a saddle's."""
    own = generate(Contrasts(dual[0].gram, dual[0].weights), cone, gap=gap, deadline=deadline)
    return max(dual, (own.contrasts, own.dual), key=lambda pair: _bound(*pair))


def _bound(contrasts: Contrasts, dual: Dual) -> float:
    return dual.bound - contrasts.spread


def _priced(gram: Float, cone: Cone, columns: Columns, found: Saddle, rounds: int) -> tuple[Optimum, Priced, float]:
    """Design of a saddle point with its bound for the weights there, and its largest variance."""
    contrasts = Contrasts(gram, found.r / found.r.sum())
    contrasts = replace(contrasts, unit=float(np.abs(contrasts.atoms(columns)).max()))
    atoms, mass = contrasts.atoms(columns), columns.mass(contrasts.weights)
    q = found.theta * mass
    q /= q.sum()
    inverse = np.linalg.inv((atoms.T * q) @ atoms)
    inverse = (inverse + inverse.T) / 2
    reduced = float(np.sum(inverse * contrasts.reduced))
    whole = contrasts.needed(inverse)
    # The saddle prices the workload as it is: what is due to its average over the weights comes off.
    mean = gram @ contrasts.weights
    line = found.line * np.trace(gram) - 2 * whole.T @ (mean - contrasts.weights @ mean)
    tilt = line - contrasts.weights * line.sum()
    form = whole.T @ contrasts.centered @ whole
    priced = cone.price(Price(form, tilt, contrasts.weights), contrasts.value(reduced) * (1 + 1e-12), columns, 200)
    value = contrasts.value(reduced)
    dual = Dual(contrasts.weights, whole, value, max(priced.largest, value), tilt)
    estimator = contrasts.basis / contrasts.unit @ (inverse @ atoms.T)
    moments = np.einsum("xa,xa->a", contrasts.centered @ estimator, estimator)
    theta = q / mass
    total = columns.vectors.T @ theta
    worst = float(((columns.vectors.T @ (theta * moments)) / total - np.diag(contrasts.centered)).max())
    used = q > UNUSED
    optimum = Optimum(contrasts, columns.take(np.flatnonzero(used)), q[used] / q[used].sum(), value, dual, rounds)
    return optimum, priced, worst
