"""Pictures: every function draws one object on the given or new axes and returns them; it does not call ``show``.

In: a mechanism, places, an audit, a sweep, regions, an estimate, a comparison or a design. Out: matplotlib axes.
The module can be called: ``ldpopt.plot(thing)`` is `draw`, which chooses the picture.
"""

from ldpopt.foundation.callable_modules import make_callable
from ldpopt.plot.axes import MAX_AXIS_LABELS
from ldpopt.plot.choosing import draw
from ldpopt.plot.comparisons import comparison
from ldpopt.plot.estimates import design, estimate
from ldpopt.plot.maps import places
from ldpopt.plot.pictures import delta_curve, mechanism, polytope, regions, surface, sweep

__all__ = [
    "MAX_AXIS_LABELS",
    "comparison",
    "delta_curve",
    "design",
    "draw",
    "estimate",
    "mechanism",
    "places",
    "polytope",
    "regions",
    "surface",
    "sweep",
]

make_callable(__name__, "draw")
