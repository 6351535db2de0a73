r"""Interior point for channels tied pair by pair: graphs and metrics, one block for each output.

Privacy rows ``P[k, y] - r P[i, y] >= 0`` stay within an output; only the row sums (and, for a worst case, the inputs'
expectations) couple the outputs. So a Newton step factors one matrix of order ``n`` for each output, a graph Laplacian
with weights, and one of order ``n`` (or ``2 n``) that couples them. This takes ``O(m n^3)`` operations; a
general method has ``n m`` columns. Theory: docs, "Graphs and metrics: an interior point by outputs".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError, SolverOptionError
from ldpopt.foundation.checks import Float
from ldpopt.foundation.clock import Deadline
from ldpopt.foundation.rows import Int, RowBlock
from ldpopt.solvers import Feature, Outcome, Solver, Status
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.interior.graph_system import GraphPoint, GraphProgram, GraphSystem
from ldpopt.solving.interior.steps import PathResult, follow_path
from ldpopt.solving.interior.threads import few_threads

GAP = 1e-11
"""Relative gap at which to stop: over the bound, or over a hundredth of the range of costs if that is larger."""

MAX_STEPS = 120
"""Largest number of iterations; 10 to 45 are usual."""

STALLED_STEPS = 5
"""Iterations without a smaller gap before stopping."""

MIN_LOSS = 1e-3
"""Smallest privacy loss along a tie for which floats resolve the interior of the cones."""

ACCEPTED_GAP = 1e-9
"""Gap accepted as optimal."""


class GraphInterior(Solver):
    """Interior point by outputs for graph and metric privacy; its answer is in the middle of the optimal face."""

    name = "graph interior"
    features = frozenset({Feature.GAP})
    in_process_nonzeros = math.inf

    def solve(
        self,
        program: LinearProgram,
        *,
        time_limit: float | None = None,
        gap: float = GAP,
        steps: int = MAX_STEPS,
        **options: Any,
    ) -> Outcome:
        """Solve a pairwise program of ties; the best point so far is returned, whatever ended the iteration.

        Raises
        ------
        NotRepresentableError
            If the program has other rows than ties, or ties that are too tight.
        SolverOptionError
            If an option is unknown.
        """
        deadline = Deadline.after(time_limit)
        if options:
            unknown = next(iter(options))
            do = "its options are gap and steps"
            raise SolverOptionError(f"the interior point for graphs has no option {unknown!r}", do=do)
        data = read_program(program)
        if data is None or not isinstance(program, ChannelProgram):
            what = "the interior point by outputs solves pairwise programs of ties of 0.001 nats or more, no side rows"
            raise NotRepresentableError(what, do='use solver="highs"')
        with few_threads(data.shape[1]):
            found = follow_path(
                data.start(),
                data.distance,
                lambda at: GraphSystem(data, at),
                gap=gap,
                steps=steps,
                stalled_steps=STALLED_STEPS,
                deadline=deadline,
            )
        return _outcome(program, data, found, max(gap, ACCEPTED_GAP))


def read_program(program: LinearProgram) -> GraphProgram | None:
    """Read the outputs' blocks out of a pairwise program; None if it has other rows."""
    if not isinstance(program, ChannelProgram) or program.structure.form != "pairwise":
        return None
    spans = {span.name: span for span in program.rows}
    names = [span.name for span in program.rows]
    if names not in (["row_sum", "privacy"], ["row_sum", "privacy", "worst_case"]):
        return None
    (n, m), block = program.structure.shape, spans["privacy"].block
    pairs = None if block is None or n < 2 else _pairs(block, m)
    if pairs is None or not _has_mutual_pairs(pairs[0], pairs[1], n):
        return None
    gain = _gain(program, spans["worst_case"].slice) if "worst_case" in spans else None
    return _scaled(program, gain, pairs)


def _scaled(program: ChannelProgram, gain: Float | None, pairs: tuple[Int, Int, Float]) -> GraphProgram | None:
    """Scale the objective to a largest weight of 1; None if it is zero or not finite."""
    cost = (1.0 if program.maximize else -1.0) * program.structure.weighted.T
    unit = float(np.abs(cost if gain is None else gain / program.structure.shape[0]).max())
    if not unit > 0 or not math.isfinite(unit):
        return None
    scaled = None if gain is None else np.ascontiguousarray(gain) / unit
    return GraphProgram(np.ascontiguousarray(cost) / unit, scaled, *pairs, unit)


def _pairs(block: RowBlock, m: int) -> tuple[Int, Int, Float] | None:
    """Ordered pairs and their ratios; None unless every output has the same rows ``r P[i] - P[k] <= 0``."""
    size = len(block) // m
    if len(block.row) != 2 * size * m or np.isfinite(block.lower).any() or block.upper.any():
        return None
    pairs, ratio = block.x.reshape(size, m, 2), block.coefficient.reshape(size, m, 2)
    alike = (
        (pairs == pairs[:, :1]).all()
        and (block.y.reshape(size, m, 2) == np.arange(m)[None, :, None]).all()
        and (ratio == ratio[:, :1]).all()
        and (ratio[:, 0, 1] == -1).all()
        and ((ratio[:, 0, 0] > 0) & (ratio[:, 0, 0] < 1 - MIN_LOSS)).all()
    )
    return (pairs[:, 0, 0], pairs[:, 0, 1], ratio[:, 0, 0].copy()) if alike else None


def _has_mutual_pairs(first: Int, second: Int, n: int) -> bool:
    """Whether every tie has its reverse and every input a tie.

    Then the ties imply that all entries are non-negative, and every output's matrix is positive definite.
    """
    forward, reverse = np.sort(first * n + second), np.sort(second * n + first)
    return bool(np.array_equal(np.unique(forward), np.unique(reverse))) and len(np.unique(first)) == n


def _gain(program: ChannelProgram, rows: slice) -> Float:
    """Gains of a worst case, shape (m, n), read from its rows."""
    n, m = program.structure.shape
    dense = program.matrix[rows].toarray()[:, : n * m].reshape(n, n, m)
    return np.asarray((-1.0 if program.maximize else 1.0) * dense[np.arange(n), np.arange(n)].T)


def _outcome(program: ChannelProgram, data: GraphProgram, found: PathResult[GraphPoint], accepted: float) -> Outcome:
    sign, at = 1.0 if program.maximize else -1.0, found.point
    duals = np.zeros(program.shape[0])
    spans = {span.name: span for span in program.rows}
    duals[spans["row_sum"].slice] = sign * data.unit * at.sums
    # Rows are written as r P[i] - P[k] <= 0.
    duals[spans["privacy"].slice] = sign * data.unit * at.ties.T.reshape(-1)
    point = at.p.T.reshape(-1)
    if data.gain is not None:
        duals[spans["worst_case"].slice] = sign * (at.prior / at.prior.sum())
        by_input = (data.gain * at.p).sum(axis=0)
        point = np.append(point, sign * data.unit * by_input.min())
    reduced = program.objective - program.matrix.T @ duals
    status = Status.OPTIMAL if found.gap <= accepted else Status.LIMIT if found.timed_out else Status.FAILED
    message = f"{found.steps} steps, gap {found.gap:.1e}" + (", time limit" if found.timed_out else "")
    return Outcome(status, message, np.maximum(point, program.column_lower), duals, reduced)
