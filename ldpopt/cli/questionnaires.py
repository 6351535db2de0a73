"""The commands on surveys of several questions: survey init, check, solve, plan, privatize and estimate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli.output import (
    Json,
    label,
    new_file,
    number,
    print_table,
    printable,
    report,
    require_writable,
    say,
    wait_for,
)
from ldpopt.cli.running import Dask, Jobs
from ldpopt.cli.shell import app, refuse
from ldpopt.cli.surveying import (
    DOUBTFUL,
    IMPOSSIBLE,
    Again,
    Answers,
    Identity,
    KeyFile,
    Reports,
    Seed,
    ShowValues,
    Tables,
    count_all,
    is_folder,
    privatize_all,
    read_key,
    require_folder,
    save_table,
    say_unknown_origin,
)
from ldpopt.foundation.files import replacing

if TYPE_CHECKING:
    from ldpopt.surveys.survey import Survey

survey = typer.Typer(
    help="Surveys of several questions: state, solve, plan, privatize, estimate.", rich_markup_mode=None
)
app.add_typer(survey, name="survey")

SurveyPath = Annotated[
    str, typer.Argument(metavar="SURVEY", help="A survey: TOML, or JSON as `survey solve -o FILE` writes it.")
]
StatedPath = Annotated[str, typer.Argument(metavar="SURVEY", help="A survey in TOML.")]

TEMPLATE = """\
title = "My survey"
epsilon = 2.0                # budget of a person over all questions, in nats
scheme = "split"             # "split": all questions; "one_question": one for each person; "best": the better one
# weights = "weight"         # column of survey weights

[question.smokes]
labels = ["no", "yes"]
# share = 0.5                # of epsilon; or epsilon = 1.0; default: equal parts of what is left
# prior = { no = 3, yes = 1 }  # a guess; estimates are unbiased whatever it is

[question.income]
labels = ["low", "middle", "high"]
missing = "answer"           # no answer is an answer; "refuse" the table (default); "leave": it shows, unprotected
# workload = "prefix"        # what is estimated: frequencies (default), prefix, ranges, mean
# mechanism = "income.json"  # or a mechanism or design of your own, instead of labels
"""


@survey.command()
def init(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The survey file to write.")] = "survey.toml",
    json: Json = None,
) -> None:
    """Write a survey file with comments, as a starting point.

    It can be solved as it is; an existing file is not replaced.
    """
    path = new_file(file)
    with replacing(path) as stream:
        stream.write(TEMPLATE)
    report({"file": str(path)}, json, lambda: print(printable(f"{path}: edit it, then `ldpopt survey solve {path}`")))


@survey.command()
def check(path: StatedPath, json: Json = None) -> None:
    """Read a survey and show how a person's budget is divided.

    Nothing is solved.
    """
    from ldpopt.surveys.statement import read_survey

    found = read_survey(path)
    stated = found.section
    entries = [
        {
            "question": name,
            "answers": len(found.sources[name].inputs if hasattr(found.sources[name], "inputs") else ())
            if name in found.sources
            else len(asked.answers),
            "epsilon": found.budgets.get(name),
            "missing": asked.missing,
            "mechanism": asked.mechanism,
        }
        for name, asked in stated.question.items()
    ]
    data = {"title": stated.title, "epsilon": stated.epsilon, "scheme": found.scheme, "questions": entries}

    def show() -> None:
        rows = [[label(e["question"]), *(_text(e[key]) for key in ("answers", "epsilon", "missing"))] for e in entries]
        print_table(["question", "answers", "epsilon", "missing"], rows, title=stated.title, words=["missing"])
        print(printable(f"scheme: {found.why or found.scheme}"))

    report(data, json, show)


@survey.command()
def solve(
    path: StatedPath,
    output: Annotated[str | None, typer.Option("-o", "--output", metavar="FILE", help="Survey as JSON.")] = None,
    json: Json = None,
) -> None:
    """Find the best mechanism for each question.

    The file written by -o contains all of them and the budget of a person. `survey privatize` and `survey estimate`
    read it.
    """
    from ldpopt.surveys.statement import read_survey
    from ldpopt.surveys.survey import Survey

    require_writable(output)
    statement = read_survey(path)
    found = wait_for(lambda: statement.solve(Survey), f"solving {Path(path).name}")
    if output is not None:
        found.save(output)
    report(_record(found), json, lambda: _show(found, statement.why))
    for warning in statement.warnings(found):
        say(f"warning: {warning}")


@survey.command()
def plan(
    path: SurveyPath,
    half_width: Annotated[
        float | None, typer.Option(help="Half-width of the intervals: 0.02 is two percentage points.")
    ] = None,
    people: Annotated[int | None, typer.Option(min=1, help="How many people answer the survey.")] = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    json: Json = None,
) -> None:
    """Show how many people a survey needs, question by question.

    For the worst answer of each question, and the worst distribution of the answers: how many people are needed for a
    half-width, or which half-width a number of people yields. Numbers of people are for the whole survey, even if each
    person is asked only one question.
    """
    if half_width is None and people is None:
        raise typer.BadParameter("state --half-width, --people, or both")
    found, entries = read(path), []
    for name in found.questions:
        told = found.precision(name, confidence=confidence)
        worst = int(told.variances.argmax())
        entry: dict[str, Any] = {"question": name, "worst": told.names[worst]}
        if half_width is not None:
            entry["people"] = int(told.people(half_width)[worst])
        if people is not None:
            entry["half_width"] = float(told.half_width(people)[worst])
        entries.append(entry)
    data = {"confidence": confidence, "epsilon": found.epsilon, "questions": entries}
    headings = ["question", "worst answer"]
    headings += [] if half_width is None else [f"people for +-{half_width:g}"]
    headings += [] if people is None else [f"half-width of {people:,}"]
    rows = [[label(e["question"]), label(e["worst"]), *map(_text, list(e.values())[2:])] for e in entries]
    title = f"{100 * confidence:g} % intervals, worst distribution"
    report(data, json, lambda: print_table(headings, rows, title=title, words=["worst answer"]))


@survey.command()
def privatize(
    path: SurveyPath,
    answers: Answers,
    output: Reports,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Copy this column unprotected; may be repeated.")
    ] = None,
    key: KeyFile = None,
    identity: Identity = None,
    again: Again = False,
    seed: Seed = None,
    jobs: Jobs = 1,
    dask: Dask = None,
    show_values: ShowValues = False,
    json: Json = None,
) -> None:
    """Replace the answers of a table, or of a folder of Parquet files, by reports, all questions in one pass.

    Columns that stay unprotected are named before anything is written. All others are dropped, unless --keep names
    them. A column that is a report already, as its file says, is refused unless --again is stated.
    """
    secret = read_key(key, identity, seed)
    if json == "-" and output == "-":
        raise typer.BadParameter("the reports and the JSON cannot both go to stdout")
    require_writable(None if output == "-" or is_folder(answers) else output)
    require_folder(answers, dask)
    found = read(path)
    for note in _warnings(found, seed, keep or []):
        say(note)
    how: dict[str, Any] = {"keep": keep or [], "rng": seed, "key": secret, "id": identity, "again": again}
    if is_folder(answers):
        total = privatize_all(answers, output, found, jobs, dask, **how)
    else:
        total = found.privatize_file(answers, output, **how)
    data = {"rows": total, "questions": list(found.questions), "epsilon": found.epsilon, "output": output}
    person = f"{total:,} people, epsilon {found.epsilon:.6g} a person"
    report(data, json, lambda: None if output == "-" else print(f"{output}: {person}"))


@survey.command()
def estimate(
    path: SurveyPath,
    reports: Tables,
    weights: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Weight of each respondent (default: that of the survey).")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Simultaneous intervals for each question.")
    ] = False,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="TABLE", help="The table as CSV or Parquet, by the ending.")
    ] = None,
    jobs: Jobs = 1,
    dask: Dask = None,
    show_values: ShowValues = False,
    json: Json = None,
) -> None:
    """Estimate all questions from a table of reports, in one pass.

    The exit code is 1 if the reports to a question cannot come from the survey's mechanism (p-value below 1e-6).
    """
    from ldpopt.estimation.fit import goodness_of_fit
    from ldpopt.tables.kinds import kind_of
    from ldpopt.tables.origin import says_nothing

    require_writable(output)
    require_folder(reports, dask)
    if output is not None:
        kind_of(output)
    found = read(path)
    if is_folder(reports):
        counts = count_all(reports, found, weights, jobs, dask)
    else:
        counts = found.count(reports, weights=weights)
    entries, doubts = [], {}
    for name, seen in counts.items():
        told = found.estimate_question(name, seen, confidence, simultaneous=simultaneous)
        doubts[name] = None if seen.is_weighted else goodness_of_fit(found.sources[name], seen)
        for answer, value, error, (low, high) in zip(
            told.labels or (), told.values.tolist(), told.std_error.tolist(), told.interval.tolist(), strict=True
        ):
            entry = {"question": name, "answer": answer, "estimate": value, "std_error": error}
            entries.append(entry | {"low": low, "high": high, "n_reports": seen.n_reports})
    data: dict[str, Any] = {"confidence": confidence, "simultaneous": simultaneous, "p_values": doubts}
    data |= {"origin_known": not says_nothing(reports), "estimates": entries}
    headings = ["question", "answer", "estimate", "std error", "low", "high", "reports"]
    rows = [[label(e["question"]), label(e["answer"]), *map(_text, list(e.values())[2:])] for e in entries]
    title = f"{found.title or path}: {100 * confidence:g} % intervals"
    report(data, json, lambda: print_table(headings, rows, title=title, words=["answer"]))
    if output is not None:
        save_table(output, entries)
    if data["origin_known"] is False and all(chance is None or chance >= DOUBTFUL for chance in doubts.values()):
        say_unknown_origin(reports)
    for name, chance in doubts.items():
        if chance is not None and chance < DOUBTFUL:
            shown = f"p-value {max(chance, 1e-300):.0e}"
            what = f"the reports to {label(name)} do not look like those of the survey ({shown}); are they raw answers?"
            if chance < IMPOSSIBLE:
                refuse(what)
            say(f"warning: {what}")


def read(path: str) -> Survey:
    """Read a survey, and solve it where it is stated in TOML."""
    from ldpopt.surveys.survey import Survey

    if Path(path).suffix.lower() == ".toml":
        return wait_for(lambda: Survey.from_toml(path), f"solving {Path(path).name}")
    return Survey.load(path)


def _warnings(found: Survey, seed: int | None, keep: list[str]) -> list[str]:
    """What is not private, before anything is written."""
    spent = ", ".join(f"{label(name)} {budget:.4g}" for name, budget in found.budgets.items())
    notes = [f"note: epsilon of a person {found.epsilon:.6g} ({found.scheme}: {spent})"]
    if seed is not None:
        notes.append("note: anybody who knows the --seed can undo the draws; use it for tests only")
    notes += [f"note: who did not answer {label(name)} is not protected" for name in found.unprotected]
    if found.kept(keep):
        notes.append(f"note: not protected: {', '.join(map(label, found.kept(keep)))}")
    return notes


def _record(found: Survey) -> dict[str, Any]:
    return {
        "title": found.title,
        "scheme": found.scheme,
        "epsilon": found.epsilon,
        "questions": [
            {"question": name, "answers": len(rule.inputs), "epsilon": rule.epsilon, "digest": rule.randomizer.digest}
            for name, rule in found.questions.items()
        ],
    }


def _show(found: Survey, why: str) -> None:
    data = _record(found)
    rows = [[label(e["question"]), *(_text(e[key]) for key in ("answers", "epsilon"))] for e in data["questions"]]
    print_table(["question", "answers", "epsilon"], rows, title=found.title)
    print(printable(f"a person spends epsilon {found.epsilon:.6g}; {why or found.scheme}"))


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else number(value, 5) if isinstance(value, float) else str(value)
