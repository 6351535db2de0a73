"""Links to the page, each with an invitation and the fields of a person; lists of people, of groups
and of links as CSV.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.fieldwork.invitations import (
    MAX_INVITATIONS,
    Fields,
    checked_fields,
    group_text,
    unused_hashes,
)
from ldpopt.fieldwork.messages import hash_of
from ldpopt.foundation.numbers import whole_number
from ldpopt.surveys.groups import read_groups
from ldpopt.surveys.survey import Survey
from ldpopt.tables.csv_format import csv_format

COLUMN = "link"  # of a list of links
LINK = re.compile(r"#i=([0-9a-f]{32})(?![0-9a-f])")


def link_of(page: str, invitation: str, fields: Fields) -> str:
    """The address of the page with an invitation and fields, which browsers send to no server."""
    more = (f"&{quote(name, safe='')}={quote(value, safe='')}" for name, value in fields.items())
    return f"{page}#i={invitation}{''.join(more)}"


@dataclass(frozen=True)
class Listed:
    """Who is invited: the row of each person's list, as it will be before its link, and the fields
    of each.
    """

    rows: Sequence[Mapping[str, str]]
    fields: Sequence[Fields]

    @property
    def groups(self) -> Counter[str]:
        """Number of people of each group, by all fields together."""
        return Counter(map(group_text, self.fields))

    def with_links(self, page: str, invitations: Sequence[str]) -> list[dict[str, str]]:
        """The rows, each with its link."""
        people = zip(self.rows, self.fields, invitations, strict=True)
        return [
            {**row, COLUMN: link_of(page, invitation, fields)} for row, fields, invitation in people
        ]


def listed_groups(path: str, survey: Survey) -> Listed:
    """Read a table with a row for each group: how many people, and their fields."""
    groups = read_groups(path, survey.fields)
    total = sum(group.people for group in groups)
    whole_number(total, "number of invitations", 1, MAX_INVITATIONS)  # before a row for each
    people: list[dict[str, str]] = []
    for group in groups:
        people += [_fields_in(group.fields, survey, path)] * group.people
    return Listed(people, people)


def listed_people(path: str, survey: Survey, keep: Sequence[str]) -> Listed:
    """Read a CSV file with a row for each person, some of whose columns are the fields."""
    rows = _rows_of(path, "write a header line, and a row for each person")
    unknown = [name for name in keep if name not in rows[0]]
    do = f"the columns are {', '.join(rows[0])}"
    if unknown:
        raise ModelFileError(f"unknown column {unknown[0]!r}", code="column", where=path, do=do)
    if COLUMN in rows[0]:
        raise ModelFileError(
            f"there is a column {COLUMN!r} already", code="link-column", where=path, do=do
        )
    kept = (
        _fields_in({name: row[name] for name in keep}, survey, f"{path}, row {number}")
        for number, row in enumerate(rows, 2)
    )
    return Listed(rows, list(kept))


def listed_count(count: int, survey: Survey) -> Listed:
    """So many people, each with an empty row and no fields; a survey whose links need fields is
    refused.
    """
    if survey.fields:
        raise StatementError(
            f"each link needs the fields of the survey, {', '.join(survey.fields)}",
            code="fields",
            do="pass --groups or --people with a file that has them",
        )
    return Listed([{}] * count, [{}] * count)


def _fields_in(row: Fields, survey: Survey, where: str) -> dict[str, str]:
    """The fields in a row of a file."""
    try:
        return checked_fields(survey.fields, row)
    except StatementError as error:
        raise error.restated(ModelFileError, where=where) from None


def require_large(groups: Mapping[str, int], smallest: int) -> None:
    """Refuse groups of few people, who could be told by their fields."""
    small = [f"{name or 'all'}: {count}" for name, count in groups.items() if count < smallest]
    if small:
        shown = "; ".join(small[:5]) + (f"; {len(small) - 5:,} more" if len(small) > 5 else "")
        raise StatementError(
            f"groups of fewer than {smallest} people ({shown}): whoever knows who is in a group "
            "knows whose reports those are, or nearly",
            code="small-group",
            do="merge groups, round weights to a few values, or pass --smallest 1 to insist",
        )


def half_width_of_one(survey: Survey) -> float | None:
    """Half-width of the interval of the number that is known least, as a part of its range, if one
    person answered; of k people it is that over the root of k. None if nothing can be estimated.
    """
    widths = [0.0]
    for name in survey.questions:
        try:
            planned = survey.precision(name)
        except StatementError:
            return None
        parts = zip(planned.half_width(1).tolist(), planned.spans.tolist(), strict=True)
        widths += [width / span for width, span in parts if span > 0]
    return max(widths) if all(map(math.isfinite, widths)) else None


def unused_rows(url: str, path: str) -> tuple[list[dict[str, str]], int]:
    """The rows of a file of links whose invitations were not used, with all their columns, and how
    many rows the file has.
    """
    do = "name the file that `ldpopt survey invite` wrote, with its column link"
    rows = _rows_of(path, do)
    links = [LINK.search(row.get(COLUMN) or "") for row in rows]
    if None in links:
        raise ModelFileError(
            f"row {links.index(None) + 2} has no link with an invitation",
            code="no-link",
            where=path,
            do=do,
        )
    hashes = [hash_of(link[1]) for link in links if link is not None]
    left = unused_hashes(url, hashes)
    return [row for row, hashed in zip(rows, hashes, strict=True) if hashed in left], len(rows)


def _rows_of(path: str, do: str) -> list[dict[str, str]]:
    """The rows of a CSV file, at least one, by the names in its first line."""
    stated = csv_format()
    encoding = "utf-8-sig" if stated.encoding == "utf-8" else stated.encoding
    rows: list[dict[Any, Any]] = []
    try:
        with open(path, newline="", encoding=encoding) as file:
            reader = csv.DictReader(file, strict=True, delimiter=stated.separator)
            rows = list(reader)
            names = list(reader.fieldnames or ())
    except (OSError, UnicodeError, csv.Error) as error:
        why = f"cannot read the list: {getattr(error, 'strerror', None) or type(error).__name__}"
        raise ModelFileError(why, code="unreadable", where=path, do=do) from None
    if not rows:
        raise ModelFileError("the list has no rows", code="no-rows", where=path, do=do)
    if len(set(names)) < len(names) or (len(names) == 1 and ";" in names[0]):
        why = f"the first line is {';'.join(names)}"
        do = "write each name once, with commas between them, or pass --separator ';'"
        raise ModelFileError(why, code="header", where=path, do=do)
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise ModelFileError(
                f"row {number} has another number of fields than the first line",
                code="row-length",
                where=path,
                do="quote commas and line breaks",
            )
    return rows
