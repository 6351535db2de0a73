"""What a survey's file has about questions that depend on others: conditions, trees, and pairs of
questions of which a table is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpopt.foundation.documents import Entry, plain_labels
from ldpopt.mechanism.questions import OWN, SHARED, Question
from ldpopt.surveys.columns import Pairs, read_pairs
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.surveys.trees import read_tree

CONDITION = ("only_if", "otherwise", "report")  # keys of questions that depend on others
TOGETHER = ("pairs", "trees")  # keys of a survey with such questions


def condition_to_dict(question: Question) -> dict[str, Any]:
    """Of which answers it depends whether a question is asked; empty if everybody is asked."""
    if not question.only_if:
        return {}
    data: dict[str, Any] = {
        "only_if": {name: plain_labels(answers) for name, answers in question.only_if.items()}
    }
    if question.otherwise is not None:
        data["otherwise"] = plain_labels([question.otherwise])[0]
    return data | ({} if question.report == SHARED else {"report": OWN})


def read_condition(table: Mapping[str, Entry]) -> dict[str, Any]:
    """Read it from those of the keys that a question has."""
    fields: dict[str, Any] = {}
    if "only_if" in table:
        gates = table["only_if"].parts()
        fields["only_if"] = {name: list(entry.labels()) for name, entry in gates.items()}
    if "otherwise" in table:
        entry = table["otherwise"]
        fields["otherwise"] = Entry([entry.value], entry.path, entry.key).labels()[0]
    if "report" in table:
        fields["report"] = table["report"].text(OWN)
    return fields


def together_to_dict(survey: Questionnaire) -> dict[str, Any]:
    """Trees with their certificates, and pairs; empty if there are none."""
    data: dict[str, Any] = {}
    if survey.pairs:
        data["pairs"] = list(map(list, survey.pairs))
    if survey.trees:
        data["trees"] = {
            name: {"of": list(names), "design": survey.certificates[name].to_dict()}
            for name, names in survey.trees.items()
        }
    return data


def read_stated_pairs(table: Mapping[str, Entry], names: list[str]) -> Pairs:
    """Read the pairs of questions of which a table is wanted, if there are some."""
    if "pairs" not in table:
        return ()
    pairs = [[part.text() for part in pair.list(2)] for pair in table["pairs"].list()]
    return read_pairs(pairs, names)


def questions_of_trees(table: Mapping[str, Entry], names: list[str]) -> dict[str, list[str]]:
    """Read which questions have one report together."""
    if "trees" not in table:
        return {}
    trees = {}
    for name, entry in table["trees"].parts().items():
        of = entry.table("of", "design")["of"]
        trees[name] = [part.text() for part in of.list()]
        if not set(trees[name]) <= set(names) or name not in trees[name]:
            raise of.error("these are not questions of the survey", code="tree-questions")
    return trees


def read_trees(
    table: Mapping[str, Entry],
    questions: Mapping[str, Question],
    trees: Mapping[str, list[str]],
    pairs: Pairs,
) -> dict[str, Any]:
    """The questions of a survey, in which each tree is in the place of its first question.

    ``trees`` has the names of its questions by that of the first. The others stay where they are,
    and the survey reads them from the tree.
    """
    joined: dict[str, Any] = dict(questions)
    for name, names in trees.items():
        entry = table["trees"].parts()[name].table("of", "design")["design"]
        tables = tuple(pair for pair in pairs if set(pair) <= set(names))
        parts = {each: questions[each] for each in names}
        joined[name] = read_tree(entry.value, parts, f"{entry.path}: {entry.key}", tables)
    return joined
