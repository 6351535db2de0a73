"""Regressions on the reports of a survey."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.estimation.regression import Regression, regress
from ldpopt.estimation.report_model import ReportModel
from ldpopt.foundation import optional
from ldpopt.mechanism.files import require_drawn_by
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.tables.files import kind_of


def regress_survey(survey: Questionnaire, formula: str, table: Any, **options: Any) -> Regression:
    """A regression on the reports of a survey; see `Survey.regress`."""
    if survey.joint is not None:
        raise StatementError(
            "the answers to all questions are in one joint report, which is not of one column",
            code="joint",
            do="ask the questions apart (scheme 'split'), or look at a table of two: estimate_pair",
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
    return regress(formula, table, protected, **options)


def _frame(path: str) -> Any:
    """A file of reports as a dataframe."""
    if not Path(path).is_file():
        raise StatementError(
            "there is no such file", code="missing-file", where=path, do="check the path"
        )
    if kind_of(path) == "csv":
        return optional.pandas.read_csv(path)
    return optional.pandas.read_parquet(path)
