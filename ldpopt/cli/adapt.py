"""The command survey adapt: the second stage of a survey, from the reports of the first."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

import typer

from ldpopt.cli import options
from ldpopt.cli.options import new_file, option, share_option
from ldpopt.cli.printing import show, working
from ldpopt.cli.questions import read_survey_file, survey_tables
from ldpopt.foundation.display import Facts


def adapt(
    path: options.SurveyPath,
    reports: Annotated[
        str, options.argument("REPORTS", "Reports of the first stage: a table or a database.")
    ],
    output: Annotated[str, new_file("-o --output FILE", "The second stage, as JSON.")],
    quantile: Annotated[
        float | None,
        share_option("--quantile P", "For a quantile of a number: .5, or 50%, is the median."),
    ] = None,
    normal: Annotated[
        float | None,
        option("--normal SD", "For the mean of a normal distribution with this deviation."),
    ] = None,
    rate: Annotated[
        bool, typer.Option("--rate", help="For the rate of numbers of events (Poisson).")
    ] = False,
    between: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="LOW HIGH",
            help="Least and largest mean or rate (default: those of the numbers).",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        option("--epsilon E", "Budget of the second stage (default: that of the first)."),
    ] = None,
    missing: Annotated[
        Literal["refuse", "leave_out"] | None,
        typer.Option(help="Missing answers in the second stage (default: as in the first)."),
    ] = None,
    until: Annotated[
        str, option("--until DATE", "Last day of the second stage (default: none).")
    ] = "",
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    json: options.Json = None,
) -> None:
    """Make the second stage of a survey from reports of the first.

    Some people, drawn before anybody answers, are asked by SURVEY; everybody else by the file of
    -o, whose mechanism is best near what the reports of the first stage show. It is a survey as any
    other: `survey form`, `survey collect` and `survey report` read it, and `survey estimate` gives
    the quantile, mean or rate with an interval by the second stage alone. Nobody may be in both.
    """
    from ldpopt.tables.files import require_csv

    require_csv([reports])
    first = read_survey_file(path)
    goal: dict[str, Any] = {"quantile": quantile, "normal": normal}
    goal |= {"rate": rate, "between": between}
    with working(f"adapting {Path(path).name} to {Path(reports).name}"):
        second = first.adapt(reports, epsilon=epsilon, missing=missing, until=until, **goal)
    second.save(output)
    parts, data = survey_tables(second)
    form = f"{output}: go on with `ldpopt survey form {quote(output)} -o page.html`"
    show(Facts(second.title, [*parts, form]), data | {"file": output}, json)
