"""A TOML file that is read strictly: each error names file, line and key."""

import math
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from ldpopt.errors import MechanismError, ModelFileError, StatementError
from ldpopt.foundation.files import readable, require_path
from ldpopt.foundation.kinds import kind_of, other_kind
from ldpopt.foundation.labels import nearest
from ldpopt.privacy.plain import MisstatedError

# Largest size in bytes of a file that is read or written; a gain of 1000 x 1000 numbers takes a
# third of it
LARGEST_FILE = 64 * 2**20
# typographic quotation marks, single, double and angular
CURLY = "\u2018-\u201f\u2039\u203a\u00ab\u00bb"
MAX_DEPTH = 8  # largest nesting depth of a file; a matrix in a table has depth four
Key = tuple[str | int, ...]
_WORDS = {
    "prior": ("prior",),
    "utility": ("utility", "gain", "loss"),
    "alphabet": ("input", "output", "label", "alphabet"),
    "privacy": ("privacy", "graph", "edge", "node", "distance", "metric", "epsilon", "delta"),
    "constraints": ("constraint", "unbiased"),
    "objective": ("objective", "worst_case"),
}
"""Words of a message of `Problem`, by which the table is found that it is about."""


class Page:
    """The text and values of a file; it builds every error about them."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        content: str = "a model in TOML",
        begin: str = "`ldpopt init FILE` begins a model, `ldpopt survey init FILE` a survey",
    ) -> None:
        require_path(path)
        self.path = os.fsdecode(path)
        self.aliases: dict[Key, Key] = {}  # keys of what the file has elsewhere
        try:
            with readable(self.path).open("rb") as stream:
                raw = stream.read(LARGEST_FILE + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            do = "check the path"
            if isinstance(error, FileNotFoundError):
                do = f"{do}; {begin}"
            name = content.removeprefix("a ")
            raise self.error((), f"cannot read the {name}: {why}", do, code="file") from None
        kind = kind_of(path)
        if kind is not None and not kind.name.endswith("in TOML"):
            raise other_kind(self.path, kind, content, begin)
        if len(raw) > LARGEST_FILE:
            raise self.error(
                (),
                f"the file is larger than {LARGEST_FILE:,} bytes",
                "give a smaller problem",
                code="file-size",
            )
        try:
            self.text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            do = "pass a TOML file, saved as UTF-8 (in the editor's menu for saving)"
            raise self.error(
                line,
                f"the file is not UTF-8 text (byte {raw[error.start]:#04x})",
                do,
                code="encoding",
            ) from None
        self.data = self._parse()

    def _parse(self) -> dict[str, Any]:
        # A key of ten thousand dots takes tomllib minutes; the lookbehind keeps this search linear.
        if dots := re.search(
            r"(?<![^\s=\[\],{}#])(?:[^\s.=\[\],{}#]+[ \t]*\.[ \t]*){32}", self.text
        ):
            line = self.text.count("\n", 0, dots.start()) + 1
            raise self.error(
                line, "a name of more than 32 dotted parts", "write flat tables", code="long-name"
            )
        try:
            data = tomllib.loads(self.text)
        except RecursionError:
            raise self.error(
                (), f"the file is nested deeper than {MAX_DEPTH}", "write flat tables", code="depth"
            ) from None
        except ValueError as error:
            text = str(error)
            at = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", text)
            place: Key | int = (
                (int(at[1]) if at[1] else self.text.rstrip().count("\n") + 1) if at else ()
            )
            reason = text[: at.start()] if at else text.split(";")[0]
            raise self._no_toml(reason, place) from None
        self._require_plain(data)
        return data

    def _no_toml(self, reason: str, place: Key | int) -> ModelFileError:
        """Error for a text that is not TOML, with what was probably meant."""
        lines = self.text.split("\n")
        line = lines[place - 1] if isinstance(place, int) else ""
        outside = _LONG_TEXT.sub("", line)
        code, do = "syntax", "correct the line"
        if self.text.lstrip()[:1] == "{":
            do = "this is JSON: pass a model or a statement in TOML; `ldpopt audit` reads JSON"
        elif curly := re.search(f"[{CURLY}]", outside):
            code = "curly-quote"
            reason = f"{curly[0]} is a typographic quotation mark"
            do = """write plain ones, " or ', as in labels = ["no", "yes"]"""
        elif comma := re.search(r"(?<![\w.])[-+]?(\d+),(\d+)(?![\w.])", _LIST.sub("", outside)):
            code = "decimal-comma"
            reason = f"{comma[0]} has a comma"
            do = f"write decimals with a point: {comma[0].replace(',', '.')}"
        elif point := re.search(r"(?<![\w.])[-+]?(\.\d+|\d+\.)(?![\w.])", outside):
            code = "digit-of-point"
            reason = (
                f"{point[0]} has no digit {'before' if point[1][0] == '.' else 'after'} its point"
            )
            do = f"write {float(point[0])}"
        return self.error(place, f"not TOML: {reason[:1].lower()}{reason[1:]}", do, code=code)

    def _require_plain(self, data: Any) -> None:
        """Refuse nan, inf, integers beyond floats and deep nesting; without recursion."""
        stack: list[tuple[Key, Any]] = [((), data)]
        while stack:
            key, value = stack.pop()
            if len(key) > MAX_DEPTH:
                raise self.error(
                    key[:2], f"nested deeper than {MAX_DEPTH}", "write flat tables", code="depth"
                )
            if isinstance(value, dict):
                stack += [((*key, name), entry) for name, entry in value.items()]
            elif isinstance(value, list):
                stack += [((*key, place), entry) for place, entry in enumerate(value)]
            elif isinstance(value, float) and not (math.isfinite(value) or _is_edge(key, value)):
                raise self.error(
                    key,
                    f"{dotted(key)} = {value} is not a finite number",
                    "give a finite number",
                    code="finite-number",
                )
            elif isinstance(value, int) and abs(value) > 2**53:
                raise self.error(
                    key,
                    f"{dotted(key)} is an integer beyond 2^53",
                    "write it as a decimal or as text",
                    code="large-integer",
                )

    def error(
        self, key: Key | int, problem: str, do: str = "", *, code: str = ""
    ) -> ModelFileError:
        """Error with file, line and key; a syntax error has a line only."""
        return ModelFileError(problem, code=code, where=self.where(key), do=do)

    def where(self, key: Key | int) -> str:
        """File, line and key, as messages write them."""
        key = key if isinstance(key, int) else self._in_file(key)
        line = key if isinstance(key, int) else (line_of(self.text, key) if key else None)
        where = self.path + (f":{line}" if line else "")
        name = "" if isinstance(key, int) or not key else f": {dotted(key)}"
        return where + name

    def _in_file(self, key: Key) -> Key:
        """The key that the file has, of a key that may be an alias or inside one."""
        return (*self.aliases.get(key[:2], key[:2]), *key[2:])

    @contextmanager
    def at(self, *key: str | int) -> Iterator[None]:
        """Add a key to errors: this key, or the key inside it that the message names first."""
        try:
            yield
        except ModelFileError:
            raise
        except (StatementError, MechanismError) as error:
            inner = error.key if isinstance(error, MisstatedError) else None
            place = self._inner_key(key, error.what) if inner is None else (*key, *inner)
            raise error.restated(ModelFileError, where=self.where(place)) from None

    def _inner_key(self, key: Key, message: str) -> Key:
        """The key inside a table that a message names first."""
        key = self._in_file(key)
        table: Any = self.data
        for part in key:
            table = table[part] if isinstance(part, int) or part in table else {}
        if not isinstance(table, dict):
            return key
        names = (
            {name: (name.removesuffix("s"),) for name in table}
            if key
            else {n: _WORDS.get(n, ()) for n in table}
        )
        places = []
        for name, words in names.items():
            matches = [re.search(rf"\b{re.escape(word)}", message) for word in words]
            places += [(match.start(), name) for match in matches if match]
        if places:
            return self._inner_key((*key, min(places)[1]), message)
        # The only key of a table is meant whether or not the message names it; a kind alone lacks
        # others.
        return (*key, *table) if key and len(table) == 1 and "kind" not in table else key


def _is_edge(key: Key, value: float) -> bool:
    """Whether a number is an infinite edge of the classes of a question or matrix of a survey."""
    return math.isinf(value) and key[0] in ("question", "matrix") and key[2:3] == ("edges",)


_NAME = re.compile(r"(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')")
_KEY = rf"{_NAME.pattern}(?:\s*\.\s*{_NAME.pattern})*"
_LIST = re.compile(r"\[[^\]]*\]?")
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEY})\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(rf"\s*({_KEY})\s*=")
# Texts and comments, inside which brackets and line ends mean nothing
_LONG_TEXT = re.compile(
    r"\"\"\"[\s\S]*?(?:\"\"\"|\Z)|'''[\s\S]*?(?:'''|\Z)|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|#.*"
)


def line_of(text: str, key: Key) -> int | None:
    r"""Line of a key in a TOML text, counted from 1: or the line of the innermost table or key
    around it.
    """
    outside = _LONG_TEXT.sub(
        lambda nearest: nearest[0][:1] + re.sub(r"[^\n]", "\0", nearest[0][1:]), text
    ).split("\n")
    nearest: int | None = None
    table: Key = ()
    best, tables, depth = 0, 0, 0
    for number, (line, plain) in enumerate(zip(text.split("\n"), outside, strict=True), start=1):
        here: Key = ()
        if depth == 0 and plain[:1] != "\0":
            if header := _HEADER.match(line):
                table = tuple(part.strip("\"'") for part in _NAME.findall(header[2]))
                if header[1] == "[[" and table == key[: len(table)]:
                    table, tables = (*table, tables), tables + 1
                here = table
            elif assignment := _ASSIGNMENT.match(line):
                here = (*table, *(part.strip("\"'") for part in _NAME.findall(assignment[1])))
        if (shared := min(len(here), len(key))) > best and here[:shared] == key[:shared]:
            best, nearest = shared, number
        depth += plain.count("[") + plain.count("{") - plain.count("]") - plain.count("}")
    return nearest


def dotted(key: Key) -> str:
    """Write a key in readable form: ``privacy.neighbors.edges[2]``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).lstrip(".")


def shipped(kind: Literal["models", "examples"]) -> Path:
    """Folder of the models or examples that come with the package: inside it once installed, else
    beside it.
    """
    package = Path(__file__).parents[2]
    for folder in (package / kind, package.parent / kind):
        if folder.is_dir():
            return folder
    raise ModelFileError(
        f"the {kind} of ldpopt are not installed", where=str(package), do="install the wheel again"
    )


def model_path(name: str | os.PathLike[str]) -> str:
    """Path of a model: of the file, or of the model of this name that comes with the package."""
    path = os.fsdecode(name)
    if not path.replace("_", "").isalnum() or os.path.exists(path):
        return path
    known = {file.stem: file for file in sorted(shipped("models").glob("*.toml"))}
    if path not in known:
        do = (
            f"{nearest(path, known)}; `ldpopt models` lists them, `ldpopt init {path}.toml` "
            "begins a file"
        )
        raise ModelFileError(
            f"{path!r} is neither a file nor a model that comes with ldpopt", do=do
        )
    return str(known[path])
