"""Surveys in TOML: budgets are split exactly, mistakes are named by their keys, files read back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from builders import cli_json, cli_output, refused, run_cli
from ldpopt import Mechanism, SecretKey, Survey
from ldpopt.errors import ModelFileError
from ldpopt.surveys.statement import read_survey, template
from tampering import with_digest

SURVEY = """
title = "Habits"
epsilon = 3.0
[question.smokes]
labels = ["no", "yes"]
share = 0.5
[question.income]
labels = ["low", "middle", "high"]
workload = "prefix"
missing = "answer"
[question.drinks]
prior = { never = 3, rarely = 4, often = 4 }
utility = "identity"
missing = "leave"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SURVEY)
    Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"]).save(tmp_path / "coin.json")
    draws = np.random.default_rng(0)
    columns = {
        "smokes": draws.choice(["no", "yes"], 3000, p=[0.7, 0.3]),
        "income": draws.choice(["low", "middle", "high", ""], 3000, p=[0.3, 0.4, 0.2, 0.1]),
        "drinks": draws.choice(["never", "rarely", "often", ""], 3000, p=[0.3, 0.4, 0.2, 0.1]),
        "person": np.arange(3000),
        "w": draws.uniform(0.5, 2, 3000),
    }
    pd.DataFrame(columns).to_csv(tmp_path / "answers.csv", index=False)
    return tmp_path


def test_shares_own_budgets_and_equal_parts_never_exceed_the_total(folder: Path) -> None:
    found = read_survey("s.toml").budgets
    assert found == {"smokes": 1.5, "income": 0.75, "drinks": 0.75}
    for total, count in (("1.0", 3), ("0.1", 7), ('"log(3)"', 3)):
        questions = "".join(f'[question.q{place}]\nlabels = ["a", "b"]\n' for place in range(count))
        Path("t.toml").write_text(f"epsilon = {total}\n{questions}")
        survey = Survey.from_toml("t.toml")
        assert survey.odds <= survey.limit.enclosure()[0]
        assert 0.999 * float(survey.limit) < survey.epsilon < float(survey.limit) + 1e-12


def test_a_solved_survey_reads_back_equal(folder: Path) -> None:
    survey = Survey.from_toml("s.toml")
    survey.save("s.json")
    twin = Survey.load("s.json")
    assert twin.budgets == survey.budgets
    for name, question in twin.questions.items():
        other = survey.questions[name]
        assert (question.randomizer, question.missing) == (other.randomizer, other.missing)
    assert (twin.title, twin.scheme) == ("Habits", "split")
    assert (
        twin.questions["income"].source.workload.names
        == survey.questions["income"].source.workload.names
    )
    assert (twin.questions["income"].missing_answer, twin.questions["drinks"].missing) == (
        "no answer",
        "leave_out",
    )
    reports = survey.privatize(pd.read_csv("answers.csv", keep_default_na=True), rng=1)
    for name, found in twin.estimate(reports).items():
        assert found.values == pytest.approx(survey.estimate(reports)[name].values)
    changed = json.loads(Path("s.json").read_text())
    changed["questions"]["drinks"]["mechanism"]["channel"][0] = [1.0, 0.0, 0.0]
    for other, code in ((changed, "changed-file"), (with_digest(changed), "digest")):
        Path("s.json").write_text(json.dumps(other))
        with refused(code, ModelFileError):
            Survey.load("s.json")


@pytest.mark.parametrize(
    ("old", "new", "code", "shown"),
    [
        ("epsilon = 3.0", "epsilon = 3.0\nscheme = 'splt'", "", ": scheme"),
        ("share = 0.5", "share = 1.5", "", "question.smokes.share"),
        ("share = 0.5", "share = 1.0", "spent", "income, drinks"),
        ("share = 0.5", "epsilon = 4.0", "spent", "income, drinks"),
        ("share = 0.5", "share = 0.5\nepsilon = 1.0", "epsilon-share", "smokes.share"),
        (
            "share = 0.5",
            'mechanism = "coin.json"',
            "no-effect",
            "smokes.labels",
        ),
        ('labels = ["no", "yes"]', "", "labels", "smokes.labels"),
        (
            'labels = ["no", "yes"]\nshare = 0.5',
            'mechanism = "none.json"',
            "file",
            "none.json",
        ),
        ("labels", "lables", "", "'lables'"),
        ('workload = "prefix"', 'workload = "prefx"', "workload", "did you mean 'prefix'"),
        ('workload = "prefix"', 'utility = "idntity"', "utility", "did you mean 'identity'"),
        (
            'missing = "leave"',
            'missing = "leave"\nmissing_label = "x"',
            "missing-label",
            "drinks.missing_label",
        ),
        ('missing = "leave"', "values = [1, 2, 3]", "values", "drinks.values"),
        ("epsilon = 3.0\n", "", "share-budget", "smokes.share"),
        ("epsilon = 3.0", "epsilon = -1", "", "epsilon"),
        ("epsilon = 3.0", 'epsilon = 3.0\nscheme = "one_question"', "share", "'one_question'"),
        (
            "epsilon = 3.0",
            'epsilon = 3.0\nscheme = "best"',
            "own-budget",
            "smokes.share",
        ),
        (
            "epsilon = 3.0",
            'epsilon = 3.0\nweights = "smokes"',
            "weights",
            "'smokes'",
        ),
    ],
)
def test_mistakes_are_named_by_file_and_key(
    folder: Path, old: str, new: str, code: str, shown: str
) -> None:
    Path("s.toml").write_text(SURVEY.replace(old, new, 1))
    with pytest.raises(ModelFileError) as error:
        Survey.from_toml("s.toml")
    assert error.value.code == code or not code
    assert shown in str(error.value)
    assert "s.toml" in error.value.where


def test_the_largest_budget_is_checked() -> None:
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    assert Survey({"a": coin, "b": coin}, epsilon="log(9)").odds == 9
    truth = Mechanism([[1.0, 0.0], [0.5, 0.5]], ["no", "yes"])
    with refused("budget") as error:
        Survey({"a": coin, "b": truth}, epsilon=100.0)
    assert " inf," in error.value.what
    with refused("budget") as error:
        Survey({"a": coin, "b": coin}, epsilon=2.0)
    assert " 2.19722458, more than the 2.0 " in error.value.what
    assert Survey({"a": coin, "b": coin}, epsilon=2.0, scheme="one_question").epsilon < 1.1


def test_the_verbs_work_together_with_weights_keys_and_doubts(folder: Path) -> None:
    text = SURVEY.replace("epsilon = 3.0", 'epsilon = 12.0\nweights = "w"')
    Path("s.toml").write_text(text)
    Survey.from_toml("s.toml").save("s.json")
    SecretKey.new().save("k")
    for name in ("one.parquet", "two.parquet"):
        options = ["--key", "k", "--id", "person"]
        made = run_cli("survey", "privatize", "s.json", "answers.csv", "-o", name, *options)
        assert made.exit_code == 0, made.stderr
        for note in (
            "each person spends epsilon 12",
            "who did not answer drinks",
            "not protected: w",
        ):
            assert note in made.stderr
        assert "not copied" not in made.stderr
    made = run_cli("survey", "privatize", "s.json", "answers.csv", "-o", "dropped.csv")
    assert "not copied: person; --keep NAME" in made.stderr
    for options, said in (([], True), (["--weights", "answers.csv", "w"], False)):
        planned = run_cli("survey", "plan", "s.json", "--people", "900", *options)
        assert (planned.exit_code, "the survey has weights in w" in planned.stderr) == (0, said)
    assert pd.read_parquet("one.parquet").equals(pd.read_parquet("two.parquet"))
    found = json.loads(run_cli("survey", "estimate", "s.json", "one.parquet", "--json", "-").stdout)
    answers = pd.read_csv("answers.csv", keep_default_na=False)
    smokes = next(
        entry
        for entry in found["estimates"]
        if (entry["question"], entry["answer"]) == ("smokes", "yes")
    )
    true = answers["w"][answers["smokes"] == "yes"].sum() / answers["w"].sum()
    assert abs(smokes["estimate"] - true) < 5 * smokes["std_error"] + 1e-3
    assert found["p_values"]["smokes"] is None  # weighted
    drinks = next(entry for entry in found["estimates"] if entry["question"] == "drinks")
    assert drinks["n_reports"] == (answers["drinks"] != "").sum()


@pytest.mark.parametrize("verb", ["init", "check", "solve", "plan", "privatize", "estimate"])
def test_every_verb_of_surveys_has_help_and_json(verb: str) -> None:
    found = run_cli("survey", verb, "--help")
    assert found.exit_code == 0
    assert "--json" in found.stdout
    assert f"Usage: ldpopt survey {verb}" in found.stdout


def test_a_first_survey_can_be_solved_planned_and_is_not_replaced(folder: Path) -> None:
    assert run_cli("survey", "init", "first").exit_code == 0
    assert run_cli("survey", "init", "first").exit_code == 2
    assert "scheme: split" in run_cli("survey", "check", "first.toml").stdout
    assert (
        "each person spends epsilon 2"
        in run_cli("survey", "solve", "first.toml", "-o", "f.json").stdout
    )
    found = json.loads(
        run_cli("survey", "plan", "f.json", "--people", "5000", "--json", "-").stdout
    )
    assert [entry["question"] for entry in found["questions"]] == ["smokes", "income"]
    assert run_cli("survey", "plan", "f.json").exit_code == 2


def test_raw_answers_are_refused_and_foreign_surveys_too(folder: Path) -> None:
    Path("one.toml").write_text('[question.smokes]\nmechanism = "coin.json"\n')
    found = run_cli("survey", "estimate", "one.toml", "answers.csv")
    assert (found.exit_code, "look like" in found.stderr) in ((0, False), (1, True))
    pd.DataFrame({"smokes": ["no"] * 900 + ["yes"] * 100}).to_csv("raw.csv", index=False)
    found = run_cli("survey", "estimate", "one.toml", "raw.csv")
    assert found.exit_code == 1
    assert "are they raw answers?" in found.stderr


def test_many_labels_have_sets_as_reports(folder: Path) -> None:
    labels = [f"l{place}" for place in range(30)]
    Path("big.toml").write_text(
        f"epsilon = 8.0\n[question.a]\nlabels = {labels}\n[question.b]\nlabels = ['x', 'y']\n"
    )
    survey = Survey.from_toml("big.toml")
    survey.save("big.json")
    survey = Survey.load("big.json")
    answers = pd.DataFrame(
        {"a": np.random.default_rng(1).choice(labels[:5], 2000), "b": ["x"] * 2000}
    )
    answers.to_parquet("big.parquet")
    survey.privatize_file("big.parquet", "out.csv", rng=1)
    found = survey.estimate("out.csv")
    assert found["a"].values[:5].sum() == pytest.approx(1, abs=0.1)
    assert found["b"].values[0] == pytest.approx(1, abs=0.1)
    assert survey.estimate(survey.privatize(answers, rng=1))["a"].values[:5].sum() == pytest.approx(
        1, abs=0.1
    )


@pytest.mark.parametrize(
    ("rows", "code", "key"),
    [
        ('labels = ["low", "high"]\nworkload = "mean"', "numbers", "workload"),
        ('prior = {low = 1, high = 2}\nworkload = "mean"', "numbers", "workload"),
        ('labels = ["1", "2"]\nworkload = "mean"\nvalues = [1]', "entries", "values"),
        ('labels = [“no”, "yes"]', "curly-quote", ":3"),
        ("labels = ['no', ‘yes’]", "curly-quote", ":3"),
        ("prior = {no = 0,5, yes = 0,5}", "decimal-comma", ":3"),
        ("prior = [.5, .5]", "digit-of-point", ":3"),
        ("prior = {no = 1., yes = 0.}", "digit-of-point", ":3"),
        ('labels = ["no", "yes"]\nepsilon = 1,5', "decimal-comma", ":4"),
        ('labels = ["no", "yes"] 1', "syntax", ":3"),
        ("labels = [1,2,3", "syntax", ":3"),
        ('text = "a “good” 1,5" 1', "syntax", ":3"),
    ],
)
def test_what_was_meant_is_named_before_anything_is_solved(
    tmp_path: Path, rows: str, code: str, key: str
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f"epsilon = 1.0\n[question.q]\n{rows}\n", encoding="utf-8")
    with refused(code, ModelFileError) as caught:
        read_survey(path)
    assert caught.value.where.endswith(key)


def test_labels_that_are_numbers_as_text_have_a_mean(tmp_path: Path) -> None:
    for rows in ('labels = ["1", "2", "5"]', 'labels = ["a", "b", "c"]\nvalues = [1, 2, 5]'):
        path = tmp_path / "s.toml"
        path.write_text(f'epsilon = 9.0\n[question.q]\n{rows}\nworkload = "mean"\n')
        source = Survey.from_toml(path).questions["q"].source
        assert source.workload.matrix.tolist() == [[1, 2, 5]]


@pytest.mark.parametrize(
    ("scheme", "refusals"),
    [
        ("split", {("a", "a"): "same-question"}),
        ("joint", {("a", "a"): "same-question"}),
        ("one_question", {("a", "a"): "same-question", ("a", "b"): "one-question"}),
        ("split", {("a", "many"): "pair-of-ticks", ("many", "a"): "pair-of-ticks"}),
    ],
)
def test_a_table_that_is_none_is_refused_for_its_reason(
    tmp_path: Path, scheme: str, refusals: dict[tuple[str, str], str]
) -> None:
    many = ", ".join(f'"t{k}"' for k in range(10))
    rows = [f'epsilon = 3.0\nscheme = "{scheme}"', '[question.a]\nlabels = ["no", "yes"]']
    rows += ['[question.b]\nlabels = ["no", "yes"]']
    rows += [f"[question.many]\nticks = [{many}]"] if ("a", "many") in refusals else []
    path = tmp_path / "s.toml"
    path.write_text("\n".join(rows))
    survey = Survey.from_toml(path)
    columns = {name: ["no", "yes"] * 20 for name in ("a", "b")} | {"many": ["t1", "t2;t3"] * 20}
    reports = survey.privatize(pd.DataFrame(columns), rng=1)
    for pair, code in refusals.items():
        with refused(code):
            survey.estimate_pair(reports, *pair)
    survey.save(tmp_path / "s.json")
    reports.to_csv(tmp_path / "r.csv", index=False)
    files = (str(tmp_path / "s.json"), str(tmp_path / "r.csv"))
    done = run_cli("survey", "estimate", *files, "--by", "a")
    assert done.exit_code == 2
    if scheme != "joint":
        assert "--pair" in done.stderr
    assert "estimate_pair" not in done.stderr


CONTRADICTED = ("weights", "sample", "waves", "share", "mechanism", "missing")
"""Commented keys of the template that are in place of others, or need files."""


def test_every_comment_of_the_template_that_is_a_key_can_be_used(tmp_path: Path) -> None:
    lines = []
    for line in template().splitlines():
        bare = line.removeprefix("# ")
        is_key = re.match(r"(\[[\w.]+\]|\w+ = )", bare)
        name = bare.split(" ")[0]
        lines.append(bare if line != bare and is_key and name not in CONTRADICTED else line)
    text = "\n".join(lines)
    used = text.count("\n#")
    assert template().count("\n#") - used > 15  # most of them were comments
    path = tmp_path / "survey.toml"
    path.write_text(text)
    survey = Survey.from_toml(path)
    assert set(survey.fields) == {"region"}
    named = {"age", "hours", "theft", "used", "trust.police", "trust.courts"}
    assert named < set(survey.questions)
    assert survey.trees == {"smokes": ("smokes", "cigarettes")}
    assert survey.words.languages == ("en", "de")
    assert survey.words.first.sections == {"habits": "Your habits"}


def test_the_template_is_solved_and_has_a_page(tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    cli_output("survey", "init", path)
    survey = Survey.from_toml(path)
    assert {question.missing_answer for question in survey.questions.values()} == {"no answer"}
    cli_output("survey", "form", path, "-o", tmp_path / "form.html")
    assert cli_json("survey", "check", path)["warning"] == ""


def test_what_is_wrong_is_refused_before_anything_is_solved(tmp_path: Path) -> None:
    """Words for no answer, a label twice, and a number for a table, each with its key."""
    path = tmp_path / "s.toml"
    asked = 'epsilon = 1.0\n[question.drinks]\nlabels = ["never", "daily"]\n'
    for text, code, place in (
        (f'{asked}answers = {{ nevr = "Never" }}', "answer", ":4: question.drinks.answers.nevr"),
        (asked.replace("daily", "never"), "duplicate-label", ":3: question.drinks.labels"),
        (f"waves = 2\n{asked}", "type", ":1: waves"),
    ):
        path.write_text(text)
        with refused(code, ModelFileError) as raised:
            read_survey(path)
        assert str(raised.value.where).endswith(place)
        assert "WavesSection" not in str(raised.value)


MANY = ", ".join(f'"{place}"' for place in range(25))
YES_NO = 'labels = ["no", "yes"]\n'
CHOSEN = "choices = [0.5, 2.0]\n"


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        (
            f"{CHOSEN}[question.a]\n{YES_NO}repeat = true\n",
            "choices-question",
            ":4: question.a.repeat",
        ),
        (f'{CHOSEN}[question.a]\nmechanism = "coin.json"\n', "spent", ":1: choices"),
        (
            f'scheme = "one_question"\n{CHOSEN}[question.a]\nmechanism = "coin.json"\n'
            f"[question.b]\n{YES_NO}",
            "spent",
            ":2: choices",
        ),
        (f"choices = [0.0, 1.0]\n[question.a]\n{YES_NO}", "spent", ":1: choices"),
        (f"{CHOSEN}[question.choice]\n{YES_NO}", "channel-column", ":3: question.choice.labels"),
        (f'{CHOSEN}weights = "choice"\n[question.a]\n{YES_NO}', "channel-weights", ":2: weights"),
        (
            f'{CHOSEN}[question.a]\n{YES_NO}[field.choice]\nlabels = ["1", "2"]\n',
            "field-column",
            ":5: field.choice.labels",
        ),
        (
            f'epsilon = 1.0\n[question.a]\n{YES_NO}repeat = true\n[question."a again"]\n{YES_NO}',
            "shared-column",
            ":2: question.a",
        ),
        (
            f'epsilon = 1.0\nweights = "a"\n[question.a]\n{YES_NO}',
            "weights",
            ":2: weights",
        ),
        (
            f"epsilon = 1.0\n[question.a]\nlabels = [{MANY}]\nrepeat = true\n",
            "repeated-answers",
            ":4: question.a.repeat",
        ),
        (
            f'epsilon = 1.0\npairs = [["a", "b"]]\n[question.a]\n{YES_NO}[question.b]\n{YES_NO}',
            "apart",
            ":2: pairs",
        ),
        (
            f"epsilon = 1.0\n[question.a]\n{YES_NO}prior = {{ no = 1 }}\n",
            "missing-label",
            ":4: question.a.prior.no",
        ),
        (f'scheme = "joint"\nepsilon = 1.0\n[question.a]\n{YES_NO}', "joint", ":1: scheme"),
        (
            f'epsilon = 1.0\nscheme = "joint"\n[question.a]\nlabels = [{MANY}]\n'
            f"[question.b]\nlabels = [{MANY}]\n",
            "combinations",
            ":2: scheme",
        ),
        (
            'waves = { count = 3, epsilon = 2.0 }\n[question.a]\nmechanism = "coin.json"\n',
            "spent",
            ":1: waves.epsilon",
        ),
    ],
)  # fmt: skip
def test_budgets_columns_and_priors_are_checked_at_reading(
    tmp_path: Path, text: str, code: str, place: str
) -> None:
    """Each choice has to leave something for every question, and each column one use."""
    Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"]).save(tmp_path / "coin.json")
    path = tmp_path / "s.toml"
    path.write_text(text)
    with refused(code, ModelFileError) as raised:
        read_survey(path)
    assert str(raised.value.where).endswith(place)


def test_the_exact_budget_of_a_mechanism_can_be_chosen(tmp_path: Path) -> None:
    Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"]).save(tmp_path / "coin.json")
    path = tmp_path / "s.toml"
    path.write_text(
        'scheme = "one_question"\nepsilon = "log(3)"\n[question.a]\nmechanism = "coin.json"\n'
        f"[question.b]\n{YES_NO}"
    )
    assert Survey.from_toml(path).odds == 3


@pytest.mark.parametrize(
    "text",
    [
        '[matrix.trust]\nlabels = ["no", "yes"]\nrows = { police = "P", courts = "C" }\n',
        'question.a.labels = ["no", "yes"]\n',
        'question = { a = { labels = ["no", "yes"] } }\n',
        '["question"."a"]\nlabels = ["no", "yes"]\n',
        f'[form]\nconsent = "{"x" * 5000}"\n[question.a]\nlabels = ["no", "yes"]\n',
    ],
    ids=["matrix", "dotted", "inline", "quoted", "long words"],
)
def test_every_way_to_write_questions_is_a_survey(tmp_path: Path, text: str) -> None:
    """The commands recognize a file by its beginning, whatever TOML its questions are in."""
    path = tmp_path / "s.toml"
    path.write_text(f"epsilon = 2.0\n{text}")
    for command in ("check", "solve"):
        assert cli_json("survey", command, str(path))["questions"]
    assert cli_json("check", str(path))["questions"]
    refusal = run_cli("design", str(path))
    assert refusal.exit_code == 2
    assert "ldpopt survey solve" in refusal.stderr


@pytest.mark.parametrize("scheme", ["split", "one_question", "fake_data", "joint"])
@pytest.mark.parametrize(
    ("budget", "code"), [("0", {"zero-budget", "spent"}), ("1e-17", {"small-budget"})]
)
def test_a_budget_without_a_mechanism_is_refused_when_the_file_is_read(
    folder: Path, scheme: str, budget: str, code: set[str]
) -> None:
    questions = '[question.a]\nlabels = ["no", "yes"]\n[question.b]\nlabels = ["no", "yes"]\n'
    Path("t.toml").write_text(f'epsilon = {budget}\nscheme = "{scheme}"\n{questions}')
    with pytest.raises(ModelFileError) as caught:
        read_survey("t.toml")
    assert caught.value.code in code
    if scheme != "joint":  # without budgets of single questions
        own = questions.replace("\n[question.b]", f"\nepsilon = {budget}\n[question.b]")
        Path("t.toml").write_text(f'epsilon = 2\nscheme = "{scheme}"\n{own}')
        with refused(min(code - {"spent"}), ModelFileError):
            read_survey("t.toml")
