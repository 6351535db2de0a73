"""People choose their epsilon: right values by own arithmetic, coverage for choices that depend on
the answers, tables whose labels decide, files, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from builders import refused, run_cli, thorough_or
from ldpopt import Mechanism, Sample, Survey, Workload
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.estimation.chosen import ChosenSource
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.estimate import Estimate
from ldpopt.foundation.budget import Budget
from ldpopt.mechanism.questions import Question
from ldpopt.surveys.choices import odds_by_choice, same_for_all_choices
from ldpopt.surveys.numbers import NumberQuestion
from ldpopt.surveys.ticks import TicksQuestion, tick_workload
from tampering import digest_of

CHOICES = [0.5, 1.0, 2.0, 4.0]
YES = ["no", "yes"]
STATED = """
choices = [0.5, 1.0, 2.0, 4.0]
[question.smokes]
labels = ["no", "yes"]
"""


@pytest.fixture(scope="module")
def smokers() -> Survey:
    return Survey({"smokes": YES}, choices=CHOICES)


def source_of(survey: Survey, name: str = "smokes") -> ChosenSource:
    source = survey.questions[name].numbers
    assert isinstance(source, ChosenSource)
    return source


def seen_of(survey: Survey, shares: Any, people: Any, rng: Any = None) -> Any:
    """Numbers of reports by choice: drawn, or as many as are expected."""
    seen: dict[Any, dict[Any, int]] = {}
    for part, share, n in zip(source_of(survey).parts, shares, people, strict=True):
        law = np.array([1 - share, share]) @ part.mechanism.channel
        numbers = np.round(n * law).astype(int) if rng is None else rng.multinomial(n, law)
        seen[part.name] = dict(zip(part.mechanism.outputs, numbers.tolist(), strict=True))
    return seen


def counted(survey: Survey, seen: Any, name: str = "smokes") -> Counts:
    return source_of(survey, name).count(seen)


def noise(epsilon: float) -> float:
    """Variance of one report on a yes/no question by randomization alone."""
    return exp(epsilon) / (exp(epsilon) - 1) ** 2


def estimated(survey: Survey, seen: Any, **options: Any) -> Estimate:
    return source_of(survey).estimate(counted(survey, seen), **options)


def test_variance_of_one_report(smokers: Survey) -> None:
    """At a share of .2: randomized response of each epsilon."""
    source = source_of(smokers)
    found = [part.source.variances({"no": 0.8, "yes": 0.2})[1] for part in source.parts]
    assert found == pytest.approx([4.078, 1.081, 0.341, 0.179], abs=5e-4)
    assert found == pytest.approx([noise(e) + 0.16 for e in CHOICES], rel=1e-9)


def test_one_design_for_each_choice(smokers: Survey) -> None:
    assert smokers.choices == (0.5, 1, 2, 4)
    assert len(smokers.certificates) == 4
    assert all(claim.exact for claim in smokers.certificates.values())
    for choice, odds in odds_by_choice(smokers.asked, None).items():
        assert isinstance(odds, Fraction)
        limit = Budget(choice).enclosure()[0]  # type: ignore[arg-type]
        assert limit * Fraction(999999, 10**6) < odds <= limit
    assert smokers.epsilon == pytest.approx(4)


def test_strata_and_pooled_have_the_stated_weights_and_variances(smokers: Survey) -> None:
    """Standard errors of 10,000 people, a quarter of each: .01191 by strata, .00643 pooled."""
    seen = seen_of(smokers, [0.2] * 4, [2500] * 4)
    strata, pooled = (estimated(smokers, seen, pooled=pooled) for pooled in (False, True))
    assert strata.std_error[1] == pytest.approx(0.01191, rel=2e-3)
    assert pooled.std_error[1] == pytest.approx(0.00643, rel=1e-2)
    people = np.array([500, 1500, 3000, 5000])
    shares = [0.35, 0.25, 0.15, 0.05]
    seen = seen_of(smokers, shares, people)
    each = [part.source.estimate(seen[part.name]).values[1] for part in source_of(smokers).parts]
    assert estimated(smokers, seen).values[1] == pytest.approx(people / 10_000 @ each, abs=1e-12)
    weights = people / np.array([noise(e) + 0.25 for e in CHOICES])  # a law that is no estimate
    weights /= weights.sum()
    assert estimated(smokers, seen, pooled=True).values[1] == pytest.approx(weights @ each)


@pytest.mark.parametrize("shares", [[0.35, 0.25, 0.15, 0.05], [0.02, 0.5, 0.0, 0.9], [0.0] * 4])
@pytest.mark.parametrize("pooled", [False, True])
def test_score_interval_has_what_is_not_contradicted(
    smokers: Survey, shares: Any, pooled: bool
) -> None:
    """Ends by bisection on the share ``u`` by which every stratum is moved."""
    people = np.array([300, 200, 100, 400])
    seen = seen_of(smokers, shares, people)
    found = estimated(smokers, seen, pooled=pooled, check_fit=False)
    source = source_of(smokers)
    each = [part.source.estimate(seen[part.name], check_fit=False) for part in source.parts]
    laws = np.array([np.clip(one.values[1], 0, 1) for one in each])
    weights = people / people.sum()
    if pooled:
        weights = people / np.array([noise(e) + 0.25 for e in CHOICES])
        weights = weights / weights.sum()
    at = weights @ laws

    def contradicted(end: int, u: float) -> bool:
        moved = laws + u * (end - laws)
        value = at + u * (end - at)
        variances = moved * (1 - moved) + np.array([noise(e) for e in CHOICES])
        spread = (weights**2 / people) @ variances
        return (found.values[1] - value) ** 2 > 1.959963984540054**2 * spread

    for end in (0, 1):
        if abs(at - end) < 1e-9:
            continue
        low, high = (0.0, 1.0) if not contradicted(end, 0.0) else (-1.0, 0.0)
        if not contradicted(end, high):
            continue  # the whole range agrees
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if contradicted(end, middle) else (middle, high)
        assert found.interval[1, end] == pytest.approx(at + low * (end - at), abs=1e-9)


def test_one_choice_that_was_made_is_the_interval_of_its_design(smokers: Survey) -> None:
    part = source_of(smokers).parts[2]
    alone = part.source.estimate({0: 70, 1: 30})
    found = estimated(smokers, {2: {0: 70, 1: 30}})
    np.testing.assert_allclose(found.interval, alone.interval, atol=1e-12)
    np.testing.assert_allclose(found.std_error, alone.std_error, atol=1e-12)
    np.testing.assert_allclose(found.values, alone.values, atol=1e-12)


def covered(survey: Survey, shares: Any, people: Any, tries: int, seed: int) -> dict[str, float]:
    """How often intervals by strata, and pooled, have the mean over all people, and the test of
    equal groups rejects.
    """
    rng = np.random.default_rng(seed)
    truth = float(np.array(people) @ shares / np.sum(people))
    found = {"strata": 0, "pooled": 0, "rejected": 0}
    source = source_of(survey)
    for _ in range(tries):
        counts = source.count(seen_of(survey, shares, people, rng))
        for kind in ("strata", "pooled"):
            estimate = source.estimate(counts, pooled=kind == "pooled", check_fit=False)
            low, high = estimate.interval[1]
            found[kind] += low <= truth <= high
        test = same_for_all_choices("smokes", source, counts)
        assert test is not None
        assert test.freedom == 3
        found["rejected"] += test.p_value < 0.05
    return {key: number / tries for key, number in found.items()}


def slack(tries: int, thorough: float) -> float:
    """How far a share of tries may be from 0.95 or 0.05: two and a half standard deviations, and in
    the thorough set less.
    """
    return thorough_or(2.5 * sqrt(0.95 * 0.05 / tries), thorough)


def test_coverage_where_the_choice_depends_on_the_answer(smokers: Survey) -> None:
    """By strata it holds; pooled it is 0, and the test of equal groups says so."""
    tries = thorough_or(100, 2000)
    found = covered(smokers, [0.35, 0.25, 0.15, 0.05], [2500] * 4, tries, 5)
    assert abs(found["strata"] - 0.95) <= slack(tries, 0.01)
    assert found["pooled"] == 0
    assert found["rejected"] == 1


def test_coverage_where_it_does_not(smokers: Survey) -> None:
    tries = thorough_or(100, 2000)
    found = covered(smokers, [0.2] * 4, [2500] * 4, tries, 6)
    assert abs(found["strata"] - 0.95) <= slack(tries, 0.01)
    assert abs(found["pooled"] - 0.95) <= slack(tries, 0.01)
    assert abs(found["rejected"] - 0.05) <= slack(tries, 0.01)


def answers_of(people: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "choice": rng.choice(CHOICES, people),
            "smokes": rng.choice(YES, people, p=[0.8, 0.2]),
            "region": rng.choice(["N", "S"], people),
            "w": rng.uniform(0.5, 2.0, people),
        }
    )


def test_labels_decide_and_rows_and_columns_do_not(smokers: Survey, tmp_path: Path) -> None:
    """Each person's report is by the own choice, in a dataframe and a file; estimates are the same
    for other orders of rows and columns, and for choices as texts.
    """
    table = answers_of(4000)
    reports = smokers.privatize(table, rng=3)
    assert reports["choice"].tolist() == table["choice"].tolist()
    kept = {
        choice: (part["smokes"].to_numpy() == (table["smokes"] == "yes")[part.index]).mean()
        for choice, part in reports.groupby("choice")
    }
    for choice, share in kept.items():
        n = int((table["choice"] == choice).sum())
        truth = exp(choice) / (1 + exp(choice))
        assert abs(share - truth) < 5 * sqrt(truth * (1 - truth) / n)
    expected = smokers.estimate(reports)["smokes"]
    mixed = reports.sample(frac=1, random_state=1)[["w", "smokes", "region", "choice"]]
    texts = mixed.assign(choice=mixed["choice"].map(lambda c: f"{c:g}"))
    mixed.to_csv(tmp_path / "mixed.csv", index=False)
    for other in (mixed, texts, str(tmp_path / "mixed.csv")):
        found = smokers.estimate(other)["smokes"]
        np.testing.assert_allclose(found.interval, expected.interval, atol=1e-12)
    table.to_csv(tmp_path / "answers.csv", index=False)
    smokers.privatize_file(tmp_path / "answers.csv", tmp_path / "r.csv", rng=3)
    drawn = pd.read_csv(tmp_path / "r.csv")
    assert list(drawn.columns) == ["smokes", "choice"]
    assert drawn["choice"].tolist() == table["choice"].tolist()


def test_choices_that_are_unknown_or_missing_are_refused_by_row(smokers: Survey) -> None:
    table = answers_of(10)
    for value, code in ((3.0, "choice"), (None, "missing-choice")):
        wrong = table.assign(choice=[*table["choice"][:6], value, *table["choice"][7:]])
        with pytest.raises(StatementError, match="row 6") as error:
            smokers.privatize(wrong)
        assert error.value.code == code
    reports = smokers.privatize(table, rng=1)
    wrong = reports.assign(choice=[*reports["choice"][:6], 3.0, *reports["choice"][7:]])
    with pytest.raises(StatementError, match="row 6") as error:
        smokers.estimate(wrong)
    assert error.value.code == "choice"
    with pytest.raises(StatementError):
        smokers.privatize(table.drop(columns="choice"))


def test_a_report_of_another_choice_is_refused() -> None:
    survey = Survey({"r": list("abcdef")}, choices=[0.5, 4.0])
    sizes = [len(part.mechanism.outputs) for part in source_of(survey, "r").parts]
    assert sizes[0] > sizes[1] == 6
    table = pd.DataFrame({"r": [0, sizes[0] - 1], "choice": [0.5, 4.0]})
    with refused("report-of-channel"):
        survey.estimate(table, check_fit=False)


def test_groups_weights_liars_values_and_samples(smokers: Survey) -> None:
    reports = smokers.privatize(answers_of(6000), rng=2)
    by_region = smokers.estimate(reports, by="region")
    for region, part in reports.groupby("region"):
        alone = smokers.estimate(part)["smokes"]
        np.testing.assert_allclose(by_region.groups[region]["smokes"].interval, alone.interval)
    plain = smokers.estimate(reports)["smokes"]
    values = smokers.values(reports)
    np.testing.assert_allclose(values.mean().to_numpy(), plain.values, atol=1e-12)
    heavy = smokers.estimate(reports, weights="w")["smokes"]
    w = reports["w"].to_numpy()
    np.testing.assert_allclose(heavy.values, w @ values.to_numpy() / w.sum(), atol=1e-12)
    assert heavy.effect is not None
    assert 1.05 < heavy.effect[0] < 1.25
    same = smokers.estimate(reports.assign(w=3.0), weights="w")["smokes"]
    np.testing.assert_allclose(same.interval, plain.interval, atol=1e-12)
    strata = smokers.estimate(reports, sample=Sample(strata="region"))["smokes"]
    assert strata.std_error[1] == pytest.approx(plain.std_error[1], rel=0.01)
    wide = smokers.estimate(reports, liars=0.01)["smokes"]
    reach = smokers.influence("smokes").each[1]
    assert reach == pytest.approx(1 / (1 - exp(-0.5)))  # whoever lies chooses the least epsilon
    np.testing.assert_allclose(
        wide.interval[1], plain.interval[1] + 0.01 * reach * np.array([-1, 1]), atol=1e-12
    )


def test_choices_that_nobody_or_one_person_made(smokers: Survey) -> None:
    seen = {0.5: {1: 1}, 1: {0: 60, 1: 40}}
    found = estimated(smokers, seen)
    one = source_of(smokers).parts[0].source.estimate({1: 1}).values
    many = source_of(smokers).parts[1].source.estimate({0: 60, 1: 40})
    np.testing.assert_allclose(found.values, one / 101 + many.values * 100 / 101)
    # the variance of a single report is that of its mechanism at the likeliest answer
    expected = (noise(0.5) + many.std_error[1] ** 2 * 100**2) / 101**2
    assert found.std_error[1] ** 2 == pytest.approx(expected, rel=1e-6)
    with refused("no-reports"):
        estimated(smokers, {0.5: {}})


def test_missing_answers_ticks_numbers_and_edges() -> None:
    """Shares among those who answered, and other kinds of questions, have estimates near the
    truth; a choice that depends on the answer does not bias the ratio.
    """
    answered = Question([*YES, "none"], missing_answer="none")
    mean = Workload.mean(list(range(0, 81, 8)), inputs=list(range(0, 81, 8)))
    survey = Survey(
        {
            "smokes": answered,
            "used": TicksQuestion(tick_workload(("tea", "milk")), ticks=("tea", "milk")),
            "hours": NumberQuestion(mean, number={"least": 0, "most": 80}),  # type: ignore[arg-type]
            "income": Question(Workload.prefix(["a", "b", "c"]), edges=[0, 1, 2, 3]),
        },
        choices=[2.0, 6.0],
    )
    rng = np.random.default_rng(7)
    n = thorough_or(20_000, 60_000)
    choice = rng.choice([2.0, 6.0], n)
    share = np.where(choice == 2, 0.6, 0.1)
    smokes = np.where(rng.random(n) < share, "yes", "no").astype(object)
    smokes[rng.random(n) < np.where(choice == 2, 0.3, 0.1)] = None
    table = pd.DataFrame(
        {
            "choice": choice,
            "smokes": smokes,
            "used": rng.choice(["none", "tea", "tea;milk"], n),
            "hours": np.where(choice == 2, 10, 61),
            "income": np.where(choice == 2, "a", rng.choice(["b", "c"], n)),
        }
    )
    reports = survey.privatize(table, rng=8)
    found = survey.estimate(reports)
    asked = pd.Series(smokes).dropna()
    truths = {
        "smokes": [(asked == "no").mean(), (asked == "yes").mean(), 1 - len(asked) / n],
        "used": [2 / 3, 1 / 3],
        "hours": [table["hours"].mean()],
        "income": [(choice == 2).mean(), (choice == 2).mean() + (table["income"] == "b").mean()],
    }
    for name, expected in truths.items():
        for place, truth in enumerate(expected):
            distance = abs(found[name].values[place] - truth) / found[name].std_error[place]
            assert distance < 4
    assert found["smokes"].std_error[1] < 0.03
    low, high = found.quantile(0.5)["income"].interval[0]
    assert low < 1.0 < high
    pooled = survey.estimate(reports, pooled=True)
    assert abs(pooled["hours"].values[0] - truths["hours"][0]) > 10 * pooled["hours"].std_error[0]
    sample = survey.estimate(reports.assign(r="x"), sample=Sample(strata="r"))
    np.testing.assert_allclose(sample["smokes"].std_error, found["smokes"].std_error, rtol=0.02)
    assert "among those who answered" in str(found)


def test_the_ratio_among_those_who_answered_covers(smokers: Survey) -> None:
    """Where choice, answer and silence all depend on each other."""
    survey = Survey({"q": Question([*YES, "none"], missing_answer="none")}, choices=[1.0, 4.0])
    source = source_of(survey, "q")
    laws = np.array([[0.3, 0.3, 0.4], [0.85, 0.05, 0.1]])
    people = np.array([1500, 500])
    truth = people @ laws[:, 1] / (people @ (1 - laws[:, 2]))
    rng = np.random.default_rng(4)
    tries = thorough_or(80, 1500)
    hits = 0
    for _ in range(tries):
        seen = {
            part.name: dict(enumerate(rng.multinomial(n, law @ part.mechanism.channel).tolist()))
            for part, law, n in zip(source.parts, laws, people, strict=True)
        }
        counts = source.count(seen)
        low, high = survey.estimate_question("q", counts, check_fit=False).interval[1]
        hits += low <= truth <= high
    assert abs(hits / tries - 0.95) < slack(tries, 0.013)


def test_notes_say_by_which_weights(smokers: Survey) -> None:
    reports = smokers.privatize(answers_of(2000), rng=2)
    text = " ".join(str(smokers.estimate(reports)).split())
    assert "by strata of the choice: right whatever" in text
    assert "smokes: the same answers for all choices? chi-square" in text
    assert "the estimate does not depend on it" in text
    text = " ".join(str(smokers.estimate(reports, pooled=True)).split())
    assert "right only if the choice tells nothing of the answers" in text


def test_account_is_that_of_the_choice(smokers: Survey) -> None:
    for choice in CHOICES:
        alone = Survey({"smokes": YES}, epsilon=choice).account(3)
        found = smokers.account(3, choice=choice)
        assert found.delta(choice) == alone.delta(choice)
    assert smokers.account().epsilon(0) == pytest.approx(4)
    with refused("unknown-choice"):
        smokers.account(choice=3.0)
    with refused("choices-given"):
        smokers.account(people=1000)


def test_a_saved_survey_is_the_same(smokers: Survey, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    smokers.save(path)
    again = Survey.load(path)
    assert again.choices == smokers.choices
    assert again.asked["smokes"].randomizer.digest == smokers.asked["smokes"].randomizer.digest
    assert again.odds == smokers.odds
    data = json.loads(path.read_text())
    data["questions"]["smokes"]["choices"].pop()
    data["digest"] = digest_of(data)
    path.write_text(json.dumps(data))
    with pytest.raises((ModelFileError, StatementError)) as error:
        Survey.load(path)
    assert error.value.code == "choices-of-questions"


def test_a_file_states_choices(tmp_path: Path, smokers: Survey) -> None:
    path = tmp_path / "s.toml"
    path.write_text(STATED)
    survey = Survey.from_toml(path)
    assert survey.asked["smokes"].randomizer.digest == smokers.asked["smokes"].randomizer.digest
    done = run_cli("survey", "solve", path, "-o", tmp_path / "s.json")
    assert "each person chooses epsilon 0.5, 1, 2 or 4" in " ".join(done.stdout.split())
    reports = smokers.privatize(answers_of(3000), rng=2)
    reports.to_csv(tmp_path / "r.csv", index=False)
    for options, kind in (([], False), (["--pooled"], True)):
        done = run_cli(
            "survey", "estimate", tmp_path / "s.json", tmp_path / "r.csv", *options, "--json", "-"
        )
        rows = json.loads(done.stdout)["estimates"]
        expected = smokers.estimate(reports, pooled=kind)["smokes"].values
        assert [row["estimate"] for row in rows] == pytest.approx(expected.tolist())
    for command in ("check", "certify"):
        assert run_cli(command, tmp_path / "s.json").exit_code == 0
    stated = run_cli("check", path)
    assert stated.exit_code == 0
    assert "each person chooses epsilon: 0.5, 1.0, 2.0, 4.0" in " ".join(stated.stdout.split())
    text = run_cli("survey", "codebook", tmp_path / "s.json").stdout
    assert "smokes (choice 0.5)" in text


CONDITIONAL = '[question.x]\nlabels = ["a", "b"]\nonly_if = { smokes = "yes" }\n'
COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=YES)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"choices": [1.0]}, "menu"),
        ({"choices": [1.0, 1]}, "menu"),
        ({"choices": [1.0, "1.0"]}, "menu"),
        ({"choices": [k / 10 for k in range(1, 12)]}, "choice-count"),
        ({"choices": [1.0, 2.0], "epsilon": 1.0}, "choices-epsilon"),
        ({"choices": [1.0, 2.0], "scheme": "joint"}, "choices-scheme"),
        ({"choices": [1.0, 2.0], "scheme": "fake_data"}, "choices-scheme"),
        ({"choices": [1.0, 2.0], "pairs": [("smokes", "drinks")]}, "choices-pairs"),
        ({"choices": [1.0, 2.0], "fields": {"choice": ["a"]}}, "field-column"),
    ],
)
def test_statements_that_are_refused(options: Any, code: str) -> None:
    with refused(code):
        Survey({"smokes": YES, "drinks": YES}, **options)


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (Question(YES, only_if={"smokes": "yes"}), "choices-question"),
        (Question(YES, repeat=True), "choices-question"),
        (list(range(40)), "unlisted-choice"),
    ],
)
def test_questions_that_are_refused(question: Any, code: str) -> None:
    with refused(code):
        Survey({"smokes": YES, "second": question}, choices=[1.0, 2.0])


def test_a_fixed_mechanism_leaves_the_rest_of_the_choice() -> None:
    survey = Survey({"smokes": COIN, "drinks": YES}, choices=[2.0, 4.0])
    with refused("spent"):
        Survey({"smokes": COIN, "drinks": YES}, choices=[1.0, 4.0])
    odds = odds_by_choice(survey.asked, None)
    assert [float(each) for each in odds.values()] == pytest.approx([exp(2), exp(4)])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("epsilon = 1.0\n" + STATED, "choices-epsilon"),
        ("waves = { count = 2, epsilon = 2.0 }\n" + STATED, "choices-beside"),
        (STATED + "epsilon = 0.1\n", "choices-question"),
        (STATED.replace("[0.5, 1.0, 2.0, 4.0]", "[1.0]"), "menu"),
        (STATED + '[question.x]\ntechnique = { crosswise = "1/6" }\n', "choices-question"),
        (STATED + CONDITIONAL, "choices-question"),
        ('scheme = "joint"\n' + STATED, "choices-scheme"),
    ],
)  # fmt: skip
def test_files_that_are_refused(text: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(ModelFileError) as error:
        Survey.from_toml(path)
    assert error.value.code == code
    assert "s.toml" in str(error.value)


def test_what_cannot_be_done_with_choices_is_refused_by_name() -> None:
    survey = Survey({"smokes": YES, "drinks": YES}, choices=[1.0, 2.0])
    rng = np.random.default_rng(1)
    table = pd.DataFrame({name: rng.choice(YES, 500) for name in ("smokes", "drinks")})
    reports = survey.privatize(table.assign(choice=1.0), rng=1)
    for call in (
        lambda: survey.estimate_pair(reports, "smokes", "drinks"),
        lambda: survey.independence(reports, "smokes", "drinks"),
        lambda: survey.regress("smokes ~ 1", reports),
    ):
        with refused("choices-given"):
            call()
    with refused("supports"):
        survey.estimate(reports.assign(g=["a", "b"] * 250), by="g").independence("smokes")
    with refused("no-choices"):
        Survey({"smokes": COIN}).estimate(reports, pooled=True)
    with refused("liars-of-pooled"):
        survey.estimate(reports, pooled=True, liars=0.1)


def test_one_question_is_drawn_for_each_person() -> None:
    survey = Survey({"smokes": YES, "drinks": YES}, choices=[1.0, 4.0], scheme="one_question")
    rng = np.random.default_rng(1)
    table = pd.DataFrame({name: rng.choice(YES, 8000, p=[0.7, 0.3]) for name in survey.questions})
    reports = survey.privatize(table.assign(choice=rng.choice([1, 4], 8000)), rng=1)
    found = survey.estimate(reports)
    for estimate in found.values():
        assert abs(estimate.values[1] - 0.3) < 4 * estimate.std_error[1]
    assert survey.epsilon == pytest.approx(4)
    assert survey.influence("smokes").largest == pytest.approx(2 / (1 - exp(-1)))
