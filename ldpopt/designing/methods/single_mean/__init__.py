"""Designs for a single mean: report values one after the other, and a proof by the roots of quadratics.

In: numbers of the answers, weights or none for the worst case. Out: report values, a channel whose means are exact,
and multipliers that are checked in integers.
"""
