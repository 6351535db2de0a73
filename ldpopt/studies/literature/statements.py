"""What peers read of a statement: its ties without slack, its distances, and the exactly private result."""

from __future__ import annotations

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


def read_statement(statement: Any) -> Problem:
    """Return a problem; a metric stands for its distance as the loss, with a uniform prior."""
    if isinstance(statement, Problem):
        return statement
    if not isinstance(statement, MetricDP) or callable(statement.distance):
        kind = "a callable" if isinstance(statement, MetricDP) else f"a {type(statement).__name__}"
        raise StatementError(f"{kind} is not a statement", do="pass a Problem, or a MetricDP with a table of distances")
    n = len(statement.distance)
    loss = Utility(statement.distance, "loss")
    return Problem(np.full(n, 1.0 / n), loss, statement, inputs=statement.inputs)


def require_plain_ties(problem: Problem) -> Ties:
    """Return the ties of a problem whose notion ties pairs of inputs both ways, for all outputs, without a delta."""
    if problem.constraints:
        names = ", ".join(block.name for block in problem.constraints)
        raise NotRepresentableError(
            f"it does not satisfy side constraints ({names})", do="state the problem without them"
        )
    ties = problem.ties()
    kind = type(problem.privacy).__name__
    if ties is None or ties.delta or not ties.is_mutual:
        raise NotRepresentableError(
            f"it is for notions that bound the ratios of pairs both ways, and the notion is {kind}",
            do="state PureLDP, GraphDP or MetricDP",
        )
    return ties


def distances(ties: Ties) -> Float:
    """Distances that ties describe, shape (n, n): lengths of shortest chains of pairs; infinite between parts."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    first, second = ties.pairs()
    length = np.ones(len(first)) if ties.distance is None else ties.distance
    found = dijkstra(csr_array((length, (first, second)), shape=(ties.n, ties.n)), directed=False)
    return np.asarray(np.minimum(found, found.T))


def exactly_private(problem: Problem, channel: Float, outputs: Sequence[Hashable]) -> Mechanism:
    """Round a channel to masses over ``2**53`` that are private for the real ``e**epsilon``, audited."""
    found = repair(channel, problem.privacy, inputs=problem.inputs, outputs=outputs, ties=problem.ties())
    return found.mechanism
