"""The second witness: what epsilon and delta a channel really has, from its numbers alone.

In: a matrix (floats, rationals or integer masses) or a black box that answers. Out: an `Audit`, decided in integers,
or a lower confidence bound. Nothing here knows how a privacy notion writes its rows.
"""
