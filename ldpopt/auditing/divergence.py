r"""Divergences of rows, rounded up: the true privacy of a channel, computed from its numbers alone.

A float is a rational, so every channel is audited as exact numbers. The audit shares no code with
the constraint rows of privacy notions: it is an independent check.

Two divergences of a row ``P`` from a row ``Q`` are computed. The max-divergence is the least
epsilon of a pure claim, and the hockey-stick divergence the least delta at an epsilon:

.. math:: D_\infty = \max_y \ln \frac{P(y)}{Q(y)},
          \qquad H_\epsilon = \sum_y \max(P(y) - e^\epsilon Q(y), 0)

Both are largest over the pairs of inputs. Where ``e**epsilon`` occurs, it is replaced by a rational
just below it in numbers that are reported, which makes them larger; a claim is certified with the
rational below, and violated only if it fails with the one above, too.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ldpopt.auditing.audits import AnyPairs, Audit, Verdict, Worst
from ldpopt.auditing.exact_matrices import ULPS, ExactChannel, exact
from ldpopt.auditing.extremes import Extremes
from ldpopt.auditing.row_ratios import row_ratios
from ldpopt.auditing.tied_pairs import decide_pairs, least_epsilon_pairs
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget, log_above, round_up
from ldpopt.foundation.numbers import (
    Float,
    Int,
    real_number,
    require_choice,
    require_kind,
    require_text,
    short_repr,
)

__all__ = ["Audit", "Verdict", "approximate_divergence", "audit", "hockey_stick", "max_divergence"]
Event = tuple[int, ...]  # positions of outputs
# the largest excess, and the pair of inputs that attains it
Excess = tuple[Fraction, tuple[int, int, Event] | None]
Decide = Callable[[Budget], Verdict]
RowExcess = tuple[int, Int, Float]  # an input, others, and its approximate excess over each of them
# Entries times inputs above which a reported delta is an upper bound within about 1e-12; verdicts
# stay exact
MAX_EXACT_DELTA_WORK = 500_000
LARGEST_RATIO = Fraction(10**300)  # larger ratios are compared with this one in floats


def max_divergence(
    channel: Any, budget: Budget | None = None, pairs: AnyPairs | None = None, claim: str = ""
) -> Audit:
    r"""Smallest epsilon with ``P[x, y] <= exp(epsilon d(x, x')) P[x', y]`` for tied inputs and all
    outputs.

    .. math:: \epsilon(P) = \max_{x, x', y} \frac{1}{d(x, x')} \ln \frac{P(y \mid x)}{P(y \mid x')}

    A mechanism or array, shape (n, m), is read exactly. ``pairs`` are the tied inputs; default: all
    ordered pairs at distance 1. The verdict on a claimed budget is decided in integers against a
    rational enclosure of ``e**epsilon``. O(n m) for all pairs, O(number of pairs x m) otherwise;
    many pairs take a tenth of a nanosecond for each output.
    """
    matrix = exact(channel)
    budget = None if budget is None else Budget(budget)
    require_text(claim, "claim")
    if pairs is not None:
        require_kind(pairs, AnyPairs, "max_divergence()", "pass Pairs(first, second, distance)")
    ratios = None if pairs is None else row_ratios(matrix, pairs)
    worst = (
        least_epsilon_all(matrix) if pairs is None else least_epsilon_pairs(matrix, pairs, ratios)
    )

    def decide(at: Budget, known: Float | None = None) -> Verdict:
        return decide_all(matrix, at) if pairs is None else decide_pairs(matrix, at, pairs, known)

    if budget is None:
        verdict: Verdict = "certified" if math.isfinite(worst[0]) else "violated"
        return pure_audit(matrix, worst, decide, pairs, None, verdict, claim or "pure")
    return pure_audit(
        matrix,
        worst,
        decide,
        pairs,
        budget,
        decide(budget, ratios),
        claim or f"epsilon = {budget!r}",
    )


def pure_audit(
    matrix: ExactChannel,
    worst: Worst,
    decide: Decide,
    pairs: AnyPairs | None,
    budget: Budget | None,
    verdict: Verdict,
    claim: str,
) -> Audit:
    """Audit of a pure claim, from the least epsilon with its witness, the verdict, and the decision
    at any budget.

    A certified claim has delta 0, and an epsilon of at most the claimed one; the delta of a claim
    that fails is the hockey-stick divergence.
    """

    def curve(at: Budget) -> float:
        at = Budget(at)
        return 0.0 if decide(at) == "certified" else hockey_stick(matrix, at, pairs)[0]

    epsilon = worst[0]
    delta = 0.0
    if budget is not None and verdict == "certified":
        epsilon = min(epsilon, budget.above)
    elif budget is not None:
        delta = hockey_stick(matrix, budget, pairs)[0]
    return Audit(epsilon, delta, worst[1], verdict, claim, curve)


def approximate_divergence(
    channel: Any, budget: Budget, delta: float, form: str, pairs: AnyPairs | None = None
) -> Audit:
    """Audit of ``P_x(S) <= e**epsilon P_x'(S) + delta`` for every event, or for every single
    output, of all (or the given) ordered pairs.

    The ``form`` is ``"event"`` (the true notion), or ``"entry"`` (Zhou, Lu and Wu 2019, eq. (20)).
    A mechanism or array of shape (n, m), and delta, are read exactly. The audit has the smallest
    delta at the claimed epsilon, and the smallest epsilon at the claimed delta. Event-wise O(n^2 m)
    per pass, entry-wise O(n m).
    """
    matrix = exact(channel)
    budget = Budget(budget)
    low, high = budget.enclosure()
    slack = Fraction(real_number(delta, "delta", 0, 1))
    require_choice(form, ("event", "entry"), "form")
    if pairs is not None:
        require_kind(pairs, AnyPairs, "approximate_divergence()", "pass Pairs(...)")
    worst_excess = partial(_worst_entry if form == "entry" else _worst_event, pairs=pairs)
    upper, where = worst_excess(matrix, low)
    least_delta, witness = _rounded_up(matrix, upper, where)
    if witness is not None and form == "entry":
        witness = (*witness[:2], witness[2][0])
    verdict: Verdict = "certified" if upper <= slack else "undecided"
    if verdict != "certified" and worst_excess(matrix, high)[0] > slack:
        verdict = "violated"
    epsilon = _least_epsilon(matrix, slack, worst_excess)
    if verdict == "certified":
        epsilon = min(epsilon, budget.above)
    claim = f"epsilon = {budget!r}, delta = {delta!r}, {form}-wise"
    claim += "" if pairs is None else f" along {pairs.number // 2} edges"
    return Audit(
        epsilon,
        least_delta,
        witness,
        verdict,
        claim,
        lambda at: hockey_stick(matrix, Budget(at), pairs)[0],
    )


def hockey_stick(matrix: ExactChannel, budget: Budget, pairs: AnyPairs | None = None) -> Worst:
    """Worst excess over all (or the given) ordered pairs, rounded up, and the pair and event that
    attain it.
    """
    require_kind(matrix, ExactChannel, "hockey_stick()", "use audit(channel).delta_at(epsilon)")
    budget = Budget(budget)
    if pairs is not None:
        require_kind(pairs, AnyPairs, "hockey_stick()", "pass Pairs(first, second, distance)")
    fast = matrix.floats.size * len(matrix.floats) > MAX_EXACT_DELTA_WORK
    return _rounded_up(matrix, *_worst_event(matrix, budget.enclosure()[0], pairs, fast=fast))


def _rounded_up(
    matrix: ExactChannel, excess: Fraction, where: tuple[int, int, Event] | None
) -> Worst:
    """An excess rounded up, and its witness as labels."""
    if where is None:
        return 0.0, None
    x, k, event = where
    return round_up(excess), (
        matrix.inputs[x],
        matrix.inputs[k],
        tuple(matrix.outputs[y] for y in event),
    )


def least_epsilon_all(matrix: ExactChannel, rows: Int | None = None) -> Worst:
    """Smallest pure epsilon over all pairs (or those from some rows): only the extremes of each
    column matter.

    The largest ratio of a column is that of its largest and its smallest entry. A column of equal
    entries has the ratio 1; one with a zero and a positive entry has no finite epsilon.
    """
    extremes = Extremes.of(matrix, rows)
    best = Fraction(1)
    where = None
    for y in extremes.near_largest():
        high, low = extremes.pair(y)
        if high <= low:
            continue
        witness = (
            matrix.inputs[extremes.top[y]],
            matrix.inputs[extremes.bottom[y]],
            matrix.outputs[y],
        )
        if low == 0:
            return math.inf, witness
        if high * best.denominator > best.numerator * low:
            best = Fraction(high, low)
            where = witness
    return log_above(best), where


def decide_all(matrix: ExactChannel, budget: Budget, rows: Int | None = None) -> Verdict:
    """Decide a pure claim for all pairs (or those from some rows) by the extremes of each
    column.
    """
    low, high = budget.enclosure()
    extremes = Extremes.of(matrix, rows)
    near = [extremes.pair(y) for y in extremes.at_least(float(min(low, LARGEST_RATIO)))]
    if all(u * low.denominator <= low.numerator * v for u, v in near):
        return "certified"
    violated = any(u * high.denominator > high.numerator * v for u, v in near)
    return "violated" if violated else "undecided"


def _worst_event(
    matrix: ExactChannel, ratio: Fraction, pairs: AnyPairs | None = None, *, fast: bool = False
) -> Excess:
    """Exact maximum of ``sum_y (P[x,y] - ratio P[x',y])^+``, and the pair and event that attain
    it.

    The sum is the largest value of ``P_x(S) - ratio P_x'(S)`` over all events ``S``: that of the
    outputs with positive terms. Floats are wrong by less than the margin, ``m`` times ``ULPS``, so
    pairs that are farther than it below the largest are not the worst; the others are compared in
    integers.
    """
    # If fast, an upper bound within about 1e-13: only one of the pairs that are equal in floats is
    # compared.
    margin = matrix.shape[1] * ULPS
    near = near_worst_pairs(_float_excess(matrix.floats, ratio, pairs), margin)
    slack = Fraction(0)
    if fast:
        near, slack = [max(near)], Fraction(2 * margin)
    compared: dict[int, list[int]] = {}
    for _, x, k in near:
        compared.setdefault(x, []).append(k)
    worst = Fraction(0)
    where = None
    for x, others in compared.items():
        excess, k, event = _row_excess(matrix, ratio, x, np.array(others))
        if excess > worst:
            worst = excess
            where = (x, k, event)
    return worst + slack, where


def near_worst_pairs(rows: Iterable[RowExcess], margin: float) -> list[tuple[float, int, int]]:
    """Pairs ``(excess, x, x')`` within ``margin`` of the largest approximate excess."""
    best = 0.0
    near = []
    for x, others, excess in rows:
        best = max(best, float(excess.max(initial=0.0)))
        near += [
            (float(excess[k]), x, int(others[k])) for k in np.flatnonzero(excess >= best - margin)
        ]
    return [entry for entry in near if entry[0] >= best - margin]


def _worst_entry(matrix: ExactChannel, ratio: Fraction, pairs: AnyPairs | None = None) -> Excess:
    """Exact maximum of ``P[x,y] - ratio P[x',y]`` over all pairs, found from the extremes of each
    column; or over the given ones.
    """
    if pairs is not None:
        return _worst_entry_of_pairs(matrix, ratio, pairs)
    top = matrix.numerators.argmax(axis=0).tolist()
    bottom = matrix.numerators.argmin(axis=0).tolist()
    worst, where = 0, None
    for y, (x, k) in enumerate(zip(top, bottom, strict=True)):
        excess = (
            int(matrix.numerators[x, y]) * ratio.denominator
            - int(matrix.numerators[k, y]) * ratio.numerator
        )
        if excess > worst and x != k:
            worst = excess
            where = (x, k, (y,))
    return Fraction(worst, matrix.denominator * ratio.denominator), where


def _worst_entry_of_pairs(matrix: ExactChannel, ratio: Fraction, pairs: AnyPairs) -> Excess:
    """Exact maximum of ``P[x,y] - ratio P[x',y]`` over some pairs, one by one."""
    worst = 0
    where = None
    for x, others, _ in pairs.by_first(matrix.shape[1]):
        terms = matrix.entries[x] * ratio.denominator - matrix.entries[others] * ratio.numerator
        row, y = divmod(int(np.argmax(terms)), matrix.shape[1])
        if terms[row, y] > worst:
            worst = int(terms[row, y])
            where = (x, int(others[row]), (y,))
    return Fraction(worst, matrix.denominator * ratio.denominator), where


def _float_excess(floats: Float, ratio: Fraction, pairs: AnyPairs | None) -> Iterator[RowExcess]:
    """Approximate excess of each row over the rows that it is compared with."""
    scaled = floats * float(min(ratio, LARGEST_RATIO))
    everyone = np.arange(len(floats))
    every = ((x, np.delete(everyone, x)) for x in everyone.tolist())
    tied = (
        every
        if pairs is None
        else ((x, others) for x, others, _ in pairs.by_first(floats.shape[1]))
    )
    for x, others in tied:
        yield x, others, np.maximum(floats[x] - scaled[others], 0).sum(axis=1)


def _row_excess(
    matrix: ExactChannel, ratio: Fraction, x: int, others: Int
) -> tuple[Fraction, int, Event]:
    """Exact largest excess of one row over others, with the other row and the event."""
    terms = matrix.entries[x] * ratio.denominator - matrix.entries[others] * ratio.numerator
    totals = np.maximum(terms, 0).sum(axis=1)
    at = int(np.argmax(totals))
    event = tuple(int(y) for y in np.flatnonzero(np.asarray(terms[at] > 0, dtype=bool)))
    return Fraction(int(totals[at]), matrix.denominator * ratio.denominator), int(others[at]), event


def _least_epsilon(
    matrix: ExactChannel, delta: Fraction, worst_excess: Callable[[ExactChannel, Fraction], Excess]
) -> float:
    """Smallest epsilon at a given delta, by Newton steps in rationals on the convex excess of the
    worst pair.

    With the worst pair and its event ``S`` held fixed, ``P_x(S) - ratio P_x'(S) = delta`` has one
    solution, at most the one that is sought: the excess is a maximum of such lines. Ratios rise
    until the excess is at most delta, so that the last one is the solution.
    """
    ratio = Fraction(1)
    for _ in range(1000):
        excess, where = worst_excess(matrix, ratio)
        if excess <= delta or where is None:
            return log_above(ratio)
        x, k, event = where
        over, under = (sum(int(matrix.entries[row, y]) for y in event) for row in (x, k))
        if under == 0:
            return math.inf
        ratio = (over - delta * matrix.denominator) / under
    return math.inf  # pragma: no cover - the excess is piecewise linear, with fewer pieces


def audit(channel: Any, privacy: Any = None) -> Audit:
    """True privacy of a channel; its floats are read exactly.

    Parameters
    ----------
    channel : array_like, shape (n, m), or Mechanism
        Rows summing to 1 within 1e-9.
    privacy : privacy notion, optional
        The claim to check; default: none, the smallest pure epsilon is computed.

    Returns
    -------
    Audit
        epsilon in nats, delta, witness, verdict.

    Raises
    ------
    MechanismError
        If the array is not a channel.

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
    # mechanisms and protocols have audit() too
    is_channel = hasattr(privacy, "denominator") or hasattr(privacy, "privatize")
    if isinstance(privacy, type) or is_channel or not callable(getattr(privacy, "audit", None)):
        do = "pass a notion of ldpopt.privacy, such as PureLDP(epsilon)"
        problem = f"{short_repr(privacy)} is not a privacy notion"
        raise StatementError(problem, code="notion", do=do)
    result = privacy.audit(channel)
    if not isinstance(result, Audit):
        problem = f"{type(privacy).__name__}.audit() returned {short_repr(result)}, not an Audit"
        do = "correct the notion; ldpopt.testing.check_notion tests all of its methods"
        raise StatementError(problem, code="returned-audit", do=do)
    return result
