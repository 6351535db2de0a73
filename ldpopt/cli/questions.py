"""Files of mechanisms, designs and surveys, and the questions that plan, privatize and estimate
work on.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ldpopt.cli.printing import working
from ldpopt.errors import ModelFileError, NotRepresentableError
from ldpopt.foundation.display import Part
from ldpopt.foundation.files import beginning
from ldpopt.foundation.kinds import asks_questions

if TYPE_CHECKING:
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.surveys.survey import Survey

READ = 1 << 20  # bytes at the beginning of a file from which a survey is recognized
BEGIN_SURVEY = "`ldpopt survey init FILE` begins a survey"
FOR_SURVEYS = {  # what to do with a survey in place of a command, by its name
    "solve": "ldpopt survey solve {}",
    "design": "ldpopt survey solve {}",
    "solved": "the survey is solved: go on with ldpopt survey plan, report, form or privatize {}",
    "compare": 'set scheme = "best" in the survey, then `ldpopt check` compares the schemes',
    "plot": "ldpopt survey report {} -o page.html",
    "simulate": "ldpopt survey simulate {} --people 1000",
    "sweep": "ldpopt survey plan {} --people 1000 shows the half-widths at its budget",
    "export": "ldpopt survey solve {} -o survey.json has the mechanisms; ldpopt survey export "
    "is for reports",
}


def read_questions(path: str, columns: list[str] | None, **policy: Any) -> tuple[Survey, Any]:
    """Read a survey, whose file names the columns, and None; or the survey of these columns and
    their common mechanism.

    ``policy`` has the options on missing answers, None if they are not given. A design may be in
    place of a mechanism.
    """
    from ldpopt.mechanism.questions import Question
    from ldpopt.surveys.files import read_source
    from ldpopt.surveys.survey import Survey

    rules = {name: value for name, value in policy.items() if value is not None}
    if is_survey(path):
        options = {f"--{name.replace('_', '-')}": value for name, value in rules.items()}
        refuse_options({"--column": columns} | options, path)
        return read_survey_file(path), None
    source = read_source(path)
    if not columns:
        raise typer.BadParameter("name the column of the table with -c")
    return Survey(dict.fromkeys(columns, Question(source, **rules))), source


def refuse_options(
    options: dict[str, Any], path: str, use: str = "a mechanism or a design"
) -> None:
    """Refuse options that are for another kind of file; those that are None or False are not
    given.
    """
    if (useless := next((name for name, value in options.items() if value), None)) is not None:
        raise typer.BadParameter(
            f"{useless} is for {use}, which {path} is not: leave {useless} out"
        )


def read_survey_file(path: str) -> Survey:
    """Read a survey, and solve it if it is a statement in TOML."""
    from ldpopt.surveys.survey import Survey

    if Path(path).suffix.lower() != ".toml":
        return Survey.load(path)
    with working(f"solving {Path(path).name}"):
        return Survey.from_toml(path)


def survey_tables(survey: Survey) -> tuple[list[Part], dict[str, Any]]:
    """Answers, treatment of missing ones and audited budget of each question, the mechanisms of
    those that have several or a technique, which have one report, and of which stage the survey is,
    as tables and as JSON data.
    """
    from ldpopt.surveys.overview import (
        choices_in_words,
        entries_of,
        lines_of_repeated,
        lines_of_stage,
        lines_of_trees,
        mechanisms_of,
        repeated_of,
        table_of,
        table_of_mechanisms,
        trees_of,
    )

    entries = entries_of(survey)
    mechanisms = mechanisms_of(survey)
    trees = trees_of(survey)
    repeated = repeated_of(survey)
    parts: list[Part] = [table_of(entries), *table_of_mechanisms(mechanisms)]
    in_words = [*lines_of_trees(trees), *lines_of_repeated(repeated), *choices_in_words(survey)]
    in_words += lines_of_stage(survey)
    return [*parts, *in_words], {
        "title": survey.title,
        "epsilon": survey.epsilon,
        "scheme": survey.scheme,
        "questions": entries,
        "mechanisms": mechanisms,
        "reports_of_several": trees,
        "repeated": repeated,
        "stage": None if survey.stage is None else survey.stage.to_dict(),
    } | ({"choices": list(survey.choices)} if survey.choices else {})


def read_any_survey(path: str) -> Survey:
    """Read a survey; a mechanism or design is a survey of one question with the name of its
    file.
    """
    from ldpopt.surveys.files import read_source
    from ldpopt.surveys.survey import Survey

    return (
        read_survey_file(path) if is_survey(path) else Survey({Path(path).stem: read_source(path)})
    )


def read_mechanism(path: str) -> Mechanism:
    """Read the channel of a mechanism or of a design."""
    from ldpopt.certificate.design_certificate import is_design
    from ldpopt.designing.saved import load_design
    from ldpopt.mechanism.mechanism import Mechanism

    require_no_survey(path)
    try:
        return load_design(path).mechanism if is_design(path) else Mechanism.load(path)
    except NotRepresentableError as error:
        if error.code not in ("unlisted", "channel"):
            raise
        raise NotRepresentableError(
            error.what,
            code="unlisted",
            where=path,
            do="`ldpopt certify` rechecks its privacy; privatize and estimate need no channel",
        ) from None


def is_survey(path: str) -> bool:
    """Whether a file looks like a survey of several questions, in TOML or JSON."""
    text = beginning(path, READ)
    return '"ldpopt survey' in text[:100] or asks_questions(text)


def require_no_survey(path: str, command: str | None = None) -> None:
    """Refuse a survey in place of a model or a mechanism, and name the command that does the same
    for surveys.
    """
    if is_survey(path):
        instead = (
            command
            if Path(path).suffix.lower() == ".toml" or command not in ("solve", "design")
            else "solved"
        )
        do = FOR_SURVEYS.get(instead or "", "ldpopt survey --help lists what reads surveys").format(
            path
        )
        raise ModelFileError(
            "this is a survey of several questions, not a model or a mechanism",
            code="survey",
            where=path,
            do=do,
        )


def is_folder(path: str) -> bool:
    """Whether a table is a folder of tables, here or in a store."""
    from ldpopt.tables.places import is_folder as is_folder_of_tables

    return is_folder_of_tables(path)


def require_folder(path: str, dask: str | None, recursive: bool = False) -> None:
    """Refuse ``--dask`` and ``--recursive`` unless the table is a folder of tables."""
    given = {"--dask": dask is not None, "--recursive": recursive}
    if any(given.values()) and not is_folder(path):
        option = next(name for name, is_given in given.items() if is_given)
        raise typer.BadParameter(
            f"{option} is for a folder of tables, and {path} is not one: leave {option} out"
        )
