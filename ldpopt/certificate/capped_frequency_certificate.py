r"""Certificate of a capped design for the frequencies of many answers: reports are not listed.

A report is a set. Its size is drawn first, by masses that do not depend on the answer. A set of
size ``k`` has the value ``a_k`` in the frequency of each of its answers, and ``b_k`` in that of
every other one. With the probabilities ``p_k`` and ``q_k`` that it has the truth, and another given
answer, the estimate is unbiased if

.. math:: \sum_k \pi_k \big( p_k a_k + (1 - p_k) b_k \big) = 1, \qquad
          \sum_k \pi_k \big( q_k a_k + (1 - q_k) b_k \big) = 0 .

Values are floats that are read exactly, which leaves a bias of rounding: it is computed in
rationals, and refused above a billionth of a deviation, as that of every listed design. Error and
influence are those of these floats. The bound is that of `design_bound_sizes`, for all private
mechanisms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ldpopt.certificate.capped_certificate import caps_in_words
from ldpopt.certificate.design_bound import NoBound, read_bound
from ldpopt.certificate.design_bound_sizes import SizesBound, SizesStatement
from ldpopt.certificate.design_claim import UnlistedClaim, read_pure
from ldpopt.certificate.design_statement import DesignValue, least_ratio
from ldpopt.certificate.frequency_certificate import TOTAL
from ldpopt.certificate.sizes_randomizer import SizesRandomizer
from ldpopt.errors import CertificateError
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.documents import Entry, plain_labels
from ldpopt.foundation.numbers import Float, frozen
from ldpopt.privacy import PureLDP
from ldpopt.problem.workload import Workload

KEYS = ("size", "mass", "held", "inside", "outside")  # of a size in a file


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CappedFrequencyCertificate(UnlistedClaim):
    """A claim about random sets for the frequencies of many answers, whose influence has a cap; see
    `DesignClaim`.

    Attributes
    ----------
    cap : float
        Largest influence of a report on each number, in its unit.
    randomizer : SizesRandomizer
        Sizes of the sets, and their masses.
    values : ndarray, shape (s, 2)
        For each size the value of a set in the number of an answer in it, and out of it.
    multipliers : SizesBound or NoBound
        Those of the bound.
    """

    cap: float
    randomizer: SizesRandomizer
    values: Float

    STATEMENT: ClassVar[tuple[str, ...]] = ("inputs", "unit", "cap", "sizes")

    @classmethod
    def of(
        cls,
        workload: Workload,
        privacy: PureLDP,
        cap: float,
        randomizer: SizesRandomizer,
        values: Float,
        multipliers: Any,
    ) -> CappedFrequencyCertificate:
        """Value and bound of a mechanism and its values.

        Raises
        ------
        CertificateError
            If the values are biased, the influence is above the cap, or the odds above the budget.
        """
        parts: Any = {"workload": workload, "privacy": privacy, "multipliers": multipliers}
        parts |= {"cap": cap, "randomizer": randomizer, "values": frozen(np.array(values))}
        claim = cls(**parts, achieved=Fraction(0), bound=Fraction(0))
        value = claim._value
        proved = multipliers.value(claim._statement())
        bound = min(max(proved, Fraction(0)), value.achieved)
        made = replace(claim, achieved=value.achieved, bound=bound, bias=value.bias)
        if failures := made.recheck():
            raise CertificateError(failures[0], do="choose a larger cap")
        return made

    @property
    def unit(self) -> Fraction:
        """The unit of the frequencies, exactly."""
        return Fraction(self.workload.unit or 1.0)

    @property
    def reports(self) -> str:
        """Sizes of the reports, in words."""
        *others, last = (f"{size:,}" for size in self.randomizer.sizes)
        return f"sets of {' or '.join([', '.join(others), last] if others else [last])} answers"

    @property
    def digest(self) -> str:
        """Digest of the randomizer."""
        return self.randomizer.digest(self.workload.inputs)

    def _statement(self, cap: Fraction | None = None) -> SizesStatement:
        """The statement of the bound, of the cap of the claim or another one."""
        exact = Fraction(self.cap) if cap is None else cap
        return SizesStatement(self.workload.shape[1], self.unit, exact)

    def _measured(self) -> tuple[Any, Fraction, Fraction]:
        value = self._value
        return self._statement(), value.achieved, value.spread

    @cached_property
    def _value(self) -> DesignValue:
        """Mean squared error and bias, the same for every answer, in rationals."""
        n = self.workload.shape[1]
        unit = self.unit
        truth = others = error = Fraction(0)
        drawn = zip(self.randomizer.shares, self.randomizer.sets, self.values.tolist(), strict=True)
        for share, sets, pair in drawn:
            a, b = map(Fraction, pair)
            p = sets.p
            q = sets.q
            truth += share * (p * a + (1 - p) * b)
            others += share * (q * a + (1 - q) * b)
            error += share * (p * (a - unit) ** 2 + (1 - p) * (b - unit) ** 2)
            error += share * (n - 1) * (q * a**2 + (1 - q) * b**2)
        bias = (truth - unit) ** 2 + (n - 1) * others**2
        return DesignValue(error, bias, unit**2 * (1 - Fraction(1, n)))

    @cached_property
    def influence(self) -> Fraction:
        """The influence of a report on each number, exactly."""
        return max(self.ends)

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """By how much a report raises and lowers a number at most, exactly."""
        low, high = sorted((Fraction(0), self.unit))
        return (
            Fraction(float(self.values.max())) - low,
            high - Fraction(float(self.values.min())),
        )

    @property
    def within(self) -> list[tuple[str, str]]:
        """The cap, and the influence that is reached."""
        return [("influence at most", caps_in_words(np.array([self.cap]), self.influence))]

    def _above(self) -> list[str]:
        """That the influence is above its cap."""
        if self.influence <= Fraction(self.cap):
            return []
        return [
            f"the influence of a report is {round_up(self.influence):.17g}, above the cap "
            f"{self.cap:.17g}"
        ]

    def _wrong_numbers(self) -> list[str]:
        """What does not hold: the sum of the masses, the cap, the value, the bias or the bound."""
        total = sum(self.randomizer.masses)
        if total != TOTAL:
            return [f"the masses of the sizes sum to {total}, not to {TOTAL}"]
        statement: Any = self._statement()
        holds = self.multipliers.holds(statement, least_ratio(self.privacy.epsilon))
        proved = self.multipliers.value(statement) if holds else None
        return self._above() + self._wrong_claims(self._value, proved)

    def plain(self) -> dict[str, Any]:
        """Unit, cap, sizes, masses and values as JSON data."""
        drawn = self.randomizer
        rows = zip(drawn.sets, drawn.masses, self.values.tolist(), strict=True)
        sizes = [
            dict(zip(KEYS, (sets.size, mass, sets.mass, *pair), strict=True))
            for sets, mass, pair in rows
        ]
        inputs = plain_labels(self.workload.inputs)
        return {"inputs": inputs, "unit": self.workload.unit, "cap": self.cap, "sizes": sizes}

    @classmethod
    def _read(cls, table: dict[str, Entry]) -> dict[str, Any]:
        table["objective"].text("average")
        unit = table["unit"].number()
        if not unit:
            raise table["unit"].error("frequencies times 0 need no report")
        workload = unit * Workload.frequencies(table["inputs"].labels())
        n = workload.shape[1]
        entries = [entry.table(*KEYS) for entry in table["sizes"].list()]
        if not entries:
            raise table["sizes"].error("there is no size of sets")
        pairs = [(each["inside"].number(), each["outside"].number()) for each in entries]
        return {
            "workload": workload,
            "privacy": read_pure(table["privacy"], workload.inputs),
            "cap": table["cap"].number(),
            "randomizer": SizesRandomizer.read(entries, n),
            "values": frozen(np.array(pairs)),
            "multipliers": read_bound(table["multipliers"], n, SizesBound, NoBound),
        }
