r"""Output sifting: solve on a few outputs, price all of them in closed form, add those that would help, repeat.

An optimal mechanism uses few outputs (49 of 1000 for a random gain at epsilon = 1). The row-sum multipliers ``y`` of
the restricted program price every output by ``g_j(y)``; where none is positive, ``y`` is feasible for the dual of the
whole program, and the restricted optimum is the optimum (docs, "Output sifting").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

import numpy as np

from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.numbers import Float
from ldpopt.solvers import Feature, Outcome, Status
from ldpopt.solving.interior.pricing import project_to_private
from ldpopt.solving.limits import Limits
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.method import Method, RawSolution, Switch, Task, found, solver_named
from ldpopt.solving.methods.sifting_problem import SiftingProblem
from ldpopt.solving.problem_form import ProblemForm

GAP = 1e-11
"""Relative gap at which to stop."""

INITIAL_GAP = 3e-2
"""Gap to which the first restricted program is solved."""

GAP_SHRINK_ADDED = 0.3
"""The next restricted program is solved to this share of the current gap, if outputs were added."""

GAP_SHRINK_STALLED = 1e-2
"""The restricted program is solved further, to this share of its gap, if no output would help."""

ACCEPTED_GAP = 1e-9
"""Relative gap over all outputs that counts as optimal after the last round."""

MAX_UNUSED_ENTRY = 1e-6
"""Outputs whose probability is at most this for every input are left out if the optimum does not need them."""

MAX_STEPS_WITHOUT_UNUSED = 40
"""Largest number of steps of the solve without those outputs; one or two are usual."""


@dataclass(frozen=True)
class OutputSifting(Method):
    """Solve compact programs on few outputs, with any solver inside.

    A solver that can stop at a gap solves each round only as accurately as needed, and starts from the round before.
    """

    solver: str = "interior"

    name: ClassVar[str] = "output sifting"
    forms: ClassVar[frozenset[str]] = frozenset({"sifted"})

    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Plain compact programs, with a usable interior."""
        return form.is_plain_compact and form.ties is not None and form.ties.budget.beta > limits.least_beta

    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """First for a large utility."""
        return 0.0 if form.entries >= limits.sifting_entries else inf

    def because(self, form: ProblemForm, limits: Limits) -> str:
        """State the size."""
        return (
            f"an optimum uses few of the {form.m} outputs, and with {form.entries} entries "
            f"(from {limits.sifting_entries} on) this is faster than simplex on all of them"
        )

    def solve(self, task: Task, start: Switch | None = None) -> RawSolution:
        """Solve by sifting."""
        if not self.suits(task.form, task.limits):
            what = (
                f"{task.problem.privacy!r} with this objective and these constraints cannot be solved by output sifting"
            )
            do = 'state a pure or entry-wise budget, an expected value, no side constraints; or use solver="highs"'
            raise NotRepresentableError(what, do=do)
        return _Sifting(task, self.solver).run()


@dataclass(frozen=True)
class _Round:
    """The answer of one restricted program: its private channel, its multipliers, and its gap over all outputs."""

    outcome: Outcome
    channel_part: Float
    duals: Float
    gap: float


class _Sifting:
    """One run: the outputs in use, the requested accuracy, and the last round."""

    def __init__(self, task: Task, solver: str) -> None:
        self.task, self.solver = task, solver_named(solver)
        self.whole = SiftingProblem.of(task.problem)
        self.has_gap = Feature.GAP in self.solver.features
        self.final_gap = GAP if task.gap is None else task.gap
        costs = self.whole.costs
        all_at_once = self.has_gap and costs.size * self.whole.b ** (1 / 3) <= task.limits.whole_entries
        self.chosen = np.arange(costs.shape[1]) if all_at_once else self.whole.initial_outputs()
        self.round_gap = self.final_gap / 2 if all_at_once else INITIAL_GAP
        self.rounds = 0
        self.warm_start: dict[str, Any] = {}
        self.best: tuple[_Round, RawSolution] | None = None
        self.program = self.whole.program(self.chosen)

    def run(self) -> RawSolution:
        """Add outputs and accuracy until the gap over all outputs is small enough."""
        for solves in range(self.task.limits.sifting_rounds + 1):
            now = self._solve_restricted()
            if isinstance(now, Outcome):
                return self._unfinished(now)
            added = self.whole.helpful(now.duals, self.chosen)
            LOG.info("outputs, program %d: %d of them, gap %.2e", solves + 1, len(self.chosen), now.gap)
            is_accurate = not self.has_gap or self.round_gap <= self.final_gap / 2
            is_last = solves == self.task.limits.sifting_rounds
            if now.gap <= self.final_gap or (is_accurate and not len(added)) or (is_last and now.gap <= ACCEPTED_GAP):
                return self._answer(now.outcome, self._drop_unused_outputs(now) if self.has_gap else now.channel_part)
            self.best = now, self._answer(now.outcome, now.channel_part)
            self._set_up_next_round(now, added)
        assert self.best is not None
        message = f"a gap of {self.best[0].gap:.1e} after {self.task.limits.sifting_rounds + 1} programs"
        return self._unfinished(Outcome(Status.LIMIT, message))

    def _solve_restricted(self) -> _Round | Outcome:
        """Solve the restricted program; an `Outcome` is returned if there is no optimum."""
        asked = {"gap": self.round_gap} | self.warm_start if self.has_gap else {}
        left = self.task.deadline.left
        outcome = self.solver.solve(self.program, time_limit=left, **(self.task.options | asked))
        if not found(outcome) or outcome.point is None or outcome.row_duals is None:
            return outcome
        channel_part = project_to_private(self.program.structure.channel(outcome.point), self.whole.b, self.whole.delta)
        duals = self.whole.sign * outcome.row_duals[: len(self.whole.costs)]
        return _Round(outcome, channel_part, duals, self.whole.gap(duals, channel_part, self.chosen))

    def _set_up_next_round(self, now: _Round, added: Any) -> None:
        """Ask for more accuracy if no output would help, else add outputs."""
        self.warm_start = {"warm_start": now.outcome.warm_start}
        if not len(added):
            self.round_gap = max(self.round_gap * GAP_SHRINK_STALLED, self.final_gap / 2)
            return
        self.round_gap = min(self.round_gap, max(now.gap * GAP_SHRINK_ADDED, self.final_gap / 2))
        self.rounds += 1
        self.warm_start["kept"] = np.append(np.arange(len(self.chosen)), np.full(len(added), -1))
        self.chosen = np.concatenate([self.chosen, added])
        self.program = self.whole.program(self.chosen)

    def _answer(self, outcome: Outcome, channel_part: Float) -> RawSolution:
        """Write the restricted channel as one over all outputs."""
        channel = np.zeros(self.whole.costs.shape)
        channel[:, self.chosen] = channel_part
        return RawSolution(self.program, outcome, channel, self.rounds, self.solver.name)

    def _unfinished(self, outcome: Outcome) -> RawSolution:
        """Return the last round's private channel and multipliers, with the status that ended the run."""
        if self.best is None or outcome.status is not Status.LIMIT:
            return RawSolution(self.program, outcome, None, self.rounds, self.solver.name)
        last = self.best[1]
        return replace(last, outcome=replace(last.outcome, status=Status.LIMIT, raw_status=outcome.raw_status))

    def _drop_unused_outputs(self, now: _Round) -> Float:
        """Solve once more with the used outputs only; keep the result if it costs nothing."""
        channel_part, whole, matter = now.channel_part, self.whole, now.channel_part.max(axis=0) > MAX_UNUSED_ENTRY
        if matter.all():
            return channel_part
        program = whole.program(self.chosen[matter])
        kept = {"warm_start": now.outcome.warm_start, "kept": np.flatnonzero(matter)}
        left = self.task.deadline.left
        outcome = self.solver.solve(program, time_limit=left, gap=GAP / 10, steps=MAX_STEPS_WITHOUT_UNUSED, **kept)
        if not found(outcome) or outcome.point is None:
            return channel_part
        reduced = np.zeros_like(channel_part)
        reduced[:, matter] = project_to_private(program.structure.channel(outcome.point), whole.b, whole.delta)
        return reduced if whole.gap(now.duals, reduced, self.chosen) <= max(2 * now.gap, GAP) else channel_part
