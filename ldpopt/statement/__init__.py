"""Statements of problems: inputs, prior, utility and side constraints, or a workload to estimate.

In: numbers, labels, data sets and model files. Out: a `Problem` in which every label has found its place.
"""
