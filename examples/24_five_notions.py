"""
One question under five notions
===============================

Question: three answers of the probabilities .5, .3 and .2. What may a single report reveal of them
under pure privacy, along a path of neighbors, by pointwise maximal leakage, by information privacy,
and with a budget for each answer?

A report with the column c makes the answer x as likely as prior(x) c(x), divided by their sum. The
private columns are sums of extreme rays, so that the possible posteriors are a polygon, whose
corners are those of the rays.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from scipy.spatial import ConvexHull

from ldpopt import PML, GraphDP, InformationPrivacy, PairwiseLDP, Problem, PureLDP, solve
from ldpopt.polytope.convex import best_channel, mutual_information
from ldpopt.polytope.vertices import extreme_points

prior = {"often": 0.5, "seldom": 0.3, "never": 0.2}
path = nx.path_graph(list(prior))
notions = {
    "pure, 1": PureLDP(1.0),
    "path, 1": GraphDP(1.0, path),
    "leakage, 1/2": PML(0.5, prior),
    "information, 1/2": InformationPrivacy(0.5, prior),
    "own budgets 1/2, 1, 2": PairwiseLDP.of_answers({"often": 0.5, "seldom": 1, "never": 2}),
}

# %%
# The best chance to name the answer from a report, and the largest information of a report, each
# with a proved bound: the gap is below 1e-9.

for name, notion in notions.items():
    guess = solve(Problem(prior, "identity", notion)).value
    best = best_channel(mutual_information(prior), notion)
    assert best.gap < 1e-9
    print(f"{name:22} right {guess:.4f}   information {best.value:.4f} nats")

# %%
# The corners of the polytope of all private channels with two reports: those of averages may have
# columns that are no extreme rays, because a column may lie inside a face.

for name, notion in notions.items():
    print(f"{name:22} {extreme_points(notion, 3, 2, inputs=list(prior)).count} corners")

# %%
# The picture: all posteriors that one report can cause. The cross is the prior, the dots are the
# posteriors of the best channel for information.

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def places(columns):
    """Points of a triangle for columns, one a row."""
    posterior = columns * np.array(list(prior.values()))
    return posterior / posterior.sum(axis=1, keepdims=True) @ CORNERS


def outline(notion):
    """Corners of the polygon: every ray is a column of some extreme point with two reports."""
    points = extreme_points(notion, 3, 2, inputs=list(prior))
    columns = np.vstack([point.astype(float).T for point in points])
    around = places(columns[columns.sum(axis=1) > 0])
    return around[ConvexHull(around).vertices]


figure, axes = plt.subplots(1, 5, figsize=(15.0, 3.6), layout="constrained")
for ax, (name, notion) in zip(axes, notions.items(), strict=True):
    ax.fill(*CORNERS.T, facecolor="none", edgecolor="#888888", linewidth=1.0)
    ax.fill(*outline(notion).T, facecolor="#c6dbef", edgecolor="#08519c", linewidth=1.2)
    best = best_channel(mutual_information(prior), notion)
    ax.plot(*places(best.columns).T, "o", color="#08519c", markersize=4.5)
    ax.plot(*places(np.ones((1, 3))).T, "x", color="#a50f15", markersize=7)
    for label, corner, y in zip(prior, CORNERS, (-1, -1, 1), strict=True):
        align = "bottom" if y > 0 else "top"
        ax.text(corner[0], corner[1] + 0.02 * y, label, ha="center", va=align)
    ax.set(title=name, aspect="equal", xlim=(-0.12, 1.12), ylim=(-0.09, 0.96))
    ax.axis("off")
figure.suptitle("What one report may make of the prior (x), and the best reports (dots)")

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

counts = [extreme_points(notion, 3, 2, inputs=list(prior)).count for notion in notions.values()]
assert counts == [8, 8, 12, 12, 14]
values = [solve(Problem(prior, "identity", notion)).value for notion in notions.values()]
assert abs(values[0] - 0.584846863) < 1e-9
assert max(values) == values[2]

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "24_five_notions.png", dpi=110)
# sphinx_gallery_end_ignore
