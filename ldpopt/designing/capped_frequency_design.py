"""Designs for the frequencies of many answers whose influence has a cap: reports are sets of a few
sizes, each with two values.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from ldpopt.certificate.capped_frequency_certificate import CappedFrequencyCertificate
from ldpopt.certificate.liars_frequency_certificate import LiarsFrequencyCertificate
from ldpopt.designing.capped_design import (
    CHANGED_SUM,
    SAME,
    cap_in_words,
    root_mean_square_of,
    with_liars_in_words,
)
from ldpopt.designing.sizes_band import SizesBand
from ldpopt.designing.sizes_counts import SizesCounts
from ldpopt.estimation.counts import Counts, read_rows
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.fit import checked_fit
from ldpopt.estimation.influence import Influence
from ldpopt.estimation.liars import read_liars, widened
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.display import Facts, Part
from ldpopt.foundation.numbers import Float, frozen, shaped_array, whole_number
from ldpopt.frequencies.subset_selection import MAX_LISTED_SETS
from ldpopt.frequencies.support import ScaledBand
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair
from ldpopt.problem.prior import read_prior


@dataclass(frozen=True, eq=False)
class CappedFrequencyDesign(SizesCounts, certificate=CappedFrequencyCertificate):
    """The mechanism that estimates many frequencies best of all whose influence is within a cap.

    Made by `design` with ``influence=`` or ``liars=`` for plain frequencies of more than 20 answers
    with equal weights. It has what a `FrequencyDesign` has. A report is a row of positions of
    answers, ascending, filled up with -1: a set of one of a few sizes, which does not depend on the
    answer. Its value in a frequency depends on its size, and on whether it has the answer.

    Attributes
    ----------
    certificate : CappedFrequencyCertificate
        Statement, sizes, values, influence and bound in rationals; it can be saved and checked
        again.
    notes : tuple of str
        Rounds, reasons and warnings of the search.
    steps : tuple of Step
        The methods that ran, each with the reason for it; empty if the design was read from a file.
    """

    certificate: CappedFrequencyCertificate
    notes: tuple[str, ...] = (
        "by symmetry the best sets are of a few sizes; the bound is for sets of all sizes",
    )

    def __repr__(self) -> str:
        sets = f"{self.workload.shape[1]} answers, {self.certificate.reports}"
        return (
            f"{type(self).__name__}({sets}, average variance {self.value:.6g}, relative gap "
            f"{self.relative_gap:.2g})"
        )

    @property
    def randomizer(self) -> Any:
        """The design, which draws its reports itself."""
        return self

    @property
    def caps(self) -> Float:
        """The largest influence of a report on each number that was asked for."""
        return np.full(len(self.names), self.certificate.cap)

    @property
    def sums_to_one(self) -> bool:
        """Whether estimated frequencies sum to 1: the sets of every size have values of the sum
        1.
        """
        n = self.workload.shape[1]
        sums = [each.size * a + (n - each.size) * b for _, each, (a, b) in self.sets]
        return bool(np.abs(np.array(sums) / self.unit - 1).max() <= SAME)

    def facts(self) -> Facts:
        """Those of every design, with the cap."""
        facts = super().facts()
        *parts, remark = facts.parts
        claim = self.certificate
        more: list[Part] = [("influence at most", cap_in_words(claim.cap, claim.influence))]
        more += with_liars_in_words(claim)
        if self.unit == 1 and not self.sums_to_one:
            more.append(("sums", CHANGED_SUM))
        return Facts(facts.title, [*parts, *more, remark])

    @property
    def root_mean_square(self) -> float:
        """The root of the mean squared error with the liars for whom the influence was chosen; nan
        without.
        """
        return root_mean_square_of(self.certificate)

    @property
    def _listed(self) -> list[Any]:
        """All sets, as positions of answers, and of each size which answers are in a set."""
        places = range(self.workload.shape[1])
        every = (list(combinations(places, each.size)) for _, each, _ in self.sets)
        return [
            (rows, np.eye(len(places), dtype=bool)[np.array(rows)].any(axis=1)) for rows in every
        ]

    @property
    def mechanism(self) -> Mechanism:
        """The channel to all sets, as tuples, if these are at most 4096."""
        if self.n_reports > MAX_LISTED_SETS:
            raise self._unlisted
        n = self.workload.shape[1]
        names = self.inputs
        outputs: list[tuple[Any, ...]] = []
        columns = []
        for (share, each, _), (rows, has) in zip(self.sets, self._listed, strict=True):
            p = share * float(each.p) / comb(n - 1, each.size - 1)
            without = share * (1 - float(each.p)) / comb(n - 1, each.size)
            columns.append(np.where(has, p, without))
            outputs += [tuple(names[place] for place in row) for row in rows]
        channel = np.concatenate(columns).T
        return repair(channel, self.privacy, inputs=names, outputs=outputs).mechanism

    @property
    def estimator(self) -> Float:
        """``V``, shape ``(n, m)``: the values of each report of `mechanism`, if these are at most
        4096.
        """
        if self.n_reports > MAX_LISTED_SETS:
            raise self._unlisted
        pairs = zip(self.sets, self._listed, strict=True)
        return frozen(np.concatenate([np.where(has, *pair) for (*_, pair), (_, has) in pairs]).T)

    @property
    def n_reports(self) -> int:
        """Number of different reports."""
        n = self.workload.shape[1]
        return sum(comb(n, size) for size in self.certificate.randomizer.sizes)

    @property
    def bits(self) -> int:
        """Bits of a report: the base-2 logarithm of the number of sets."""
        return (self.n_reports - 1).bit_length()

    @property
    def moments(self) -> tuple[Float, Float]:
        """The numbers of the people with an answer and of all others, and the mean squares of their
        values, shape (n, 2).
        """
        shape = (len(self.names), 2)
        squares = self.unit**2 * np.array(self.mean_squares)
        return np.broadcast_to([self.unit, 0.0], shape), np.broadcast_to(squares, shape)

    def numbers_at(self, prior: Float) -> Float:
        """The frequencies of a distribution, in the unit of the workload."""
        return np.asarray(self.unit * read_prior(prior, self.inputs)[0])

    def variances(self, prior: Any = None) -> Float:
        """Variances of one respondent's value for each number, shape (n,), at a prior; default: at
        the worst frequency.
        """
        of_truth, others = self.mean_squares
        slope = of_truth - others
        worst = np.full(len(self.names), min(max(slope / 2, 0.0), 1.0))
        share = worst if prior is None else read_prior(prior, self.inputs)[0]
        return np.asarray(self.unit**2 * (others + share * slope - share**2))

    def second_moments(self, place: int) -> tuple[Float, Float]:
        """Means of ``v_i^2`` and ``v_i v_place`` over the reports of each answer, each (n, n)."""
        n = self.workload.shape[1]
        place = whole_number(place, "place", 0, n - 1)
        is_same = np.eye(n, dtype=bool)
        squares = np.zeros((n, n))
        products = np.zeros((n, n))
        for share, each, (a, b) in self.sets:
            p = float(each.p)
            q = float(each.q)
            k = each.size
            has = np.where(is_same, p, q)  # of a set of the answer of each column
            # Both of two answers are in a set: one of them is the true one, or neither is.
            pairs = (n - 1) * max(n - 2, 1)
            both = np.full((n, n), (k - 1) * (p * (k - 2) + (1 - p) * k) / pairs)
            both[:, place] = both[is_same] = p * (k - 1) / (n - 1)
            both[place] = has[place]
            squares += share * (b**2 + (a**2 - b**2) * has)
            mixed = b * (a - b) * (has + has[place])
            products += share * (b**2 + mixed + (a - b) ** 2 * both)
        return squares, products

    def ratio_influence(self, rows: Any, missing: Any, ratios: Float) -> Float:
        """The influence of one report on ``a_i - t_i (1 - f)``, shape (k,), by the size of a set,
        whether it has the answer ``i``, and how many of the missing answers.
        """
        rows, missing = read_rows(self, rows, missing)
        t = shaped_array(ratios, "ratios", len(rows))
        many = len(missing)
        others = self.workload.shape[1] - 1 - many
        values = []
        for _, each, (a, b) in self.sets:
            for has in (0, 1):
                for absent in range(many + 1):
                    if 0 <= each.size - has - absent <= others:
                        of_missing = absent * a + (many - absent) * b
                        values.append((a if has else b) + t * of_missing)
        unit = self.unit
        answers = unit * np.stack([np.ones_like(t), t, np.zeros_like(t)])[: 3 if others else 2]
        every = np.stack(values)
        raises = every.max(axis=0) - answers.min(axis=0)
        lowers = answers.max(axis=0) - every.min(axis=0)
        return np.asarray(np.maximum(raises, lowers))

    @property
    def influence(self) -> Influence:
        """How far one report can move each number, by the values of all reports, rounded up."""
        k = len(self.names)
        raises, lowers = (np.full(k, round_up(end)) for end in self.certificate.ends)
        return Influence(self.names, raises, lowers, self.spans)

    def estimate(
        self,
        reports: Any,
        confidence: float = 0.95,
        *,
        simultaneous: bool = False,
        check_fit: bool = True,
        weights: Any = None,
        liars: float = 0.0,
    ) -> Estimate:
        """Estimate the workload from reports or `Counts`, without bias; see `Design.estimate`.

        Intervals are score intervals; those that hold at once are theirs at a smaller risk each.
        """
        liars = read_liars(liars)
        counts = Counts.of(self, reports, weights=weights).require_some()
        fit = checked_fit(self, counts, check_fit)
        values = self.estimates(counts)
        sampled = self.sampled(counts, values)
        scales = self.scales_of(counts, values, sampled)
        effect = scales.design_effects(counts, len(values))
        plain = SizesBand(values, self.mean_squares, scales, effect, sampled)
        estimate = Estimate.of_band(
            plain if self.unit == 1 else ScaledBand(plain, self.unit),
            counts,
            confidence,
            simultaneous=simultaneous,
            method="design",
            labels=self.names,
            fit=fit,
            is_distribution=self.unit == 1,
        )
        return widened(estimate, liars, lambda: self.influence.each)


@dataclass(frozen=True, eq=False, repr=False)
class LiarsFrequencyDesign(CappedFrequencyDesign, certificate=LiarsFrequencyCertificate):
    """The capped design whose influence has the least error for a share of liars; made by `design`
    with ``liars=`` and ``people=``.
    """

    certificate: LiarsFrequencyCertificate
