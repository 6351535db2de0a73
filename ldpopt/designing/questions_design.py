r"""Tables of many questions of two answers each: reports are drawn and read by formula, no channel
is listed.

A report ``y`` has the value ``2^-k sum_T chi_T(v) theta_T(y)`` for the cell ``v`` of a table of
``k`` questions, summed over all sets ``T`` of its questions, with ``theta_T = 2^d delta_y a_T(y) /
M_|T|``, ``theta_{} = 1``: ``a_T`` is the mean over all answers of the indicator of the report's set
times the character ``chi_T``.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, combinations, product
from math import ceil, comb, factorial, log2, perm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.questions_certificate import QuestionsCertificate
from ldpopt.designing.record import FormulaDesign
from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.estimate import Estimate, interval_quantile
from ldpopt.estimation.fit import checked_fit
from ldpopt.estimation.intervals import norm_sub
from ldpopt.estimation.reports import report_weights
from ldpopt.foundation import optional
from ldpopt.foundation.labels import codes
from ldpopt.foundation.numbers import Float, any_array
from ldpopt.frequencies.protocol import chernoff
from ldpopt.frequencies.subset_selection import SetCodec
from ldpopt.frequencies.yes_no import WordChoices, draw_order
from ldpopt.mechanism.exact_draws import TOTAL
from ldpopt.mechanism.keyed import Draws, Keyed
from ldpopt.mechanism.sampling import Random, chunks
from ldpopt.problem.prior import read_prior
from ldpopt.tables.coding import Codes, Missing

ROWS = 1 << 16  # reports that are drawn or counted at a time


@dataclass(frozen=True, eq=False)
class QuestionsDesign(FormulaDesign, certificate=QuestionsCertificate):
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
    def n_reports(self) -> int:
        """Number of different reports; some may name the same set."""
        drawn = self.certificate.randomizer
        return sum(
            2**k.questions * perm(drawn.d, k.questions) // prod(map(factorial, k.parts))
            for k in drawn.kinds
        )

    @property
    def bits(self) -> int:
        """Bits of a report."""
        return ceil(log2(self.n_reports))

    @property
    def randomizer(self) -> Any:
        """The design, which draws its reports itself."""
        return self

    @property
    def inputs(self) -> Sequence[Hashable]:
        """The answers, as tuples of the answers to all questions."""
        return self.workload.inputs

    @property
    def digest(self) -> str:
        """Digest of the kinds of sets."""
        return self.certificate.digest

    @property
    def odds(self) -> Fraction:
        """Largest ratio of the probabilities of a report under two answers, exactly."""
        return self.certificate.randomizer.odds

    @property
    def size(self) -> int:
        """Number of integers in a report."""
        return len(self.workload.attributes) + 1

    @property
    def codec(self) -> "RowCodec":
        """How reports are written in a table: as integers with spaces between them."""
        return RowCodec(self)

    def privatize(
        self, x: Any, *, rng: Random = None, key: Any = None, id: Any = None, question: str = ""
    ) -> NDArray[np.int16]:
        """Draw one report, a row of ``d + 1`` small integers, for each answer.

        Parameters
        ----------
        x : sequence of tuples, or array_like, shape (N, d)
            The answers to all questions, one row for each respondent.
        rng, key, id : optional
            As in `Mechanism.sample`: with a key the same id and answers give the same report.
        question : str
            As in `Mechanism.sample`. Default: ``""``.
        """
        attributes = self.workload.attributes
        keyed = Keyed.read(key, id, rng)
        columns = list(
            zip(*(row if hasattr(row, "__len__") else (row,) for row in x), strict=False)
        )
        if len(x) and (
            len(columns) != len(attributes) or any(len(row) != len(attributes) for row in x)
        ):
            problem = f"an answer has other than {len(attributes)} parts"
            raise StatementError(
                problem, do="pass the answers to all questions, a tuple for each respondent"
            )
        answers = np.zeros(len(x), dtype=np.int64)
        for column, (_, values) in zip(columns, attributes, strict=False):
            answers = 2 * answers + codes(list(column), values, "answer")
        return self.draw(answers, rng if keyed is None else keyed.draws(question, len(answers)))

    def draw(self, answers: Codes, source: Draws) -> NDArray[np.int16]:
        """Draw the reports of answers, positions of shape (N,)."""
        kinds = self.certificate.randomizer.kinds
        d = len(self.workload.attributes)
        ends = np.array(list(accumulate(kind.mass for kind in kinds)), dtype=np.uint64)
        choices = WordChoices.of(source, self.digest, answers)
        reports = np.zeros((len(answers), d + 1), dtype=np.int16)
        for part in chunks(len(answers), ROWS):
            rows = np.arange(part.start, part.stop)
            reports[part, 0] = np.searchsorted(ends, choices.words(rows, 1)[:, 0], side="right")
            for place, kind in enumerate(kinds):
                own = rows[reports[part, 0] == place]
                held = choices.is_below(own, kind.held)
                cell = np.zeros(len(own), dtype=np.int64)
                for inside in (0, 1):
                    some = np.flatnonzero(held == inside)
                    ways = np.cumsum(kind.ways(inside))
                    cell[some] = np.searchsorted(
                        ways, choices.below(own[some], int(ways[-1])), side="right"
                    )
                # Questions in random order, of which the first ones of each part have the answer 1.
                chosen = draw_order(choices, own, d, kind.questions)
                ones = np.array(kind.cells)[cell]
                of = np.repeat(np.arange(len(kind.parts)), kind.parts)
                within = np.concatenate(list(map(np.arange, kind.parts)))
                bits = answers[own][:, None] >> (d - 1 - chosen) & 1
                reports[own[:, None], 1 + chosen] = 1 + 2 * of + (bits ^ (within < ones[:, of]))
        return reports

    @cached_property
    def _tables(self) -> list[tuple[tuple[int, ...], float]]:
        """Questions of each table of the workload, and the factor of its cells."""
        d = len(self.workload.attributes)
        tables = self.workload.tables or ()
        return [
            (chosen, factor) for ways, factor in tables for chosen in combinations(range(d), ways)
        ]

    @cached_property
    def _subsets(self) -> list[tuple[int, ...]]:
        """All sets of questions that the estimates need, and the empty one."""
        d = len(self.workload.attributes)
        most = max(len(chosen) for chosen, _ in self._tables)
        return [subset for size in range(most + 1) for subset in combinations(range(d), size)]

    def counts_of(self, reports: Any, weights: Any = None, missing: Missing = "refuse") -> Counts:
        """Sum ``2**t (1 + a_T)`` over the reports of each kind, for each set of questions: whole
        numbers.

        A set of the kind depends on ``t`` questions.
        """
        array = any_array(reports, "list of reports")
        kinds = self.certificate.randomizer.kinds
        d = len(self.workload.attributes)
        fits = (
            array.ndim == 2
            and array.shape[1] == d + 1
            and array.dtype.kind in "iu"
            and array.min(initial=0) >= 0
        )
        fits = fits and array[:, 0].max(initial=0) < len(kinds)
        numbers = report_weights(weights, reports, len(array))
        each = np.ones(len(array), dtype=np.int64) if numbers is None else numbers
        values = []
        squares = []
        for place, kind in enumerate(kinds if fits else ()):
            own = array[:, 0] == place
            rows = array[own, 1:].T.copy()
            powers = each[own]
            sizes = [((rows + 1) // 2 == part + 1).sum(axis=0) for part in range(len(kind.parts))]
            fits &= all((size == part).all() for size, part in zip(sizes, kind.parts, strict=True))
            fits &= bool((rows <= 2 * len(kind.parts)).all())
            sums = [
                self._characters(place, size) + 2**kind.questions
                for size in range(len(self._subsets[-1]) + 1)
            ]
            for subset in self._subsets if fits else ():
                one = np.broadcast_to(
                    sums[len(subset)][tuple(rows[i] for i in subset)], len(powers)
                )
                values.append(one @ powers)
                squares.append(one @ powers**2)
        if not fits:
            what = "a report is not a row that this design draws"
            raise StatementError(what, do="pass what privatize of this design returned")
        names = [name for name, _ in self.workload.attributes]
        labels = tuple(
            (a, *(names[i] for i in subset)) for a in range(len(kinds)) for subset in self._subsets
        )
        total = each.sum().item()
        total_squares = (each**2).sum().item()
        return Counts(
            self.digest,
            labels,
            np.array(values),
            np.array(squares),
            total,
            total_squares,
            len(array),
        )

    def _characters(self, place: int, size: int) -> NDArray[np.int64]:
        """Sum of a character over the patterns in a set, by the codes of its questions; shape
        ``(codes,) * size``.
        """
        kind = self.certificate.randomizer.kinds[place]
        found = np.zeros((2 * len(kind.parts) + 1,) * size, dtype=np.int64)
        for used in product(range(1, 2 * len(kind.parts) + 1), repeat=size):
            j = tuple(
                sum((code - 1) // 2 == part for code in used) for part in range(len(kind.parts))
            )
            found[used] = (-1) ** sum(code - 1 for code in used) * kind.sums.get(j, 0)
        return found

    @cached_property
    def _factors(self) -> Float:
        """``theta_T`` over ``2**t a_T``, for each kind and size of ``T``, shape ``(kinds, most +
        1)``.
        """
        drawn = self.certificate.randomizer
        most = len(self._subsets[-1])
        wanted = [
            Fraction(2**drawn.d) / own if own else Fraction(0) for own in drawn.information(most)
        ]
        return np.array(
            [[float(k.contrast * own / 2**k.questions) for own in wanted] for k in drawn.kinds]
        )

    @cached_property
    def _moments(self) -> dict[int, Float]:
        """Mean square of the value of each cell for respondents in each cell, by the number of
        questions of a table.
        """
        return {
            ways: self._second_moments(ways) for ways in {len(chosen) for chosen, _ in self._tables}
        }

    def _second_moments(self, ways: int) -> Float:
        """Those of tables of some number of questions, shape ``(2**ways, 2**ways)``."""
        d = len(self.workload.attributes)
        masks = np.arange(2**ways)
        found = np.zeros(ways + 1)
        for place, kind in enumerate(self.certificate.randomizer.kinds):
            r = len(kind.parts)
            t = kind.questions
            p = kind.held / TOTAL
            share = float(kind.share)
            inside = [cell for cell, own in zip(kind.cells, kind.inside, strict=True) if own]
            # the part of each question, or r: none
            for parts in product(range(r + 1), repeat=ways):
                used = [parts.count(part) for part in range(r)]
                chance = (
                    prod(map(perm, kind.parts, used))
                    * perm(d - t, ways - sum(used))
                    / perm(d, ways)
                )
                values = np.zeros(2**ways)
                shares = np.zeros(2**ways)
                for mask in range(2**ways if chance else 0):
                    own = [part for i, part in enumerate(parts) if mask >> i & 1]
                    if r in own:
                        continue
                    ones = tuple(own.count(part) for part in range(r))
                    values[mask] = (
                        self._factors[place, len(own)] * kind.sums.get(ones, 0) if mask else 1.0
                    )
                    held = (
                        sum(_completions(kind.parts, used, cell, ones) for cell in inside) / 2.0**t
                    )
                    shares[mask] = p / share * held + (1 - p) / (1 - share) * (
                        0.5 ** sum(used) - held
                    )
                squares = (_signs(ways) @ values) ** 2 / 4.0**ways
                moved = squares[masks ^ (2 ** np.arange(ways + 1)[:, None] - 1)]
                found += kind.mass / TOTAL * chance * (moved @ shares)
        return np.asarray(found[np.bitwise_count(masks[:, None] ^ masks)])

    def _cells(self, shares: Sequence[Float]) -> Float:
        """Variances of one respondent's values of all cells, given the shares of the cells of every
        table.
        """
        pairs = zip(self._tables, shares, strict=True)
        means = np.concatenate(
            [own @ self._moments[len(chosen)] - own**2 for (chosen, _), own in pairs]
        )
        return np.asarray(self.spans**2 * np.maximum(means, 0.0))

    @property
    def spans(self) -> Float:
        """The factor of the table of each number."""
        return np.concatenate(
            [np.full(2 ** len(chosen), abs(factor)) for chosen, factor in self._tables]
        )

    def variances(self, prior: Any = None) -> Float:
        """Variance of one respondent's value for each number, shape (k,), at a prior; default: at
        the worst one.
        """
        if prior is not None:
            d = len(self.workload.attributes)
            known = read_prior(prior, self.workload.inputs)[0].reshape((2,) * d)
            others = [tuple(i for i in range(d) if i not in chosen) for chosen, _ in self._tables]
            return self._cells([known.sum(axis=away).ravel() for away in others])
        worst = {}
        for ways, moments in self._moments.items():
            own = moments[0, 0]
            other = moments[0, 1:].max()
            share = min(max((own - other) / 2, 0.0), 1.0)
            worst[ways] = share * own + (1 - share) * other - share**2
        every = [np.full(2 ** len(part), worst[len(part)]) for part, _ in self._tables]
        return np.asarray(self.spans**2 * np.concatenate(every))

    def p_value(self, counts: Counts) -> float:
        """Bound on the probability of sums as far outside the possible means (Chernoff)."""
        centers = []
        widths = []
        drawn = self.certificate.randomizer
        sizes = np.array(list(map(len, self._subsets)))
        for kind in drawn.kinds:
            ends = [
                float(kind.contrast * w / comb(drawn.d, j))
                for j, w in enumerate(kind.weights(sizes[-1]))
            ]
            centers.append(kind.mass / TOTAL / 2 * np.where(sizes, 1, 1 + float(kind.share)))
            widths.append(kind.mass / TOTAL / 2 * np.array([0.0, *ends[1:]])[sizes])
        center = np.concatenate(centers)
        width = np.concatenate(widths)
        shares = (
            counts.values
            / counts.total
            / np.repeat([2.0 ** (k.questions + 1) for k in drawn.kinds], len(sizes))
        )
        return chernoff(shares, counts.n_reports, center - width, np.minimum(center + width, 1.0))

    def estimate(
        self,
        reports: Any,
        confidence: float = 0.95,
        *,
        simultaneous: bool = False,
        check_fit: bool = True,
        weights: Any = None,
    ) -> Estimate:
        """Estimate the workload from reports or `Counts`, without bias; see `Design.estimate`.

        Standard errors are those at the nearest shares of each table; intervals are normal ones.
        """
        z = interval_quantile(confidence, self.workload.shape[0], simultaneous)
        counts = Counts.of(self, reports, weights=weights).require_some()
        fit = checked_fit(self, counts, check_fit)
        kinds = self.certificate.randomizer.kinds
        sums = counts.values.reshape(len(kinds), -1) / counts.total
        sizes = list(map(len, self._subsets))
        # The first sum of a kind is that of the empty set of questions: 2**t (1 + share) for each
        # report.
        rest = sums - sums[:, :1] / np.array([[1 + float(kind.share)] for kind in kinds])
        theta = dict(
            zip(self._subsets, (self._factors[:, sizes] * rest).sum(axis=0).tolist(), strict=True)
        ) | {(): 1.0}
        tables = []
        for chosen, _ in self._tables:
            every = (zip(chosen, bits, strict=True) for bits in product((0, 1), repeat=len(chosen)))
            parts = [theta[tuple(i for i, b in one if b)] for one in every]
            tables.append(_signs(len(chosen)) @ parts / len(parts))
        found = np.concatenate(
            [factor * table for (_, factor), table in zip(self._tables, tables, strict=True)]
        )
        error = np.sqrt(self._cells(list(map(norm_sub, tables))) * counts.scale)
        interval = np.stack([found - z * error, found + z * error], axis=1)
        return Estimate(
            found, error, counts.n_reports, confidence, "design", self.names, None, interval, fit
        )


class RowCodec(SetCodec):
    """Reports that are rows of small integers: texts of them in tables, rows in arrays, shape (N, d
    + 1).
    """

    form = "rows"
    randomizer: Any

    def labels(self, as_text: bool) -> Any:
        """Return the integers that a report may have as texts."""
        kinds = self.randomizer.certificate.randomizer.kinds
        most = max(len(kinds), *(1 + 2 * len(kind.parts) for kind in kinds))
        return optional.pyarrow.array(list(map(str, range(most))))

    def sets(self, codes: Codes, source: Draws) -> NDArray[Any]:
        """Draw the reports of answers, none of which is missing."""
        return np.asarray(self.randomizer.draw(codes, source))


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


def _signs(ways: int) -> Float:
    """Characters of patterns of answers, shape ``(2**ways, 2**ways)``."""
    masks = np.arange(2**ways)
    return np.asarray(1.0 - 2.0 * (np.bitwise_count(masks[:, None] & masks) & 1))
