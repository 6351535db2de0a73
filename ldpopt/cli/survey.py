"""The commands on surveys: init, check, solve, audit, plan, report, form, collect and others."""

from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from ldpopt.cli import options
from ldpopt.cli.account import account
from ldpopt.cli.adapt import adapt
from ldpopt.cli.audit import audit
from ldpopt.cli.backup import backup
from ldpopt.cli.certify import certify
from ldpopt.cli.check import check
from ldpopt.cli.collect import collect
from ldpopt.cli.estimate import estimate
from ldpopt.cli.form import form
from ldpopt.cli.invite import invite
from ldpopt.cli.options import argument, new_file, new_table, option
from ldpopt.cli.plan import plan
from ldpopt.cli.printing import save_table, say, show, working, write_new
from ldpopt.cli.privatize import privatize
from ldpopt.cli.questions import read_any_survey, survey_tables
from ldpopt.cli.regress import regress
from ldpopt.cli.report import report
from ldpopt.cli.status import status
from ldpopt.cli.values import values
from ldpopt.foundation.display import Facts, Part, Table, label
from ldpopt.foundation.sentences import above_text, below_text

SHARES = "write a table for each question: [smokes], and below it no = 0.8 and yes = 0.2"

survey = typer.Typer(rich_markup_mode=None)


@survey.callback(invoke_without_command=True)
def top(context: typer.Context) -> None:
    """Surveys of several questions."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def init(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The survey file to write.")
    ] = "survey.toml",
    json: options.Json = None,
) -> None:
    """Write a survey file with comments, as a starting point.

    It can be solved as it is; an existing file is not replaced.
    """
    from ldpopt.surveys.statement import template

    path = write_new(file, template())
    show(
        f"{path}: edit it, then `ldpopt survey solve {quote(str(path))}`", {"file": str(path)}, json
    )


def solve(
    path: options.SurveyPath,
    output: Annotated[str | None, new_file("-o --output FILE", "Survey as JSON.")] = None,
    json: options.Json = None,
) -> None:
    """Find the best mechanism for each question.

    The file written by -o contains all of them and the budget of a person. `survey privatize` and
    `survey estimate` read it.
    """
    from ldpopt.surveys.overview import spent_in_words
    from ldpopt.surveys.statement import read_survey
    from ldpopt.surveys.survey import Survey

    statement = read_survey(path)
    with working(f"solving {Path(path).name}"):
        solved = statement.solve(Survey)
    if output is not None:
        solved.save(output)
    tables, data = survey_tables(solved)
    parts: list[Part] = [
        *tables,
        f"each person spends {spent_in_words(solved)}; {statement.why or solved.scheme}",
    ]
    if solved.joint is not None:
        proof = solved.joint.certificate
        data["certificate"] = {"achieved": float(proof.achieved), "bound": float(proof.bound)}
        data["certificate"]["relative_gap"] = proof.relative_gap
        spread = f"variance {float(proof.achieved):.6g} of one person's numbers in all"
        parts.append(f"one report on all questions: {spread}")
        parts.append(
            f"no private report has less than {below_text(proof.bound, 6)}, relative gap "
            f"{above_text(proof.relative_gap, 2)}"
        )
    show(Facts(solved.title, parts), data, json)
    for warning in statement.warnings(solved):
        say(f"warning: {warning}")


def export(
    reports: Annotated[
        str, argument("DATABASE|TABLE", "URL of a database, or a table of reports.")
    ],
    output: Annotated[
        str,
        new_table("-o --output TABLE", "CSV, Parquet, SPSS (.sav) or Stata (.dta), by the ending."),
    ],
    of: Annotated[
        str | None,
        option("--survey SURVEY", "The survey of a table of reports: what each report means."),
    ] = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    show_values: options.ShowValues = False,
    json: options.Json = None,
) -> None:
    """Write the reports of a database or a table to a file.

    The rows of a database are in the order of their random ids, which are left out. CSV and Parquet
    get the origin of the reports, and `survey estimate` reads them. A file of SPSS or Stata has
    codes, with labels that say what each report means, and that it is random.
    """
    from ldpopt.surveys.export import export_reports
    from ldpopt.tables.files import require_csv, require_other_file, result_kind

    result_kind(output)
    require_other_file(reports, output)
    require_csv([reports])
    survey = None if of is None else read_any_survey(of)
    with working("reading the reports"):
        done = export_reports(reports, output, survey)
    if not done.is_known:
        say("note: name the survey (--survey) to have the meaning of each report in the file")
    renamed = [f"{label(name)} is {variable}" for name, variable in done.renamed.items()]
    if renamed:
        say(f"note: names as these programs allow them: {', '.join(renamed)}")
    data = {"file": output, "reports": done.reports, "renamed": done.renamed}
    show(f"{output}: {done.reports:,} reports", data, json)


def codebook(
    path: options.QuestionsPath,
    matrix: Annotated[
        bool,
        option("--matrix", "The probability of each report under each answer, for other programs."),
    ] = False,
    output: Annotated[
        str | None, new_table("-o --output TABLE", "As CSV, Parquet, SPSS (.sav) or Stata (.dta).")
    ] = None,
    json: options.Json = None,
) -> None:
    """Show which answers each report in a table comes from most often.

    The last column says how many times as often the likeliest answer gives the report as the
    unlikeliest one. With --matrix a row has a question, an answer, a report and its probability:
    what other packages for randomized response take.
    """
    from ldpopt.surveys.codebook import codebook as rows_of
    from ldpopt.surveys.codebook import matrix_of
    from ldpopt.tables.files import result_kind

    if output is not None:
        result_kind(output)
    survey = read_any_survey(path)
    rows = matrix_of(survey) if matrix else rows_of(survey)
    cells = [[label(row["column"]), *list(row.values())[1:]] for row in rows]
    headings = ["column", "report", "likeliest for", "times"]
    title = "Codebook of reports"
    if matrix:
        headings = ["column", "answer", "code", "report", "probability"]
        title = "Probabilities of reports"
    words = ["likeliest for", "answer"]
    table = Table(headings, cells, words=[word for word in words if word in headings], digits=4)
    show(Facts(title, [table]), {"probabilities" if matrix else "reports": rows}, json)
    if output is not None:
        save_table(output, rows, f"{title}: {survey.title or Path(path).stem}")


def simulate(
    path: options.QuestionsPath,
    people: Annotated[int, option("--people N", "How many people answer.", min=1)],
    shares: Annotated[
        str | None,
        option(
            "--shares FILE",
            "TOML with the supposed shares: a table for each question, or each tick.",
        ),
    ] = None,
    repeats: Annotated[int, option("--repeats K", "Number of simulated surveys.", min=2)] = 200,
    confidence: options.Confidence = 0.95,
    seed: Annotated[int | None, option("--seed N", "Repeatable draws.", min=0)] = None,
    json: options.Json = None,
) -> None:
    """Simulate a survey: errors and coverage, before anybody is asked.

    Answers are drawn with the supposed shares (default: the prior of a question, else equal
    shares), privatized and estimated again and again.
    """
    from ldpopt.problem.modelfile.page import Page
    from ldpopt.studies.survey_simulation import simulate_survey, supposed_shares

    survey = read_any_survey(path)
    stated = None if shares is None else Page(shares, "shares in TOML", SHARES).data
    supposed = supposed_shares(survey, stated).items()
    if equal := [
        label(name)
        for name, prior in supposed
        if name not in (stated or {}) and prior.min() == prior.max()
    ]:
        say(
            f"note: equal shares of the answers are supposed for {', '.join(equal)}; --shares FILE "
            "states others"
        )
    arguments: dict[str, Any] = {"repeats": repeats, "confidence": confidence, "rng": seed}
    with working(f"simulating {repeats} surveys"):
        errors = simulate_survey(survey, people, shares=stated, **arguments)
    rows = errors.to_dict("records")
    table = [
        [label(row["question"]), label(row["answer"]), *list(row.values())[2:]] for row in rows
    ]
    headings = ["question", "answer", "truth", "error", "coverage", "half-width"]
    title = f"{repeats} simulated surveys of {people:,} people, {100 * confidence:g} % intervals"
    show(
        Facts(title, [Table(headings, table, words=["answer"], digits=4)]),
        {"estimates": rows},
        json,
    )


COMMANDS = (
    init,
    check,
    solve,
    audit,
    account,
    certify,
    plan,
    adapt,
    codebook,
    simulate,
    report,
    form,
    collect,
    invite,
    status,
    backup,
    privatize,
    estimate,
    regress,
    values,
    export,
)
for _command in COMMANDS:
    survey.command()(_command)
