"""The method for graphs and metrics of a hundred to thousands of inputs: rays, generated as they are needed."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ldpopt.auditing.exact_matrices import ULPS
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, require_memory
from ldpopt.foundation.rows import Int, RowBlock
from ldpopt.foundation.threads import cores
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Outcome, Status
from ldpopt.solving.channel_program import ChannelProgram
from ldpopt.solving.formulation import add_rows, row_sums
from ldpopt.solving.limits import Limits
from ldpopt.solving.methods.loops import Loops
from ldpopt.solving.methods.method import Method, RawSolution, Switch, Task, small_task
from ldpopt.solving.problem_form import ProblemForm

if TYPE_CHECKING:
    from ldpopt.solving.methods.rays.scale import Scale
    from ldpopt.solving.methods.rays.trees import TreeMultipliers

GAP = 1e-9
"""Relative gap at which to stop; default."""

ACCEPTED_GAP = 1e-7
"""Gap that counts as the optimum where it does not shrink any more."""

STAKE_SHARE = 100
"""The gap is relative to at least the stake divided by this, as in a certificate."""

MAX_LOSS = 600.0
"""Largest privacy loss between two inputs; beyond it ratios of a ray's entries overflow."""

ENTRY_SECONDS, PAIR_SECONDS = 2e-6, 2e-9
"""Seconds that pass after the last round: for each entry (its row), and each entry of each pair (repair, audit); the
latter are shared by two cores, if there are two."""

ENTRY_BYTES = 500.0
"""Memory for each entry of the channel, that of the certificate included (measured with a grid of 900 places)."""

SEEN_SECONDS, MAX_SLOWNESS = 0.2, 4.0
"""From which time on the slowness of a busy machine is measured, and how much of it is believed."""

ENDINGS = {
    "gap": "the gap is reached",
    "stalled": "the gap does not shrink any more",
    "slow": "slow",
    "time": "time limit",
}


@dataclass(frozen=True)
class Rays(Method):
    """Write columns as sums of rays of their cone, and compute the best ray of every output."""

    name: ClassVar[str] = "rays"
    forms: ClassVar[frozenset[str]] = frozenset({"pairwise"})
    loops: ClassVar[Loops] = Loops(name, lambda: Rays().solve(small_task()))

    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Mutual ties that connect all inputs, an expected value, no side rows, no delta."""
        is_plain = form.is_expected and not form.has_side_rows and form.n > 1
        return is_plain and form.is_connected and form.losses[0] > 0 and form.losses[1] < MAX_LOSS

    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """First for a large channel."""
        return 0.0 if form.entries >= limits.rays_entries else inf

    def because(self, form: ProblemForm, limits: Limits) -> str:
        """State the size."""
        return (
            f"neighbors are tied output by output, and with {form.entries} entries "
            f"(from {limits.rays_entries} on) few rays of the columns' cones are used; "
            f"about {ENTRY_BYTES * form.entries / 2**30:.2g} GiB of memory with the certificate"
        )

    def solve(self, task: Task, start: Switch | None = None) -> RawSolution:
        """Generate rays; the answer is always a private channel with its gap, whatever ended the rounds."""
        from ldpopt.solving.methods.rays.coarse import prepared
        from ldpopt.solving.methods.rays.cone import Cone

        if task.form.ties is None:
            raise NotRepresentableError("rays need ties")
        require_memory(ENTRY_BYTES * task.form.entries, f"rays of {task.form.n} inputs and {task.form.m} outputs")
        began = time.perf_counter(), time.process_time()
        cone = Cone.of(task.form.ties)
        costs, least, scale = _normalized(task.problem)
        roots = _roots(task.problem.utility.gain)
        work = prepared(cone, costs, roots, scale, task.deadline, client=task.executor)
        if not work.trees.depth < MAX_LOSS:
            raise NotRepresentableError(f"a privacy loss of more than {MAX_LOSS:g} nats between two inputs")
        patience = task.limits.rays_pivots * len(cone.first) if task.form.fits_graph_interior(task.limits) else inf
        gap = GAP if task.gap is None else task.gap
        slowness = _slowness(time.perf_counter() - began[0], time.process_time() - began[1])
        found = work.run(gap, _before_repair(task.deadline, task.form, slowness), patience)
        sign = 1.0 if task.problem.utility.sense == "gain" else -1.0
        program = _with_pairs(task.problem, found.pairs)
        duals = sign * np.concatenate([-(scale.unit * found.sums + least), scale.unit * found.pairs.value])
        is_settled = found.ended == "gap" or found.gap <= ACCEPTED_GAP
        status = Status.OPTIMAL if is_settled else Status.LIMIT if found.ended == "time" else Status.FAILED
        message = f"{found.rounds} rounds, gap {found.gap:.1e}, {ENDINGS[found.ended]}"
        reduced = program.objective - program.adjoint(duals)
        outcome = Outcome(status, message, found.channel.reshape(-1), duals, reduced)
        is_spread = work.views is not None and work.views.cluster is not None
        raw = RawSolution(program, outcome, found.channel, found.rounds, self.name, found.gap)
        return replace(raw, used_executor=is_spread)


def _before_repair(deadline: Deadline, form: ProblemForm, slowness: float) -> Deadline:
    """An earlier deadline, which leaves time for writing the rows, repair and audit."""
    ties = form.ties
    is_graph = ties is None or ties.distance is None or bool((ties.distance == 1).all())
    pairs = form.n**2 if not is_graph or ties is None or ties.first is None else len(ties.first)
    shared = PAIR_SECONDS * pairs * form.m / min(cores(), 2)
    earlier = deadline.before(slowness * (ENTRY_SECONDS * form.entries + shared))
    earlier.check("leaving time for repair and audit")
    return earlier


def _slowness(seconds: float, processor_seconds: float) -> float:
    """How many times the seconds of the processor a busy machine takes; 1 where there is too little to see."""
    return 1.0 if seconds < SEEN_SECONDS else min(max(seconds / processor_seconds, 1.0), MAX_SLOWNESS)


def _normalized(problem: Problem) -> tuple[Float, Float, Scale]:
    """Costs of the entries by output, from 0 to 1; the least cost of every input; and how they were scaled."""
    from ldpopt.solving.methods.rays.scale import Scale

    assert problem.prior is not None
    costs = -(problem.prior[:, None] * problem.utility.gain).T
    least = costs.min(axis=0)
    costs = np.ascontiguousarray(costs - least)
    unit, stake = float(costs.max()), float(costs.max(axis=0).sum())
    if unit == 0:  # every report is worth the same, so any channel is the best: the first report is made the cheapest
        costs[1:] = 1.0
    return costs / (unit or 1.0), least, Scale(float(least.sum()), unit, stake / STAKE_SHARE)


def _roots(gain: Float) -> Int:
    """For every output the input to which it is worth most, compared with the best output of that input."""
    return np.asarray((gain - gain.max(axis=1, keepdims=True)).argmax(axis=0))


def _with_pairs(problem: Problem, pairs: TreeMultipliers) -> ChannelProgram:
    """The program with the privacy rows that have multipliers; the other rows do not count at the optimum."""
    ratio = np.exp(-pairs.loss) * (1 - (4 + pairs.loss) * ULPS)
    block = RowBlock.of_pairs("privacy", pairs.first, pairs.second, pairs.y, ratio)
    return add_rows(row_sums(problem), block, problem)
