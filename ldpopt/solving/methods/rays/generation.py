"""Column generation over rays: the master's multipliers price every output, whose best ray is added
(docs, "Rays").
"""

import logging
from math import inf

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.threads import few_threads
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.rays.master import RayMaster, cheapest
from ldpopt.solving.methods.rays.progress import Progress, RaysResult, is_closed
from ldpopt.solving.methods.rays.proving import prove, shift
from ldpopt.solving.methods.rays.trees import Prices

MAX_ROUNDS = 1000  # largest number of rounds; 5 to 60 are usual
STALLED_ROUNDS = 12  # rounds in which neither value nor bound improve before stopping
# Such rounds before an infeasible master is started anew; its last point usually is the better
# start
STALLED_MASTER = 2
# Share of the center in the multipliers that are priced: when others than the initial ones are, and
# at most
LATER_SHARE, MAX_SHARE = 0.8, 0.95
# How much the share falls if the bound rises towards the master's multipliers, and grows otherwise
DECREASE, INCREASE = 0.1, 0.3
MIN_SHARE = 0.04  # share below which it becomes 0 if no output has a new ray
# rounds after which other multipliers are priced, even if the initial ones have proved nothing
MAX_START_ROUNDS = 5
# gap of the master, as a share of the gap of the rays; and its largest value
MASTER_GAP, MAX_MASTER_GAP = 0.1, 0.3
MASTER_SHRINK = 0.3  # factor of the master's gap if no output has a new ray
SLOW_GAP = 1e-2  # gap below which slow rays are continued, because they will soon close it


class Generation:
    """The rounds of column generation, which improve a `Progress`: solve the master, price all
    outputs at multipliers between its own and the center, add their rays.
    """

    def __init__(self, work: Progress, log_level: int = logging.INFO) -> None:
        self.work = work
        self.log_level = log_level  # of each round
        self.master_gap = MASTER_GAP
        self.stalled = 0  # rounds since the last one with a new ray, a better value or bound

    def run(self, gap: float, deadline: Deadline = NO_LIMIT, max_pivots: float = inf) -> RaysResult:
        """Do rounds until the gap is reached, nothing improves, time is over, or rays are slow
        after these pivots.
        """
        with few_threads(len(self.work.center)):
            return self.run_within(gap, deadline, max_pivots)

    def run_within(
        self, gap: float, deadline: Deadline = NO_LIMIT, max_pivots: float = inf
    ) -> RaysResult:
        """The same, where BLAS has few threads already."""
        work = self.work
        if work.has_gap(gap):
            return work.result("gap")
        # even a first master would take time and memory
        is_late = work.has_channel and deadline.is_over
        return work.result("time" if is_late else self._run(gap, deadline, max_pivots))

    def _run(self, gap: float, deadline: Deadline, max_pivots: float) -> str:
        """Do rounds from the first master on; return why they ended."""
        work = self.work
        master = self.first_master()
        ending = ""
        while not ending and not deadline.is_over:
            master = self.next_master(master, gap, deadline)
            work.rounds += 1
            LOG.log(
                self.log_level,
                "rays, round %d: %d pivots, gap %.2e",
                work.rounds,
                work.trees.pivots,
                work.gap,
            )
            ending = self._ending(gap, max_pivots)
        return ending or "time"

    def _ending(self, gap: float, max_pivots: float) -> str:
        """Why the rounds end now, as in `RaysResult.ending`; empty if they go on."""
        work = self.work
        if is_closed(work.gap, gap):
            return "gap"
        if self.stalled >= STALLED_ROUNDS or work.rounds >= MAX_ROUNDS:
            return "stalled"
        return "slow" if work.trees.pivots > max_pivots and work.gap > SLOW_GAP else ""

    def next_master(self, master: RayMaster, gap: float, deadline: Deadline) -> RayMaster:
        """Solve the master, price all outputs, and add their rays."""
        work = self.work
        before = work.value, work.bound
        master = self._solved(
            master, max(min(self.master_gap * work.gap, MAX_MASTER_GAP), 0.1 * gap), deadline
        )
        if master.is_feasible and master.value < work.value:
            work.value, work.incumbent = master.value, master
        sums = master.at.sums
        priced = (1 - work.share) * sums + work.share * work.center
        best_rays, is_exact = self._best_rays(priced, deadline)
        prices = work.trees.prices(work.costs, priced)
        change = shift(work, prices)
        new, cost, rays = self._new_rays(sums, best_rays)
        rises = is_exact and self._bound_rises(prices, sums)
        self._update_bound(priced, prices, change, deadline, is_exact=is_exact)
        self._adapt(rises, bool(len(new)))
        self.stalled = 0 if len(new) or (work.value, work.bound) != before else self.stalled + 1
        return master.extended(rays.T, cost, new, work.center) if len(new) else master

    def _best_rays(self, priced: Float, deadline: Deadline) -> tuple[Float, bool]:
        """Improve all trees for these multipliers; return the rays, and whether they are nearly the
        best.
        """
        work = self.work
        if work.views is not None:
            work.views.improve(work.costs, priced, max(work.value - work.bound, 0.0), deadline)
            return work.views.rays(), not deadline.is_over
        is_best = work.trees.improve(work.costs, priced, deadline)
        return work.trees.rays(np.arange(len(work.roots))), bool(is_best.all())

    def _new_rays(self, sums: Float, rays: Float) -> tuple[Int, Float, Float]:
        """Outputs, costs and entries of the rays with negative prices at the master's
        multipliers.
        """
        # All outputs have the same cone, so each ray is added for the output with the smallest
        # cost: often another one than the output whose tree it is, because few outputs are used if
        # the prior is uneven.
        rays /= rays.max(axis=1, keepdims=True)  # the root's entry may be very small
        output, cost = cheapest(self.work.costs, rays)
        chosen = cost - rays @ sums < -1e-13 * rays.sum(axis=1)
        return output[chosen], cost[chosen], rays[chosen]

    def _solved(self, master: RayMaster, gap: float, deadline: Deadline) -> RayMaster:
        """Solve the master; start anew if its last point leads to no feasible one."""
        floor = self.work.scale.least_cost
        solved = master.solved(gap, floor, deadline)
        if solved.is_feasible or deadline.is_over or self.stalled < STALLED_MASTER:
            return solved
        return RayMaster.start(solved.rays, solved.cost, solved.output).solved(gap, floor, deadline)

    def _update_bound(
        self, priced: Float, prices: Prices, change: Float, deadline: Deadline, *, is_exact: bool
    ) -> None:
        """Update bound and center from the prices at ``priced``; the center only if they are nearly
        exact.
        """
        work = self.work
        bound = work.keep_proof(priced, prices)
        shifted = float((priced + change).sum()) if is_exact else -inf
        if shifted > max(bound, work.bound):
            prove(work, priced + change, deadline)
        if max(bound, shifted) > work.center_value:
            work.center_value = max(bound, shifted)
            work.center = priced + (prices.share if bound >= shifted else change)

    def _adapt(self, rises: bool, has_new: bool) -> None:
        """Choose the share of the center in the next prices, and the accuracy of the next
        master.
        """
        work = self.work
        # Wentges 1997; the choice by a supergradient is that of Pessoa et al. 2018.
        self.master_gap = MASTER_GAP if has_new else self.master_gap * MASTER_SHRINK
        if not has_new:
            work.share = work.share / 2 if work.share > MIN_SHARE else 0.0
        elif work.share < 1 and rises:
            work.share = max(0.0, work.share - DECREASE)
        elif work.share < 1:
            work.share = min(MAX_SHARE, work.share + INCREASE * (1 - work.share))
        elif work.center_value > 0 or work.rounds > MAX_START_ROUNDS:
            # The initial multipliers have proved something, or are given up.
            work.share = LATER_SHARE

    def _bound_rises(self, prices: Prices, sums: Float) -> bool:
        """Whether the bound rises towards ``sums``: its supergradient is 1 less the rays in use,
        one per root.
        """
        work = self.work
        order = np.argsort(-prices.least, kind="stable")
        used = np.full(len(work.center), -1)
        used[work.roots[order]] = order
        used = used[used >= 0]
        used, step = used[prices.least[used] < 0], sums - work.center
        return bool(step.sum() - (work.trees.rays(used) @ step).sum() > 0)

    def first_master(self) -> RayMaster:
        """A master of kernel columns and the initial rays; from the best channel on, if there is
        one.
        """
        work = self.work
        if work.first_master is not None:
            return work.first_master
        rays = np.concatenate([self._kernel_columns(), work.initial_rays])
        if work.incumbent is None:
            return RayMaster.of_rays(rays, work.costs)
        output, cost = cheapest(work.costs, rays)
        return work.incumbent.restarted(work.center).extended(rays.T, cost, output, work.center)

    def _kernel_columns(self) -> Float:
        """Kernel columns and those of the exponential mechanism, as rows; without views before the
        first pivot only.
        """
        work = self.work
        if work.views is None:
            kernels = work.trees.rays(np.arange(len(work.roots)))
        else:
            kernels = np.exp(-work.views.table[work.roots])
            # the table has no loss of an input to itself
            kernels[np.arange(len(work.roots)), work.roots] = 1.0
        half = np.sqrt(kernels)
        # private, as entries and sums each change by exp(loss / 2) at most
        columns = half / half.sum(axis=0)
        return np.concatenate([kernels, columns])
