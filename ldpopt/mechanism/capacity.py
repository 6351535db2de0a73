"""Mutual information of answer and report, and its largest value over all priors, with a bound."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ldpopt.foundation.numbers import Float, frozen

MAX_ITERATIONS = 20_000
"""Steps after which the gap that is reached is returned."""

GROWTH, SHRINKAGE = 1.3, 0.3
"""Factors of the step length after a step that raised the information, and after one that did not."""

ROUNDING = 1e-15
"""Nats by which rounding may lower the information that a step has raised."""


@dataclass(frozen=True, eq=False)
class ShannonCapacity:
    """Largest mutual information of answer and report over all priors.

    Attributes
    ----------
    value : float
        Mutual information at `prior`, in nats: at most the capacity.
    bound : float
        Upper bound on the capacity, with a margin for rounding.
    prior : ndarray, shape (n,)
        In the order of the inputs.
    """

    value: float
    bound: float
    prior: Float = field(repr=False)

    @property
    def gap(self) -> float:
        """Bound minus value, in nats."""
        return self.bound - self.value


def divergences(channel: Float, prior: Float) -> Float:
    """Kullback-Leibler divergence of every row from the distribution of the reports, shape (n,), in nats."""
    reports = prior @ channel
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = channel * np.log(channel / reports)
    return np.asarray(np.where(channel > 0, terms, 0.0).sum(axis=1))


def shannon_capacity(channel: Float, gap: float) -> ShannonCapacity:
    r"""Maximize the information over priors by the Blahut-Arimoto iteration with growing steps.

    .. math:: \pi_x \leftarrow \pi_x e^{s D_x} / Z, \quad D_x = D(P_x \| \pi P), \qquad
              \sum_x \pi_x D_x \le C \le \max_x D_x

    ``channel`` has shape (n, m); ``gap`` are the nats at which to stop.
    """
    prior = np.full(len(channel), 1.0 / len(channel))
    rows = divergences(channel, prior)
    value, bound, step = float(prior @ rows), float(rows.max()), 1.0
    for _ in range(MAX_ITERATIONS):
        if bound - value <= gap / 2:
            break
        raised = prior * np.exp(step * (rows - rows.max()))
        raised /= raised.sum()
        after = divergences(channel, raised)
        if raised @ after < value - ROUNDING and step > 1.0:  # the plain step never lowers the information
            step = max(1.0, SHRINKAGE * step)
            continue
        prior, rows, step = raised, after, GROWTH * step
        value = float(prior @ rows)
        bound = min(bound, float(rows.max()))
    margin = sum(channel.shape) * 2.0**-52 * (1.0 + bound)
    return ShannonCapacity(value, bound + margin, frozen(prior))
