r"""From any float channel to an exactly private mechanism on the grid of ``2**-53``.

Solvers are accurate to an absolute tolerance, privacy is a matter of ratios. Here a channel is moved, as little as
possible, to integer masses that satisfy the notion for the real ``e**epsilon``; the notion's audit has the last word.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.auditing.audits import Audit, audit_by, require_notion
from ldpopt.errors import MechanismError, PrivacyViolationError
from ldpopt.foundation.checks import Float, summed
from ldpopt.mechanism import sampling
from ldpopt.mechanism.mechanism import Mechanism, read_channel
from ldpopt.privacy import Ties
from ldpopt.privacy.answers import ties_of

DUST = 1e-12
"""A column whose largest entry is below this is a solver's noise: its mass goes to the other outputs."""

SPECK, FEW = 2.0**-50, 10_000
"""Where cutting dust moved more than needed, channels of few entries are tried again with columns above this kept."""

NEAR = 1e-12
"""A repair that moves less mass than this is as good as any: no other way is tried."""

TOTAL = float(1 << sampling.BITS)
"""Integers up to here are exact in float64, which all the arrays below rely on."""


@dataclass(frozen=True)
class Repaired:
    """A certified mechanism and how far it is from the given channel.

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
    ties: Ties | None = None,
) -> Repaired:
    r"""Round a channel to integer masses that are private for the real ``e**epsilon``.

    Parameters
    ----------
    channel : array_like, shape (n, m), or DataFrame or mapping of mappings
        Finite; negative dust is cut, rows are normalised.
    privacy : privacy notion
        What must hold.
    inputs, outputs : sequence of hashable, optional
        Labels; default: those of a labelled channel, else 0, 1, 2, ..., outputs as the inputs where there are as many.
    ties : Ties, optional
        The notion's ties, if known already; default: computed.

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
    Plain rounding first; then, until one changes almost nothing: spending a little of a positive delta; for
    notions with `Ties` the cone repair, which raises every entry to ``e**-epsilon d`` times its column and spends a
    constant share of ``O(m / (e**epsilon - 1))`` units to make the rows sum to one; mixing with the mean row. Each is
    checked by ``privacy.audit``, the nearest is kept. Theory: docs, "Repair".

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> fixed = repair([[0.8, 0.2], [0.2, 0.8]], PureLDP("log(3)"))
    >>> fixed.audit.verdict, fixed.mechanism.channel.round(3).tolist()
    ('certified', [[0.75, 0.25], [0.25, 0.75]])
    """
    require_notion(privacy)
    values, names = _read(channel, inputs, outputs)
    ties = ties_of(privacy, names.inputs, names.outputs) if ties is None else ties
    values = _clean(values, ties)
    used = np.flatnonzero(values.max(axis=0) >= (SPECK if values.size <= FEW else DUST))
    if 2 * len(used) <= values.shape[1]:
        few = None if ties is None or ties.owner is None else replace(ties, owner=ties.owner[used])
        part = repair(
            values[:, used], privacy, inputs=names.inputs, outputs=[names.outputs[y] for y in used], ties=few or ties
        )
        return _padded(part, values, used, names)
    best, audit = _nearest(values, privacy, ties, names, DUST)
    largest = values.max(axis=0)
    if values.size <= FEW and ((largest >= SPECK) & (largest < DUST)).any():
        finer, _ = _nearest(values, privacy, ties, names, SPECK)
        best = min((found for found in (best, finer) if found is not None), key=lambda found: found.moved, default=None)
    if best is None:
        raise _no_private_channel(privacy, audit)
    return best


def _no_private_channel(privacy: Any, audit: Audit | None) -> PrivacyViolationError:
    """Error for a notion of which every rounding fails the audit."""
    do = f"check the notion {privacy!r}: constant channels must satisfy it"
    if audit is None:
        return PrivacyViolationError("no channel near the one given passes", do=do)
    what = f"no channel near the one given passes: epsilon {audit.epsilon:.6g}, delta {audit.delta:.6g} found"
    return PrivacyViolationError(what, where=f"inputs and output {audit.witness}", do=do)


@dataclass(frozen=True)
class _Names:
    """Labels of a channel, as `Mechanism` has them."""

    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]


def _read(channel: Any, inputs: Sequence[Hashable] | None, outputs: Sequence[Hashable] | None) -> tuple[Float, _Names]:
    """Numbers of a channel and its labels: those given, its own, or positions."""
    values, rows, columns = read_channel(channel, inputs, outputs)
    if values.ndim != 2:
        raise MechanismError(f"an array of shape {values.shape} is not a channel")
    n, m = values.shape
    first = tuple(range(n)) if rows is None else tuple(rows)
    return values, _Names(first, tuple(columns) if columns is not None else first if m == n else tuple(range(m)))


def _nearest(
    values: Float, privacy: Any, ties: Ties | None, names: _Names, least: float
) -> tuple[Repaired | None, Audit | None]:
    """Nearest of the roundings that pass, and the last audit; columns below ``least`` are cut."""
    best: Repaired | None = None
    audit: Audit | None = None
    for family in _families(values, ties, least):
        for counts in family:
            if ties is not None and _breaks(counts, ties):
                continue
            mechanism = Mechanism(counts / TOTAL, names.inputs, names.outputs)
            audit = audit_by(privacy, mechanism)
            if audit.verdict == "certified":
                moved = float(np.maximum(mechanism.channel - values, 0).sum(axis=1).max())
                if best is None or moved < best.moved:
                    best = Repaired(mechanism, audit, moved)
                break
        if best is not None and best.moved <= NEAR:
            break
    return best, audit


def _padded(part: Repaired, values: Float, used: Any, names: _Names) -> Repaired:
    """Give the outputs that are never reported back their columns of zeros: no notion looks at them."""
    channel = np.zeros(values.shape)
    channel[:, used] = part.mechanism.channel
    mechanism = Mechanism(channel, names.inputs, names.outputs)
    moved = float(np.maximum(part.mechanism.channel - values[:, used], 0).sum(axis=1).max())
    return Repaired(mechanism, part.audit, moved)


def _clean(channel: Float, ties: Ties | None) -> Float:
    """Cut what is negative, or not allowed to be positive, and make the rows sum to one."""
    values = np.maximum(channel, 0.0)
    sums = summed(values, axis=1)
    if not ((sums > 0) & (sums < np.inf)).all():
        raise MechanismError(f"an array of shape {values.shape} with empty or infinite rows is not a channel")
    if ties is not None and ties.owner is not None:
        allowed = ties.allowed(values.shape[1])
        values *= allowed
        for x in np.flatnonzero(values.sum(axis=1) <= DUST * sums):
            values[x, int(np.argmax(allowed[x]))] = sums[x]  # it gave nothing that it may
        sums = summed(values, axis=1)
    values /= sums[:, None]
    return values


def _breaks(counts: Float, ties: Ties) -> bool:
    """Cheap exact rejection: whether a pure claim is violated."""
    if ties.delta or not ties.is_complete:
        return False
    high = ties.budget.enclosure()[1]
    extremes = zip(counts.max(axis=0).tolist(), counts.min(axis=0).tolist(), strict=True)
    return any(int(most) * high.denominator > high.numerator * int(least) for most, least in extremes)


def _families(values: Float, ties: Ties | None, least: float) -> Iterator[Iterable[Float]]:
    """Ways to round, each a sequence of integer channels that ends in one that every notion accepts, or in none."""
    swept = values.copy()
    swept[:, values.max(axis=0) < least] = 0.0
    cone = None if ties is None else _Cone.of(ties, swept)
    if cone is not None:
        swept = cone.raised(swept)
    swept /= swept.sum(axis=1, keepdims=True)
    yield [sampling.round_rows(swept).astype(float)]
    # What rows are mixed with, or filled up by: reports that are not one input's own.
    mean = swept.mean(axis=0) * (True if ties is None else ties.shared(swept.shape[1]))
    if not mean.any():
        return
    if ties is not None and ties.delta:
        yield _by_slack(swept, ties.delta, mean)
    if cone is not None:
        yield _by_cones(swept, cone, mean > 0)
    yield _by_mixing(swept, mean / mean.sum())


@dataclass(frozen=True)
class _Cone:
    r"""Column by column: ``v[x] <= v[x'] / ratio + slack`` for tied inputs.

    ``slack`` is a number (entry-wise delta), or has shape (n, n, m): what every pair and output may have of an
    event-wise delta, shared out as the channel at hand does.
    """

    ties: Ties
    slack: Any
    ratio: Float
    growth: float

    @classmethod
    def of(cls, ties: Ties, values: Float) -> _Cone:
        return cls.of_events(ties, values) if ties.is_shared else cls.of_ties(ties)

    @classmethod
    def of_ties(cls, ties: Ties, slack: Any = None) -> _Cone:
        nearest = 1.0 if ties.distance is None else float(ties.distance.min(initial=np.inf))
        growth = float(np.expm1(min(float(ties.budget) * nearest, 600.0))) * (1 - 1e-9)
        return cls(ties, ties.delta if slack is None else slack, ties.ratio(up=True), growth)

    @classmethod
    def of_events(cls, ties: Ties, values: Float) -> _Cone:
        ratio = float(min(ties.budget.enclosure()[0], Fraction(10**300)))
        over = np.maximum(values[:, None, :] - ratio * values[None, :, :], 0.0)
        total = over.sum(axis=2, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            share = np.where(total > ties.delta, over * (ties.delta / total), over)
        return cls.of_ties(ties, share)

    @property
    def is_even(self) -> bool:
        """Whether the slack is one number for all."""
        return np.ndim(self.slack) == 0

    def raised(self, values: Float, total: float = 0.0) -> Float:
        """Least array above ``values`` in the cone: of floats, or of integers where rows sum to ``total``."""
        whole = np.ceil if total else np.asarray
        ratio = self.ratio * (1 + 2.0**-51 if total else 1.0)
        slack = self._whole_slack(total, values.shape[1]) if total else self.slack
        if len(values) == 1:
            return values
        if self.ties.is_compact and self.is_even:
            floor = whole((values[self.ties.caps()].max(axis=0, initial=0.0) - slack) * ratio)
            return np.asarray(np.maximum(values, floor * self.ties.shared(values.shape[1])))
        return self._swept(values.copy(), ratio, slack, whole)

    def _whole_slack(self, total: float, m: int) -> Any:
        """Slack in units of the grid; where the scaling left enough of delta it is rounded up, which keeps zeros."""
        units = self.slack * total
        if self.ties.delta * (TOTAL - total) >= 3 * m:
            return np.ceil(units) + 1
        return np.floor(units * (1 - 2.0**-52))

    def _swept(self, values: Float, ratio: Float, slack: Any, whole: Any) -> Float:
        """Raise row after row, there and back, until nothing moves."""
        first, second = self.ties.pairs()
        ratio = np.broadcast_to(ratio, first.shape)
        shared = self.ties.shared(values.shape[1])
        by_target = np.argsort(second, kind="stable")
        ends = np.searchsorted(second[by_target], np.arange(len(values) + 1))
        order = list(range(len(values)))
        for _ in range(2 * len(values) + 2):
            before = values.copy()
            for x in order:
                pairs = by_target[ends[x] : ends[x + 1]]
                if len(pairs):
                    spare = slack if self.is_even else slack[first[pairs], x]
                    floor = whole((values[first[pairs]] - spare) * ratio[pairs, None]).max(axis=0)
                    np.maximum(values[x], floor * shared, out=values[x])
            order.reverse()
            if np.array_equal(before, values):
                break
        return values


def _by_slack(values: Float, delta: float, mean: Float) -> Iterator[Float]:
    """Scale down by a few units over ``delta``, round every entry up (zeros stay), and fill one column in all rows.

    The rounding costs a pair at most ``2 m`` units of excess, the scaling frees ``delta`` times the share.
    """
    share = 4 * values.shape[1] / delta
    column = int(np.argmax(np.where(mean > 0, values.min(axis=0), -1.0)))
    while share < TOTAL / 8:
        counts = np.ceil(values * (TOTAL - np.ceil(share) - values.shape[1]))
        counts[:, column] += TOTAL - counts.sum(axis=1)
        yield counts
        share *= 4


def _by_cones(values: Float, cone: _Cone, filled: Any) -> Iterator[Float]:
    r"""Keep every column in its cone exactly, and fill the rows up.

    The values are scaled down by a small share, floored to the grid and raised back into the cone. A constant
    ``e[y]`` added to a column leaves room for any vector with entries up to ``(exp(epsilon d) - 1) e[y]`` plus the
    part of an even slack that the scaling freed: that room takes what the rows lack.
    """
    values = cone.raised(values)
    values = values / values.sum(axis=1).max()
    center = values.mean(axis=0) * filled
    center /= center.sum()
    even = float(cone.slack) if cone.is_even else 0.0
    spare = cone.growth + even * np.count_nonzero(center)
    lack = TOTAL * float(np.max(1 - values.sum(axis=1))) + 4 * values.shape[1]
    share, reserve = 2 * lack / spare + values.shape[1] if spare > lack / TOTAL else np.inf, lack / 2
    while share < TOTAL / 8:
        counts = _fill(values, center, share, reserve, even, cone)
        if counts is not None:
            yield counts
        share, reserve = 2 * share, 2 * reserve


def _fill(values: Float, center: Float, share: float, reserve: float, even: float, cone: _Cone) -> Float | None:
    kept = TOTAL - np.ceil(2 * share) - np.ceil(min(max(reserve, values.shape[1]), TOTAL / 8))
    constant = np.floor(center * share)
    counts = cone.raised(np.floor(values * kept) + constant, kept)
    lacking = TOTAL - (counts + constant).sum(axis=1)
    room = np.floor(cone.growth * constant + max(even * (TOTAL - kept) * (1 - 1e-9) - 3, 0.0))
    room = np.clip(room, 0.0, TOTAL) * (center > 0)
    if lacking.min() < 0 or lacking.max() > room.sum():
        return None
    order = np.argsort(-room, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(room[order])[:-1]])
    counts[:, order] += np.clip(lacking[:, None] - before, 0.0, room[order])
    return np.asarray(counts + constant)


def _by_mixing(values: Float, mean: Float) -> Iterator[Float]:
    """``(1 - w) P + w mean`` for growing ``w``, rounded up entry by entry; the last one is constant."""
    m = values.shape[1]
    heaviest = int(np.argmax(mean))
    for power in (np.inf, *range(52, 0, -1)):
        weight = 2.0**-power
        mixed = (1 - weight) * values + weight * mean
        counts = np.ceil(mixed / mixed.sum(axis=1, keepdims=True) * (TOTAL - 2 * m))
        counts[:, heaviest] += TOTAL - counts.sum(axis=1)
        yield counts
    constant = sampling.round_rows(mean[None] / mean.sum())
    yield np.repeat(constant, len(values), axis=0)
