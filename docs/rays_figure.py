"""The figure of the page on rays: the cone of private columns for three answers, all pairs tied and
along a path.

Run from the repository: ``python docs/rays_figure.py`` writes ``docs/theory/rays.svg``.
"""

from itertools import product
from pathlib import Path

import matplotlib as mpl
import networkx as nx
import numpy as np
from matplotlib.figure import Figure

mpl.rcParams["svg.hashsalt"] = "rays"
PAIRS = {"all pairs tied": [(0, 1), (1, 2), (0, 2)], "the path 1 - 2 - 3": [(0, 1), (1, 2)]}


def rays(pairs):
    """Points ``(log p1/p2, 0, log p3/p2)`` in units of epsilon whose tight ties connect all
    answers, and the ties."""
    for point in product((-1, 0, 1), (0,), (-1, 0, 1)):
        size = {pair: abs(point[pair[0]] - point[pair[1]]) for pair in pairs}
        tight = [pair for pair in pairs if size[pair] == 1]
        graph = nx.Graph(tight)
        if max(size.values()) == 1 and len(graph) == 3 and nx.is_connected(graph):
            yield point, tight


def entry(exponent):
    """Power of 3 as text."""
    return "1" if not exponent else f"1/{3**exponent}"


figure = Figure(figsize=(9, 4.6), layout="constrained")
for axes, (title, pairs) in zip(figure.subplots(1, 2), PAIRS.items(), strict=True):
    found = list(rays(pairs))
    corners = np.array(
        sorted((point[::2] for point, _ in found), key=lambda at: np.arctan2(at[1], at[0]))
    )
    axes.fill(*corners.T, facecolor="0.92", edgecolor="black", linewidth=1)
    axes.plot(0, 0, "o", color="0.5", markersize=4)
    axes.annotate("(1, 1, 1)", (0, 0), (6, 6), textcoords="offset points", color="0.4", fontsize=9)
    for point, tight in found:
        at = np.array(point[::2], float)
        axes.plot(*at, "o", color="#b2182b", markersize=6)
        column = ", ".join(entry(max(point) - size) for size in point)
        small = [(x, z) if point[x] < point[z] else (z, x) for x, z in tight]
        ties = (
            "" if len(pairs) == 3 else "".join(f"\n$p_{x + 1} = p_{z + 1} / 3$" for x, z in small)
        )
        left = at[0] < 0 or (at[0] == 0 and at[1] > 0)
        low = at[1] < 0
        axes.annotate(
            f"({column}){ties}",
            at,
            (-6 if left else 6, -6 if low else 6),
            textcoords="offset points",
            ha="right" if left else "left",
            va="top" if low else "bottom",
            fontsize=9,
        )
    axes.set(title=title, xlim=(-2, 2), ylim=(-1.8, 1.8), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    axes.set(xlabel=r"$\log(p_1/p_2)\,/\,\varepsilon$", ylabel=r"$\log(p_3/p_2)\,/\,\varepsilon$")
    axes.set_aspect("equal")
figure.savefig(Path(__file__).parent / "theory" / "rays.svg", metadata={"Date": None})
