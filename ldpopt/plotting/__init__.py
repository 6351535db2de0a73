"""Pictures: every function draws one object on the given axes, or on new ones, and returns them without showing them.

In: a mechanism, perhaps with places on a map, an audit, a sweep, an estimate, a comparison, a design, regions of
priors, a neighbor graph, or noise. Out: matplotlib axes. `ldpopt.plot` chooses the picture for an object; `report`
writes a whole page.
"""

from ldpopt.plotting.axes import MAX_AXIS_LABELS
from ldpopt.plotting.estimates import design, estimate
from ldpopt.plotting.geometry import polytope, regions
from ldpopt.plotting.graphs import layered, layers, notion
from ldpopt.plotting.maps import places
from ldpopt.plotting.mechanisms import comparison, delta_curve, mechanism
from ldpopt.plotting.noise import lattice, levels, noise, partition
from ldpopt.plotting.sweeps import front, surface, sweep

__all__ = [
    "MAX_AXIS_LABELS",
    "comparison",
    "delta_curve",
    "design",
    "estimate",
    "front",
    "lattice",
    "layered",
    "layers",
    "levels",
    "mechanism",
    "noise",
    "notion",
    "partition",
    "places",
    "polytope",
    "regions",
    "surface",
    "sweep",
]
