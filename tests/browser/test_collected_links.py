"""From a list of people to estimates by region: the command line, a browser and a collector."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from builders import cli_json, cli_output, seconds, start_cli
from ldpopt import Mechanism, Survey

CHROMIUM = (
    os.environ.get("LDPOPT_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
)
try:
    from playwright.sync_api import Browser, sync_playwright
except ImportError:
    CHROMIUM = None
IS_REQUIRED = os.environ.get("LDPOPT_BROWSER") == "required"
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not IS_REQUIRED, reason="no Chromium, or no playwright"
)
pytest.importorskip("sqlalchemy")
pytest.importorskip("uvicorn")

SOUTH = 'South & "East", 50 % +ä#1'
FIELDS = {"region": ["North", SOUTH], "weight": []}
WORDS = tomllib.loads((files("ldpopt.fieldwork") / "words" / "en.toml").read_text("utf-8"))
COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


def visit(browser: Browser, link: str, word: str) -> str:
    """Open a link, answer, and send, until the page has a word for what was decided; return what
    it says of the link.
    """
    context = browser.new_context()
    context.set_default_timeout(seconds(20) * 1000)
    page = context.new_page()
    page.goto(link)
    said = page.inner_text("#fields")
    page.get_by_label("yes", exact=True).check()
    page.click("button[type=submit]")
    page.locator("#state", has_text=WORDS[word].strip()).wait_for()
    context.close()
    return said


def test_regions_and_weights_come_with_the_link_and_nobody_can_choose_them(
    browser: Browser, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Survey({"smokes": COIN}, weights="weight", fields=FIELDS).save("survey.json")
    url = "sqlite:///reports.db"
    people = [("North", "1.25"), (SOUTH, "0.5")] * 5
    with open("people.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("region", "weight"), *people])
    command = ("--people", "people.csv", "--keep", "region", "--keep", "weight", "-o", "links.csv")
    cli_output("survey", "invite", "survey.json", *command, "--page", "http://page.example/")
    with open("links.csv", newline="", encoding="utf-8") as file:
        links = [row["link"] for row in csv.DictReader(file)]
    collector = start_cli("survey", "collect", "survey.json", "--port", "0", "--json", "-")
    try:
        address = json.loads(collector.stdout.readline())["address"]
        links = [link.replace("http://page.example/", address) for link in links]
        forged = links[9].replace("weight=0.5", "weight=500")
        assert forged != links[9]
        tried = {link: "sent" for link in links[:4]} | {forged: "unknown"}
        for link, word in [*tried.items(), (links[0], "used")]:
            said = visit(browser, link, word)
            weight = "500" if link == forged else people[links.index(link)][1]
            assert weight in said
            assert ("North" in said) == ("region=North" in link)
            assert (SOUTH in said) == ("region=North" not in link)
    finally:
        collector.send_signal(signal.SIGTERM)
        _, error = collector.communicate(timeout=seconds(60))
    assert "200: 4, 409: 1, 422: 1" in error
    status = cli_json("survey", "status", url)
    assert sum(status["unused"].values()) == 6
    assert status["groups"] == {
        "region=North, weight=1.25": 2,
        'region="South & "East", 50 % +ä#1", weight=0.5': 2,
    }
    found = cli_json("survey", "estimate", "survey.json", url, "--by", "region")["estimates"]
    assert {entry["group"] for entry in found} == {"North", SOUTH}
