"""The picture for an object, chosen by its class."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ldpopt.auditing.divergence import Audit
from ldpopt.designing import Design, FrequencyDesign
from ldpopt.designing.comparison import DesignComparison
from ldpopt.errors import StatementError
from ldpopt.estimation.estimate import Estimate
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.plotting.axes import name_privacy
from ldpopt.plotting.estimates import design, estimate
from ldpopt.plotting.mechanisms import comparison, delta_curve, mechanism
from ldpopt.plotting.sweeps import sweep
from ldpopt.solving.solution import Solution
from ldpopt.studies.literature import Comparison
from ldpopt.studies.sweep import SweepResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def solution(solution: Solution, ax: Axes | None = None) -> Axes:
    """Draw the mechanism of a solution, with its notion as the title."""
    ax = mechanism(solution.mechanism, ax)
    ax.set_title(name_privacy(solution.problem.privacy), fontsize=10)
    return ax


PICTURES: dict[type, Callable[..., Any]] = {
    Mechanism: mechanism,
    Solution: solution,
    Audit: delta_curve,
    SweepResult: sweep,
    Estimate: estimate,
    Comparison: comparison,
    Design: design,
    FrequencyDesign: design,
    DesignComparison: design,
}


def plot(thing: Any, ax: Axes | None = None) -> Axes:
    """Draw an object in the way that suits it.

    Parameters
    ----------
    thing : Mechanism, Solution, Audit, SweepResult, Estimate, Comparison, Design or DesignComparison
        A mechanism and a solution as a heat map, an audit as its delta curve, the others as their own pictures.
    ax : matplotlib Axes, optional
        Axes to draw on (default: new ones).

    Returns
    -------
    matplotlib Axes
        With the picture; nothing is shown or saved.

    Raises
    ------
    StatementError
        If there is no picture for this class.
    LdpoptError
        If matplotlib is not installed.
    """
    for kind, picture in PICTURES.items():
        if isinstance(thing, kind):
            axes: Axes = picture(thing, ax)
            return axes
    raise StatementError(
        f"there is no picture for a {type(thing).__name__}",
        do="pass a mechanism, solution, audit, sweep, estimate, comparison or design; or use a function of "
        "ldpopt.plotting",
    )
