"""The picture for an object, chosen by its class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ldpopt.accounting import PrivacyCurve
from ldpopt.auditing.divergence import Audit
from ldpopt.closed_forms.binary import Binary
from ldpopt.designing import Design, FrequencyDesign, QuestionsDesign
from ldpopt.designing.comparison import DesignComparison
from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.estimate import Estimate
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.noise import NeighborPartition, Noise
from ldpopt.noise.layers import LatticeNoise, Layered, Levels
from ldpopt.plotting.axes import Axes, finish, name_privacy
from ldpopt.plotting.estimates import counts, design, estimate, schemes, survey
from ldpopt.plotting.geometry import corners, polytope, regions
from ldpopt.plotting.graphs import lattice, layered, levels, noise, notion, partition
from ldpopt.plotting.mechanisms import comparison, delta_curve, heat_map, mechanism, privacy_curve
from ldpopt.plotting.sweeps import experiment, front, simulation, sweep
from ldpopt.polytope.points import ExtremePoints
from ldpopt.polytope.regions import Region
from ldpopt.privacy import Notion
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility
from ldpopt.solving.solution import Solution
from ldpopt.studies.experiment import MeanExperiment
from ldpopt.studies.literature import Comparison
from ldpopt.studies.pareto import ParetoFront
from ldpopt.studies.simulate import SimulationResult
from ldpopt.studies.sweep import SweepResult
from ldpopt.surveys.estimates import SurveyEstimate
from ldpopt.surveys.schemes import SchemeComparison


def binary(form: Binary, ax: Axes | None = None) -> Axes:
    """Draw the private mechanisms for two answers, with the optimal ones."""
    return polytope(form.privacy, ax, prior=form.prior.tolist())


def mechanism_of(thing: Any, ax: Axes | None = None) -> Axes:
    """Draw the mechanism of a solution, a closed form or another result, with its notion as the title."""
    privacy = getattr(thing, "privacy", None) or getattr(getattr(thing, "problem", None), "privacy", None)
    return finish(mechanism(thing.mechanism, ax), "" if privacy is None else name_privacy(privacy))


def utility(utility: Utility, ax: Axes | None = None) -> Axes:
    """Draw the gain or loss of every answer and report."""
    n, m = utility.shape
    ax = heat_map(utility.matrix, utility.inputs or range(n), utility.outputs or range(m), utility.sense, ax)
    return finish(ax, xlabel="report", ylabel="true answer")


def problem(problem: Problem, ax: Axes | None = None) -> Axes:
    """Draw the utility of a problem, with its notion as the title."""
    labelled = Utility(problem.utility.matrix, problem.utility.sense, problem.inputs, problem.outputs)
    return finish(utility(labelled, ax), name_privacy(problem.privacy))


PICTURES: dict[type, Callable[..., Any]] = {
    Mechanism: mechanism, Solution: mechanism_of, Audit: delta_curve, PrivacyCurve: privacy_curve, SweepResult: sweep,
    ParetoFront: front, MeanExperiment: experiment, SimulationResult: simulation, SchemeComparison: schemes,
    Counts: counts, Estimate: estimate, SurveyEstimate: survey, Comparison: comparison, Design: design,
    FrequencyDesign: design, QuestionsDesign: design, DesignComparison: design, Layered: layered,
    NeighborPartition: partition, Noise: noise, LatticeNoise: lattice, Levels: levels, Notion: notion, Binary: binary,
    Utility: utility, Problem: problem, ExtremePoints: corners,
}  # fmt: skip


def plot(thing: Any, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw an object in the way that suits it; nothing is shown or saved.

    Parameters
    ----------
    thing : Mechanism, Solution, Problem, ClosedForm, Audit, SweepResult, Estimate, Comparison, Design, notion or noise
        A mechanism, and a result with a mechanism, as a heat map, an audit as its delta curve, a notion as the private
        mechanisms for two answers or as its graph, noise as its density, a partition and the mechanism of a graph by
        their layers, the others as their own pictures.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    **options
        Of the function for this class in `ldpopt.plotting`, such as ``plot(points, problem=problem)``.
    """
    for kind, picture in PICTURES.items():
        if isinstance(thing, kind):
            axes: Axes = picture(thing, ax, **options)
            return axes
    if isinstance(thing, (list, tuple)) and thing and all(isinstance(part, Region) for part in thing):
        return regions(thing, ax)
    if isinstance(getattr(thing, "mechanism", None), Mechanism):
        return mechanism_of(thing, ax)
    what = f"there is no picture for a {type(thing).__name__}"
    do = f"pass one of {', '.join(sorted(kind.__name__ for kind in PICTURES))}; or use a function of ldpopt.plotting"
    raise StatementError(what, do=do)
