"""Peers of the optimum: mechanisms of the literature for the same statement, exactly private, and how channels compare.

In: a `Problem`, or a metric; or two channels. Out: a `Mechanism` for each peer that applies, the table of all of them,
and whether one channel refines another.
"""

from ldpopt.studies.literature.comparison import Comparison, PeerMechanism, compare
from ldpopt.studies.literature.exponential import exponential, sharpened_exponential
from ldpopt.studies.literature.planar_laplace import planar_laplace
from ldpopt.studies.literature.refining import Refinement, find_refinement
from ldpopt.studies.literature.tight import tight_constraints

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
