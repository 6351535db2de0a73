"""What a solver calls optimal is believed as far as its own multipliers prove it, for the repaired channel.

That is the gap of the certificate, the same computation in integers; for large programs of an expected value it is
computed in floats. A worst case counts inputs by multipliers, whose noise may be all that floats see of a gap.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpopt.certificate.program_bound import bound
from ldpopt.certificate.program_certificate import STAKE_SHARE, distance_to, relative_gap
from ldpopt.errors import CertificateError
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.repair import repair
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Status
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.methods.method import RawSolution
from ldpopt.solving.multipliers import read_multipliers
from ldpopt.solving.solution import value_of

BELIEVED_GAP = 1e-6
"""Largest relative gap of an answer that is called optimal, if no other one was asked for."""

EXACT_NONZEROS = 500_000
"""Non-zeros of a program of an expected value up to which the gap is computed in integers."""

LEAST_FLOAT = 5e-324
"""Multipliers are rounded to multiples of this: below 1e-310 or so they prove nothing."""


def proved(raw: RawSolution, problem: Problem) -> RawSolution:
    """Repair an answer's channel, and find the gap that its own multipliers prove."""
    if raw.channel is None:
        return raw
    names = {"inputs": problem.inputs, "outputs": problem.outputs}
    raw = replace(raw, repaired=repair(raw.channel, problem.privacy, **names, ties=problem.ties()))
    is_exact = problem.prior is None or raw.program.nnz <= EXACT_NONZEROS
    return replace(raw, gap=_certified_gap(raw, problem) if is_exact else _gap_in_floats(raw, problem))


def believed(raw: RawSolution, largest: float) -> RawSolution:
    """Call an answer a failure that is called optimal with a larger gap than this."""
    if raw.outcome.status is not Status.OPTIMAL or raw.gap is None or not raw.gap > largest:
        return raw  # a gap of nan, beyond floats, decides nothing
    told = f"{raw.outcome.raw_status}, but a gap of {raw.gap:.1e} is left"
    return replace(raw, outcome=replace(raw.outcome, status=Status.FAILED, raw_status=told))


def _has_multipliers(raw: RawSolution) -> bool:
    duals, point = raw.outcome.row_duals, raw.outcome.point
    return duals is not None and point is not None and (len(duals), len(point)) == raw.program.shape


def _certified_gap(raw: RawSolution, problem: Problem) -> float | None:
    """The relative gap of the certificate."""
    if raw.repaired is None or raw.outcome.row_duals is None or not _has_multipliers(raw):
        return None
    multipliers = read_multipliers(problem, raw.program, raw.outcome.row_duals)
    try:
        best = bound(problem, multipliers)
    except CertificateError:
        return None
    return relative_gap(problem, multipliers, best, distance_to(best, problem, raw.repaired.mechanism))


def _gap_in_floats(raw: RawSolution, problem: Problem) -> float | None:
    """The gap that the method knows of its own channel and what the repair took, or the gap of its multipliers."""
    if raw.repaired is None or problem.prior is None:
        return raw.gap
    channel = raw.repaired.mechanism.channel
    if raw.gap is None or raw.channel is None:
        return proved_gap(raw, problem, channel)
    with np.errstate(all="ignore"):
        stake = float(problem.prior @ np.ptp(problem.utility.matrix / STAKE_SHARE, axis=1))
        before, after = value_of(problem, raw.channel), value_of(problem, channel)
        lost = before - after if problem.utility.sense == "gain" else after - before
        lost /= max(abs(before), stake) or LEAST_FLOAT
    return raw.gap + max(0.0, lost)


def proved_gap(raw: RawSolution, problem: Problem, channel: Float) -> float | None:
    """Relative gap of a channel's expected value and the bound of the answer's multipliers, in floats.

    None without multipliers, and nan where numbers are beyond floats.
    """
    if raw.outcome.row_duals is None or raw.outcome.point is None or not _has_multipliers(raw) or problem.prior is None:
        return None
    duals, point = raw.outcome.row_duals, raw.outcome.point
    with np.errstate(all="ignore"):  # of gains near the largest float
        spread = np.ptp(problem.utility.matrix / STAKE_SHARE, axis=1)
        stake = float(problem.prior @ spread) or float(spread.mean())
        best, worth = bound_in_floats(raw.program, duals, point), value_of(problem, channel)
        distance = best - worth if problem.utility.sense == "gain" else worth - best
        grain = len(duals) * LEAST_FLOAT if np.any(np.ptp(problem.utility.matrix, axis=1)) else 0.0
        return (distance + grain) / (max(abs(best), stake) or LEAST_FLOAT)


def bound_in_floats(program: LinearProgram, duals: Float, point: Float) -> float:
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
