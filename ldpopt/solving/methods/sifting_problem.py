"""The whole program as output sifting sees it: which outputs would help, and how far a restricted answer is off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.checks import Float
from ldpopt.foundation.rows import Int
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.formulation import formulate
from ldpopt.solving.interior.pricing import Prices, best_bound
from ldpopt.statement.problem import Problem
from ldpopt.statement.utility import Utility

INITIAL_OUTPUTS = 24
"""Outputs to begin with."""

LEAST_WORTH = 0.1
"""Outputs are added in a round if they are worth this share of the one worth most; at most as many as there are."""

LARGEST_OVERLAP = 0.9
"""Two outputs that would serve more than this share of the same inputs are not added in one round."""

COVER = 2.0
"""More than that are added while those of a round serve each input less often than this, on average."""

COMPARED = 1000
"""Outputs that are compared for that, at least."""

QUANTILES = (1.0, 0.9, 0.75, 0.5)
"""Multipliers to begin with: these quantiles of each input's row."""


@dataclass(frozen=True)
class SiftingProblem:
    """The whole program as pricing sees it: costs to be maximized and three numbers."""

    problem: Problem
    costs: Float
    sign: float
    b: float
    beta: float
    delta: float

    @classmethod
    def of(cls, problem: Problem) -> SiftingProblem:
        """Read the whole program's costs and numbers."""
        ties = problem.ties()
        sign = 1.0 if problem.utility.sense == "gain" else -1.0
        assert problem.prior is not None
        assert ties is not None
        costs = (sign * problem.prior)[:, None] * problem.utility.matrix
        return cls(problem, costs, sign, ties.budget.b, ties.budget.beta, ties.delta)

    def program(self, chosen: Int) -> ChannelProgram:
        """Formulate the problem with these outputs only."""
        whole = self.problem
        matrix = whole.utility.matrix[:, chosen]
        names = [whole.outputs[y] for y in chosen]
        utility = Utility(matrix, whole.utility.sense)
        part = Problem(whole.prior, utility, whole.privacy, inputs=whole.inputs, outputs=names)
        return formulate(part, "compact")

    def worth(self, duals: Float) -> Float:
        """What each output could add to the bound."""
        return np.asarray(np.maximum(Prices.of(self.costs, duals).gains(self.b, self.beta), 0.0))

    def first(self) -> Int:
        """Choose outputs that are priced best by a few guesses of the multipliers, and the best constant answer.

        With an entry-wise slack every output is of use to somebody, as the slack is there for the taking: all of them.
        """
        if self.delta:
            return np.arange(self.costs.shape[1])
        found = {int(np.argmax(self.costs.sum(axis=0)))}
        for share in QUANTILES:
            level = self.costs.max(axis=1) if share == 1.0 else np.quantile(self.costs, share, axis=1)
            found.update(np.argsort(-self.worth(level))[: INITIAL_OUTPUTS // len(QUANTILES)].tolist())
        return np.array(sorted(found))

    def helpful(self, duals: Float, chosen: Int) -> Int:
        """Outputs to add: those worth most, no two alike."""
        worth = self.worth(duals)
        worth[chosen] = 0.0
        few = np.flatnonzero(worth)
        if len(few) <= max(INITIAL_OUTPUTS, len(chosen) // 2):
            return few
        order = np.argsort(-worth)[: np.count_nonzero(worth > LEAST_WORTH * worth.max())]
        return order[self._unlike(self.costs[:, order] > duals[:, None], max(INITIAL_OUTPUTS, len(chosen)))]

    def _unlike(self, serves: NDArray[np.bool_], most: int) -> list[int]:
        """Positions of outputs to take, best first, of which no two serve nearly the same inputs."""
        n, size = len(serves), serves.sum(axis=0)
        count = max(8 * most, COMPARED, int(np.searchsorted(size.cumsum(), 2 * COVER * n)))
        served, size = serves[:, :count].astype(np.float32), size[:count]
        common = served.T @ served
        taken: list[int] = []
        free, cover = np.ones(len(size), bool), 0.0
        for k in np.arange(len(size)):
            if free[k] and (len(taken) < most or cover < COVER * n):
                taken.append(int(k))
                cover += size[k]
                free &= common[k] <= LARGEST_OVERLAP * np.minimum(size, size[k])
        return taken

    def gap(self, duals: Float, part: Float, chosen: Int) -> float:
        """Relative gap between the bound over all outputs and what the restricted channel is worth."""
        bound = best_bound(self.costs, duals, self.b, self.beta, self.delta)
        value = float((self.costs[:, chosen] * part).sum())
        stake = float((self.costs.max(axis=1) - self.costs.min(axis=1)).sum()) / 100
        return (bound - value) / max(abs(bound), stake, 1e-300)
