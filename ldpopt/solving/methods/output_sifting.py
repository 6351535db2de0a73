"""Output sifting: solve on a few outputs, price all of them, add those that help, repeat (docs,
"Output sifting").
"""

from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.compact import OutputSums
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.incidence import common_ones
from ldpopt.foundation.numbers import Float, Int
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility
from ldpopt.solvers import Feature, Outcome, Solver, Status
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.formulation import formulate
from ldpopt.solving.interior.pricing import best_bound, project_to_private
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

GAP = 1e-11  # relative gap at which to stop
# factor of ``sifting_entries`` with an entry-wise delta: simplex is as fast for 48 inputs
DELTA_FACTOR = 1.6
INITIAL_GAP = 3e-2  # gap to which the first restricted program is solved
# the next restricted program is solved to this share of the current gap, if outputs were added
GAP_SHRINK_ADDED = 0.3
# the restricted program is solved again, to this share of its gap, if no output helps
GAP_SHRINK_STALLED = 1e-2
# relative gap over all outputs that is accepted as optimal after the last round
ACCEPTED_GAP = 1e-9
# outputs whose probability is at most this for every input are left out if that costs nothing
MAX_UNUSED_ENTRY = 1e-6
# largest number of steps of the solve without those outputs; one or two are usual
MAX_STEPS_WITHOUT_UNUSED = 40
INITIAL_OUTPUTS = 24  # number of outputs of the first restricted program
# an output is added only if its reduced cost is at least this share of the largest one
MIN_GAIN_SHARE = 0.1
# two outputs are not added in one round if they serve more than this share of the same inputs
MAX_OVERLAP = 0.9
# A round may add more outputs than are in use, until its outputs serve each input this often on
# average
MIN_COVER = 2.0
MIN_COMPARED = 1000  # smallest number of outputs that are compared for overlap
# initial guesses of the multipliers: these quantiles of each input's costs
QUANTILES = (1.0, 0.9, 0.75, 0.5)


@dataclass(frozen=True)
class OutputSifting(Method):
    """Solve compact programs on few outputs, by any solver; rounds are only as accurate as needed
    if it has a gap.
    """

    solver: str | Solver = "interior"

    name: ClassVar[str] = "output sifting"
    forms: ClassVar[frozenset[str]] = frozenset({"sifted"})

    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Whether the compact program is plain, and has an interior that floats resolve."""
        return (
            form.is_plain_compact
            and form.ties is not None
            and form.ties.budget.beta > limits.least_beta
        )

    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """First for a large utility; with an entry-wise delta, which needs all outputs at once, for
        a larger one.
        """
        return 0.0 if form.entries >= _least_entries(form, limits) else inf

    def because(self, form: ProblemForm, limits: Limits) -> str:
        """The reason names the size of the channel."""
        has_delta = form.ties is not None and form.ties.delta
        outputs = (
            "all outputs are solved at once"
            if has_delta
            else f"an optimum uses few of the {form.m} outputs"
        )
        size = f"{form.entries} entries (from {_least_entries(form, limits):.0f} on)"
        return f"{outputs}, and with {size} this is faster than simplex on all of them"

    def solve(self, task: Task, start: Switch | None = None) -> RawSolution:
        """Solve by sifting."""
        if not self.suits(task.form, task.limits):
            name = 'solver="interior"' if self.solver == "interior" else 'form="sifted"'
            problem = (
                f"{task.problem.privacy!r} with this objective and these constraints cannot be "
                f"solved by {name}"
            )
            do = (
                "use a pure or entry-wise budget, an expected value and no side constraints; or "
                'solver="highs"'
            )
            raise NotRepresentableError(problem, code="sifted-problem", do=do)
        return _Sifting(task, self.solver).run()


def _least_entries(form: ProblemForm, limits: Limits) -> float:
    """Entries from which sifting beats simplex."""
    return limits.sifting_entries * (
        DELTA_FACTOR if form.ties is not None and form.ties.delta else 1
    )


class SiftingProblem:
    """The program over all outputs, with its costs, shape (n, m), to be maximized, and the numbers
    of the budget.
    """

    def __init__(self, problem: Problem) -> None:
        ties = problem.ties()
        assert problem.prior is not None
        assert ties is not None
        self.problem = problem
        self.sign = 1.0 if problem.utility.sense == "gain" else -1.0
        self.costs = (self.sign * problem.prior)[:, None] * problem.utility.matrix
        self.b, self.beta, self.delta = ties.budget.b, ties.budget.beta, ties.delta

    def program(self, chosen: Int) -> ChannelProgram:
        """The program with these outputs only."""
        problem = self.problem
        matrix = problem.utility.matrix[:, chosen]
        names = [problem.outputs[y] for y in chosen]
        utility = Utility(matrix, problem.utility.sense)
        return formulate(
            Problem(problem.prior, utility, problem.privacy, inputs=problem.inputs, outputs=names),
            "compact",
        )

    def gains(self, duals: Float) -> Float:
        """How much each output could add to the bound: its reduced cost, at least 0."""
        return np.asarray(
            np.maximum(OutputSums.of(self.costs, duals).gains(self.b, self.beta), 0.0)
        )

    def initial_outputs(self) -> Int:
        """The outputs with the largest gains at a few guesses of the multipliers, and the best
        constant report.
        """
        # With an entry-wise slack all outputs are chosen, because each one lets some input use its
        # slack.
        if self.delta:
            return np.arange(self.costs.shape[1])
        outputs = {int(np.argmax(self.costs.sum(axis=0)))}
        for share in QUANTILES:
            level = (
                self.costs.max(axis=1) if share == 1.0 else np.quantile(self.costs, share, axis=1)
            )
            outputs.update(
                np.argsort(-self.gains(level))[: INITIAL_OUTPUTS // len(QUANTILES)].tolist()
            )
        return np.array(sorted(outputs))

    def helpful(self, duals: Float, chosen: Int) -> Int:
        """Outputs to add: those with the largest gains, no two of which serve nearly the same
        inputs.
        """
        gains = self.gains(duals)
        gains[chosen] = 0.0
        if len(candidates := np.flatnonzero(gains)) <= max(INITIAL_OUTPUTS, len(chosen) // 2):
            return candidates
        order = np.argsort(-gains)[: np.count_nonzero(gains > MIN_GAIN_SHARE * gains.max())]
        return order[
            self._dissimilar(
                self.costs[:, order] > duals[:, None], max(INITIAL_OUTPUTS, len(chosen))
            )
        ]

    def _dissimilar(self, served_by: NDArray[np.bool_], most: int) -> list[int]:
        """Positions of outputs to take, best first, no two of which serve nearly the same
        inputs.
        """
        n = len(served_by)
        size = served_by.sum(axis=0)
        count = max(8 * most, MIN_COMPARED, int(np.searchsorted(size.cumsum(), 2 * MIN_COVER * n)))
        served, size = served_by[:, :count].T.astype(np.float32), size[:count]
        common = common_ones(served, served)
        taken: list[int] = []
        free = np.ones(len(size), bool)
        cover = 0.0
        for k in np.arange(len(size)):
            if free[k] and (len(taken) < most or cover < MIN_COVER * n):
                taken.append(int(k))
                cover += size[k]
                free &= common[k] <= MAX_OVERLAP * np.minimum(size, size[k])
        return taken

    def gap(self, duals: Float, part: Float, chosen: Int) -> float:
        """Relative gap between the bound over all outputs and the value of a channel on the chosen
        ones.
        """
        bound = best_bound(self.costs, duals, self.b, self.beta, self.delta)
        value = float((self.costs[:, chosen] * part).sum())
        least_scale = float((self.costs.max(axis=1) - self.costs.min(axis=1)).sum()) / 100
        return (bound - value) / max(abs(bound), least_scale, 1e-300)


@dataclass(frozen=True)
class _Round:
    """The answer of one restricted program: its private channel, its multipliers, and its gap over
    all outputs.
    """

    outcome: Outcome
    channel_part: Float
    duals: Float
    gap: float


class _Sifting:
    """One run: the outputs in use, the accuracy of the next round, and the last round."""

    def __init__(self, task: Task, solver: str | Solver) -> None:
        self.task = task
        self.solver = solver_named(solver)
        self.whole = SiftingProblem(task.problem)
        self.has_gap = {Feature.GAP, Feature.OTHER_OUTPUTS} <= self.solver.features
        self.final_gap = GAP if task.gap is None else task.gap
        costs = self.whole.costs
        all_at_once = (
            self.has_gap and costs.size * self.whole.b ** (1 / 3) <= task.limits.whole_entries
        )
        self.chosen = np.arange(costs.shape[1]) if all_at_once else self.whole.initial_outputs()
        self.round_gap = self.final_gap / 2 if all_at_once else INITIAL_GAP
        self.rounds = 0
        self.warm_start: dict[str, Any] = {}
        self.best: tuple[_Round, RawSolution] | None = None
        self.program = self.whole.program(self.chosen)

    def run(self) -> RawSolution:
        """Add outputs and accuracy until the gap over all outputs is small enough."""
        for solves in range(self.task.limits.sifting_rounds + 1):
            if isinstance(now := self._solve_restricted(), Outcome):
                return self._unfinished(now)
            added = self.whole.helpful(now.duals, self.chosen)
            LOG.info(
                "output sifting, program %d: %d outputs, gap %.2e",
                solves + 1,
                len(self.chosen),
                now.gap,
            )
            is_accurate = not self.has_gap or self.round_gap <= self.final_gap / 2
            is_last = solves == self.task.limits.sifting_rounds
            if (
                now.gap <= self.final_gap
                or (is_accurate and not len(added))
                or (is_last and now.gap <= ACCEPTED_GAP)
            ):
                return self._answer(
                    now.outcome,
                    self._drop_unused_outputs(now) if self.has_gap else now.channel_part,
                )
            self.best = now, self._answer(now.outcome, now.channel_part)
            self._set_up_next_round(now, added)
        assert self.best is not None
        message = (
            f"a gap of {self.best[0].gap:.1e} after {self.task.limits.sifting_rounds + 1} programs"
        )
        return self._unfinished(Outcome(Status.LIMIT, message))

    def _solve_restricted(self) -> _Round | Outcome:
        """Solve the restricted program; without an optimum, return the solver's outcome."""
        goal = {"gap": self.round_gap} | self.warm_start if self.has_gap else {}
        outcome = self.solver.solve(
            self.program, time_limit=self.task.deadline.left, **(self.task.options | goal)
        )
        if (point := optimal_point(outcome)) is None or outcome.row_duals is None:
            return outcome
        channel_part = project_to_private(
            self.program.structure.channel(point), self.whole.b, self.whole.delta
        )
        duals = self.whole.sign * outcome.row_duals[: len(self.whole.costs)]
        return _Round(
            outcome, channel_part, duals, self.whole.gap(duals, channel_part, self.chosen)
        )

    def _set_up_next_round(self, now: _Round, added: Any) -> None:
        """Add outputs, or increase the accuracy if no output helps."""
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
        """The answer with the channel over all outputs."""
        channel = np.zeros(self.whole.costs.shape)
        channel[:, self.chosen] = channel_part
        return RawSolution(self.program, outcome, channel, self.rounds, self.solver.name)

    def _unfinished(self, outcome: Outcome) -> RawSolution:
        """The last round's private channel and multipliers, with the status that ended the run."""
        if self.best is None or outcome.status is not Status.LIMIT:
            return RawSolution(self.program, outcome, None, self.rounds, self.solver.name)
        last = self.best[1]
        return replace(
            last, outcome=replace(last.outcome, status=Status.LIMIT, raw_status=outcome.raw_status)
        )

    def _drop_unused_outputs(self, now: _Round) -> Float:
        """Solve once more with the used outputs only, and return the result if it costs nothing."""
        channel_part = now.channel_part
        full = self.whole
        is_used = now.channel_part.max(axis=0) > MAX_UNUSED_ENTRY
        if is_used.all():
            return channel_part
        program = full.program(self.chosen[is_used])
        start = {"warm_start": now.outcome.warm_start, "kept": np.flatnonzero(is_used)}
        left = self.task.deadline.left
        outcome = self.solver.solve(
            program, time_limit=left, gap=GAP / 10, steps=MAX_STEPS_WITHOUT_UNUSED, **start
        )
        if (point := optimal_point(outcome)) is None:
            return channel_part
        reduced = np.zeros_like(channel_part)
        reduced[:, is_used] = project_to_private(
            program.structure.channel(point), full.b, full.delta
        )
        return (
            reduced
            if full.gap(now.duals, reduced, self.chosen) <= max(2 * now.gap, GAP)
            else channel_part
        )
