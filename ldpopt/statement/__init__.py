"""Statements of problems: inputs, prior, utility and side constraints.

In: numbers, labels, data sets and model files. Out: a `Problem` in which every label has found its place.
"""
