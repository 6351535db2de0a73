"""Invitations, each for one report: a database has the hashes of those that were not used."""

from __future__ import annotations

import secrets
from typing import Any

from ldpopt.fieldwork.messages import hash_of
from ldpopt.foundation import optional

INVITATIONS = "invitations"  # the table
MAX_INVITATIONS = 10_000_000  # largest number of invitations that are made at once


class Invitations:
    """The table of the invitations that were not used yet; a used one is deleted."""

    def __init__(self, tables: optional.sqlalchemy.MetaData) -> None:
        sa = optional.sqlalchemy
        key = sa.Column("hash", sa.String(64), primary_key=True)
        self.table = sa.Table(INVITATIONS, tables, key, sqlite_with_rowid=False)

    def has_any(self, connection: Any) -> bool:
        """Whether invitations were made that are not used yet."""
        first = optional.sqlalchemy.select(self.table.c.hash).limit(1)
        return connection.execute(first).scalar() is not None

    def make(self, connection: Any, count: int) -> list[str]:
        """Make invitations, and keep their hashes in the order of the hashes."""
        invitations = [secrets.token_hex(16) for _ in range(count)]
        hashes = [{"hash": hashed} for hashed in sorted(map(hash_of, invitations))]
        connection.execute(self.table.insert(), hashes)
        return invitations

    def use(self, connection: Any, hashed: str | None) -> bool:
        """Delete an invitation; return whether there was one."""
        deleted = connection.execute(self.table.delete().where(self.table.c.hash == hashed))
        return bool(deleted.rowcount == 1)
