"""Every key of a survey file: it is read, a misspelled one is refused with the right one, and a
value of another type with its place. A new key needs a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import refused
from ldpopt import Mechanism
from ldpopt.errors import ModelFileError
from ldpopt.surveys.sections import (
    FieldSection,
    FormSection,
    MatrixSection,
    QuestionSection,
    SampleSection,
    SurveySection,
    WavesSection,
)
from ldpopt.surveys.statement import read_survey

LABELS = 'labels = ["a", "b"]\n'
OF_QUESTION = {
    "labels": ('["a", "b"]', ""),
    "number": ("{ least = 0, most = 9 }", ""),
    "ticks": ('["x", "y"]', ""),
    "prior": ("{ a = 3, b = 1 }", ""),
    "utility": ('"identity"', LABELS),
    "workload": ('"prefix"', LABELS),
    "values": ("[1, 2]", LABELS + 'workload = "mean"\n'),
    "mechanism": ('"coin.json"', ""),
    "technique": ('{ crosswise = "1/6" }', ""),
    "channel": ('"half"', 'mechanisms = { 1 = "coin.json", 2 = "coin.json" }\n'),
    "mechanisms": ('{ 1 = "coin.json", 2 = "coin.json" }', 'channel = "half"\n'),
    "assigned": (
        "false",
        'channel = "half"\nmechanisms = { 1 = "coin.json", 2 = "coin.json" }\n',
    ),
    "behaviors": ('{ cheater = "no" }', 'mechanism = "coin.json"\n'),
    "edges": ("[0, 1, 2]", LABELS),
    "epsilon": ("0.5", LABELS),
    "share": ("0.25", LABELS),
    "missing": ('"leave"', LABELS),
    "missing_label": ('"pass"', LABELS + 'missing = "answer"\n'),
    "only_if": ('{ first = "yes" }', LABELS),
    "otherwise": ('"a"', LABELS + 'only_if = { first = "yes" }\n'),
    "report": ('"own"', LABELS + 'only_if = { first = "yes" }\n'),
    "repeat": ("true", LABELS),
    "text": ('{ en = "Do you?", de = "Tun Sie?" }', LABELS),
    "answers": ('{ a = "A" }', LABELS),
    "section": ('"one"', LABELS),
}
"""Of each key a value, and what it needs beside it."""
OF_MATRIX = OF_QUESTION | {"rows": ('{ x = { en = "X", de = "Y" } }', LABELS)}
OF_FIELD = {
    "labels": ('["n", "s"]', ""),
    "text": ('"Region"', ""),
    "answers": ('{ n = "North" }', 'labels = ["n", "s"]\n'),
}
OF_FORM = {
    "language": ('"en"', ""),
    "languages": ('["en", "de"]', ""),
    "consent": ('"Yes"', ""),
    "contact": ('"us"', ""),
    "retention": ('"2030"', ""),
    "to": ('"https://a.example.org/reports"', ""),
    "wave": ("2", ""),
    "waves": ("3", ""),
    "until": ("2027-03-31", ""),
    "shared": ("true", ""),
    "sections": ('{ one = "One" }', ""),
    "words": ('{ send = "Go" }', ""),
}
OF_FILE = {
    "title": ('{ en = "T", de = "U" }', ""),
    "source": ('"a paper"', ""),
    "epsilon": ("2.0", ""),
    "choices": ("[0.5, 2.0]", ""),
    "missing": ('"answer"', ""),
    "scheme": ('"one_question"', ""),
    "weights": ('"w"', ""),
    "sample": ('{ strata = "r" }', ""),
    "waves": ("{ count = 2, epsilon = 3 }", ""),
    "pairs": ('[["first", "second"]]', ""),
    "form": ('{ contact = "us" }', ""),
    "question": ('{ asked = { labels = ["a", "b"] } }', ""),
    "matrix": ('{ m = { rows = ["x"], labels = ["a", "b"] } }', ""),
    "field": ("{ region = { labels = [1, 2] } }", ""),
}
OF_WAVES = {"count": ("2", ""), "epsilon": ("3.0", ""), "delta": ("1e-6", "")}
OF_SAMPLE = {
    "weights": ('"w"', ""),
    "strata": ('"r"', ""),
    "clusters": ('"c"', ""),
    "population": ("1000", ""),
    "margins": ("{ sex = { f = 0.5, m = 0.5 } }", ""),
}
ROWS = {
    "question.asked": (QuestionSection, OF_QUESTION),
    "matrix.asked": (MatrixSection, OF_MATRIX),
    "field.region": (FieldSection, OF_FIELD),
    "form": (FormSection, OF_FORM),
    "waves": (WavesSection, OF_WAVES),
    "sample": (SampleSection, OF_SAMPLE),
    "": (SurveySection, OF_FILE),
}
CASES = [(table, key) for table, (_, rows) in ROWS.items() for key in rows]
FIRST = '[question.first]\nlabels = ["no", "yes"]\nsection = "one"\n'
LANGUAGES = '[form]\nlanguages = ["en", "de"]\n'
WAVES = {"count": "count = 2\n", "epsilon": "epsilon = 3.0\n"}


@pytest.mark.parametrize("table", ROWS)
def test_every_key_has_a_row(table: str) -> None:
    schema, rows = ROWS[table]
    assert set(schema.model_fields) == set(rows)


def text_of(table: str, key: str, shown: str, value: str = "") -> str:
    """A survey file with a key, under another name or with another value perhaps."""
    stated, beside = ROWS[table][1][key]
    line = f"{shown} = {value or stated}\n"
    if not table:
        line = line if key in ("epsilon", "choices", "waves") else line + "epsilon = 2.0\n"
        second = '[question.second]\nlabels = ["no", "yes"]\nonly_if = { first = "yes" }\n'
        asked = FIRST + second if key == "pairs" else "" if key == "question" else FIRST
        return line + ("" if key == "form" else LANGUAGES) + asked
    if table == "waves":
        others = "".join(text for name, text in WAVES.items() if name != key)
        return f"{FIRST}[waves]\n{others}{line}"
    total = "" if key in ("mechanism", "mechanisms", "channel", "assigned") else "epsilon = 9.0\n"
    rows = 'rows = ["x", "y"]\n' if table.startswith("matrix") and key != "rows" else ""
    first = FIRST if total else ""
    form = "" if table == "form" else LANGUAGES
    return f"{total}{first}[{table}]\n{rows}{beside}{line}{form if total else ''}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
    coin.save(tmp_path / "coin.json")
    return tmp_path / "survey.toml"


@pytest.mark.parametrize(("table", "key"), CASES)
def test_a_key_is_read(table: str, key: str, path: Path) -> None:
    path.write_text(text_of(table, key, key))
    read_survey(path)


@pytest.mark.parametrize(("table", "key"), CASES)
def test_a_misspelled_key_is_refused_with_the_right_one(table: str, key: str, path: Path) -> None:
    wrong = f"{key[:2]}z{key[2:]}"
    path.write_text(text_of(table, key, wrong))
    with refused("unknown-key", ModelFileError) as caught:
        read_survey(path)
    assert repr(wrong) in caught.value.what
    assert f"did you mean {key!r}" in caught.value.do
    assert f": {table}.{wrong}".replace(": .", ": ") in caught.value.where


@pytest.mark.parametrize(("table", "key"), CASES)
def test_a_value_of_another_type_is_refused_with_its_place(
    table: str, key: str, path: Path
) -> None:
    path.write_text(text_of(table, key, key, "[[[true]]]"))
    with pytest.raises(ModelFileError) as caught:
        read_survey(path)
    assert f"{table}.{key}".removeprefix(".") in caught.value.where
