r"""Sensitivity: the largest change of a query's answer between neighbors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import real_array, require_function, short_repr
from ldpopt.privacy.graph_layers import require_undirected

if TYPE_CHECKING:
    from ldpopt.privacy.neighbors import Graph


def sensitivity(
    query: Callable[[Any], Any], graph: Graph, *, norm: Literal[1, 2, "inf"] = 1
) -> float:
    r"""Global sensitivity of a query: its largest change along an edge of the neighbor graph.

    .. math:: \Delta f = \max_{(x, x') \in E} \lVert f(x) - f(x') \rVert

    Parameters
    ----------
    query : callable
        From a node to a number or a vector, always of one shape.
    graph : networkx.Graph
        Databases as nodes; an edge joins two neighbors, such as in ``neighbors.histograms(bins,
        most)``.
    norm : {1, 2, "inf"}
        Norm of the change; Laplace noise on every coordinate needs norm 1; default: ``1``.

    Returns
    -------
    float
        0 for a graph without edges.

    Raises
    ------
    StatementError
        If the graph is directed, the norm is unknown, or an answer is not finite or has another
        shape.

    Notes
    -----
    The result depends on the neighbor relation: a histogram changes by 1 if one person is *added or
    removed*, by 2 if one is *replaced*. One call of ``query`` per node, O(edges) norms.

    References
    ----------
    Dwork, McSherry, Nissim and Smith 2006; Dwork and Roth 2014, definition 3.1.

    Examples
    --------
    >>> from ldpopt import neighbors
    >>> people = neighbors.histograms(2, 5)
    >>> sensitivity(lambda counts: counts, people)
    1.0
    >>> sensitivity(lambda counts: 3 * counts[0], people)
    3.0
    """
    require_undirected(graph)
    require_function(query, "query", "pass a function of a node")
    orders = {1: 1, 2: 2, "inf": np.inf}
    if not isinstance(norm, (int, str)) or norm not in orders:
        raise StatementError(
            f"norm = {short_repr(norm)} is unknown", code="norm", do='use 1, 2 or "inf"'
        )
    answers = {
        node: np.atleast_1d(real_array(query(node), "answer of the query")).ravel()
        for node in graph.nodes
    }
    sizes = {len(answer) for answer in answers.values()}
    if len(sizes) > 1:
        problem = f"the query returns vectors of different lengths: {min(sizes)} and {max(sizes)}"
        raise StatementError(
            problem, code="lengths", do="return a vector of one length for every node"
        )
    worst = 0.0
    for first, second in graph.edges:
        with np.errstate(over="ignore", invalid="ignore"):
            change = float(np.linalg.norm(answers[first] - answers[second], orders[norm]))
        if not np.isfinite(change):
            problem = f"the change of the query from {first!r} to {second!r} is not finite"
            raise StatementError(
                problem,
                code="change",
                do="return numbers whose differences are floats, or use another unit",
            )
        worst = max(worst, change)
    return worst
