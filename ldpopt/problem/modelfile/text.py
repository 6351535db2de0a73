"""The text of a model file: positions of keys, errors with file, line and key, and tables written as text."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ldpopt.errors import MechanismError, ModelFileError, StatementError
from ldpopt.foundation.files import readable
from ldpopt.foundation.numbers import short_repr
from ldpopt.privacy.plain import MisstatedError

LARGEST_FILE = 64 * 2**20
"""Largest size in bytes of a file that is read or written; a gain of 1000 x 1000 numbers takes a third of it."""

DEEPEST = 8
"""Largest nesting depth of a file; a matrix in a table has depth four."""

Key = tuple[str | int, ...]

_WORDS = {
    "prior": ("prior",),
    "utility": ("utility", "gain", "loss"),
    "alphabet": ("input", "output", "label", "alphabet"),
    "privacy": ("privacy", "graph", "edge", "node", "distance", "metric", "epsilon", "delta"),
    "constraints": ("constraint", "unbiased"),
    "objective": ("objective", "worst_case"),
}
"""The table to which a message of `Problem` belongs, by words in it."""


class Page:
    """The text of a file and the positions of its keys; it builds every error."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            with readable(self.path).open("rb") as stream:
                raw = stream.read(LARGEST_FILE + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise self.error((), f"cannot read the model file: {why}", "check the path") from None
        if len(raw) > LARGEST_FILE:
            raise self.error((), f"the file is larger than {LARGEST_FILE:,} bytes", "state a smaller problem")
        try:
            self.text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            do = "pass a TOML file, saved as UTF-8 (in the editor's menu for saving)"
            raise self.error(line, f"the file is not UTF-8 text (byte {raw[error.start]:#04x})", do) from None
        self.data = self._parse()

    def _parse(self) -> dict[str, Any]:
        # A key of ten thousand dots takes tomllib minutes; the lookbehind keeps this search linear.
        dots = re.search(r"(?<![^\s=\[\],{}#])(?:[^\s.=\[\],{}#]+[ \t]*\.[ \t]*){32}", self.text)
        if dots:
            line = self.text.count("\n", 0, dots.start()) + 1
            raise self.error(line, "a name of more than 32 dotted parts", "state flat tables")
        try:
            data = tomllib.loads(self.text)
        except RecursionError:
            raise self.error((), f"the file is nested deeper than {DEEPEST}", "state flat tables") from None
        except ValueError as error:
            text = str(error)
            at = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", text)
            place: Key | int = (int(at[1]) if at[1] else self.text.rstrip().count("\n") + 1) if at else ()
            what = text[: at.start()] if at else text.split(";")[0]
            raise self.error(place, f"no TOML: {what[:1].lower()}{what[1:]}", "correct the line") from None
        self._require_plain(data)
        return data

    def _require_plain(self, data: Any) -> None:
        """Refuse nan, inf, integers beyond floats and deep nesting; without recursion."""
        stack: list[tuple[Key, Any]] = [((), data)]
        while stack:
            key, value = stack.pop()
            if len(key) > DEEPEST:
                raise self.error(key[:2], f"nested deeper than {DEEPEST}", "state flat tables")
            if isinstance(value, dict):
                stack += [((*key, name), entry) for name, entry in value.items()]
            elif isinstance(value, list):
                stack += [((*key, place), entry) for place, entry in enumerate(value)]
            elif isinstance(value, float) and not math.isfinite(value):
                raise self.error(key, f"{dotted(key)} = {value} is not a finite number", "state a finite number")
            elif isinstance(value, int) and abs(value) > 2**53:
                raise self.error(key, f"{dotted(key)} is an integer beyond 2^53", "state it as a decimal or as text")

    def error(self, key: Key | int, what: str, do: str = "") -> ModelFileError:
        """Build an error with file, line and key; a syntax error has a line only."""
        line = key if isinstance(key, int) else (line_of(self.text, key) if key else None)
        where = self.path + (f":{line}" if line else "")
        name = "" if isinstance(key, int) or not key else f": {dotted(key)}"
        return ModelFileError(what, where=where + name, do=do)

    @contextmanager
    def at(self, *key: str | int) -> Iterator[None]:
        """Add a key to errors of other classes: this key, or the key inside it that the message names first."""
        try:
            yield
        except ModelFileError:
            raise
        except (StatementError, MechanismError) as error:
            inner = error.key if isinstance(error, MisstatedError) else None
            place = self._sharpened(key, error.what) if inner is None else (*key, *inner)
            raise self.error(place, error.what, error.do) from None

    def _sharpened(self, key: Key, what: str) -> Key:
        table: Any = self.data
        for part in key:
            known = isinstance(part, int) or part in table
            table = table[part] if known else {}
        if not isinstance(table, dict):
            return key
        names = {name: (name.removesuffix("s"),) for name in table} if key else {n: _WORDS.get(n, ()) for n in table}
        places = [
            (match.start(), name)
            for name, words in names.items()
            for word in words
            if (match := re.search(rf"\b{re.escape(word)}", what))
        ]
        if places:
            return self._sharpened((*key, min(places)[1]), what)
        # The only key of a table is meant whether or not the message names it; a kind alone lacks others.
        return (*key, *table) if key and len(table) == 1 and "kind" not in table else key


_PART = r"(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')"
_NAME = re.compile(_PART)
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_PART}(?:\s*\.\s*{_PART})*)\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")
_TOKEN = re.compile(r"\"\"\"|'''|\"(?:\\.|[^\"\\])*\"|'[^']*'|#.*|[\[\]{}]")


def line_of(text: str, key: Key) -> int | None:
    r"""Line of a key in a TOML text, counted from 1: or the line of the innermost table or key around it.

    Examples
    --------
    >>> line_of("[privacy]\nkind = 'pure'\nepsilon = -1", ("privacy", "epsilon"))
    3
    """
    found: int | None = None
    table: Key = ()
    best, tables, depth, quote = 0, 0, 0, ""
    for number, line in enumerate(text.split("\n"), start=1):
        here: Key = ()
        if not depth and not quote:
            if header := _HEADER.match(line):
                table = tuple(part.strip("\"'") for part in _NAME.findall(header[2]))
                if header[1] == "[[" and table == key[: len(table)]:
                    table, tables = (*table, tables), tables + 1
                here = table
            elif assignment := _ASSIGNMENT.match(line):
                here = (*table, *(part.strip("\"'") for part in _NAME.findall(assignment[1])))
        shared = min(len(here), len(key))
        if shared > best and here[:shared] == key[:shared]:
            best, found = shared, number
        depth, quote = _still_open(line, depth, quote)
    return found


def _still_open(line: str, depth: int, quote: str) -> tuple[int, str]:
    """Brackets and long strings that are still open after a line."""
    position = 0
    while position < len(line):
        if quote:
            end = line.find(quote, position)
            if end < 0:
                break
            position, quote = end + 3, ""
        elif token := _TOKEN.search(line, position):
            position = token.end()
            quote = token[0] if token[0] in ('"""', "'''") else ""
            depth += (token[0] in "[{") - (token[0] in "]}")
        else:
            break
    return depth, quote


def dotted(key: Key) -> str:
    """Write a key in readable form: ``privacy.neighbors.edges[2]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).lstrip(".")


def short(value: Any) -> str:
    """Show a value of a file in at most 60 characters."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:56] + " ..."


def format_tables(stated: Mapping[str, Any]) -> str:
    """Format tables with one row of a matrix on each line."""
    plain = {key: value for key, value in stated.items() if isinstance(value, str)}
    lines = [f"{key} = {format_value(value)}" for key, value in plain.items()]
    for name, value in stated.items():
        for table in [value] if isinstance(value, Mapping) else value if name not in plain else []:
            lines += ["", f"[{name}]" if isinstance(value, Mapping) else f"[[{name}]]"]
            lines += [f"{key} = {format_value(entry)}" for key, entry in table.items()]
    return "\n".join(lines).lstrip("\n") + "\n"


def format_value(value: Any, *, flat: bool = False) -> str:
    """Write a value as TOML; a matrix with one row on each line, unless ``flat``."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda c: f"\\u{ord(c[0]):04x}", escaped) + '"'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {format_value(entry, flat=True)}" for key, entry in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return _list(value, flat=flat)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)) and math.isfinite(value):
        return repr(value)
    raise StatementError(f"{short_repr(value)} cannot be written to a model file")


def _list(values: Sequence[Any], *, flat: bool) -> str:
    """Write a list on one line, a matrix with one row on each."""
    if not flat and values and isinstance(values[0], (list, tuple)):
        return "[\n" + "".join(f"    {format_value(row, flat=True)},\n" for row in values) + "]"
    return "[" + ", ".join(format_value(entry, flat=True) for entry in values) + "]"
