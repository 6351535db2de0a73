"""Certificate of a design: statement, mechanism, estimator, multipliers and claim, checked again without a search."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.auditing.divergence import Audit
from ldpopt.certificate.design_bound import Bound, FormBound, NoBound
from ldpopt.certificate.design_bound_mean import MeanBound
from ldpopt.certificate.design_bound_product import ProductBound
from ldpopt.certificate.design_claim import FORMAT, LARGEST_FILE, DesignClaim
from ldpopt.certificate.design_statement import AnswerClasses, Statement, cone_of
from ldpopt.certificate.design_value import value_of, with_first_row
from ldpopt.certificate.documents import open_document, read_masses
from ldpopt.certificate.frequency_certificate import OLD_FREQUENCIES, FrequencyCertificate
from ldpopt.errors import CertificateError
from ldpopt.foundation.documents import Entry, plain_labels
from ldpopt.foundation.files import beginning
from ldpopt.foundation.numbers import Float, frozen
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.notion import to_table
from ldpopt.problem.plain import read_notion
from ldpopt.problem.workload import Workload

# They are still read. The first one has a budget in place of a notion; neither has a digest of labels and names.
OLD_FORMATS = ("ldpopt design certificate 2", "ldpopt design certificate 1")
BEGINNINGS = ("ldpopt design certificate", OLD_FREQUENCIES)  # beginnings of formats of designs
# Kinds of bounds
BOUNDS: dict[str, type[Bound]] = {bound.kind: bound for bound in (FormBound, ProductBound, MeanBound, NoBound)}
# Share by which the value of an old file may be too small: its estimator differs from this one by rounding
OLD_SLACK = Fraction(1, 10**9)
OLD_ROW = 1e-6  # share of the largest entries by which the first row of an old file's left inverse may be off


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DesignCertificate(DesignClaim):
    """A proof in rationals of how far a design is from the best.

    The attributes of `DesignClaim`, and these.

    Attributes
    ----------
    weights : ndarray, shape (n,)
        Weights of the answers; for the worst case the least favorable ones.
    objective : {"average", "worst_case"}
        Whether ``achieved`` is the average or the largest mean squared error.
    mechanism : Mechanism
        The channel that is used.
    left_inverse : ndarray, shape (n, m)
        ``X``; the estimator is ``W X``. The first row is the float nearest to 1 minus the others.
    multipliers : Bound
        Multipliers that prove the bound.
    bias : Fraction
        Upper bound on the bias of the estimator for every answer: its norm over the numbers of the workload.
    """

    weights: Float
    objective: str
    mechanism: Mechanism
    left_inverse: Float
    multipliers: Bound
    is_old: bool = False  # whether it was read from a file of an old format

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
        """Value and bound of a channel and a left inverse for classes of answers, both of shape ``(c, m)``.

        An estimator with a bias within rounding may be better than the bound by as little: then its value is the bound
        that is claimed.

        Raises
        ------
        CertificateError
            If the estimator is biased: the left inverse is not one.
        """
        statement = Statement.of(workload.matrix, weights, merged)
        inverse = with_first_row(left_inverse)
        value = value_of(statement, channel, inverse, objective)
        if not value.is_unbiased:
            raise CertificateError(f"the estimator is biased by {float(value.bias):.3g}", do="choose another epsilon")
        rows = np.zeros((len(merged.classes), channel.shape[1]))
        rows[merged.first] = inverse
        return cls(
            workload=workload,
            privacy=privacy,
            weights=frozen(weights),
            objective=objective,
            mechanism=Mechanism(channel[merged.classes], workload.inputs, range(channel.shape[1])),
            left_inverse=frozen(rows),
            multipliers=multipliers,
            achieved=value.achieved,
            bound=min(max(multipliers.value(statement), Fraction(0)), value.achieved),
            bias=value.bias,
        )

    @cached_property
    def audit(self) -> Audit:
        """Exact audit of the mechanism."""
        return self.mechanism.audit(self.privacy)

    @property
    def digest(self) -> str:
        """Digest of the mechanism."""
        return self.mechanism.digest

    @property
    def reports(self) -> str:
        """Number of reports, in words."""
        return f"{len(self.mechanism.outputs):,} reports"

    def recheck(self) -> tuple[str, ...]:
        """Compute every number again from statement, masses, estimator and multipliers; return what does not hold.

        Returns
        -------
        tuple of str
            Failures; empty if the certificate holds.
        """
        failures = list(self.flaws)
        matrix, inputs = self.workload.matrix, self.workload.inputs
        if self.audit.verdict != "certified":
            failures.append(f"the mechanism is not private: epsilon {self.audit.epsilon:.9g} found")
        if not np.array_equal(self.left_inverse, with_first_row(self.left_inverse)):
            failures.append("the first row of the left inverse is not 1 minus the others")
        classes = Statement.of(matrix, self.weights, AnswerClasses.under(self.privacy, matrix, inputs))
        answers = classes if len(classes.weights.whole) == len(inputs) else Statement.of(matrix, self.weights)
        try:
            value = value_of(answers, self.mechanism.channel, self.left_inverse, self.objective)
        except CertificateError as error:
            return (*failures, error.what)
        proved = self.bound
        if not self.multipliers.holds(classes, cone_of(self.privacy, inputs)):
            failures.append("a column of the cone costs more than the multipliers allow: they prove no bound")
        else:
            proved = self.multipliers.value(classes)
        claim = replace(self, bias=value.bias) if self.is_old else self
        return (*failures, *claim._wrong_claims(value, proved, OLD_SLACK if self.is_old else Fraction(0)))

    def plain(self) -> dict[str, Any]:
        """Statement, masses, estimator and multipliers as JSON data."""
        return {
            "inputs": plain_labels(self.workload.inputs),
            "names": plain_labels(self.workload.names),
            "workload": self.workload.matrix.tolist(),
            "privacy": to_table(self.privacy, self.workload.inputs),
            "weights": self.weights.tolist(),
            "objective": self.objective,
            "masses": self.mechanism.counts.tolist(),
            "left_inverse": self.left_inverse.tolist(),
            "multipliers": {"kind": self.multipliers.kind, **self.multipliers.plain()},
        }

    @classmethod
    def _read(cls, entry: Entry) -> DesignCertificate:
        is_old = isinstance(entry.value, dict) and entry.value.get("format") in OLD_FORMATS
        table = (_renewed(entry) if is_old else entry).table(
            *("format", "inputs", "names", "workload", "privacy", "weights", "objective", "masses"),
            *("left_inverse", "multipliers", "achieved", "bound", "bias"),
        )
        table["format"].text(FORMAT)
        inputs, names = table["inputs"].labels(), table["names"].labels()
        n = len(inputs)
        workload = Workload(table["workload"].numbers(len(names), n), inputs, names)
        weights = table["weights"].numbers(n)
        if (weights < 0).any() or not weights.any():
            what = f"a weight is negative, or all are 0: they are from {weights.min():g} to {weights.max():g}"
            raise table["weights"].error(what)
        privacy = read_notion(table["privacy"], inputs)
        privacy.check(inputs, ())
        mechanism = read_masses(table["masses"], inputs)
        merged = AnswerClasses.under(privacy, workload.matrix, inputs)
        m, c = len(mechanism.outputs), len(merged.first)
        if is_old:
            left_inverse = np.zeros((n, m))
            left_inverse[merged.first] = _old_left_inverse(table["left_inverse"], c, m)
        else:
            left_inverse = table["left_inverse"].numbers(n, m)
        multipliers = table["multipliers"]
        kind = multipliers.part("kind").text(*BOUNDS)
        rest = {key: value for key, value in multipliers.value.items() if key != "kind"}
        note = "the file is of an old format: no digest protects its labels and names, and its value is within rounding"
        return cls(
            workload=workload,
            privacy=privacy,
            weights=frozen(weights),
            objective=table["objective"].text("average", "worst_case"),
            mechanism=mechanism,
            left_inverse=frozen(left_inverse),
            multipliers=BOUNDS[kind].read(Entry(rest, entry.path, "multipliers"), c),
            achieved=table["achieved"].rational(),
            bound=table["bound"].rational(),
            bias=table["bias"].rational(),
            notes=(note,) if is_old else (),
            is_old=is_old,
        )


def _old_left_inverse(entry: Entry, c: int, m: int) -> Float:
    """Left inverse of an old file: its columns sum to 1 up to rounding, and its first row is computed again."""
    given = entry.numbers(c, m)
    found = with_first_row(given)
    if (np.abs(found[0] - given[0]) > OLD_ROW * (1 + np.abs(given).max(axis=0))).any():
        off = float(np.abs(found[0] - given[0]).max())
        raise entry.error(f"the columns of the left inverse do not sum to 1: one is off by {off:.3g}")
    return found


def _renewed(entry: Entry) -> Entry:
    """A file of an old format with the keys of the present one."""
    data = dict(entry.value)
    if data["format"] == OLD_FORMATS[1] and "epsilon" in data:
        data["privacy"] = {"kind": "pure", "epsilon": data.pop("epsilon")}
        data.setdefault("proof", "form")
        data.setdefault("inequalities", None)
    kind = data.pop("proof", None)
    known = {"mean": ("numbers", "slope", "line"), "product": ("sizes", "eigenvalues", "level")}
    keys = known.get(kind if isinstance(kind, str) else "", ("inverse", "line", "shift", "inequalities"))
    if kind == "mean":
        data.pop("values", None)
    multipliers = {"kind": kind, **{key: data.pop(key) for key in keys if key in data}}
    return Entry({**data, "format": FORMAT, "multipliers": multipliers, "bias": "0"}, entry.path)


def is_design(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a certificate of a design; what is not a plain file is not opened."""
    start = beginning(path, 100)
    return any(words in start for words in BEGINNINGS)


def load_certificate(path: str | os.PathLike[str]) -> DesignCertificate | FrequencyCertificate:
    """Read the certificate of a design of any kind and format."""
    entry = open_document(path, LARGEST_FILE)
    return certificate_from_dict(entry.value, entry.path)


def certificate_from_dict(data: Any, name: str) -> DesignCertificate | FrequencyCertificate:
    """Read what `to_dict` of a certificate returned; ``name`` is the file in error messages."""
    has_sets = isinstance(data, dict) and "size" in data
    return FrequencyCertificate.from_dict(data, name) if has_sets else DesignCertificate.from_dict(data, name)
