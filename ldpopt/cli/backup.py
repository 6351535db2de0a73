"""The command survey backup: a copy of a database of reports."""

from typing import Annotated

from ldpopt.cli import options
from ldpopt.cli.options import option
from ldpopt.cli.printing import show, working
from ldpopt.cli.status import database_address


def backup(
    database: options.DatabaseUrl,
    output: Annotated[str, option("-o --output FILE", "The copy, a new file of SQLite.")],
    json: options.Json = None,
) -> None:
    """Copy a database of SQLite, as it is at one moment.

    A collector may be running: other copies of the file miss what is in the log beside it. Only you
    may read the copy; an existing file is not replaced.
    """
    from ldpopt.fieldwork.upkeep import backup as back_up

    address = database_address(database)
    with working("copying the database"):
        count = back_up(address, output)
    show(f"{output}: {count:,} reports", {"file": output, "reports": count}, json)
