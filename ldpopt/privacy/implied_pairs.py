"""Pairs of inputs of a metric that a chain through a third input implies."""

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.foundation.threads import in_threads
from ldpopt.native import count_implied, mark_implied

THREADED_INPUTS = 100  # number of inputs from which threads pay
# Number of inputs whose pairs are tried together, so that each row of distances is read once for all of them
BLOCK = 16
# Number of inputs from which a sample is tried first, its size, and the share of implied pairs that may be kept
SAMPLED_INPUTS, SAMPLE, MAX_IMPLIED_SHARE = 1000, 50, 1e-3


def unimplied_pairs(distance: Float, deadline: Deadline = NO_LIMIT) -> tuple[Int, Int]:
    """Ordered pairs at a positive distance, shape (n, n), that no chain through a third input implies.

    A pair ``(x, k)`` is implied if ``d(x, z) + d(z, k) <= d(x, k)`` for some other ``z``, as exact numbers; both parts
    are shorter, so all implied pairs may be dropped at once. From `SAMPLED_INPUTS` inputs on all pairs are kept if
    hardly any pair of a sample is implied.

    Notes
    -----
    At most ``n**3 / 2`` additions, or `SAMPLE` times ``n**2`` if all pairs are kept, in threads from `THREADED_INPUTS`
    inputs on, and ``n**2`` extra floats.
    """
    n = len(distance)
    through = distance.copy()
    np.fill_diagonal(through, np.inf)  # a third input differs from both
    is_implied = np.eye(n, dtype=bool)

    def mark_block(begin: int) -> None:
        deadline.check("dropping the metric's implied pairs")
        mark_implied(through, begin, min(begin + BLOCK, n), is_implied)

    blocks = range(0, n, BLOCK)
    if n >= SAMPLED_INPUTS and _seldom_implied(through, deadline):
        pass  # all pairs are kept
    elif n >= THREADED_INPUTS:
        in_threads(mark_block, blocks)
    else:
        for begin in blocks:
            mark_block(begin)
    first, second = np.nonzero(~is_implied)
    return first, second


def _seldom_implied(through: Float, deadline: Deadline) -> bool:
    """Whether hardly any pair of a sample of inputs is implied; the diagonal is infinite."""

    def count(x: int) -> int:
        deadline.check("looking for the metric's implied pairs")
        return count_implied(through, x)

    sample = np.random.default_rng(0).permutation(len(through))[:SAMPLE]
    return sum(in_threads(count, sample.tolist())) <= MAX_IMPLIED_SHARE * SAMPLE * len(through)
