"""Pictures: every function draws one object on the given or new axes and returns them; it does not call ``show``.

In: a mechanism, places, an audit, a sweep, regions, an estimate, a comparison or a design. Out: matplotlib axes.
`ldpopt.plot` chooses the picture for an object.
"""

from ldpopt.plotting.axes import MAX_AXIS_LABELS
from ldpopt.plotting.comparisons import comparison
from ldpopt.plotting.estimates import design, estimate
from ldpopt.plotting.maps import places
from ldpopt.plotting.pictures import delta_curve, mechanism, polytope, regions, surface, sweep

__all__ = [
    "MAX_AXIS_LABELS",
    "comparison",
    "delta_curve",
    "design",
    "estimate",
    "mechanism",
    "places",
    "polytope",
    "regions",
    "surface",
    "sweep",
]
