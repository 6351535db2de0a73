"""Peers of the optimum: mechanisms of the literature for the same statement, exactly private, and how they compare.

In: a `Problem`, or a metric. Out: a `Mechanism` for each peer that applies, and the table of all of them.
"""

from ldpopt.peers.comparison import Comparison, PeerMechanism, compare
from ldpopt.peers.exponential import exponential, sharpened_exponential
from ldpopt.peers.planar_laplace import planar_laplace
from ldpopt.peers.tight import tight_constraints

__all__ = [
    "Comparison",
    "PeerMechanism",
    "compare",
    "exponential",
    "planar_laplace",
    "sharpened_exponential",
    "tight_constraints",
]
