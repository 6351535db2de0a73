"""The result of a solver: how the solve ended, the point and the multipliers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from numpy.typing import NDArray

from ldpopt.foundation.numbers import Float

Arrays = dict[str, NDArray[Any]]


class Status(Enum):
    """How a solve ended. OPTIMAL is the solver's claim; the certificate checks it."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    LIMIT = "limit"
    FAILED = "failed"


@dataclass(frozen=True)
class Outcome:
    """The result of a solve.

    Attributes
    ----------
    status : Status
        How the solve ended.
    raw_status : str
        The status in the words of the solver.
    point : float array or None, shape (columns,)
        Best point found.
    row_duals : float array or None, shape (rows,)
        Change of the optimal value for each unit by which a row's active bound is raised.
    column_duals : float array or None, shape (columns,)
        The same for column bounds: the reduced costs.
    warm_start : object
        Final state of the solver, in its own format, from which a later solve can start.
    """

    status: Status
    raw_status: str
    point: Float | None = None
    row_duals: Float | None = None
    column_duals: Float | None = None
    warm_start: Any = None
