"""Product: additive noise for queries: Laplace, geometric and staircase noise, and noise by the
partition of a neighbor set.

In: the sensitivity of a query (or the set of its possible changes) and a budget. Out: a `Noise`
with its density, moments and sampler. `layers` does the same for neighbor graphs that are not a
line.
"""

from ldpopt.noise import layers
from ldpopt.noise.geometric import Geometric
from ldpopt.noise.laplace import Laplace
from ldpopt.noise.level_noise import IntegerLevelNoise, LevelNoise
from ldpopt.noise.noise import Noise
from ldpopt.noise.partition import NeighborPartition
from ldpopt.noise.sensitivity import sensitivity
from ldpopt.noise.staircase import Staircase
from ldpopt.noise.widening import optimal_widening

__all__ = [
    "Geometric",
    "IntegerLevelNoise",
    "Laplace",
    "LevelNoise",
    "NeighborPartition",
    "Noise",
    "Staircase",
    "layers",
    "optimal_widening",
    "sensitivity",
]
