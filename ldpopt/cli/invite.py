"""The command survey invite: links to the page of a survey, each for one report."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from ldpopt.cli import options
from ldpopt.cli.options import argument, new_file, option
from ldpopt.cli.printing import say, show
from ldpopt.cli.questions import read_survey_file
from ldpopt.errors import ModelFileError
from ldpopt.foundation.display import Facts, Table
from ldpopt.foundation.files import replacing, write_csv

if TYPE_CHECKING:
    from ldpopt.fieldwork.links import Listed
    from ldpopt.fieldwork.store import Store
    from ldpopt.surveys.survey import Survey


def invite(
    path: options.SurveyPath,
    output: Annotated[str, new_file("-o --output FILE", "The links, one a line: a new CSV file.")],
    page: Annotated[
        str, option("--page URL", "Where the page is, such as https://survey.example.org/.")
    ],
    count: Annotated[
        int | None, argument("PEOPLE", "Number of people, if the survey has no fields.", min=1)
    ] = None,
    groups: Annotated[
        str | None, option("--groups FILE", "CSV of groups: columns people, and each field.")
    ] = None,
    people: Annotated[
        str | None, option("--people FILE", "CSV with a row for each person; links are in order.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        option("--keep COLUMN", "Column of --people that is a field; may be repeated."),
    ] = None,
    smallest: Annotated[
        int | None,
        option("--smallest N", "Refuse groups of fewer people (default: 5; 1 insists).", min=1),
    ] = None,
    to: options.Database = "sqlite:///reports.db",
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    json: options.Json = None,
) -> None:
    """Write links to the page of a survey, each for one report.

    Give every person one, and start `survey collect` with the same database, which then keeps
    reports with an invitation only. The invitation is the part of a link after #, which browsers do
    not send with the request for a page. The database has hashes of unused invitations only. Fields
    of a survey, such as a region or a weight, come with the link and are sent beside the report,
    unprotected: so groups of people with the same fields must not be small.
    """
    from ldpopt.fieldwork.invitations import new_invitations
    from ldpopt.fieldwork.links import require_large
    from ldpopt.fieldwork.store import Store
    from ldpopt.surveys.groups import SMALLEST
    from ldpopt.tables.database import without_password

    _require_page(page)
    if sum(stated is not None for stated in (count, groups, people)) != 1:
        raise typer.BadParameter("give one of PEOPLE, --groups and --people")
    if keep and people is None:
        raise typer.BadParameter("--keep is for --people: name fields in the columns of --groups")
    if os.path.lexists(output):
        raise _exists(output)
    survey = read_survey_file(path)
    listed = _listed(survey, count, groups, people, keep or [])
    invitations = new_invitations(len(listed.rows))
    with Store(to, survey, invited=True) as store:
        sizes = _sizes(store, listed)
        require_large(sizes, smallest or SMALLEST)
        _write(output, listed.with_links(page, invitations))
        try:
            store.admit(invitations, listed.fields)
        except BaseException:
            os.unlink(output)  # links that no collector knows
            raise
    data = {"file": output, "invitations": len(invitations), "database": without_password(to)}
    done = f"{output}: {len(invitations):,} links; give each person one, then delete the file"
    _show(done, data, survey, sizes, json)


def _require_page(page: str) -> None:
    """Refuse what is not the address of a page."""
    parts = urlsplit(page)
    is_page = bool(parts.scheme in {"http", "https"} and parts.netloc) or parts.scheme == "file"
    # "localhost:8000" has the scheme "localhost"
    if not is_page or "#" in page or page.split() != [page]:
        raise typer.BadParameter(
            f"--page {page} is not the address of a page, such as https://survey.example.org/"
        )


def _listed(
    survey: Survey, count: int | None, groups: str | None, people: str | None, keep: list[str]
) -> Listed:
    """Who is invited, with their fields."""
    from ldpopt.fieldwork.links import listed_count, listed_groups, listed_people

    if groups is not None:
        return listed_groups(groups, survey)
    if people is not None:
        return listed_people(people, survey, keep)
    return listed_count(count or 0, survey)


def _sizes(store: Store, listed: Listed) -> dict[str, int]:
    """How many people are invited in each group that gets links, with those of before; none if
    people are not told apart.
    """
    if not store.survey.fields:
        return {}
    known = store.status()
    sizes = listed.groups + Counter(known.unused) + Counter(known.groups)
    return {group: sizes[group] for group in listed.groups}


def _write(output: str, rows: list[dict[str, str]]) -> None:
    """Write links to a new file."""
    try:
        with replacing(output, new=True) as stream:
            stream.write(write_csv(rows))
    except FileExistsError:
        raise _exists(output) from None


def _exists(output: str) -> ModelFileError:
    """Return the error for a file that people may have links of."""
    return ModelFileError(
        "there is a file already, perhaps with links that people have",
        code="exists",
        where=output,
        do="name a new file",
    )


def _show(
    done: str, data: dict[str, Any], survey: Survey, sizes: dict[str, int], json: str | None
) -> None:
    """Show what was done, with the precision of each group, and warn of small ones."""
    from ldpopt.fieldwork.links import half_width_of_one
    from ldpopt.surveys.groups import SMALL

    if not sizes:
        show(done, data, json)
        return
    alone = half_width_of_one(survey)
    widths = [None if alone is None else alone / size**0.5 for size in sizes.values()]
    rows = [[name, size, width] for (name, size), width in zip(sizes.items(), widths, strict=True)]
    keys = ("group", "people", "half_width")
    data["groups"] = [dict(zip(keys, row, strict=True)) for row in rows]
    table = Table(["group", "people", "half-width"], rows, digits=2)
    note = "half-width: of the 95 % interval of the share that is known least, if all answer"
    show(Facts(done, [table, note]), data, json)
    if few := [f"{name}: {size}" for name, size in sizes.items() if size < SMALL]:
        shown = "; ".join(few[:5]) + (f"; {len(few) - 5:,} more" if len(few) > 5 else "")
        say(
            f"warning: groups of fewer than {SMALL} people ({shown}) cost privacy and tell "
            "nothing: merge them"
        )
