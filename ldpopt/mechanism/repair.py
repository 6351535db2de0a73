r"""From any float channel to an exactly private mechanism on the grid of ``2**-53``.

Solvers are accurate to an absolute tolerance, but privacy bounds ratios. Repair moves a channel, as little as possible,
to integer masses that satisfy the notion for the real ``e**epsilon``; the notion's audit decides.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.auditing.audits import Audit
from ldpopt.errors import MechanismError, PrivacyViolationError
from ldpopt.foundation.numbers import Float, summed
from ldpopt.mechanism import sampling
from ldpopt.mechanism.channels import read_channel
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.raising import raised
from ldpopt.privacy import Ties
from ldpopt.privacy.notion import require_notion

MAX_NOISE = 1e-12
"""A column whose largest entry is below this is a solver's rounding error: its mass moves to the other outputs."""

SMALL_CHANNEL_MAX_NOISE, SMALL_CHANNEL_ENTRIES = 2.0**-50, 10_000
"""Channels of at most this many entries are also repaired with the smaller threshold; the nearer result is kept."""

ACCEPTED_MOVE = 1e-12
"""If a repair moves at most this mass, no other method is tried."""

LARGE_ACCEPTED_MOVE = 1e-6
"""The same for larger channels. On 72 channels of 120 and 200 inputs with the errors of solvers, mixing moved less than
the cone repair did on 8, at best half as much (1e-9 in place of 2e-9), in ten times its time. The audit is the same,
and the certificate's gap counts all that moved."""

SAMPLED = 64
"""Number of outputs that are compared first: a rounding that violates the claim does so at nearly all outputs."""

SURELY = 1e-9
"""Relative excess of an entry over its bound from which a rounding is rejected without an audit."""

ROW_TOTAL = float(1 << sampling.BITS)
"""Sum of a row's integer masses; float64 holds all integers up to this exactly, as the arrays below require."""


@dataclass(frozen=True)
class Repaired:
    """A certified mechanism and its distance from the given channel.

    Attributes
    ----------
    mechanism : Mechanism
        Its channel equals its integer masses over ``2**53``, float by float.
    audit : Audit
        The notion's verdict, ``"certified"``.
    moved : float
        Largest probability mass that moved in a row (total variation), from forbidden reports too.
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
        Finite; negative entries become 0, rows are normalized.
    privacy : privacy notion
        The notion to satisfy.
    inputs, outputs : sequence of hashable, optional
        Labels; default: those of a labelled channel, else 0, 1, 2, ..., the outputs are the inputs if ``m == n``.
    ties : Ties, optional
        The notion's ties, if they are known; default: computed from the notion.

    Returns
    -------
    Repaired
        The mechanism, its audit, and the distance moved.

    Raises
    ------
    MechanismError
        If a row is empty or not finite.
    PrivacyViolationError
        If no rounding passes the audit, which happens for a notion that even constant channels violate.

    Notes
    -----
    Four methods are tried in order, until one moves almost nothing: plain rounding; using a little of a positive delta;
    for notions with `Ties` the cone repair, which raises every entry to ``e**-epsilon d`` times its column and uses
    ``O(m / (e**epsilon - 1))`` units of constant mass to make the rows sum to one; mixing with the mean row.
    ``privacy.audit`` checks each result; the nearest private one is returned. Theory: docs, "Repair".

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> fixed = repair([[0.8, 0.2], [0.2, 0.8]], PureLDP("log(3)"))
    >>> fixed.audit.verdict, fixed.mechanism.channel.round(3).tolist()
    ('certified', [[0.75, 0.25], [0.25, 0.75]])
    """
    require_notion(privacy)
    values, labels = _read(channel, inputs, outputs)
    ties = privacy.ties(labels.inputs, labels.outputs) if ties is None else ties
    given = _normalize(values, None)
    values = _normalize(values, ties)
    used = np.flatnonzero(
        values.max(axis=0) >= (SMALL_CHANNEL_MAX_NOISE if values.size <= SMALL_CHANNEL_ENTRIES else MAX_NOISE)
    )
    if 2 * len(used) <= values.shape[1]:
        reduced_ties = None if ties is None or ties.owner is None else replace(ties, owner=ties.owner[used])
        reduced = repair(
            values[:, used],
            privacy,
            inputs=labels.inputs,
            outputs=[labels.outputs[y] for y in used],
            ties=reduced_ties or ties,
        )
        return _padded(reduced, given, used, labels)
    best, audit = _nearest(values, privacy, ties, labels, MAX_NOISE)
    largest = values.max(axis=0)
    if values.size <= SMALL_CHANNEL_ENTRIES and ((largest >= SMALL_CHANNEL_MAX_NOISE) & (largest < MAX_NOISE)).any():
        candidate, _ = _nearest(values, privacy, ties, labels, SMALL_CHANNEL_MAX_NOISE)
        best = min(
            (found for found in (best, candidate) if found is not None), key=lambda found: found.moved, default=None
        )
    if best is None:
        raise _no_private_channel(privacy, audit)
    return best if ties is None or ties.owner is None else replace(best, moved=_moved(best.mechanism, given))


def _no_private_channel(privacy: Any, audit: Audit | None) -> PrivacyViolationError:
    """Return the error for a notion whose audit rejects every rounding."""
    do = f"check the notion {privacy!r}: constant channels must satisfy it"
    if audit is None:
        return PrivacyViolationError("no channel near the given one is private", do=do)
    what = f"no channel near the given one is private: epsilon {audit.epsilon:.6g}, delta {audit.delta:.6g} found"
    return PrivacyViolationError(what, where=f"inputs and output {audit.witness}", do=do)


@dataclass(frozen=True)
class _Labels:
    """Labels of a channel, as `Mechanism` has them."""

    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]


def _read(channel: Any, inputs: Sequence[Hashable] | None, outputs: Sequence[Hashable] | None) -> tuple[Float, _Labels]:
    """Return the numbers of a channel and its labels: those given, its own, or positions."""
    values, rows, columns = read_channel(channel, inputs, outputs)
    if values.ndim != 2:
        raise MechanismError(f"an array of shape {values.shape} is not a channel")
    n, m = values.shape
    first = tuple(range(n)) if rows is None else tuple(rows)
    return values, _Labels(first, tuple(columns) if columns is not None else first if m == n else tuple(range(m)))


def _nearest(
    values: Float, privacy: Any, ties: Ties | None, labels: _Labels, threshold: float
) -> tuple[Repaired | None, Audit | None]:
    """Return the nearest rounding that passes the audit, and the last audit; columns below ``threshold`` become 0."""
    best: Repaired | None = None
    audit: Audit | None = None
    accepted = ACCEPTED_MOVE if values.size <= SMALL_CHANNEL_ENTRIES else LARGE_ACCEPTED_MOVE
    for family in _rounding_families(values, ties, threshold):
        for counts in family:
            if ties is not None and _is_rejected(counts, ties):
                continue
            mechanism = Mechanism(counts / ROW_TOTAL, labels.inputs, labels.outputs)
            audit = privacy.audit(mechanism)
            if audit.verdict == "certified":
                moved = _moved(mechanism, values)
                if best is None or moved < best.moved:
                    best = Repaired(mechanism, audit, moved)
                break
        if best is not None and best.moved <= accepted:
            break
    return best, audit


def _moved(mechanism: Mechanism, values: Float) -> float:
    """Return the largest probability mass that moved in a row."""
    return float(np.maximum(mechanism.channel - values, 0).sum(axis=1).max())


def _padded(reduced: Repaired, values: Float, used: Any, labels: _Labels) -> Repaired:
    """Add the columns of zeros for the outputs that are never reported; ``values`` is the channel given."""
    channel = np.zeros(values.shape)
    channel[:, used] = reduced.mechanism.channel
    mechanism = Mechanism(channel, labels.inputs, labels.outputs)
    return Repaired(mechanism, reduced.audit, _moved(mechanism, values))


def _normalize(channel: Float, ties: Ties | None) -> Float:
    """Set negative and forbidden entries to 0, and make the rows sum to one."""
    values = np.maximum(channel, 0.0)
    sums = summed(values, axis=1)
    if not ((sums > 0) & (sums < np.inf)).all():
        raise MechanismError(f"an array of shape {values.shape} with empty or infinite rows is not a channel")
    if ties is not None and ties.owner is not None:
        allowed = ties.allowed(values.shape[1])
        values *= allowed
        for x in np.flatnonzero(values.sum(axis=1) <= MAX_NOISE * sums):
            values[x, int(np.argmax(allowed[x]))] = sums[x]  # all its reports are forbidden
        sums = summed(values, axis=1)
    values /= sums[:, None]
    return values


def _is_rejected(counts: Float, ties: Ties) -> bool:
    """Whether the counts violate a claim without delta by so much that no audit is needed."""
    if ties.delta:
        return False
    if ties.owner is None and not ties.is_compact:  # raising is exact up to roundoff
        cone, step = _Cone.of_ties(ties), -(-counts.shape[1] // SAMPLED)
        counts = np.asarray(counts, float)
        samples = (counts[:, ::step], counts) if step > 1 else (counts,)
        return any(bool((cone.raised(some) > some * (1 + SURELY)).any()) for some in samples)
    if not ties.is_complete:
        return False
    high = ties.budget.enclosure()[1]
    extremes = zip(counts.max(axis=0).tolist(), counts.min(axis=0).tolist(), strict=True)
    return any(int(most) * high.denominator > high.numerator * int(threshold) for most, threshold in extremes)


def _rounding_families(values: Float, ties: Ties | None, threshold: float) -> Iterator[Iterable[Float]]:
    """Yield methods to round; each is a sequence of integer channels, every one more private than the one before."""
    cleaned = values.copy()
    cleaned[:, values.max(axis=0) < threshold] = 0.0
    cone = None if ties is None else _Cone.of(ties, cleaned)
    if cone is not None:
        cleaned = cone.raised(cleaned)
    cleaned /= cleaned.sum(axis=1, keepdims=True)
    yield [sampling.round_rows(cleaned).astype(float)]
    # The row that is mixed in or fills up the others: it has only outputs without an owner.
    mean = cleaned.mean(axis=0) * (True if ties is None else ties.tied_outputs(cleaned.shape[1]))
    if not mean.any():
        return
    if ties is not None and ties.delta:
        yield _by_slack(cleaned, ties.delta, mean)
    if cone is not None:
        yield _by_cones(cleaned, cone, mean > 0)
    yield _by_mixing(cleaned, mean / mean.sum())


@dataclass(frozen=True)
class _Cone:
    r"""Column by column: ``v[x] <= v[x'] / ratio + slack`` for tied inputs.

    ``slack`` is a number (entry-wise delta), or has shape (n, n, m): the share of an event-wise delta for every pair
    and output, in proportion to the excesses of the given channel.
    """

    ties: Ties
    slack: Any
    ratio: Float
    room_ratio: float

    @classmethod
    def of(cls, ties: Ties, values: Float) -> _Cone:
        return cls.of_events(ties, values) if ties.is_shared else cls.of_ties(ties)

    @classmethod
    def of_ties(cls, ties: Ties, slack: Any = None) -> _Cone:
        nearest = 1.0 if ties.distance is None else float(ties.distance.min(initial=np.inf))
        room_ratio = float(np.expm1(min(float(ties.budget) * nearest, 600.0))) * (1 - 1e-9)
        return cls(ties, ties.delta if slack is None else slack, ties.ratio(up=True), room_ratio)

    @classmethod
    def of_events(cls, ties: Ties, values: Float) -> _Cone:
        ratio = float(min(ties.budget.enclosure()[0], Fraction(10**300)))
        over = np.maximum(values[:, None, :] - ratio * values[None, :, :], 0.0)
        total = over.sum(axis=2, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            share = np.where(total > ties.delta, over * (ties.delta / total), over)
        return cls.of_ties(ties, share)

    @property
    def is_uniform(self) -> bool:
        """Whether the slack is one number."""
        return np.ndim(self.slack) == 0

    def raised(self, values: Float, total: float = 0.0) -> Float:
        """Return the least array above ``values`` in the cone, of floats, or of integers if rows sum to ``total``."""
        round_up = np.ceil if total else np.asarray
        ratio = self.ratio * (1 + 2.0**-51 if total else 1.0)
        slack = self._integer_slack(total, values.shape[1]) if total else self.slack
        if len(values) == 1:
            return values
        if self.ties.is_compact and self.is_uniform:
            floor = round_up((values[self.ties.capped_inputs()].max(axis=0, initial=0.0) - slack) * ratio)
            return np.asarray(np.maximum(values, floor * self.ties.tied_outputs(values.shape[1])))
        return raised(values, self.ties, ratio, slack, is_whole=bool(total))

    def _integer_slack(self, total: float, m: int) -> Any:
        """Return the slack in units of the grid; rounded up, which keeps zeros, if enough of delta is left."""
        units = self.slack * total
        if self.ties.delta * (ROW_TOTAL - total) >= 3 * m:
            return np.ceil(units) + 1
        return np.floor(units * (1 - 2.0**-52))


def _by_slack(values: Float, delta: float, mean: Float) -> Iterator[Float]:
    """Scale down by a few units over ``delta``, round up every positive entry, and fill up the rows in one column.

    The rounding adds at most ``2 m`` units of excess to a pair; the scaling frees ``delta`` times the share.
    """
    share = 4 * values.shape[1] / delta
    column = int(np.argmax(np.where(mean > 0, values.min(axis=0), -1.0)))
    while share < ROW_TOTAL / 8:
        counts = np.ceil(values * (ROW_TOTAL - np.ceil(share) - values.shape[1]))
        counts[:, column] += ROW_TOTAL - counts.sum(axis=1)
        yield counts
        share *= 4


def _by_cones(values: Float, cone: _Cone, filled: Any) -> Iterator[Float]:
    r"""Keep every column in its cone exactly, and fill up the rows.

    The values are scaled down by a small share, floored to the grid and raised back into the cone. A constant
    ``e[y]`` added to a column leaves room for any vector with entries up to ``(exp(epsilon d) - 1) e[y]``, plus the
    part of a uniform slack that the scaling freed. The missing mass of the rows goes there.
    """
    values = cone.raised(values)
    values = values / values.sum(axis=1).max()
    center = values.mean(axis=0) * filled
    center /= center.sum()
    uniform_slack = float(cone.slack) if cone.is_uniform else 0.0
    room = cone.room_ratio + uniform_slack * np.count_nonzero(center)
    missing_mass = ROW_TOTAL * float(np.max(1 - values.sum(axis=1))) + 4 * values.shape[1]
    share, reserve = (
        2 * missing_mass / room + values.shape[1] if room > missing_mass / ROW_TOTAL else np.inf,
        missing_mass / 2,
    )
    while share < ROW_TOTAL / 8:
        counts = _fill(values, center, share, reserve, uniform_slack, cone)
        if counts is not None:
            yield counts
        share, reserve = 2 * share, 2 * reserve


def _fill(
    values: Float, center: Float, share: float, reserve: float, uniform_slack: float, cone: _Cone
) -> Float | None:
    kept = ROW_TOTAL - np.ceil(2 * share) - np.ceil(min(max(reserve, values.shape[1]), ROW_TOTAL / 8))
    constant = np.floor(center * share)
    counts = cone.raised(np.floor(values * kept) + constant, kept)
    missing = ROW_TOTAL - (counts + constant).sum(axis=1)
    room = np.floor(cone.room_ratio * constant + max(uniform_slack * (ROW_TOTAL - kept) * (1 - 1e-9) - 3, 0.0))
    room = np.clip(room, 0.0, ROW_TOTAL) * (center > 0)
    if missing.min() < 0 or missing.max() > room.sum():
        return None
    order = np.argsort(-room, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(room[order])[:-1]])
    counts[:, order] += np.clip(missing[:, None] - before, 0.0, room[order])
    return np.asarray(counts + constant)


def _by_mixing(values: Float, mean: Float) -> Iterator[Float]:
    """``(1 - w) P + w mean`` for increasing ``w``, rounded up entry by entry; the last channel is constant."""
    m = values.shape[1]
    heaviest = int(np.argmax(mean))
    for power in (np.inf, *range(52, 0, -1)):
        weight = 2.0**-power
        mixed = (1 - weight) * values + weight * mean
        counts = np.ceil(mixed / mixed.sum(axis=1, keepdims=True) * (ROW_TOTAL - 2 * m))
        counts[:, heaviest] += ROW_TOTAL - counts.sum(axis=1)
        yield counts
    constant = sampling.round_rows(mean[None] / mean.sum())
    yield np.repeat(constant, len(values), axis=0)
