"""How many people find a difference between two groups: `ldpopt plan --difference`."""

from __future__ import annotations

from typing import Any

from ldpopt.cli.printing import say, show
from ldpopt.cli.questions import is_survey, read_survey_file
from ldpopt.foundation.display import Facts, Table, label
from ldpopt.foundation.numbers import percentage


def plan_differences(
    file: str, difference: str, json: str | None, *, effect: float, **options: float
) -> None:
    """Show the people in each of two groups, for each question of a survey or for a mechanism."""
    from ldpopt.estimation.power import plan_difference
    from ldpopt.surveys.estimates import numbers_of
    from ldpopt.surveys.files import read_source

    size: Any = difference if percentage(difference) is not None else float(difference)
    entries = []
    if is_survey(file):
        survey = read_survey_file(file)
        # each person is asked one question only: so many times more people
        times = 1 if survey.has_all_reports else len(survey.asked)
        if some := [name for name, each in survey.questions.items() if each.only_if]:
            say(
                f"note: {', '.join(map(label, some))}: differences of shares of all people, not of "
                "those who are asked"
            )
        if some := [name for name, each in survey.questions.items() if each.repeat]:
            say(f"note: {', '.join(map(label, some))}: differences of shares if nobody is careless")
        for name in survey.questions:
            source = numbers_of(survey, name)
            pair = plan_difference(source, size, effect=effect, **options)
            entries.append({"question": name, "first": pair[0] * times, "second": pair[1] * times})
        first = "question"
    else:
        source = read_source(file)
        pair = plan_difference(source, size, effect=effect, **options)
        entries.append({"numbers": "worst", "first": pair[0], "second": pair[1]})
        first = "numbers"
    table = Table(
        [first, "people in the first group", "in the second"],
        [[label(row[first]), row["first"], row["second"]] for row in entries],
    )
    title = (
        f"a difference of {difference} is found with probability {100 * options['power']:g} % "
        f"(level {options['level']:g})"
    )
    data = {"difference": difference, "effect": effect, **options, "groups": entries}
    show(Facts(f"{title}, worst shares", [table]), data, json)
