"""The command survey status: what is in a database of reports."""

from dataclasses import asdict
from typing import Annotated

import typer

from ldpopt.cli import options
from ldpopt.cli.options import new_file, option
from ldpopt.cli.printing import say, show
from ldpopt.errors import ModelFileError
from ldpopt.foundation.display import Facts, Part, Table
from ldpopt.foundation.files import replacing, write_csv
from ldpopt.tables.database import is_database, without_password


def database_address(url: str) -> str:
    """The address of a database; anything else is refused."""
    if not is_database(url):
        raise typer.BadParameter(
            f"{url} is not the address of a database, such as sqlite:///reports.db"
        )
    return url


def status(
    database: options.DatabaseUrl,
    links: Annotated[
        str | None, option("--links FILE", "The links of `survey invite`: which were not used?")
    ] = None,
    output: Annotated[
        str | None, new_file("-o --output FILE", "The links that were not used: a new CSV file.")
    ] = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    json: options.Json = None,
) -> None:
    """Show what is in a database of reports.

    Numbers of reports and of unused invitations, the digests of form and words, and the size. A
    collector may be running. With --links also the rows of a file whose links were not used, for
    reminders. They and the database show who took part: delete both lists afterwards. If people
    have fields, such as a region, also the numbers of each group, and a warning of small ones.
    """
    from ldpopt.fieldwork.links import COLUMN, unused_rows
    from ldpopt.fieldwork.upkeep import status as status_of
    from ldpopt.surveys.groups import SMALLEST

    if (links is None) != (output is None):
        raise typer.BadParameter("--links and -o go together: links to read, and a file to write")
    found = status_of(database_address(database))
    if links is not None and output is not None:
        rows, count = unused_rows(database, links)
        try:
            with replacing(output, new=True) as stream:
                stream.write(write_csv(rows, header=list(rows[0]) if rows else [COLUMN]))
        except FileExistsError:
            raise ModelFileError(
                "there is a file already", code="exists", where=output, do="name a new file"
            ) from None
        say(f"{output}: {len(rows):,} of {count:,} links were not used")
    facts: list[Part] = [
        ("reports", f"{found.reports:,}"),
        ("unused invitations", f"{sum(found.unused.values()):,}"),
        ("form", found.form),
        ("words", found.words[-1]),
        ("bytes", f"{found.bytes:,}"),
    ]
    if names := list(dict.fromkeys(filter(None, (*found.groups, *found.unused)))):
        numbers = [[name, found.groups.get(name, 0), found.unused.get(name, 0)] for name in names]
        facts.append(Table(["group", "reports", "unused invitations"], numbers))
    show(Facts(without_password(database), facts), asdict(found), json)
    if found.small:
        small = "; ".join(f"{name}: {count}" for name, count in found.small.items())
        say(
            f"warning: groups of fewer than {SMALLEST} reports ({small}): whoever has the links "
            "and the database may see whose they are; delete the links first, and merge these "
            "groups"
        )
