"""Pictures of neighbor graphs and of what privacy notions compare."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import label_numbers
from ldpopt.noise.layers.mechanism import Layered
from ldpopt.plotting.axes import axes_or_new, name_privacy, shorten
from ldpopt.plotting.geometry import polytope
from ldpopt.plotting.mechanisms import heat_map
from ldpopt.privacy import GraphDP, MetricDP, Notion
from ldpopt.privacy.graph_layers import Value, bfs_partition, value_of

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

MAX_DRAWN_NODES = 2000
"""Largest number of nodes of a picture; the layout of a larger graph takes a minute."""

MAX_NAMED_NODES = 60
"""Largest number of nodes with names."""

MAX_SPRINGS = 150
"""Largest number of nodes whose distances in the picture follow those of the graph; others are laid out faster."""


def layers(graph: nx.Graph[Any], source: Hashable, value: Value | None = None, ax: Axes | None = None) -> Axes:
    """Draw a neighbor graph with its nodes in the colors of the layers around a source.

    Nodes with an attribute ``pos``, or that are pairs of numbers, are drawn at these coordinates.

    Parameters
    ----------
    graph : networkx.Graph
        The neighbor relation, undirected.
    source : hashable
        Node around which the layers are drawn; its border is thick.
    value : mapping or callable, optional
        Query value of a node: its name in the picture, and the member of a layer (default: the node itself).
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).

    Returns
    -------
    matplotlib Axes
        Axes with a color bar of the layers.

    Raises
    ------
    StatementError
        As `neighbors.bfs_partition`; or if the graph has more than 2000 nodes.
    """
    partition = bfs_partition(graph, source, value)
    number = {reached: t for t, layer in enumerate(partition) for reached in layer}
    values = {node: value_of(node, value) for node in graph}
    ax = _draw(graph, [number.get(values[node], np.nan) for node in graph], list(values.values()), source, ax)
    ax.set_title(f"layers around {shorten(source)}" + ("" if value is None else ", by query value"), fontsize=10)
    return ax


def layered(result: Layered, ax: Axes | None = None) -> Axes:
    """Draw the graph of a mechanism, with the layers around the node that has all values nearby.

    Parameters
    ----------
    result : Layered
        Result of `bfs_mechanism`; its loss or gain is in the title.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    """
    problem, own = result.problem, result.levels.argmin(axis=1)
    center = int(result.levels.sum(axis=1).argmin())
    values = [problem.outputs[y] for y in own]
    source = problem.inputs[center]
    ax = _draw(problem.privacy.graph, result.levels[center, own], values, source, ax)
    outcome = f"{problem.utility.sense} {result.value:.4g}, repair '{result.repair}'"
    ax.set_title(f"{name_privacy(problem.privacy)}: {outcome}\nlayers around {shorten(source)}", fontsize=10)
    return ax


def notion(privacy: Notion, ax: Axes | None = None) -> Axes:
    """Draw a notion: the private mechanisms for two answers, a neighbor graph, or the budget of each pair of answers.

    Parameters
    ----------
    privacy : Notion
        Pure and approximate privacy are drawn as in `polytope`, `GraphDP` as its graph, others as a table of pairs.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    """
    if isinstance(privacy, GraphDP):
        ax = _draw(privacy.graph, None, list(privacy.graph), None, ax)
        ax.set_title(name_privacy(privacy), fontsize=10)
        return ax
    if isinstance(privacy, MetricDP):
        if privacy.inputs is None and callable(privacy.distance):
            raise StatementError(
                "this metric is a function: it has no answers to draw", do="pass a matrix of distances"
            )
        inputs: Sequence[Hashable] = range(len(privacy.distance)) if privacy.inputs is None else privacy.inputs
    elif hasattr(privacy, "sensitive"):
        inputs = (*privacy.sensitive, "any other")
    else:
        return polytope(privacy, ax)
    ties = privacy.definition(inputs)
    budgets = np.full((ties.n, ties.n), np.nan)
    budgets[ties.pairs()] = float(ties.budget) * (1.0 if ties.distance is None else ties.distance)
    ax = heat_map(budgets, inputs, inputs, "largest log ratio (nats)", ax)
    ax.set_xlabel("than under this answer $x'$")
    ax.set_ylabel("a report is likelier under $x$")
    ax.set_title(name_privacy(privacy), fontsize=10)
    return ax


def _draw(
    graph: nx.Graph[Any], numbers: Any, names: Sequence[Hashable], source: Hashable | None, ax: Axes | None
) -> Axes:
    """Draw a graph whose nodes have these names, and the colors of their layers if there is a source."""
    import matplotlib as mpl
    import networkx as nx

    n = len(graph)
    if n > MAX_DRAWN_NODES:
        raise StatementError(f"{n} nodes are too many to draw: more than {MAX_DRAWN_NODES}", do="draw a subgraph")
    side = max(4.5, min(11.0, 2.5 + 0.55 * n**0.5))
    ax = axes_or_new(ax, size=(1.25 * side, side))
    look: dict[str, Any] = {"node_color": "#9ecae1", "edgecolors": "#08306b"}
    if source is not None:
        count = int(np.nanmax(numbers)) + 1
        palette = mpl.colors.ListedColormap(mpl.colormaps["YlGnBu_r"](np.linspace(0.45, 0.97, count)))
        norm = mpl.colors.Normalize(-0.5, count - 0.5)
        bar = ax.figure.colorbar(mpl.cm.ScalarMappable(norm, palette), ax=ax, label="layer")
        bar.set_ticks(range(0, count, -(-count // 12)))
        borders = ["#cb181d" if node == source else "#08306b" for node in graph]
        look = {"node_color": palette(norm(numbers)), "edgecolors": borders}
    widths = [3.0 if node == source else 0.5 for node in graph]
    places, is_named = _places(graph), n <= MAX_NAMED_NODES
    nx.draw_networkx_edges(graph, places, ax=ax, edge_color="#bdbdbd", width=0.8)
    size = 420 if is_named else max(12, 12_000 // n)
    nx.draw_networkx_nodes(graph, places, ax=ax, node_size=size, linewidths=widths, **look)
    if is_named:
        labels = {node: shorten(name) for node, name in zip(graph, names, strict=True)}
        nx.draw_networkx_labels(graph, places, labels, ax=ax, font_size=8)
    ax.set_axis_off()
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.12)
    return ax


def _places(graph: nx.Graph[Any]) -> Any:
    """Return the coordinates of the nodes: given ones, pairs of numbers, or a layout that shows distances."""
    import networkx as nx

    given = nx.get_node_attributes(graph, "pos")
    if len(given) == len(graph):
        return given
    if all(isinstance(node, tuple) and len(node) == 2 and label_numbers(node) is not None for node in graph):
        return {node: node for node in graph}
    places = nx.kamada_kawai_layout(graph) if len(graph) <= MAX_SPRINGS else nx.spring_layout(graph, seed=1)
    points = np.array(list(places.values()))
    spread = np.linalg.eigh((points - points.mean(axis=0)).T @ (points - points.mean(axis=0)))
    return dict(zip(places, points @ spread.eigenvectors[:, ::-1], strict=True))  # the longest axis is horizontal
