"""Differential privacy along the edges of a graph on the inputs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.auditing.divergence import Audit, Pairs, max_divergence
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.rows import Int, RowBlock
from ldpopt.privacy.notion import Ties, positions, shape_of

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True)
class GraphDP:
    r"""Neighbors are hard to tell apart: :math:`P(x, y) \le e^\epsilon P(x', y)` along every edge ``x ~ x'``.

    Parameters
    ----------
    epsilon : float or str
        Nats in [0, 10000], or ``"log(p/q)"``; inputs at hop distance ``r`` are protected at ``r epsilon``.
    graph : networkx.Graph
        Nodes are the inputs' labels; undirected and connected.

    Raises
    ------
    StatementError
        If epsilon is out of range, or the graph is directed, empty or disconnected.

    Examples
    --------
    >>> import networkx as nx
    >>> GraphDP("log(2)", nx.path_graph(3)).audit([[0.5, 0.5], [0.75, 0.25], [0.5, 0.5]]).verdict
    'certified'
    """

    epsilon: Budget
    graph: nx.Graph[Any]

    def __init__(self, epsilon: float | str, graph: nx.Graph[Any]) -> None:
        object.__setattr__(self, "epsilon", Budget(epsilon))
        if not hasattr(graph, "is_directed") or not hasattr(graph, "edges"):
            raise StatementError(f"a {type(graph).__name__} is no networkx graph")
        if graph.is_directed():
            raise StatementError("the neighbor graph is directed", do="privacy is mutual: pass graph.to_undirected()")
        if graph.number_of_nodes() == 0:
            raise StatementError("the neighbor graph has no nodes")
        _require_connected(graph)
        object.__setattr__(self, "graph", graph)

    def __repr__(self) -> str:
        """Budget and size of the graph."""
        nodes, edges = self.graph.number_of_nodes(), self.graph.number_of_edges()
        return f"GraphDP(epsilon={self.epsilon!r}, graph=<{nodes} nodes, {edges} edges>)"

    def ties(self, inputs: Sequence[Hashable]) -> Ties:
        """Both directions of every edge; longer paths are implied by chaining."""
        first, second = self._edges(inputs)
        return Ties(self.epsilon, len(inputs), first, second, np.ones(len(first)))

    def rows(self, inputs: Sequence[Hashable], n_outputs: int) -> RowBlock:
        """Write ``2 |E| m`` rows."""
        return self.ties(inputs).rows(n_outputs)

    def audit(self, channel: Any) -> Audit:
        """Decide the claim along the edges from the channel's numbers, exactly.

        A plain array is read in the order of the graph's nodes.
        """
        inputs, labelled = shape_of(channel)
        if not labelled and set(inputs) != set(self.graph.nodes) and len(inputs) == self.graph.number_of_nodes():
            inputs = tuple(self.graph.nodes)
        place = positions(list(self.graph.nodes), inputs, "the neighbor graph")
        ends = np.array([(place[u], place[v]) for u, v in self.graph.edges() if u != v], np.int64).reshape(-1, 2)
        both = np.concatenate([ends, ends[:, ::-1]])
        pairs = Pairs(both[:, 0], both[:, 1], np.ones(len(both)))
        return max_divergence(channel, self.epsilon, pairs, f"epsilon = {self.epsilon!r} along {len(ends)} edges")

    def _edges(self, inputs: Sequence[Hashable]) -> tuple[Int, Int]:
        place = positions(list(self.graph.nodes), inputs, "the neighbor graph")
        pairs = sorted({(place[u], place[v]) for u, v in self.graph.edges() if u != v})
        pairs = sorted(set(pairs) | {(k, x) for x, k in pairs})
        array = np.array(pairs, np.int64).reshape(-1, 2)
        return array[:, 0], array[:, 1]


def _require_connected(graph: nx.Graph[Any]) -> None:
    import networkx as nx

    components = list(nx.connected_components(graph))
    if len(components) > 1:
        one, other = (next(iter(component)) for component in components[:2])
        raise StatementError(
            f"the neighbor graph falls into {len(components)} parts: {one!r} and {other!r} would not be protected "
            "from each other",
            do="join the parts by edges, or solve a problem for each",
        )
