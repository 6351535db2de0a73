"""Sets drawn from moments: thresholds of normal variables, cut at sizes that spread as the moments say.

Correlations are such that two normal variables are both above their thresholds with the share of two answers. They need
not be those of any normal vector; the nearest ones that are, with the sizes drawn apart, are good enough to begin with.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from ldpopt.foundation.numbers import Float

LEAST = 1e-5
"""Least share that is taken as such."""

NODES = 20
"""Nodes of the integral over the angle."""

HALVINGS = 30
"""Steps of bisection."""


def draw(shares: Float, count: int, rng: np.random.Generator) -> Float:
    """Draw sets.

    Shapes: ``shares`` (n, n); result (count, n).
    """
    n = len(shares)
    single = np.clip(np.diag(shares), LEAST, 1 - LEAST)
    centering = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(centering @ correlations(single, shares) @ centering)
    factor = vectors * np.sqrt(np.maximum(values, 1e-6))
    factor /= np.linalg.norm(factor, axis=1, keepdims=True)
    scores = rng.standard_normal((count, n)) @ factor.T + ndtri(single)
    # Rounding at random has a variance of its own, about a fifth.
    spread = np.sqrt(max(float(shares.sum() - np.trace(shares) ** 2) - 0.2, 0.0))
    sizes = np.floor(single.sum() + spread * rng.standard_normal(count) + rng.random(count))
    sizes = np.clip(sizes, 1, n - 1).astype(np.int64)
    least = np.sort(scores, axis=1)[np.arange(count), n - sizes]
    return np.asarray(scores >= least[:, None], dtype=np.float64)


def correlations(single: Float, shares: Float) -> Float:
    """Correlations of normal variables with the shares, pair by pair."""
    n = len(single)
    first, second = np.triu_indices(n, 1)
    high, wide = ndtri(single)[first], ndtri(single)[second]
    wanted = np.maximum(shares[first, second], LEAST)
    low, top = np.full(len(first), -0.99999), np.full(len(first), 0.99999)
    for _ in range(HALVINGS):
        middle = (low + top) / 2
        over = _both(high, wide, middle) > wanted
        low, top = np.where(over, low, middle), np.where(over, middle, top)
    found = np.eye(n)
    found[first, second] = found[second, first] = (low + top) / 2
    return found


def _both(high: Float, wide: Float, correlation: Float) -> Float:
    """Probability that two normal variables are below ``high`` and ``wide`` (Plackett's integral)."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    angle = np.arcsin(correlation)
    total = np.zeros_like(angle)
    for node, weight in zip(nodes, weights, strict=True):
        sine = np.sin(angle * (node + 1) / 2)
        total += weight * np.exp(-(high**2 + wide**2 - 2 * high * wide * sine) / (2 * (1 - sine * sine)))
    return np.asarray(ndtr(high) * ndtr(wide) + angle / (4 * np.pi) * total)
