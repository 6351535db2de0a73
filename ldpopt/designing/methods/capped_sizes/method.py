"""Capped designs for frequencies with equal weights: sets of a few sizes, each with two values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.certificate.capped_frequency_certificate import CappedFrequencyCertificate
from ldpopt.certificate.design_bound import NoBound
from ldpopt.certificate.design_bound_sizes import SizesBound, SizesStatement, least_line
from ldpopt.certificate.design_statement import least_ratio
from ldpopt.certificate.frequency_certificate import TOTAL, SubsetRandomizer
from ldpopt.certificate.sizes_randomizer import SizesRandomizer
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.capped.method import outside
from ldpopt.designing.methods.capped.values import clipped
from ldpopt.designing.methods.capped_sizes.search import Sizes, SizesOptimum
from ldpopt.designing.methods.method import DesignLimits, DesignMethod, DesignTask
from ldpopt.errors import CertificateError, LdpoptError
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.numbers import Float, short_repr
from ldpopt.privacy import PureLDP
from ldpopt.problem.workload import Workload

FINE = 1e-3  # share of the required gap that the search is to reach
NEAR = 1e-9  # by which part a cap may be below the least one that was found
RAISED = 1e-11  # by which part the least influence is raised, so that designs have it
ROOM = 4.0  # by which part a bound is to exceed the largest error of a cap


@dataclass(frozen=True, eq=False)
class SizesTask:
    """Frequencies with equal weights, in some unit, and a budget."""

    workload: Workload
    epsilon: Any

    @classmethod
    def of(cls, form: DesignForm) -> SizesTask:
        """The task of a form of plain frequencies."""
        return cls(form.problem.workload, form.epsilon)

    @property
    def unit(self) -> float:
        """The unit of the frequencies."""
        return float(self.workload.unit or 1.0)

    @cached_property
    def sizes(self) -> Sizes:
        """The sets of all sizes."""
        return Sizes(self.workload.shape[1], self.epsilon)

    @property
    def least(self) -> float:
        """The least influence, in the unit of the numbers."""
        return abs(self.unit) * (0.5 + self.sizes.least.reach)

    def limit(self, cap: float) -> float:
        """``B`` of a cap, in the unit of the frequencies."""
        return cap / abs(self.unit) - 0.5

    def statement(self, cap: Fraction | None) -> SizesStatement:
        """What a bound is about."""
        return SizesStatement(self.sizes.n, Fraction(self.unit), cap)

    def bound(
        self, slope: tuple[float, float], cap: Fraction | None, scale: float = 1.0
    ) -> SizesBound:
        """The bound of multipliers of the two equations, with the least line, rounded up."""
        truth, others = (scale * self.unit * number for number in self.sizes.multipliers(slope))
        base = least_ratio(self.epsilon)
        line = least_line(self.statement(cap), base, truth, others)
        return SizesBound(truth, others, round_up(line))

    def excludes(self, cap: float) -> bool:
        """Whether it is proved that no private design has a cap; False says nothing.

        The variance of a design within the cap is below that many squares of the cap as there are
        numbers: a larger bound proves that there is none.
        """
        statement = self.statement(Fraction(cap))
        reach = statement.reach
        if reach is not None and reach <= 0:  # one value, which is not right for all answers
            return True
        least = self.sizes.least
        limit = self.limit(cap)
        surplus = 1 - limit / least.reach
        if not surplus > 0:
            return False
        largest = statement.n * Fraction(cap) ** 2
        # `h` is at most 2 B |z|: the multipliers of the least influence, times a large number
        scale = ROOM * statement.n * (cap / abs(self.unit) + 1) ** 2 / surplus
        bound = self.bound(least.slope, Fraction(cap), scale)
        is_above = bound.value(statement) > largest
        return is_above and bound.holds(statement, least_ratio(self.epsilon))

    def designed(self, cap: float, task: DesignTask) -> CappedFrequencyCertificate:
        """The best design within a cap, with its proof.

        Raises
        ------
        StatementError
            If it is proved that no private design is within it.
        CertificateError
            If none was found, and this is not proved.
        """
        if cap < self.least * (1 - NEAR):
            raise self._outside(cap)
        limit = self.limit(cap)
        optimum = self.sizes.best(limit, task.gap * FINE, task.deadline)
        try:
            return self._proved(cap, optimum)
        except CertificateError:
            raise self._outside(cap) from None

    def _proved(self, cap: float, found: SizesOptimum) -> CappedFrequencyCertificate:
        """Integer masses, values that are unbiased for them, and the bound if it is above 0."""
        randomizer, kept = self._randomizer(found)
        values = self._values(randomizer, found.values[kept], cap)
        bound: Any = self.bound(found.slope, Fraction(cap))
        if not bound.value(self.statement(Fraction(cap))) > 0:
            bound = NoBound()
        return CappedFrequencyCertificate.of(
            self.workload, PureLDP(self.epsilon), cap, randomizer, values, bound
        )

    def _randomizer(self, found: SizesOptimum) -> tuple[SizesRandomizer, Any]:
        """The masses of the sizes, and which of them have some."""
        sizes = found.sizes.astype(np.int64).tolist()
        masses = [round(share * TOTAL) for share in found.shares.tolist()]
        masses[int(np.argmax(masses))] += TOTAL - sum(masses)
        kept = [place for place, mass in enumerate(masses) if mass > 0]
        sets = [SubsetRandomizer.of(self.sizes.n, sizes[place], self.epsilon) for place in kept]
        return SizesRandomizer(tuple(sets), tuple(masses[place] for place in kept)), kept

    def _values(self, randomizer: SizesRandomizer, values: Float, cap: float) -> Float:
        """Values moved by as little as possible so that they are unbiased for the masses, within
        the cap exactly.
        """
        from scipy.optimize import lsq_linear

        n = self.sizes.n
        pairs = zip(randomizer.shares, randomizer.sets, strict=True)
        rows = [
            [
                (float(share * (each.p - each.q)), float(share * each.size)),
                (-float(share * (each.p - each.q)), float(share * (n - each.size))),
            ]
            for share, each in pairs
        ]
        matrix = np.concatenate(rows).T
        right = np.array([1.0, self.sizes.total])
        unit = np.abs(matrix).max(axis=1)
        limit = self.limit(cap)
        start = np.clip(values.ravel(), -limit, limit)
        box = (-limit - start, limit - start)
        off = (right - matrix @ start) / unit
        moved = lsq_linear(matrix / unit[:, None], off, box, method="bvls", tol=1e-15).x
        row = (self.unit * (start + moved + 0.5))[None]
        ends = np.array([[0.0, self.unit]])
        return clipped(row, ends, np.array([cap])).reshape(-1, 2)

    def _outside(self, cap: float) -> LdpoptError:
        """The error for a cap within which no design was found: whether it is proved that there is
        none, and the least one.
        """
        enough = f"{self.least * (1 + RAISED):.15g}"
        name = short_repr(self.workload.names[0])
        wanted = f"influence of {cap:.9g} on {name}, and on every other answer"
        return outside(wanted, enough, enough, self.excludes(cap))


def is_symmetric(form: DesignForm) -> bool:
    """Whether the workload is of plain frequencies with equal weights under pure privacy."""
    return bool(form.unit)


class CappedFrequencies(DesignMethod):
    """Sets of a few sizes, drawn without a list, with two values each."""

    name = "capped frequencies"
    is_optimal = True

    def because(self, form: DesignForm, limits: DesignLimits) -> str | None:
        """One cap on plain frequencies of more answers than are listed."""
        if form.problem.influence is None or not is_symmetric(form):
            return None
        caps = np.unique(form.problem.caps)
        n = form.problem.workload.shape[1]
        if n <= limits.listed_answers or len(caps) > 1 or not np.isfinite(caps[0]):
            return None
        return (
            f"frequencies of more than {limits.listed_answers} answers with equal weights and one "
            "cap: sets of a few sizes, each with two values"
        )

    def solve(self, task: DesignTask) -> CappedFrequencyCertificate:
        """Find the sizes and values, and prove them."""
        return SizesTask.of(task.form).designed(float(task.form.problem.caps[0]), task)


def least_cap_of_frequencies(form: DesignForm) -> float:
    """The least influence of a design for frequencies, raised so that designs have it."""
    return SizesTask.of(form).least * (1 + RAISED)
