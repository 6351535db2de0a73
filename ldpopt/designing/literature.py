r"""Mechanisms of the literature for a workload, to compare a design with, each with its best
unbiased estimator.

They are channels of floats, neither repaired nor audited. With equal weights the variances of a
`SetProtocol` follow from the trace of the centered Gram matrix and its entry at the answer, without
a channel.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

import numpy as np

from ldpopt.certificate.frequency_certificate import best_size
from ldpopt.designing.realize import left_inverse
from ldpopt.designing.record import variances_with
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float
from ldpopt.problem.workload import Workload

STEPS = 1000  # limit on steps of the descent to a factorization mechanism, from each start
WORTHWHILE = 1e-4  # smallest gain, as a share of the objective, after which the descent continues
MAX_ENTRIES = 2**25  # largest number of entries of a workload of which influences are computed
MAX_BLOCK = 2**20  # entries of a workload that are treated at once
MAX_SETS = 2**14  # largest number of sets of which a channel is listed


def variance_of(workload: Workload, channel: Float, weights: Float | None = None) -> float:
    """Average variance of the best unbiased estimator for a channel of shape ``(n, m)``."""
    n = len(channel)
    r = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    return float(r @ variances_of(workload, channel, r))


def variances_of(workload: Workload, channel: Float, weights: Float) -> Float:
    """Variance for every answer with the estimator that is best on average over the weights, which
    sum to 1.
    """
    return variances_with(workload, channel, left_inverse(channel, weights), weights)


@dataclass(frozen=True, eq=False)
class SetProtocol:
    """A protocol whose report is a set of answers.

    Under the answer ``x`` the probability of a set is proportional to the share of its size, times
    ``e**-epsilon`` if it does not contain ``x``.
    """

    n: int
    epsilon: float
    sizes: Float  # sizes of the sets, from 0 to n
    log_shares: Float  # logarithm of the share of a set of each size

    @property
    def channel(self) -> Float:
        """Probabilities of all sets, shape ``(n, m)``."""
        if sum(math.comb(self.n, int(size)) for size in self.sizes) > MAX_SETS:
            raise NotRepresentableError(
                f"{self.n} answers have too many sets to list",
                code="many-sets",
                do="compare at most 14 answers",
            )
        places = [
            (k, chosen)
            for k, size in enumerate(self.sizes)
            for chosen in combinations(range(self.n), int(size))
        ]
        sets = np.zeros((len(places), self.n))
        shares = np.empty(len(places))
        for row, (k, chosen) in enumerate(places):
            sets[row, list(chosen)] = 1.0
            shares[row] = np.exp(self.log_shares[k] - self.log_shares.max())
        return _channel_of_sets(sets, shares, self.epsilon)

    @property
    def chances(self) -> Float:
        """Probability of each size."""
        from scipy.special import gammaln, logsumexp

        n = self.n
        sizes = self.sizes
        base = math.exp(-self.epsilon)
        sets = gammaln(n + 1) - gammaln(sizes + 1) - gammaln(n - sizes + 1)
        weights = sets + self.log_shares + np.log(sizes / n + base * (1 - sizes / n))
        return np.asarray(np.exp(weights - logsumexp(weights)))

    def variances(self, diagonal: Float) -> Float:
        """Variance for every answer with the best estimator for equal weights; see
        `centered_diagonal`.
        """
        n = self.n
        k = self.sizes
        base = math.exp(-self.epsilon)
        total = float(diagonal.sum())
        slope = (1 - base) / (base + (1 - base) * k / n)
        chances = self.chances
        scale = float(chances @ (slope**2 * k * (n - k))) / n / (n - 1)
        inside = k / (k + base * (n - k))
        # Second moments of a set's indicator, given that it contains the answer, or does not; rows
        # of the Gram matrix sum to 0, so that pairs of other answers add up to 2 d - total.
        ones = (k - 1) / (n - 1)
        pairs = (k - 1) * (k - 2) / ((n - 1) * max(n - 2, 1))
        other_ones = k / (n - 1)
        other_pairs = k * (k - 1) / ((n - 1) * max(n - 2, 1))
        share = chances * slope**2 / scale**2
        of_own = share @ (
            inside * (1 - 3 * ones + 2 * pairs) + (1 - inside) * (2 * other_pairs - other_ones)
        )
        of_all = share @ (inside * (ones - pairs) + (1 - inside) * (other_ones - other_pairs))
        return np.asarray(of_own * diagonal + of_all * total - diagonal)

    def influence(self, workload: Workload) -> float:
        """The influence of a report in people with this estimator: the largest and the least sum of
        a row of the workload over a set of each size.
        """
        n = self.n
        k = self.sizes
        base = math.exp(-self.epsilon)
        slope = (1 - base) / (base + (1 - base) * k / n)
        scale = float(self.chances @ (slope**2 * k * (n - k))) / n / (n - 1)
        factors = np.where((k > 0) & (k < n), slope / scale, 0.0)
        places = k.astype(int)

        def ends(rows: Float) -> tuple[Float, Float]:
            means = rows.mean(axis=1, keepdims=True)
            ordered = np.sort(rows - means, axis=1)
            sums = np.zeros((len(rows), n + 1))
            np.cumsum(ordered, axis=1, out=sums[:, 1:])
            least = means + factors * sums[:, places]
            # rows sum to 0 about their means: the largest sum is that of what is left of the least
            most = means - factors * sums[:, n - places]
            return most.max(axis=1), least.min(axis=1)

        if workload.unit is not None:  # all rows are alike
            one = np.zeros((1, n))
            one[0, 0] = workload.unit
            return _most_people(one, ends)
        return largest_in_people(workload, ends)


Ends = Callable[[Float], tuple[Float, Float]]  # of rows of a workload: largest and least values


def largest_in_people(workload: Workload, ends: Ends) -> float:
    """The largest influence of a report in people, from the largest and the least value of a report
    in some rows of a workload; nan if the workload has too many entries.
    """
    k, n = workload.shape
    if k * n > MAX_ENTRIES:
        return math.nan
    rows = np.asarray(workload.matrix)
    step = max(1, MAX_BLOCK // n)
    parts = (rows[start : start + step] for start in range(0, k, step))
    return max(_most_people(part, ends) for part in parts)


def _most_people(rows: Float, ends: Ends) -> float:
    """The same for some rows."""
    most, least = ends(rows)
    spans = np.ptp(rows, axis=1)
    each = np.maximum(most - rows.min(axis=1), rows.max(axis=1) - least)
    people = np.divide(each, spans, out=np.zeros_like(each), where=spans > 0)
    return float(people.max())


def influence_of_channel(workload: Workload, channel: Float, inverse: Float) -> float:
    """The influence of a report in people, for a channel with a left inverse."""

    def ends(rows: Float) -> tuple[Float, Float]:
        values = rows @ inverse
        return values.max(axis=1), values.min(axis=1)

    possible = channel.max(axis=0) > 0
    inverse = inverse[:, possible]
    return largest_in_people(workload, ends)


def centered_diagonal(workload: Workload) -> Float:
    """Squared distance of every answer's column of the workload from their average, shape
    ``(n,)``.
    """
    n = workload.shape[1]
    if workload.unit is not None:
        return np.full(n, workload.unit**2 * (1 - 1 / n))
    mean = workload.gram.mean(axis=0)
    return np.asarray(np.diag(workload.gram) - 2 * mean + mean.mean())


def subset_selection(n: int, epsilon: float, size: int | None = None) -> SetProtocol:
    """Report a set of ``size`` answers; default: the best size for frequencies."""
    size = best_size(n, Budget(epsilon)) if size is None else size
    return SetProtocol(n, epsilon, np.array([float(size)]), np.zeros(1))


def randomized_response(n: int, epsilon: float) -> SetProtocol:
    """Report the truth with a larger probability than any other answer."""
    return subset_selection(n, epsilon, 1)


def unary_encoding(n: int, epsilon: float, truth: float = 0.5) -> SetProtocol:
    """Send the indicator bit by bit; the 1 stays with probability ``truth``, a 0 as often as
    epsilon allows.
    """
    # 1/2 is OUE (Wang et al. 2017), 1 / (1 + exp(-epsilon / 2)) the symmetric encoding of RAPPOR.
    sizes = np.arange(n + 1.0)
    flip = truth / (truth + math.exp(epsilon) * (1 - truth))
    return SetProtocol(n, epsilon, sizes, sizes * math.log(flip) + (n - sizes) * math.log1p(-flip))


def local_hashing(n: int, epsilon: float, buckets: int | None = None) -> SetProtocol:
    """Randomized response on the bucket of a random public hash (Wang et al. 2017), as the set of
    its answers.
    """
    # By default there are about e**epsilon + 1 buckets. Empty buckets and those of all answers have
    # no information.
    sizes = np.arange(n + 1.0)
    g = buckets or max(2, round(math.exp(epsilon)) + 1)
    return SetProtocol(n, epsilon, sizes, -sizes * math.log(g) + (n - sizes) * math.log1p(-1 / g))


def hadamard_response(n: int, epsilon: float, blocks: int | None = None) -> Float:
    """Channel that reports a position of a block of Hadamard matrices, more often if the answer's
    row has a 1 there.
    """
    # Acharya, Sun and Zhang 2019, section 5: the number of blocks is a power of two near
    # exp(epsilon); one block is their scheme for small budgets.
    from scipy.linalg import hadamard

    if blocks is None:
        blocks = 1 << (math.ceil(math.log2(min(math.exp(epsilon), 2 * n))) - 1)
    order = 1 << math.ceil(math.log2(n / blocks + 1))
    rows = hadamard(order)[:, 1:] > 0
    sets = np.zeros((blocks * order, n))
    for x in range(n):
        block = x % blocks
        row = x // blocks
        sets[block * order : (block + 1) * order, x] = rows[:, row]
    return _channel_of_sets(sets, np.ones(len(sets)), epsilon)


def hierarchy(n: int, epsilon: float) -> Float:
    """Channel of subset selection on the nodes of a random level of a binary tree."""
    # Cormode, Kulkarni and Srivastava 2019 estimate the frequencies of a level by unary encoding,
    # hashing or Hadamard matrices, none of which is better.
    parts = []
    answers = np.arange(n)
    levels = max(1, math.ceil(math.log2(n)))
    for level in range(1, levels + 1):
        nodes = answers if level == levels else answers * 2**level // n
        parts.append(subset_selection(int(nodes.max()) + 1, epsilon).channel[nodes] / levels)
    return np.hstack(parts)


def _channel_of_sets(sets: Float, shares: Float, epsilon: float) -> Float:
    """Channel of the staircase columns of sets, in these shares."""
    columns = (np.exp(-epsilon) + (1 - np.exp(-epsilon)) * sets) * shares[:, None]
    return np.asarray((columns / columns.sum(axis=0)).T)


def factorization(
    workload: Workload, epsilon: float, *, starts: int = 5, weights: Float | None = None
) -> Float:
    """The factorization mechanism: ``4 n`` reports by descent through a projection, the best of
    random starts.
    """
    # McKenna, Maity, Mazumdar and Miklau 2020, section 6; here with quasi-Newton steps in place of
    # gradient descent.
    n = workload.shape[1]
    r = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    channels = [
        _descend(workload.gram, r, epsilon, np.random.default_rng(seed)) for seed in range(starts)
    ]
    return min(channels, key=lambda channel: variance_of(workload, channel, r))


def _descend(gram: Float, r: Float, epsilon: float, rng: np.random.Generator) -> Float:
    """A channel after quasi-Newton steps in the channel before the projection and the least entries
    of the reports.
    """
    from scipy.optimize import minimize

    n = len(r)
    m = 4 * len(r)
    point = np.concatenate([rng.random(n * m) / m, np.zeros(m + 1)])
    value = math.inf
    steps = 0
    while steps < STEPS:
        # The objective has corners, at which L-BFGS ends early: it starts again without its memory.
        options: Any = {
            "jac": True,
            "method": "L-BFGS-B",
            "options": {"maxiter": STEPS - steps, "maxcor": 20},
        }
        options["bounds"] = [(None, None)] * (n * m) + [(-10.0, 10.0)] * (m + 1)
        end = cast(Any, minimize)(
            lambda flat: _through_projection(flat, gram, r, epsilon)[:2], point, **options
        )
        steps += max(1, end.nit)
        point = end.x
        gained = value - end.fun
        value = float(end.fun)
        if gained < WORTHWHILE:
            break
    return _through_projection(point, gram, r, epsilon)[2]


def _through_projection(
    flat: Float, gram: Float, r: Float, epsilon: float
) -> tuple[float, Float, Float]:
    """Objective of the projected channel, its gradient before the projection, and the channel."""
    n = len(r)
    e = math.exp(epsilon)
    m = (len(flat) - 1) // (n + 1)
    free = flat[: n * m].reshape(n, m)
    level = 1 / (1 + math.exp(-flat[-1]))
    share = np.exp(flat[n * m : -1] - flat[n * m : -1].max())
    share /= share.sum()
    total = 1 / e + (1 - 1 / e) * level
    low = total * share
    channel = _nearest(free, low, epsilon)
    value, slope = _objective(gram, r, channel)
    at_low = channel <= low * (1 + 1e-9)
    at_high = channel >= e * low * (1 - 1e-9)
    inside = ~(at_low | at_high)
    mean = (slope * inside).sum(axis=1, keepdims=True) / np.maximum(
        inside.sum(axis=1, keepdims=True), 1
    )
    slope = slope - mean
    by_low = (slope * at_low).sum(axis=0) + e * (slope * at_high).sum(axis=0)
    by_share = low * by_low - share * (low @ by_low)
    by_level = float(share @ by_low) * (1 - 1 / e) * level * (1 - level)
    return (
        math.log(value),
        np.concatenate([(slope * inside).ravel(), by_share, [by_level]]) / value,
        channel,
    )


def _objective(gram: Float, r: Float, channel: Float) -> tuple[float, Float]:
    """``tr(G I^-1)`` and its gradient in the channel."""
    q = r @ channel
    information = (channel / q) @ channel.T
    information[np.diag_indices_from(information)] += 1e-12 * np.trace(information)
    inverse = np.linalg.inv(information)
    along = (inverse @ gram @ inverse) @ channel / q
    return float(np.sum(inverse * gram)), -2 * along + np.outer(
        r, np.einsum("xy,xy->y", along, channel) / q
    )


def _nearest(wanted: Float, low: Float, epsilon: float) -> Float:
    """Nearest rows that sum to 1 with entries from ``low`` to ``e**epsilon low``: shift and
    clip.
    """
    # The sum of a clipped row is linear between the shifts at which an entry leaves its lower or
    # reaches its upper end.
    m = len(low)
    high = math.exp(epsilon) * low
    ends = np.hstack([low - wanted, high - wanted])
    order = np.argsort(ends, axis=1)
    ends = np.take_along_axis(ends, order, axis=1)
    moving = np.cumsum(np.where(order < m, 1.0, -1.0), axis=1)[:, :-1]
    sums = low.sum() + np.cumsum(moving * np.diff(ends, axis=1), axis=1)
    rows = np.arange(len(wanted))
    place = np.minimum((sums < 1).sum(axis=1), 2 * m - 2)
    shift = ends[rows, place + 1] - (sums[rows, place] - 1) / np.maximum(moving[rows, place], 1.0)
    clipped = np.clip(wanted + shift[:, None], low, high)
    return np.asarray(clipped / clipped.sum(axis=1, keepdims=True))
