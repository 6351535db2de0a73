"""Arguments and options that commands share: files, grids of numbers, worker processes and
clusters.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ldpopt.cli.printing import (
    progress_bar,
    require_picture,
    require_writable,
    require_writable_or_stdout,
    require_writable_table,
)
from ldpopt.cli.questions import BEGIN_SURVEY, FOR_SURVEYS, is_survey, require_no_survey
from ldpopt.errors import LdpoptError, ModelFileError, StatementError, showing_values
from ldpopt.foundation.budget import decimal_of
from ldpopt.foundation.kinds import STATED_MODEL, kind_of, other_kind
from ldpopt.foundation.labels import first_duplicate
from ldpopt.foundation.numbers import percentage
from ldpopt.processes.run import RunOptions
from ldpopt.tables.csv_format import reading_csv_as

if TYPE_CHECKING:
    from ldpopt.problem.modelfile import Model
    from ldpopt.problem.problem import Problem


def argument(metavar: str, text: str, **rules: Any) -> Any:
    """An argument, as help names and explains it."""
    return typer.Argument(metavar=metavar, help=text, **rules)


def option(usage: str, text: str, **rules: Any) -> Any:
    """An option, as help writes and explains it: its names, and what stands for the value, as in
    "-o --output FILE".
    """
    names = [word for word in usage.split() if word.startswith("-")]
    metavar = next((word for word in usage.split() if word not in names), None)
    return typer.Option(*names, metavar=metavar, help=text, **rules)


def share_option(usage: str, text: str) -> Any:
    """An option for a share, as a number or a percentage: .8, or 80%."""
    return option(usage, text, parser=parse_share)


def parse_share(text: Any) -> float:
    """A number, or a percentage such as 80%; a default is a number already."""
    part = percentage(text) if isinstance(text, str) else None
    try:
        return float(text) if part is None else part
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor a percentage") from None


def new_file(usage: str, text: str) -> Any:
    """An option for a file that the command writes."""
    return option(usage, text, callback=require_writable)


def new_table(usage: str, text: str) -> Any:
    """An option for a table that the command writes, also to a store."""
    return option(usage, text, callback=require_writable_table)


def new_picture(usage: str, text: str) -> Any:
    """An option for a picture that the command writes."""
    return option(usage, text, callback=require_picture)


def find_file(name: str) -> str:
    """Path of any file, or of a model by its name."""
    if Path(name).exists():
        return name
    from ldpopt.problem.modelfile.page import model_path

    return model_path(name)


def find_questions(name: str) -> str:
    """Path of a mechanism, a design or a survey, which has to be there."""
    path = find_file(name)
    if not os.path.exists(path):
        do = (
            "check the path; `ldpopt solve MODEL -o FILE`, `ldpopt design MODEL -o FILE` and "
            "`ldpopt survey solve SURVEY.toml -o FILE` write one"
        )
        problem = "cannot read the mechanism or survey: No such file or directory"
        raise ModelFileError(problem, code="file", where=path, do=do)
    return path


def find_stated(name: str) -> str:
    """Path of a model or a survey; one in JSON has to be there."""
    path = find_file(name)
    if Path(path).suffix.lower() == ".json" and not os.path.exists(path):
        do = "check the path; `ldpopt survey solve SURVEY.toml -o FILE` writes one"
        problem = "cannot read the survey: No such file or directory"
        raise ModelFileError(problem, code="file", where=path, do=do)
    return path


def find_model(context: typer.Context, name: str) -> str:
    """Path of a model file, or of a model by its name; a survey is refused."""
    path = find_file(name)
    require_no_survey(path, context.info_name)
    return path


def find_models(context: typer.Context, names: list[str]) -> list[str]:
    """Paths of model files, or of models by their names."""
    return [find_model(context, name) for name in names]


def find_survey(context: typer.Context, path: str) -> str:
    """Path of a survey; any other file is refused, and a solved one by the command that solves
    it.
    """
    if Path(path).is_file() and not is_survey(path):
        kind = kind_of(path)
        if kind is not None and kind is not STATED_MODEL:
            raise other_kind(path, kind, "a survey", BEGIN_SURVEY, code="survey")
        do = (
            "add a question, or write a survey with `ldpopt survey init`; a model has commands "
            "without the word survey"
        )
        raise ModelFileError(
            "this is not a survey: it has no [question.NAME]", code="survey", where=path, do=do
        )
    if context.info_name == "solve" and is_survey(path) and Path(path).suffix.lower() != ".toml":
        do = FOR_SURVEYS["solved"].format(path)
        raise ModelFileError(
            "this is a survey with its mechanisms, not a statement in TOML",
            code="solved-survey",
            where=path,
            do=do,
        )
    return path


def _show_values(context: typer.Context, shows: bool) -> bool:
    """Let messages quote answers until the command ends."""
    context.with_resource(showing_values(shows))
    return shows


def _separator(context: typer.Context, sign: str | None) -> str | None:
    """Read CSV with this separator until the command ends."""
    context.with_resource(reading_csv_as(separator=sign))
    return sign


def _encoding(context: typer.Context, name: str | None) -> str | None:
    """Read CSV in this encoding until the command ends."""
    context.with_resource(reading_csv_as(encoding=name))
    return name


# Models and mechanisms

ModelPath = Annotated[
    str,
    argument(
        "MODEL", "A model file (TOML), or a name listed by `ldpopt models`.", callback=find_model
    ),
]
ModelPaths = Annotated[
    list[str],
    argument(
        "MODEL...", "Model files (TOML), or names listed by `ldpopt models`.", callback=find_models
    ),
]
ModelOrSurveyPath = Annotated[
    str,
    argument(
        "MODEL|SURVEY",
        "A model (TOML) or its name, or a survey (TOML or JSON).",
        callback=find_stated,
    ),
]
MechanismPath = Annotated[
    str, argument("MECHANISM", "A mechanism (JSON), as `ldpopt solve MODEL -o FILE` writes it.")
]
QuestionsPath = Annotated[
    str,
    argument(
        "MECHANISM|SURVEY",
        "A mechanism or design (JSON), or a survey (TOML or JSON).",
        callback=find_questions,
    ),
]
SurveyPath = Annotated[
    str, argument("SURVEY", "A survey of several questions (TOML or JSON).", callback=find_survey)
]
OwnMechanisms = Annotated[
    list[str] | None,
    option(
        "--mechanism FILE",
        "A mechanism of your own (JSON) to compare with the best design of its epsilon; may be "
        "repeated.",
    ),
]
Epsilon = Annotated[
    str | None, option("--epsilon E", "Use this budget, not the model's: nats, or 'log(3)'.")
]

# Solving

FormName = Literal["compact", "pairwise", "sifted"]
ProgramForm = Literal["compact", "pairwise", "events", "averages", "relaxation"]
Form = Annotated[
    FormName | None, option("--form", "Form of the linear program (default: by structure).")
]
Solver = Annotated[str | None, option("--solver NAME", "See `ldpopt solvers`.")]
TimeLimit = Annotated[float | None, option("--time-limit S", "Seconds for the solve.", min=1e-3)]

# Tables of answers and reports

Answers = Annotated[
    str,
    argument(
        "ANSWERS",
        "CSV, Parquet, Excel, Stata or SPSS, a folder of them, or an address such as "
        "s3://bucket/folder; '-': stdin.",
    ),
]
Reports = Annotated[
    str,
    argument(
        "REPORTS", "CSV or Parquet, a folder of them, an address, URL of a database; '-': stdin."
    ),
]
Recursive = Annotated[
    bool, option("--recursive", "Read the files of subfolders, too (for a folder).")
]
CheckIds = Annotated[
    str | None,
    option(
        "--check-ids COLUMN",
        "Refuse an id of this column that is there twice, in any of the files.",
    ),
]
Database = Annotated[
    str, option("--to URL", "Database: sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME.")
]
DatabaseUrl = Annotated[str, argument("URL", "Database of `ldpopt survey collect`.")]
Columns = Annotated[
    list[str] | None, option("--column -c C", "Column; may be repeated. A survey names its own.")
]
Missing = Annotated[
    Literal["refuse", "leave_out"] | None,
    option(
        "--missing",
        "Missing answers: refuse the table (default), or leave them out (which reveals who did "
        "not answer).",
    ),
]
ShowValues = Annotated[
    bool, option("--show-values", "Let messages quote entries of the table.", callback=_show_values)
]
Separator = Annotated[
    str | None,
    option(
        "--separator SIGN",
        "What is between the columns of CSV: ';', tab or another sign (default: a comma).",
        callback=_separator,
    ),
]
Encoding = Annotated[
    str | None,
    option(
        "--encoding NAME",
        "Encoding of CSV, such as latin-1 or cp1252 (default: UTF-8).",
        callback=_encoding,
    ),
]
HalfWidth = Annotated[
    str | None, option("--half-width H", "Half-width of the intervals, such as 0.02 or 2%.")
]
Confidence = Annotated[
    float, share_option("--confidence C", "Confidence level of the intervals, such as .95 or 95%.")
]
Simultaneous = Annotated[
    bool, option("--simultaneous", "Simultaneous intervals: all of a question hold at once.")
]

Followers = Annotated[
    bool,
    typer.Option(
        "--followers", help="Shares among those who follow the rule (questions with behaviors)."
    ),
]
Pooled = Annotated[
    bool,
    typer.Option(
        "--pooled", help="Larger choices of epsilon count more: right only if each was drawn."
    ),
]
Liars = Annotated[
    float,
    share_option(
        "--liars SHARE",
        "Share of people who may have sent anything, such as .01 or 1%: intervals allow for them.",
    ),
]

# Output

Json = Annotated[
    str | None,
    option(
        "--json FILE",
        "Write one JSON object to FILE; '-': to stdout, and nothing else. Infinity and nan are "
        "written as null.",
        callback=require_writable_or_stdout,
    ),
]
CsvTable = Annotated[str | None, new_file("-o --output FILE", "The table as CSV.")]

# Many runs

Jobs = Annotated[int, option("-j --jobs N", "Number of processes; -1: one per core.")]
Dask = Annotated[
    str | None, option("--dask ADDRESS", "Dask cluster of this scheduler, such as tcp://host:8786.")
]
CheckpointFile = Annotated[
    str | None, option("--checkpoint FILE", "File for finished work, which is not repeated.")
]
Epsilons = Annotated[
    str, option("--epsilon GRID", "start:stop:count, or a list such as 0.1,1,log(3).")
]
Deltas = Annotated[
    str | None, option("--delta GRID", "Deltas, in the same form (default: the model's own).")
]
People = Annotated[str, option("--people GRID", "Numbers of people: a list such as 1000,10000.")]
CONNECT_SECONDS = 10  # how long to wait for the scheduler of a cluster


@contextmanager
def executor_of(dask: str | None, jobs: int) -> Iterator[Any]:
    """The client of a cluster, or None for processes of this machine."""
    if dask is None:
        yield None
        return
    if jobs != 1:
        raise typer.BadParameter(
            "--dask works on a cluster, --jobs on this machine; give one of them"
        )
    try:
        from distributed import Client
        from distributed.comm import get_address_host_port
    except ImportError:
        problem = "--dask needs dask.distributed, which is not installed"
        raise LdpoptError(problem, code="dask", do='pip install "ldpopt[dask]"') from None
    try:
        # a client of an address that cannot be read prints a traceback when it ends
        get_address_host_port(dask)
        client = Client(dask, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        why = str(error).partition("\n")[0]
        do = "start it with `dask scheduler`, and workers with `dask worker ADDRESS`"
        raise LdpoptError(
            f"no scheduler of Dask answers: {why}", code="scheduler", where=dask, do=do
        ) from None
    with client:
        yield client


@contextmanager
def running(
    task: str, jobs: int, dask: str | None, checkpoint: str | None = None
) -> Iterator[RunOptions]:
    """Options of a run with a progress bar, on this machine or on a cluster."""
    with progress_bar(task) as progress, executor_of(dask, jobs) as executor:
        yield RunOptions(jobs, executor, checkpoint, progress)


def read_model_at(model: str, epsilon: str | None) -> Model:
    """Read a model, at its own budget or another."""
    from ldpopt.problem.modelfile import read_model

    stated = read_model(model)
    return stated if epsilon is None else stated.at(epsilon)


def read_models(
    paths: list[str], solver: str | None, time_limit: float | None
) -> tuple[dict[Hashable, Problem], dict[str, Any]]:
    """Read the problems of models by name, and their common solver and time limit, unless these are
    given.
    """
    from ldpopt.problem.modelfile import read_model

    models = [read_model(path) for path in paths]
    named = zip(unique_names(paths), paths, models, strict=True)
    problems: dict[Hashable, Problem] = {
        name: model.require_problem(path) for name, path, model in named
    }
    limits = [model.time_limit for model in models] if time_limit is None else [time_limit]
    solver = solver or _common_value("solver", [model.solver for model in models])
    return problems, {"solver": solver, "time_limit": _common_value("time_limit", limits)}


def unique_names(paths: list[str]) -> list[str]:
    """Names of model files in a table: without folder and ending."""
    names = [Path(path).stem for path in paths]
    require_distinct(names, "two models are called {}", do="rename one of the files")
    return names


def require_distinct(names: list[str], message: str, do: str) -> None:
    """Refuse a name that occurs again; it replaces the braces in the message."""
    if (twice := first_duplicate(names)) is not None:
        raise StatementError(message.format(repr(twice[0])), code="duplicate", do=do)


def _common_value(key: str, values: list[Any]) -> Any:
    """Return the value that all models have."""
    if any(value != values[0] for value in values):
        problem = f"the models have different values of {key}: {', '.join(map(repr, values))}"
        raise StatementError(problem, code="settings", do=f"give --{key.replace('_', '-')}")
    return values[0]


def parse_grid(text: str, option: str = "--epsilon") -> list[str]:
    """Numbers of ``start:stop:count``, such as ``0.5:2:4`` with both ends, or of a list with
    commas.
    """
    if ":" not in text:
        return [part.strip() for part in text.split(",")]
    try:
        start, stop, count = text.split(":")
        ends = (float(start), float(stop))
        points = int(count)
    except ValueError:
        ends = (math.nan, math.nan)
        points = 0
    if not all(map(math.isfinite, ends)) or not 1 <= points <= 1_000_000:
        raise StatementError(
            f"{text!r} is not a grid",
            code="grid",
            where=option,
            do="write start:stop:count, such as 0.1:5:25",
        )
    low, high = map(decimal_of, ends)  # 0.1:0.5:5 has 0.3, not the sum of two floats
    steps = max(points - 1, 1)
    return [repr(float(low + (high - low) * k / steps)) for k in range(points)]


def parse_deltas(text: str | None) -> list[float] | None:
    """Deltas of a grid; None without one."""
    return None if text is None else _parse_numbers(text, "--delta", "a number", "0,0.05,0.1")


def parse_people(text: str) -> list[int]:
    """Numbers of people."""
    numbers = _parse_numbers(
        text, "--people", "a number of people", "1000,10000", lambda n: n >= 1 and n.is_integer()
    )
    return [int(number) for number in numbers]


def _parse_numbers(
    text: str,
    option: str,
    kind: str,
    example: str,
    is_allowed: Callable[[float], bool] = lambda n: True,
) -> list[float]:
    """Numbers of a grid, all of which are allowed."""
    try:
        numbers = [float(part) for part in parse_grid(text, option)]
    except ValueError:
        numbers = []
    if not numbers or not all(map(is_allowed, numbers)):
        do = f"write start:stop:count, or a list such as {example}"
        raise StatementError(
            f"{text!r} contains an entry that is not {kind}", code="entry", where=option, do=do
        )
    return numbers
