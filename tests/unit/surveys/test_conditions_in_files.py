"""Survey files: a question that is asked after some answers only; what is wrong is named with its
place before anything is solved."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from builders import cli_json, cli_output, refused
from ldpopt import Survey
from ldpopt.errors import ModelFileError
from ldpopt.surveys.statement import read_survey

FILE = """
epsilon = 3.0
missing = "answer"
pairs = [["smokes", "cigarettes"]]
[question.smokes]
labels = ["no", "yes", 3]
[question.cigarettes]
labels = ["few", "many"]
only_if = { smokes = "yes" }
[question.used]
ticks = ["beer", "wine"]
[matrix.trust]
rows = { police = "the police", courts = "the courts" }
labels = ["little", "much"]
only_if = { smokes = ["no", 3], used = ["beer"] }
report = "own"
[question.why]
labels = ["x", "none"]
only_if = { used = ["beer", "wine"] }
otherwise = "none"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "survey.toml"
    path.write_text(text)
    return path


def test_conditions_of_a_file_are_those_of_the_questions(tmp_path: Path) -> None:
    survey = Survey.from_toml(written(tmp_path, FILE))
    questions = survey.questions
    assert survey.trees == {"smokes": ("smokes", "cigarettes")}
    assert survey.pairs == (("smokes", "cigarettes"),)
    assert questions["cigarettes"].only_if == {"smokes": ("yes",)}
    for row in ("trust.police", "trust.courts"):
        assert questions[row].only_if == {"smokes": ("no", 3), "used": ("beer",)}
        assert questions[row].report == "own"
    assert (questions["why"].otherwise, questions["why"].only_if) == (
        "none", {"used": ("beer", "wine")}
    )  # fmt: skip
    asked = survey.form()["questions"]
    assert asked["trust.police"]["only_if"] == {"smokes": ["no", "3"], "used": ["beer"]}
    assert asked["why"]["otherwise"] == "none"
    assert survey.budgets["smokes"] == pytest.approx(1.0)  # those of its two questions
    assert survey.budgets["why"] == pytest.approx(0.5)


def test_the_commands_say_which_questions_have_one_report(tmp_path: Path) -> None:
    path = written(tmp_path, FILE)
    json = tmp_path / "survey.json"
    for command in (("solve", path, "-o", json), ("check", json), ("audit", json)):
        shown = " ".join(cli_output("survey", *command).split())
        # not smoking in two ways or none stated, and smoking with each of three answers
        assert "one report on smokes, cigarettes: 6 combinations of answers" in shown
    data = cli_json("survey", "check", json)
    assert data["reports_of_several"] == [
        {"column": "smokes", "questions": ["smokes", "cigarettes"], "combinations": 6}
    ]


def test_a_file_keeps_conditions_and_trees(tmp_path: Path) -> None:
    survey = Survey.from_toml(written(tmp_path, FILE))
    survey.save(tmp_path / "survey.json")
    again = Survey.load(tmp_path / "survey.json")
    assert (again.form(), again.trees, again.pairs) == (survey.form(), survey.trees, survey.pairs)
    for name, question in survey.questions.items():
        twin = again.questions[name]
        assert (twin.only_if, twin.otherwise, twin.report) == (
            question.only_if, question.otherwise, question.report
        )  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "code", "where"),
    [
        ('{ smokes = "yes" }', '{ smoks = "yes" }', "question",
         "question.cigarettes.only_if.smoks"),
        ('{ smokes = "yes" }', '{ why = "x" }', "later-question",
         "question.cigarettes.only_if.why"),
        ('{ smokes = "yes" }', '{ cigarettes = "few" }', "later-question",
         "question.cigarettes.only_if.cigarettes"),
        ('{ smokes = "yes" }', '{ smokes = "Yes" }', "condition-answer",
         "question.cigarettes.only_if.smokes"),
        ('{ smokes = "yes" }', "{ smokes = [] }", "condition",
         "question.cigarettes.only_if.smokes"),
        ('{ smokes = "yes" }', "{}", "condition", "question.cigarettes.only_if"),
        ('{ smokes = "yes" }', "{ smokes = true }", "type", "question.cigarettes.only_if.smokes"),
        ('{ smokes = "yes" }', '"smokes"', "type", "question.cigarettes.only_if"),
        ('used = ["beer"]', 'used = ["bear"]', "condition-answer", "matrix.trust.only_if.used"),
        ('otherwise = "none"', 'otherwise = "nones"', "otherwise", "question.why.otherwise"),
        ('only_if = { used = ["beer", "wine"] }\n', "", "no-condition", "question.why.otherwise"),
        ('report = "own"', 'report = "shared"', "type", "matrix.trust.report"),
        ('only_if = { smokes = ["no", 3], used = ["beer"] }\n', "", "no-condition",
         "matrix.trust.report"),
        ('labels = ["few", "many"]', 'labels = ["few", "many"]\nmissing = "leave"', "leave-in-tree",
         "question.cigarettes.only_if.smokes"),
        ('labels = ["few", "many"]', 'labels = ["few", "many"]\nutility = "identity"',
         "utility-only-if", "question.cigarettes.utility"),
        ('"cigarettes"]]', '"cigarets"]]', "question", "pairs"),
        ('"cigarettes"]]', '"cigarettes", "used"]]', "type", "pairs"),
    ],
)  # fmt: skip
def test_a_condition_that_cannot_be_is_refused_with_its_place(
    old: str, new: str, code: str, where: str, tmp_path: Path
) -> None:
    assert FILE.count(old) == 1
    text = FILE.replace(old, new)
    with refused(code, ModelFileError) as caught:
        read_survey(written(tmp_path, text))
    assert where in caught.value.where
    assert re.search(r":\d+: ", caught.value.where)
