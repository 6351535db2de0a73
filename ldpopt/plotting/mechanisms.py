"""Pictures of mechanisms: heat maps, delta curves, and an optimum beside the mechanisms of the
literature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ldpopt.accounting import PrivacyCurve
from ldpopt.auditing.divergence import Audit
from ldpopt.foundation.labels import Names
from ldpopt.foundation.numbers import Float, require_kind, whole_number
from ldpopt.mechanism.channels import probability_text
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.plotting.axes import Axes, axes_or_new, finish, label_axis, name_privacy
from ldpopt.studies.literature import Comparison

MAX_NUMBERED_SIDE = 12  # largest side of a heat map with numbers in its cells
MIN_DELTA = 1e-30  # smallest delta of a picture


def mechanism(mechanism: Mechanism, ax: Axes | None = None) -> Axes:
    """Draw a channel as a heat map with a row for each answer and a column for each report; a small
    one with numbers.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).

    Raises
    ------
    StatementError
        If it is not a `Mechanism`, or ``ax`` is not axes.
    """
    require_kind(mechanism, Mechanism, "plotting.mechanism()")
    axes = (mechanism.inputs, mechanism.outputs)
    write = partial(probability_text, digits=3)
    ax = heat_map(mechanism.channel, *axes, "P(report | answer)", ax, write=write)
    return finish(ax, xlabel="report", ylabel="true answer")


def heat_map(
    matrix: Float,
    rows: Names,
    columns: Names,
    label: str,
    ax: Axes | None,
    write: Callable[[float], str] = "{:.3g}".format,
) -> Axes:
    """Draw a matrix with labelled rows and columns, and numbers in the cells of a small one; nan is
    blank.
    """
    n, m = matrix.shape
    ax = axes_or_new(
        ax, size=(max(4.4, min(13.0, 2.2 + 0.62 * m)), max(3.4, min(12.0, 1.6 + 0.52 * n)))
    )
    low = min(0.0, float(np.nanmin(matrix)))
    high = float(np.nanmax(matrix))
    image = ax.imshow(matrix, cmap="Blues", vmin=low, vmax=high, aspect="auto")
    label_axis(ax, "y", rows)
    label_axis(ax, "x", columns)
    if max(n, m) <= MAX_NUMBERED_SIDE:
        for (x, y), number in np.ndenumerate(matrix):
            if not np.isnan(number):
                color = "white" if number - low > 0.55 * (high - low) else "black"
                ax.text(
                    y, x, write(float(number)), ha="center", va="center", color=color, fontsize=8
                )
    ax.figure.colorbar(image, ax=ax, label=label)
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

    Raises
    ------
    StatementError
        If it is not an `Audit`, or ``ax`` is not axes.
    """
    require_kind(audit, Audit, "plotting.delta_curve()")
    points = whole_number(points, "points", 2)
    end = audit.epsilon * 1.25 if 0 < audit.epsilon < np.inf else 5.0
    # The last kink of the curve is at the true epsilon.
    epsilons = np.union1d(
        np.linspace(0, end, points), [audit.epsilon] if audit.epsilon < np.inf else []
    )
    deltas = np.array([audit.delta_at(float(epsilon)) for epsilon in epsilons])
    ax = axes_or_new(ax, size=(7.0, 4.8))
    ax.plot(epsilons, deltas, color="#08519c")
    ax.fill_between(epsilons, deltas, color="#c6dbef", alpha=0.6)
    if 0 < audit.epsilon < np.inf:
        ax.axvline(audit.epsilon, color="black", linewidth=0.8, linestyle="--")
        text = rf"$\varepsilon = {audit.epsilon:.4g}$ "
        place = (audit.epsilon, 0.92)
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(
            *place, text, transform=ax.get_xaxis_transform(), ha="right", fontsize=9, bbox=behind
        )
    ax.set(xlim=(0, end), ylim=(0, max(1e-12, float(deltas.max())) * 1.08))
    title = rf"Audit over all pairs of answers: true $\varepsilon$ = {audit.epsilon:.4g}"
    return finish(ax, title, grid=True, xlabel=r"$\varepsilon$ (nats)", ylabel=r"least $\delta$")


def privacy_curve(curve: PrivacyCurve, ax: Axes | None = None, *, points: int = 40) -> Axes:
    """Draw what several reports reveal together: the least delta at each epsilon, on a logarithmic
    axis.

    Parameters
    ----------
    curve : PrivacyCurve
        The result of `compose`.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    points : int
        Number of points of the curve, each of which is computed exactly; default: ``40``.

    Raises
    ------
    StatementError
        If it is not a `PrivacyCurve`, there are fewer than two points, or ``ax`` is not axes.
    """
    require_kind(curve, PrivacyCurve, "plotting.privacy_curve()")
    most = curve.epsilon(0.0)
    points = whole_number(points, "points", 2)
    end = most if most < np.inf else 10.0
    epsilons = np.linspace(0, end, points)
    deltas = np.array([float(curve.delta(float(epsilon))) for epsilon in epsilons])
    ax = axes_or_new(ax)
    shown = deltas > MIN_DELTA
    ax.semilogy(epsilons[shown], deltas[shown], color="#08519c")
    ax.set_xlim(0, end * 1.02)
    assumed = " on fixed answers" if curve.answers == "fixed" else ""
    reports = sum(times for _, times in curve.sources)
    title = rf"{reports} reports{assumed}: $\varepsilon$ = {end:.4g} at $\delta$ = 0"
    return finish(ax, title, grid=True, xlabel=r"$\varepsilon$ (nats)", ylabel=r"least $\delta$")


def comparison(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draw the gain or loss of an optimum and of other mechanisms as bars, each with its ratio to
    the optimum.

    The optimum is dark; mechanisms that are remapped to the prior are hatched.

    Parameters
    ----------
    comparison : Comparison
        Result of `ldpopt.compare`.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).

    Raises
    ------
    StatementError
        If it is not a `Comparison`, or ``ax`` is not axes.
    """
    require_kind(comparison, Comparison, "plotting.comparison()", "pass compare(problem)")
    rows = (replace(comparison.best, name="optimum"), *comparison.literature)
    problem = comparison.problem
    ax, values = (
        axes_or_new(ax, size=(7.0, 1.5 + 0.36 * len(rows))),
        np.array([row.value for row in rows]),
    )
    bars = ax.barh(np.arange(len(rows)), values, color="#9ecae1", edgecolor="#08306b", height=0.7)
    bars[0].set_facecolor("#08306b")
    for bar, row in zip(bars, rows, strict=True):
        if row.name.endswith(", remapped"):
            bar.set_hatch("///")
    ratios = ["" if np.isnan(row.ratio) else f"{row.ratio:.3g} times" for row in rows]
    ax.bar_label(bars, ["", *ratios[1:]], padding=4, fontsize=8)
    ax.set_yticks(np.arange(len(rows)), [row.name for row in rows])
    ax.invert_yaxis()
    ax.set_xlim(min(0.0, 1.25 * values.min()), max(1.25 * values.max(), 1e-12))
    kind = "worst-case" if problem.objective == "worst_case" else "expected"
    better = "more" if problem.utility.sense == "gain" else "less"
    ax.grid(axis="x", alpha=0.3)
    ax.set_axisbelow(True)
    return finish(
        ax,
        name_privacy(problem.privacy),
        xlabel=f"{kind} {problem.utility.sense} ({better} is better)",
    )
