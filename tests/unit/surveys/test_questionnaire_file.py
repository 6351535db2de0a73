"""The questionnaire that shows every kind of question: it is solved, asked, collected and
estimated."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpopt
from builders import cli_json, cli_output
from ldpopt import Survey
from ldpopt.fieldwork import Store, page

pytest.importorskip("sqlalchemy", reason="sqlalchemy is in the extra 'collect'")
FILE = Path(ldpopt.__file__).parents[1] / "examples" / "questionnaire.toml"
SITES = ("North", "South")
PEOPLE = 400


@pytest.fixture(scope="module")
def survey() -> Survey:
    return Survey.from_toml(FILE)


def answers(draws: np.random.Generator) -> pd.DataFrame:
    """Answers that the page can give."""
    smokes = draws.choice(["no", "yes", None], PEOPLE, p=[0.6, 0.3, 0.1])
    few = draws.choice(["few", "many"], PEOPLE)
    trust = {f"trust.{row}": draws.choice(["little", "much"], PEOPLE) for row in ("boss", "doctor")}
    return pd.DataFrame(
        {
            "smokes": smokes,
            "cigarettes": np.where(smokes == "yes", few, None),
            "medicine": draws.choice(["sleep;pain", "pain", "none"], PEOPLE),
            "hours": draws.integers(0, 81, PEOPLE),
            **trust,
            "age": draws.integers(18, 100, PEOPLE),
            "site": draws.choice(SITES, PEOPLE),
        }
    )


def test_it_has_every_kind_in_all_languages(survey: Survey) -> None:
    form = survey.form()
    assert list(form["questions"]) == [
        *("smokes", "cigarettes", "medicine", "hours", "trust.boss", "trust.doctor", "age"),
    ]
    assert survey.trees == {"smokes": ("smokes", "cigarettes")}
    assert form["questions"]["hours"]["number"]["most"] == 80
    assert len(form["columns"]["hours"]["grid"]) == 11
    assert form["questions"]["age"]["number"]["starts"] == [18, 30, 45, 60]
    assert form["questions"]["medicine"]["ticks"][:3] == ["sleep", "pain", "stomach"]
    assert all(question.missing_answer is not None for question in survey.questions.values())
    assert form["fields"] == {"site": list(SITES)}
    english, german = map(survey.words.in_language, survey.words.languages)
    for name, asked in german.questions.items():
        assert asked.text
        assert asked.text != english.questions[name].text
        assert asked.answers.keys() == english.questions[name].answers.keys()
    assert german.questions["trust.doctor"].text == "Wie sehr vertrauen Sie: dem Betriebsarzt"
    assert list(german.sections) == ["habits", "work", "you"]
    assert "gelöscht" in german.retention
    assert german.fields["site"]["South"] == "Süd"


def test_its_page_has_all_texts_and_needs_no_other_words(survey: Survey) -> None:
    found = re.search(r"<script[^>]*json[^>]*>(.*?)</script>", page(survey), re.DOTALL)
    assert found is not None
    shown = json.dumps(json.loads(found[1]), ensure_ascii=False)
    for code in survey.words.languages:
        words = survey.words.in_language(code)
        texts = [words.title, words.consent, words.retention, *words.sections.values()]
        texts += [asked.text for asked in words.questions.values() if not asked.matrix]
        texts += [asked.row for asked in words.questions.values() if asked.matrix]
        for text in texts:
            assert json.dumps(text, ensure_ascii=False)[1:-1] in shown, text


def test_its_reports_are_collected_and_estimated_by_site(
    survey: Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = answers(np.random.default_rng(0))
    reports = survey.privatize(given.drop(columns="site"), rng=1).assign(site=given["site"])
    with Store("sqlite:///reports.db", survey, invited=True) as store:
        links = {site: iter(store.invite(PEOPLE, {"site": site})) for site in SITES}
        told = {"form": store.digest, "words": survey.words_digest}
        bodies = [
            json.dumps(
                told
                | {
                    "id": secrets.token_hex(16),
                    "reports": {column: str(row[column]) for column in survey.asked},
                    "fields": {"site": row["site"]},
                    "invitation": next(links[row["site"]]),
                }
            ).encode()
            for _, row in reports.iterrows()
        ]
        assert all(store.add([store.reader.read(body) for body in bodies]))
    survey.save("survey.json")
    found: Any = cli_json(
        "survey", "estimate", "survey.json", "sqlite:///reports.db", "--by", "site"
    )
    assert set(SITES) <= set(json.dumps(found).replace('"', " ").split())
    whole = survey.estimate(reports)
    counted = survey.estimate("sqlite:///reports.db")
    for name in survey.questions:
        np.testing.assert_allclose(counted[name].values, whole[name].values)
    cli_output("survey", "export", "sqlite:///reports.db", "-o", "reports.csv")
    assert {"smokes", "trust.boss", "trust.doctor", "site"} <= set(pd.read_csv("reports.csv"))
