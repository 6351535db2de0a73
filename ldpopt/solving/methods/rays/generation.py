r"""Column generation over rays: the master's multipliers price every output, whose best ray joins the master.

With multipliers ``y`` of the row sums and ``v_j`` the least price of an output's rays, whose entry at the root is 1,

.. math:: \sum_x \Big( y_x + \min\big(0, \min_{j:\, root(j) = x} v_j\big) \Big)

is at most the cost of every private channel, in each round. Theory: docs, "Rays".
"""

from __future__ import annotations

import time
from math import inf

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.foundation.threads import few_threads
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.rays import views
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.covering import cover
from ldpopt.solving.methods.rays.groups import Groups
from ldpopt.solving.methods.rays.master import Master, cheapest
from ldpopt.solving.methods.rays.result import RaysResult
from ldpopt.solving.methods.rays.scale import Scale
from ldpopt.solving.methods.rays.smoothing import Smoothing
from ldpopt.solving.methods.rays.trees import Prices, TreeMultipliers, Trees
from ldpopt.solving.methods.rays.views import Views

ROUNDS = 1000
"""Largest number of rounds; 5 to 60 are usual."""

SPARED = 0.05
"""Share of the gap, or of the bound, that is given up for a proof with fewer multipliers."""

STALLED_ROUNDS = 12
"""Rounds in which neither value nor bound improve before stopping."""

STALLED_MASTER = 2
"""Such rounds before a master that is not feasible is begun anew; its last point is mostly the better start."""

WIDE = 12.0
"""Mean sum of a kernel column from which it is wide; its best rays are then far from it, and take many pivots."""

SAMPLE = 1000
"""Number of kernel columns, about, of which it is the mean."""

MAX_START_ROUNDS = 5
"""Rounds after which other multipliers are priced even if those to begin with proved nothing."""

MASTER_GAP, MAX_MASTER_GAP = 0.1, 0.3
"""Gap of the master, as a share of the gap of the rays; and its largest value."""

MASTER_SHRINK = 0.3
"""Factor of the master's gap when no output has a new ray."""

SLOW_GAP = 1e-2
"""Gap that rays soon close, so that no other method need take over."""

ROUGH_GAP, ROUGH_PIVOTS = 0.1, 2
"""While the gap is larger than this, wide rays are priced by so many pivots for each input, which may prove little."""

PROOFS = 3
"""Number of times that a bound is tried to be proved at multipliers that a covering has lowered."""

LEAST_LEFT = 0.02
"""Share of the value that the gap is expected to be at least, before there is a bound."""

VIEWED = 150
"""Number of inputs from which outputs are priced by views, where all inputs are tied as in a metric."""


class Generation:
    """The state of the rounds.

    Parameters
    ----------
    cone : Cone
        The ties.
    costs : float array, shape (m, n)
        Cost of every entry of the channel: not negative, the largest is 1.
    roots : int array, shape (m,)
        Input of each output whose entry is 1 in its rays.
    scale : Scale
        What gaps are relative to.
    """

    def __init__(self, cone: Cone, costs: Float, roots: Int, scale: Scale, deadline: Deadline = NO_LIMIT) -> None:
        self.costs, self.roots, self.scale = costs, roots, scale
        self.trees = Trees(cone, roots, deadline)
        self.value, self.bound, self.center_value = float(costs.sum(axis=1).min()), 0.0, 0.0
        self.center = np.zeros(cone.n)
        self.proof: tuple[Float, Trees] | None = None
        self.incumbent: Master | None = None
        self.groups: Groups | None = None
        self.covers = False
        self.outputs, self.expected = np.arange(len(roots)), 0.0
        self.relaxed: Master | None = None
        self.relaxed_value = inf
        self.share = costs.mean(axis=0) + 1e-300
        some = np.arange(0, len(roots), 1 + len(roots) // SAMPLE)
        self.is_wide = float(self.trees.rays(some).sum(axis=1).mean()) > WIDE
        self.views: Views | None = None
        if cone.n >= VIEWED and cone.is_metric:
            views.LOOPS.wait(deadline)
            self.views = Views(self.trees, costs.mean(axis=0))
        self.smoothing = Smoothing.start(is_wide=self.is_wide, has_views=self.views is not None)
        self.master_gap = MASTER_GAP
        self.rounds = self.stalled = 0
        self.price_seconds = 0.0
        self.known = np.empty((0, cone.n))

    def begin_at(self, rays: Float, sums: Float, parents: Int, sides: Int) -> None:
        """Begin with some rays, multipliers that may be good, and for each output the best of some trees.

        Shapes: ``rays`` (k, n), ``sums`` (n,), ``parents``, ``sides`` (t, n).
        """
        known = rays / rays.max(axis=1, keepdims=True)
        self.known, self.center, self.smoothing.share = np.concatenate([self._kernel_columns(), known]), sums, 1.0
        self.trees.adopt(self.costs - sums, parents, sides)

    @property
    def gap(self) -> float:
        """Relative gap so far; with groups that of their relaxation."""
        bound = self.bound if self.prices_all else self.center_value
        return self.scale.share(self.reached - bound, bound)

    @property
    def prices_all(self) -> bool:
        """Whether all outputs are priced; if not, nothing is proved."""
        return len(self.outputs) == len(self.roots)

    @property
    def reached(self) -> float:
        """Least value so far; with groups that of their relaxation."""
        return self.value if self.groups is None else min(self.value, self.relaxed_value)

    def run(self, gap: float, deadline: Deadline = NO_LIMIT, patience: float = inf) -> RaysResult:
        """Do rounds until the gap is reached, nothing improves, or time is over."""
        with few_threads(len(self.center)):
            ended = self._all_rounds(gap, deadline, patience)
        return self._result(ended)

    def outline(self, gap: float, deadline: Deadline = NO_LIMIT) -> Master | None:
        """Do rounds, as far as they give good multipliers, and return the best master; nothing need be proved."""
        self.run(gap, deadline)
        return self.incumbent

    def _all_rounds(self, gap: float, deadline: Deadline, patience: float) -> str:
        """Do rounds from the first master on; returns why they ended."""
        return self._rounds(self._first_master(), gap, deadline, patience)

    def _rounds(self, master: Master, gap: float, deadline: Deadline, patience: float) -> str:
        """Do rounds from this master on; returns why they ended."""
        ended = ""
        while not ended and not deadline.is_over:
            master = self._round(master, gap, deadline)
            self.rounds += 1
            LOG.info("rays, round %d: %d pivots, gap %.2e", self.rounds, self.trees.pivots, self.gap)
            ended = self._ending(gap, patience)
        return ended or "time"

    def _ending(self, gap: float, patience: float) -> str:
        """Why to stop now; empty to go on."""
        if (1 + SPARED) * self.gap <= gap:
            return "gap"
        if self.stalled >= STALLED_ROUNDS or self.rounds >= ROUNDS:
            return "stalled"
        return "slow" if self.trees.pivots > patience and self.gap > SLOW_GAP else ""

    def _round(self, master: Master, gap: float, deadline: Deadline) -> Master:
        """Solve the master, price all outputs, add their rays."""
        before = self.reached, self.bound
        master = self._solved(master, max(min(self.master_gap * self.gap, MAX_MASTER_GAP), 0.1 * gap), deadline)
        if master.is_feasible:
            self._keep(master)
        sums = master.sums
        priced = self.smoothing.between(sums, self.center)
        found, is_exact = self._price(priced, gap, deadline)
        prices = self.trees.prices(self.costs, priced, self.outputs)
        shift = self._shift(prices)
        new, cost, rays = self._new_rays(sums, found)
        rises = is_exact and self._rises(prices, sums)
        self._use_prices(priced, prices, shift, deadline, is_exact=is_exact)
        self._adapt(rises, bool(len(new)))
        self.stalled = 0 if len(new) or (self.reached, self.bound) != before else self.stalled + 1
        if not len(new):
            return master
        return master.extended(rays.T, cost, new, self.center)

    def _keep(self, master: Master) -> None:
        """Keep a master whose weights are feasible if there is no better one."""
        if master.groups is not None and master.value < self.relaxed_value:
            self.relaxed_value, self.relaxed = master.value, master
        elif master.groups is None and master.value < self.value:
            self.value, self.incumbent = master.value, master

    def _price(self, priced: Float, gap: float, deadline: Deadline) -> tuple[Float, bool]:
        """Improve all trees for these multipliers; returns the rays, and whether they are the best, nearly."""
        if self.views is not None:
            began = time.perf_counter()
            self.views.improve(self.costs, priced, self._left(), deadline, self.outputs)
            self.price_seconds = max(self.price_seconds, (time.perf_counter() - began) / len(self.outputs))
            return self.views.rays(self.outputs), not deadline.is_over
        is_rough = self.is_wide and self.gap > max(ROUGH_GAP, gap)
        most = ROUGH_PIVOTS * len(priced) if is_rough else None
        is_best = self.trees.improve(self.costs, priced, most=most, deadline=deadline)
        return self.trees.rays(self.outputs), bool(is_best.all())

    def _left(self) -> float:
        """How far value and bound are apart; before there is a bound, what is expected."""
        bound = self.bound if self.prices_all else self.center_value
        if bound > 0:
            return max(self.reached - bound, 0.0)
        return max(self.reached - self.expected, LEAST_LEFT * self.reached)

    def _new_rays(self, sums: Float, rays: Float) -> tuple[Int, Float, Float]:
        """Outputs, costs and entries of the rays whose prices at the master's multipliers are negative.

        All outputs have the same cone, so each ray goes to the output to which it costs least: often another one than
        that whose tree found it, as few outputs are used where the prior is uneven.
        """
        rays /= rays.max(axis=1, keepdims=True)  # the root's entry may be very small
        output, cost = cheapest(self.costs, rays)
        chosen = cost - rays @ sums < -1e-13 * rays.sum(axis=1)
        return output[chosen], cost[chosen], rays[chosen]

    def _solved(self, master: Master, gap: float, deadline: Deadline) -> Master:
        """Solve the master; anew where the way from the last point leads nowhere."""
        found = master.solved(gap, self.scale.least, deadline)
        if found.is_feasible or deadline.is_over or self.stalled < STALLED_MASTER:
            return found
        return Master.start(found.rays, found.cost, found.output, found.groups).solved(gap, self.scale.least, deadline)

    def _shift(self, prices: Prices) -> Float:
        """What makes prices that are not proved to be positive 0, about, when it is added to the multipliers."""
        if not self.covers:
            return np.full(len(self.center), min(0.0, float((prices.least / prices.total).min())))
        need = np.maximum(-prices.least[self.outputs], 0.0)
        with np.errstate(all="ignore"):  # what costs nothing anywhere cannot be covered, and is not used
            return -cover(need, self.trees.rays(self.outputs), self.share, self.groups)

    def _use_prices(self, priced: Float, prices: Prices, shift: Float, deadline: Deadline, *, is_exact: bool) -> None:
        """Use the prices at ``priced`` for bound and center; the latter only if they are nearly the best."""
        bound = float((priced + prices.share).sum()) if self.prices_all else 0.0
        if bound > self.bound:
            self.bound, self.proof = bound, (priced, self.trees.copy())
        shifted = float((priced + shift).sum()) if is_exact else -inf
        if self.prices_all and shifted > max(bound, self.bound):
            self._prove(priced + shift, deadline)
        sparse = bound if self.groups is None else -inf  # groups cannot share it
        if max(sparse, shifted) > self.center_value:
            self.center_value = max(sparse, shifted)
            self.center = priced + (prices.share if sparse >= shifted else shift)

    def _prove(self, sums: Float, deadline: Deadline) -> None:
        """Prove a bound at multipliers that leave few prices negative: by the same trees, improved where they fail."""
        for _ in range(PROOFS):
            prices = self.trees.prices(self.costs, sums)
            proved = float((sums + prices.share).sum())
            if proved > self.bound:
                self.bound, self.proof = proved, (sums, self.trees.copy())
            wrong = np.flatnonzero(prices.least < 0)
            if self.views is None or not self.covers or not len(wrong) or deadline.is_over:
                break
            self.views.improve(self.costs, sums, self._left(), deadline, wrong)
            sums = sums + self._shift(self.trees.prices(self.costs, sums))

    def _adapt(self, rises: bool, has_new: bool) -> None:
        """Choose the share of the center in the next prices, and how closely the master is solved."""
        self.master_gap = MASTER_GAP if has_new else self.master_gap * MASTER_SHRINK
        if not has_new:
            self.smoothing.halve()
        elif self.smoothing.share < 1:
            self.smoothing.adapt(self.gap, rises=rises)
        elif self.center_value > 0 or self.rounds > MAX_START_ROUNDS:  # the multipliers to begin with prove something
            self.smoothing.leave_center()

    def _rises(self, prices: Prices, sums: Float) -> bool:
        """Whether a supergradient of the bound points to ``sums``: 1 less the rays that it uses, one for each root."""
        order = self.outputs[np.argsort(-prices.least[self.outputs], kind="stable")]
        used = np.full(len(self.center), -1)
        used[self.roots[order]] = order
        used = used[used >= 0]
        used = used[prices.least[used] < 0]
        step = sums - self.center
        return bool(step.sum() - (self.trees.rays(used) @ step).sum() > 0)

    def _first_master(self) -> Master:
        """The rays at hand, or those to begin with."""
        return Master.of_rays(self.known if len(self.known) else self._kernel_columns(), self.costs, self.groups)

    def _kernel_columns(self) -> Float:
        """Kernel columns, and those of the exponential mechanism; rows. For trees that are still the first ones."""
        kernels = self.trees.rays(np.arange(len(self.roots)))
        half = np.sqrt(kernels)
        columns = half / half.sum(axis=0)  # private: entries and sums each change by exp(loss / 2) at most
        return np.concatenate([kernels, columns])

    def _result(self, ended: str) -> RaysResult:
        m, n = self.costs.shape
        if self.incumbent is None:
            channel = np.zeros((n, m))
            channel[:, int(self.costs.sum(axis=1).argmin())] = 1.0
        else:
            channel = self.incumbent.channel(m)
        if self.proof is None:
            none = np.zeros(0, np.int64)
            sums, pairs = np.zeros(n), TreeMultipliers(none, none, none, np.zeros(0), np.zeros(0))
        else:
            sums, trees = self.proof
            spare = SPARED * min(self.reached - self.bound, self.bound)
            pairs = trees.multipliers(self.costs, sums, spare / n)
        return RaysResult(channel, sums, pairs, self.gap, self.rounds, ended)
