r"""Event-wise delta without row generation: an interior point on few outputs; the others are priced.

The interior point is given a few outputs. Its multipliers ``y`` of the rows and ``nu`` of the pairs bound the value of
every channel if each output, used or not, has shares :math:`0 \le \lambda_{ik} \le \nu_{ik}` with

.. math:: c_i - y_i \le \sum_k (b \lambda_{ik} - \lambda_{ki}) \quad \text{for all } i .

That is a small linear program for each output. Outputs without such shares are added and the interior point is run
again. The shares of a pair are a sum of nested events, which become rows with multipliers: what `certify` reads.
Theory: docs, "Event-wise delta".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.privacy import Ties
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Outcome, Status
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.formulation import add_rows, formulate
from ldpopt.solving.limits import Limits
from ldpopt.solving.methods.method import Method, RawSolution, Switch, Task
from ldpopt.solving.problem_form import ProblemForm

if TYPE_CHECKING:
    from ldpopt.solving.interior.events import EventPoint
    from ldpopt.solving.interior.steps import PathResult

MIN_USED_ENTRY = 1e-7
"""An output is in the first selection if its largest entry in the relaxation is above this."""

MIN_SHORTFALL = 3e-11
"""An output is added if the shortfall of its shares may raise the bound by more than this share."""

DEFAULT_GAP = 1e-6
"""Gap of the interior point that is accepted without a `Switch`; pricing usually reduces it."""


@dataclass(frozen=True)
class EventInteriorPoint(Method):
    """Solve event-wise problems that row generation hands over."""

    name: ClassVar[str] = "event interior point"
    forms: ClassVar[frozenset[str]] = frozenset({"compact"})

    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Event-wise delta, all pairs alike, no side rows."""
        has_interior = form.ties is not None and form.ties.budget.b > 0
        return form.is_event_wise and not form.has_side_rows and has_interior and form.n > 1

    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """After row generation, which hands over to it."""
        return 2.0

    def because(self, form: ProblemForm, limits: Limits) -> str:
        """State the size or the number of rounds from which on it is used."""
        return (
            f"takes over where the generated rows have more than {limits.event_nonzeros} non-zeros, "
            f"or after {limits.event_round} rounds"
        )

    def solve(self, task: Task, start: Switch | None = None) -> RawSolution:
        """Solve from the channel of a relaxation, or from uniform reports."""
        if start is not None:
            program, channel, accepted_gap = start.program, start.channel, start.accepted_gap
        else:
            program = formulate(task.problem, "compact", task.deadline)
            channel, accepted_gap = np.full(task.problem.utility.shape, 1 / task.form.m), DEFAULT_GAP
        return _EventSolve(task, program, channel, accepted_gap).run()


class _EventSolve:
    """One run: the program over all outputs in one unit, and the outputs in use."""

    def __init__(self, task: Task, program: ChannelProgram, channel: Float, accepted_gap: float) -> None:
        from ldpopt.solving.interior.events import EventProgram

        problem, structure = task.problem, program.structure
        self.task, self.program, self.accepted_gap = task, program, accepted_gap
        self.sign = 1.0 if program.maximize else -1.0
        matrix = self.sign * (problem.utility.matrix if problem.prior is None else structure.weighted).T
        self.unit = float(np.abs(matrix).max())
        self.shape, self.in_use = channel.shape, channel.max(axis=0) > MIN_USED_ENTRY
        usable = 0 < self.unit < inf
        matrix = np.ascontiguousarray(matrix) / (self.unit if usable else 1.0)
        slack = structure.b * structure.delta
        self.whole = EventProgram(matrix, matrix if problem.prior is None else None, structure.b, slack)
        self.refusal = "" if usable else "the utility has no scale"

    def run(self) -> RawSolution:
        """Solve on the outputs in use, price all outputs, and add those that would help, until none would."""
        while not self.refusal:
            if self.in_use.sum() * self.shape[0] > self.task.limits.event_entries:
                self.refusal = f"{int(self.in_use.sum())} outputs in use need too large a system"
                break
            found = self._solve_restricted()
            if found.timed_out:
                return self._without_channel(Status.LIMIT, f"time limit at a gap of {found.gap:.1e}")
            if found.gap > self.accepted_gap:
                self.refusal = f"a gap of {found.gap:.1e} is left"
                break
            added, shares, shortfall = self._price_outputs(found.point)
            if not (added & ~self.in_use).any():
                return self._answer(found, shares, shortfall)
            self.in_use |= added
        return self._without_channel(Status.FAILED, self.refusal)

    def _solve_restricted(self) -> PathResult[EventPoint]:
        from ldpopt.foundation.threads import few_threads
        from ldpopt.solving.interior.events import interior

        gain = None if self.whole.gain is None else self.whole.gain[self.in_use]
        part = replace(self.whole, cost=self.whole.cost[self.in_use], gain=gain)
        with few_threads(prod(part.shape)):
            return interior(part, self.task.deadline)

    def _price_outputs(self, at: EventPoint) -> tuple[Float, Float, Float]:
        """Outputs that may raise the bound, the shares of every output, and the shortfalls of the shares."""
        from ldpopt.solving.methods.event_pricing import price

        shares, shortfall = price(self.whole, self.whole.priced(self._prior(at)), at.sums, at.pairs)
        bound = abs(float(at.sums.sum())) + self.whole.slack * float(at.pairs.sum())
        return self.shape[0] * shortfall > MIN_SHORTFALL * bound, shares, shortfall

    def _prior(self, at: EventPoint) -> Float:
        return at.prior if self.whole.gain is None else at.prior / at.prior.sum()

    def _answer(self, found: PathResult[EventPoint], shares: Float, shortfall: Float) -> RawSolution:
        at = found.point
        channel = np.zeros(self.shape)
        channel[:, self.in_use] = at.p.T
        sums = self.sign * self.unit * (at.sums + float(shortfall.max()))
        program, events = _with_events(self.program, self.task, self.unit * shares)
        duals = _duals(program, sums, self.sign * self._prior(at), self.sign * events)
        point = _point(self.task.problem, program, channel)
        reduced = program.objective - program.adjoint(duals)
        outcome = Outcome(Status.OPTIMAL, "bound and value agree", point, duals, reduced)
        return RawSolution(program, outcome, channel, 0, "event interior", found.gap)

    def _without_channel(self, status: Status, message: str) -> RawSolution:
        return RawSolution(self.program, Outcome(status, message), None, 0, "event interior")


def _with_events(program: ChannelProgram, task: Task, shares: Float) -> tuple[ChannelProgram, Float]:
    """Add the events that have multipliers as rows; return their multipliers, too."""
    from ldpopt.solving.methods.event_pricing import nested_events

    ties, n = task.form.ties, task.form.n
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    pair, weight, member = nested_events(shares)
    if len(pair) and isinstance(ties, Ties):
        program = add_rows(program, ties.rows_of_events(first[pair], second[pair], member), task.problem)
    return program, weight


def _duals(program: ChannelProgram, sums: Float, prior: Float, events: Float) -> Float:
    """Multipliers in the program's order; the events are its last rows."""
    base, duals = {"row_sum": sums, "worst_case": prior}, np.zeros(program.shape[0])
    for span in program.rows:
        if span.name in base:
            duals[span.slice] = base[span.name]
    duals[program.shape[0] - len(events) :] = events
    return duals


def _point(problem: Problem, program: ChannelProgram, channel: Float) -> Float:
    """Write a channel as a point of the compact program."""
    floor = channel.min(axis=0)
    point = np.concatenate([(channel - floor).reshape(-1), floor / program.structure.b])
    if problem.prior is None:
        by_input = (problem.utility.matrix * channel).sum(axis=1)
        point = np.append(point, by_input.min() if program.maximize else by_input.max())
    return point
