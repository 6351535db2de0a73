"""Regressions on the reports of a survey."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
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
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.tables.csv_format import csv_format
from ldpopt.tables.files import kind_of, other_separator


def regress_survey(survey: Questionnaire, formula: str, table: Any, **options: Any) -> Regression:
    """A regression on the reports of a survey; see `Survey.regress`."""
    if survey.joint is not None:
        raise StatementError(
            "the answers to all questions are in one joint report, which is not of one column",
            code="joint",
            do="ask the questions apart (scheme 'split'), or look at a table of two: estimate_pair",
        )
    for name in (name for names in survey.trees.values() for name in names):
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", formula):
            raise StatementError(
                f"the report on {name!r} is about other questions as well, and is no column of "
                "its answers",
                code="tree",
                do='give the question a report of its own (report = "own"), or look at values()',
            )
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
        path = os.fspath(table)
        table = _frame(path)
        for name, law in protected.items():
            if name in table:
                require_drawn_by(path, name, law.digest)
    if survey.one_question is not None:
        _require_one_question(formula, table, protected, options["kind"])
    return regress(formula, table, protected, **options)


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


def _frame(path: str) -> Any:
    """A file of reports as a dataframe."""
    if not Path(path).is_file():
        raise StatementError(
            "there is no such file", code="missing-file", where=path, do="check the path"
        )
    pandas = optional.pandas
    if kind_of(path) != "csv":
        return pandas.read_parquet(path)
    stated = csv_format()
    try:
        frame = pandas.read_csv(path, sep=stated.separator, encoding=stated.encoding)
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
