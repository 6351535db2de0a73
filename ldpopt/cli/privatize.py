"""The command privatize: answers of a table become reports."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ldpopt.cli import options
from ldpopt.cli.options import option
from ldpopt.cli.printing import progress_bar, require_writable, say, show, working
from ldpopt.cli.questions import is_folder, read_questions, require_folder
from ldpopt.foundation.display import label


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
    jobs: options.Jobs = 1,
    dask: options.Dask = None,
    show_values: options.ShowValues = False,
    json: options.Json = None,
) -> None:
    """Replace the answers of a table by private reports.

    The table is a file or a folder of Parquet files; all questions of a survey are privatized in
    one pass. Reports are drawn with the operating system's random numbers, or from a key and the
    ids of the records. All other columns would be unprotected; they are dropped, unless --keep
    names them. Answers are matched with the mechanism's labels as text. A file is written
    completely or not at all. For a folder (-j and --dask are for folders), a repeated command
    continues where the last one stopped; no file is replaced. A column that is a report already, as
    its file says, is refused; with --again a second layer is drawn, and estimates need the product
    of both mechanisms.
    """
    from ldpopt.mechanism.keyed import Keyed, SecretKey
    from ldpopt.mechanism.privatizing import privatize_file

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
    secret = None if key is None else SecretKey.load(key)
    require_writable(None if output == "-" or is_folder(answers) else output)
    require_folder(answers, dask)
    options.require_distinct(column or [], "column {} is named twice", do="name each column once")
    survey, source = read_questions(file, column, missing=missing, missing_answer=missing_answer)
    kept = keep or []
    dropped = list[str]()

    def announce(columns: Sequence[str]) -> None:
        for line in _warnings(survey, source, seed, kept):
            say(line)
        dropped.extend(columns)

    if is_folder(answers):
        announce([])
        how: dict[str, Any] = {
            "keep": kept,
            "rng": seed,
            "key": secret,
            "id": identity,
            "again": again,
        }
        total = _privatize_folder(survey, answers, output, jobs, dask, **how)
    else:
        how = {
            "keep": survey.kept(kept),
            "rng": seed,
            "keyed": Keyed.read(secret, identity, seed),
            "again": again,
        }
        how |= {"one_question": survey.one_question, "announce": announce}
        with working(f"privatizing {Path(answers).name}"):
            total = privatize_file(answers, output, survey.asked, **how)
    if dropped:
        names = ", ".join(map(label, dropped[:10])) + (", ..." if len(dropped) > 10 else "")
        say(
            f"note: not copied: {names}; --keep NAME copies a column, unprotected, such as "
            "groups for --by"
        )
    if total == 0:
        say("note: the table has a header and no rows")
    data: dict[str, Any] = {"rows": total}
    done = f"{output}: {total:,} reports"
    if source is None:
        data |= {"questions": list(survey.questions), "epsilon": survey.epsilon, "output": output}
        done = f"{output}: {total:,} people, epsilon {survey.epsilon:.6g} a person"
    else:
        columns = list(survey.questions)
        data |= {"column": columns[0], "columns": columns, "kept": kept, "output": output}
        data["key"] = None if secret is None else secret.name
    show(None if output == "-" else done, data, json)


def _privatize_folder(
    survey: Any, source: str, target: str, jobs: int, dask: str | None, **how: Any
) -> int:
    """Write the reports of a folder, with a progress bar."""
    from ldpopt.studies.folders import privatize_folder

    if target == "-" or Path(target).suffix:
        raise typer.BadParameter(
            f"{source} is a folder: its reports go to a folder, not to {target}"
        )
    with (
        progress_bar(f"privatizing {Path(source).name}") as progress,
        options.executor_of(dask, jobs) as executor,
    ):
        how |= {"jobs": jobs, "executor": executor, "progress": progress}
        return privatize_folder(source, target, survey, **how)


def _warnings(survey: Any, source: Any, seed: int | None, keep: list[str]) -> Iterator[str]:
    """Say what is not private, before anything is written."""
    from ldpopt.estimation.inversion import why_not_estimable
    from ldpopt.mechanism.mechanism import Mechanism

    useless = why_not_estimable(source) if isinstance(source, Mechanism) else ""
    if useless:
        yield f"warning: {useless}"
    if source is None or len(survey.questions) > 1:
        parts = ", ".join(f"{label(name)} {budget:.4g}" for name, budget in survey.budgets.items())
        yield f"note: each person spends epsilon {survey.epsilon:.6g} ({survey.scheme}: {parts})"
    if seed is not None:
        yield "note: anybody who knows the --seed can undo the draws; use it for tests only"
    for name in survey.unprotected:
        yield f"note: the reports reveal who did not answer {label(name)}"
    if kept := survey.kept(keep):
        yield f"note: not protected: {', '.join(map(label, kept))}"
