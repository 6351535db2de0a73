"""A design problem: what is to be estimated, how private, and for whom the error is to be small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ldpopt.errors import StatementError
from ldpopt.foundation.checks import Float, frozen, short_repr
from ldpopt.statement.prior import read_prior
from ldpopt.statement.workloads import Workload


@dataclass(frozen=True, eq=False)
class DesignProblem:
    """The arguments of `ldpopt.design`, as a model file with a workload states them.

    Parameters
    ----------
    workload : Workload
        What is to be estimated.
    privacy : Notion
        How private.
    weights : array_like, shape (n,), or mapping label -> weight, optional
        A guess of the distribution, probabilities or weights by label; default: all answers alike. Equal ones are none.
    objective : {"average", "worst_case"}
        Whose variance is to be small; the worst case takes no weights. Default: ``"average"``.

    Raises
    ------
    StatementError
        If an argument is of another kind, or a weight or its label does not fit.

    Examples
    --------
    >>> from ldpopt import PureLDP, design
    >>> asked = DesignProblem(Workload.prefix(["low", "middle", "high"]), PureLDP(1.0))
    >>> round(design(**vars(asked)).value, 4)
    2.9067
    """

    workload: Workload
    privacy: Any
    weights: Float | None = None
    objective: Literal["average", "worst_case"] = "average"

    def __post_init__(self) -> None:
        """Read the weights."""
        if not isinstance(self.workload, Workload):
            raise StatementError(f"{short_repr(self.workload)} is not a workload", do="pass Workload(matrix)")
        if self.objective not in ("average", "worst_case"):
            what = f"objective {short_repr(self.objective)} is unknown"
            raise StatementError(what, do="use 'average' or 'worst_case'")
        if self.weights is None:
            return
        if self.objective == "worst_case":
            raise StatementError("the worst case takes no weights", do='leave them out, or use objective="average"')
        weights, _ = read_prior(self.weights, self.workload.inputs, "weights")
        equal = weights.min() == weights.max()
        object.__setattr__(self, "weights", None if equal else frozen(weights))
