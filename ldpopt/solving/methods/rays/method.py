"""The method for graphs and metrics on a hundred to thousands of inputs: extreme rays, generated as
needed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ldpopt.auditing.exact_matrices import ULPS
from ldpopt.certificate.program_bound import Multipliers, PairRows
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import MEMORY_SHARE, Float, memory, require_memory
from ldpopt.foundation.threads import cores
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Outcome, Status
from ldpopt.solving.formulation import row_sums
from ldpopt.solving.limits import Limits
from ldpopt.solving.methods.method import Method, RawSolution, Switch, Task, pair_answer
from ldpopt.solving.problem_form import ProblemForm

if TYPE_CHECKING:
    from ldpopt.solving.methods.rays.generation import RaysResult, Scale

GAP = 1e-9  # relative gap at which to stop, by default
ACCEPTED_GAP = 1e-7  # relative gap accepted as optimal if it does not shrink any more
# factor of ``rays_entries`` for losses that are not distances: their rays take more pivots
TABLE_FACTOR = 5 / 3
# the gap is relative to at least the range of values divided by this, as in a certificate
STAKE_SHARE = 100
# largest privacy loss between two inputs; beyond it ratios of a ray's entries overflow
MAX_LOSS = 600.0
# Seconds after the last round: per entry (rows), and per pair and output (repair, audit; on two
# cores half of it)
ENTRY_SECONDS, PAIR_SECONDS = 2e-6, 2e-9
# Memory per entry of the channel, including the certificate (measured with a grid of 900 inputs);
# without rounds of all inputs (124 measured with a city of 10 000)
ENTRY_BYTES, START_BYTES = 500.0, 128.0
WHOLE = 3000  # number of inputs beyond which patches or an extended channel are expected to suffice
# number of entries above which the program of an answer has no privacy rows, which take most memory
UNLISTED = 9e6
START_SHARE = 0.15  # share of the outputs that an extended channel uses, about
# Seconds from which the slowness of a busy machine is measured, and its largest value
MIN_MEASURED, MAX_SLOWNESS = 0.2, 4.0
# Reasons to stop, in words
ENDINGS = {"gap": "the gap is reached", "stalled": "the gap does not shrink any more"}
ENDINGS |= {"slow": "slow", "time": "time limit", "memory": "rounds of all inputs need more memory"}


@dataclass(frozen=True)
class Rays(Method):
    """Write columns as sums of rays of the cone of private columns, and compute the best ray of
    every output.
    """

    name: ClassVar[str] = "rays"
    forms: ClassVar[frozenset[str]] = frozenset({"pairwise"})

    def suits(self, form: ProblemForm, limits: Limits) -> bool:
        """Whether mutual ties connect all inputs, for an expected value without side rows and
        without delta.
        """
        is_plain = form.is_expected and not form.has_side_rows and form.n > 1
        return is_plain and form.is_connected and form.losses[0] > 0 and form.losses[1] < MAX_LOSS

    def rank(self, form: ProblemForm, limits: Limits) -> float:
        """First for a large channel; for losses that are not distances, a larger one."""
        is_large = form.entries >= TABLE_FACTOR * limits.rays_entries
        return (
            0.0
            if is_large or (form.entries >= limits.rays_entries and form.has_distances_as_losses)
            else inf
        )

    def because(self, form: ProblemForm, limits: Limits) -> str:
        """The reason names the size of the channel, from which losses it is large, and the
        memory.
        """
        is_large = form.entries >= (least := TABLE_FACTOR * limits.rays_entries)
        size = (
            f"from {least:.0f} on"
            if is_large
            else f"from {limits.rays_entries} on if losses are distances"
        )
        return (
            f"the constraints tie neighbors output by output, and with {form.entries} entries "
            f"({size}) few extreme rays of the cone of private columns are used; "
            f"about {_bytes(form) / 2**30:.2g} GiB of memory with the certificate"
        )

    def solve(self, task: Task, start: Switch | None = None) -> RawSolution:
        """Generate rays; the answer always has a private channel and its gap."""
        from ldpopt.solving.methods.rays.coarse import start_from_coarse
        from ldpopt.solving.methods.rays.cone import Cone
        from ldpopt.solving.methods.rays.generation import Generation
        from ldpopt.solving.methods.rays.patches import start_from_patches

        if task.form.ties is None:
            what = (
                f"rays need inputs that are tied in pairs, and {task.problem.privacy!r} ties none"
            )
            raise NotRepresentableError(what, do='use solver="highs"')
        require_memory(_bytes(task.form), f"rays of {task.form.n} inputs and {task.form.m} outputs")
        began = time.perf_counter(), time.process_time()
        cone = Cone.of(task.form.ties, task.problem.definition)
        costs, least, scale = _normalized(task.problem)
        gain = task.problem.utility.gain
        # For every output, the input with the largest gain from it, compared with that input's best
        # output.
        roots = (gain - gain.max(axis=1, keepdims=True)).argmax(axis=0)
        del gain
        gap = GAP if task.gap is None else task.gap
        work = Generation(cone, costs, roots, scale, task.deadline)
        if not work.trees.depth < MAX_LOSS:
            what = (
                f"two inputs have a privacy loss of {work.trees.depth:.6g} nats; rays resolve "
                f"up to {MAX_LOSS:g}"
            )
            raise NotRepresentableError(what, do='use solver="highs"')
        start_from_coarse(
            work, gap, _before_repair(task.deadline, task.form, 1.0, START_SHARE), task.executor
        )
        start_from_patches(work, gap, task.deadline)
        has_successor = task.form.fits_graph_interior(task.limits)
        max_pivots = task.limits.rays_pivots * cone.pairs if has_successor else inf
        seconds = time.perf_counter() - began[0]
        processor_seconds = time.process_time() - began[1]
        # Elapsed seconds per second of processor time, on a busy machine; 1 if the time is too
        # short to measure.
        slowness = (
            1.0
            if seconds < MIN_MEASURED
            else min(max(seconds / processor_seconds, 1.0), MAX_SLOWNESS)
        )
        until = _before_repair(task.deadline, task.form, slowness)
        if not work.has_channel:
            until.check("leaving time for repair and audit")
        needed = (
            ENTRY_BYTES * task.form.entries
            if task.form.n > WHOLE and not work.has_gap(gap)
            else 0.0
        )
        if not work.has_channel:
            require_memory(needed, f"rounds of {task.form.n} inputs and {task.form.m} outputs")
        is_small = needed <= MEMORY_SHARE * memory()
        found = work.run(gap, until, max_pivots) if is_small else work.result("memory")
        is_optimal = found.ending == "gap" or found.gap <= ACCEPTED_GAP
        status = (
            Status.OPTIMAL
            if is_optimal
            else Status.LIMIT
            if found.ending in ("time", "memory")
            else Status.FAILED
        )
        message = f"{found.rounds} rounds, gap {found.gap:.1e}, {ENDINGS[found.ending]}"
        used_executor = work.views is not None and work.views.cluster is not None
        del work, costs  # large arrays
        sums = -(scale.unit * found.sums + least)
        if task.form.entries > UNLISTED:
            raw = _unlisted_answer(task.problem, found, sums, scale.unit, Outcome(status, message))
            return replace(raw, used_executor=used_executor)
        pairs, loss = found.pairs, found.pairs.loss
        raw = pair_answer(
            task.problem,
            found.channel,
            (pairs.first, pairs.second, pairs.output, np.exp(-loss) * (1 - (4 + loss) * ULPS)),
            np.concatenate([sums, scale.unit * pairs.value]),
            status,
            message,
            rounds=found.rounds,
            solver=self.name,
            gap=found.gap,
        )
        return replace(raw, used_executor=used_executor)


def _unlisted_answer(
    problem: Problem, found: RaysResult, sums: Float, unit: float, outcome: Outcome
) -> RawSolution:
    """An answer whose program has row sums only: privacy rows and reduced costs are not written
    out.
    """
    pairs = found.pairs
    rows: Any = np.arange(len(pairs.value), dtype=np.int32)
    pairs.value[:] *= unit  # in place, as there are many
    listed = PairRows(pairs.first, pairs.second, rows, pairs.output, pairs.value)
    duals = sums if problem.utility.sense == "gain" else -sums
    outcome = replace(outcome, point=found.channel.reshape(-1), row_duals=duals)
    program = row_sums(problem)
    multipliers = Multipliers("pairwise", None, None, listed, ())
    raw = RawSolution(program, outcome, found.channel, found.rounds, Rays.name, found.gap)
    return replace(raw, multipliers=multipliers)


def _bytes(form: ProblemForm) -> float:
    """Memory for a problem, about."""
    return (START_BYTES if form.n > WHOLE else ENTRY_BYTES) * form.entries


def _before_repair(
    deadline: Deadline, form: ProblemForm, slowness: float, used: float = 1.0
) -> Deadline:
    """An earlier deadline, which leaves time for the rows, the repair and the audit, with this
    share of the outputs.
    """
    ties = form.ties
    pairs = (
        form.n**2
        if ties is None or ties.distance_range != (1.0, 1.0) or ties.is_compact
        else ties.number
    )
    shared = PAIR_SECONDS * pairs * used * form.m / min(cores(), 2)
    entries = form.entries if form.entries <= UNLISTED else used * form.entries
    return deadline.before(slowness * (ENTRY_SECONDS * entries + shared))


def _normalized(problem: Problem) -> tuple[Float, Float, Scale]:
    """Costs of the entries by output, from 0 to 1; the smallest cost of every input; and how costs
    were scaled.
    """
    from ldpopt.solving.methods.rays.generation import Scale

    assert problem.prior is not None
    costs = np.array(problem.utility.gain.T, order="C")
    costs *= -problem.prior
    least = costs.min(axis=0)
    costs -= least
    unit = float(costs.max())
    stake = float(costs.max(axis=0).sum())
    # all channels have the same value; the first report is made the cheapest, so that one is chosen
    if unit == 0:
        costs[1:] = 1.0
    costs /= unit or 1.0
    return costs, least, Scale(float(least.sum()), unit, stake / STAKE_SHARE)
