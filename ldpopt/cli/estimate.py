"""The command estimate: numbers from a table of reports."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ldpopt.cli import options
from ldpopt.cli.options import new_file, new_picture, option
from ldpopt.cli.printing import progress_bar, refuse, save_picture, save_table, say, show, working
from ldpopt.cli.questions import (
    is_folder,
    is_survey,
    read_questions,
    refuse_options,
    require_folder,
)
from ldpopt.errors import StatementError
from ldpopt.foundation.display import Facts, label


def estimate(
    file: options.QuestionsPath,
    reports: options.Reports,
    column: options.Columns = None,
    weights: Annotated[
        str | None,
        option(
            "--weights COLUMN",
            "Column with the weight of each respondent (default: that of a survey).",
        ),
    ] = None,
    missing: options.Missing = None,
    method: Annotated[
        Literal["inversion", "maximum_likelihood"],
        typer.Option(help="Estimator of a mechanism: unbiased inversion, or maximum likelihood."),
    ] = "inversion",
    confidence: options.Confidence = 0.95,
    simultaneous: options.Simultaneous = False,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="QUESTION QUESTION",
            help="The table of two questions of a survey (joint or split).",
        ),
    ] = None,
    by: Annotated[
        str | None, option("--by COLUMN", "Estimate for each group of people, such as a region.")
    ] = None,
    output: Annotated[
        str | None, new_file("-o --output TABLE", "The table as CSV or Parquet, by the ending.")
    ] = None,
    plot: Annotated[
        str | None, new_picture("--plot FILE", "Picture of the estimates with their intervals.")
    ] = None,
    jobs: options.Jobs = 1,
    dask: options.Dask = None,
    show_values: options.ShowValues = False,
    json: options.Json = None,
) -> None:
    """Estimate frequencies or other numbers from reports.

    For a mechanism: the frequencies of the answers; for a design: the numbers that it is for; for a
    survey: all of its questions, perhaps for each group of people (--by). Estimates are unbiased,
    with score intervals; norm_sub is the nearest distribution without negative shares. If a
    question of a survey has an answer for missing ones, the shares are among those who answered.
    The exit code is 1 if the reports cannot come from the mechanism (p-value below 1e-6).
    """
    from ldpopt.surveys.estimates import SurveyEstimate
    from ldpopt.tables.files import kind_of, require_other_file
    from ldpopt.tables.origin import lacks_origin, recorded_missing

    require_folder(reports, dask)
    if output is not None:
        kind_of(output)
        require_other_file(reports, output)
    recorded = None if is_survey(file) or not column else recorded_missing(reports, column[0])
    survey, source = read_questions(file, column, missing=missing or recorded)
    if len(column or ()) > 1:
        raise typer.BadParameter(f"{len(column or ())} columns are given: estimate one at a time")
    if source is None:
        refuse_options({"--method": method != "inversion"}, file)
    how: dict[str, Any] = {
        "confidence": confidence,
        "simultaneous": simultaneous,
        "check_fit": False,
    }
    if by is not None and pair is not None:
        raise typer.BadParameter(
            "--by does not go with --pair: name a file with the rows of one group, for each group"
        )
    if by is not None and method != "inversion":
        raise typer.BadParameter("--by does not go with --method: leave one of them out")
    if pair is not None and source is not None:
        raise typer.BadParameter("--pair is for a survey: leave it out")
    table: Any = reports
    if is_folder(reports):
        refuse_options({"--pair": pair, "--by": by}, reports, "one file of reports")
        table = _count_folder(survey, reports, weights, jobs, dask)
    with working(f"counting {Path(reports).name}"):
        if pair is not None:
            one = survey.estimate_pair(reports, *pair, weights=weights, **how)
            found = SurveyEstimate({" and ".join(pair): one}, title=survey.title)
        elif method == "inversion":
            found = survey.estimate(table, weights=weights, by=by, **how)
        else:
            counts = table if is_folder(reports) else survey.count(reports, weights=weights)
            found = SurveyEstimate(
                {name: _most_likely(source, own, **how) for name, own in counts.items()}
            )
    p_values = {name: one.fit for name, one in found.items()}
    is_origin_known = not lacks_origin(reports)
    data: dict[str, Any] = {"confidence": confidence, "simultaneous": simultaneous}
    if source is None or by is not None:
        data |= {
            "p_values": p_values,
            "origin_known": is_origin_known,
            "estimates": found.entries(),
        }
        data |= {} if by is None else {"by": by}
        facts = replace(found, title=survey.title or file).facts()
    else:
        (one,) = found.values()
        (p_value,) = p_values.values()
        data = {"method": one.method, "n_reports": one.n_reports} | data
        data |= {"p_value": p_value, "origin_known": is_origin_known, "estimates": _entries(one)}
        facts = one.facts()
    facts = Facts(facts.title + (", all at once" if simultaneous else ""), facts.parts)
    show(facts, data, json)
    if output is not None:
        save_table(output, data["estimates"])
    if plot is not None:
        from ldpopt.plotting.plot import plot as picture

        alone = len(found) == 1 and by is None
        save_picture(plot, picture(next(iter(found.values())) if alone else found))
    _check_fit(p_values, reports, is_origin_known)


def _count_folder(
    survey: Any, reports: str, weights: str | None, jobs: int, dask: str | None
) -> dict[str, Any]:
    """Count the reports of each question in a folder."""
    from ldpopt.studies.folders import count_folder

    with (
        progress_bar(f"counting {Path(reports).name}") as progress,
        options.executor_of(dask, jobs) as executor,
    ):
        how: dict[str, Any] = {"jobs": jobs, "executor": executor, "progress": progress}
        return count_folder(reports, survey, weights=weights, **how)


def _most_likely(source: Any, counts: Any, **how: Any) -> Any:
    """Estimate the frequencies of a mechanism by maximum likelihood."""
    from ldpopt.estimation.inversion import estimate_frequencies
    from ldpopt.mechanism.mechanism import Mechanism

    if not isinstance(source, Mechanism):
        what = (
            "--method maximum_likelihood is for a mechanism alone; a design has its own "
            "unbiased estimator"
        )
        raise StatementError(what, do="leave --method out")
    return estimate_frequencies(source, counts, method="maximum_likelihood", **how)


def _entries(found: Any) -> list[dict[str, Any]]:
    """Estimates one by one: with intervals, and of frequencies the nearest distribution."""
    columns = {"number" if found.method == "design" else "answer": found.labels or ()}
    columns |= {"estimate": found.values.tolist(), "std_error": found.std_error.tolist()}
    columns |= {"low": found.interval[:, 0].tolist(), "high": found.interval[:, 1].tolist()}
    if found.is_distribution and found.method == "inversion" and len(found.values) > 1:
        columns["norm_sub"] = found.norm_sub().values.tolist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _check_fit(p_values: dict[str, float | None], reports: str, is_origin_known: bool) -> None:
    """Warn of reports that fit their mechanism badly or have no known origin; refuse those that
    cannot come from it.
    """
    from ldpopt.estimation.fit import DOUBTFUL, IMPOSSIBLE
    from ldpopt.tables.origin import BESIDE

    if not is_origin_known and all(
        chance is None or chance >= DOUBTFUL for chance in p_values.values()
    ):
        is_csv = Path(reports).suffix.lower() in (".csv", ".txt")
        beside = f" (no {Path(reports).name}{BESIDE} beside it)" if is_csv else ""
        table = "the table" if reports == "-" else reports
        say(
            f"note: {table} does not say which mechanism drew its reports{beside}: raw answers can "
            "pass for reports"
        )
    for name, chance in p_values.items():
        if chance is None or chance >= DOUBTFUL:
            continue
        shown = f"p-value {max(chance, 1e-300):.0e}"
        what = (
            f"column {label(name)} does not look like reports of its mechanism ({shown}); are "
            "they raw answers?"
        )
        if chance < IMPOSSIBLE:
            refuse(what, "pass what `ldpopt privatize` wrote, and the mechanism that it was given")
        say(f"warning: {what}")
