"""Product: from reports to numbers: counts, unbiased estimates with intervals, sample sizes,
goodness of fit.

In: reports of a mechanism, design or frequency protocol. Out: an `Estimate` with standard errors
and intervals.
"""

from ldpopt.estimation import functions, techniques

__all__ = ["functions", "techniques"]
