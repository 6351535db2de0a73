"""Axes of all pictures, the labels along them and the words of titles."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ldpopt.errors import StatementError
from ldpopt.foundation import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes

    from ldpopt.studies.sweep import SweepResult
else:
    Axes = Any  # matplotlib is imported when a picture is drawn

# largest number of labels along an axis; of more, every second, third, ... is written
MAX_AXIS_LABELS = 30
# Names of notions in titles; for others the name is made of the kind
NOTION_NAMES = {"graph": "privacy along a graph", "utility_optimized": "utility-optimized privacy"}
# A legend at the right of the axes
BESIDE: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False}
MAX_LABEL_LENGTH = 18  # largest number of characters of a label along an axis


def axes_or_new(
    ax: Axes | None, *, size: tuple[float, float] = (6.0, 4.0), projection: str | None = None
) -> Axes:
    """Return the given axes, or new ones."""
    if ax is not None and not hasattr(ax, "imshow"):
        raise StatementError(
            f"a {type(ax).__name__} is not axes of matplotlib",
            code="axes",
            do="pass ax=figure.add_subplot()",
        )
    if ax is not None:
        return ax
    axes: Axes = optional.matplotlib_pyplot.figure(figsize=size, layout="constrained").add_subplot(
        projection=projection
    )
    return axes


def finish(
    ax: Axes,
    title: str = "",
    *,
    grid: bool = False,
    legend: dict[str, Any] | None = None,
    **labels: Any,
) -> Axes:
    """Write the title and the labels of the axes, draw a grid and a legend on request, and return
    the axes.
    """
    ax.set(**labels)
    if title:
        ax.set_title(title, fontsize=10)
    if grid:
        ax.grid(alpha=0.3)
    if legend is not None:
        ax.legend(**{"fontsize": 8, **legend})
    return ax


def name_privacy(privacy: Any, unit: str = "unit of distance") -> str:
    """Return a title: the notion and its budget; ``unit`` is that of a metric."""
    epsilon = getattr(privacy, "epsilon", None)
    delta = float(getattr(privacy, "delta", 0.0))
    text = name_kind(privacy)
    if epsilon is not None:
        is_metric = getattr(privacy, "kind", "") == "metric"
        text += rf", $\varepsilon$ = {float(epsilon):.4g}" + (f" per {unit}" if is_metric else "")
    return text + (rf", $\delta$ = {delta:.4g}" if delta else "")


def name_kind(privacy: Any) -> str:
    """Return the name of a notion, without its budget."""
    kind = str(getattr(privacy, "kind", type(privacy).__name__))
    return NOTION_NAMES.get(kind, f"{kind.replace('_', ' ')} privacy")


def name_sweep(result: SweepResult) -> str:
    """Return the title of a sweep: its notions and the ranges of its budgets."""
    kinds = " or ".join(dict.fromkeys(map(name_kind, result.notions)))
    deltas = [float(getattr(notion, "delta", 0.0)) for notion in result.notions]
    parts = [kinds] if kinds else []
    for symbol, numbers in ((r"\varepsilon", result.epsilons.tolist()), (r"\delta", deltas)):
        if any(numbers):
            ends = dict.fromkeys(f"{end:.4g}" for end in (min(numbers), max(numbers)))
            parts.append(f"${symbol}$ = {' to '.join(ends)}")
    return ", ".join(parts)


def label_axis(ax: Axes, axis: str, names: Sequence[Hashable]) -> None:
    """Write labels along the axis "x" or "y": shortened, only some of many, rotated if long."""
    step = -(-len(names) // MAX_AXIS_LABELS)
    positions = list(range(0, len(names), step))
    labels = [shorten(names[position]) for position in positions]
    if axis == "y":
        ax.set_yticks(positions, labels)
        return
    is_crowded = sum(map(len, labels)) > 40 or max(map(len, labels)) > 7
    rotated: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(positions, labels, **(rotated if is_crowded else {}))


def shorten(name: Hashable, most: int = MAX_LABEL_LENGTH) -> str:
    """Return a label of at most so many characters."""
    # An unescaped dollar sign starts a formula.
    text = str(name) if len(str(name)) <= most else str(name)[: most - 1] + "…"
    return text.replace("$", r"\$")
