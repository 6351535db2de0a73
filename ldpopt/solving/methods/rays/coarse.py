"""A coarse start: a problem of few inputs, whose rays and multipliers are extended to the others (docs, "Rays")."""

from typing import Any

import numpy as np

from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.threads import max_product
from ldpopt.native import kernel_tree
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.rays.cluster import LEAST_INPUTS
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.generation import Scale
from ldpopt.solving.methods.rays.grouped import GroupedGeneration
from ldpopt.solving.methods.rays.master import Groups, Master
from ldpopt.solving.methods.rays.views import COST_POWER

MIN_INPUTS = 150  # number of inputs from which a coarse problem is solved first
COARSENING = 3  # number of inputs per chosen input of the coarse problem
# Relative gap to which the coarse problem is solved; smaller with groups, as rounds of all outputs take far longer
COARSE_GAP, COARSE_GAP_GROUPED = 0.02, 0.01
# Number of inputs from which groups have rows in the first rounds, with views; the same for a coarse problem
GROUPED, GROUPED_COARSE = 600, 250
# Mean loss to the nearest input, in nats, from which inputs are too far apart for groups, unless there are so many
APART, MANY = 0.4, 1500
# The first outputs to be priced are those that the coarse problem priced first, if they are this many; else all its
# outputs
MIN_FIRST_OUTPUTS = 300
TIME_SHARE = 0.5  # largest share of the remaining time for the coarse problem


def coarse_start(
    cone: Cone,
    costs: Float,
    roots: Int,
    scale: Scale,
    deadline: Deadline,
    *,
    is_coarse: bool = False,
    client: Any = None,
) -> GroupedGeneration:
    """A generation of rays, which starts from a coarse problem for a metric of many inputs."""
    work = GroupedGeneration(cone, costs, roots, scale, deadline)
    if client is not None and work.views is not None and cone.n >= LEAST_INPUTS:
        work.views.send_to(client, costs)
    if work.views is None and (cone.n < MIN_INPUTS or not cone.has_shortest_ties):
        return work
    chosen, far = _spread_inputs(cone, costs.mean(axis=0))
    nearest, distance = far.argmin(axis=0), np.ascontiguousarray(far[:, chosen])
    time_share = deadline.share(TIME_SHARE)
    coarse, outputs, offset, unit = _solve_coarse(distance, costs, roots, scale, nearest, time_share, client)
    best = coarse.incumbent or coarse.relaxed
    if best is None or not coarse.center_value > 0:
        return work
    LOG.info("rays: coarse problem of %d of %d inputs, gap %.2e", len(chosen), cone.n, coarse.gap)
    groups = Groups.of(nearest, work.weights)
    work.start_from(_extended_rays(best, far), groups.distributed(unit * coarse.center + offset))
    if work.views is not None and (cone.n >= GROUPED_COARSE if is_coarse else _has_groups(cone)):
        fewer = outputs[coarse.outputs]
        work.group(groups, fewer if len(fewer) >= MIN_FIRST_OUTPUTS else outputs)
    return work


def _has_groups(cone: Cone) -> bool:
    """Whether groups of the inputs of a metric have rows in the first rounds."""
    return cone.n >= MANY or (cone.n >= GROUPED and float(cone.lengths.table.min(axis=1).mean()) < APART)


def _spread_inputs(cone: Cone, weight: Float) -> tuple[Int, Float]:
    """Choose inputs, each the farthest from the earlier ones; return them and their losses to all inputs."""
    count = cone.n // COARSENING
    chosen, far = np.empty(count, np.int64), np.empty((count, cone.n))
    parent, near, factor = cone.no_parents(1)[0], np.full(cone.n, np.inf), weight**COST_POWER
    following = int(weight.argmax())
    for k in range(count):
        chosen[k] = following
        kernel_tree(following, cone.lengths.table, parent, far[k])
        near = np.minimum(near, far[k])
        following = int((near * factor).argmax())
    order = np.argsort(chosen)
    return chosen[order], far[order]


def _solve_coarse(
    distance: Float, costs: Float, roots: Int, scale: Scale, nearest: Int, deadline: Deadline, client: Any
) -> tuple[GroupedGeneration, Int, Float, float]:
    """Solve the problem of the chosen inputs, to which the costs of the inputs nearest to them are added."""
    # Its outputs are the ones with the smallest cost of some chosen input. They are returned with the rounds, and with
    # the offset and the unit of its costs.
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
    work = coarse_start(ties, few, nearest[roots[outputs]], coarser, deadline, is_coarse=True, client=client)
    work.run_coarse(COARSE_GAP if work.groups is None else COARSE_GAP_GROUPED, deadline)
    return work, outputs, offset, unit


def _extended_rays(master: Master, far: Float) -> Float:
    """Both extensions of the rays that are used most, and a constant ray, as rows."""
    used = np.argsort(-master.at.weights * master.rays.sum(axis=0))[: len(far)]
    rays, kernels = np.ascontiguousarray(master.rays[:, used].T), np.exp(-far)
    least, largest = max_product(rays, kernels), 1 / max_product(1 / rays, kernels)
    return np.concatenate([np.ones((1, far.shape[1])), least, largest])
