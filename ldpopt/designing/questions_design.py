"""Designs for tables of many questions of two answers each: no channel is listed.

Reports are drawn by `questions_draws` and read by `questions_counts`, both by formula.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, factorial, log2, perm, prod
from typing import Any

import numpy as np

from ldpopt.certificate.questions_certificate import QuestionsCertificate
from ldpopt.designing.questions_counts import TableCounts
from ldpopt.designing.questions_draws import SetsRandomizer
from ldpopt.designing.questions_influence import influence_ends
from ldpopt.designing.record import FormulaDesign
from ldpopt.estimation.band import NormalBand, Scales, effects_of
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.fit import checked_fit
from ldpopt.estimation.influence import Influence
from ldpopt.estimation.intervals import norm_sub
from ldpopt.estimation.liars import read_liars, widened
from ldpopt.foundation.numbers import Float
from ldpopt.problem.prior import read_prior
from ldpopt.tables.coding import Missing


@dataclass(frozen=True, eq=False)
class QuestionsDesign(SetsRandomizer, FormulaDesign, certificate=QuestionsCertificate):
    """A design for tables of questions of two answers each, drawn by its own sampler.

    Made by `design` if the answers are too many to list the channel. It has what a `Design` has,
    but no matrix. A report is a row of ``d + 1`` small integers: the kind of its set, and for each
    question 0 if the set does not depend on it, else ``1 + 2 part + answer that counts as 0``.

    Attributes
    ----------
    certificate : QuestionsCertificate
        Statement, kinds of sets, value and bound; it can be saved and checked again.
    notes : tuple of str
        Rounds, reasons and warnings of the search.
    steps : tuple of Step
        The methods that ran, each with the reason for it; empty if the design was read from a file.
    """

    certificate: QuestionsCertificate
    notes: tuple[str, ...] = ("sets of a few kinds; the bound is for all sets",)

    def __repr__(self) -> str:
        k, n = self.workload.shape
        kinds = len(self.certificate.randomizer.kinds)
        result = (
            f"{kinds} kinds of sets, average variance {self.value:.6g}, relative gap "
            f"{self.relative_gap:.2g}"
        )
        return f"QuestionsDesign({k:,} numbers of {n:,} answers, {result})"

    @property
    def randomizer(self) -> Any:
        """The design, which draws its reports itself."""
        return self

    @cached_property
    def _counts(self) -> TableCounts:
        """What is counted of the reports, and the estimator."""
        return TableCounts(self.certificate)

    @property
    def n_reports(self) -> int:
        """Number of different reports; some may name the same set."""
        randomizer = self.certificate.randomizer
        return sum(
            2**kind.questions
            * perm(randomizer.d, kind.questions)
            // prod(map(factorial, kind.parts))
            for kind in randomizer.kinds
        )

    @property
    def bits(self) -> int:
        """Bits of a report."""
        return ceil(log2(self.n_reports))

    def counts_of(self, reports: Any, weights: Any = None, missing: Missing = "refuse") -> Counts:
        """Sums over the reports of each kind, for each set of questions; see `TableCounts.of`."""
        return self._counts.of(reports, weights)

    @property
    def spans(self) -> Float:
        """The factor of the table of each number."""
        return self._counts.spans

    @property
    def influence(self) -> Influence:
        """How far one report can move each number, by the values of all reports that can occur."""
        return Influence(self.names, *influence_ends(self._counts), self.spans)

    def variances(self, prior: Any = None) -> Float:
        """Variance of one respondent's value for each number, shape (k,), at a prior; default: at
        the worst one.
        """
        if prior is None:
            return self._counts.worst_variances()
        d = len(self.workload.attributes)
        known = read_prior(prior, self.workload.inputs)[0].reshape((2,) * d)
        others = [
            tuple(i for i in range(d) if i not in chosen) for chosen, _ in self._counts.tables
        ]
        return self._counts.variances_at([known.sum(axis=away).ravel() for away in others])

    def p_value(self, counts: Counts) -> float:
        """Bound on the probability of sums as far outside the possible means (Chernoff)."""
        return self._counts.p_value(counts)

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

        Standard errors are those at the nearest shares of each table; intervals are normal ones,
        with weights never shorter than for weights that are unrelated to the answers.
        """
        liars = read_liars(liars)
        counts = Counts.of(self, reports, weights=weights).require_some()
        fit = checked_fit(self, counts, check_fit)
        tables = self._counts.estimates(counts)
        pairs = zip(self._counts.tables, tables, strict=True)
        values = np.concatenate([factor * table for (_, factor), table in pairs])
        # Estimated shares may be negative or above 1, where a variance would be too small.
        nearest = list(map(norm_sub, tables))
        variances = self._counts.variances_at(nearest)
        scales = Scales.of(counts)
        if counts.is_weighted:
            heavy = map(norm_sub, self._counts.estimates(counts.with_squared_weights))
            squares = self._counts.squares_about(nearest, list(heavy))
            scales = Scales.of(counts, effects_of(squares, variances, self.spans**2))
        effect = scales.design_effects(counts, len(values))
        errors, spread = (np.sqrt(variances * scale) for scale in (scales.error, scales.interval))
        estimate = Estimate.of_band(
            NormalBand(values, errors, None, spread, effect=effect),
            counts,
            confidence,
            simultaneous=simultaneous,
            method="design",
            labels=self.names,
            fit=fit,
            is_distribution=[factor for _, factor in self._counts.tables] == [1],
        )
        return widened(estimate, liars, lambda: self.influence.each)
