"""Row generation: solve a relaxation and add the rows that its optimum violates, until there are
none.

Rows are sought on the segment to an inner private point, too, where they cut deeper (Ben-Ameur and
Neto 2007).
"""

from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import RowBlock
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Feature, Outcome, Solver, Status
from ldpopt.solving.formulation import add_rows, formulate, relaxed_form
from ldpopt.solving.limits import Limits
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.method import (
    Method,
    RawSolution,
    Switch,
    Task,
    optimal_point,
    solver_named,
)
from ldpopt.solving.problem_form import ProblemForm
from ldpopt.solving.solution import value_of

# position of the second point on the segment from the inner to the outer point
SECOND_POINT_SHARE = 0.1
ACCEPTED_GAP = 1e-13  # relative gap between inner and outer point that is accepted as optimal
# relative gap that the interior point must reach to replace many rounds on a small program
STRICT_GAP = 1e-10
# relative gap that the interior point must reach on a large program, or when the rounds are used up
LOOSE_GAP = 1e-6


@dataclass(frozen=True)
class RowGeneration(Method):
    """Generate violated rows of a notion that has too many rows to list."""

    # a solver of linear programs; one with warm starts continues from its last basis
    solver: str | Solver = "highs"
    # whether large event-wise problems switch to the interior point for events
    may_switch: bool = False

    name: ClassVar[str] = "row generation"
    forms: ClassVar[frozenset[str]] = frozenset({"compact"})

    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Whether the program is a relaxation, whose other rows are generated."""
        return form.has_generated_rows

    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """First for notions whose rows are generated; never tried for others."""
        return 1.0 if form.has_generated_rows else inf

    def because(self, form: ProblemForm, limits: Limits) -> str:
        """The reason names the rows that are too many to list."""
        events = (
            f"2**{form.m} events of each pair" if form.is_event_wise else "the rows of this notion"
        )
        return f"{events} are too many to list: violated ones are added"

    def solve(self, task: Task, start: Switch | None = None) -> RawSolution | Switch:
        """Generate rows until the relaxation's optimum violates none."""
        return _Generation(task, self.solver, self.may_switch).run()


class _Generation:
    """One run: the program so far, the inner point, and the rows added."""

    def __init__(self, task: Task, solver: str | Solver, may_switch: bool) -> None:
        self.task = task
        self.solver = solver_named(solver)
        self.may_switch = may_switch
        self.problem = task.problem
        self.program = formulate(task.problem, relaxed_form(task.problem), task.deadline)
        self.inner: Float | None = None
        self.seen: set[bytes] = set()
        self.rounds = 0
        self.most_violated = 0  # entries of the rows of a round
        # Only the last point is refined; earlier ones are used to find rows.
        self.is_rough = Feature.ROUGH in self.solver.features
        self.outcome = Outcome(Status.FAILED, "")
        self.relaxed: RawSolution | None = None
        # tangents can be added without end: a requested gap ends them, and ties end by themselves
        is_endless = task.form.ties is None and task.gap is not None
        self.accepted_gap = max(ACCEPTED_GAP, (task.gap or 0.0) / 2 if is_endless else 0.0)

    def run(self) -> RawSolution | Switch:
        """Solve and add rows, starting from the current program."""
        while self.rounds < self.task.limits.generation_rounds:
            outcome = self._solve_relaxation()
            if (point := optimal_point(outcome)) is None:
                return self._unfinished(outcome)
            raw = self.program.structure.channel(point)
            self.relaxed = self._answer(outcome, None)
            outer = raw.clip(min=0.0)
            # only violations of the notion are left, no rounding errors
            outer /= outer.sum(axis=1, keepdims=True)
            blocks = self._violated_rows(outer)
            is_optimal = (
                self.inner is not None
                and bool(blocks)
                and _is_optimal(self.problem, self.inner, outer, self.accepted_gap)
            )
            if is_optimal or not {_key(block) for block in blocks} - self.seen:
                if not self.is_rough:
                    return self._answer(outcome, self.inner if is_optimal else raw)
                self.is_rough = False
                continue
            if (switch := self._switch(outer, blocks)) is not None:
                return switch
            self._add(blocks)
            LOG.info("row generation, round %d: %d rows", self.rounds, self.program.shape[0])
        return self._unfinished(
            Outcome(Status.LIMIT, f"{self.task.limits.generation_rounds} rounds of row generation")
        )

    def _solve_relaxation(self) -> Outcome:
        """Solve the relaxation, from the last basis."""
        features = self.solver.features
        warm = {"warm_start": self.outcome.warm_start} if Feature.WARM_START in features else {}
        rough = {"refined": not self.is_rough} if Feature.ROUGH in features else {}
        left = self.task.deadline.left
        self.outcome = self.solver.solve(
            self.program, time_limit=left, **warm, **rough, **self.task.options
        )
        return self.outcome

    def _violated_rows(self, outer: Float) -> list[RowBlock]:
        """Move the inner point as long as it is private; return the rows violated near it and at
        the outer point.
        """
        privacy, inputs = self.problem.privacy, self.problem.inputs
        # Equal rows satisfy every notion, but perhaps not the side constraints.
        if self.inner is None and not self.problem.constraints:
            self.inner = np.repeat(outer.mean(axis=0)[None], len(outer), axis=0)
        if (block := privacy.separate(outer, inputs)) is None or self.inner is None:
            return [] if block is None else [block]
        while not _is_optimal(self.problem, self.inner, outer, self.accepted_gap):
            between = SECOND_POINT_SHARE * outer + (1 - SECOND_POINT_SHARE) * self.inner
            if (deeper := privacy.separate(between, inputs)) is not None:
                return [deeper, block]
            self.inner = between
        return [block]

    def _switch(self, outer: Float, blocks: list[RowBlock]) -> Switch | None:
        """Switch if the program is large or the rounds are many, as when events are nearly
        parallel.
        """
        form, limits = self.task.form, self.task.limits
        has_event_interior = (
            form.is_event_wise and not form.has_side_rows and self.program.structure.b > 0
        )
        if not self.may_switch or form.n < 2 or not has_event_interior:
            return None
        violated = sum(len(block.row) for block in blocks)
        # fewer violations than before: the rounds may end soon, and a larger program is accepted
        self.most_violated = max(self.most_violated, violated)
        is_falling = form.is_expected and violated < limits.event_falling * self.most_violated
        many = max(form.event_nonzeros(limits), limits.event_falling_nonzeros * is_falling)
        is_large = self.program.nnz > many and form.n >= limits.event_inputs
        # a small program switches at one round, and at the last one
        if not is_large and self.rounds not in (limits.event_round, limits.generation_rounds - 1):
            return None
        self.may_switch = not is_large  # of a small one the switch may come again
        because = (
            f"the program has grown to {self.program.nnz} non-zeros in {self.rounds} rounds "
            "of row generation"
        )
        accepted_gap = LOOSE_GAP if is_large or self.rounds != limits.event_round else STRICT_GAP

        def resume() -> RawSolution | Switch:
            self._add(blocks)
            return self.run()

        return Switch("event interior point", because, self.program, outer, accepted_gap, resume)

    def _add(self, blocks: list[RowBlock]) -> None:
        """Add the rows that are new."""
        for block in blocks:
            if _key(block) not in self.seen:
                self.program = add_rows(self.program, block, self.problem)
                self.seen.add(_key(block))
        self.rounds += 1
        self.is_rough = self.is_rough and self.rounds < self.task.limits.rough_rounds

    def _answer(self, outcome: Outcome, channel: Float | None) -> RawSolution:
        return RawSolution(self.program, outcome, channel, self.rounds, self.solver.name)

    def _unfinished(self, outcome: Outcome) -> RawSolution:
        """At a limit, the inner point with the multipliers of the last solved relaxation."""
        last = self.relaxed
        if outcome.status is not Status.LIMIT or last is None or self.inner is None:
            return self._answer(outcome, None)
        ended = replace(last.outcome, status=Status.LIMIT, raw_status=outcome.raw_status)
        return replace(last, outcome=ended, channel=self.inner)


def _key(block: RowBlock) -> bytes:
    """A block's rows, by which one that was added is recognized: tangents at different points
    differ in coefficients and sides only.
    """
    parts = (block.row, block.x, block.y, block.coefficient, block.lower, block.upper)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def _is_optimal(problem: Problem, inner: Float, outer: Float, accepted: float) -> bool:
    """Whether the inner point, which is private, is as good as the relaxation's optimum, up to
    rounding.
    """
    value, bound = (value_of(problem, channel) for channel in (inner, outer))
    largest = np.abs(problem.utility.matrix).max(axis=1)
    scale = float(largest.max() if problem.prior is None else problem.prior @ largest)
    return abs(bound - value) <= accepted * max(abs(bound), 1e-3 * scale)
