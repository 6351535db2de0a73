"""Questions that ask for a number: all numbers or classes of them, and means that are drawn on a
grid."""

import itertools
import json
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from builders import refused, thorough_or
from ldpopt import PureLDP, SecretKey, Survey, Workload, design
from ldpopt.errors import ModelFileError
from ldpopt.fieldwork import page
from ldpopt.mechanism.exact_draws import TOTAL
from ldpopt.mechanism.questions import Question
from ldpopt.studies.survey_simulation import simulate_survey
from ldpopt.surveys.numbers import NumberQuestion, Numbers
from ldpopt.surveys.statement import read_survey

AGES = Numbers.read({"least": 18, "most": 99})
GRID = (18, 26, 34, 42, 50, 58, 67, 75, 83, 91, 99)
CLASSES = {"starts": [18, 30, 45, 65], "most": 99}


@cache
def ages(epsilon=2.0, *others, **options):
    """A question about an age, whose mean is reported."""
    workload = Workload.mean(list(map(float, GRID)), inputs=GRID)
    for other in others:
        workload = workload.with_missing(other)
    missing = others[0] if others else None
    return NumberQuestion(design(workload, PureLDP(epsilon)), "refuse", missing, number=AGES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("numbers")


@cache
def solved(folder: Path, text: str, top: str = 'epsilon = 2.0\nmissing = "answer"') -> Survey:
    path = folder / "survey.toml"
    path.write_text(f"{top}\n{text}")
    return read_survey(path).solve(Survey)


AGE = '[question.age]\nnumber = { least = 18, most = 99 }\nworkload = "mean"\n'
MORE = """
[question.smokes]
labels = ["no", "yes"]
[question.class]
number = { starts = [18, 30, 45, 65], most = 99 }
workload = "prefix"
[question.days]
number = { least = 0, most = 7 }
workload = "mean"
"""


def test_the_grid_has_the_ends_and_eleven_points_among_the_numbers():
    assert AGES.grid == GRID
    assert Numbers.read({"least": 0, "most": 7}).grid == tuple(range(8))
    assert Numbers.read({"least": 0, "most": 10}).grid == tuple(range(11))
    wide = Numbers.read({"least": 5, "most": 10**6 + 5, "step": 50})
    assert (wide.grid[0], wide.grid[-1], len(wide.grid)) == (5, 10**6 + 5, 11)
    assert all((point - 5) % 50 == 0 for point in wide.grid)


@pytest.mark.parametrize(
    ("epsilon", "spread", "reports"), [(1.0, 79.9, 19), (2.0, 35.9, None), (4.0, 13.5, None)]
)
def test_the_right_values_of_a_mean(epsilon, spread, reports):
    """Standard deviation of one person's value on average over the ages, from the exact law."""
    question = ages(epsilon)
    law = question.source.mechanism
    rows = [question.grid.masses(code, law.counts) for code in range(82)]
    channel = np.array([[float(mass / TOTAL) for mass in row] for row in rows])
    values = question.source.estimator[0]
    numbers = np.arange(18, 100)
    np.testing.assert_allclose(channel @ values, numbers, atol=1e-9)  # no bias
    variances = channel @ values**2 - numbers**2
    assert np.sqrt(variances.mean()) == pytest.approx(spread, abs=0.05)
    form = Survey({"age": question}).form()
    masses = form["columns"]["age"]["masses"]
    assert len(masses) == 11
    if reports is not None:
        assert len(masses[0]) == reports
        assert len(json.dumps(masses)) == pytest.approx(3553, rel=0.01)
    # the worst distribution has the two ends, which are points of the grid
    assert question.source.variances()[0] >= variances.max() - 1e-9
    assert Survey({"age": question}).odds == law.odds


def test_a_page_of_82_ages_is_small(folder):
    mean = solved(folder, AGE)
    every = solved(folder, AGE.replace("mean", "frequencies"))
    assert len(page(mean, to="").encode()) <= 66_000
    assert len(every.form()["questions"]["age"]["answers"]) == 83
    assert len(mean.form()["questions"]["age"]["answers"]) == 1


def test_the_form_of_a_number(folder):
    survey = solved(folder, AGE + MORE)
    form = survey.form()
    assert form["questions"]["age"]["number"] == {"least": 18, "most": 99, "step": 1}
    assert form["questions"]["age"]["answers"] == ["no answer"]
    assert form["columns"]["age"]["grid"] == list(GRID)
    assert len(form["columns"]["age"]["masses"]) == 12
    assert form["questions"]["class"]["number"] == CLASSES
    labels = ["18 to 29", "30 to 44", "45 to 64", "65 to 99", "no answer"]
    assert form["questions"]["class"]["answers"] == labels
    assert "grid" not in form["columns"]["class"]
    assert form["questions"]["days"]["answers"] == [*map(str, range(8)), "no answer"]
    assert "grid" not in form["columns"]["days"]
    assert "number" not in form["questions"]["smokes"]


def test_a_survey_with_numbers_is_saved(folder):
    survey = solved(folder, AGE + MORE)
    survey.save(folder / "survey.json")
    again = Survey.load(folder / "survey.json")
    assert again.form() == survey.form()
    for name in survey.questions:
        assert again.questions[name].given == survey.questions[name].given
        assert again.questions[name].edges == survey.questions[name].edges
    text = (folder / "survey.json").read_text()
    changed = json.loads(text)
    changed["questions"]["age"]["number"]["most"] = 98
    (folder / "changed.json").write_text(json.dumps(changed))
    with refused("changed-file", ModelFileError):
        Survey.load(folder / "changed.json")


def table(size, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 100, size),
            "smokes": rng.choice(["no", "yes"], size),
            "class": rng.integers(18, 100, size),
            "days": rng.integers(0, 8, size),
        }
    )


def test_files_and_tables_have_the_same_reports(folder):
    survey = solved(folder, AGE + MORE)
    answers = table(500)
    answers.to_csv(folder / "answers.csv", index=False)
    survey.privatize_file(folder / "answers.csv", folder / "reports.csv", rng=3)
    reports = survey.privatize(answers, rng=3)
    pd.testing.assert_frame_equal(
        pd.read_csv(folder / "reports.csv", dtype=str), reports.astype(str), check_dtype=False
    )
    found = survey.estimate(reports)
    assert found["age"].labels == ("mean", "no answer")


def test_batches_do_not_change_the_reports(folder, monkeypatch):
    survey = solved(folder, AGE)
    table(700)[["age"]].to_parquet(folder / "answers.parquet")
    for name, rows in (("whole", 1 << 17), ("parts", 13)):
        monkeypatch.setattr("ldpopt.tables.parquet.ROWS", rows)
        survey.privatize_file(folder / "answers.parquet", folder / f"{name}.parquet", rng=3)
    whole, parts = (pd.read_parquet(folder / f"{name}.parquet") for name in ("whole", "parts"))
    pd.testing.assert_frame_equal(whole, parts)


def test_keyed_reports_are_those_of_the_person():
    survey = Survey({"age": ages()})
    answers = table(400)[["age"]].assign(id=[f"p{k}" for k in range(400)])
    key = SecretKey(bytes(range(32)))
    reports = survey.privatize(answers, key=key, id="id")
    mixed = survey.privatize(answers.sample(frac=1, random_state=1), key=key, id="id")
    pd.testing.assert_frame_equal(mixed.sort_index(), reports)
    other = survey.privatize(answers, key=SecretKey(bytes(32)), id="id")
    assert (other["age"] != reports["age"]).any()


def test_reports_have_the_mixed_law_of_the_answer():
    """By a plain mixture of the two rows, for a number between two points."""
    question = ages()
    law = question.source.mechanism
    size = thorough_or(40_000, 400_000)
    reports = Survey({"age": question}).privatize(pd.DataFrame({"age": [45] * size}), rng=5)
    low, high = (law.counts[GRID.index(point)] for point in (42, 50))
    expected = [
        size * float(Fraction(5 * int(a) + 3 * int(b), 8 * TOTAL))
        for a, b in zip(low, high, strict=True)
    ]
    seen = reports["age"].value_counts().reindex(range(len(expected)), fill_value=0)
    distance = sum((n - mean) ** 2 / mean for n, mean in zip(seen, expected, strict=True))
    assert distance < 2 * len(expected) + 40  # chance below 1e-6


@pytest.mark.parametrize("weighted", [False, True])
def test_the_estimate_is_the_plain_mean_of_the_values(weighted):
    question = ages()
    survey = Survey({"age": question})
    reports = survey.privatize(table(3000)[["age"]], rng=7)
    weights = np.random.default_rng(2).uniform(1, 3, 3000) if weighted else np.ones(3000)
    found = survey.estimate(reports, weights=weights if weighted else None)["age"]
    values = question.source.estimator[0][reports["age"].to_numpy(dtype=int)]
    mean = np.average(values, weights=weights)
    assert found.values[0] == pytest.approx(mean)
    spread = np.sqrt((weights**2 * (values - mean) ** 2).sum()) / weights.sum()
    assert found.std_error[0] == pytest.approx(spread, rel=0.02)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["split", "one_question"])
def test_intervals_cover_the_mean(scheme):
    questions = {"age": ages(2.0, "no answer"), "years": ages(2.0)}
    survey = Survey(questions, scheme=scheme)
    shares = {"years": {str(number): number for number in range(18, 100)}}
    repeats = thorough_or(40, 400)
    rows = simulate_survey(survey, 1500, repeats=repeats, rng=4, shares=shares)
    years = np.arange(18, 100)
    truth = rows.set_index(["question", "answer"])["truth"]
    assert truth["years", "mean"] == pytest.approx((years @ years) / years.sum())
    assert truth["age", "mean"] == pytest.approx(58.5)
    assert truth["age", "no answer"] == pytest.approx(1 / 83)
    assert rows["coverage"].between(*thorough_or((0.8, 1.0), (0.92, 0.98))).all()


@pytest.mark.parametrize(
    "entry", [17, 100, 42.5, -3, "1e1", "４２", "042", "42.5", "-3", "17", " 42", "x", True]
)
def test_what_is_no_number_of_the_question_is_refused_with_its_row(entry):
    answers = pd.DataFrame({"age": pd.Series([18, 99, entry, 50], dtype=object)})
    with refused("answer-in-range") as caught:
        Survey({"age": ages()}).privatize(answers, rng=1)
    assert "row 2" in caught.value.where
    assert "18 to 99" in caught.value.what
    assert str(entry) not in caught.value.what.replace("18 to 99", "")


@pytest.mark.parametrize("entry", [42, 42.0, "42", "42.0", np.int64(42)])
def test_numbers_are_read_as_software_writes_them(entry):
    survey = Survey({"age": ages()})
    read = survey.privatize(pd.DataFrame({"age": pd.Series([entry] * 5, dtype=object)}), rng=1)
    plain = survey.privatize(pd.DataFrame({"age": [42] * 5}), rng=1)
    assert read["age"].tolist() == plain["age"].tolist()


def test_numbers_that_are_no_steps_are_refused(folder):
    survey = solved(
        folder, '[question.hours]\nnumber = { least = 0, most = 60, step = 5 }\nworkload = "mean"'
    )
    assert survey.form()["columns"]["hours"]["grid"] == [0, 5, 10, 20, 25, 30, 35, 40, 50, 55, 60]
    survey.privatize(pd.DataFrame({"hours": [0, 5, 60]}), rng=1)
    with refused("answer-in-range") as caught:
        survey.privatize(pd.DataFrame({"hours": [0, 5, 12]}), rng=1)
    assert "steps of 5" in caught.value.what
    assert "row 2" in caught.value.where


def test_classes_read_their_numbers_and_their_names(folder):
    survey = solved(folder, MORE)
    question = survey.questions["class"]
    assert question.edges == (18, 30, 45, 65, 100)
    entries = [18, 29, "30", "30 to 44", 64, 65.0, "99", None]
    codes = question.coder().codes(pd.Series(entries, dtype=object).pipe(texts), "column")
    assert codes.tolist() == [0, 0, 1, 1, 2, 3, 3, -1]
    for entry in ("100", "17", "30.5", "030", "18 to 30"):
        with refused("answer-in-range"):
            question.coder().codes(texts(pd.Series([entry])), "column")
    single = NumberQuestion(
        design(Workload.frequencies(["0", "1 to 9"]), PureLDP(1)),
        number=Numbers.read({"starts": [0, 1], "most": 9}),
    )
    assert single.given == ("0", "1 to 9")


def texts(column):
    """A column of texts that needs no arrow."""
    from ldpopt.tables.coding import Texts

    return Texts(column.tolist())


@pytest.mark.parametrize(
    ("number", "code"),
    [
        ({"least": 18}, "number-keys"),
        ({"least": 18, "most": 99, "starts": [18]}, "number-keys"),
        ({"least": 18, "most": 18}, "number-range"),
        ({"least": 18, "most": 99, "step": 2}, "number-range"),
        ({"least": 0, "most": 10**6}, "number-count"),
        ({"starts": [18], "most": 99}, "number-starts"),
        ({"starts": [18, 18], "most": 99}, "number-starts"),
        ({"starts": [18, 30], "most": 29}, "number-starts"),
        ({"starts": 18, "most": 29}, "type"),
        ({"least": -1, "most": 5}, "range"),
        ({"least": 1.5, "most": 5}, "whole-number"),
        ({"least": 1, "most": 10**10}, "range"),
    ],
)
def test_numbers_that_nobody_can_give_are_refused_with_their_place(number, code, folder):
    with refused(code):
        Numbers.read(number)
    stated = ", ".join(f"{key} = {value}" for key, value in number.items())
    with refused(code, ModelFileError) as caught:
        solved(folder, f"[question.age]\nnumber = {{ {stated} }}\n")
    assert "survey.toml:4: question.age.number" in caught.value.where


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("labels = [1, 2]", "no-effect"),
        ('ticks = ["a", "b"]', "no-effect"),
        ("edges = [1, 2, 3]", "no-effect"),
        ("values = [1, 2]", "no-effect"),
        ("prior = { 18 = 1.0 }", "no-effect"),
        ('mechanism = "a.json"', "no-effect"),
        ("missing_label = 42", "number-missing"),
    ],
)
def test_keys_that_say_nothing_about_a_number_are_refused(more, code, folder):
    with refused(code, ModelFileError):
        solved(folder, AGE + more)


def test_shares_up_to_each_of_many_numbers_want_classes(folder):
    with refused("number-classes", ModelFileError) as caught:
        solved(folder, AGE.replace("mean", "prefix"))
    assert "starts" in caught.value.do
    assert "workload" in caught.value.where


@pytest.mark.long
def test_what_the_masses_of_many_classes_take_is_said(folder):
    path = folder / "survey.toml"
    starts = f"number = {{ starts = {list(range(18, 35))}, most = 99 }}"
    path.write_text(f'epsilon = 1\n[question.age]\n{starts}\nworkload = "prefix"')
    statement = read_survey(path)
    survey = statement.solve(Survey)
    (warning,) = statement.warnings(survey)
    masses = survey.form()["columns"]["age"]["masses"]
    assert f"{len(json.dumps(masses, separators=(',', ':'))):,} bytes" in warning
    path.write_text(path.read_text().replace("18, 19, ", "18, "))
    statement = read_survey(path)
    assert statement.warnings(statement.solve(Survey)) == []


def test_inputs_that_are_no_grid_of_the_numbers_are_refused():
    for inputs in ((18, 50), (26, 99), (18, 50, 42, 99), (18.5, 99)):
        law = design(Workload.mean(list(map(float, range(len(inputs)))), inputs=inputs), PureLDP(1))
        with refused("number-inputs"):
            NumberQuestion(law, number=AGES)
    shares = design(Workload.frequencies(GRID), PureLDP(1))
    with refused("number-inputs"):
        NumberQuestion(shares, number=AGES)  # the shares of the points are nobody's
    with refused("number-inputs"):
        NumberQuestion(shares.mechanism, number=AGES)
    every = design(Workload.frequencies(list(range(18, 100))), PureLDP(1))
    assert NumberQuestion(every, number=AGES).grid is None


def test_a_table_with_a_mean_is_refused(folder):
    survey = solved(folder, AGE + MORE)
    reports = survey.privatize(table(300), rng=1)
    for pair in (("age", "smokes"), ("class", "age")):
        with refused("rounded-pair"):
            survey.estimate_pair(reports, *pair)
    assert survey.estimate_pair(reports, "class", "smokes").n_reports == 300


def test_a_number_has_a_joint_report_with_others(folder):
    points = (18, 50, 99)
    wanted = Workload.mean(list(map(float, points)), inputs=points)
    questions = {"age": NumberQuestion(wanted, number=AGES)}
    questions |= {"smokes": Question(Workload.frequencies(["no", "yes"]))}
    survey = Survey(questions, epsilon=2.0, scheme="joint")
    (column,) = survey.form()["columns"].values()
    assert column["grids"] == {"age": list(points)}
    assert column["of"] == ["age", "smokes"]
    assert len(column["paths"]) == 6
    survey.save(folder / "joint.json")
    assert Survey.load(folder / "joint.json").form() == survey.form()
    answers = table(4000)[["age", "smokes"]]
    found = survey.estimate(survey.privatize(answers, rng=2))["age"]
    assert found.interval[0][0] < answers["age"].mean() < found.interval[0][1]
    with refused("answer-in-range"):
        survey.privatize(pd.DataFrame({"age": [17], "smokes": ["no"]}), rng=1)


TREE = """
[question.smokes]
labels = ["no", "yes"]
[question.cigarettes]
number = { least = 0, most = 60 }
workload = "mean"
only_if = { smokes = "yes" }
"""


SCHEMES = ("split", "one_question", "fake_data")
KINDS = ("", 'report = "own"', "otherwise = 5")


# each scheme and each kind once in the usual set
@pytest.mark.parametrize(
    ("scheme", "more"),
    thorough_or(list(zip(SCHEMES, KINDS, strict=True)), list(itertools.product(SCHEMES, KINDS))),
)
def test_the_mean_of_a_follow_up(more, scheme, folder):
    """Of those who are asked, in a report with the gate or of its own; or of all, with a number
    that is meant otherwise."""
    top = f'epsilon = 6.0\nscheme = "{scheme}"\nmissing = "answer"'
    survey = solved(folder, TREE + more, top)
    rng = np.random.default_rng(3)
    smokes = rng.choice(["no", "yes"], 5000)
    number = pd.Series(rng.integers(0, 61, 5000)).where(smokes == "yes")
    answers = pd.DataFrame({"smokes": smokes, "cigarettes": number})
    found = survey.estimate(survey.privatize(answers, rng=4))["cigarettes"]
    truth = number.fillna(5).mean() if "otherwise" in more else number.mean()
    assert found.labels[0] == "mean"
    assert abs(found.values[0] - truth) < 5 * found.std_error[0]
    column = list(survey.form()["columns"].values())[-1]
    points = column["grid"] if len(column["of"]) == 1 else column["grids"]["cigarettes"]
    assert (points[0], points[-1]) == (0, 60)
    assert (5 in points) == ("otherwise" in more)
    with refused("answer-in-range"):
        survey.privatize(pd.DataFrame({"smokes": ["yes"], "cigarettes": [61]}), rng=1)
    with refused("not-asked"):
        survey.privatize(pd.DataFrame({"smokes": ["no"], "cigarettes": [3]}), rng=1)


def test_nobody_says_that_a_number_was_not_asked(folder):
    survey = solved(folder, TREE + 'report = "own"')
    entries = pd.DataFrame({"smokes": ["no", "yes"], "cigarettes": [None, "not asked"]})
    with refused("answer-in-range"):
        survey.privatize(entries, rng=1)
    assert survey.form()["questions"]["cigarettes"]["not_asked"] == "not asked"
    assert survey.form()["questions"]["cigarettes"]["answers"] == ["no answer", "not asked"]


def test_a_question_depends_on_no_number_that_is_rounded(folder):
    more = '[question.works]\nlabels = ["no", "yes"]\nonly_if = { age = 18 }\n'
    with refused("condition-number", ModelFileError):
        solved(folder, AGE + more)
    solved(folder, MORE + more.replace("age = 18", 'class = "18 to 29"'))
    with refused("rounded-pair", ModelFileError):
        solved(folder, TREE, 'epsilon = 2.0\npairs = [["smokes", "cigarettes"]]')


def test_the_account_of_a_mean_is_that_of_the_points():
    """By hand, for two reports: the largest divergence of any two ages is that of two points."""
    question = ages(1.0)
    law = question.source.mechanism
    rows = [question.grid.masses(code, law.counts) for code in range(82)]
    threshold = 0.7
    factor = Fraction(np.exp(threshold))
    plain = max(
        sum(max(a - factor * b, 0) for a, b in zip(first, second, strict=True))
        for first in rows
        for second in (rows[0], rows[-1], rows[40])
    )
    delta = Survey({"age": question}).account().delta(threshold)
    assert float(plain) / TOTAL <= float(delta) * (1 + 1e-9)
    at_points = max(
        sum(max(int(a) - factor * int(b), 0) for a, b in zip(first, second, strict=True))
        for first in law.counts
        for second in law.counts
    )
    assert float(delta) == pytest.approx(float(at_points) / TOTAL, rel=1e-6)
