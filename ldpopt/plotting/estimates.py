"""Pictures of estimates, and of designs beside other mechanisms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ldpopt.designing import Design, DesignComparison, FrequencyDesign
from ldpopt.estimation.inversion import Estimate
from ldpopt.plotting.axes import axes_or_new, label_axis, name_privacy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_DRAWN_PEERS = 6
"""Most other mechanisms in a picture of a design: the best ones."""

MAX_MARKED = 40
"""Most answers whose variances have marks."""


def estimate(estimate: Estimate, ax: Axes | None = None) -> Axes:
    """Draw estimated frequencies with their intervals as error bars.

    Parameters
    ----------
    estimate : Estimate
        What to draw.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    """
    positions = np.arange(len(estimate.values))
    ax = axes_or_new(ax, size=(max(4.5, min(12.0, 1.5 + 0.55 * len(positions))), 3.8))
    below, above = estimate.values - estimate.interval[:, 0], estimate.interval[:, 1] - estimate.values
    # Maximum likelihood clips its intervals: an end may equal the estimate, or cross it by rounding.
    ax.bar(positions, estimate.values, color="#9ecae1", width=0.7)
    spread = np.maximum([below, above], 0.0)
    ax.errorbar(positions, estimate.values, spread, fmt="o", color="#08306b", markersize=3, capsize=3)
    ax.axhline(0.0, color="black", linewidth=0.8)
    label_axis(ax, "x", positions.tolist() if estimate.labels is None else estimate.labels)
    share, what = ("estimate", "number") if estimate.method == "design" else ("estimated share", "answer")
    ax.set_ylabel(f"{share}, {100 * estimate.confidence:g} % intervals")
    ax.set_xlabel(f"{what} ({estimate.n_reports:,} reports)")
    return ax


def design(found: Design | FrequencyDesign | DesignComparison, ax: Axes | None = None) -> Axes:
    """Draw the variance of a design for every true answer, beside that of other mechanisms where they are given.

    Parameters
    ----------
    found : Design, FrequencyDesign or DesignComparison
        What `ldpopt.design` or `ldpopt.compare_designs` returned; of many peers the best six are drawn.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).
    """
    best, peers = (found.best, found.others) if isinstance(found, DesignComparison) else (found, ())
    answers = best.workload.inputs
    places = np.arange(len(answers))
    ax = axes_or_new(ax, size=(max(6.0, min(12.0, 3.0 + 0.5 * len(answers))), 4.4))
    ax.plot(places, best.variance(), color="black", linewidth=2.4, label="optimum", zorder=5)
    ax.axhline(best.bound, color="black", linewidth=0.8, linestyle="--", label=f"bound on the {_kind(best)}")
    drawn = peers[:MAX_DRAWN_PEERS]
    marks = "osD^vx" if len(answers) <= MAX_MARKED else [""] * len(drawn)
    for place, (peer, mark) in enumerate(zip(drawn, marks, strict=False)):
        ax.plot(places, peer.variances, marker=mark, markersize=3.5, linewidth=1.1, color=f"C{place}", label=peer.name)
    if drawn and max(peer.variances.max() for peer in drawn) > 8 * best.worst_variance:
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, 1.08 * max(variances.max() for variances in (best.variance(), *(p.variances for p in drawn))))
    label_axis(ax, "x", answers)
    ax.set_xlabel("true answer")
    ax.set_ylabel("variance of a respondent's values")
    ax.set_title(name_privacy(best.privacy), fontsize=10)
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return ax


def _kind(best: Design | FrequencyDesign) -> str:
    return "largest" if best.objective == "worst_case" else "average"
