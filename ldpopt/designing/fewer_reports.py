"""Fewer reports at the same variance: basic solutions among the columns of an optimum.

The value depends on the probabilities only through the information matrix and their equations. A basic solution of
these linear equations has at most ``n (n + 1) / 2`` columns, and ``n`` more if the variance of every answer is kept.
"""

from dataclasses import replace

import numpy as np

from ldpopt.designing.average import AverageMaster
from ldpopt.designing.column_generation import UNUSED, Optimum
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int

# Probability below which a report is left out if possible: interior points end with reports of nearly no use
RARE = 1e-6


def with_fewer_reports(optimum: Optimum, gap: float, deadline: Deadline = NO_LIMIT) -> Optimum:
    """Drop columns that are not needed, unless that costs more than a share of the gap."""
    rows = _equations(optimum.contrasts.scores(optimum.columns))
    places = _basic(rows, optimum.q, deadline) if rows.shape[1] > len(rows) else None
    if places is not None:
        start = np.maximum(np.linalg.lstsq(rows[:, places], rows @ optimum.q, rcond=None)[0], 1e-12)
        optimum = _on_columns(optimum, places, start, gap, deadline)
    often = np.flatnonzero(optimum.q > RARE)
    return optimum if len(often) == len(optimum.q) else _on_columns(optimum, often, optimum.q[often], gap, deadline)


def _on_columns(optimum: Optimum, places: Int, start: Float, gap: float, deadline: Deadline) -> Optimum:
    """The best probabilities of some of the columns, if they cost no more than a share of the gap."""
    contrasts = optimum.contrasts
    n, scores = len(contrasts.weights), contrasts.scores(optimum.columns)[places]
    if deadline.is_over or np.linalg.matrix_rank(scores) < n - 1:
        return optimum  # only the columns left out have information on some direction
    master = AverageMaster(scores, contrasts.reduced, np.eye(n - 1)[None])
    polished = master.solve(start=start, gap=1e-12, deadline=deadline)
    value = contrasts.value(polished.value)
    off = np.abs(_equations(scores)[:n] @ polished.q - np.eye(n)[0]).max()
    if value - optimum.value > gap / 4 * (optimum.value - contrasts.spread) or off > 1e-10:
        return optimum
    used = polished.q > UNUSED
    q = polished.q[used] / polished.q[used].sum()
    return replace(optimum, columns=optimum.columns.take(places[used]), q=q, value=value)


def with_fewer_reports_for_all(optimum: Optimum, gap: float, deadline: Deadline = NO_LIMIT) -> Optimum:
    """Drop columns that are not needed, keeping the variance of every answer; for the worst case."""
    contrasts, columns = optimum.contrasts, optimum.columns
    scores, moments = contrasts.scores(columns), _second_moments(optimum)
    each = columns.vectors / columns.mass(contrasts.weights)[:, None]
    rows = np.vstack([_equations(scores), (each * moments[:, None]).T / moments.max()])
    places = _basic(rows, optimum.q, deadline) if len(columns) > len(rows) else None
    if places is None:
        return optimum
    q = np.linalg.lstsq(rows[:, places], rows @ optimum.q, rcond=None)[0]
    places = places[q > RARE]
    q = np.linalg.lstsq(rows[:, places], rows @ optimum.q, rcond=None)[0]
    used = q > UNUSED
    fewer = replace(optimum, columns=columns.take(places[used]), q=q[used] / q[used].sum())
    off = np.abs(_equations(contrasts.scores(fewer.columns)) @ fewer.q - rows[: len(rows) - len(each.T)] @ optimum.q)
    is_worse = variances(fewer).max() > variances(optimum).max() * (1 + gap / 2)
    return optimum if is_worse or off.max() > max(gap, 1e-10) else fewer


def variances(optimum: Optimum) -> Float:
    """Variance of a report for every answer."""
    contrasts, columns = optimum.contrasts, optimum.columns
    share = optimum.q / columns.mass(contrasts.weights)
    return np.asarray(columns.vectors.T @ (share * _second_moments(optimum)) - np.diag(contrasts.centered))


def _second_moments(optimum: Optimum) -> Float:
    """``|V_y|^2`` of the best estimator of the centered workload, for every column."""
    contrasts, scores = optimum.contrasts, optimum.contrasts.scores(optimum.columns)
    inverse = np.linalg.pinv((scores.T * optimum.q) @ scores, hermitian=True)
    estimator = contrasts.basis / contrasts.unit @ inverse @ scores.T
    return np.asarray(np.einsum("xa,xa->a", contrasts.centered @ estimator, estimator))


def _equations(scores: Float) -> Float:
    """Coefficients of the probabilities in their equations: total, center and information matrix."""
    first, second = np.triu_indices(scores.shape[1])
    return np.vstack([np.ones(len(scores)), scores.T, (scores[:, first] * scores[:, second]).T])


def _basic(rows: Float, q: Float, deadline: Deadline) -> Int | None:
    """Columns of a basic solution of ``rows q``; None if none is found in time."""
    from scipy.optimize import linprog

    if deadline.is_over:
        return None
    cost = np.random.default_rng(0).random(len(q))
    found = linprog(cost, A_eq=rows, b_eq=rows @ q, method="highs-ds", options={"time_limit": deadline.left or np.inf})
    return None if found.status != 0 or found.x is None else np.flatnonzero(found.x > 1e-9)
