"""The picture of an optimum beside the mechanisms of the literature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ldpopt.plotting.axes import axes_or_new, name_privacy
from ldpopt.studies.literature import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def comparison(found: Comparison, ax: Axes | None = None) -> Axes:
    """Draw the gain or loss of an optimum and of its peers as bars, each with its ratio to the optimum.

    The optimum is dark; peers that are remapped to the prior are hatched.

    Parameters
    ----------
    found : Comparison
        What `ldpopt.compare` returned.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    """
    rows = found.rows
    ax = axes_or_new(ax, size=(7.0, 1.5 + 0.36 * len(rows)))
    values = np.array([row.value for row in rows])
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
    kind = "worst-case" if found.problem.objective == "worst_case" else "expected"
    better = "more" if found.problem.utility.sense == "gain" else "less"
    ax.set_xlabel(f"{kind} {found.problem.utility.sense} ({better} is better)")
    ax.set_title(name_privacy(found.problem.privacy), fontsize=10)
    ax.grid(axis="x", alpha=0.3)
    ax.set_axisbelow(True)
    return ax
