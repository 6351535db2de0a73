"""Rays: an optimal channel for graphs and metrics from the rays of its columns' cone, generated as they are needed.

In: a problem whose inputs are tied pair by pair. Out: a channel, and the pairs' multipliers that prove its gap.
"""
