"""A design problem: a workload to estimate, a privacy notion, and the weights of the answers in the
error.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labelled import read_labelled
from ldpopt.foundation.numbers import (
    Float,
    frozen,
    is_whole,
    normalized,
    require_choice,
    short_repr,
)
from ldpopt.privacy.notion import require_notion
from ldpopt.problem.workload import Workload

Objective = Literal["average", "worst_case"]


@dataclass(frozen=True, eq=False)
class DesignProblem:
    """The problem that `ldpopt.design` solves.

    Parameters
    ----------
    workload : Workload or array_like, shape (k, n)
        The numbers to be estimated.
    privacy : Notion
        The privacy notion.
    weights : array_like, shape (n,), or mapping label -> weight, optional
        Weights of the answers in the average variance, normalized to the sum 1; default: equal
        weights, which are stored as None.
    objective : {"average", "worst_case"}
        Minimize the average or the largest variance; the largest one takes no weights. Default:
        ``"average"``.
    outputs : int, optional
        Largest number of different reports; default: as many as the optimum needs.

    Raises
    ------
    StatementError
        If an argument has the wrong type, or a weight or its label does not fit.

    Examples
    --------
    >>> from ldpopt import PureLDP, design
    >>> problem = DesignProblem(Workload.prefix(["low", "middle", "high"]), PureLDP(1.0))
    >>> round(design(**vars(problem)).value, 4)
    2.9067
    """

    workload: Workload
    privacy: Any
    weights: Float | None = None
    objective: Objective = "average"
    outputs: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.workload, Workload):
            try:
                object.__setattr__(self, "workload", Workload(self.workload))
            except StatementError as error:
                do = (
                    f"{error.do}; or Workload.frequencies(answers), and solve(problem) for "
                    "a Problem"
                )
                raise StatementError(error.what, where=error.where, do=do) from None
        require_notion(self.privacy)
        require_choice(self.objective, ("average", "worst_case"), "objective")
        if self.outputs is not None and not is_whole(self.outputs):
            raise StatementError(
                f"outputs = {short_repr(self.outputs)} is not a whole number", do="give 2 or more"
            )
        self._read_weights()
        # the prior of a notion is the weights of the answers, unless the notion states one
        prior = None if self.objective == "worst_case" else self.all_weights
        bound = self.privacy.bound_to(prior, self.workload.inputs)
        object.__setattr__(self, "privacy", bound)

    def _read_weights(self) -> None:
        """Read the weights of an average; equal ones count as None."""
        if self.weights is None:
            return
        if self.objective == "worst_case":
            raise StatementError(
                "the worst case takes no weights",
                do='leave weights out, or use objective="average"',
            )
        weights = read_weights(self.weights, self.workload)
        object.__setattr__(self, "weights", None if weights.min() == weights.max() else weights)

    @property
    def all_weights(self) -> Float:
        """Weights of the answers, equal ones by default; shape ``(n,)``, summing to 1."""
        n = self.workload.shape[1]
        return np.full(n, 1.0 / n) if self.weights is None else self.weights


def read_weights(weights: Any, workload: Workload) -> Float:
    """Weights of the answers of a workload, in their order, summing to 1."""
    n = workload.shape[1]
    array = read_labelled(weights, "list of weights", ("answer", "answer")).to(workload.inputs)
    if array.shape != (n,):
        problem = f"the weights have shape {array.shape}; there are {n} answers"
        raise StatementError(problem, do="give one weight for each answer")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        problem = f"weight {array[bad[0]]} is not a finite number >= 0"
        raise StatementError(
            problem,
            where=f"answer {workload.inputs[bad[0]]!r}",
            do="give weights that are at least 0",
        )
    return frozen(normalized(array))
