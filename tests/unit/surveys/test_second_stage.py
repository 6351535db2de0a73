"""The second stage of a survey: its mechanism, its interval, files and pages, what is refused."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog, minimize_scalar
from scipy.stats import norm, poisson

import ldpopt as lo
from builders import THOROUGH, cli_json, cli_output, refused, run_cli, thorough_or
from ldpopt import Mechanism, PureLDP, Survey, Workload, design
from ldpopt.errors import ModelFileError
from ldpopt.fieldwork import page
from ldpopt.mechanism.questions import Question
from ldpopt.plotting.report import report
from ldpopt.studies.survey_simulation import simulate_survey
from ldpopt.surveys.numbers import NumberQuestion
from ldpopt.surveys.ticks import TicksQuestion, tick_workload

STARTS = (0, 15, 25, 35, 45, 55, 65, 80)
EDGES = (*STARTS, 100)
CLASSES: dict[str, Any] = {"starts": list(STARTS), "most": 99}


def ages(people: int, rng: Any, mean: float = 41.0, missing: float = 0.0) -> pd.DataFrame:
    """Ages of people, some of them missing."""
    values = np.clip(np.floor(rng.normal(mean, 16.0, people)), 0, 99).astype(int).astype(object)
    values[rng.random(people) < missing] = None
    return pd.DataFrame({"age": values})


@pytest.fixture(scope="module")
def classes() -> Survey:
    """The pilot: ages by classes, shares up to each of them."""
    question = {"number": CLASSES, "workload": "prefix", "text": "How old are you?"}
    return survey_of(question)


def survey_of(question: dict[str, Any], epsilon: float = 1.0, **more: Any) -> Survey:
    """A survey of a file with one question about the age."""
    import tempfile

    lines = [f"epsilon = {epsilon}", *(f"{key} = {json.dumps(each)}" for key, each in more.items())]
    lines.append("[question.age]")
    for key, value in question.items():
        text = json.dumps(value)
        if isinstance(value, dict):
            inner = ", ".join(f"{name} = {json.dumps(each)}" for name, each in value.items())
            text = f"{{ {inner} }}"
        lines.append(f"{key} = {text}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "survey.toml"
        path.write_text("\n".join(lines))
        return Survey.from_toml(path)


def shares_of(mean: float) -> np.ndarray:
    """The shares of the classes, of whole numbers to which normal ones of deviation 16 are
    rounded.
    """
    cuts = norm.cdf((np.array(STARTS[1:]) - 0.5 - mean) / 16)
    return np.diff(np.concatenate([[0], cuts, [1]]))


def test_a_median_comes_from_the_second_stage_alone(classes: Survey) -> None:
    rng = np.random.default_rng(4)
    second = classes.adapt(classes.privatize(ages(4000, rng), rng=1), quantile=0.5)
    law = second.asked["age"].randomizer
    assert second.epsilon <= 1.0
    assert law.audit().epsilon <= 1.0
    truth = shares_of(41.0)
    median = float(np.interp(0.5, np.append(0, np.cumsum(truth)), EDGES))
    covered = []
    for _ in range(200 if THOROUGH else 40):
        seen = rng.multinomial(6000, truth @ law.channel)
        labels = np.repeat(np.array(law.outputs, dtype=object), seen)
        (found,) = second.estimate(pd.DataFrame({"age": labels}), check_fit=False).values()
        assert found.n_reports == 6000
        covered.append(found.interval[0, 0] <= median <= found.interval[0, 1])
    assert np.mean(covered) >= (0.92 if THOROUGH else 0.85)
    assert found.labels == ("quantile 0.5",)


def test_a_second_stage_has_no_other_quantile(classes: Survey) -> None:
    rng = np.random.default_rng(4)
    second = classes.adapt(classes.privatize(ages(4000, rng), rng=1), quantile=0.5)
    reports = second.privatize(ages(4000, rng), rng=2)
    for p in (0.25, 0.5):
        with refused("quantile-of-stage"):
            second.estimate(reports).quantile(p)


def best_information(shares: np.ndarray, scores: np.ndarray, epsilon: float) -> float:
    """The largest Fisher information, by a linear program over all columns with two values."""
    columns = np.array(list(itertools.product((1.0, math.exp(epsilon)), repeat=len(shares)))).T
    values = ((shares * scores) @ columns) ** 2 / (shares @ columns)
    return -linprog(-values, A_eq=columns, b_eq=np.ones(len(shares))).fun


def test_the_mean_of_a_family_is_asked_by_the_best_mechanism(classes: Survey) -> None:
    rng = np.random.default_rng(5)
    reports = classes.privatize(ages(3000, rng), rng=1)
    second = classes.adapt(reports, normal=16.0, between=(20, 70))
    assert second.stage is not None
    at = second.stage.value
    assert 35 < at < 47
    step = 1e-4
    slope = (shares_of(at + step) - shares_of(at - step)) / (2 * step)
    shares = shares_of(at)
    channel = second.asked["age"].randomizer.channel
    told = ((slope @ channel) ** 2 / (shares @ channel)).sum()
    assert told == pytest.approx(best_information(shares, slope / shares, 1.0), rel=1e-6)
    half = 1.959964 / math.sqrt(1000 * told)
    assert second.precision("age").half_width(1000)[0] == pytest.approx(half, rel=1e-5)

    answers = second.privatize(ages(5000, rng), rng=2)
    (found,) = second.estimate(answers).values()
    counts = answers["age"].value_counts()
    law = second.asked["age"].randomizer
    seen = np.array([counts.get(y, 0) for y in law.outputs])

    def deviance(mean: float) -> float:
        return float(-2 * seen @ np.log(shares_of(mean) @ law.channel))

    best = minimize_scalar(deviance, bounds=(20, 70), method="bounded", options={"xatol": 1e-9})
    assert found.values[0] == pytest.approx(best.x, abs=1e-3)
    for end in found.interval[0]:
        assert deviance(end) - best.fun == pytest.approx(1.959964**2, rel=1e-3)
    assert found.labels == ("mean",)


def test_a_rate_of_events_is_that_of_its_classes() -> None:
    rng = np.random.default_rng(6)
    visits = {"number": {"least": 0, "most": 12}}
    pilot = survey_of(visits, 2.0)
    drawn = pd.DataFrame({"age": np.minimum(rng.poisson(2.5, 3000), 12)})
    second = pilot.adapt(pilot.privatize(drawn, rng=1), rate=True)
    assert second.stage is not None
    assert second.stage.value == pytest.approx(2.5, abs=0.4)
    more = pd.DataFrame({"age": np.minimum(rng.poisson(2.5, 8000), 12)})
    (found,) = second.estimate(second.privatize(more, rng=2)).values()
    assert abs(found.values[0] - 2.5) < 4 * found.std_error[0] < 0.4
    law = poisson.pmf(np.arange(13), 2.5)
    law[-1] = poisson.sf(11, 2.5)
    at_found = second.stage.family(tuple(range(13))).probabilities(2.5)
    assert at_found == pytest.approx(law, abs=1e-14)


@pytest.mark.parametrize("goal", [{"quantile": 0.25}, {"normal": 16.0}])
def test_a_second_stage_reads_back_the_same(
    classes: Survey, tmp_path: Path, goal: dict[str, Any]
) -> None:
    rng = np.random.default_rng(7)
    second = classes.adapt(classes.privatize(ages(2000, rng), rng=1), **goal)
    second.save(tmp_path / "second.json")
    again = Survey.load(tmp_path / "second.json")
    assert again.stage == second.stage
    assert again.form() == second.form()
    assert again.form() != classes.form()
    reports = second.privatize(ages(800, rng), rng=2)
    first, last = (each.estimate(reports)["age"] for each in (second, again))
    assert first.interval.tolist() == last.interval.tolist()
    assert cli_output("certify", tmp_path / "second.json")


def test_missing_answers_are_an_answer_of_a_quantile() -> None:
    rng = np.random.default_rng(8)
    question = {"number": CLASSES, "workload": "prefix"}
    pilot = survey_of(question, 2.0, missing="answer")
    second = pilot.adapt(pilot.privatize(ages(4000, rng, missing=0.2), rng=1), quantile=0.5)
    assert second.questions["age"].missing_answer == "no answer"
    reports = second.privatize(ages(20_000, rng, missing=0.2), rng=2)
    low, high = second.estimate(reports)["age"].interval[0]
    assert low < float(np.interp(0.5, np.append(0, np.cumsum(shares_of(41.0))), EDGES)) < high
    assert high - low < 4
    table = pilot.privatize(ages(3000, rng, missing=0.2), rng=3)
    with refused("missing-of-family"):
        pilot.adapt(table, normal=16.0)
    without = pilot.adapt(table, normal=16.0, missing="leave_out")
    assert without.questions["age"].missing_answer is None
    assert without.unprotected == ("age",)
    assert without.stage is not None
    assert without.stage.value == pytest.approx(41, abs=4)


def test_reports_that_are_sets_and_rounded_numbers_are_pilots_too() -> None:
    rng = np.random.default_rng(9)
    drawn = ages(20_000, rng)
    pilot = survey_of({"number": {"least": 0, "most": 99}, "workload": "mean"}, 2.0)
    assert pilot.questions["age"].is_rounded
    second = pilot.adapt(pilot.privatize(drawn, rng=1), normal=16.0)
    assert second.stage is not None
    assert second.stage.value == pytest.approx(41, abs=1.5)
    assert not second.questions["age"].is_rounded
    assert len(second.questions["age"].inputs) == 100
    found = second.estimate(second.privatize(drawn, rng=2))["age"]
    assert abs(found.values[0] - 41) < 4 * found.std_error[0] < 2
    many = {"starts": list(range(0, 100, 4)), "most": 99}
    sets = survey_of({"number": many}, 2.0)
    assert not isinstance(sets.asked["age"].randomizer, Mechanism)
    second = sets.adapt(sets.privatize(drawn, rng=1), normal=16.0)
    assert second.stage is not None
    assert second.stage.value == pytest.approx(41, abs=2)
    with refused("set-reports"):
        sets.adapt(sets.privatize(drawn, rng=1), quantile=0.5)


@pytest.mark.parametrize(
    "number", [{"least": 0, "most": 100, "step": 10}, {"least": 0, "most": 99}]
)
def test_the_mean_is_that_of_the_numbers_as_they_are_given(number: dict[str, int]) -> None:
    """Both stages estimate the mean of the rounded numbers, and not of one that is half a step
    larger.
    """
    rng = np.random.default_rng(19)
    step = number.get("step", 1)
    given = np.clip(step * np.rint(rng.normal(50, 12, 30_000) / step), 0, number["most"])
    table = pd.DataFrame({"age": given.astype(int)})
    pilot = survey_of({"number": number, "workload": "mean"}, 6.0)
    reports = pilot.privatize(table, rng=1)
    second = pilot.adapt(reports, normal=12.0)
    (first,) = pilot.estimate(reports).values()
    (found,) = second.estimate(second.privatize(table, rng=2)).values()
    for each in (first, found):
        assert abs(each.values[0] - given.mean()) < 4 * each.std_error[0] < 0.49
    assert second.stage is not None
    assert second.stage.value == pytest.approx(first.values[0], abs=0.2)


def test_pages_say_that_nobody_may_be_in_both(classes: Survey) -> None:
    rng = np.random.default_rng(10)
    reports = classes.privatize(ages(2000, rng), rng=1)
    for goal in ({"quantile": 0.5}, {"normal": 16.0}):
        second = classes.adapt(reports, until="2031-03-31", **goal)
        assert "please do not answer again" in page(second, "")
        assert "please do not answer again" not in page(classes, "")
        assert second.words.until == "2031-03-31"
        told = report(second, people=1000)
        assert "Nobody may be in both: whoever is spends epsilon = 1 in the first" in told
        assert "2 in all" in told
        assert ("nothing can be estimated" in told.lower()) is False
        assert "Nobody may be in both" not in report(classes, people=1000)


def test_the_command_makes_a_survey_that_all_commands_read(classes: Survey, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    first, second, table = (tmp_path / name for name in ("first.json", "second.json", "a.csv"))
    classes.save(first)
    classes.privatize(ages(3000, rng), rng=1).to_csv(table, index=False)
    data = cli_json("survey", "adapt", first, table, "--quantile", "50%", "-o", second)
    assert data["stage"]["share"] == 0.5
    text = cli_output("survey", "adapt", first, table, "--quantile", ".5", "-o", second)
    assert "nobody may be in both" in " ".join(text.split())
    made = Survey.load(second)
    made.privatize(ages(3000, rng), rng=2).to_csv(tmp_path / "b.csv", index=False)
    found = cli_json("survey", "estimate", second, tmp_path / "b.csv")
    assert found["estimates"][0]["answer"] == "quantile 0.5"
    assert "first stage" in cli_output("survey", "estimate", second, tmp_path / "b.csv")
    assert "nobody may be in both" in run_cli("survey", "account", second).stderr
    simulated = cli_json("survey", "simulate", second, "--people", 500, "--repeats", 5)
    assert len(simulated["estimates"]) == 1
    assert run_cli("survey", "adapt", first, table, "-o", second).exit_code == 2
    assert run_cli("survey", "adapt", second, table, "--quantile", ".5", "-o", first).exit_code == 2


def test_a_simulated_mean_is_the_one_of_the_family(classes: Survey) -> None:
    rng = np.random.default_rng(12)
    second = classes.adapt(classes.privatize(ages(3000, rng), rng=1), normal=16.0)
    assert second.stage is not None
    simulated = simulate_survey(second, 2000, repeats=thorough_or(8, 20), rng=1)
    assert simulated["truth"].tolist() == pytest.approx([second.stage.value], abs=1e-6)
    assert simulated["coverage"].min() > 0.7
    others = simulate_survey(second, 500, shares={"age": shares_of(50.0)}, repeats=2, rng=1)
    assert others["truth"].tolist() == pytest.approx([50.0], abs=1e-4)


COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])


def of_names() -> Survey:
    """A survey of answers without an order."""
    return Survey({"age": design(Workload.frequencies(["red", "green", "blue"]), PureLDP(1.0))})


def test_what_does_not_fit_is_refused_by_name(classes: Survey) -> None:
    rng = np.random.default_rng(13)
    table = classes.privatize(ages(500, rng), rng=1)
    for goal in ({}, {"quantile": 0.5, "rate": True}):
        with refused("goal"):
            classes.adapt(table, **goal)
    with refused("no-effect"):
        classes.adapt(table, quantile=0.5, between=(1, 2))
    with refused("share"):
        classes.adapt(table, quantile=1.5)
    with refused("positive"):
        classes.adapt(table, normal=0)
    with refused("domain"):
        classes.adapt(table, normal=1.0, between=(5, 2))
    second = classes.adapt(table, quantile=0.5)
    with refused("stage"):
        second.adapt(second.privatize(ages(100, rng), rng=1), quantile=0.5)
    with refused("liars-of-stage"):
        second.estimate(second.privatize(ages(100, rng), rng=1), liars=0.01)
    names = of_names()
    colors = pd.DataFrame({"age": ["red", "green", "blue"] * 50})
    drawn = names.privatize(colors, rng=1)
    for goal in ({"quantile": 0.5}, {"normal": 1.0}, {"rate": True}):
        with refused("order"):
            names.adapt(drawn, **goal)
    with refused("event-classes"):
        survey_of({"number": {"least": 1, "most": 6}}).adapt(
            pd.DataFrame({"age": [1, 2, 3] * 20}), rate=True
        )
    source = design(tick_workload(("beer", "wine")), PureLDP(1.0))
    every: dict[str, Survey] = {
        "question-count": Survey({"a": COIN, "b": COIN}),
        "weights": Survey({"a": COIN}, weights="w"),
        "ticks": Survey({"a": TicksQuestion(source, ticks=("beer", "wine"))}),
        "joint-stage": Survey({"a": ["no", "yes"], "b": 2}, epsilon=1.0, scheme="joint"),
        "choices-stage": Survey({"a": Workload.prefix([0, 1, 2])}, choices=[1.0, 2.0]),
        "repeated-stage": Survey(
            {"a": Question(Workload.prefix([0, 1, 2]), repeat=True)}, epsilon=1.0
        ),
        "model": Survey({"a": lo.ReportModel(COIN, behaviors={"cheater": "no"})}),
    }
    answers = {
        "smokes": Question(Workload.frequencies(["no", "yes"])),
        "often": Question(Workload.frequencies(["few", "many"]), only_if={"smokes": "yes"}),
    }
    every["tree-stage"] = Survey(answers, epsilon=1.0)
    for code, survey in every.items():
        with refused(code):
            survey.adapt(pd.DataFrame({"a": []}), quantile=0.5)


def test_a_changed_stage_is_not_read(classes: Survey, tmp_path: Path) -> None:
    from ldpopt.certificate.documents import digest_of

    path = tmp_path / "second.json"
    table = classes.privatize(ages(500, np.random.default_rng(14)), rng=1)
    classes.adapt(table, quantile=0.5).save(path)
    written = json.loads(path.read_text())
    changes: list[tuple[str, Any, str]] = [
        ("share", 0.4, "changed-file"),
        ("share", 1.5, "share"),
        ("sd", 2.0, ""),
        ("kind", "mode", ""),
        ("edges", [0, 1], "stage-edges"),
        ("reports", -1, "whole-number"),
    ]
    for key, value, code in changes:
        data = json.loads(json.dumps(written))
        data["stage"][key] = value
        if code != "changed-file":
            del data["digest"]
            data["digest"] = digest_of(data)
        path.write_text(json.dumps(data))
        with pytest.raises(ModelFileError) as caught:
            Survey.load(path)
        if code:
            assert caught.value.code == code


def test_a_stage_is_of_one_question_with_what_it_estimates(classes: Survey) -> None:
    table = classes.privatize(ages(500, np.random.default_rng(15)), rng=1)
    of_quantile = classes.adapt(table, quantile=0.5)
    of_mean = classes.adapt(table, normal=16.0)
    question = of_quantile.questions["age"]
    with refused("question-count"):
        Survey({"age": question, "b": COIN}, stage=of_quantile.stage)
    with refused("stage-design"):
        Survey({"age": of_mean.questions["age"]}, stage=of_quantile.stage)
    with refused("stage-mechanism"):
        Survey({"age": question}, stage=of_mean.stage)
    with refused("stage-edges"):
        Survey({"age": COIN}, stage=of_mean.stage)
    with refused("type"):
        Survey({"age": question}, stage="second")  # type: ignore[arg-type]
    assert isinstance(question, NumberQuestion)
