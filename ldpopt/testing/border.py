"""Private channels at the border of what an audit certifies, found by the audit alone.

Rows that are too strict cannot be seen in channels that were made with them: optima and repairs
satisfy them, and are private all the more. Here a drawn channel is mixed with one that does not
depend on the answer. Private channels form a convex set in which the latter lies, so that all
mixtures from some share on are private, and bisection finds that share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ldpopt.foundation.numbers import Float

STEPS = 30  # of bisection: the share is known to 1e-9
SMALL = 0.01  # mass of a report that is tried for one answer alone

IsPrivate = Callable[[Float], bool]


def border_channels(
    shape: tuple[int, int], is_private: IsPrivate, draws: np.random.Generator, count: int
) -> Iterator[Float]:
    """Private channels, (n, m), from which a little less noise is not private; none if no report
    may be common to all inputs.
    """
    n, m = shape
    common = [y for y in range(m) if is_private(_constant(n, m, [y]))]
    if not common:
        return
    anchor = _constant(n, m, common)
    units = [
        (x, y)
        for y in range(m)
        if y not in common
        for x in range(n)
        if is_private(_with_unit(anchor, x, y))
    ]
    for _ in range(count):
        drawn = np.zeros(shape)
        drawn[:, common] = draws.dirichlet(np.full(len(common), 0.5), n)
        for x, y in units:
            share = float(draws.random())
            drawn[x] *= 1 - share
            drawn[x, y] += share
        yield _mixed(drawn / drawn.sum(axis=1, keepdims=True), anchor, is_private)


def _mixed(drawn: Float, anchor: Float, is_private: IsPrivate) -> Float:
    """The private mixture with the smallest share of the anchor."""
    low = 0.0
    high = 1.0
    if is_private(drawn):
        return drawn
    for _ in range(STEPS):
        middle = (low + high) / 2
        if is_private((1 - middle) * drawn + middle * anchor):
            high = middle
        else:
            low = middle
    return (1 - high) * drawn + high * anchor


def _constant(n: int, m: int, reports: list[int]) -> Float:
    """The channel that gives one of some reports, whatever the answer is."""
    channel = np.zeros((n, m))
    channel[:, reports] = 1 / len(reports)
    return channel


def _with_unit(anchor: Float, x: int, y: int) -> Float:
    """A channel with a report that only one input gives."""
    channel = anchor.copy()
    channel[x] *= 1 - SMALL
    channel[x, y] += SMALL
    return channel
