"""Additive noise for queries: the classical laws, and the partition by a neighbor set."""

from ldpopt.noise.geometric import Geometric
from ldpopt.noise.laplace import Laplace
from ldpopt.noise.level_noise import LatticeNoise, LevelNoise
from ldpopt.noise.noise import Noise
from ldpopt.noise.partition import NeighborPartition
from ldpopt.noise.queries import sensitivity
from ldpopt.noise.staircase import Staircase
from ldpopt.noise.widening import optimal_widening

__all__ = [
    "Geometric",
    "Laplace",
    "LatticeNoise",
    "LevelNoise",
    "NeighborPartition",
    "Noise",
    "Staircase",
    "optimal_widening",
    "sensitivity",
]
