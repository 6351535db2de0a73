"""
Neighbor graphs in pictures
===========================

Question: people of three kinds, a table of how many there are of each, and the *median* kind is to
be published. Two tables are neighbors if one record is replaced. The median is not linear in the
table, so no additive noise fits: what is the best private answer, and how near to it is a mechanism
from the layers of the neighbor graph (Wu, Xia and He)?
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import ldpopt
from ldpopt import layers, neighbors, plotting

# %%
# The neighbor relation is a networkx graph: all tables of six records of three kinds; an edge
# replaces one record. (For records that are added or removed leave out ``replace=True``.)
# Breadth-first search from a table gives the layers: the values that 0, 1, 2, ... replaced records
# can reach.

tables = neighbors.histograms(3, 6, replace=True)
print(tables)


def median(table):
    return int(np.searchsorted(np.cumsum(table), (sum(table) + 1) // 2)) if any(table) else 0


source = (3, 1, 2)
for number, layer in enumerate(neighbors.bfs_partition(tables, source, median)):
    print(f"layer {number} of {source}: medians {sorted(layer)}")

# %%
# The mechanism reports a value with a weight that falls by exp(-epsilon) per layer. On this graph
# the weights of different tables have different sums, so dividing by them may cost up to 2 epsilon.
# ``bfs_mechanism`` tries several repairs, keeps the best one, and its result is exactly private
# along the edges.

found = layers.bfs_mechanism(tables, 1.0, median, utility="absolute_error")
print(f"without repair: epsilon {found.unrepaired_epsilon:.4f}; repair: {found.repair!r}")
print(found.mechanism.audit(found.problem.privacy))
print(
    f"mean error {found.value:.4f}, at best {found.optimum:.4f}: {found.ratio:.4f} times "
    "the optimum"
)

# %%
# Other queries that are not linear, each with the optimum beside it; here up to four records of
# four kinds are added or removed.
# "weights" is the best of the repairs that keep weights of layers; the last repair is the best
# mechanism that treats tables with the same layers alike, a small linear program even where there
# are thousands of tables.

queries = {
    "median": median,
    "mode": lambda table: int(np.argmax(table)),
    "maximum": lambda table: max((kind for kind in range(4) if table[kind]), default=0),
    "distinct kinds": lambda table: sum(count > 0 for count in table),
}
ratios = {}
for name, query in queries.items():
    one = layers.bfs_mechanism(neighbors.histograms(4, 4), 1.0, query)
    others = min(
        value
        for repair, value in one.tried.items()
        if repair != "layers" and not isinstance(value, str)
    )
    ratios[name] = others / one.optimum, one.ratio
    print(
        f"{name:15} loss / least loss: weights {ratios[name][0]:.3f}, {one.repair} "
        f"{ratios[name][1]:.3f}"
    )

# %%
# Any graph will do. A road network: crossings with coordinates in the attribute ``pos``, and a
# report of the crossing.

roads = nx.convert_node_labels_to_integers(nx.grid_2d_graph(7, 6), label_attribute="pos")
roads.remove_edges_from(list(roads.edges)[2::6])
place = layers.bfs_mechanism(roads, 1.0)
print(
    f"{roads}: {place.value:.3f} crossings off, {place.ratio:.4f} times the optimum, repair "
    f"{place.repair!r}"
)

# %%
# A relation of one's own: diagnoses are neighbors if they are in the same chapter, and so are
# chapters' first ones.

codes = [f"{chapter}{number}" for chapter in "ABC" for number in range(4)]
relation = nx.Graph(
    (x, y) for x in codes for y in codes if x < y and (x[0] == y[0] or x[1] == y[1] == "0")
)
diagnosis = layers.bfs_mechanism(relation, "log(3)", lambda code: code[0], utility="identity")
print(f"chapter right with probability {diagnosis.value:.4f}, at best {diagnosis.optimum:.4f}")

# %%
# ``plot`` draws the layers on the graph, and everything else that the library returns.

figure, axes = plt.subplots(2, 2, figsize=(12.5, 9.6), layout="constrained")
plotting.layers(tables, source, median, axes[0, 0])
axes[0, 0].set_title(
    f"tables of six records, labelled by their median:\nlayers around {source}", fontsize=10
)
ldpopt.plot(place, axes[0, 1])
ldpopt.plot(diagnosis, axes[1, 0])
bars = np.array(list(ratios.values()))
for k, (label, color) in enumerate((("best weights", "#9ecae1"), ("best by layers", "#08519c"))):
    drawn = axes[1, 1].bar(
        np.arange(4) + 0.38 * k - 0.19, bars[:, k], 0.36, color=color, label=label
    )
    axes[1, 1].bar_label(drawn, fmt="%.3f", fontsize=8)
axes[1, 1].axhline(1.0, color="black", linewidth=0.8)
axes[1, 1].set(
    xticks=range(4), xticklabels=ratios, ylabel="loss / least loss", ylim=(0, 1.25 * bars.max())
)
axes[1, 1].legend(frameon=False, ncol=2)

# sphinx_gallery_start_ignore
# Checks of the numbers above; the picture goes to the folder that the command names, or to the
# current one.
import sys
from pathlib import Path

for one in (found, place, diagnosis):
    assert one.mechanism.audit(one.problem.privacy).verdict == "certified"
    assert one.ratio < 1.2
assert all(by_layers <= weights and by_layers < 1.13 for weights, by_layers in ratios.values())

target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
target.mkdir(parents=True, exist_ok=True)
figure.savefig(target / "17_neighbor_graphs.png", dpi=110)
# sphinx_gallery_end_ignore
