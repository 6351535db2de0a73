"""Survey files with edges, techniques, several mechanisms and behaviors: right values of public
cases from a file and a table, and what is refused."""

from __future__ import annotations

import json
from itertools import pairwise
from math import exp, inf, log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from builders import refused, run_cli
from ldpopt import Mechanism, PureLDP, ReportModel, Survey, Workload, design, techniques
from ldpopt.errors import ModelFileError
from ldpopt.mechanism.questions import Question
from report_cases import ANCHOR, Q, anchored

HALVES = """
[question.q]
channel = "half"
mechanisms = { 1 = "a.json", 2 = "b.json" }
behaviors = { cheater = "no" }
"""
BUDGETS = """
[question.smokes]
channel = "budget"
mechanisms = { "0.5" = "coin0.5.json", 1 = "coin1.0.json", "2.0" = "coin2.0.json" }
"""
PAIR = """
weights = "w"
[question.drugs]
mechanism = "pair.json"
behaviors = { careless = "uniform" }
"""
SEEN = {1: {"yes": 430, "no": 570}, 2: {"yes": 740, "no": 260}}
CHOSEN = {0.5: {"yes": 88, "no": 112}, 1.0: {"yes": 112, "no": 188}, 2.0: {"yes": 165, "no": 335}}


def coin(truth: float) -> Mechanism:
    return Mechanism([[truth, 1 - truth], [1 - truth, truth]], inputs=["no", "yes"])


def table_of(seen: dict[Any, Any], channel: str, question: str) -> pd.DataFrame:
    rows = [(j, y) for j, each in seen.items() for y, n in each.items() for _ in range(n)]
    return pd.DataFrame(rows, columns=[channel, question]).sample(frac=1, random_state=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Mechanisms and reports of the cases."""
    techniques.forced(0, 0.25).save(tmp_path / "a.json")
    techniques.forced(0, 0.75).save(tmp_path / "b.json")
    for epsilon in CHOSEN:
        coin(exp(epsilon) / (1 + exp(epsilon))).save(tmp_path / f"coin{epsilon}.json")
    rows = [[(1 - a) * Q, (1 - a) * (1 - Q), a * Q, a * (1 - Q)] for a in (1 - Q, Q)]
    Mechanism(rows, ["no", "yes"], [f"r{y}" for y in ANCHOR]).save(tmp_path / "pair.json")
    table_of(SEEN, "half", "q").to_csv(tmp_path / "halves.csv", index=False)
    table_of(CHOSEN, "budget", "smokes").to_csv(tmp_path / "budgets.csv", index=False)
    reports, weights = anchored()
    anchors = pd.DataFrame({"drugs": [f"r{y}" for y in reports], "w": weights})
    anchors.to_csv(tmp_path / "pair.csv", index=False)
    return tmp_path


def solved(folder: Path, text: str) -> Path:
    """The saved survey of a statement."""
    (folder / "s.toml").write_text(text, encoding="utf-8")
    done = run_cli("survey", "solve", folder / "s.toml", "-o", folder / "s.json")
    assert done.exit_code == 0, done.output
    return folder / "s.json"


def estimates(*args: Any) -> list[dict[str, Any]]:
    done = run_cli("survey", "estimate", *args, "--json", "-")
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)["estimates"]
    return found


@pytest.mark.parametrize("by_file", [True, False])
def test_cheaters_are_found_by_two_halves(folder: Path, by_file: bool) -> None:
    if by_file:
        rows = estimates(solved(folder, HALVES), folder / "halves.csv")
    else:
        survey = Survey.from_toml(str(solved(folder, HALVES).with_suffix(".toml")))
        rows = survey.estimate(table_of(SEEN, "half", "q")).entries()
    assert [row["answer"] for row in rows] == ["no", "yes", "cheater"]
    assert [row["estimate"] for row in rows] == pytest.approx([0.620, 0.275, 0.105], abs=1e-9)
    errors = [row["std_error"] for row in rows]
    assert errors == pytest.approx([0.041833, 0.024486, 0.022230], abs=5e-7)


@pytest.mark.parametrize(
    ("assigned", "value", "error"),
    [("true", 0.267166, 0.024746), ("false", 0.257166, 0.036617)],
)
def test_personal_budgets_are_one_estimate(
    folder: Path, assigned: str, value: float, error: float
) -> None:
    rows = estimates(solved(folder, f"{BUDGETS}assigned = {assigned}"), folder / "budgets.csv")
    assert rows[1]["estimate"] == pytest.approx(value, abs=5e-7)
    assert rows[1]["std_error"] == pytest.approx(error, abs=5e-7)


def test_careless_people_are_found_by_an_anchor(folder: Path) -> None:
    path = solved(folder, PAIR)
    every = estimates(path, folder / "pair.csv")
    assert every[2]["estimate"] == pytest.approx(0.211205, abs=5e-7)
    assert every[2]["std_error"] == pytest.approx(0.033000, abs=5e-7)
    rows = estimates(path, folder / "pair.csv", "--followers")
    assert rows[1]["estimate"] == pytest.approx(0.114740, abs=5e-7)
    assert rows[1]["std_error"] == pytest.approx(0.025487, abs=5e-7)


def test_quantiles_are_numbers_between_edges(tmp_path: Path) -> None:
    """The median and the 90th percentile of a histogram of ages, by a file and a table."""
    edges = [15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 100]
    people = [336, 453, 433, 236, 155, 175, 165, 154, 115, 91, 50, 79]
    labels = [f"{a}-{b - 1}" for a, b in pairwise(edges)]
    (tmp_path / "s.toml").write_text(
        f'epsilon = 1.0\n[question.age]\nlabels = {labels}\nworkload = "prefix"\nedges = {edges}\n'
    )
    path = solved(tmp_path, (tmp_path / "s.toml").read_text())
    survey = Survey.load(path)
    reports = survey.privatize(pd.DataFrame({"age": np.repeat(labels, people)}), rng=7)
    reports.to_csv(tmp_path / "r.csv", index=False)
    found = survey.estimate(str(tmp_path / "r.csv"), check_fit=False)["age"]
    ends = np.maximum.accumulate(np.clip(found.interval, 0, 1), axis=0)
    band = [np.append(0.0, ends[:, side]) for side in (0, 1)]
    shares = np.append(0.0, np.clip(found.values, 0, 1))
    done = run_cli(
        *("survey", "estimate", path, tmp_path / "r.csv", "--quantile", ".5", "--json", "-")
    )
    (row,) = json.loads(done.stdout)["quantiles"]
    assert row["low"] == pytest.approx(np.interp(0.5, band[1], edges), abs=1e-6)
    assert row["high"] == pytest.approx(np.interp(0.5, band[0], edges), abs=1e-6)
    if (np.diff(shares) > 0).all():
        assert row["estimate"] == pytest.approx(np.interp(0.5, shares, edges), abs=1e-6)
    true = np.interp(0.5, np.append(0, np.cumsum(people) / sum(people)), edges)
    assert row["low"] < true < row["high"]


def three(missing: bool) -> Survey:
    """Ages in three classes, the last one without an end, perhaps with people who do not say."""
    labels = ["young", "middle", "old", *(["none"] if missing else [])]
    source = design(Workload.frequencies(labels), PureLDP(3.0))
    answer = "none" if missing else None
    return Survey({"age": Question(source, missing_answer=answer, edges=[0, 30, 60, inf])})


def test_quantiles_are_among_those_who_answered() -> None:
    survey = three(True)
    ages = ["young"] * 4000 + ["middle"] * 4000 + ["old"] * 2000 + [None] * 5000
    reports = survey.privatize(pd.DataFrame({"age": ages}), rng=2)
    (found,) = survey.estimate(reports).quantile(0.6).values()
    low, high = found.interval[0]
    assert low < 45 < high
    assert high - low < 6
    without = three(False)
    alone = without.privatize(pd.DataFrame({"age": ages[:10000]}), rng=2)
    (other,) = without.estimate(alone).quantile(0.6).values()
    assert abs(other.values[0] - found.values[0]) < 3
    (last,) = without.estimate(alone).quantile(0.95).values()
    assert last.values[0] == inf
    assert last.interval[0].tolist() == [60, inf]


def test_quantiles_of_followers_need_their_shares(folder: Path) -> None:
    model = ReportModel(
        {1: techniques.forced(0, 0.25), 2: techniques.forced(0, 0.75)},
        column="half",
        behaviors={"cheater": "no"},
    )
    survey = Survey({"q": Question(model, edges=[0, 1, 10])})
    table = table_of(SEEN, "half", "q")
    with refused("quantile-of-followers"):
        survey.estimate(table).quantile(0.5)
    (found,) = survey.estimate(table, followers=True).quantile(0.5).values()
    share = 0.62 / (0.62 + 0.275)
    assert found.values[0] == pytest.approx(0.5 / share, rel=1e-9)


NAMED = {
    "warner": ('"1/6"', 5),
    "crosswise": ('"1/6"', 5),
    "forced": ('["1/6", "1/6"]', 5),
    "polytomous": ('["1/12", "1/12"]', 11),
    "unrelated": ('{ p = 0.7, share = "1/12" }', 29),
    "mangat": ("0.7", inf),
    "two_stage": ("[0.3, 0.7]", 79 / 21),
    "triangular": ('"1/6"', inf),
    "kuk": ("{ no = 0.2, yes = 0.8, draws = 3 }", 64),
    "item_count": ("[0.5, 0.5, 0.5, 0.5]", inf),
}
BY_HAND = {
    "warner": lambda: techniques.warner("1/6"),
    "crosswise": lambda: techniques.crosswise("1/6"),
    "forced": lambda: techniques.forced("1/6", "1/6"),
    "polytomous": lambda: techniques.polytomous(["1/12", "1/12"]),
    "unrelated": lambda: techniques.unrelated(0.7, "1/12"),
    "mangat": lambda: techniques.mangat(0.7),
    "two_stage": lambda: techniques.two_stage(0.3, 0.7),
    "triangular": lambda: techniques.triangular("1/6"),
    "kuk": lambda: techniques.kuk(0.2, 0.8, 3),
    "item_count": lambda: techniques.item_count([0.5] * 4),
}


@pytest.mark.parametrize("name", NAMED)
def test_each_technique_is_asked_with_its_exact_epsilon(tmp_path: Path, name: str) -> None:
    arguments, odds = NAMED[name]
    path = solved(tmp_path, f"[question.q]\ntechnique = {{ {name} = {arguments} }}\n")
    survey = Survey.load(path)
    by_hand = BY_HAND[name]()
    assert survey.randomizers["q"].digest == by_hand.digest
    assert survey.epsilon == by_hand.audit().epsilon
    if odds is not None:
        assert survey.epsilon == pytest.approx(log(odds) if odds < inf else inf)
    audited = json.loads(run_cli("survey", "audit", path, "--json", "-").stdout)
    (law,) = audited["mechanisms"]
    assert law["technique"].startswith(name.replace("_", " "))
    assert law["epsilon"] == (by_hand.audit().epsilon if survey.epsilon < inf else None)
    checked = run_cli("survey", "check", path)
    tells = "tell for certain" in " ".join(checked.stdout.split())
    assert tells == (survey.epsilon == inf)
    for command in ("account", "certify", "codebook"):
        assert run_cli("survey", command, path).exit_code == 0, command
    survey.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == path.read_text()


def test_every_technique_has_a_key() -> None:
    from ldpopt.surveys.technique import MADE_BY

    public = {
        name
        for name, make in vars(techniques).items()
        if callable(make) and getattr(make, "__module__", "") == techniques.__name__
        if not name.startswith("_") and make.__annotations__["return"] is Mechanism
    }
    assert set(MADE_BY) == set(NAMED) == public


FILES = 'mechanisms = { a = "a.json", b = "b.json" }'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("technique = { crosswise = 1.5 }", "rational"),
        ("technique = { crosswise = true }", "argument-type"),
        ("technique = { crosswise = [0.1, 0.2] }", "argument-count"),
        ("technique = { crosswise = { shares = 0.1 } }", "technique-argument"),
        ("technique = { crosswis = 0.1 }", "technique"),
        ("technique = { crosswise = 0.1, warner = 0.1 }", "technique-count"),
        ("technique = {}", "technique-count"),
        ("technique = { forced = 0.1 }", "missing-argument"),
        ("technique = { polytomous = 0.1 }", "argument-type"),
        ("technique = { kuk = { no = 0.1, yes = [0.2] } }", "argument-type"),
        ('technique = { warner = 0.1 }\nlabels = ["no", "yes"]', "no-effect"),
        ("technique = { warner = 0.1 }\nepsilon = 1.0", "no-effect"),
        ('technique = { warner = 0.1 }\nmechanism = "a.json"', "two-sources"),
        (f'{FILES}\nchannel = "half"\ntechnique = {{ warner = 0.1 }}', "two-sources"),
        (FILES, "channel"),
        ('channel = "half"\nmechanism = "a.json"', "no-effect"),
        ('assigned = false\nmechanism = "a.json"', "no-effect"),
        ('channel = "half"\nmechanisms = { a = "a.json" }', "mechanism-count"),
        ('channel = "half"\nmechanisms = { a = "a.json", b = "none.json" }', "file"),
        (
            'channel = "half"\nmechanisms = { a = "a.json", b = "other.json" }',
            "answers-of-channels",
        ),
        (f'{FILES}\nchannel = "q"', "channel-column"),
        ('mechanism = "a.json"\nbehaviors = { lazy = "maybe" }', "behavior"),
        ('mechanism = "a.json"\nbehaviors = { lazy = [0.5, 0.6] }', "sum"),
        ('mechanism = "a.json"\nbehaviors = { no = "no" }', "duplicate-label"),
        ('mechanism = "a.json"\nbehaviors = {}', "impossible-behavior"),
        (
            'labels = ["a", "b", "c"]\nepsilon = 1.0\nworkload = "prefix"\n'
            'behaviors = { lazy = "uniform" }',
            "impossible-behavior",
        ),
        ('labels = ["a", "b"]\nepsilon = 1.0\nedges = [1, 2]', "edges"),
        ('labels = ["a", "b"]\nepsilon = 1.0\nedges = [1, 3, 2]', "edges"),
        ('labels = ["a", "b"]\nepsilon = 1.0\nedges = [1, inf, inf]', "edges"),
        ('labels = ["a", "b"]\nepsilon = 1.0\nedges = [1, 2, nan]', "finite-number"),
        (
            'labels = ["a", "b"]\nepsilon = 1.0\nworkload = "ranges"\nedges = [1, 2, 3]',
            "edges-workload",
        ),
        ('ticks = ["a", "b"]\nepsilon = 1.0\nedges = [1, 2, 3]', "edges-workload"),
        ("technique = { warner = 0.1 }\nedges = [1, 2]", "edges"),
        ('labels = ["a", "b"]\nepsilon = 1.0\nedges = ["x", 2, 3]', None),
        ('labels = ["a", "b"]\nepsilon = 1.0\nedge = [1, 2, 3]', None),
        ("technique = 3", None),
        ('channel = 3\nmechanism = "a.json"', None),
        (f'{FILES}\nchannel = "h"\nassigned = "no"', None),
        ('mechanism = "a.json"\nbehaviors = ["no"]', None),
    ],
)
def test_what_a_question_cannot_state_is_refused_by_file_and_key(
    folder: Path, text: str, code: str | None
) -> None:
    techniques.polytomous([0.1] * 3).save(folder / "other.json")
    path = folder / "s.toml"
    path.write_text(f"[question.q]\n{text}\n", encoding="utf-8")
    with pytest.raises(ModelFileError) as caught:
        Survey.from_toml(path)
    assert code in (None, caught.value.code), caught.value
    assert "s.toml" in caught.value.where
    if code != "channel-column":
        assert "question.q" in caught.value.where
    assert caught.value.do
    assert run_cli("survey", "solve", path).exit_code == 2


@pytest.mark.parametrize("scheme", ["joint", "best"])
@pytest.mark.parametrize(
    "more",
    ["technique = { warner = 0.1 }", f'{FILES}\nchannel = "h"', 'behaviors = { c = "no" }'],
)
def test_a_joint_report_has_no_models(folder: Path, scheme: str, more: str) -> None:
    labels = "" if "beh" not in more else 'labels = ["no", "yes"]\n'
    path = folder / "s.toml"
    path.write_text(
        f'epsilon = 2.0\nscheme = "{scheme}"\n[question.q]\n{labels}{more}\n'
        '[question.r]\nlabels = ["no", "yes"]\n'
    )
    with refused("own-budget", ModelFileError):
        Survey.from_toml(path)


def test_an_infinite_technique_has_no_part_of_a_budget(folder: Path) -> None:
    path = folder / "s.toml"
    path.write_text("epsilon = 2.0\n[question.q]\ntechnique = { mangat = 0.7 }\n")
    with refused("infinite-epsilon", ModelFileError) as caught:
        Survey.from_toml(path)
    assert "technique" in str(caught.value)
    path.write_text(f"epsilon = 2.0\n{HALVES}")
    with refused("infinite-epsilon", ModelFileError) as caught:
        Survey.from_toml(path)
    assert "mechanisms" in str(caught.value)


def test_a_technique_takes_its_part_of_a_budget(tmp_path: Path) -> None:
    text = 'epsilon = 3.0\n[question.q]\ntechnique = { warner = "1/6" }\n'
    path = solved(tmp_path, f'{text}[question.r]\nlabels = ["a", "b"]\n')
    assert Survey.load(path).budgets["r"] == pytest.approx(3 - log(5), abs=1e-9)
