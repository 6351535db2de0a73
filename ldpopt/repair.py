r"""From any float channel to an exactly private mechanism on the grid of ``2**-53``.

Solvers are accurate to an absolute tolerance, privacy is a matter of ratios. Here a channel is moved, as little as
possible, to integer masses that satisfy the notion for the real ``e**epsilon``; the notion's own audit has the last word.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt import sampling
from ldpopt.divergence import Audit
from ldpopt.errors import MechanismError, PrivacyViolationError
from ldpopt.mechanism import Mechanism
from ldpopt.privacy import Ties
from ldpopt.utility import Float, real_array

DUST = 1e-12
"""A column whose largest entry is below this is a solver's noise: its mass goes to the other outputs."""

TOTAL = float(1 << sampling.BITS)
"""Integers up to here are exact in float64, which all the arrays below rely on."""


@dataclass(frozen=True)
class Repaired:
    """A certified mechanism and how far it is from the channel that was asked for.

    Attributes
    ----------
    mechanism : Mechanism
        Its channel equals its integer masses over ``2**53``, float by float.
    audit : Audit
        The notion's verdict, ``"certified"``.
    moved : float
        Largest probability mass that had to move in a row (total variation).
    """

    mechanism: Mechanism
    audit: Audit
    moved: float


def repair(
    channel: ArrayLike,
    privacy: Any,
    *,
    inputs: Sequence[Hashable] | None = None,
    outputs: Sequence[Hashable] | None = None,
) -> Repaired:
    r"""Round a channel to integer masses that are private for the real ``e**epsilon``.

    Parameters
    ----------
    channel : array_like, shape (n, m)
        Finite; negative dust is cut, rows are normalised.
    privacy : privacy notion
        What must hold.
    inputs, outputs : sequence of hashable, optional
        Labels.

    Returns
    -------
    Repaired
        The mechanism, its audit, and the distance moved.

    Raises
    ------
    MechanismError
        If a row is empty or not finite.
    PrivacyViolationError
        If no rounding passes the audit (a notion that even constant channels violate).

    Notes
    -----
    Three attempts, each checked by ``privacy.audit``: plain rounding; for notions with `Ties` the cone repair, which
    raises every entry to ``e**-epsilon d`` times its column and spends a constant share of ``O(m / (e**epsilon - 1))``
    units to make the rows sum to one; else mixing with the mean row. Theory: docs, "Repair".

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> fixed = repair([[0.8, 0.2], [0.2, 0.8]], PureLDP("log(3)"))
    >>> fixed.audit.verdict, fixed.mechanism.channel.round(3).tolist()
    ('certified', [[0.75, 0.25], [0.25, 0.75]])
    """
    values = _clean(channel)
    names = tuple(range(len(values))) if inputs is None else tuple(inputs)
    for counts in _attempts(values, privacy, names):
        mechanism = Mechanism(counts / TOTAL, names, outputs)
        audit = privacy.audit(mechanism)
        if audit.verdict == "certified":
            moved = np.maximum(mechanism.channel - values, 0).sum(axis=1).max()
            return Repaired(mechanism, audit, float(moved))
    raise PrivacyViolationError(
        f"no channel near the one given passes the audit: epsilon {audit.epsilon:.6g}, delta {audit.delta:.6g} found",
        where=f"inputs and output {audit.witness}",
        do=f"check the notion {privacy!r}: constant channels must satisfy it",
    )


def _clean(channel: ArrayLike) -> Float:
    values = np.maximum(real_array(channel, "channel"), 0.0)
    if values.ndim != 2 or not np.isfinite(values).all() or not (values.sum(axis=1) > 0).all():
        raise MechanismError(f"an array of shape {values.shape} with empty or infinite rows is no channel")
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def _attempts(values: Float, privacy: Any, inputs: Sequence[Hashable]) -> Iterator[Any]:
    """Integer channels, nearest first; the last is constant and satisfies every notion."""
    swept = values.copy()
    swept[:, values.max(axis=0) < DUST] = 0.0
    ties = privacy.ties(inputs) if hasattr(privacy, "ties") else None
    generated = hasattr(privacy, "separate") and privacy.separate(swept, inputs) is not None
    if ties is not None and not ties.delta:
        swept = _raised(swept, ties)
    swept /= swept.sum(axis=1, keepdims=True)
    yield sampling.round_rows(swept)
    if ties is not None and not generated:
        yield from _by_cones(swept, ties)
    yield from _by_mixing(swept)


def _by_cones(values: Float, ties: Ties) -> Iterator[Float]:
    r"""Keep every column in its cone ``v[x] <= exp(epsilon d) v[x'] + delta`` exactly, and fill the rows up.

    The values are scaled down by a small share, floored to the grid and raised back into the cone. A constant
    ``e[y]`` added to a column leaves room for any vector with entries up to ``(exp(epsilon d) - 1) e[y]`` plus
    ``delta`` times the share: that room takes what the rows lack.
    """
    m = values.shape[1]
    nearest = 1.0 if ties.distance is None else float(ties.distance.min(initial=np.inf))
    growth = float(np.expm1(min(float(ties.budget) * nearest, 700.0))) * (1 - 1e-9)
    values = _raised(values, ties)
    values = values / values.sum(axis=1).max()
    center = values.mean(axis=0) / values.mean(axis=0).sum()
    short = TOTAL * float(np.max(1 - values.sum(axis=1)))
    spare = growth + ties.delta * np.count_nonzero(center)
    share = (short + 4 * m) / spare + m if spare > 0 else np.inf
    while share < TOTAL / 4:
        counts = _fill(values, center, share, growth, ties)
        if counts is not None:
            yield counts
        share *= 2


def _fill(values: Float, center: Float, share: float, growth: float, ties: Ties) -> Float | None:
    kept = TOTAL - np.ceil(share) - values.shape[1]
    counts = _raised(np.floor(values * kept), ties, kept)
    constant = np.floor(center * share)
    lacking = TOTAL - (counts + constant).sum(axis=1)
    room = np.floor(growth * constant + (ties.delta * (TOTAL - kept) * (1 - 1e-9) - 1) * (ties.delta > 0))
    room = np.clip(room, 0.0, TOTAL) * (center > 0)
    if lacking.min() < 0 or lacking.max() > room.sum():
        return None
    order = np.argsort(-room, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(room[order])[:-1]])
    counts[:, order] += np.clip(lacking[:, None] - before, 0.0, room[order])
    return counts + constant


def _raised(values: Float, ties: Ties, total: float = 0.0) -> Float:
    """Least array above ``values`` with every column in its cone: of floats, or of integers where rows sum to ``total``."""
    ratio = ties.ratio(up=True) * (1 + 2.0**-51 if total else 1.0)
    slack = np.floor(ties.delta * total * (1 - 2.0**-52)) if total else ties.delta
    whole = np.ceil if total else np.asarray
    if ties.is_complete:
        floor = whole((values.max(axis=0) - slack) * ratio)
        return np.asarray(np.maximum(values, floor) if len(values) > 1 else values)
    first, second = ties.pairs()
    by_target = np.argsort(second, kind="stable")
    ends = np.searchsorted(second[by_target], np.arange(len(values) + 1))
    groups = [by_target[ends[x] : ends[x + 1]] for x in range(len(values))]
    values, order = values.copy(), list(range(len(values)))
    for _ in range(2 * len(values) + 2):
        before = values.copy()
        for x in order:
            pairs = groups[x]
            if len(pairs):
                floor = whole((values[first[pairs]] * ratio[pairs, None]).max(axis=0))
                np.maximum(values[x], floor, out=values[x])
        order.reverse()
        if np.array_equal(before, values):
            break
    return values


def _by_mixing(values: Float) -> Iterator[Float]:
    """``(1 - w) P + w mean`` for growing ``w``, rounded up entry by entry; the last one is constant."""
    m = values.shape[1]
    mean = values.mean(axis=0)
    heaviest = int(np.argmax(mean))
    for power in (np.inf, *range(52, 0, -1)):
        weight = 2.0**-power
        mixed = (1 - weight) * values + weight * mean
        counts = np.ceil(mixed / mixed.sum(axis=1, keepdims=True) * (TOTAL - 2 * m))
        counts[:, heaviest] += TOTAL - counts.sum(axis=1)
        yield counts
    constant = sampling.round_rows(mean[None] / mean.sum())
    yield np.repeat(constant, len(values), axis=0)
