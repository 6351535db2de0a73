"""Invitations, each for one report: a database has the hashes of those that were not used, and the
fields that came with each.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.fieldwork.messages import Message, hash_of
from ldpopt.foundation import optional
from ldpopt.foundation.numbers import listed_items, short_repr, whole_number
from ldpopt.surveys.fields import described, is_value
from ldpopt.tables.database import database_errors, open_database, without_password

INVITATIONS = "invitations"  # the table
MAX_INVITATIONS = 10_000_000  # largest number of invitations that are made at once
MAX_ASKED = 10_000  # most hashes in a question to the database

Fields = Mapping[str, str]


def new_invitations(count: int) -> list[str]:
    """Random texts of 32 hexadecimal digits, which no database knows yet."""
    number = whole_number(count, "number of invitations", 1, MAX_INVITATIONS)
    return [secrets.token_hex(16) for _ in range(number)]


def checked_fields(known: Mapping[str, Sequence[str]], fields: Any) -> dict[str, str]:
    """The fields of a person in the order of a survey's; refused if they are not all and only
    those.
    """
    stated = {} if fields is None else fields
    if not isinstance(stated, Mapping) or stated.keys() != known.keys():
        names = ", ".join(map(str, stated)) if isinstance(stated, Mapping) else short_repr(stated)
        raise StatementError(
            f"the fields of a link are {names or 'none'}; those of the survey are "
            f"{', '.join(known) or 'none'}",
            code="fields",
            do="give each field of the survey its value",
        )
    for name, values in known.items():
        if not is_value(values, stated[name]):
            raise StatementError(
                f"the field {name!r} cannot be {short_repr(stated[name])}",
                code="field-value",
                do=f"use {described(values)}",
            )
    return {name: stated[name] for name in known}


def group_text(fields: Fields) -> str:
    """Name of the group of people with the same fields, such as ``region=North``."""
    return ", ".join(f"{name}={_quoted(value)}" for name, value in fields.items())


def _quoted(value: str) -> str:
    """A value; in quotation marks if it could be read as two."""
    return f'"{value}"' if any(mark in value for mark in ',="') else value


class Invitations:
    """The table of the invitations that were not used yet; a used one is deleted."""

    def __init__(self, tables: optional.sqlalchemy.MetaData, fields: Iterable[str]) -> None:
        sa = optional.sqlalchemy
        key = sa.Column("hash", sa.String(64), primary_key=True)
        self._fields = list(fields)
        columns = [sa.Column(name, sa.Text, nullable=False) for name in self._fields]
        self.table = sa.Table(INVITATIONS, tables, key, *columns, sqlite_with_rowid=False)

    def admit(self, connection: Any, hashed: Iterable[tuple[str, Fields]]) -> None:
        """Keep the hashes of invitations and their fields, in the order of the hashes."""
        rows = [{"hash": key, **fields} for key, fields in sorted(hashed, key=lambda row: row[0])]
        connection.execute(self.table.insert(), rows)

    def use(self, connection: Any, message: Message) -> bool:
        """Delete the invitation of a message; return whether there was one with its fields."""
        columns = self.table.c
        wanted = [columns[name] == message.fields[name] for name in self._fields]
        deleted = connection.execute(
            self.table.delete().where(columns.hash == message.invitation, *wanted)
        )
        return bool(deleted.rowcount == 1)

    def has_others(self, connection: Any, message: Message) -> bool:
        """Whether the invitation of a message is there with other fields."""
        wanted = self.table.select().where(self.table.c.hash == message.invitation)
        row = connection.execute(wanted).mappings().first()
        return row is not None and {name: row[name] for name in self._fields} != message.fields


def paired(
    invitations: Sequence[str], fields: Any, known: Mapping[str, Sequence[str]]
) -> list[tuple[str, Fields]]:
    """The hash of each invitation with its fields: one mapping for all, or a list with one for
    each.
    """
    if isinstance(fields, (Mapping, type(None))):
        same = checked_fields(known, fields)
        return [(hash_of(invitation), same) for invitation in invitations]
    each = [checked_fields(known, stated) for stated in listed_items(fields, "fields")]
    if len(each) != len(invitations):
        raise StatementError(
            f"there are {len(invitations):,} invitations and fields of {len(each):,}",
            code="fields-count",
            do="pass one mapping for all, or a list with one for each",
        )
    hashes = map(hash_of, invitations)
    return list(zip(hashes, each, strict=True))


def unused_hashes(url: str, hashes: Sequence[str]) -> set[str]:
    """Those of some hashes whose invitations were not used."""
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
    return left
