"""Pictures of neighbor graphs, of what privacy notions compare, and of noise that falls with
layers.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import Names, label_numbers
from ldpopt.noise import NeighborPartition, Noise
from ldpopt.noise.layers import LatticeNoise, Layered, Levels
from ldpopt.noise.noise import IntegerNoise
from ldpopt.plotting.axes import Axes, axes_or_new, finish, name_privacy, shorten
from ldpopt.plotting.geometry import polytope
from ldpopt.plotting.mechanisms import heat_map
from ldpopt.privacy import GraphDP, MetricDP, Notion
from ldpopt.privacy.graph_layers import Value, bfs_partition, value_of

if TYPE_CHECKING:
    import networkx as nx

# largest number of nodes of a picture; the layout of a larger graph takes a minute
MAX_DRAWN_NODES = 2000
MAX_NAMED_NODES = 60  # largest number of nodes with names
# largest number of nodes whose distances in the picture follow those of the graph
MAX_SPRINGS = 150
DRAWN_DEVIATIONS = 4.0  # standard deviations of noise that a picture shows on both sides of 0
DRAWN_NATS = 6.0  # layers times epsilon that the picture of lattice noise shows


def layers(
    graph: nx.Graph[Any], source: Hashable, value: Value | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a neighbor graph with its nodes in the colors of the layers around a source.

    Nodes with an attribute ``pos``, or that are pairs of numbers, are drawn at these coordinates.

    Parameters
    ----------
    graph : networkx.Graph
        The neighbor relation, undirected, of at most 2000 nodes.
    source : hashable
        Node around which the layers are drawn; its border is thick.
    value : mapping or callable, optional
        Query value of a node: its name in the picture, and the member of a layer (default: the node
        itself).
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).

    Raises
    ------
    StatementError
        If the graph is directed or too large, or the source is not one of its nodes.
    """
    number = {
        reached: t
        for t, layer in enumerate(bfs_partition(graph, source, value))
        for reached in layer
    }
    values = {node: value_of(node, value) for node in graph}
    ax = _draw(
        graph,
        [number.get(values[node], np.nan) for node in graph],
        list(values.values()),
        source,
        ax,
    )
    return finish(
        ax, f"layers around {shorten(source)}" + ("" if value is None else ", by query value")
    )


def layered(result: Layered, ax: Axes | None = None) -> Axes:
    """Draw the graph of a mechanism, with the layers around the node that has all values nearby."""
    problem = result.problem
    nearest = result.levels.argmin(axis=1).tolist()
    source = problem.inputs[int(result.levels.sum(axis=1).argmin())]
    values = {node: problem.outputs[y] for node, y in zip(problem.inputs, nearest, strict=True)}
    ax = layers(problem.privacy.graph, source, values, ax)
    outcome = f"{problem.utility.sense} {result.value:.4g}, repair '{result.repair}'"
    return finish(
        ax, f"{name_privacy(problem.privacy)}: {outcome}\nlayers around {shorten(source)}"
    )


def notion(privacy: Notion, ax: Axes | None = None) -> Axes:
    """Draw a notion: the private mechanisms for two answers, its graph, or the budget of each pair
    of answers.
    """
    if isinstance(privacy, GraphDP):
        return finish(
            _draw(privacy.graph, None, list(privacy.graph), None, ax), name_privacy(privacy)
        )
    inputs: Names
    if isinstance(privacy, MetricDP):
        if callable(privacy.distance):
            raise StatementError(
                "a metric that is a function has no picture",
                code="distance-function",
                do="pass a matrix of distances",
            )
        inputs = range(len(privacy.distance)) if privacy.inputs is None else privacy.inputs
    elif hasattr(privacy, "sensitive"):
        inputs = (*privacy.sensitive, "any other")
    else:
        return polytope(privacy, ax)
    ties = privacy.definition(inputs)
    assert ties is not None
    budgets = np.where(ties.table > 0, float(ties.budget) * ties.table, np.nan)
    ax = heat_map(budgets, inputs, inputs, "largest log ratio (nats)", ax)
    labels: dict[str, Any] = {
        "xlabel": "than under this answer $x'$",
        "ylabel": "a report is likelier under $x$",
    }
    return finish(ax, name_privacy(privacy), **labels)


def noise(noise: Noise, ax: Axes | None = None) -> Axes:
    """Draw the density of noise, or the probabilities of noise on the integers, with the mean
    absolute noise.
    """
    ax, reach = axes_or_new(ax), DRAWN_DEVIATIONS * float(noise.variance) ** 0.5
    if isinstance(noise, IntegerNoise):
        last = max(3, min(int(reach), 2000))
        k = np.arange(-last, last + 1)
        ax.bar(k, noise.pdf(k), width=0.8 if last < 60 else 1.0, color="#08519c")
        ax.set(ylabel="probability", xlabel="noise (whole numbers)")
    else:
        r = np.linspace(-reach, reach, 4001)
        density = noise.pdf(r)
        ax.plot(r, density, color="#08519c", linewidth=1.2)
        ax.fill_between(r, density, color="#c6dbef", alpha=0.6)
        ax.set(ylabel="density", xlabel="noise (unit of the answer)")
    for side in (-1, 1):
        label = f"mean |noise| {noise.expected_abs:.4g}" if side > 0 else None
        ax.axvline(
            side * noise.expected_abs, color="#cb181d", linestyle="--", linewidth=1, label=label
        )
    ax.set_ylim(0, None)
    title = (
        rf"{type(noise).__name__}, sensitivity {noise.sensitivity:.4g}, $\varepsilon$ = "
        rf"{float(noise.epsilon):.4g}"
    )
    return finish(ax, title, legend={"frameon": False})


def partition(partition: NeighborPartition, ax: Axes | None = None) -> Axes:
    """Draw the level of each noise value: how many steps of the neighbor set reach it; the set
    itself is red.
    """
    ax, reach = (
        axes_or_new(ax, size=(7.0, 4.0)),
        2.5 * partition.sensitivity + float(partition.widening),
    )
    r = np.linspace(-reach, reach, 8001)
    if partition.is_discrete:
        r = np.arange(-int(reach), int(reach) + 1.0)
    level = partition.level(r)
    ax.fill_between(r, level, step="mid", color="#c6dbef")
    ax.plot(r, level, color="#08519c", linewidth=1.2, drawstyle="steps-mid", label="level $L(r)$")
    for low, high in partition.blocks:
        for side in (-1, 1):
            ends = [side * float(low), side * float(high)]
            ax.plot(
                ends,
                [0, 0],
                color="#cb181d",
                linewidth=4,
                marker="|",
                solid_capstyle="butt",
                zorder=4,
            )
    ax.plot([], [], color="#cb181d", linewidth=4, label="neighbor set")
    ax.set(
        xlabel="noise $r$ (unit of the answer)",
        ylabel=r"level: the density is $e^{-\varepsilon L(r)} / Z$",
    )
    ax.set_ylim(None, 1.3 * float(level.max()))
    title = f"layers of the neighbor set, widening {float(partition.widening):.4g}"
    return finish(ax, title, legend={"loc": "upper center", "ncol": 2})


def lattice(noise: LatticeNoise, ax: Axes | None = None) -> Axes:
    """Draw the layers of the integer lattice around 0: integers with their probabilities, triples
    that end in 0.
    """
    last = max(2, min(int(DRAWN_NATS / float(noise.epsilon)), 12))
    listed = [noise.words.layer(t) for t in range(last + 1)]
    points = np.concatenate(listed)
    level = np.repeat(np.arange(last + 1), [len(layer) for layer in listed])
    is_drawn = (points[:, 2:] == 0).all(axis=1)
    if noise.dimension == 1:
        ax = axes_or_new(ax)
        ax.vlines(
            points[:, 0],
            0,
            np.exp(-float(noise.epsilon) * level) / noise.normalizer,
            color="#08519c",
        )
        ax.set(ylabel="probability", xlabel="noise (whole numbers)", ylim=(0, None))
    else:
        ax = axes_or_new(ax, size=(6.4, 5.2))
        across, up = points[is_drawn, :2].T
        size = max(2.0, min(60.0, 16_000 / len(across)))
        dots = ax.scatter(across, up, s=size, c=level[is_drawn], cmap="YlGnBu_r")
        ax.figure.colorbar(dots, ax=ax, label=r"level: the probability is $e^{-\varepsilon L} / Z$")
        ax.set(xlabel="noise of the first number", ylabel="noise of the second number")
        ax.set_aspect("equal", adjustable="datalim")
    return finish(
        ax,
        rf"noise by {last + 1} layers of the lattice, $\varepsilon$ = {float(noise.epsilon):.4g}",
    )


def levels(levels: Levels, ax: Axes | None = None) -> Axes:
    """Draw the optimal level of each layer beside the levels of Theorem 1, which descend."""
    ax, t = axes_or_new(ax), np.arange(len(levels.levels))
    ax.plot(t, -t, "s--", color="#969696", label=f"$-t$: loss {levels.descending_value:.4g}")
    ax.plot(t, levels.levels, "o-", color="#08519c", label=f"optimal: loss {levels.value:.4g}")
    ax.locator_params(integer=True)
    labels: dict[str, Any] = {
        "xlabel": "layer $t$",
        "ylabel": r"level $z_t$: the weight is $e^{\varepsilon z_t}$",
    }
    return finish(ax, grid=True, legend={}, **labels)


def _draw(
    graph: nx.Graph[Any], numbers: Any, names: Names, source: Hashable, ax: Axes | None
) -> Axes:
    """Draw a graph whose nodes have these names, and the colors of their layers if there is a
    source.
    """
    import matplotlib as mpl
    import networkx as nx

    n = len(graph)
    if n > MAX_DRAWN_NODES:
        raise StatementError(
            f"{n} nodes are too many to draw: more than {MAX_DRAWN_NODES}",
            code="nodes",
            do="draw a subgraph",
        )
    side = max(4.5, min(11.0, 2.5 + 0.55 * n**0.5))
    ax = axes_or_new(ax, size=(1.25 * side, side))
    look: dict[str, Any] = {"node_color": "#9ecae1", "edgecolors": "#08306b"}
    if source is not None:
        count = int(np.nanmax(numbers)) + 1
        palette = mpl.colors.ListedColormap(
            mpl.colormaps["YlGnBu_r"](np.linspace(0.45, 0.97, count))
        )
        norm = mpl.colors.Normalize(-0.5, count - 0.5)
        bar = ax.figure.colorbar(mpl.cm.ScalarMappable(norm, palette), ax=ax, label="layer")
        bar.set_ticks(range(0, count, -(-count // 12)))
        borders = ["#cb181d" if node == source else "#08306b" for node in graph]
        look = {"node_color": palette(norm(numbers)), "edgecolors": borders}
    widths = [3.0 if node == source else 0.5 for node in graph]
    places = _places(graph)
    is_named = n <= MAX_NAMED_NODES
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
    """Return the coordinates of the nodes: given ones, pairs of numbers, or a layout that shows
    distances.
    """
    import networkx as nx

    positions = nx.get_node_attributes(graph, "pos")
    if len(positions) == len(graph):
        return positions
    if all(
        isinstance(node, tuple) and len(node) == 2 and label_numbers(node) is not None
        for node in graph
    ):
        return {node: node for node in graph}
    places = (
        nx.kamada_kawai_layout(graph)
        if len(graph) <= MAX_SPRINGS
        else nx.spring_layout(graph, seed=1)
    )
    points = np.array(list(places.values()))
    spread = np.linalg.eigh((points - points.mean(axis=0)).T @ (points - points.mean(axis=0)))
    # the longest axis is horizontal
    return dict(zip(places, points @ spread.eigenvectors[:, ::-1], strict=True))
