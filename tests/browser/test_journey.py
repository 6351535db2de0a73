"""A person's way through a page with everything, in two browsers: errors at the field, ticks that
exclude each other, skips, numbers, pages, languages, a matrix, the receipt; and axe-core finds
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from itertools import product
from typing import Any

import pytest

from browsers import ChromiumDriver, Driver, Server
from builders import thorough_or
from ldpopt.surveys.form import form_digest
from respondent import LINK, whole_page, whole_survey

HAS_AXE = find_spec("axe_playwright_python") is not None
NEEDS_AXE = pytest.mark.skipif(not HAS_AXE, reason="no axe-playwright-python")
OPEN = "Please answer this question, or choose “No answer”."


def field(name: str, value: str = "", kind: str = "input") -> str:
    """A field of a question, or one of its choices."""
    return f"[data-question='{name}'] {kind}" + (f"[value='{value}']" if value else "")


def error(driver: Driver, name: str) -> str:
    """What is said below a question."""
    css = f"[data-question='{name}'] .error"
    return driver.text(css) if driver.is_visible(css) else ""


def marked(driver: Driver, name: str) -> list[str]:
    """The choices of a question that are marked."""
    path = json.dumps(field(name) + ":checked")
    return list(driver.run(f"[...document.querySelectorAll({path})].map((one) => one.value)"))


def start(driver: Driver, server: Server, link: str = LINK) -> None:
    """Open the page with a person's link, in English."""
    server.page = whole_page()
    driver.open(server.url + link)
    driver.click("#languages [lang=en]")


def pass_habits(driver: Driver) -> None:
    """Answer the first page."""
    driver.click(field("smokes", "no"))
    driver.click(field("used", "none"))
    driver.click("#forward")


def pass_person(driver: Driver, age: str = "42") -> None:
    """Answer the second page."""
    driver.fill(field("age"), age)
    driver.click("#forward")


def pass_trust(driver: Driver) -> None:
    """Answer the last page."""
    for row in ("police", "courts", "media"):
        driver.click(field(f"trust.{row}", "some"))
    driver.click("#consent")


def faultless(driver: Driver) -> None:
    """Refuse what axe-core finds."""
    if HAS_AXE:
        assert driver.faults() == []


def test_all_that_is_open_is_said_at_the_field(driver: Driver, server: Server) -> None:
    start(driver, server)
    assert driver.seen(".error") == []
    driver.click("#forward")
    assert {name: error(driver, name) for name in ("smokes", "used")} == {
        "smokes": OPEN,
        "used": OPEN,
    }
    assert driver.text("#incomplete") == "Answers still needed on this page: 2"
    first = driver.run("document.activeElement.closest('[data-question]').dataset.question")
    assert first == "smokes"
    inputs = "[...document.querySelectorAll('#cards input')]"
    invalid = f"{inputs}.filter((one) => one.getClientRects().length).map((one) => one.ariaInvalid)"
    assert set(driver.run(invalid)) == {"true"}
    described = (
        f"{inputs}.every((one) => document.getElementById(one.getAttribute('aria-describedby')))"
    )
    assert driver.run(described)
    faultless(driver)
    driver.click(field("smokes", "no"))
    assert (error(driver, "smokes"), error(driver, "used")) == ("", OPEN)
    assert driver.run(f'document.querySelector("{field("smokes")}").ariaInvalid') is None
    assert driver.is_visible("#forward")
    driver.click(field("used", "alcohol"))
    assert driver.seen(".error") == []


def test_what_needs_an_answer_is_said_before(driver: Driver, server: Server) -> None:
    start(driver, server)
    assert "needs an answer" not in driver.text("#cards")
    pass_habits(driver)
    assert driver.text("[for='q3']") == "How old are you? (needs an answer)"
    assert driver.run(f'document.querySelector("{field("age")}").ariaRequired') == "true"


def test_none_and_no_answer_exclude_the_others(driver: Driver, server: Server) -> None:
    start(driver, server)
    for value, left in (
        ("alcohol", ["alcohol"]),
        ("cannabis", ["alcohol", "cannabis"]),
        ("none", ["none"]),
        ("alcohol", ["alcohol"]),
        ("no answer", ["no answer"]),
        ("none", ["none"]),
        ("none", []),
    ):
        driver.click(field("used", value))
        assert marked(driver, "used") == left


def test_a_gate_that_is_taken_back_leaves_no_follow_up(driver: Driver, server: Server) -> None:
    start(driver, server)
    card = "[data-question='cigarettes']"
    assert not driver.is_visible(card)
    driver.click(field("smokes", "yes"))
    assert driver.is_visible(card)
    driver.click("#forward")
    assert error(driver, "cigarettes") == OPEN
    driver.click(field("cigarettes", "many"))
    driver.click(field("smokes", "no"))
    assert not driver.is_visible(card)
    driver.click(field("smokes", "yes"))
    assert marked(driver, "cigarettes") == []
    assert error(driver, "cigarettes") == OPEN  # asked again, and open again
    driver.click(field("smokes", "no"))
    assert driver.seen(f"{card} .error") == []
    driver.click(field("used", "none"))
    driver.click("#forward")  # what is not asked is not open
    assert driver.text("#progress") == "Page 2 of 3"


def test_a_number_is_refused_at_the_field_and_never_changed(driver: Driver, server: Server) -> None:
    start(driver, server)
    pass_habits(driver)
    for typed in ("17", "100", "42.5", "-3", "1e1", "４２", "no"):
        driver.fill(field("age"), typed)
        driver.click("#forward")
        assert error(driver, "age") == "Please give a whole number from 18 to 99, in digits."
        assert driver.run(f'document.querySelector("{field("age")}").value') == typed
        assert driver.text("#progress") == "Page 2 of 3"
        driver.fill(field("age"), "42")
        assert error(driver, "age") == ""
    driver.click("#forward")
    assert driver.text("#progress") == "Page 3 of 3"


def test_classes_of_numbers_are_named_by_their_ends(driver: Driver, server: Server) -> None:
    start(driver, server)
    pass_habits(driver)
    labels = driver.seen("[data-question='children'] label")
    assert labels == ["0", "from 1 to 2", "from 3 to 9", "Leave out"]


def test_one_can_go_back_until_the_draw_and_no_answer_is_stored(
    driver: Driver, server: Server
) -> None:
    start(driver, server)
    assert "only in the memory of this page" in driver.text("#memory")
    pass_habits(driver)
    assert driver.run("document.activeElement.id") == "section"
    pass_person(driver)
    driver.click("#back")
    assert driver.run(f'document.querySelector("{field("age")}").value') == "42"
    driver.click("#back")
    assert (marked(driver, "smokes"), marked(driver, "used")) == (["no"], ["none"])
    assert not driver.is_visible("#back")
    survey = whole_survey()
    kept = driver.run("JSON.stringify({...localStorage})")
    (place, entry), *others = json.loads(kept).items()
    assert others == []
    assert place == f"ldpopt:{form_digest(survey.form())}:{'a' * 32}"
    nothing = {"message": None, "status": 0, "waiting": []}
    asked = {"asked": list(survey.questions), "words": survey.words_digest}
    assert json.loads(entry) == {"version": 2} | asked | nothing
    session = json.loads(driver.run("JSON.stringify({...sessionStorage})"))
    assert list(session.values()) == [LINK[1:]]
    assert driver.run("location.href") == server.url
    driver.open("about:blank")
    driver.open(server.url)
    assert marked(driver, "smokes") == []


def test_a_language_changes_everything_but_the_answers(driver: Driver, server: Server) -> None:
    start(driver, server)
    driver.click(field("smokes", "yes"))
    driver.click(field("used", "cannabis"))
    driver.click("#forward")
    assert error(driver, "cigarettes") == OPEN
    for code, direction, title, yes in (
        ("de", "ltr", "Gesundheit und Vertrauen", "Ja"),
        ("ar", "rtl", "الصحة والثقة", "نعم"),
        ("en", "ltr", "Health and trust", "Yes"),
    ):
        driver.click(f"#languages [lang={code}]")
        assert driver.run("document.documentElement.lang") == code
        assert driver.run("document.documentElement.dir") == direction
        assert driver.run("document.title") == driver.text("h1") == title
        assert driver.seen("[data-question='smokes'] label")[1] == yes
        assert (marked(driver, "smokes"), marked(driver, "used")) == (["yes"], ["cannabis"])
        assert (error(driver, "cigarettes") == OPEN) == (code == "en")
        assert error(driver, "cigarettes") != ""
        faultless(driver)
    words = driver.run("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert '"ar"' not in words


def test_what_the_link_says_is_shown_and_sent(driver: Driver, server: Server) -> None:
    start(driver, server)
    said = driver.text("#fields")
    assert (
        said == "Your link says: Region North. It is sent with your report, and is not protected."
    )
    assert driver.run("location.hash") == ""
    pass_habits(driver)
    pass_person(driver)
    pass_trust(driver)
    driver.click("#forward")
    driver.wait("document.querySelector('#state').textContent.includes('arrived')")
    (text,) = server.messages
    message = json.loads(text)
    assert message["fields"] == {"region": "North"}
    assert message["invitation"] == "a" * 32
    assert text == driver.run("document.querySelector('#message').textContent")


BROKEN = ["", "#i=" + "a" * 32, f"#i={'a' * 32}&region=East", "#i=1&region=North"]


@pytest.mark.parametrize("link", BROKEN)
def test_without_a_whole_link_nobody_is_asked(link: str, driver: Driver, server: Server) -> None:
    start(driver, server, link)
    assert driver.is_visible("#uninvited")
    assert not driver.is_visible("#questions")


def test_another_link_in_the_window_is_taken(driver: Driver, server: Server) -> None:
    start(driver, server)
    driver.run("location.hash = '#i=" + "b" * 32 + "&region=South'")
    driver.wait("document.querySelector('#fields').textContent.includes('South')")


def test_the_receipt_is_in_words_and_says_nothing_of_the_answers(
    driver: Driver, server: Server
) -> None:
    survey = whole_survey()
    start(driver, server)
    pass_habits(driver)
    pass_person(driver)
    pass_trust(driver)
    driver.click("#forward")
    driver.wait("document.querySelector('#state').textContent.includes('arrived')")
    form, reports = survey.form(), json.loads(server.messages[0])["reports"]
    said = driver.text("#meaning")
    assert "Reported" not in said
    for name, column in form["columns"].items():
        if "reports" in column and reports[name] is not None:
            place = 1 + column["reports"].index(reports[name])
            assert f"Your report is number {place} of {len(column['reports'])}." in said
    assert driver.run("document.activeElement.id") == "receipt"
    assert driver.count("#cards :checked") == 0
    assert driver.run("[...document.querySelectorAll('#cards input')].every((one) => !one.checked)")
    faultless(driver)
    driver.click("#odds > summary")
    driver.wait("document.querySelectorAll('#odds-tables table').length")
    heads = driver.run(
        "[...document.querySelectorAll('#odds-tables thead tr')].map((one) => one.innerText.trim())"
    )
    assert all(head.split()[:2] == ["1", "2"] for head in heads)
    faultless(driver)
    driver.click("#languages [lang=ar]")
    assert "تقريرك رقم" in driver.text("#meaning")
    faultless(driver)


def test_going_back_to_the_page_finds_no_answers(driver: Driver, server: Server) -> None:
    start(driver, server)
    driver.click(field("smokes", "yes"))
    driver.open("data:text/html,elsewhere")
    driver.run("history.back()")
    driver.wait("document.querySelector('#cards input')")
    assert driver.run("[...document.querySelectorAll('#cards input')].every((one) => !one.checked)")
    assert not driver.is_visible("[data-question='cigarettes']")


def test_the_keyboard_is_enough_for_all_pages(driver: Driver, server: Server) -> None:
    start(driver, server)

    def reach(css: str) -> None:
        """Tab to an element."""
        for _ in range(40):
            if driver.run(f"document.activeElement.matches({json.dumps(css)})"):
                return
            driver.press("Tab")
        raise AssertionError(f"Tab does not lead to {css}")

    reach(field("smokes"))
    driver.press("Space", "ArrowDown")
    assert marked(driver, "smokes") == ["yes"]
    reach(field("cigarettes"))
    driver.press("Space")
    reach(field("used", "none"))
    driver.press("Space")
    reach("#forward")
    driver.press("Enter")
    driver.wait("document.querySelector('#progress').textContent === 'Page 2 of 3'")
    reach(field("age"))
    driver.press("4", "2")
    driver.press("Enter")  # from the field
    driver.wait("document.querySelector('#progress').textContent === 'Page 3 of 3'")
    for row in ("police", "courts", "media"):
        reach(field(f"trust.{row}"))
        driver.press("Space")
    assert marked(driver, "trust.courts") == ["none"]
    reach("#consent")
    driver.press("Space")
    reach("#forward")
    driver.press("Enter")
    driver.wait("document.querySelector('#state').textContent.includes('arrived')")


def test_a_row_of_a_matrix_is_answered_alone(driver: Driver, server: Server) -> None:
    start(driver, server)
    pass_habits(driver)
    pass_person(driver)
    faultless(driver)
    driver.click(field("trust.courts", "much"))
    rows = ("trust.police", "trust.courts", "trust.media")
    assert [marked(driver, row) for row in rows] == [[], ["much"], []]
    driver.click("#forward")
    assert [bool(error(driver, row)) for row in rows] == [True, False, True]
    assert driver.text("#no-consent") == "Please agree first."
    assert driver.text("#incomplete") == "Answers still needed on this page: 3"
    assert server.messages == []
    faultless(driver)


ALL = list(product((320, 375, 1280), ("light", "dark"), ("en", "de", "ar")))
FEW = [(320, "dark", "ar"), (1280, "light", "de")]


@NEEDS_AXE
@pytest.mark.parametrize(("width", "scheme", "language"), thorough_or(FEW, ALL))
def test_every_width_and_color_is_faultless(
    width: int, scheme: str, language: str, new_page: Callable[..., Any], server: Server
) -> None:
    size = {"width": width, "height": 800}
    driver = ChromiumDriver(new_page(viewport=size, color_scheme=scheme, locale=language))
    server.page = whole_page()
    driver.open(server.url + LINK)
    assert driver.run("document.documentElement.lang") == language  # of the browser

    def look() -> None:
        faultless(driver)
        assert driver.run("document.documentElement.scrollWidth") == width

    driver.click("#odds > summary")
    look()
    driver.click("#forward")
    look()
    driver.click(field("smokes", "yes"))
    driver.click(field("cigarettes", "few"))
    driver.click(field("used", "alcohol"))
    driver.click("#forward")
    driver.fill(field("age"), "17")
    driver.click("#forward")
    look()
    pass_person(driver)
    driver.click("#forward")
    look()
    is_table = width > 480
    assert driver.is_visible(".matrix thead") == is_table
    pass_trust(driver)
    driver.click("#forward")
    driver.wait("document.activeElement.id === 'receipt'")
    look()
    assert [text for text in driver.said if "favicon" not in text] == []
