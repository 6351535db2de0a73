r"""Interior point for channels tied pair by pair: graphs and metrics, one sparse block for each output.

Privacy rows ``P[k, y] - r P[i, y] >= 0`` stay within an output; only the row sums (and, for a worst case, the inputs'
expectations) couple the outputs. So a Newton step factors one matrix of order ``n`` for each output, a graph Laplacian
with weights, and one of order ``n`` (or ``2 n``) that couples them. With levels of ``s`` inputs this takes
``O(m n^2 s)`` operations. Theory: docs, "Graphs and metrics: an interior point by outputs".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.foundation.threads import few_threads
from ldpopt.solving.interior.graph_program import GraphProgram
from ldpopt.solving.interior.graph_system import GraphPoint, GraphSystem
from ldpopt.solving.interior.steps import follow_path

GAP = 1e-11
"""Relative gap at which to stop: over the bound, or over a hundredth of the range of costs if that is larger."""

MAX_STEPS = 120
"""Largest number of iterations; 10 to 45 are usual."""

STALLED_STEPS = 5
"""Iterations without a smaller gap before stopping."""

NEGLIGIBLE = 1e-3
"""Share of the gap by which all multipliers that are left out may raise the bound."""


@dataclass(frozen=True, eq=False)
class GraphResult:
    """The best channel found, and the multipliers that prove its gap, for an objective to be maximized.

    Attributes
    ----------
    channel : float array, shape (n, m)
        Not yet repaired.
    sums : float array, shape (n,)
        Multipliers of the row sums.
    prior : float array, shape (n,) or (0,)
        In the worst case: the weights of the inputs, with the sum 1.
    pair, output : int arrays
        Ties, as positions of the pairs given, and outputs, whose multipliers count.
    value : float array
        These multipliers, positive.
    gap : float
        Relative gap of value and bound, in floats.
    steps : int
        Steps taken.
    timed_out : bool
        Whether the deadline ended it.
    """

    channel: Float
    sums: Float
    prior: Float
    pair: Int
    output: Int
    value: Float
    gap: float
    steps: int
    timed_out: bool


def solve_graph(
    data: GraphProgram, *, gap: float = GAP, steps: int = MAX_STEPS, deadline: Deadline = NO_LIMIT
) -> GraphResult:
    """Follow the central path; the best point so far is returned, whatever ended the iteration."""
    m, n = data.shape
    room = np.empty((m, data.levels.numbers))
    # Where rounding is all that is left, numbers may overflow; such a step is not used.
    with few_threads(n), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = follow_path(
            GraphPoint.start(data),
            lambda at: data.gap(at.p, at.ties, at.prior),
            lambda at: GraphSystem(data, at, room),
            gap=gap,
            steps=steps,
            stalled_steps=STALLED_STEPS,
            deadline=deadline,
        )
    at, place = found.point, np.argsort(data.levels.order)
    ties = _one_way(data, at.ties)
    distance, share = data.gap(at.p, ties, at.prior)
    degree = np.bincount(data.first, minlength=n).max()
    output, pair = np.nonzero(ties > (NEGLIGIBLE * distance / (n * degree) if np.isfinite(distance) else 0.0))
    return GraphResult(
        np.maximum(at.p.T[place], 0.0),
        data.unit * at.sums[place],
        np.zeros(0) if data.gain is None else (at.prior / at.prior.sum())[place],
        pair,
        output,
        data.unit * ties[output, pair],
        share,
        found.steps,
        found.timed_out,
    )


def _one_way(data: GraphProgram, ties: Float) -> Float:
    """Multipliers of which one of each pair and its reverse is zero: that lowers the bound."""
    n = data.shape[1]
    forward, reverse = np.argsort(data.first * n + data.second), np.argsort(data.second * n + data.first)
    back = np.empty(len(forward), np.int64)
    back[reverse] = forward
    return np.maximum(ties - data.ratio[back] * ties[:, back], 0.0) * (ties >= ties[:, back])
