"""Core: independent audits: the true epsilon and delta of a channel, computed from its numbers
alone.

In: a matrix (floats, rationals or integer masses), or a black box that randomizes. Out: an `Audit`,
decided in integers, or a lower confidence bound. Audits share no code with the constraint rows of
privacy notions.
"""
