r"""Divergences of rows, rounded outward: what privacy a channel really has, read from its numbers alone.

A float is a rational, so every channel is audited as the exact numbers it holds. Nothing here knows how a channel was
made: this is the second witness beside the rows that a privacy notion writes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.audits import Audit, Verdict, audit_by, require_notion
from ldpopt.auditing.exact_matrices import Exact, exact
from ldpopt.foundation.budget import Budget, log_enclosure, round_up

__all__ = [
    "Audit",
    "Pairs",
    "Verdict",
    "approximate_divergence",
    "audit",
    "hockey_stick",
    "max_divergence",
    "require_notion",
]

ULPS = 2.0**-50
"""Relative slack around floating-point screening: everything within it is decided in integers."""


CANDIDATES = 64
"""Entries within roundoff of the worst that are told apart in rationals; with more, epsilon is rounded up further."""

HASTY = 500_000
"""Entries times inputs from which a reported delta is an upper bound within 1e-12 or so; a verdict never is."""


class Pairs(NamedTuple):
    """Ordered pairs of inputs that must be close, and how many epsilons apart they may be."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    distance: NDArray[np.float64]


def max_divergence(channel: Any, budget: Budget | None = None, pairs: Pairs | None = None, claim: str = "") -> Audit:
    r"""Smallest epsilon with ``P[x, y] <= exp(epsilon d(x, x')) P[x', y]`` for all tied inputs and all outputs.

    .. math:: \epsilon(P) = \max_{x, x', y} \frac{1}{d(x, x')} \ln \frac{P(y \mid x)}{P(y \mid x')}

    Parameters
    ----------
    channel : Mechanism or array_like, shape (n, m)
        Read exactly.
    budget : Budget, optional
        The claim to decide.
    pairs : Pairs, optional
        Tied inputs; default: all ordered pairs at distance 1.
    claim : str
        How the audit names the claim; default: ``""``, which writes the budget.

    Returns
    -------
    Audit
        The verdict is decided in integers against a rational enclosure of ``e**epsilon``.

    Notes
    -----
    O(n m) for all pairs, O(number of pairs x m) otherwise.
    """
    matrix = exact(channel)
    worst = worst_of_all(matrix) if pairs is None else _worst_of_pairs(matrix, pairs)
    epsilon, witness = worst
    verdict: Verdict = "certified" if math.isfinite(epsilon) else "violated"
    if budget is not None:
        verdict = decide_all(matrix, budget) if pairs is None else _decide_pairs(matrix, budget, pairs)
        if verdict == "certified":
            epsilon = min(epsilon, round_up(log_enclosure(budget.ratio)[1]) if budget.ratio else float(budget))

    def curve(at: Budget) -> float:
        decided = decide_all(matrix, at) if pairs is None else _decide_pairs(matrix, at, pairs)
        return 0.0 if decided == "certified" else hockey_stick(matrix, at, pairs)[0]

    delta = 0.0 if budget is None or verdict == "certified" else curve(budget)
    claim = claim or ("pure" if budget is None else f"epsilon = {budget!r}")
    return Audit(epsilon, delta, witness, verdict, claim, curve)


def approximate_divergence(channel: Any, budget: Budget, delta: float, form: str) -> Audit:
    r"""Check ``P_x(S) <= e**epsilon P_x'(S) + delta`` for every event, or for every single output.

    Parameters
    ----------
    channel : Mechanism or array_like, shape (n, m)
        Read exactly.
    budget : Budget
        Claimed epsilon.
    delta : float
        Claimed delta, read exactly.
    form : {"event", "entry"}
        Every event (the true notion), or every single output (Zhou, Lu and Wu 2019, eq. (20)).

    Returns
    -------
    Audit
        ``delta`` is the smallest one at the claimed epsilon, ``epsilon`` the smallest one at the claimed delta.

    Notes
    -----
    Event-wise O(n^2 m) a pass, entry-wise O(n m).
    """
    matrix = exact(channel)
    low, high = budget.enclosure()
    slack = Fraction(delta)
    single = form == "entry"
    upper, where = _worst_excess(matrix, low, None, single)
    found, witness = _shown(matrix, upper, where, single)
    verdict: Verdict = "certified" if upper <= slack else "undecided"
    if verdict != "certified" and _worst_excess(matrix, high, None, single)[0] > slack:
        verdict = "violated"
    epsilon = _least_epsilon(matrix, slack, single)
    if verdict == "certified":
        epsilon = min(epsilon, float(budget) if budget.ratio is None else round_up(log_enclosure(budget.ratio)[1]))
    claim = f"epsilon = {budget!r}, delta = {delta!r}, {form}-wise"
    return Audit(epsilon, found, witness, verdict, claim, lambda at: hockey_stick(matrix, at)[0])


def hockey_stick(
    matrix: Exact, budget: Budget, pairs: Pairs | None = None, *, single: bool = False
) -> tuple[float, tuple[Any, Any, Any] | None]:
    """Worst excess over all (or the given) ordered pairs, rounded up, and the pair and event that attain it."""
    hasty = matrix.floats.size * len(matrix.floats) > HASTY
    return _shown(matrix, *_worst_excess(matrix, budget.enclosure()[0], pairs, single, hasty=hasty), single)


def _shown(
    matrix: Exact, excess: Fraction, where: tuple[int, int, tuple[int, ...]] | None, single: bool
) -> tuple[float, tuple[Any, Any, Any] | None]:
    """An excess rounded up, and its witness by label."""
    if where is None:
        return 0.0, None
    x, k, event = where
    shown = tuple(matrix.outputs[y] for y in event)
    return round_up(excess), (matrix.inputs[x], matrix.inputs[k], shown[0] if single else shown)


def worst_of_all(matrix: Exact, rows: NDArray[np.int64] | None = None) -> tuple[float, tuple[Any, Any, Any] | None]:
    """Smallest pure epsilon over all pairs (or those from some rows): only the extremes of each column matter."""
    entries = matrix.whole
    top, bottom = entries.argmax(axis=0), entries.argmin(axis=0)
    if rows is not None:
        top = rows[entries[rows].argmax(axis=0)]
    columns = range(entries.shape[1])
    best, where = Fraction(1), None
    for y in columns:
        high, low = int(entries[top[y], y]), int(entries[bottom[y], y])
        if high <= low:
            continue
        witness = (matrix.inputs[top[y]], matrix.inputs[bottom[y]], matrix.outputs[y])
        if low == 0:
            return math.inf, witness
        if high * best.denominator > best.numerator * low:
            best, where = Fraction(high, low), witness
    return (round_up(log_enclosure(best)[1]) if best > 1 else 0.0), where


def _worst_of_pairs(matrix: Exact, pairs: Pairs) -> tuple[float, tuple[Any, Any, Any] | None]:
    """Smallest epsilon over weighted pairs: floats find the candidates, integers and enclosures the bound."""
    worst = 0.0
    near: list[tuple[float, int, int, int, float]] = []
    for first, second, distance in _chunks(pairs, matrix.shape[1]):
        over, under = matrix.floats[first], matrix.floats[second]
        far = over * 2.0**-1000 > under  # their ratio may leave the floats, where their logarithms do not
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            close = np.log1p((over - under) / under)
            apart = np.log(over / np.where(far, under * 2.0**100, under)) + np.where(far, 100 * math.log(2), 0.0)
        loss = np.where(over < 2 * under, close, apart)
        loss = np.where(over == 0, -np.inf, loss) / distance[:, None]
        worst = max(worst, float(loss.max(initial=0.0)))
        for row, y in np.argwhere(loss >= max(worst * (1 - 8 * ULPS), 5e-324))[:CANDIDATES]:
            near.append((float(loss[row, y]), int(first[row]), int(second[row]), int(y), float(distance[row])))
    near = [found for found in near if found[0] >= worst * (1 - 8 * ULPS)]
    if not near:
        return 0.0, None
    _, x, k, y, _ = near[0]
    witness = (matrix.inputs[x], matrix.inputs[k], matrix.outputs[y])
    if math.isinf(worst) or len(near) >= CANDIDATES:
        return worst * (1 + 8 * ULPS), witness
    ratios = {(Fraction(int(matrix.entries[x, y]), int(matrix.entries[k, y])), d) for _, x, k, y, d in near}
    return max(round_up(log_enclosure(ratio)[1] / Fraction(d)) for ratio, d in ratios), witness


def decide_all(matrix: Exact, budget: Budget, rows: NDArray[np.int64] | None = None) -> Verdict:
    """Decide a pure claim for all pairs (or those from some rows) by the extremes of each column."""
    low, high = budget.enclosure()
    over = matrix.whole if rows is None else matrix.whole[rows]
    largest, smallest = (extreme.astype(object) for extreme in (over.max(axis=0), matrix.whole.min(axis=0)))
    if all(u * low.denominator <= low.numerator * v for u, v in zip(largest, smallest, strict=True)):
        return "certified"
    violated = any(u * high.denominator > high.numerator * v for u, v in zip(largest, smallest, strict=True))
    return "violated" if violated else "undecided"


def _decide_pairs(matrix: Exact, budget: Budget, pairs: Pairs) -> Verdict:
    """Screen in floats, then decide what is near the bound in integers."""
    verdict: Verdict = "certified"
    used = np.asarray(matrix.whole != 0)
    for first, second, distance in _chunks(pairs, matrix.shape[1]):
        over, under = matrix.floats[first], matrix.floats[second]
        exponent = float(budget) * distance[:, None]
        near = over * np.exp(-exponent) * (1 + (4 + exponent) * ULPS) >= under
        for row, y in np.argwhere(near & used[first]):
            u, v = matrix.entries[first[row], y], matrix.entries[second[row], y]
            if not v:
                return "violated"
            # exp(epsilon d) is written out only where it is no longer than the two numbers.
            if 0.7 * (u.bit_length() - v.bit_length() + 2) <= exponent[row, 0]:
                continue
            low, high = budget.enclosure(Fraction(float(distance[row])))
            if u * low.denominator <= low.numerator * v:
                continue
            if u * high.denominator > high.numerator * v:
                return "violated"
            verdict = "undecided"
    return verdict


def _chunks(pairs: Pairs, m: int) -> Iterator[Pairs]:
    size = max(1, 2**22 // m)
    for start in range(0, len(pairs.first), size):
        stop = start + size
        yield Pairs(pairs.first[start:stop], pairs.second[start:stop], pairs.distance[start:stop])


def _worst_excess(
    matrix: Exact, ratio: Fraction, pairs: Pairs | None, single: bool, *, hasty: bool = False
) -> tuple[Fraction, tuple[int, int, tuple[int, ...]] | None]:
    """Exact maximum of ``sum_y (P[x,y] - ratio P[x',y])^+`` (or of one term), and where.

    A hasty answer is an upper bound within 1e-13 or so: it looks at one of the rows that floats cannot tell apart.
    """
    if single and pairs is None:
        return _worst_entry(matrix, ratio)
    margin = matrix.shape[1] * ULPS
    best, slack = 0.0, Fraction(0)
    found: list[tuple[float, int, int]] = []
    for x, others, excess in _float_excess(matrix.floats, ratio, pairs, single):
        best = max(best, float(excess.max(initial=0.0)))
        found += [(float(excess[k]), x, int(others[k])) for k in np.flatnonzero(excess >= best - margin)]
    if hasty:
        found, slack = [max(found)], Fraction(2 * margin)
    partners: dict[int, list[int]] = {}
    for approximate, x, k in found:
        if approximate >= best - margin:
            partners.setdefault(x, []).append(k)
    worst, where = Fraction(0), None
    for x, row in partners.items():
        exactly, k, event = _row_excess(matrix, ratio, x, np.array(row), single)
        if exactly > worst:
            worst, where = exactly, (x, k, event)
    return worst + slack, where


def _worst_entry(matrix: Exact, ratio: Fraction) -> tuple[Fraction, tuple[int, int, tuple[int, ...]] | None]:
    """Exact maximum of ``P[x,y] - ratio P[x',y]`` over all pairs, and where: only a column's extremes matter."""
    top, bottom = matrix.whole.argmax(axis=0).tolist(), matrix.whole.argmin(axis=0).tolist()
    worst, where = 0, None
    for y, (x, k) in enumerate(zip(top, bottom, strict=True)):
        excess = int(matrix.whole[x, y]) * ratio.denominator - int(matrix.whole[k, y]) * ratio.numerator
        if excess > worst and x != k:
            worst, where = excess, (x, k, (y,))
    return Fraction(worst, matrix.denominator * ratio.denominator), where


def _float_excess(
    floats: NDArray[np.float64], ratio: Fraction, pairs: Pairs | None, single: bool
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
    """Approximate excess of each row over its partners, a row at a time."""
    n = len(floats)
    a = float(min(ratio, Fraction(10**300)))
    scaled = floats * a
    for x in range(n):
        others = np.delete(np.arange(n), x) if pairs is None else pairs.second[pairs.first == x]
        if len(others):
            over = np.maximum(floats[x] - scaled[others], 0)
            yield x, others, over.max(axis=1) if single else over.sum(axis=1)


def _row_excess(
    matrix: Exact, ratio: Fraction, x: int, others: NDArray[np.int64], single: bool
) -> tuple[Fraction, int, tuple[int, ...]]:
    """Exact worst excess of one row over some others, with the partner and the event."""
    terms = matrix.entries[x] * ratio.denominator - matrix.entries[others] * ratio.numerator
    positive = np.maximum(terms, 0)
    totals = positive.max(axis=1) if single else positive.sum(axis=1)
    at = int(np.argmax(totals))
    event = tuple(int(y) for y in np.flatnonzero(np.asarray(terms[at] > 0, dtype=bool)))
    if single and event:
        event = (max(event, key=lambda y: terms[at, y]),)
    return Fraction(int(totals[at]), matrix.denominator * ratio.denominator), int(others[at]), event


def _least_epsilon(matrix: Exact, delta: Fraction, single: bool) -> float:
    """Smallest epsilon at a given delta: Newton steps on the convex excess of the worst pair, in rationals."""
    ratio = Fraction(1)
    for _ in range(1000):
        excess, where = _worst_excess(matrix, ratio, None, single)
        if excess <= delta or where is None:
            return round_up(log_enclosure(ratio)[1])
        x, k, event = where
        over = sum(int(matrix.entries[x, y]) for y in event)
        under = sum(int(matrix.entries[k, y]) for y in event)
        if under == 0:
            return math.inf
        ratio = (over - delta * matrix.denominator) / under
    return math.inf  # pragma: no cover - each step removes a kink, of which there are finitely many


def audit(channel: Any, privacy: Any = None) -> Audit:
    """Find the privacy that a channel really has, exactly as its floats read.

    Parameters
    ----------
    channel : array_like, shape (n, m), or Mechanism
        Rows summing to 1 within 1e-9.
    privacy : privacy notion, optional
        The claim to check; without one, the smallest pure epsilon is found.

    Returns
    -------
    Audit
        epsilon in nats, delta, witness, verdict.

    Raises
    ------
    MechanismError
        If the array is no channel.

    Examples
    --------
    >>> audit([[0.75, 0.25], [0.25, 0.75]]).epsilon
    1.0986122886681098
    >>> from ldpopt import PureLDP
    >>> audit([[0.8, 0.2], [0.2, 0.8]], PureLDP(1.0)).verdict
    'violated'
    """
    if privacy is None:
        return max_divergence(channel)
    require_notion(privacy)
    return audit_by(privacy, channel)
