"""What all pictures share: axes and the labels along them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ldpopt.errors import LdpoptError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ldpopt.studies.sweep import SweepResult

MAX_AXIS_LABELS = 30
"""Largest number of labels along an axis; of more labels every second, third, ... is written."""

NOTIONS = {"graph": "privacy along a graph", "utility_optimized": "utility-optimized privacy"}
"""Notions in titles; others by their kind."""

MAX_LABEL_LENGTH = 18
"""Largest number of characters of a label along an axis."""


def axes_or_new(ax: Axes | None, *, size: tuple[float, float] = (6.0, 4.0), projection: str | None = None) -> Axes:
    """Return the given axes, or new ones of a figure with constrained layout."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        what = "a plot needs matplotlib, which is not installed"
        raise LdpoptError(what, do='pip install "ldpopt[plot]"') from None
    figure = plt.figure(figsize=size, layout="constrained")
    axes: Axes = figure.add_subplot(projection=projection)
    return axes


def name_privacy(privacy: Any, unit: str = "unit of distance") -> str:
    """Write a notion and its budget, for titles."""
    epsilon, delta = getattr(privacy, "epsilon", None), float(getattr(privacy, "delta", 0.0))
    text = name_kind(privacy)
    if epsilon is not None:
        is_metric = getattr(privacy, "kind", "") == "metric"
        text += rf", $\varepsilon$ = {float(epsilon):.4g}" + (f" per {unit}" if is_metric else "")
    return text + (rf", $\delta$ = {delta:.4g}" if delta else "")


def name_kind(privacy: Any) -> str:
    """Write a notion without its budget."""
    kind = str(getattr(privacy, "kind", type(privacy).__name__))
    return NOTIONS.get(kind, f"{kind.replace('_', ' ')} privacy")


def name_sweep(result: SweepResult) -> str:
    """Write the notions and budgets of a sweep, for its title."""
    kinds = " or ".join(dict.fromkeys(map(name_kind, result.notions)))
    deltas = [float(getattr(notion, "delta", 0.0)) for notion in result.notions]
    named = [kinds] if kinds else []
    for symbol, numbers in ((r"\varepsilon", result.epsilons.tolist()), (r"\delta", deltas)):
        if any(numbers):
            ends = dict.fromkeys(f"{end:.4g}" for end in (min(numbers), max(numbers)))
            named.append(f"${symbol}$ = {' to '.join(ends)}")
    return ", ".join(named)


def label_axis(ax: Axes, which: str, names: Sequence[Hashable]) -> None:
    """Write labels along an axis: shortened, only some of many, rotated if long."""
    step = -(-len(names) // MAX_AXIS_LABELS)
    positions = list(range(0, len(names), step))
    written = [short(names[position]) for position in positions]
    if which == "y":
        ax.set_yticks(positions, written)
        return
    crowded = sum(map(len, written)) > 40 or max(map(len, written)) > 7
    turned: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    ax.set_xticks(positions, written, **turned)


def short(name: Hashable) -> str:
    """Write a label in at most `MAX_LABEL_LENGTH` characters."""
    # An unescaped dollar sign starts a formula.
    text = str(name) if len(str(name)) <= MAX_LABEL_LENGTH else str(name)[: MAX_LABEL_LENGTH - 1] + "…"
    return text.replace("$", r"\$")
