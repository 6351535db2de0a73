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
from typing import Any, ClassVar

import numpy as np

from ldpopt.auditing.divergence import Audit
from ldpopt.certificate.capped_statement import (
    CappedStatement,
    influence_of_values,
    value_of_values,
)
from ldpopt.certificate.design_bound import Bound, NoBound, read_bound
from ldpopt.certificate.design_bound_capped import CappedBound
from ldpopt.certificate.design_claim import DesignClaim
from ldpopt.certificate.design_statement import AnswerClasses, cone_of
from ldpopt.certificate.documents import read_masses
from ldpopt.errors import CertificateError
from ldpopt.foundation.budget import Budget, round_up
from ldpopt.foundation.documents import Entry, plain_labels
from ldpopt.foundation.numbers import Float, frozen, require_choice, require_kind, shaped_array
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.notion import require_notion, with_epsilon
from ldpopt.problem.plain import read_notion
from ldpopt.problem.workload import Workload


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CappedCertificate(DesignClaim):
    """A proof in rationals of how far a design is from the best whose influence is within caps.

    The attributes of `DesignClaim`, and these.

    Attributes
    ----------
    weights : ndarray, shape (n,)
        Weights of the answers; for the worst case the least favorable ones.
    objective : {"average", "worst_case"}
        Whether ``achieved`` is the average or the largest mean squared error.
    caps : ndarray, shape (k,)
        Largest influence of a report on each number, in its unit; ``inf`` where there is none.
    mechanism : Mechanism
        The channel that is used.
    values : ndarray, shape (k, m)
        ``V``: the value of each report in each number.
    """

    weights: Float
    objective: str
    caps: Float
    mechanism: Mechanism
    values: Float

    STATEMENT: ClassVar[tuple[str, ...]] = (
        "inputs",
        "names",
        "workload",
        "weights",
        "caps",
        "masses",
        "values",
    )

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

    def _above(self) -> list[str]:
        """The first number whose influence is above its cap."""
        pairs = zip(self.workload.names, self.influence, self.caps.tolist(), strict=True)
        return [
            f"the influence of a report on {name!r} is {round_up(size):.17g}, above the cap "
            f"{cap:.17g}"
            for name, size, cap in pairs
            if cap != np.inf and size > Fraction(cap)
        ][:1]

    @cached_property
    def audit(self) -> Audit:
        """Exact audit of the mechanism."""
        return self.mechanism.audit(self.privacy)

    def _audit_at(self, epsilon: Budget) -> Audit:
        return self.mechanism.audit(with_epsilon(self.privacy, epsilon))

    @property
    def digest(self) -> str:
        """Digest of the mechanism."""
        return self.mechanism.digest

    @property
    def reports(self) -> str:
        """Number of reports, in words."""
        return f"{len(self.mechanism.outputs):,} reports"

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
        """Workload, weights, caps, masses and values as JSON data."""
        labels = {
            "inputs": plain_labels(self.workload.inputs),
            "names": plain_labels(self.workload.names),
        }
        arrays = {"workload": self.workload.matrix, "weights": self.weights}
        data = labels | {key: array.tolist() for key, array in arrays.items()}
        data["caps"] = [None if cap == np.inf else cap for cap in self.caps.tolist()]
        return data | {"masses": self.mechanism.counts.tolist(), "values": self.values.tolist()}

    @classmethod
    def _read(cls, table: dict[str, Entry]) -> dict[str, Any]:
        inputs = table["inputs"].labels()
        names = table["names"].labels()
        n = len(inputs)
        workload = Workload(table["workload"].numbers(len(names), n), inputs, names)
        weights = table["weights"].numbers(n)
        if (weights < 0).any() or not weights.any():
            raise table["weights"].error(
                f"a weight is negative, or all are 0: they are from {weights.min():g} to "
                f"{weights.max():g}"
            )
        objective = table["objective"].text("average", "worst_case")
        prior = None if objective == "worst_case" else weights
        privacy = read_notion(table["privacy"], inputs).bound_to(prior, inputs)
        masses = read_masses(table["masses"], inputs)
        mechanism = Mechanism(masses.channel, inputs, privacy.reports(inputs, masses.channel))
        privacy.check(inputs, mechanism.outputs)
        caps = [
            np.inf if entry.value is None else entry.number()
            for entry in table["caps"].list(len(names))
        ]
        values = table["values"].numbers(len(names), len(mechanism.outputs))
        classes = AnswerClasses.under(privacy, workload.matrix, inputs)
        multipliers = read_bound(table["multipliers"], len(classes.first), CappedBound, NoBound)
        return {
            "workload": workload,
            "privacy": privacy,
            "weights": frozen(weights),
            "objective": objective,
            "caps": frozen(np.array(caps)),
            "mechanism": mechanism,
            "values": frozen(values),
            "multipliers": multipliers,
        }
