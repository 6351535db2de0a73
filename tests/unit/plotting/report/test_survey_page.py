"""The page of a survey for a board: what people are told, who is invited, how right a guess is,
precision by group, fingerprints."""

from __future__ import annotations

import hashlib
import html
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import refused, run_cli
from ldpopt import ApproximateLDP, Mechanism, Problem, PureLDP, Question, ReportModel, Survey, solve
from ldpopt.fieldwork import page as page_of
from ldpopt.plotting.report import report
from ldpopt.surveys.form import form_digest
from ldpopt.surveys.groups import Group

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
SHARP = Mechanism([[0.98, 0.02], [0.02, 0.98]], ["no", "yes"])
THREE = Mechanism([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], ["no", "yes", "no answer"])
CONSENT = {
    "en": "I take part.\nOf my own <free> will & more.",
    "de": "Ich nehme teil.",
    "ar": "أوافق",
}
WORDS: dict[str, Any] = {
    "languages": ["en", "de", "ar"],
    "consent": CONSENT,
    "contact": {"en": "a@example.org", "de": "b@example.org", "ar": "c@example.org"},
    "retention": {"en": "Deleted in 2030.", "de": "2030 gelöscht.", "ar": "تُحذف"},
}
GROUPS = [Group(400, {"region": "North"}), Group(80, {"region": "South, lower"})]


def text_of(page: str) -> str:
    """The text of a page, without its style."""
    plain = re.sub(r"<[^>]+>", " ", re.sub(r"<style.*?</style>", "", page, flags=re.S))
    return " ".join(html.unescape(plain).split())


def guesses(page: str) -> dict[str, tuple[str, str]]:
    """The table of guesses: by report, after 50 and after 1 of 100."""
    table = page.partition("How often a guess about a person")[2].partition("</table>")[0]
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td><td>(.*?)</td>', table, flags=re.S)
    return {html.unescape(name): (half, rare) for name, half, rare in rows}


def coin(epsilon: float) -> Mechanism:
    """A coin whose odds are the largest with such a budget."""
    share = math.exp(epsilon) / (1 + math.exp(epsilon)) - 1e-9
    return Mechanism([[share, 1 - share], [1 - share, share]], ["no", "yes"])


@pytest.mark.parametrize(
    ("epsilon", "half", "rare"),
    [(0.5, "62.3", "1.7"), (1.0, "73.2", "2.7"), (2.0, "88.1", "7"), (4.0, "98.3", "35.6")],
)
def test_chances_to_a_digit_rounded_up(epsilon: float, half: str, rare: str) -> None:
    page = report(Survey({"q": coin(epsilon)}))
    assert guesses(page) == {"q": (half, rare)}
    assert f"right 50 of 100 times is right at most {half} of 100 times" in text_of(page)


def test_a_guess_is_never_called_certain_by_100() -> None:
    page = report(Survey({"q": coin(6.0)}), waves=3)
    each = guesses(page)
    assert each["q"] == ("nearly certain", "80.3")
    assert each["all reports of a person together, of all 3 times"] == ("nearly certain",) * 2
    assert "100 of 100" not in text_of(page).replace("right at most 100 of 100 times (50", "")
    far = report(Survey({"q": coin(6.0)}), waves=40)
    assert "nearly certain" in text_of(far)


def test_each_report_and_all_together() -> None:
    page = report(Survey({"a": COIN, "b": COIN, "c": COIN, "d": COIN}))
    each = guesses(page)
    assert each["a"] == ("75", "3")
    assert each["all reports of a person together"] == ("98.8", "45")
    judged = text_of(page).partition("Taken together the reports protect little")[2]
    assert "right at most 98.8 of 100 times after all of them" in judged
    assert "after one report alone such a guess is right at most 75 of 100 times" in judged
    assert "protect little" not in text_of(report(Survey({"a": COIN, "b": COIN})))
    assert "The report protects little" in text_of(report(Survey({"a": coin(4.5)})))


@pytest.mark.parametrize("rows", [[[0.5, 0.5], [0, 1]], [[1, 0], [0, 1]]])
def test_reports_that_rule_out_are_described_as_they_are(rows: Any) -> None:
    page = report(Survey({"q": Mechanism(rows, ["no", "yes"])}), people=1000, waves=3)
    text = text_of(page)
    assert "No report tells" not in text
    assert "could have come from any answer" not in text
    assert set(guesses(page).values()) == {("no bound", "no bound")}
    assert "no number bounds how right a guess becomes" in text


def test_what_people_are_told_word_by_word() -> None:
    page = report(Survey({"q": COIN}, words=WORDS))
    told = re.findall(r'<blockquote lang="(\w+)" dir="(\w+)">(.*?)</blockquote>', page, flags=re.S)
    assert [(code, way, html.unescape(text)) for code, way, text in told] == [
        (code, "rtl" if code == "ar" else "ltr", WORDS[name][code])
        for code in ("en", "de", "ar")
        for name in ("consent", "contact", "retention")
    ]
    assert "states no text" not in page
    bare = text_of(report(Survey({"q": COIN}, words={"contact": "a@example.org"})))
    assert "states no text on what people agree to and how long reports are kept." in bare


def test_fingerprints_of_form_words_and_page() -> None:
    address = "https://collect.example.org/reports"
    words = {"consent": "I take part.", "contact": "a@example.org"}
    survey = Survey({"q": COIN}, words=words)
    page = report(survey, to=address)
    assert form_digest(survey.form()) in page
    assert survey.words_digest in page
    whole = page_of(survey, address)
    assert hashlib.sha256(whole.encode()).hexdigest() in page
    by_links = report(survey, to=address, groups=[Group(50, {})])
    whole = page_of(survey, address, invited=True)
    assert hashlib.sha256(whole.encode()).hexdigest() in by_links
    stated = Survey({"q": COIN}, words=words | {"to": address})
    whole = page_of(stated, address)
    assert hashlib.sha256(whole.encode()).hexdigest() in report(stated)
    assert "Page <code>" not in report(survey)
    with refused("address-scheme"):
        report(survey, to="collect.example.org/reports")
    unworded = Survey({"q": COIN}, words=WORDS | {"to": address})  # the page has no Arabic
    assert "Page <code>" not in report(unworded)
    with refused("odds"):
        report(Survey({"q": Mechanism(np.eye(2))}), to=address)


def test_groups_with_their_precision() -> None:
    survey = Survey({"smokes": COIN, "drinks": SHARP})
    page = report(survey, keep=["region"], groups=GROUPS)
    for group in GROUPS:
        cells = page.partition(f'<th scope="row">region {group.fields["region"]}</th>')[2]
        found = re.findall(r"± ([0-9.]+)", cells.partition("</tr>")[0])
        widths = [
            100 * max(survey.precision(name).half_width(group.people)) for name in survey.questions
        ]
        assert found == [f"{width:.1f}" for width in widths]
    assert "in a quarter of the people the widths are twice as large" not in page
    alone = text_of(report(survey, keep=["region"]))
    assert "in a quarter of the people the widths are twice as large" in alone
    with refused("group-column"):
        report(survey, groups=GROUPS)
    few = text_of(report(survey, keep=["region"], groups=[*GROUPS, Group(2, {"region": "East"})]))
    assert "The group region East has 2 people" in few


def test_who_is_invited() -> None:
    opened = text_of(report(Survey({"q": COIN}), groups=[]))
    assert "Anybody who has the address of the page can answer" in opened
    assert "tick one" not in opened.partition("Who is invited")[2].partition("What each")[0]
    invited = text_of(report(Survey({"q": COIN}), groups=[Group(50, {})]))
    assert "sees who took part" in invited
    assert "Anybody who has the address" not in invited
    fields = Survey({"q": COIN}, fields={"region": ["North", "South, lower"]})
    by_link = text_of(report(fields, groups=GROUPS))
    assert "a link for one report, which carries region" in by_link
    assert "nothing but region beside it says whose it may be" in by_link
    both = text_of(report(Survey({"q": COIN})))
    assert "Anybody who has the address" in both
    assert "sees who took part" in both
    office = text_of(report(Survey({"q": COIN}), where="office", keep=["region"], groups=GROUPS))
    assert "link" not in office.partition("Groups of people")[2].partition("What each")[0]


def test_withdrawal_where_reports_are_drawn() -> None:
    survey = Survey({"q": COIN})
    device = text_of(report(survey, where="device"))
    assert "nobody knows which one is whose" in device
    assert "stay in the order of the answers" not in device
    office = text_of(report(survey, where="office"))
    assert "stay in the order of the answers" in office
    assert "cannot be withdrawn" not in office


def test_who_has_to_answer_and_for_whom_the_widths_hold() -> None:
    choice = Question(THREE, missing_answer="no answer")
    required = text_of(report(Survey({"a": COIN, "b": choice})))
    assert "The page lets nobody pass without an answer to “a”" in required
    assert "The widths hold if nearly everybody answers" in required
    free = text_of(report(Survey({"b": choice})))
    assert "lets nobody pass" not in free
    assert "nearly everybody answers" not in text_of(report(Survey({"a": COIN})))
    unpaged = text_of(report(Survey({"a": Mechanism([[0.5, 0.5], [0, 1]])})))
    assert "The page lets nobody pass" not in unpaged


def of_every_kind(folder: Path) -> dict[str, Survey]:
    """Surveys of all schemes and sources."""
    (folder / "s.toml").write_text(
        'epsilon = 2\nmissing = "answer"\n[question.used]\nticks = ["tea", "beer"]\n'
        '[question.smokes]\nlabels = ["no", "yes"]\n[question.often]\nlabels = ["few", "many"]\n'
        'only_if = { smokes = "yes" }\n[question.age]\nlabels = ["young", "old"]\n'
        'workload = "prefix"\nmissing = "refuse"\n[matrix.trust]\n'
        'rows = { police = "the police", courts = "the courts" }\nlabels = ["none", "much"]\n'
    )
    answers: dict[str, Any] = {"a": ["no", "yes"], "b": ["x", "y", "z"]}
    model = ReportModel({"m": COIN, "n": SHARP}, column="card", behaviors={"cheater": "no"})
    approximate = solve(Problem([0.5, 0.5], "identity", ApproximateLDP(1.0, 0.05)))
    return {
        "file": Survey.from_toml(folder / "s.toml"),
        **{
            scheme: Survey({"a": COIN, "b": THREE}, scheme=scheme)  # type: ignore[arg-type]
            for scheme in ("split", "one_question", "fake_data")
        },
        "joint": Survey(answers, epsilon=2.0, scheme="joint"),
        "patterns": Survey({"a": ["no", "yes"], "b": ["x", "y"]}, epsilon=2.0, scheme="joint"),
        "models": Survey({"q": Question(model)}),
        "approximate": Survey({"q": approximate.mechanism}),
        "infinite": Survey({"q": Mechanism(np.eye(3))}),
        "weights": Survey({"q": COIN}, weights="w"),
        "fields": Survey({"q": COIN}, weights="w", fields={"region": ["N", "S"], "w": []}),
        "solved": Survey({"q": Problem([0.5, 0.5], "identity", PureLDP(1.0))}),
    }


def test_every_kind_of_survey_has_a_page(tmp_path: Path) -> None:
    for name, survey in of_every_kind(tmp_path).items():
        fields = {"region": "N", "w": "1"} if name == "fields" else {"region": "N"}
        for how in ({}, {"where": "office"}):
            asked: dict[str, Any] = {"groups": [Group(30, fields)], "keep": ["region"]}
            for more in ({}, asked):
                page = report(survey, people=500, **how, **more)  # type: ignore[arg-type]
                text = text_of(page)
                assert "{" not in text, name
                assert "None" not in text.replace("None is named", ""), name
                assert "What people are told" in text
                assert guesses(page) or "No report makes a guess" in text, name


def test_colors_of_a_dark_screen_are_those_of_the_page_for_respondents() -> None:
    page = report(Survey({"q": COIN}))
    style = page.partition("<style>")[2].partition("</style>")[0]
    own = Path(page_of.__code__.co_filename).with_name("page.css").read_text("utf-8")
    names = ("--ink", "--soft-ink", "--card", "--line", "--mark", "--on-mark", "--warning")
    for text in (style, own):
        assert "color-scheme: light dark" in text.replace("scheme:light", "scheme: light")
    darks = [
        re.search(r"prefers-color-scheme: ?dark\)\s*{\s*:root\s*{(.*?)}", text, re.S)
        for text in (style, own)
    ]
    assert darks[0] is not None
    assert darks[1] is not None
    for name in names:
        shades = [re.search(rf"{name}: ?(#[0-9a-f]+)", dark[1]) for dark in darks if dark]
        assert shades[0] is not None
        assert shades[1] is not None
        assert shades[0][1] == shades[1][1], name
    body = page.partition("</style>")[2]
    assert not re.search(r'(fill|stroke|color)[=:]"?#', body)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    survey = Survey({"q": COIN})
    survey.save("s.json")
    Path("strata.csv").write_bytes("people;region\n400;Köln\n9;Bonn\n".encode("latin-1"))
    line = ["survey", "report", "s.json", "-o", "page.html", "--keep", "region"]
    read = ["--groups", "strata.csv", "--separator", ";", "--encoding", "latin-1"]
    address = ["--to", "https://collect.example.org/reports"]
    told = run_cli(*line, *read, *address)
    assert told.exit_code == 0, told.stderr
    page = Path("page.html").read_text("utf-8")
    assert page == report(
        survey,
        title="s",
        keep=["region"],
        to=address[1],
        groups=[Group(400, {"region": "Köln"}), Group(9, {"region": "Bonn"})],
    )
    assert "--groups groups.csv" in page
    for options in (
        [*read, "--invited"],
        ["--separator", ";"],
        ["--groups", "strata.csv", "--encoding", "latin-1"],
    ):
        assert run_cli(*line, *options).exit_code == 2
    assert run_cli("survey", "report", "s.json", "-o", "page.html", *read).exit_code == 2
    assert run_cli(*line[:5], "--invited").exit_code == 0
    assert "sees who took part" in Path("page.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["groups", "to", "waves"])
def test_what_is_for_surveys_is_refused_for_a_model(name: str) -> None:
    problem = Problem([0.5, 0.5], "identity", PureLDP(1.0))
    values: dict[str, Any] = {"groups": GROUPS, "to": "https://x.example.org/", "waves": 2}
    with refused(name):
        report(problem, budgets=False, **{name: values[name]})
