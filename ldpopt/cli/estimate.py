"""The command estimate: numbers from a table of reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ldpopt.cli import options
from ldpopt.cli.conclusions import Conclusions, conclude
from ldpopt.cli.options import new_picture, new_table, option
from ldpopt.cli.printing import (
    picked,
    refuse,
    save_picture,
    save_table,
    say,
    show,
    working,
)
from ldpopt.cli.questions import (
    is_folder,
    is_survey,
    read_questions,
    refuse_options,
    require_folder,
)
from ldpopt.errors import StatementError
from ldpopt.estimation.options import Reading
from ldpopt.foundation.display import Facts, label

if TYPE_CHECKING:
    from ldpopt.surveys.estimates import SurveyEstimate
    from ldpopt.surveys.survey import Survey

OF_SURVEYS = ("followers", "pooled")  # options that mechanisms and designs alone do not have


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
    liars: options.Liars = 0.0,
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
    differences: Annotated[
        str | None,
        option(
            "--differences GROUP",
            "Each group minus this one, with a p-value; 'all': every pair (with --by).",
        ),
    ] = None,
    against: Annotated[
        str | None,
        option("--against REPORTS", "Changes since an earlier wave, of other people."),
    ] = None,
    quantile: Annotated[
        list[float] | None,
        options.share_option(
            "--quantile P",
            "A quantile of each question of numbers or ordered answers (may be given again): .5, "
            "or 50%, is the median.",
        ),
    ] = None,
    test: Annotated[
        bool, typer.Option("--test", help="Test whether all groups answer alike (with --by).")
    ] = False,
    consistent: Annotated[
        bool,
        typer.Option(
            "--consistent", help="Shares of groups that are not negative and add up (with --by)."
        ),
    ] = False,
    followers: options.Followers = False,
    pooled: options.Pooled = False,
    output: Annotated[
        str | None, new_table("-o --output TABLE", "CSV, Parquet, SPSS (.sav) or Stata (.dta).")
    ] = None,
    plot: Annotated[
        str | None, new_picture("--plot FILE", "Picture of the estimates with their intervals.")
    ] = None,
    recursive: options.Recursive = False,
    check_ids: options.CheckIds = None,
    jobs: options.Jobs = 1,
    dask: options.Dask = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    show_values: options.ShowValues = False,
    json: options.Json = None,
) -> None:
    """Estimate frequencies or other numbers from reports.

    For a mechanism: the frequencies of the answers; for a design: the numbers that it is for; for a
    survey: all of its questions, perhaps for each group of people (--by). Estimates are unbiased,
    with score intervals; norm_sub is the nearest distribution without negative shares. If a
    question of a survey has an answer for missing ones, the shares are among those who answered.
    Groups are compared by --differences, --test and --consistent, waves by --against; --quantile
    gives medians of ordered answers, in the unit of the edges of a question that has them. A
    question with behaviors has their shares too; --followers gives those among all others. Where
    people chose their epsilon, estimates are by strata of the choice; --pooled is for budgets that
    were drawn.
    With --liars each interval is widened by what a share of false reports can do, of each group.
    The exit code is 1 if the reports cannot come from the mechanism (p-value below 1e-6).
    """
    from ldpopt.estimation.liars import read_liars

    requested = _request(
        file,
        reports,
        column,
        missing,
        output,
        weights=weights,
        method=method,
        reading=Reading(confidence, simultaneous, check_fit=False, liars=read_liars(liars)),
        pair=pair,
        by=by,
        recursive=recursive,
        check_ids=check_ids,
        jobs=jobs,
        dask=dask,
        conclusions=Conclusions(differences, against, tuple(quantile or ()), test, consistent),
        followers=followers,
        pooled=pooled,
    )
    estimates = _estimates(requested)
    if consistent:
        estimates = estimates.consistent()
    _print(requested, estimates, output, plot, json)


@dataclass(frozen=True)
class EstimateRequest:
    """What is to be estimated, after everything that can be refused beforehand was refused."""

    file: str
    reports: str
    survey: Survey  # of one question for a mechanism or a design
    source: Any  # the mechanism or the design; None for a survey
    weights: str | None
    method: str
    reading: Reading
    pair: tuple[str, str] | None
    by: str | None
    recursive: bool
    check_ids: str | None
    jobs: int
    dask: str | None
    conclusions: Conclusions
    followers: bool = False
    pooled: bool = False

    @property
    def of_survey(self) -> dict[str, bool]:
        """What surveys alone have."""
        return {key: getattr(self, key) for key in OF_SURVEYS}

    @property
    def has_one_estimate(self) -> bool:
        """Whether the result is the estimate of a mechanism or a design, for all people."""
        return self.source is not None and self.by is None


def _request(
    file: str,
    reports: str,
    column: list[str] | None,
    missing: str | None,
    output: str | None,
    *,
    method: str,
    pair: tuple[str, str] | None,
    by: str | None,
    dask: str | None,
    conclusions: Conclusions,
    **options: Any,
) -> EstimateRequest:
    """Refuse options that do not go with each other or with the files, and read the questions."""
    from ldpopt.tables.files import require_csv, require_other_file, result_kind
    from ldpopt.tables.origin import recorded_missing

    require_folder(reports, dask, options["recursive"])
    require_csv([reports, *filter(None, [conclusions.against])])
    if output is not None:
        result_kind(output)
        require_other_file(reports, output)
    recorded = None if is_survey(file) or not column else recorded_missing(reports, column[0])
    survey, source = read_questions(file, column, missing=missing or recorded)
    if len(column or ()) > 1:
        raise typer.BadParameter(f"{len(column or ())} columns are given: estimate one at a time")
    if source is None:
        refuse_options({"--method": method != "inversion"}, file)
    else:
        options_of_surveys = {f"--{key}": options[key] for key in OF_SURVEYS}
        refuse_options(options_of_surveys, file, "a survey")
    for key in OF_SURVEYS:
        if pair is not None and options[key]:
            raise typer.BadParameter(f"--{key} does not go with --pair: leave one of them out")
    if by in survey.asked:
        raise typer.BadParameter(
            f"--by {by}: the column has reports, not groups; --pair QUESTION QUESTION is the "
            "table of two questions"
        )
    if by is not None and pair is not None:
        raise typer.BadParameter(
            "--by does not go with --pair: name a file with the rows of one group, for each group"
        )
    if by is not None and method != "inversion":
        raise typer.BadParameter("--by does not go with --method: leave one of them out")
    if pair is not None and source is not None:
        raise typer.BadParameter("--pair is for a survey: leave it out")
    if is_folder(reports) and not _counts_files(survey, pair):
        engines = {"-j": options["jobs"] != 1, "--dask": dask}
        for name, value in (engines | {"--recursive": options["recursive"]}).items():
            if value:
                why = "a sample of strata or clusters" if pair is None else "--pair"
                raise typer.BadParameter(
                    f"{name} does not go with {why}, for which the files of {reports} are read "
                    f"one after the other: leave {name} out"
                )
    conclusions.require_fitting(reports, by, pair, method)
    options |= {"method": method, "pair": pair, "by": by, "dask": dask}
    options["conclusions"] = conclusions
    return EstimateRequest(file, reports, survey, source, **options)


def _estimates(requested: EstimateRequest) -> SurveyEstimate:
    """Count the reports and estimate; a pair of questions counts as one question."""
    from ldpopt.surveys.count import counts_of_all
    from ldpopt.surveys.estimates import SurveyEstimate, estimate_survey

    survey = requested.survey
    weights = requested.weights
    reading = dict(vars(requested.reading))
    table: Any = requested.reports
    if requested.check_ids is not None:
        from ldpopt.studies.ids import check_ids

        with working(f"comparing ids in {Path(requested.reports).name}"):
            check_ids(requested.reports, requested.check_ids, recursive=requested.recursive)
    if is_folder(requested.reports) and _counts_files(survey, requested.pair):
        table = _count_folder(requested)
    with working(f"counting {Path(requested.reports).name}"):
        if requested.pair is not None:
            both = survey.estimate_pair(table, *requested.pair, weights=weights, **reading)
            return SurveyEstimate({" and ".join(requested.pair): both}, title=survey.title)
        if requested.source is None:
            reading |= {"by": requested.by, **requested.of_survey}
            return survey.estimate(table, weights=weights, **reading)
        # reports of a mechanism are recognized by the mechanism, in whatever survey they are
        if requested.method == "inversion":
            return estimate_survey(survey, table, weights, requested.by, requested.reading)
        if not survey.sample.is_plain:
            raise StatementError(
                "the most likely shares have no errors of a sample with strata, clusters, a "
                "population or margins",
                code="method-of-sample",
                where="--method",
                do="use the method inversion",
            )
        if isinstance(table, str):
            counts = counts_of_all(survey, survey.columns, table, weights)
        else:
            counts = table
        return SurveyEstimate(
            {name: _most_likely(requested, counted) for name, counted in counts.items()}
        )


def _counts_files(survey: Survey, pair: tuple[str, str] | None) -> bool:
    """Whether counts of each question and file are enough; else the rows of all files are read."""
    return pair is None and survey.sample.is_plain


def _count_folder(requested: EstimateRequest) -> dict[str, Any]:
    """Count the reports of each question in a folder."""
    from ldpopt.studies.folders import count_folder

    task = f"counting {Path(requested.reports).name}"
    with options.running(task, requested.jobs, requested.dask) as run:
        return count_folder(
            requested.reports,
            requested.survey,
            weights=requested.weights,
            by=requested.by,
            recursive=requested.recursive,
            **picked(run, "jobs", "executor", "progress"),
        )


def _most_likely(requested: EstimateRequest, counts: Any) -> Any:
    """Estimate the frequencies of a mechanism by maximum likelihood."""
    from ldpopt.estimation.inversion import estimate_frequencies
    from ldpopt.mechanism.mechanism import Mechanism

    source = requested.source
    if not isinstance(source, Mechanism):
        problem = (
            "--method maximum_likelihood is for a mechanism alone; a design has its own "
            "unbiased estimator"
        )
        raise StatementError(problem, code="method", do="leave --method out")
    reading = vars(requested.reading)
    return estimate_frequencies(source, counts, method="maximum_likelihood", **reading)


def _print(
    requested: EstimateRequest,
    estimates: SurveyEstimate,
    output: str | None,
    plot: str | None,
    json: str | None,
) -> None:
    """Show the estimates, write the files, and then warn of reports that fit badly, or refuse
    them.
    """
    from ldpopt.tables.origin import lacks_origin

    is_origin_known = not lacks_origin(requested.reports)
    data = _data(requested, estimates, is_origin_known)
    if requested.has_one_estimate:
        (single,) = estimates.values()
        facts = single.facts()
    else:
        facts = replace(estimates, title=requested.survey.title or requested.file).facts()
    rows = "estimates"
    concluded = conclude(
        requested.conclusions,
        replace(estimates, title=requested.survey.title or requested.file),
        requested.survey,
        {"weights": requested.weights, **requested.of_survey},
        requested.reading,
    )
    if concluded is not None:
        facts, rows, entries = concluded
        data |= {rows: entries}
    at_once = ", all at once" if requested.reading.simultaneous else ""
    show(Facts(facts.title + at_once, facts.parts), data, json)
    if output is not None:
        save_table(output, data[rows], requested.survey.title)
    if plot is not None:
        from ldpopt.plotting.plot import plot as picture

        is_alone = len(estimates) == 1 and requested.by is None
        save_picture(plot, picture(next(iter(estimates.values())) if is_alone else estimates))
    p_values = {name: estimate.fit for name, estimate in estimates.items()}
    _check_fit(p_values, requested.reports, is_origin_known)


def _data(
    requested: EstimateRequest, estimates: SurveyEstimate, is_origin_known: bool
) -> dict[str, Any]:
    """The estimates as JSON data: one of a mechanism or a design, or those of all questions."""
    data = picked(requested.reading, "confidence", "simultaneous", "liars")
    if requested.has_one_estimate:
        (single,) = estimates.values()
        data = picked(single, "method", "n_reports") | data
        data |= {"p_value": single.fit, "design_effect": _largest_effect(single)}
        return data | {"origin_known": is_origin_known, "estimates": _entries(single)}
    data["p_values"] = {name: estimate.fit for name, estimate in estimates.items()}
    data["design_effects"] = {name: _largest_effect(each) for name, each in estimates.items()}
    data |= {"origin_known": is_origin_known, "estimates": estimates.entries()}
    return data if requested.by is None else data | {"by": requested.by}


def _largest_effect(estimate: Any) -> float | None:
    """The largest design effect of the weights; None without weights."""
    return None if estimate.effect is None else float(estimate.effect.max())


def _entries(estimate: Any) -> list[dict[str, Any]]:
    """Estimates one by one: with intervals, and of frequencies the nearest distribution."""
    columns = {"number" if estimate.method == "design" else "answer": estimate.labels or ()}
    columns |= {"estimate": estimate.values.tolist(), "std_error": estimate.shown_errors}
    columns |= {"low": estimate.interval[:, 0].tolist(), "high": estimate.interval[:, 1].tolist()}
    if estimate.nearest_shares is not None:
        columns["norm_sub"] = estimate.nearest_shares
    if estimate.liars:
        columns["liars"] = [estimate.liars] * len(estimate.values)
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
        problem = (
            f"column {label(name)} does not look like reports of its mechanism ({shown}); are "
            "they raw answers?"
        )
        if chance < IMPOSSIBLE:
            refuse(
                problem, "pass what `ldpopt privatize` wrote, and the mechanism that it was given"
            )
        say(f"warning: {problem}")
