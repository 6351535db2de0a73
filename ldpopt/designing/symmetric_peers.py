r"""Protocols that treat all answers alike, for any number of answers: variances without a channel.

Their reports are sets ``A``, and the chance of a set depends on its size and on whether it contains the answer. For
equal weights the information matrix is a multiple of the projection onto contrasts, so that the best estimator is known
and its second moment depends on two numbers of the centered Gram matrix: its trace and its entry at the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldpopt.foundation.numbers import Float
from ldpopt.problem.workload import Workload


@dataclass(frozen=True)
class SizeLaw:
    """Chance of each size of a report's set, and of the answer being in it.

    Attributes
    ----------
    sizes : ndarray
        Sizes of sets, from 0 to n.
    chance : ndarray
        Their probabilities.
    base : float
        ``e**-epsilon``.
    """

    sizes: Float
    chance: Float
    base: float

    @classmethod
    def of(cls, n: int, epsilon: float, sizes: Float, log_share: Float) -> SizeLaw:
        """Law of sets of these sizes: each has the weight of its size, times ``base`` without the answer."""
        from scipy.special import gammaln, logsumexp

        base = math.exp(-epsilon)
        sets = gammaln(n + 1) - gammaln(sizes + 1) - gammaln(n - sizes + 1)
        weights = sets + log_share + np.log(sizes / n + base * (1 - sizes / n))
        return cls(sizes, np.exp(weights - logsumexp(weights)), base)


def subset_law(n: int, epsilon: float, size: int) -> SizeLaw:
    """Subset selection; of size 1 it is randomized response."""
    return SizeLaw.of(n, epsilon, np.array([float(size)]), np.zeros(1))


def unary_law(n: int, epsilon: float) -> SizeLaw:
    """Unary encoding with a 1 kept by a coin (OUE, Wang et al. 2017)."""
    sizes = np.arange(n + 1.0)
    flip = 1 / (math.exp(epsilon) + 1)
    return SizeLaw.of(n, epsilon, sizes, sizes * math.log(flip) + (n - sizes) * math.log1p(-flip))


def hashing_law(n: int, epsilon: float) -> SizeLaw:
    """Local hashing to about ``e**epsilon + 1`` buckets: the answers of the reported bucket."""
    sizes = np.arange(n + 1.0)
    buckets = max(2, round(math.exp(epsilon)) + 1)
    return SizeLaw.of(n, epsilon, sizes, -sizes * math.log(buckets) + (n - sizes) * math.log1p(-1 / buckets))


def centered_diagonal(workload: Workload) -> Float:
    """Squared distance of every answer's column of the workload from their average."""
    n = workload.shape[1]
    if workload.unit is not None:
        return np.full(n, workload.unit**2 * (1 - 1 / n))
    mean = workload.gram.mean(axis=0)
    return np.asarray(np.diag(workload.gram) - 2 * mean + mean.mean())


def variances(law: SizeLaw, diagonal: Float) -> Float:
    """Variance of a respondent's values for every answer, by the best estimator for equal weights.

    Shapes: ``diagonal`` (n,).
    """
    n, k, base, total = len(diagonal), law.sizes, law.base, float(diagonal.sum())
    slope = (1 - base) / (base + (1 - base) * k / n)
    scale = float(law.chance @ (slope**2 * k * (n - k))) / n / (n - 1)
    inside = k / (k + base * (n - k))
    # Second moments of a set's indicator, given that it contains the answer, or does not; rows of the Gram matrix sum
    # to 0, so that pairs of other answers add up to 2 d - total.
    ones, pairs = (k - 1) / (n - 1), (k - 1) * (k - 2) / ((n - 1) * max(n - 2, 1))
    other_ones, other_pairs = k / (n - 1), k * (k - 1) / ((n - 1) * max(n - 2, 1))
    share = law.chance * slope**2 / scale**2
    of_own = share @ (inside * (1 - 3 * ones + 2 * pairs) + (1 - inside) * (2 * other_pairs - other_ones))
    of_all = share @ (inside * (ones - pairs) + (1 - inside) * (other_ones - other_pairs))
    return np.asarray(of_own * diagonal + of_all * total - diagonal)
