"""The command survey form: the page, its check, the form as JSON, and the module."""

import hashlib
import json
from pathlib import Path

import pytest

from builders import cli_output, run_cli
from ldpopt import Mechanism, PureLDP, Survey, Workload, design
from ldpopt.fieldwork import page
from ldpopt.surveys.form import form_digest

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
SURVEY = Survey({"smokes": COIN, "drinks": COIN}, title="Habits")
TO = "https://collect.example.org/reports"


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SURVEY.save("survey.json")


def test_the_page_is_written_and_checked_byte_by_byte():
    shown = cli_output("survey", "form", "survey.json", "-o", "form.html", "--to", TO)
    text = Path("form.html").read_bytes()
    assert text.decode() == page(SURVEY, TO)
    assert hashlib.sha256(text).hexdigest() in shown
    assert form_digest(SURVEY.form()) in shown
    assert SURVEY.words_digest in shown
    assert "the same page" in cli_output(
        "survey", "form", "survey.json", "--check", "form.html", "--to", TO
    )
    Path("form.html").write_bytes(text.replace(b"Draw my report", b"Draw any report"))
    done = run_cli("survey", "form", "survey.json", "--check", "form.html", "--to", TO)
    assert done.exit_code == 1
    assert "form.html is not the page of survey.json" in done.stderr


def test_the_form_is_one_object_and_the_module_a_file():
    cli_output("survey", "form", "survey.json", "--json", "form.json", "--module", "draw.js")
    found = json.loads(Path("form.json").read_text())
    assert found == {
        "digest": form_digest(SURVEY.form()),
        "words": SURVEY.words_digest,
        "form": SURVEY.form(),
    }
    assert json.loads(cli_output("survey", "form", "survey.json", "--json", "-")) == found
    assert "export function drawAll" in Path("draw.js").read_text()


def test_a_page_for_whoever_is_invited_is_another_one():
    cli_output("survey", "form", "survey.json", "-o", "form.html", "--to", TO, "--invited")
    assert Path("form.html").read_text() == page(SURVEY, TO, invited=True) != page(SURVEY, TO)


@pytest.mark.parametrize("option", ["-o", "--json", "--module"])
def test_the_survey_is_not_replaced(option):
    before = Path("survey.json").read_bytes()
    done = run_cli("survey", "form", "survey.json", option, "./survey.json")
    assert done.exit_code == 2
    assert "would replace the file that is read" in done.stderr
    assert Path("survey.json").read_bytes() == before


@pytest.mark.parametrize("kind", ["mechanism", "design", "sets"])
def test_a_single_mechanism_or_design_is_a_question(kind):
    if kind == "mechanism":
        COIN.save("absence.json")
    else:
        design(Workload.frequencies(3 if kind == "design" else 40), PureLDP(1.0)).save(
            "absence.json"
        )
    cli_output("survey", "form", "absence.json", "-o", "form.html", "--language", "de")
    text = Path("form.html").read_text()
    assert '<html lang="de"' in text
    assert "absence" in text


def test_wrong_calls_are_refused_in_a_line():
    cases = {
        ("survey.json",): "name the page to write with -o",
        ("survey.json", "-o", "nowhere/form.html"): "the folder",
        ("survey.json", "-o", "form.html", "--to", "ftp://x"): "not an address",
        ("survey.json", "-o", "form.html", "--language", "tlh"): "the page has no language 'tlh'",
        ("survey.json", "--check", "nothing.html"): "nothing.html",
    }
    for arguments, message in cases.items():
        done = run_cli("survey", "form", *arguments)
        assert done.exit_code == 2
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
