"""Which kind of table a file is, by its ending and its first bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from ldpopt.errors import ModelFileError

Kind = Literal["csv", "parquet"]

ENDINGS: dict[str, Kind] = {"": "csv", ".csv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet"}
"""Kinds of tables by the ending of the file."""

PARQUET_MARK = b"PAR1"
"""First bytes of a Parquet file."""


def kind_of(path: str) -> Kind:
    """Kind of a table, by the ending of its file; ``-`` and files without an ending are CSV.

    Examples
    --------
    >>> kind_of("answers.parquet"), kind_of("-")
    ('parquet', 'csv')
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ModelFileError(f"a table cannot have the ending {ending!r}", where=path, do="use .csv or .parquet")
    return ENDINGS[ending]


def require_other_file(source: str, target: str) -> None:
    """Refuse to write the file that is read."""
    if "-" in (source, target):
        return
    is_same = os.path.realpath(source) == os.path.realpath(target)
    if is_same or (os.path.isfile(source) and os.path.isfile(target) and os.path.samefile(source, target)):
        do = "name another file for the reports"
        raise ModelFileError("the reports would replace the answers that they are made from", where=target, do=do)
