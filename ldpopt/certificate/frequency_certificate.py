r"""Certificate of subset selection for the frequencies of many answers, weighted alike: its reports are not listed.

The law is two integers: the size ``k`` of the sets, and the mass of those that contain the truth. Each frequency is
estimated by ``(count / N - q) / (p - q)`` with the exact support probabilities, without bias. The bound is that of a
product alphabet with one attribute. The largest information is at one of the two sizes next to ``n / (e^epsilon + 1)``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ldpopt.auditing.audits import Audit, audit_by_odds
from ldpopt.certificate.design_bound import least_ratio
from ldpopt.certificate.design_bound_product import ProductBound, Spectrum
from ldpopt.certificate.design_certificate import FORMAT, DesignClaim
from ldpopt.certificate.design_value import DesignValue
from ldpopt.certificate.scheme import Scheme
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.documents import Entry, plain_labels
from ldpopt.mechanism.channels import digest
from ldpopt.privacy import PureLDP
from ldpopt.privacy.notion import to_table
from ldpopt.problem.plain import read_notion
from ldpopt.problem.workload import Workload

OLD_FORMAT = "ldpopt frequency design 1"
"""It is read; value and bound follow from its statement, and it binds no labels."""

TOTAL = 1 << 53
"""Sum of the masses."""


@dataclass(frozen=True)
class SubsetLaw:
    """Law of a random set of ``size`` of ``n`` answers, which contains the truth with probability ``mass / 2**53``."""

    n: int
    size: int
    mass: int

    @classmethod
    def of(cls, n: int, size: int, epsilon: Budget) -> SubsetLaw:
        """The law with the largest mass that keeps the budget."""
        ratio = epsilon.enclosure()[0]
        return cls(n, size, int(TOTAL * size * ratio / (size * ratio + n - size)))

    @property
    def p(self) -> Fraction:
        """Probability that the set contains the truth."""
        return Fraction(self.mass, TOTAL)

    @property
    def q(self) -> Fraction:
        """Probability that the set contains another given answer."""
        return (self.p * (self.size - 1) + (1 - self.p) * self.size) / (self.n - 1)

    @property
    def odds(self) -> Fraction:
        """Largest ratio of the probabilities of a set under two answers."""
        return self.p * (self.n - self.size) / ((1 - self.p) * self.size)

    def delta(self, ratio: Fraction) -> Fraction:
        """Hockey-stick divergence of two answers, before it is clipped at 0."""
        # There are C(n-2, k-1) sets with x and without x', of C(n-1, k-1) with x and of C(n-1, k) without x'.
        share = Fraction(1, self.n - 1)
        return self.p * (self.n - self.size) * share - ratio * (1 - self.p) * self.size * share

    @property
    def total_variance(self) -> Fraction:
        """Variance of one respondent's values, summed over all frequencies: the same for every answer."""
        p, q = self.p, self.q
        return self.n * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)

    def witness(self, inputs: Sequence[Hashable]) -> tuple[Any, Any, Any]:
        """Two answers and a set that attain the odds."""
        return inputs[0], inputs[1], (inputs[0], *(inputs[place] for place in range(2, self.size + 1)))

    def digest(self, inputs: Sequence[Hashable]) -> str:
        """What counts of its reports are checked against."""
        return digest("SubsetSelection", (inputs,), (self.p, self.q, self.odds))


def best_size(n: int, epsilon: Budget) -> int:
    """Size of the sets that have the most information."""
    base = 1 / epsilon.enclosure()[1]
    least = int(n * base / (1 + base))

    def information(k: int) -> Fraction:
        return Fraction(k * (n - k)) / (base * n + (1 - base) * k) ** 2

    return max({min(n - 1, max(1, k)) for k in (least, least + 1)}, key=information)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FrequencyCertificate(DesignClaim):
    """A claim about subset selection for the frequencies of answers, weighted alike.

    What `DesignClaim` has, and the following.

    Attributes
    ----------
    law : SubsetLaw
        What is drawn.
    multipliers : ProductBound
        What proves the bound.
    """

    privacy: PureLDP
    law: SubsetLaw
    multipliers: ProductBound

    @classmethod
    def of(cls, workload: Workload, privacy: PureLDP) -> FrequencyCertificate:
        """The best sets, with their value and the bound."""
        n = workload.shape[1]
        law = SubsetLaw.of(n, best_size(n, privacy.epsilon), privacy.epsilon)
        multipliers = ProductBound.best(_spectrum(workload), least_ratio(privacy.epsilon))
        return cls._proved(workload, privacy, law, multipliers)

    @classmethod
    def _proved(
        cls, workload: Workload, privacy: PureLDP, law: SubsetLaw, multipliers: ProductBound
    ) -> FrequencyCertificate:
        value, bound = _value(workload, law).achieved, multipliers.below_of(_spectrum(workload)) - _spread(workload)
        return cls(
            workload=workload,
            privacy=privacy,
            law=law,
            multipliers=multipliers,
            achieved=value,
            bound=min(max(bound, Fraction(0)), value),
        )

    @property
    def size(self) -> int:
        """Answers in a report."""
        return self.law.size

    @cached_property
    def audit(self) -> Audit:
        """The exact privacy of what is drawn."""
        law, inputs = self.law, self.workload.inputs
        return audit_by_odds(law.odds, self.privacy.epsilon, law.delta, law.witness(inputs))

    @property
    def law_digest(self) -> str:
        """Digest of the protocol."""
        return self.law.digest(self.workload.inputs)

    @property
    def reports(self) -> str:
        """How many reports there are, in words."""
        return f"sets of {self.size:,} answers"

    def recheck(self) -> tuple[str, ...]:
        """Compute everything again from statement, law and multipliers; say what does not hold."""
        failures, spectrum = list(self.flaws), _spectrum(self.workload)
        if self.audit.verdict != "certified":
            failures.append(f"the mechanism is not private: epsilon {self.audit.epsilon:.9g} found")
        proved = self.bound
        if self.multipliers.sizes != (self.law.n,) or not self.multipliers.is_proved_by(
            spectrum, least_ratio(self.privacy.epsilon)
        ):
            failures.append("a column of the cone costs more than the multipliers allow: they prove no bound")
        else:
            proved = self.multipliers.below_of(spectrum) - _spread(self.workload)
        return (*failures, *self._wrong_claims(_value(self.workload, self.law), proved))

    def stated(self) -> dict[str, Any]:
        """Statement, law and multipliers as JSON data."""
        return {
            "inputs": plain_labels(self.workload.inputs),
            "unit": self.workload.unit,
            "privacy": to_table(self.privacy, self.workload.inputs),
            "objective": self.objective,
            "size": self.law.size,
            "mass": self.law.mass,
            "multipliers": {"kind": self.multipliers.kind, **self.multipliers.stated()},
        }

    @classmethod
    def _read(cls, entry: Entry) -> FrequencyCertificate:
        if isinstance(entry.value, dict) and entry.value.get("format") == OLD_FORMAT:
            return cls._read_old(entry)
        table = entry.table(
            *("format", "inputs", "unit", "privacy", "objective", "size", "mass", "multipliers"),
            *("achieved", "bound", "bias"),
        )
        table["format"].text(FORMAT)
        table["objective"].text("average")
        workload = _workload(table)
        n = workload.shape[1]
        privacy = read_notion(table["privacy"], workload.inputs)
        if not isinstance(privacy, PureLDP):
            raise table["privacy"].error("subset selection is for pure privacy")
        law = _law(table, n, table["mass"].whole(TOTAL))
        table["multipliers"].part("kind").text(ProductBound.kind)
        rest = {key: value for key, value in table["multipliers"].value.items() if key != "kind"}
        return cls(
            workload=workload,
            privacy=privacy,
            law=law,
            multipliers=ProductBound.read(Entry(rest, entry.path, "multipliers"), n),
            achieved=table["achieved"].rational(),
            bound=table["bound"].rational(),
            bias=table["bias"].rational(),
        )

    @classmethod
    def _read_old(cls, entry: Entry) -> FrequencyCertificate:
        """Of the old format: the law is that of the budget; its bound is replaced by the one that is proved here."""
        table = entry.table("format", "inputs", "unit", "epsilon", "size", "achieved", "bound")
        workload, privacy = _workload(table), PureLDP(table["epsilon"].text())
        n, size = workload.shape[1], table["size"].whole(workload.shape[1])
        law = _law(table, n, SubsetLaw.of(n, max(1, size), privacy.epsilon).mass)
        found = cls._proved(
            workload, privacy, law, ProductBound.best(_spectrum(workload), least_ratio(privacy.epsilon))
        )
        achieved, bound = table["achieved"].rational(), table["bound"].rational()
        # Both bounds are the same up to rounding; a claim of more is kept, and does not hold.
        close = found.bound < bound <= found.bound * (1 + Fraction(1, 10**12))
        note = "the file is of an old format: its labels are bound by no digest, its bound up to rounding"
        return cls(
            workload=workload,
            privacy=privacy,
            law=law,
            multipliers=found.multipliers,
            achieved=achieved,
            bound=found.bound if close else bound,
            notes=(note,),
        )


def _workload(table: dict[str, Entry]) -> Workload:
    """Frequencies times the unit of a file."""
    return table["unit"].number() * Workload.frequencies(table["inputs"].labels())


def _law(table: dict[str, Entry], n: int, mass: int) -> SubsetLaw:
    """Law of a file, which has to depend on the answer."""
    size = table["size"].whole(n)
    if not size:
        raise table["size"].error("a report names at least one answer")
    law = SubsetLaw(n, size, mass)
    if not law.p > law.q:
        raise table["size"].error("the sets do not depend on the answer")
    return law


def _spectrum(workload: Workload) -> Spectrum:
    """All contrasts of frequencies have the square of their unit."""
    unit = Fraction(workload.unit or 1)
    return Spectrum(Scheme((workload.shape[1],)), (Fraction(0), unit**2), Fraction(0))


def _spread(workload: Workload) -> Fraction:
    """Variance of the true values among people who give all answers alike."""
    return Fraction(workload.unit or 1) ** 2 * (1 - Fraction(1, workload.shape[1]))


def _value(workload: Workload, law: SubsetLaw) -> DesignValue:
    """Value of the affine estimator, which has no bias."""
    return DesignValue(Fraction(workload.unit or 1) ** 2 * law.total_variance, Fraction(0), _spread(workload))
