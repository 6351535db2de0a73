"""Columns of a table for a regression: reports as codes, answers behind them, weights and units."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.regression.margins import Margin, fitted_weights
from ldpopt.estimation.report_model import ReportModel, values_of_each_channel
from ldpopt.estimation.reports import report_weights
from ldpopt.foundation.labels import label_numbers
from ldpopt.foundation.numbers import Float, Int, require_choice, require_kind, short_repr
from ldpopt.mechanism.codec import codes_of_reports
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.tables.coding import MISSING, TREATMENTS, Coder, Missing
from ldpopt.tables.frames import Frame, as_frame

MOST_ANSWERS = 12  # of an outcome of numbers that is not protected; more are surely measured


@dataclass(frozen=True, eq=False)
class Reports:
    """A column of reports, or of clear answers: a code for each person, and what codes say."""

    answers: tuple[Hashable, ...]
    codes: Int  # (N,): `MISSING` where there is no report
    likelihood: Float  # (m, n): probability of each report under each answer
    behaviors: tuple[str, ...] = ()
    away: Float | None = None  # (m, b): the same under each behavior
    model: ReportModel | None = None

    def values(self) -> Float:
        """Unbiased values of the reports, shape (m, n): the left inverse of the channel of each,
        or if one has none, of all channels together.
        """
        if self.model is None:
            return np.eye(len(self.answers))
        parts = self.model.parts
        try:
            values = values_of_each_channel(self.model)
        except StatementError as error:
            if error.code != "rank" or len(parts) == 1 or not self.model.assigned:
                raise
            return self._values_together()
        return values[:, : len(self.answers)]

    def _values_together(self) -> Float:
        """Values of the stacked channel with the people that are there."""
        assert self.model is not None
        counts = self.model.counts_of_array(self.codes[self.codes != MISSING])
        return self.model.at(counts).left_inverse.T[:, : len(self.answers)]


def read_reports(table: ReportTable, name: str, model: ReportModel) -> Reports:
    """The reports in a column, with the mechanism of each person."""
    channel = np.hstack([part.channel for part in model.parts]).T
    size = len(model.names) - len(model.behaviors)
    where = f"column {name!r}"
    codes = np.full(len(table), MISSING, dtype=np.int64)
    ends = np.cumsum([0, *(len(part.mechanism.outputs) for part in model.parts)])
    for rows, start, part in _parts(table, model, ends):
        coder = Coder(part.mechanism.outputs, "report")
        places = codes_of_reports(
            partial(table.codes_at, name, rows, where=where),
            coder,
            partial(Coder, part.mechanism.inputs, "answer"),
            where,
        )
        codes[rows] = np.where(places == MISSING, MISSING, places + start)
    return Reports(
        model.names[:size],
        codes,
        channel[:, :size],
        model.behaviors,
        channel[:, size:] if model.behaviors else None,
        model,
    )


def _parts(table: ReportTable, model: ReportModel, ends: Any) -> Iterable[tuple[Any, int, Any]]:
    """The rows of each channel, the code of its first report, and the channel."""
    if model.is_one:
        return [(np.arange(len(table)), 0, model.parts[0])]
    column = model.require_column()
    places = table.codes(column, model.coder_of_names(), f"column {column!r}")
    return [
        (np.flatnonzero(places == place), int(ends[place]), part)
        for place, part in enumerate(model.parts)
    ]


def read_clear(frame: Any, name: str) -> Reports:
    """A clear column of pandas as one whose reports are its answers, in their order."""
    column = frame[name].astype("category").cat.remove_unused_categories()
    answers = tuple(_plain(label) for label in column.cat.categories.tolist())
    if len(answers) > MOST_ANSWERS and label_numbers(answers) is not None:
        raise StatementError(
            f"the outcome has {len(answers)} different numbers, each of which would be an answer",
            code="many-numbers",
            where=f"column {name!r}",
            do='use kind="mean" (--kind mean) for its mean, or classes of the numbers',
        )
    if len(answers) < 2:
        raise StatementError(
            f"the outcome has {len(answers)} different answers",
            code="one-answer",
            where=f"column {name!r}",
            do="name a column with two or more",
        )
    codes = column.cat.codes.to_numpy().astype(np.int64)
    return Reports(answers, codes, np.eye(len(answers)))


def _plain(label: Any) -> Hashable:
    plain: Hashable = label.item() if isinstance(label, np.generic) else label
    return plain


class SampleColumns(Protocol):
    """The columns of a table that say how people were sampled, as `Sample` names them."""

    @property
    def weights(self) -> str | None:
        """Weights."""

    @property
    def strata(self) -> str | None:
        """Strata."""

    @property
    def clusters(self) -> str | None:
        """Clusters."""

    @property
    def margins(self) -> Mapping[str, Mapping[Any, float]] | None:
        """Known numbers or shares in the categories of other columns."""


@dataclass(frozen=True, eq=False)
class Units:
    """Weights of people, and the strata, clusters and known margins of their sample."""

    weights: Float | None = None  # (N,)
    strata: Int | None = None  # (N,): numbers from 0
    clusters: Int | None = None
    is_sample: bool = False  # errors are those of a sample: by sums over units
    margins: tuple[Margin, ...] = ()
    names: Sequence[Hashable] = ()  # of the strata

    def at(self, rows: Any) -> Units:
        """Those of some people, with weights that are fitted to the margins."""
        every: Any = (self.weights, self.strata, self.clusters)
        weights, strata, clusters = (None if each is None else each[rows] for each in every)
        margins = tuple(each.at(rows) for each in self.margins)
        if margins:
            weights = fitted_weights(margins, np.ones(len(rows)) if weights is None else weights)
        return Units(weights, strata, clusters, self.is_sample, margins, self.names)


class ReportTable:
    """A dataframe of any library, of which some columns are needed."""

    def __init__(self, table: Any) -> None:
        if isinstance(table, (str, os.PathLike)):
            raise StatementError(
                "the table is the path of a file",
                code="path",
                do="read it first, as by pandas.read_csv(path); Survey.regress takes files",
            )
        self._native = table
        self._frame = Frame(table)
        self._rows: Any = None

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def columns(self) -> list[Any]:
        """Names of the columns."""
        return self._frame.columns

    def codes(self, name: str, coder: Coder, where: str) -> Int:
        """Codes of one column."""
        return self._frame.codes(name, coder, where)

    def codes_at(self, name: str, rows: Int, coder: Coder, where: str) -> Int:
        """Codes of some rows of one column."""
        if len(rows) == len(self):
            return self.codes(name, coder, where)
        part = as_frame(self._native)[rows.tolist(), [name]].to_native()
        return Frame(part).codes(name, coder, where)

    def frame(self, names: Sequence[str]) -> Any:
        """Some columns in pandas, in the order of the rows."""
        chosen = as_frame(self._native).select([self._frame.column(name) for name in names])
        frame = chosen.to_pandas().reset_index(drop=True)
        if not len(names):  # a frame without columns has no rows
            frame = frame.reindex(range(len(self)))
        return frame

    def units(self, sample: SampleColumns | None) -> Units:
        """Weights, strata, clusters and margins by the columns that a sample names."""
        if sample is None:
            return Units()
        weights = None
        if sample.weights is not None:
            weights = report_weights(
                self._frame.column(sample.weights).to_numpy(), self._native, len(self)
            )
        names, strata = ([], None) if sample.strata is None else self._categories(sample.strata)
        clusters = None if sample.clusters is None else self._categories(sample.clusters)[1]
        known = sample.margins or {}
        margins = tuple(Margin(name, *self._categories(name), known[name]) for name in known)
        return Units(weights, strata, clusters, is_sample=True, margins=margins, names=names)

    def _categories(self, name: str) -> tuple[list[Hashable], Int]:
        """The groups in a column, and the number of that of each person."""
        import pandas

        codes, names = pandas.factorize(self.frame([name])[name])
        if (codes < 0).any():
            raise StatementError(
                "some people are in no group",
                code="missing-group",
                where=f"column {name!r}, row {int(np.argmax(codes < 0))}",
                do="fill in the strata, clusters and margins of all people",
            )
        return [_plain(each) for each in names], np.asarray(codes, dtype=np.int64)


def models_of(protected: Mapping[str, Any], columns: Sequence[Any]) -> dict[str, ReportModel]:
    """The model of each protected column."""
    if not isinstance(protected, Mapping):
        raise StatementError(
            f"protected is a {type(protected).__name__}, not mechanisms by column",
            code="protected",
            do='pass {"smokes": mechanism}',
        )
    models = {}
    for name, each in protected.items():
        do = "pass a Mechanism (design.mechanism) or a ReportModel"
        require_kind(each, (Mechanism, ReportModel), f"protected[{name!r}]", do)
        models[name] = each if isinstance(each, ReportModel) else ReportModel(each)
    return models


def complete(present: Mapping[str, Any], missing: Missing) -> Any:
    """Positions of the people without a missing entry; ``present`` says by column who has one."""
    require_choice(missing, TREATMENTS, "missing")
    every = np.logical_and.reduce([np.asarray(each, dtype=bool) for each in present.values()])
    if missing == "refuse" and not every.all():
        name, there = next((name, each) for name, each in present.items() if not np.all(each))
        raise StatementError(
            f"{int((~every).sum())} people have a missing entry",
            code="missing",
            where=f"column {short_repr(name)}, row {int(np.argmin(there))}",
            do='pass missing="leave_out" (--missing leave_out): coefficients are then of the '
            "people without one",
        )
    return np.flatnonzero(every)
