r"""Certificate of a design for a stated share of liars: its mean squared error, and a bound on that
of every other design, interval by interval of the influence.

With ``s`` the largest influence over the span of a number, ``F`` the variance, ``k`` numbers and
``N`` people of whom a share ``g`` are liars, the criterion is

.. math:: (1 - g) \frac{F}{k N} + g^2 s^2 \, \frac 1 k \sum_j \operatorname{span}_j^2 .

The least variance falls in ``s``. So between two values ``a`` and ``b`` of ``s`` the criterion is
at least that of the bound at ``b`` with the influence ``a``. Each step of a file is such a ``b``
with its multipliers, and the last one has no limit. Below the least influence the multipliers of
the linear program, times a large number, prove a bound that no design can reach: that is the first
step, and with it the small influences are excluded. What the steps prove is recomputed from the
statement alone, whatever search found them. Theory: docs, "Influence".
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import sqrt
from typing import Any, Self

import numpy as np

from ldpopt.certificate.capped_certificate import CappedCertificate
from ldpopt.certificate.capped_statement import CappedStatement
from ldpopt.certificate.design_bound_capped import CappedBound
from ldpopt.certificate.design_statement import AnswerClasses, cone_of
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.display import shown
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.numbers import Float

LARGEST_PEOPLE = 10**18  # in a file
KEYS = ("share", "people", "steps", "criterion", "least")  # of a file


def caps_within(limit: float, matrix: Float) -> Float:
    """Caps of so many spans of each row, rounded up, which only lowers a bound; none of constant
    numbers.
    """
    ends = zip(matrix.max(axis=1).tolist(), matrix.min(axis=1).tolist(), strict=True)
    # the spans are exact: a difference of floats may be rounded down
    spans = [Fraction(high) - Fraction(low) for high, low in ends]
    if limit == np.inf:
        return np.full(len(spans), np.inf)
    return np.array([round_up(Fraction(limit) * span) if span else np.inf for span in spans])


@dataclass(frozen=True, eq=False)
class CapStep:
    """Multipliers of a bound for all designs whose influence is at most so many spans."""

    spans: float  # inf for no limit
    bound: Any  # CappedBound, or SizesBound of frequencies

    def plain(self) -> dict[str, Any]:
        """Plain values for a file."""
        spans = None if self.spans == np.inf else self.spans
        return {"spans": spans, **self.bound.plain()}

    @classmethod
    def read(cls, entry: Entry, n: int) -> CapStep:
        """Read what `plain` wrote of a bound by caps."""
        table = entry.table("spans", "slope", "line")
        slope = table["slope"].numbers(len(table["slope"].list()), n)
        return cls(spans_of(table), CappedBound(slope, table["line"].numbers(n)))


def spans_of(table: dict[str, Entry]) -> float:
    """The limit of a step in a file, where null is none."""
    return np.inf if table["spans"].value is None else table["spans"].number()


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ErrorWithLiars:
    """What a proof of how good a design is for a share of liars has besides the design's; a base in
    front of the certificate of the design, which says how an error follows from variance and
    influence, and what a step proves.

    Attributes
    ----------
    share : float
        Share of the people who may send anything.
    people : int
        Number of people.
    steps : tuple of CapStep
        Multipliers by rising influence, the last one without a limit.
    criterion, least : Fraction
        The mean squared error is at most ``criterion``, and that of no design is below ``least``.
    """

    share: float
    people: int
    steps: tuple[CapStep, ...]
    criterion: Fraction = Fraction(0)
    least: Fraction = Fraction(0)

    @classmethod
    def with_liars(cls, design: Any, share: float, people: int, steps: tuple[CapStep, ...]) -> Self:
        """The certificate of a design that is proved, with the bound that some steps prove."""
        parts = {each.name: getattr(design, each.name) for each in fields(design)}
        claim = cls(**parts, share=share, people=people, steps=steps)
        criterion = claim._criterion()
        proved = claim._least()
        return replace(claim, criterion=criterion, least=min(proved or Fraction(0), criterion))

    @property
    def excess(self) -> float:
        """By which part the mean squared error may be above the least one, rounded up."""
        return round_up(1 - self.least / self.criterion) if self.criterion else 0.0

    @property
    def root_mean_square(self) -> float:
        """The root of the mean squared error that is claimed."""
        return sqrt(self.criterion)

    @property
    def within(self) -> list[tuple[str, str]]:
        """Those of the design, and the error with liars beside the least one."""
        parts: list[tuple[str, str]] = super().within  # type: ignore[misc]
        text = (
            f"{100 * self.share:g} % of {self.people:,} people may send anything: root mean "
            f"squared error {shown(self.root_mean_square, 4)}, the square at most "
            f"{100 * self.excess:.2g} % above the least one"
        )
        if self.share:
            # half of the span of each number, as an influence that has this error without reports
            of_middles = self._error(Fraction(0), 1 / (2 * Fraction(self.share)))
            if self.criterion >= of_middles:
                text += (
                    "; the middle of the range of each number, without reports, errs by at most "
                    f"{shown(sqrt(of_middles), 4)}"
                )
        return [*parts, ("with liars", text)]

    @abstractmethod
    def _error(self, variance: Fraction, spans: Fraction) -> Fraction:
        """The criterion of a variance and an influence in spans."""

    @abstractmethod
    def _criterion(self) -> Fraction:
        """The criterion of the design, with its largest influence in spans."""

    @abstractmethod
    def _least(self) -> Fraction | None:
        """The bound on the criterion that the steps prove; None if they prove none."""

    def wrong_error(self) -> list[str]:
        """What does not hold of the claims on the error with liars."""
        failures = []
        criterion = self._criterion()
        if criterion > self.criterion:
            failures.append(
                "the mean squared error with liars is larger than claimed: "
                f"{round_up(criterion):.17g}"
            )
        proved = self._least()
        if proved is None:
            failures.append("the steps prove no bound on the error with liars")
        elif proved < self.least:
            failures.append(
                "the steps prove less than the bound claimed on the error with liars: "
                f"{round_up(proved):.17g}"
            )
        return failures

    def plain_liars(self) -> dict[str, Any]:
        """The share of liars, the steps and both numbers as JSON data."""
        return {
            "share": self.share,
            "people": self.people,
            "steps": [step.plain() for step in self.steps],
            "criterion": str(self.criterion),
            "least": str(self.least),
        }


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LiarsCertificate(ErrorWithLiars, CappedCertificate):
    """A proof of how good a listed design is for a share of liars; the attributes of
    `CappedCertificate` and of `ErrorWithLiars`.
    """

    STATEMENT = (*CappedCertificate.STATEMENT, *KEYS)

    def _spans(self) -> list[Fraction]:
        """Largest less least entry of each row of the workload."""
        rows = self.workload.matrix
        ends = zip(rows.max(axis=1).tolist(), rows.min(axis=1).tolist(), strict=True)
        return [Fraction(high) - Fraction(low) for high, low in ends]

    def _error(self, variance: Fraction, spans: Fraction) -> Fraction:
        """The criterion of a variance and an influence in spans."""
        g = Fraction(self.share)
        each = self._spans()
        squares = sum((span**2 for span in each), Fraction(0)) / len(each)
        return (1 - g) * variance / (len(each) * self.people) + g**2 * spans**2 * squares

    def _criterion(self) -> Fraction:
        """The criterion of the design, with its largest influence in spans."""
        pairs = zip(self.influence, self._spans(), strict=True)
        largest = max(size / span for size, span in pairs if span)
        return self._error(self.achieved, largest)

    def _least(self) -> Fraction | None:
        """The bound on the criterion that the steps prove; None if they prove none."""
        matrix = self.workload.matrix
        merged = AnswerClasses.under(self.privacy, matrix, self.workload.inputs)
        cone = cone_of(self.privacy, self.workload.inputs)

        def proved(step: CapStep) -> Fraction | None:
            caps = caps_within(step.spans, matrix)
            statement: Any = CappedStatement.of(matrix, self.weights, caps, merged)
            return step.bound.value(statement) if step.bound.holds(statement, cone) else None

        return least_of_intervals(self.steps, proved, self._error)

    def _wrong_numbers(self) -> list[str]:
        """What does not hold of the design, and of its error with liars beside the least one."""
        return super()._wrong_numbers() + self.wrong_error()

    def plain(self) -> dict[str, Any]:
        """That of the design, with the share of liars, the steps and both numbers."""
        return super().plain() | self.plain_liars()

    @classmethod
    def _read(cls, table: dict[str, Entry]) -> dict[str, Any]:
        parts = super()._read(table)
        matrix = parts["workload"].matrix
        classes = AnswerClasses.under(parts["privacy"], matrix, parts["workload"].inputs)
        return parts | read_liars(table, lambda entry: CapStep.read(entry, len(classes.first)))


def least_of_intervals(
    steps: Sequence[Any],
    proved: Callable[[Any], Fraction | None],
    error: Callable[[Fraction, Fraction], Fraction],
) -> Fraction | None:
    """The bound on the error with liars that steps prove, interval by interval of the influence;
    None if one of them proves no bound on the variance, or they leave influences out.
    """
    ends = [step.spans for step in steps]
    if not ends or ends[-1] != np.inf or ends != sorted(set(ends)):
        return None
    least: list[Fraction] = []
    start = Fraction(0)
    for step in steps:
        bound = proved(step)
        if bound is None:
            return None
        least.append(error(max(bound, Fraction(0)), start))
        start = Fraction(step.spans) if step.spans != np.inf else start
    return min(least)


def read_liars(table: dict[str, Entry], step: Callable[[Entry], CapStep]) -> dict[str, Any]:
    """What `ErrorWithLiars.plain_liars` wrote."""
    share = table["share"].number()
    if not 0 <= share < 1:
        raise table["share"].error(f"a share of liars of {share:g} is not from 0 to 1")
    people = table["people"].whole(LARGEST_PEOPLE)
    if not people:
        raise table["people"].error("nobody is asked: the number of people is 0")
    numbers = {key: table[key].rational() for key in ("criterion", "least")}
    return numbers | {
        "share": share,
        "people": people,
        "steps": tuple(map(step, table["steps"].list())),
    }
