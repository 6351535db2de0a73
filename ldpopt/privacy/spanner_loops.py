"""Compiled loops that find the pairs of a metric that a third input implies."""

from __future__ import annotations

from ldpopt.foundation.compiled import compiled
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.ties import Mask

STRIDE = 128
"""Number of third inputs that are tried before looking whether one of them was enough."""


@compiled
def _is_at_most(to_third: Float, onwards: Float, direct: float) -> bool:
    """Whether a sum that rounds to the distance is at most the distance (Knuth's TwoSum)."""
    for z in range(len(to_third)):
        total = to_third[z] + onwards[z]
        if total == direct:
            part = total - to_third[z]
            if (to_third[z] - (total - part)) + (onwards[z] - part) <= 0:
                return True
    return False


@compiled
def _is_implied(to_third: Float, onwards: Float, direct: float) -> bool:
    """Whether a third input implies a pair; sums that round to the distance are decided exactly."""
    for start in range(0, len(to_third), STRIDE):
        below = equal = 0
        for z in range(start, min(start + STRIDE, len(to_third))):
            total = to_third[z] + onwards[z]
            below += total < direct
            equal += total == direct
        if below or (equal and _is_at_most(to_third[start : start + STRIDE], onwards[start : start + STRIDE], direct)):
            return True
    return False


@compiled
def count_implied(distance: Float, x: int) -> int:
    """Number of implied pairs of one input; the diagonal of ``distance`` is infinite."""
    count = 0
    for k in range(len(distance)):
        count += k != x and _is_implied(distance[x], distance[k], distance[x, k])
    return count


@compiled
def mark_implied(distance: Float, begin: int, stop: int, is_implied: Mask) -> None:
    """Mark the implied pairs, both ways, of inputs ``begin`` to ``stop`` with all later ones.

    Shapes: ``distance`` (n, n), ``is_implied`` (n, n).
    """
    for k in range(begin + 1, len(distance)):
        for x in range(begin, min(stop, k)):
            if _is_implied(distance[x], distance[k], distance[x, k]):
                is_implied[x, k] = is_implied[k, x] = True
