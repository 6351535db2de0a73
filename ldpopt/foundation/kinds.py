"""What kind of file a path leads to, by its beginning: a file of another kind than the one that is
wanted is refused by its name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from ldpopt.errors import ModelFileError
from ldpopt.foundation.files import FilePath, beginning

READ = 4096  # characters at the beginning of a file by which it is recognized
READ_TOML = 1 << 20  # of one in TOML: the words of a survey may be long


class FileKind(NamedTuple):
    """A kind of file: what it is called, what can be read from it, and what reads it."""

    name: str
    holds: tuple[str, ...]
    use: str


SURVEY = FileKind("a survey in JSON", ("a survey",), "`ldpopt survey --help` lists what reads it")
STATED_SURVEY = FileKind("a survey in TOML", (), "`ldpopt survey solve FILE` reads it")
STATED_MODEL = FileKind("a model in TOML", (), "")
MECHANISM = FileKind("a mechanism", ("a mechanism",), "`ldpopt audit FILE` reads it")
DESIGN = FileKind("a design", ("a mechanism", "a certificate"), "`ldpopt audit FILE` reads it")
TABLE = FileKind("a table", ("a table",), "`ldpopt privatize` and `ldpopt estimate` read tables")
FORMATS = {  # how the format begins that a file in JSON states
    "ldpopt survey ": SURVEY,
    "ldpopt design certificate ": DESIGN,
    "ldpopt certificate ": FileKind(
        "a certificate", ("a certificate",), "`ldpopt certify` reads it"
    ),
    "ldpopt joint report ": FileKind("a joint report", ("a certificate",), "a survey contains it"),
    "ldpopt account certificate ": FileKind(
        "an account", ("a certificate",), "`ldpopt certify` reads it"
    ),
    "ldpopt key ": FileKind("a secret key", (), "`ldpopt privatize --key FILE` reads it"),
    "ldpopt counts ": FileKind("counts", ("counts",), "`Counts.load` reads them"),
    "ldpopt reports ": FileKind("the origin of a table", (), "name the table that it is beside"),
}
TABLE_ENDINGS = (".csv", ".parquet", ".xlsx", ".dta", ".sav")
_FORMAT = re.compile(r'\{\s*"format"\s*:\s*"([^"]*)')
_MECHANISM = re.compile(r'\{\s*"inputs"\s*:\s*\[')
_HEADER = re.compile(r"^[ \t]*\[\s*(\w+)", re.MULTILINE)
# the tables of a survey as headers, [question.NAME], or as dotted keys, question.NAME.labels
_QUESTIONS = re.compile(
    r"""^[ \t]*(?:\[[ \t]*)?(["']?)(?:question|matrix)\1[ \t]*[.\]]"""
    r"|^[ \t]*question[ \t]*=",
    re.MULTILINE,
)


def kind_of(path: FilePath) -> FileKind | None:
    """The kind of a file, None if it is not recognized."""
    ending = Path(str(path)).suffix.lower()
    text = beginning(path, READ_TOML if ending == ".toml" else READ).lstrip("\ufeff \t\r\n")
    if text.startswith("{"):
        stated = _FORMAT.match(text)
        for start, kind in FORMATS.items():
            if stated is not None and stated[1].startswith(start):
                return kind
        return MECHANISM if _MECHANISM.match(text) else None
    if ending in TABLE_ENDINGS and text:
        return TABLE
    if ending == ".toml" and asks_questions(text):
        return STATED_SURVEY
    return STATED_MODEL if ending == ".toml" and _HEADER.search(text) else None


def asks_questions(text: str) -> bool:
    """Whether a text in TOML has questions, or tables of them, and so is a survey. Nothing is
    parsed: of some texts that takes minutes.
    """
    return _QUESTIONS.search(text) is not None


def require_holding(path: FilePath, content: str, do: str) -> None:
    """Refuse a file of a known kind that does not hold what is wanted, such as "a mechanism";
    ``do`` says where to get that.
    """
    kind = kind_of(path)
    if kind is not None and content not in kind.holds:
        raise other_kind(path, kind, content, do)


def other_kind(
    path: FilePath, kind: FileKind, content: str, do: str, *, code: str = "kind-of-file"
) -> ModelFileError:
    """Error for a file of another kind than the one that is wanted."""
    use = kind.use.replace("FILE", str(path))
    problem = f"this is {kind.name}, not {content}"
    return ModelFileError(problem, code=code, where=str(path), do=f"{do}; {use}" if use else do)
