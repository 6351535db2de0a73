r"""Counts of reports, from which estimates are computed, and the sources that draw them; counts of
shards add up.
"""

from __future__ import annotations

import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.influence import Influence, ReportValues
from ldpopt.estimation.intervals import norm_sub
from ldpopt.estimation.likelihood import likelihood_p_value
from ldpopt.estimation.linear import left_inverse, linear_variances
from ldpopt.estimation.reports import (
    ALL,
    codes_in,
    count_file,
    count_frame,
    counted,
    no_names,
    report_weights,
    tally,
)
from ldpopt.estimation.tallies import Tallies
from ldpopt.foundation.documents import Entry, reading_json
from ldpopt.foundation.files import replacing, strict_object
from ldpopt.foundation.labels import is_hashable, plain_label
from ldpopt.foundation.numbers import (
    Float,
    Int,
    frozen,
    positions,
    require_kind,
    require_text,
    shaped_array,
    short_repr,
    whole_number,
)
from ldpopt.mechanism.codec import LabelCodec, Randomizer
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.problem.prior import read_prior
from ldpopt.tables.coding import Missing
from ldpopt.tables.frames import is_partitioned

if TYPE_CHECKING:
    from ldpopt.estimation.sampled import SampledPeople

FORMAT = "ldpopt counts 1"
MAX_FILE_BYTES = 2**30
STREAM = 1 << 16  # reports of a stream that are counted together
SUMS = ("total", "total_squares", "n_reports")  # numbers of `Counts` that are not by label


def new_people() -> frozenset[int]:
    """Return a token of people who were not counted before, in any process."""
    return frozenset({uuid4().int})


@dataclass(frozen=True, eq=False)
class Counts:
    r"""How often each report was seen, or for a protocol how many reports support each label.

    Made by `Counts.of`, or ``protocol.count(reports)``. Counts of the same mechanism add up, so
    shards of a survey need not be gathered. With weights ``w``, counts are :math:`\sum w`; sums of
    squares are kept for the variance.

    Attributes
    ----------
    source : str
        Digest of the mechanism or protocol; only counts of the same one add up.
    labels : tuple of hashable
        The reports, or the labels that they support.
    values : ndarray, shape (m,)
        Number of reports for each label, or the sum of their weights.
    squares : ndarray, shape (m,)
        Sum of the squared weights; without weights, the same numbers.
    total, total_squares : float
        Sum of all weights and of their squares.
    people : frozenset
        Tokens of those who reported, one for each count of some reports: counts of the same people
        are recognized by them. They are not saved.

    Examples
    --------
    >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> both = Counts.of(coin, ["no", "yes", "no"]) + Counts.of(coin, {"yes": 2})
    >>> both.n_reports, both.to_dict()
    (5, {'no': 2, 'yes': 3})
    """

    source: str
    labels: tuple[Hashable, ...]
    values: Float | Int
    squares: Float | Int
    total: float
    total_squares: float
    n_reports: int
    people: frozenset[int] = field(default_factory=new_people)
    sampled: SampledPeople | None = None  # how the people were drawn, if not one by one

    def __post_init__(self) -> None:
        for name in ("values", "squares"):
            array = getattr(self, name)
            if not (isinstance(array, np.ndarray) and array.ndim == 1):
                array = shaped_array(array, f"{name} of the counts", None)
                object.__setattr__(self, name, array)
            frozen(array)

    @classmethod
    def of(
        cls,
        source: Mechanism | ReportSource,
        reports: Any,
        *,
        column: str | None = None,
        weights: Any = None,
        missing: Missing = "refuse",
    ) -> Counts:
        """Count reports; counts without weights are whole numbers.

        Parameters
        ----------
        source : Mechanism, design or frequency protocol
            The source of the reports.
        reports : sequence of labels, mapping or Series label -> count, table, or iterator
            Labels in a list, array, Series of pandas or polars, or arrow array; counts by label in
            a mapping, a result of ``value_counts()`` in these libraries, or `Counts`; a dataframe
            or a file, CSV or Parquet, with ``column``; an iterator of labels, which is read in
            parts. For a protocol: what ``privatize`` returned.
        column : str, optional
            Column of a table.
        weights : array_like, shape (N,), or Series or column name, optional
            Weight of each report, finite and ``>= 0``. A Series needs the index of the reports.
            Default: all 1.
        missing : {"refuse", "leave_out"}
            What is done with a missing report of a table. Default: ``"refuse"``.

        Returns
        -------
        Counts
            Whole numbers without weights.

        Raises
        ------
        StatementError
            If a report cannot come from the source, ``reports`` is ambiguous, or a weight does not
            fit.
        """
        source = source_of(source, "Counts.of")
        if isinstance(reports, Counts):
            if weights is not None:
                raise StatementError(
                    "counts take no weights",
                    code="weights-of-counts",
                    do="pass the reports, with their weights",
                )
            return reports.require(source.digest)
        if column is None:
            return source.counts_of(reports, weights, missing)
        return source.counts_of_table(reports, column, weights, missing)

    @classmethod
    def of_rows(
        cls, source: Mechanism | ReportSource, rows: Any, *, missing: Missing = "refuse"
    ) -> Counts:
        """Read counts from the rows of a query that `counts_query` wrote; groups are added up.

        Parameters
        ----------
        source : Mechanism, design or frequency protocol
            The source of the reports.
        rows : sequence of rows, or dataframe
            All rows, in any order, as a driver returns them (``cursor.fetchall()``).
        missing : {"refuse", "leave_out"}
            What is done with missing reports. Default: ``"refuse"``.

        Returns
        -------
        Counts
            The same as of the table itself, up to the rounding of sums of weights.

        Raises
        ------
        StatementError
            If the rows are not those of such a query, a report cannot come from the source, or a
            weight is not a finite number from 0 on.

        Examples
        --------
        >>> coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
        >>> unused = (None,) * 5
        >>> Counts.of_rows(coin, [("yes", None, None, 3, *unused), ("no", None, None, 1, *unused)])
        Counts(4 reports, 'no': 1, 'yes': 3)
        """
        read = Tallies.read(rows)
        return read.counts(source_of(source, "Counts.of_rows"), missing, by_group=False)[ALL]

    @classmethod
    def by_group(
        cls, source: Mechanism | ReportSource, rows: Any, *, missing: Missing = "refuse"
    ) -> dict[Hashable, Counts]:
        """Read counts of each group from the rows of a query with ``by``; see `of_rows`.

        Raises
        ------
        StatementError
            As `of_rows`, and if there are more than 1000 groups.
        """
        read = Tallies.read(rows)
        return read.counts(source_of(source, "Counts.by_group"), missing)

    def __add__(self, other: Any) -> Counts:
        """Counts of both, of the same mechanism."""
        if isinstance(other, int) and other == 0:  # the start of sum()
            return self
        if not isinstance(other, Counts):
            return NotImplemented
        other.require(self.source)
        sums = {
            key: getattr(self, key) + getattr(other, key) for key in ("values", "squares", *SUMS)
        }
        sampled = self.sampled
        if self.sampled is not None:
            sampled = self.sampled + other.sampled
        elif other.sampled is not None:
            sampled = other.sampled + None
        return replace(self, **sums, people=self.people | other.people, sampled=sampled)

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        """Whether both are the same counts of the same mechanism."""
        if not isinstance(other, Counts):
            return NotImplemented
        keys = ("source", "values", "squares", *SUMS)
        return all(np.array_equal(getattr(self, key), getattr(other, key)) for key in keys)

    def __hash__(self) -> int:
        return hash((self.source, self.n_reports, self.total))

    def __repr__(self) -> str:
        seen = islice(zip(self.labels, self.values, strict=True), 6)
        first = ", ".join(f"{short_repr(label)}: {value:g}" for label, value in seen)
        return f"Counts({self.n_reports} reports, {first}{', ...' if len(self.labels) > 6 else ''})"

    @property
    def is_weighted(self) -> bool:
        """Whether any weight is not 1."""
        return self.total != self.n_reports or self.total_squares != self.n_reports

    @property
    def scale(self) -> float:
        """One over the number of reports; with weights, over the effective number (Kish) if these
        are unrelated to the answers.
        """
        return self.total_squares / self.total**2

    @cached_property
    def with_squared_weights(self) -> Counts:
        """The same reports, each with the square of its weight; their own squares are not known."""
        return replace(self, values=self.squares, total=self.total_squares)

    def to_dict(self) -> dict[Hashable, Any]:
        """Counts by label."""
        return dict(zip(self.labels, self.values.tolist(), strict=True))

    def require(self, source: str) -> Counts:
        """Return the counts if they are of this source; refuse those of another one."""
        require_text(source, "the source of counts")
        if self.source != source:
            raise StatementError(
                f"the counts are of another mechanism: {self.source[:12]}, not {source[:12]}",
                code="source",
                do="count the reports with the mechanism that drew them",
            )
        return self

    def require_some(self) -> Counts:
        """Return the counts if there are reports with a positive weight."""
        if not self.total > 0:
            raise StatementError(
                "there are no reports",
                code="no-reports",
                do="collect reports first; weights must not all be 0",
            )
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts as JSON, atomically; every number reads back as the same number.

        Raises
        ------
        ModelFileError
            If the file cannot be written.
        """
        data = {
            "format": FORMAT,
            "source": self.source,
            "labels": list(map(plain_label, self.labels)),
        }
        data |= {"values": self.values.tolist(), "squares": self.squares.tolist()}
        data |= {key: getattr(self, key) for key in SUMS}
        with replacing(path) as stream:
            stream.write(json.dumps(data) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Counts:
        """Read a file of `save`. Labels that are neither texts nor numbers are read back as texts.

        Raises
        ------
        ModelFileError
            If the file is missing, or does not contain counts.
        """
        with reading_json(path, "counts", "pass what Counts.save wrote"):
            data = strict_object(path, MAX_FILE_BYTES)
            if data["format"] != FORMAT:
                raise ValueError(f"the format is {short_repr(data['format'])}, not {FORMAT!r}")
            table = Entry(data, os.fspath(path)).table(
                "format", "source", "labels", "values", "squares", *SUMS
            )
            labels = tuple(table["labels"].labels())
            if len(set(labels)) < len(labels):
                raise ValueError("a label stands twice")
            values, squares = (_numbers(data[key], len(labels)) for key in ("values", "squares"))
            sums = (_numbers([data[key]], 1).tolist()[0] for key in SUMS)
            return cls(table["source"].text(), labels, values, squares, *sums)


class ReportSource(ABC):
    """Draws reports, and defines the numbers that are estimated from them: a protocol, a design, or
    a mechanism.
    """

    @property
    @abstractmethod
    def names(self) -> tuple[Hashable, ...]:
        """The numbers that are estimated."""

    @property
    @abstractmethod
    def randomizer(self) -> Randomizer:
        """What draws the reports of a column of a table."""

    @property
    def digest(self) -> str:
        """Digest of the randomizer."""
        return self.randomizer.digest

    @property
    def codec(self) -> LabelCodec:
        """How reports are written in a column of a table."""
        return self.randomizer.codec

    @property
    def beside(self) -> str | None:
        """A column that is read beside the reports; default: none."""
        return None

    @property
    def unit_columns(self) -> Sequence[Hashable] | None:
        """Columns of a table of the units of a sample: a report is one of them, or a set; None if
        reports are not counted by units.
        """
        return None

    @property
    def unit_totals(self) -> Int | None:
        """For sets of several kinds, of which every set has the column of its kind too: this column
        for each column, shape (m,). Default: None.
        """
        return None

    def in_table(self, reports: Any) -> tuple[Any, Any]:
        """Positions of reports among these columns, from what the codec reads, and which of the
        people they are of; smaller sets are filled up with -1.
        """
        return reports, slice(None)

    def own_counts(self, counts: Any) -> Counts:
        """The counts of this source's reports; anything else is refused."""
        require_kind(counts, Counts, type(self).__name__, "pass counts, as count(reports) returns")
        own: Counts = counts.require(self.digest)
        return own

    def count(self, reports: Any, *, weights: Any = None) -> Counts:
        """Count reports; see `Counts.of`."""
        return Counts.of(self, reports, weights=weights)

    @abstractmethod
    def counts_of(self, reports: Any, weights: Any = None, missing: Missing = "refuse") -> Counts:
        """Count reports in any form but a table; see `Counts.of`."""

    def counts_of_array(self, reports: Any, weights: Float | None = None) -> Counts:
        """Count reports in an array, as `codec` reads them, with weights of shape (N,)."""
        return self.counts_of(reports, weights)

    def counts_of_table(self, table: Any, column: str, weights: Any, missing: Missing) -> Counts:
        """Count the reports in a column of a dataframe or a file; see `Counts.of`."""
        return counts_by(self, table, column, weights, missing)[ALL]

    @abstractmethod
    def variances(self, prior: Any = None) -> Float:
        """Variance of one respondent's value for each number, shape (k,), at a prior; default: at
        the worst one.
        """

    @property
    @abstractmethod
    def spans(self) -> Float:
        """The largest minus the least possible value of each number, shape (k,)."""

    @property
    @abstractmethod
    def influence(self) -> Influence:
        """How far one report in place of a true one can move each number."""

    @property
    def reach(self) -> ReportValues | Float:
        """The influence on each number, shape (k,), or if they are listed the values of the
        reports, which have that on sums of the numbers too.
        """
        return self.influence.each

    @property
    def answers(self) -> tuple[Hashable, ...]:
        """The answers, in the order of a prior; default: the numbers, which are their
        frequencies.
        """
        return tuple(self.names)

    def numbers_at(self, prior: Float) -> Float:
        """The numbers of a distribution of the answers; default: its frequencies."""
        return prior

    @property
    def moments(self) -> tuple[Float, Float]:
        """The value of each number, and the mean square of a person's value in it, by answer, each
        of shape (k, n); of answers that are alike one is enough.

        Raises
        ------
        StatementError
            If the values of the reports are not listed.
        """
        raise StatementError(
            f"the values of the reports of {type(self).__name__} are not listed",
            code="unlisted",
            do="plan with a mechanism, or a design of fewer answers",
        )

    @abstractmethod
    def p_value(self, counts: Counts) -> float:
        """Return a p-value of unweighted counts, for all possible answers; see
        `goodness_of_fit`.
        """


class ListedSource(ReportSource):
    """A source whose reports are the outputs of a mechanism, and whose estimates are linear in
    their shares.
    """

    mechanism: Mechanism  # draws the reports
    estimator: Float  # (k, m): value of each report in each number

    @property
    def unit_columns(self) -> Sequence[Hashable]:
        """The outputs of the mechanism."""
        return self.mechanism.outputs

    @property
    def randomizer(self) -> Randomizer:
        """The mechanism."""
        return self.mechanism

    @property
    def channel(self) -> Float:
        """Probability of each report by answer, shape (n, m)."""
        return np.asarray(self.mechanism.counts / self.mechanism.denominator)

    @property
    def wanted(self) -> Float:
        """Matrix of the numbers that are estimated, shape (k, n); default: the frequencies."""
        return np.eye(len(self.mechanism.inputs))

    @property
    def left_inverse(self) -> Float:
        """Estimator of the frequencies, shape (n, m)."""
        return left_inverse(self.mechanism)

    @property
    def answers(self) -> tuple[Hashable, ...]:
        """The inputs of the mechanism."""
        return self.mechanism.inputs

    def numbers_at(self, prior: Float) -> Float:
        """The numbers of a distribution of the answers."""
        return np.asarray(self.wanted @ read_prior(prior, self.answers)[0])

    @property
    def moments(self) -> tuple[Float, Float]:
        """The numbers, and the mean squares of a person's values, each of shape (k, n)."""
        return self.wanted, self.estimator**2 @ self.channel.T

    def frequencies(self, counts: Counts) -> Float:
        """Estimated frequencies of the answers, shape (n,), without negative ones."""
        counts = self.own_counts(counts).require_some()
        return norm_sub(self.left_inverse @ (counts.values / counts.total))

    def second_moments(self, place: int) -> tuple[Float, Float]:
        """Means of ``v_i^2`` and ``v_i v_place`` over the reports of each answer, each (k, n)."""
        values = self.estimator
        place = whole_number(place, "place", 0, len(values) - 1)
        return values**2 @ self.channel.T, (values * values[place]) @ self.channel.T

    def ratio_squares(self, counts: Counts, rows: Any, missing: Any, ratios: Float) -> Float:
        """Mean squares of ``v_i - t_i (1 - v_missing)`` over the reports, for the numbers ``i`` of
        some rows and their ratios ``t_i`` among those who answered; ``v_missing`` is the sum over
        the numbers of people without an answer.
        """
        counts = self.own_counts(counts).require_some()
        rows, missing = read_rows(self, rows, missing)
        ratios = shaped_array(ratios, "ratios", len(rows))
        values = self.estimator
        squares = (values[rows] - ratios[:, None] * (1 - values[missing].sum(axis=0))) ** 2
        return np.asarray(squares @ (counts.values / counts.total))

    def ratio_influence(self, rows: Any, missing: Any, ratios: Float) -> Float:
        """The influence of one report on ``a_i - t_i (1 - f)`` for the numbers ``i`` of some rows
        and their ratios ``t_i`` among those who answered, shape (k,); ``f`` is the sum over the
        numbers of people without an answer.
        """
        rows, missing = read_rows(self, rows, missing)
        sums = np.zeros((len(rows), len(self.names)))
        sums[:, missing] += shaped_array(ratios, "ratios", len(rows))[:, None]
        sums[np.arange(len(rows)), rows] += 1.0
        return self.reach.contrast(sums).each  # which no constant changes

    def counts_of(self, reports: Any, weights: Any = None, missing: Missing = "refuse") -> Counts:
        """Count reports that are labels, a stream of labels, or numbers by label."""
        if isinstance(reports, Iterator):
            if weights is not None:
                raise StatementError(
                    "a stream takes no weights",
                    code="weights-of-stream",
                    do="count lists of reports with their weights, and add",
                )
            each = (
                self.counts_of(part, None, missing)
                for part in iter(lambda: list(islice(reports, STREAM)), [])
            )
            return sum(each, self.counts_of_array(self.codec.no_reports))
        if is_partitioned(reports):
            raise no_names()
        if (seen := counted(reports, self.mechanism.outputs, weights)) is not None:
            return self._counts(seen, seen, int(seen.sum()))
        positions, there = codes_in(reports, self.mechanism.outputs, missing)
        numbers = report_weights(weights, reports, len(there))
        return self.counts_of_array(positions, None if numbers is None else numbers[there])

    def counts_of_array(self, reports: Any, weights: Float | None = None) -> Counts:
        """Count reports that are positions of outputs."""
        size = len(self.mechanism.outputs)
        reports = positions(reports, "reports", None, size)
        if weights is not None:
            weights = shaped_array(weights, "weights", len(reports))
        return self._counts_of_positions(reports, weights)

    def _counts_of_positions(self, reports: Int, weights: Float | None) -> Counts:
        size = len(self.mechanism.outputs)
        if weights is None:
            seen = tally(reports, size)
            return self._counts(seen, seen, len(reports))
        values, squares = (
            np.bincount(reports, power, minlength=size) for power in (weights, weights**2)
        )
        return self._counts(values, squares, len(reports))

    def variances(self, prior: Any = None) -> Float:
        """Variance of one respondent's value for each number, shape (k,); the worst prior is found
        exactly.
        """
        known = None if prior is None else read_prior(prior, self.answers)[0]
        return linear_variances(self.channel, self.estimator, self.wanted, known)

    @property
    def spans(self) -> Float:
        """The largest minus the least entry of each row of the matrix."""
        return np.asarray(np.ptp(self.wanted, axis=1))

    @property
    def blocks(self) -> Sequence[slice]:
        """The reports of each channel, if people are in several; default: there is one."""
        return ()

    @property
    def reach(self) -> ReportValues:
        """The values of the reports, and what they are on average by answer."""
        return ReportValues(self.estimator, self.wanted, self.channel, self.blocks)

    @property
    def influence(self) -> Influence:
        """How far one report in place of a true one can move each number: by the largest and the
        least value of a report.
        """
        return self.reach.influence(tuple(self.names), self.spans)

    def p_value(self, counts: Counts) -> float:
        """Return a p-value by the distance of the counts from the nearest distribution that some
        answers give.
        """
        counts = self.own_counts(counts)
        return likelihood_p_value(self.channel, counts.values.astype(np.int64))

    def _counts(self, values: Any, squares: Any, n_reports: int) -> Counts:
        total = values.sum().item()
        total_squares = squares.sum().item()
        return Counts(
            self.digest, self.mechanism.outputs, values, squares, total, total_squares, n_reports
        )


class MechanismSource(ListedSource):
    """A mechanism; the frequencies of its inputs are estimated."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The inputs, whose frequencies are estimated."""
        return self.mechanism.inputs

    @cached_property
    def estimator(self) -> Float:  # type: ignore[override]
        """The left inverse; channels with linearly dependent rows are refused."""
        return left_inverse(self.mechanism)


def counts_by(
    source: ReportSource,
    table: Any,
    column: str,
    weights: Any,
    missing: Missing,
    by: str | None = None,
) -> dict[Hashable, Counts]:
    """Count the reports in a column of a dataframe or a file, by the groups of another column."""
    if not is_hashable(column):
        raise StatementError(
            f"{short_repr(column)} is not the name of a column",
            code="named-column",
            do="pass the name of one column",
        )
    if isinstance(table, (str, os.PathLike)):
        path = os.fspath(table)
        return count_file(path, {column: (source, missing)}, weights, by)[column]
    return count_frame(source, table, column, weights, missing, by)


def read_rows(source: ReportSource, rows: Any, missing: Any) -> tuple[Int, Int]:
    """Read positions of some numbers of a source, and those of the numbers of people without an
    answer.
    """
    k = len(source.names)
    many = missing if isinstance(missing, (list, tuple, range)) else np.atleast_1d(missing)
    excluded = positions(many, "the numbers of missing answers", None, k)
    return positions(rows, "positions of numbers", None, k), excluded


def source_of(source: Any, where: str) -> ReportSource:
    """Return a mechanism, protocol or design as a source of reports; anything else is refused."""
    if isinstance(source, ReportSource):
        return source
    if not isinstance(source, Mechanism):
        raise StatementError(
            f"a {type(source).__name__} cannot draw reports",
            code="randomizer",
            where=where,
            do="pass a mechanism, a design or a frequency protocol",
        )
    return MechanismSource(source)


def _numbers(values: Any, size: int) -> Any:
    """Read numbers of a file; whole ones become integers."""
    if (
        not isinstance(values, list)
        or len(values) != size
        or not all(type(value) in (int, float) for value in values)
    ):
        raise ValueError(f"{short_repr(values)} is not a list of {size} numbers")
    if not all(value >= 0 and math.isfinite(value) for value in values):
        raise ValueError(f"{short_repr(values)} has a number below 0")
    if any(type(value) is int and value >= 1 << 63 for value in values):
        raise ValueError(f"{short_repr(values)} has a number of 2**63 or more")
    return np.array(values)
