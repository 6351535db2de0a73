"""ldpopt: state a problem, get the provably best private mechanism."""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it, whose import takes longer than all else here
if TYPE_CHECKING:
    from typing import Any

    from ldpopt import (
        closed_forms,
        constraints,
        convex,
        datasets,
        errors,
        experiment,
        frequencies,
        layers,
        mean,
        motion,
        neighbors,
        noise,
        plot,
        privacy,
        regions,
        simplex,
        simulate,
        sweep,
        utility,
    )
    from ldpopt.budget import Budget
    from ldpopt.certificate import Certificate, certify
    from ldpopt.divergence import Audit, audit
    from ldpopt.estimate import Estimate, estimate_frequencies
    from ldpopt.formulation import formulate
    from ldpopt.mechanism import Mechanism
    from ldpopt.modelfile import load_model, save_model
    from ldpopt.privacy import ApproximateLDP, GraphDP, MetricDP, PureLDP
    from ldpopt.problem import Problem
    from ldpopt.program import LinearProgram, RowBlock
    from ldpopt.solution import Solution
    from ldpopt.solvers import Status
    from ldpopt.solving import solve
    from ldpopt.statistical import audit_sampler
    from ldpopt.utility import Utility
    from ldpopt.vertices import ExtremePoints, extreme_points

__version__ = "0.1.0"

# All is imported when it is first named: a command hears Ctrl-C before numpy is there, and pays for what it uses.
# No module may have the name of an object, or it would take its place.
_PLACES = {
    "ApproximateLDP": "privacy",
    "Audit": "divergence",
    "audit": "divergence",
    "audit_sampler": "statistical",
    "Budget": "budget",
    "Certificate": "certificate",
    "certify": "certificate",
    "Estimate": "estimate",
    "estimate_frequencies": "estimate",
    "ExtremePoints": "vertices",
    "extreme_points": "vertices",
    "formulate": "formulation",
    "GraphDP": "privacy",
    "LinearProgram": "program",
    "load_model": "modelfile",
    "Mechanism": "mechanism",
    "MetricDP": "privacy",
    "Problem": "problem",
    "PureLDP": "privacy",
    "RowBlock": "program",
    "save_model": "modelfile",
    "Solution": "solution",
    "solve": "solving",
    "Status": "solvers",
    "Utility": "utility",
}
"""Modules of the objects; the other names are modules."""

__all__ = [
    "ApproximateLDP",
    "Audit",
    "Budget",
    "Certificate",
    "Estimate",
    "ExtremePoints",
    "GraphDP",
    "LinearProgram",
    "Mechanism",
    "MetricDP",
    "Problem",
    "PureLDP",
    "RowBlock",
    "Solution",
    "Status",
    "Utility",
    "audit",
    "audit_sampler",
    "certify",
    "closed_forms",
    "constraints",
    "convex",
    "datasets",
    "errors",
    "estimate_frequencies",
    "experiment",
    "extreme_points",
    "formulate",
    "frequencies",
    "layers",
    "load_model",
    "mean",
    "motion",
    "neighbors",
    "noise",
    "plot",
    "privacy",
    "regions",
    "save_model",
    "simplex",
    "simulate",
    "solve",
    "sweep",
    "utility",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module
    from importlib.util import find_spec

    place = _PLACES.get(name, name)
    if name.startswith("_") or find_spec(f"ldpopt.{place}") is None:
        raise AttributeError(f"module 'ldpopt' has no attribute {name!r}")
    module = import_module(f"ldpopt.{place}")
    value = getattr(module, name) if name in _PLACES else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
