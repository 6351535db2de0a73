"""Pictures of sweeps: values over budgets, and over budgets and priors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation import optional
from ldpopt.foundation.numbers import require_kind
from ldpopt.plotting.axes import Axes, axes_or_new, finish, name_privacy, name_sweep, shorten
from ldpopt.studies.experiment import MeanExperiment
from ldpopt.studies.pareto import ParetoFront
from ldpopt.studies.simulate import SimulationResult
from ldpopt.studies.sweep import SweepResult


def sweep(result: SweepResult, ax: Axes | None = None) -> Axes:
    """Draw the value against epsilon, one curve for each prior; if a closed form applies, it is
    dotted.

    Parameters
    ----------
    result : SweepResult
        The sweep; of many priors, deltas and models nine evenly spaced ones are drawn.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).

    Raises
    ------
    StatementError
        If it is not a `SweepResult`, or ``ax`` is not axes.
    """
    require_kind(result, SweepResult, "plotting.sweep()")
    ax = axes_or_new(ax, size=(7.0, 4.8))
    order = np.argsort(result.epsilons, kind="stable")
    epsilons = result.epsilons[order]
    values = _curves(result, "value")
    formulas = _curves(result, "closed_form")
    count = values.shape[1]
    drawn = np.unique(np.linspace(0, count - 1, min(count, 9)).round().astype(int)).tolist()
    style: dict[str, Any] = (
        {"linewidth": 2.6} if np.isfinite(formulas).any() else {"marker": "o", "markersize": 3}
    )
    for shade, k in zip(np.linspace(0, 0.9, len(drawn)), drawn, strict=True):
        color = optional.matplotlib.colormaps["viridis"](shade) if len(drawn) > 1 else "#6baed6"
        ax.plot(epsilons, values[order, k], color=color, label=_curve_name(result, k), **style)
        if np.isfinite(formulas[:, k]).any():
            name = "closed form" if k == drawn[-1] else None
            ax.plot(epsilons, formulas[order, k], ":", color="black", linewidth=1.0, label=name)
    legend = (
        {"title": None if result.priors is None else "prior"} if len(ax.get_lines()) > 1 else None
    )
    labels: dict[str, Any] = {"xlabel": r"$\varepsilon$ (nats)", "ylabel": result.aim}
    return finish(ax, name_sweep(result), grid=True, legend=legend, **labels)


def _curves(result: SweepResult, column: str) -> Any:
    """Return a column of the table as curves over budgets, shape ``(k, curves)``: one for each
    prior of each case.
    """
    grid = result.grid(column)
    return grid if grid.ndim == 2 else np.moveaxis(grid, 1, 0).reshape(grid.shape[1], -1)


def _curve_name(result: SweepResult, k: int) -> str:
    """Return the name of curve ``k`` of `_curves`: its case and its prior."""
    priors = 1 if result.priors is None else len(result.priors)
    parts = []
    if result.cases:
        model, delta, _ = result.cases[k // priors]
        parts += [model] if model else []
        parts += [] if np.isnan(delta) else [f"delta {delta:.3g}"]
    if result.priors is not None:
        weights = ", ".join(f"{weight:.3g}" for weight in result.priors[k % priors, :4])
        parts.append(f"({weights}{', …' if result.priors.shape[1] > 4 else ''})")
    return ", ".join(parts) or "solver"


def surface(result: SweepResult, ax: Axes | None = None, *, column: str = "value") -> Axes:
    r"""Draw a column of a binary sweep over epsilon and the prior of the first answer.

    Figures 2, 3, 6 and 7 of Zhou, Lu and Wu 2019 are such surfaces.

    Parameters
    ----------
    result : SweepResult
        A sweep for two answers and several priors.
    ax : matplotlib Axes, optional
        Three-dimensional axes get the surface, flat ones its contours (default: new
        three-dimensional axes).
    column : str
        ``"value"``, ``"closed_form"`` or ``"relative_gap"``; default: ``"value"``.

    Raises
    ------
    StatementError
        If it is not a sweep of two answers over several budgets and priors, or ``ax`` is not axes.
    """
    require_kind(result, SweepResult, "plotting.surface()")
    priors = result.priors
    if priors is None or priors.shape[1] != 2 or min(len(priors), len(result.epsilons)) < 2:
        problem = "a surface needs two answers, several budgets and several priors"
        raise StatementError(problem, code="surface", do="sweep with priors=[[p, 1 - p], ...]")
    ax = axes_or_new(ax, projection="3d", size=(7.0, 5.2))
    across, along = np.meshgrid(priors[:, 0], result.epsilons)
    height = result.grid(column)
    label = {"value": result.aim, "closed_form": "closed form"}.get(
        column, column.replace("_", " ")
    )
    finish(
        ax,
        name_sweep(result),
        xlabel=r"$\varepsilon$ (nats)",
        ylabel=f"prior of '{shorten(result.labels[0])}'",
    )
    if hasattr(ax, "plot_surface"):
        drawn: Any = ax
        drawn.plot_surface(
            along,
            across,
            height,
            cmap="viridis",
            linewidth=0.2,
            edgecolor="black",
            antialiased=True,
        )
        drawn.set_zlabel(label)
        drawn.view_init(elev=28, azim=-128)
        drawn.set_box_aspect(None, zoom=0.88)
        return ax
    filled = ax.pcolormesh(along, across, height, cmap="viridis", shading="gouraud")
    ax.clabel(
        ax.contour(along, across, height, levels=8, colors="white", linewidths=0.7), fontsize=7
    )
    ax.figure.colorbar(filled, ax=ax, label=label)
    return ax


def front(front: ParetoFront, ax: Axes | None = None) -> Axes:
    """Draw a Pareto front: every private mechanism is on it or on its worse side."""
    ax = axes_or_new(ax, size=(5.6, 4.6))
    ax.plot(
        *front.values.T, "o-", color="#08519c", markersize=3.5, linewidth=1.2, label="Pareto front"
    )
    sense = front.problem.utility.sense
    shown = ", ".join(shorten(name) for name in front.group[:4]) + (
        ", …" if len(front.group) > 4 else ""
    )
    labels: dict[str, Any] = {
        "xlabel": f"mean {sense} of the group: {shown}",
        "ylabel": f"mean {sense} of the others",
    }
    return finish(ax, name_privacy(front.problem.privacy), grid=True, **labels)


def experiment(result: MeanExperiment, ax: Axes | None = None) -> Axes:
    """Draw the error of each protocol for a mean against epsilon, on average over the data sets;
    theory is dotted.
    """
    ax = axes_or_new(ax)
    for k, (name, measured) in enumerate(
        zip(result.algorithms, result.rmse.mean(axis=0).T, strict=True)
    ):
        ax.plot(result.epsilons, measured, "o-", color=f"C{k % 10}", markersize=3, label=name)
        ax.plot(result.epsilons, result.theory.mean(axis=0)[:, k], ":", color=f"C{k % 10}")
    across = f"root mean squared error, {result.users:,} users"
    return finish(ax, legend={}, yscale="log", xlabel=r"$\varepsilon$ (nats)", ylabel=across)


def simulation(result: SimulationResult, ax: Axes | None = None) -> Axes:
    """Draw the utilities of simulated surveys as a histogram, with the expected utility."""
    ax = axes_or_new(ax)
    ax.hist(result.utilities, bins="auto", color="#9ecae1", edgecolor="#08306b")
    ax.axvline(
        result.expected, color="#cb181d", linestyle="--", label=f"expected {result.expected:.4g}"
    )
    along = f"utility of a survey of {result.population:,} people"
    return finish(ax, legend={}, xlabel=along, ylabel=f"surveys, of {result.repeats}")
