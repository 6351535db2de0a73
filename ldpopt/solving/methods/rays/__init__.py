"""Core: rays: an optimal channel for a graph or metric from extreme rays of the cone of private
columns, generated as needed.

In: a problem whose inputs are tied pair by pair. Out: a channel, and the pairs' multipliers that
prove its gap.
"""
