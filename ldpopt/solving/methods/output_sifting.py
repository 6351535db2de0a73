r"""Output sifting: solve on a few outputs, price all of them in closed form, add those that would help, repeat.

An optimal mechanism uses few outputs (49 of 1000 for a random gain at epsilon = 1). The row-sum multipliers ``y`` of
the restricted program price every output by ``g_j(y)``; where none is positive, ``y`` is feasible for the dual of the
whole program, and the restricted optimum is the optimum (docs, "Output sifting").
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError, SolverOptionError
from ldpopt.foundation.checks import Float
from ldpopt.foundation.rows import Int
from ldpopt.privacy.answers import is_separated
from ldpopt.solvers import Outcome, ProgramSolver, Status
from ldpopt.solving.formulation import formulate
from ldpopt.solving.interior.pricing import Prices, best_bound, made_private
from ldpopt.solving.methods.row_generation import Generated
from ldpopt.statement.problem import Problem
from ldpopt.statement.utility import Utility

FIRST = 24
"""Outputs to begin with."""

WHOLE = 10_000
"""Entries of a utility up to which the interior point is given all outputs at once (measured).

More of them, by the cube root of ``exp(epsilon)``, where epsilon is large and more outputs are of use.
"""

SMALLEST_BETA = 1e-9
"""``1 - exp(-epsilon)`` from which there is an inside for an interior point to walk through."""

WORTHY = 0.1
"""Outputs are added in a round if they are worth this share of the one worth most; at most as many as there are."""

ALIKE = 0.9
"""Two outputs that would serve more than this share of the same inputs are not added in one round."""

COVER = 2.0
"""More than that are added while those of a round serve each input less often than this, on average."""

COMPARED = 1000
"""Outputs looked at for that, at least."""

FINER = 1e-2
"""Share of the gap asked for, where no output would help, to which the restricted program is solved on."""

LOOSE = 0.3
"""Share of the gap at hand to which the next restricted program is solved."""

GAP = 1e-11
"""Relative gap at which to stop."""

DUST = 1e-6
"""Outputs reported less often than this, whatever the input, are left out if the optimum does not need them."""

SWEEPS = 40
"""Steps for that, at most; one or two are usual."""

QUANTILES = (1.0, 0.9, 0.75, 0.5)
"""Multipliers to begin with: these quantiles of each input's row."""

MOST_ROUNDS = 60
"""Restricted programs solved at most; 3 to 12 are usual."""

CLOSE = 1e-9
"""Relative gap over all outputs up to which what has been found by then counts as the optimum."""


def can_sift(problem: Problem) -> bool:
    """Whether the problem's program is a plain compact one: all pairs tied alike, an expected value, no side rows."""
    ties = problem.ties()
    plain = problem.objective == "expected" and not problem.constraints and not is_separated(problem.privacy)
    return plain and ties is not None and bool(ties.is_complete) and ties.budget.beta > SMALLEST_BETA


def require_siftable(problem: Problem) -> None:
    """Refuse what sifting cannot price.

    Raises
    ------
    NotRepresentableError
        If the program is not a plain compact one, or epsilon is so small that it has no inside.
    """
    if not can_sift(problem):
        raise NotRepresentableError(
            f"{problem.privacy!r} with this objective and these constraints cannot be sifted by outputs",
            do='state a pure or entry-wise budget, an expected value and no side constraints, or use solver="highs"',
        )


def sift(problem: Problem, backend: ProgramSolver, time_limit: float | None, options: dict[str, Any]) -> Generated:
    """Solve by sifting, with any solver of compact programs inside.

    A solver with an attribute ``paced`` is asked for no more accuracy than a round needs, by its option ``gap``, and
    given an earlier outcome's ``basis``, where the outputs changed with ``kept``, the places that they had there.
    """
    deadline = None if time_limit is None else time.perf_counter() + time_limit
    whole = _Whole.of(problem)
    paced = getattr(backend, "paced", False)
    final = options.get("gap", GAP) if paced else GAP
    if not (isinstance(final, float) and final > 0):
        raise SolverOptionError(f"gap = {final!r}", do="it is a positive float")
    at_once = paced and whole.costs.size * whole.b ** (1 / 3) <= WHOLE
    chosen = np.arange(whole.costs.shape[1]) if at_once else whole.first()
    wanted, rounds, solves = final / 2 if at_once else 3e-2, 0, 0
    going: dict[str, Any] = {}
    program = formulate(whole.restricted(chosen), "compact")
    while True:
        left = None if deadline is None else max(deadline - time.perf_counter(), 1e-3)
        going = {**going, "gap": wanted} if paced else {}
        outcome = backend.solve(program, time_limit=left, **{**options, **going})
        if outcome.status is not Status.OPTIMAL or outcome.point is None or outcome.row_duals is None:
            return Generated(program, outcome, None, rounds, backend.name)
        part = made_private(program.structure.channel(outcome.point), whole.b, whole.delta)
        duals = whole.sign * outcome.row_duals[: len(whole.costs)]
        reached = whole.gap(duals, part, chosen)
        added = whole.helpful(duals, chosen)
        accurate = not paced or wanted <= final / 2
        if solves == MOST_ROUNDS and reached > CLOSE:
            told = f"a gap of {reached:.1e} after {solves + 1} programs"
            ended = replace(outcome, status=Status.LIMIT, raw_status=told)
            return Generated(program, ended, None, rounds, backend.name)
        if reached <= final or solves == MOST_ROUNDS or (accurate and not len(added)):
            channel = np.zeros(whole.costs.shape)
            channel[:, chosen] = (
                whole.without_dust(backend, part, chosen, outcome, reached, deadline) if paced else part
            )
            return Generated(program, outcome, channel, rounds, backend.name)
        solves += 1
        if not len(added):
            wanted, going = max(wanted * FINER, final / 2), {"basis": outcome.basis}
            continue
        wanted, rounds = min(wanted, max(reached * LOOSE, final / 2)), rounds + 1
        going = {"basis": outcome.basis, "kept": np.append(np.arange(len(chosen)), np.full(len(added), -1))}
        chosen = np.concatenate([chosen, added])
        program = formulate(whole.restricted(chosen), "compact")


@dataclass(frozen=True)
class _Whole:
    """The whole program as pricing sees it: costs to be maximized and three numbers."""

    problem: Problem
    costs: Float
    sign: float
    b: float
    beta: float
    delta: float

    @classmethod
    def of(cls, problem: Problem) -> _Whole:
        ties = problem.ties()
        assert ties is not None
        sign = 1.0 if problem.utility.sense == "gain" else -1.0
        assert problem.prior is not None
        costs = (sign * problem.prior)[:, None] * problem.utility.matrix
        return cls(problem, costs, sign, ties.budget.b, ties.budget.beta, ties.delta)

    def restricted(self, chosen: Int) -> Problem:
        """State the problem with these outputs only."""
        whole = self.problem
        matrix = whole.utility.matrix[:, chosen]
        names = [whole.outputs[y] for y in chosen]
        return Problem(
            whole.prior, Utility(matrix, whole.utility.sense), whole.privacy, inputs=whole.inputs, outputs=names
        )

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
            found.update(np.argsort(-self.worth(level))[: FIRST // len(QUANTILES)].tolist())
        return np.array(sorted(found))

    def helpful(self, duals: Float, chosen: Int) -> Int:
        """Outputs to add: those worth most, no two alike."""
        worth = self.worth(duals)
        worth[chosen] = 0.0
        few = np.flatnonzero(worth)
        if len(few) <= max(FIRST, len(chosen) // 2):
            return few
        most = max(FIRST, len(chosen))
        order = np.argsort(-worth)[: np.count_nonzero(worth > WORTHY * worth.max())]
        serves = self.costs[:, order] > duals[:, None]
        size = serves.sum(axis=0)
        first = max(8 * most, COMPARED, int(np.searchsorted(size.cumsum(), 2 * COVER * len(duals))))
        candidates, served = order[:first], serves[:, :first].astype(np.float32)
        common = served.T @ served
        picked: list[int] = []
        free, cover = np.ones(len(candidates), bool), 0.0
        for k in range(len(candidates)):
            if free[k] and (len(picked) < most or cover < COVER * len(duals)):
                picked.append(k)
                cover += size[k]
                free &= common[k] <= ALIKE * np.minimum(size[:first], size[k])
        return np.asarray(candidates[picked])

    def without_dust(
        self, backend: ProgramSolver, part: Float, chosen: Int, found: Outcome, reached: float, deadline: float | None
    ) -> Float:
        """Solve once more for the outputs that matter, and leave the others out if that costs nothing."""
        matter = part.max(axis=0) > DUST
        if matter.all():
            return part
        program = formulate(self.restricted(chosen[matter]), "compact")
        left = None if deadline is None else max(deadline - time.perf_counter(), 1e-3)
        going: dict[str, Any] = {"basis": found.basis, "kept": np.flatnonzero(matter)}
        outcome = backend.solve(program, time_limit=left, gap=GAP / 10, steps=SWEEPS, **going)
        if outcome.status is not Status.OPTIMAL or outcome.point is None:
            return part
        swept = np.zeros_like(part)
        swept[:, matter] = made_private(program.structure.channel(outcome.point), self.b, self.delta)
        assert found.row_duals is not None
        duals = self.sign * found.row_duals[: len(self.costs)]
        return swept if self.gap(duals, swept, chosen) <= max(2 * reached, GAP) else part

    def gap(self, duals: Float, part: Float, chosen: Int) -> float:
        """Relative gap between the bound over all outputs and what the restricted channel is worth."""
        bound = best_bound(self.costs, duals, self.b, self.beta, self.delta)
        value = float((self.costs[:, chosen] * part).sum())
        stake = float((self.costs.max(axis=1) - self.costs.min(axis=1)).sum()) / 100
        return (bound - value) / max(abs(bound), stake, 1e-300)
