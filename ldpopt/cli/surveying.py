"""The commands on tables of answers: privatize and estimate."""

from __future__ import annotations

import csv
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, Annotated, Any, Literal

import typer

from ldpopt.cli.output import (
    Json,
    MechanismPath,
    label,
    new_axes,
    number,
    print_table,
    report,
    require_writable,
    save_figure,
    say,
    text_of,
)
from ldpopt.errors import ModelFileError
from ldpopt.foundation.files import readable, replacing

CHUNK = 1 << 16
"""Rows per chunk of reading, privatizing and writing."""

MAX_LINE_LENGTH = 1 << 24
"""Largest number of characters in a line."""

Column = Annotated[str, typer.Option("--column", "-c", metavar="C", help="Which column of the table.")]


def privatize(
    mechanism: MechanismPath,
    answers: Annotated[str, typer.Argument(metavar="ANSWERS.csv", help="Table with a header line; '-' for stdin.")],
    column: Column,
    output: Annotated[str, typer.Option("-o", "--output", metavar="REPORTS.csv", help="'-' for stdout.")],
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Copy this column unprotected; may be repeated."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeatable draws, for tests only.")] = None,
    json: Json = None,
) -> None:
    """Replace the answers of a table by reports.

    Reports are drawn with the system's random numbers. All other columns would be unprotected; they are dropped, unless
    kept by name. Answers are matched with the mechanism's labels as text. The file is written atomically.
    """
    import numpy as np

    from ldpopt.cli.instruments import read_instrument

    if json == "-" and output == "-":
        raise typer.BadParameter("the reports and the JSON cannot both go to stdout")
    require_writable(output, json)
    instrument = read_instrument(mechanism)
    position = by_text(instrument.inputs, "input")
    generator = None if seed is None else np.random.default_rng(seed)
    if seed is not None:
        say("note: anybody who knows the --seed can undo the draws; use it for tests only")
    total = 0
    with _opened(answers) as stream, _written(output) as target:
        table = _Table(stream, answers, [column, *(keep or [])])
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(table.header)
        for chunk in table.chunks():
            codes = _codes(chunk, position, answers, column)
            reports = instrument.draw(codes, generator)
            writer.writerows([text, *row[1:]] for text, (_, row) in zip(reports, chunk, strict=True))
            total += len(chunk)
    if total == 0:
        say("note: the table has a header and no rows")
    data = {"rows": total, "column": column, "kept": list(keep or []), "output": output}
    report(data, json, lambda: None if output == "-" else print(f"{output}: {total:,} reports"))


def _codes(chunk: list[tuple[int, list[str]]], position: dict[str, int], name: str, column: str) -> Any:
    """Codes of the answers in the first column of a chunk."""
    import numpy as np

    codes = np.array([position.get(row[0], -1) for _, row in chunk])
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        line, row = chunk[int(unknown[0])]
        raise _unknown(row[0], position, f"{name}, line {line}, column {column}", "answer")
    return codes


def estimate(
    mechanism: MechanismPath,
    reports: Annotated[str, typer.Argument(metavar="REPORTS.csv", help="Table with a header line; '-' for stdin.")],
    column: Column,
    method: Annotated[Literal["inversion", "maximum_likelihood"], typer.Option(help="See estimate_frequencies.")] = (
        "inversion"
    ),
    confidence: Annotated[float, typer.Option(help="Coverage of each interval.")] = 0.95,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Bars with intervals.")] = None,
    json: Json = None,
) -> None:
    """Estimate from reports: the frequencies of the answers, or the numbers that a design is for."""
    from ldpopt.cli.instruments import read_instrument

    require_writable(json, picture=plot)
    instrument = read_instrument(mechanism)
    known = instrument.known()
    seen: Counter[str] = Counter()
    with _opened(reports) as stream:
        for chunk in _Table(stream, reports, [column]).chunks():
            for line, (text,) in chunk:
                if known is not None and text not in known:
                    raise _unknown(text, known, f"{reports}, line {line}, column {column}", "report")
                seen[text] += 1
    found = instrument.estimate(seen, method, confidence)
    rows = zip(
        found.labels or (), found.values.tolist(), found.std_error.tolist(), found.interval.tolist(), strict=True
    )
    what = "number" if found.method == "design" else "answer"
    entries = [
        {what: answer, "estimate": value, "std_error": error, "low": low, "high": high}
        for answer, value, error, (low, high) in rows
    ]
    data = {"method": found.method, "n_reports": found.n_reports, "confidence": confidence, "estimates": entries}
    title = f"{found.n_reports:,} reports, {found.method.replace('_', ' ')}, {100 * confidence:g} % intervals"
    shown = [[label(answer), *(number(value, 5) for value in rest)] for answer, *rest in (e.values() for e in entries)]
    report(data, json, lambda: print_table([what, "estimate", "std error", "low", "high"], shown, title=title))
    if plot is not None:
        from ldpopt import plot as pictures

        size = (max(5.0, min(13.0, 2.0 + 0.55 * len(entries))), 4.0)
        save_figure(plot, pictures.estimate(found, new_axes(size)).figure)


def _lines(stream: IO[str], name: str) -> Iterator[str]:
    """Yield lines of limited length: a very long one would fill the memory."""
    for position, line in enumerate(iter(lambda: stream.readline(MAX_LINE_LENGTH), ""), start=1):
        if len(line) == MAX_LINE_LENGTH:
            what = f"the line has {MAX_LINE_LENGTH:,} characters or more"
            raise ModelFileError(what, where=f"{name}, line {position}", do="pass a table with line breaks")
        yield line


class _Table:
    """Rows of some columns of a CSV stream, in chunks, each with its line number."""

    def __init__(self, stream: IO[str], name: str, columns: list[str]) -> None:
        self.name, self.header = name, columns
        self._reader = csv.reader(_lines(stream, name), strict=True)
        first = next(self._rows(), None)
        if first is None:
            raise ModelFileError("the table is empty", where=name, do="add a header line")
        self._known = first[1]
        self._positions = [self._position(column) for column in columns]

    def chunks(self) -> Iterator[list[tuple[int, list[str]]]]:
        """Yield lists of (line, values of the columns)."""
        chunk: list[tuple[int, list[str]]] = []
        for line, row in self._rows():
            if len(row) != len(self._known):
                what = f"the row has {len(row)} fields, the header {len(self._known)}"
                raise ModelFileError(what, where=f"{self.name}, line {line}", do="quote commas and line breaks")
            chunk.append((line, [row[position] for position in self._positions]))
            if len(chunk) == CHUNK:
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield rows; empty lines are allowed only at the end."""
        empty = 0
        while True:
            try:
                row = next(self._reader, None)
            except (csv.Error, UnicodeDecodeError) as error:
                where = f"{self.name}, line {self._reader.line_num + isinstance(error, UnicodeDecodeError)}"
                why = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
                raise ModelFileError(f"not a CSV table: {why}", where=where, do="save it as CSV in UTF-8") from None
            line = self._reader.line_num
            if row is None:
                return
            if not row:
                empty = empty or line
                continue
            if empty:
                raise ModelFileError("the line is empty", where=f"{self.name}, line {empty}", do="remove it")
            yield line, row

    def _position(self, column: str) -> int:
        import difflib

        count = self._known.count(column)
        if count == 1:
            return self._known.index(column)
        if count:
            raise ModelFileError(
                f"duplicate column {column!r}: {count} of them", where=self.name, do="rename one of them"
            )
        near = difflib.get_close_matches(column, self._known, 1, 0.4)
        shown = ", ".join(map(label, self._known[:12])) + (", ..." if len(self._known) > 12 else "")
        hint = f"did you mean {near[0]!r}? " if near and len(near[0]) <= 60 else ""
        raise ModelFileError(f"unknown column {column!r}", where=self.name, do=f"{hint}the columns are {shown}")


def by_text(labels: Sequence[Any], kind: str) -> dict[str, int]:
    """Codes by the text of the labels, since tables contain text only."""
    position = {text_of(name): code for code, name in enumerate(labels)}
    if len(position) < len(labels):
        duplicate = next(text for text, count in Counter(map(text_of, labels)).items() if count > 1)
        raise ModelFileError(f"duplicate {kind} label {duplicate!r} as text", do="rename one of them")
    return position


def _unknown(text: str, known: dict[str, int], where: str, kind: str) -> ModelFileError:
    import difflib

    near = difflib.get_close_matches(text, known, 1, 0.5)
    shown = ", ".join(map(repr, list(known)[:12])) + (", ..." if len(known) > 12 else "")
    hint = f"did you mean {near[0]!r}? " if near else ""
    shortened = repr(text if len(text) <= 60 else text[:57] + "...")
    return ModelFileError(
        f"unknown {kind} {shortened}: not a label of the mechanism", where=where, do=f"{hint}known: {shown}"
    )


@contextmanager
def _opened(path: str) -> Iterator[IO[str]]:
    """Open a table for reading; skip a byte-order mark."""
    if path == "-":
        binary = getattr(sys.stdin, "buffer", None)
        if binary is None:
            yield sys.stdin
            return
        import io

        wrapper = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
        try:
            yield wrapper
        finally:
            wrapper.detach()
        return
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(readable(path).open(encoding="utf-8-sig", newline=""))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise ModelFileError(f"cannot read the table: {why}", where=path) from None
        yield stream


@contextmanager
def _written(path: str) -> Iterator[IO[str]]:
    """Open a table for atomic writing, also to stdout."""
    if path != "-":
        with replacing(path) as stream:
            yield stream
        return
    with tempfile.SpooledTemporaryFile(1 << 24, "w+", encoding="utf-8", newline="") as spool:
        yield spool
        spool.seek(0)
        shutil.copyfileobj(spool, sys.stdout)
