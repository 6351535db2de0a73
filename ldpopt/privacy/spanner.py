"""The pairs of a metric that no third input implies."""

from __future__ import annotations

import numpy as np

from ldpopt.foundation.cores import in_threads
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.privacy.ties import Mask

COMPILED_INPUTS = 300
"""Number of inputs from which compiled loops are worth the half second in which they are loaded."""

BLOCK = 16
"""Number of inputs whose pairs are tried together, so that each row of distances is read once for all of them."""


SAMPLED_INPUTS, SAMPLE, SELDOM = 1000, 50, 1e-3
"""Number of inputs from which a sample is tried first, its size, and the share of implied pairs that may be kept."""


def unimplied_pairs(distance: Float, deadline: Deadline = NO_LIMIT) -> tuple[Int, Int]:
    """Ordered pairs at a positive distance that no chain through a third input implies.

    A pair ``(x, k)`` is implied if ``d(x, z) + d(z, k) <= d(x, k)`` for some other ``z``, as exact numbers; both parts
    are shorter, so all implied pairs may be dropped at once. From `SAMPLED_INPUTS` inputs on all pairs are kept where
    nearly none of some inputs' is implied.

    Shapes: ``distance`` (n, n).

    Notes
    -----
    At most ``n**3 / 2`` additions, or `SAMPLE` times ``n**2`` where all pairs are kept; compiled and in threads from
    `COMPILED_INPUTS` inputs on, and ``n**2`` extra floats.
    """
    n = len(distance)
    through = distance.copy()
    np.fill_diagonal(through, np.inf)  # a third input differs from both
    is_implied = np.eye(n, dtype=bool)
    if n >= SAMPLED_INPUTS and _seldom_implied(through, deadline):
        first, second = np.nonzero(~is_implied)
        return first, second
    if n < COMPILED_INPUTS:
        for x in range(n):
            deadline.check("dropping the metric's implied pairs")
            is_implied[x] |= _implies(through[x], through, distance[x][:, None]).any(axis=1)
    else:
        deadline.check("dropping the metric's implied pairs")
        from ldpopt.privacy.spanner_loops import mark_implied

        def work(begin: int) -> None:
            deadline.check("dropping the metric's implied pairs")
            mark_implied(through, begin, min(begin + BLOCK, n), is_implied)

        in_threads(work, range(0, n, BLOCK))
    first, second = np.nonzero(~is_implied)
    return first, second


def _seldom_implied(through: Float, deadline: Deadline) -> bool:
    """Whether nearly none of the pairs of some inputs is implied; the diagonal is infinite."""
    from ldpopt.privacy.spanner_loops import count_implied

    def work(x: int) -> int:
        deadline.check("looking for the metric's implied pairs")
        return count_implied(through, x)

    sample = np.random.default_rng(0).permutation(len(through))[:SAMPLE]
    return sum(in_threads(work, sample.tolist())) <= SELDOM * SAMPLE * len(through)


def _implies(to_third: Float, onwards: Float, direct: Float) -> Mask:
    """Whether ``to_third + onwards <= direct`` as exact numbers, element by element.

    A sum that is rounded to less than a float is less than it. Where the two are equal, the error of the sum decides,
    which is a float too (Knuth's TwoSum).
    """
    rounded = to_third + onwards
    with np.errstate(invalid="ignore"):  # infinite where the third input is one of the two
        part = rounded - to_third
        error = (to_third - (rounded - part)) + (onwards - part)
    return np.asarray((rounded < direct) | ((rounded == direct) & (error <= 0)))
