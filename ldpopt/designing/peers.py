"""Mechanisms of the literature as channels, to compare a design with; each with the best estimator for its channel."""

from __future__ import annotations

import math

import numpy as np

from ldpopt.certificate.frequency_certificate import best_size
from ldpopt.designing.realize import left_inverse
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float
from ldpopt.problem.workload import Workload

LISTED = 14
"""Most answers for peers whose reports are all sets."""

FACTORIZATION_STEPS = 1000
"""Steps of descent from each start."""

WORTHWHILE = 1e-4
"""Share of the objective for which a descent begins again."""


def variance_of(workload: Workload, channel: Float, weights: Float | None = None) -> float:
    """Average variance of the best unbiased estimator for a channel.

    Shapes: ``channel`` (n, m).
    """
    n = len(channel)
    r = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    return float(r @ variances_of(workload, channel, r))


def variances_of(workload: Workload, channel: Float, weights: Float) -> Float:
    """Variance for every answer by the estimator that is best on average over the weights, which sum to 1."""
    gram = workload.contrast_gram
    moved = left_inverse(channel, weights) - weights[:, None]
    moments = np.einsum("xy,xy->y", gram @ moved, moved)
    mean = gram @ weights
    return np.asarray(channel @ moments - (np.diag(gram) - 2 * mean + weights @ mean))


def randomized_response(n: int, epsilon: float) -> Float:
    """Tell the truth more often than any other answer."""
    return _of_sets(np.eye(n), np.ones(n), epsilon)


def subset_selection(n: int, epsilon: float, size: int | None = None) -> Float:
    """Report a set of ``size`` answers; default: the size that is best for frequencies."""
    size = best_size(n, Budget(epsilon)) if size is None else size
    sets = _all_sets(n)
    sets = sets[sets.sum(axis=1) == size]
    return _of_sets(sets, np.ones(len(sets)), epsilon)


def local_hashing(n: int, epsilon: float, buckets: int | None = None) -> Float:
    """Randomized response on the bucket of a random public hash (Wang et al. 2017).

    Every set is reported with the chance that it is a bucket; empty buckets, and those of all answers, tell nothing.
    """
    g = buckets or max(2, round(math.exp(epsilon)) + 1)
    sets = np.vstack([_all_sets(n), np.zeros(n), np.ones(n)])
    size = sets.sum(axis=1)
    return _of_sets(sets, (1 / g) ** size * (1 - 1 / g) ** (n - size), epsilon)


def unary_encoding(n: int, epsilon: float, truth: float = 0.5) -> Float:
    """Send the indicator bit by bit, the 1 as it is with probability ``truth``, every 0 as private as epsilon allows.

    1/2 is OUE (Wang et al. 2017), ``1 / (1 + exp(-epsilon / 2))`` the symmetric one of RAPPOR.
    """
    sets = np.vstack([_all_sets(n), np.zeros(n), np.ones(n)])
    p, q = truth, truth / (truth + math.exp(epsilon) * (1 - truth))
    others = sets.sum(axis=1)[:, None] - sets
    own = np.where(sets > 0, p, 1 - p)
    return np.asarray((own * q**others * (1 - q) ** (n - 1 - others)).T)


def hadamard_response(n: int, epsilon: float, blocks: int | None = None) -> Float:
    """Report a position of a block of Hadamard matrices, more often where the answer's row has a 1.

    References
    ----------
    Acharya, Sun and Zhang 2019, section 5: the number of blocks is a power of two near ``exp(epsilon)``; one block is
    their scheme for small budgets.
    """
    from scipy.linalg import hadamard

    if blocks is None:
        blocks = 1 << (math.ceil(math.log2(min(math.exp(epsilon), 2 * n))) - 1)
    order = 1 << math.ceil(math.log2(n / blocks + 1))
    rows = hadamard(order)[:, 1:] > 0
    sets = np.zeros((blocks * order, n))
    for x in range(n):
        block, row = x % blocks, x // blocks
        sets[block * order : (block + 1) * order, x] = rows[:, row]
    return _of_sets(sets, np.ones(len(sets)), epsilon)


def hierarchy(n: int, epsilon: float) -> Float:
    """Subset selection on the nodes of a random level of a binary tree (after Cormode, Kulkarni and Srivastava 2019).

    They tell frequencies of a level by unary encoding, hashing or Hadamard matrices, none of which is better.
    """
    parts, answers = [], np.arange(n)
    levels = max(1, math.ceil(math.log2(n)))
    for level in range(1, levels + 1):
        nodes = answers if level == levels else answers * 2**level // n
        parts.append(subset_selection(int(nodes.max()) + 1, epsilon)[nodes] / levels)
    return np.hstack(parts)


def factorization(workload: Workload, epsilon: float, *, starts: int = 5, weights: Float | None = None) -> Float:
    """Optimize ``4 n`` reports by descent through a projection from random channels; the best of the starts.

    References
    ----------
    McKenna, Maity, Mazumdar and Miklau 2020, section 6; written anew, with quasi-Newton
    steps in place of plain gradient descent.
    """
    n = workload.shape[1]
    r = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    found = [_descend(workload.gram, r, epsilon, np.random.default_rng(seed)) for seed in range(starts)]
    return min(found, key=lambda channel: variance_of(workload, channel, r))


def _descend(gram: Float, r: Float, epsilon: float, rng: np.random.Generator) -> Float:
    """Quasi-Newton steps through the projection, in the channel before it and the lower ends of the reports."""
    from scipy.optimize import minimize

    n, m = len(r), 4 * len(r)
    point, value, steps = np.concatenate([rng.random(n * m) / m, np.zeros(m + 1)]), math.inf, 0
    while steps < FACTORIZATION_STEPS:
        # The objective has corners, at which a search ends early: it begins again without its memory.
        found = minimize(  # type: ignore[call-overload]
            lambda flat: _through_projection(flat, gram, r, epsilon)[:2],
            point,
            jac=True,
            method="L-BFGS-B",
            bounds=[(None, None)] * (n * m) + [(-10.0, 10.0)] * (m + 1),
            options={"maxiter": FACTORIZATION_STEPS - steps, "maxcor": 20},
        )
        steps += max(1, found.nit)
        point, gained, value = found.x, value - found.fun, float(found.fun)
        if gained < WORTHWHILE:
            break
    return _through_projection(point, gram, r, epsilon)[2]


def _through_projection(flat: Float, gram: Float, r: Float, epsilon: float) -> tuple[float, Float, Float]:
    """Objective of the projected channel, its gradient before the projection, and the channel."""
    n, e = len(r), math.exp(epsilon)
    m = (len(flat) - 1) // (n + 1)
    free, level = flat[: n * m].reshape(n, m), 1 / (1 + math.exp(-flat[-1]))
    share = np.exp(flat[n * m : -1] - flat[n * m : -1].max())
    share /= share.sum()
    total = 1 / e + (1 - 1 / e) * level
    low = total * share
    channel = _nearest(free, low, epsilon)
    value, slope = _objective(gram, r, channel)
    at_low, at_high = channel <= low * (1 + 1e-9), channel >= e * low * (1 - 1e-9)
    inside = ~(at_low | at_high)
    mean = (slope * inside).sum(axis=1, keepdims=True) / np.maximum(inside.sum(axis=1, keepdims=True), 1)
    slope = slope - mean
    by_low = (slope * at_low).sum(axis=0) + e * (slope * at_high).sum(axis=0)
    by_share = low * by_low - share * (low @ by_low)
    by_level = float(share @ by_low) * (1 - 1 / e) * level * (1 - level)
    return math.log(value), np.concatenate([(slope * inside).ravel(), by_share, [by_level]]) / value, channel


def _objective(gram: Float, r: Float, channel: Float) -> tuple[float, Float]:
    """``tr(G I^-1)`` and its gradient in the channel."""
    q = r @ channel
    information = (channel / q) @ channel.T
    information[np.diag_indices_from(information)] += 1e-12 * np.trace(information)
    inverse = np.linalg.inv(information)
    price = inverse @ gram @ inverse
    along = price @ channel / q
    moments = np.einsum("xy,xy->y", along, channel) / q
    return float(np.sum(inverse * gram)), -2 * along + np.outer(r, moments)


def _nearest(wanted: Float, low: Float, epsilon: float) -> Float:
    """Nearest rows that sum to 1 with entries from ``low`` to ``e**epsilon low``: shift and clip.

    The sum of a clipped row grows linearly between the shifts at which an entry leaves its lower or reaches its upper
    end.
    """
    m, high = len(low), math.exp(epsilon) * low
    ends = np.hstack([low - wanted, high - wanted])
    order = np.argsort(ends, axis=1)
    ends = np.take_along_axis(ends, order, axis=1)
    moving = np.cumsum(np.where(order < m, 1.0, -1.0), axis=1)[:, :-1]
    sums = low.sum() + np.cumsum(moving * np.diff(ends, axis=1), axis=1)
    rows, place = np.arange(len(wanted)), np.minimum((sums < 1).sum(axis=1), 2 * m - 2)
    shift = ends[rows, place + 1] - (sums[rows, place] - 1) / np.maximum(moving[rows, place], 1.0)
    found = np.clip(wanted + shift[:, None], low, high)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _of_sets(sets: Float, shares: Float, epsilon: float) -> Float:
    """Channel of staircase columns, scaled so that the rows sum to 1."""
    columns = (np.exp(-epsilon) + (1 - np.exp(-epsilon)) * sets) * shares[:, None]
    return np.asarray((columns / columns.sum(axis=0)).T)


def _all_sets(n: int) -> Float:
    if n > LISTED:
        raise NotRepresentableError(f"{n} answers have too many sets to list", do=f"compare at most {LISTED} answers")
    return np.asarray((np.arange(1, 2**n - 1)[:, None] >> np.arange(n)) & 1, dtype=np.float64)
