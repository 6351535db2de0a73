"""Product: from reports to numbers: counts, unbiased estimates with intervals, sample sizes,
goodness of fit.

In: reports of a mechanism, design or frequency protocol. Out: an `Estimate` with standard errors
and intervals.
"""

import lazy_loader  # type: ignore[import-untyped]

# Imported when they are used: commands that estimate nothing start without them.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["functions", "techniques"])
