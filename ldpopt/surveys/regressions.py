"""Regressions on the reports of a survey."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.estimation.regression import Regression, regress
from ldpopt.estimation.regression.columns import ReportTable, models_of
from ldpopt.estimation.regression.formulas import read_formula
from ldpopt.estimation.regression.problem import Kind
from ldpopt.estimation.report_model import ReportModel
from ldpopt.foundation import optional
from ldpopt.mechanism.files import require_drawn_by
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.surveys.choices import require_no_choices
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.surveys.repeat import require_no_repeat
from ldpopt.tables.csv_format import csv_format
from ldpopt.tables.files import kind_of, other_separator
from ldpopt.tables.folder import TablePart
from ldpopt.tables.inventory import Checked, facts_of
from ldpopt.tables.packed import unpacked
from ldpopt.tables.places import is_address, is_folder, open_table

NO_REGRESSION = (
    "a regression does not separate careless people",
    "name questions that are asked once, or look at values()",
)


def regress_survey(survey: Questionnaire, formula: str, table: Any, **options: Any) -> Regression:
    """A regression on the reports of a survey; see `Survey.regress`."""
    require_no_choices(survey, "no regression is fitted", "look at the values of reports: values()")
    if survey.joint is not None:
        raise StatementError(
            "the answers to all questions are in one joint report, which is not of one column",
            code="joint",
            do="ask the questions apart (scheme 'split'), or look at a table of two: estimate_pair",
        )
    for name in (name for names in survey.trees.values() for name in names):
        if _is_in(name, formula):
            raise StatementError(
                f"the report on {name!r} is about other questions as well, and is no column of "
                "its answers",
                code="tree",
                do='give the question a report of its own (report = "own"), or look at values()',
            )
    for name, question in survey.questions.items():
        if question.repeat and _is_in(name, formula):
            require_no_repeat({name: question}, *NO_REGRESSION)
    if options["sample"] is None and not (survey.sample.is_plain and survey.weights is None):
        options["sample"] = survey.sample
    models = {name: question.source for name, question in survey.questions.items()}
    protected: dict[str, Mechanism | ReportModel] = {
        name: law
        for name, law in (
            survey.randomizers
            | {name: model for name, model in models.items() if isinstance(model, ReportModel)}
        ).items()
        if isinstance(law, (Mechanism, ReportModel))
    }
    if isinstance(table, (str, os.PathLike)):
        place = os.fspath(table)
        parts = _parts(place)
        frames = {part.name: _frame(part) for part in parts}
        if is_folder(place):
            frames = {name: _numbers_as(frame, protected) for name, frame in frames.items()}
        table = _joined(frames, place)
        for name, law in protected.items():
            for part in parts if name in table else []:
                require_drawn_by(part.path, name, law.digest)
    if survey.one_question is not None:
        _require_one_question(formula, table, protected, options["kind"])
    return regress(formula, table, protected, **options)


def _is_in(name: str, formula: str) -> bool:
    """Whether a formula has the name of a question."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", formula) is not None


def _require_one_question(
    formula: str, table: Any, protected: Mapping[str, Any], kind: Kind
) -> None:
    """Refuse two questions where each person answers one, and others are missing or fake: their
    reports are not independent given the answers.
    """
    columns = ReportTable(table).columns
    statement = read_formula(formula, columns, models_of(protected, columns), kind)
    used = [name for name in (statement.outcome, *statement.covariates) if name in protected]
    if len(used) > 1:
        raise StatementError(
            f"each person answers one question, so that no report is about {used[0]!r} and "
            f"{used[1]!r}",
            code="one-question",
            where=formula,
            do="keep one of them in the formula, or use the scheme 'split'",
        )


def _parts(path: str) -> list[TablePart]:
    """A file of reports, or the files of a folder, of which none is missing or changed."""
    if is_folder(path):
        folder = Checked(path)
        folder.compare({name: facts_of(part) for name, part in folder.parts.items()})
        return list(folder.parts.values())
    if not is_address(path) and not Path(path).is_file():
        raise StatementError(
            "there is no such file", code="missing-file", where=path, do="check the path"
        )
    return [TablePart(*os.path.split(path))]


def _numbers_as(frame: Any, protected: Collection[str]) -> Any:
    """A file of a folder whose texts are numbers where all of a column are, as those of a file in
    CSV: a kept column of answers in CSV is one of texts in its reports.
    """
    pandas = optional.pandas
    for column in frame:
        if column not in protected and pandas.api.types.is_string_dtype(frame[column]):
            with suppress(ValueError, TypeError):
                frame = frame.assign(**{str(column): pandas.to_numeric(frame[column])})
    return frame


def _joined(frames: Mapping[str, Any], folder: str) -> Any:
    """The files of a folder as one dataframe, in their order; they must have the same columns."""
    (first, frame), *others = frames.items()
    if not others:
        return frame
    for name, other in others:
        if apart := sorted(map(str, set(frame) ^ set(other))):
            raise ModelFileError(
                f"{first!r} and {name!r} differ in the column {apart[0]!r}",
                code="other-columns",
                where=folder,
                do="draw the reports of all files with the same columns (`privatize --keep`)",
            )
    pandas = optional.pandas
    for column in frame:
        kinds: dict[bool, str] = {}
        for name, each in frames.items():
            if each[column].notna().any():
                kinds.setdefault(pandas.api.types.is_numeric_dtype(each[column]), name)
        if len(kinds) > 1:
            raise ModelFileError(
                f"the column {column!r} has numbers in {kinds[True]!r} and texts in "
                f"{kinds[False]!r}",
                code="mixed-column",
                where=folder,
                do="write the column as numbers, or as texts, in all files",
            )
    return pandas.concat(list(frames.values()), ignore_index=True)


def _frame(part: TablePart) -> Any:
    """A file of reports as a dataframe, with the columns that its folders name."""
    frame = _frame_of(part.path)
    if twice := [column for column, _ in part.groups if column in frame]:
        raise ModelFileError(
            f"the column {twice[0]!r} is in the file and in the name of its folder",
            code="column-twice",
            where=part.path,
            do="rename the folder, or leave the column out of the file",
        )
    return frame.assign(**dict(part.groups)) if part.groups else frame


def _frame_of(path: str) -> Any:
    """The rows of a file, here or in a store, as a dataframe."""
    pandas = optional.pandas
    with open_table(path) as stream, unpacked(stream, path) as rows:
        if kind_of(path, more=("",)) != "csv":
            return pandas.read_parquet(rows)
        return _csv_frame(rows, path)


def _csv_frame(rows: Any, path: str) -> Any:
    """The rows of a file in CSV as a dataframe."""
    pandas = optional.pandas
    stated = csv_format()
    try:
        frame = pandas.read_csv(rows, sep=stated.separator, encoding=stated.encoding)
    except (UnicodeError, ValueError) as error:  # whose texts may have entries of the table
        raise ModelFileError(
            f"not a CSV table in {stated.encoding}: {type(error).__name__}",
            code="csv",
            where=path,
            do="name its separator and encoding, such as --separator ';' --encoding latin-1",
        ) from None
    if other := other_separator(list(map(str, frame))):
        raise ModelFileError(
            f"the header is one name with {other} in it",
            code="separator",
            where=path,
            do=f"give --separator {other}, or save the table with commas",
        )
    return frame
