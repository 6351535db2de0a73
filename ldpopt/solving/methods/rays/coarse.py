r"""A coarse start: few inputs stand for all, and their rays, multipliers and trees are extended to the others.

A ray ``p`` of the chosen inputs ``r`` extends to all inputs by the largest and by the least column that agrees with it,

.. math:: \min_r e^{\ell(x, r)} p_r \qquad \text{and} \qquad \max_r e^{-\ell(x, r)} p_r ,

which are private again. Nothing is trusted: the start only makes the first prices good ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.foundation.compiled import max_product
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.rays.cluster import LEAST_INPUTS
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.grouped import GroupedGeneration
from ldpopt.solving.methods.rays.groups import Groups
from ldpopt.solving.methods.rays.scale import Scale

if TYPE_CHECKING:
    from ldpopt.solving.methods.rays.master import Master

SMALLEST = 75
"""Number of inputs up to which no others stand for them."""

FEWER = 3
"""How many times fewer inputs stand for all."""

COARSE_GAP, CLOSER_COARSE_GAP = 0.02, 0.01
"""Relative gap to which the coarse problem is solved; the same where it has groups, as rounds of all cost far more."""

GROUPED, GROUPED_COARSE = 600, 250
"""Number of inputs from which groups have rows in the first rounds, where outputs are priced by views."""

FEWEST = 300
"""The outputs of the coarse problem are priced first; only those that it priced first itself, if they are so many."""

TIME_SHARE = 0.5
"""Share of the time that is left which the coarse problem may take."""

ROUNDING = 1e-9
"""Error of a ray's logarithm, in nats, up to which it is in the cone."""

UNLIKELY = 0.25
"""Power of an input's costs by which its distance counts, when inputs are chosen that lie apart."""


def prepared(
    cone: Cone,
    costs: Float,
    roots: Int,
    scale: Scale,
    deadline: Deadline,
    *,
    is_coarse: bool = False,
    client: Any = None,
) -> GroupedGeneration:
    """Return a generation of rays that starts from a coarse problem if ties are shortest chains, as in a metric."""
    work = GroupedGeneration(cone, costs, roots, scale, deadline)
    if client is not None and work.views is not None and cone.n >= LEAST_INPUTS:
        work.views.send_to(client, costs)
    if cone.n <= SMALLEST or not cone.has_shortest_ties:
        return work
    chosen, far = _apart(cone, costs.mean(axis=0))
    nearest = far.argmin(axis=0)
    distance = np.ascontiguousarray(far[:, chosen])
    coarse, outputs, offset, unit = _coarse(distance, costs, roots, scale, nearest, deadline.share(TIME_SHARE), client)
    best = coarse.incumbent or coarse.relaxed
    if best is None or not coarse.center_value > 0:
        return work
    LOG.info("rays: %d inputs stand for %d, gap %.2e", len(chosen), cone.n, coarse.gap)
    groups = Groups.of(nearest, work.share)
    sums = groups.shared(unit * coarse.center + offset)
    rays = _rays(best, far)
    none = np.zeros((0, cone.n), np.int64)
    # Views begin with few inputs: they need no trees of all.
    trees = _trees(coarse, cone, chosen, deadline) if work.views is None else (none, none)
    work.begin_at(rays, sums, *trees)
    if work.views is not None and cone.n >= (GROUPED_COARSE if is_coarse else GROUPED):
        fewer = outputs[coarse.outputs]
        work.group(groups, fewer if len(fewer) >= FEWEST else outputs)
    return work


def _apart(cone: Cone, weight: Float) -> tuple[Int, Float]:
    """Choose inputs that lie apart, each the farthest from those before; also their losses to all inputs."""
    from ldpopt.solving.methods.rays.kernel_loops import kernel_tree

    count = cone.n // FEWER
    chosen, far = np.empty(count, np.int64), np.empty((count, cone.n))
    parent, near, likely = cone.no_parents(1)[0], np.full(cone.n, np.inf), weight**UNLIKELY
    following = int(weight.argmax())
    for k in range(count):
        chosen[k] = following
        kernel_tree(following, cone.lengths.table, parent, far[k])
        near = np.minimum(near, far[k])
        following = int((near * likely).argmax())
    order = np.argsort(chosen)
    return chosen[order], far[order]


def _coarse(
    distance: Float, costs: Float, roots: Int, scale: Scale, nearest: Int, deadline: Deadline, client: Any
) -> tuple[GroupedGeneration, Int, Float, float]:
    """Solve the problem of the chosen inputs, which bear the costs of those nearest to them.

    Each chosen input keeps the output that costs it least. Returned with these outputs, and the costs' offset and unit.
    """
    total = np.zeros((len(distance), len(costs)))
    np.add.at(total, nearest, costs.T)
    outputs = np.unique(total.argmin(axis=1))
    few = total[:, outputs].T
    offset = few.min(axis=0)
    unit = float((few - offset).max()) or 1.0
    first, second = np.nonzero(~np.eye(len(distance), dtype=bool))
    ties = Cone(len(distance), first, second, distance[first, second])
    coarser = Scale(scale.offset + scale.unit * float(offset.sum()), scale.unit * unit, scale.floor)
    few = np.ascontiguousarray((few - offset) / unit)
    work = prepared(ties, few, nearest[roots[outputs]], coarser, deadline, is_coarse=True, client=client)
    work.outline(COARSE_GAP if work.groups is None else CLOSER_COARSE_GAP, deadline)
    return work, outputs, offset, unit


def _rays(master: Master, far: Float) -> Float:
    """Both extensions of the rays that are used most, and a constant one; rows."""
    used = np.argsort(-master.at.weights * master.rays.sum(axis=0))[: len(far)]
    rays, kernels = np.ascontiguousarray(master.rays[:, used].T), np.exp(-far)
    least, largest = max_product(rays, kernels), 1 / max_product(1 / rays, kernels)
    return np.concatenate([np.ones((1, far.shape[1])), least, largest])


def _trees(coarse: GroupedGeneration, cone: Cone, chosen: Int, deadline: Deadline) -> tuple[Int, Int]:
    """Trees of all inputs, as many as time allows: every other input hangs from the chosen one that holds it highest.

    A tree whose edges are not all tied, or whose ray is not in the cone, is left out.
    """
    table, trees = cone.lengths.table, coarse.trees
    heights = np.log(trees.rays(np.arange(len(coarse.roots))))
    tied, numbers = -table[chosen], np.arange(cone.n)
    parents, sides = [], []
    for tree, height in enumerate(heights):
        if deadline.is_over:
            break
        reached = height[:, None] + tied
        parent, entry = chosen[reached.argmax(axis=0)], reached.max(axis=0)
        parent[chosen], entry[chosen] = chosen[trees.parent[tree]], height
        side = np.full(cone.n, -1)
        side[chosen] = trees.side[tree]
        is_tied = np.isfinite(table[parent, numbers]) | (parent == numbers)
        if is_tied.all() and not (entry[:, None] - table > entry + ROUNDING).any():
            parents.append(parent)
            sides.append(side)
    return np.array(parents, np.int64).reshape(-1, cone.n), np.array(sides, np.int64).reshape(-1, cone.n)
