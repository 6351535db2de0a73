"""Fewer reports at the same variance: block designs, and basic solutions among the columns of an optimum.

The value depends on the probabilities only through the information, a symmetric matrix, and their equations. A basic
solution of these linear equations has at most ``n (n + 1) / 2`` columns, and ``n`` more where the variance of every
answer stays what it is. Where no permutation of the answers changes anything, balanced sets of one size have the same
information as all sets of that size.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpopt.designing.column_generation import UNUSED, Optimum
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.dual import Dual
from ldpopt.designing.masters import AverageMaster
from ldpopt.designing.methods.balanced_sets import block_design
from ldpopt.designing.pricing import Staircases
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int

RARE = 1e-6
"""Probability below which a report is tried without: interior points end with some that nobody would send."""

SAME = 1e-12
"""Relative difference up to which a Gram matrix counts as unchanged by all permutations."""


def balanced(contrasts: Contrasts, cone: object, most: int | None = None) -> Optimum | None:
    """Balanced sets for a workload that no permutation of the answers changes, with the proof of the best size."""
    n, scale = len(contrasts.weights), _scale(contrasts)
    if not isinstance(cone, Staircases) or scale is None:
        return None
    sizes = np.arange(1, n)
    mass = cone.base + cone.spread * sizes / n
    told = cone.spread**2 * sizes * (n - sizes) / n / mass**2
    for k in np.argsort(-told, kind="stable"):
        if most is None and told[k] < told.max() * (1 - SAME):
            return None
        sets = block_design(n, int(sizes[k]))
        if sets is not None and (most is None or len(sets) <= most):
            break
    else:
        return None
    value, best = scale * (n - 1) ** 2 / told[k], scale * (n - 1) ** 2 / told.max()
    inverse = (n - 1) / told.max() * (np.eye(n) - 1 / n)
    dual = Dual(contrasts.weights, inverse, best, best, np.zeros(n))
    return Optimum(contrasts, cone.columns(sets), np.full(len(sets), 1 / len(sets)), value, dual, 0)


def _scale(contrasts: Contrasts) -> float | None:
    """What the centered workload's Gram matrix is times the projection onto contrasts; None if it is not."""
    r, gram = contrasts.weights, contrasts.centered
    n = len(r)
    scale = float(np.trace(gram)) / (n - 1)
    off = np.abs(gram - scale * (np.eye(n) - 1 / n)).max()
    return scale if np.ptp(r) == 0 and off <= SAME * scale else None


def with_fewer_reports(optimum: Optimum, gap: float, deadline: Deadline = NO_LIMIT) -> Optimum:
    """Drop columns that are not needed, unless that costs more than a share of the gap."""
    rows = _equations(optimum.contrasts.atoms(optimum.columns))
    places = _basic(rows, optimum.q, deadline) if rows.shape[1] > len(rows) else None
    if places is not None:
        start = np.maximum(np.linalg.lstsq(rows[:, places], rows @ optimum.q, rcond=None)[0], 1e-12)
        optimum = _on_columns(optimum, places, start, gap, deadline)
    often = np.flatnonzero(optimum.q > RARE)
    return optimum if len(often) == len(optimum.q) else _on_columns(optimum, often, optimum.q[often], gap, deadline)


def _on_columns(optimum: Optimum, places: Int, start: Float, gap: float, deadline: Deadline) -> Optimum:
    """The best probabilities of some of the columns, if they cost no more than a share of the gap."""
    contrasts = optimum.contrasts
    n, atoms = len(contrasts.weights), contrasts.atoms(optimum.columns)[places]
    if deadline.is_over or np.linalg.matrix_rank(atoms) < n - 1:
        return optimum  # some direction is told by the columns left out only
    master = AverageMaster(atoms, contrasts.reduced, np.eye(n - 1)[None])
    polished = master.solve(start=start, gap=1e-12, deadline=deadline)
    value = contrasts.value(polished.value)
    off = np.abs(_equations(atoms)[:n] @ polished.q - np.eye(n)[0]).max()
    if value - optimum.value > gap / 4 * (optimum.value - contrasts.spread) or off > 1e-10:
        return optimum
    used = polished.q > UNUSED
    q = polished.q[used] / polished.q[used].sum()
    return replace(optimum, columns=optimum.columns.take(places[used]), q=q, value=value)


def with_fewer_for_all(optimum: Optimum, gap: float, deadline: Deadline = NO_LIMIT) -> Optimum:
    """Drop columns that are not needed so that no answer's variance changes; for the worst case."""
    contrasts, columns = optimum.contrasts, optimum.columns
    atoms = contrasts.atoms(columns)
    each = columns.vectors / columns.mass(contrasts.weights)[:, None]
    inverse = np.linalg.pinv((atoms.T * optimum.q) @ atoms, hermitian=True)
    moments = np.einsum("ad,ad->a", atoms @ (inverse @ contrasts.reduced @ inverse), atoms)
    rows = np.vstack([_equations(atoms), (each * moments[:, None]).T / moments.max()])
    places = _basic(rows, optimum.q, deadline) if len(columns) > len(rows) else None
    if places is None:
        return optimum
    q = np.linalg.lstsq(rows[:, places], rows @ optimum.q, rcond=None)[0]
    places = places[q > RARE]
    q = np.linalg.lstsq(rows[:, places], rows @ optimum.q, rcond=None)[0]
    used = q > UNUSED
    fewer = replace(optimum, columns=columns.take(places[used]), q=q[used] / q[used].sum())
    off = np.abs(_equations(contrasts.atoms(fewer.columns)) @ fewer.q - rows[: len(rows) - len(each.T)] @ optimum.q)
    worse = variances(fewer).max() > variances(optimum).max() * (1 + gap / 2)
    return optimum if worse or off.max() > max(gap, 1e-10) else fewer


def variances(optimum: Optimum) -> Float:
    """Variance of every answer."""
    contrasts, columns = optimum.contrasts, optimum.columns
    atoms = contrasts.atoms(columns)
    inverse = np.linalg.pinv((atoms.T * optimum.q) @ atoms, hermitian=True)
    estimator = contrasts.basis / contrasts.unit @ inverse @ atoms.T
    moments = np.einsum("xa,xa->a", contrasts.centered @ estimator, estimator)
    share = optimum.q / columns.mass(contrasts.weights)
    return np.asarray(columns.vectors.T @ (share * moments) - np.diag(contrasts.centered))


def _equations(atoms: Float) -> Float:
    """Total, center and information of columns, one a column."""
    first, second = np.triu_indices(atoms.shape[1])
    return np.vstack([np.ones(len(atoms)), atoms.T, (atoms[:, first] * atoms[:, second]).T])


def _basic(rows: Float, q: Float, deadline: Deadline) -> np.ndarray | None:
    """Columns of a basic solution of ``rows q``; None if none is found in time."""
    from scipy.optimize import linprog

    if deadline.is_over:
        return None
    cost = np.random.default_rng(0).random(len(q))
    found = linprog(cost, A_eq=rows, b_eq=rows @ q, method="highs-ds", options={"time_limit": deadline.left or np.inf})
    return None if found.status != 0 or found.x is None else np.flatnonzero(found.x > 1e-9)
