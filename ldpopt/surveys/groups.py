"""Groups of people, such as regions, in a table: how many people each has, and what its fields are.

The table has the column ``people`` and a column for each field: ``people,region``. It is read by
`survey invite --groups` and `survey report --groups`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ldpopt.errors import ModelFileError
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import short_repr
from ldpopt.surveys.fields import MAX_WEIGHT, is_weight
from ldpopt.tables.coding import is_missing
from ldpopt.tables.csv_ import CsvRows
from ldpopt.tables.files import position_of, reading

PEOPLE = "people"  # the column of the numbers of people
MAX_GROUPS = 10_000
MAX_PEOPLE = 10**9
SMALLEST = 5  # people of a group; of fewer its fields nearly say whose a report is
SMALL = 20  # people of a group; of fewer its estimates say nothing
WHOLE = re.compile(r"[0-9]{1,10}(\.0)?")


@dataclass(frozen=True)
class Group:
    """People whose fields are the same: how many, and the text of each field."""

    people: int
    fields: dict[str, str]

    @property
    def name(self) -> str:
        """The fields in words, such as ``region North, age young``."""
        return ", ".join(f"{name} {text}" for name, text in self.fields.items())


def read_groups(path: str, fields: Mapping[str, Sequence[str]] | None = None) -> list[Group]:
    """Read a table of groups, in its order.

    Parameters
    ----------
    path : str
        CSV, Parquet, Excel, Stata or SPSS, with the column ``people`` and one for each field.
    fields : mapping name -> labels, optional
        The fields of a survey: the table has just these, and each entry is one of the labels; a
        field without labels is a weight. Default: every other column is a field of any text.

    Raises
    ------
    ModelFileError
        If a column is missing or too many, a number of people is not whole and at least 1, an entry
        is missing or no label, or two rows are the same group.
    """
    with reading(path) as rows:
        names = [str(name) for name in rows.columns if name != PEOPLE]
        places = [position_of(rows, PEOPLE), *(position_of(rows, name) for name in names)]
        _require_fields(names, fields, path)
        columns: list[list[Any]] = [[] for _ in places]
        batches: Any = rows.texts(places) if isinstance(rows, CsvRows) else rows.batches(places, ())
        for batch in batches:
            for column, part in zip(columns, batch, strict=True):
                column += part.to_list() if hasattr(part, "to_list") else part.to_pylist()
        first_row = rows.first_row
    groups = list[Group]()
    seen: dict[tuple[str, ...], int] = {}
    for row, (people, *cells) in enumerate(zip(*columns, strict=True), first_row):
        where = f"{path}, row {row}"
        texts = [_entry(cell, name, fields, where) for name, cell in zip(names, cells, strict=True)]
        if (before := seen.setdefault(tuple(texts), row)) != row:
            raise ModelFileError(
                f"the group of row {before} is there again",
                code="repeated-group",
                where=where,
                do="state each group once, with the people of both rows",
            )
        groups.append(Group(_people(people, where), dict(zip(names, texts, strict=True))))
    _require_some(groups, path)
    return groups


def _require_fields(
    names: Sequence[str], fields: Mapping[str, Sequence[str]] | None, path: str
) -> None:
    """Refuse a table without fields, or with others than a survey has."""
    if not names:
        raise ModelFileError(
            "the table has no field beside people",
            code="no-field",
            where=path,
            do="add a column such as region",
        )
    if fields is None:
        return
    for name in names:
        if name not in fields:
            raise ModelFileError(
                f"the survey has no field {short_repr(name)}",
                code="unknown-field",
                where=path,
                do=nearest(name, list(fields)) if fields else "add [field.NAME] to the survey",
            )
    if left := [name for name in fields if name not in names]:
        raise ModelFileError(
            f"the field {short_repr(left[0])} of the survey has no column",
            code="missing-field",
            where=path,
            do="add the column",
        )


def _require_some(groups: Sequence[Group], path: str) -> None:
    """Refuse a table without groups, or with too many."""
    if not groups or len(groups) > MAX_GROUPS:
        raise ModelFileError(
            f"the table has {len(groups):,} groups",
            code="group-count",
            where=path,
            do=f"pass from 1 to {MAX_GROUPS:,} rows",
        )


def _people(cell: Any, where: str) -> int:
    """A number of people, which software may write as 20.0."""
    text = "" if is_missing(cell, True) else str(cell).strip()
    number = int(text.partition(".")[0]) if WHOLE.fullmatch(text) else 0
    if not 1 <= number <= MAX_PEOPLE:
        raise ModelFileError(
            f"{PEOPLE} is {short_repr(text)}, not a number of people",
            code="people",
            where=where,
            do=f"write a whole number from 1 to {MAX_PEOPLE:,}, without separators",
        )
    return number


def _entry(cell: Any, name: str, fields: Mapping[str, Sequence[str]] | None, where: str) -> str:
    """The text of a field, which is one of its labels or a weight."""
    if is_missing(cell, True):
        raise ModelFileError(
            f"the field {name!r} has no entry",
            code="missing-entry",
            where=where,
            do="name a group of its own, such as 'other'",
        )
    is_whole = isinstance(cell, float) and cell.is_integer()  # a number of a workbook
    text = str(int(cell) if is_whole else cell)
    labels = None if fields is None else fields[name]
    if labels and text not in labels:
        raise ModelFileError(
            f"{short_repr(text)} is not a label of the field {name!r}",
            code="field-label",
            where=where,
            do=nearest(text, labels),
        )
    if labels is not None and not labels and not (is_weight(text) and float(text) > 0):
        raise ModelFileError(
            f"the weight {short_repr(text)} is not a decimal number above 0",
            code="group-weight",
            where=where,
            do=f"write at most {MAX_WEIGHT} characters, with a point",
        )
    return text
