"""Designs for a single mean: report values one after the other, and a bound by the roots of
quadratics.
"""
