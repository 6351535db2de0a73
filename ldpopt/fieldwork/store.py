"""The reports of a survey in a database: one row for each person, under a random id, and nothing
else about them.
"""

import json
import secrets
from collections.abc import Sequence
from typing import Any

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.fieldwork.messages import Message, MessageReader, hash_of
from ldpopt.foundation import optional
from ldpopt.foundation.numbers import listed_items, require_kind, whole_number
from ldpopt.mechanism.files import origin_of_reports
from ldpopt.surveys.form import columns_of
from ldpopt.surveys.survey import Survey
from ldpopt.tables.database import (
    ABOUT,
    ID,
    REPORTS,
    database_errors,
    open_database,
    without_password,
)
from ldpopt.tables.origin import FORMAT

MAX_INVITATIONS = 10_000_000  # largest number of invitations that are made at once
MAX_NAME_BYTES = 63  # longest name of a column in PostgreSQL


class Store:
    """The reports of a survey in a database, SQLite or PostgreSQL, which is made if there is none.

    Devices draw random ids, and rows are read in their order, which does not depend on when a
    report came. The database has neither times nor addresses nor serial numbers, and only hashes of
    invitations, which are deleted when they are used: nothing connects an invitation with a report.
    O(1) per report. Source: docs, "Fieldwork".

    Parameters
    ----------
    url : str
        ``"sqlite:///FILE"`` or ``"postgresql+psycopg://USER@HOST/NAME"``.
    survey : Survey
        With a form; see `Survey.form`.
    invited : bool
        Whether each report needs an invitation; default: ``False``.

    Attributes
    ----------
    digest : str
        Digest of the form, 64 hexadecimal digits.
    reader : MessageReader
        ``reader.read(body)`` returns the message in a request, checked to be a report that the
        survey can have; a ValueError for anything else quotes nothing of the body.

    Raises
    ------
    ModelFileError
        If the database cannot be used, or has the reports of another survey or wave.

    Examples
    --------
    >>> import tempfile, ldpopt
    >>> coin = ldpopt.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> survey = Survey({"smokes": coin})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder as place, Store(f"sqlite:///{place}/reports.db", survey) as store:
    ...     message = {"form": store.digest, "id": 32 * "0", "reports": {"smokes": "yes"}}
    ...     store.add([store.reader.read(json.dumps(message).encode())] * 2), store.count()
    ([True, True], 1)
    """

    def __init__(self, url: str, survey: Survey, *, invited: bool = False) -> None:
        sa = optional.sqlalchemy
        require_kind(survey, Survey, "Store()")
        form = survey.form()
        self.reader = MessageReader(form, invited)
        self.digest = self.reader.digest
        self.invited = invited
        self._where = without_password(str(url))
        _require_columns(columns_of(form))
        self._engine = open_database(url, new=True)
        tables = sa.MetaData()
        text = sa.Text
        columns = [sa.Column(name, text) for name in columns_of(form)]
        key = sa.Column(ID, sa.String(32), primary_key=True)
        # Without row numbers of SQLite, rows are stored in the order of their random keys.
        self._reports = sa.Table(REPORTS, tables, key, *columns, sqlite_with_rowid=False)
        about = [sa.Column(name, text, nullable=False) for name in ("form", "origin")]
        self._about = sa.Table(
            ABOUT, tables, sa.Column("digest", sa.String(64), primary_key=True), *about
        )
        key = sa.Column("hash", sa.String(64), primary_key=True)
        self._invitations = sa.Table("invitations", tables, key, sqlite_with_rowid=False)
        dialect = getattr(optional, f"sqlalchemy_dialects_{self._engine.dialect.name}")
        self._insert = dialect.insert(self._reports).on_conflict_do_nothing(index_elements=[ID])
        origin = {
            "format": FORMAT,
            **origin_of_reports(survey.asked, (), None, survey.one_question),
        }
        entries = {"digest": self.digest, "form": json.dumps(form), "origin": json.dumps(origin)}
        with database_errors(self._where), self._engine.begin() as connection:
            tables.create_all(connection)
            self._require_this_form(connection, entries)

    def _require_this_form(self, connection: Any, about: dict[str, str]) -> None:
        """Write which form a new database is for; refuse the database of another one."""
        sa = optional.sqlalchemy
        digest = connection.execute(sa.select(self._about.c.digest)).scalar()
        known = [column["name"] for column in sa.inspect(connection).get_columns(REPORTS)]
        another = f"name another database for the form {self.digest[:16]}"
        if digest not in (None, self.digest):
            raise ModelFileError(
                "the database has the reports of another survey or wave: its form is "
                f"{digest[:16]}",
                code="form",
                where=self._where,
                do=another,
            )
        if known != list(self._reports.c.keys()):
            raise ModelFileError(
                f"the database has another table {REPORTS!r}",
                code="table",
                where=self._where,
                do=another,
            )
        if not self.invited and self._has_invitations(connection):
            raise ModelFileError(
                "the database has invitations",
                code="invitations",
                where=self._where,
                do="add --invited (invited=True)",
            )
        if digest is None:
            connection.execute(self._about.insert(), about)

    def _has_invitations(self, connection: Any) -> bool:
        """Whether invitations were made that are not used yet."""
        first = optional.sqlalchemy.select(self._invitations.c.hash).limit(1)
        return connection.execute(first).scalar() is not None

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections to the database."""
        self._engine.dispose()

    def add(self, messages: Sequence[Message]) -> list[bool]:
        """Keep messages in one transaction, and return for each whether the database has it as it
        was sent.

        When this returns, the messages are on the disk; after an error none is kept. The first
        message with an id stays: the same one again changes nothing, and another one with this id
        is not kept, nor is one whose invitation is unknown or was used.

        Parameters
        ----------
        messages : sequence of Message
            From ``reader.read``.

        Raises
        ------
        StatementError
            If something else is given.
        """
        messages = listed_items(messages, "messages", "pass [store.reader.read(body), ...]")
        if not all(isinstance(message, Message) for message in messages):
            raise StatementError(
                "these are not messages of a form",
                code="messages",
                do="pass what store.reader.read returned, in a list",
            )
        sa = optional.sqlalchemy
        # In the order of ids: two collectors never wait for each other, and nothing shows the order
        # of arrival.
        ordered = sorted(messages, key=lambda message: message.id)
        wanted = sa.select(self._reports).where(
            self._reports.c[ID].in_([message.id for message in messages])
        )
        with database_errors(self._where), self._engine.begin() as connection:
            if self._engine.dialect.name == "postgresql":
                connection.execute(sa.text("SET LOCAL synchronous_commit = on"))
            rows = [
                _row(message)
                for message in ordered
                if not self.invited or self._use(connection, message.invitation)
            ]
            if rows:
                connection.execute(self._insert, rows)
            kept = {row[ID]: dict(row) for row in connection.execute(wanted).mappings()}
        # Compared with what is there, since databases count conflicting rows in different ways.
        return [kept.get(message.id) == _row(message) for message in messages]

    def _use(self, connection: Any, invitation: str | None) -> bool:
        """Delete an invitation; return whether there was one."""
        deleted = connection.execute(
            self._invitations.delete().where(self._invitations.c.hash == invitation)
        )
        return bool(deleted.rowcount == 1)

    def invite(self, count: int) -> list[str]:
        """Make invitations, each for one report; the database has their hashes only.

        Parameters
        ----------
        count : int
            From 1 to 10,000,000.

        Returns
        -------
        list of str
            Random texts of 32 hexadecimal digits; the page takes one from the end of its address,
            ``#i=...``.

        Raises
        ------
        StatementError
            If the number is not whole, or out of range.
        ModelFileError
            If the database cannot be used.
        """
        number = whole_number(count, "number of invitations", 1, MAX_INVITATIONS)
        invitations = [secrets.token_hex(16) for _ in range(number)]
        hashes = [{"hash": hashed} for hashed in sorted(map(hash_of, invitations))]
        with database_errors(self._where), self._engine.begin() as connection:
            connection.execute(self._invitations.insert(), hashes)
        return invitations

    def count(self) -> int:
        """Number of reports."""
        sa = optional.sqlalchemy
        with database_errors(self._where), self._engine.connect() as connection:
            return int(
                connection.execute(
                    sa.select(sa.func.count()).select_from(self._reports)
                ).scalar_one()
            )


def _row(message: Message) -> dict[str, str | None]:
    """The row of a message in the database."""
    return {ID: message.id, **message.reports}


def _require_columns(questions: dict[str, Any]) -> None:
    """Refuse names of questions that no two databases can have as names of columns."""
    seen = {ID: f"the column {ID!r} of the ids"}
    for name in questions:
        do = f"rename the question: 1 to {MAX_NAME_BYTES} bytes of letters and signs"
        if name.casefold() in seen:
            raise StatementError(
                f"question {name!r} has the same name as {seen[name.casefold()]}, in upper "
                "or lower case",
                code="same-name",
                do=do,
            )
        if not name or len(name.encode()) > MAX_NAME_BYTES or not name.isprintable():
            raise StatementError(
                f"the name {name!r} cannot be the name of a column: {len(name.encode())} bytes",
                code="name",
                do=do,
            )
        seen[name.casefold()] = f"question {name!r}"
