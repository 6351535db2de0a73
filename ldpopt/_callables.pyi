# Types of the modules that can be called: type checkers know no such thing, so here each is an object with attributes.
from types import ModuleType

from ldpopt.plot import axes, choosing, comparisons, estimates, maps, pictures
from ldpopt.studies import points
from ldpopt.studies import sweep as sweeps

class _Sweep(ModuleType):
    __call__ = staticmethod(sweeps.sweep)
    MAX_POINTS = sweeps.MAX_POINTS
    Row = points.Row
    SweepResult = sweeps.SweepResult
    sweep = staticmethod(sweeps.sweep)

class _Plot(ModuleType):
    __call__ = staticmethod(choosing.draw)
    MAX_AXIS_LABELS = axes.MAX_AXIS_LABELS
    comparison = staticmethod(comparisons.comparison)
    delta_curve = staticmethod(pictures.delta_curve)
    design = staticmethod(estimates.design)
    draw = staticmethod(choosing.draw)
    estimate = staticmethod(estimates.estimate)
    mechanism = staticmethod(pictures.mechanism)
    places = staticmethod(maps.places)
    polytope = staticmethod(pictures.polytope)
    regions = staticmethod(pictures.regions)
    surface = staticmethod(pictures.surface)
    sweep = staticmethod(pictures.sweep)

plot: _Plot
sweep: _Sweep
