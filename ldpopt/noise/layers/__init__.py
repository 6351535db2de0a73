"""Product: mechanisms and noise from breadth-first layers of a neighbor graph, optimal levels,
noise on the integer lattice.
"""

from ldpopt.noise.layers.lattice import LatticeNoise
from ldpopt.noise.layers.levels import Levels, charnes_cooper, optimal_levels
from ldpopt.noise.layers.mechanism import Layered, bfs_mechanism, level_matrix
from ldpopt.noise.layers.words import Tail, WordMetric

__all__ = [
    "LatticeNoise",
    "Layered",
    "Levels",
    "Tail",
    "WordMetric",
    "bfs_mechanism",
    "charnes_cooper",
    "level_matrix",
    "optimal_levels",
]
