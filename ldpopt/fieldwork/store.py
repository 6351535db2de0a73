"""The reports of a survey in a database: one row for each person, under a random id, and nothing
else about them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.fieldwork.about import About, AboutTable
from ldpopt.fieldwork.invitations import Invitations, checked_fields, new_invitations, paired
from ldpopt.fieldwork.messages import CHOICE, Message, MessageReader
from ldpopt.fieldwork.upkeep import Files, StoreStatus, remove_order, require_usable, status_in
from ldpopt.foundation import optional
from ldpopt.foundation.numbers import listed_items, require_kind
from ldpopt.surveys.form import form_digest
from ldpopt.surveys.survey import Survey
from ldpopt.tables.database import (
    ID,
    REPORTS,
    database_errors,
    open_database,
    without_password,
)

MAX_NAME_BYTES = 63  # longest name of a column in PostgreSQL


class Store:
    """The reports of a survey in a database, SQLite or PostgreSQL, which is made if there is none.

    Devices draw random ids, and rows are read in their order, which does not depend on when a
    report came. The tables have neither times nor addresses nor serial numbers, and only hashes of
    invitations, which are deleted when they are used. Until `finish` the *files* show in which
    order the reports came and, to whoever has a list of the invitations, which one a report came
    with; afterwards they do not. What the file system, archives, replicas and backups kept
    meanwhile stays. O(1) per report. Source: docs, "Fieldwork".

    Parameters
    ----------
    url : str
        ``"sqlite:///FILE"`` or ``"postgresql+psycopg://USER@HOST/NAME"``.
    survey : Survey
        With a form; see `Survey.form`.
    invited : bool, optional
        Whether each report needs an invitation. A database is made for one or the other, and
        remembers it; default: as it was made, a new one for invitations if the survey has fields.
    changed_words : bool
        Whether the words of the survey may be others than those under which people answered so far.
        They are added to the list of the database; its rows do not tell which words they are
        answers to. Default: ``False``.

    Attributes
    ----------
    survey : Survey
        The survey.
    digest : str
        Digest of the form, 64 hexadecimal digits.
    invited : bool
        Whether each report needs an invitation.
    reader : MessageReader
        ``reader.read(body)`` returns the message in a request, checked to be a report that the
        survey can have; a ValueError for anything else quotes nothing of the body.

    Raises
    ------
    StatementError
        If the survey has fields, which come with invitations, and there are to be none.
    ModelFileError
        If the database cannot be used, has the reports of another survey or wave, people answered
        under other words, it was made with or without invitations, or is one of PostgreSQL in
        another encoding than UTF-8.

    Examples
    --------
    >>> import json, tempfile, ldpopt
    >>> coin = ldpopt.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    >>> survey = Survey({"smokes": coin})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder as place, Store(f"sqlite:///{place}/reports.db", survey) as store:
    ...     message = {"form": store.digest, "words": survey.words_digest, "id": 32 * "0"}
    ...     message |= {"reports": {"smokes": "yes"}}
    ...     store.add([store.reader.read(json.dumps(message).encode())] * 2), store.count()
    ([True, True], 1)
    """

    def __init__(
        self,
        url: str,
        survey: Survey,
        *,
        invited: bool | None = None,
        changed_words: bool = False,
    ) -> None:
        require_kind(survey, Survey, "Store()")
        self.survey = survey
        form = survey.form()
        self.digest = form_digest(form)
        self.used = 0  # invitations that `add` has used
        self._where = without_password(str(url))
        _require_columns({"question": form["columns"], "field": survey.fields})
        if survey.fields and invited is False:
            raise StatementError(
                f"the fields {', '.join(survey.fields)} come with an invitation",
                code="fields",
                where=self._where,
                do="leave invited=False out, or the fields of the survey",
            )
        self.engine = open_database(url, new=True, single=True)
        self._make_tables([*form["columns"], *survey.channels])
        try:
            with database_errors(self._where), self.engine.begin() as connection:
                self._require_encoding(connection)
                self._about.table.metadata.create_all(connection)
                about = self._require_this_survey(connection, invited, changed_words)
        except BaseException:
            self.close()
            raise
        self.invited = about.invited
        self.reader = MessageReader(form, about.words, about.invited)
        self._files = Files(self.engine)

    def _make_tables(self, questions: Iterable[str]) -> None:
        """Describe the tables of the database."""
        sa = optional.sqlalchemy
        tables = sa.MetaData()
        key = sa.Column(ID, sa.String(32), primary_key=True)
        # Without row numbers of SQLite, rows are stored in the order of their random keys.
        self.reports_table = sa.Table(
            REPORTS,
            tables,
            key,
            *(sa.Column(name, sa.Text) for name in (*questions, *self.survey.fields)),
            sqlite_with_rowid=False,
        )
        self._about = AboutTable(tables)
        self._invitations = Invitations(tables, self.survey.fields)
        dialect = getattr(optional, f"sqlalchemy_dialects_{self.engine.dialect.name}")
        self._insert = dialect.insert(self.reports_table).on_conflict_do_nothing(
            index_elements=[ID]
        )

    def _require_encoding(self, connection: Any) -> None:
        """Refuse a database of PostgreSQL that cannot have all texts."""
        if self.engine.dialect.name != "postgresql":
            return
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
        if encoding != "UTF8":
            raise ModelFileError(
                f"the encoding of the database is {encoding}, not UTF8",
                code="encoding",
                where=self._where,
                do="make the database with `createdb -E UTF8 -T template0 NAME`",
            )

    def _require_this_survey(
        self, connection: Any, invited: bool | None, changed_words: bool
    ) -> About:
        """Write what a new database is for; refuse the database of another survey, or of other
        words.
        """
        before = self._about.read(connection, self._where)
        if before is None:
            about = About.of(self.survey, bool(invited or self.survey.fields))
        else:
            before.require(self.survey, invited, self._where)
            about = before.with_words(self.survey, changed_words, self._where)
        columns = optional.sqlalchemy.inspect(connection).get_columns(REPORTS)
        if [column["name"] for column in columns] != list(self.reports_table.c.keys()):
            raise ModelFileError(
                f"the database has another table {REPORTS!r}",
                code="table",
                where=self._where,
                do=f"name another database for the form {self.digest[:16]}",
            )
        if about is not before:
            self._about.write(connection, about)
        return about

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections to the database."""
        self.engine.dispose()

    def add(self, messages: Sequence[Message]) -> list[bool]:
        """Keep messages in one transaction, and return for each whether the database has it as it
        was sent.

        When this returns, the messages are on the disk, in the file that is at its path; after an
        error none is kept. The first message with an id stays: the same one again changes nothing,
        and another one with this id is not kept, nor is one whose invitation is unknown or was
        used. A message that is not kept uses no invitation.

        Parameters
        ----------
        messages : sequence of Message
            From ``reader.read``.

        Raises
        ------
        StatementError
            If something else is given.
        ModelFileError
            If the database cannot be used, or its file was moved, deleted or replaced.
        """
        messages = listed_items(messages, "messages", "pass [store.reader.read(body), ...]")
        if not all(isinstance(message, Message) for message in messages):
            raise StatementError(
                "these are not messages of a form",
                code="messages",
                do="pass what store.reader.read returned, in a list",
            )
        # In the order of ids: two collectors never wait for each other, and the rows of a batch
        # are not in the order of arrival.
        ordered = sorted(messages, key=lambda message: message.id)
        is_file = self.engine.dialect.name == "sqlite"
        begin = "BEGIN IMMEDIATE" if is_file else "SET LOCAL synchronous_commit = on"
        with database_errors(self._where), self.engine.begin() as connection:
            connection.exec_driver_sql(begin)
            used = self._insert_rows(connection, ordered)
            kept = self._rows_with(connection, ordered)
            self._files.require()
        self.used += used
        # Compared with what is there, since databases count conflicting rows in different ways.
        return [kept.get(message.id) == _row(message) for message in messages]

    def _insert_rows(self, connection: Any, messages: Sequence[Message]) -> int:
        """Insert the rows of messages with new ids; return how many invitations they used."""
        if not self.invited:
            if messages:
                connection.execute(self._insert, list(map(_row, messages)))
            return 0
        known = set(self._rows_with(connection, messages))
        used: dict[str, Message] = {}
        for message in messages:
            is_new = message.id not in known and message.id not in used
            if is_new and self._invitations.use(connection, message):
                used[message.id] = message
        if not used:
            return 0
        insert = self._insert.returning(self.reports_table.c[ID])
        inserted = set(connection.execute(insert, list(map(_row, used.values()))).scalars())
        # another collector of PostgreSQL had one of these ids first
        late = [message for key, message in used.items() if key not in inserted]
        if late:
            self._invitations.admit(connection, [(str(m.invitation), m.fields) for m in late])
        return len(inserted)

    def _rows_with(self, connection: Any, messages: Sequence[Message]) -> dict[str, Any]:
        """The rows with the ids of messages, by id."""
        ids = [message.id for message in messages]
        wanted = optional.sqlalchemy.select(self.reports_table).where(
            self.reports_table.c[ID].in_(ids)
        )
        return {row[ID]: dict(row) for row in connection.execute(wanted).mappings()}

    def has_other_fields(self, message: Message) -> bool:
        """Whether the invitation of a message is there, with other fields than the message has.

        Parameters
        ----------
        message : Message
            One that `add` did not keep.

        Raises
        ------
        ModelFileError
            If the database cannot be used.
        """
        require_kind(message, Message, "has_other_fields()")
        with database_errors(self._where), self.engine.connect() as connection:
            return self._invitations.has_others(connection, message)

    def invite(self, count: int, fields: Mapping[str, str] | None = None) -> list[str]:
        """Make invitations, each for one report; the database has their hashes, and the fields of a
        group of people.

        Parameters
        ----------
        count : int
            From 1 to 10,000,000.
        fields : mapping field -> value, optional
            Of all of these people; a report must have the same. Needed if the survey has fields.

        Returns
        -------
        list of str
            Random texts of 32 hexadecimal digits; the page takes one from the end of its address,
            ``#i=...``.

        Raises
        ------
        StatementError
            If the number is not whole, or out of range, the fields are not those of the survey, or
            the database takes reports without an invitation.
        ModelFileError
            If the database cannot be used.
        """
        invitations = new_invitations(count)
        self.admit(invitations, checked_fields(self.survey.fields, fields))
        return invitations

    def admit(
        self,
        invitations: Sequence[str],
        fields: Mapping[str, str] | Sequence[Mapping[str, str]] | None = None,
    ) -> None:
        """Keep the hashes of invitations that were written down before, all or none of them.

        Parameters
        ----------
        invitations : sequence of str
            New random texts of 32 hexadecimal digits each.
        fields : mapping field -> value, or sequence of them, optional
            Of all of these people, or of each.

        Raises
        ------
        StatementError
            If the fields are not those of the survey, or the database takes reports without an
            invitation.
        ModelFileError
            If the database cannot be used.
        """
        if not self.invited:
            raise StatementError(
                "the database takes reports without an invitation",
                code="invitations",
                where=self._where,
                do="make one with invited=True",
            )
        hashed = paired(invitations, fields, self.survey.fields)
        with database_errors(self._where), self.engine.begin() as connection:
            self._invitations.admit(connection, hashed)

    def count(self) -> int:
        """Number of reports."""
        sa = optional.sqlalchemy
        with database_errors(self._where), self.engine.connect() as connection:
            return int(
                connection.execute(
                    sa.select(sa.func.count()).select_from(self.reports_table)
                ).scalar_one()
            )

    def status(self) -> StoreStatus:
        """What is in the database: numbers of reports and of unused invitations, form, size.

        Returns
        -------
        StoreStatus
            With ``reports``, ``form``, ``words``, ``invited``, ``unused`` and ``bytes``.

        Raises
        ------
        ModelFileError
            If the database cannot be used.
        """
        return status_in(self.engine, self._where)

    def require_usable(self) -> None:
        """Refuse a database that is not there or not free to write; nothing is written, so a full
        disk is not seen.

        Raises
        ------
        ModelFileError
            If its file was moved, deleted or replaced, or somebody else is writing for 10 s.
        """
        self._files.require()
        require_usable(self.engine, self._where)

    def finish(self) -> None:
        """Write all rows again in the order of their ids, so that the files do not show the order
        in which the reports came, nor used invitations.

        In SQLite, ``VACUUM`` and an empty log; in PostgreSQL the rows are deleted and inserted in
        one transaction, and the tables are written again. Nothing that was acknowledged can be lost
        meanwhile. What the file system has freed, write-ahead archives, replicas, backups and
        ``track_commit_timestamp`` keep what they have. O(reports). Source: docs, "Fieldwork".

        Raises
        ------
        ModelFileError
            If somebody else uses the database for 10 s, or its file is not at its path: then the
            order may still be there.
        """
        remove_order(self.engine, self._where)
        self._files.require()


def _row(message: Message) -> dict[str, str | None]:
    """The row of a message in the database."""
    chosen = {} if message.choice is None else {CHOICE: message.choice}
    return {ID: message.id, **message.reports, **chosen, **message.fields}


def _require_columns(kinds: Mapping[str, Iterable[str]]) -> None:
    """Refuse names of questions and fields that no two databases can have as names of columns."""
    seen = {ID: f"the column {ID!r} of the ids"}
    for kind, name in ((kind, name) for kind, names in kinds.items() for name in names):
        do = f"rename the {kind}: 1 to {MAX_NAME_BYTES} bytes of letters and signs"
        if name.casefold() in seen:
            raise StatementError(
                f"{kind} {name!r} has the same name as {seen[name.casefold()]}, in upper "
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
        seen[name.casefold()] = f"{kind} {name!r}"
