"""The partition's normalizer and mean against its layers built one by one, in integers, until they
converge."""

import math
from itertools import pairwise

import numpy as np
import pytest

from ldpopt.noise import NeighborPartition

SETS = {
    "V1": ((0, 1), (1000, 1001)),
    "V2": ((0, 100), (1000, 1001)),
    "V3": ((0, 500), (1000, 1001)),
    "V4": ((0, 1001),),
    "V5": ((0, 1), (100, 101)),
    "V7": ((0, 1), (2000, 2001)),
}
UNIT = 2  # a widening of 1/2 is one unit


def merged(low, high):
    """Union of closed intervals: sort, and join what overlaps or touches."""
    order = np.argsort(low, kind="stable")
    low, reach = low[order], np.maximum.accumulate(high[order])
    first = np.concatenate([[True], low[1:] > reach[:-1]])
    last = np.concatenate([first[1:], [True]])
    return low[first], reach[last]


def measure_and_moment(low, high):
    """Length, and twice the integral of |r|, both exact."""
    inside = (low < 0) & (high > 0)
    squares = np.where(inside, low**2 + high**2, np.abs(high**2 - low**2))
    return int((high - low).sum()), int(squares.sum())


def cumulative(intervals, steps):
    """Measures and moments of B_0, .., B_steps by ``B_t = B_(t-1) + W``."""
    low = np.array([-1])
    high = np.array([1])
    found = [measure_and_moment(low, high)]
    for _ in range(steps):
        shifted = [(low, high)]
        for a, b in intervals:
            shifted += [(low + a * UNIT, high + b * UNIT), (low - b * UNIT, high - a * UNIT)]
        low, high = merged(
            np.concatenate([s[0] for s in shifted]), np.concatenate([s[1] for s in shifted])
        )
        found.append(measure_and_moment(low, high))
    return found, len(low)


@pytest.mark.parametrize("name", SETS)
def test_normalizer_and_mean_at_widening_one_half(name):
    intervals = SETS[name]
    partition = NeighborPartition(list(intervals), 0.5)
    steps = partition.steps
    c = intervals[-1][1]
    found, pieces = cumulative(intervals, steps + 3)
    assert pieces == 1  # converged
    layers = [found[0], *((b[0] - a[0], b[1] - a[1]) for a, b in pairwise(found))]
    assert layers[steps + 1][0] == layers[steps + 2][0] == 2 * c * UNIT
    reach = found[steps + 3][0] / 2 / UNIT
    for epsilon in (0.1, 1.0, 5.0):
        noise = partition.noise(epsilon)
        x = math.exp(-epsilon)
        # After the listed layers every one is +-[reach, reach + c], each c further out: two
        # geometric series.
        tail = x ** (steps + 4) / (1 - x)
        measure = math.fsum(x**t * m / UNIT for t, (m, _) in enumerate(layers)) + 2 * c * tail
        moment = math.fsum(x**t * q / (2 * UNIT**2) for t, (_, q) in enumerate(layers))
        moment += c * tail * (2 * reach + c) + 2 * c * c * tail * x / (1 - x)
        assert noise.normalizer == pytest.approx(measure, rel=1e-12)
        assert noise.expected_abs == pytest.approx(moment / measure, rel=1e-12)
