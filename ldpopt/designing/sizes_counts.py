"""What is counted of sets of a few sizes, and the frequencies that follow from the counts.

A set has one value in the frequency of its answers and another one in that of all others: so
the number of sets of each size, and of those that have each answer, is all that is needed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.certificate.frequency_certificate import SubsetRandomizer
from ldpopt.designing.frequency_design import SetsDesign
from ldpopt.designing.sizes_band import variances_at
from ldpopt.designing.sizes_draws import SizesSampler
from ldpopt.designing.sizes_units import entries_of, numbers_of_sample, totals_of
from ldpopt.errors import ModelFileError
from ldpopt.estimation.band import Scales, effects_of
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.exact_fit import support_p_value
from ldpopt.estimation.intervals import norm_sub
from ldpopt.estimation.reports import report_weights
from ldpopt.estimation.sampled import SampledNumbers
from ldpopt.foundation.numbers import Float, Int, frozen
from ldpopt.tables.coding import Missing


class SizesCounts(SizesSampler, SetsDesign):
    """The counts of a certificate's reports, as a base of the design that estimates from them."""

    @property
    def unit(self) -> float:
        """The unit of the frequencies."""
        return float(self.workload.unit or 1.0)

    @cached_property
    def set_values(self) -> Float:
        """Values of a set in the number of an answer in it, and out of it, for each size; shape
        ``(s, 2)``.
        """
        if self.certificate.flaws:
            raise ModelFileError(
                self.certificate.flaws[0],
                code="changed-file",
                do="use the file as it was written, or design again",
            )
        return frozen(np.asarray(self.certificate.values).copy())

    @property
    def sets(self) -> list[tuple[float, SubsetRandomizer, tuple[float, float]]]:
        """Probability, distribution and values of the sets of each size."""
        drawn = self.certificate.randomizer
        return [
            (float(share), each, (float(a), float(b)))
            for share, each, (a, b) in zip(
                drawn.shares, drawn.sets, self.set_values.tolist(), strict=True
            )
        ]

    def counts_of(self, reports: Any, weights: Any = None, missing: Missing = "refuse") -> Counts:
        """Counts of the sets of each size, and of those that have each answer."""
        ordered, sizes = self.read_sets(reports)
        numbers = report_weights(weights, reports, len(ordered))
        each = np.ones(len(ordered), dtype=np.int64) if numbers is None else numbers
        n = self.workload.shape[1]
        values: list[Any] = []
        squares: list[Any] = []
        for size in self.certificate.randomizer.sizes:
            is_of_size = sizes == size
            entries = ordered[is_of_size, self.size - size :].ravel()
            heights = each[is_of_size]
            for sums, powers in ((values, heights), (squares, heights**2)):
                with_answer = np.bincount(entries, np.repeat(powers, size), minlength=n)
                sums.append(np.concatenate([[powers.sum()], with_answer]))
        return Counts(
            self.digest,
            self._count_labels,
            self._of_kind(values, numbers is None),
            self._of_kind(squares, numbers is None),
            each.sum().item(),
            (each**2).sum().item(),
            len(ordered),
        )

    @staticmethod
    def _of_kind(sums: list[Float], is_whole: bool) -> Any:
        """Sums in a row, whole numbers without weights."""
        return np.concatenate(sums).astype(np.int64 if is_whole else np.float64)

    @property
    def _count_labels(self) -> tuple[tuple[Any, ...], ...]:
        """Size and answer of each count; of all sets of a size the size alone."""
        sizes = self.certificate.randomizer.sizes
        return tuple(
            label for size in sizes for label in ((size,), *((size, x) for x in self.inputs))
        )

    @property
    def unit_columns(self) -> Sequence[Hashable]:
        """Each size, and each size with an answer: a report is a set of these."""
        return self._count_labels

    @property
    def unit_totals(self) -> Int:
        """The column of the size, for each column."""
        return totals_of(len(self.sets), len(self.inputs))

    def in_table(self, reports: Any) -> tuple[Any, Any]:
        """Columns of the size and the answers of each set."""
        ordered, sizes = self.read_sets(reports)
        known = self.certificate.randomizer.sizes
        return entries_of(ordered, sizes, known, len(self.inputs)), slice(None)

    def sampled(self, counts: Counts, values: Float) -> SampledNumbers | None:
        """What is known from a sample of the errors of estimated frequencies; None without."""
        return numbers_of_sample(counts, values, self.set_values / self.unit, self.mean_squares)

    def _shares(self, counts: Counts) -> tuple[Float, Float]:
        """Shares of the sets of each size, and of those with each answer: (s,) and (s, n)."""
        rows = (counts.values / counts.total).reshape(len(self.sets), -1)
        return rows[:, 0], rows[:, 1:]

    def estimates(self, counts: Counts) -> Float:
        """Estimated frequencies, shape (n,)."""
        of_size, with_answer = self._shares(counts)
        inside, outside = self.set_values.T / self.unit
        return np.asarray(outside @ of_size + (inside - outside) @ with_answer)

    def frequencies(self, counts: Counts) -> Float:
        """Estimated frequencies of the answers, shape (n,), without negative ones."""
        return norm_sub(self.estimates(self.own_counts(counts).require_some()))

    @cached_property
    def mean_squares(self) -> tuple[float, float]:
        """Mean squares of the values in a frequency of those with the answer, and of others."""
        unit = self.unit
        of_truth = others = 0.0
        for share, each, (a, b) in self.sets:
            p = float(each.p)
            q = float(each.q)
            of_truth += share * (p * a**2 + (1 - p) * b**2)
            others += share * (q * a**2 + (1 - q) * b**2)
        return of_truth / unit**2, others / unit**2

    def p_value(self, counts: Counts) -> float:
        """The p-value of the counts: of the furthest number of sets of a size, and of those of a
        size that have an answer.
        """
        counts = self.own_counts(counts)
        rows = counts.values.reshape(len(self.sets), -1)
        number = counts.n_reports
        values = []
        for (share, each, _), row in zip(self.sets, rows, strict=True):
            ends = share * float(each.q), share * float(each.p)
            values.append(support_p_value(row[1:], number, *ends))
            if share < 1:
                values.append(support_p_value(row[:1], number, share, share))
        return min(1.0, len(values) * min(values))

    def scales_of(
        self, counts: Counts, values: Float, sampled: SampledNumbers | None = None
    ) -> Scales:
        """One over the effective numbers of reports of each estimate: of a sample by its
        variances.
        """
        if sampled is None and not counts.is_weighted:
            return Scales.of(counts)
        plain = self._spread(counts, values)
        largest = float(np.abs(self.set_values / self.unit).max() ** 2)
        if sampled is not None:
            error = counts.scale * effects_of(sampled.variances / counts.scale, plain, largest)
            # by the variance of a report that intervals have, so that no sample is as one stratum
            variances = variances_at(values, self.mean_squares)
            of_noise = effects_of(sampled.least, variances, 0.0)
            return Scales(error, np.maximum(error, of_noise))
        heavy = self._spread(counts.with_squared_weights, values)
        return Scales.of(counts, effects_of(heavy, plain, largest))

    def _spread(self, counts: Counts, values: Float) -> Float:
        """Mean squares of the values of the reports less the estimates, shape (n,)."""
        inside, outside = self.set_values.T / self.unit
        of_size, with_answer = self._shares(counts)
        far = (outside[:, None] - values) ** 2
        near = (inside[:, None] - values) ** 2
        return np.asarray((far * (of_size[:, None] - with_answer) + near * with_answer).sum(axis=0))
