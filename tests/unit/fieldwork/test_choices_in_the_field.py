"""Where people choose their epsilon: the form has the masses once for each choice, a message has
the choice, the collector checks it, and reports are estimated from the database.
"""

from __future__ import annotations

import json
from fractions import Fraction
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpopt import Mechanism, Survey
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.fieldwork import Store, page
from ldpopt.fieldwork.messages import InvalidMessageError, MessageReader, message_bytes
from ldpopt.plotting.report import report
from ldpopt.surveys.export import export_reports
from ldpopt.surveys.form import form_digest

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
OLD = "f518c9b9e7bfdbaa864a7fad44a65fa60748ce662ef340ed2eade5e8c6a42cf2"
GIVEN = (
    "The report multiplies the odds of two answers by at most e^(your epsilon), given your "
    "choice; your choice itself is seen."
)


@pytest.fixture(scope="module")
def survey() -> Survey:
    questions = {"smokes": ["no", "yes"], "kind": list("abcdef")}
    return Survey(questions, choices=[0.5, 1.0, 4.0], title="Health")


def message_of(survey: Survey, number: int = 0, **changes: Any) -> dict[str, Any]:
    form = survey.form()
    found = {"form": form_digest(form), "words": survey.words_digest, "id": f"{number:032x}"}
    return found | {"choice": "0.5", "reports": {"smokes": "0", "kind": "0"}} | changes


def read(survey: Survey, **changes: Any) -> Any:
    reader = MessageReader(survey.form(), [survey.words_digest], False)
    return reader.read(json.dumps(message_of(survey, **changes)).encode())


def test_a_form_without_choices_keeps_its_digest() -> None:
    form = Survey({"smokes": COIN}, title="Health").form()
    assert form_digest(form) == OLD
    assert "choices" not in form


def test_a_column_has_its_masses_once_for_each_choice(survey: Survey) -> None:
    form = survey.form()
    assert form["format"] == "ldpopt form 2"
    assert [each["choice"] for each in form["choices"]] == ["0.5", "1", "4"]
    for each in form["choices"]:
        odds = Fraction(1)
        for column in form["columns"].values():
            masses = column["chosen"][each["choice"]]["masses"]
            assert all(sum(row) == 2**53 for row in masses)
            pairs = [
                Fraction(p, q)
                for one in masses
                for other in masses
                for p, q in zip(one, other, strict=True)
            ]
            odds *= max(pairs)
        assert Fraction(each["odds"]) == odds
        limit = exp(float(each["choice"]))
        assert limit * (1 - 1e-6) < float(odds) <= limit * (1 + 1e-12)
    assert form["odds"] == form["choices"][-1]["odds"]


def test_all_messages_have_room_for_the_longest(survey: Survey) -> None:
    form = survey.form()
    most = message_bytes(form)
    for each in form["choices"]:
        choice = each["choice"]
        reports = {
            name: max(column["chosen"][choice]["reports"], key=len)
            for name, column in form["columns"].items()
        }
        message = message_of(survey, choice=choice, reports=reports)
        assert (
            len(json.dumps(message, separators=(",", ":"))) + len(',"invitation":""') + 32 <= most
        )


def test_a_message_has_a_choice_and_reports_of_it(survey: Survey) -> None:
    assert read(survey).choice == "0.5"
    assert read(survey, choice="4").choice == "4"
    numbers = {
        choice: len(law["reports"])
        for choice, law in survey.form()["columns"]["kind"]["chosen"].items()
    }
    assert numbers["0.5"] > numbers["4"]
    late = {"smokes": "0", "kind": str(numbers["0.5"] - 1)}
    assert read(survey, reports=late).reports == late
    for changes in (
        {"choice": "4", "reports": late},
        {"choice": "2"},
        {"choice": 0.5},
        {"choice": None},
        {"choice": ["0.5"]},
    ):
        with pytest.raises(InvalidMessageError):
            read(survey, **changes)
    message = message_of(survey)
    del message["choice"]
    reader = MessageReader(survey.form(), [survey.words_digest], False)
    with pytest.raises(InvalidMessageError, match="choice"):
        reader.read(json.dumps(message).encode())
    plain = Survey({"smokes": COIN})
    with pytest.raises(InvalidMessageError):
        read(plain, reports={"smokes": "no"})  # a choice that nobody was asked for


def test_reports_of_a_database_are_those_of_a_table(survey: Survey, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    n = 1500
    table = pd.DataFrame(
        {
            "smokes": rng.choice(["no", "yes"], n),
            "kind": rng.choice(list("abcdef"), n),
            "choice": rng.choice([0.5, 1, 4], n),
        }
    )
    reports = survey.privatize(table, rng=2)
    url = f"sqlite:///{tmp_path}/r.db"
    with Store(url, survey) as store:
        messages = [
            store.reader.read(
                json.dumps(
                    message_of(
                        survey,
                        number,
                        choice=f"{row.choice:g}",
                        reports={"smokes": str(row.smokes), "kind": str(row.kind)},
                    )
                ).encode()
            )
            for number, row in enumerate(reports.itertuples())
        ]
        assert all(store.add(messages))
        store.finish()
    expected = survey.estimate(reports)
    found = survey.estimate(url)
    by_choice = survey.estimate(url, by="choice")
    for name in survey.questions:
        np.testing.assert_allclose(found[name].interval, expected[name].interval, atol=1e-12)
    assert sum(each["smokes"].n_reports for each in by_choice.groups.values()) == n
    export_reports(url, str(tmp_path / "r.csv"))
    assert pd.read_csv(tmp_path / "r.csv")["choice"].nunique() == 3
    other = Survey({"smokes": ["no", "yes"], "kind": list("abcdef")}, choices=[0.5, 1.0])
    with pytest.raises(ModelFileError):
        Store(url, other)


@pytest.mark.parametrize(
    ("language", "first", "last"),
    [
        ("en", GIVEN, "whoever has something to hide may choose less"),
        ("de", "höchstens mit e^(Ihr Epsilon)", "Wer etwas zu verbergen hat"),
        ("fr", "e^(votre epsilon) au plus", "qui a quelque chose à cacher"),
    ],
)
def test_the_page_says_what_is_promised(
    survey: Survey, language: str, first: str, last: str
) -> None:
    text = page(survey, "https://collect.example.org/reports", language)
    assert first in text
    assert last in text
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    said = data["languages"][language]["texts"]["choices"]
    assert list(said) == ["0.5", "1", "4"]
    decimal = "." if language == "en" else ","
    assert f"1{decimal}65" in said["0.5"]  # e^.5 = 1.6487, rounded up
    assert f"62{decimal}3" in said["0.5"]
    assert "54" in said["4"] or "55" in said["4"]
    plain = page(Survey({"smokes": COIN}), "https://collect.example.org/reports", language)
    assert first not in plain
    assert "choice_sent" not in plain


def test_the_page_for_the_board_says_both(survey: Survey) -> None:
    text = " ".join(report(survey).split())
    assert "Each person chooses the budget: epsilon 0.5, 1 or 4." in text
    assert "given the choice; the choice itself is seen" in text
    assert "Whoever has something to hide may choose less" in text
    assert "The largest budget that a person can choose is epsilon = 4" in text
    assert "On each person&#39;s own device, by the page of ldpopt survey form" in text or (
        "On each person's own device, by the page of ldpopt survey form" in text
    )


def test_masses_of_all_choices_have_to_fit() -> None:
    rows = np.full((300, 300), 0.5 / 299) + np.eye(300) * (0.5 - 0.5 / 299)
    wide = Mechanism(rows, inputs=[f"a{k}" for k in range(300)])
    wide_survey = Survey({"q": wide}, choices=[7.0, 8.0, 9.0])
    with pytest.raises(StatementError) as error:
        wide_survey.form()
    assert error.value.code == "masses-of-choices"
