"""What a database says about its reports: their form and origin, the words under which people
answered, and whether each report needs an invitation.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ldpopt.errors import ModelFileError
from ldpopt.foundation import optional
from ldpopt.mechanism.files import origin_of_reports
from ldpopt.surveys.changed_words import first_difference
from ldpopt.surveys.form import form_difference, form_digest
from ldpopt.surveys.survey import Survey
from ldpopt.tables.database import ABOUT
from ldpopt.tables.origin import text_of_origin

KEYS = ("digest", "form", "origin", "words", "invited")  # the columns of the table


@dataclass(frozen=True)
class About:
    """What a database is for. ``words`` has all words under which people answered, by their
    digests, in the order in which they came; ``origin`` is the text of the origin.
    """

    form: dict[str, Any]
    origin: str
    words: dict[str, dict[str, Any]]
    invited: bool

    @classmethod
    def of(cls, survey: Survey, invited: bool) -> About:
        """What a new database is for."""
        origin = origin_of_reports(survey.asked, (), None, survey.one_question)
        words = {survey.words_digest: survey.words.read_by_people}
        return cls(survey.form(), text_of_origin(origin), words, invited)

    @property
    def digest(self) -> str:
        """Digest of the form."""
        return form_digest(self.form)

    def require(self, survey: Survey, invited: bool | None, where: str) -> None:
        """Refuse a survey whose reports are others, and another need of invitations."""
        form = survey.form()
        if self.form != form:
            raise ModelFileError(
                "the database has the reports of another survey or wave: its "
                f"{form_difference(self.form, form)}",
                code="form",
                where=where,
                do=f"name another database for the form {form_digest(form)[:16]}",
            )
        if invited is not None and invited != self.invited:
            raise ModelFileError(
                "each report in the database needs an invitation"
                if self.invited
                else "the database takes reports without an invitation, perhaps at this moment",
                code="invitations",
                where=where,
                do="leave invited=False out"
                if self.invited
                else "name another database for whoever is invited, and begin with `survey invite`",
            )

    def with_words(self, survey: Survey, changed: bool, where: str) -> About:
        """The same with the words of a survey; refused if they are others and not ``changed`` on
        purpose.
        """
        if survey.words_digest in self.words:
            return self
        now = survey.words.read_by_people
        if not changed:
            difference = first_difference(list(self.words.values())[-1], now)
            raise ModelFileError(
                f"people answer under other words: {difference}",
                code="changed-words",
                where=where,
                do="name another database; or pass --changed-words to `survey collect` if the "
                "answers mean the same: afterwards no row shows which words it is an answer to",
            )
        words = {**self.words, survey.words_digest: now}
        return About(self.form, self.origin, words, self.invited)


class AboutTable:
    """The table of one row that has it; it is written once, but for words that are added."""

    def __init__(self, tables: optional.sqlalchemy.MetaData) -> None:
        sa = optional.sqlalchemy
        key = sa.Column("digest", sa.String(64), primary_key=True)
        texts = [sa.Column(name, sa.Text, nullable=False) for name in ("form", "origin", "words")]
        self.table = sa.Table(
            ABOUT, tables, key, *texts, sa.Column("invited", sa.Boolean, nullable=False)
        )

    def read(self, connection: Any, where: str) -> About | None:
        """What the database is for; None if it is new."""
        sa = optional.sqlalchemy
        known = [column["name"] for column in sa.inspect(connection).get_columns(ABOUT)]
        if known != list(KEYS):
            raise ModelFileError(
                f"the database has another table {ABOUT!r}, perhaps of another version of ldpopt",
                code="table",
                where=where,
                do="name another database",
            )
        row = connection.execute(sa.select(self.table)).mappings().first()
        if row is None:
            return None
        form, words = (json.loads(row[name]) for name in ("form", "words"))
        return About(form, row["origin"], words, row["invited"])

    def write(self, connection: Any, about: About) -> None:
        """Write what a new database is for, or add words."""
        row: dict[str, Any] = {
            name: json.dumps(getattr(about, name), ensure_ascii=False) for name in ("form", "words")
        }
        row |= {"digest": about.digest, "origin": about.origin, "invited": about.invited}
        connection.execute(self.table.delete())
        connection.execute(self.table.insert(), row)
