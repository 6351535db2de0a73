"""Invitations, each for one report: a database has the hashes of those that were not used."""

from __future__ import annotations

import csv
import re
import secrets
from collections.abc import Sequence
from typing import Any

from ldpopt.errors import ModelFileError
from ldpopt.fieldwork.messages import hash_of
from ldpopt.foundation import optional
from ldpopt.foundation.numbers import whole_number
from ldpopt.tables.database import database_errors, open_database, without_password

INVITATIONS = "invitations"  # the table
MAX_INVITATIONS = 10_000_000  # largest number of invitations that are made at once
COLUMN = "link"  # of a file of links
LINK = re.compile(r"#i=([0-9a-f]{32})(?![0-9a-f])")
MAX_ASKED = 10_000  # most hashes in a question to the database


def new_invitations(count: int) -> list[str]:
    """Random texts of 32 hexadecimal digits, which no database knows yet."""
    number = whole_number(count, "number of invitations", 1, MAX_INVITATIONS)
    return [secrets.token_hex(16) for _ in range(number)]


class Invitations:
    """The table of the invitations that were not used yet; a used one is deleted."""

    def __init__(self, tables: optional.sqlalchemy.MetaData) -> None:
        sa = optional.sqlalchemy
        key = sa.Column("hash", sa.String(64), primary_key=True)
        self.table = sa.Table(INVITATIONS, tables, key, sqlite_with_rowid=False)

    def admit(self, connection: Any, invitations: Sequence[str]) -> None:
        """Keep the hashes of invitations, in the order of the hashes."""
        hashes = [{"hash": hashed} for hashed in sorted(map(hash_of, invitations))]
        connection.execute(self.table.insert(), hashes)

    def use(self, connection: Any, hashed: str | None) -> bool:
        """Delete an invitation; return whether there was one."""
        deleted = connection.execute(self.table.delete().where(self.table.c.hash == hashed))
        return bool(deleted.rowcount == 1)


def unused_rows(url: str, path: str) -> tuple[list[dict[str, str]], int]:
    """The rows of a file of links whose invitations were not used, with all their columns, and how
    many rows the file has.
    """
    rows = _rows_of_links(path)
    hashes = [hash_of(link[1]) for _, link in rows]
    left: set[str] = set()
    engine = open_database(url)
    table = optional.sqlalchemy.table(INVITATIONS, optional.sqlalchemy.column("hash"))
    try:
        with database_errors(without_password(url)), engine.connect() as connection:
            for start in range(0, len(hashes), MAX_ASKED):
                asked = table.c.hash.in_(hashes[start : start + MAX_ASKED])
                left.update(connection.execute(table.select().where(asked)).scalars())
    finally:
        engine.dispose()
    kept = [row for (row, _), hashed in zip(rows, hashes, strict=True) if hashed in left]
    return kept, len(rows)


def _rows_of_links(path: str) -> list[tuple[dict[str, str], re.Match[str]]]:
    """The rows of a CSV file that `ldpopt survey invite` wrote, and the invitation of each."""
    do = "name the file that `ldpopt survey invite` wrote, with its column link"
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file, strict=True))
    except (OSError, UnicodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise ModelFileError(
            f"cannot read the links: {why}", code="unreadable", where=path, do=do
        ) from None
    links = [LINK.search(row.get(COLUMN) or "") for row in rows]
    if not rows or None in links or any(None in row for row in rows):
        line = next((place for place, link in enumerate(links, 2) if link is None), 1)
        raise ModelFileError(
            f"row {line} has no link with an invitation", code="no-link", where=path, do=do
        )
    return [(row, link) for row, link in zip(rows, links, strict=True) if link is not None]
