"""Every notion of the registry: its checks, the independent checker, the page, the command line."""

from __future__ import annotations

import pytest

import ldpopt as lo
import ldpopt_check
from builders import run_cli, thorough_or
from ldpopt.plotting.report import report
from ldpopt.privacy.notion import KINDS, ConeNotion
from ldpopt.privacy.sentences import PART, PROMISE, NotionFacts
from ldpopt.testing import check_notion

LABELS = ("a", "b", "c", "d")
EVERY_KIND = pytest.mark.parametrize(
    "kind", [kind for kind, notion in KINDS.items() if notion.__module__.startswith("ldpopt.")]
)


def problem_of(kind, epsilon=1.0):
    return lo.Problem([0.25] * 4, "identity", KINDS[kind].example(epsilon, LABELS), inputs=LABELS)


@EVERY_KIND
def test_it_passes_all_checks(kind, monkeypatch):
    monkeypatch.setattr("ldpopt.testing.notions.CHANNELS", thorough_or(3, 12))
    check_notion(KINDS[kind].example(1.0, LABELS), LABELS)


@EVERY_KIND
def test_the_independent_checker_agrees(kind, tmp_path):
    what = "its keys to KEYS, and its ties to TIES_OF or its class of curves to OF_CURVES"
    if issubclass(KINDS[kind], ConeNotion):
        what = "its keys and comparisons to AVERAGED and COMPARED"
    assert kind in ldpopt_check.KEYS, (
        f"ldpopt_check.py does not know the kind {kind!r}: add {what} there"
    )
    lo.certify(lo.solve(problem_of(kind))).save(tmp_path / "proof.json")
    assert ldpopt_check.main([str(tmp_path / "proof.json")]) == 0


@EVERY_KIND
def test_the_report_describes_its_risk(kind):
    text = report(problem_of(kind), budgets=False)
    where = "the macro `risk` of page.html.j2"
    if issubclass(KINDS[kind], ConeNotion):
        where = "PROMISE of ldpopt/privacy/sentences.py"
    assert "determines which answers are hidden" not in text, (
        f"the page does not describe the risk under {kind!r}: add a sentence to {where}"
    )
    assert KINDS[kind].__name__ not in text, (
        f"page.html.j2 has no words for the kind {kind!r}: add a line to its table of kinds"
    )


@EVERY_KIND
def test_it_has_a_sentence_of_its_own_where_it_is_one_of_several(kind):
    facts = NotionFacts(KINDS[kind].example(1.0, LABELS), LABELS)
    sentence = PROMISE.chosen(facts) or PART.chosen(facts)
    assert sentence.name != "definition", (
        f"ldpopt/privacy/sentences.py has no sentence on the kind {kind!r}: add one to PART, or of "
        "a cone to PROMISE"
    )


@EVERY_KIND
def test_the_command_line_solves_and_audits_it(kind, tmp_path):
    path = str(tmp_path / "model.toml")
    out = str(tmp_path / "mechanism.json")
    lo.save_model(problem_of(kind), path)
    for arguments in (["check", path], ["solve", path, "-o", out], ["audit", out, "--model", path]):
        result = run_cli(*arguments)
        assert result.exit_code == 0, result.stderr
