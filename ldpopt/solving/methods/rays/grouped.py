r"""Rounds in which groups of inputs have rows, in levels: each has more groups, and at last every input has a row.

The columns of a level's relaxation are balanced into a channel. The more groups a level has, the less its value rises,
and the more a master costs. Theory: docs, "Rays".
"""

from __future__ import annotations

from math import inf

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.rows import Int
from ldpopt.foundation.threads import few_threads
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.rays import balance, smoothing
from ldpopt.solving.methods.rays.generation import SPARED, Generation
from ldpopt.solving.methods.rays.groups import Groups
from ldpopt.solving.methods.rays.master import Master

LEVELS = (1 / 2, 3 / 4)
"""Numbers of groups of the later levels, for each input; the first level's groups are given."""

OUTLINE_GAP, OUTLINE_SHARE = 3.3e-3, 0.4
"""A level ends at this gap of its relaxation, times the number of inputs for each group, or at a share of the gap asked
for; at the larger one."""

ALL_ROUNDS = 1.3
"""Time that is kept for the first round of all outputs, its proof and one more, in the longest prices so far."""

LOWER = (0.7, 0.55, 0.45, 0.35, 0.25, 0.15)
"""Shares of the best multipliers that are tried where time was over before all outputs were priced at these."""

STEPS = 30
"""Steps of the first master of a level, at most; about."""

BALANCED = 0.95
"""Share of the entries of all columns that those have which are balanced."""

FEWER_COLUMNS = 4
"""How many times fewer columns than inputs are balanced, about; for the time that is set aside."""


class GroupedGeneration(Generation):
    """Rounds that may begin with rows of groups; see `Generation`."""

    asked = 0.0
    """The gap asked for, once groups have rows."""

    def group(self, groups: Groups, outputs: Int) -> None:
        """Begin with rounds in which only groups of inputs have rows, and only some outputs are priced."""
        assert self.views is not None
        self.groups, self.outputs, self.covers, self.expected = groups, outputs, True, float(self.center.sum())
        self.views.spare_covered(self.share)

    def outline(self, gap: float, deadline: Deadline = NO_LIMIT) -> Master | None:
        """Do rounds, only those of the first groups if there are some, and return the best master."""
        if self.groups is None:
            return super().outline(gap, deadline)
        with few_threads(len(self.center)):
            self._rounds(self._first_master(), gap, deadline, inf)
        return self.relaxed

    def _all_rounds(self, gap: float, deadline: Deadline, patience: float) -> str:
        if self.groups is None:
            return super()._all_rounds(gap, deadline, patience)
        n, self.asked = len(self.center), gap
        first, before = self._first_master(), deadline.before(balance.seconds(n, n // FEWER_COLUMNS))
        last = self._first_level(first, before)
        for share in (*LEVELS, 1.0):
            channel = self._balanced(last, deadline)
            ended = self._ending_of_levels(share, before if share < 1 else deadline)
            if ended:
                self.groups = None
                return ended
            if share < 1:
                self._regroup(int(share * n))
                self._rounds(self._joined(channel, first, last), self._outline_gap(share), before, inf)
                last = self.relaxed or last
        self.groups = None
        return self._rounds(self._joined(channel, first, last), gap, deadline, patience)

    def _first_level(self, first: Master, before: Deadline) -> Master:
        """Do rounds with the first groups: with some outputs, then with all; returns the best master."""
        assert self.groups is not None
        outline = self._outline_gap((1 + self.groups.number.max()) / len(self.center))
        master, ended = first, ""
        while not ended:
            master = self._round(master, outline, before)
            self.rounds += 1
            LOG.info("rays, round %d: %d pivots, gap %.2e, some outputs", self.rounds, self.trees.pivots, self.gap)
            is_late = before.before(ALL_ROUNDS * self.price_seconds * len(self.roots)).is_over
            ended = "time" if is_late else self._ending(outline, inf)
        self.expected, self.center_value = self.center_value, 0.0  # of some outputs it was too good
        self.outputs, self.smoothing.share = np.arange(len(self.roots)), 1.0  # all are priced at the best ones first
        self._rounds(self.relaxed or first, outline, before, inf)
        if self.bound <= 0:
            self._prove_less()
        return self.relaxed or first

    def _prove_less(self) -> None:
        """Prove at once what lower multipliers permit, where time was over before all outputs were priced."""
        trees = self.trees.copy()
        for share in LOWER:
            sums = share * self.center
            trees.hang_from_roots(self.costs, sums)
            proved = float((sums + trees.prices(self.costs, sums).share).sum())
            if proved > self.bound:
                self.bound, self.proof = proved, (sums, trees.copy())

    def _outline_gap(self, share: float) -> float:
        """Gap of a relaxation at which a level with so many groups for each input ends."""
        return max(OUTLINE_SHARE * self.asked, OUTLINE_GAP / share)

    def _balanced(self, last: Master, deadline: Deadline) -> Master:
        """Make a channel from a relaxation's columns, and keep it if it is the best."""
        columns = balance.balanced(last.columns(BALANCED), self.trees.cone.lengths.table, deadline)
        channel = Master.of_columns(columns, self.costs)
        self._keep(channel)
        self.stalled, self.smoothing.share = 0, smoothing.MOST
        LOG.info("rays: balanced from %d groups, gap %.2e", len(last.rows), self._whole_gap)
        return channel

    @property
    def _whole_gap(self) -> float:
        """Relative gap of the best channel."""
        return self.scale.share(self.value - self.bound, self.bound)

    def _ending(self, gap: float, patience: float) -> str:
        """Why to stop now; also if the best channel has the gap asked for."""
        return "gap" if self.prices_all and self._is_good() else super()._ending(gap, patience)

    def _is_good(self) -> bool:
        """Whether the best channel has the gap asked for."""
        return (1 + SPARED) * self._whole_gap <= self.asked

    def _ending_of_levels(self, share: float, before: Deadline) -> str:
        """Why no further level is to begin; empty to go on."""
        if self._is_good():
            return "gap"
        return "time" if before.before(Master.seconds(int(share * len(self.center)), STEPS)).is_over else ""

    def _regroup(self, count: int) -> None:
        """Begin a level with so many groups, around inputs that lie apart."""
        assert self.views is not None
        chosen = self.views.order[:count]
        loss = self.trees.cone.lengths.table[chosen]
        loss[np.arange(count), chosen] = 0.0
        self.groups = Groups.of(loss.argmin(axis=0), self.share)
        self.relaxed, self.relaxed_value = None, inf

    def _joined(self, channel: Master, first: Master, last: Master) -> Master:
        """A master that starts from a channel, with the kernel columns and the rays of the last rounds."""
        kernels = slice(0, len(self.roots))
        rays = np.concatenate([first.rays[:, kernels], last.rays], axis=1)
        cost, output = np.append(first.cost[kernels], last.cost), np.append(first.output[kernels], last.output)
        return channel.started(self.center, self.groups).extended(rays, cost, output, self.center)
