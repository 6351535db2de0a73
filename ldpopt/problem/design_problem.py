"""A design problem: a workload to estimate, a privacy notion, and the weights of the answers in the
error.
"""

from collections.abc import Mapping
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
    real_number,
    require_choice,
    short_repr,
    whole_number,
)
from ldpopt.privacy.notion import require_notion
from ldpopt.problem.workload import Workload

Objective = Literal["average", "worst_case"]
LARGEST_SHARE = 0.99  # largest share of liars


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
    influence : float, or mapping name -> float, optional
        Largest influence of one report on each number, in its unit; a mapping caps the numbers that
        it names. Default: no cap.
    liars : float, optional
        Share of people who may send anything, from 0 to 1, for whose number the influence is
        chosen; with ``people``. Default: nobody is thought of.
    people : int, optional
        Number of people, with ``liars``.

    Raises
    ------
    StatementError
        If an argument has the wrong type, a weight or a cap or its label does not fit, or both
        ``influence`` and ``liars`` are given.

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
    influence: float | Mapping[Any, float] | None = None
    liars: float | None = None
    people: int | None = None

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
        self._read_caps()
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

    def _read_caps(self) -> None:
        """Check the caps of the influence, and the share of liars."""
        if self.influence is not None:
            _ = self.caps
        if self.is_capped and self.outputs is not None:
            raise StatementError(
                "a design whose influence has a cap has as many reports as it needs",
                code="capped-outputs",
                do="leave out `outputs`, or the cap",
            )
        if (self.liars is None) != (self.people is None):
            raise StatementError(
                "`liars` and `people` belong together: what a share of liars does to a mean "
                "depends on the number of people",
                code="liars-people",
                do="give both, as liars=0.01, people=10000",
            )
        if self.liars is None:
            return
        real_number(self.liars, "liars", 0.0, LARGEST_SHARE)
        whole_number(self.people, "people", 1)
        if self.influence is not None:
            raise StatementError(
                "a share of liars chooses the influence by itself",
                code="influence-and-liars",
                do="give `influence`, or `liars` with `people`",
            )

    @property
    def is_capped(self) -> bool:
        """Whether the influence has a cap, or is chosen."""
        return self.influence is not None or self.liars is not None

    @property
    def caps(self) -> Float:
        """Largest influence of one report on each number, shape ``(k,)``; ``inf`` for none."""
        names = self.workload.names
        caps = np.full(len(names), np.inf)
        if self.influence is None:
            return caps
        if not isinstance(self.influence, Mapping):
            caps[:] = real_number(self.influence, "influence", 0.0)
            return caps
        places = {name: place for place, name in enumerate(names)}
        for name, cap in self.influence.items():
            if name not in places:
                raise StatementError(
                    f"the influence is capped for {short_repr(name)}, which is no number of the "
                    "workload",
                    code="cap-name",
                    do="name numbers of the workload: see workload.names",
                )
            caps[places[name]] = real_number(cap, f"influence of {short_repr(name)}", 0.0)
        return caps

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
