"""The picture for an object, chosen by its class."""

from __future__ import annotations

import inspect
from functools import singledispatch
from typing import Any

from ldpopt.closed_forms.binary import Binary
from ldpopt.errors import StatementError
from ldpopt.foundation.labels import nearest
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.plotting.axes import Axes, finish, name_privacy
from ldpopt.plotting.coefficients import regression
from ldpopt.plotting.estimates import counts, design, estimate, schemes, survey
from ldpopt.plotting.geometry import corners, polytope, regions
from ldpopt.plotting.graphs import lattice, layered, levels, noise, notion, partition
from ldpopt.plotting.mechanisms import comparison, delta_curve, heat_map, mechanism, privacy_curve
from ldpopt.plotting.sweeps import experiment, front, simulation, sweep
from ldpopt.polytope.regions import Region
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility


def binary(form: Binary, ax: Axes | None = None) -> Axes:
    """Draw the private mechanisms for two answers, with the optimal ones."""
    return polytope(form.privacy, ax, prior=form.prior.tolist())


def utility(utility: Utility, ax: Axes | None = None) -> Axes:
    """Draw the gain or loss of every answer and report."""
    n, m = utility.shape
    ax = heat_map(
        utility.matrix, utility.inputs or range(n), utility.outputs or range(m), utility.sense, ax
    )
    return finish(ax, xlabel="report", ylabel="true answer")


def problem(problem: Problem, ax: Axes | None = None) -> Axes:
    """Draw the utility of a problem, with its notion as the title."""
    labelled = Utility(
        problem.utility.matrix, problem.utility.sense, problem.inputs, problem.outputs
    )
    return finish(utility(labelled, ax), name_privacy(problem.privacy))


@singledispatch
def picture(thing: Any, ax: Axes | None = None) -> Axes:
    """Draw regions of priors, or the mechanism of a solution, a closed form or another result under
    its notion.
    """
    if (
        isinstance(thing, (list, tuple))
        and thing
        and all(isinstance(part, Region) for part in thing)
    ):
        return regions(thing, ax)
    if isinstance(getattr(thing, "mechanism", None), Mechanism):
        privacy = getattr(thing, "privacy", None) or getattr(
            getattr(thing, "problem", None), "privacy", None
        )
        return finish(
            mechanism(thing.mechanism, ax), "" if privacy is None else name_privacy(privacy)
        )
    known = ", ".join(sorted(kind.__name__ for kind in picture.registry if kind is not object))
    do = f"pass one of {known}, or a result with a mechanism; or use a function of ldpopt.plotting"
    raise StatementError(f"there is no picture for a {type(thing).__name__}", code="picture", do=do)


# Each is the picture of the class of its first argument.
for _picture in (
    *(
        mechanism,
        delta_curve,
        privacy_curve,
        sweep,
        front,
        experiment,
        simulation,
        schemes,
        counts,
        estimate,
        survey,
        regression,
    ),
    *(
        comparison,
        design,
        layered,
        partition,
        noise,
        lattice,
        levels,
        notion,
        binary,
        utility,
        problem,
        corners,
    ),
):
    picture.register(_picture)


def plot(thing: Any, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw an object in the way that suits it; nothing is shown or saved.

    Parameters
    ----------
    thing : Mechanism, Solution, Problem, Audit, Estimate, Regression, Design, notion, noise, ...
        A mechanism, and a result with a mechanism, as a heat map, an audit as its delta curve, a
        notion as the private mechanisms for two answers or as its graph, noise as its density, a
        partition and the mechanism of a graph by their layers, the others as their own pictures.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    **options
        Of the function for this class in `ldpopt.plotting`, such as ``plot(points,
        problem=problem)``.

    Raises
    ------
    StatementError
        If there is no picture of the object, or an option is unknown.
    """
    draw = picture.dispatch(type(thing))
    known = inspect.signature(draw).parameters
    if not any(each.kind is each.VAR_KEYWORD for each in known.values()):
        for name in options:
            if name not in known:
                raise StatementError(
                    f"unknown option {name!r} of the picture of a {type(thing).__name__}",
                    code="option",
                    do=nearest(name, list(known)[2:]),
                )
    axes: Axes = picture(thing, ax, **options)
    return axes
