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

from builders import refused, run_cli, thorough_or
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


def halves(**options: Any) -> Survey:
    laws = {"a": techniques.warner(0.2), "b": Mechanism([[0.6, 0.4], [0.1, 0.9]], ["no", "yes"])}
    return Survey({"q": ReportModel(laws, column="half", **options), "r": coin(0.75)})


def answers(size: int = 4000) -> pd.DataFrame:
    rows = np.arange(size)
    table = {"q": np.where(rows % 4, "no", "yes"), "r": np.where(rows % 3, "no", "yes")}
    return pd.DataFrame({**table, "half": np.where(rows // 4 % 2, "a", "b"), "town": rows // 8 % 5})


@pytest.mark.parametrize("keyed", [False, True])
def test_each_person_reports_by_the_own_mechanism(tmp_path: Path, keyed: bool) -> None:
    """The shares of the reports of each half are those of its mechanism; the half stays clear."""
    table = answers(20000).assign(id=np.arange(20000))
    options: dict[str, Any] = {"key": bytes(range(32)), "id": "id"} if keyed else {"rng": 5}
    survey = halves()
    table.to_csv(tmp_path / "a.csv", index=False)
    assert survey.privatize_file(tmp_path / "a.csv", tmp_path / "r.csv", **options) == 20000
    from_file = pd.read_csv(tmp_path / "r.csv")
    assert list(from_file) == ["q", "r", "half"]
    from_frame = survey.privatize(table, **options)
    if keyed:
        assert from_file["q"].tolist() == from_frame["q"].tolist()
    for reports in (from_file, from_frame):
        assert reports["half"].tolist() == table["half"].tolist()
        for name, part in zip("ab", survey.questions["q"].source.parts, strict=True):
            for x, answer in enumerate(("no", "yes")):
                drawn = reports["q"][(table["half"] == name) & (table["q"] == answer)]
                share = (drawn == "yes").mean() if len(drawn) else part.channel[x, 1]
                spread = np.sqrt(0.25 / max(len(drawn), 1))
                assert abs(share - part.channel[x, 1]) < 5 * spread


def test_files_of_every_kind_show_who_has_which_mechanism(tmp_path: Path) -> None:
    survey = halves()
    reports = survey.privatize(answers(), rng=1)
    right = survey.estimate(reports)["q"]
    folder = tmp_path / "folder"
    folder.mkdir()
    reports.to_parquet(tmp_path / "r.parquet")
    reports[:1000].to_parquet(folder / "a.parquet")
    reports[1000:].to_parquet(folder / "b.parquet")
    reports.to_csv(tmp_path / "r.csv", index=False)
    from ldpopt import count_folder

    for counted in (
        str(tmp_path / "r.parquet"),
        str(tmp_path / "r.csv"),
        count_folder(folder, survey),
        survey.count(reports[:1500]) | {},
    ):
        found = survey.estimate(counted)["q"]
        if not isinstance(counted, dict) or counted["q"].n_reports == 4000:
            assert found.values.tolist() == right.values.tolist()
            assert found.std_error.tolist() == right.std_error.tolist()
    groups = survey.estimate(str(tmp_path / "r.csv"), by="town").groups
    for town in range(5):
        alone = survey.estimate(reports[reports["town"] == town])["q"]
        key = next(group for group in groups if str(group) == str(town))
        assert groups[key]["q"].values == pytest.approx(alone.values, rel=1e-12)


def test_groups_are_compared_where_their_people_have_several_mechanisms() -> None:
    survey = halves()
    found = survey.estimate(survey.privatize(answers(), rng=1), by="town")
    difference = found.differences("0")[(1, 0)]["q"]
    first, second = (found.groups[town]["q"] for town in (1, 0))
    assert difference.values == pytest.approx(first.values - second.values)
    variance = first.std_error**2 + second.std_error**2
    assert difference.std_error == pytest.approx(np.sqrt(variance), rel=1e-9)
    assert found.consistent().groups[0]["q"].values.min() >= 0
    with refused("several-channels"):
        found.independence("q")
    assert found.independence("r").p_value > 0.001


def test_values_are_those_of_the_own_mechanism() -> None:
    survey = halves()
    reports = survey.privatize(answers(20000), rng=1)
    values = survey.values(reports)
    for name in ("a", "b"):
        mean = values["q: yes"][reports["half"] == name].mean()
        right = (answers(20000)["q"][answers(20000)["half"] == name] == "yes").mean()
        assert mean == pytest.approx(right, abs=0.05)
    model = techniques.cheating_detection(0.25, 0.75, column="half")
    with refused("values-of-channels"):
        Survey({"q": model}).values(table_of(SEEN, "half", "q"))


def test_regressions_read_the_column_of_the_mechanisms(folder: Path) -> None:
    pytest.importorskip("formulaic")
    done = run_cli(
        *("survey", "regress", solved(folder, HALVES), folder / "halves.csv", "q ~ 1"),
        *("--json", "-"),
    )
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["coefficients"]
    assert row["estimate"] == pytest.approx(log(0.275 / 0.62), abs=1e-3)
    path = solved(folder, f"{BUDGETS}assigned = false")
    done = run_cli("survey", "regress", path, folder / "budgets.csv", "smokes ~ 1")
    assert done.exit_code == 2
    assert "budget" in done.output
    done = run_cli("survey", "regress", path, folder / "budgets.csv", "smokes ~ C(budget)")
    assert done.exit_code == 0, done.output


def test_the_promise_is_that_of_the_worst_mechanism(folder: Path) -> None:
    """The account holds for each mechanism, and is attained by one of them."""
    survey = halves()
    laws = [part.mechanism for part in survey.questions["q"].source.parts]
    assert survey.budgets["q"] == max(law.audit().epsilon for law in laws)
    alone = Survey({"q": survey.questions["q"]})
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        worst = max(Survey({"q": law}).account().delta(epsilon) for law in laws)
        assert alone.account().delta(epsilon) == pytest.approx(float(worst), rel=1e-9)
    twice = max(Survey({"q": law}).account(2).delta(1.0) for law in laws)
    assert alone.account(2).delta(1.0) >= twice * (1 - 1e-9)
    curve = alone.account()
    assert "Not all pairs" not in curve.in_words
    curve.prove(1e-3).save(folder / "account.json")
    assert run_cli("certify", folder / "account.json").exit_code == 0
    import ldpopt_check

    assert ldpopt_check.main([str(folder / "account.json")]) == 0


def test_whose_answer_is_told_is_said_of_each_mechanism(folder: Path) -> None:
    path = solved(folder, HALVES)
    text = " ".join(run_cli("survey", "check", path).stdout.split())
    for half, chance in ((1, "0.75"), (2, "0.25")):
        assert f"people of half {half}: the report “no” can only come from the answer" in text
        assert f"“no” with probability {chance}" in text
    out = folder / "page.html"
    assert run_cli("survey", "report", path, "-o", out).exit_code == 0
    page = out.read_text()
    assert "kept as it is beside the reports of each person: <b>half</b>" in page
    assert "people of half 1" in page


def test_plans_have_the_errors_of_equal_halves(folder: Path) -> None:
    """The variance of a person within the halves: that of an estimate of as many people in each."""
    survey = Survey.load(solved(folder, HALVES))
    plan = survey.precision("q", prior=[0.620, 0.275, 0.105])
    assert plan.half_width(2000) / plan.quantile == pytest.approx(
        [0.041833, 0.024486, 0.022230], abs=2e-6
    )
    worst = survey.precision("q").half_width(2000) / plan.quantile
    rng = np.random.default_rng(1)
    tried = [
        survey.precision("q", prior=rng.dirichlet(np.full(3, 0.5))).half_width(2000)
        for _ in range(300)
    ]
    largest = np.max(tried, axis=0) / plan.quantile
    assert (largest <= worst * (1 + 1e-9)).all()
    assert (largest >= 0.97 * worst).all()
    with refused("moments-of-channels"):
        from ldpopt.estimation.power import plan_difference

        plan_difference(survey.questions["q"].source, 0.1)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("form", "-o", "page.html"), "device-channel"),
        (("account", "--shuffled", "100"), "model"),
        (("estimate", "halves.csv", "--pair", "q", "q"), "model"),
    ],
)
def test_what_several_mechanisms_do_not_have_is_refused(
    folder: Path, args: tuple[str, ...], code: str
) -> None:
    path = solved(folder, HALVES)
    command, *more = (str(folder / a) if "." in a else a for a in args)
    done = run_cli("survey", command, path, *more, "--json", folder / "out.json")
    assert done.exit_code in (1, 2)
    assert json.loads((folder / "out.json").read_text())["error"]["code"] == code


def test_more_of_what_models_do_not_have() -> None:
    table = table_of(SEEN, "half", "q")
    model = techniques.cheating_detection(0.25, 0.75, column="half")
    survey = Survey({"q": model})
    with refused("model"):
        Survey({"q": model, "r": coin(0.75)}, scheme="fake_data")
    with refused("channel-column"):
        Survey({"q": ReportModel({1: coin(0.7), 2: coin(0.8)})})
    with refused("no-behaviors"):
        Survey({"r": coin(0.75)}).estimate(pd.DataFrame({"r": ["no"] * 9}), followers=True)
    with refused("channel"):
        survey.estimate(table.assign(half=3))
    with refused("missing-channel"):
        survey.privatize(table.assign(half=[None, *table["half"][1:]]))
    with refused("edges-of-ticks"):
        from ldpopt.surveys.ticks import TicksQuestion, tick_workload

        TicksQuestion(tick_workload(("x", "y")), ticks=("x", "y"), edges=[1, 2])


def test_one_question_is_drawn_with_several_mechanisms() -> None:
    laws = {"a": coin(0.75), "b": coin(0.9)}
    model = ReportModel(laws, column="half")
    survey = Survey({"q": model, "r": coin(0.75)}, scheme="one_question")
    reports = survey.privatize(answers(20000), rng=2)
    assert reports["q"].notna().mean() == pytest.approx(0.5, abs=0.02)
    assert survey.estimate(reports)["q"].values[1] == pytest.approx(0.25, abs=0.05)


def test_simulated_surveys_have_cheaters(folder: Path) -> None:
    path = solved(folder, HALVES)
    (folder / "shares.toml").write_text("[q]\nno = 0.62\nyes = 0.275\ncheater = 0.105\n")
    repeats = str(thorough_or(30, 60))
    options = ("--people", "2000", "--repeats", repeats, "--seed", "3", "--json", "-")
    done = run_cli("survey", "simulate", path, "--shares", folder / "shares.toml", *options)
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["estimates"]
    assert [row["truth"] for row in rows] == pytest.approx([0.62, 0.275, 0.105])
    assert [row["rmse"] for row in rows] == pytest.approx([0.0418, 0.0245, 0.0222], rel=0.3)
    assert min(row["coverage"] for row in rows) > 0.85


def test_a_behavior_that_reports_do_not_show_is_warned_of(tmp_path: Path) -> None:
    text = '[question.q]\ntechnique = { warner = "1/6" }\nbehaviors = { careless = "uniform" }\n'
    (tmp_path / "s.toml").write_text(text)
    done = run_cli("survey", "solve", tmp_path / "s.toml")
    assert done.exit_code == 0
    assert "'careless'" in done.stderr
