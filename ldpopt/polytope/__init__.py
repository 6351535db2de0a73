"""Product: the polytope of private channels: half-spaces, extreme points and their orbits, regions
of priors.

In: a privacy notion and the numbers of inputs and outputs. Out: exact vertices, their counts, the
best for a prior.
"""

from ldpopt.polytope import convex, regions

__all__ = ["convex", "regions"]
