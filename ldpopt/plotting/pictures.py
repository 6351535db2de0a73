"""Pictures of mechanisms, sweeps, privacy and regions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.auditing.divergence import Audit
from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.plotting.axes import axes_or_new, label_axis, name_sweep, short
from ldpopt.studies.sweep import SweepResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ldpopt.polytope.regions import Region

MAX_NUMBERED_SIDE = 12
"""Largest side of a heat map with numbers in its cells."""

NAME_DIRECTIONS = ((-1, -1), (-1, 1), (1, 1), (1, 1), (1, 1), (1, -1), (-1, -1), (-1, -1))
"""Directions of the names of the corners A to H of a binary polytope; they do not overlap if corners are close."""

APEXES = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])
"""Positions of the three certain priors in a triangle."""

MIN_CELL_WIDTH = 0.07
"""Smallest distance from the center of a cell to its border for a name inside the cell."""


def mechanism(mechanism: Mechanism, ax: Axes | None = None) -> Axes:
    """Draw a channel as a heat map: rows are answers, columns reports; small channels with probabilities.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).

    Returns
    -------
    matplotlib Axes
        Axes with a color bar.
    """
    n, m = mechanism.channel.shape
    side = (max(4.0, min(12.0, 1.6 + 0.62 * m)), max(3.2, min(12.0, 1.2 + 0.52 * n)))
    ax = axes_or_new(ax, size=side)
    top = float(mechanism.channel.max())
    image = ax.imshow(mechanism.channel, cmap="Blues", vmin=0.0, vmax=top, aspect="auto")
    label_axis(ax, "y", mechanism.inputs)
    label_axis(ax, "x", mechanism.outputs)
    ax.set_xlabel("report")
    ax.set_ylabel("true answer")
    if max(n, m) <= MAX_NUMBERED_SIDE:
        for (x, y), p in np.ndenumerate(mechanism.channel):
            color = "white" if p > 0.55 * top else "black"
            ax.text(y, x, _probability(float(p)), ha="center", va="center", color=color, fontsize=8)
    ax.figure.colorbar(image, ax=ax, label="P(report | answer)")
    return ax


def sweep(result: SweepResult, ax: Axes | None = None) -> Axes:
    """Draw the value against epsilon, one curve per prior, with the closed form as dots if one applies.

    Parameters
    ----------
    result : SweepResult
        The sweep; of many priors, deltas and models nine are drawn, evenly spaced.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    """
    ax = axes_or_new(ax)
    values, formulas = _curves(result, "value"), _curves(result, "closed_form")
    order = np.argsort(result.epsilons, kind="stable")
    count = values.shape[1]
    chosen = np.unique(np.linspace(0, count - 1, min(count, 9)).round().astype(int))
    has_formula = bool(np.isfinite(formulas).any())
    style: dict[str, Any] = {"linewidth": 2.6} if has_formula else {"marker": "o", "markersize": 3}
    for position, k in enumerate(chosen):
        color = _shade(position, len(chosen))
        ax.plot(result.epsilons[order], values[order, k], color=color, label=_curve_name(result, int(k)), **style)
        last = "closed form" if position == len(chosen) - 1 else None
        _dotted_curve(ax, result.epsilons[order], formulas[order, k], last)
    ax.set_xlabel(r"$\varepsilon$ (nats)")
    ax.set_ylabel(result.aim)
    ax.set_title(name_sweep(result), fontsize=10)
    ax.grid(alpha=0.3)
    if len(ax.get_lines()) > 1:
        ax.legend(fontsize=8, title=None if result.priors is None else "prior")
    return ax


def _curves(result: SweepResult, column: str) -> Any:
    """A column over budgets, shape ``(k, curves)``: one curve for each prior of each case."""
    grid = result.grid(column)
    return grid if grid.ndim == 2 else np.moveaxis(grid, 1, 0).reshape(grid.shape[1], -1)


def surface(result: SweepResult, ax: Axes | None = None, *, column: str = "value") -> Axes:
    r"""Draw a column of a binary sweep over epsilon and the prior of the first answer.

    Figures 2, 3, 6 and 7 of Zhou, Lu and Wu 2019 are such surfaces.

    Parameters
    ----------
    result : SweepResult
        A sweep for two answers and several priors.
    ax : matplotlib Axes, optional
        Three-dimensional axes get the surface, flat ones its contours (default: new three-dimensional axes).
    column : str
        ``"value"``, ``"closed_form"`` or ``"relative_gap"``; default: ``"value"``.

    Raises
    ------
    StatementError
        If the sweep has no grid of binary priors.
    """
    priors = result.priors
    if priors is None or priors.shape[1] != 2 or min(len(priors), len(result.epsilons)) < 2:
        raise StatementError(
            "a surface needs two answers, several budgets and several priors",
            do="sweep with priors=[[p, 1 - p], ...]",
        )
    ax = axes_or_new(ax, projection="3d", size=(7.0, 5.2))
    across, along = np.meshgrid(priors[:, 0], result.epsilons)
    height = result.grid(column)
    label = {"value": result.aim, "closed_form": "closed form"}.get(column, column.replace("_", " "))
    prior_label, epsilon_label = _first_prior(result.labels), r"$\varepsilon$ (nats)"
    ax.set_title(name_sweep(result), fontsize=10)
    if hasattr(ax, "plot_surface"):
        drawn: Any = ax
        drawn.plot_surface(along, across, height, cmap="viridis", linewidth=0.2, edgecolor="black", antialiased=True)
        drawn.set_zlabel(label)
        drawn.view_init(elev=28, azim=-128)
        drawn.set_box_aspect(None, zoom=0.88)
        ax.set_xlabel(epsilon_label)
        ax.set_ylabel(prior_label)
        return ax
    filled = ax.pcolormesh(along, across, height, cmap="viridis", shading="gouraud")
    lines = ax.contour(along, across, height, levels=8, colors="white", linewidths=0.7)
    ax.clabel(lines, fontsize=7)
    ax.set_xlabel(epsilon_label)
    ax.set_ylabel(prior_label)
    ax.figure.colorbar(filled, ax=ax, label=label)
    return ax


def polytope(privacy: Any, ax: Axes | None = None, *, prior: Sequence[float] | None = None) -> Axes:
    r"""Draw the private mechanisms for two answers, as points ``(p00, p11)``, with their corners named.

    Figures 1 and 5 of Zhou, Lu and Wu 2019: A to D without delta, A to H with it.

    Parameters
    ----------
    privacy : PureLDP or ApproximateLDP
        The notion.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    prior : sequence of 2 floats, optional
        Also draw the level line :math:`\pi_0 p_{00} + \pi_1 p_{11} = u^*` through the best point.
    """
    from ldpopt.closed_forms import binary
    from ldpopt.privacy import Notion

    ties = privacy.definition((0, 1)) if isinstance(privacy, Notion) and privacy.alphabet is None else None
    if ties is None or not ties.is_complete:
        raise StatementError(f"{privacy!r} has no plot in the plane", do="pass PureLDP or ApproximateLDP")
    form = binary([0.5, 0.5] if prior is None else prior, ties.budget, ties.delta)
    corners = np.array(form.vertices)
    ax = axes_or_new(ax, size=(6.2, 5.4))
    ax.fill(*corners.T, facecolor="#c6dbef", edgecolor="#08519c", linewidth=1.2, label="private")
    ax.plot(*corners.T, "o", color="#08519c", markersize=4)
    outward = (
        NAME_DIRECTIONS
        if len(corners) == 8
        else NAME_DIRECTIONS[1:2] + NAME_DIRECTIONS[3:4] + NAME_DIRECTIONS[5:6] + NAME_DIRECTIONS[7:]
    )
    for name, point, (x, y) in zip("ABCDEFGH", corners, outward, strict=False):
        _name_corner(ax, name, point, x, y)
    if prior is not None:
        _level_line(ax, form)
    ax.set_xlim(-0.46, 1.46)
    ax.set_ylim(-0.22, 1.22)
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.set_aspect("equal")
    ax.set_xlabel("$p_{00}$: probability that the first answer is reported truthfully")
    ax.set_ylabel("$p_{11}$: probability that the second answer is reported truthfully")
    delta = rf", $\delta = {float(ties.delta):.4g}$" if ties.delta else ""
    ax.set_title(rf"Private mechanisms, $\varepsilon = {float(ties.budget):.4g}${delta}")
    return ax


def regions(regions: Sequence[Region], ax: Axes | None = None) -> Axes:
    """Draw the priors of three answers as a triangle, divided into the cells where one mechanism is optimal.

    Each cell has the name of its mechanism and its share of the area. Mechanisms with more reports are darker.

    Parameters
    ----------
    regions : sequence of Region
        Result of `ldpopt.regions.prior_regions` for three inputs.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    """
    if not regions or len(regions[0].utilities) != 3:
        raise StatementError("a triangle shows the priors of three answers", do="pass prior_regions(privacy, 3)")
    ax = axes_or_new(ax, size=(7.0, 6.2))
    for region in regions:
        outline = np.array(region.corners, dtype=float) @ APEXES
        shown = region.reports if region.members is None else region.members
        color = ("#eff3ff", "#bdd7e7", "#6baed6")[min(len(shown), 3) - 1]
        ax.fill(*outline.T, facecolor=color, edgecolor="#08306b", linewidth=1.2)
        _name_cell(ax, region, outline)
    for x, (side, lift) in enumerate((("top", -0.03), ("top", -0.03), ("bottom", 0.03))):
        ax.text(APEXES[x, 0], APEXES[x, 1] + lift, rf"$\pi_{x} = 1$", ha="center", va=side)
    ax.set_xlim(-0.25, 1.25)
    ax.set_ylim(-0.2, 1.0)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def delta_curve(audit: Audit, ax: Axes | None = None, *, points: int = 60) -> Axes:
    """Draw the least delta of an audited channel at each epsilon.

    Parameters
    ----------
    audit : Audit
        The audit of a mechanism.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    points : int
        Number of points of the curve; default: ``60``.
    """
    end = audit.epsilon * 1.25 if 0 < audit.epsilon < np.inf else 5.0
    # The last kink of the curve is at the true epsilon.
    epsilons = np.union1d(np.linspace(0, end, points), [audit.epsilon] if audit.epsilon < np.inf else [])
    deltas = np.array([audit.delta_at(float(epsilon)) for epsilon in epsilons])
    ax = axes_or_new(ax)
    ax.plot(epsilons, deltas, color="#08519c")
    ax.fill_between(epsilons, deltas, color="#c6dbef", alpha=0.6)
    if 0 < audit.epsilon < np.inf:
        ax.axvline(audit.epsilon, color="black", linewidth=0.8, linestyle="--")
        ax.annotate(
            rf"$\varepsilon = {audit.epsilon:.4g}$",
            (audit.epsilon, 0.92),
            xycoords=("data", "axes fraction"),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            fontsize=9,
        )
    ax.set_xlim(0, end)
    ax.set_ylim(0, max(1e-12, float(deltas.max())) * 1.08)
    ax.set_xlabel(r"$\varepsilon$ (nats)")
    ax.set_ylabel(r"least $\delta$")
    ax.set_title(rf"Audit: true $\varepsilon$ = {audit.epsilon:.4g}", fontsize=10)
    ax.grid(alpha=0.3)
    return ax


def _probability(p: float) -> str:
    """Three digits; for smaller numbers one digit and the power of ten."""
    return "0" if p == 0 else "1" if p == 1 else f"{p:.3f}" if p >= 5e-4 else f"{p:.0e}"


def _shade(position: int, count: int) -> Any:
    import matplotlib as mpl

    if count == 1:
        return "#6baed6"
    return mpl.colormaps["viridis"](0.9 * position / max(1, count - 1))


def _dotted_curve(ax: Axes, x: Float, y: Float, label: str | None) -> None:
    """Draw a curve as black dots, unless all its values are missing."""
    if np.isfinite(y).any():
        ax.plot(x, y, ":", color="black", linewidth=1.0, label=label)


def _curve_name(result: SweepResult, k: int) -> str:
    """Name of the curve ``k`` of `_curves`: its case, and its prior."""
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


def _first_prior(names: Sequence[Hashable]) -> str:
    return f"prior of '{short(names[0])}'"


def _name_corner(ax: Axes, name: str, point: Float, x: int, y: int) -> None:
    """Write a corner's name and coordinates outside the region, in the direction (x, y)."""
    ax.annotate(
        f"{name} ({point[0]:.3g}, {point[1]:.3g})",
        (float(point[0]), float(point[1])),
        xytext=(7 * x, 5 * y),
        textcoords="offset points",
        ha="left" if x > 0 else "right",
        va="bottom" if y > 0 else "top",
        fontsize=8,
        zorder=5,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1},
    )


def _level_line(ax: Axes, form: Any) -> None:
    """Draw where the utility equals its optimum, and mark the optimal face."""
    (first, second), value = form.prior, form.value
    face = np.array(form.face)
    across = np.linspace(-0.2, 1.2, 400)
    if second > 0:
        height = (value - first * across) / second
        seen = (height >= -0.2) & (height <= 1.2)
        across, height = across[seen], height[seen]
    else:
        across, height = np.full(2, value / first), np.array([-0.2, 1.2])
    ax.plot(across, height, "--", color="#cb181d", linewidth=1.2, label=f"utility {value:.4g}")
    ax.plot(*face.T, color="#cb181d", linewidth=2.5, marker="o", markersize=6, label="optimal")
    # Below the axes: the region may fill them, and the title is above.
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=3, frameon=False, fontsize=8)


def _name_cell(ax: Axes, region: Region, outline: Float) -> None:
    """Write a cell's name and share into it; for a narrow cell, beside the triangle with a line."""
    center, middle = outline.mean(axis=0), APEXES.mean(axis=0)
    along = np.roll(outline, -1, axis=0) - outline
    across = along[:, 0] * (center - outline)[:, 1] - along[:, 1] * (center - outline)[:, 0]
    name, share = region.label, f"({100 * float(region.share):.2g} %)"
    if float(np.abs(across / np.hypot(*along.T)).min()) >= MIN_CELL_WIDTH:
        ax.text(
            center[0],
            center[1],
            f"{name.replace(':', '').replace(' ', chr(10), 1)}\n{share}",
            ha="center",
            va="center",
            fontsize=8,
        )
        return
    certain_answers = [x for x in range(3) if region.contains([int(k == x) for k in range(3)])]
    direction = center - middle
    if len(certain_answers) == 1:
        position = APEXES[certain_answers[0]] + ((-0.13, 0.07), (0.13, 0.07), (0.19, -0.02))[certain_answers[0]]
    elif np.hypot(*direction) < 0.1:
        position = np.array([1.08, 0.29])
    else:
        position = middle + direction / np.hypot(*direction) * (0.39 if abs(direction[0]) < 0.1 else 0.47)
    line = {"arrowstyle": "-", "color": "#08306b", "linewidth": 0.8}
    text = f"{name}\n{share}"
    ax.annotate(text, tuple(center), tuple(position), ha="center", va="center", fontsize=8, arrowprops=line)
