"""Certificate of a design for a stated share of liars, for the frequencies of many answers: the
error and its bound are those of `liars_certificate`, with three multipliers for each step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ldpopt.certificate.capped_frequency_certificate import CappedFrequencyCertificate
from ldpopt.certificate.design_bound_sizes import SizesBound, SizesStatement
from ldpopt.certificate.design_statement import least_ratio
from ldpopt.certificate.liars_certificate import (
    least_of_intervals,
    read_people,
    vars_of,
    wrong_error,
)
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.documents import Entry

KEYS = ("share", "people", "steps", "criterion", "least")


@dataclass(frozen=True)
class SizesStep:
    """Multipliers of a bound for all designs whose influence is at most so many spans."""

    spans: float  # inf for no limit
    bound: SizesBound

    def plain(self) -> dict[str, Any]:
        """Plain values for a file."""
        spans = None if self.spans == np.inf else self.spans
        return {"spans": spans, **self.bound.plain()}

    @classmethod
    def read(cls, entry: Entry) -> SizesStep:
        """Read what `plain` wrote."""
        table = entry.table("spans", "same", "others", "line")
        spans = np.inf if table["spans"].value is None else table["spans"].number()
        numbers = (table[key].number() for key in ("same", "others", "line"))
        return cls(spans, SizesBound(*numbers))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LiarsFrequencyCertificate(CappedFrequencyCertificate):
    """A proof of how good a design is for a share of liars; the attributes of
    `CappedFrequencyCertificate`, and these.

    Attributes
    ----------
    share : float
        Share of the people who may send anything.
    people : int
        Number of people.
    steps : tuple of SizesStep
        Multipliers by rising influence, the last one without a limit.
    criterion, least : Fraction
        The mean squared error is at most ``criterion``, and that of no design is below ``least``.
    """

    share: float
    people: int
    steps: tuple[SizesStep, ...]
    criterion: Fraction = Fraction(0)
    least: Fraction = Fraction(0)

    STATEMENT: ClassVar[tuple[str, ...]] = (*CappedFrequencyCertificate.STATEMENT, "liars")

    @classmethod
    def with_liars(
        cls,
        design: CappedFrequencyCertificate,
        share: float,
        people: int,
        steps: tuple[SizesStep, ...],
    ) -> LiarsFrequencyCertificate:
        """The certificate of a design that is proved, with the bound that some steps prove."""
        claim = cls(**vars_of(design), share=share, people=people, steps=steps)
        criterion = claim._criterion()
        proved = claim._least()
        return replace(claim, criterion=criterion, least=min(proved or Fraction(0), criterion))

    @property
    def excess(self) -> float:
        """By which part the mean squared error may be above the least one, rounded up."""
        return round_up(1 - self.least / self.criterion) if self.criterion else 0.0

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

        def proved(step: SizesStep) -> Fraction | None:
            cap = None if step.spans == np.inf else Fraction(step.spans) * abs(self.unit)
            statement: Any = SizesStatement(self.workload.shape[1], self.unit, cap)
            return step.bound.value(statement) if step.bound.holds(statement, base) else None

        return least_of_intervals(self.steps, proved, self._error)

    def _wrong_numbers(self) -> list[str]:
        """What does not hold of the design, and of its error with liars beside the least one."""
        failures = super()._wrong_numbers()
        return failures + wrong_error(self._criterion(), self._least(), self.criterion, self.least)

    def plain(self) -> dict[str, Any]:
        """That of the design, with the share of liars, the steps and both numbers."""
        liars = {
            "share": self.share,
            "people": self.people,
            "steps": [step.plain() for step in self.steps],
            "criterion": str(self.criterion),
            "least": str(self.least),
        }
        return super().plain() | {"liars": liars}

    @classmethod
    def _read(cls, table: dict[str, Entry]) -> dict[str, Any]:
        parts = super()._read(table)
        liars = table["liars"].table(*KEYS)
        share, people = read_people(liars)
        steps = tuple(map(SizesStep.read, liars["steps"].list()))
        numbers = {key: liars[key].rational() for key in ("criterion", "least")}
        return parts | numbers | {"share": share, "people": people, "steps": steps}
