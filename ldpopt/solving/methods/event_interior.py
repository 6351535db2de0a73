r"""Event-wise delta in one piece: an interior point on the outputs that matter, all others priced, events read off.

The interior point is given a few outputs. Its multipliers ``y`` of the rows and ``nu`` of the pairs bound the value of
every channel if each output, used or not, has shares :math:`0 \le \lambda_{ik} \le \nu_{ik}` with

.. math:: c_i - y_i \le \sum_k (b \lambda_{ik} - \lambda_{ki}) \quad \text{for all } i .

That is a small linear program for each output. Outputs without such shares are added and the interior point is run
again. The shares of a pair are a sum of nested events, which become rows with multipliers: what `certify` reads.
Theory: docs, "Event-wise delta".
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.foundation.checks import Float
from ldpopt.solvers import Outcome, Status
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.formulation import add_rows
from ldpopt.statement.problem import Problem

if TYPE_CHECKING:
    from ldpopt.solving.interior.events import Events

FEWEST = 16
"""Inputs from which an interior point beats row generation."""

MOST = 8000
"""Entries (inputs times outputs in use) up to which its dense system is kept, which takes a gigabyte and a half."""

USED = 1e-7
"""Outputs whose largest entry in the relaxation is above this are in the first selection."""

PRICED = 3e-11
"""Share of the bound by which an output may raise it, through shares that fall short, before it is added."""

ENOUGH = 1e-6
"""Gap of the interior point beyond which the rows are generated instead; pricing usually narrows it."""

SCALE = 1024.0
"""Right-hand sides of the pricing programs are stated larger, which makes a solver's tolerances tighter."""


def fits(problem: Problem, program: LinearProgram, fewest: int) -> bool:
    """Whether this is an event-wise problem without side constraints, of a size where it pays."""
    return (
        hasattr(problem.privacy, "event_rows")
        and getattr(problem.privacy, "form", "") == "event"
        and program.structure.form == "compact"
        and problem.privacy.delta > 0
        and program.structure.b > 0
        and not problem.constraints
        and len(problem.inputs) >= fewest
    )


def solve_events(
    problem: Problem, program: LinearProgram, channel: Float, deadline: float, enough: float = ENOUGH
) -> tuple[LinearProgram, Outcome, Float | None] | None:
    """Solve an event-wise problem from the channel of a relaxation.

    Parameters
    ----------
    problem : Problem
        One that `fits`.
    program : LinearProgram
        Its compact program, with or without generated events.
    channel : float array, shape (n, m)
        Optimum of a relaxation; it says which outputs to begin with.
    deadline : float
        By `time.perf_counter`; infinite where there is none.
    enough : float
        Gap of the interior point, as a share of the value, beyond which its answer is not taken; default: ``ENOUGH``.

    Returns
    -------
    tuple or None
        The program with the events that have multipliers, the outcome and the channel; None where the numbers gave out
        or the system would be too large.
    """
    from ldpopt.solving.interior.events import Events, interior
    from ldpopt.solving.interior.threads import few_threads

    sign = 1.0 if program.maximize else -1.0
    matrix = sign * (problem.utility.matrix if problem.prior is None else program.structure.weighted).T
    unit = float(np.abs(matrix).max())
    if not 0 < unit < math.inf:
        return None
    matrix = np.ascontiguousarray(matrix) / unit
    b = program.structure.b
    whole = Events(matrix, matrix if problem.prior is None else None, b, b * problem.privacy.delta)
    use = channel.max(axis=0) > USED
    while True:
        if use.sum() * len(problem.inputs) > MOST:
            return None
        part = replace(whole, cost=matrix[use], gain=None if whole.gain is None else matrix[use])
        with few_threads(math.prod(part.shape)):
            found = interior(part, deadline)
        if found.late:
            return program, Outcome(Status.LIMIT, f"time limit at a gap of {found.gap:.1e}"), None
        if found.gap > enough:
            return None
        prior = found.point.prior / found.point.prior.sum() if whole.gain is not None else found.point.prior
        costs = whole.priced(prior)
        shares, short = price(whole, costs, found.point.sums, found.point.pairs)
        bound = abs(float(found.point.sums.sum())) + part.slack * float(found.point.pairs.sum())
        late = len(problem.inputs) * short > PRICED * bound
        if not (late & ~use).any():
            break
        use |= late
    point = np.zeros(channel.shape)
    point[:, use] = found.point.p.T
    sums = found.point.sums + float(short.max())
    return _written(problem, program, point, unit * shares, sign * unit * sums, sign * prior)


def price(events: Events, costs: Float, sums: Float, pairs: Float) -> tuple[Float, Float]:
    r"""Find shares of the pairs' multipliers for every output, shape (m, pairs), and by how much they fall short.

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
    shares, short = np.zeros((m, len(pairs))), np.zeros(m)
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
            short[j] = float(-right.min())
            continue
        shares[j, active] = np.clip(answer.x[:count] / SCALE, 0.0, pairs[active])
        short[j] = max(float((costs[j] - sums - events.pull(shares[j : j + 1])[0]).max()), 0.0)
    return shares, short


def _written(
    problem: Problem, program: LinearProgram, channel: Float, shares: Float, sums: Float, prior: Float
) -> tuple[LinearProgram, Outcome, Float]:
    """Add the events that have multipliers as rows, and state the point and the duals of the program."""
    structure, base = program.structure, {"row_sum": sums, "worst_case": prior}
    first, second = np.nonzero(~np.eye(len(channel), dtype=bool))
    pair, weight, member = nested(shares)
    rows = program.shape[0]
    if len(pair):
        program = add_rows(program, problem.privacy.event_rows(first[pair], second[pair], member), problem)
    duals = np.zeros(program.shape[0])
    for span in program.rows:
        if span.name in base:
            duals[span.slice] = base[span.name]
    duals[rows:] = weight * (1.0 if program.maximize else -1.0)
    floor = channel.min(axis=0)
    point = np.concatenate([(channel - floor).reshape(-1), floor / structure.b])
    if problem.prior is None:
        by_input = (problem.utility.matrix * channel).sum(axis=1)
        point = np.append(point, by_input.min() if program.maximize else by_input.max())
    reduced = program.objective - program.matrix.T @ duals
    return program, Outcome(Status.OPTIMAL, "bound and value agree", point, duals, reduced), channel


def nested(shares: Float) -> tuple[Any, Float, Any]:
    """Write non-negative shares, shape (m, pairs), as sums of weighted nested events: pair, weight, membership."""
    pair, weight, member = [], [], []
    for e in np.flatnonzero(shares.max(axis=0) > 0):
        levels = np.unique(np.append(shares[:, e], 0.0))
        pair += [e] * (len(levels) - 1)
        weight += list(np.diff(levels))
        member += [shares[:, e] >= level for level in levels[1:]]
    return np.array(pair, np.int64), np.array(weight, float), np.array(member, bool).reshape(len(pair), len(shares))
