r"""Gaussian privacy of a channel: the largest difference of two probits of an event, exactly.

.. math:: \mu(P) = \max_{x, x', S} \Phi^{-1}(P_x(S)) - \Phi^{-1}(P_{x'}(S))

Where the trade-off curve of two rows is straight, its distance from the concave curve of the claim
is convex: only its corners count, which are the events of the largest likelihood ratios. Their
masses are integers; floats sort out the events that are far from the claim, and all others are
decided by rationals around the distribution function.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cmp_to_key
from typing import Any, NamedTuple

from ldpopt.auditing.audits import Audit, Verdict
from ldpopt.auditing.divergence import hockey_stick, least_epsilon_all
from ldpopt.auditing.exact_matrices import ExactChannel, exact
from ldpopt.foundation.budget import Budget, decimal_of, round_up
from ldpopt.foundation.normal import normal_cdf, probit

# Error of a difference of two probits in floats, with room: each has one of a few ulps
SCREEN = 1e-11


class _Event(NamedTuple):
    """Masses of an event under two inputs, each over the sum of its row, and their probits'
    difference in floats.
    """

    difference: float
    first: int
    second: int
    over: Fraction
    under: Fraction
    outputs: tuple[int, ...]


def gaussian_divergence(channel: Any, mu: Fraction, text: str) -> Audit:
    r"""Audit of ``probit P_x(S) <= probit P_x'(S) + mu`` for all pairs of inputs and all events.

    A mechanism or array of shape (n, m) is read exactly; rows are divided by their sums, which may
    miss 1 by 1e-9 in an array. O(n^2 m log m) operations on floats and integers; events within
    1e-11 of the claim are decided in rationals, ``undecided`` only if those within 1e-40 or so.
    """
    matrix = exact(channel)
    events = list(_corners(matrix))
    worst = max((event.difference for event in events), default=0.0)
    near = [event for event in events if event.difference >= worst - SCREEN]
    verdict = _verdict(events, mu)
    least = 0.0
    witness = None
    if events:
        top = max(near, key=_mu_above)
        least = _mu_above(top)
        witness = (
            matrix.inputs[top.first],
            matrix.inputs[top.second],
            tuple(matrix.outputs[y] for y in top.outputs),
        )
    if verdict == "certified":
        least = min(least, mu_above(mu))
    return Audit(
        least_epsilon_all(matrix)[0],
        0.0,
        witness,
        verdict,
        f"mu = {text}",
        lambda at: hockey_stick(matrix, Budget(at))[0],
        mu=least,
    )


def mu_above(mu: Fraction) -> float:
    """The smallest float that is at least a number, by its bits and by its decimal."""
    value = round_up(mu)
    return value if decimal_of(value) >= mu else math.nextafter(value, math.inf)


def _corners(matrix: ExactChannel) -> Iterator[_Event]:
    """Events of the largest likelihood ratios of each ordered pair with different rows."""
    rows = matrix.entries.tolist()
    sums = [sum(row) for row in rows]
    for x, over in enumerate(rows):
        for k, under in enumerate(rows):
            if x == k:
                continue
            order = _by_ratio(over, under)
            w = u = 0
            for place, y in enumerate(order[:-1]):
                w += over[y]
                u += under[y]
                first = Fraction(w, sums[x])
                second = Fraction(u, sums[k])
                if first > second:
                    difference = _probit_in_floats(first) - _probit_in_floats(second)
                    yield _Event(difference, x, k, first, second, tuple(order[: place + 1]))


def _by_ratio(over: list[int], under: list[int]) -> list[int]:
    """Positions from the largest ratio ``over / under`` to the smallest; those of 0 / 0 are
    last.
    """

    def compared(y: int, z: int) -> int:
        left = over[y] * under[z]
        right = over[z] * under[y]
        return (left < right) - (left > right)

    used = [y for y in range(len(over)) if over[y] or under[y]]
    unused = [y for y in range(len(over)) if not (over[y] or under[y])]
    return sorted(used, key=cmp_to_key(compared)) + unused


def _probit_in_floats(u: Fraction) -> float:
    """The inverse of the distribution function, of the smaller tail."""
    from scipy.special import ndtri

    if u <= 0 or u >= 1:
        return -math.inf if u <= 0 else math.inf
    return float(ndtri(float(u))) if 2 * u <= 1 else -float(ndtri(float(1 - u)))


def _mu_above(event: _Event) -> float:
    """The least ``mu`` of an event, rounded up."""
    if event.under == 0 or event.over == 1:
        return math.inf
    return mu_above(probit(event.over)[1] - probit(event.under)[0])


def _verdict(events: list[_Event], mu: Fraction) -> Verdict:
    """Whether all events satisfy the claim; the ones that floats do not decide in rationals."""
    claimed = float(mu)
    if any(event.difference > claimed + SCREEN for event in events):
        return "violated"
    near = sorted((e for e in events if e.difference > claimed - SCREEN), reverse=True)
    verdict: Verdict = "certified"
    for event in near:
        decided = _decide(event.over, event.under, mu)
        if decided == "violated":
            return decided
        verdict = "undecided" if decided == "undecided" else verdict
    return verdict


def _decide(over: Fraction, under: Fraction, mu: Fraction) -> Verdict:
    """Whether ``over <= Phi(probit(under) + mu)``."""
    if under == 0 or over == 1:
        return "violated"
    for is_fine in (False, True):
        low, high = probit(under, fine=is_fine)
        if over <= normal_cdf(low + mu)[0]:
            return "certified"
        if over > normal_cdf(high + mu)[1]:
            return "violated"
    return "undecided"
