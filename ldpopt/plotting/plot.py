"""The picture that suits an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldpopt.auditing.divergence import Audit
from ldpopt.designing import Design, FrequencyDesign
from ldpopt.designing.comparison import DesignComparison
from ldpopt.errors import StatementError
from ldpopt.estimation.inversion import Estimate
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.plotting.axes import name_privacy
from ldpopt.plotting.comparisons import comparison
from ldpopt.plotting.estimates import design, estimate
from ldpopt.plotting.pictures import delta_curve, mechanism, sweep
from ldpopt.solving.solution import Solution
from ldpopt.studies.literature import Comparison
from ldpopt.studies.sweep import SweepResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        If there is no picture for it.
    LdpoptError
        If matplotlib is not installed.
    """
    if isinstance(thing, Solution):
        ax = mechanism(thing.mechanism, ax)
        ax.set_title(name_privacy(thing.problem.privacy), fontsize=10)
        return ax
    pictures: tuple[tuple[Any, Any], ...] = (
        (Mechanism, mechanism),
        (Audit, delta_curve),
        (SweepResult, sweep),
        (Estimate, estimate),
        (Comparison, comparison),
        ((Design, FrequencyDesign, DesignComparison), design),
    )
    for kind, picture in pictures:
        if isinstance(thing, kind):
            found: Axes = picture(thing, ax)
            return found
    do = (
        "pass a mechanism, solution, audit, sweep, estimate, comparison or design; or use a function of ldpopt.plotting"
    )
    raise StatementError(f"there is no picture for a {type(thing).__name__}", do=do)
