"""Output of the command line: facts and JSON to stdout, notes and progress to stderr, files written
atomically.
"""

import json as json_
import math
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, NoReturn

import typer

from ldpopt.cli.interrupts import raise_on_interrupt
from ldpopt.errors import CertificateError, LdpoptError, ModelFileError
from ldpopt.foundation import optional
from ldpopt.foundation.display import Facts, printable
from ldpopt.foundation.files import replacing

# exit code: a claim does not hold, such as an audit, an expected value or a certificate
FALSE_CLAIM = 1
BAD_STATEMENT = 2  # exit code: a bad statement, file or usage
LONG_TASK = 3.0  # seconds after which a task is named on stderr
NO_SOLUTION = 3  # exit code: no mechanism, since the problem is infeasible or a limit was reached


def say(message: str) -> None:
    """Write one line to stderr, if possible."""
    with suppress(OSError):
        print(printable(f"ldpopt: {message}"), file=sys.stderr)


def refuse(message: str, do: str = "") -> NoReturn:
    """End with the exit code of a claim that does not hold."""
    say(f"{message} | do: {do}" if do else message)
    show_error(CertificateError(message, code="claim", do=do))
    raise typer.Exit(FALSE_CLAIM)


def require_gap(relative_gap: float, gap: float | None, why: str = "") -> None:
    """Refuse a certified gap above the one that was given, if any, with the reason why the search
    ended.
    """
    if gap is not None and relative_gap > gap:
        problem = (
            f"the certified relative gap is {relative_gap:.3g}, more than "
            f"{gap:g}{f': {why}' if why else ''}"
        )
        refuse(problem, "accept a larger --gap, or give more seconds by --time-limit")


def require_expected(model: Any, number: float, kind: Literal["value", "variance"]) -> None:
    """Refuse a value or a variance that differs from that of the model's [expect], if there is
    one.
    """
    wanted = getattr(model.expect, kind, None)
    if wanted is not None and not abs(number - wanted) <= model.expect.tolerance:
        problem = (
            f"the model expects {wanted!r} within {model.expect.tolerance:g}, the {kind} "
            f"is {number!r}"
        )
        refuse(problem, "correct [expect], or the rest of the model")


def show(facts: Facts | str | None, data: dict[str, Any], json: str | None) -> None:
    """Print facts, or JSON if ``json`` is ``-``; any other ``json`` is a file to write the data to
    as well.
    """
    text = "" if json is None else json_.dumps(plain(data), allow_nan=False) + "\n"
    if json == "-":
        _DUE.set(None)
        sys.stdout.write(text)
        return
    try:
        if facts is not None:
            print(facts.text() if isinstance(facts, Facts) else printable(facts))
    except BrokenPipeError:  # the reader of stdout has closed it; the files are still to be written
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - open until the process ends
    if json is not None:
        with replacing(json) as stream:
            stream.write(text)
        _DUE.set(None)


# where the JSON of this command has to go, until it is written: "-" or a file
_DUE: ContextVar[str | None] = ContextVar("due", default=None)


def expect_json(arguments: Sequence[str]) -> None:
    """Note where a command line wants its JSON, so that an error can be written there.

    The words are read before they are parsed, since an error of usage ends the parsing. A file
    that another word names too is not replaced by an error.
    """
    words = [part for word in arguments for part in re.split(r"(?<=^--json)=", word)]
    path = None
    while "--json" in words[:-1]:
        path = words.pop(words.index("--json") + 1)
        words.remove("--json")
    is_other_file = path != "-" and os.path.realpath(path or "") in map(os.path.realpath, words)
    _DUE.set(None if is_other_file else path)


def say_error(error: LdpoptError, kind: str = "") -> None:
    """Write an error as a line to stderr and as JSON; ``kind`` replaces the name of the class."""
    say(error.one_line)
    show_error(error, kind)


def show_error(error: LdpoptError, kind: str = "") -> None:
    """Write an error as JSON where that of the command would have gone, unless that is written."""
    path = _DUE.get()
    if path is None:
        return
    parts = {"code": error.code, "kind": kind or type(error).__name__}
    parts |= picked(error, "what", "where", "do")
    text = json_.dumps({"error": parts}) + "\n"
    _DUE.set(None)
    with suppress(OSError, LdpoptError):  # the line on stderr has been written
        if path == "-":
            sys.stdout.write(text)
        elif require_writable(path):
            with replacing(path) as stream:
                stream.write(text)


def plain(value: Any) -> Any:
    """Convert to JSON types; infinities and nan become null."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def picked(thing: Any, *names: str) -> dict[str, Any]:
    """Some attributes of an object, by their names."""
    return {name: getattr(thing, name) for name in names}


def audit_data(audit: Any) -> dict[str, Any]:
    """An audit as JSON data."""
    return picked(audit, "epsilon", "delta", "verdict", *([] if audit.mu is None else ["mu"]))


# Files


def require_writable(path: str | None) -> str | None:
    """Return the path of an output file, if there is one; refuse one that cannot be written, before
    the work begins.
    """
    if path is None:
        return None
    if path == "-":
        raise ModelFileError(
            "'-' is not a file",
            code="stdout",
            where=path,
            do="name a file; --json - writes to stdout",
        )
    if "://" in path:
        raise ModelFileError(
            "only tables are written to an address",
            code="address",
            where=path,
            do="name a file of this machine",
        )
    target = Path(os.path.realpath(path))
    if target.is_dir() or not target.parent.is_dir():
        why = "it is a folder" if target.is_dir() else f"the folder {target.parent} does not exist"
        raise ModelFileError(
            f"cannot write the file: {why}",
            code="folder",
            where=path,
            do="name a file in an existing folder",
        )
    if target.suffix == ".toml" and target.exists():
        raise ModelFileError(
            "the file would replace a model or a survey",
            code="statement",
            where=path,
            do="name another file",
        )
    return path


def require_writable_table(path: str | None) -> str | None:
    """Return the path of a table to write, which may be in a store."""
    from ldpopt.tables.labels import FORMATS
    from ldpopt.tables.places import is_address, place_of

    name = path if path is None else place_of(path)
    is_sheet = name is not None and name.lower().endswith(tuple(FORMATS))
    if name is not None and is_address(name) and not is_sheet:
        return name
    return require_writable(name)


def require_writable_or_stdout(path: str | None) -> str | None:
    """Return the path of an output file, or ``-`` for stdout."""
    return path if path == "-" else require_writable(path)


def require_picture(path: str | None) -> str | None:
    """Return the path of a picture to write; an unknown format is refused, too."""
    if path is not None and require_writable(path):
        optional.matplotlib.use("agg")  # which opens no window
        known = optional.matplotlib_figure.Figure().canvas.get_supported_filetypes()
        if (ending := Path(path).suffix.lstrip(".").lower()) not in known:
            do = f"use one of {', '.join(sorted(known))}"
            raise ModelFileError(
                f"unknown picture format {ending!r}", code="picture-format", where=path, do=do
            )
    return path


def write_new(file: str, text: str) -> Path:
    """Write a TOML file that does not exist yet; the suffix may be left out. Return its path."""
    path = Path(file) if Path(file).suffix else Path(file).with_suffix(".toml")
    if path.exists():
        raise ModelFileError(
            "the file exists already",
            code="existing-file",
            where=str(path),
            do="name another file, or remove this one",
        )
    require_writable(str(path))
    with replacing(path) as stream:
        stream.write(text)
    return path


def save_picture(path: str, axes: Any) -> None:
    """Write the figure of axes; the suffix of the file decides its format."""
    with replacing(path, binary=True) as stream:
        axes.figure.savefig(stream, format=Path(path).suffix.lstrip(".").lower(), dpi=150)


# what the columns of results are, in files that have labels
LABELS = {
    "estimate": "estimate from random reports",
    "std_error": "standard error of the estimate",
    "low": "lower end of the interval",
    "high": "upper end of the interval",
    "norm_sub": "nearest shares without negative ones",
    "reports": "number of reports",
    "p": "probability of such a difference or a larger one if there is none",
    "report": "a report, as tables have it",
    "code": "code of the report in an exported file",
    "likely": "answers that give the report most often",
    "times": "how many times as often the likeliest answer gives it as the unlikeliest",
    "probability": "probability of the report under the answer",
}


def save_table(path: str, entries: list[dict[str, Any]], title: str = "") -> None:
    """Write rows as a table, every number exactly, and name the file; ``title`` is the label of a
    file of SPSS or Stata.
    """
    from ldpopt.foundation.labels import text_of
    from ldpopt.foundation.optional import pyarrow as pa
    from ldpopt.tables.files import result_kind, writing
    from ldpopt.tables.sheets import write_sheet

    def cell(key: str, value: Any) -> Any:
        is_number = isinstance(value, (int, float, type(None))) and key not in ("answer", "number")
        return value if is_number else text_of(value)

    rows = [{key: cell(key, value) for key, value in entry.items()} for entry in entries]
    if result_kind(path) == "sheet":
        keys = list(dict.fromkeys(key for row in rows for key in row))
        write_sheet(path, {key: [row.get(key) for row in rows] for key in keys}, LABELS, {}, title)
    else:
        table = pa.Table.from_pylist(rows)
        with writing(path, list(table.schema)) as write:
            write([column.combine_chunks() for column in table.columns])
    say(f"note: {path} has the table, of {len(entries):,} row{'s'[: len(entries) != 1]}")


# Progress


@contextmanager
def working(task: str) -> Iterator[Callable[[str], None]]:
    """Show a task and the elapsed time on stderr, if that is a terminal; call it with the name of
    another task.
    """
    with _shown(
        task, lambda rich, text: (rich.SpinnerColumn(), text, rich.TimeElapsedColumn())
    ) as update:
        yield lambda other: update(description=other)


@contextmanager
def progress_bar(task: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on stderr, if that is a terminal; call it with (done, total)."""
    with _shown(
        task,
        lambda rich, text: (
            text,
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            rich.TimeRemainingColumn(),
        ),
    ) as update:
        yield lambda done, total: update(completed=done, total=total)


@contextmanager
def _shown(
    task: str, columns: Callable[[Any, Any], tuple[Any, ...]]
) -> Iterator[Callable[..., None]]:
    """Show a task on stderr until the end, even if Ctrl-C arrives while the display starts.

    If stderr is no terminal, a task of more than a few seconds is named there once. From now on,
    Ctrl-C raises KeyboardInterrupt.
    """
    raise_on_interrupt()
    if not sys.stderr.isatty():
        note = threading.Timer(LONG_TASK, say, [f"{task} ..."])
        note.daemon = True
        note.start()
        try:
            yield lambda **changes: None
        finally:
            note.cancel()
        return
    from rich import progress
    from rich.console import Console

    parts = columns(progress, progress.TextColumn("{task.description}"))
    display = progress.Progress(*parts, console=Console(stderr=True), transient=True)
    try:
        display.start()
        shown = display.add_task(task, total=None)
        yield lambda **changes: display.update(shown, **changes)
    finally:
        display.stop()
