"""What column generation over rays knows so far: the best channel, the best proved bound, and the
multipliers to be priced next (docs, "Rays").
"""

from dataclasses import dataclass

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.master import RayMaster
from ldpopt.solving.methods.rays.trees import Prices, TreeMultipliers, Trees
from ldpopt.solving.methods.rays.views import Views

# share of the gap, or of the bound, that is given up for a proof with fewer multipliers
UNPROVED_SHARE = 0.05
INITIAL_SHARE = 0.5  # share of the center in the multipliers that are priced first
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


def is_closed(distance: float, gap: float) -> bool:
    """Whether a relative gap is at most ``gap`` even after the proof has given up its share of the
    bound.
    """
    return (1 + UNPROVED_SHARE) * distance <= (1 - UNPROVED_SHARE * distance) * gap


@dataclass(frozen=True, eq=False)
class RaysResult:
    """The best channel found, and the multipliers that prove its gap, for costs to be minimized."""

    channel: Float  # (n, m), not repaired
    sums: Float  # (n,): multipliers of the row sums
    pairs: TreeMultipliers
    gap: float  # relative, in floats
    rounds: int
    ending: str  # why it ended: "gap", "stalled", "slow" or "time"


class Progress:
    """The state of column generation, for ``costs`` (m, n) from 0 to 1 and the inputs ``roots``
    (m,) with the entry 1.

    A start (from a coarse problem, from patches) changes it, rounds improve it, and at any time
    ``bound <= optimum <= value``: the value is that of a private channel, and the bound is proved
    by multipliers and trees of its own, whatever becomes of the others.
    """

    def __init__(
        self, cone: Cone, costs: Float, roots: Int, scale: Scale, deadline: Deadline = NO_LIMIT
    ) -> None:
        self.costs, self.roots, self.scale = costs, roots, scale
        self.trees = Trees(cone, roots, deadline)
        self.views: Views | None = None
        if cone.n >= VIEW_INPUTS and cone.is_metric:
            self.views = Views(self.trees, costs.mean(axis=0))
        self.rounds = 0
        # The best channel: of the master, else the one of patches, else the best constant report.
        self.value = float(costs.sum(axis=1).min())
        self.incumbent: RayMaster | None = None
        self.stitched: Float | None = None  # (n, m)
        # The best bound, and the multipliers and trees that prove it; None as long as it is 0.
        self.bound = 0.0
        self.proof: tuple[Float, Trees] | None = None
        # The best multipliers with their bound, which is perhaps not proved.
        self.center = np.zeros(cone.n)
        self.center_value = 0.0
        # Share of the center in the prices; 1 as long as the initial multipliers are priced.
        self.share = INITIAL_SHARE
        self.initial_rays = np.empty((0, cone.n))
        self.first_master: RayMaster | None = None  # a master of the rays of patches
        self.uses_covering = False
        self.weights = costs.mean(axis=0) + 1e-300  # of the inputs, in coverings

    def start_from(self, rays: Float, sums: Float) -> None:
        """Start from some rays, (k, n), and multipliers, (n,)."""
        self.initial_rays = rays / rays.max(axis=1, keepdims=True)
        self.center, self.share = sums, 1.0

    @property
    def gap(self) -> float:
        """Relative gap so far."""
        return self.scale.relative_gap(self.value - self.bound, self.bound)

    @property
    def has_channel(self) -> bool:
        """Whether there is a channel, from rounds or from a start."""
        return self.stitched is not None or self.incumbent is not None

    def has_gap(self, gap: float) -> bool:
        """Whether there is a channel with this gap."""
        return self.has_channel and is_closed(self.gap, gap)

    def keep_proof(self, sums: Float, prices: Prices) -> float:
        """The bound that the prices of all outputs at ``sums`` prove; keep its proof if it is the
        best so far.
        """
        if (bound := float((sums + prices.share).sum())) > self.bound:
            self.bound, self.proof = bound, (sums, self.trees.copy())
        return bound

    @property
    def channel(self) -> Float:
        """The best channel so far, (n, m): at first the best constant report."""
        m, n = self.costs.shape
        if self.incumbent is not None:
            return self.incumbent.channel(m)
        if self.stitched is not None:
            return self.stitched
        channel = np.zeros((n, m))
        channel[:, int(self.costs.sum(axis=1).argmin())] = 1.0
        return channel

    def result(self, ending: str) -> RaysResult:
        """The best channel so far, and the multipliers of the best bound; these are 0 as long as
        nothing is proved.
        """
        n = self.costs.shape[1]
        if self.proof is None:
            none = np.zeros(0, np.int64)
            sums = np.zeros(n)
            pairs = TreeMultipliers(self.trees.cone, none, none, none, np.zeros(0))
        else:
            sums, trees = self.proof
            spare = UNPROVED_SHARE * min(self.value - self.bound, self.bound)
            pairs = trees.multipliers(self.costs, sums, spare / n)
        return RaysResult(self.channel, sums, pairs, self.gap, self.rounds, ending)
