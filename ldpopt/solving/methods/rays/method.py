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
from ldpopt.privacy import Ties
from ldpopt.problem.problem import Problem
from ldpopt.solvers import Outcome, Status
from ldpopt.solving.formulation import row_sums
from ldpopt.solving.limits import Limits
from ldpopt.solving.methods.method import Method, RawSolution, Switch, Task, pair_answer
from ldpopt.solving.problem_form import ProblemForm

if TYPE_CHECKING:
    from ldpopt.solving.methods.rays.progress import Progress, RaysResult, Scale

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
class RaysMethod(Method):
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
            f"about {memory_bytes(form) / 2**30:.2g} GiB of memory with the certificate"
        )

    def solve(self, task: Task, start: Switch | None = None) -> RawSolution:
        """Generate rays; the answer always has a private channel and its gap."""
        if task.form.ties is None:
            message = (
                f"rays need inputs that are tied in pairs, and {task.problem.privacy!r} ties none"
            )
            raise NotRepresentableError(message, code="no-ties", do='use solver="highs"')
        require_memory(
            memory_bytes(task.form), f"rays of {task.form.n} inputs and {task.form.m} outputs"
        )
        began = time.perf_counter(), time.process_time()
        costs, least, scale = normalized(task.problem)
        work = _started(task, task.form.ties, costs, scale)
        until = _before_repair(task.deadline, task.form, _slowness(*began))
        result = _generated(task, work, until)
        used_executor = work.views is not None and work.views.cluster is not None
        del work, costs  # large arrays
        return replace(_answer(task, result, least, scale), used_executor=used_executor)


def _started(task: Task, ties: Ties, costs: Float, scale: Scale) -> Progress:
    """A progress that starts from a coarse problem and from patches, where these help."""
    from ldpopt.solving.methods.rays.coarse import start_from_coarse
    from ldpopt.solving.methods.rays.cone import Cone
    from ldpopt.solving.methods.rays.patches import start_from_patches
    from ldpopt.solving.methods.rays.progress import Progress

    cone = Cone.of(ties, task.problem.definition)
    gain = task.problem.utility.gain
    # For every output, the input with the largest gain from it, compared with that input's best
    # output.
    roots = (gain - gain.max(axis=1, keepdims=True)).argmax(axis=0)
    del gain
    work = Progress(cone, costs, roots, scale, task.deadline)
    if not work.trees.depth < MAX_LOSS:
        message = (
            f"two inputs have a privacy loss of {work.trees.depth:.6g} nats; rays resolve "
            f"up to {MAX_LOSS:g}"
        )
        raise NotRepresentableError(message, code="loss", do='use solver="highs"')
    until = _before_repair(task.deadline, task.form, 1.0, START_SHARE)
    start_from_coarse(work, _goal(task), until, task.executor)
    start_from_patches(work, _goal(task), task.deadline)
    return work


def _generated(task: Task, work: Progress, until: Deadline) -> RaysResult:
    """The result of rounds of all inputs; of the start alone if they need more memory than there
    is, which is refused if the start has no channel.
    """
    from ldpopt.solving.methods.rays.generation import Generation

    form = task.form
    has_successor = form.fits_graph_interior(task.limits)
    max_pivots = task.limits.rays_pivots * work.trees.cone.pairs if has_successor else inf
    if not work.has_channel:
        until.check("leaving time for repair and audit")
    needed = ENTRY_BYTES * form.entries if form.n > WHOLE and not work.has_gap(_goal(task)) else 0.0
    if not work.has_channel:
        require_memory(needed, f"rounds of {form.n} inputs and {form.m} outputs")
    if needed > MEMORY_SHARE * memory():
        return work.result("memory")
    return Generation(work).run(_goal(task), until, max_pivots)


def _answer(task: Task, result: RaysResult, least: Float, scale: Scale) -> RawSolution:
    """The answer of a result: its costs are brought back to the utility's, and a channel that is
    small enough gets its privacy rows.
    """
    is_optimal = result.ending == "gap" or result.gap <= ACCEPTED_GAP
    status = (
        Status.OPTIMAL
        if is_optimal
        else Status.LIMIT
        if result.ending in ("time", "memory")
        else Status.FAILED
    )
    message = f"{result.rounds} rounds, gap {result.gap:.1e}, {ENDINGS[result.ending]}"
    outcome = Outcome(status, message)
    sums = -(scale.unit * result.sums + least)
    if task.form.entries > UNLISTED:
        return _unlisted_answer(task.problem, result, sums, scale.unit, outcome)
    pairs, loss = result.pairs, result.pairs.loss
    # Ratios are rounded down by more than the error of an exponential.
    ratios = np.exp(-loss) * (1 - (4 + loss) * ULPS)
    return pair_answer(
        task.problem,
        result.channel,
        (pairs.first, pairs.second, pairs.output, ratios),
        np.concatenate([sums, scale.unit * pairs.value]),
        outcome,
        rounds=result.rounds,
        solver=RaysMethod.name,
        gap=result.gap,
    )


def _unlisted_answer(
    problem: Problem, result: RaysResult, sums: Float, unit: float, outcome: Outcome
) -> RawSolution:
    """An answer whose program has row sums only: privacy rows and reduced costs are not written
    out.
    """
    pairs = result.pairs
    rows: Any = np.arange(len(pairs.value), dtype=np.int32)
    pairs.value[:] *= unit  # in place, as there are many
    listed = PairRows(pairs.first, pairs.second, rows, pairs.output, pairs.value)
    duals = sums if problem.utility.sense == "gain" else -sums
    outcome = replace(outcome, point=result.channel.reshape(-1), row_duals=duals)
    program = row_sums(problem)
    multipliers = Multipliers("pairwise", None, None, listed, ())
    raw = RawSolution(program, outcome, result.channel, result.rounds, RaysMethod.name, result.gap)
    return replace(raw, multipliers=multipliers)


def memory_bytes(form: ProblemForm) -> float:
    """Memory for a problem, about."""
    return (START_BYTES if form.n > WHOLE else ENTRY_BYTES) * form.entries


def _goal(task: Task) -> float:
    """Relative gap at which to stop."""
    return GAP if task.gap is None else task.gap


def _slowness(began: float, processor_began: float) -> float:
    """Elapsed seconds per second of processor time, on a busy machine; 1 if the time is too short
    to measure.
    """
    seconds = time.perf_counter() - began
    processor_seconds = time.process_time() - processor_began
    if seconds < MIN_MEASURED:
        return 1.0
    return min(max(seconds / processor_seconds, 1.0), MAX_SLOWNESS)


def _before_repair(
    deadline: Deadline, form: ProblemForm, slowness: float, used: float = 1.0
) -> Deadline:
    """An earlier deadline, which leaves time for the rows, the repair and the audit.

    ``slowness`` is how many times slower than measured this machine is; ``used`` is the share of
    the outputs that the channel uses.
    """
    ties = form.ties
    # the repair treats all pairs unless the ties are those of a graph
    pairs = (
        form.n**2
        if ties is None or ties.distance_range != (1.0, 1.0) or ties.is_compact
        else ties.number
    )
    shared = PAIR_SECONDS * pairs * used * form.m / min(cores(), 2)
    entries = form.entries if form.entries <= UNLISTED else used * form.entries
    return deadline.before(slowness * (ENTRY_SECONDS * entries + shared))


def normalized(problem: Problem) -> tuple[Float, Float, Scale]:
    """Costs of the entries by output, from 0 to 1; the smallest cost of every input; and how costs
    were scaled.
    """
    from ldpopt.solving.methods.rays.progress import Scale

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
