"""Patches: a start for large graphs, on which an input far away hardly changes the best rays (docs,
"Patches").
"""

import logging
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.threads import few_threads, in_threads
from ldpopt.native import raise_columns
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.feasibility import ERROR_SHARE, cover
from ldpopt.solving.methods.rays.generation import Generation
from ldpopt.solving.methods.rays.master import RayMaster
from ldpopt.solving.methods.rays.progress import Progress, Scale

MIN_INPUTS = 1500  # number of inputs from which patches pay
CORE = 200  # largest number of inputs of a core
MARGIN = 1.8  # nats of the margin around a core, per factor e of the gap
MAX_SHARE = 1 / 3  # largest share of all inputs in a patch
# Number of inputs up to which rounds of all inputs follow, for which a start with this gap is
# enough
WHOLE, START_GAP = 3000, 2e-2
PATCH_SHARE = 0.25  # gap of a patch, as a share of the gap of the start
FURTHER = 0.3  # factor of the gap of the start if a larger one was reached
TIME_SHARE = 0.7  # largest share of the remaining time for the patches
PROOFS = 4  # number of times that multipliers are lowered where prices are negative
# Balancing: largest number of rounds, number of columns that are changed together, power of the
# sums' reciprocals
ROUNDS, COLUMNS, POWER = 40, 64, 1.5


@dataclass(frozen=True, eq=False)
class Patch:
    """A core, and the inputs up to a margin around it."""

    core: Int
    inputs: Int


def start_from_patches(work: Progress, gap: float, deadline: Deadline) -> None:
    """Start from a channel, multipliers and trees of patches, if the ties are few and the patches
    small.
    """
    cone = work.trees.cone
    if cone.n < MIN_INPUTS or len(cone.lengths.table):
        return
    graph = csr_array((cone.loss, (cone.first, cone.second)), shape=(cone.n, cone.n))
    accuracy = max(gap, START_GAP) if cone.n <= WHOLE else gap
    while not deadline.is_over:
        patches = patches_of(graph, -MARGIN * float(np.log(accuracy)))
        if (most := max(len(patch.inputs) for patch in patches)) > MAX_SHARE * cone.n:
            return
        LOG.info("rays: %d patches of up to %d inputs", len(patches), most)
        stitch(work, patches, accuracy, deadline)
        LOG.info("rays: channel of patches, gap %.2e", work.gap)
        if work.gap <= accuracy or cone.n <= WHOLE:
            work.first_master = work.first_master if work.gap <= accuracy else None
            return
        accuracy *= FURTHER


def stitch(work: Progress, patches: list[Patch], gap: float, deadline: Deadline) -> None:
    """Solve patches, and keep the bound and the channel that they give together, if these are
    better.
    """
    stitched = _Stitched(work, np.zeros(work.trees.cone.n), np.zeros(work.costs.shape[::-1]))
    until = deadline.share(TIME_SHARE)
    with few_threads(CORE):
        in_threads(lambda patch: stitched.solve(patch, PATCH_SHARE * gap, until), patches)
    stitched.prove(deadline)
    stitched.balance(ERROR_SHARE * gap, deadline)
    if (value := float(np.einsum("yx,xy->", work.costs, stitched.channel))) < work.value:
        work.value, work.stitched = value, stitched.channel
    if work.trees.cone.n <= WHOLE and stitched.rays:
        work.first_master = stitched.master()
        work.share = 0.0  # the master's multipliers are priced first


def patches_of(graph: csr_array, margin: float) -> list[Patch]:
    """Cores of nearly equal size, each with a margin of so many nats."""
    patches = []
    for core in _halves(graph, np.arange(graph.shape[0])):
        reached = dijkstra(graph, indices=core, min_only=True, limit=margin)
        patches.append(Patch(core, np.flatnonzero(np.isfinite(reached))))
    return patches


def _halves(graph: csr_array, inputs: Int) -> list[Int]:
    """Divide inputs into halves, the ones nearer to either of two far inputs, until they are small
    enough.
    """
    if len(inputs) <= CORE:
        return [inputs]
    inner = graph[inputs][:, inputs]
    losses = []
    end = 0
    for _ in range(3):
        # other parts of the inputs are far
        losses.append(np.minimum(dijkstra(inner, indices=[end])[0], 1e300))
        end = int(losses[-1].argmax())
    order = np.argsort(losses[1] - losses[2], kind="stable")
    half = len(order) // 2
    return [
        core
        for part in (order[:half], order[half:])
        for core in _halves(graph, np.sort(inputs[part]))
    ]


@dataclass(frozen=True, eq=False)
class _Stitched:
    """Multipliers, (n,), and a channel, (n, m), of all patches so far; the trees are those of the
    whole problem.
    """

    work: Progress
    sums: Float
    channel: Float
    # inputs of a patch, and rays of its core's outputs
    rays: list[tuple[Int, RayMaster]] = field(default_factory=list)

    @property
    def cone(self) -> Cone:
        """The cone of all inputs."""
        return self.work.trees.cone

    def solve(self, patch: Patch, gap: float, deadline: Deadline) -> None:
        """Solve the problem of a patch; keep multipliers, columns and trees of its core."""
        work, cone, inputs = self.work, self.cone, patch.inputs
        place = np.full(cone.n, -1)
        place[inputs] = np.arange(len(inputs))
        first = place[cone.first]
        second = place[cone.second]
        kept = (first >= 0) & (second >= 0)
        if not len(outputs := np.flatnonzero(place[work.roots] >= 0)):
            return
        costs = work.costs[np.ix_(outputs, inputs)]
        unit = float(costs.max()) or 1.0
        part = Progress(
            Cone(len(inputs), first[kept], second[kept], cone.loss[kept]),
            costs / unit,
            place[work.roots[outputs]],
            Scale(0.0, unit, work.scale.floor / work.scale.unit * len(inputs) / cone.n),
            deadline,
        )
        result = Generation(part, logging.DEBUG).run_within(gap, deadline)
        self.sums[patch.core] = unit * part.center[place[patch.core]]
        is_core = np.zeros(cone.n, bool)
        is_core[patch.core] = True
        of_core = np.flatnonzero(is_core[work.roots[outputs]])
        self.channel[np.ix_(inputs, outputs[of_core])] = result.channel[:, of_core]
        if cone.n <= WHOLE and part.incumbent is not None:
            master = part.incumbent
            master = replace(master, output=outputs[master.output])
            self.rays.append((inputs, master.restricted(is_core[work.roots[master.output]])))

    def master(self) -> RayMaster:
        """A master that starts from the channel, whose many rays keep its multipliers central."""
        output = np.concatenate([master.output for _, master in self.rays])
        rays = np.zeros((self.cone.n, len(output)))
        begin = 0
        for inputs, master in self.rays:
            part = np.arange(begin, begin + len(master.output))
            rays[np.ix_(inputs, part)] = master.rays
            begin += len(part)
        for part in np.array_split(np.arange(len(output)), 1 + len(output) // COLUMNS):
            rays[:, part] = self._raised(rays[:, part])
        cost = np.einsum("kx,xk->k", self.work.costs[output], rays)
        start = RayMaster.of_columns(self.channel, self.work.costs).restarted(self.work.center)
        return start.extended(rays, cost, output, self.work.center)

    def prove(self, deadline: Deadline) -> None:
        """Lower the multipliers until prices are not negative; the best ones become center and
        proof.
        """
        work, sums = self.work, self.sums
        for _ in range(PROOFS):
            if deadline.is_over:
                return
            work.trees.improve(work.costs, sums, deadline)
            prices = work.trees.prices(work.costs, sums)
            before = work.bound
            if work.keep_proof(sums, prices) > before:
                work.center, work.center_value = sums + prices.share, work.bound
            if not (prices.least < 0).any():
                return
            sums = sums - cover(work.trees, np.maximum(-prices.least, 0.0), work.weights)

    def balance(self, error: float, deadline: Deadline) -> None:
        """Change the columns until all rows sum to 1: rows are scaled, and columns raised into the
        cone, in turns.
        """
        channel = self.channel
        used = np.flatnonzero(self.channel.any(axis=0))
        parts = np.array_split(used, max(1, len(used) // COLUMNS))
        factor = np.ones(len(channel))
        for _ in range(ROUNDS):
            in_threads(partial(self._raise, factor), parts)
            total = channel.sum(axis=1)
            if deadline.is_over or np.abs(1 - total).max() <= error:
                break
            factor = total**-POWER
        self._fill()

    def _raise(self, factor: Float, outputs: Int) -> None:
        """Scale the rows of some columns, and raise these into the cone."""
        self.channel[:, outputs] = self._raised(self.channel[:, outputs] * factor[:, None])

    def _raised(self, columns: Float) -> Float:
        """The smallest column of the cone above each of some columns."""
        raised = np.array(columns, order="C")
        raise_columns(raised, *self._ties, 0.0, 0)
        return raised

    @cached_property
    def _ties(self) -> tuple[Int, NDArray[np.int32], Float]:
        """The ties of every input, as `raise_columns` needs them."""
        lengths = self.cone.lengths
        return lengths.start, lengths.neighbor, np.exp(-lengths.loss)

    def _fill(self) -> None:
        """Make all rows sum to 1 by one more column of the cone, for the best constant report."""
        cone, channel = self.cone, self.channel
        total = channel.sum(axis=1)
        missing = total.max() - total
        ratio = np.exp(-cone.loss)
        need = (ratio * missing[cone.first] - missing[cone.second]) / (1 - ratio)
        channel[:, int(self.work.costs.sum(axis=1).argmin())] += missing + max(
            float(need.max()), 0.0
        )
        channel /= total.max() + max(float(need.max()), 0.0)
