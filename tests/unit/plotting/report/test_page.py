"""The page of a report: complete, self-contained, equal to the solution, readable without
scripts."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import refused, run_cli
from ldpopt.certificate.design_certificate import DesignCertificate
from ldpopt.errors import StatementError
from ldpopt.mechanism.questions import Question
from ldpopt.plotting.report import report
from ldpopt.plotting.report.results import Result, with_precision
from ldpopt.plotting.report.words import number_in_words
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.surveys.form import form_digest
from plug_in_notions import Halved

VOID = {"meta", "input", "path", "rect"}

SHARES = lo.Problem({"no": 0.7, "yes": 0.2, "perhaps": 0.1}, "identity", lo.PureLDP(2.0))


class Balance(HTMLParser):
    """Whether every tag is closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID

    def handle_endtag(self, tag: str) -> None:
        assert tag not in VOID
        assert self.open.pop() == tag


def included_certificate(text: str) -> bytes:
    found = re.search(r"base64,([^\"]+)\"", text)
    assert found is not None
    return base64.b64decode(found[1])


def test_page_is_well_formed_and_needs_no_network() -> None:
    text = report(SHARES, source='title = "<b>bold</b>"', title="Shares & <script>more</script>")
    page = Balance(text)
    assert all(link.startswith("data:") for link in page.links)
    assert "<script>more" not in text
    assert "<b>bold" not in text
    assert "<script" not in text
    assert text.count('class="budget ') == 7
    assert text.count(" checked>") == 1


def test_page_includes_the_certificate(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    path.write_bytes(included_certificate(report(SHARES, budgets=False)))
    assert lo.Certificate.load(path).achieved == lo.certify(lo.solve(SHARES)).achieved


def test_page_of_a_workload_describes_its_design(tmp_path: Path) -> None:
    asked = DesignProblem(lo.Workload.prefix(["low", "middle", "high"]), lo.PureLDP(1.0))
    text = report(asked, budgets=False)
    Balance(text)
    path = tmp_path / "certificate.json"
    path.write_bytes(included_certificate(text))
    assert not DesignCertificate.load(path).recheck()
    assert "smallest variance" in text


def test_precision_agrees_with_simulated_surveys() -> None:
    best = lo.design(lo.Workload.prefix(4), lo.PureLDP(1.0))
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    wanted = np.asarray(best.workload.matrix)
    result = Result(
        best.privacy, 1.0, best, best.mechanism, best.value, "average variance", 0.0, ""
    )
    found = with_precision(result, best, prior, best.workload.names)
    assert found.precision is not None
    rng = np.random.default_rng(1)
    people = rng.choice(4, size=200_000, p=prior)
    reports = np.asarray(best.mechanism.sample(people, rng=rng))
    np.testing.assert_allclose(
        best.estimator[:, reports].std(axis=1), found.precision.variances**0.5, rtol=0.02, atol=1e-6
    )
    np.testing.assert_allclose(
        wanted[:, people].std(axis=1), np.sqrt(found.truthful), rtol=0.02, atol=1e-6
    )


NOTIONS: list[tuple[Any, str]] = [
    (
        lo.ApproximateLDP(1.0, 0.05),
        "set of reports: its probability for one answer is at most 2.72 times",
    ),
    (lo.ApproximateLDP(1.0, 0.05, form="entry"), "single report: its"),
    (lo.GraphDP(1.0, nx.path_graph(["a", "b", "c"])), "neighboring answers"),
    (lo.MetricDP(1.0, [[0, 1, 2], [1, 0, 1], [2, 1, 0]]), "at distance d"),
    (lo.OneSided(1.0, ["a"]), "Sensitive answers: a."),
    (lo.UtilityOptimizedLDP(1.0, ["a"]), "protected report"),
    (lo.PureLDP(0.0), "a factor of at most 1, whatever"),
]
"""Each notion and a part of the description of its risk."""


@pytest.mark.parametrize(("notion", "words"), NOTIONS)
def test_risk_is_described_for_every_notion(notion: Any, words: str) -> None:
    text = report(lo.Problem({"a": 0.5, "b": 0.3, "c": 0.2}, "identity", notion), budgets=False)
    Balance(text)
    assert words in " ".join(text.split())


@dataclass(frozen=True)
class OneAnswer(lo.OneSided):
    """A notion of one's own: a sensitive answer alone is hidden."""

    def __init__(self, epsilon: float | str, sensitive: Any = ("a",)) -> None:
        super().__init__(epsilon, sensitive)


def test_the_budget_of_a_notion_of_ones_own_may_be_a_float() -> None:
    text = report(lo.Problem([0.5, 0.5], "identity", Halved(1.0)))
    assert "epsilon = 1" in text


def test_nothing_is_promised_for_a_notion_that_the_page_does_not_know() -> None:
    OneAnswer.kind = "one_answer"
    text = " ".join(
        report(
            lo.Problem([0.5, 0.5], "identity", OneAnswer(1.0), inputs=["a", "b"]), budgets=False
        ).split()
    )
    assert "The definition of OneAnswer determines which answers are hidden" in text
    assert "between any two answers of this person" not in text
    assert "What a reader may believe" not in text


@pytest.mark.long
def test_each_budget_of_the_slider_has_its_own_risk() -> None:
    """The factor of a distance, and that of an approximate notion, are those of the budget that is
    shown."""
    for notion in (
        lo.MetricDP(1.0, [[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
        lo.ApproximateLDP(1.0, 0.05),
    ):
        text = report(lo.Problem({"a": 0.5, "b": 0.3, "c": 0.2}, "identity", notion))
        found = re.findall(
            r"at most ([0-9.]+) (?:to the power d|times its)", " ".join(text.split())
        )
        assert found == ["1.29", "1.65", "2.12", "2.72", "4.49", "7.39", "54.6"]


def test_page_says_if_shares_cannot_be_estimated() -> None:
    text = report(lo.Problem([0.9, 0.1], "identity", lo.PureLDP(0.1)), budgets=False)
    assert "cannot be estimated" in text


COIN = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
SURVEYS: dict[str, tuple[lo.Survey, tuple[str, ...]]] = {
    "split": (
        lo.Survey({"a": COIN, "b": COIN}, weights="w"),
        ("factor of at most 81,", "the column <b>w</b>"),
    ),
    "one question": (
        lo.Survey({"a": COIN, "b": COIN}, scheme="one_question"),
        ("only this one is reported",),
    ),
    "fake data": (
        lo.Survey({"a": COIN, "b": COIN}, scheme="fake_data"),
        ("nobody can see which question",),
    ),
    "joint": (
        lo.Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, epsilon=1.0, scheme="joint"),
        ("one report on all questions together", "Joint report: it is proved"),
    ),
    "odds without end": (
        lo.Survey({"a": lo.Mechanism([[1, 0], [0.5, 0.5]])}),
        ("rule an answer out completely",),
    ),
    "no estimate": (
        lo.Survey({"a": lo.Mechanism([[0.5, 0.5]] * 2)}),
        ("Nothing can be estimated: the channel",),
    ),
    "missing answers": (
        lo.Survey({"a": Question(COIN, "leave_out")}),
        ("who did not answer these questions: a",),
    ),
}
"""Surveys, and parts of their pages."""


@pytest.mark.parametrize(("survey", "words"), SURVEYS.values(), ids=SURVEYS)
def test_page_of_a_survey_has_a_persons_whole_budget_and_the_precision(
    survey: Any, words: tuple[str, ...]
) -> None:
    text = report(survey, people=1000, waves=2, keep=["region"])
    Balance(text)
    text = " ".join(text.split())
    assert survey.account(2).in_words in text.replace("&#39;", "'")
    assert all(part in text for part in (*words, "<b>region</b>"))
    if "Nothing can be estimated" not in text:
        for name in survey.questions:
            assert f"± {100 * survey.precision(name).half_width(1000)[0]:.1f}<" in text


def test_page_of_a_survey_is_in_the_words_of_the_questions(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(
        'epsilon = 2.0\n[question.health]\nlabels = ["poor", "fair", "good"]\nworkload = "prefix"\n'
        'text = "How <well> are you?"\nanswers = { poor = "not well" }\n'
        '[question.age]\nlabels = [1, 2]\nworkload = "mean"\n'
    )
    for command in ("report", "survey report"):
        done = run_cli(
            *command.split(),
            tmp_path / "survey.toml",
            "-o",
            tmp_path / "page.html",
            "--where",
            "device",
        )
        assert done.exit_code == 0, done.stderr
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        Balance(text)
        assert "How &lt;well&gt; are you?" in text
        assert re.findall(r'<tr><th scope="row">([^<]*)</th>\n<td class="number', text) == [
            *("not well", "not well or fair"),
            "mean",
        ]


def test_page_of_a_survey_has_the_ticks_of_a_question(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(
        'epsilon = 2.0\n[question.used]\nticks = ["alcohol", "gaming"]\n'
    )
    text = " ".join(report(lo.Survey.from_toml(tmp_path / "survey.toml")).split())
    assert "any number of: alcohol, gaming" in text
    assert re.findall(r'<tr><th scope="row">([^<]*)</th> <td class="number', text) == [
        "alcohol",
        "gaming",
    ]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (None, "b"),
        ([0, 0, 1, 0, 0], "c"),
        ([1, 0, 1, 0, 1], "a, c or e"),
        ([0, 1, 1, 1, 1], "anything from b to e"),
        ([1, 1, 0, 1, 1], "b"),
        ([0, 0.5, 0, 0, 0], "b"),
    ],
)
def test_a_share_is_named_by_its_answers(row: Any, words: str) -> None:
    assert number_in_words("b", row, list("abcde")) == words


@pytest.mark.parametrize(
    ("waves", "words"), [(1, "3"), (2, "9"), (9, "19,700"), (30, "206,000,000,000,000")]
)
def test_a_factor_is_rounded_up(waves: int, words: str) -> None:
    assert f"a factor of at most {words}, whatever" in " ".join(
        report(lo.Survey({"a": COIN}), waves=waves).split()
    )


@pytest.mark.parametrize(
    "wrong",
    [{"people": 0}, {"waves": 0}, {"where": "home"}, {"keep": "region"}, {"people": "many"}],
)
def test_arguments_that_do_not_fit_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(StatementError):
        report(lo.Survey({"a": COIN}), **wrong)


def test_other_objects_are_rejected() -> None:
    with refused("type"):
        report("coin")  # type: ignore[arg-type]


def test_command_writes_the_page(tmp_path: Path) -> None:
    model = Path(__file__).parents[4] / "models" / "coin.toml"
    target = tmp_path / "coin.html"
    done = run_cli("report", model, "-o", target, "--no-budgets")
    assert done.exit_code == 0
    assert "Two coins" in target.read_text(encoding="utf-8")
    assert run_cli("report", model, "-o", tmp_path / "none" / "coin.html").exit_code == 2
    assert run_cli("report", model).exit_code == 2


BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no browser")

PHONE = """
<iframe src="page.html" style="width:%dpx;height:9000px;border:0" onload="
  var main = this.contentDocument.documentElement;
  document.title = 'wider by ' + (main.scrollWidth - main.clientWidth);
  document.body.append(document.title)"></iframe>
"""
"""A window is never narrower than 500 pixels, a frame in it may be."""

CHOICE = """
<iframe src="page.html" sandbox="allow-same-origin" onload="
  var page = this.contentDocument, all = Array.from(page.querySelectorAll('.budget'));
  var style = budget => page.defaultView.getComputedStyle(budget);
  var seen = () => all.filter(budget => style(budget).display !== 'none')
    .map(budget => budget.querySelector('.value').textContent.trim());
  var before = seen();
  page.getElementById('b6').click();
  document.body.append('before: ' + before + '; after: ' + seen() + '.')"></iframe>
"""
"""A frame that may not run scripts; the page around it looks into it, and chooses another
budget."""


def run_browser(folder: Path, page: str, *more: str) -> str:
    """Output of a browser without a network for a page."""
    command = [
        str(BROWSER),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder / 'browser'}",
    ]
    command += [
        "--allow-file-access-from-files",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--virtual-time-budget=2000",
    ]
    target = (folder / page).as_uri()
    return subprocess.run(
        [*command, *more, target], capture_output=True, text=True, check=True, timeout=120
    ).stdout


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    names = [f"neighborhood number {k}" for k in range(9)]
    asked = lo.Problem([1 / 9] * 9, "identity", lo.PureLDP(2.0), inputs=names)
    (folder / "page.html").write_text(
        report(asked, source='source = "' + "word " * 60 + '"'), encoding="utf-8"
    )
    (folder / "choice.html").write_text(CHOICE, encoding="utf-8")
    for width in (400, 1400):
        (folder / f"{width}.html").write_text(PHONE % width, encoding="utf-8")
    return folder


@needs_browser
def test_a_budget_is_chosen_without_scripts(pages: Path) -> None:
    assert "before: epsilon = 2 (as stated); after: epsilon = 8." in run_browser(
        pages, "choice.html", "--dump-dom"
    )


@needs_browser
@pytest.mark.parametrize("width", [400, 1400])
def test_page_fits_narrow_and_wide_screens(pages: Path, width: int) -> None:
    assert "wider by 0" in run_browser(pages, f"{width}.html", "--dump-dom")


@needs_browser
def test_page_can_be_printed(pages: Path) -> None:
    paper = pages / "page.pdf"
    run_browser(pages, "page.html", f"--print-to-pdf={paper}")
    assert paper.read_bytes()[:5] == b"%PDF-"


def test_the_fingerprints_are_those_of_the_page_for_respondents() -> None:
    told, other = (
        lo.Survey({"a": COIN}, words={"questions": {"a": {"text": text}}})
        for text in ("Do you smoke?", "Do you drink?")
    )
    for survey in (told, other):
        text = report(survey)
        for digest in (form_digest(survey.form()), survey.words_digest):
            assert digest in text
            assert digest in lo.fieldwork.page(survey)
    assert other.words_digest not in report(told)
    weighted = lo.Survey({"a": COIN}, weights="w")  # no device draws its reports
    assert weighted.words_digest not in report(weighted)


def test_the_command_that_repeats_a_page_has_its_options() -> None:
    survey = lo.Survey({"a": Question(lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"]))})
    for thing in (survey, SHARES):
        found = report(thing, people=3000, where="office", keep=["region", "my age"], budgets=False)
        assert (
            "report.html --people 3000 --where office --keep region --keep &#39;my age&#39;</pre>"
            in found
        )
