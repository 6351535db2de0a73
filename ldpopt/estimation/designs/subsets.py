r"""Frequencies with equal weights, of any number of answers: subset selection is optimal, in closed form.

With all permutations as symmetries every information matrix is a multiple of the identity on contrasts, and a set of
``k`` answers tells the share

.. math:: t(k) = \frac{(1-b)^2 \, k (n-k) / n}{(b + (1-b) k / n)^2}, \quad b = e^{-\epsilon},

so that the least average variance is :math:`(n-1)^2 / \max_k t(k) - (1 - 1/n)`. The largest ``t`` is at one of the two
whole numbers next to :math:`n / (e^\epsilon + 1)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.auditing.divergence import Audit
from ldpopt.estimation.frequencies.subset_selection import SubsetSelection
from ldpopt.estimation.inversion import Estimate
from ldpopt.foundation.budget import Budget, round_down, round_up
from ldpopt.foundation.checks import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy import PureLDP
from ldpopt.statement.workloads import Workload


@dataclass(frozen=True, eq=False)
class FrequencyDesign:
    """The optimal design for the frequencies of many answers, drawn by its own sampler.

    Made by `design` where the channel would be too large to list. It has what a `Design` has, but no matrix.

    Attributes
    ----------
    workload : Workload
        Frequencies, perhaps times a number.
    privacy : PureLDP
        How private.
    protocol : SubsetSelection
        What is drawn: a report is a set of answers.
    achieved, bound_fraction : Fraction
        Average variance of what is drawn, exactly, and the proved bound.
    """

    workload: Workload
    privacy: PureLDP
    protocol: SubsetSelection
    achieved: Fraction
    bound_fraction: Fraction

    objective = "average"
    exact = True

    def __repr__(self) -> str:
        """Sizes, error and gap."""
        return (
            f"FrequencyDesign({self.workload.shape[1]} answers, sets of {self.protocol.size}, "
            f"average variance {self.value:.6g}, relative gap {self.relative_gap:.2g})"
        )

    @property
    def value(self) -> float:
        """Average variance, which is the same for every distribution; rounded up."""
        return round_up(self.achieved)

    average_variance = value
    worst_variance = value

    @property
    def bound(self) -> float:
        """Proved lower bound for every private mechanism, rounded down."""
        return round_down(self.bound_fraction)

    @property
    def relative_gap(self) -> float:
        """``1 - bound / value``."""
        return round_up((self.achieved - self.bound_fraction) / self.achieved)

    @property
    def mechanism(self) -> Mechanism:
        """The channel, where its reports are few enough to list."""
        return self.protocol.mechanism

    @property
    def bits(self) -> int:
        """Bits of a report: the logarithm of the number of sets."""
        from math import lgamma, log

        n, k = self.workload.shape[1], self.protocol.size
        return int(np.ceil((lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2)))

    def variance(self, x: Any = None) -> Float:
        """Variance of one respondent's values, summed over the workload: the same for every answer."""
        return np.full(self.workload.shape[1] if x is None else len(x), self.value)

    def audit(self) -> Audit:
        """Tell the exact privacy of what is drawn."""
        return self.protocol.audit()

    def randomize(self, x: Any, *, rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """Draw one report, a row of positions of answers, for each answer."""
        return self.protocol.randomize(x, rng=rng)

    def estimate(self, reports: Any, confidence: float = 0.95) -> Estimate:
        """Estimate the workload from reports, without bias."""
        found = self.protocol.estimate(reports, confidence)
        unit = self.workload.unit or 1.0
        values, error = unit * found.values, abs(unit) * found.std_error
        return Estimate(values, error, found.n_reports, float(confidence), "design", self.workload.names)


def frequency_design(workload: Workload, privacy: PureLDP) -> FrequencyDesign:
    """Design for the frequencies of all answers, weighted alike."""
    n, unit = workload.shape[1], Fraction(workload.unit or 1)
    size = best_size(n, privacy.epsilon)
    protocol = SubsetSelection(workload.inputs, privacy.epsilon, size=size)
    p, q = protocol.p, protocol.q
    total = n * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)
    base = 1 / privacy.epsilon.enclosure()[1]
    bound = (n - 1) ** 2 / max(_told(n, k, base) for k in _candidates(n, base)) - 1 + Fraction(1, n)
    return FrequencyDesign(workload, privacy, protocol, unit**2 * total, unit**2 * max(bound, Fraction(0)))


def best_size(n: int, epsilon: Budget) -> int:
    """Size of the sets that tell most."""
    base = 1 / epsilon.enclosure()[1]
    return max(_candidates(n, base), key=lambda k: _told(n, k, base))


def _candidates(n: int, base: Fraction) -> set[int]:
    """Whole numbers next to ``n b / (1 + b)``, where the rising and then falling ``t`` is largest."""
    least = int(n * base / (1 + base))
    return {min(n - 1, max(1, k)) for k in (least, least + 1)}


def _told(n: int, k: int, base: Fraction) -> Fraction:
    """``t(k)``."""
    share = Fraction(k, n)
    return (1 - base) ** 2 * k * (1 - share) / (base + (1 - base) * share) ** 2
