"""The whole problem of output sifting: which outputs would help, and the gap of a restricted answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.compact import Prices
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.formulation import formulate
from ldpopt.solving.interior.pricing import best_bound

INITIAL_OUTPUTS = 24
"""Number of outputs of the first restricted program."""

MIN_WORTH_SHARE = 0.1
"""An output is added only if its worth is at least this share of the largest worth."""

MAX_OVERLAP = 0.9
"""Two outputs are not added in one round if they serve more than this share of the same inputs."""

MIN_COVER = 2.0
"""A round may add more outputs than there are, until its outputs serve each input this often on average."""

MIN_COMPARED = 1000
"""Smallest number of outputs that are compared for overlap."""

QUANTILES = (1.0, 0.9, 0.75, 0.5)
"""Initial guesses of the multipliers: these quantiles of each input's row."""


@dataclass(frozen=True)
class SiftingProblem:
    """The costs of the whole program, to be maximized, and its three numbers."""

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
        """Amount that each output could add to the bound; at least 0."""
        return np.asarray(np.maximum(Prices.of(self.costs, duals).gains(self.b, self.beta), 0.0))

    def initial_outputs(self) -> Int:
        """Choose outputs that are priced best by a few guesses of the multipliers, and the best constant answer.

        With an entry-wise slack all outputs are chosen: each one lets some input use its slack.
        """
        if self.delta:
            return np.arange(self.costs.shape[1])
        found = {int(np.argmax(self.costs.sum(axis=0)))}
        for share in QUANTILES:
            level = self.costs.max(axis=1) if share == 1.0 else np.quantile(self.costs, share, axis=1)
            found.update(np.argsort(-self.worth(level))[: INITIAL_OUTPUTS // len(QUANTILES)].tolist())
        return np.array(sorted(found))

    def helpful(self, duals: Float, chosen: Int) -> Int:
        """Outputs to add: those of largest worth, no two with nearly the same inputs."""
        worth = self.worth(duals)
        worth[chosen] = 0.0
        candidates = np.flatnonzero(worth)
        if len(candidates) <= max(INITIAL_OUTPUTS, len(chosen) // 2):
            return candidates
        order = np.argsort(-worth)[: np.count_nonzero(worth > MIN_WORTH_SHARE * worth.max())]
        return order[self._dissimilar(self.costs[:, order] > duals[:, None], max(INITIAL_OUTPUTS, len(chosen)))]

    def _dissimilar(self, served_by: NDArray[np.bool_], most: int) -> list[int]:
        """Positions of outputs to take, best first, of which no two serve nearly the same inputs."""
        n, size = len(served_by), served_by.sum(axis=0)
        count = max(8 * most, MIN_COMPARED, int(np.searchsorted(size.cumsum(), 2 * MIN_COVER * n)))
        served, size = served_by[:, :count].astype(np.float32), size[:count]
        common = served.T @ served
        taken: list[int] = []
        free, cover = np.ones(len(size), bool), 0.0
        for k in np.arange(len(size)):
            if free[k] and (len(taken) < most or cover < MIN_COVER * n):
                taken.append(int(k))
                cover += size[k]
                free &= common[k] <= MAX_OVERLAP * np.minimum(size, size[k])
        return taken

    def gap(self, duals: Float, part: Float, chosen: Int) -> float:
        """Relative gap between the bound over all outputs and the value of the restricted channel."""
        bound = best_bound(self.costs, duals, self.b, self.beta, self.delta)
        value = float((self.costs[:, chosen] * part).sum())
        least_scale = float((self.costs.max(axis=1) - self.costs.min(axis=1)).sum()) / 100
        return (bound - value) / max(abs(bound), least_scale, 1e-300)
