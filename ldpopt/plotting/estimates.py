"""Pictures of estimates, and of designs beside other mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.designing.comparison import DesignComparison
from ldpopt.designing.others import OwnMechanism
from ldpopt.designing.record import Design, FormulaDesign
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.estimate import Estimate
from ldpopt.foundation.display import label
from ldpopt.foundation.labels import Names, text_of
from ldpopt.foundation.numbers import require_kind
from ldpopt.plotting.axes import (
    BESIDE,
    Axes,
    axes_or_new,
    finish,
    label_axis,
    name_privacy,
    shorten,
)
from ldpopt.surveys.estimates import SurveyEstimate
from ldpopt.surveys.schemes import SchemeComparison

MAX_OTHERS = 6  # largest number of other mechanisms in the picture of a design: the best ones
MAX_MARKED_ANSWERS = 40  # largest number of answers at which the curves of variances have marks


def _intervals(estimate: Estimate) -> str:
    """What the intervals are, in words."""
    wider = f", widened for {100 * estimate.liars:g} % of liars" if estimate.liars else ""
    return f"{100 * estimate.confidence:g} % intervals{wider}"


def estimate(estimate: Estimate, ax: Axes | None = None) -> Axes:
    """Draw estimated frequencies with their intervals as error bars.

    Parameters
    ----------
    estimate : Estimate
        Of shares or of other numbers.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).

    Raises
    ------
    StatementError
        If it is not an `Estimate`, or ``ax`` is not axes.
    """
    require_kind(estimate, Estimate, "plotting.estimate()")
    positions = np.arange(len(estimate.values))
    ax = axes_or_new(ax, size=(max(5.0, min(13.0, 2.0 + 0.55 * len(positions))), 4.0))
    below = estimate.values - estimate.interval[:, 0]
    above = estimate.interval[:, 1] - estimate.values
    # Maximum likelihood clips its intervals: an end may equal the estimate, or cross it by
    # rounding.
    ax.bar(positions, estimate.values, color="#9ecae1", width=0.7)
    look: dict[str, Any] = {"fmt": "o", "color": "#08306b", "markersize": 3, "capsize": 3}
    ax.errorbar(positions, estimate.values, np.maximum([below, above], 0.0), **look)
    ax.axhline(0.0, color="black", linewidth=0.8)
    label_axis(ax, "x", positions.tolist() if estimate.labels is None else estimate.labels)
    along, across = (
        ("number", "estimate") if estimate.method == "design" else ("answer", "estimated share")
    )
    labels: dict[str, Any] = {"xlabel": f"{along} ({estimate.n_reports:,} reports)"}
    return finish(ax, ylabel=f"{across}, {_intervals(estimate)}", **labels)


def survey(result: SurveyEstimate, ax: Axes | None = None) -> Axes:
    """Draw the estimates of a survey with their intervals, one color for each group."""
    rows = list(
        dict.fromkeys((numbers["question"], numbers["answer"]) for numbers in result.entries())
    )
    groups: dict[Any, Any] = {None: result.questions} if result.by is None else result.groups
    ax = axes_or_new(ax, size=(8.0, max(3.0, (0.25 + 0.08 * len(groups)) * len(rows))))
    for number, (group, questions) in enumerate(groups.items()):
        shift = 0.7 * ((number + 0.5) / len(groups) - 0.5)
        for name, numbers in questions.items():
            places = (
                np.array([rows.index((name, answer)) for answer in numbers.labels or ()]) + shift
            )
            spread = np.maximum(np.abs(numbers.interval.T - numbers.values), 0.0)
            text = (
                text_of(group) if name == next(iter(questions)) and result.by is not None else None
            )
            ax.errorbar(
                numbers.values,
                places,
                xerr=spread,
                fmt="o",
                color=f"C{number}",
                markersize=3,
                label=text,
            )
    ax.set_yticks(
        range(len(rows)), [f"{label(name)}: {label(answer)}" for name, answer in rows], fontsize=8
    )
    ax.invert_yaxis()
    ax.grid(axis="x", alpha=0.3)
    legend = None if result.by is None else {"title": result.by, **BESIDE}
    return finish(
        ax,
        legend=legend,
        xlabel=f"estimate, {_intervals(next(iter(result.values())))}",
    )


def counts(counts: Counts, ax: Axes | None = None) -> Axes:
    """Draw how often each report was seen."""
    ax = bars(counts.labels, counts.values, ax)
    return finish(ax, xlabel=f"report ({counts.n_reports:,} in all)", ylabel="count")


def schemes(comparison: SchemeComparison, ax: Axes | None = None) -> Axes:
    """Draw the average variance of each scheme of a survey."""
    ax = bars(list(comparison.average), list(comparison.average.values()), ax)
    along = rf"scheme, $\varepsilon$ = {float(comparison.epsilon):.4g} a person"
    return finish(ax, xlabel=along, ylabel="average variance, one person")


def bars(names: Names, values: ArrayLike, ax: Axes | None) -> Axes:
    """Draw one bar for each name."""
    ax = axes_or_new(ax, size=(max(4.5, min(12.0, 1.5 + 0.55 * len(names))), 3.8))
    ax.bar(np.arange(len(names)), values, color="#9ecae1", edgecolor="#08306b", width=0.7)
    label_axis(ax, "x", names)
    return ax


def _own_variances(
    ax: Axes, own: Sequence[OwnMechanism], first: int, marks: Sequence[str], look: dict[str, Any]
) -> None:
    """Draw the caller's mechanisms, each with the best design of its epsilon as a dotted line."""
    for k, mechanism in enumerate(own):
        positions = np.arange(len(mechanism.variances))
        color = f"C{(first + k) % 10}"
        at = rf"$\varepsilon$ = {mechanism.epsilon:.4g}".replace("inf", r"$\infty$")
        name = f"{shorten(mechanism.name)}, {at}"
        ax.plot(
            positions,
            mechanism.variances,
            marker=marks[k],
            color=color,
            label=name,
            **look | {"linewidth": 1.8},
        )
        if mechanism.optimum is not None:
            optimum = mechanism.optimum.variance()
            ax.plot(positions, optimum, color=color, linestyle=":", label=f"best at {at}")


def design(design: Design | FormulaDesign | DesignComparison, ax: Axes | None = None) -> Axes:
    """Draw the variance of a design for every true answer; of a comparison also that of the best
    other mechanisms.

    Parameters
    ----------
    design : Design, FrequencyDesign, QuestionsDesign or DesignComparison
        Result of `ldpopt.design` or `ldpopt.compare_designs`; at most six mechanisms of the
        literature are drawn, and six of the caller, each with the best design of its epsilon.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).

    Raises
    ------
    StatementError
        If it is not a design or a comparison of designs, or ``ax`` is not axes.
    """
    require_kind(design, (Design, FormulaDesign, DesignComparison), "plotting.design()")
    best = design.best if isinstance(design, DesignComparison) else design
    others = design.literature[:MAX_OTHERS] if isinstance(design, DesignComparison) else ()
    own = design.own[:MAX_OTHERS] if isinstance(design, DesignComparison) else ()
    answers = best.workload.inputs
    positions = np.arange(len(answers))
    aim = "largest" if best.objective == "worst_case" else "average"
    ax = axes_or_new(ax, size=(max(6.5, min(12.0, 4.0 + 0.5 * len(answers))), 4.4))
    ax.plot(positions, best.variance(), color="black", linewidth=2.4, label=best.standing, zorder=5)
    ax.axhline(
        best.bound, color="black", linewidth=0.8, linestyle="--", label=f"bound on the {aim}"
    )
    look: dict[str, Any] = {"markersize": 3.5, "linewidth": 1.1}
    marks = "osD^vx" if len(answers) <= MAX_MARKED_ANSWERS else [""] * MAX_OTHERS
    for k, other in enumerate(others):
        color = f"C{k}"
        ax.plot(positions, other.variances, marker=marks[k], color=color, label=other.name, **look)
    _own_variances(ax, own, len(others), marks, look)
    largest = max(
        *(mechanism.variances.max() for mechanism in (*others, *own)), best.variance().max(), 0.0
    )
    smallest = min([best.worst_variance, *(mechanism.worst for mechanism in own)])
    if largest > 8 * smallest:
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, 1.08 * largest)
    label_axis(ax, "x", answers)
    labels: dict[str, Any] = {
        "xlabel": "true answer",
        "ylabel": "variance of a respondent's values",
    }
    return finish(ax, name_privacy(best.privacy), grid=True, legend=BESIDE, **labels)
