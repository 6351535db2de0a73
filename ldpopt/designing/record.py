"""A design: mechanism, estimator, variances and proof in one record."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.auditing.divergence import Audit
from ldpopt.certificate.design_certificate import DesignCertificate, load_certificate
from ldpopt.certificate.design_claim import DesignClaim
from ldpopt.certificate.integers import Digits, fraction_bits
from ldpopt.designing.sentences import OPTIMAL_GAP, STANDING
from ldpopt.errors import ModelFileError, NotRepresentableError
from ldpopt.estimation.band import ScoreBand
from ldpopt.estimation.counts import ListedSource, ReportSource
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.fit import checked_fit
from ldpopt.estimation.liars import read_liars, widened
from ldpopt.estimation.linear import is_partition, linear_variances
from ldpopt.estimation.values import values_of
from ldpopt.foundation import optional
from ldpopt.foundation.budget import round_down, round_up
from ldpopt.foundation.display import Facts, HasFacts, Part, privacy_text, shown
from ldpopt.foundation.labels import codes
from ldpopt.foundation.numbers import Float, frozen, require_kind, require_memory
from ldpopt.foundation.sentences import above_text, below_text
from ldpopt.mechanism.channels import MAX_SHOWN
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.prior import read_prior
from ldpopt.problem.workload import Workload
from ldpopt.solving.log import Step

# share of the estimator in the entries of a left inverse below which the product is exact: ten bits
LOST = 2.0**-10
KINDS: dict[type[DesignClaim], type[ProvedDesign]] = {}  # by the kind of the certificate


def variances_with(
    workload: Workload, channel: Float, left_inverse: Float, weights: Float
) -> Float:
    """Variance for every answer of the estimator ``W X``, shape ``(n,)``; the weights, of sum 1,
    avoid cancellation.
    """
    gram = workload.contrast_gram
    moved = left_inverse - weights[:, None]
    moments = np.einsum("xy,xy->y", gram @ moved, moved)
    mean = gram @ weights
    return np.asarray(channel @ moments - (np.diag(gram) - 2 * mean + weights @ mean))


@dataclass(frozen=True, eq=False)
class ProvedDesign(ReportSource, HasFacts):
    """A design with its certificate, from which all but the estimator follows; see `Design`."""

    certificate: DesignClaim
    notes: tuple[str, ...] = ()
    steps: tuple[Step[Any], ...] = ()

    def facts(self) -> Facts:
        """The mechanism if it is small, the variances, the certificate and the audit."""
        k, n = self.workload.shape
        design: Any = self
        parts: list[Part] = []
        if (
            isinstance(self.randomizer, Mechanism)
            and max(design.mechanism.channel.shape) <= MAX_SHOWN
        ):
            parts += design.mechanism.facts().parts
        kind = "largest" if self.objective == "worst_case" else "average"
        parts += [
            ("privacy", privacy_text(self.privacy)),
            ("average variance", shown(design.average_variance, 9)),
            ("largest variance", shown(design.worst_variance, 9)),
            (
                "certificate",
                f"{kind} at least {below_text(self.bound, 9)}, relative gap "
                f"{above_text(self.relative_gap, 2)}: {self.standing}",
            ),
            *([] if self.is_optimal or not self.notes else [("the search ended", self.notes[-1])]),
            (
                "reports",
                f"{self.certificate.reports.removesuffix(' reports')}, {design.bits:,} bits",
            ),
            ("audit", self.certificate.audit.numbers_text()),
            *([("influence", self.influence.sentence)] if not self.certificate.flaws else []),
            "(variances of one respondent's values, summed over the numbers; divide by the number "
            "of respondents)",
        ]
        return Facts(f"{k:,} numbers of {n:,} answers", parts)

    def __init_subclass__(cls, certificate: type[DesignClaim] | None = None, **other: Any) -> None:
        """Register the class by the kind of its certificate, if it has one."""
        super().__init_subclass__(**other)
        if certificate is not None:
            KINDS[certificate] = cls

    @staticmethod
    def of(claim: DesignClaim) -> Any:
        """Return the design with a certificate: a `Design`, or a `FrequencyDesign`."""
        require_kind(claim, tuple(KINDS), "of()", "pass a certificate of a design")
        return KINDS[type(claim)](claim)

    def save(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """Write mechanism, estimator and proof as JSON; see `save_design`."""
        self.certificate.save(path, title=title)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """Read a design of either kind; see `load_design`."""
        return cls.of(load_certificate(path))

    def to_frame(self) -> optional.pandas.DataFrame:
        """Return a table of the numbers: the variance of one respondent's value at the worst
        distribution.
        """
        index = optional.pandas.Index(list(self.names), name="number", tupleize_cols=False)
        return optional.pandas.DataFrame({"variance": self.variances()}, index=index)

    @property
    def workload(self) -> Workload:
        """The workload that is estimated."""
        return self.certificate.workload

    @property
    def names(self) -> tuple[Hashable, ...]:
        """Names of the workload's rows."""
        return self.workload.names

    @property
    def privacy(self) -> Any:
        """The privacy notion that the mechanism satisfies."""
        return self.certificate.privacy

    @property
    def wanted(self) -> Float:
        """The matrix of the workload, shape ``(k, n)``: the numbers that the estimator aims at."""
        return np.asarray(self.workload.matrix)

    @property
    def objective(self) -> str:
        """``"average"`` or ``"worst_case"``."""
        return self.certificate.objective

    @property
    def value(self) -> float:
        """Average or largest variance, whichever was minimised; rounded up from the certificate."""
        return round_up(self.certificate.achieved)

    @property
    def bound(self) -> float:
        """Proved lower bound on `value`, for every private mechanism with any number of reports;
        rounded down.
        """
        return round_down(self.certificate.bound)

    @property
    def relative_gap(self) -> float:
        """``1 - bound / value``."""
        return self.certificate.relative_gap

    @property
    def is_optimal(self) -> bool:
        """Whether the variance is within a thousandth of the best possible one."""
        return self.relative_gap <= OPTIMAL_GAP

    @property
    def standing(self) -> str:
        """What is proved in words: the optimum, or the best found and how much better another one
        could be.
        """
        return STANDING.say(self)

    @property
    def times_the_best(self) -> str:
        """How many times the best possible variance this one is at most, rounded up."""
        return above_text(Fraction(self.value) / Fraction(self.bound), 4)

    @property
    def exact(self) -> bool:
        """Whether value and bound are proved in rationals."""
        return self.certificate.exact


class CertifiedDraws:
    """A mechanism that draws what its certificate says, as a base of a design whose channel is not
    listed.
    """

    certificate: Any
    workload: Workload  # of the certificate

    @property
    def inputs(self) -> Sequence[Hashable]:
        """The answers."""
        return self.workload.inputs

    @property
    def digest(self) -> str:
        """Digest of what is drawn."""
        return str(self.certificate.digest)

    @property
    def odds(self) -> Fraction:
        """Largest ratio of the probabilities of a report under two answers, exactly."""
        return Fraction(self.certificate.randomizer.odds)


@dataclass(frozen=True, eq=False)
class FormulaDesign(ProvedDesign):
    """A design whose channel is not listed, drawn by its own sampler; the variance is the same for
    every answer.
    """

    @property
    def average_variance(self) -> float:
        """The variance, which is the same for every answer."""
        return self.value

    worst_variance = average_variance

    @property
    def mechanism(self) -> Mechanism:
        """The channel, if it can be listed."""
        raise self._unlisted

    @property
    def _unlisted(self) -> NotRepresentableError:
        """The error for whoever asks for a channel, or its values, that cannot be listed."""
        problem = f"the channel of {self.workload.shape[1]:,} answers is not listed"
        return NotRepresentableError(
            problem, code="unlisted", do="use privatize and estimate, which need no channel"
        )

    def audit(self) -> Audit:
        """Exact audit of the draws."""
        return self.certificate.audit

    def variance(self, x: Any = None) -> Float:
        """Variance of one respondent's values, summed over the workload: the same for every
        answer.
        """
        answers = self.workload.inputs
        return np.full(len(answers if x is None else codes(x, answers, "answer")), self.value)


@dataclass(frozen=True, eq=False)
class Design(ProvedDesign, ListedSource, certificate=DesignCertificate):
    """The mechanism that estimates a workload best, with its estimator and a proof.

    Made by `design`. Variances are of one respondent's unbiased values, summed over the workload's
    rows: divide them by the number of respondents.

    Attributes
    ----------
    certificate : DesignCertificate
        Value and bound in rationals; it can be saved and checked again.
    notes : tuple of str
        Rounds, reasons and warnings of the search.
    steps : tuple of Step
        The methods that ran, each with the reason for it; empty if the design was read from a file.
    """

    certificate: DesignCertificate

    def __repr__(self) -> str:
        k, n = self.workload.shape
        aim = self.objective.replace("_", "-")
        result = f"{aim} variance {self.value:.6g}, relative gap {self.relative_gap:.2g}"
        return (
            f"{type(self).__name__}({k} numbers of {n} answers, {self.n_reports} reports, {result})"
        )

    @property
    def mechanism(self) -> Mechanism:  # type: ignore[override]
        """The mechanism, exactly private; its outputs are 0, 1, 2, ..."""
        return self.certificate.mechanism

    @property
    def weights(self) -> Float:
        """Weights of the answers; for the worst case, the least favorable ones."""
        return self.certificate.weights

    @cached_property
    def estimator(self) -> Float:  # type: ignore[override]
        """``V``, shape ``(k, m)``: the value that a report ``y`` contributes to the estimate of
        number ``k``.
        """
        return frozen(self._constant[:, None] + self._differences)

    @property
    def _constant(self) -> Float:
        """The numbers of the first answer, shape ``(k,)``: estimates are computed without this
        constant.
        """
        return np.asarray(self.workload.matrix[:, 0])

    @cached_property
    def _differences(self) -> Float:
        """The estimator less the constants, which cost no digits: the columns of the left inverse
        sum to 1.
        """
        if self.certificate.flaws:
            raise ModelFileError(
                self.certificate.flaws[0],
                code="changed-file",
                do="use the file as it was written, or design again",
            )
        require_memory(8.0 * self.workload.shape[0] * self.n_reports, "the estimator")
        rows = np.asarray(self.workload.matrix)
        inverse = self.certificate.left_inverse
        differences = (rows - rows[:, :1]) @ inverse
        if (
            LOST * np.abs(inverse).max() * np.abs(rows - rows[:, :1]).max()
            <= np.abs(differences).max()
        ):
            return np.asarray(differences)
        # Entries of contrasts that the workload does not need may be huge and cancel: an exact
        # product, rounded once.
        bits = fraction_bits(rows)
        fine = fraction_bits(inverse)
        integers = Digits.read(rows, bits)
        exact = (integers - integers.columns(slice(1))) @ Digits.read(inverse, fine)
        return np.asarray(exact.whole() / (1 << (bits + fine)), dtype=np.float64)

    @property
    def left_inverse(self) -> Float:
        """Estimator of the frequencies, shape ``(n, m)``, of which the workload's numbers are
        unbiased.
        """
        return self.certificate.left_inverse

    @cached_property
    def _variances(self) -> Float:
        """Total variance of a report, for every answer."""
        r = self.weights / self.weights.sum()
        return variances_with(
            self.workload, self.mechanism.channel, self.certificate.left_inverse, r
        )

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

        Raises
        ------
        StatementError
            If an answer is not one of the workload.
        """
        return np.asarray(
            self._variances[slice(None) if x is None else codes(x, self.workload.inputs, "answer")]
        )

    @property
    def average_variance(self) -> float:
        """Average of the variances over the weights of the answers."""
        return (
            self.value
            if self.objective == "average"
            else float(self.weights @ self._variances / self.weights.sum())
        )

    @property
    def worst_variance(self) -> float:
        """Largest variance over the answers."""
        return self.value if self.objective == "worst_case" else float(self._variances.max())

    @property
    def n_reports(self) -> int:
        """Number of different reports."""
        return len(self.mechanism.outputs)

    @property
    def bits(self) -> int:
        """Bits that a report takes."""
        return max(1, (self.n_reports - 1).bit_length())

    def values(self, reports: Any) -> Float:
        """Return unbiased values of reports, whose means over people estimate the workload; see
        `Mechanism.values`.

        Parameters
        ----------
        reports : sequence of labels, shape (N,)
            Outputs of the mechanism, none missing.

        Returns
        -------
        ndarray, shape (N, k)
            A row for each report, a column for each row of the workload.

        Raises
        ------
        StatementError
            If a report is missing or not an output.
        """
        return values_of(self, reports)

    def estimate(
        self,
        reports: Any,
        confidence: float = 0.95,
        *,
        simultaneous: bool = False,
        check_fit: bool = True,
        weights: Any = None,
        liars: float = 0.0,
    ) -> Estimate:
        r"""Estimate the workload from reports, without bias.

        .. math:: \hat t = V q, \qquad \operatorname{Cov} =
                  (V \operatorname{diag}(q) V^T - \hat t \hat t^T) / N

        Parameters
        ----------
        reports : Counts, or sequence of labels, shape (N,), or mapping label -> count
            Outputs of the mechanism, as `Counts.of` takes them.
        confidence : float
            Coverage of each score interval on its own. Default: ``0.95``.
        simultaneous : bool
            Whether all intervals hold at once with this confidence (Bonferroni). Default:
            ``False``.
        check_fit : bool
            Whether reports that hardly come from the mechanism (p-value below 1e-3, see
            `goodness_of_fit`) cause a warning, and below 1e-6 an error; `Estimate.fit` has the
            p-value in any case. Default: ``True``.
        weights : array_like, shape (N,), optional
            Weight of each report, if these are a list; default: all 1.
        liars : float
            Share of the weight of people who may have sent anything; see `estimate_frequencies`.
            Default: ``0.0``.

        Returns
        -------
        Estimate
            One number for each row of the workload, with its name. Intervals are score intervals:
            they have every value that the estimate does not contradict, and a positive width even
            if all reports are equal.

        Raises
        ------
        StatementError
            If there are no reports, or one is not an output.
        """
        liars = read_liars(liars)
        counts = self.count(reports, weights=weights).require_some()
        fit = checked_fit(self, counts, check_fit)
        band = ScoreBand.of(
            counts,
            self._differences,
            self.wanted - self._constant[:, None],
            self.mechanism.channel,
            self.left_inverse,
            constant=self._constant,
            answers=self.mechanism.inputs,
            is_exact=simultaneous and len(self.wanted) > 1,
        )
        estimate = Estimate.of_band(
            band,
            counts,
            confidence,
            simultaneous=simultaneous,
            method="design",
            labels=self.names,
            fit=fit,
            is_distribution=is_partition(self.wanted),
        )
        return widened(estimate, liars, lambda: self.reach)

    def variances(self, prior: Any = None) -> Float:
        """Variance of one respondent's value for each number; without a prior, at the worst
        distribution.
        """
        known = None if prior is None else read_prior(prior, self.mechanism.inputs)[0]
        return linear_variances(
            self.mechanism.channel, self._differences, self.wanted - self._constant[:, None], known
        )
