"""Designs for many answers: a bound without listing sets, sets drawn from its moments, and their
probabilities.
"""
