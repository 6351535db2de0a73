"""The common part of certificates of designs: the claim, its file with a digest, the comparison of
the numbers.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from ldpopt.auditing.audits import Audit, audit_by_odds
from ldpopt.certificate.design_bound import Bound
from ldpopt.certificate.design_statement import LARGEST_BIAS, DesignValue, least_ratio
from ldpopt.certificate.documents import digest_of, flaws_of, open_document, text_of
from ldpopt.errors import CertificateError, LdpoptError, ModelFileError
from ldpopt.foundation.budget import Budget, round_down, round_up
from ldpopt.foundation.display import Facts, HasFacts, Part, Table, privacy_text
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.files import FilePath, replacing
from ldpopt.foundation.labels import Names
from ldpopt.foundation.numbers import require_kind, require_text
from ldpopt.mechanism.files import (
    flaws_of_origin,
    origin_of_mechanism,
    read_about,
    require_digest,
)
from ldpopt.privacy import PureLDP
from ldpopt.privacy.notion import has_epsilon, to_table
from ldpopt.problem.plain import read_notion
from ldpopt.problem.workload import Workload

FORMAT = "ldpopt design certificate 3"

NUMBERS = ("achieved", "bound", "bias")  # of the claim
# Key of the part of a file that proves nothing: title, notion, epsilon, delta, digest, and what
# wrote the file
ABOUT = "about"
LARGEST_FILE = 2**31  # largest file that is read, in bytes


@dataclass(frozen=True, eq=False, kw_only=True)
class DesignClaim(HasFacts, ABC):
    """The common part of certificates of designs.

    A claim has a statement (workload, notion, objective), a mechanism with its estimator,
    multipliers, and three numbers: the estimator's mean squared error is at most ``achieved``, the
    norm of its bias at most ``bias``, and no private channel with any number of reports has an
    unbiased estimator of a smaller error than ``bound``. Nothing is believed that `recheck` does
    not compute again; ``flaws`` are those of the file from which the claim was read. A subclass
    says what its mechanism is and how its error is computed: `plain` and `_read` are its part of
    the file, `_wrong_numbers` its part of the check.
    """

    workload: Workload
    privacy: Any
    achieved: Fraction
    bound: Fraction
    multipliers: Bound
    flaws: tuple[str, ...] = ()
    about: Mapping[str, Any] | None = None  # what the file says of the mechanism once more

    exact: ClassVar[bool] = True
    STATEMENT: ClassVar[tuple[str, ...]]  # keys of the file that not all certificates have
    objective: str = "average"
    bias: Fraction = Fraction(0)

    def __repr__(self) -> str:
        numbers = f"bound {round_down(self.bound):.9g}, relative gap {self.relative_gap:.2g}"
        return (
            f"{type(self).__name__}({self.objective} variance "
            f"{round_up(self.achieved):.9g}, {numbers})"
        )

    def facts(self) -> Facts:
        """Value, bound, gap and bias, and the audit."""
        k, n = self.workload.shape
        numbers = {
            "achieved": float(self.achieved),
            "bound": float(self.bound),
            "relative_gap": self.relative_gap,
        }
        rows = list((numbers | {"bias": float(self.bias)}).items())
        parts: list[Part] = [
            Table(["", f"{self.objective.replace('_', '-')} variance"], rows, digits=15)
        ]
        parts += self.within
        parts.append(("audit", self.audit.numbers_text(12)))
        return Facts(
            f"{k:,} numbers of {n:,} answers, {self.reports}, {privacy_text(self.privacy)}", parts
        )

    @property
    def within(self) -> list[tuple[str, str]]:
        """Of which designs the bound is, if not of all, and what else is claimed, in words."""
        return []

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
        """Exact audit of the mechanism."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """Digest of the mechanism."""

    @property
    @abstractmethod
    def reports(self) -> str:
        """Number of reports, in words."""

    @abstractmethod
    def plain(self) -> dict[str, Any]:
        """Statement and mechanism as JSON data, each exactly, but for what all certificates
        have.
        """

    def to_dict(self, about: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """JSON data with digest, and ``about``, which proves nothing; `CertificateError` if a label
        has no text.
        """
        privacy = to_table(self.privacy, self.workload.inputs)
        data = {"format": FORMAT, "privacy": privacy, "objective": self.objective, **self.plain()}
        data["multipliers"] = {"kind": self.multipliers.kind, **self.multipliers.plain()}
        data |= {key: str(getattr(self, key)) for key in NUMBERS}
        if about is not None:
            require_kind(about, Mapping, "about=", "pass a mapping with texts for keys")
            data[ABOUT] = dict(about)
        return {**data, "digest": digest_of(data)}

    def save(self, path: FilePath, *, title: str = "") -> None:
        """Write statement, mechanism, multipliers and claim as JSON, each exactly; atomic.

        The file also has the title, the notion, the audited epsilon, the digest of the mechanism
        and the version; and a digest of everything in the file. `CertificateError` if a label is
        neither text nor a number, `ModelFileError` if the file cannot be written.
        """
        data = self.to_dict(origin_of_mechanism(self.digest, title, self.audit))
        with replacing(path) as stream:
            stream.writelines(text_of(data))

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Read what `save` wrote, unchecked before `recheck`; `ModelFileError` if the file is no
        such certificate.
        """
        entry = open_document(path, LARGEST_FILE)
        return cls.from_dict(entry.value, entry.path)

    @classmethod
    def from_dict(cls, data: Any, name: str) -> Self:
        """Read what `to_dict` returned; ``name`` is the file in error messages."""
        require_text(name, "name")
        document = Entry(data, name)
        document.part("format").text(FORMAT)
        flaws = flaws_of(document)
        stated = Entry(
            {key: value for key, value in data.items() if key not in (ABOUT, "format", "digest")},
            name,
        )
        table = stated.table(*cls.STATEMENT, "privacy", "objective", "multipliers", *NUMBERS)
        claim: dict[str, Any] = {key: table[key].rational() for key in NUMBERS}
        if ABOUT in data:
            claim["about"] = read_about(Entry(data[ABOUT], name, ABOUT))
        try:
            certificate = cls(**cls._read(table), **claim, flaws=flaws)
        except ModelFileError:
            raise
        except LdpoptError as error:
            raise error.restated(ModelFileError, where=name) from None
        if certificate.about is not None:
            require_digest(certificate.about["digest"], certificate.digest, name)
        return certificate

    @classmethod
    @abstractmethod
    def _read(cls, table: dict[str, Entry]) -> dict[str, Any]:
        """Read the parts of a file but for the numbers of its claim: the arguments of the class."""

    def recheck(self) -> tuple[str, ...]:
        """Compute every number again from the file's statement; return the failures, none if the
        certificate holds.

        Privacy is audited exactly, then value, bias and bound are computed from the
        statement. A claim that is weaker than what is proved holds: a larger error, a larger bias
        or a smaller bound. What the file says of the mechanism once more, its notion and the
        smallest epsilon, is compared.
        """
        is_private = self.audit.verdict == "certified"
        flaws = (
            ()
            if is_private
            else (f"the mechanism is not private: epsilon {self.audit.epsilon:.9g} found",)
        )
        audit_at = self._audit_at if has_epsilon(self.privacy) else None
        twice = self.about and flaws_of_origin(self.about, self.audit, audit_at)
        return (*self.flaws, *flaws, *(twice or ()), *self._wrong_numbers())

    @abstractmethod
    def _audit_at(self, epsilon: Budget) -> Audit:
        """Exact audit of the mechanism for the same notion at another budget."""

    @abstractmethod
    def _wrong_numbers(self) -> list[str]:
        """Compute value and bound again; return what does not hold."""

    def _wrong_claims(self, value: DesignValue, proved: Fraction | None) -> list[str]:
        """The numbers of the claim that do not hold, given the computed ones; the bound is None if
        none is proved.

        Each comparison goes one way, because the claim may be weaker: ``achieved >= value``,
        ``bound <= max(proved, 0)``, ``bias**2 >= bias_squared``. A bias of more than a billionth of
        a deviation is refused even if it is claimed.
        """
        failures = []
        if proved is None:
            failures.append(
                "a column of the cone costs more than the multipliers allow: they prove no bound"
            )
        elif max(proved, Fraction(0)) < self.bound:
            failures.append(
                f"the multipliers prove less than the bound claimed: {_two(proved, self.bound)}"
            )
        if value.achieved > self.achieved:
            failures.append(
                "the estimator has a larger variance than claimed: "
                f"{_two(value.achieved, self.achieved)}"
            )
        if not value.is_unbiased:
            most = float(LARGEST_BIAS)
            failures.append(
                f"the estimator is biased by {float(value.bias):.3g}: more than {most:g} of "
                "a deviation"
            )
        elif self.bias < 0 or value.bias_squared > self.bias**2:
            failures.append(
                f"the estimator has a larger bias than claimed: {_two(value.bias, self.bias)}"
            )
        return failures


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class UnlistedClaim(DesignClaim):
    """A claim about random sets, which are not listed, for answers with equal weights; see
    `DesignClaim`.

    Reports are random sets, too many to be listed. Symmetry makes a list unnecessary: the odds of a
    set decide about privacy, and the error is the same for every answer, so that its average is its
    worst case too.
    """

    privacy: PureLDP
    randomizer: Any  # distribution of the reports
    multipliers: Any  # a bound for the spectrum of the workload

    @classmethod
    def proved(cls, **parts: Any) -> Self:
        """The value of a randomizer and the bound of multipliers, rechecked; an error if they do
        not hold.
        """
        claim = cls(**parts, achieved=Fraction(0), bound=Fraction(0))
        spectrum, value, spread = claim._measured()
        bound = claim.multipliers.value_of(spectrum) - spread
        certificate = replace(claim, achieved=value, bound=min(max(bound, Fraction(0)), value))
        if failures := certificate.recheck():
            raise CertificateError(
                failures[0], do="report this as a defect of ldpopt, with the problem"
            )
        return certificate

    @abstractmethod
    def _measured(self) -> tuple[Any, Fraction, Fraction]:
        """Spectrum of the workload, variance of the estimator, which has no bias, and spread of the
        true values.
        """

    @cached_property
    def audit(self) -> Audit:
        """Exact audit of the randomizer."""
        return self._audit_at(self.privacy.epsilon)

    def _audit_at(self, epsilon: Budget) -> Audit:
        drawn = self.randomizer
        return audit_by_odds(drawn.odds, epsilon, drawn.delta, drawn.witness(self.workload.inputs))

    def _wrong_numbers(self) -> list[str]:
        spectrum, value, spread = self._measured()
        is_proved = self.multipliers.is_proved_by(spectrum, least_ratio(self.privacy.epsilon))
        bound = self.multipliers.value_of(spectrum) - spread if is_proved else None
        return self._wrong_claims(DesignValue(value, Fraction(0), spread), bound)


def read_pure(entry: Entry, inputs: Names) -> PureLDP:
    """Read the notion of random sets, which is pure privacy."""
    privacy = read_notion(entry, inputs)
    if not isinstance(privacy, PureLDP):
        raise entry.error(
            f"these sets are certified for pure privacy, not for {type(privacy).__name__}"
        )
    return privacy


def _two(computed: Fraction, claimed: Fraction) -> str:
    """A computed number and the claimed one, which may differ beyond the digits of floats."""
    return f"{round_up(computed):.17g}, not {round_up(claimed):.17g}"
