"""Core: problems: inputs, prior, utility, privacy and side constraints; or a workload to estimate.

In: numbers, labels, data sets and model files. Out: a `Problem` with all parts in the order of its
labels.
"""

from ldpopt.problem import constraints, datasets, utility

__all__ = ["constraints", "datasets", "utility"]
