"""The command values: numbers of single reports, for any other program."""

from __future__ import annotations

from typing import Annotated

from ldpopt.cli import options
from ldpopt.cli.options import new_table, option
from ldpopt.cli.printing import save_table, say, show, working
from ldpopt.cli.questions import read_any_survey


def values(
    path: options.QuestionsPath,
    reports: options.Reports,
    output: Annotated[
        str, new_table("-o --output TABLE", "The values: CSV, Parquet, SPSS (.sav), Stata (.dta).")
    ],
    question: Annotated[
        list[str] | None,
        option("--question NAME", "Only this question (may be given again; default: all)."),
    ] = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    json: options.Json = None,
) -> None:
    """Write each report as numbers that average to the estimates.

    One row for each person, in their order, and one column for each answer of a question. Any other
    program can average them by group, weight them, or take them as the outcome of a linear
    regression. They reveal no more than the report.
    """
    from ldpopt.surveys.values import shares_of_all
    from ldpopt.tables.files import require_csv, require_other_file, result_kind

    result_kind(output)
    require_other_file(reports, output)
    require_csv([reports])
    survey = read_any_survey(path)
    with working(f"reading {reports}"):
        table = survey.values(reports, questions=question)
    rows = table.to_dict("records")
    save_table(
        output, [{key: _number(value) for key, value in row.items()} for row in rows], survey.title
    )
    for name, others in shares_of_all(survey, question).items():
        say(
            f"note: {name}: the means are shares of all people; `survey estimate` divides them by "
            f"1 less the means of {' and '.join(map(repr, others))}"
        )
    data = {"file": output, "people": len(table), "columns": list(table)}
    show(f"{output}: {len(table):,} people, {len(table.columns)} columns", data, json)


def _number(value: float) -> float | None:
    """A number, or None where somebody has no report."""
    return None if value != value else float(value)
