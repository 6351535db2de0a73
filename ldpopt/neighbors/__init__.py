"""Neighbor relations as networkx graphs, and the breadth-first layers of Wu, Xia and He."""

from typing import TYPE_CHECKING

from ldpopt.neighbors.distances import within
from ldpopt.neighbors.families import BYTES_PER_NODE, complete, cycle, grid, path
from ldpopt.neighbors.partition import bfs_partition
from ldpopt.neighbors.records import MOST_COUNTS, histograms
from ldpopt.neighbors.relation import MOST_CELLS, require_undirected
from ldpopt.neighbors.steps import cayley

if TYPE_CHECKING:
    from ldpopt.neighbors.relation import Graph as Graph

__all__ = [
    "BYTES_PER_NODE",
    "MOST_CELLS",
    "MOST_COUNTS",
    "bfs_partition",
    "cayley",
    "complete",
    "cycle",
    "grid",
    "histograms",
    "path",
    "require_undirected",
    "within",
]
