"""ldpopt: state a problem, get the provably best private mechanism."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ldpopt import constraints, errors, utility
from ldpopt.divergence import Audit, audit
from ldpopt.extreme_points import ExtremePoints, extreme_points
from ldpopt.mechanism import Mechanism
from ldpopt.privacy import ApproximateLDP, GraphDP, MetricDP, PureLDP
from ldpopt.problem import Problem
from ldpopt.program import LinearProgram, RowBlock
from ldpopt.solve import solve
from ldpopt.utility import Utility

if TYPE_CHECKING:
    from ldpopt import (
        closed_forms,
        convex,
        datasets,
        experiment,
        frequencies,
        layers,
        mean,
        motion,
        neighbors,
        noise,
        plot,
        regions,
        simplex,
        simulate,
        sweep,
    )
    from ldpopt.budget import Budget
    from ldpopt.certificate import Certificate, certify
    from ldpopt.estimate import Estimate, estimate_frequencies
    from ldpopt.formulation import formulate
    from ldpopt.modelfile import load_model, save_model
    from ldpopt.solution import Solution
    from ldpopt.solvers import Status
    from ldpopt.statistical import audit_sampler

__version__ = "0.1.0"

# What a statement does not need is imported when it is first named, so that `import ldpopt` stays light.
_LATER = {
    "closed_forms": "",
    "convex": "",
    "datasets": "",
    "experiment": "",
    "frequencies": "",
    "layers": "",
    "mean": "",
    "motion": "",
    "neighbors": "",
    "noise": "",
    "plot": "",
    "regions": "",
    "simplex": "",
    "simulate": "",
    "sweep": "",
    "audit_sampler": "statistical",
    "Budget": "budget",
    "Certificate": "certificate",
    "certify": "certificate",
    "Estimate": "estimate",
    "estimate_frequencies": "estimate",
    "formulate": "formulation",
    "load_model": "modelfile",
    "save_model": "modelfile",
    "Solution": "solution",
    "Status": "solvers",
}

__all__ = [
    "ApproximateLDP",
    "Audit",
    "ExtremePoints",
    "GraphDP",
    "LinearProgram",
    "Mechanism",
    "MetricDP",
    "Problem",
    "PureLDP",
    "RowBlock",
    "Utility",
    "audit",
    "constraints",
    "errors",
    "extreme_points",
    "solve",
    "utility",
    *_LATER,
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'ldpopt' has no attribute {name!r}")
    module = import_module(f"ldpopt.{_LATER[name] or name}")
    value = getattr(module, name) if _LATER[name] else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
