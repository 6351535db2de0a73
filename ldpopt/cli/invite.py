"""The command survey invite: links to the page of a survey, each for one report."""

from typing import Annotated
from urllib.parse import urlsplit

import typer

from ldpopt.cli import options
from ldpopt.cli.options import argument, new_file, option
from ldpopt.cli.printing import show
from ldpopt.cli.questions import read_survey_file
from ldpopt.foundation.files import write_csv


def invite(
    path: options.SurveyPath,
    count: Annotated[int, argument("PEOPLE", "Number of invitations.", min=1)],
    output: Annotated[str, new_file("-o --output FILE", "The links, one a line, as CSV.")],
    page: Annotated[
        str, option("--page URL", "Where the page is, such as https://survey.example.org/.")
    ],
    to: options.Database = "sqlite:///reports.db",
    json: options.Json = None,
) -> None:
    """Write links to the page of a survey, each for one report.

    Give every person one, and start `survey collect` with --invited. The invitation is the part of
    a link after #, which browsers do not send with the request for a page. The database has hashes
    of unused invitations only.
    """
    from ldpopt.fieldwork.store import Store
    from ldpopt.tables.database import without_password

    parts = urlsplit(page)
    is_page = bool(parts.scheme in {"http", "https"} and parts.netloc) or parts.scheme == "file"
    # "localhost:8000" has the scheme "localhost"
    if not is_page or "#" in page or page.split() != [page]:
        raise typer.BadParameter(
            f"--page {page} is not the address of a page, such as https://survey.example.org/"
        )
    with Store(to, read_survey_file(path), invited=True) as store:
        links = [{"link": f"{page}#i={invitation}"} for invitation in store.invite(count)]
    write_csv(links, output)
    data = {"file": output, "invitations": len(links), "database": without_password(to)}
    show(f"{output}: {len(links):,} links; give each person one, then delete the file", data, json)
