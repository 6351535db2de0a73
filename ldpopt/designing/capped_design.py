"""A design whose influence has a cap: the values of its reports are listed, and are those of no
left inverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Any

import numpy as np

from ldpopt.certificate.capped_certificate import CappedCertificate
from ldpopt.certificate.liars_certificate import ErrorWithLiars, LiarsCertificate
from ldpopt.designing.record import Design
from ldpopt.errors import ModelFileError
from ldpopt.estimation.linear import estimator_of, is_partition
from ldpopt.foundation.display import Facts
from ldpopt.foundation.numbers import Float, frozen

SAME = 1e-6  # by which the values of a report may differ from the sum 1
CHANGED_SUM = (
    "the estimated frequencies do not sum to 1, because the reports have values of several sums: "
    "estimate.norm_sub() gives ones that do"
)


@dataclass(frozen=True, eq=False, repr=False)
class CappedDesign(Design, certificate=CappedCertificate):
    """The mechanism that estimates a workload best of all whose influence is within caps.

    Made by `design` with ``influence=`` or ``liars=``; it has what a `Design` has. Its estimator is
    no left inverse times the workload: sums of rows of the workload are estimated by the sums of
    their values, but other workloads are not.

    Attributes
    ----------
    certificate : CappedCertificate
        Value, influence and bound in rationals; it can be saved and checked again.
    notes : tuple of str
        Rounds, reasons and warnings of the search.
    steps : tuple of Step
        The methods that ran, each with the reason for it; empty if the design was read from a file.
    """

    certificate: CappedCertificate  # type: ignore[assignment]

    @property
    def caps(self) -> Float:
        """The largest influence of a report on each number that was asked for; ``inf`` for none."""
        return self.certificate.caps

    @cached_property
    def estimator(self) -> Float:  # type: ignore[override]
        """``V``, shape ``(k, m)``: the value that a report ``y`` contributes to the estimate of
        number ``k``.
        """
        if self.certificate.flaws:
            raise ModelFileError(
                self.certificate.flaws[0],
                code="changed-file",
                do="use the file as it was written, or design again",
            )
        return self.certificate.values

    @cached_property
    def _differences(self) -> Float:
        """The values less those of the first answer."""
        return np.asarray(self.estimator - self._constant[:, None])

    @cached_property
    def left_inverse(self) -> Float:
        """Estimator of the frequencies by the reports, shape ``(n, m)``, for the variance of the
        numbers: that of least squares, of answers that the reports tell apart, else 0.
        """
        return frozen(estimator_of(self.mechanism, self.wanted, self.names)[1])

    @cached_property
    def _variances(self) -> Float:
        """Total variance of a report, for every answer."""
        moved = self.estimator - (self.wanted @ self.weights / self.weights.sum())[:, None]
        mean = self.wanted - (self.wanted @ self.weights / self.weights.sum())[:, None]
        return np.asarray(self.mechanism.channel @ (moved**2).sum(axis=0) - (mean**2).sum(axis=0))

    @property
    def sums_to_one(self) -> bool:
        """Whether estimated frequencies sum to 1: every report has values of the sum 1."""
        return bool(np.abs(self.certificate.values.sum(axis=0) - 1).max() <= SAME)

    def facts(self) -> Facts:
        """Those of a design, with its caps."""
        facts = super().facts()
        *parts, remark = facts.parts
        more = list(self.certificate.within)
        if is_partition(self.wanted) and not self.sums_to_one:
            more.append(("sums", CHANGED_SUM))
        return Facts(facts.title, [*parts, *more, remark])

    @property
    def root_mean_square(self) -> float:
        """The root of the mean squared error with the liars for whom the influence was chosen; nan
        without.
        """
        return root_mean_square_of(self.certificate)


def root_mean_square_of(claim: Any) -> float:
    """The root of the mean squared error with liars that a certificate proves; nan without."""
    return claim.root_mean_square if isinstance(claim, ErrorWithLiars) else nan


@dataclass(frozen=True, eq=False, repr=False)
class LiarsDesign(CappedDesign, certificate=LiarsCertificate):
    """The capped design whose influence has the least error for a share of liars; made by `design`
    with ``liars=`` and ``people=``.
    """

    certificate: LiarsCertificate
