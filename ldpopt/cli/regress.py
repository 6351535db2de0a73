"""The command regress: coefficients as if the answers were known."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from ldpopt.cli import options
from ldpopt.cli.options import new_picture, new_table
from ldpopt.cli.printing import save_picture, save_table, show, working
from ldpopt.cli.questions import read_any_survey


def regress(
    path: options.QuestionsPath,
    reports: options.Reports,
    formula: Annotated[
        str, typer.Argument(metavar="FORMULA", help='Such as "smokes ~ age + C(region)".')
    ],
    kind: Annotated[
        Literal["logit", "ordered", "mean"],
        typer.Option(help="Logits of the answers, of ordered answers, or the mean of a number."),
    ] = "logit",
    missing: Annotated[
        Literal["refuse", "leave_out"],
        typer.Option(help="What is done with people who have a missing entry."),
    ] = "refuse",
    confidence: options.Confidence = 0.95,
    output: Annotated[
        str | None,
        new_table("-o --output TABLE", "CSV, Parquet, SPSS (.sav) or Stata (.dta)."),
    ] = None,
    plot: Annotated[
        str | None, new_picture("--plot FILE", "Picture of the coefficients with their intervals.")
    ] = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    json: options.Json = None,
) -> None:
    """Regress answers on covariates, from reports.

    Questions of the survey in the formula are protected: the outcome, covariates, or both. Other
    columns of the table are taken as they are. Needs the extra ldpopt[regress].
    """
    from ldpopt.tables.files import require_csv

    require_csv([reports])
    survey = read_any_survey(path)
    with working(f"fitting {formula}"):
        found = survey.regress(formula, reports, kind=kind, missing=missing, confidence=confidence)
    table = found.to_frame().reset_index()
    table.columns = [str(column) for column in table.columns]
    entries: list[dict[str, Any]] = [
        {str(key): cell for key, cell in row.items()} for row in table.to_dict("records")
    ]
    data = {"formula": formula, "kind": kind, "confidence": confidence, "people": found.nobs}
    data |= {"log_likelihood": found.llf, "coefficients": entries}
    show(found.facts(), data, json)
    if output is not None:
        save_table(output, entries)
    if plot is not None:
        save_picture(plot, found.plot())
