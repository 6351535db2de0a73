"""The exponential mechanism, with the factor of its proof and the largest private one; and with
tight constraints.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.numbers import Float, Int
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.problem import Problem
from ldpopt.studies.literature.problems import (
    distances,
    exactly_private,
    read_problem,
    require_mutual_ties,
)

ROUNDING = 1e-12  # share of the largest weight down to which negative weights are rounding errors
BLOCK = 1 << 22  # number of differences of gains that are computed at once
# number of doublings of the factor after which it counts as infinite: the best report is certain
MAX_DOUBLINGS = 60
# halvings of the interval of the factor: its relative width is then below the accuracy of floats
BISECTIONS = 60


def exponential(problem: Any) -> Mechanism:
    r"""Report an answer with a probability that grows exponentially with its gain.

    .. math:: P(x, y) \propto e^{\epsilon u(x, y) / (2 \Delta)}, \qquad
              \Delta = \max_{x \sim x', y} \frac{|u(x, y) - u(x', y)|}{d(x, x')}

    Parameters
    ----------
    problem : Problem or MetricDP
        Pure, graph or metric privacy. A metric alone has its distance as the loss; then
        ``P(x, y)`` is proportional to ``exp(-epsilon d(x, y) / 2)``.

    Returns
    -------
    Mechanism
        Exactly private, shape ``(n, m)``, for the inputs and outputs of the problem.

    Raises
    ------
    NotRepresentableError
        If the notion has a delta or does not tie pairs both ways, or there are side constraints.

    Notes
    -----
    The factor 2 allows for the denominator in the proof; `sharpened_exponential` computes the
    largest private factor. O(pairs m).

    References
    ----------
    McSherry and Talwar 2007; for metrics Chatzikokolakis, Andres, Bordenabe and Palamidessi 2013.

    Examples
    --------
    >>> from ldpopt import MetricDP
    >>> exponential(MetricDP("log(4)", [[0, 1], [1, 0]])).channel.round(9).tolist()
    [[0.666666667, 0.333333333], [0.333333333, 0.666666667]]
    """
    problem = read_problem(problem)
    scores = _Scores.of(problem)
    return exactly_private(problem, scores.channel(scores.proved), problem.outputs)


def sharpened_exponential(problem: Any) -> Mechanism:
    r"""Raise the factor of the exponential mechanism as long as the channel is private.

    .. math:: P(x, y) = e^{t u(x, y)} / Z_x(t), \qquad
              \max_{x \sim x'} \frac{1}{d(x, x')} \Bigl( t \max_y (u(x, y) - u(x', y)) +
              \ln \frac{Z_{x'}(t)}{Z_x(t)} \Bigr) = \epsilon

    Parameters
    ----------
    problem : Problem or MetricDP
        As in `exponential`.

    Returns
    -------
    Mechanism
        Exactly private, shape ``(n, m)``. The factor is at least that of `exponential`; doubling
        and bisection find a factor above which the channel is no longer private. If every factor is
        private, the best report is certain.

    Raises
    ------
    StatementError
        If it is neither a problem nor a metric that is a matrix.
    NotRepresentableError
        If the problem has side constraints, or the notion bounds ratios in one direction only.

    Notes
    -----
    The largest difference of gains of a pair is computed once; each of about 100 trials takes
    O(pairs + n m).

    Examples
    --------
    >>> from ldpopt import MetricDP
    >>> sharpened_exponential(MetricDP("log(4)", [[0, 1], [1, 0]])).channel.round(9).tolist()
    [[0.8, 0.2], [0.2, 0.8]]
    """
    problem = read_problem(problem)
    scores = _Scores.of(problem)
    return exactly_private(problem, scores.channel(scores.largest()), problem.outputs)


@dataclass(frozen=True, eq=False)
class _Scores:
    """Gains, shape (n, m), and for every tied pair its distance and the largest rise of a gain."""

    gain: Float
    epsilon: float
    first: Int
    second: Int
    distance: Float
    rise: Float

    @classmethod
    def of(cls, problem: Problem) -> "_Scores":
        ties = require_mutual_ties(problem)
        gain = problem.utility.gain
        first, second = ties.pairs()
        distance = np.ones(len(first)) if ties.distance is None else ties.distance
        size = max(1, BLOCK // gain.shape[1])
        parts = [slice(low, low + size) for low in range(0, len(first), size)]
        rises = [(gain[first[part]] - gain[second[part]]).max(axis=1) for part in parts]
        return cls(
            gain, float(ties.budget), first, second, distance, np.concatenate([*rises, np.empty(0)])
        )

    @property
    def proved(self) -> float:
        """Factor of the gain for which privacy is proved: ``epsilon / (2 Delta)``; infinite if tied
        gains are equal.
        """
        sensitivity = float((self.rise / self.distance).max(initial=0.0))
        return self.epsilon / (2 * sensitivity) if sensitivity else np.inf

    def largest(self) -> float:
        """Largest private factor that doubling and bisection find; infinite if there is no
        limit.
        """
        low = self.proved
        if not 0 < low < np.inf:
            return low
        for _ in range(MAX_DOUBLINGS):
            if self._loss(2 * low) > self.epsilon:
                break
            low *= 2
        else:
            return np.inf
        high = 2 * low
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._loss(middle) <= self.epsilon else (low, middle)
        return low

    def channel(self, factor: float) -> Float:
        """``exp(factor gain)``, rows divided by their sums; the first best answer if the factor is
        infinite.
        """
        if np.isinf(factor):
            return np.asarray(np.eye(self.gain.shape[1])[self.gain.argmax(axis=1)])
        raised = np.exp(factor * (self.gain - self.gain.max(axis=1, keepdims=True)))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    def _loss(self, factor: float) -> float:
        """Largest privacy loss per unit of distance over all tied pairs."""
        top = self.gain.max(axis=1)
        log_sum = factor * top + np.log(np.exp(factor * (self.gain - top[:, None])).sum(axis=1))
        return float(
            (
                (factor * self.rise + log_sum[self.second] - log_sum[self.first]) / self.distance
            ).max()
        )


def tight_constraints(problem: Any) -> Mechanism:
    r"""Let every pair of inputs have the ratio ``exp(epsilon d)`` at the report of one of them.

    .. math:: P(x, y) = w_y e^{-\epsilon d(x, y)},
              \qquad \sum_y w_y e^{-\epsilon d(x, y)} = 1 \text{ for all } x

    Parameters
    ----------
    problem : Problem or MetricDP
        Pure, graph or metric privacy; d is the hop distance of a graph, and 1 for pure privacy.

    Returns
    -------
    Mechanism
        Exactly private, shape ``(n, n)``: reports are inputs. For pure privacy it is randomized
        response.

    Raises
    ------
    NotRepresentableError
        If a weight ``w`` is negative, which happens for small epsilon, or for the reasons of
        `exponential`.

    Notes
    -----
    O(n^3). No prior is needed. See `closed_forms.kernel` for when it exists and is optimal for the
    identity.

    References
    ----------
    Chatzikokolakis, ElSalamony and Palamidessi 2017, section 3.

    Examples
    --------
    >>> from ldpopt import PureLDP, Problem
    >>> problem = Problem([0.2, 0.8], "identity", PureLDP("log(3)"))
    >>> tight_constraints(problem).channel.round(9).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    problem = read_problem(problem)
    ties = require_mutual_ties(problem)
    kernel = np.exp(-float(ties.budget) * distances(ties))
    try:
        weights = np.linalg.solve(kernel, np.ones(len(kernel)))
    except np.linalg.LinAlgError:
        raise NotRepresentableError(
            "the matrix exp(-epsilon d) is singular",
            code="singular-matrix",
            do="use a larger epsilon",
        ) from None
    worst = int(np.argmin(weights))
    if not weights[worst] >= -ROUNDING * np.abs(weights).max():
        report = f"report {problem.inputs[worst]!r} would have the weight {weights[worst]:.3g}"
        message = f"no mechanism has all constraints tight at this epsilon: {report}"
        raise NotRepresentableError(message, code="tight-constraints", do="use a larger epsilon")
    return exactly_private(problem, kernel * np.maximum(weights, 0.0), problem.inputs)
