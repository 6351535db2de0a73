"""Pricing of outputs under event-wise delta: one small linear program for each output."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.solving.interior.events import EventProgram

SCALE = 1024.0
"""Right-hand sides of the pricing programs are multiplied by this: a solver's tolerances are absolute."""


def price(events: EventProgram, costs: Float, sums: Float, pairs: Float) -> tuple[Float, Float]:
    r"""Find shares of the pairs' multipliers for every output, shape (m, pairs), and the shortfalls of the shares.

    Each output's program has ``n`` rows and a column for each pair with a multiplier; outputs with no
    :math:`c_i > y_i` need none.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    solve_one: Any = linprog
    m, n = costs.shape
    first, second = events.pairs()
    active = np.flatnonzero(pairs > 1e-14 * max(float(pairs.max(initial=0.0)), 1e-300))
    count = len(active)
    shares, shortfall = np.zeros((m, len(pairs))), np.zeros(m)
    entries = np.concatenate([np.full(count, -events.b), np.ones(count), -np.ones(n)])
    row = np.concatenate([first[active], second[active], np.arange(n)])
    column = np.concatenate([np.arange(count), np.arange(count), np.full(n, count)])
    left = csr_array((entries, (row, column)), shape=(n, count + 1))
    aim = np.append(np.zeros(count), 1.0)
    bounds: Any = np.column_stack([np.zeros(count + 1), np.append(pairs[active] * SCALE, np.inf)])
    tight: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": False}
    for j in range(m):
        right = sums - costs[j]
        if (right >= 0).all():
            continue
        answer = solve_one(aim, A_ub=left, b_ub=right * SCALE, bounds=bounds, method="highs-ds", options=tight)
        if answer.x is None:
            shortfall[j] = float(-right.min())
            continue
        shares[j, active] = np.clip(answer.x[:count] / SCALE, 0.0, pairs[active])
        shortfall[j] = max(float((costs[j] - sums - events.adjoint(shares[j : j + 1])[0]).max()), 0.0)
    return shares, shortfall


def nested_events(shares: Float) -> tuple[Any, Float, Any]:
    """Write non-negative shares, shape (m, pairs), as sums of weighted nested events: pair, weight, membership."""
    pair, weight, member = [], [], []
    for e in np.flatnonzero(shares.max(axis=0) > 0):
        levels = np.unique(np.append(shares[:, e], 0.0))
        pair += [e] * (len(levels) - 1)
        weight += list(np.diff(levels))
        member += [shares[:, e] >= level for level in levels[1:]]
    return np.array(pair, np.int64), np.array(weight, float), np.array(member, bool).reshape(len(pair), len(shares))
