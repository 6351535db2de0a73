"""Neighbor relations as networkx graphs, and the breadth-first layers of Wu, Xia and He."""

from typing import TYPE_CHECKING

from ldpopt.privacy.neighbors.distances import within
from ldpopt.privacy.neighbors.families import BYTES_PER_NODE, complete, cycle, grid, path
from ldpopt.privacy.neighbors.partition import bfs_partition
from ldpopt.privacy.neighbors.records import MOST_COUNTS, histograms
from ldpopt.privacy.neighbors.relation import MOST_CELLS, require_undirected
from ldpopt.privacy.neighbors.steps import cayley

if TYPE_CHECKING:
    from ldpopt.privacy.neighbors.relation import Graph as Graph

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
