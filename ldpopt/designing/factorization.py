"""The factorization mechanism for a workload, by numerical descent."""

import math

import numpy as np

from ldpopt.designing.literature import variance_of
from ldpopt.foundation.numbers import Float
from ldpopt.problem.workload import Workload

STEPS = 1000  # limit on steps of descent from each start
WORTHWHILE = 1e-4  # smallest gain, as a share of the objective, after which the descent continues


def factorization(workload: Workload, epsilon: float, *, starts: int = 5, weights: Float | None = None) -> Float:
    """The factorization mechanism: ``4 n`` reports by descent through a projection, the best of random starts."""
    # McKenna, Maity, Mazumdar and Miklau 2020, section 6; here with quasi-Newton steps in place of gradient descent.
    n = workload.shape[1]
    r = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    found = [_descend(workload.gram, r, epsilon, np.random.default_rng(seed)) for seed in range(starts)]
    return min(found, key=lambda channel: variance_of(workload, channel, r))


def _descend(gram: Float, r: Float, epsilon: float, rng: np.random.Generator) -> Float:
    """A channel after quasi-Newton steps in the channel before the projection and the least entries of the reports."""
    from scipy.optimize import minimize

    n, m = len(r), 4 * len(r)
    point, value, steps = np.concatenate([rng.random(n * m) / m, np.zeros(m + 1)]), math.inf, 0
    while steps < STEPS:
        # The objective has corners, at which L-BFGS ends early: it starts again without its memory.
        found = minimize(  # type: ignore[call-overload]
            lambda flat: _through_projection(flat, gram, r, epsilon)[:2],
            point,
            jac=True,
            method="L-BFGS-B",
            bounds=[(None, None)] * (n * m) + [(-10.0, 10.0)] * (m + 1),
            options={"maxiter": STEPS - steps, "maxcor": 20},
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
    """Nearest rows that sum to 1 with entries from ``low`` to ``e**epsilon low``: shift and clip."""
    # The sum of a clipped row is linear between the shifts at which an entry leaves its lower or reaches its upper end.
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
