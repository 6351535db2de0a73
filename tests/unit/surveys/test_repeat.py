"""Questions that are asked twice: two answers become one report, the shares of careful people and
of careless ones follow from it, and what does not follow is refused by name."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from builders import cli_json, cli_output, refused, thorough_or
from ldpopt import PureLDP, Question, Sample, Survey, Workload, compare_schemes, design
from ldpopt.errors import ModelFileError
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.linear import estimator_of
from ldpopt.fieldwork import page
from ldpopt.fieldwork.frame_words import OF_REPEATED, words_of_language
from ldpopt.frequencies import RandomizedResponse
from ldpopt.mechanism.questions import INCONSISTENT
from ldpopt.studies.folders import privatize_folder
from ldpopt.studies.survey_simulation import simulate_survey
from ldpopt.surveys.form import form_digest
from ldpopt.surveys.repeat import CARELESS, RepeatedQuestion, careless_values, repeated
from ldpopt.surveys.ticks import TicksQuestion, tick_workload

LABELS = ["a", "b", "c", "d"]
SHARES = np.array([0.55, 0.25, 0.15, 0.05])
SURVEY = """
epsilon = 3.0
[question.theft]
labels = ["no", "yes"]
prior = { no = 9, yes = 1 }
repeat = true
text = "Did you?"
[question.grade]
labels = [1, 2, 3]
workload = "mean"
missing = "answer"
repeat = true
[question.age]
number = { starts = [18, 30, 45], most = 99 }
repeat = true
[question.plain]
labels = ["no", "yes"]
"""


def reduced_shares(shares: np.ndarray, careless: float) -> np.ndarray:
    """Shares of the common answers, and last of inconsistent ones: what everybody draws, twice."""
    n = len(shares)
    pairs = (1 - careless) * np.diag(shares) + careless / n**2
    return np.append(np.diag(pairs), pairs.sum() - np.trace(pairs))


def people(size: int, careless: float, seed: int = 1, labels=LABELS, shares=SHARES) -> pd.DataFrame:
    """Two columns of answers of people of whom a share answers at random."""
    rng = np.random.default_rng(seed)
    first = rng.choice(len(labels), size, p=shares)
    second = first.copy()
    is_careless = rng.random(size) < careless
    first[is_careless] = rng.integers(0, len(labels), is_careless.sum())
    second[is_careless] = rng.integers(0, len(labels), is_careless.sum())
    names = np.array(labels, dtype=object)
    return pd.DataFrame({"x": names[first], "x again": names[second]})


def asked(**fields) -> Survey:
    return Survey({"x": Question(LABELS, repeat=True, **fields)}, epsilon=2.0)


def test_the_shares_of_careful_and_careless_people_are_exact_from_exact_shares():
    for n in range(2, 7):
        weights = [Fraction(k * k + 1) for k in range(n)]
        shares = [weight / sum(weights) for weight in weights]
        for c in (Fraction(0), Fraction(1, 10), Fraction(2, 7), Fraction(1, 2)):
            # everybody counted: careful people repeat, careless ones give each pair as often
            pairs = {(x, y): c / n**2 for x, y in itertools.product(range(n), repeat=2)}
            for x in range(n):
                pairs[x, x] += (1 - c) * shares[x]
            s = [pairs[x, x] for x in range(n)]
            differing = sum(share for (x, y), share in pairs.items() if x != y)
            more, less = careless_values(n)
            assert more * differing == c
            assert [(s[x] - less * differing) / (1 - more * differing) for x in range(n)] == shares
            numbers = asked_of(n).questions["x"].numbers
            exact = [[Fraction(int(x == y)) for y in range(n)] + [-less] for x in range(n)]
            exact.append([Fraction(0)] * n + [more])
            assert np.allclose(numbers.wanted, np.array(exact, dtype=float), atol=1e-14)


def asked_of(n: int) -> Survey:
    law = RandomizedResponse([*range(n), INCONSISTENT], 1.0).mechanism
    return Survey({"x": Question(law, repeat=True)})


@pytest.mark.parametrize("shares", [SHARES, np.array([0.9, 0.1])])
@pytest.mark.parametrize("careless", [0.0, 0.1, 0.2])
def test_the_bias_of_the_ratio_is_below_a_tenth_of_its_standard_error(shares, careless):
    rng = np.random.default_rng(5)
    survey = Survey({"x": Question(LABELS[: len(shares)], repeat=True)}, epsilon=1.0)
    numbers = survey.questions["x"].numbers
    law = numbers.mechanism.channel
    seen = rng.multinomial(2000, reduced_shares(shares, careless) @ law, size=20_000) / 2000
    linear = seen @ numbers.estimator.T
    found = np.column_stack([linear[:, :-1] / (1 - linear[:, -1:]), linear[:, -1]])
    bias = found.mean(axis=0) - [*shares, careless]
    assert (np.abs(bias) < 0.1 * found.std(axis=0)).all()
    counts = Counts(numbers.digest, numbers.mechanism.outputs, *[(seen[0] * 2000).round()] * 2,
                    2000, 2000, 2000)  # fmt: skip
    estimate = survey.estimate({"x": counts}, check_fit=False)["x"]
    assert estimate.values == pytest.approx(found[0])  # which no clipping changes
    guess = dict(zip([*LABELS[: len(shares)], INCONSISTENT],
                     reduced_shares(shares, careless), strict=True))  # fmt: skip
    planned = np.sqrt(survey.precision("x", prior=guess).variances / 2000)
    assert found.std(axis=0) == pytest.approx(planned, rel=0.06)


@pytest.mark.parametrize("careless", [0.0, 0.2])
def test_both_intervals_cover_as_often_as_they_say(careless):
    rng = np.random.default_rng(6)
    survey = Survey({"x": Question(LABELS, repeat=True)}, epsilon=1.0)
    numbers = survey.questions["x"].numbers
    reports = reduced_shares(SHARES, careless) @ numbers.mechanism.channel
    truth = np.array([*SHARES, careless])
    covered = []
    tries = thorough_or(30, 400)
    for _ in range(tries):
        seen = rng.multinomial(2000, reports)
        counts = Counts(numbers.digest, numbers.mechanism.outputs, seen, seen, 2000, 2000, 2000)
        low, high = survey.estimate({"x": counts}, check_fit=False)["x"].interval.T
        covered.append((low <= truth) & (truth <= high))
    assert (np.abs(np.mean(covered, axis=0) - 0.95) < thorough_or(0.1, 0.04)).all()


@pytest.mark.parametrize(
    ("epsilon", "shares", "twice", "once"),
    [
        (1.0, SHARES, 0.0323, 0.0292),
        (2.0, SHARES, 0.0128, 0.0121),
        (4.0, SHARES, 0.0059, 0.0059),
        (1.0, np.array([0.9, 0.1]), 0.0297, 0.0225),
    ],
)
def test_what_a_repeat_costs_if_nobody_is_careless(epsilon, shares, twice, once):
    labels = LABELS[: len(shares)]
    guess = dict(zip(labels, shares, strict=True))
    survey = Survey({"x": Question(labels, repeat=True)}, epsilon=epsilon)
    plain = Survey({"x": labels}, epsilon=epsilon)
    errors = [
        float(np.sqrt(each.precision("x", prior=guess).variances[len(shares) - 1] / 2000))
        for each in (survey, plain)
    ]
    assert errors == pytest.approx([twice, once], abs=6e-5)
    assert [survey.epsilon, plain.epsilon] == pytest.approx([epsilon, epsilon])


def test_the_documented_prices_are_those_of_the_designs():
    text = (Path(__file__).parents[3] / "docs" / "questionnaire.md").read_text(encoding="utf-8")
    rows = (("four answers", LABELS, SHARES), ("yes/no", ["no", "yes"], np.array([0.9, 0.1])))
    for name, labels, shares in rows:
        cells = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
        for epsilon, shown in zip((1.0, 2.0, 4.0), cells.split("|")[2:5], strict=True):
            twice, once = (
                Survey({"x": question}, epsilon=epsilon)
                .precision("x", prior=dict(zip(labels, shares, strict=True)))
                .variances[len(labels) - 1]
                for question in (Question(labels, repeat=True), labels)
            )
            assert f"{twice / once:.2f}" == shown.strip()


def test_two_columns_and_what_remains_of_them_give_the_same_reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    survey = asked()
    both = people(3000, 0.3).assign(id=range(3000))
    kept = np.where(both["x"] == both["x again"], both["x"], INCONSISTENT)
    one = pd.DataFrame({"x": kept, "id": range(3000)})
    assert survey.privatize(both, rng=2).equals(survey.privatize(one, rng=2))
    assert list(survey.privatize(both, rng=2)) == ["x", "id"]  # no second answer stays
    for name, table in (("both", both), ("one", one)):
        Path(name).mkdir()
        table.to_csv(f"{name}/a.csv", index=False)
        survey.privatize_file(f"{name}/a.csv", f"{name}.csv", keep=["id"], rng=3)
        privatize_folder(name, f"{name} reports", survey, rng=4)
    assert Path("both.csv").read_text() == Path("one.csv").read_text()
    assert list(pd.read_csv("both.csv")) == ["x", "id"]
    folders = [pd.read_parquet(f"{name} reports/a.csv.parquet") for name in ("both", "one")]
    assert folders[0].equals(folders[1])
    assert list(folders[0]) == ["x"]
    codes = survey.questions["x"].combine([np.array([0, 1, 3]), np.array([0, 2, 3])])
    assert codes.tolist() == [0, 4, 3]
    with refused("unknown-label"):
        survey.privatize(both.assign(x=kept), rng=2)  # both at once: which is meant?
    with refused("kept-column", ModelFileError):
        survey.privatize_file("both/a.csv", "n.csv", keep=["x again"])


def test_labels_decide_where_inconsistent_is_among_the_inputs():
    law = RandomizedResponse(["b", INCONSISTENT, "d", "a", "c"], 2.0).mechanism
    survey = Survey({"x": Question(law, repeat=True)})
    table = people(40_000, 0.2)
    estimate = survey.estimate(survey.privatize(table, rng=1))["x"]
    truth = dict(zip(LABELS, SHARES, strict=True)) | {CARELESS: 0.2}
    assert estimate.labels == ("b", "d", "a", "c", CARELESS)
    for label, value, error in zip(
        estimate.labels, estimate.values, estimate.std_error, strict=True
    ):
        assert abs(value - truth[label]) < 5 * error
    assert survey.questions["x"].combine([[0, 3, 1], [0, 3, 2]]).tolist() == [0, 4, 1]


def test_one_missing_answer_makes_the_whole_answer_a_missing_one():
    table = people(40_000, 0.2)
    table.loc[::10, "x again"] = None
    answer = Survey(
        {"x": Question([*LABELS, "none of it"], missing_answer="none of it", repeat=True)},
        epsilon=3.0,
    )
    estimate = answer.estimate(answer.privatize(table, rng=1))["x"]
    truth = [*SHARES, 0.1, 0.2 * 0.9]  # of all people
    assert estimate.labels == (*LABELS, "none of it", CARELESS)
    assert (np.abs(estimate.values - truth) < 5 * estimate.std_error).all()
    left = asked(missing="leave_out")
    reports = left.privatize(table, rng=1)
    assert reports["x"].isna().equals(table["x again"].isna())
    assert abs(left.estimate(reports)["x"].values[-1] - 0.2) < 0.05
    with refused("missing-answer"):
        asked().privatize(table, rng=1)


def test_groups_weights_strata_liars_and_differences_follow():
    size = 60_000
    table = people(size, 0.2).assign(region=np.where(np.arange(size) % 2, "north", "south"))
    table["w"] = np.where(table["region"] == "north", 1.0, 2.0)
    survey = Survey(
        {"x": Question(LABELS, repeat=True)},
        epsilon=2.0,
        sample=Sample(weights="w", strata="region"),
    )
    reports = survey.privatize(table, rng=1)
    truth = np.array([*SHARES, 0.2])
    for estimates in (
        survey.estimate(reports),
        survey.estimate(reports, sample=Sample()),
        survey.estimate(reports, by="region"),
    ):
        for each in (estimates["x"], *(group["x"] for group in estimates.groups.values())):
            assert (np.abs(each.values - truth) < 5 * each.std_error).all()
    by_region = survey.estimate(reports, by="region")
    difference = by_region.differences()["north", "south"]["x"]
    assert (np.abs(difference.values) < 5 * difference.std_error).all()
    assert by_region.consistent()["x"].values.tolist() == by_region["x"].values.tolist()
    assert "not repeated" in by_region.independence("x").hypothesis
    wide = survey.estimate(reports, liars=0.01)["x"].interval
    plain = survey.estimate(reports)["x"].interval
    assert ((wide[:, 0] < plain[:, 0]) & (plain[:, 1] < wide[:, 1])).all()
    assert survey.influence("x").names == (*LABELS, CARELESS)
    values = survey.values(reports[["x", "w", "region"]]).mean()
    shares = values[:-1] / (1 - values.iloc[-1])
    assert (np.abs(shares.to_numpy() - SHARES) < 0.03).all()


@pytest.mark.parametrize("scheme", ["one_question", "fake_data"])
def test_one_of_two_repeated_questions_is_drawn(scheme):
    table = people(60_000, 0.2)
    other = people(60_000, 0.05, seed=2).rename(columns={"x": "y", "x again": "y again"})
    question = Question(LABELS, repeat=True)
    survey = Survey({"x": question, "y": question}, epsilon=3.0, scheme=scheme)
    estimates = survey.estimate(survey.privatize(table.join(other), rng=1))
    for name, careless in (("x", 0.2), ("y", 0.05)):
        truth = np.array([*SHARES, careless])
        assert (np.abs(estimates[name].values - truth) < 5 * estimates[name].std_error).all()


def test_a_mean_and_a_quantile_are_those_of_careful_people():
    table = people(60_000, 0.3, labels=[0, 1, 2, 3])
    mean = Survey(
        {"x": Question(Workload.mean([0, 1, 2, 3], inputs=[0, 1, 2, 3]), repeat=True)}, epsilon=3.0
    )
    estimate = mean.estimate(mean.privatize(table, rng=1))["x"]
    assert estimate.labels == ("mean", CARELESS)
    truth = [float(SHARES @ np.arange(4)), 0.3]
    assert (np.abs(estimate.values - truth) < 5 * estimate.std_error).all()
    classes = Survey(
        {"x": Question(Workload.prefix(range(4)), repeat=True, edges=[0, 10, 20, 30, 40])},
        epsilon=3.0,
    )
    half = classes.estimate(classes.privatize(table, rng=1)).quantile(0.5)["x"]
    assert half.interval[0, 0] <= 10 * 0.5 / 0.55 <= half.interval[0, 1]
    simulated = simulate_survey(classes, 2000, repeats=4, rng=1)
    assert simulated["truth"].tolist() == pytest.approx([0.25, 0.5, 0.75, 0.0])


def test_a_saved_survey_is_the_same(tmp_path):
    survey = Survey(
        {
            "x": Question(Workload.prefix(range(4)), repeat=True, edges=[0, 10, 20, 30, 40]),
            "y": Question(["no", "yes", "?"], missing_answer="?", repeat=True),
        },
        epsilon=3.0,
    )
    survey.save(tmp_path / "s.json")
    read = Survey.load(tmp_path / "s.json")
    for name, question in survey.questions.items():
        assert isinstance(read.questions[name], RepeatedQuestion)
        assert read.questions[name].numbers.names == question.numbers.names
        assert read.questions[name].edges == question.edges
    table = people(2000, 0.2, labels=range(4)).assign(y="no")
    table["y again"] = np.where(np.arange(2000) % 3, "no", "yes")
    reports = survey.privatize(table, rng=1)
    assert read.privatize(table, rng=1).equals(reports)
    assert read.estimate(reports).entries() == survey.estimate(reports).entries()
    assert form_digest(read.form()) == form_digest(survey.form())


def test_a_changed_file_is_refused(tmp_path):
    from ldpopt.certificate.documents import digest_of

    path = tmp_path / "s.json"
    asked().save(path)
    stated = json.loads(path.read_text())
    for value, code in ((False, "truth-value"), ("yes", "truth-value")):
        data = json.loads(path.read_text())
        data["questions"]["x"]["repeat"] = value
        data["digest"] = digest_of(data)
        (tmp_path / "t.json").write_text(json.dumps(data))
        with refused(code):
            Survey.load(tmp_path / "t.json")
    assert stated["questions"]["x"]["repeat"] is True


def test_a_survey_file_and_the_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SURVEY)
    cli_output("survey", "solve", "s.toml", "-o", "s.json")
    checked = cli_json("survey", "check", "s.json")
    assert checked["repeated"] == ["theft", "grade", "age"]
    assert [row["answers"] for row in checked["questions"]] == [2, 4, 3, 2]
    assert "asked twice" in cli_output("survey", "check", "s.json")
    stated = cli_json("survey", "check", "s.toml")
    assert stated["repeated"] == ["theft", "grade", "age"]
    once = Survey({"x": ["no", "yes"]}, epsilon=0.75)
    twice = Survey({"x": Question(["no", "yes"], repeat=True)}, epsilon=0.75)
    guess = {"no": 0.9, "yes": 0.1}
    price = (
        twice.precision("x", prior=guess).variances[:2].sum()
        / once.precision("x", prior=guess).variances.sum()
    )
    assert stated["people_of_repeated"] == {
        "theft": pytest.approx(price),
        "grade": None,
        "age": None,
    }
    text = " ".join(cli_output("check", "s.toml").split())
    assert "theft, grade, age: asked twice" in text
    assert f"theft: {price:.2f} times as many people" in text
    planned = cli_json("survey", "plan", "s.json", "--people", 2000)["questions"]
    assert [row["question"] for row in planned] == ["theft", "grade", "age", "plain"]
    meaning = cli_json("survey", "codebook", "s.json")
    assert INCONSISTENT in json.dumps(meaning)
    table = pd.DataFrame({"theft": ["no", "yes"] * 500, "theft again": ["no"] * 1000})
    table = table.assign(**{"grade": 2, "grade again": [2, 3] * 500, "age": 18, "age again": 29})
    table.assign(plain="no").to_csv("a.csv", index=False)
    cli_output("survey", "privatize", "s.json", "a.csv", "-o", "r.csv", "--seed", 1)
    assert list(pd.read_csv("r.csv")) == ["theft", "grade", "age", "plain"]
    shown = cli_output("survey", "estimate", "s.json", "r.csv")
    assert "theft, age: asked twice" in " ".join(shown.split())
    assert "'no answer' and 'careless' are shares" in " ".join(shown.split())
    rows = cli_json("survey", "estimate", "s.json", "r.csv")["estimates"]
    found = {(row["question"], row["answer"]): row for row in rows}
    assert found["age", "18 to 29"]["high"] > 0.9  # 18 and 29 are the same class
    careless = found["theft", CARELESS]
    assert abs(careless["estimate"] - 1.0) < 5 * careless["std_error"]
    cli_output("survey", "simulate", "s.json", "--people", 100, "--repeats", 2, "--seed", 1)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('labels = ["no", "inconsistent"]', "repeated-label"),
        ('labels = ["no", "careless"]', "repeated-label"),
        ('ticks = ["x", "y"]', "repeated-key"),
        ('labels = ["no", "yes"]\nutility = "identity"', "repeated-key"),
        ('technique = { crosswise = "1/6" }', "repeated-key"),
        ('labels = ["no", "yes"]\nonly_if = { first = "yes" }', "repeated-key"),
        ('number = { least = 0, most = 80 }\nworkload = "mean"', "repeated-number"),
        ("number = { least = 0, most = 80 }", "repeated-answers"),
        ('labels = ["no", "?"]\nmissing = "answer"\nmissing_label = "?"', "repeated-one-answer"),
        ('labels = ["no", "yes"]\n[question.z]\nlabels = [1, 2]\nonly_if = { x = "yes" }',
         "repeated-gate"),
        ('labels = ["no", "yes"]\n[question.z]\nlabels = [1, 2]\nonly_if = { x = "yes" }\n'
         'report = "own"', "repeated-gate"),
    ],
)  # fmt: skip
def test_a_survey_file_with_what_cannot_be_repeated_is_refused(text, code, tmp_path):
    first, _, second = text.partition("[question.z]")
    lines = f'epsilon = 2.0\n[question.first]\nlabels = ["no", "yes"]\n[question.x]\n{first}\n'
    rest = f"[question.z]{second}\n" if second else ""
    (tmp_path / "s.toml").write_text(f"{lines}repeat = true\n{rest}")
    with refused(code):
        Survey.from_toml(tmp_path / "s.toml")


def test_a_joint_report_is_refused_and_the_best_scheme_is_none(tmp_path):
    text = "".join(
        f'[question.{name}]\nlabels = ["no", "yes"]\nrepeat = true\n' for name in ("x", "y")
    )
    (tmp_path / "joint.toml").write_text('epsilon = 2.0\nscheme = "joint"\n' + text)
    with refused("repeated-question"):
        Survey.from_toml(tmp_path / "joint.toml")
    (tmp_path / "best.toml").write_text('epsilon = 2.0\nscheme = "best"\n' + text)
    assert Survey.from_toml(tmp_path / "best.toml").scheme == "one_question"
    question = Question(["no", "yes"], repeat=True)
    with refused("repeated-question"):
        Survey({"x": question, "y": ["no", "yes"]}, epsilon=2.0, scheme="joint")
    with refused("repeated-question"):
        compare_schemes({"x": question, "y": ["no", "yes"]}, 2.0)


def test_what_does_not_follow_is_refused():
    survey = Survey({"x": Question(LABELS, repeat=True), "y": ["no", "yes"]}, epsilon=2.0)
    reports = survey.privatize(people(500, 0.1).assign(y="no"), rng=1)
    with refused("repeated-question"):
        survey.estimate_pair(reports, "x", "y")
    with refused("repeated-question"):
        survey.regress("y ~ x", reports)
    for stated, code in (
        (Question(RandomizedResponse(LABELS, 1.0).mechanism, repeat=True), "no-inconsistent"),
        (TicksQuestion(tick_workload(["p", "q"]), ticks=("p", "q"), repeat=True), "repeated-ticks"),
        (Question([*LABELS, INCONSISTENT], repeat=True), "repeated-label"),
        (Question(range(30), repeat=True), "repeated-answers"),
    ):
        with refused(code):
            Survey({"x": stated}, epsilon=1.0)
    with refused("shared-column"):
        Survey({"x": Question(LABELS, repeat=True), "x again": ["no", "yes"]}, epsilon=1.0)
    with refused("truth"):
        Question(LABELS, repeat="yes")
    with refused("repeated-condition"):
        repeated(Question(LABELS, repeat=True, only_if={"y": "no"}))


def test_forms_without_a_repeated_question_keep_their_digest():
    coin = RandomizedResponse(["no", "yes"], "1").mechanism
    form = Survey({"smokes": coin}, title="T").form()
    digest = "e4ef1cf5a91140059fb340a6641787284f687cbfd5e93b97024be77b7ce20e4a"
    assert form_digest(form) == digest
    assert "repeat" not in json.dumps(form)


def test_the_page_has_the_words_of_repeated_questions_only_where_there_is_one() -> None:
    form = asked().form()
    assert form["questions"]["x"]["repeat"] == INCONSISTENT
    assert form["questions"]["x"]["answers"] == [*LABELS, INCONSISTENT]
    for language in ("en", "de", "fr"):
        said = words_of_language(language)["twice"]
        assert said in page(asked(), "reports", language)
        assert said not in page(Survey({"x": LABELS}, epsilon=1.0), "reports", language)
    own = {"language": "la", "words": dict(words_of_language("en"))}
    without = {key: text for key, text in own["words"].items() if key not in OF_REPEATED}
    page(Survey({"x": LABELS}, epsilon=1.0, words=own | {"words": without}), "reports")
    survey = Survey(
        {"x": Question(LABELS, repeat=True)}, epsilon=1.0, words=own | {"words": without}
    )
    with refused("language"):
        page(survey, "reports")


def test_reports_on_one_answer_do_not_show_who_is_careless() -> None:
    for n, shares in ((2, (1, 9)), (4, (1, 3, 5, 11))):
        q = [Fraction(share, sum(shares)) for share in shares]
        rng = np.random.default_rng(n)
        channel = [[Fraction(int(mass), 100) for mass in row] for row in rng.integers(1, 9, (n, 3))]
        seen = set()
        for c in (Fraction(0), Fraction(1, 20), n * min(q)):
            p = [(share - c / n) / (1 - c) for share in q]
            assert min(p) >= 0
            assert sum(p) == 1
            answers = [(1 - c) * share + c / n for share in p]
            law = [
                sum(a * row[y] for a, row in zip(answers, channel, strict=True)) for y in (0, 1, 2)
            ]
            seen.add(tuple(law))
        assert len(seen) == 1  # three shares of careless people, one law of reports
        assert min((share - (n * min(q) + Fraction(1, 99)) / n) for share in q) < 0  # and no more


@pytest.mark.parametrize("workload", [Workload.frequencies(4), Workload.prefix(4)])
def test_at_equal_weights_a_known_share_of_careless_people_changes_no_design(workload) -> None:
    c = 0.2
    w = np.asarray(workload.matrix)
    corrected = (w - c * w.mean(axis=1)[:, None]) / (1 - c)
    plain = design(workload, PureLDP(1.0))
    known = design(Workload(corrected, workload.inputs), PureLDP(1.0))
    assert known.value == pytest.approx(plain.value / (1 - c) ** 2, rel=1e-6)
    # the channel for nobody careless has this variance for the corrected numbers
    law = plain.mechanism.channel
    inverse, _ = estimator_of(plain.mechanism, corrected, workload.names)
    value = ((inverse**2 @ law.T) - corrected**2).mean(axis=1).sum()
    assert value == pytest.approx(known.value, rel=1e-5)
