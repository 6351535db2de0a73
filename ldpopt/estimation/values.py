"""Values of single reports: unbiased estimates from one report each, which any other program can
average.
"""

from typing import Any

import numpy as np

from ldpopt.estimation.counts import ListedSource, source_of
from ldpopt.estimation.influence import Influence
from ldpopt.estimation.reports import codes_in
from ldpopt.foundation.numbers import Float


def values_of(source: Any, reports: Any) -> Float:
    """Return the value of each report in each number; see `Mechanism.values`."""
    listed = source_of(source, "values()")
    assert isinstance(listed, ListedSource)
    positions, _ = codes_in(reports, listed.mechanism.outputs, "refuse")
    return np.ascontiguousarray(listed.estimator.T[positions])


def influence_of(source: Any) -> Influence:
    """Return how far one report can move each number; see `Mechanism.influence`."""
    return source_of(source, "influence").influence
