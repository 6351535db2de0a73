"""The command survey invite: links to the page of a survey, each for one report."""

import os
from typing import Annotated
from urllib.parse import urlsplit

import typer

from ldpopt.cli import options
from ldpopt.cli.options import argument, new_file, option
from ldpopt.cli.printing import show
from ldpopt.cli.questions import read_survey_file
from ldpopt.errors import ModelFileError
from ldpopt.foundation.files import replacing, write_csv


def invite(
    path: options.SurveyPath,
    count: Annotated[int, argument("PEOPLE", "Number of invitations.", min=1)],
    output: Annotated[str, new_file("-o --output FILE", "The links, one a line: a new CSV file.")],
    page: Annotated[
        str, option("--page URL", "Where the page is, such as https://survey.example.org/.")
    ],
    to: options.Database = "sqlite:///reports.db",
    json: options.Json = None,
) -> None:
    """Write links to the page of a survey, each for one report.

    Give every person one, and start `survey collect` with the same database, which then keeps
    reports with an invitation only. The invitation is the part of a link after #, which browsers do
    not send with the request for a page. The database has hashes of unused invitations only.
    """
    from ldpopt.fieldwork.invitations import new_invitations
    from ldpopt.fieldwork.store import Store
    from ldpopt.tables.database import without_password

    parts = urlsplit(page)
    is_page = bool(parts.scheme in {"http", "https"} and parts.netloc) or parts.scheme == "file"
    # "localhost:8000" has the scheme "localhost"
    if not is_page or "#" in page or page.split() != [page]:
        raise typer.BadParameter(
            f"--page {page} is not the address of a page, such as https://survey.example.org/"
        )
    exists = ModelFileError(
        "there is a file already, perhaps with links that people have",
        code="exists",
        where=output,
        do="name a new file",
    )
    if os.path.lexists(output):
        raise exists
    invitations = new_invitations(count)
    links = write_csv([{"link": f"{page}#i={invitation}"} for invitation in invitations])
    with Store(to, read_survey_file(path), invited=True) as store:
        try:
            with replacing(output, new=True) as stream:
                stream.write(links)
        except FileExistsError:
            raise exists from None
        try:
            store.admit(invitations)
        except BaseException:
            os.unlink(output)  # links that no collector knows
            raise
    data = {"file": output, "invitations": len(invitations), "database": without_password(to)}
    done = f"{output}: {len(invitations):,} links; give each person one, then delete the file"
    show(done, data, json)
