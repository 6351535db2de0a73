"""Fewer reports at the same variance: a basic solution among the columns of an optimum.

The value depends on the probabilities only through the information, a symmetric matrix, and their equations. A basic
solution of these linear equations has at most ``n (n + 1) / 2`` columns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpopt.estimation.designs.generation import UNUSED, Optimum
from ldpopt.estimation.designs.restricted import solve_restricted


def with_fewer_reports(optimum: Optimum, gap: float) -> Optimum:
    """Drop columns that are not needed, unless that costs more than a share of the gap.

    Parameters
    ----------
    optimum : Optimum
        A design with all images of its columns.
    gap : float
        Relative gap of the variance that is aimed at.
    """
    contrasts, columns = optimum.contrasts, optimum.columns
    n = len(contrasts.weights)
    if len(columns) <= n * (n + 1) // 2:
        return optimum
    from scipy.optimize import linprog

    atoms = contrasts.atoms(columns)
    first, second = np.triu_indices(atoms.shape[1])
    rows = np.vstack([np.ones(len(atoms)), atoms.T, (atoms[:, first] * atoms[:, second]).T])
    cost = np.random.default_rng(0).random(len(atoms))
    found = linprog(cost, A_eq=rows, b_eq=rows @ optimum.q, method="highs-ds")
    if found.status != 0 or found.x is None:
        return optimum
    places = np.flatnonzero(found.x > 1e-9)
    polished = solve_restricted(atoms[places], contrasts.reduced, np.eye(n - 1)[None], start=found.x[places], gap=1e-12)
    value = contrasts.value(polished.value)
    off = np.abs(rows[:n, places] @ polished.q - np.eye(n)[0]).max()
    if value - optimum.value > gap / 4 * (optimum.value - contrasts.spread) or off > 1e-10:
        return optimum
    used = polished.q > UNUSED
    q = polished.q[used] / polished.q[used].sum()
    return replace(optimum, columns=columns.take(places[used]), q=q, value=value)
