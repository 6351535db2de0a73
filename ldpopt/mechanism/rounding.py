"""From a float channel to integer masses on the grid of ``2**-53`` that satisfy a notion exactly,
which is audited.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.auditing.audits import Audit
from ldpopt.auditing.exact_matrices import require_no_nan
from ldpopt.errors import MechanismError, PrivacyViolationError
from ldpopt.foundation.numbers import Float, row_blocks, summed
from ldpopt.foundation.threads import ROWS, in_threads
from ldpopt.mechanism import sampling
from ldpopt.mechanism.constants import repaired_by_constants
from ldpopt.mechanism.plain_rounding import (
    ROW_TOTAL,
    TOTAL,
    by_extremes,
    factor_below,
    in_float,
)
from ldpopt.native import raise_columns, raise_to_products
from ldpopt.privacy import Comparisons, Ties

# number of entries, over all pairs, from which whole rows may be compared by max-products
PRODUCT_ENTRIES = 1e5
# number of columns that are raised together: few enough to fit in the processor's cache
COLUMNS = 64
DENSE_SHARE = 0.02  # share of all pairs above which whole rows are then compared
DENSE_COLUMNS = 512  # number of columns that are raised together by matrix products
# a column whose largest entry is below this is a rounding error: its mass moves to others
MAX_NOISE = 1e-12
# Channels of at most this many entries are also repaired with the smaller threshold; the nearer
# result is kept
SMALL_CHANNEL_MAX_NOISE = 2.0**-50
SMALL_CHANNEL_ENTRIES = 10_000
ACCEPTED_MOVE = 1e-12  # if a repair moves at most this mass, no other method is tried
# The same for larger channels. On 72 channels of 120 and 200 inputs with the errors of solvers,
# mixing moved less than the cone repair did on 8, at best half as much (1e-9 in place of 2e-9), in
# ten times its time. The audit is the same, and the certificate's gap counts all that moved.
LARGE_ACCEPTED_MOVE = 1e-6
# number of outputs compared first: a rounding that violates the claim does so at nearly all outputs
SAMPLED = 64
# Relative excess of an entry over its bound, per input, from which a rounding is rejected without
# an audit: raising multiplies at most once for every input, each time with an error of at most
# 2**-53
SURELY = 2.0**-50
REJECTED_ENTRIES = 1 << 22  # number of entries that are compared with their bounds at once
# if the best rounding moved little, another is only audited if it moves less than this share
AUDITED_SHARE = 0.9
ChannelAudit = Callable[[Float], Audit]
"""Audits a channel of masses over ``2**53``."""


@dataclass(frozen=True)
class Rounded:
    """A channel of masses over ``2**53`` that passed its audit, and the largest mass that was moved
    within a row.
    """

    channel: Float  # (n, m)
    audit: Audit
    moved: float


def round_private(
    original: Float,
    ties: Ties | None,
    audit: ChannelAudit,
    comparisons: Comparisons | None = None,
    part: Comparisons | None = None,
) -> tuple[Rounded | None, Audit | None]:
    """The nearest rounding of a channel, (n, m), that passes the audit, and the last audit.

    Notions without ties are rounded by their comparisons, if they have any. If these are only a
    ``part`` of the definition, what they repair is mixed until the audit passes.
    """
    if ties is None and comparisons is not None:
        return _round_by_constants(original, comparisons, audit)
    if ties is None and part is not None:
        return _round_by_part(original, part, audit)
    values = _normalize(original, ties)
    normalized = values if ties is None or ties.owner is None else _normalize(original, None)
    noise = SMALL_CHANNEL_MAX_NOISE if values.size <= SMALL_CHANNEL_ENTRIES else MAX_NOISE
    largest = values.max(axis=0)
    used = (largest >= noise).nonzero()[0]
    if 2 * len(used) <= values.shape[1]:
        if ties is not None and ties.owner is not None:
            ties = replace(ties, owner=ties.owner[used])
        values = _normalize(values[:, used], ties)
        largest = values.max(axis=0)

    def with_unused(channel: Float) -> Float:
        if channel.shape == original.shape:
            return channel
        widened = np.zeros(original.shape)
        widened[:, used] = channel
        return widened

    def decide(channel: Float) -> Audit:
        return audit(with_unused(channel))

    is_dust = (largest >= noise) & (largest < MAX_NOISE)
    has_dust = bool(np.count_nonzero(is_dust))
    if has_dust and ties is not None and ties.is_plain:
        # a column that is private by itself may be meant, another one is a solver's error
        is_error = is_dust & (largest > factor_below(ties) * values.min(axis=0))
        values = _normalize(np.where(is_error, 0.0, values), ties)
        has_dust = False
        best, last = _nearest(values, ties, decide, noise)
    else:
        best, last = _nearest(values, ties, decide, MAX_NOISE)
    if has_dust:
        other, _ = _nearest(values, ties, decide, noise)
        best = min(
            (rounded for rounded in (best, other) if rounded is not None),
            key=lambda rounded: rounded.moved,
            default=None,
        )
    if best is None:
        return None, last
    if values is normalized:
        return best, last
    channel = with_unused(best.channel)
    return Rounded(channel, best.audit, largest_move(channel, normalized)), last


def _round_by_constants(
    original: Float, comparisons: Comparisons, audit: ChannelAudit
) -> tuple[Rounded | None, Audit | None]:
    """What `round_private` returns, by one exact repair."""
    normalized = _normalize(original, None)
    values = _normalize(original, comparisons)
    # a column of rounding errors: a constant would raise it to the size of the errors everywhere
    dust = values.max(axis=0) < MAX_NOISE
    if not dust.all():
        values = _normalize(np.where(dust, 0.0, values), comparisons)
    channel = repaired_by_constants(values, comparisons) / ROW_TOTAL
    decided = audit(channel)
    if decided.verdict != "certified":
        return None, decided
    return Rounded(channel, decided, largest_move(channel, normalized)), decided


def _round_by_part(
    original: Float, part: Comparisons, audit: ChannelAudit
) -> tuple[Rounded | None, Audit | None]:
    """What `round_private` returns, for comparisons that are not the whole notion.

    A mixture of the repaired channel with equal rows over its compared outputs satisfies the
    comparisons, and the more so the rest of the notion, the more of it is equal.
    """
    normalized = _normalize(original, None)
    values = _normalize(original, part)
    values[:, values.max(axis=0) < MAX_NOISE] = 0.0
    values = repaired_by_constants(_normalize(values, part), part) / ROW_TOTAL
    mean = values.mean(axis=0) * part.tied_outputs(values.shape[1])
    last = audit(values)
    if last.verdict == "certified":
        return Rounded(values, last, largest_move(values, normalized)), last
    for counts in by_mixing(values, mean / mean.sum()) if mean.any() else ():
        # a rounding of each mixture breaks comparisons by less than a constant repairs
        channel = repaired_by_constants(counts / ROW_TOTAL, part) / ROW_TOTAL
        last = audit(channel)
        if last.verdict == "certified":
            return Rounded(channel, last, largest_move(channel, normalized)), last
    return None, last


def no_private_channel(privacy: Any, audit: Audit | None) -> PrivacyViolationError:
    """Error for a notion whose audit rejects every rounding."""
    problem = "no channel near the given one is private"
    do = f"check the notion {privacy!r}: constant channels satisfy it"
    where = ""
    if audit is not None:
        problem += f": epsilon {audit.epsilon:.6g}, delta {audit.delta:.6g} found"
        where = f"inputs and output {audit.witness}"
    return PrivacyViolationError(problem, code="no-private-channel", where=where, do=do)


def largest_move(channel: Float, original: Float) -> float:
    """The largest probability mass by which a row differs from the given one (total variation)."""
    blocks = row_blocks(channel)
    return max(
        float(np.maximum(channel[rows] - original[rows], 0).sum(axis=1).max()) for rows in blocks
    )


def _nearest(
    values: Float, ties: Ties | None, decide: ChannelAudit, threshold: float
) -> tuple[Rounded | None, Audit | None]:
    """Return the nearest rounding that passes the audit, and the last audit; columns below
    ``threshold`` become 0.
    """
    best: Rounded | None = None
    audit: Audit | None = None
    accepted = ACCEPTED_MOVE if values.size <= SMALL_CHANNEL_ENTRIES else LARGE_ACCEPTED_MOVE
    for family in _rounding_families(values, ties, threshold):
        for counts in family:
            channel = np.ascontiguousarray(counts, float)  # row by row: the audit reads rows
            # in place, as a channel may be large; counts are not needed any more
            channel /= ROW_TOTAL
            moved = largest_move(channel, values)
            if (
                best is not None
                and best.moved <= LARGE_ACCEPTED_MOVE
                and moved >= AUDITED_SHARE * best.moved
            ):
                break  # the later ones of a family are more private, and move more
            if ties is not None and is_rejected(channel, ties):
                continue
            audit = decide(channel)
            if audit.verdict == "certified":
                if best is None or moved < best.moved:
                    best = Rounded(channel, audit, moved)
                break
        if best is not None and best.moved <= accepted:
            break
    return best, audit


def _normalize(channel: Float, ties: Ties | Comparisons | None) -> Float:
    """Set negative and forbidden entries to 0, and make the rows sum to one."""
    values = np.maximum(channel, 0.0)
    sums = summed(values, axis=1)
    if np.count_nonzero((sums > 0) & (sums < np.inf)) < len(sums):
        require_no_nan(values)
        problem = f"an array of shape {values.shape} with empty or infinite rows is not a channel"
        do = "give every row at least one positive, finite entry"
        raise MechanismError(problem, code="empty-rows", do=do)
    if ties is not None and ties.owner is not None:
        allowed = ties.allowed(values.shape[1])
        values *= allowed
        for x in np.flatnonzero(values.sum(axis=1) <= MAX_NOISE * sums):
            values[x, int(np.argmax(allowed[x]))] = sums[x]  # all its reports are forbidden
        sums = summed(values, axis=1)
    values /= sums[:, None]
    return values


def is_rejected(channel: Float, ties: Ties) -> bool:
    """Whether masses over ``2**53`` violate a claim without delta by so much that no audit is
    needed.
    """
    if ties.delta:
        return False
    if ties.owner is None and not ties.is_compact:  # raising is exact up to roundoff
        cone = _Cone.of_ties(ties)
        surely = 1 + len(channel) * SURELY
        step = -(-channel.shape[1] // SAMPLED)
        parts = -(-channel.size // REJECTED_ENTRIES)
        samples = np.array_split(channel, parts, axis=1)
        samples = [channel[:, ::step], *samples] if step > 1 else samples
        return any(bool((cone.raised(some) > some * surely).any()) for some in samples)
    if not ties.is_complete:
        return False
    high = ties.budget.enclosure()[1]
    most = channel.max(axis=0)
    least = channel.min(axis=0)
    near = most > in_float(high) * (1 - SURELY) * least  # others surely hold
    ends = ((ROW_TOTAL * part[near]).astype(np.int64).tolist() for part in (most, least))
    return any(u * high.denominator > high.numerator * v for u, v in zip(*ends, strict=True))


def _rounding_families(
    values: Float, ties: Ties | None, threshold: float
) -> Iterator[Iterable[Float]]:
    """Yield methods to round; each is a sequence of integer channels, every one more private than
    the one before.
    """
    cleaned = values.copy()
    if np.count_nonzero(is_small := values.max(axis=0) < threshold):
        cleaned[:, is_small] = 0.0
    if ties is not None and ties.is_plain:
        yield by_extremes(cleaned / cleaned.sum(axis=1, keepdims=True), ties)
    cone = None if ties is None else _Cone.of(ties, cleaned)
    if cone is not None:
        cleaned = cone.raised(cleaned)
    cleaned /= cleaned.sum(axis=1, keepdims=True)
    yield [sampling.round_rows(cleaned).astype(float)]
    # The row that is mixed in or fills up the others: it has only outputs without an owner.
    mean = cleaned.mean(axis=0) * (True if ties is None else ties.tied_outputs(cleaned.shape[1]))
    if not mean.any():
        return
    if cone is not None:
        yield _by_cones(cleaned, cone, mean > 0)
    yield by_mixing(cleaned, mean / mean.sum())


@dataclass(frozen=True)
class _Cone:
    r"""Column by column: ``v[x] <= v[x'] / ratio + slack`` for tied inputs."""

    ties: Ties
    # A number (entry-wise delta), or (n, n, m): the share of an event-wise delta, in proportion to
    # the excesses
    slack: Any
    room_ratio: float

    @classmethod
    def of_ties(cls, ties: Ties, slack: Any = None) -> "_Cone":
        room_ratio = float(np.expm1(min(float(ties.budget) * ties.distance_range[0], 600.0))) * (
            1 - 1e-9
        )
        return cls(ties, ties.delta if slack is None else slack, room_ratio)

    @classmethod
    def of(cls, ties: Ties, values: Float) -> "_Cone":
        if not ties.is_shared:
            return cls.of_ties(ties)
        ratio = in_float(ties.budget.enclosure()[0])
        over = np.maximum(values[:, None, :] - ratio * values[None, :, :], 0.0)
        total = over.sum(axis=2, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            share = np.where(total > ties.delta, over * (ties.delta / total), over)
        return cls.of_ties(ties, share)

    @cached_property
    def ratio(self) -> Float:
        """The ratio of each pair."""
        return self.ties.ratio(up=True)

    @cached_property
    def ratio_table(self) -> Float:
        """The ratio of each pair, shape (n, n), at ``[x', x]``."""
        return self.ties.ratio_table(up=True)

    @property
    def is_uniform(self) -> bool:
        """Whether the slack is one number."""
        return np.ndim(self.slack) == 0

    def raised(self, values: Float, total: float = 0.0) -> Float:
        """Return the least array above ``values`` in the cone, of floats, or of integers if rows
        sum to ``total``.
        """
        round_up = np.ceil if total else np.asarray
        factor = 1 + 2.0**-51 if total else 1.0  # for the rounding of a product
        slack = self.integer_slack(total, values.shape[1]) if total else self.slack
        if len(values) == 1:
            return values
        if self.ties.is_compact and self.is_uniform:
            floor = round_up(
                (values[self.ties.capped_inputs()].max(axis=0, initial=0.0) - slack)
                * (self.ratio * factor)
            )
            return np.asarray(np.maximum(values, floor * self.ties.tied_outputs(values.shape[1])))
        entries = self.ties.number * values.shape[1]
        is_dense = self.ties.number >= DENSE_SHARE * self.ties.n**2
        if self.is_uniform and not slack and is_dense and entries >= PRODUCT_ENTRIES:
            return _by_products(values, self.ties, self.ratio_table, factor, is_whole=bool(total))
        return raised(values, self.ties, self.ratio * factor, slack, is_whole=bool(total))

    def integer_slack(self, total: float, m: int) -> Any:
        """Return the slack in units of the grid; rounded up, which keeps zeros, if enough of delta
        is left.
        """
        units = self.slack * total
        if self.ties.delta * (ROW_TOTAL - total) >= 3 * m:
            return np.ceil(units) + 1
        return np.floor(units * (1 - 2.0**-52))


def _by_cones(values: Float, cone: _Cone, filled: Any) -> Iterator[Float]:
    """Keep every column in its cone exactly, and fill up the rows."""
    # Scaled down a little, floored to the grid and raised back. A constant e[y] added to a column
    # leaves room for any vector with entries up to (exp(epsilon d) - 1) e[y], plus the part of a
    # uniform slack that the scaling freed.
    values = cone.raised(values)
    values = values / values.sum(axis=1).max()
    center = values.mean(axis=0) * filled
    center /= center.sum()
    uniform_slack = float(cone.slack) if cone.is_uniform else 0.0
    room = cone.room_ratio + uniform_slack * np.count_nonzero(center)
    missing_mass = ROW_TOTAL * float(np.max(1 - values.sum(axis=1))) + 4 * values.shape[1]
    reserve = missing_mass / 2
    share = 2 * missing_mass / room + values.shape[1] if room > missing_mass / ROW_TOTAL else np.inf
    while share < ROW_TOTAL / 8:
        if (counts := filled_up(values, center, share, reserve, uniform_slack, cone)) is not None:
            yield counts
        share, reserve = 2 * share, 2 * reserve


def filled_up(
    values: Float, center: Float, share: float, reserve: float, slack: float, cone: _Cone
) -> Float | None:
    """Integer rows of `_by_cones` for one share of the center; None if they cannot be filled up."""
    kept = (
        ROW_TOTAL - np.ceil(2 * share) - np.ceil(min(max(reserve, values.shape[1]), ROW_TOTAL / 8))
    )
    constant = np.floor(center * share)
    counts = cone.raised(np.floor(values * kept) + constant, kept)
    if (counts + constant).sum(axis=1).max() > ROW_TOTAL:
        return None
    # in integers: a sum of floats that is one more than the total is rounded to it
    missing = TOTAL - (counts + constant).astype(np.int64).sum(axis=1)
    room = np.floor(
        cone.room_ratio * constant + max(slack * (ROW_TOTAL - kept) * (1 - 1e-9) - 3, 0.0)
    )
    room = np.clip(room, 0.0, ROW_TOTAL) * (center > 0)
    if missing.min() < 0 or missing.max() > room.sum():
        return None
    order = np.argsort(-room, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(room[order])[:-1]])
    counts[:, order] += np.clip(missing[:, None] - before, 0.0, room[order])
    return np.asarray(counts + constant)


def by_mixing(values: Float, mean: Float) -> Iterator[Float]:
    """``(1 - w) P + w mean`` for increasing ``w``, rounded up entry by entry; the last channel is
    constant.
    """
    m = values.shape[1]
    heaviest = int(np.argmax(mean))
    for power in (np.inf, *range(52, 0, -1)):
        weight = 2.0**-power
        mixed = (1 - weight) * values + weight * mean
        counts = np.ceil(mixed / mixed.sum(axis=1, keepdims=True) * (ROW_TOTAL - 2 * m))
        counts[:, heaviest] += ROW_TOTAL - counts.sum(axis=1)
        yield counts
    yield np.repeat(sampling.round_rows(mean[None] / mean.sum()), len(values), axis=0)


def raised(values: Float, ties: Ties, ratio: Float, slack: Any, *, is_whole: bool) -> Float:
    r"""Raise entries until every pair holds: a sweep over the rows in order, then in reverse order,
    and so on.

    .. math:: v_{x'} \ge r_{x x'} (v_x - s) \quad \text{for every pair } (x, x')

    ``values`` are (n, m); ``ratio`` is ``r``, at most 1, one number or one for each pair; ``slack``
    is ``s``, one number or (n, n, m). If ``is_whole``, right sides are rounded up. O(pairs x m) a
    sweep, usually two to four.
    """
    first, second = ties.pairs()
    ratio, by_target = np.broadcast_to(ratio, first.shape), np.argsort(second, kind="stable")
    ends = np.searchsorted(second[by_target], np.arange(len(values) + 1))
    if np.ndim(slack) == 0:
        partner = first[by_target].astype(np.int32)
        factor = ratio[by_target]
        fixed = (ends, partner, factor, float(slack), is_whole)
        return _by_columns(values, ties, COLUMNS, lambda block: raise_columns(block, *fixed))
    tied = ties.tied_outputs(values.shape[1])
    order = list(range(len(values)))
    lifted = values.copy()
    # No chain of pairs raises its own start, so chains have fewer than n pairs; each sweep follows
    # at least one more pair of all.
    for _ in range(2 * len(values) + 2):
        before = lifted.copy()
        for x in order:
            if len(pairs := by_target[ends[x] : ends[x + 1]]):
                floor = (lifted[first[pairs]] - slack[first[pairs], x]) * ratio[pairs, None]
                floor = (np.ceil(floor) if is_whole else floor).max(axis=0)
                np.maximum(lifted[x], floor * tied, out=lifted[x])
        order.reverse()
        if np.array_equal(before, lifted):
            break
    return lifted


def _by_columns(
    values: Float, ties: Ties, count: int, raise_in_place: Callable[[Float], object]
) -> Float:
    """Raise ``count`` tied columns at a time, on all cores, by a function of a block of columns."""
    lifted = values.copy()
    tied = np.flatnonzero(ties.tied_outputs(values.shape[1]))

    def work(columns: Any) -> None:
        block = np.ascontiguousarray(lifted[:, columns])
        raise_in_place(block)
        lifted[:, columns] = block

    in_threads(work, np.array_split(tied, max(1, -(-len(tied) // count))))
    return lifted


def _by_products(
    values: Float, ties: Ties, table: Float, factor: float, *, is_whole: bool
) -> Float:
    """What `raised` returns without slack, some columns at a time; ``factor * table``, (n, n), are
    the ratios.
    """
    n = ties.n

    def work(block: Float) -> None:
        order = list(range(0, n, ROWS))
        for _ in range(2 * n + 2):
            before = block.copy()
            for start in order:
                rows = slice(start, start + ROWS)
                raise_to_products(factor * table[rows], block, block[rows])
                if is_whole:
                    np.ceil(block[rows], out=block[rows])
            order.reverse()
            if np.array_equal(before, block):
                break

    return _by_columns(values, ties, DENSE_COLUMNS, work)
