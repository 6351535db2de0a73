"""Rounds with rows of groups of inputs, more at each level; at last every input has a row (docs, "Rays")."""

from math import inf

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Int
from ldpopt.foundation.threads import few_threads
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.rays.feasibility import balanced, balancing_seconds
from ldpopt.solving.methods.rays.generation import MAX_SHARE, Generation, is_closed
from ldpopt.solving.methods.rays.master import Groups, Master

LEVELS = (1 / 2, 3 / 4)  # numbers of groups per input of the later levels; the first level's groups are given
# A level ends when its gap is below ``LEVEL_GAP`` times inputs per group, or this share of the requested gap
LEVEL_GAP, LEVEL_SHARE = 3.3e-3, 0.4
# Time reserved for the first round of all outputs, its proof and another round, in the longest prices so far
ALL_ROUNDS = 1.3
# Shares of the best multipliers that are proved if time is over before all outputs were priced
LOWER_SHARES = (0.7, 0.55, 0.45, 0.35, 0.25, 0.15)
STEPS = 30  # largest number of steps of the first master of a level, about
BALANCED_SHARE = 0.95  # the largest columns are balanced whose entries sum to this share of all entries
FEWER_COLUMNS = 4  # inputs per balanced column in the estimate of the time for balancing


class GroupedGeneration(Generation):
    """Rounds that may start with rows of groups; see `Generation`."""

    requested_gap = 0.0  # the requested gap, if groups have rows

    def group(self, groups: Groups, outputs: Int) -> None:
        """Start with rounds in which only groups of inputs have rows, and only some outputs are priced."""
        assert self.views is not None
        self.groups, self.outputs, self.uses_covering = groups, outputs, True
        self.expected_value = float(self.center.sum())
        self.views.expect_covering(self.weights)

    def run_coarse(self, gap: float, deadline: Deadline = NO_LIMIT) -> None:
        """Do rounds for good multipliers and rays, with the first groups only; no bound need be proved."""
        if self.groups is None:
            self.run(gap, deadline)
            return
        with few_threads(len(self.center)):
            self._run_rounds(self._first_master(), gap, deadline, inf)

    def _run(self, gap: float, deadline: Deadline, max_pivots: float) -> str:
        if self.groups is None:
            return super()._run(gap, deadline, max_pivots)
        n, self.requested_gap = len(self.center), gap
        first, before = self._first_master(), deadline.before(balancing_seconds(n, n // FEWER_COLUMNS))
        last = self._first_level(first, before)
        for share in (*LEVELS, 1.0):
            channel = self._balanced(last, deadline)
            until = (before if share < 1 else deadline).before(Master.seconds(int(share * n), STEPS))
            if self._has_requested_gap() or until.is_over:
                self.groups = None
                return "gap" if self._has_requested_gap() else "time"
            if share < 1:
                self._regroup(int(share * n))
                self._run_rounds(self._joined(channel, first, last), self._level_gap(share), before, inf)
                last = self.relaxed or last
        self.groups = None
        return self._run_rounds(self._joined(channel, first, last), gap, deadline, max_pivots)

    def _first_level(self, first: Master, before: Deadline) -> Master:
        """Do rounds with the first groups, with some outputs and then with all; return the best master."""
        assert self.groups is not None
        level_gap = self._level_gap((1 + self.groups.number.max()) / len(self.center))
        master, ending = first, ""
        while not ending:
            master = self._round(master, level_gap, before)
            self.rounds += 1
            LOG.info("rays, round %d, some outputs: %d pivots, gap %.2e", self.rounds, self.trees.pivots, self.gap)
            is_late = before.before(ALL_ROUNDS * self.price_seconds * len(self.roots)).is_over
            ending = "time" if is_late else self._ending(level_gap, inf)
        self.expected_value, self.center_value = self.center_value, 0.0  # with some outputs it was too high
        self.outputs, self.share = np.arange(len(self.roots)), 1.0  # all are priced at the center first
        self._run_rounds(self.relaxed or first, level_gap, before, inf)
        if self.bound <= 0:
            self._prove_less()
        return self.relaxed or first

    def _prove_less(self) -> None:
        """Prove a bound at lower multipliers without pivots, because time was over before all outputs were priced."""
        trees = self.trees.copy()
        for share in LOWER_SHARES:
            sums = share * self.center
            trees.reset_to_stars(self.costs, sums)
            if (proved := float((sums + trees.prices(self.costs, sums).share).sum())) > self.bound:
                self.bound, self.proof = proved, (sums, trees.copy())

    def _level_gap(self, share: float) -> float:
        """Gap at which a level with this number of groups per input ends."""
        return max(LEVEL_SHARE * self.requested_gap, LEVEL_GAP / share)

    def _balanced(self, last: Master, deadline: Deadline) -> Master:
        """Make a channel from a relaxation's columns, and keep it if it is the best."""
        columns = balanced(last.columns(BALANCED_SHARE), self.trees.cone.lengths.table, deadline)
        channel = Master.of_columns(columns, self.costs)
        self._keep(channel)
        self.stalled, self.share = 0, MAX_SHARE
        LOG.info("rays: channel balanced from %d groups, gap %.2e", len(last.rows), self._channel_gap)
        return channel

    @property
    def _channel_gap(self) -> float:
        """Relative gap of the best channel."""
        return self.scale.relative_gap(self.value - self.bound, self.bound)

    def _ending(self, gap: float, max_pivots: float) -> str:
        """Why the rounds end now, also if the best channel has the requested gap; empty if they go on."""
        return "gap" if self.prices_all and self._has_requested_gap() else super()._ending(gap, max_pivots)

    def _has_requested_gap(self) -> bool:
        """Whether the best channel has the requested gap."""
        return is_closed(self._channel_gap, self.requested_gap)

    def _regroup(self, count: int) -> None:
        """Start a level with this many groups, around inputs that are far apart."""
        assert self.views is not None
        chosen = self.views.order[:count]
        loss = self.trees.cone.lengths.table[chosen]
        loss[np.arange(count), chosen] = 0.0
        self.groups = Groups.of(loss.argmin(axis=0), self.weights)
        self.relaxed, self.relaxed_value = None, inf

    def _joined(self, channel: Master, first: Master, last: Master) -> Master:
        """A master that starts from a channel, with the kernel columns and the rays of the last rounds."""
        kernels = slice(0, len(self.roots))
        rays = np.concatenate([first.rays[:, kernels], last.rays], axis=1)
        cost, output = np.append(first.cost[kernels], last.cost), np.append(first.output[kernels], last.output)
        return channel.restarted(self.center, self.groups).extended(rays, cost, output, self.center)
