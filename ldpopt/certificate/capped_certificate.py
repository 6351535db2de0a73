"""Certificate of a design whose influence has a cap: the caps are part of the statement, and the
values of the reports are listed.

What is claimed is that the channel is private, that the values are unbiased but for the rounding of
floats, that their mean squared error is at most ``achieved``, that no report moves any number by
more than its cap, and that no private channel with an unbiased estimator within these caps has a
smaller error than ``bound``. Designs beyond the caps may have a smaller one: without a cap the
statement is another, and so is its certificate, `DesignCertificate`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.certificate.capped_statement import (
    CappedStatement,
    influence_of_values,
    value_of_values,
)
from ldpopt.certificate.design_bound import Bound, NoBound, read_bound
from ldpopt.certificate.design_bound_capped import CappedBound
from ldpopt.certificate.design_statement import AnswerClasses, cone_of
from ldpopt.certificate.listed_claim import ListedClaim
from ldpopt.errors import CertificateError
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.display import shown
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.numbers import Float, frozen, require_choice, require_kind, shaped_array
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.notion import require_notion
from ldpopt.problem.workload import Workload


def caps_in_words(caps: Float, influence: Fraction) -> str:
    """Caps in words, and the largest influence exactly, rounded up."""
    some = caps[np.isfinite(caps)]
    ends = np.unique([some.min(), some.max()]) if len(some) else np.array([np.inf])
    text = " to ".join(shown(end, 9) for end in ends.tolist())
    many = f"{len(some):,} of {len(caps):,} numbers"
    who = "each number" if len(some) == len(caps) else many
    return f"{text} for {who}; {shown(round_up(influence), 9)} is reached"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CappedCertificate(ListedClaim):
    """A proof in rationals of how far a design is from the best whose influence is within caps.

    The attributes of `ListedClaim`, and these.

    Attributes
    ----------
    caps : ndarray, shape (k,)
        Largest influence of a report on each number, in its unit; ``inf`` where there is none.
    values : ndarray, shape (k, m)
        ``V``: the value of each report in each number.
    """

    caps: Float
    values: Float

    STATEMENT = (*ListedClaim.STATEMENT, "caps", "values")

    @classmethod
    def of(
        cls,
        workload: Workload,
        privacy: Any,
        weights: Float,
        objective: str,
        caps: Float,
        mechanism: Mechanism,
        values: Float,
        multipliers: Bound,
    ) -> CappedCertificate:
        """Value and bound of a mechanism and its values.

        Raises
        ------
        CertificateError
            If the values are biased, or the influence is above a cap.
        """
        require_kind(workload, Workload, "CappedCertificate.of()")
        require_notion(privacy)
        require_choice(objective, ("average", "worst_case"), "objective")
        require_kind(mechanism, Mechanism, "CappedCertificate.of()")
        k, n = workload.shape
        weights = shaped_array(weights, "weights", n)
        caps = np.asarray(caps, dtype=np.float64)
        values = shaped_array(values, "values", k, len(mechanism.outputs))
        claim = cls(
            workload=workload,
            privacy=privacy,
            weights=frozen(weights),
            objective=objective,
            caps=frozen(caps),
            mechanism=mechanism,
            values=frozen(values),
            multipliers=multipliers,
            achieved=Fraction(0),
            bound=Fraction(0),
        )
        value = claim._value()
        if not value.is_unbiased:
            raise CertificateError(
                f"the values are biased by {float(value.bias):.3g}", do="choose a larger cap"
            )
        if failures := claim._above():
            raise CertificateError(failures[0], do="choose a larger cap")
        proved = multipliers.value(claim._statement())  # type: ignore[arg-type]
        bound = min(max(proved, Fraction(0)), value.achieved)
        return replace(claim, achieved=value.achieved, bound=bound, bias=value.bias)

    def _statement(self) -> CappedStatement:
        """The statement of the bound: under pure privacy equal answers are one."""
        matrix = self.workload.matrix
        merged = AnswerClasses.under(self.privacy, matrix, self.workload.inputs)
        return CappedStatement.of(matrix, self.weights, self.caps, merged)

    def _value(self) -> Any:
        return value_of_values(
            self.workload.matrix, self.weights, self.mechanism.channel, self.values, self.objective
        )

    @cached_property
    def influence(self) -> tuple[Fraction, ...]:
        """The influence of a report on each number, exactly."""
        return influence_of_values(self.workload.matrix, self.values)

    @property
    def within(self) -> list[tuple[str, str]]:
        """The caps, and the largest influence that is reached."""
        return [("influence at most", caps_in_words(self.caps, max(self.influence)))]

    def _above(self) -> list[str]:
        """The first number whose influence is above its cap."""
        pairs = zip(self.workload.names, self.influence, self.caps.tolist(), strict=True)
        return [
            f"the influence of a report on {name!r} is {round_up(size):.17g}, above the cap "
            f"{cap:.17g}"
            for name, size, cap in pairs
            if cap != np.inf and size > Fraction(cap)
        ][:1]

    def _wrong_numbers(self) -> list[str]:
        statement: Any = self._statement()
        try:
            value = self._value()
        except CertificateError as error:
            return [error.what]
        holds = self.multipliers.holds(statement, cone_of(self.privacy, self.workload.inputs))
        proved = self.multipliers.value(statement) if holds else None
        return self._above() + self._wrong_claims(value, proved)

    def plain(self) -> dict[str, Any]:
        """Workload, weights, masses, caps and values as JSON data."""
        caps = [None if cap == np.inf else cap for cap in self.caps.tolist()]
        return super().plain() | {"caps": caps, "values": self.values.tolist()}

    @classmethod
    def _read(cls, table: dict[str, Entry]) -> dict[str, Any]:
        parts = super()._read(table)
        workload = parts["workload"]
        k = len(workload.names)
        caps = [
            np.inf if entry.value is None else entry.number() for entry in table["caps"].list(k)
        ]
        values = table["values"].numbers(k, len(parts["mechanism"].outputs))
        classes = AnswerClasses.under(parts["privacy"], workload.matrix, workload.inputs)
        multipliers = read_bound(table["multipliers"], len(classes.first), CappedBound, NoBound)
        return parts | {
            "caps": frozen(np.array(caps)),
            "values": frozen(values),
            "multipliers": multipliers,
        }
