"""Peers of the optimum: mechanisms of the literature for the same statement, exactly private, and how channels compare.

In: a `Problem`, or a metric; or two channels. Out: a `Mechanism` for each peer that applies, the table of all of them,
and whether one channel refines another.
"""

from ldpopt.peers.comparison import Comparison, PeerMechanism, compare
from ldpopt.peers.exponential import exponential, sharpened_exponential
from ldpopt.peers.planar_laplace import planar_laplace
from ldpopt.peers.refining import Refinement, find_refinement
from ldpopt.peers.tight import tight_constraints

__all__ = [
    "Comparison",
    "PeerMechanism",
    "Refinement",
    "compare",
    "exponential",
    "find_refinement",
    "planar_laplace",
    "sharpened_exponential",
    "tight_constraints",
]
