"""A design: mechanism, estimator, errors and proof in one record."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.certificate.design_certificate import DesignCertificate
from ldpopt.certificate.integers import Digits, fraction_bits
from ldpopt.estimation.counts import ListedSource
from ldpopt.estimation.estimate import Estimate, interval_quantile, linear_estimate
from ldpopt.estimation.linear import linear_variances
from ldpopt.foundation.budget import round_down, round_up
from ldpopt.foundation.labels import codes
from ldpopt.foundation.numbers import Float, frozen, require_memory
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.prior import read_prior
from ldpopt.problem.workload import Workload
from ldpopt.solving.step import Step

LOST = 2.0**-10
"""Entries of a left inverse may be larger than the estimator by the inverse of this share: they lose ten bits."""


@dataclass(frozen=True, eq=False)
class Design(ListedSource):
    """The mechanism that estimates a workload best, with its estimator and a proof.

    Made by `design`. Variances are of one respondent's unbiased values, summed over the workload's rows: divide them by
    the number of respondents.

    Attributes
    ----------
    workload : Workload
        What is estimated.
    mechanism : Mechanism
        What is sampled: exactly private. Its outputs are 0, 1, 2, ...
    certificate : DesignCertificate
        Value and bound in rationals; it can be saved and checked again.
    notes : tuple of str
        What was done, and why.
    steps : tuple of Step
        The methods that ran, each with the reason for it; empty if the design was read from a file.
    """

    workload: Workload
    mechanism: Mechanism
    certificate: DesignCertificate
    notes: tuple[str, ...] = ()
    steps: tuple[Step[Any], ...] = ()

    def __repr__(self) -> str:
        """Sizes, errors and gap."""
        return (
            f"Design({self.workload.shape[0]} numbers of {self.workload.shape[1]} answers, {self.n_reports} reports, "
            f"{self.objective.replace('_', '-')} variance {self.value:.6g}, relative gap {self.relative_gap:.2g})"
        )

    @property
    def objective(self) -> str:
        """``"average"`` or ``"worst_case"``."""
        return self.certificate.objective

    @property
    def weights(self) -> Float:
        """Weights of the answers; for the worst case, the hardest ones."""
        return self.certificate.weights

    @property
    def privacy(self) -> Any:
        """The notion."""
        return self.certificate.privacy

    @cached_property
    def estimator(self) -> Float:  # type: ignore[override]
        """``V``, shape ``(k, m)``: column ``y`` is what the report ``y`` counts for in each number."""
        return frozen(self._constant[:, None] + self._differences)

    @property
    def _constant(self) -> Float:
        """What each number is for the first answer, shape ``(k,)``: estimates are computed without this constant."""
        return np.asarray(self.workload.matrix[:, 0])

    @cached_property
    def _differences(self) -> Float:
        """The estimator less the constants, which take no digits from the left inverse: its columns sum to 1."""
        require_memory(8.0 * self.workload.shape[0] * self.n_reports, "the estimator")
        rows, inverse = np.asarray(self.workload.matrix), self.certificate.left_inverse
        found = (rows - rows[:, :1]) @ inverse
        if LOST * np.abs(inverse).max() * np.abs(rows - rows[:, :1]).max() <= np.abs(found).max():
            return np.asarray(found)
        # Entries of contrasts that the workload does not need may be huge, and cancel: each number is rounded once.
        bits, fine = fraction_bits(rows), fraction_bits(inverse)
        whole = Digits.read(rows, bits)
        exact = (whole - whole.columns(slice(1))) @ Digits.read(inverse, fine)
        return np.asarray(exact.whole() / (1 << (bits + fine)), dtype=np.float64)

    @cached_property
    def _variances(self) -> Float:
        """Total variance of a report, for every answer."""
        r, gram = self.weights / self.weights.sum(), self.workload.contrast_gram
        # Around the weights' average, where little cancels.
        moved = self.certificate.left_inverse - r[:, None]
        moment = np.einsum("xy,xy->y", gram @ moved, moved)
        mean = gram @ r
        square = np.diag(gram) - 2 * mean + r @ mean
        return np.asarray(self.mechanism.channel @ moment - square)

    def variance(self, x: Any = None) -> Float:
        """Variance of one respondent's unbiased values, summed over the workload.

        Parameters
        ----------
        x : sequence of labels, optional
            True answers; default: every answer in order.

        Returns
        -------
        ndarray
            One for each answer.
        """
        places = slice(None) if x is None else codes(x, self.workload.inputs, "answer")
        return np.asarray(self._variances[places])

    @property
    def value(self) -> float:
        """Average or largest variance, whichever was minimised; rounded up from the certificate."""
        return round_up(self.certificate.achieved)

    @property
    def average_variance(self) -> float:
        """Average over the weights."""
        return self.value if self.objective == "average" else float(self.weights @ self._variances / self.weights.sum())

    @property
    def worst_variance(self) -> float:
        """Largest over the answers."""
        return self.value if self.objective == "worst_case" else float(self._variances.max())

    @property
    def bound(self) -> float:
        """Proved lower bound on `value`, for every private mechanism with any number of reports."""
        return round_down(self.certificate.bound)

    @property
    def relative_gap(self) -> float:
        """``1 - bound / value``."""
        return self.certificate.relative_gap

    @property
    def exact(self) -> bool:
        """Whether value and bound are proved in rationals."""
        return self.certificate.exact

    @property
    def n_reports(self) -> int:
        """Number of different reports."""
        return len(self.mechanism.outputs)

    @property
    def bits(self) -> int:
        """Bits that a report takes."""
        return max(1, (self.n_reports - 1).bit_length())

    @property
    def names(self) -> tuple[Hashable, ...]:
        """Names of the workload's rows."""
        return self.workload.names

    @property
    def wanted(self) -> Float:
        """The workload's matrix."""
        return np.asarray(self.workload.matrix)

    def estimate(self, reports: Any, confidence: float = 0.95, *, simultaneous: bool = False) -> Estimate:
        r"""Estimate the workload from reports, without bias.

        .. math:: \hat t = V q, \qquad \operatorname{Cov} = (V \operatorname{diag}(q) V^T - \hat t \hat t^T) / N

        Parameters
        ----------
        reports : Counts, or sequence of labels, shape (N,), or mapping label -> count
            Outputs of the mechanism, as `Counts.of` takes them.
        confidence : float
            Coverage of each score interval on its own. Default: ``0.95``.
        simultaneous : bool
            Whether all intervals hold at once with this confidence (Bonferroni). Default: ``False``.

        Returns
        -------
        Estimate
            One number for each row of the workload, with its name. Intervals are score intervals: they have every value
            that the estimate does not contradict, and are not of width 0 where all reports count the same.

        Raises
        ------
        StatementError
            If there are no reports, or one is no output.
        """
        z = interval_quantile(confidence, self.workload.shape[0], simultaneous)
        counts = self.count(reports).require_some()
        inverse, channel, share = self.certificate.left_inverse, self.mechanism.channel, float(confidence)
        constant = self._constant
        how = (
            counts,
            self._differences,
            self.wanted - constant[:, None],
            channel,
            inverse,
            z,
            share,
            "design",
            self.names,
        )
        found = linear_estimate(*how)
        return replace(found, values=found.values + constant, interval=found.interval + constant[:, None])

    def variances(self, prior: Any = None) -> Float:
        """Variance of one respondent's value for each number; without a prior, at the worst distribution."""
        known = None if prior is None else read_prior(prior, self.mechanism.inputs)[0]
        wanted = self.wanted - self._constant[:, None]
        return linear_variances(self.mechanism.channel, self._differences, wanted, known)
