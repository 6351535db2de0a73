"""Certificate of a design for a stated share of liars, for the frequencies of many answers: the
error and its bound are those of `liars_certificate`, with three multipliers for each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ldpopt.certificate.capped_frequency_certificate import CappedFrequencyCertificate
from ldpopt.certificate.design_bound_sizes import SizesBound, SizesStatement
from ldpopt.certificate.design_statement import least_ratio
from ldpopt.certificate.liars_certificate import (
    KEYS,
    CapStep,
    ErrorWithLiars,
    least_of_intervals,
    read_liars,
    spans_of,
)
from ldpopt.foundation.documents import Entry


def _read_step(entry: Entry) -> CapStep:
    """Read a step whose bound is that of all sizes."""
    table = entry.table("spans", "same", "others", "line")
    numbers = (table[key].number() for key in ("same", "others", "line"))
    return CapStep(spans_of(table), SizesBound(*numbers))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LiarsFrequencyCertificate(ErrorWithLiars, CappedFrequencyCertificate):
    """A proof of how good a design is for a share of liars; the attributes of
    `CappedFrequencyCertificate` and of `ErrorWithLiars`.
    """

    STATEMENT: ClassVar[tuple[str, ...]] = (*CappedFrequencyCertificate.STATEMENT, "liars")

    def _error(self, variance: Fraction, spans: Fraction) -> Fraction:
        """The criterion of a variance and an influence in spans, which is that of each number."""
        g = Fraction(self.share)
        true = (1 - g) * variance / (self.workload.shape[0] * self.people)
        return true + (g * spans * self.unit) ** 2

    def _criterion(self) -> Fraction:
        """The criterion of the design, with its influence in spans."""
        return self._error(self.achieved, self.influence / abs(self.unit))

    def _least(self) -> Fraction | None:
        """The bound on the criterion that the steps prove; None if they prove none."""
        base = least_ratio(self.privacy.epsilon)

        def proved(step: CapStep) -> Fraction | None:
            cap = None if step.spans == np.inf else Fraction(step.spans) * abs(self.unit)
            statement: Any = SizesStatement(self.workload.shape[1], self.unit, cap)
            return step.bound.value(statement) if step.bound.holds(statement, base) else None

        return least_of_intervals(self.steps, proved, self._error)

    def _wrong_numbers(self) -> list[str]:
        """What does not hold of the design, and of its error with liars beside the least one."""
        return super()._wrong_numbers() + self.wrong_error()

    def plain(self) -> dict[str, Any]:
        """That of the design, with the share of liars, the steps and both numbers."""
        return super().plain() | {"liars": self.plain_liars()}

    @classmethod
    def _read(cls, table: dict[str, Entry]) -> dict[str, Any]:
        parts = super()._read(table)
        return parts | read_liars(table["liars"].table(*KEYS), _read_step)
