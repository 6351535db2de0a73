"""The command report: one page about a model's mechanism or a survey, for people who decide."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ldpopt.cli import options
from ldpopt.cli.options import new_file, option
from ldpopt.cli.printing import show, working
from ldpopt.cli.questions import is_survey, read_survey_file, refuse_options
from ldpopt.foundation.files import replacing


def report(
    file: options.ModelOrSurveyPath,
    output: Annotated[str, new_file("-o --output FILE", "The page, as HTML.")],
    people: Annotated[
        int | None,
        option("--people N", "How many people will answer: how precise the results are.", min=1),
    ] = None,
    waves: Annotated[
        int | None,
        option(
            "--waves N", "How often the same people answer (default: as the survey says).", min=1
        ),
    ] = None,
    where: Annotated[
        Literal["device", "office"] | None,
        typer.Option(help="Where reports are drawn (default: the page has both, to tick one)."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        option(
            "--keep NAME", "A column that is kept unprotected beside the reports; may be repeated."
        ),
    ] = None,
    groups: Annotated[
        str | None,
        option(
            "--groups TABLE",
            "For a survey: people by group, with the columns people, region or others.",
        ),
    ] = None,
    invited: Annotated[
        bool, option("--invited", "For a survey: each person has a link for one report.")
    ] = False,
    to: Annotated[
        str | None,
        option(
            "--to URL",
            "For a survey: where its page sends reports, for the fingerprint of the page.",
        ),
    ] = None,
    budgets: Annotated[
        bool,
        option(
            "--budgets/--no-budgets",
            "For a model: include other budgets, from a quarter to four times.",
        ),
    ] = True,
    time_limit: options.TimeLimit = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    json: options.Json = None,
) -> None:
    """Write one page on a model or a survey, for an ethics board.

    It has the questions in words, what each person risks, who draws the reports and where, what
    stays unprotected, how precise the results are for a number of people, the proof, and how to
    repeat the computation. It needs no network and no scripts, and can be printed. For a model with
    a workload it describes the design.
    """
    from ldpopt.plotting.report import report as page
    from ldpopt.problem.modelfile import read_model
    from ldpopt.tables.files import require_csv

    require_csv([] if groups is None else [groups])
    subject: Any
    contents: dict[str, Any] = {
        "people": people,
        "waves": waves,
        "where": where,
        "keep": keep or [],
    }
    if is_survey(file):
        refuse_options({"--no-budgets": not budgets, "--time-limit": time_limit}, file, "a model")
        subject = read_survey_file(file)
        contents |= {"to": to, "groups": _groups(subject, groups, invited, people)}
    else:
        refuse_options({"--groups": groups, "--invited": invited, "--to": to}, file, "a survey")
        subject = read_model(file)
        contents |= {"budgets": budgets, "time_limit": time_limit}
    source = Path(file).read_text(encoding="utf-8") if Path(file).suffix.lower() == ".toml" else ""
    with working(f"reporting on {Path(file).name}") as describe:
        text = page(subject, source=source, title=Path(file).stem, progress=describe, **contents)
    with replacing(output) as stream:
        stream.write(text)
    show(
        f"{output}: open it in a browser",
        {"file": output, "title": subject.title, "bytes": len(text.encode())},
        json,
    )


def _groups(survey: Any, path: str | None, invited: bool, people: int | None) -> Any:
    """The groups of people in a table, or all people who have a link as one of them."""
    from ldpopt.surveys.groups import Group, read_groups

    if path is not None and invited:
        raise typer.BadParameter(
            "--groups and --invited: groups that come with links are fields of the survey, which "
            "says so; leave --invited out"
        )
    if path is not None:
        return read_groups(path, survey.fields or None)
    return [Group(people or 0, {})] if invited else None
