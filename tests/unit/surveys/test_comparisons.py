"""Comparisons of groups and waves, independence, consistent tables and values of a survey."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from builders import cli_json, refused
from ldpopt import Mechanism, Sample, Survey, regress
from ldpopt.estimation.intervals import norm_sub
from ldpopt.mechanism.questions import Question
from ldpopt.surveys.comparisons import holm, nearest_tables
from ldpopt.surveys.estimates import SurveyEstimate


def coin(truth: float = 0.75) -> Mechanism:
    return Mechanism([[truth, 1 - truth], [1 - truth, truth]], inputs=["no", "yes"])


def three() -> Mechanism:
    return Mechanism(np.full((3, 3), 0.2) + 0.4 * np.eye(3), inputs=["low", "mid", "high"])


def survey(**options: Any) -> Survey:
    return Survey({"smokes": coin(), "stress": three()}, **options)


def answers(n: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    share = np.where(region == "north", 0.5, 0.2) + shift
    return pd.DataFrame(
        {
            "smokes": np.where(rng.random(n) < share, "yes", "no"),
            "stress": rng.choice(["low", "mid", "high"], n, p=[0.5, 0.3, 0.2]),
            "region": region,
        }
    )


@pytest.fixture(scope="module")
def reports() -> pd.DataFrame:
    frame: pd.DataFrame = survey().privatize(answers(3000, 1), rng=2)
    return frame


def by_region(reports: pd.DataFrame) -> SurveyEstimate:
    return survey().estimate(reports, by="region")


def test_differences_are_those_of_the_groups(reports: pd.DataFrame) -> None:
    found = by_region(reports)
    differences = found.differences("south")
    assert list(differences) == [("north", "south"), ("west", "south")]
    north = differences["north", "south"]["smokes"]
    by_hand = found.groups["north"]["smokes"] - found.groups["south"]["smokes"]
    np.testing.assert_array_equal(north.interval, by_hand.interval)
    every = found.differences()
    assert len(every) == 3
    table = every.to_frame()
    assert len(table) == 3 * (2 + 3)
    # tests and intervals agree, and Holm's p-value is never below the plain one
    is_in = (table["low"] <= 0) & (table["high"] >= 0)
    assert ((table["p"] > 0.05) == is_in).all()
    assert (table["holm"] >= table["p"]).all()
    assert "p (Holm)" in every.summary()
    assert "holm" not in found.differences("south").entries()[0] or len(differences) > 1


def test_one_difference_of_one_question_has_one_p_value() -> None:
    one = Survey({"smokes": coin()})
    table = pd.DataFrame({"smokes": ["no", "yes"] * 200, "half": ["x", "x", "y", "y"] * 100})
    entries = one.estimate(table, by="half").differences().entries()
    assert [sorted(entry)[-1] for entry in entries] == ["std_error"] * 2
    assert entries[0]["p"] == pytest.approx(entries[1]["p"])


def test_unknown_groups_are_refused(reports: pd.DataFrame) -> None:
    found = by_region(reports)
    with refused("group"):
        found.differences("east")
    for call in (survey().estimate(reports).differences, survey().estimate(reports).consistent):
        with refused("no-groups"):
            call()
    with refused("question"):
        found.independence("drinks")


def test_a_group_and_all_people_are_not_subtracted(reports: pd.DataFrame) -> None:
    found = by_region(reports)
    with refused("same-people"):
        found.groups["north"]["smokes"] - found["smokes"]
    with refused("same-people"):
        found["smokes"].contrast({"yes": 1}) - found["stress"].contrast({"low": 1})


def test_waves_are_compared(reports: pd.DataFrame) -> None:
    later = survey().privatize(answers(3000, 3, 0.2), rng=4)
    before, after = (survey().estimate(table) for table in (reports, later))
    change = after - before
    assert list(change) == [("after", "before")]
    smokes = change["after", "before"]["smokes"]
    np.testing.assert_allclose(smokes.values, after["smokes"].values - before["smokes"].values)
    assert smokes.values[1] > 0.1
    assert "after - before" in change.summary()
    for other in (1, pd.DataFrame()):
        with refused("not-an-estimate"):
            after - other
    with refused("question"):
        after - SurveyEstimate({"other": before["smokes"]})


def test_groups_are_tested_by_pearson_on_the_reports(reports: pd.DataFrame) -> None:
    found = by_region(reports)
    for name in ("smokes", "stress"):
        table = pd.crosstab(reports["region"], reports[name])
        right = chi2_contingency(table, correction=False)
        test = found.independence(name)
        assert (test.statistic, test.freedom) == (pytest.approx(right.statistic), right.dof)
        assert test.p_value == pytest.approx(right.pvalue)
    assert found.independence("smokes").p_value < 1e-6 < found.independence("stress").p_value


def test_groups_are_tested_with_the_missing_answer() -> None:
    labels = ["no", "yes", "no answer"]
    channel = Mechanism(np.full((3, 3), 0.2) + 0.4 * np.eye(3), inputs=labels, outputs=labels)
    asked = Survey({"smokes": Question(channel, missing_answer="no answer")})
    rng = np.random.default_rng(3)
    region = rng.choice(["north", "south"], 600)
    told = rng.choice(np.array(["no", "yes", None], dtype=object), 600, p=[0.6, 0.3, 0.1])
    drawn = asked.privatize(pd.DataFrame({"smokes": told, "region": region}), rng=4)
    test = asked.estimate(drawn, by="region").independence("smokes")
    right = chi2_contingency(pd.crosstab(drawn["region"], drawn["smokes"]), correction=False)
    assert (test.statistic, test.freedom) == (pytest.approx(right.statistic), right.dof)
    assert "missing" in test.hypothesis


def test_groups_are_tested_on_one_question_of_a_joint_report() -> None:
    questions = {"smokes": ["no", "yes"], "stress": ["low", "mid", "high"]}
    asked = Survey(questions, epsilon=4.0, scheme="joint")
    drawn = asked.privatize(answers(1500, 8), rng=9)
    found = asked.estimate(drawn, by="region")
    # the two shares of smokes are one number, the three of stress two
    assert found.independence("smokes").freedom == 2
    assert found.independence("stress").freedom == 4
    assert found.independence("smokes").p_value < 1e-6 < found.independence("stress").p_value


def test_two_questions_are_tested_by_pearson_on_the_reports(reports: pd.DataFrame) -> None:
    test = survey().independence(reports, "smokes", "stress")
    table = pd.crosstab(reports["smokes"], reports["stress"])
    right = chi2_contingency(table, correction=False)
    assert (test.statistic, test.freedom) == (pytest.approx(right.statistic), right.dof)
    swapped = survey().independence(reports, "stress", "smokes")
    assert swapped.statistic == pytest.approx(test.statistic, rel=1e-12)
    weighted = reports.assign(w=np.where(reports["region"] == "north", 3.0, 1.0))
    with_weights = survey().independence(weighted, "smokes", "stress", weights="w")
    assert 0 < with_weights.p_value < 1
    with refused("same-question"):
        survey().independence(reports, "smokes", "smokes")


def test_joint_reports_are_not_tested_as_two() -> None:
    joint = Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, epsilon=4.0, scheme="joint")
    table = pd.DataFrame({"a": ["no", "yes"] * 50, "b": ["no", "no"] * 50})
    with refused("joint"):
        joint.independence(joint.privatize(table, rng=1), "a", "b")


def test_consistent_tables_add_up(reports: pd.DataFrame) -> None:
    small = reports.iloc[:60]
    found = by_region(small)
    fitted = found.consistent()
    for name in ("smokes", "stress"):
        sizes = np.array([each[name].n_reports for each in fitted.groups.values()])
        rows = np.array([each[name].values for each in fitted.groups.values()])
        np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-9)
        assert (rows >= 0).all()
        np.testing.assert_allclose(sizes / sizes.sum() @ rows, fitted[name].values, atol=1e-9)
        np.testing.assert_allclose(fitted[name].values, norm_sub(found[name].values))


def test_consistent_tables_of_weighted_people_stay_when_made_again(reports: pd.DataFrame) -> None:
    small = reports.iloc[:200].assign(w=np.where(reports["region"][:200] == "north", 5.0, 1.0))
    found = survey().estimate(small, weights="w", by="region")
    shares = small.groupby("region")["w"].sum() / small["w"].sum()
    once = found.consistent()
    for fitted in (once, once.consistent()):
        for name in ("smokes", "stress"):
            mixed = sum(shares[group] * fitted.groups[group][name].values for group in shares.index)
            np.testing.assert_allclose(mixed, fitted[name].values, atol=1e-9)
            for group in shares.index:
                again, first = (each.groups[group][name].values for each in (fitted, once))
                np.testing.assert_allclose(again, first, atol=1e-9)
    test = found.independence("stress")
    assert type(test.statistic) is type(test.p_value) is float


def test_consistent_tables_are_the_nearest() -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        groups, n = rng.integers(2, 6, 2)
        shares = rng.dirichlet(np.ones(groups))
        tables = rng.dirichlet(np.ones(n), groups) + rng.normal(0, 0.15, (groups, n))
        tables += (1 - tables.sum(axis=1))[:, None] / n
        total = norm_sub(shares @ tables)
        found = nearest_tables(tables, shares, total)
        cells = cp.Variable((groups, n), nonneg=True)
        loss = cp.sum(cp.multiply(shares[:, None], cp.square(cells - tables)))
        rows = [cp.sum(cells, axis=1) == 1, shares @ cells == total]
        value = cp.Problem(cp.Minimize(loss), rows).solve(solver="CLARABEL")
        assert (shares[:, None] * (found - tables) ** 2).sum() <= value + 1e-7
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-8)


def test_holm_is_step_down() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("scheme", ["split", "one_question", "joint"])
def test_values_average_to_the_estimates(scheme: Any, tmp_path: Any) -> None:
    table = answers(500, 6)
    if scheme == "joint":
        questions = {"smokes": ["no", "yes"], "stress": ["low", "mid", "high"]}
        asked = Survey(questions, epsilon=4.0, scheme="joint")
    else:
        asked = survey(scheme=scheme)
    drawn = asked.privatize(table, rng=7)
    values = asked.values(drawn)
    estimates = asked.estimate(drawn)
    for name in ("smokes", "stress"):
        labels = estimates[name].labels or ()
        means = values[[f"{name}: {label}" for label in labels]].mean()
        np.testing.assert_allclose(means, estimates[name].values, atol=1e-12)
    path = tmp_path / "reports.csv"
    drawn.to_csv(path, index=False)
    pd.testing.assert_frame_equal(asked.values(path), values)
    assert list(asked.values(drawn, questions=["stress"])) == list(values)[2:]
    with refused("question"):
        asked.values(drawn, questions=["drinks"])


def test_a_survey_regresses_its_reports(reports: pd.DataFrame, tmp_path: Any) -> None:
    found = survey().regress("smokes ~ C(region)", reports)
    by_hand = regress("smokes ~ C(region)", reports, {"smokes": coin()})
    pd.testing.assert_series_equal(found.params, by_hand.params)
    path = tmp_path / "reports.csv"
    reports.to_csv(path, index=False)
    pd.testing.assert_series_equal(
        survey().regress("smokes ~ C(region)", path).params, found.params
    )
    survey().save(tmp_path / "survey.json")
    data = cli_json(
        *("survey", "regress", tmp_path / "survey.json", path, "smokes ~ C(region)"),
        *("-o", tmp_path / "table.csv", "--plot", tmp_path / "table.png", "--json", "-"),
    )
    assert (tmp_path / "table.png").read_bytes().startswith(b"\x89PNG")
    assert len(data["coefficients"]) == len(pd.read_csv(tmp_path / "table.csv")) == 3
    with refused("missing-file"):
        survey().regress("smokes ~ region", tmp_path / "nowhere.csv")
    joint = Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, epsilon=4.0, scheme="joint")
    with refused("joint"):
        joint.regress("a ~ b", reports)


def test_a_group_is_no_question_and_the_message_says_where_it_is(reports: pd.DataFrame) -> None:
    found = survey().estimate(reports, by="region")
    group = next(iter(found.groups))
    with refused("question") as caught:
        found[group]
    assert f".groups[{group!r}]" in caught.value.do
    with refused("question") as caught:
        found["nothing"]
    assert ".groups" not in caught.value.do


def test_quantiles_need_a_question_with_an_order(reports: pd.DataFrame) -> None:
    found = Survey({"smokes": coin()}).estimate(reports)
    with refused("frequencies"):
        found.quantile(0.5)
    assert found["smokes"].quantile(0.5).labels == ("quantile 0.5",)


def test_groups_without_a_weight_have_no_differences(reports: pd.DataFrame) -> None:
    weighted = reports.assign(w=(reports["region"] == "north") * 1.0)
    found = survey().estimate(weighted, by="region", weights="w")
    for base in ("south", None):
        with refused("no-reports-of-groups"):
            found.differences(base)
    both = reports.assign(w=(reports["region"] != "west") * 1.0)
    found = survey().estimate(both, by="region", weights="w")
    assert list(found.differences()) == [("north", "south")]


def test_a_regression_names_the_stratum_of_a_single_unit(reports: pd.DataFrame) -> None:
    table = reports.assign(part="many", alone=0)
    table.loc[5, "part"] = "few"
    with refused("one-unit") as caught:
        survey().regress("smokes ~ region", table, sample=Sample(strata="part"))
    assert "'few'" in str(caught.value)
    with refused("one-unit") as caught:
        survey().regress("smokes ~ region", table, sample=Sample(clusters="alone"))
    assert "stratum" not in str(caught.value)
