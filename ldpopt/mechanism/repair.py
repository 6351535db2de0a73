"""From any float channel, as solvers return it, to an exactly private mechanism on the grid of
``2**-53``.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.auditing.audits import Audit
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.channels import read_channel
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.nearest import PRICINGS, SMALL_MOVE, moved_least
from ldpopt.mechanism.plain_rounding import ROW_TOTAL
from ldpopt.mechanism.rounding import (
    ACCEPTED_MOVE,
    ChannelAudit,
    Rounded,
    largest_move,
    no_private_channel,
    round_private,
)
from ldpopt.privacy import Comparisons, Ties
from ldpopt.privacy.notion import require_notion


@dataclass(frozen=True)
class Repaired:
    """A certified mechanism and its distance from the given channel."""

    mechanism: Mechanism  # its channel equals its integer masses over 2**53, float by float
    audit: Audit  # the notion's verdict, "certified"
    # largest probability mass that moved in a row (total variation), from forbidden reports too
    moved: float


def repair(
    channel: ArrayLike,
    privacy: Any,
    *,
    inputs: Sequence[Hashable] | None = None,
    outputs: Sequence[Hashable] | None = None,
    ties: Ties | None = None,
) -> Repaired:
    """Round a channel, (n, m), to integer masses that are private for the real ``e**epsilon``,
    moving little.

    The arguments are those of `Mechanism.private`, which also looks for the nearest private
    channel. ``ties`` are the notion's, if they are known. Theory: docs, "Repair".
    """
    require_notion(privacy)
    return repair_read(*read_channel(channel, inputs, outputs), privacy, ties)


def repair_read(
    values: Float,
    names: tuple[Hashable, ...],
    reports: tuple[Hashable, ...],
    privacy: Any,
    ties: Ties | None = None,
) -> Repaired:
    """What `repair` returns, for a matrix of floats and labels that are read already."""
    ties = privacy.ties(names, reports) if ties is None else ties
    comparisons = privacy.comparisons(names, reports) if ties is None else None
    audited: list[Mechanism] = []  # the last one, which usually is the result, and has its masses

    def decide(rounded: Float) -> Audit:
        counts = (rounded * ROW_TOTAL).astype(np.int64)
        audited[:] = [Mechanism._of_counts(counts, names, reports)]
        audit: Audit = privacy.audit(audited[0])
        return audit

    part = privacy.compared_part(names, reports) if ties is None else None
    nearest, last = round_private(values, ties, decide, comparisons, part)
    if comparisons is not None and nearest is not None and nearest.moved > ACCEPTED_MOVE:
        nearest = _nearer(nearest, values, privacy, comparisons, names, decide)
    if nearest is None:
        raise no_private_channel(privacy, last)
    # by its numbers: a notion of somebody's own may return one audit for several channels
    is_last = np.array_equal(audited[0].channel, nearest.channel)
    mechanism = audited[0] if is_last else Mechanism(nearest.channel, names, reports)
    return Repaired(mechanism, nearest.audit, nearest.moved)


def _nearer(
    rounded: Rounded,
    values: Float,
    privacy: Any,
    comparisons: Comparisons,
    names: Sequence[Hashable],
    decide: ChannelAudit,
) -> Rounded:
    """The nearer one of a rounding and that of the channel that moves the least mass."""
    channel = np.maximum(values, 0.0)
    channel = channel / channel.sum(axis=1, keepdims=True)
    best = rounded
    for pricing in PRICINGS:
        if best.moved <= SMALL_MOVE and best is not rounded:
            break
        solution = moved_least(channel, privacy, comparisons, names, pricing)
        other = None if solution is None else round_private(solution, None, decide, comparisons)[0]
        if other is not None and (moved := largest_move(other.channel, channel)) < best.moved:
            best = Rounded(other.channel, other.audit, moved)
    return best
