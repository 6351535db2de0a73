"""Pictures of polytopes: extreme points for two to four answers, and the priors of three
answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, listed_items, require_kind
from ldpopt.plotting.axes import Axes, axes_or_new, finish, name_privacy
from ldpopt.plotting.mechanisms import heat_map
from ldpopt.polytope.points import ExtremePoints
from ldpopt.polytope.regions import Region
from ldpopt.polytope.vertices import extreme_points
from ldpopt.problem.problem import Problem

# Directions of the names of the corners A to H of a binary polytope; they do not overlap if corners
# are close
NAME_DIRECTIONS = ((-1, -1), (-1, 1), (1, 1), (1, 1), (1, 1), (1, -1), (-1, -1), (-1, -1))
# positions of the three certain priors in a triangle
APEXES = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])
# smallest distance from the center of a cell to its border for a name inside the cell
MIN_CELL_WIDTH = 0.07
# largest number of extreme points whose columns are drawn; four answers have 904
MAX_DRAWN_POINTS = 10_000
MAX_COLUMNS = 30  # largest number of different columns in a picture
LEVELS = 5  # level lines of a utility beside that of the optimum


def polytope(privacy: Any, ax: Axes | None = None, *, prior: ArrayLike | None = None) -> Axes:
    r"""Draw the set of private mechanisms for two answers, in the plane of ``(p00, p11)``, with
    named corners.

    As figures 1 and 5 of Zhou, Lu and Wu 2019; the corners are A to D without delta, A to H with
    it.

    Parameters
    ----------
    privacy : PureLDP or ApproximateLDP
        The notion.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    prior : array_like, shape (2,), optional
        Also draw the level line :math:`\pi_0 p_{00} + \pi_1 p_{11} = u^*` through the best point.

    Raises
    ------
    StatementError
        If the notion has no picture in the plane, the prior is invalid, or ``ax`` is not axes.
    """
    from ldpopt.privacy import Notion

    ties = (
        privacy.definition((0, 1))
        if isinstance(privacy, Notion) and privacy.alphabet is None
        else None
    )
    if ties is None or not ties.is_complete:
        raise StatementError(
            f"{privacy!r} has no picture in the plane",
            code="notion",
            do="pass PureLDP or ApproximateLDP",
        )
    problem = None if prior is None else Problem(prior, "identity", privacy)
    return corners(extreme_points(privacy, 2), ax, problem=problem)


def corners(
    points: ExtremePoints, ax: Axes | None = None, *, problem: Problem | None = None
) -> Axes:
    r"""Draw extreme points: a polygon for two answers and two reports, else the columns that occur
    in them.

    The polygon is in the plane of ``(p00, p11)``. Its corners are named clockwise from the left,
    which are the names of Zhou, Lu and Wu 2019. A column is divided by its largest entry; below is
    the number of extreme points that have it.

    Parameters
    ----------
    points : ExtremePoints
        At most 10 000 extreme points.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    problem : Problem, optional
        Also draw level lines of its utility, and the best points (two answers only).

    Raises
    ------
    StatementError
        If these are not extreme points, or too many, or ``ax`` is not axes.
    """
    require_kind(points, ExtremePoints, "plotting.corners()")
    if points.shape == (2, 2):
        return _polygon(points, ax, problem)
    if points.count > MAX_DRAWN_POINTS:
        message = (
            f"the columns of at most {MAX_DRAWN_POINTS:,} extreme points are drawn, and these "
            f"are {points.count:,}"
        )
        raise StatementError(
            message,
            code="points",
            do="take at most four answers, or draw one point: plot(Mechanism(points[0]))",
        )
    counts = points.column_counts()
    shown = list(counts.items())[:MAX_COLUMNS]
    table = np.array([column for column, _ in shown], dtype=float).T
    times = [f"{count:,}" for _, count in shown]
    ax = heat_map(table, points.inputs, times, "entry / largest entry of the column", ax)
    more = (
        f", the {MAX_COLUMNS} most frequent of {len(counts)} columns"
        if len(counts) > MAX_COLUMNS
        else ""
    )
    title = f"{points.count:,} extreme points, {name_privacy(points.privacy)}{more}"
    return finish(
        ax, title, xlabel="number of extreme points with this column", ylabel="true answer"
    )


def _polygon(points: ExtremePoints, ax: Axes | None, problem: Problem | None) -> Axes:
    """Draw the private mechanisms for two answers, with named corners."""
    outline = np.array([[point[0, 0], point[1, 1]] for point in points], dtype=float)
    turned = outline - outline.mean(axis=0)
    first = np.lexsort(outline.T[::-1])[0]  # the smallest p00, and of these the smallest p11
    angle = np.arctan2(*turned.T) - np.arctan2(*turned[first])
    outline = outline[
        np.argsort(np.where(np.arange(len(outline)) == first, 0.0, angle % (2 * np.pi)))
    ]
    ax = axes_or_new(ax, size=(5.8, 5.4))
    ax.fill(*outline.T, facecolor="#c6dbef", edgecolor="#08519c", linewidth=1.2, label="private")
    ax.plot(*outline.T, "o", color="#08519c", markersize=4)
    directions = NAME_DIRECTIONS if len(outline) == 8 else NAME_DIRECTIONS[1::2]
    for name, point, (x, y) in zip("ABCDEFGH", outline, directions, strict=False):
        _name_corner(ax, name, point, x, y)
    if problem is not None:
        _level_lines(ax, points, problem)
    marks = np.linspace(0, 1, 6)
    ax.set(xlim=(-0.46, 1.46), ylim=(-0.22, 1.22), xticks=marks, yticks=marks, aspect="equal")
    ax.set_xlabel("$p_{00}$: probability that the first answer is reported truthfully")
    ax.set_ylabel("$p_{11}$: probability that the second answer is reported truthfully")
    if points.ties is None:
        ax.set_title(f"Private mechanisms, {name_privacy(points.privacy)}")
        return ax
    delta = rf", $\delta = {float(points.ties.delta):.4g}$" if points.ties.delta else ""
    ax.set_title(rf"Private mechanisms, $\varepsilon = {float(points.ties.budget):.4g}${delta}")
    return ax


def regions(regions: Sequence[Region], ax: Axes | None = None) -> Axes:
    """Draw the priors of three answers as a triangle, divided into the cells where one mechanism is
    optimal.

    Each cell has the name of its mechanism and its share of the area. Mechanisms with more reports
    are darker.

    Parameters
    ----------
    regions : sequence of Region
        Result of `ldpopt.regions.prior_regions` for three inputs.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).

    Raises
    ------
    StatementError
        If the regions are not those of three answers, or ``ax`` is not axes.
    """
    regions = listed_items(regions, "regions", "pass prior_regions(privacy, 3)")
    for region in regions:
        require_kind(region, Region, "regions()", "pass prior_regions(privacy, 3)")
    if not regions or len(regions[0].utilities) != 3:
        raise StatementError(
            "a triangle shows the priors of three answers",
            code="triangle",
            do="pass prior_regions(privacy, 3)",
        )
    ax = axes_or_new(ax, size=(7.0, 6.2))
    for region in regions:
        outline = np.array(region.corners, dtype=float) @ APEXES
        color = ("#eff3ff", "#bdd7e7", "#6baed6")[min(len(region.reported), 3) - 1]
        ax.fill(*outline.T, facecolor=color, edgecolor="#08306b", linewidth=1.2)
        _name_cell(ax, region, outline)
    for x, (side, lift) in enumerate((("top", -0.03), ("top", -0.03), ("bottom", 0.03))):
        ax.text(APEXES[x, 0], APEXES[x, 1] + lift, rf"$\pi_{x} = 1$", ha="center", va=side)
    ax.set(xlim=(-0.25, 1.25), ylim=(-0.2, 1.0), aspect="equal")
    ax.set_axis_off()
    return ax


def _name_corner(ax: Axes, name: str, point: Float, x: int, y: int) -> None:
    """Write a corner's name and coordinates outside the region, in the direction (x, y)."""
    look: dict[str, Any] = {
        "ha": "left" if x > 0 else "right",
        "va": "bottom" if y > 0 else "top",
        "fontsize": 8,
    }
    look |= {
        "zorder": 5,
        "bbox": {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1},
    }
    text = f"{name} ({point[0]:.3g}, {point[1]:.3g})"
    place = (float(point[0]), float(point[1]))
    ax.annotate(text, place, xytext=(7 * x, 5 * y), textcoords="offset points", **look)


def _level_lines(ax: Axes, points: ExtremePoints, problem: Problem) -> None:
    """Draw lines of equal utility; that of the optimum and the optimal face are red."""
    best = points.best(problem)
    weights = (np.asarray(problem.prior)[:, None] * problem.utility.matrix).astype(float)
    constant = weights[0, 1] + weights[1, 0]
    slopes = np.array([1, -1]) * (weights[:, 0] - weights[:, 1])
    face = np.array([[point[0, 0], point[1, 1]] for point in best.vertices], dtype=float)
    values = [float((weights * point.astype(float)).sum()) for point in points]
    along = np.linspace(-0.2, 1.2, 400)
    steep = int(abs(slopes[1]) >= abs(slopes[0]))
    red = {
        "linestyle": "--",
        "color": "#cb181d",
        "linewidth": 1.2,
        "label": f"utility {float(best.value):.4g}",
    }
    gray = {"linestyle": ":", "color": "#888888", "linewidth": 0.8}
    inner = np.linspace(min(values), max(values), LEVELS + 2)[1:-1]
    looks: list[tuple[float, dict[str, Any]]] = [
        (float(best.value), red),
        *((value, gray) for value in inner),
    ]
    for value, look in looks if slopes[steep] else ():
        across = (value - constant - slopes[1 - steep] * along) / slopes[steep]
        line = np.array([along, across] if steep else [across, along])
        ax.plot(*line[:, (across >= -0.2) & (across <= 1.2)], **look)
    ax.plot(*face.T, color="#cb181d", linewidth=2.5, marker="o", markersize=6, label="optimal")
    # Below the axes: the region may fill them, and the title is above.
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=3, frameon=False, fontsize=8)


def _name_cell(ax: Axes, region: Region, outline: Float) -> None:
    """Write a cell's name and share into it; those of a narrow cell beside the triangle, with a
    line to the cell.
    """
    center = outline.mean(axis=0)
    middle = APEXES.mean(axis=0)
    along = np.roll(outline, -1, axis=0) - outline
    across = along[:, 0] * (center - outline)[:, 1] - along[:, 1] * (center - outline)[:, 0]
    name = region.label
    share = f"({100 * float(region.share):.2g} %)"
    if float(np.abs(across / np.hypot(*along.T)).min()) >= MIN_CELL_WIDTH:
        text = f"{name.replace(':', '').replace(' ', chr(10), 1)}\n{share}"
        ax.text(center[0], center[1], text, ha="center", va="center", fontsize=8)
        return
    apexes = [x for x in range(3) if region.contains([int(k == x) for k in range(3)])]
    direction = center - middle
    if len(apexes) == 1:
        position = APEXES[apexes[0]] + ((-0.13, 0.07), (0.13, 0.07), (0.19, -0.02))[apexes[0]]
    elif np.hypot(*direction) < 0.1:
        position = np.array([1.08, 0.29])
    else:
        position = middle + direction / np.hypot(*direction) * (
            0.39 if abs(direction[0]) < 0.1 else 0.47
        )
    line = {"arrowstyle": "-", "color": "#08306b", "linewidth": 0.8}
    look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "arrowprops": line}
    ax.annotate(f"{name}\n{share}", tuple(center), tuple(position), **look)
