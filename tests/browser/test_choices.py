"""Where people choose their epsilon the page asks for it first, says what each choice promises, and
draws with the masses of the one that was made.
"""

from __future__ import annotations

import json
from functools import cache

import pytest

from browsers import Driver, Server
from ldpopt import Survey
from ldpopt.fieldwork import page
from ldpopt.fieldwork.messages import MessageReader, message_bytes

FIRST = "[data-question='choice']"


@cache
def survey() -> Survey:
    texts = {"smokes": {"text": {"en": "Do you smoke?", "de": "Rauchen Sie?"}, "section": "a"}}
    words = {"languages": ["en", "de"], "questions": texts}
    questions = {"smokes": ["no", "yes"], "kind": list("abcdef")}
    return Survey(questions, choices=[0.5, 4.0], words=words)


def start(driver: Driver, server: Server) -> None:
    server.page = page(survey(), "./reports")
    driver.open(server.url)
    driver.click("#languages [lang=en]")


@pytest.mark.parametrize("choice", ["0.5", "4"])
def test_a_person_chooses_first(driver: Driver, server: Server, choice: str) -> None:
    start(driver, server)
    assert "by at most e^(your epsilon), given your choice" in driver.text("main")
    assert "whoever has something to hide may choose less" in driver.text("main")
    assert driver.text(f"{FIRST} legend").startswith("Your epsilon")
    said = driver.text(FIRST)
    assert "multiply the odds of two answers by at most 1.65" in said
    driver.click("#forward")  # without a choice nothing goes on
    assert driver.text(f"{FIRST} .error") == "Please answer this question."
    driver.click("#languages [lang=de]")
    assert "höchstens mit 1,65" in driver.text(FIRST)
    driver.click("#languages [lang=en]")
    driver.click(f"{FIRST} input[value='{choice}']")
    driver.click("#forward")
    driver.click("[data-question='smokes'] input[value='yes']")
    driver.click("[data-question='kind'] input[value='c']")
    driver.click("#forward")
    driver.wait("document.querySelector('#state').textContent.includes('arrived')")
    (text,) = server.messages
    form = survey().form()
    assert len(text.encode()) == message_bytes(form)
    message = MessageReader(form, [survey().words_digest], False).read(text.encode())
    assert message.choice == choice
    reports = len(form["columns"]["kind"]["chosen"][choice]["reports"])
    assert f"of {reports}." in driver.text("#meaning")
    assert json.loads(text)["choice"] == choice
