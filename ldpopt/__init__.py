"""ldpopt: state a problem, get the provably best private mechanism."""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it, whose import takes longer than all else here
if TYPE_CHECKING:
    from typing import Any

    from ldpopt import closed_forms, errors, frequencies, mean, noise, peers, privacy, testing
    from ldpopt._callables import plot, sweep
    from ldpopt.auditing import divergence
    from ldpopt.auditing.black_box import audit_sampler
    from ldpopt.auditing.divergence import Audit, audit
    from ldpopt.certificate import Certificate
    from ldpopt.designing import (
        Design,
        DesignCertificate,
        compare_designs,
        load_design,
        save_design,
    )
    from ldpopt.designing.design import design
    from ldpopt.designing.limits import DesignLimits
    from ldpopt.designing.plan import plan_design
    from ldpopt.estimation.counts import Counts
    from ldpopt.estimation.fit import goodness_of_fit
    from ldpopt.estimation.inversion import Estimate, estimate_frequencies
    from ldpopt.estimation.planning import plan_sample
    from ldpopt.foundation.budget import Budget
    from ldpopt.foundation.rows import RowBlock
    from ldpopt.mechanism import repair, sampling
    from ldpopt.mechanism.keyed import SecretKey
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.noise import layers
    from ldpopt.peers import Comparison, Refinement, compare, find_refinement
    from ldpopt.polytope import convex, regions
    from ldpopt.polytope.vertices import ExtremePoints, extreme_points
    from ldpopt.privacy import (
        ApproximateLDP,
        GraphDP,
        MetricDP,
        OneSided,
        PureLDP,
        UtilityOptimizedLDP,
        neighbors,
    )
    from ldpopt.solvers import Status
    from ldpopt.solvers.program import LinearProgram
    from ldpopt.solving.certify import certify
    from ldpopt.solving.exact import simplex
    from ldpopt.solving.formulation import formulate
    from ldpopt.solving.limits import Limits
    from ldpopt.solving.plan import plan
    from ldpopt.solving.solution import Solution
    from ldpopt.solving.solve import solve
    from ldpopt.statement import constraints, datasets, modelfile, motion, utility
    from ldpopt.statement.design_problem import DesignProblem
    from ldpopt.statement.modelfile import load_model, save_model
    from ldpopt.statement.problem import Problem
    from ldpopt.statement.utility import Utility
    from ldpopt.statement.workloads import Workload
    from ldpopt.studies import experiment, folders, simulate
    from ldpopt.surveys.schemes import compare_schemes
    from ldpopt.surveys.survey import Survey

__version__ = "0.1.0"

# All is imported when it is first named: a command hears Ctrl-C before numpy is there, and pays for what it uses.
_OBJECTS = {
    "ApproximateLDP": "privacy",
    "Audit": "auditing.divergence",
    "audit": "auditing.divergence",
    "audit_sampler": "auditing.black_box",
    "Budget": "foundation.budget",
    "Certificate": "certificate",
    "certify": "solving.certify",
    "compare": "peers",
    "compare_designs": "designing",
    "compare_schemes": "surveys.schemes",
    "Comparison": "peers",
    "Counts": "estimation.counts",
    "Design": "designing",
    "DesignCertificate": "designing",
    "design": "designing",
    "DesignLimits": "designing.limits",
    "DesignProblem": "statement.design_problem",
    "plan_design": "designing.plan",
    "Estimate": "estimation.inversion",
    "estimate_frequencies": "estimation.inversion",
    "ExtremePoints": "polytope.vertices",
    "extreme_points": "polytope.vertices",
    "find_refinement": "peers",
    "formulate": "solving.formulation",
    "goodness_of_fit": "estimation.fit",
    "GraphDP": "privacy",
    "Limits": "solving.limits",
    "LinearProgram": "solvers.program",
    "load_design": "designing",
    "load_model": "statement.modelfile",
    "Mechanism": "mechanism.mechanism",
    "MetricDP": "privacy",
    "OneSided": "privacy",
    "plan": "solving.plan",
    "plan_sample": "estimation.planning",
    "Problem": "statement.problem",
    "PureLDP": "privacy",
    "Refinement": "peers",
    "RowBlock": "foundation.rows",
    "save_design": "designing",
    "save_model": "statement.modelfile",
    "SecretKey": "mechanism.keyed",
    "Solution": "solving.solution",
    "solve": "solving.solve",
    "Status": "solvers",
    "Survey": "surveys.survey",
    "Utility": "statement.utility",
    "UtilityOptimizedLDP": "privacy",
    "Workload": "statement.workloads",
}
"""Modules of the public objects."""

_MODULES = {
    "constraints": "statement.constraints",
    "convex": "polytope.convex",
    "datasets": "statement.datasets",
    "divergence": "auditing.divergence",
    "experiment": "studies.experiment",
    "folders": "studies.folders",
    "layers": "noise.layers",
    "modelfile": "statement.modelfile",
    "motion": "statement.motion",
    "neighbors": "privacy.neighbors",
    "regions": "polytope.regions",
    "repair": "mechanism.repair",
    "sampling": "mechanism.sampling",
    "simplex": "solving.exact.simplex",
    "simulate": "studies.simulate",
    "sweep": "studies.sweep",
    "utility": "statement.utility",
}
"""Where the public modules live; the others have the name of their room."""

__all__ = [
    "ApproximateLDP",
    "Audit",
    "Budget",
    "Certificate",
    "Comparison",
    "Counts",
    "Design",
    "DesignCertificate",
    "DesignLimits",
    "DesignProblem",
    "Estimate",
    "ExtremePoints",
    "GraphDP",
    "Limits",
    "LinearProgram",
    "Mechanism",
    "MetricDP",
    "OneSided",
    "Problem",
    "PureLDP",
    "Refinement",
    "RowBlock",
    "SecretKey",
    "Solution",
    "Status",
    "Survey",
    "Utility",
    "UtilityOptimizedLDP",
    "Workload",
    "audit",
    "audit_sampler",
    "certify",
    "closed_forms",
    "compare",
    "compare_designs",
    "compare_schemes",
    "constraints",
    "convex",
    "datasets",
    "design",
    "errors",
    "estimate_frequencies",
    "experiment",
    "extreme_points",
    "find_refinement",
    "folders",
    "formulate",
    "frequencies",
    "goodness_of_fit",
    "layers",
    "load_design",
    "load_model",
    "mean",
    "motion",
    "neighbors",
    "noise",
    "peers",
    "plan",
    "plan_design",
    "plan_sample",
    "plot",
    "privacy",
    "regions",
    "save_design",
    "save_model",
    "simplex",
    "simulate",
    "solve",
    "sweep",
    "testing",
    "utility",
]


if not TYPE_CHECKING:  # so that type checkers know which names there are

    def __getattr__(name: str) -> Any:
        from importlib import import_module
        from importlib.util import find_spec

        place = _OBJECTS.get(name) or _MODULES.get(name, name)
        if name.startswith("_") or find_spec(f"ldpopt.{place}") is None:
            raise AttributeError(f"module 'ldpopt' has no attribute {name!r}")
        module = import_module(f"ldpopt.{place}")
        value = getattr(module, name) if name in _OBJECTS else module
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _PublicModules:
    """Import system's view of `_MODULES`: ``from ldpopt.mean import Duchi`` finds the module in its room."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find a public module, or one inside it, by its public name."""
        package, _, rest = name.partition(".")
        public, dot, inner = rest.partition(".")
        if package != "ldpopt" or public not in _MODULES:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, origin=f"ldpopt.{_MODULES[public]}{dot}{inner}")  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> Any:
        """Return the module itself: there is one of it, whatever it is called."""
        from importlib import import_module

        module = import_module(spec.origin)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: Any) -> None:
        """Leave the module as it is, under its own name."""
        module.__spec__ = module.__spec__.loader_state


def _find_public_modules() -> None:
    import sys

    sys.meta_path.insert(0, _PublicModules())


_find_public_modules()
