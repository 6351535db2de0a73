"""The upkeep of a database of reports: are its files there, what is in it, copies of it, and an end
after which it does not show in which order the reports came.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

from ldpopt.errors import ModelFileError
from ldpopt.fieldwork.about import AboutTable
from ldpopt.fieldwork.invitations import INVITATIONS, group_text
from ldpopt.foundation import optional
from ldpopt.foundation.files import replacing, require_path
from ldpopt.surveys.groups import SMALLEST
from ldpopt.tables.database import (
    ABOUT,
    ID,
    REPORTS,
    database_errors,
    open_database,
    without_password,
)

ASIDE = ("-wal", "-shm")  # endings of the files that SQLite has beside an open database
WAIT = 10  # seconds that PostgreSQL waits for a lock; SQLite waits as long by its settings
# All rows are written again, in the order of their ids and by one transaction, whose number they
# have then. Not by TRUNCATE: a reader that began before would see an empty table.
REWRITE = (
    f"SET LOCAL lock_timeout = '{WAIT}s'",
    f"LOCK TABLE {REPORTS} IN EXCLUSIVE MODE",
    f"CREATE TEMPORARY TABLE kept ON COMMIT DROP AS SELECT * FROM {REPORTS}",
    f"DELETE FROM {REPORTS}",
    f"INSERT INTO {REPORTS} SELECT * FROM kept ORDER BY {ID}",
)
# The rows before that are in the files until now, and so are used invitations.
TIDY = (
    f"SET lock_timeout = '{WAIT}s'",
    f"VACUUM (FULL, FREEZE, VERBOSE) {REPORTS}",
    f"VACUUM (FULL, VERBOSE) {INVITATIONS}",
)


class Files:
    """The files of a database of SQLite: those that are at its path have to be those that were
    opened.
    """

    def __init__(self, engine: optional.sqlalchemy.Engine) -> None:
        is_file = engine.dialect.name == "sqlite"
        path = os.path.abspath(engine.url.database or "") if is_file else None
        self._path = path
        self._opened = self._seen()

    def _seen(self) -> list[tuple[int, int]]:
        """Device and number of each file that is there; one without a name anywhere is not."""
        found = []
        for name in (
            [] if self._path is None else [self._path, *(self._path + end for end in ASIDE)]
        ):
            with suppress(OSError):
                file = os.stat(name)
                if file.st_nlink:  # else it was deleted, and a container still shows it
                    found.append((file.st_dev, file.st_ino))
        return found

    def require(self) -> None:
        """Refuse to write to files that nobody will find."""
        if self._seen() != self._opened:
            raise ModelFileError(
                "a file of the database was moved, deleted or replaced",
                code="moved",
                where=f"{self._path}, {' and '.join(ASIDE)} beside it",
                do="put it back, or end the collector, which saves what it can, and look for it",
            )


def require_usable(engine: optional.sqlalchemy.Engine, where: str) -> None:
    """Refuse a database that cannot be written to now, without writing to it."""
    is_file = engine.dialect.name == "sqlite"
    # the lock of a writer, which is given back
    statements = ("BEGIN IMMEDIATE", "ROLLBACK") if is_file else ("SELECT 1",)
    with database_errors(where), _autocommit(engine) as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def remove_order(engine: optional.sqlalchemy.Engine, where: str) -> None:
    """Write the reports again in the order of their ids, and empty the log; see `Store.finish`."""
    try:
        left = _rewrite_file(engine) if engine.dialect.name == "sqlite" else _rewrite_tables(engine)
    except optional.sqlalchemy.exc.SQLAlchemyError as error:
        left = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
    if left:
        raise ModelFileError(
            f"the database may still show in which order the reports came: {left}",
            code="order",
            where=where,
            do="end what else uses the database; then start the collector again, and end it",
        )


def _rewrite_file(engine: optional.sqlalchemy.Engine) -> str:
    """Write a file of SQLite again and empty its log; return what prevents it."""
    with _autocommit(engine) as connection:
        connection.exec_driver_sql("VACUUM")
        is_busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar()
    return "somebody is reading it" if is_busy else ""


def _rewrite_tables(engine: optional.sqlalchemy.Engine) -> str:
    """Write the tables of PostgreSQL again; return what prevents it."""
    with engine.begin() as connection:
        for statement in REWRITE:
            connection.exec_driver_sql(statement)
    details: list[str] = []
    with _autocommit(engine) as connection:
        driver = connection.connection.driver_connection

        def note(diagnostic: Any) -> None:
            details.append(diagnostic.message_detail or "")

        driver.add_notice_handler(note)
        try:
            for statement in TIDY:
                connection.exec_driver_sql(statement)
        finally:
            driver.remove_notice_handler(note)
            connection.exec_driver_sql("RESET lock_timeout")
        count = f"SELECT count(DISTINCT xmin::text) FROM {REPORTS}"
        writers = connection.exec_driver_sql(count).scalar()
    # the first number of the detail, in any language: "3 dead row versions cannot be removed yet"
    kept = sum(int(number[0]) for text in details if (number := re.search(r"\d+", text)))
    if kept:
        return f"{kept} rows of before are kept for somebody who is reading"
    return f"its rows are of {writers} transactions" if writers > 1 else ""


@contextmanager
def _autocommit(engine: optional.sqlalchemy.Engine) -> Iterator[Any]:
    """A connection whose statements are not in a transaction."""
    with engine.connect() as connection:
        yield connection.execution_options(isolation_level="AUTOCOMMIT")


@dataclass(frozen=True)
class StoreStatus:
    """What a database of reports has.

    Attributes
    ----------
    reports : int
        Number of reports.
    form : str
        Digest of the form, 64 hexadecimal digits.
    words : tuple of str
        Digests of the words under which people answer; the last one is that of the present words.
    invited : bool
        Whether each report needs an invitation.
    unused : dict group -> int
        Numbers of invitations that were not used, by the fields of people, such as
        ``"region=North"``; ``""`` is the group of all people.
    bytes : int
        Size of its files, or of its tables in PostgreSQL.
    groups : dict group -> int
        Numbers of reports by the fields of people; empty without fields.
    """

    reports: int
    form: str
    words: tuple[str, ...]
    invited: bool
    unused: dict[str, int]
    bytes: int
    groups: dict[str, int] = field(default_factory=dict)

    @property
    def small(self) -> dict[str, int]:
        """Groups with so few reports that whoever has the links may see whose they are."""
        return {group: count for group, count in self.groups.items() if count < SMALLEST}


def status_in(engine: optional.sqlalchemy.Engine, where: str) -> StoreStatus:
    """What is in a database; see `Store.status`."""
    sa = optional.sqlalchemy
    with database_errors(where), engine.connect() as connection:
        known = sa.inspect(connection)
        for name in (REPORTS, ABOUT, INVITATIONS):
            if not known.has_table(name):
                raise ModelFileError(
                    f"the database has no table {name!r}",
                    code="no-table",
                    where=where,
                    do="name a database that `ldpopt survey collect` or `invite` made",
                )

        about = AboutTable(sa.MetaData()).read(connection, where)
        if about is None:
            raise ModelFileError(
                "the database is being made at this moment",
                code="no-table",
                where=where,
                do="ask again",
            )
        fields = list(about.form.get("fields", ()))
        reports = _numbers(connection, REPORTS, fields)
        return StoreStatus(
            reports=sum(reports.values()),
            form=about.digest,
            words=tuple(about.words),
            invited=about.invited,
            unused=_numbers(connection, INVITATIONS, fields),
            bytes=_bytes(engine, connection),
            groups=reports if fields else {},
        )


def _numbers(connection: Any, table: str, fields: Sequence[str]) -> dict[str, int]:
    """Number of rows of a table in each group by its fields that has any, in the order of their
    values.
    """
    sa = optional.sqlalchemy
    columns: list[Any] = [sa.column(name) for name in fields]
    counted = sa.select(*columns, sa.func.count()).select_from(sa.table(table)).group_by(*columns)
    rows = sorted(map(tuple, connection.execute(counted)))
    groups = {group_text(dict(zip(fields, row, strict=False))): row[-1] for row in rows}
    return {group: count for group, count in groups.items() if count}


def _bytes(engine: optional.sqlalchemy.Engine, connection: Any) -> int:
    """Size of the files of a database of SQLite, or of the tables in PostgreSQL."""
    if engine.dialect.name == "sqlite":
        path = engine.url.database or ""
        return sum(
            os.path.getsize(name) for name in (path, path + ASIDE[0]) if os.path.isfile(name)
        )
    sizes = (f"pg_total_relation_size('{name}')" for name in (REPORTS, ABOUT, INVITATIONS))
    return int(connection.exec_driver_sql(f"SELECT {' + '.join(sizes)}").scalar_one())


def status(url: str) -> StoreStatus:
    """What is in the database at an address; see `Store.status`."""
    engine = open_database(url)
    try:
        return status_in(engine, without_password(url))
    finally:
        engine.dispose()


def backup(url: str, path: str) -> int:
    """Write a copy of a database of SQLite, as it is at one moment; return the number of reports.

    The rows of the copy are in the order of their ids. It is a new file, which only its owner may
    read; O(reports). Source: docs, "On a server".

    Parameters
    ----------
    url : str
        ``"sqlite:///FILE"``; a collector may be writing to it.
    path : str
        The new file.

    Raises
    ------
    ModelFileError
        If the database cannot be used or is one of PostgreSQL, or the file exists already or cannot
        be written.

    Examples
    --------
    >>> import tempfile, ldpopt
    >>> from ldpopt.fieldwork import Store
    >>> survey = ldpopt.Survey({"smokes": ldpopt.Mechanism([[0.75, 0.25], [0.25, 0.75]])})
    >>> with tempfile.TemporaryDirectory() as place:
    ...     Store(f"sqlite:///{place}/reports.db", survey).close()
    ...     backup(f"sqlite:///{place}/reports.db", f"{place}/copy.db")
    0
    """
    where = without_password(url)
    engine = open_database(url)
    try:
        if engine.dialect.name != "sqlite":
            raise ModelFileError(
                "a database of PostgreSQL is copied by its own program",
                code="database-kind",
                where=where,
                do="use `pg_dump`, or `ldpopt survey export` for the reports alone",
            )
        require_path(path)
        if os.path.lexists(path):
            raise ModelFileError(
                "the file exists already",
                code="existing-file",
                where=os.fspath(path),
                do="name a new file: a backup never replaces one",
            )
        folder = os.path.dirname(os.path.abspath(path))
        with (
            replacing(path, binary=True, new=True) as stream,
            TemporaryDirectory(".ldpopt-part", ".", folder) as place,
        ):
            copy = os.path.join(place, "copy")
            with database_errors(where), _autocommit(engine) as connection:
                connection.exec_driver_sql("VACUUM INTO ?", (copy,))
            with open(copy, "rb") as written:
                shutil.copyfileobj(written, stream)
            return _reports_in(copy)
    finally:
        engine.dispose()


def _reports_in(path: str) -> int:
    """Number of reports in a file of SQLite."""
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {REPORTS}").fetchone()[0])
