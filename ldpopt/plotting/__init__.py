"""Product: pictures: every function draws one object on the given axes, or on new ones, and returns
them without showing them.

In: a mechanism, perhaps with places on a map, an audit, a sweep, an estimate, a regression, a
comparison, a design, regions of priors, a neighbor graph, or noise. Out: matplotlib axes.
`ldpopt.plot` chooses the picture for an object; `report` writes a whole page.
"""

from ldpopt.plotting.axes import MAX_AXIS_LABELS
from ldpopt.plotting.coefficients import regression
from ldpopt.plotting.estimates import design, estimate
from ldpopt.plotting.geometry import corners, polytope, regions
from ldpopt.plotting.graphs import layers
from ldpopt.plotting.maps import places
from ldpopt.plotting.mechanisms import comparison, delta_curve, mechanism, privacy_curve
from ldpopt.plotting.sweeps import surface, sweep

__all__ = [
    "MAX_AXIS_LABELS",
    "comparison",
    "corners",
    "delta_curve",
    "design",
    "estimate",
    "layers",
    "mechanism",
    "places",
    "polytope",
    "privacy_curve",
    "regression",
    "regions",
    "surface",
    "sweep",
]
