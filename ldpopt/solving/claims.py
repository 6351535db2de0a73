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


def believed(raw: RawSolution, problem: Problem, channel: Float, gap: float | None) -> RawSolution:
    """Call an answer a failure whose multipliers prove less than it claims.

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
    duals = raw.outcome.row_duals
    point = raw.outcome.point
    if raw.outcome.status is not Status.OPTIMAL or raw.gap is not None or duals is None or point is None:
        return raw
    if (len(duals), len(point)) != raw.program.shape:
        return raw
    with np.errstate(all="ignore"):  # of gains near the largest float
        spread = np.ptp(problem.utility.matrix / STAKE_SHARE, axis=1)
        stake = float(_weights(problem, raw.program, duals) @ spread)
        found = _gap(problem, channel, bound(raw.program, duals, point), stake)
    if not found > max(BELIEVED_GAP, gap or 0.0):  # numbers beyond floats decide nothing
        return raw
    told = f"{raw.outcome.raw_status}, but its multipliers leave a gap of {found:.1e}"
    return replace(raw, outcome=replace(raw.outcome, status=Status.FAILED, raw_status=told), gap=found)


def bound(program: LinearProgram, duals: Float, point: Float) -> float:
    r"""Best value that the multipliers ``y`` of the rows leave possible, in floats.

    .. math:: \max_{l \le Ax \le u} y^T (A x) + \max_{l' \le x \le u'} (c - A^T y)^T x

    for a program to be maximized. Where a bound is infinite, the activity or entry at ``point`` stands for it, as
    certificates know that a channel's entries are at most 1.
    """
    sign = 1.0 if program.maximize else -1.0
    with np.errstate(all="ignore"):
        reduced = sign * (program.objective - program.matrix.T @ duals)
        rows = _most(sign * duals, program.row_lower, program.row_upper, program.matrix @ point)
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


def _gap(problem: Problem, channel: Float, best: float, stake: float) -> float:
    """Relative gap, in floats."""
    value, sign = value_of(problem, channel), 1.0 if problem.utility.sense == "gain" else -1.0
    unit = max(abs(best), stake)
    return sign * (best - value) / unit if unit else 0.0
