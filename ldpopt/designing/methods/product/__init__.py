"""Designs for product alphabets whose workload only sees in which attributes answers differ, as marginals do.

In: sizes of the attributes, eigenvalues of the Gram matrix. Out: sets with all their images under the symmetries, a
channel with equal masses in each orbit, and a proof that takes a handful of rationals.
"""
