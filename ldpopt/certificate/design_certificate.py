"""Certificate of a design: statement, mechanism, estimator, multipliers and claim, checked again
without a search.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.certificate.capped_certificate import CappedCertificate
from ldpopt.certificate.capped_frequency_certificate import CappedFrequencyCertificate
from ldpopt.certificate.design_bound import Bound, FormBound, NoBound, read_bound
from ldpopt.certificate.design_bound_mean import MeanBound
from ldpopt.certificate.design_bound_moments import MomentBound
from ldpopt.certificate.design_bound_product import ProductBound
from ldpopt.certificate.design_claim import LARGEST_FILE, DesignClaim
from ldpopt.certificate.design_statement import (
    AnswerClasses,
    Statement,
    cone_of,
    value_of,
    with_first_row,
)
from ldpopt.certificate.documents import open_document
from ldpopt.certificate.frequency_certificate import FrequencyCertificate
from ldpopt.certificate.liars_certificate import LiarsCertificate
from ldpopt.certificate.liars_frequency_certificate import LiarsFrequencyCertificate
from ldpopt.certificate.listed_claim import ListedClaim, named
from ldpopt.certificate.questions_certificate import QuestionsCertificate
from ldpopt.errors import CertificateError
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.files import FilePath, beginning
from ldpopt.foundation.numbers import Float, frozen, require_choice, require_kind, shaped_array
from ldpopt.privacy.notion import require_notion
from ldpopt.problem.workload import Workload

BOUNDS: tuple[type[Bound], ...] = (FormBound, ProductBound, MomentBound, MeanBound, NoBound)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DesignCertificate(ListedClaim):
    """A proof in rationals of how far a design is from the best.

    The attributes of `ListedClaim`, and these.

    Attributes
    ----------
    left_inverse : ndarray, shape (n, m)
        ``X``; the estimator is ``W X``. The first row is the float nearest to 1 minus the others.
    bias : Fraction
        Upper bound on the bias of the estimator for every answer: its norm over the numbers of the
        workload.
    """

    left_inverse: Float

    STATEMENT = (*ListedClaim.STATEMENT, "left_inverse")

    @classmethod
    def of(
        cls,
        workload: Workload,
        privacy: Any,
        weights: Float,
        objective: str,
        channel: Float,
        left_inverse: Float,
        multipliers: Bound,
        merged: AnswerClasses,
    ) -> DesignCertificate:
        """Value and bound of a channel and a left inverse for classes of answers, both of shape
        ``(c, m)``.

        An estimator with a bias within rounding may be better than the bound by as little: then its
        value is the bound that is claimed.

        Raises
        ------
        CertificateError
            If the estimator is biased: the left inverse is not one.
        """
        require_kind(workload, Workload, "DesignCertificate.of()")
        require_notion(privacy)
        require_kind(merged, AnswerClasses, "DesignCertificate.of()", "pass classes of answers")
        require_choice(objective, ("average", "worst_case"), "objective")
        c = len(merged.first)
        weights = shaped_array(weights, "weights", workload.shape[1])
        channel = shaped_array(channel, "channel", c, None)
        left_inverse = shaped_array(left_inverse, "left inverse", c, channel.shape[1])
        statement = Statement.of(workload.matrix, weights, merged)
        inverse = with_first_row(left_inverse)
        value = value_of(statement, channel, inverse, objective)
        if not value.is_unbiased:
            raise CertificateError(
                f"the estimator is biased by {float(value.bias):.3g}", do="choose another epsilon"
            )
        rows = np.zeros((len(merged.classes), channel.shape[1]))
        rows[merged.first] = inverse
        parts: Any = {
            "workload": workload,
            "privacy": privacy,
            "objective": objective,
            "multipliers": multipliers,
        }
        parts |= {"weights": frozen(weights), "left_inverse": frozen(rows)}
        mechanism = named(channel[merged.classes], privacy, workload.inputs)
        bound = min(max(multipliers.value(statement), Fraction(0)), value.achieved)
        return cls(
            **parts, mechanism=mechanism, achieved=value.achieved, bound=bound, bias=value.bias
        )

    def _wrong_numbers(self) -> list[str]:
        matrix = self.workload.matrix
        inputs = self.workload.inputs
        failures = []
        if not np.array_equal(self.left_inverse, with_first_row(self.left_inverse)):
            failures.append("the first row of the left inverse is not 1 minus the others")
        classes = Statement.of(
            matrix, self.weights, AnswerClasses.under(self.privacy, matrix, inputs)
        )
        answers = (
            classes
            if len(classes.weights.whole) == len(inputs)
            else Statement.of(matrix, self.weights)
        )
        try:
            value = value_of(answers, self.mechanism.channel, self.left_inverse, self.objective)
        except CertificateError as error:
            return [*failures, error.what]
        holds = self.multipliers.holds(classes, cone_of(self.privacy, inputs))
        return failures + self._wrong_claims(
            value, self.multipliers.value(classes) if holds else None
        )

    def plain(self) -> dict[str, Any]:
        """Workload, weights, masses and estimator as JSON data."""
        return super().plain() | {"left_inverse": self.left_inverse.tolist()}

    @classmethod
    def _read(cls, table: dict[str, Entry]) -> dict[str, Any]:
        parts = super()._read(table)
        workload = parts["workload"]
        classes = AnswerClasses.under(parts["privacy"], workload.matrix, workload.inputs)
        shape = len(workload.inputs), len(parts["mechanism"].outputs)
        return parts | {
            "left_inverse": frozen(table["left_inverse"].numbers(*shape)),
            "multipliers": read_bound(table["multipliers"], len(classes.first), *BOUNDS),
        }


def is_design(path: FilePath) -> bool:
    """Whether a file begins as a certificate of a design; what is not a plain file is not
    opened.
    """
    return "ldpopt design certificate" in beginning(path, 100)


def load_certificate(path: FilePath) -> DesignClaim:
    """Read the certificate of a design of any kind."""
    entry = open_document(path, LARGEST_FILE)
    return certificate_from_dict(entry.value, entry.path)


def certificate_from_dict(data: Any, name: str) -> DesignClaim:
    """Read what `to_dict` of a certificate returned; ``name`` is the file in error messages."""
    known: dict[str, type[Any]] = {
        "size": FrequencyCertificate,
        "kinds": QuestionsCertificate,
        "liars": LiarsFrequencyCertificate,
        "sizes": CappedFrequencyCertificate,
        "people": LiarsCertificate,
        "caps": CappedCertificate,
    }
    claim = next(
        (kind for key, kind in known.items() if isinstance(data, dict) and key in data),
        DesignCertificate,
    )
    return claim.from_dict(data, name)
