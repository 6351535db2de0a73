"""Certificate of subset selection for the frequencies of many answers with equal weights: reports
are not listed.

The size ``k`` of the sets and the mass of those that contain the truth describe the randomizer.
Each frequency is estimated by ``(count / N - q) / (p - q)``; the bound is that of a product
alphabet with one attribute.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ldpopt.certificate.design_bound import read_bound
from ldpopt.certificate.design_bound_product import ProductBound, Spectrum
from ldpopt.certificate.design_claim import UnlistedClaim, read_pure
from ldpopt.certificate.design_statement import least_ratio
from ldpopt.certificate.scheme import Scheme
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.documents import Entry, plain_labels
from ldpopt.mechanism.channels import digest
from ldpopt.privacy import PureLDP
from ldpopt.problem.workload import Workload

TOTAL = 1 << 53  # sum of the masses


@dataclass(frozen=True)
class SubsetRandomizer:
    """A random set of ``size`` of ``n`` answers, which contains the truth with probability ``mass /
    2**53``.

    It is subset selection. With probability ``p`` the set is one of the ``C(n - 1, size - 1)`` sets
    with the truth, else one of the ``C(n - 1, size)`` without, each equally likely. The mass is an
    integer, so that probabilities, odds and variance are rationals, and the claim is about exactly
    this randomizer.
    """

    n: int
    size: int
    mass: int

    @classmethod
    def of(cls, n: int, size: int, epsilon: Budget) -> "SubsetRandomizer":
        """Sets of some size in which the true answer has the largest mass that the budget
        allows.

        ``p = size r / (size r + n - size)``, rounded down to ``2**-53``, for a ratio ``r`` that is
        at most ``e**epsilon``: the odds never exceed the budget.
        """
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
        """Largest ratio of the probabilities of a set under two answers, either way round."""
        ratio = self.p * (self.n - self.size) / ((1 - self.p) * self.size)
        return max(ratio, 1 / ratio)

    def delta(self, ratio: Fraction) -> Fraction:
        """Hockey-stick divergence of two answers, before it is clipped at 0."""
        # There are C(n-2, k-1) sets with x and without x', of C(n-1, k-1) with x and of C(n-1, k)
        # without x'.
        share = Fraction(1, self.n - 1)
        with_first = self.p * (self.n - self.size) * share
        with_second = (1 - self.p) * self.size * share
        return max(with_first - ratio * with_second, with_second - ratio * with_first)

    @property
    def total_variance(self) -> Fraction:
        """Variance of one respondent's values, summed over all frequencies: the same for every
        answer.

        A respondent's value of the frequency of an answer is ``(1 - q) / (p - q)`` if the set has
        the answer, and ``-q / (p - q)`` otherwise: without bias for every truth.
        """
        p, q = self.p, self.q
        return self.n * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)

    def witness(self, inputs: Sequence[Hashable]) -> tuple[Any, Any, Any]:
        """Two answers and a set with these odds."""
        return (
            inputs[0],
            inputs[1],
            (inputs[0], *(inputs[place] for place in range(2, self.size + 1))),
        )

    def digest(self, inputs: Sequence[Hashable]) -> str:
        """Digest that counts of its reports have too."""
        return digest("SubsetSelection", (inputs,), (self.p, self.q, self.odds))


def best_size(n: int, epsilon: Budget) -> int:
    """Size of the sets with the most information.

    A set of ``k`` answers has the information ``k (n - k) / (b n + (1 - b) k)^2`` up to a factor,
    with ``b = e**-epsilon``; it rises and then falls, so that its best size is one of the two
    integers around the best real number.
    """
    base = 1 / epsilon.enclosure()[1]
    least = int(n * base / (1 + base))

    def information(k: int) -> Fraction:
        """That of sets of ``k`` answers, up to a factor; see above."""
        return Fraction(k * (n - k)) / (base * n + (1 - base) * k) ** 2

    return max({min(n - 1, max(1, k)) for k in (least, least + 1)}, key=information)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FrequencyCertificate(UnlistedClaim):
    """A claim about subset selection for the frequencies of answers with equal weights; see
    `DesignClaim`.
    """

    randomizer: SubsetRandomizer
    multipliers: ProductBound

    STATEMENT = ("inputs", "unit", "size", "mass")

    @classmethod
    def of(cls, workload: Workload, privacy: PureLDP) -> "FrequencyCertificate":
        """The best sets, with their value and the bound."""
        n = workload.shape[1]
        drawn = SubsetRandomizer.of(n, best_size(n, privacy.epsilon), privacy.epsilon)
        bound = ProductBound.best(_spectrum(workload), least_ratio(privacy.epsilon))
        return cls.proved(workload=workload, privacy=privacy, randomizer=drawn, multipliers=bound)

    @property
    def size(self) -> int:
        """Number of answers in a report."""
        return self.randomizer.size

    @property
    def digest(self) -> str:
        """Digest of the randomizer."""
        return self.randomizer.digest(self.workload.inputs)

    @property
    def reports(self) -> str:
        """Size of the reports, in words."""
        return f"sets of {self.size:,} answers"

    def _measured(self) -> tuple[Spectrum, Fraction, Fraction]:
        square = Fraction(self.workload.unit or 1) ** 2
        drawn = self.randomizer
        return (
            _spectrum(self.workload),
            square * drawn.total_variance,
            square * (1 - Fraction(1, drawn.n)),
        )

    def plain(self) -> dict[str, Any]:
        """Unit of the frequencies and randomizer as JSON data."""
        inputs = plain_labels(self.workload.inputs)
        drawn = self.randomizer
        return {
            "inputs": inputs,
            "unit": self.workload.unit,
            "size": drawn.size,
            "mass": drawn.mass,
        }

    @classmethod
    def _read(cls, table: dict[str, Entry]) -> dict[str, Any]:
        table["objective"].text("average")
        workload = table["unit"].number() * Workload.frequencies(table["inputs"].labels())
        n = workload.shape[1]
        size = table["size"].whole(workload.shape[1])
        mass = table["mass"].whole(TOTAL)
        if not size:
            raise table["size"].error(
                "sets of 0 answers say nothing: a report names at least one answer"
            )
        drawn = SubsetRandomizer(n, size, mass)
        if not drawn.p > drawn.q:
            flaw = f"do not depend on the answer: p = {float(drawn.p):.6g} <= q"
            raise table["size"].error(f"sets of {size} answers with the mass {mass} {flaw}")
        privacy = read_pure(table["privacy"], workload.inputs)
        multipliers = read_bound(table["multipliers"], n, ProductBound)
        return {
            "workload": workload,
            "privacy": privacy,
            "randomizer": drawn,
            "multipliers": multipliers,
        }


def _spectrum(workload: Workload) -> Spectrum:
    """Spectrum of frequencies: every contrast has the eigenvalue ``unit**2``."""
    return Spectrum(
        Scheme((workload.shape[1],)), (Fraction(0), Fraction(workload.unit or 1) ** 2), Fraction(0)
    )
