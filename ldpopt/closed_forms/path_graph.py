"""Path graph: the truncated geometric mechanism with a remap of its outputs is optimal for every
prior.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.closed_forms.form import ClosedForm, GeometricSampler
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float, frozen
from ldpopt.mechanism.exact_draws import Codes
from ldpopt.privacy import GraphDP, Notion
from ldpopt.problem.prior import prior_and_inputs


@dataclass(frozen=True, eq=False, kw_only=True)
class PathGraph(ClosedForm):
    """Result of `path_graph`.

    Parameters
    ----------
    remap : ndarray of int64, shape (n,)
        The report for each output of the truncated geometric mechanism: the likeliest answer given
        that output.
    """

    remap: Codes = field(repr=False)
    prior: Float = field(repr=False)

    @property
    def privacy(self) -> Notion:
        """Pure privacy along the edges of the path, in the order of the answers."""
        import networkx as nx

        return GraphDP(self.epsilon, nx.path_graph(list(self.inputs)))

    def exact_value(self) -> tuple[Fraction, Fraction]:
        """Return rational bounds of the optimal value, as `TopK.exact_value`.

        Two passes of O(n) rational steps, each rounded outward to 256 bits.
        """
        prior = [Fraction(float(weight)) for weight in self.prior]
        ends = []
        for alpha, is_high in zip(self.epsilon.enclosure(), (False, True), strict=True):
            # The upper bound has the larger end of both factors: weights increase with alpha, the
            # decay decreases.
            decay = 1 / (self.epsilon.enclosure()[0] if is_high else self.epsilon.enclosure()[1])
            best = list(prior)
            for positions in (range(1, len(best)), range(len(best) - 2, -1, -1)):
                step = -1 if positions.step == 1 else 1
                for position in positions:
                    best[position] = max(
                        best[position], _round_outward(best[position + step] * decay, is_high)
                    )
            inner = sum(best[1:-1], Fraction(0)) * (alpha - 1) / (alpha + 1)
            ends.append(
                inner + (best[0] + best[-1]) * alpha / (alpha + 1) if len(best) > 1 else best[0]
            )
        return ends[0], ends[1]

    @property
    def channel(self) -> Float:
        """The formula in floats, shape ``(n, n)``: geometric columns; columns with the same report
        are added.
        """
        positions = np.arange(len(self.prior))
        decay = np.exp(-float(self.epsilon) * np.abs(np.subtract.outer(positions, positions)))
        geometric = decay * _weights(len(positions), self.epsilon)
        channel = np.zeros_like(decay)
        np.add.at(channel.T, self.remap, geometric.T)
        return channel

    @cached_property
    def sampler(self) -> GeometricSampler:
        """Clamped geometric noise, then `remap`; exactly private, without a matrix."""
        return GeometricSampler(self.inputs, self.remap, self.epsilon)


def path_graph(prior: Any, epsilon: float | str) -> PathGraph:
    r"""Find the largest probability of a truthful report if privacy holds between neighbors on a
    path.

    .. math:: u^* = \sum_r w_r \max_t \pi_t \alpha^{-|t-r|},
              \qquad w_1 = w_n = \frac{\alpha}{\alpha+1}, \quad
              w_r = \frac{\alpha-1}{\alpha+1} \text{ otherwise}, \qquad \alpha = e^\epsilon

    Parameters
    ----------
    prior : array_like, shape (n,), or mapping label -> weight
        In the order of the path; as in `top_k`.
    epsilon : float or str
        Budget of one step in nats, ``0 <= epsilon <= 10000``, or ``"log(3)"``; r steps have r times
        the budget.

    Returns
    -------
    PathGraph
        Value and ``remap``; channel ``(n, n)`` and sampler on request.

    Raises
    ------
    StatementError
        If the prior or the budget is ill posed.

    Utility
    -------
    Expected share of truthful reports: the identity gain.

    Notes
    -----
    The maximum over t takes one forward and one backward pass, O(n). For the uniform prior the
    value is ``(2 alpha + (n-2)(alpha-1)) / (n (alpha+1))``.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan 2012.

    Examples
    --------
    >>> form = path_graph([0.25, 0.25, 0.25, 0.25], "log(3)")
    >>> form.value
    0.625
    """
    budget = Budget(epsilon)
    weights, inputs = prior_and_inputs(prior)
    best = weights.tolist()
    remap = list(range(len(weights)))
    b = budget.b
    for positions, step in ((range(1, len(best)), -1), (range(len(best) - 2, -1, -1), 1)):
        for position in positions:
            if best[position + step] * b > best[position]:
                best[position], remap[position] = best[position + step] * b, remap[position + step]
    value = float(_weights(len(best), budget) @ np.array(best))
    moved = frozen(np.array(remap, dtype=np.int64))
    return PathGraph(value=value, inputs=inputs, epsilon=budget, remap=moved, prior=weights)


def _weights(n: int, epsilon: Budget) -> Float:
    """Return the column weights of the truncated geometric channel."""
    if n == 1:
        return np.ones(1)
    weights = np.full(n, epsilon.beta / (1 + epsilon.b))
    weights[[0, -1]] = 1 / (1 + epsilon.b)
    return weights


def _round_outward(value: Fraction, up: bool) -> Fraction:
    """Round to 256 significant bits, so that powers of the decay keep few digits."""
    bits = 256 - (value.numerator.bit_length() - value.denominator.bit_length())
    if value == 0 or value.denominator.bit_length() <= 256:
        return value
    scaled = value * Fraction(2) ** bits
    return (
        Fraction(-(-scaled.numerator // scaled.denominator) if up else int(scaled))
        / Fraction(2) ** bits
    )
