"""Maximum likelihood: the frequencies of answers that make the seen reports most probable, and how
probable.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ldpopt.errors import LimitReachedError
from ldpopt.estimation.exact_fit import furthest_of, listed_p_value, two_outcome_p_value
from ldpopt.estimation.identified import has_independent_rows
from ldpopt.estimation.linear import weighted_left_inverse
from ldpopt.foundation.numbers import Float, Int

# largest accepted shortfall of the log-likelihood from its maximum, in nats per report
LIKELIHOOD_GAP = 1e-9
NEWTON_STEPS = 200  # limit on interior-point steps; 10 to 40 are usual


def most_likely(
    channel: Float, frequencies: Float, is_enough: Callable[[Float], bool] = lambda _: False
) -> Float:
    r"""Maximize :math:`\sum_y q_y \log (P^T \pi)_y` on the simplex, by primal-dual interior-point
    steps.

    Minimizing :math:`\sum_x \pi_x - \sum_y q_y \log (P^T \pi)_y` over :math:`\pi \ge 0` alone is
    the same: its optimum sums to 1 by itself. With :math:`g = P (q / P^T \pi)` and slacks ``s``,
    the optimum has ``s = 1 - g >= 0`` and :math:`\pi s = 0`; each step solves the Newton equation
    of ``pi s = center``. Enough frequencies end the steps.
    """
    q = frequencies[frequencies > 0]
    channel = channel[:, frequencies > 0]
    n = len(channel)
    prior = np.full(n, 1 / n)
    slack = np.ones(n)
    best, best_gap = prior, np.inf
    for _ in range(NEWTON_STEPS):
        if is_enough(prior / prior.sum()):
            return np.asarray(prior / prior.sum())
        mix = prior @ channel
        gradient = channel @ (q / mix)
        # The gradient at the point, scaled onto the simplex, bounds the distance to the maximum.
        gap = float(prior.sum() * gradient.max()) - 1
        if gap < best_gap:
            best = prior / prior.sum()
            best_gap = gap
        if gap < 1e-12:
            break
        center = 0.1 * float(prior @ slack) / n
        # In units of sqrt(prior) the matrix stays well scaled when entries approach zero.
        root = np.sqrt(prior)
        scaled = (root[:, None] * channel) * (np.sqrt(q) / mix)
        matrix = scaled @ scaled.T
        matrix[np.diag_indices(n)] += slack
        step = root * np.linalg.solve(matrix, root * (gradient - 1) + center / root)
        slack_step = center / prior - slack - slack / prior * step
        prior = prior + _length(prior, step) * step
        slack = slack + _length(slack, slack_step) * slack_step
    # Entries that only the barrier keeps above zero are set to 0, unless that reduces the
    # likelihood.
    sparse = np.where(best > 1 - channel @ (q / (best @ channel)), best, 0.0)
    sparse /= sparse.sum()
    if (sparse @ channel > 0).all():
        gap = float((channel @ (q / (sparse @ channel))).max()) - 1
        if gap <= max(1e-11, best_gap):
            best = sparse
            best_gap = gap
    if not best_gap <= LIKELIHOOD_GAP:
        raise LimitReachedError(
            f"the likelihood may still be {best_gap:.3g} nats per report below its maximum "
            f"after {NEWTON_STEPS} steps",
            code="likelihood",
            do='use method="inversion"',
        )
    return best


def likelihood_covariance(channel: Float, values: Float, scale: float) -> Float:
    """Return the asymptotic covariance of the most likely frequencies; ``scale`` is one over the
    number of reports.
    """
    efficient, expected = _efficient(channel, values)
    spread = (efficient * expected) @ efficient.T - np.outer(values, values)
    return np.asarray((spread + spread.T) / 2 * scale)


def weighted_covariance(channel: Float, values: Float, squares: Float) -> Float:
    """Return the covariance of the most likely frequencies under weights, from the share that each
    report has of the sum of their squares, shape (m,), over the effective number of reports.
    """
    efficient, _ = _efficient(channel, values)
    deviations = np.where(squares > 0, efficient - values[:, None], 0.0)
    spread = (deviations * squares) @ deviations.T
    return np.asarray((spread + spread.T) / 2)


def observed_covariance(
    channel: Float, values: Float, seen: Any, squares: Any, number: int
) -> Float:
    """Return the covariance of the most likely frequencies under weights by the curvature at the
    reports that were seen: of ``seen``, their sums of weights, and those of squares, shape (m,),
    with ``number / (number - 1)`` as in regressions.

    If the reports that were seen do not show all frequencies, the curvature is the expected one.
    """
    there = seen > 0
    part = channel[:, there]
    if not has_independent_rows(part, weighted_left_inverse(part, part.mean(axis=0))):
        return weighted_covariance(channel, values, squares / seen.sum() ** 2)
    scores = part / np.maximum(values @ part, 1e-12)
    # directions in which frequencies keep their sum
    basis = np.linalg.svd(np.ones((1, len(channel))))[2][1:]
    moves = basis @ scores
    bread = basis.T @ np.linalg.inv((moves * seen[there]) @ moves.T)
    spread = (moves * squares[there]) @ moves.T * (number / max(number - 1, 1))
    return np.asarray(bread @ spread @ bread.T)


def _efficient(channel: Float, values: Float) -> tuple[Float, Float]:
    """The linear estimator near the most likely frequencies, and their shares of reports."""
    # An output of estimated probability 0 has infinite information: a small floor keeps it finite.
    expected = np.where(channel.max(axis=0) > 0, np.maximum(values @ channel, 1e-12), 0.0)
    return weighted_left_inverse(channel, expected), expected


def _length(point: Float, step: Float) -> float:
    """Return the step length that keeps the point positive: 0.99 of the way to the first zero, at
    most 1.
    """
    shrinking = step < 0
    return min(1.0, 0.99 * float(np.min(-point[shrinking] / step[shrinking], initial=np.inf)))


def likelihood_p_value(channel: Float, counts: Int) -> float:
    """P-value of counts so far from all mixtures of rows: exact for two outcomes or few reports,
    else a bound; 0 if no answer causes one of the reports.
    """
    possible = channel.max(axis=0) > 0
    if (counts[~possible] > 0).any():
        return 0.0
    channel = channel[:, possible]
    counts = counts[possible]
    size = len(counts)
    number = int(counts.sum())
    low = channel.min(axis=0)
    high = channel.max(axis=0)
    if size == 1:
        return 1.0
    if size == 2:
        return two_outcome_p_value(int(counts[0]), number, float(low[0]), float(high[0]))
    if (exact := listed_p_value(channel, counts)) is not None:
        return exact
    share = counts / number
    place = furthest_of(share, number, low, high)
    ends = float(low[place]), float(high[place])
    of_one = two_outcome_p_value(int(counts[place]), number, *ends)
    # Each of two p-values with half of the risk; the second is one of as many as there are reports.
    return min(1.0, 2 * divergence_bound(channel, share, number), 2 * size * of_one)


def divergence_bound(channel: Float, share: Float, number: int) -> float:
    """Bound on the probability that ``G = number KL(share || nearest mixture of rows)`` is as
    large: ``(e G / (m - 1))**(m - 1) exp(-G)`` above ``m - 1``, else 1 (Agrawal 2020).
    """
    seen = share > 0
    freedom = len(share) - 1

    def excess_of(frequencies: Float) -> float:
        return number * float(share[seen] @ np.log(share[seen] / (frequencies @ channel)[seen]))

    # A mixture as near as m - 1 shows that the bound is 1: the nearest one need not be found.
    excess = excess_of(
        most_likely(channel, share, lambda frequencies: excess_of(frequencies) <= freedom)
    )
    if excess <= freedom:
        return 1.0
    return math.exp(min(0.0, -excess + freedom * (1 + math.log(excess / freedom))))
