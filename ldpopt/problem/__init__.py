"""Statements of problems: inputs, prior, utility and side constraints, or a workload to estimate.

In: numbers, labels, data sets and model files. Out: a `Problem` in which every label has found its place.
"""

from ldpopt.problem import constraints, datasets, utility

__all__ = ["constraints", "datasets", "utility"]
