"""Every kind of notion in the registry: checks, files, certificates, model files and the command
line."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import ldpopt as lo
import ldpopt_check
from builders import run_cli
from ldpopt.errors import ModelFileError
from ldpopt.foundation.documents import Entry
from ldpopt.mechanism.repair import repair
from ldpopt.plotting.report import report
from ldpopt.privacy import CurveLDP
from ldpopt.privacy.notion import KINDS, to_table
from ldpopt.problem.plain import from_plain, plain
from ldpopt.testing import check_notion

LABELS = ("a", "b", "c", "d")
EVERY_KIND = pytest.mark.parametrize(
    "kind", [kind for kind, notion in KINDS.items() if notion.__module__.startswith("ldpopt.")]
)


def problem_of(kind, epsilon=1.0):
    return lo.Problem([0.25] * 4, "identity", KINDS[kind].example(epsilon, LABELS), inputs=LABELS)


def budget_of(privacy):
    """The number that a file states first: epsilon, ``mu``, or the last epsilon of a curve."""
    if isinstance(privacy, CurveLDP):
        return privacy.points[-1][0]
    return getattr(privacy, name_of(privacy))


def name_of(privacy):
    return next(name for name in ("epsilon", "mu", "points") if hasattr(privacy, name))


@EVERY_KIND
def test_it_passes_all_checks(kind):
    check_notion(KINDS[kind].example(1.0, LABELS), LABELS)


@EVERY_KIND
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, "log(3)"])
def test_its_optimum_has_exactly_its_epsilon(kind, epsilon):
    case = problem_of(kind, epsilon)
    mechanism, budget = lo.solve(case).mechanism, budget_of(case.privacy)
    found = mechanism.audit(case.privacy)
    assert found.verdict == "certified"
    least = found.epsilon if found.mu is None else found.mu
    assert least <= math.nextafter(float(budget), math.inf)
    assert mechanism.audit(KINDS[kind].example(float(budget) - 1e-3, LABELS)).verdict == "violated"


@EVERY_KIND
@pytest.mark.parametrize("epsilon", [1.0, "log(7/2)", "1/3"])
def test_model_files_certificates_and_plain_values_read_back(kind, epsilon, tmp_path):
    case = problem_of(kind, epsilon)
    lo.save_model(case, tmp_path / "model.toml")
    lo.certify(lo.solve(case)).save(tmp_path / "proof.json")
    certificate = lo.Certificate.load(tmp_path / "proof.json")
    assert certificate.recheck() == ()
    for again in (
        lo.load_model(tmp_path / "model.toml"),
        certificate.problem,
        from_plain(Entry(plain(case), "file")),
    ):
        assert type(again.privacy) is KINDS[kind]
        assert to_table(again.privacy, LABELS) == to_table(case.privacy, LABELS)
        found, stated = budget_of(again.privacy), budget_of(case.privacy)
        assert (found.nats, found.ratio) == (stated.nats, stated.ratio)


@EVERY_KIND
def test_the_independent_checker_agrees(kind, tmp_path):
    assert kind in ldpopt_check.KEYS, (
        f"ldpopt_check.py does not know the kind {kind!r}: add its keys and its ties there"
    )
    lo.certify(lo.solve(problem_of(kind))).save(tmp_path / "proof.json")
    assert ldpopt_check.main([str(tmp_path / "proof.json")]) == 0


@EVERY_KIND
def test_the_report_describes_its_risk(kind):
    text = report(problem_of(kind), budgets=False)
    what = (
        f"page.html.j2 does not describe the risk under {kind!r}: add a sentence to its "
        "macro `risk`"
    )
    assert "determines which answers are hidden" not in text, what


@EVERY_KIND
def test_wrong_keys_are_named_with_their_line(kind, tmp_path):
    path = tmp_path / "model.toml"
    lo.save_model(problem_of(kind), path)
    text = path.read_text()
    name = name_of(problem_of(kind).privacy)
    line = re.search(rf"^{name} = (\[.*?^\]|[^\n]*)$", text, re.DOTALL | re.MULTILINE)[0]
    wrong = f"{name} = [[-1.0, 0.1]]" if name == "points" else f"{name} = -1.0"
    negative = "mu = -1.0 is not" if name == "mu" else "epsilon = -1.0 is negative"
    for old, new, words in (
        (line, line.replace(name, f"{name}x"), f"did you mean '{name}'"),
        (line, wrong, negative),
        (f"{line}\n", "", f"the key privacy.{name} is missing"),
        (f'kind = "{kind}"', f'kind = "{kind}s"', f"did you mean '{kind}'"),
    ):
        path.write_text(text.replace(old, new))
        with pytest.raises(ModelFileError) as caught:
            lo.load_model(path)
        assert words in caught.value.one_line
        assert f"{path}:" in caught.value.where


@EVERY_KIND
def test_the_command_line_solves_and_audits_it(kind, tmp_path):
    path = str(tmp_path / "model.toml")
    out = str(tmp_path / "mechanism.json")
    lo.save_model(problem_of(kind), path)
    for arguments in (["check", path], ["solve", path, "-o", out], ["audit", out, "--model", path]):
        result = run_cli(*arguments)
        assert result.exit_code == 0, result.stderr


@EVERY_KIND
def test_repairs_of_any_channel_are_certified(kind):
    notion = KINDS[kind].example(0.7, LABELS)
    channel = np.random.default_rng(0).dirichlet(np.full(4, 0.3), 4)
    assert repair(channel, notion, inputs=LABELS, outputs=LABELS).audit.verdict == "certified"
