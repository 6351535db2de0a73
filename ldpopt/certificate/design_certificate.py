"""Certificate of a design: all that is needed to check its privacy and its gap again, without a solver."""

from __future__ import annotations

import os
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldpopt.auditing.divergence import Audit
from ldpopt.certificate import design_files as files
from ldpopt.certificate.answer_classes import merged_by
from ldpopt.certificate.columns import holds
from ldpopt.certificate.design_bound import Statement
from ldpopt.certificate.design_claim import DesignClaim
from ldpopt.foundation.budget import round_down, round_up
from ldpopt.mechanism.origins import of_law


class DesignCertificate(DesignClaim):
    """A proof in rationals of how far a design is from the best; see `DesignClaim` for its fields."""

    exact = True

    def __repr__(self) -> str:
        """Value, bound and gap."""
        return (
            f"DesignCertificate({self.objective} variance {round_up(self.achieved):.9g}, "
            f"bound {round_down(self.bound):.9g}, relative gap {self.relative_gap:.2g})"
        )

    @property
    def gap(self) -> Fraction:
        """Achieved minus bound."""
        return self.achieved - self.bound

    @property
    def relative_gap(self) -> float:
        """Gap over achieved, rounded up."""
        return round_up(self.gap / self.achieved) if self.achieved > 0 else 0.0

    @cached_property
    def audit(self) -> Audit:
        """Recompute the privacy of the mechanism, in exact arithmetic."""
        return self.mechanism.audit(self.privacy)

    def save(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """Write statement, masses, multipliers and claim as JSON, each exactly; atomic.

        The file also has the title, the notion, the audited epsilon, the digest of the mechanism and the version.

        Raises
        ------
        MechanismError
            If a label is neither text nor a number.
        ModelFileError
            If the file cannot be written.
        """
        files.write(files.to_dict(self), of_law(self.mechanism.digest, title, self.audit), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DesignCertificate:
        """Read what `save` wrote; nothing in it is believed before `recheck` has computed it again.

        Raises
        ------
        ModelFileError
            If the file is missing or no certificate of a design.
        """
        return cls(**vars(files.read(path)))

    def recheck(self) -> tuple[str, ...]:
        """Compute everything again from statement, masses and multipliers; say what does not hold.

        Returns
        -------
        tuple of str
            Failures; empty where the certificate holds.
        """
        failures = []
        if self.audit.verdict != "certified":
            failures.append(f"the mechanism is not private: epsilon {self.audit.epsilon:.9g} found")
        merged = merged_by(self.privacy, self.workload.matrix, self.workload.inputs)
        statement = Statement.of(self.workload.matrix, self.weights, merged)
        channel, inverse = self.mechanism.channel, self.left_inverse
        if not np.array_equal(channel, channel[merged.first][merged.classes]):
            failures.append("answers that the workload does not tell apart are reported differently")
        if not holds(statement, self.multipliers, self.privacy, self.workload.inputs):
            failures.append("a column of the cone costs more than the multipliers allow: they prove no bound")
        elif max(self.multipliers.bound_below(statement), Fraction(0)) < self.bound:
            failures.append("the multipliers prove less than the bound claimed")
        if self.multipliers.value_above(statement, channel[merged.first], inverse, self.objective) > self.achieved:
            failures.append("the estimator has a larger variance than claimed")
        return tuple(failures)
