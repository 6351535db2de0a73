r"""Exact p-values of reports: of two outcomes for every number of reports, of several outcomes for
few reports.

The statistic is ``N KL(q || q*)``, with ``q*`` the nearest distribution that some answers give. Its
p-value is the largest probability, over all answers, of a value at least as large. If the answers
are fixed this probability is linear in each respondent's row of the channel, so that only extreme
rows matter; if respondents are drawn at random it is an average of those of fixed answers. Hence
the largest one over the numbers of respondents with each answer holds for both.

With two outcomes it is reached if all have the same answer. Of ``j`` respondents with the larger
probability ``h`` of the first outcome, and others with ``l``, let the value be as large for at most
``a`` or at least ``b`` reports of that outcome. Moving one respondent from ``l`` to ``h`` changes
its probability by ``(h - l) (Pr(S = b - 1) - Pr(S = a))``, ``S`` the count of all others; the ratio
of the two probabilities grows with ``j`` (sums of independent bits are ordered by likelihood
ratio), so that the change is first negative, then positive.
"""

import math
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from ldpopt.foundation.numbers import Float, Int

DEVIATIONS = 12  # of which the terms of a tail are summed; what follows is bounded
MOST_CELLS = 200_000  # cells of a table of counts by answers and by outcomes
STEPS = 30  # steps to the nearest distributions
TIE = 1e-9  # difference up to which two values of a statistic are the same
SLACK = 1 + 1e-9  # above all rounding of sums of probabilities


def two_outcome_p_value(hits: int, number: int, low: float, high: float) -> float:
    """P-value of ``hits`` of ``number`` reports, of which each is a hit with probability from
    ``low`` to ``high``; never below the exact one.
    """
    if hits > number * high:
        return two_outcome_p_value(number - hits, number, 1 - high, 1 - low)
    if hits >= number * low:
        return 1.0
    value = _divergence(hits, number, low) * (1 - TIE)
    misses = _last(value, number, 1 - high)
    every = (
        _lower_tail(hits, number, share) + _lower_tail(misses, number, 1 - share)
        for share in (low, high)
    )
    return min(1.0, max(every))


def support_p_value(hits: Any, number: Any, low: float, high: float) -> float:
    """P-value of several numbers of hits, each of ``number`` reports: that of the furthest one, as
    often as there are numbers.
    """
    share = np.full(np.shape(hits), low)
    np.divide(hits, number, out=share, where=np.asarray(number) > 0)
    place = furthest_of(share, number, low, high)
    asked = int(np.broadcast_to(number, share.shape)[place])
    if not asked:
        return 1.0
    return min(1.0, len(share) * two_outcome_p_value(int(hits[place]), asked, low, high))


def furthest_of(share: Float, number: Any, low: Any, high: Any) -> int:
    """Position of the share with the largest divergence from its range."""
    nearest = np.clip(share, low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(share > 0, share * np.log(share / nearest), 0.0)
        outside = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - nearest)), 0.0)
    return int((number * (inside + outside)).argmax())


def _divergence(hits: int, number: int, share: float) -> float:
    """``N KL`` of hits below their expected number."""
    misses = number - hits
    total = misses * (math.log(misses / number) - math.log1p(-share)) if share < 1 else math.inf
    return total + (hits * math.log(hits / number / share) if hits else 0.0)


def _last(value: float, number: int, share: float) -> int:
    """Largest count below the expected one whose divergence is at least a value; -1 if there is
    none.
    """
    low = -1
    high = math.ceil(number * share)
    while high - low > 1:
        middle = (low + high) // 2
        if _divergence(middle, number, share) >= value:
            low = middle
        else:
            high = middle
    return low


def _lower_tail(hits: int, number: int, share: float) -> float:
    """Upper bound on the probability of at most so many hits, fewer than expected, by its terms
    from the largest one.
    """
    if hits < 0 or share >= 1:
        return 0.0
    if share <= 0:
        return 1.0
    sizes = (math.lgamma(count + 1) for count in (number, hits, number - hits))
    every, some, others = sizes
    log_term = every - some - others + hits * math.log(share)
    log_term += (number - hits) * math.log1p(-share)
    odds = (1 - share) / share
    size = min(hits, 50 + int(DEVIATIONS * math.sqrt(number)))
    counts = np.arange(hits, hits - size, -1, dtype=float)
    ratios = counts / (number - counts + 1) * odds
    terms = np.cumprod(ratios)
    total = 1.0 + float(terms.sum())
    if hits > size:
        total += float(terms[-1] * ratios[-1] / (1 - ratios[-1]))
    return math.exp(log_term + 1e-14 * (every + 1)) * total * SLACK


def listed_p_value(channel: Float, counts: Int) -> float | None:
    """Exact p-value of the counts of several outcomes; None if there are too many reports.

    ``channel`` has no column of zeros. The first call for a channel and a number of reports takes
    up to a second, later ones microseconds.
    """
    number = int(counts.sum())
    m = len(counts)
    cells = math.comb(number + m - 1, m - 1)
    if cells > MOST_CELLS // m:  # for most surveys, and sorting rows would take most of the time
        return None
    rows = np.unique(channel, axis=0)
    n = len(rows)
    if math.comb(number + n - 1, n - 1) * cells > MOST_CELLS // m:
        return None
    return _p_values(rows.tobytes(), m, number)[tuple(counts.tolist())]


@lru_cache(maxsize=64)
def _p_values(rows: bytes, m: int, number: int) -> dict[tuple[int, ...], float]:
    """P-values of all counts of a number of reports."""
    channel = np.frombuffer(rows).reshape(-1, m)
    laws = _laws(channel, number)
    every = _compositions(number, m)
    values = _distances(channel, np.array(every) / number) * number
    order = np.argsort(-values)
    tails = np.cumsum(laws[:, order], axis=1).max(axis=0) * SLACK
    last = np.searchsorted(-values[order], -(values - TIE * (1 + values)), side="right") - 1
    return dict(zip(every, np.minimum(tails[last], 1.0).tolist(), strict=True))


def _laws(channel: Float, number: int) -> Float:
    """Probabilities of all counts of reports, a column each, for all numbers of respondents by
    answer, a row each.
    """
    n, m = channel.shape
    laws = np.ones((1, 1))
    for size in range(1, number + 1):
        people = _added(size, n)
        reports = _added(size, m)
        before = np.empty(math.comb(size + n - 1, n - 1), dtype=np.int64)
        answers = np.empty_like(before)  # of the respondent who is added
        for x in range(n):
            before[people[x]] = np.arange(people.shape[1])
            answers[people[x]] = x
        sources = laws[:, before]
        laws = np.zeros((math.comb(size + m - 1, m - 1), len(before)))
        for y in range(m):
            laws[reports[y]] += sources * channel[answers, y]
    return laws.T


@lru_cache(maxsize=256)
def _compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to write a number as an ordered sum, in lexicographic order."""
    every = []
    for bars in combinations(range(total + parts - 1), parts - 1):
        ends = (-1, *bars, total + parts - 1)
        every.append(tuple(b - a - 1 for a, b in pairwise(ends)))
    return every


@lru_cache(maxsize=256)
def _added(total: int, parts: int) -> Int:
    """Positions of the sums that follow from those of one less by adding one to each part, shape
    ``(parts, sums)``.
    """
    after = {each: place for place, each in enumerate(_compositions(total, parts))}
    before = _compositions(total - 1, parts)
    places = [
        [after[(*each[:y], each[y] + 1, *each[y + 1 :])] for each in before] for y in range(parts)
    ]
    return np.array(places)


def _distances(channel: Float, shares: Float) -> Float:
    r"""Divergence :math:`\mathrm{KL}(q \,\|\, q^*)` of each row of shares from the nearest mixture
    of rows, by the steps of `most_likely` for all at once; 0 if rounding hides it.

    Any function of the counts gives a valid p-value, so that the accuracy is no part of the proof.
    """
    n = len(channel)
    prior = np.full((len(shares), n), 1 / n)
    slack = np.ones_like(prior)
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            mix = prior @ channel
            gradient = (shares / mix) @ channel.T
            center = np.maximum(0.1 * (prior * slack).mean(axis=1, keepdims=True), 1e-15)
            root = np.sqrt(prior)
            scaled = root[:, :, None] * channel * (np.sqrt(shares) / mix)[:, None]
            matrix = scaled @ scaled.transpose(0, 2, 1) + slack[:, :, None] * np.eye(n)
            right = root * (gradient - 1) + center / root
            step = root * np.linalg.solve(matrix, right[:, :, None])[:, :, 0]
            slack_step = center / prior - slack - slack / prior * step
            prior = prior + _lengths(prior, step) * step
            slack = slack + _lengths(slack, slack_step) * slack_step
        mix = (prior / prior.sum(axis=1, keepdims=True)) @ channel
        terms = np.where(shares > 0, shares * np.log(shares / mix), 0.0)
    distances = np.nan_to_num(terms.sum(axis=1))
    return np.asarray(np.where(distances > TIE, distances, 0.0))


def _lengths(points: Float, steps: Float) -> Any:
    """Step lengths that keep the points positive, of each row."""
    ratios = np.where(steps < 0, -points / np.where(steps < 0, steps, -1.0), np.inf)
    return np.minimum(1.0, 0.99 * ratios.min(axis=1, keepdims=True))
