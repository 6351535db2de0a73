"""Maps: places in the plane, and the places that they are reported as."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import is_hashable
from ldpopt.foundation.numbers import Float, require_choice, require_kind, short_repr
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.plotting.axes import Axes, axes_or_new, finish, name_privacy, shorten
from ldpopt.privacy import Notion
from ldpopt.problem.prior import read_prior
from ldpopt.problem.utility import Utility, resolve
from ldpopt.studies.literature.planar_laplace import coordinates

DARK = "#08306b"  # color of arrows and outlines: the dark end of the color map
MIN_PROBABILITY = 1e-3  # smallest probability of a report that has a line


def places(
    mechanism: Mechanism,
    points: Any,
    ax: Axes | None = None,
    *,
    prior: Any = None,
    color: Literal["prior", "loss"] = "prior",
    loss: Any = None,
    origin: Hashable | None = None,
    privacy: Notion | None = None,
    unit: str = "km",
) -> Axes:
    """Draw places in the plane, and the places that they are reported as.

    Every place is a disk; a darker one has a larger prior or expected loss. An arrow points from a
    place to the mean of its reports. With ``origin``, lines go from this place to its reports
    instead; a wider line is a more likely report.

    Parameters
    ----------
    mechanism : Mechanism
        Every report must be an input.
    points : array_like, shape (n, 2), or DataFrame or mapping label -> coordinates
        East and north.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    prior : array_like, shape (n,), or mapping or Series label -> weight, optional
        Color of the disks, or with ``color="loss"`` their area; default: all places alike.
    color : {"prior", "loss"}
        Meaning of the color; default: ``"prior"``.
    loss : Utility or array_like, shape (n, m), optional
        For ``color="loss"``; default: the distance between the place and the report.
    origin : hashable, optional
        Input whose reports are drawn.
    privacy : privacy notion, optional
        For the title; default: no title.
    unit : str
        Unit of the points, for axes and title; default: ``"km"``.

    Raises
    ------
    StatementError
        If a report or the origin is not an input, the points do not fit the inputs, or ``ax`` is
        not axes.
    """
    require_kind(mechanism, Mechanism, "plotting.places()")
    require_choice(color, ("prior", "loss"), "color")
    xy = coordinates(points, mechanism.inputs)
    n = len(xy)
    weights = np.full(n, 1.0 / n) if prior is None else read_prior(prior, mechanism.inputs)[0]
    index = {label: x for x, label in enumerate(mechanism.inputs)}
    if unknown := [label for label in mechanism.outputs if label not in index]:
        problem = f"report {short_repr(unknown[0])} is not a place"
        raise StatementError(
            problem, code="place", do="draw mechanisms whose reports are among their inputs"
        )
    ax, reports = (
        axes_or_new(ax, size=(6.4, 5.2)),
        xy[[index[label] for label in mechanism.outputs]],
    )
    if origin is None:
        # an arrow from each place to the mean of its reports
        step = mechanism.channel @ reports - xy
        arrows: Any = {
            "angles": "xy",
            "scale_units": "xy",
            "scale": 1.0,
            "width": 0.0025,
            "headwidth": 4.5,
        }
        ax.quiver(*xy.T, *step.T, color=DARK, zorder=2, **arrows)
    else:
        _draw_lines(ax, xy, reports, mechanism, origin)
    values = weights if color == "prior" else _loss_by_input(mechanism, xy, reports, loss)
    size = np.clip(6000.0 / n, 18.0, 220.0)
    area = (
        size * (0.35 + 1.3 * weights / weights.max())
        if color == "loss" and prior is not None
        else size
    )
    look: dict[str, Any] = {
        "cmap": "Blues",
        "vmin": 0.0,
        "edgecolor": DARK,
        "linewidth": 0.6,
        "zorder": 3,
    }
    disks = ax.scatter(xy[:, 0], xy[:, 1], s=area, c=values, **look)
    label = (
        "prior"
        if color == "prior"
        else f"expected loss ({unit})"
        if loss is None
        else "expected loss"
    )
    ax.figure.colorbar(disks, ax=ax, label=label)
    ax.set_aspect("equal", adjustable="datalim")
    title = "" if privacy is None else name_privacy(privacy, unit)
    return finish(ax, title, xlabel=f"east ({unit})", ylabel=f"north ({unit})")


def _loss_by_input(mechanism: Mechanism, xy: Float, reports: Float, loss: Any) -> Float:
    if loss is None:
        matrix = np.hypot(*(xy[:, None] - reports[None]).transpose(2, 0, 1))
    else:
        utility = loss if isinstance(loss, (str, Utility)) else Utility(loss, "loss")
        matrix = resolve(utility, mechanism.inputs, mechanism.outputs).matrix
    return np.asarray((mechanism.channel * matrix).sum(axis=1))


def _draw_lines(
    ax: Axes, xy: Float, reports: Float, mechanism: Mechanism, origin: Hashable
) -> None:
    """Draw lines from one place to its reports, and a ring around it."""
    from matplotlib.collections import LineCollection

    if not is_hashable(origin) or origin not in mechanism.inputs:
        raise StatementError(
            f"the origin {short_repr(origin)} is not an input",
            code="origin",
            do="name a place of the mechanism",
        )
    x = mechanism.inputs.index(origin)
    share = mechanism.channel[x]
    is_drawn = share >= MIN_PROBABILITY
    ends = [(xy[x], report) for report in reports[is_drawn]]
    widths = 0.4 + 9.0 * np.sqrt(share[is_drawn])
    ax.add_collection(
        LineCollection(ends, linewidths=widths.tolist(), color="#737373", alpha=0.6, zorder=2)
    )
    ax.scatter(
        xy[x, 0], xy[x, 1], s=330, facecolor="none", edgecolor="black", linewidth=2.0, zorder=5
    )
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5}
    name = f"from {shorten(origin)}"
    ax.annotate(
        name,
        tuple(xy[x]),
        (0, 16),
        textcoords="offset points",
        ha="center",
        fontsize=9,
        bbox=box,
        zorder=6,
    )
