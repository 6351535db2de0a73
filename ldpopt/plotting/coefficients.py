"""The picture of a regression: coefficients with their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpopt.estimation.regression.result import Regression
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import Float, require_kind
from ldpopt.plotting.axes import BESIDE, Axes, axes_or_new, finish, shorten

MAX_NAME = 40  # largest number of characters of a coefficient's name
MAX_FORMULA = 60  # largest number of characters of a formula in a title
DODGE = 0.7  # part of the room of a term in which its answers are


def regression(regression: Regression, ax: Axes | None = None) -> Axes:
    """Draw the coefficients of a regression with their intervals: a row for each term, and in it a
    color for each answer but the first, if there are more than two.

    Coefficients have the units of their columns: an income in thousands is better seen than one in
    single dollars. The intercept, and the cuts of an ordered model, are paler.

    Parameters
    ----------
    regression : Regression
        Result of `ldpopt.regress`.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).

    Raises
    ------
    StatementError
        If it is not a `Regression`, or ``ax`` is not axes.
    """
    require_kind(regression, Regression, "plotting.regression()")
    table = regression.to_frame()
    is_wide = table.index.nlevels > 1
    terms = list(dict.fromkeys(table.index.get_level_values("term")))
    names = list(map(text_of, regression.answers[1:])) if is_wide else [""]
    numbers = table[["estimate", "low", "high"]].to_numpy(dtype=float)
    room = max(1, 0.55 * len(names))
    ax = axes_or_new(ax, size=(8.0, min(24.0, 1.6 + 0.38 * room * len(terms))))
    ax.axvline(0.0, color="black", linewidth=0.8)
    is_minor = np.array([term == "Intercept" or term in regression.cuts for term in terms])
    for place, values in enumerate(numbers.reshape(len(names), len(terms), 3)):
        heights = np.arange(len(terms)) + DODGE * ((place + 0.5) / len(names) - 0.5)
        color = f"C{place % 10}" if is_wide else "#08306b"
        _intervals(ax, values[~is_minor], heights[~is_minor], color, 1.0)
        _intervals(ax, values[is_minor], heights[is_minor], color, 0.4)
        if is_wide:
            ax.plot([], [], "o-", color=color, markersize=4, label=shorten(names[place]))
    ax.set_yticks(range(len(terms)), [_name(term) for term in terms], fontsize=9)
    ax.set_ylim(len(terms) - 0.4, -0.6)
    ax.grid(axis="x", alpha=0.3)
    legend: dict[str, Any] | None = None
    if is_wide:
        legend = {"title": f"against {shorten(text_of(regression.answers[0]))}", **BESIDE}
    return finish(
        ax,
        shorten(regression.formula, MAX_FORMULA),
        legend=legend,
        xlabel=f"{_scale(regression)}, {100 * regression.confidence:g} % intervals "
        f"({regression.nobs:,} people)",
    )


def _scale(regression: Regression) -> str:
    """What a coefficient changes, in words."""
    if regression.kind == "mean":
        return "change of the mean"
    if regression.kind == "ordered":
        return "logit of later answers"
    if len(regression.answers) > 2:
        return "logit"
    return f"logit of {shorten(text_of(regression.answers[1]))}"


def _name(term: str) -> str:
    """The name of a coefficient, perhaps without its middle: a level is at its end."""
    if len(term) <= MAX_NAME:
        return shorten(term, MAX_NAME)
    kept = MAX_NAME // 2
    return shorten(f"{term[: kept - 1]}…{term[-kept:]}", MAX_NAME)


def _intervals(ax: Axes, values: Float, heights: Float, color: str, alpha: float) -> None:
    """Draw estimates with the ends of their intervals, shape (k, 3)."""
    estimates, low, high = values.T
    if len(values):
        spread = np.maximum([estimates - low, high - estimates], 0.0)
        look: dict[str, Any] = {"fmt": "o", "markersize": 4, "capsize": 3}
        ax.errorbar(estimates, heights, xerr=spread, color=color, alpha=alpha, **look)
