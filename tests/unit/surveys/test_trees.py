"""Questions that depend on others: paths, odds in rationals, values by hand, tables, files, and
what is refused."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from builders import cli_json, refused, run_cli, thorough_or
from ldpopt import Mechanism, Sample, SecretKey, Survey, Workload, compare_schemes
from ldpopt.errors import ModelFileError
from ldpopt.estimation.planning import ratio_variances
from ldpopt.foundation.budget import Budget
from ldpopt.mechanism.conditions import count_paths, path_shares, paths_of
from ldpopt.mechanism.questions import Question
from ldpopt.studies.survey_simulation import simulate_survey
from ldpopt.surveys.shared import JointNumbers, path_workload, rows_of
from ldpopt.surveys.ticks import TicksQuestion, tick_workload
from tampering import with_digest

NONE = "no answer"
SCHEMES = ["split", "one_question", "fake_data", "joint"]
VALID = [(1, a, None) for a in range(4)] + [(0, None, b) for b in range(3)] + [(2, None, None)]
CIGARETTES = (0.45, 0.27, 0.18, 0.10)
EARLIER = (0.6, 0.3, 0.1)
SMOKES = (0.6, 0.3, 0.1)


def smoking(**more):
    """The survey of the prototype: two follow-ups on opposite branches, everybody may decline."""
    return {
        "smokes": Question(["no", "yes", NONE], missing_answer=NONE),
        "cigarettes": Question(
            ["few", "some", "many", NONE], missing_answer=NONE, only_if={"smokes": "yes"}, **more
        ),
        "earlier": Question(
            ["no", "yes", NONE], missing_answer=NONE, only_if={"smokes": "no"}, **more
        ),
    }


@cache
def asked_by(scheme, report="shared"):
    """The survey by a scheme."""
    return Survey(smoking(report=report), epsilon=3, scheme=scheme)


def people(size, seed=1):
    """Answers of people, empty where they are not asked or decline."""
    rng = np.random.default_rng(seed)
    smokes = rng.choice(["no", "yes", None], size, p=SMOKES)
    few = rng.choice(["few", "some", "many", None], size, p=CIGARETTES)
    earlier = rng.choice(["no", "yes", None], size, p=EARLIER)
    return pd.DataFrame(
        {
            "smokes": smokes,
            "cigarettes": np.where(smokes == "yes", few, None),
            "earlier": np.where(smokes == "no", earlier, None),
        }
    )


def randomized_response(labels, epsilon):
    k = len(labels)
    channel = np.full((k, k), 1 / (math.exp(epsilon) + k - 1))
    np.fill_diagonal(channel, math.exp(epsilon) / (math.exp(epsilon) + k - 1))
    return Mechanism(channel, labels)


def law_of_person(survey):
    """The exact probability of all reports of a person by the answers that a page can give."""
    columns = list(survey.asked.values())
    tables = [
        [[Fraction(int(mass), law.denominator) for mass in row] for row in law.counts]
        for law in (column.randomizer for column in columns)
    ]
    answers = [[None if code is None else code for code in row] for row in VALID]
    rows = []
    for answer in answers:
        codes = dict(zip(survey.questions, answer, strict=True))
        places = []
        for name, column in survey.asked.items():
            if column.parts:
                path = tuple(codes[part] for part in column.parts)
                places.append(column.paths.index(path))
            else:
                code = codes[name]
                places.append(column.place_of("not asked") if code is None else code)
        rows.append([table[place] for table, place in zip(tables, places, strict=True)])
    if survey.one_question is None:
        return [[math.prod(each) for each in itertools.product(*row)] for row in rows]
    d = len(columns)
    if not survey.has_fake_data:
        return [[p / d for part in row for p in part] for row in rows]
    means = [[sum(column) / len(table) for column in zip(*table, strict=True)] for table in tables]
    outcomes = list(itertools.product(*(range(len(mean)) for mean in means)))
    return [
        [
            sum(
                math.prod(row[j][y] if j == drawn else means[j][y] for j, y in enumerate(each))
                for drawn in range(d)
            )
            / d
            for each in outcomes
        ]
        for row in rows
    ]


@pytest.mark.parametrize("report", ["shared", "own"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_odds_of_a_person_are_exactly_those_of_all_reports(scheme, report):
    if scheme == "joint" and report == "own":
        pytest.skip("all questions of a joint survey have one report")
    survey = asked_by(scheme, report)
    law = law_of_person(survey)
    assert all(sum(row) == 1 for row in law)
    odds = max(max(column) / min(column) for column in zip(*law, strict=True))
    # which question was asked is a function of the path: gate no against gate yes, few, too
    assert odds <= survey.odds <= Budget(3).enclosure()[0]
    assert odds > Budget(3).enclosure()[0] * (1 - Fraction(1, 10**9 if report == "shared" else 4))


def test_a_tree_has_the_paths_that_a_page_can_give():
    survey = Survey({**smoking(), "drinks": ["no", "yes"]}, epsilon=3)
    assert survey.trees == {"smokes": ("smokes", "cigarettes", "earlier")}
    tree = survey.asked["smokes"]
    assert sorted(tree.paths, key=str) == sorted(VALID, key=str)
    assert len(tree.paths) == 8 == count_paths(tree.questions)
    assert tree.inputs[0] == "no / no"
    assert {"yes / few", "no / yes", NONE} <= set(tree.inputs)
    assert list(survey.asked) == ["smokes", "drinks"]
    # three of four questions have three quarters of the budget
    assert survey.budgets["cigarettes"] == pytest.approx(2.25)
    assert survey.budgets["drinks"] == pytest.approx(0.75)
    assert survey.column_of("earlier") == "smokes"


@pytest.mark.parametrize(
    ("questions", "epsilon", "name", "sd"),
    [
        ("all", 3, "cigarettes", 1.439),
        ("all", 3, "earlier", 0.851),
        ("all", 3, "smokes", 0.731),
        ("without earlier", 2, "cigarettes", 2.199),
    ],
)
def test_values_by_hand_of_randomized_response_on_paths(questions, epsilon, name, sd):
    """The standard deviations of one person's value, which the prototype has by plain loops."""
    parts = smoking()
    if questions != "all":
        parts.pop("earlier")
    paths = paths_of(parts)
    law = randomized_response([str(path) for path in paths], epsilon)
    inverse = np.linalg.inv(law.channel).T
    workload = path_workload(parts)
    place = rows_of(parts)[name]
    wanted = workload.matrix[place]
    names = list(parts[name].source.names)
    if name != "smokes":
        wanted = np.vstack([wanted, 1 - wanted.sum(axis=0)])
        names.append("not asked")

    class Source:
        mechanism = law
        left_inverse = inverse

    numbers = JointNumbers(Source(), names, wanted, wanted @ inverse)
    priors = {"smokes": SMOKES, "cigarettes": CIGARETTES, "earlier": EARLIER}
    prior = path_shares(parts, paths, priors)
    excluded = [names.index(each) for each in (NONE, "not asked") if each in names]
    variances = ratio_variances(numbers, excluded, prior[None], np.ones(1))
    label = {"cigarettes": "few", "earlier": "yes", "smokes": "yes"}[name]
    assert math.sqrt(variances[names.index(label)]) == pytest.approx(sd, abs=5e-4)


def test_the_value_by_hand_of_a_column_of_its_own():
    questions = {}
    for name, question in smoking().items():
        labels = [*question.inputs, *([] if name == "smokes" else ["not asked"])]
        law = randomized_response(labels, 1)
        questions[name] = Question(law, missing_answer=NONE, only_if=question.only_if)
    survey = Survey(questions)
    plan = survey.precision("cigarettes", prior=CIGARETTES, others={"smokes": SMOKES})
    assert math.sqrt(plan.variances[0]) == pytest.approx(5.086, abs=5e-4)
    with refused("prior-question"):
        survey.precision("cigarettes", others={"earlier": EARLIER})
    with refused("nobody-asked"):
        survey.precision("cigarettes", others={"smokes": [1, 0, 0]})


def test_one_report_needs_fewer_people_than_two():
    def variances(**more):
        follow = Question(["a", "b", "c"], only_if={"gate": "yes"}, **more)
        survey = Survey({"gate": ["no", "yes"], "follow": follow}, epsilon=1)
        gate = survey.precision("gate", prior=[0.7, 0.3]).variances[1]
        guess = {"gate": [0.7, 0.3]}
        return gate, survey.precision("follow", prior=[1 / 3] * 3, others=guess).variances[0]

    assert variances() == pytest.approx((2.62, 16.8), rel=0.05)
    assert variances(report="own") == pytest.approx((4.13, 92.6), rel=0.05)


@pytest.mark.parametrize("scheme", thorough_or(["one_question", "joint"], SCHEMES))
def test_simulated_intervals_cover(scheme):
    """With what `thorough` repeats, 12 cells of 400 surveys have coverages from .91 to .98."""
    survey = asked_by(scheme)
    shares = {"smokes": SMOKES, "cigarettes": CIGARETTES, "earlier": EARLIER}
    repeats = thorough_or(12, 400)
    found = simulate_survey(survey, 3000, shares=shares, repeats=repeats, rng=7)
    cells = {("smokes", "yes"): 1 / 3, ("cigarettes", "few"): 0.5, ("earlier", "yes"): 1 / 3}
    rows = found.set_index(["question", "answer"])
    for cell, truth in cells.items():
        row = rows.loc[cell]
        assert row.truth == pytest.approx(truth, abs=1e-12)
        low = 0.91 if repeats == 400 else 0.95 - 4 * math.sqrt(0.95 * 0.05 / repeats)
        assert low <= row.coverage <= (0.98 if repeats == 400 else 1)
        # the plan before anybody is asked has the error that is seen
        plan = survey.precision(
            cell[0],
            prior=shares[cell[0]],
            others=None if cell[0] == "smokes" else {"smokes": SMOKES},
        )
        if cell[0] != "smokes":
            error = math.sqrt(plan.variances[list(plan.names).index(cell[1])] / 3000)
            assert row.rmse == pytest.approx(error, rel=4 / math.sqrt(2 * repeats))
    not_asked = rows.loc[("cigarettes", "not asked")]
    assert not_asked.truth == pytest.approx(0.7)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_kind_of_table_gives_the_same_reports(scheme, tmp_path):
    survey = asked_by(scheme)
    answers = people(300).assign(id=range(300), region=["a", "b", "c"] * 100)
    key = SecretKey(b"k" * 32)
    reports = survey.privatize(answers, key=key, id="id")
    columns = list(survey.asked)
    assert set(reports.columns) == {*columns, "id", "region"}
    for table in (pl.from_pandas(answers), pa.Table.from_pandas(answers, preserve_index=False)):
        same = survey.privatize(table, key=key, id="id")
        for column in columns:
            assert list(map(str, _listed(same, column))) == list(map(str, reports[column]))
    answers.to_csv(tmp_path / "answers.csv", index=False)
    survey.privatize_file(
        tmp_path / "answers.csv", tmp_path / "reports.csv", keep=["region"], key=key, id="id"
    )
    written = pd.read_csv(tmp_path / "reports.csv", dtype=str, keep_default_na=False)
    for column in columns:
        assert written[column].tolist() == [
            "" if each is None or each != each else str(each) for each in reports[column]
        ]
    groups = survey.estimate(tmp_path / "reports.csv", by="region", check_fit=False)
    assert set(groups.groups) == {"a", "b", "c"}
    assert scheme not in thorough_or([], SCHEMES) or groups.differences("a").entries()
    assert groups.consistent()["cigarettes"].labels == groups["cigarettes"].labels


def _listed(table, column):
    values = table[column]
    return values.to_pylist() if hasattr(values, "to_pylist") else values.to_list()


def test_an_answer_to_a_question_that_is_not_asked_is_refused_with_its_row(tmp_path):
    for report in ("shared", "own"):
        survey = Survey(smoking(report=report), epsilon=3)
        answers = people(50)
        row = int(np.flatnonzero(answers["smokes"] == "no")[3])
        answers.loc[row, "cigarettes"] = "many"
        with refused("not-asked") as caught:
            survey.privatize(answers)
        assert f"row {row}" in str(caught.value)
        assert "many" not in str(caught.value)
        answers.to_csv(tmp_path / "answers.csv", index=False)
        with refused("not-asked") as caught:
            survey.privatize_file(tmp_path / "answers.csv", tmp_path / "reports.csv")
        assert f"row {row + 2}" in str(caught.value)
        assert not (tmp_path / "reports.csv").exists()
        answers.loc[row, "cigarettes"] = "not asked"  # nobody says it
        with refused("unknown-label"):
            survey.privatize(answers)


def test_an_empty_answer_of_somebody_who_is_asked_is_missing():
    questions = {"a": ["no", "yes"], "b": Question(["x", "y"], only_if={"a": "yes"})}
    survey = Survey(questions, epsilon=1)
    with refused("missing-answer"):
        survey.privatize(pd.DataFrame({"a": ["no", "yes"], "b": [None, None]}))
    assert len(survey.privatize(pd.DataFrame({"a": ["no", "yes"], "b": [None, "x"]}))) == 2


def test_a_table_of_a_gate_and_its_follow_up_has_zeros_where_nobody_can_be():
    survey = Survey({**smoking(), "drinks": ["no", "yes"]}, epsilon=4)
    answers = people(4000).assign(drinks=["no", "yes"] * 2000)
    reports = survey.privatize(answers, rng=3)
    table = survey.estimate_pair(reports, "smokes", "cigarettes").to_frame()
    impossible = [("no", "few"), ("yes", "not asked"), (NONE, "some"), (NONE, NONE)]
    assert (table.loc[impossible].to_numpy() == 0).all()
    alone = survey.estimate(reports)
    share = alone["cigarettes"].bounds.of_all.values
    assert table.loc[[("yes", "few")], "estimate"].iloc[0] == pytest.approx(share[0], abs=1e-12)
    assert table["estimate"].sum() == pytest.approx(1)
    truth = ((answers["smokes"] == "yes") & (answers["cigarettes"] == "few")).mean()
    assert abs(table.loc[[("yes", "few")], "estimate"].iloc[0] - truth) < 0.05
    # of two columns the product of their reports
    other = survey.estimate_pair(reports, "cigarettes", "drinks").to_frame()
    truth = ((answers["cigarettes"] == "few") & (answers["drinks"] == "yes")).mean()
    assert other.loc[[("few", "yes")], "low"].iloc[0] <= truth
    assert truth <= other.loc[[("few", "yes")], "high"].iloc[0]
    assert survey.estimate_pair(reports, "drinks", "smokes").labels[0] == ("no", "no")
    for call in (survey.independence, survey.estimate_pair):
        with refused("tree" if call == survey.independence else "same-question"):
            call(reports, "smokes", "smokes")
    for formula in ("smokes ~ 1", "drinks ~ cigarettes"):
        with refused("tree"):
            survey.regress(formula, reports)
    assert survey.regress("drinks ~ 1", reports).params is not None


def test_a_table_of_two_follow_ups_of_one_branch_has_to_be_named():
    questions = {
        "gate": ["no", "yes"],
        "one": Question(["a", "b", "c"], only_if={"gate": "yes"}),
        "two": Question(["x", "y", "z"], only_if={"gate": ["yes"]}),
    }
    survey = Survey(questions, epsilon=4)
    answers = pd.DataFrame(
        {"gate": ["no", "yes", "yes", "yes"] * 500, "one": [None, "a", "b", "b"] * 500}
    ).assign(two=[None, "x", "x", "z"] * 500)
    with refused("unnamed-pair"):
        survey.estimate_pair(survey.privatize(answers, rng=1), "one", "two")
    named = Survey(questions, epsilon=4, pairs=[("one", "two")])
    assert named.asked["gate"].source.workload.shape[0] == 8 + 10
    table = named.estimate_pair(named.privatize(answers, rng=1), "one", "two").to_frame()
    assert table.loc[[("b", "z")], "low"].iloc[0] <= 0.25 <= table.loc[[("b", "z")], "high"].iloc[0]
    assert (table.loc[[("a", "not asked")]].to_numpy() == 0).all()
    for pairs in ([("one", "nine")], [("one", "one")], [("one",)]):
        with refused("question" if pairs == [("one", "nine")] else "two-questions"):
            Survey(questions, epsilon=4, pairs=pairs)
    with refused("apart"):
        Survey({**questions, "free": ["no", "yes"]}, epsilon=4, pairs=[("one", "free")])


def test_numbers_and_ticks_of_a_tree():
    ages = [18.0, 30.0, 50.0]
    sets = tick_workload(["cough", "fever"])
    shares = Workload(sets.matrix[1::2], sets.inputs, ["cough", "fever"])
    questions = {
        "ill": ["no", "yes"],
        "signs": TicksQuestion(shares, ticks=("cough", "fever"), only_if={"ill": "yes"}),
        "since": Question(
            Workload.mean(ages, inputs=["a", "b", "c"]).with_missing(NONE),
            missing_answer=NONE,
            only_if={"signs": "fever"},
        ),
    }
    survey = Survey(questions, epsilon=4)
    # of four sets of ticks two have fever: no, none, cough, and two with four answers each
    assert len(survey.asked["ill"].paths) == 1 + 2 + 2 * 4
    size = 6000
    rng = np.random.default_rng(2)
    ill = rng.choice(["no", "yes"], size, p=[0.4, 0.6])
    signs = np.where(
        ill == "yes", rng.choice(["none", "cough", "fever", "cough;fever"], size), None
    )
    is_asked = np.array([text is not None and "fever" in text for text in signs])
    since = np.where(
        is_asked, rng.choice(["a", "b", "c", None], size, p=[0.2, 0.3, 0.4, 0.1]), None
    )
    answers = pd.DataFrame({"ill": ill, "signs": signs, "since": since})
    estimates = survey.estimate(survey.privatize(answers, rng=4))
    mean = (0.2 * 18 + 0.3 * 30 + 0.4 * 50) / 0.9
    assert estimates["since"].labels == ("mean", NONE, "not asked")
    assert abs(estimates["since"].values[0] - mean) < 4 * estimates["since"].std_error[0]
    assert estimates["signs"].labels == ("cough", "fever", "not asked")
    assert np.abs(estimates["signs"].values - [0.5, 0.5, 0.4]).max() < 0.1
    with refused("condition-answer"):
        Survey({**questions, "since": Question(["a", "b"], only_if={"signs": "none"})}, epsilon=4)


def test_more_than_64_paths_have_columns_of_their_own():
    questions = {
        "gate": ["no", "perhaps", "yes"],
        **{f"q{k}": Question(list("abcd"), only_if={"gate": "yes"}) for k in range(3)},
    }
    assert (
        count_paths({k: Question(q) if isinstance(q, list) else q for k, q in questions.items()})
        == 66
    )
    survey = Survey(questions, epsilon=8)
    assert survey.trees == {}
    assert survey.questions["q1"].inputs[-1] == "not asked"
    assert [round(each, 6) for each in survey.budgets.values()] == [2, 2, 2, 2]
    few = {name: questions[name] for name in ("gate", "q0", "q1")}
    assert len(Survey(few, epsilon=8).asked["gate"].paths) == 18


def test_the_share_that_is_there_twice_tests_the_logic_of_a_page():
    survey = Survey(smoking(report="own"), epsilon=6)
    reports = survey.privatize(people(4000), rng=1)
    estimates = survey.estimate(reports)
    cigarettes = estimates.asked_twice[0]
    assert (cigarettes.question, cigarettes.gate) == ("cigarettes", "smokes")
    assert abs(cigarettes.difference) < 4 * cigarettes.std_error
    assert any("there twice" in note for note in estimates.notes())
    # a page that asks the wrong people: those who do not smoke
    others = people(4000).rename(columns={"cigarettes": "earlier", "earlier": "cigarettes"})
    others["smokes"] = others["smokes"].replace({"no": "yes", "yes": "no"})
    few = {"no": "few", "yes": "many"}
    others["cigarettes"] = others["cigarettes"].replace(few)
    others["earlier"] = others["earlier"].replace({"few": "no", "some": "no", "many": "yes"})
    wrong = reports.assign(cigarettes=survey.privatize(others, rng=2)["cigarettes"])
    difference = survey.estimate(wrong, check_fit=False).asked_twice[0]
    assert difference.difference > 10 * difference.std_error


@pytest.mark.parametrize("scheme", thorough_or(["one_question"], SCHEMES[:3]))
def test_the_error_of_the_share_that_is_there_twice(scheme):
    survey = Survey(smoking(report="own"), epsilon=4, scheme=scheme)
    scores = []
    repeats = thorough_or(12, 60)
    for seed in range(repeats):
        reports = survey.privatize(people(2000, seed), rng=seed)
        twice = survey.estimate(reports, check_fit=False).asked_twice
        scores += [each.difference / each.std_error for each in twice]
    assert abs(np.mean(scores)) < 4 / math.sqrt(repeats)
    assert np.std(scores) == pytest.approx(1, abs=4 / math.sqrt(2 * repeats))


def test_an_answer_that_is_meant_otherwise():
    questions = {
        "smokes": Question(["no", "yes", NONE], missing_answer=NONE),
        "number": Question(
            ["none", "few", "many", NONE],
            missing_answer=NONE,
            only_if={"smokes": "yes"},
            otherwise="none",
        ),
        "brand": Question(["x", "y"], only_if={"number": ["few", "many"]}),
    }
    survey = Survey(questions, epsilon=9)
    # the number begins a tree of its own
    assert survey.trees == {"number": ("number", "brand")}
    assert "not asked" not in survey.questions["number"].inputs
    answers = pd.DataFrame(
        {
            "smokes": ["no", "yes", "yes", None] * 500,
            "number": [None, "none", "many", None] * 500,
            "brand": [None, None, "x", None] * 500,
        }
    )
    estimates = survey.estimate(survey.privatize(answers, rng=1))
    number = dict(zip(estimates["number"].labels, estimates["number"].values, strict=True))
    # who declines to say whether they smoke does not count as one who smokes none
    assert number["none"] == pytest.approx(2 / 3, abs=0.05)
    assert number[NONE] == pytest.approx(0.25, abs=0.05)
    assert "not asked" not in number
    pairs = {
        "smokes": ["no", "yes"],
        "daily": Question(["no", "yes"], only_if={"smokes": "yes"}, otherwise="no"),
    }
    joint = Survey(pairs, epsilon=3, scheme="joint")
    assert type(joint.joint.source).__name__ == "YesNoPatterns"
    reports = joint.privatize(
        pd.DataFrame({"smokes": ["no", "yes", "yes"] * 800, "daily": [None, "yes", "no"] * 800}),
        rng=1,
    )
    assert joint.estimate(reports)["daily"].values[1] == pytest.approx(1 / 3, abs=0.06)
    with refused("otherwise-missing"):
        Survey(
            {
                "smokes": Question(["no", "yes", NONE], missing_answer=NONE),
                "number": Question(["none", "few"], only_if={"smokes": "yes"}, otherwise="none"),
            },
            epsilon=2,
        )


def test_a_tree_on_an_answer_of_a_report_of_its_own():
    questions = smoking()
    questions["cigarettes"] = Question(["few", "many"], only_if={"smokes": "yes"}, report="own")
    questions["brand"] = Question(["x", "y"], only_if={"cigarettes": "many"})
    survey = Survey(questions, epsilon=12)
    assert survey.trees == {"smokes": ("smokes", "earlier"), "cigarettes": ("cigarettes", "brand")}
    assert survey.asked["cigarettes"].paths == ((0, None), (1, 0), (1, 1), (2, None))
    answers = people(3000)
    answers["cigarettes"] = np.where(
        answers["smokes"] == "yes", np.where(np.arange(3000) % 3 == 0, "few", "many"), None
    )
    answers["brand"] = np.where(answers["cigarettes"] == "many", "x", None)
    estimates = survey.estimate(survey.privatize(answers, rng=1))
    assert estimates["cigarettes"].values[0] == pytest.approx(1 / 3, abs=0.06)
    assert estimates["brand"].values[0] == pytest.approx(1, abs=0.06)
    truth = (answers["cigarettes"] != "many").mean()
    assert estimates["brand"].values[-1] == pytest.approx(truth, abs=0.05)


def test_conditions_that_are_refused():
    gate = ["no", "yes"]
    cases = [
        ({"a": gate, "b": Question(gate, only_if={"c": "yes"})}, "question"),
        ({"b": Question(gate, only_if={"a": "yes"}), "a": gate}, "later-question"),
        ({"b": Question(gate, only_if={"b": "yes"})}, "later-question"),
        ({"a": gate, "b": Question(gate, only_if={"a": "perhaps"})}, "condition-answer"),
        (
            {"a": Question(gate, "leave_out"), "b": Question(gate, only_if={"a": "yes"})},
            "leave-in-tree",
        ),
        (
            {"a": gate, "b": Question(gate, "leave_out", only_if={"a": "yes"}, report="own")},
            "leave-in-tree",
        ),
        (
            {"a": gate, "b": Question(["x", "not asked"], only_if={"a": "yes"})},
            "not-asked-label",
        ),
        (
            {
                "a": gate,
                "b": Question(gate, only_if={"a": "yes"}),
                "c": Question(gate, only_if={"a": "no", "b": "yes"}),
            },
            "never-asked",
        ),
        (
            {"a": gate, "b": Question(randomized_response(gate, 1), only_if={"a": "yes"})},
            "no-answer-otherwise",
        ),
    ]
    for questions, code in cases:
        with refused(code):
            Survey(questions, epsilon=3)
    with refused("mechanism"):
        Survey({"a": gate, "b": Question(gate, only_if={"a": "yes"})})
    with refused("own-report"):
        Survey(
            {"a": gate, "b": Question(gate, only_if={"a": "yes"}, report="own")},
            epsilon=3,
            scheme="joint",
        )
    for fields, code in (
        ({"only_if": {}}, "condition"),
        ({"only_if": "a"}, "condition"),
        ({"only_if": {"a": []}}, "condition"),
        ({"otherwise": "no"}, "no-condition"),
        ({"report": "own"}, "no-condition"),
        ({"report": "none"}, "choice"),
        ({"only_if": {"a": "yes"}, "otherwise": "perhaps"}, "otherwise"),
    ):
        with refused(code):
            Question(gate, **fields)


@pytest.mark.parametrize("scheme", thorough_or(["split", "joint"], SCHEMES))
def test_a_file_has_the_tree_and_what_it_says_is_compared(scheme, tmp_path):
    survey = Survey(smoking(), epsilon=3, scheme=scheme, pairs=[("smokes", "earlier")])
    path = tmp_path / "survey.json"
    survey.save(path)
    again = Survey.load(path)
    assert again.trees == survey.trees
    assert again.odds == survey.odds
    assert again.form() == survey.form()
    assert again.pairs == survey.pairs
    answers = people(200)
    both = [each.privatize(answers, rng=5) for each in (survey, again)]
    assert both[0].equals(both[1])
    assert cli_json("survey", "certify", path, "--independent")["holds"]
    data = json.loads(path.read_text(encoding="utf-8"))
    for name, changed in forged(data, scheme):
        path.write_text(json.dumps(with_digest(changed)), encoding="utf-8")
        with pytest.raises(ModelFileError):
            Survey.load(path)
        done = run_cli("survey", "certify", path)
        assert done.exit_code, name
    path.write_text(json.dumps({**data, "title": "x"}), encoding="utf-8")
    with refused("changed-file", ModelFileError):
        Survey.load(path)


def forged(data, scheme):
    """Files that say something else of a tree, with a digest that fits."""

    def changed(change):
        copy = json.loads(json.dumps(data))
        change(copy)
        return copy

    def question(copy, **fields):
        copy["questions"]["cigarettes"].update(fields)

    yield "another gate", changed(lambda copy: question(copy, only_if={"smokes": ["no"]}))
    yield "no gate", changed(lambda copy: copy["questions"]["cigarettes"].pop("only_if"))
    yield "unknown", changed(lambda copy: question(copy, only_if={"drinks": ["no"]}))
    yield "no list", changed(lambda copy: question(copy, only_if={"smokes": "yes"}))
    yield "otherwise", changed(lambda copy: question(copy, otherwise="few"))
    yield "a pair", changed(lambda copy: copy.update(pairs=[["cigarettes", "earlier"]]))
    yield "no pair", changed(lambda copy: copy.pop("pairs"))
    if scheme == "joint":
        return
    tree = ["trees", "smokes"]
    yield "own", changed(lambda copy: question(copy, report="own"))
    yield "fewer", changed(lambda copy: copy["trees"]["smokes"].update(of=["smokes", "earlier"]))
    order = ["smokes", "earlier", "cigarettes"]
    yield "order", changed(lambda copy: copy["trees"]["smokes"].update(of=order))
    yield "none", changed(lambda copy: copy.pop("trees"))
    yield "name", changed(lambda copy: copy["trees"].update(x=copy["trees"].pop(tree[1])))

    def masses(copy):
        certificate = copy["trees"]["smokes"]["design"]
        key = next(key for key in ("masses", "channel", "columns") if key in certificate)
        table = certificate[key]
        row = table[0] if isinstance(table, list) else table[next(iter(table))]
        row[0], row[1] = row[1], row[0]

    yield "masses", changed(masses)


@pytest.mark.parametrize("report", ["shared", "own"])
@pytest.mark.parametrize("scheme", ["split", "fake_data"])
def test_quantiles_samples_and_weights_of_those_who_are_asked(scheme, report):
    labels = [1, 2, 3, 4]
    follow = Question(
        Workload.prefix(list(map(str, labels))).with_missing("-"),
        missing_answer="-",
        only_if={"gate": "yes"},
        report=report,
        edges=[0, 10, 20, 30, 40],
    )
    questions = {"gate": ["no", "yes"], "age": follow, "other": ["a", "b"]}
    survey = Survey(questions, epsilon=9, scheme=scheme)
    rng = np.random.default_rng(1)
    size = 4000
    answers = pd.DataFrame({"gate": rng.choice(["no", "yes"], size), "other": "a"})
    age = np.array(["1", "2", "3", "4", None])[rng.choice(5, size, p=[0.2, 0.3, 0.3, 0.1, 0.1])]
    answers["age"] = np.where(answers["gate"] == "yes", age, None)
    answers["school"] = np.arange(size) % 50
    answers["weight"] = rng.random(size) + 0.5
    reports = survey.privatize(answers, rng=1)
    estimates = survey.estimate(reports)
    assert estimates["age"].labels == ("<= 1", "<= 2", "<= 3", "-", "not asked")
    # half of those who answered are at most 20 less a sixth of a class
    median = estimates.quantile(0.5)["age"]
    assert median.interval[0, 0] < 10 + 10 * 0.25 / 0.3 < median.interval[0, 1]
    for more in ({"sample": Sample(clusters="school")}, {"weights": "weight"}):
        other = survey.estimate(reports, **more)["age"]
        ratio = other.std_error / estimates["age"].std_error
        assert ((ratio > 0.7) & (ratio < 1.5)).all()
        truth = [0.2 / 0.9, 0.5 / 0.9, 0.8 / 0.9, 0.05, 0.5]
        assert (np.abs(other.values - truth) < 5 * other.std_error).all()
    narrow = estimates["age"].at(0.5).interval
    assert (np.ptp(narrow, axis=1) < np.ptp(estimates["age"].interval, axis=1)).all()


def test_schemes_are_compared_with_a_tree_as_one_report():
    questions = {**smoking(), "drinks": Question(["no", "yes"])}
    compared = compare_schemes(questions, 1.0, priors={"smokes": SMOKES})
    assert set(compared.variances) == {"split", "one_question", "joint"}
    split = Survey(questions, epsilon=1)
    drawn = Survey(questions, epsilon=1, scheme="one_question")
    equal = {name: [1 / len(each.inputs)] * len(each.inputs) for name, each in questions.items()}
    for survey in (split, drawn):
        for name in questions:
            others = {} if name in ("smokes", "drinks") else {"smokes": SMOKES}
            prior = SMOKES if name == "smokes" else equal[name]
            plan = survey.precision(name, prior=prior, others=others)
            found = compared.variances[survey.scheme][name]
            assert found == pytest.approx(plan.variances.mean(), rel=1e-3)
    assert compared.best == min(compared.average, key=compared.average.get)
    own = compare_schemes({**questions, **smoking(report="own")}, 1.0)
    assert "joint" not in own.variances
    assert own.average["split"] > compared.average["split"]


def test_words_of_the_budget_and_of_plans(tmp_path):
    path = tmp_path / "survey.json"
    Survey({**smoking(), "drinks": ["no", "yes"]}, epsilon=4).save(path)
    people(50).assign(drinks="no").to_csv(tmp_path / "answers.csv", index=False)
    done = run_cli(
        *("survey", "privatize", path, tmp_path / "answers.csv", "-o", tmp_path / "reports.csv")
    )
    assert "smokes and cigarettes and earlier 3, drinks 1" in done.stderr
    for option in (("--people", "900"), ("--difference", "0.1")):
        assert "cigarettes, earlier" in run_cli("survey", "plan", path, *option).stderr


def test_a_mean_of_large_numbers_leaves_precision_for_the_question_before_it():
    """The variance of one report on both is that of two reports with half of the budget, at most:
    a workload in the unit of the numbers would be about these alone."""
    mean = Workload.mean([18, 40, 60, 99], inputs=list("abcd"))
    plans = []
    for report in ("shared", "own"):
        follow = Question(mean, only_if={"gate": "yes"}, report=report)
        survey = Survey({"gate": ["no", "yes"], "age": follow}, epsilon=2)
        gate = survey.precision("gate", prior=[0.7, 0.3]).variances[1]
        age = survey.precision("age", prior=[1 / 4] * 4, others={"gate": [0.7, 0.3]})
        assert age.names == ("mean", "not asked")
        plans.append((gate, age.variances[0]))
    assert plans[0][0] < plans[1][0]
    assert plans[0][1] < plans[1][1] / 2
    answers = pd.DataFrame({"gate": ["no", "yes"] * 2000, "age": [None, "c"] * 2000})
    estimate = survey.estimate(survey.privatize(answers, rng=1))["age"]
    assert abs(estimate.values[0] - 60) < 4 * estimate.std_error[0]
