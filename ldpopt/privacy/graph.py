"""Differential privacy along the edges of a graph on the inputs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from ldpopt.auditing.audits import Audit, Pairs
from ldpopt.auditing.divergence import max_divergence
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.labels import Names
from ldpopt.foundation.numbers import Int, require_choice, truth
from ldpopt.privacy import plain
from ldpopt.privacy.graph_layers import require_undirected
from ldpopt.privacy.neighbors import path
from ldpopt.privacy.notion import TiedNotion, match_labels, shape_of
from ldpopt.privacy.ties import Ties

if TYPE_CHECKING:
    import networkx as nx


Parts = Literal["connected", "separate"]


@dataclass(frozen=True)
class GraphDP(TiedNotion):
    r"""Neighbors are hard to tell apart: :math:`P(x, y) \le e^\epsilon P(x', y)` along every edge
    ``x ~ x'``.

    Parameters
    ----------
    epsilon : float or str
        Nats in [0, 10000], or ``"log(p/q)"``; inputs at hop distance ``r`` are protected at ``r
        epsilon``.
    graph : networkx.Graph
        Nodes are the inputs' labels; undirected.
    parts : {"connected", "separate"}
        ``"connected"`` refuses a graph with several components. ``"separate"`` allows it: inputs
        are protected only within their component, and reports may reveal the component; default:
        ``"connected"``.

    Raises
    ------
    StatementError
        If epsilon is out of range, or the graph is directed, empty, or disconnected without
        ``parts="separate"``.

    Examples
    --------
    >>> import networkx as nx
    >>> GraphDP("log(2)", nx.path_graph(3)).audit([[0.5, 0.5], [0.75, 0.25], [0.5, 0.5]]).verdict
    'certified'
    """

    kind: ClassVar[str] = "graph"
    epsilon: Budget
    graph: nx.Graph[Any]
    parts: Parts = "connected"

    def __init__(
        self, epsilon: float | str, graph: nx.Graph[Any], parts: Parts = "connected"
    ) -> None:
        budget = Budget(epsilon)
        require_undirected(graph)
        require_choice(parts, ("connected", "separate"), "parts")
        if parts == "connected":
            _require_connected(graph)
        object.__setattr__(self, "epsilon", budget)
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "parts", parts)

    def __repr__(self) -> str:
        nodes = self.graph.number_of_nodes()
        edges = self.graph.number_of_edges()
        parts = ', parts="separate"' if self.parts == "separate" else ""
        return f"GraphDP(epsilon={self.epsilon!r}, graph=<{nodes} nodes, {edges} edges>{parts})"

    @property
    def alphabet(self) -> tuple[Hashable, ...]:
        """The graph's nodes, in its order."""
        return tuple(self.graph.nodes)

    def check(self, inputs: Names, outputs: Names) -> None:
        """Refuse a graph whose nodes are not the inputs."""
        match_labels(self.alphabet, inputs, "neighbor graph")

    def notes(self, inputs: Names) -> tuple[str, ...]:
        """A note on the parts of the graph that reports may distinguish."""
        components = _components(self.graph) if self.parts == "separate" else []
        if len(components) < 2:
            return ()
        shown = ", ".join(
            "{" + ", ".join(map(str, part[:6])) + (", ..." * (len(part) > 6)) + "}"
            for part in components[:6]
        )
        more = ", ..." if len(components) > 6 else ""
        return (
            f"the neighbor graph has {len(components)} parts, which reports may distinguish: "
            f"{shown}{more}",
        )

    def ties(
        self, inputs: Names, outputs: Names | None = None, deadline: Deadline = NO_LIMIT
    ) -> Ties:
        """Both directions of every edge, which imply all other pairs; ties without pairs if the
        graph is complete.

        Along a path of ``k`` edges the ratios multiply to ``e**(k epsilon)``: what the notion
        demands of pairs farther apart follows from their edges, and costs no rows.
        """
        first, second = self._edges(inputs)
        n = len(inputs)
        if len(first) == n * (n - 1):
            return Ties(self.epsilon, n)
        return Ties(self.epsilon, n, first, second, np.ones(len(first)))

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """``neighbors`` is a table; certificates have ``edges``, pairs of positions, in its
        place.
        """
        return ("epsilon", "neighbors", "parts", "edges")

    def to_plain(self, inputs: Names, *, explicit: bool = False) -> dict[str, Any]:
        """State the graph by its family or its edges; an explicit table has the edges as pairs of
        positions.
        """
        match_labels(self.alphabet, inputs, "neighbor graph")
        explicit = truth(explicit, "explicit")
        parts = {"parts": "separate"} if self.parts == "separate" else {}
        epsilon = {"epsilon": plain.plain_budget(self.epsilon)}
        if not explicit:
            return epsilon | {"neighbors": plain.plain_neighbors(self.graph, inputs)} | parts
        ends = zip(*(part.tolist() for part in self._edges(inputs)), strict=True)
        return epsilon | parts | {"edges": [[x, k] for x, k in ends if x < k]}

    @classmethod
    def from_plain(cls, table: plain.Table, inputs: Names) -> Self:
        """Read the table ``neighbors``, or edges between positions."""
        epsilon = plain.required(table, "epsilon")
        parts: Any = table.get("parts", "connected")
        if "edges" in table and "neighbors" not in table:
            return cls(epsilon, plain.graph_of_positions(table["edges"], inputs), parts)
        if "edges" in table:
            do = "give neighbors = { edges = [...] }"
            raise plain.MisstatedError("edges must be inside neighbors", "edges", do=do)
        return cls(epsilon, plain.read_neighbors(plain.required(table, "neighbors"), inputs), parts)

    @classmethod
    def example(cls, epsilon: float | str, inputs: Names) -> Self:
        """The inputs as a path."""
        return cls(epsilon, path(inputs))

    def audit(self, channel: Any) -> Audit:
        """Decide the claim along the edges from the channel's numbers, exactly.

        A plain array is read in the order of the graph's nodes.
        """
        pairs = edge_pairs(self.graph, channel)
        claim = f"epsilon = {self.epsilon!r} along {pairs.number // 2} edges"
        return max_divergence(channel, self.epsilon, pairs, claim)

    def _edges(self, inputs: Names) -> tuple[Int, Int]:
        position = match_labels(list(self.graph.nodes), inputs, "neighbor graph")
        pairs = sorted({(position[u], position[v]) for u, v in self.graph.edges() if u != v})
        pairs = sorted(set(pairs) | {(k, x) for x, k in pairs})
        array = np.array(pairs, np.int64).reshape(-1, 2)
        return array[:, 0], array[:, 1]


def edge_pairs(graph: nx.Graph[Any], channel: Any) -> Pairs:
    """Both directions of every edge, for the audit of a channel; a plain array is read in the order
    of the graph's nodes.
    """
    inputs, labelled = shape_of(channel)
    if not labelled and set(inputs) != set(graph.nodes) and len(inputs) == graph.number_of_nodes():
        inputs = tuple(graph.nodes)
    position = match_labels(list(graph.nodes), inputs, "neighbor graph")
    ends = np.array(
        [(position[u], position[v]) for u, v in graph.edges() if u != v], np.int64
    ).reshape(-1, 2)
    both = np.concatenate([ends, ends[:, ::-1]])
    return Pairs(both[:, 0], both[:, 1], np.ones(len(both)))


def _components(graph: nx.Graph[Any]) -> list[list[Any]]:
    """Connected parts in the order of the nodes."""
    import networkx as nx

    position = {node: k for k, node in enumerate(graph.nodes)}
    parts = [sorted(part, key=position.__getitem__) for part in nx.connected_components(graph)]
    return sorted(parts, key=lambda part: position[part[0]])


def _require_connected(graph: nx.Graph[Any]) -> None:
    if len(parts := _components(graph)) > 1:
        first, other = (part[0] for part in parts[:2])
        raise StatementError(
            f"the neighbor graph falls into {len(parts)} parts: {first!r} and {other!r} would not "
            "be protected "
            "from each other",
            code="graph-parts",
            do='join the parts by edges, or give parts = "separate" if reports may tell them apart',
        )
