"""Shared by the mechanisms of the literature: reading a problem and its distances, and an exactly
private result.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair
from ldpopt.privacy import MetricDP, Ties
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility


def read_problem(source: Any) -> Problem:
    """Return a problem; a metric alone has its distance as the loss, and a uniform prior."""
    if isinstance(source, Problem):
        return source
    if not isinstance(source, MetricDP) or callable(source.distance):
        kind = (
            "metric that is a function" if isinstance(source, MetricDP) else type(source).__name__
        )
        raise StatementError(
            f"a {kind} is not a problem",
            code="problem",
            do="pass a Problem, or a MetricDP with a table of distances",
        )
    n = len(source.distance)
    return Problem(
        np.full(n, 1.0 / n), Utility(source.distance, "loss"), source, inputs=source.inputs
    )


def require_mutual_ties(problem: Problem) -> Ties:
    """Return the ties of a problem whose notion ties pairs of inputs both ways, for all outputs,
    without a delta.
    """
    if problem.constraints:
        names = ", ".join(block.name for block in problem.constraints)
        message = f"the mechanism does not satisfy side constraints ({names})"
        raise NotRepresentableError(
            message, code="side-constraints", do="remove the constraints from the problem"
        )
    ties = problem.ties()
    kind = type(problem.privacy).__name__
    if ties is None or ties.delta or not ties.is_mutual:
        message = (
            "the mechanism is for notions that bound the ratios of pairs both ways, and the "
            f"notion is {kind}"
        )
        raise NotRepresentableError(
            message, code="one-way-ties", do="use a notion that does, such as PureLDP"
        )
    return ties


def distances(ties: Ties) -> Float:
    """Return the lengths of the shortest chains of tied pairs, shape (n, n); infinite between
    separate parts.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    first, second = ties.pairs()
    length = np.ones(len(first)) if ties.distance is None else ties.distance
    lengths = dijkstra(csr_array((length, (first, second)), shape=(ties.n, ties.n)), directed=False)
    return np.asarray(np.minimum(lengths, lengths.T))


def exactly_private(problem: Problem, channel: Float, outputs: Sequence[Hashable]) -> Mechanism:
    """Round a channel to masses over ``2**53`` that are private for the real ``e**epsilon``,
    audited.
    """
    return repair(
        channel, problem.privacy, inputs=problem.inputs, outputs=outputs, ties=problem.ties()
    ).mechanism
