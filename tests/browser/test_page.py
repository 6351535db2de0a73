"""The page for respondents in a browser: draws once, sends what it shows, keeps no answer, reaches
nothing else.

LDPOPT_PEOPLE is the number of simulated respondents; see conftest.py for the browser.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from browsers import Server
from builders import thorough_or
from draw_vectors import COIN, RUNNER, SOURCE, all_cases, few_cases
from ldpopt import Survey, Workload, design
from ldpopt.fieldwork import page as page_of
from ldpopt.fieldwork.form_page import closed_page
from ldpopt.fieldwork.messages import message_bytes
from ldpopt.mechanism.questions import Question
from ldpopt.privacy import PureLDP
from ldpopt.surveys.form import form_digest
from ldpopt.surveys.ticks import TicksQuestion, tick_workload

Page = Any  # of playwright
PEOPLE = int(os.environ.get("LDPOPT_PEOPLE", thorough_or(3, 100)))
BRANCHES = [
    "art",
    "build",
    "care",
    "chem",
    "edu",
    "farm",
    "food",
    "gov",
    "health",
    "hotel",
    "it",
    "law",
    "media",
]
WORDS = {
    "consent": "I take part of my own free will.",
    "contact": "Institute, survey@example.org",
    "questions": {
        "absence": {
            "text": "How often were you absent?",
            "answers": {"0": "Never", "1": "Once", "2": "More than once"},
        },
        "medicine": {"text": "Do you take medicine?", "answers": {"no": "No", "yes": "Yes"}},
    },
}


def survey(**options: Any) -> Survey:
    questions = {
        "absence": design(Workload.frequencies(3), PureLDP(1.0)),
        "medicine": Question(COIN),
        "branch": Question(design(Workload.frequencies(BRANCHES), PureLDP(1.0)), "leave_out"),
    }
    return Survey(questions, **({"words": WORDS} | options))


def fill(
    page: Page, absence: str = "More than once", medicine: str = "Yes", branch: str = "health"
) -> None:
    page.get_by_label(absence, exact=True).check()
    page.get_by_label(medicine, exact=True).check()
    page.locator("select").select_option(label=branch)
    page.locator("#consent").check()


def submit(page: Page, state: str = "arrived") -> str:
    page.click("button[type=submit]")
    page.locator("#state", has_text=state).wait_for()
    return page.text_content("#message") or ""


def test_people_send_one_message_each_and_nothing_else(
    server: Server, new_page: Callable[..., Page]
) -> None:
    study = survey()
    server.page = page_of(study, to="reports")
    shown = []
    for person in range(PEOPLE):
        page = new_page()
        page.goto(server.url)
        fill(page, ("Never", "Once", "More than once")[person % 3], ("No", "Yes")[person % 2])
        shown.append(submit(page))
        assert (
            page.evaluate(
                "[...new FormData(document.querySelector('form')).values()].filter(Boolean)"
            )
            == []
        )
        page.context.close()
    assert Counter(path for _, path, _ in server.requests) == {"/": PEOPLE, "/reports": PEOPLE}
    assert server.messages == shown
    for message in map(json.loads, shown):
        assert set(message) == {"form", "words", "id", "reports"}
        assert message["form"] == form_digest(study.form())
        assert message["words"] == study.words_digest
        assert re.fullmatch("[0-9a-f]{32}", message["id"])
    assert len({json.loads(message)["id"] for message in shown}) == PEOPLE
    assert {len(message.encode()) for message in shown} == {message_bytes(study.form())}
    rows = [json.loads(message)["reports"] for message in shown]
    for name, column in study.form()["columns"].items():
        for row in rows:
            assert (
                row[name] in column["reports"]
                if "reports" in column
                else len(row[name].split()) == column["set"]["size"]
            )


def test_ticked_boxes_are_one_answer(server: Server, new_page: Callable[..., Page]) -> None:
    ticks = ("art", "care", "no answer")
    law = design(tick_workload(ticks), PureLDP(25.0))  # a report shows the answer almost surely
    study = Survey({"used": TicksQuestion(law, "refuse", "no answer", ticks)})
    server.page = page_of(study, to="reports")
    cases = {
        ("care", "art"): "art;care",
        ("care", "art", "None of these"): "none",
        ("None of these", "art"): "art",
        ("None of these", "No answer"): "no answer",
        ("No answer", "care"): "care",
    }
    for ticked, answer in cases.items():
        page = new_page()
        page.goto(server.url)
        for label in ticked:
            page.get_by_label(label, exact=True).check()
        report = int(json.loads(submit(page))["reports"]["used"])
        assert law.mechanism.inputs[law.mechanism.channel[:, report].argmax()] == answer


TWICE = {
    "contact": "Institute",
    "questions": {
        "often": {"text": "How often?", "answers": {"never": "Never", "once": "Once"}},
        "trust.police": {"matrix": "trust", "row": "Police"},
        "trust.courts": {"matrix": "trust", "row": "Courts"},
    },
    "matrices": {"trust": "Whom do you trust?"},
}


def test_of_two_answers_only_one_report_leaves_the_page(
    server: Server, new_page: Callable[..., Page]
) -> None:
    asked = Question(["never", "once", "often", "no answer"], "refuse", "no answer", repeat=True)
    row = Question(["no", "yes"], repeat=True)
    # a report shows what remains of the answers almost surely
    study = Survey(
        {"often": asked, "trust.police": row, "trust.courts": row},
        epsilon=75.0,
        words=TWICE,
    )
    server.page = page_of(study, to="reports")
    cases = [
        ("Once", "Once", "yes", "yes", ("once", "yes")),
        ("often", "Never", "yes", "no", ("inconsistent", "inconsistent")),
        ("No answer", "Once", "no", "no", ("no answer", "no")),
    ]
    for often, again, police, still, expected in cases:
        page = new_page()
        page.goto(server.url)
        assert "Some questions are asked twice" in (page.text_content("body") or "")
        first = page.locator("[data-question='often']")
        order = first.locator("label").all_text_contents()
        assert order == ["Never", "Once", "often", "No answer"]
        first.get_by_label(often, exact=True).check()
        page.locator(f"[data-question='trust.police'] input[value={police}]").check()
        page.locator("[data-question='trust.courts'] input[value=yes]").check()
        page.click("#forward")
        assert page.locator("[data-question='often']").count() == 0  # the first answer is not seen
        second = page.locator("[data-question='often again']")
        assert second.locator("label").all_text_contents() == [*order[2::-1], "No answer"]
        alone = page.locator("[data-question='trust.police again']")
        assert "Whom do you trust? Police" in (alone.text_content() or "")
        page.click("#forward")  # both have to be answered
        assert page.is_visible("#incomplete")
        second.get_by_label(again, exact=True).check()
        alone.get_by_label(still, exact=True).check()
        page.locator("[data-question='trust.courts again'] input[value=yes]").check()
        message = json.loads(submit(page))
        assert set(message) == {"form", "words", "id", "reports"}
        assert set(message["reports"]) == set(study.questions)  # one report each, and no answer
        for name, answer in zip(study.questions, expected, strict=False):
            law = study.randomizers[name]
            report = law.outputs.index(int(message["reports"][name]))
            assert law.inputs[law.channel[:, report].argmax()] == answer
        kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        assert "again" not in kept
        assert not page.locator("input:checked").count()
        assert "Two different answers" in (page.text_content("#meaning") or "")
        page.context.close()
    bodies = [body for method, _, body in server.requests if method == "POST"]
    assert len(bodies) == len(cases)
    assert not any(word in body for body in bodies for word in ("again", "once", 'often":['))


def test_a_report_is_drawn_once(server: Server, new_page: Callable[..., Page]) -> None:
    server.page = page_of(survey(), to="reports")
    first = new_page()
    first.goto(server.url)
    second = first.context.new_page()
    second.goto(server.url)
    fill(first)
    fill(second, "Never", "No", "art")
    message = submit(first)
    second.locator("#state", has_text="arrived").wait_for()  # the other window knows
    assert second.is_hidden("button[type=submit]")
    first.reload()
    assert first.text_content("#message") == second.text_content("#message") == message
    assert server.messages == [message]


def test_without_connection_the_report_is_kept_and_sent_later(
    server: Server, new_page: Callable[..., Page]
) -> None:
    server.page = page_of(survey(), to="reports")
    page = new_page()
    page.goto(server.url)
    fill(page)
    server.status = 503
    message = submit(page, "code 503")
    page.reload()
    page.locator("#state", has_text="code 503").wait_for()
    page.context.set_offline(True)
    page.click("#again")
    page.locator("#state", has_text="No connection").wait_for()
    server.status = 201
    page.context.set_offline(False)  # sent by itself
    page.locator("#state", has_text="arrived").wait_for()
    assert set(server.messages) == {message}
    assert page.is_hidden("#outbox")


def test_a_busy_server_gets_the_report_when_it_asks_for_it(
    server: Server, new_page: Callable[..., Page]
) -> None:
    server.page = page_of(survey(), to="reports")
    server.status, server.headers = 429, {"retry-after": "1"}
    page = new_page()
    page.goto(server.url)
    fill(page)
    message = submit(page, "code 429")
    server.status = 200
    page.locator("#state", has_text="arrived").wait_for()  # without a click
    assert set(server.messages) == {message}


FINAL = {409: "invitation is unknown", 410: "closed", 413: "length", 422: "does not know"}


@pytest.mark.parametrize("status", thorough_or([422], list(FINAL)))
def test_what_a_server_decided_is_said_and_stays(
    status: int, server: Server, new_page: Callable[..., Page]
) -> None:
    server.page = page_of(survey(), to="reports")
    server.status = status
    page = new_page()
    page.goto(server.url)
    fill(page)
    submit(page, FINAL[status])
    assert page.is_hidden("#outbox")
    page.reload()
    page.locator("#state", has_text=FINAL[status]).wait_for()
    assert len(server.messages) == 1


def test_a_receipt_of_other_words_does_not_show_the_new_question(
    server: Server, new_page: Callable[..., Page]
) -> None:
    server.page = page_of(survey(), to="reports")
    page = new_page()
    page.goto(server.url)
    fill(page)
    message = submit(page)
    assert "How often were you absent?" in page.inner_text("#meaning")
    other = json.loads(json.dumps(WORDS).replace("absent", "late"))
    changed = survey(words=other)
    assert form_digest(changed.form()) == form_digest(survey().form())
    server.page = page_of(changed, to="reports")
    page.reload()
    page.locator("#state", has_text="earlier wording").wait_for()
    assert page.text_content("#message") == message
    assert page.inner_text("#meaning") == ""
    assert "late" not in page.inner_text("main")
    assert page.is_hidden("button[type=submit]")


@pytest.mark.long
def test_a_mailed_file_sends_from_the_disk(
    server: Server, new_page: Callable[..., Page], tmp_path: Any
) -> None:
    path = tmp_path / "form.html"
    path.write_text(page_of(survey(), to=server.url + "reports"), encoding="utf-8")
    page = new_page()
    page.goto(path.as_uri())
    fill(page)
    assert [submit(page)] == server.messages
    assert [command for command, _, _ in server.requests] == ["POST"]  # no preflight


@pytest.mark.long
def test_without_an_address_nothing_is_sent_and_the_message_is_a_file(
    new_page: Callable[..., Page], tmp_path: Any
) -> None:
    path = tmp_path / "form.html"
    path.write_text(page_of(survey()), encoding="utf-8")
    page = new_page()
    sent = []
    page.on("request", lambda request: sent.append(request.url))
    page.goto(path.as_uri())
    fill(page)
    message = submit(page, "Nothing has been sent")
    with page.expect_download() as download:
        page.click("#file")
    assert download.value.path().read_text() == message + "\n"
    assert [url for url in sent if not url.startswith(("file:", "data:"))] == []


def test_spies_reach_nothing(server: Server, new_page: Callable[..., Page]) -> None:
    spy = Server()
    server.page = page_of(survey(), to="reports")
    page = new_page()
    page.goto(server.url)
    add = "const found = document.body.appendChild(document.createElement"
    attempts = {
        "fetch": f"fetch('{spy.url}x').then(() => 'reached', () => 'blocked')",
        "image": f"new Promise((done) => {{ {add}('img')); found.onload = found.onerror = (event) "
        "=> done(event.type);"
        f"found.src = '{spy.url}i' }})",
        "beacon": f"navigator.sendBeacon('{spy.url}b') && 'queued'",
        "script": f"(() => {{ try {{ {add}('script')); found.text = 'window.bad = 1' }} catch {{}} "
        "return !window.bad })()",
        "markup": "(() => { try { document.body.innerHTML += '<p>'; return 'done' } catch { return "
        "'blocked' } })()",
        "frame": f"(() => {{ {add}('iframe')); found.src = '{spy.url}f' }})()",
        "form": f"(() => {{ {add}('form')); found.action = '{spy.url}s'; found.submit() }})()",
    }
    found = {name: page.evaluate(code) for name, code in attempts.items()}
    page.wait_for_timeout(300)
    assert spy.requests == []
    assert found["fetch"] == found["markup"] == "blocked"
    assert found["image"] == "error"
    assert found["script"] is True
    spy.close()


@pytest.mark.long
def test_storage_switched_off_is_said_and_still_sends(
    server: Server, new_page: Callable[..., Page]
) -> None:
    server.page = page_of(survey(), to="reports")
    page = new_page()
    page.add_init_script(
        "for (const kind of ['localStorage', 'sessionStorage'])"
        "Object.defineProperty(window, kind, {get() {throw new Error('off')}})"
    )
    page.goto(server.url)
    assert page.is_visible("#forgetful")
    fill(page)
    assert [submit(page)] == server.messages


def test_without_scripts_nothing_can_be_sent(server: Server, new_page: Callable[..., Page]) -> None:
    server.page = page_of(survey(), to="reports")
    page = new_page(java_script_enabled=False)
    page.goto(server.url)
    assert page.is_visible("#unready")
    assert page.locator("fieldset").count() == 0
    assert page.is_hidden("button[type=submit]")


@pytest.mark.long
def test_an_invitation_leaves_the_address_and_is_sent_once(
    server: Server, new_page: Callable[..., Page]
) -> None:
    server.page = page_of(survey(), to="reports")
    page = new_page()
    code = "0123456789abcdef" * 2
    page.goto(f"{server.url}#i={code}")
    assert code not in page.url
    page.reload()
    fill(page)
    message = submit(page)
    assert json.loads(message)["invitation"] == code
    page.goto(f"{server.url}#i={'f' * 32}")  # another link in the same window
    page.locator("button[type=submit]").wait_for()
    fill(page)
    assert json.loads(submit(page))["invitation"] == "f" * 32
    assert all(code not in path for _, path, _ in server.requests)


def test_whoever_has_no_link_is_told_before_the_questions(
    server: Server, new_page: Callable[..., Page]
) -> None:
    server.page = page_of(survey(), to="reports", invited=True)
    page = new_page()
    page.goto(server.url)
    assert page.is_visible("#uninvited")
    assert page.is_hidden("button[type=submit]")
    page.goto(f"{server.url}#i={'a' * 32}")
    page.locator("button[type=submit]").wait_for()
    assert page.is_hidden("#uninvited")
    page.click("summary >> nth=0")
    assert page.is_visible("#linked")
    assert '"invitation":"…"' in page.inner_text("#shape")


def test_the_closed_page_asks_nothing(new_page: Callable[..., Page], tmp_path: Any) -> None:
    path = tmp_path / "closed.html"
    path.write_text(closed_page(survey()), encoding="utf-8")
    page = new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(path.as_uri())
    assert "closed" in page.inner_text("main")
    assert page.locator("form, input, button, script").count() == 0
    assert said == []  # its own policy admits all that it has


@pytest.mark.long
def test_a_shared_device_asks_the_next_person_and_keeps_what_waits(
    new_page: Callable[..., Page], tmp_path: Any
) -> None:
    path = tmp_path / "form.html"
    path.write_text(page_of(survey(words=WORDS | {"shared": True})), encoding="utf-8")
    page = new_page()
    messages = []
    page.goto(path.as_uri())
    for _ in range(3):
        fill(page)
        messages.append(submit(page, "Nothing has been sent"))
        page.click("#next")
        assert page.is_visible("button[type=submit]")
        assert page.text_content("#message") == ""
    with page.expect_download() as download:
        page.click("#file")
    assert download.value.path().read_text().splitlines() == messages
    assert len(set(messages)) == 3


@pytest.mark.long
def test_one_question_is_drawn_and_stays_the_same(
    server: Server, new_page: Callable[..., Page]
) -> None:
    server.page = page_of(
        Survey({f"q{i}": COIN for i in range(5)}, scheme="one_question"), to="reports"
    )
    page = new_page()
    page.goto(server.url)
    asked = page.locator("fieldset:visible legend > span:first-child").all_text_contents()
    assert len(asked) == 1
    for _ in range(4):
        page.reload()
        assert (
            page.locator("fieldset:visible legend > span:first-child").all_text_contents() == asked
        )
    page.locator("fieldset:visible input").first.check()
    reports = json.loads(submit(page))["reports"]
    assert {name for name, report in reports.items() if report is not None} == set(asked)


@pytest.mark.long
def test_open_questions_and_consent_are_asked_for(
    server: Server, new_page: Callable[..., Page]
) -> None:
    server.page = page_of(survey(), to="reports")
    page = new_page()
    page.goto(server.url)
    page.click("button[type=submit]")
    assert page.inner_text("#incomplete") == "Answers still needed on this page: 3"
    page.get_by_label("Never", exact=True).check()
    page.get_by_label("No", exact=True).check()
    page.click("button[type=submit]")
    assert page.inner_text("#incomplete") == "Answers still needed on this page: 1"
    assert page.inner_text("#no-consent") == "Please agree first."
    page.locator("#consent").check()
    assert json.loads(submit(page))["reports"]["branch"] is None


@pytest.mark.long
def test_the_keyboard_is_enough(server: Server, new_page: Callable[..., Page]) -> None:
    server.page = page_of(Survey({"smokes": COIN}), to="reports")
    page = new_page()
    page.goto(server.url)
    for key in ("Tab", "Tab", "Tab", "Space", "ArrowDown", "Tab", "Enter"):
        page.keyboard.press(key)
    page.locator("#state", has_text="arrived").wait_for()
    assert page.evaluate("document.activeElement.id") == "receipt"


@pytest.mark.parametrize("language", thorough_or(["de"], ["en", "de", "fr"]))
def test_no_language_scrolls_sideways_on_a_small_phone(
    language: str, new_page: Callable[..., Page], tmp_path: Any
) -> None:
    path = tmp_path / "form.html"
    path.write_text(page_of(survey(), language=language), encoding="utf-8")
    page = new_page()
    page.set_viewport_size({"width": 320, "height": 600})
    page.goto(path.as_uri())
    for summary in page.locator("summary").all():
        if summary.is_visible():
            summary.click()
    page.locator("fieldset input").first.check()
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_the_browser_draws_as_python_does(new_page: Callable[..., Page]) -> None:
    page = new_page()
    assert (
        page.evaluate(
            f"(cases) => {{{SOURCE}{RUNNER.read_text()}; return runCases(cases)}}",
            thorough_or(few_cases, all_cases)(),
        )
        == []
    )


def test_the_secure_generator_draws_with_the_masses(new_page: Callable[..., Page]) -> None:
    draws = thorough_or(20_000, 200_000)
    page = new_page()
    column = survey().form()["columns"]["absence"]
    count = f"""(law) => {{{SOURCE}
        const seen = [0, 0, 0];
        for (let i = 0; i < {draws}; i++) seen[law.reports.indexOf(draw(law, [0]))] += 1;
        return seen; }}"""
    seen = page.evaluate(count, column)
    means = [draws * mass / 2**53 for mass in column["masses"][0]]
    # chance 1e-6, 2 degrees
    assert sum((n - mean) ** 2 / mean for n, mean in zip(seen, means, strict=True)) < 28


def test_a_joint_report_is_one_column(server: Server, new_page: Callable[..., Page]) -> None:
    study = Survey(
        {"a": ["no", "yes"], "b": ["no", "yes"], "c": ["no", "yes"]}, epsilon=2.0, scheme="joint"
    )
    server.page = page_of(study, to="reports")
    page = new_page()
    page.goto(server.url)
    page.click("#odds summary")
    for group in page.locator("fieldset").all():
        group.locator("input").first.check()
    (report,) = json.loads(submit(page))["reports"].items()
    assert report[0] == "joint report"
    assert len(report[1].split()) == study.form()["columns"]["joint report"]["patterns"]["size"]


@pytest.mark.long
def test_with_fake_data_the_shares_are_those_of_the_column(
    server: Server, new_page: Callable[..., Page]
) -> None:
    study = Survey({"a": COIN, "b": COIN}, scheme="fake_data")
    server.page = page_of(study, to="reports")
    page = new_page()
    page.goto(server.url)
    page.click("#odds summary")
    assert page.locator("table").first.locator("td").all_text_contents()[1:] == [
        "63%",
        "38%",
        "38%",
        "63%",
    ]
    for group in page.locator("fieldset").all():
        group.locator("input").first.check()
    reports = json.loads(submit(page))["reports"]
    (column,) = [study.randomizers["a"].channel[:, ["no", "yes"].index(reports["a"])]]
    shown = [
        float(text.split(": ")[1]) for text in page.locator("#meaning li").all_text_contents()[:2]
    ]
    assert shown == pytest.approx(100 * column, abs=0.51)
