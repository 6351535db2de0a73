"""Tables of reports in databases, SQLite or PostgreSQL: read in batches, in the order of their
random ids.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from ldpopt.errors import LdpoptError, ModelFileError
from ldpopt.foundation import optional
from ldpopt.tables.coding import TextRows, Texts
from ldpopt.tables.places import FILE, is_address

REPORTS, ABOUT, ID = "reports", "about", "id"  # tables of a database, and the column of the ids
ROWS = 1 << 14  # rows per batch
ADDRESS = re.compile(r"[a-z][a-z0-9]*(\+\w+)?://")
PASSWORD = re.compile(r"(?<=://)([^:/@]*):[^/]*@")
KINDS = ("sqlite", "postgresql", "postgresql+psycopg")
USE = "use sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME"
FILES = "; files are at file://, s3://, gs://, az:// or memory://"
# What SQLite needs to keep what it acknowledged; a writer waits up to 10 s; deleted invitations are
# overwritten
SETTINGS = ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "busy_timeout=10000")
PRAGMAS = tuple(f"PRAGMA {setting}" for setting in SETTINGS)


def is_database(path: str) -> bool:
    """Whether a path is the address of a database, such as ``sqlite:///reports.db``."""
    return ADDRESS.match(path) is not None and not is_address(path) and not path.startswith(FILE)


def without_password(address: str) -> str:
    """The address of a database for messages: with *** in place of a password."""
    return PASSWORD.sub(r"\1:***@", address)


def open_database(
    address: str, *, new: bool = False, single: bool = False
) -> optional.sqlalchemy.Engine:
    """Prepare connections to a database; a file of SQLite must exist, unless it may be ``new``.

    With ``single`` a file of SQLite has one connection, which stays open until the engine is
    disposed of.
    """
    sa = optional.sqlalchemy
    where = without_password(str(address))
    try:
        url = sa.make_url(address)
    except (sa.exc.ArgumentError, ValueError):
        raise ModelFileError(
            "this is not the address of a database", code="address", where=where, do=USE
        ) from None
    if url.drivername not in KINDS:
        raise ModelFileError(
            f"reports cannot be kept in {url.drivername}",
            code="database-kind",
            where=where,
            do=USE + FILES,
        )
    if url.drivername == "sqlite":
        if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
            raise ModelFileError(
                "the address names no file",
                code="no-file",
                where=where,
                do="use sqlite:///reports.db",
            )
        if not new and not os.path.isfile(url.database):
            raise ModelFileError(
                "there is no such database", code="no-database", where=where, do="check the path"
            )
    else:
        url = url.set(drivername="postgresql+psycopg")
    settings: dict[str, Any] = {"hide_parameters": True, "pool_pre_ping": True}
    if url.drivername != "sqlite":
        settings["connect_args"] = {"client_encoding": "utf8"}  # whatever the database's own is
    elif single:
        settings |= {"pool_size": 1, "max_overflow": 0}
    try:
        engine = sa.create_engine(url, **settings)
    except ModuleNotFoundError as error:
        problem = f"a database of PostgreSQL needs {error.name}, which is not installed"
        raise LdpoptError(problem, code="driver", do='pip install "psycopg[binary]"') from None
    if url.drivername == "sqlite":
        sa.event.listen(
            engine,
            "connect",
            lambda connection, _: [connection.execute(statement) for statement in PRAGMAS],
        )
    return engine


@contextmanager
def database_errors(where: str) -> Iterator[None]:
    """Raise errors of a database as a ModelFileError of one line, without the values of the
    statement.

    The code of what belongs to a value, such as one that the encoding of the database does not
    have, is ``database-value``.
    """
    errors = optional.sqlalchemy.exc
    try:
        yield
    except (UnicodeError, errors.DataError, errors.IntegrityError) as error:
        kind = type(error).__name__  # the text of the error may quote the value
        do = "check the encoding of the database, and that its tables were not changed"
        raise ModelFileError(
            f"the database does not take a value: {kind}", code="database-value", where=where, do=do
        ) from None
    except errors.SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        do = "check the address, and that the database can be reached"
        raise ModelFileError(
            f"cannot use the database: {reason}", code="database", where=where, do=do
        ) from None


@contextmanager
def reading_database(address: str) -> Iterator[DatabaseRows]:
    """Open the reports in a database."""
    name = without_password(address)
    engine = open_database(address)
    try:
        with database_errors(name):
            rows = DatabaseRows(engine, name)
        yield rows
    finally:
        engine.dispose()


def origin_in_database(address: str) -> Any:
    """The origin of the reports in a database as JSON data; None if there is none."""
    return _about(address, "origin")


def form_in_database(address: str) -> Any:
    """The form that drew the reports in a database as JSON data; None if there is none."""
    return _about(address, "form")


def words_in_database(address: str) -> dict[str, Any]:
    """All words under which people answered, by their digests, as JSON data; empty if there are
    none.
    """
    return _about(address, "words") or {}


def _about(address: str, name: str) -> Any:
    """A part of what a database says about its reports."""
    sa = optional.sqlalchemy
    engine = open_database(address)
    try:
        with database_errors(without_password(address)), engine.connect() as connection:
            if not sa.inspect(connection).has_table(ABOUT):
                return None
            text = connection.execute(
                sa.select(sa.column(name)).select_from(sa.table(ABOUT))
            ).scalar()
    finally:
        engine.dispose()
    return None if text is None else json.loads(text)


class DatabaseRows(TextRows):
    """The table of reports in a database, in batches that come from one statement: they show it at
    one moment, as do all those of a block `at_one_moment`.
    """

    first_row = 1  # number of the first row

    def __init__(self, engine: optional.sqlalchemy.Engine, name: str) -> None:
        self.name, self._engine = name, engine
        self._moment: Any = None  # the connection of such a block
        known = optional.sqlalchemy.inspect(engine)
        if not known.has_table(REPORTS):
            do = "name a database that `ldpopt survey collect` made"
            raise ModelFileError(
                f"the database has no table {REPORTS!r}", code="no-table", where=name, do=do
            )
        self.columns = [column["name"] for column in known.get_columns(REPORTS)]

    def batches(
        self, coded: Sequence[int], kept: Sequence[int]
    ) -> Iterator[list[optional.pyarrow.Array]]:
        """Yield columns by their positions: the coded ones dictionary-encoded, then the kept ones
        as text.
        """
        for batch in self.texts((*coded, *kept)):
            columns = [column.to_arrow() for column in batch]
            beside = (column.dictionary_decode() for column in columns[len(coded) :])
            yield [*columns[: len(coded)], *beside]

    def texts(self, positions: Sequence[int]) -> Iterator[list[Texts]]:
        """Yield columns by their positions, without arrow."""
        sa = optional.sqlalchemy
        statement = self._select(positions).order_by(sa.column(ID))
        for rows in self._parts_of(statement):
            yield [Texts(column) for column in zip(*rows, strict=True)]

    def equal_rows(self, positions: Sequence[int]) -> Iterator[list[Texts]]:
        """Yield columns by their positions, without arrow: rows that are equal in them together,
        which the database counts.
        """
        sa = optional.sqlalchemy
        wanted = self._select(positions)
        statement = wanted.add_columns(sa.func.count()).group_by(*wanted.selected_columns)
        for rows in self._parts_of(statement):
            *texts, counts = zip(*rows, strict=True)
            columns = [Texts(column) for column in texts]
            left = np.array(counts)
            most = max(1, ROWS // len(left))  # of equal rows in a batch
            while left.any():
                part = np.minimum(left, most)
                yield [column.repeated(part) for column in columns]
                left -= part

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Read everything in this block as it is at one moment."""
        is_file = self._engine.dialect.name == "sqlite"
        level = {} if is_file else {"isolation_level": "REPEATABLE READ"}
        with database_errors(self.name), self._engine.connect() as connection:
            self._moment = connection.execution_options(**level)
            try:
                if is_file:
                    self._moment.exec_driver_sql("BEGIN")
                yield
            finally:
                self._moment = None

    def _select(self, positions: Sequence[int]) -> Any:
        """The statement for columns by their positions."""
        sa = optional.sqlalchemy
        wanted: list[Any] = [sa.column(self.columns[position]) for position in positions]
        return sa.select(*wanted).select_from(sa.table(REPORTS))

    def _parts_of(self, statement: Any) -> Iterator[Sequence[Any]]:
        """Yield the rows of a statement in parts."""
        with ExitStack() as stack:
            stack.enter_context(database_errors(self.name))
            connection = self._moment or stack.enter_context(self._engine.connect())
            yield from (
                connection.execution_options(yield_per=ROWS).execute(statement).partitions()
            )
