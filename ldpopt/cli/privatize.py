"""The command privatize: answers of a table become reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli import options
from ldpopt.cli.options import option
from ldpopt.cli.printing import picked, require_writable_table, say, show, working
from ldpopt.cli.questions import is_folder, read_questions, require_folder
from ldpopt.foundation.display import label

if TYPE_CHECKING:
    from ldpopt.mechanism.keyed import SecretKey
    from ldpopt.surveys.survey import Survey


def privatize(
    file: options.QuestionsPath,
    answers: options.Answers,
    output: Annotated[
        str,
        option("-o --output REPORTS", "CSV or Parquet by the ending; '-' for stdout; or a folder."),
    ],
    column: options.Columns = None,
    keep: Annotated[
        list[str] | None, option("--keep NAME", "Copy this column unprotected; may be repeated.")
    ] = None,
    missing: options.Missing = None,
    missing_answer: Annotated[
        str | None, option("--missing-answer LABEL", "The answer for a missing one.")
    ] = None,
    key: Annotated[
        str | None,
        option(
            "--key FILE", "File with a secret key: the same id and answer give the same report."
        ),
    ] = None,
    identity: Annotated[str | None, option("--id COLUMN", "Ids of the records, for --key.")] = None,
    again: Annotated[
        bool, option("--again", "Privatize columns that are reports already, as a second layer.")
    ] = False,
    seed: Annotated[
        int | None, option("--seed N", "Repeatable draws, for tests only.", min=0)
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
    """Replace the answers of a table by private reports.

    The table is a file or a folder of files; all questions of a survey are privatized in one pass.
    Reports are drawn with the operating system's random numbers, or from a key and the ids of the
    records. All other columns would be unprotected; they are dropped, unless --keep names them.
    Answers are matched with the mechanism's labels as text. A file is written completely or not at
    all. Every file of a folder is read or refused by name (-j, --dask and --recursive are for
    folders); a repeated command continues where the last one stopped, and no file is replaced.
    Beside the reports, NAME.inventory.json says which files they have, for estimates;
    NAME.sources.json has what was read: keep it with the answers. A column that is a report
    already, as its file says, is refused; with --again a second layer is drawn, and estimates need
    the product of both mechanisms.
    """
    requested = _request(
        file,
        answers,
        output,
        column,
        {"missing": missing, "missing_answer": missing_answer},
        kept=keep or [],
        key=key,
        identity=identity,
        again=again,
        seed=seed,
        recursive=recursive,
        check_ids=check_ids,
        jobs=jobs,
        dask=dask,
        json=json,
    )
    total, dropped = _reports(requested)
    _print(requested, total, dropped, json)


@dataclass(frozen=True)
class PrivatizeRequest:
    """What is to be privatized, after everything that can be refused beforehand was refused."""

    survey: Survey  # of one question for each column for a mechanism or a design
    source: Any  # the mechanism or the design; None for a survey
    answers: str
    output: str
    kept: list[str]
    secret: SecretKey | None
    identity: str | None
    again: bool
    seed: int | None
    recursive: bool
    check_ids: str | None
    jobs: int
    dask: str | None


def _request(
    file: str,
    answers: str,
    output: str,
    column: list[str] | None,
    missing: dict[str, Any],
    *,
    key: str | None,
    identity: str | None,
    seed: int | None,
    dask: str | None,
    json: str | None,
    **others: Any,
) -> PrivatizeRequest:
    """Refuse options that do not go with each other or with the files, and read key and
    questions.
    """
    from ldpopt.mechanism.keyed import SecretKey
    from ldpopt.tables.files import require_csv

    if (key is None) != (identity is None):
        raise typer.BadParameter(
            "--key and --id belong together: the secret, and the column of the ids"
        )
    if key is not None and seed is not None:
        raise typer.BadParameter(
            "draws come from a --key or from a --seed, not from both: leave one out"
        )
    if json == "-" and output == "-":
        raise typer.BadParameter(
            "the reports and the JSON cannot both go to stdout: name a file with -o or --json"
        )
    require_csv([answers])
    secret = None if key is None else SecretKey.load(key)
    require_folder(answers, dask, others["recursive"])
    require_writable_table(None if output == "-" or is_folder(answers) else output)
    options.require_distinct(column or [], "column {} is named twice", do="name each column once")
    survey, source = read_questions(file, column, **missing)
    others |= {"secret": secret, "identity": identity, "seed": seed, "dask": dask}
    return PrivatizeRequest(survey, source, answers, output, **others)


def _reports(requested: PrivatizeRequest) -> tuple[int, list[str]]:
    """Write the reports, after a warning of what is not private; return the number of rows and
    the columns that were not copied.
    """
    if requested.check_ids is not None:
        from ldpopt.studies.ids import check_ids

        with working(f"comparing ids in {Path(requested.answers).name}"):
            check_ids(requested.answers, requested.check_ids, recursive=requested.recursive)
    if is_folder(requested.answers):
        _warn(requested)
        return _privatize_folder(requested), []
    from ldpopt.mechanism.keyed import Keyed
    from ldpopt.mechanism.privatizing import privatize_file

    survey = requested.survey
    dropped = list[str]()

    def announce(columns: Sequence[str]) -> None:
        _warn(requested)
        dropped.extend(columns)

    with working(f"privatizing {Path(requested.answers).name}"):
        total = privatize_file(
            requested.answers,
            requested.output,
            survey.asked,
            keep=survey.kept(requested.kept),
            rng=requested.seed,
            keyed=Keyed.read(requested.secret, requested.identity, requested.seed),
            again=requested.again,
            one_question=survey.one_question,
            announce=announce,
        )
    return total, dropped


def _privatize_folder(requested: PrivatizeRequest) -> int:
    """Write the reports of a folder, with a progress bar."""
    from ldpopt.studies.folders import privatize_folder

    source = requested.answers
    target = requested.output
    if target == "-" or Path(target).suffix:
        raise typer.BadParameter(
            f"{source} is a folder: its reports go to a folder, not to {target}"
        )
    task = f"privatizing {Path(source).name}"
    with options.running(task, requested.jobs, requested.dask) as run:
        return privatize_folder(
            source,
            target,
            requested.survey,
            keep=requested.kept,
            rng=requested.seed,
            key=requested.secret,
            id=requested.identity,
            again=requested.again,
            recursive=requested.recursive,
            **picked(run, "jobs", "executor", "progress"),
        )


def _print(requested: PrivatizeRequest, total: int, dropped: list[str], json: str | None) -> None:
    """Show what was written and what was not, and the budget that each person has spent."""
    from ldpopt.surveys.overview import spent_in_words

    if dropped:
        names = ", ".join(map(label, dropped[:10])) + (", ..." if len(dropped) > 10 else "")
        say(
            f"note: not copied: {names}; --keep NAME copies a column, unprotected, such as "
            "groups for `ldpopt estimate --by`"
        )
    if total == 0:
        say("note: the table has a header and no rows")
    survey = requested.survey
    output = requested.output
    columns = list(survey.questions)
    data: dict[str, Any] = {"rows": total}
    done = f"{output}: {total:,} reports"
    if requested.source is None:
        data |= {"questions": columns, "epsilon": survey.epsilon, "output": output}
        done = f"{output}: {total:,} people, {spent_in_words(survey)} a person"
    else:
        secret = requested.secret
        data |= {"column": columns[0], "columns": columns, "kept": requested.kept}
        data |= {"output": output, "key": None if secret is None else secret.name}
    show(None if output == "-" else done, data, json)


def _warn(requested: PrivatizeRequest) -> None:
    """Say what is not private, before anything is written."""
    from ldpopt.estimation.inversion import why_not_estimable
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.surveys.risks import SPENT, UNANSWERED_NOTE, Risks

    survey = requested.survey
    facts = Risks(survey)
    source = requested.source
    if isinstance(source, Mechanism) and (useless := why_not_estimable(source)):
        say(f"warning: {useless}")
    if source is None or len(survey.questions) > 1:
        say(f"note: {SPENT.say(facts)}")
    if requested.seed is not None:
        say("note: anybody who knows the --seed can undo the draws; use it for tests only")
    if is_folder(requested.answers):
        from ldpopt.tables.folder import parts_of
        from ldpopt.tables.places import place_of

        beside = parts_of(place_of(requested.answers), requested.recursive).beside
        if beside:
            say(f"note: without rows, by their content: {', '.join(map(label, beside))}")
    if survey.unprotected:
        say(f"note: {UNANSWERED_NOTE.say(facts)}")
    if kept := survey.kept(requested.kept):
        say(f"note: not protected: {', '.join(map(label, kept))}")
