"""An event-wise delta by an interior point on few outputs; the others are priced (docs, "Event-wise
delta").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.foundation.threads import few_threads
from ldpopt.privacy import Ties
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Outcome, Status
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.formulation import add_rows, formulate
from ldpopt.solving.limits import Limits
from ldpopt.solving.methods.method import Method, RawSolution, Switch, Task
from ldpopt.solving.problem_form import ProblemForm

if TYPE_CHECKING:
    from ldpopt.solving.interior.events import EventPoint, EventProgram
    from ldpopt.solving.interior.path_following import PathResult

# an output is used at first if its largest entry in the relaxation is above this
MIN_USED_ENTRY = 1e-7
# An output is added if the shortfall of its shares may raise the bound by more than this share of
# it
MIN_SHORTFALL = 3e-11
# gap of the interior point that is accepted without a `Switch`; pricing usually reduces it
DEFAULT_GAP = 1e-6
# Factor of the right-hand sides of the pricing programs, because a solver's tolerances are absolute
PRICING_SCALE = 1024.0


@dataclass(frozen=True)
class EventInteriorPoint(Method):
    """Solve event-wise problems by an interior point, after row generation."""

    name: ClassVar[str] = "event interior point"
    forms: ClassVar[frozenset[str]] = frozenset({"compact"})

    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Whether delta is event-wise and the same for all pairs, without side rows."""
        if not form.is_event_wise or form.has_side_rows or form.n < 2:
            return False
        return form.ties is not None and form.ties.budget.b > 0

    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """After row generation, which switches to it."""
        return 2.0

    def because(self, form: ProblemForm, limits: Limits) -> str:
        """The reason names the size and the number of rounds from which the method is used."""
        return (
            f"used if the generated rows have more than {form.event_nonzeros(limits)} non-zeros "
            f"and do not end soon, or after {limits.event_round} rounds"
        )

    def solve(self, task: Task, start: Switch | None = None) -> RawSolution:
        """Solve from the channel of a relaxation, or from uniform reports."""
        if start is not None:
            program, channel, accepted_gap = start.program, start.channel, start.accepted_gap
        else:
            program = formulate(task.problem, "relaxation", task.deadline)
            channel = np.full(task.problem.utility.shape, 1 / task.form.m)
            accepted_gap = DEFAULT_GAP
        return _EventSolve(task, program, channel, accepted_gap).run()


class _EventSolve:
    """One run: the program over all outputs, scaled to a largest entry of 1, and the outputs in
    use.
    """

    def __init__(
        self, task: Task, program: ChannelProgram, channel: Float, accepted_gap: float
    ) -> None:
        from ldpopt.solving.interior.events import EventProgram

        problem, structure = task.problem, program.structure
        self.task, self.program, self.accepted_gap = task, program, accepted_gap
        self.sign = 1.0 if program.maximize else -1.0
        matrix = (
            self.sign * (problem.utility.matrix if problem.prior is None else structure.weighted).T
        )
        self.unit = float(np.abs(matrix).max())
        self.shape = channel.shape
        self.in_use = channel.max(axis=0) > MIN_USED_ENTRY
        usable = 0 < self.unit < inf
        matrix = np.ascontiguousarray(matrix) / (self.unit if usable else 1.0)
        slack = structure.b * structure.delta
        self.whole = EventProgram(
            matrix, matrix if problem.prior is None else None, structure.b, slack
        )
        self.refusal = "" if usable else "the utility is zero or not finite"

    def run(self) -> RawSolution:
        """Solve on the outputs in use and add outputs that may raise the value, until there are
        none.
        """
        while not self.refusal:
            if self.in_use.sum() * self.shape[0] > self.task.limits.event_entries:
                self.refusal = f"{int(self.in_use.sum())} outputs in use need too large a system"
                break
            result = self._solve_restricted()
            if result.timed_out:
                return self._without_channel(
                    Status.LIMIT, f"time limit at a gap of {result.gap:.1e}"
                )
            if result.gap > self.accepted_gap:
                self.refusal = f"a gap of {result.gap:.1e} is left"
                break
            at = result.point
            shares, shortfall = price(
                self.whole, self.whole.priced(self._prior(at)), at.sums, at.pairs
            )
            bound = abs(float(at.sums.sum())) + self.whole.slack * float(at.pairs.sum())
            added = self.shape[0] * shortfall > MIN_SHORTFALL * bound
            if not (added & ~self.in_use).any():
                return self._answer(result, shares, shortfall)
            self.in_use |= added
        return self._without_channel(Status.FAILED, self.refusal)

    def _solve_restricted(self) -> PathResult[EventPoint]:
        """Run the interior point on the outputs in use."""
        from ldpopt.solving.interior.events import interior

        gain = None if self.whole.gain is None else self.whole.gain[self.in_use]
        part = replace(self.whole, cost=self.whole.cost[self.in_use], gain=gain)
        with few_threads(prod(part.shape)):
            return interior(part, self.task.deadline)

    def _prior(self, at: EventPoint) -> Float:
        """The multipliers of the inputs in a worst case, divided by their sum."""
        return at.prior if self.whole.gain is None else at.prior / at.prior.sum()

    def _answer(
        self, result: PathResult[EventPoint], shares: Float, shortfall: Float
    ) -> RawSolution:
        """The channel over all outputs, with multipliers of row sums and of events."""
        at = result.point
        channel = np.zeros(self.shape)
        channel[:, self.in_use] = at.p.T
        # raised by the largest shortfall of an output, so that no output lacks anything
        sums = self.sign * self.unit * (at.sums + float(shortfall.max()))
        program, events = _with_events(self.program, self.task, self.unit * shares)
        duals = _duals(program, sums, self.sign * self._prior(at), self.sign * events)
        point = _point(self.task.problem, program, channel)
        reduced = program.objective - program.adjoint(duals)
        outcome = Outcome(Status.OPTIMAL, "bound and value agree", point, duals, reduced)
        return RawSolution(program, outcome, channel, 0, "event interior", result.gap)

    def _without_channel(self, status: Status, message: str) -> RawSolution:
        return RawSolution(self.program, Outcome(status, message), None, 0, "event interior")


def _with_events(
    program: ChannelProgram, task: Task, shares: Float
) -> tuple[ChannelProgram, Float]:
    """The program with the events that have multipliers as rows, and these multipliers."""
    ties, n = task.form.ties, task.form.n
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    pair, weight, member = nested_events(shares)
    if len(pair) and isinstance(ties, Ties):
        program = add_rows(
            program, ties.rows_of_events(first[pair], second[pair], member), task.problem
        )
    return program, weight


def _duals(program: ChannelProgram, sums: Float, prior: Float, events: Float) -> Float:
    """Multipliers in the program's order; the events are its last rows."""
    base = {"row_sum": sums, "worst_case": prior}
    duals = np.zeros(program.shape[0])
    for span in program.rows:
        if span.name in base:
            duals[span.slice] = base[span.name]
    duals[program.shape[0] - len(events) :] = events
    return duals


def _point(problem: Problem, program: ChannelProgram, channel: Float) -> Float:
    """The point of the compact program for a channel."""
    floor = channel.min(axis=0)
    point = np.concatenate([(channel - floor).reshape(-1), floor / program.structure.b])
    if problem.prior is None:
        by_input = (problem.utility.matrix * channel).sum(axis=1)
        point = np.append(point, by_input.min() if program.maximize else by_input.max())
    return point


def price(events: EventProgram, costs: Float, sums: Float, pairs: Float) -> tuple[Float, Float]:
    r"""Shares of the pairs' multipliers for every output, shape (m, pairs), and their shortfalls,
    shape (m,).
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    solve_one: Any = linprog
    m, n = costs.shape
    first, second = events.pairs()
    active = np.flatnonzero(pairs > 1e-14 * max(float(pairs.max(initial=0.0)), 1e-300))
    count = len(active)
    shares = np.zeros((m, len(pairs)))
    shortfall = np.zeros(m)
    entries = np.concatenate([np.full(count, -events.b), np.ones(count), -np.ones(n)])
    row = np.concatenate([first[active], second[active], np.arange(n)])
    column = np.concatenate([np.arange(count), np.arange(count), np.full(n, count)])
    left = csr_array((entries, (row, column)), shape=(n, count + 1))
    aim = np.append(np.zeros(count), 1.0)
    bounds: Any = np.column_stack(
        [np.zeros(count + 1), np.append(pairs[active] * PRICING_SCALE, np.inf)]
    )
    tight: Any = {
        "primal_feasibility_tolerance": 1e-10,
        "dual_feasibility_tolerance": 1e-10,
        "presolve": False,
    }
    for j in range(m):
        if ((right := sums - costs[j]) >= 0).all():
            continue
        answer = solve_one(
            aim,
            A_ub=left,
            b_ub=right * PRICING_SCALE,
            bounds=bounds,
            method="highs-ds",
            options=tight,
        )
        if answer.x is None:
            shortfall[j] = float(-right.min())
            continue
        shares[j, active] = np.clip(answer.x[:count] / PRICING_SCALE, 0.0, pairs[active])
        shortfall[j] = max(
            float((costs[j] - sums - events.adjoint(shares[j : j + 1])[0]).max()), 0.0
        )
    return shares, shortfall


def nested_events(shares: Float) -> tuple[Any, Float, Any]:
    """Non-negative shares, shape (m, pairs), as sums of weighted nested events: pair, weight,
    member outputs.
    """
    pair = []
    weight = []
    member = []
    for e in np.flatnonzero(shares.max(axis=0) > 0):
        levels = np.unique(np.append(shares[:, e], 0.0))
        pair += [e] * (len(levels) - 1)
        weight += list(np.diff(levels))
        member += [shares[:, e] >= level for level in levels[1:]]
    return (
        np.array(pair, np.int64),
        np.array(weight, float),
        np.array(member, bool).reshape(len(pair), len(shares)),
    )
