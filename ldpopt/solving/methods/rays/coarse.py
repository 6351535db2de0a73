"""A coarse start: a problem of few inputs, whose rays and multipliers are extended to the others
(docs, "Rays").
"""

from typing import Any

import numpy as np

from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.foundation.threads import max_product
from ldpopt.native import kernel_tree
from ldpopt.solving.log import LOG
from ldpopt.solving.methods.rays.cluster import LEAST_INPUTS
from ldpopt.solving.methods.rays.cone import Cone
from ldpopt.solving.methods.rays.feasibility import balanced
from ldpopt.solving.methods.rays.generation import LATER_SHARE, Generation
from ldpopt.solving.methods.rays.master import RayMaster
from ldpopt.solving.methods.rays.progress import Progress, Scale
from ldpopt.solving.methods.rays.proving import prove, prove_less, shift
from ldpopt.solving.methods.rays.views import COST_POWER

MIN_INPUTS = 150  # number of inputs from which a coarse problem is solved first
COARSENING = 3  # number of inputs per chosen input of a coarse problem from which rounds start
COARSE_GAP = 0.02  # relative gap to which this problem is solved
# A coarse channel is extended if at most `MOST` chosen inputs per input make the mean loss to the
# nearest of them, in nats, at most `NEAR` times the gap, which costs about .3 of this loss; or
# `NEAR_LARGE` times from `LARGE` inputs on, which costs less, and is done again with all aims
# multiplied by `FURTHER` if that was not enough
NEAR = 2.0
NEAR_LARGE = 3.0
MOST = 2 / 3
LARGE, FURTHER = 3000, 0.6
# then prices are proved as for this multiple of the gap; the bound loses a quarter of what is not
# proved
ROUGH = 10
EXTENDED_GAP = 0.35  # gap of a coarse channel that is extended, as a share of the gap
USED = 0.99  # share of all entries of a coarse channel that its extended columns have
TIME_SHARE = 0.5  # largest share of the remaining time for the coarse problem


def start_from_coarse(work: Progress, gap: float, deadline: Deadline, client: Any = None) -> None:
    """Start from rays and multipliers of a coarse problem, for a metric of many inputs; perhaps
    from a channel.
    """
    cone, costs = work.trees.cone, work.costs
    if client is not None and work.views is not None and cone.n >= LEAST_INPUTS:
        work.views.send_to(client, costs)
    if work.views is None and (cone.n < MIN_INPUTS or not cone.has_shortest_ties):
        return
    is_large = cone.n >= LARGE
    aim = gap if work.views is not None else 0.0
    while True:
        near_enough = (NEAR_LARGE if is_large else NEAR) * aim
        chosen, far, is_near = spread_inputs(cone, costs.mean(axis=0), near_enough)
        coarse_gap = EXTENDED_GAP * aim if is_near else COARSE_GAP
        columns = _solve_coarse(work, chosen, far, coarse_gap, deadline, client)
        if not is_near or columns is None:
            return
        _extend(work, columns, gap, deadline, rough=ROUGH if is_large else 0.0)
        LOG.info("rays: extended channel, gap %.2e", work.gap)
        if work.has_gap(gap) or not is_large or deadline.is_over:
            return
        aim *= FURTHER


def _extend(
    work: Progress, columns: Float, gap: float, deadline: Deadline, *, rough: float = 0.0
) -> None:
    """Make a channel from columns of the cone, (n, k), whose sums are about 1, and prove a
    bound at the center.

    Prices are proved as for the expected gap, or as for ``rough`` times this one if that is
    larger.
    """
    assert work.views is not None
    work.uses_covering = True
    channel = RayMaster.of_columns(
        balanced(columns, work.trees.cone.lengths.table, gap, deadline), work.costs
    )
    if channel.value < work.value:
        work.value, work.incumbent = channel.value, channel
    work.views.expect_covering(work.weights)
    distance = max(work.value - float(work.center.sum()), rough * gap * work.value)
    work.views.improve(work.costs, work.center, distance, deadline)
    prices = work.trees.prices(work.costs, work.center)
    prove(work, work.center + shift(work, prices), deadline, gap)
    if not work.bound > 0:
        prove_less(work)
    if work.proof is not None:
        work.center, work.center_value, work.share = work.proof[0], work.bound, LATER_SHARE


def spread_inputs(cone: Cone, weight: Float, near_enough: float) -> tuple[Int, Float, bool]:
    """Choose inputs, each the farthest from the earlier ones; return them and their losses to all
    inputs.
    """
    # They are as many as the mean loss to the nearest one needs, which is the third result, or one
    # of `COARSENING`.
    chosen: list[int] = []
    far: list[Float] = []
    parent = cone.no_parents(1)[0]
    near = np.full(cone.n, 1e300)
    factor = weight**COST_POWER
    following = int(weight.argmax())
    is_near = False  # at least one is chosen, also if nothing costs anything
    while not is_near and len(chosen) < MOST * cone.n:
        chosen.append(following)
        far.append(np.empty(cone.n))
        kernel_tree(following, cone.lengths.table, parent, far[-1])
        near = np.minimum(near, far[-1])
        following = int((near * factor).argmax())
        is_near = bool(weight @ near <= near_enough * weight.sum())
    count = len(chosen) if is_near else cone.n // COARSENING
    order = np.argsort(chosen[:count])
    return np.array(chosen)[order], np.array([far[k] for k in order]), is_near


def _solve_coarse(
    work: Progress, chosen: Int, far: Float, gap: float, deadline: Deadline, client: Any
) -> Float | None:
    """Solve the problem of the chosen inputs, and start from its rays and multipliers; return its
    columns, (n, k).

    The costs of the inputs nearest to a chosen one are added to its own. Columns are extended by
    the largest entries.
    """
    nearest = far.argmin(axis=0)
    distance = np.ascontiguousarray(far[:, chosen])
    total = np.zeros((len(chosen), len(work.costs)))
    np.add.at(total, nearest, work.costs.T)
    outputs = np.unique(total.argmin(axis=1))  # those with the smallest cost of some chosen input
    few = total[:, outputs].T
    offset = few.min(axis=0)
    unit = float((few - offset).max()) or 1.0
    np.fill_diagonal(distance, np.inf)
    ties = Cone.of_table(distance)
    scale = work.scale
    coarser = Scale(scale.offset + scale.unit * float(offset.sum()), scale.unit * unit, scale.floor)
    few = np.ascontiguousarray((few - offset) / unit)
    until = deadline.share(TIME_SHARE)
    coarse = Progress(ties, few, nearest[work.roots[outputs]], coarser, deadline)
    start_from_coarse(coarse, gap, until, client)
    Generation(coarse).run(gap, until)
    if coarse.incumbent is None or not coarse.center_value > 0:
        return None
    LOG.info(
        "rays: coarse problem of %d of %d inputs, gap %.2e",
        len(chosen),
        work.trees.cone.n,
        coarse.gap,
    )
    shares = work.weights / np.bincount(nearest, work.weights)[nearest]
    used = coarse.incumbent.largest(USED)
    rays = np.ascontiguousarray(used.rays.T)
    kernels = np.exp(-far)
    least = max_product(rays, kernels)
    largest = 1 / max_product(1 / rays, kernels)
    rays = np.concatenate([np.ones((1, far.shape[1])), least, largest])
    work.start_from(rays, shares * (unit * coarse.center + offset)[nearest])
    return np.asarray((largest * used.at.weights[:, None]).T)
