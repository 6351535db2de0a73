"""The part of a certificate that designs with a list of reports have in common: workload, weights,
and a mechanism in integer masses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from ldpopt.auditing.divergence import Audit
from ldpopt.certificate.design_claim import DesignClaim
from ldpopt.certificate.documents import read_masses
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.documents import Entry, plain_labels
from ldpopt.foundation.labels import Names
from ldpopt.foundation.numbers import Float, frozen
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.notion import with_epsilon
from ldpopt.problem.plain import read_notion
from ldpopt.problem.workload import Workload


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ListedClaim(DesignClaim):
    """A claim about a mechanism whose reports are listed; a subclass has the estimator.

    Attributes
    ----------
    weights : ndarray, shape (n,)
        Weights of the answers; for the worst case the least favorable ones.
    objective : {"average", "worst_case"}
        Whether ``achieved`` is the average or the largest mean squared error.
    mechanism : Mechanism
        The channel that is used.
    """

    weights: Float
    objective: str
    mechanism: Mechanism

    STATEMENT: ClassVar[tuple[str, ...]] = ("inputs", "names", "workload", "weights", "masses")

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

    def plain(self) -> dict[str, Any]:
        """Workload, weights and masses as JSON data."""
        labels = {
            "inputs": plain_labels(self.workload.inputs),
            "names": plain_labels(self.workload.names),
        }
        arrays = {
            "workload": self.workload.matrix,
            "weights": self.weights,
            "masses": self.mechanism.counts,
        }
        return labels | {key: array.tolist() for key, array in arrays.items()}

    @classmethod
    def _read(cls, table: dict[str, Entry]) -> dict[str, Any]:
        inputs = table["inputs"].labels()
        names = table["names"].labels()
        n = len(inputs)
        workload = Workload(table["workload"].numbers(len(names), n), inputs, names)
        weights = table["weights"].numbers(n)
        if (weights < 0).any() or not weights.any():
            problem = (
                f"a weight is negative, or all are 0: they are from {weights.min():g} to "
                f"{weights.max():g}"
            )
            raise table["weights"].error(problem)
        objective = table["objective"].text("average", "worst_case")
        prior = None if objective == "worst_case" else weights
        privacy = read_notion(table["privacy"], inputs).bound_to(prior, inputs)
        masses = read_masses(table["masses"], inputs)
        mechanism = named(masses.channel, privacy, inputs)
        privacy.check(inputs, mechanism.outputs)
        return {
            "workload": workload,
            "privacy": privacy,
            "weights": frozen(weights),
            "objective": objective,
            "mechanism": mechanism,
        }


def named(channel: Float, privacy: Any, inputs: Names) -> Mechanism:
    """A mechanism whose reports have the labels that the notion gives them: in files they have
    none.
    """
    return Mechanism(channel, inputs, privacy.reports(inputs, channel))
