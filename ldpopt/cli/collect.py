"""The command survey collect: a server that shows the page of a survey and keeps the reports."""

import sys
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

import typer

from ldpopt.cli import options
from ldpopt.cli.interrupts import raise_on_interrupt
from ldpopt.cli.options import option
from ldpopt.cli.printing import say, show
from ldpopt.cli.questions import read_survey_file


def collect(
    path: options.SurveyPath,
    to: options.Database = "sqlite:///reports.db",
    invited: Annotated[
        bool,
        option(
            "--invited",
            "Make a database for reports with an invitation; one of `survey invite` needs no flag.",
        ),
    ] = False,
    until: Annotated[
        str | None,
        option(
            "--until DATE",
            "The last day, such as 2027-03-31, or a moment on it (default: that of the survey).",
        ),
    ] = None,
    port: Annotated[int, option("--port N", "Port; 0: any free one.", min=0, max=65535)] = 8000,
    host: Annotated[
        str, option("--host ADDRESS", "Where to listen; 0.0.0.0: to other machines, too.")
    ] = "127.0.0.1",
    rate: Annotated[
        float | None, option("--rate N", "At most N reports a second in all.", min=0.01)
    ] = None,
    changed_words: Annotated[
        bool,
        option(
            "--changed-words",
            "Go on although texts were changed: no row shows which words it is an answer to.",
        ),
    ] = False,
    json: options.Json = None,
) -> None:
    """Show the page of a survey, and keep the reports that come.

    The reports are drawn on the respondents' devices. One is acknowledged when it is on the disk;
    the same message sent again is kept once. No time, no address and nothing else about the sender
    is kept, and there is no access log. Ctrl-C, SIGTERM and SIGHUP end the command in order: what
    arrived is kept, and the file no longer shows in which order. SIGUSR1 prints the counts.
    """
    from ldpopt.fieldwork.form_page import page
    from ldpopt.fieldwork.service import serve
    from ldpopt.fieldwork.store import Store
    from ldpopt.tables.database import without_password

    end = None if until is None else read_end(until)
    survey = read_survey_file(path)
    if survey.words.until:
        end = end_of_survey(survey.words.until, until)
    with Store(to, survey, invited=invited or None, changed_words=changed_words) as store:
        shown = without_password(to)

        def started(address: str) -> None:
            data = {
                "address": address,
                "database": shown,
                "form": store.digest,
                "words": survey.words_digest,
                "invited": store.invited,
                "reports": store.count(),
            }
            show(
                f"{address}: form {store.digest[:16]}, {store.count():,} reports in {shown}",
                data,
                json,
            )
            sys.stdout.flush()

        raise_on_interrupt()
        html = page(survey, to="reports", invited=store.invited)
        answers = serve(store, html, host=host, port=port, until=end, rate=rate, started=started)
        say(f"stopped; {store.count():,} reports in {shown}; {answers}")


def end_of_survey(day: str, until: str | None) -> datetime:
    """The moment after the last day that the page states, which has to be true."""
    if until not in (None, day):
        raise typer.BadParameter(
            f"--until {until}: the page says that the survey is open until {day}; "
            "leave --until out, or change `until` under [form]"
        )
    return read_end(day)


def read_end(text: str) -> datetime:
    """The moment after the last one: of a day its end, in the time zone of this machine unless the
    text has one.
    """
    try:
        if len(text) == len("2027-03-31"):
            day = date.fromisoformat(text) + timedelta(days=1)
            end = datetime.combine(day, time()).astimezone()
        else:
            end = datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"--until {text} is not a date such as 2027-03-31 or 2027-03-31T18:00"
        ) from None
    if end <= datetime.now(UTC):
        raise typer.BadParameter(f"--until {text} is over: every report would be refused")
    return end
