"""The command survey status: what is in a database of reports."""

from dataclasses import asdict

import typer

from ldpopt.cli import options
from ldpopt.cli.printing import show
from ldpopt.foundation.display import Facts
from ldpopt.tables.database import is_database, without_password


def database_address(url: str) -> str:
    """The address of a database; anything else is refused."""
    if not is_database(url):
        raise typer.BadParameter(
            f"{url} is not the address of a database, such as sqlite:///reports.db"
        )
    return url


def status(database: options.DatabaseUrl, json: options.Json = None) -> None:
    """Show what is in a database of reports.

    Numbers of reports and of unused invitations, the digest of the form, and the size. A collector
    may be running.
    """
    from ldpopt.fieldwork.upkeep import status as status_of

    found = status_of(database_address(database))
    facts = [
        ("reports", f"{found.reports:,}"),
        ("unused invitations", f"{sum(found.unused.values()):,}"),
        ("form", found.form),
        ("bytes", f"{found.bytes:,}"),
    ]
    show(Facts(without_password(database), list(facts)), asdict(found), json)
