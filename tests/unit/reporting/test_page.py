"""The report's page: whole, self-contained, true to the solution, readable without scripts."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import run_cli
from ldpopt.errors import StatementError
from ldpopt.estimation.designs import DesignCertificate
from ldpopt.reporting import report
from ldpopt.reporting.frames import Precision
from ldpopt.statement.design_problem import DesignProblem

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


def carried(text: str) -> bytes:
    found = re.search(r"base64,([^\"]+)\"", text)
    assert found is not None
    return base64.b64decode(found[1])


def test_the_page_is_whole_and_needs_no_network() -> None:
    text = report(SHARES, source='title = "<b>bold</b>"', title="Shares & <script>more</script>")
    page = Balance(text)
    assert all(link.startswith("data:") for link in page.links)
    assert "<script>more" not in text
    assert "<b>bold" not in text
    assert text.count('class="frame') == 7
    assert text.count('class="frame stated"') == 1


def test_it_carries_the_certificate(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    path.write_bytes(carried(report(SHARES, budgets=False)))
    assert lo.Certificate.load(path).achieved == lo.certify(lo.solve(SHARES)).achieved


def test_a_workload_is_reported_by_its_design(tmp_path: Path) -> None:
    asked = DesignProblem(lo.Workload.prefix(["low", "middle", "high"]), lo.PureLDP(1.0))
    text = report(asked, budgets=False)
    Balance(text)
    path = tmp_path / "certificate.json"
    path.write_bytes(carried(text))
    assert not DesignCertificate.load(path).recheck()
    assert "smallest variance" in text


def test_precision_is_that_of_simulated_surveys() -> None:
    best = lo.design(lo.Workload.prefix(4), lo.PureLDP(1.0))
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    wanted = np.asarray(best.workload.matrix)
    found = Precision.of(best.mechanism.channel, best.estimator, wanted, prior, best.workload.names)
    rng = np.random.default_rng(1)
    people = rng.choice(4, size=200_000, p=prior)
    reports = np.asarray(best.mechanism.sample(people, rng=rng))
    np.testing.assert_allclose(best.estimator[:, reports].std(axis=1), found.deviation, rtol=0.02, atol=1e-6)
    np.testing.assert_allclose(wanted[:, people].std(axis=1), found.truthful, rtol=0.02, atol=1e-6)


NOTIONS: list[tuple[Any, str]] = [
    (lo.ApproximateLDP(1.0, 0.05), "Except with probability 0.05"),
    (lo.GraphDP(1.0, nx.path_graph(["a", "b", "c"])), "neighboring answers"),
    (lo.MetricDP(1.0, [[0, 1, 2], [1, 0, 1], [2, 1, 0]]), "at distance d"),
    (lo.OneSided(1.0, ["a"]), "Sensitive answers: a."),
    (lo.UtilityOptimizedLDP(1.0, ["a"]), "protected report"),
    (lo.PureLDP(0.0), "by at most 1,"),
]
"""Each notion and a part of what is said of it."""


@pytest.mark.parametrize(("notion", "words"), NOTIONS)
def test_every_notion_has_its_words(notion: Any, words: str) -> None:
    text = report(lo.Problem({"a": 0.5, "b": 0.3, "c": 0.2}, "identity", notion), budgets=False)
    Balance(text)
    assert words in text


def test_a_mechanism_that_tells_no_shares_says_so() -> None:
    text = report(lo.Problem([0.9, 0.1], "identity", lo.PureLDP(0.1)), budgets=False)
    assert "cannot be estimated" in text


def test_other_things_are_refused() -> None:
    with pytest.raises(StatementError, match="is no problem"):
        report("coin")  # type: ignore[arg-type]


def test_on_the_command_line(tmp_path: Path) -> None:
    model = Path(__file__).parents[3] / "models" / "coin.toml"
    target = tmp_path / "coin.html"
    done = run_cli("report", model, "-o", target, "--no-budgets")
    assert done.exit_code == 0
    assert "Two coins" in target.read_text(encoding="utf-8")
    assert run_cli("report", model, "-o", tmp_path / "none" / "coin.html").exit_code == 2
    assert run_cli("report", model).exit_code == 2


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium")
def test_in_a_browser_the_slider_appears(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text(report(SHARES), encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]
    seen = subprocess.run([*command, target.as_uri()], capture_output=True, text=True, check=True).stdout
    assert '<section id="slider">' in seen
    assert seen.count("shown") >= 1
