"""Certificate of a design: statement, mechanism, estimator, multipliers and claim, to be checked without a search."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.auditing.divergence import Audit
from ldpopt.certificate.answer_classes import AnswerClasses, merged_by
from ldpopt.certificate.design_bound import Bound, FormBound, NoBound, Statement, cone_of
from ldpopt.certificate.design_bound_mean import MeanBound
from ldpopt.certificate.design_bound_product import ProductBound
from ldpopt.certificate.design_value import LARGEST_BIAS, DesignValue, value_of, with_first_row
from ldpopt.certificate.documents import digest_of, open_document, read_masses, text_of
from ldpopt.errors import CertificateError, LdpoptError, ModelFileError
from ldpopt.foundation.budget import round_down, round_up
from ldpopt.foundation.documents import Entry, plain_labels
from ldpopt.foundation.files import replacing
from ldpopt.foundation.numbers import Float, frozen
from ldpopt.mechanism.files import origin_of_mechanism, require_digest
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.notion import to_table
from ldpopt.problem.plain import read_notion
from ldpopt.problem.workload import Workload

FORMAT = "ldpopt design certificate 3"

OLD_FORMATS = ("ldpopt design certificate 2", "ldpopt design certificate 1")
"""They are read; the first ones have no notion of privacy but a budget, and none binds labels and names."""

BOUNDS: dict[str, type[Bound]] = {bound.kind: bound for bound in (FormBound, ProductBound, MeanBound, NoBound)}
"""Kinds of bounds."""

ABOUT = "about"
"""Key of what a file says of itself: title, notion, epsilon, delta, digest, and what wrote it. It proves nothing."""

LARGEST_FILE = 2**31
"""Bytes of a file."""

OLD_SLACK = Fraction(1, 10**9)
"""Share by which the value of an old file may be too small: it is that of an estimator within rounding of this one."""

OLD_ROW = 1e-6
"""Share of the largest entries by which the first row of an old file's left inverse may be off."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DesignClaim(ABC):
    """What certificates of designs have in common.

    Attributes
    ----------
    workload : Workload
        What is estimated.
    privacy : privacy notion
        How private.
    achieved, bound : Fraction
        Mean squared error of the mechanism with its estimator, average or largest; lower bound on the variance of every
        private mechanism with any number of reports.
    notes : tuple of str
        What the file that it was read from cannot prove.
    flaws : tuple of str
        What does not hold in that file; `recheck` has these too.
    """

    workload: Workload
    privacy: Any
    achieved: Fraction
    bound: Fraction
    notes: tuple[str, ...] = ()
    flaws: tuple[str, ...] = ()

    exact: ClassVar[bool] = True
    objective: Any = "average"
    bias: Fraction = Fraction(0)

    def __repr__(self) -> str:
        """Value, bound and gap."""
        return (
            f"{type(self).__name__}({self.objective} variance {round_up(self.achieved):.9g}, "
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

    @property
    @abstractmethod
    def audit(self) -> Audit:
        """The exact privacy of what is drawn."""

    @property
    @abstractmethod
    def law_digest(self) -> str:
        """Digest of what is drawn."""

    @property
    @abstractmethod
    def reports(self) -> str:
        """How many reports there are, in words."""

    @abstractmethod
    def stated(self) -> dict[str, Any]:
        """Statement, law, multipliers and claim as JSON data, each exactly."""

    @abstractmethod
    def recheck(self) -> tuple[str, ...]:
        """Compute everything again; say what does not hold."""

    def to_dict(self, about: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return JSON data with their digest; ``about`` is what a file says of itself.

        Raises
        ------
        CertificateError
            If a label is neither text nor a number.
        """
        claim = {"achieved": str(self.achieved), "bound": str(self.bound), "bias": str(self.bias)}
        data = {"format": FORMAT, **self.stated(), **claim}
        if about is not None:
            data[ABOUT] = dict(about)
        return {**data, "digest": digest_of(data)}

    def save(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """Write statement, law, multipliers and claim as JSON, each exactly; atomic.

        The file also has the title, the notion, the audited epsilon, the digest of what is drawn and the version; and
        a digest of everything that is in it.

        Raises
        ------
        CertificateError
            If a label is neither text nor a number.
        ModelFileError
            If the file cannot be written.
        """
        data = self.to_dict(origin_of_mechanism(self.law_digest, title, self.audit))
        with replacing(path) as stream:
            stream.writelines(text_of(data))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; nothing in it is believed before `recheck` has computed it again.

        Raises
        ------
        ModelFileError
            If the file is missing or no such certificate.
        """
        entry = open_document(path, LARGEST_FILE)
        return cls.from_dict(entry.value, entry.path)

    @classmethod
    def from_dict(cls, data: Any, name: str) -> Self:
        """Read what `to_dict` made; the name is that of its place in messages."""
        given = data if isinstance(data, dict) else {}
        rest = {key: value for key, value in given.items() if key not in (ABOUT, "digest")}
        flaws: tuple[str, ...] = ()
        if given.get("format") == FORMAT:
            digest = Entry(given, name).part("digest").text()
            try:
                is_same = digest == digest_of(given)
            except (ValueError, RecursionError):
                raise ModelFileError("a number is not finite, or lists are nested too deep", where=name) from None
            if not is_same:
                flaws = ("the file was changed after it was written: its digest does not fit",)
        elif "digest" in given:
            rest["digest"] = given["digest"]  # which an old format does not know
        try:
            found = cls._read(Entry(rest if isinstance(data, dict) else data, name))
        except ModelFileError:
            raise
        except LdpoptError as error:
            raise ModelFileError(error.what, where=name, do=error.do) from None
        if ABOUT in given:
            about = Entry(given[ABOUT], name, ABOUT).table("title", "notion", "epsilon", "delta", "digest", "made_by")
            require_digest(about["digest"].text(), found.law_digest, name)
        return replace(found, flaws=flaws)

    @classmethod
    @abstractmethod
    def _read(cls, entry: Entry) -> Self:
        """Read a file without its digest and what it says of itself."""

    def _wrong_claims(self, value: DesignValue, proved: Fraction, slack: Fraction = Fraction(0)) -> list[str]:
        """Name the numbers of the claim that do not hold, given those that were computed."""
        failures = []
        if max(proved, Fraction(0)) < self.bound:
            failures.append("the multipliers prove less than the bound claimed")
        if value.achieved > self.achieved * (1 + slack):
            failures.append("the estimator has a larger variance than claimed")
        if not value.is_unbiased:
            most = float(LARGEST_BIAS)
            failures.append(f"the estimator is biased by {float(value.bias):.3g}: more than {most:g} of a deviation")
        elif self.bias < 0 or value.bias_squared > self.bias**2:
            failures.append("the estimator has a larger bias than claimed")
        return failures


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DesignCertificate(DesignClaim):
    """A proof in rationals of how far a design is from the best.

    What `DesignClaim` has, and the following.

    Attributes
    ----------
    weights : ndarray, shape (n,)
        Weights of the answers; for the worst case those that are hardest.
    objective : {"average", "worst_case"}
        Whether ``achieved`` is the average or the largest mean squared error.
    mechanism : Mechanism
        The channel that is handed out.
    left_inverse : ndarray, shape (n, m)
        ``X``; the estimator is ``W X``. The first row is the float nearest to 1 minus the others.
    multipliers : Bound
        What proves the bound.
    bias : Fraction
        Upper bound of the bias of the estimator, for every answer: the norm over the numbers of the workload.
    """

    weights: Float
    objective: str
    mechanism: Mechanism
    left_inverse: Float
    multipliers: Bound
    is_old: bool = False
    """Whether it was read from a file of an old format."""

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

        An estimator whose bias is within rounding may be better than the bound by as little: the smaller number of the
        two is the bound that is claimed.

        Raises
        ------
        CertificateError
            If the left inverse is none: the estimator is biased.
        """
        statement = Statement.of(workload.matrix, weights, merged)
        inverse = with_first_row(left_inverse)
        value = value_of(statement, channel, inverse, objective)
        if not value.is_unbiased:
            raise CertificateError(f"the estimator is biased by {float(value.bias):.3g}", do="state another epsilon")
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
            bound=min(max(multipliers.below(statement), Fraction(0)), value.achieved),
            bias=value.bias,
        )

    @cached_property
    def audit(self) -> Audit:
        """Recompute the privacy of the mechanism, in exact arithmetic."""
        return self.mechanism.audit(self.privacy)

    @property
    def law_digest(self) -> str:
        """Digest of the mechanism."""
        return self.mechanism.digest

    @property
    def reports(self) -> str:
        """How many reports there are, in words."""
        return f"{len(self.mechanism.outputs):,} reports"

    def recheck(self) -> tuple[str, ...]:
        """Compute everything again from statement, masses, estimator and multipliers; say what does not hold.

        Returns
        -------
        tuple of str
            Failures; empty where the certificate holds.
        """
        failures = list(self.flaws)
        matrix, inputs = self.workload.matrix, self.workload.inputs
        if self.audit.verdict != "certified":
            failures.append(f"the mechanism is not private: epsilon {self.audit.epsilon:.9g} found")
        if not np.array_equal(self.left_inverse, with_first_row(self.left_inverse)):
            failures.append("the first row of the left inverse is not 1 minus the others")
        classes = Statement.of(matrix, self.weights, merged_by(self.privacy, matrix, inputs))
        answers = classes if len(classes.weights.whole) == len(inputs) else Statement.of(matrix, self.weights)
        try:
            value = value_of(answers, self.mechanism.channel, self.left_inverse, self.objective)
        except CertificateError as error:
            return (*failures, error.what)
        proved = self.bound
        if not self.multipliers.holds(classes, cone_of(self.privacy, inputs)):
            failures.append("a column of the cone costs more than the multipliers allow: they prove no bound")
        else:
            proved = self.multipliers.below(classes)
        claim = replace(self, bias=value.bias) if self.is_old else self
        return (*failures, *claim._wrong_claims(value, proved, OLD_SLACK if self.is_old else Fraction(0)))

    def stated(self) -> dict[str, Any]:
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
            "multipliers": {"kind": self.multipliers.kind, **self.multipliers.stated()},
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
            raise table["weights"].error("the weights are not >= 0 with a positive sum")
        privacy = read_notion(table["privacy"], inputs)
        privacy.check(inputs, ())
        mechanism = read_masses(table["masses"], inputs)
        merged = merged_by(privacy, workload.matrix, inputs)
        m, c = len(mechanism.outputs), len(merged.first)
        if is_old:
            left_inverse = np.zeros((n, m))
            left_inverse[merged.first] = _old_left_inverse(table["left_inverse"], c, m)
        else:
            left_inverse = table["left_inverse"].numbers(n, m)
        multipliers = table["multipliers"]
        kind = multipliers.part("kind").text(*BOUNDS)
        rest = {key: value for key, value in multipliers.value.items() if key != "kind"}
        what = "the file is of an old format: its labels and names are bound by no digest, its value up to rounding"
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
            notes=(what,) if is_old else (),
            is_old=is_old,
        )


def _old_left_inverse(entry: Entry, c: int, m: int) -> Float:
    """Left inverse of an old file, whose columns sum to 1 up to rounding, with the first row that is used."""
    given = entry.numbers(c, m)
    found = with_first_row(given)
    if (np.abs(found[0] - given[0]) > OLD_ROW * (1 + np.abs(given).max(axis=0))).any():
        raise entry.error("the columns of the left inverse do not sum to 1")
    return found


def _renewed(entry: Entry) -> Entry:
    """A file of an old format in the keys of this one."""
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
