"""Column generation over rays: the master's multipliers price every output, whose best ray is added
(docs, "Rays").
"""

import logging
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.threads import few_threads
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.feasibility import balanced, cover
from ldpopt.solving.methods.rays.master import Master, cheapest
from ldpopt.solving.methods.rays.trees import Prices, TreeMultipliers, Trees
from ldpopt.solving.methods.rays.views import Views

MAX_ROUNDS = 1000  # largest number of rounds; 5 to 60 are usual
# share of the gap, or of the bound, that is given up for a proof with fewer multipliers
UNPROVED_SHARE = 0.05
STALLED_ROUNDS = 12  # rounds in which neither value nor bound improve before stopping
# Such rounds before an infeasible master is started anew; its last point usually is the better
# start
STALLED_MASTER = 2
# Share of the center in the multipliers that are priced: at first, when others than the initial
# ones are, and at most
INITIAL_SHARE, LATER_SHARE, MAX_SHARE = 0.5, 0.8, 0.95
# How much the share falls if the bound rises towards the master's multipliers, and grows otherwise
DECREASE, INCREASE = 0.1, 0.3
MIN_SHARE = 0.04  # share below which it becomes 0 if no output has a new ray
# rounds after which other multipliers are priced, even if the initial ones have proved nothing
MAX_START_ROUNDS = 5
# gap of the master, as a share of the gap of the rays; and its largest value
MASTER_GAP, MAX_MASTER_GAP = 0.1, 0.3
MASTER_SHRINK = 0.3  # factor of the master's gap if no output has a new ray
SLOW_GAP = 1e-2  # gap below which slow rays are continued, because they will soon close it
# Shares of the initial multipliers that are proved if time is over before all outputs were priced
LOWER_SHARES = (0.7, 0.55, 0.45, 0.35, 0.25, 0.15)
PROOFS = 3  # number of attempts to prove a bound at multipliers that were lowered by a covering
# number of inputs from which outputs are priced by views, if all inputs are tied as in a metric
VIEW_INPUTS = 150


@dataclass(frozen=True)
class Scale:
    """How costs were normalized, and the reference of relative gaps: a true cost is ``offset + unit
    * cost``.
    """

    offset: float
    unit: float  # 0 if all reports have the same value
    floor: float  # smallest true cost to which a gap is relative

    def relative_gap(self, distance: float, bound: float) -> float:
        """Relative gap between a normalized bound and a value that exceeds it by this distance."""
        return (
            self.unit
            * max(distance, 0.0)
            / max(abs(self.offset + self.unit * bound), self.floor, 1e-300)
        )

    @property
    def least_cost(self) -> float:
        """Smallest normalized cost to which a gap is relative; an estimate, because the bound is
        not known.
        """
        return max(self.floor, abs(self.offset)) / self.unit if self.unit else 1.0


def is_closed(found: float, gap: float) -> bool:
    """Whether a relative gap is at most ``gap`` even after the proof has given up its share of the
    bound.
    """
    return (1 + UNPROVED_SHARE) * found <= (1 - UNPROVED_SHARE * found) * gap


@dataclass(frozen=True, eq=False)
class RaysResult:
    """The best channel found, and the multipliers that prove its gap, for costs to be minimized."""

    channel: Float  # (n, m), not repaired
    sums: Float  # (n,): multipliers of the row sums
    pairs: TreeMultipliers
    gap: float  # relative, in floats
    rounds: int
    ending: str  # why it ended: "gap", "stalled", "slow" or "time"


class Generation:
    """Column generation in rounds, for ``costs`` (m, n) from 0 to 1 and the inputs ``roots`` (m,)
    with the entry 1.
    """

    def __init__(
        self, cone: Cone, costs: Float, roots: Int, scale: Scale, deadline: Deadline = NO_LIMIT
    ) -> None:
        self.costs, self.roots, self.scale = costs, roots, scale
        self.trees = Trees(cone, roots, deadline)
        self.value = float(costs.sum(axis=1).min())
        self.bound = 0.0
        self.center_value = 0.0
        # the best multipliers so far, with the bound center_value, perhaps not proved
        self.center = np.zeros(cone.n)
        self.proof: tuple[Float, Trees] | None = None  # multipliers and trees that prove the bound
        self.incumbent: Master | None = None  # the master with the best channel so far
        # (n, m): a channel of patches, which is the best as long as no master is
        self.stitched: Float | None = None
        self.first_master: Master | None = None  # a master of the rays of patches
        self.uses_covering = False
        self.weights = costs.mean(axis=0) + 1e-300  # of the inputs, in coverings
        self.views: Views | None = None
        if cone.n >= VIEW_INPUTS and cone.is_metric:
            self.views = Views(self.trees, costs.mean(axis=0))
        # of the center in the prices; 1 as long as the initial multipliers are priced
        self.share = INITIAL_SHARE
        self.master_gap = MASTER_GAP
        self.rounds = self.stalled = 0
        self.log_level = logging.INFO  # of each round
        self.initial_rays = np.empty((0, cone.n))

    def start_from(self, rays: Float, sums: Float) -> None:
        """Start from some rays, (k, n), and multipliers, (n,)."""
        self.initial_rays = rays / rays.max(axis=1, keepdims=True)
        self.center, self.share = sums, 1.0

    def extend(self, columns: Float, gap: float, deadline: Deadline, *, rough: float = 0.0) -> None:
        """Make a channel from columns of the cone, (n, k), whose sums are about 1, and prove a
        bound at the center.

        Prices are proved as for the expected gap, or as for ``rough`` times this one if that is
        larger.
        """
        assert self.views is not None
        self.uses_covering = True
        channel = Master.of_columns(
            balanced(columns, self.trees.cone.lengths.table, gap, deadline), self.costs
        )
        if channel.value < self.value:
            self.value, self.incumbent = channel.value, channel
        self.views.expect_covering(self.weights)
        distance = max(self.value - float(self.center.sum()), rough * gap * self.value)
        self.views.improve(self.costs, self.center, distance, deadline)
        prices = self.trees.prices(self.costs, self.center)
        self._prove(self.center + self._shift(prices), deadline, gap)
        if not self.bound > 0:
            self._prove_less()
        if self.proof is not None:
            self.center, self.center_value, self.share = self.proof[0], self.bound, LATER_SHARE

    def _prove_less(self) -> None:
        """Prove a bound at lower multipliers without pivots, because time was over before all
        outputs were priced.
        """
        trees, self.trees = self.trees, self.trees.copy()
        for share in LOWER_SHARES:
            sums = share * self.center
            self.trees.reset_to_stars(self.costs, sums)
            self.keep_proof(sums, self.trees.prices(self.costs, sums))
        self.trees = trees

    @property
    def gap(self) -> float:
        """Relative gap so far."""
        return self.scale.relative_gap(self.value - self.bound, self.bound)

    def run(self, gap: float, deadline: Deadline = NO_LIMIT, max_pivots: float = inf) -> RaysResult:
        """Do rounds until the gap is reached, nothing improves, time is over, or rays are slow
        after these pivots.
        """
        with few_threads(len(self.center)):
            return self.run_within(gap, deadline, max_pivots)

    def run_within(
        self, gap: float, deadline: Deadline = NO_LIMIT, max_pivots: float = inf
    ) -> RaysResult:
        """The same, where BLAS has few threads already."""
        if self.has_gap(gap):
            return self.result("gap")
        # even a first master would take time and memory
        is_late = self.has_channel and deadline.is_over
        return self.result("time" if is_late else self._run(gap, deadline, max_pivots))

    @property
    def has_channel(self) -> bool:
        """Whether there is a channel, from rounds or from a start."""
        return self.stitched is not None or self.incumbent is not None

    def has_gap(self, gap: float) -> bool:
        """Whether there is a channel with this gap."""
        return self.has_channel and is_closed(self.gap, gap)

    def _run(self, gap: float, deadline: Deadline, max_pivots: float) -> str:
        """Do rounds from the first master on; return why they ended."""
        master = self._first_master()
        ending = ""
        while not ending and not deadline.is_over:
            master = self._round(master, gap, deadline)
            self.rounds += 1
            LOG.log(
                self.log_level,
                "rays, round %d: %d pivots, gap %.2e",
                self.rounds,
                self.trees.pivots,
                self.gap,
            )
            ending = self._ending(gap, max_pivots)
        return ending or "time"

    def _ending(self, gap: float, max_pivots: float) -> str:
        """Why the rounds end now, as in `RaysResult.ending`; empty if they go on."""
        if is_closed(self.gap, gap):
            return "gap"
        if self.stalled >= STALLED_ROUNDS or self.rounds >= MAX_ROUNDS:
            return "stalled"
        return "slow" if self.trees.pivots > max_pivots and self.gap > SLOW_GAP else ""

    def _round(self, master: Master, gap: float, deadline: Deadline) -> Master:
        """Solve the master, price all outputs, and add their rays."""
        before = self.value, self.bound
        master = self._solved(
            master, max(min(self.master_gap * self.gap, MAX_MASTER_GAP), 0.1 * gap), deadline
        )
        if master.is_feasible and master.value < self.value:
            self.value, self.incumbent = master.value, master
        sums = master.at.sums
        priced = (1 - self.share) * sums + self.share * self.center
        found, is_exact = self._best_rays(priced, deadline)
        prices = self.trees.prices(self.costs, priced)
        shift = self._shift(prices)
        new, cost, rays = self._new_rays(sums, found)
        rises = is_exact and self._bound_rises(prices, sums)
        self._update_bound(priced, prices, shift, deadline, is_exact=is_exact)
        self._adapt(rises, bool(len(new)))
        self.stalled = 0 if len(new) or (self.value, self.bound) != before else self.stalled + 1
        return master.extended(rays.T, cost, new, self.center) if len(new) else master

    def _best_rays(self, priced: Float, deadline: Deadline) -> tuple[Float, bool]:
        """Improve all trees for these multipliers; return the rays, and whether they are nearly the
        best.
        """
        if self.views is not None:
            self.views.improve(self.costs, priced, max(self.value - self.bound, 0.0), deadline)
            return self.views.rays(), not deadline.is_over
        is_best = self.trees.improve(self.costs, priced, deadline)
        return self.trees.rays(np.arange(len(self.roots))), bool(is_best.all())

    def _new_rays(self, sums: Float, rays: Float) -> tuple[Int, Float, Float]:
        """Outputs, costs and entries of the rays with negative prices at the master's
        multipliers.
        """
        # All outputs have the same cone, so each ray is added for the output with the smallest
        # cost: often another one than the output whose tree it is, because few outputs are used if
        # the prior is uneven.
        rays /= rays.max(axis=1, keepdims=True)  # the root's entry may be very small
        output, cost = cheapest(self.costs, rays)
        chosen = cost - rays @ sums < -1e-13 * rays.sum(axis=1)
        return output[chosen], cost[chosen], rays[chosen]

    def _solved(self, master: Master, gap: float, deadline: Deadline) -> Master:
        """Solve the master; start anew if its last point leads to no feasible one."""
        floor = self.scale.least_cost
        found = master.solved(gap, floor, deadline)
        if found.is_feasible or deadline.is_over or self.stalled < STALLED_MASTER:
            return found
        return Master.start(found.rays, found.cost, found.output).solved(gap, floor, deadline)

    def _shift(self, prices: Prices, outputs: Any = slice(None)) -> Float:
        """A change of the multipliers, (n,), that makes negative prices of some outputs about 0."""
        if not self.uses_covering:
            return np.full(len(self.center), min(0.0, float((prices.least / prices.total).min())))
        need = np.zeros(len(self.roots))
        need[outputs] = np.maximum(-prices.least[outputs], 0.0)
        return -cover(self.trees, need, self.weights)

    def _update_bound(
        self, priced: Float, prices: Prices, shift: Float, deadline: Deadline, *, is_exact: bool
    ) -> None:
        """Update bound and center from the prices at ``priced``; the center only if they are nearly
        exact.
        """
        bound = self.keep_proof(priced, prices)
        shifted = float((priced + shift).sum()) if is_exact else -inf
        if shifted > max(bound, self.bound):
            self._prove(priced + shift, deadline)
        if max(bound, shifted) > self.center_value:
            self.center_value = max(bound, shifted)
            self.center = priced + (prices.share if bound >= shifted else shift)

    def keep_proof(self, sums: Float, prices: Prices) -> float:
        """The bound that the prices of all outputs at ``sums`` prove; keep its proof if it is the
        best so far.
        """
        if (bound := float((sums + prices.share).sum())) > self.bound:
            self.bound, self.proof = bound, (sums, self.trees.copy())
        return bound

    def _prove(self, sums: Float, deadline: Deadline, gap: float = 0.0) -> None:
        """Prove a bound at multipliers with few negative prices, by the same trees, which are
        improved if necessary.

        The trees are not improved if this relative gap can be reached without.
        """
        for _ in range(PROOFS):
            prices = self.trees.prices(self.costs, sums)
            self.keep_proof(sums, prices)
            wrong = np.flatnonzero(prices.least < 0)
            if self.views is None or not self.uses_covering or not len(wrong) or deadline.is_over:
                break
            wrong = self._prove_by_hanging(sums, wrong)
            if not len(wrong) or self.has_gap(gap):
                break
            self.views.improve(self.costs, sums, max(self.value - self.bound, 0.0), deadline, wrong)
            sums = sums + self._shift(self.trees.prices(self.costs, sums), wrong)

    def _prove_by_hanging(self, sums: Float, wrong: Int) -> Int:
        """Prove a bound by trees of which parts hang from the roots; return outputs whose prices
        stay negative.
        """
        trees, self.trees, left = self.trees, self.trees.copy(), []
        for _ in range(PROOFS):
            self.trees.hang_from_roots(self.costs, sums, wrong)
            prices = self.trees.prices(self.costs, sums)
            self.keep_proof(sums, prices)
            wrong = np.flatnonzero(prices.least < 0)
            left.append(wrong)
            if not len(wrong):
                break
            sums = sums + self._shift(prices, wrong)
        self.trees = trees  # whose rays are in the cone, as pivots require
        return left[0]

    def _adapt(self, rises: bool, has_new: bool) -> None:
        """Choose the share of the center in the next prices, and the accuracy of the next
        master.
        """
        # Wentges 1997; the choice by a supergradient is that of Pessoa et al. 2018.
        self.master_gap = MASTER_GAP if has_new else self.master_gap * MASTER_SHRINK
        if not has_new:
            self.share = self.share / 2 if self.share > MIN_SHARE else 0.0
        elif self.share < 1 and rises:
            self.share = max(0.0, self.share - DECREASE)
        elif self.share < 1:
            self.share = min(MAX_SHARE, self.share + INCREASE * (1 - self.share))
        elif (
            self.center_value > 0 or self.rounds > MAX_START_ROUNDS
        ):  # the initial multipliers have proved something
            self.share = LATER_SHARE

    def _bound_rises(self, prices: Prices, sums: Float) -> bool:
        """Whether the bound rises towards ``sums``: its supergradient is 1 less the rays in use,
        one per root.
        """
        order = np.argsort(-prices.least, kind="stable")
        used = np.full(len(self.center), -1)
        used[self.roots[order]] = order
        used = used[used >= 0]
        used, step = used[prices.least[used] < 0], sums - self.center
        return bool(step.sum() - (self.trees.rays(used) @ step).sum() > 0)

    def _first_master(self) -> Master:
        """A master of kernel columns and the initial rays; from the best channel on, if there is
        one.
        """
        if self.first_master is not None:
            return self.first_master
        rays = np.concatenate([self._kernel_columns(), self.initial_rays])
        if self.incumbent is None:
            return Master.of_rays(rays, self.costs)
        output, cost = cheapest(self.costs, rays)
        return self.incumbent.restarted(self.center).extended(rays.T, cost, output, self.center)

    def _kernel_columns(self) -> Float:
        """Kernel columns and those of the exponential mechanism, as rows; without views before the
        first pivot only.
        """
        if self.views is None:
            kernels = self.trees.rays(np.arange(len(self.roots)))
        else:
            kernels = np.exp(-self.views.table[self.roots])
            # the table has no loss of an input to itself
            kernels[np.arange(len(self.roots)), self.roots] = 1.0
        half = np.sqrt(kernels)
        # private, as entries and sums each change by exp(loss / 2) at most
        columns = half / half.sum(axis=0)
        return np.concatenate([kernels, columns])

    def result(self, ending: str) -> RaysResult:
        """The best channel so far, and the multipliers of the best bound."""
        m, n = self.costs.shape
        if self.incumbent is None and self.stitched is not None:
            channel = self.stitched
        elif self.incumbent is None:
            channel = np.zeros((n, m))
            channel[:, int(self.costs.sum(axis=1).argmin())] = 1.0
        else:
            channel = self.incumbent.channel(m)
        if self.proof is None:
            none = np.zeros(0, np.int64)
            sums = np.zeros(n)
            pairs = TreeMultipliers(self.trees.cone, none, none, none, np.zeros(0))
        else:
            sums, trees = self.proof
            spare = UNPROVED_SHARE * min(self.value - self.bound, self.bound)
            pairs = trees.multipliers(self.costs, sums, spare / n)
        return RaysResult(channel, sums, pairs, self.gap, self.rounds, ending)
