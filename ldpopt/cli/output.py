"""Output of the command line: tables and JSON to stdout, notes and progress to stderr, files written atomically."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from ldpopt.cli.interrupts import allow_interrupts_everywhere
from ldpopt.errors import ModelFileError
from ldpopt.foundation.files import replacing
from ldpopt.foundation.labels import text_of


def find_model(name: str) -> str:
    """Path of a model file, or of a model by its name."""
    from ldpopt.problem.modelfile.page import model_path

    return model_path(name)


ModelPath = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A model file (TOML), or the name of a model listed by `ldpopt models`.",
        callback=find_model,
    ),
]
ModelPaths = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL...",
        help="Model files (TOML), or names listed by `ldpopt models`.",
        callback=lambda names: [find_model(name) for name in names],
    ),
]
MechanismPath = Annotated[
    str, typer.Argument(metavar="MECHANISM", help="A mechanism (JSON), as `ldpopt solve MODEL -o FILE` writes it.")
]

MAX_SHOWN = 20
"""Largest number of rows and columns of a mechanism in a table."""

LIKELIEST = 3
"""Reports of each answer that are shown of a large mechanism."""

WORKER = "ldpopt-work"

Result = TypeVar("Result")
Record = TypeVar("Record")

MAX_PRINTED_ROWS = 30
"""Largest number of printed rows of a table; the file has all rows."""


def say(message: str) -> None:
    """Write one line to stderr, if possible."""
    with suppress(OSError):
        print(printable(f"ldpopt: {message}"), file=sys.stderr)


def printable(text: str) -> str:
    """Text as one line without control characters."""
    return "".join(c if c.isprintable() else " " if c.isspace() else repr(c)[1:-1] for c in text)


def label(name: Any) -> str:
    """A label in at most 24 characters."""
    text = printable(text_of(name))
    return text if len(text) <= 24 else text[:23] + "~"


def number(value: float | None, digits: int = 6) -> str:
    """A number with that many significant digits; a dash for None and nan."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}g}"


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


def report(data: dict[str, Any], target: str | None, show: Callable[[], None]) -> None:
    """Print a table, or JSON if ``target`` is ``-``; any other target is a file to write JSON to as well."""
    text = "" if target is None else json.dumps(plain(data), allow_nan=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        show()
    except BrokenPipeError:  # the reader of stdout has closed it; the files are still to be written
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - open until the process ends
    if target is not None:
        with replacing(target) as stream:
            stream.write(text)


def require_writable(*paths: str | None, picture: str | None = None) -> None:
    """Refuse output files that cannot be written, before the work begins.

    Raises
    ------
    ModelFileError
        If a folder is missing, a path is a folder or ``-``, or the format of a picture is unknown.
    LdpoptError
        If a picture is to be drawn and matplotlib is not installed.
    """
    for path in (*paths, picture):
        if path is None:
            continue
        if path == "-":
            raise ModelFileError("'-' is not a file", where=path, do="name a file; --json - writes to stdout")
        target = Path(os.path.realpath(path))
        if target.is_dir() or not target.parent.is_dir():
            why = "it is a folder" if target.is_dir() else f"the folder {target.parent} does not exist"
            raise ModelFileError(f"cannot write the file: {why}", where=path, do="name a file in an existing folder")
    if picture is not None:
        known = new_axes().figure.canvas.get_supported_filetypes()
        ending = Path(picture).suffix.lstrip(".").lower()
        if ending not in known:
            do = f"use one of {', '.join(sorted(known))}"
            raise ModelFileError(f"unknown picture format {ending!r}", where=picture, do=do)


def _require_writable_record(path: str | None) -> str | None:
    """Refuse a file that cannot be written; stdout can."""
    require_writable(None if path == "-" else path)
    return path


Json = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write one JSON object to FILE; '-': to stdout, and nothing else. Infinity and nan are written as null.",
        callback=_require_writable_record,
    ),
]


def new_file(file: str) -> Path:
    """Path of a TOML file that does not exist yet and can be written; the suffix may be left out.

    Raises
    ------
    ModelFileError
        If there is such a file, or it cannot be written.
    """
    path = Path(file)
    path = path if path.suffix else path.with_suffix(".toml")
    if path.exists():
        raise ModelFileError("the file exists already", where=str(path), do="name another, or remove it")
    require_writable(str(path))
    return path


def save_figure(path: str, figure: Any) -> None:
    """Write a picture; the suffix of the file decides its format."""
    with replacing(path, binary=True) as stream:
        figure.savefig(stream, format=Path(path).suffix.lstrip(".").lower(), dpi=150)


def new_axes(size: tuple[float, float] = (7.0, 4.8), projection: str | None = None) -> Any:
    """New axes of a figure without a window.

    Raises
    ------
    LdpoptError
        If matplotlib is not installed.
    """
    from ldpopt.errors import LdpoptError

    try:
        from matplotlib.figure import Figure
    except ImportError:
        what = "a plot needs matplotlib, which is not installed"
        raise LdpoptError(what, do='pip install "ldpopt[plot]"') from None
    return Figure(figsize=size, layout="constrained").add_subplot(projection=projection)


def screen_width() -> int:
    """Columns of the terminal; 80 where stdout is a file or a pipe."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80


def print_folded(text: str, hang: int = 4) -> None:
    """Print one line to stdout; what is wider than the screen goes on in lines indented by ``hang``."""
    fold = textwrap.TextWrapper(
        screen_width(), subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False
    )
    print(fold.fill(printable(text)))


def thinned(rows: Sequence[Record], most: int = MAX_PRINTED_ROWS) -> tuple[Sequence[Record], str]:
    """Rows that are evenly spaced, at most ``most``, and words for the title of the table that say so."""
    step = max(1, -(-len(rows) // most))
    return rows[::step], f", one row in {step} shown" if step > 1 else ""


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "", words: Sequence[str] = ()
) -> None:
    """Print a table to stdout that fits its width: the first column and columns of words are left-aligned and folded.

    Numbers are right-aligned and never folded; columns move closer together before words are folded.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table

    lines = [list(row) for row in rows]
    widest = [max(map(cell_len, column)) for column in zip(headings, *lines, strict=True)]
    room = screen_width()
    left, right = next(
        (pad for pad in ((1, 1), (0, 1)) if sum(widest) + (sum(pad) + 1) * (len(widest) - 1) <= room), (0, 0)
    )
    folded = [not place or heading in words for place, heading in enumerate(headings)]
    numbers = sum(width + left + right + 1 for width, fold in zip(widest, folded, strict=True) if not fold)
    least = numbers + 12 * sum(folded)  # words need some room; a terminal that is too narrow breaks lines by itself
    console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False, width=max(room, least))
    table = Table(box=_box(), show_edge=False, pad_edge=False, padding=(0, right, 0, left))
    for heading, fold in zip(headings, folded, strict=True):
        table.add_column(heading, justify="left" if fold else "right", no_wrap=not fold, overflow="fold")
    for row in lines:
        table.add_row(*row)
    if title:
        print_folded(title)
    with console.capture() as text:  # else the console ends the program when the pipe is closed
        console.print(table)
    print("\n".join(line.rstrip() for line in text.get().splitlines()))


def print_mechanism(mechanism: Any) -> None:
    """Print a channel, or where it is large the likeliest reports of its first inputs."""
    n, m = mechanism.channel.shape
    head = max([len("answer"), *(len(label(name)) for name in mechanism.inputs[:MAX_SHOWN])])
    widths = [max(6, len(label(name))) for name in mechanism.outputs[:MAX_SHOWN]]
    if m > MAX_SHOWN or n > MAX_SHOWN or head + sum(widths) + m > screen_width():
        _print_likeliest(mechanism)
        return
    rows = [
        [label(name), *(_probability(float(p)) for p in mechanism.channel[x])]
        for x, name in enumerate(mechanism.inputs)
    ]
    print_table(["answer", *map(label, mechanism.outputs)], rows, title=f"P(report | answer), {n} x {m}")


def _print_likeliest(mechanism: Any) -> None:
    """The likeliest reports of each answer, and how much the others have together."""
    n, m = mechanism.channel.shape
    rows = []
    for x, name in enumerate(mechanism.inputs[:MAX_SHOWN]):
        row = mechanism.channel[x]
        order = row.argsort(kind="stable")[::-1][:LIKELIEST]
        found = [f"{label(mechanism.outputs[y])}: {_probability(float(row[y]))}" for y in order if row[y] > 0]
        others = int((row > 0).sum()) - len(found)
        rest = f"{others} others {_probability(max(0.0, 1.0 - float(row[order].sum())))}" if others else ""
        rows.append([label(name), ", ".join(found), rest])
    if n > MAX_SHOWN:
        rows.append(["...", f"and {n - MAX_SHOWN} answers more; -o saves all", ""])
    used = int(mechanism.channel.any(axis=0).sum())
    title = f"P(report | answer), {n} x {m}, {used} reports in use"
    print_table(["answer", "likeliest reports", "together"], rows, title=title, words=["likeliest reports", "together"])


def wait_for(work: Callable[[], Result], what: str) -> Result:
    """Do long work in a thread, so that Ctrl-C is handled while a solver runs compiled code.

    On a terminal, stderr shows the task and the elapsed time.
    """
    allow_interrupts_everywhere()
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name=WORKER, daemon=True)
    thread.start()
    thread.join(0.3)  # no spinner for short work
    if thread.is_alive():
        with _spinner(what):
            while thread.is_alive():
                thread.join(0.2)
    if errors:
        raise errors[0]
    return results[0]


def is_working() -> bool:
    """Whether work of `wait_for` is still running."""
    return any(thread.name == WORKER for thread in threading.enumerate())


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Progress bar on stderr if that is a terminal; call it with (done, total)."""
    allow_interrupts_everywhere()
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with _displayed(Progress(*columns, console=Console(stderr=True), transient=True)) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _spinner(what: str) -> Any:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.add_task(what, total=None)
    return _displayed(progress)


@contextmanager
def _displayed(progress: Any) -> Iterator[Any]:
    """Show a progress display and always stop it, even if Ctrl-C arrives while it starts."""
    try:
        progress.start()
        yield progress
    finally:
        progress.stop()


def _probability(p: float) -> str:
    return "0" if p == 0 else "1" if p == 1 else f"{p:.4f}" if p >= 5e-4 else f"{p:.0e}"


def _box() -> Any:
    from rich import box

    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    return box.SIMPLE_HEAD if encoding.lower().startswith("utf") else box.ASCII2
