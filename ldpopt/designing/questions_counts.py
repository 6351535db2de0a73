r"""What is counted of the reports of a design for tables, and the numbers that follow from it.

A report ``y`` has the value ``2^-k sum_T chi_T(v) theta_T(y)`` for the cell ``v`` of a table of
``k`` questions, summed over all sets ``T`` of its questions, with

.. math:: \theta_T(y) = 2^d \delta_y \, a_T(y) / M_{|T|}, \qquad \theta_{\{\}} = 1,

where ``a_T`` is the mean over all answers of the indicator of the report's set times the character
``chi_T``. The kind of a set fixes ``delta``; only ``a_T`` depends on the report, and only through
the questions of ``T``. So the sums of ``a_T`` over the reports of each kind are all that is needed:
whole numbers, which can be added over files and days.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import comb, perm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.questions_certificate import Kind, QuestionsCertificate
from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.reports import report_weights
from ldpopt.foundation.numbers import Float, any_array
from ldpopt.frequencies.protocol import chernoff
from ldpopt.mechanism.exact_draws import TOTAL
from ldpopt.problem.workload import Workload


@dataclass(frozen=True, eq=False)
class TableCounts:
    """Counts of reports for the tables of a certificate, and the values and variances of its
    estimator.

    ``T`` runs over `subsets`, in the same order in counts, estimates and p-values.
    """

    certificate: QuestionsCertificate

    @property
    def workload(self) -> Workload:
        """The stack of tables."""
        return self.certificate.workload

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of sets."""
        return self.certificate.randomizer.kinds

    @cached_property
    def tables(self) -> list[tuple[tuple[int, ...], float]]:
        """Questions of each table of the workload, and the factor of its cells."""
        d = len(self.workload.attributes)
        tables = self.workload.tables or ()
        return [
            (chosen, factor) for ways, factor in tables for chosen in combinations(range(d), ways)
        ]

    @cached_property
    def subsets(self) -> list[tuple[int, ...]]:
        """All sets of questions that the estimates need, and the empty one."""
        d = len(self.workload.attributes)
        most = max(len(chosen) for chosen, _ in self.tables)
        return [subset for size in range(most + 1) for subset in combinations(range(d), size)]

    @property
    def spans(self) -> Float:
        """The factor of the table of each number."""
        return np.concatenate(
            [np.full(2 ** len(chosen), abs(factor)) for chosen, factor in self.tables]
        )

    def of(self, reports: Any, weights: Any = None) -> Counts:
        """Sum ``2**t (1 + a_T)`` over the reports of each kind, for each set ``T`` of questions.

        A set of the kind depends on ``t`` questions. ``1 + a_T`` is not negative, so that the sums
        are counts.
        """
        array = any_array(reports, "list of reports")
        numbers = report_weights(weights, reports, len(array))
        powers = np.ones(len(array), dtype=np.int64) if numbers is None else numbers
        self._require_rows(array)
        values = []
        squares = []
        for place, kind in enumerate(self.kinds):
            is_of_kind = array[:, 0] == place
            rows = array[is_of_kind, 1:].T.copy()
            shares = powers[is_of_kind]
            self._require_sets(kind, rows)
            sums = [
                self._characters(place, size) + 2**kind.questions
                for size in range(len(self.subsets[-1]) + 1)
            ]
            for subset in self.subsets:
                codes = tuple(rows[i] for i in subset)
                each = np.broadcast_to(sums[len(subset)][codes], len(shares))
                values.append(each @ shares)
                squares.append(each @ shares**2)
        return Counts(
            self.certificate.digest,
            self._labels,
            np.array(values),
            np.array(squares),
            powers.sum().item(),
            (powers**2).sum().item(),
            len(array),
        )

    @property
    def _labels(self) -> tuple[tuple[Any, ...], ...]:
        """Kind and questions of each sum."""
        names = [name for name, _ in self.workload.attributes]
        return tuple(
            (place, *(names[i] for i in subset))
            for place in range(len(self.kinds))
            for subset in self.subsets
        )

    def _require_rows(self, array: NDArray[Any]) -> None:
        """Refuse an array that has not the form of reports."""
        is_table = array.ndim == 2 and array.shape[1] == len(self.workload.attributes) + 1
        is_whole = array.dtype.kind in "iu" and array.min(initial=0) >= 0
        if not is_table or not is_whole or array[:, 0].max(initial=0) >= len(self.kinds):
            raise _other_report()

    def _require_sets(self, kind: Kind, rows: NDArray[Any]) -> None:
        """Refuse rows, one for each question, that are no sets of a kind."""
        sizes = [((rows + 1) // 2 == part + 1).sum(axis=0) for part in range(len(kind.parts))]
        fits = all((size == part).all() for size, part in zip(sizes, kind.parts, strict=True))
        if not fits or not (rows <= 2 * len(kind.parts)).all():
            raise _other_report()

    def _characters(self, place: int, size: int) -> NDArray[np.int64]:
        """Sum of a character over the patterns in a set, by the codes of its questions; shape
        ``(codes,) * size``.
        """
        kind = self.kinds[place]
        parts = range(len(kind.parts))
        characters = np.zeros((2 * len(kind.parts) + 1,) * size, dtype=np.int64)
        for used in product(range(1, 2 * len(kind.parts) + 1), repeat=size):
            j = tuple(sum((code - 1) // 2 == part for code in used) for part in parts)
            characters[used] = (-1) ** sum(code - 1 for code in used) * kind.sums.get(j, 0)
        return characters

    @cached_property
    def factors(self) -> Float:
        """``theta_T`` over ``2**t a_T``, for each kind and size of ``T``, shape ``(kinds, most +
        1)``.
        """
        randomizer = self.certificate.randomizer
        information = randomizer.information(len(self.subsets[-1]))
        # No table needs the sizes without information.
        scales = [Fraction(2**randomizer.d) / m if m else Fraction(0) for m in information]
        return np.array(
            [
                [float(kind.contrast * scale / 2**kind.questions) for scale in scales]
                for kind in self.kinds
            ]
        )

    def estimates(self, counts: Counts) -> list[Float]:
        """Estimated shares of the cells of each table."""
        sums = counts.values.reshape(len(self.kinds), -1) / counts.total
        sizes = list(map(len, self.subsets))
        # The first sum of a kind is that of the empty set of questions: 2**t (1 + share) for each
        # report.
        empty = sums[:, :1] / np.array([[1 + float(kind.share)] for kind in self.kinds])
        means = (self.factors[:, sizes] * (sums - empty)).sum(axis=0).tolist()
        theta = dict(zip(self.subsets, means, strict=True)) | {(): 1.0}
        tables = []
        for chosen, _ in self.tables:
            every = (zip(chosen, bits, strict=True) for bits in product((0, 1), repeat=len(chosen)))
            parts = [theta[tuple(i for i, bit in pattern if bit)] for pattern in every]
            tables.append(signs(len(chosen)) @ parts / len(parts))
        return tables

    @cached_property
    def moments(self) -> dict[int, Float]:
        """Mean square of the value of each cell for respondents in each cell, by the number of
        questions of a table.
        """
        return {ways: self._moments_of(ways) for ways in {len(chosen) for chosen, _ in self.tables}}

    def _moments_of(self, ways: int) -> Float:
        """Those of tables of some number of questions, shape ``(2**ways, 2**ways)``.

        They depend only on the number of questions in which two cells differ.
        """
        d = len(self.workload.attributes)
        masks = np.arange(2**ways)
        by_distance = np.zeros(ways + 1)
        for place, kind in enumerate(self.kinds):
            r = len(kind.parts)
            # The part of each question, or r: none.
            for parts in product(range(r + 1), repeat=ways):
                used = [parts.count(part) for part in range(r)]
                chance = (
                    prod(map(perm, kind.parts, used))
                    * perm(d - kind.questions, ways - sum(used))
                    / perm(d, ways)
                )
                if not chance:
                    continue
                values, shares = self.patterns(place, parts)
                squares = (signs(ways) @ values) ** 2 / 4.0**ways
                moved = squares[masks ^ (2 ** np.arange(ways + 1)[:, None] - 1)]
                by_distance += kind.mass / TOTAL * chance * (moved @ shares)
        return np.asarray(by_distance[np.bitwise_count(masks[:, None] ^ masks)])

    def patterns(self, place: int, parts: tuple[int, ...]) -> tuple[Float, Float]:
        """``theta`` of each set of the questions of a table, and the probability of each pattern.

        The questions belong to these parts of a kind. A pattern has a 1 if the true answer to a
        question counts as 1.
        """
        kind = self.kinds[place]
        r = len(kind.parts)
        p = kind.held / TOTAL
        share = float(kind.share)
        used = [parts.count(part) for part in range(r)]
        inside = [cell for cell, is_in in zip(kind.cells, kind.inside, strict=True) if is_in]
        values = np.zeros(2 ** len(parts))
        shares = np.zeros(2 ** len(parts))
        for mask in range(len(values)):
            marked = [part for i, part in enumerate(parts) if mask >> i & 1]
            if r in marked:  # the set does not depend on this question
                continue
            ones = tuple(marked.count(part) for part in range(r))
            values[mask] = (
                self.factors[place, len(marked)] * kind.sums.get(ones, 0) if mask else 1.0
            )
            count = sum(_completions(kind.parts, used, cell, ones) for cell in inside)
            held = count / 2.0**kind.questions
            away = 0.5 ** sum(used) - held
            shares[mask] = p / share * held + (1 - p) / (1 - share) * away
        return values, shares

    def variances_at(self, shares: Sequence[Float]) -> Float:
        """Variances of one respondent's values of all cells, given the shares of the cells of every
        table.
        """
        pairs = zip(self.tables, shares, strict=True)
        means = np.concatenate(
            [table @ self.moments[len(chosen)] - table**2 for (chosen, _), table in pairs]
        )
        return np.asarray(self.spans**2 * np.maximum(means, 0.0))

    def squares_about(self, centers: Sequence[Float], shares: Sequence[Float]) -> Float:
        """Mean squares of one respondent's values of all cells less a center, given the shares of
        the cells of every table.
        """
        every = zip(self.tables, centers, shares, strict=True)
        means = np.concatenate(
            [
                table @ self.moments[len(chosen)] + center * (center - 2 * table)
                for (chosen, _), center, table in every
            ]
        )
        return np.asarray(self.spans**2 * np.maximum(means, 0.0))

    def worst_variances(self) -> Float:
        """The same at the worst shares, for each cell alone.

        The second moment of a cell is largest for respondents in it, or for those at one distance:
        with a share ``s`` in it, ``s a + (1 - s) b - s**2`` is largest at ``s = (a - b) / 2``.
        """
        worst = {}
        for ways, moments in self.moments.items():
            inside = moments[0, 0]
            outside = moments[0, 1:].max()
            share = min(max((inside - outside) / 2, 0.0), 1.0)
            worst[ways] = share * inside + (1 - share) * outside - share**2
        every = [np.full(2 ** len(part), worst[len(part)]) for part, _ in self.tables]
        return np.asarray(self.spans**2 * np.concatenate(every))

    def p_value(self, counts: Counts) -> float:
        """Bound on the probability of sums as far outside the possible means (Chernoff)."""
        centers = []
        widths = []
        d = self.certificate.randomizer.d
        sizes = np.array(list(map(len, self.subsets)))
        for kind in self.kinds:
            ends = [
                float(kind.contrast * weight / comb(d, j))
                for j, weight in enumerate(kind.weights(sizes[-1]))
            ]
            centers.append(kind.mass / TOTAL / 2 * np.where(sizes, 1, 1 + float(kind.share)))
            widths.append(kind.mass / TOTAL / 2 * np.array([0.0, *ends[1:]])[sizes])
        center = np.concatenate(centers)
        width = np.concatenate(widths)
        units = np.repeat([2.0 ** (kind.questions + 1) for kind in self.kinds], len(sizes))
        shares = counts.values / counts.total / units
        return chernoff(shares, counts.n_reports, center - width, np.minimum(center + width, 1.0))


def _other_report() -> StatementError:
    """The error for a report of another form, which is not shown: it may be a raw answer."""
    return StatementError(
        "a report is not a row that this design draws",
        code="report-row",
        do="pass what privatize of this design returned",
    )


def _completions(
    parts: tuple[int, ...], used: list[int], cell: tuple[int, ...], ones: tuple[int, ...]
) -> int:
    """Number of patterns of a cell in which the used questions of each part have these numbers of
    ones, in order.
    """
    return prod(
        comb(t - u, w - o) if w >= o else 0
        for t, u, w, o in zip(parts, used, cell, ones, strict=True)
    )


def signs(ways: int) -> Float:
    """Characters of patterns of answers, shape ``(2**ways, 2**ways)``."""
    masks = np.arange(2**ways)
    return np.asarray(1.0 - 2.0 * (np.bitwise_count(masks[:, None] & masks) & 1))
