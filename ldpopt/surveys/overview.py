"""The questions of a survey as a table: answers, treatment of missing ones, audited budgets."""

from collections.abc import Sequence
from math import inf
from typing import Any

from ldpopt.foundation.display import Facts, Part, Table, label
from ldpopt.foundation.labels import plain_label, text_of
from ldpopt.mechanism.files import finite_or_none
from ldpopt.surveys.influence import most_people
from ldpopt.surveys.models import ModelQuestion
from ldpopt.surveys.questionnaire import Questionnaire


def entries_of(survey: Questionnaire) -> list[dict[str, Any]]:
    """The number of answers, audited budget, treatment of missing answers, gap, influence of a
    report in people and digest of each question.
    """
    entries = []
    for name, asked in survey.questions.items():
        has_answer = asked.missing_answer is not None
        column = survey.column_of(name)
        gap = _gap(survey, column)
        entry = {
            "question": name,
            "answers": len(asked.given) - asked.repeat,
            "epsilon": survey.budgets[name],
            "missing": "answer" if has_answer else asked.missing.removesuffix("_out"),
            "relative_gap": gap,
            "influence": most_people(survey, name),
            "digest": survey.asked[column].randomizer.digest,
        }
        entries.append(entry)
    return entries


def _gap(survey: Questionnaire, column: str) -> float | None:
    """The relative gap of a column, the largest of all choices; None without a certificate."""
    source = survey.asked[column].source
    sources = [part.source for part in source.parts] if survey.choices else [source]
    proofs = [getattr(each, "certificate", None) for each in sources]
    return max((each.relative_gap for each in proofs if each is not None), default=None)


def choices_in_words(survey: Questionnaire) -> list[str]:
    """What each person chooses; empty if everybody has the same epsilon."""
    if not survey.choices:
        return []
    names = list(map(text_of, survey.choices))
    return [
        f"each person chooses epsilon {', '.join(names[:-1])} or {names[-1]}; the choice is seen, "
        "and is in the column choice"
    ]


def spent_in_words(survey: Questionnaire, digits: int = 6) -> str:
    """The epsilon of a person in words: where people choose theirs, nobody spends more."""
    return f"epsilon {'at most ' if survey.choices else ''}{survey.epsilon:.{digits}g}"


def table_of(entries: Sequence[dict[str, Any]]) -> Table:
    """The entries as a table, without the digests."""
    rows = [[label(entry["question"]), *list(entry.values())[1:-1]] for entry in entries]
    headings = ["question", "answers", "true epsilon", "missing", "relative gap", "influence"]
    return Table(headings, rows, words=["missing"], digits=5)


def mechanisms_of(survey: Questionnaire) -> list[dict[str, Any]]:
    """Each mechanism of the questions of which people have one of several, those that are a
    technique by name, and the behaviors beside them; none of other questions.
    """
    entries = []
    for name, question in survey.questions.items():
        if not isinstance(question, ModelQuestion):
            continue
        laws: dict[Any, Any] = {None: question.randomizer}
        if question.mechanisms:
            laws = question.mechanisms
        for key, law in laws.items():
            entry = {
                "question": name,
                "channel": question.channel,
                "name": None if key is None else plain_label(key),
                "technique": None if question.technique is None else question.technique.in_words,
                "behaviors": list(question.behaviors),
                "epsilon": finite_or_none(law.audit().epsilon),
                "digest": law.digest,
            }
            entries.append(entry)
    return entries


def table_of_mechanisms(entries: Sequence[dict[str, Any]]) -> list[Table]:
    """The mechanisms as a table; none if there are none."""
    rows = [
        [
            label(entry["question"]),
            entry["technique"]
            or ("" if entry["name"] is None else f"{entry['channel']} {text_of(entry['name'])}"),
            ", ".join(entry["behaviors"]),
            inf if entry["epsilon"] is None else entry["epsilon"],
        ]
        for entry in entries
    ]
    headings = ["question", "mechanism", "behaviors", "true epsilon"]
    words = ["mechanism", "behaviors"]
    if not any(entry["behaviors"] for entry in entries):
        headings.remove("behaviors")
        rows = [[*row[:2], row[3]] for row in rows]
    return [Table(headings, rows, words=words, digits=5)] if rows else []


def trees_of(survey: Questionnaire) -> list[dict[str, Any]]:
    """The questions of each report on several that depend on each other, and of how many
    combinations of answers it is.
    """
    return [
        {
            "column": column,
            "questions": list(names),
            "combinations": len(survey.asked[column].inputs),
        }
        for column, names in survey.trees.items()
    ]


def lines_of_trees(entries: Sequence[dict[str, Any]]) -> list[str]:
    """The reports on several questions in words."""
    return [
        f"one report on {', '.join(entry['questions'])}: {entry['combinations']} combinations of "
        "answers, with the budgets of all"
        for entry in entries
    ]


def repeated_of(survey: Questionnaire) -> list[str]:
    """The questions that people are asked twice."""
    return [name for name, question in survey.questions.items() if question.repeat]


def lines_of_repeated(names: Sequence[str]) -> list[str]:
    """What a report on a question is about that people are asked twice, in words."""
    if not names:
        return []
    return [
        f"{', '.join(names)}: asked twice; the one report is about the answer that was repeated, "
        "or about two that differ"
    ]


def lines_of_stage(survey: Questionnaire) -> list[str]:
    """What the second stage of a survey is, and who may not be in it; none of any other survey."""
    stage = survey.stage
    return [] if stage is None else [stage.in_words, stage.promise(survey.epsilon)]


def facts_of(survey: Questionnaire) -> Facts:
    """The questions, what a person spends, and the scheme."""
    spent = f"each person spends {spent_in_words(survey)}; {survey.scheme}"
    parts: list[Part] = [table_of(entries_of(survey))]
    parts += table_of_mechanisms(mechanisms_of(survey))
    parts += [*lines_of_trees(trees_of(survey)), *lines_of_repeated(repeated_of(survey))]
    parts += [*choices_in_words(survey), spent, *lines_of_stage(survey)]
    return Facts(survey.title or "Survey", parts)
