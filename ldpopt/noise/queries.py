r"""Sensitivity: how far the answer of a query may move between neighbors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.checks import real_array, short_repr
from ldpopt.privacy.neighbors import require_undirected

if TYPE_CHECKING:
    from ldpopt.privacy.neighbors import Graph


def sensitivity(query: Callable[[Any], Any], graph: Graph, *, norm: Literal[1, 2, "inf"] = 1) -> float:
    r"""Global sensitivity of a query: its largest change along an edge of the neighbor graph.

    .. math:: \Delta f = \max_{(x, x') \in E} \lVert f(x) - f(x') \rVert

    Parameters
    ----------
    query : callable
        From a node to a number or a vector, always of one shape.
    graph : networkx.Graph
        Databases and who is whose neighbor, such as ``neighbors.histograms(bins, most)``.
    norm : {1, 2, "inf"}
        Of the change; 1 is what Laplace noise on every coordinate needs.

    Returns
    -------
    float
        0 for a graph without edges.

    Raises
    ------
    StatementError
        If the graph is directed, the norm is unknown, or an answer is no finite number or has another shape.

    Notes
    -----
    What counts as a neighbor decides: with one person *added or removed* a histogram moves by 1, with one *replaced*
    by 2. One call of ``query`` a node, O(edges) norms.

    References
    ----------
    Dwork, McSherry, Nissim and Smith 2006; Dwork and Roth 2014, definition 3.1.

    Examples
    --------
    >>> from ldpopt import neighbors
    >>> people = neighbors.histograms(2, 5)
    >>> sensitivity(lambda counts: counts, people), sensitivity(lambda counts: 3 * counts[0], people)
    (1.0, 3.0)
    """
    require_undirected(graph)
    orders = {1: 1, 2: 2, "inf": np.inf}
    if not isinstance(norm, (int, str)) or norm not in orders:
        raise StatementError(f"norm = {short_repr(norm)} is unknown", do='use 1, 2 or "inf"')
    answers = {node: np.atleast_1d(real_array(query(node), "answer of the query")).ravel() for node in graph.nodes}
    if len({answer.shape for answer in answers.values()}) > 1:
        raise StatementError("the answers have different shapes", do="return a vector of one length for every node")
    worst = 0.0
    for first, second in graph.edges:
        with np.errstate(over="ignore", invalid="ignore"):
            change = float(np.linalg.norm(answers[first] - answers[second], orders[norm]))
        if not np.isfinite(change):
            raise StatementError(f"the change of the query from {first!r} to {second!r} is not finite")
        worst = max(worst, change)
    return worst
