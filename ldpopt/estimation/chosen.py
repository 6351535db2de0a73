r"""Reports of people who chose their mechanism, such as its epsilon; the choice is seen.

Each choice is a stratum with a mechanism and an estimator of its own, unbiased for the people who
made it. With :math:`N_g` of ``N`` people,

.. math:: \hat t = \sum_g \frac{N_g}{N} \hat t_g

is unbiased for the mean over all people, whatever the choice has to do with the answer. *Pooled*
estimates have weights :math:`w_g \propto N_g / s_g^2` in place of the shares, at equally common
answers: their variance :math:`1 / \sum_g (N_g / s_g^2)` is the least one, and they are right only
if the choice tells nothing of the answer. Theory: docs, "Choices".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.band import ScoreBand
from ldpopt.estimation.channel_counts import ChoiceCoder, numbers_by_pair
from ldpopt.estimation.counts import Counts, ListedSource
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.fit import checked_fit
from ldpopt.estimation.influence import ReportValues
from ldpopt.estimation.liars import read_liars, widened
from ldpopt.estimation.likelihood import likelihood_p_value
from ldpopt.estimation.linear import is_partition
from ldpopt.estimation.report_model import Alphabet
from ldpopt.estimation.strata import StrataBand
from ldpopt.estimation.within_channels import variances_within
from ldpopt.foundation.numbers import Float, require_kind, require_text, short_repr
from ldpopt.mechanism.assigned import AssignedMechanisms
from ldpopt.mechanism.channels import digest
from ldpopt.mechanism.codec import LabelCodec
from ldpopt.mechanism.keyed import Draws
from ldpopt.problem.prior import read_prior
from ldpopt.tables.coding import MISSING, Coder, Codes, Missing, MissingAnswers

CHOICE = "choice"  # the column of a table with the choice of each person


@dataclass(frozen=True, eq=False)
class ChosenPart:
    """What draws and estimates the reports of the people with one choice."""

    name: Hashable
    source: ListedSource

    @property
    def mechanism(self) -> Any:
        """What draws them."""
        return self.source.mechanism


@dataclass(frozen=True)
class ChoiceNames:
    """The column of a table with the choice of each person, which stays."""

    source: ChosenSource

    kind: ClassVar[str] = "choice"
    is_rounded: ClassVar[bool] = False

    @property
    def column(self) -> str:
        """Its name."""
        return self.source.column

    def placed(self, codes: Codes, source: Draws) -> Codes:
        """The codes as they are: a choice is one of the labels, and nothing is drawn.

        Other columns round a number to a grid at random here.
        """
        return codes

    def coder(self, *, as_text: bool = False) -> Coder:
        """What reads the choices."""
        return self.source.coder_of_names(as_text)

    def fill_missing(self, codes: Codes, missing: MissingAnswers, first_row: int = 0) -> Codes:
        """The codes; somebody without a choice is refused."""
        if (codes == MISSING).any():
            row = first_row + int(np.argmax(codes == MISSING))
            raise StatementError(
                "somebody has made no choice: the entry is missing",
                code="missing-choice",
                where=f"{missing.where}, row {row}",
                do="fill in the choice of each person, or leave the row out",
            )
        return codes

    def pairs(self, answers: Codes, choices: Codes) -> Codes:
        """Positions of pairs of choice and answer."""
        return np.where(answers == MISSING, MISSING, choices * len(self.source.answers) + answers)


class ChosenSource(ListedSource):
    """The same numbers from the reports of people who each chose one of several mechanisms.

    A report is a pair of the choice and what its mechanism drew.
    """

    def __init__(self, sources: Mapping[Hashable, Any], column: str = CHOICE) -> None:
        require_kind(sources, Mapping, "ChosenSource()", "pass {choice: design, ...}")
        require_text(column, "column")
        self.column = column
        self.parts = tuple(ChosenPart(name, source) for name, source in sources.items())
        for part in self.parts:
            self._require_same(part)
        names = [part.name for part in self.parts]
        outputs = tuple((part.name, y) for part in self.parts for y in part.mechanism.outputs)
        hashes = [part.mechanism.digest for part in self.parts]
        self.mechanism: Any = Alphabet(
            self.answers, outputs, digest("chosen mechanisms", (names, hashes), ())
        )

    def _require_same(self, part: ChosenPart) -> None:
        """Refuse a source without listed reports, or of other numbers than the first one."""
        source = part.source
        if not isinstance(source, ListedSource):
            raise StatementError(
                f"the reports of the choice {short_repr(part.name)} are sets that are drawn by a "
                "formula, and choices need the probability of each report",
                code="unlisted-choice",
                do="ask fewer answers, or offer one epsilon",
            )
        first = self.parts[0].source
        is_same = tuple(source.names) == tuple(first.names)
        if not is_same or not np.array_equal(source.wanted, first.wanted):
            raise StatementError(
                f"the choice {short_repr(part.name)} has other numbers than the first one",
                code="other-numbers",
                do="pass designs of the same numbers",
            )

    def __repr__(self) -> str:
        return f"ChosenSource({', '.join(short_repr(part.name) for part in self.parts)})"

    @property
    def choices(self) -> tuple[Hashable, ...]:
        """The choices, in their order."""
        return tuple(part.name for part in self.parts)

    def source_of(self, choice: Hashable) -> Any:
        """What draws and estimates the reports of the people with a choice."""
        return self.parts[self.choices.index(choice)].source

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The numbers that are estimated."""
        return tuple(self.parts[0].source.names)

    @property
    def answers(self) -> tuple[Hashable, ...]:
        """The answers."""
        return tuple(self.parts[0].source.answers)

    @property
    def workload(self) -> Any:
        """The workload of the designs; there is none if the sources are no designs."""
        return self.parts[0].source.workload  # type: ignore[attr-defined]

    @property
    def wanted(self) -> Float:
        """Matrix of the numbers, shape (k, n)."""
        return np.asarray(self.parts[0].source.wanted)

    @cached_property
    def estimator(self) -> Float:  # type: ignore[override]
        """The values of the reports of each choice, shape (k, m)."""
        return np.hstack([part.source.estimator for part in self.parts])

    @cached_property
    def channel(self) -> Float:
        """The channel to pairs with as many people of each choice, shape (n, m)."""
        return np.hstack([part.source.channel for part in self.parts]) / len(self.parts)

    @property
    def left_inverse(self) -> Float:
        """Estimator of the frequencies from all pairs, shape (n, m)."""
        return np.hstack([part.source.left_inverse for part in self.parts])

    @cached_property
    def slices(self) -> list[slice]:
        """The reports of each choice among all pairs."""
        sizes = [len(part.mechanism.outputs) for part in self.parts]
        return [slice(*pair) for pair in pairwise(np.cumsum([0, *sizes]).tolist())]

    @property
    def beside(self) -> str:
        """The column with the choice of each person."""
        return self.column

    def coder_of_names(self, as_text: bool = False) -> ChoiceCoder:
        """Reads the choices."""
        return ChoiceCoder(self, as_text)

    @property
    def choice(self) -> ChoiceNames:
        """What reads the choice of each person, beside the answers."""
        return ChoiceNames(self)

    @property
    def codec(self) -> LabelCodec:
        """Reports are labels."""
        return LabelCodec(self.mechanism)

    @cached_property
    def randomizer(self) -> Any:
        """The mechanisms of which each person has one."""
        laws = {part.name: part.mechanism for part in self.parts}
        return AssignedMechanisms(laws, self.answers, self.mechanism.digest)

    @property
    def reach(self) -> ReportValues:
        """The values of the reports: who lies chooses an epsilon, too."""
        return ReportValues(self.estimator, self.wanted, self.channel)

    def each(self, change: Callable[[ListedSource], Any]) -> ChosenSource:
        """The same people with other numbers: those of each source, changed."""
        return ChosenSource({part.name: change(part.source) for part in self.parts}, self.column)

    def counts_of(self, reports: Any, weights: Any = None, missing: Missing = "refuse") -> Counts:
        """Count pairs of choice and report, or numbers by pair, or by choice and then report."""
        names = list(self.choices)
        return super().counts_of(numbers_by_pair(names, reports), weights, missing)

    def counts_by_choice(self, counts: Counts) -> list[tuple[int, ChosenPart, Counts]]:
        """The place, the source and the counts of each choice that somebody made."""
        counts = self.own_counts(counts).require_some()
        chosen = []
        for place, (part, pairs) in enumerate(zip(self.parts, self.slices, strict=True)):
            values = counts.values[pairs]
            squares = counts.squares[pairs]
            total = values.sum().item()
            if not total > 0:
                continue
            # of weighted people their number is known for all choices together only
            share = total / counts.total
            number = max(1, round(share * counts.n_reports)) if counts.is_weighted else int(total)
            sums = (total, squares.sum().item(), number)
            law = part.mechanism
            chosen.append((place, part, Counts(law.digest, law.outputs, values, squares, *sums)))
        return chosen

    def band(self, counts: Counts, *, pooled: bool = False) -> StrataBand:
        """The band of the numbers, by strata or pooled over the choices."""
        chosen = self.counts_by_choice(counts)
        bands = tuple(_band_of(part.source, each) for _, part, each in chosen)
        people = np.array([each.total for _, _, each in chosen], dtype=np.float64)
        if pooled:
            effective = [1 / each.scale for _, _, each in chosen]
            expected = [_expected_variance(part.source) for _, part, _ in chosen]
            people = np.array(effective) / np.array(expected)
        places = tuple(self.slices[place] for place, _, _ in chosen)
        return StrataBand(bands, people / people.sum(), counts, places)

    def frequencies(self, counts: Counts) -> Float:
        """Estimated shares of the answers, without negative ones."""
        band = self.band(counts)
        laws = np.stack([each.frequencies for each in band.bands])
        return np.asarray(band.shares @ laws)

    def variances(self, prior: Any = None) -> Float:
        """Variance of one person's value for each number, shape (k,), with as many people of each
        choice.
        """
        known = None if prior is None else read_prior(prior, self.answers)[0]
        return variances_within(self, self.slices, known)

    @property
    def moments(self) -> tuple[Float, Float]:
        """There are none: they depend on what people choose."""
        raise StatementError(
            "people with several mechanisms have no mean square of a value: it depends on what "
            "they choose",
            code="moments-of-choices",
            do="plan by half-widths, or for one of the choices",
        )

    def p_value(self, counts: Counts) -> float:
        """Return a p-value of unweighted counts: the smallest of those of the choices, times their
        number, since each stratum has answers of its own.
        """
        each = [
            likelihood_p_value(part.source.channel, seen.values.astype(np.int64))
            for _, part, seen in self.counts_by_choice(counts)
        ]
        return min(1.0, len(each) * min(each))

    def estimate(
        self,
        reports: Any,
        confidence: float = 0.95,
        *,
        simultaneous: bool = False,
        check_fit: bool = True,
        liars: float = 0.0,
        pooled: bool = False,
    ) -> Estimate:
        """Estimate the numbers from reports or `Counts`, by strata or pooled."""
        liars = read_liars(liars)
        counts = self.count(reports).require_some()
        fit = checked_fit(self, counts, check_fit)
        estimate = Estimate.of_band(
            self.band(counts, pooled=pooled),
            counts,
            confidence,
            simultaneous=simultaneous,
            method="pooled" if pooled else "strata",
            labels=self.names,
            fit=fit,
            is_distribution=is_partition(self.wanted),
        )
        if pooled and liars:
            raise StatementError(
                "who lies chooses an epsilon, and so how much the own report counts in a pooled "
                "estimate",
                code="liars-of-pooled",
                do="leave pooled out, or liars",
            )
        return widened(estimate, liars, lambda: self.reach)


def _band_of(source: ListedSource, counts: Counts) -> ScoreBand:
    """The band of the numbers of the people with one choice; constants are kept apart."""
    constant = np.asarray(source.wanted)[:, 0]
    return ScoreBand.of(
        counts,
        np.asarray(source.estimator - constant[:, None]),
        np.asarray(source.wanted - constant[:, None]),
        source.channel,
        source.left_inverse,
        constant=constant,
        answers=tuple(source.answers),
    )


def _expected_variance(source: ListedSource) -> float:
    """Mean variance of a person's value in the numbers at equally common answers, which is no
    estimate; 1 if all are known.
    """
    n = source.wanted.shape[1]
    expected = float(np.mean(source.variances(np.full(n, 1 / n))))
    return expected if expected > 0 else 1.0
