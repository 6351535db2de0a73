"""Mechanisms of the literature for a problem, exactly private, compared with the optimum;
refinement of channels.

In: a `Problem`, or a metric; or two channels. Out: a `Mechanism` for each proposal that applies,
the comparison of them and of all methods for the optimum, and whether one channel refines another.
"""

from ldpopt.studies.literature.comparison import Comparison, ComparisonRow
from ldpopt.studies.literature.exponential import (
    exponential,
    sharpened_exponential,
    tight_constraints,
)
from ldpopt.studies.literature.methods import compare
from ldpopt.studies.literature.planar_laplace import planar_laplace
from ldpopt.studies.literature.refinement import Refinement, find_refinement

__all__ = [
    "Comparison",
    "ComparisonRow",
    "Refinement",
    "compare",
    "exponential",
    "find_refinement",
    "planar_laplace",
    "sharpened_exponential",
    "tight_constraints",
]
