"""The exact optimum: the simplex method in rationals, and the basis of a float solution solved
exactly.
"""

from ldpopt.solving.exact import simplex

__all__ = ["simplex"]
