"""The recipes of docs/fieldwork.md for other software: SurveyJS in a stand-in for its model, and R
where installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from builders import seconds
from draw_vectors import COIN, ROOT, SOURCE
from ldpopt import Survey

PAGE = (ROOT / "docs" / "fieldwork.md").read_text(encoding="utf-8")
# What the recipe uses of a model of SurveyJS 3: data, clear, and the event before it completes
MODEL = """
const handlers = [];
const onCompleting = { add: (handler) => handlers.push(handler) };
const model = { data: {}, onCompleting, clear() { this.data = {}; } };
const crypto = { getRandomValues: (view) => view.fill(255) };
"""


def recipe(language: str) -> str:
    """The code of a language on the page."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_surveyjs_sends_reports_and_keeps_no_answer() -> None:
    engines = pytest.importorskip("py_mini_racer", reason="mini-racer is in the extra 'test'")
    form = Survey({"smokes": COIN, "drinks": COIN}).form()
    code = re.sub(r"^(export |import .*)", "", recipe("js"), flags=re.MULTILINE)
    run = f"""(() => {{ {MODEL} {SOURCE} {code}
    const form = {json.dumps(form)};
    drawReports(model, form, asked(form));
    model.data = {{ smokes: "no", drinks: "no" }};
    for (const handler of handlers) handler(model);
    return JSON.stringify(model.data); }})()"""
    with engines.MiniRacer() as engine:
        sent = json.loads(engine.eval(run))
    # the largest word draws the last report
    assert sent == {"reports": {"smokes": "yes", "drinks": "yes"}}


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_draws_the_reports_of_given_words(tmp_path) -> None:
    code = (
        recipe("r")
        + """
column <- list(reports = c("no", "yes"), masses = matrix(c(3, 1, 1, 3) * 2^51, 2, byrow = TRUE))
form <- list(questions = list(q = list(answers = c("no", "yes"))), columns = list(q = column))
secure_words <- function(n) rep(c(3 * 2^51 - 1, 3 * 2^51), length.out = n)
cat(draw_reports(form, "q", c("no", "no", "yes", "yes")))
"""
    )
    (tmp_path / "draw.R").write_text(code, encoding="utf-8")
    done = subprocess.run(
        ["Rscript", "draw.R"], cwd=tmp_path, capture_output=True, text=True, timeout=seconds(60)
    )
    assert done.stdout == "no yes yes yes"
