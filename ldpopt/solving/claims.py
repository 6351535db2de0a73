"""What a solver calls optimal is believed as far as its own multipliers prove it, in floats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpopt.foundation.checks import Float
from ldpopt.solvers import Status
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.channel_program import program_blocks
from ldpopt.solving.methods.method import RawSolution
from ldpopt.solving.solution import value_of
from ldpopt.statement.problem import Problem

BELIEVED_GAP = 1e-6
"""Largest relative gap of value and bound of an answer that is called optimal, if no larger one was asked for."""

STAKE_SHARE = 100
"""The gap is relative to at least the stake divided by this, as in a certificate."""

LEAST_FLOAT = 5e-324
"""Multipliers are rounded to multiples of this: below 1e-310 or so they prove nothing."""


def believed(raw: RawSolution, problem: Problem, channel: Float, gap: float | None) -> RawSolution:
    """Call an answer a failure whose multipliers prove less than it claims, or whose repair opened the gap it knew.

    Parameters
    ----------
    raw : RawSolution
        A method's answer.
    problem : Problem
        The statement.
    channel : ndarray, shape (n, m)
        The answer's channel, repaired or not.
    gap : float or None
        Relative gap that was asked for.

    Returns
    -------
    RawSolution
        The same, with the status ``FAILED`` where it was ``OPTIMAL`` with a larger gap.
    """
    if raw.outcome.status is not Status.OPTIMAL:
        return raw
    if raw.gap is None:
        found, because = proved_gap(raw, problem, channel), "its multipliers leave"
    else:
        found, because = _repaired_gap(raw, problem, channel), "making the channel exactly private leaves"
    if found is None or not found > max(BELIEVED_GAP, gap or 0.0):  # numbers beyond floats decide nothing
        return raw
    told = f"{raw.outcome.raw_status}, but {because} a gap of {found:.1e}"
    return replace(raw, outcome=replace(raw.outcome, status=Status.FAILED, raw_status=told), gap=found)


def _repaired_gap(raw: RawSolution, problem: Problem, channel: Float) -> float | None:
    """The gap that a method knows of its own channel, and what a repair took; None if it took hardly anything."""
    if raw.channel is None or raw.gap is None or channel is raw.channel:
        return None
    with np.errstate(all="ignore"):
        spread = np.ptp(problem.utility.matrix / STAKE_SHARE, axis=1)
        stake = float(spread.mean() if problem.prior is None else problem.prior @ spread)
        before, after = value_of(problem, raw.channel), value_of(problem, channel)
        lost = before - after if problem.utility.sense == "gain" else after - before
        lost /= max(abs(before), stake) or LEAST_FLOAT
    return raw.gap + lost if lost > BELIEVED_GAP else None


def proved_gap(raw: RawSolution, problem: Problem, channel: Float) -> float | None:
    """Relative gap of a channel's value and the bound of the answer's multipliers, in floats; None without them.

    Nan where numbers are beyond floats.
    """
    duals, point = raw.outcome.row_duals, raw.outcome.point
    if duals is None or point is None or (len(duals), len(point)) != raw.program.shape:
        return None
    with np.errstate(all="ignore"):  # of gains near the largest float
        spread = np.ptp(problem.utility.matrix / STAKE_SHARE, axis=1)
        stake = float(_weights(problem, raw.program, duals) @ spread) or float(spread.mean())
        best, worth = bound(raw.program, duals, point), value_of(problem, channel)
        distance = best - worth if problem.utility.sense == "gain" else worth - best
        grain = len(duals) * LEAST_FLOAT if np.any(np.ptp(problem.utility.matrix, axis=1)) else 0.0
        return (distance + grain) / (max(abs(best), stake) or LEAST_FLOAT)


def bound(program: LinearProgram, duals: Float, point: Float) -> float:
    r"""Best value that the multipliers ``y`` of the rows leave possible, in floats.

    .. math:: \max_{l \le Ax \le u} y^T (A x) + \max_{l' \le x \le u'} (c - A^T y)^T x

    for a program to be maximized. Where a bound is infinite, the activity or entry at ``point`` stands for it, as
    certificates know that a channel's entries are at most 1.
    """
    sign = 1.0 if program.maximize else -1.0
    with np.errstate(all="ignore"):
        reduced = sign * (program.objective - program.adjoint(duals))
        rows = _most(sign * duals, program.row_lower, program.row_upper, program.activity(point))
        columns = _most(reduced, program.column_lower, program.column_upper, point)
    return sign * (rows + columns)


def _most(weights: Float, lower: Float, upper: Float, at: Float) -> float:
    """Largest weighted sum of numbers between bounds."""
    ends = np.where(weights > 0, upper, lower)
    loose = np.abs(weights) * np.maximum(1.0, np.abs(at))
    return float(np.where(weights == 0, 0.0, np.where(np.isfinite(ends), weights * ends, weights * at + loose)).sum())


def _weights(problem: Problem, program: LinearProgram, duals: Float) -> Float:
    """The prior, or the multipliers of the worst case."""
    if problem.prior is not None:
        return problem.prior
    cases = np.abs(program_blocks(program, duals)["worst_case"])
    largest = float(cases.max())
    return cases / largest / float((cases / largest).sum()) if largest else np.full(len(cases), 1 / len(cases))
