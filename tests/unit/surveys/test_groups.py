"""Estimates by group, among those who answered, and of pairs, beside plain formulas; coverage in
simulated surveys."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ldpopt
from builders import THOROUGH, cli_json, cli_output, refused, run_cli, thorough_or
from ldpopt import (
    Counts,
    Mechanism,
    Problem,
    PureLDP,
    Survey,
    Workload,
    design,
    estimate_frequencies,
    solve,
)
from ldpopt.designing.frequency_design import FrequencyDesign
from ldpopt.estimation.answered import among_answered
from ldpopt.estimation.counts import source_of
from ldpopt.estimation.estimate import NO_ERROR
from ldpopt.estimation.intervals import null_variances
from ldpopt.frequencies import SubsetSelection
from ldpopt.mechanism.questions import Question
from ldpopt.surveys.estimates import SurveyEstimate

HEALTH = ["bad", "fair", "good"]
NO = "no answer"
REGIONS = ["north", "east", "south", "west"]


def survey(epsilon: float, **options: object) -> Survey:
    health = design(Workload.prefix(HEALTH).with_missing(NO), PureLDP(epsilon))
    smokes = design(Workload.frequencies(["no", "yes"]), PureLDP(epsilon))
    return Survey({"health": Question(health, missing_answer=NO), "smokes": smokes}, **options)


def people(size: int, seed: int = 0) -> pd.DataFrame:
    draws = np.random.default_rng(seed)
    table = pd.DataFrame({"region": draws.choice(REGIONS, size, p=[0.4, 0.3, 0.25, 0.05])})
    table["w"] = draws.lognormal(0, 0.5, size)
    bad = np.where(table["region"] == "north", 0.4, 0.2)
    table["health"] = np.where(
        draws.random(size) < bad, "bad", draws.choice(["fair", "good"], size)
    )
    table["health"] = table["health"].astype(object).where(draws.random(size) > 0.15, None)
    table["smokes"] = np.where(draws.random(size) < 0.3, "yes", "no")
    return table


def weighted_shares(table: pd.DataFrame) -> pd.Series:
    """Weighted means by region among those who answered, as ``svyby(~q, ~region, design, svymean)``
    has them in R."""
    found = {}
    for region, part in table.groupby("region"):
        answered = part[part["health"].notna()]
        for upto in (1, 2):
            share = np.average(answered["health"].isin(HEALTH[:upto]), weights=answered["w"])
            found[region, "health", f"<= {HEALTH[upto - 1]}"] = share
        found[region, "health", NO] = np.average(part["health"].isna(), weights=part["w"])
        found |= {
            (region, "smokes", a): np.average(part["smokes"] == a, weights=part["w"])
            for a in ("no", "yes")
        }
    return pd.Series(found)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_at_a_huge_budget_groups_are_those_of_the_answers_themselves(library, tmp_path):
    table = people(2000)
    one = survey(30.0, weights="w")
    reports = one.privatize(library(table.to_dict("list")), rng=1)
    truth = weighted_shares(table)
    found = one.estimate(reports, by="region")
    frame = found.to_frame().set_index(["group", "question", "answer"])
    assert list(found.groups) == sorted(REGIONS)
    assert np.abs(frame["estimate"] - truth.loc[frame.index]).max() < 1e-6
    assert (
        frame["n_reports"].groupby("group").first() == table["region"].value_counts().sort_index()
    ).all()
    # The standard error of R's svyratio, linearized and with replacement, but for N / (N - 1).
    part = table[table["region"] == "south"]
    answered = part["health"].notna() * part["w"]
    residual = answered * ((part["health"] == "bad") - truth["south", "health", "<= bad"])
    assert frame["std_error"]["south", "health", "<= bad"] == pytest.approx(
        math.sqrt((residual**2).sum()) / answered.sum(), rel=0.1
    )
    pd.DataFrame(
        reports.to_dict() if library is pd.DataFrame else reports.to_dict(as_series=False)
    ).to_csv(tmp_path / "r.csv", index=False)
    again = one.estimate(tmp_path / "r.csv", by="region").to_frame()
    assert again["estimate"].to_numpy() == pytest.approx(frame["estimate"].to_numpy(), abs=1e-12)


def test_groups_are_the_estimates_of_parts_of_the_table_and_add_up():
    table = people(1500)
    one = survey(2.0)
    table.loc[::50, "region"] = None
    reports = one.privatize(table, rng=1)
    found = one.estimate(reports, by="region")
    assert found.groups.keys() == {*REGIONS, "(missing)"}
    for region, own in found.groups.items():
        rows = reports["region"].isna() if region == "(missing)" else reports["region"] == region
        part = one.estimate(reports[rows], check_fit=False)
        for name in one.questions:
            assert own[name].interval == pytest.approx(part[name].interval, abs=1e-12)
    whole = one.estimate(reports)
    assert found["smokes"].values.tolist() == whole["smokes"].values.tolist()
    assert found["smokes"].fit is not None
    with refused("group-count"):
        one.estimate(reports.assign(name=range(1500)), by="name")
    with refused("counts-by-group"):
        one.estimate(one.count(reports), by="region")
    with refused("group"):
        one.estimate(reports, by="smokes")


def test_a_result_is_a_mapping_with_a_table_and_a_picture():
    found = survey(2.0).estimate(survey(2.0).privatize(people(300), rng=1), by="region")
    assert isinstance(found, SurveyEstimate)
    assert list(found) == ["health", "smokes"]
    assert len(dict(found)) == 2
    assert repr(found) == "SurveyEstimate(health, smokes, 4 groups by 'region')"
    for text in (str(found), found._repr_html_()):
        assert "fewer than 100 reports" in text
        assert "west" in text
        assert "region is not protected" in text
    assert "shares among those who answered" in str(found)
    assert len(ldpopt.plot(found).get_yticklabels()) == 5


def test_a_table_has_the_nearest_shares_and_no_error_of_one_person():
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    scale = design(Workload.frequencies(HEALTH), PureLDP(1.0))
    prefix = design(Workload.prefix(HEALTH), PureLDP(1.0))
    one = Survey({"smokes": coin, "health": scale, "at most": prefix})
    answers = people(300).dropna()
    answers["region"] = ["alone"] + ["other"] * (len(answers) - 1)
    answers["at most"] = answers["health"]
    reports = one.privatize(answers, rng=1)
    for by in (None, "region"):
        found = one.estimate(reports, by=by)
        frame = found.to_frame()
        tables = {"all": dict(found)} if by is None else found.groups
        for group, estimates in tables.items():
            for name in ("smokes", "health"):
                rows = frame[frame["question"] == name]
                rows = rows if by is None else rows[rows["group"] == group]
                nearest = estimates[name].norm_sub().values
                assert rows["norm_sub"].tolist() == nearest.tolist()
                assert nearest.min() >= 0
        assert frame.loc[frame["question"] == "at most", "norm_sub"].isna().all()
        is_alone = frame["group"] == "alone" if by else frame["n_reports"] == 1
        assert frame.loc[is_alone & (frame["question"] == "smokes"), "std_error"].isna().all()
        assert (frame.loc[~is_alone, "std_error"] >= 0).all()
        assert is_alone.any() == (NO_ERROR in found.notes()) == (by is not None)


def covers(one: Survey, truth: pd.Series, rounds: int, size: int, by: str | None) -> np.ndarray:
    """Share of intervals that contain the truth, for all rows of the table of people drawn with
    replacement."""
    crowd = people(40_000, 5)
    hits = []
    draws = np.random.default_rng(2)
    for _ in range(rounds):
        part = crowd.iloc[draws.integers(len(crowd), size=size)].reset_index(drop=True)
        frame = one.estimate(
            one.privatize(part, rng=draws), weights="w", by=by, check_fit=False
        ).to_frame()
        true = truth.loc[
            pd.MultiIndex.from_frame(frame[["group", "question", "answer"]])
        ].to_numpy()
        hits.append((frame["low"].to_numpy() <= true) & (true <= frame["high"].to_numpy()))
    return np.mean(hits, axis=0)


@pytest.mark.parametrize("epsilon", [1.5, 8.0] if THOROUGH else [8.0])
def test_coverage_by_region_with_weights_and_missing_answers(epsilon):
    rounds = thorough_or(10, 120)
    found = covers(
        survey(epsilon),
        weighted_shares(people(40_000, 5)),
        rounds,
        thorough_or(800, 2000),
        "region",
    )
    assert len(found) == 20
    # Few people of a small region with unequal weights: a score interval has a little less than its
    # coverage.
    assert (np.abs(found - 0.95) < 4.5 * math.sqrt(0.0475 / rounds) + 0.015).all(), found


@pytest.mark.parametrize("epsilon", [0.7, 3.0])
def test_coverage_among_those_who_answered(epsilon):
    rounds = thorough_or(10, 250)
    size = 300
    truth = np.array([0.02, 0.0, 0.58, 0.4])
    for source in (
        design(Workload.prefix(HEALTH).with_missing(NO), PureLDP(epsilon)),
        Mechanism(
            (np.eye(4) * (math.exp(epsilon) - 1) + 1) / (math.exp(epsilon) + 3), [*HEALTH, NO]
        ),
    ):
        drawn = source_of(source, "")
        draws = np.random.default_rng(1)
        hits = []
        missing = drawn.names.index(NO)
        expected = drawn.wanted @ truth / 0.6
        for _ in range(rounds):
            seen = draws.multinomial(
                size, truth @ (source.randomizer.counts / source.randomizer.denominator)
            )
            counts = Counts.of(
                source, dict(zip(source.randomizer.outputs, seen.tolist(), strict=True))
            )
            plain = (
                source.estimate(counts)
                if hasattr(source, "estimator")
                else estimate_frequencies(source, counts)
            )
            found = among_answered(plain, drawn, counts, missing)
            assert found.labels[-1] == NO
            assert found.values[-1] == plain.values[missing]
            low, high = found.interval[:-1].T
            hits.append(
                (low <= expected[:-1]) & (expected[:-1] <= high) & (low < found.values[:-1])
            )
        # By definition: the number of each report for a ratio t is a - t (1 - f), with a mean near
        # 0 here.
        channel = source.randomizer.counts / source.randomizer.denominator
        told = source.estimator if hasattr(source, "estimator") else np.linalg.inv(channel).T
        numbers = told[: len(found.values) - 1] - found.values[:-1, None] * (1 - told[missing])
        second = numbers**2 @ (drawn.frequencies(counts) @ channel)
        error = np.sqrt(second / size) / (1 - found.values[-1])
        assert found.std_error[:-1] == pytest.approx(error, rel=0.05)
        assert (
            np.abs(np.mean(hits, axis=0) - 0.95) < 4.5 * math.sqrt(0.0475 / rounds) + 0.02
        ).all()


def test_moments_of_sets_are_those_of_their_channel():
    labels = [*"abcde", NO]
    for size in (1, 2, 4):
        drawn = SubsetSelection(labels, 1.0, size=size)
        has = np.array(
            [[label in chosen for label in [*labels]] for chosen in drawn.mechanism.outputs]
        ).T
        values = (has - float(drawn.q)) / float(drawn.p - drawn.q)
        channel = drawn.mechanism.channel
        fake = type("Sets", (), {"protocol": drawn, "workload": Workload.frequencies(labels)})()
        squares, products = FrequencyDesign.second_moments(fake, 5)
        assert squares == pytest.approx(values**2 @ channel.T)
        assert products == pytest.approx(values * values[5] @ channel.T)
    with_sets = Survey(
        {
            "a": Question(
                design(Workload.frequencies([*map(str, range(30)), NO]), PureLDP(3.0)),
                missing_answer=NO,
            )
        }
    )
    table = pd.DataFrame({"a": (["1"] * 3 + ["2"] * 2 + [None] * 5) * 400})
    found = with_sets.estimate(with_sets.privatize(table, rng=1))["a"]
    assert found.values[[1, 2, -1]] == pytest.approx([0.6, 0.4, 0.5], abs=5 * found.std_error[1])


def test_the_variance_at_zero_is_that_of_a_distribution_with_the_number_zero():
    draws = np.random.default_rng(3)
    for _ in range(30):
        wanted = draws.normal(size=(1, 5))
        second = draws.uniform(1, 2, (1, 5))
        p = draws.dirichlet(np.ones(5))
        wanted[0, :2] = -1, 1
        end = int(wanted[0].argmin() if wanted @ p > 0 else wanted[0].argmax())
        mix = float(wanted[0] @ p / (wanted[0] @ p - wanted[0, end]))
        assert null_variances(wanted, second, p)[0] == pytest.approx(
            second[0] @ ((1 - mix) * p + mix * np.eye(5)[end])
        )


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("n", [2, 4])
def test_no_interval_has_width_zero(epsilon, n):
    worst = solve(
        Problem(None, "identity", PureLDP(epsilon), objective="worst_case", inputs=range(n))
    ).mechanism
    found = [estimate_frequencies(worst, [y] * 30, check_fit=False).interval for y in worst.outputs]
    for workload in (Workload.prefix(n), Workload.mean(range(n)), Workload.frequencies(n)):
        best = design(workload, PureLDP(epsilon), objective="worst_case")
        varying = np.ptp(workload.matrix, axis=1) > 0
        found += [
            best.estimate([y] * 30, check_fit=False).interval[varying]
            for y in best.mechanism.outputs
        ]
    assert all((np.diff(interval) > 1e-3).all() for interval in found)


def test_a_design_leaves_the_missing_answer_out_of_the_order():
    numbers = Workload.prefix(HEALTH).with_missing(NO)
    assert numbers.names == ("<= bad", "<= fair", NO)
    assert numbers.inputs[-1] == NO
    assert numbers.matrix.tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1]]
    assert Workload.frequencies(HEALTH).with_missing(NO).unit == 1
    # An answer that is given for a missing one among two is an ordinary answer.
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    one = Survey({"q": Question(coin, missing_answer="no")})
    assert one.estimate(pd.DataFrame({"q": ["no", "yes"] * 50}))["q"].values == pytest.approx(
        [0.5, 0.5]
    )


def test_pairs_of_two_reports_have_the_marginals_of_each_and_cover():
    rounds = thorough_or(10, 250)
    truth = np.array([0.3, 0.1, 0.05, 0.25, 0.1, 0.2])
    one = Survey(
        {
            "a": design(Workload.frequencies(3), PureLDP(2.0)),
            "b": design(Workload.frequencies(2), PureLDP(2.0)),
        }
    )
    draws = np.random.default_rng(1)
    hits = []
    for _ in range(rounds):
        cells = draws.choice(6, 800, p=truth)
        reports = one.privatize(pd.DataFrame({"a": cells // 2, "b": cells % 2}), rng=draws)
        pair = one.estimate_pair(reports, "a", "b")
        low, high = pair.interval.T
        hits.append((low <= truth) & (truth <= high))
    assert pair.labels[:2] == ((0, 0), (0, 1))
    assert pair.values.reshape(3, 2).sum(axis=0) == pytest.approx(one.estimate(reports)["b"].values)
    assert pair.values.reshape(3, 2).sum(axis=1) == pytest.approx(one.estimate(reports)["a"].values)
    assert (np.abs(np.mean(hits, axis=0) - 0.95) < 4.5 * math.sqrt(0.0475 / rounds) + 0.01).all()
    turned = one.estimate_pair(reports, "b", "a").values.reshape(2, 3).T.ravel()
    assert turned == pytest.approx(pair.values)


SURVEY = """
title = "Health"
epsilon = 6.0
weights = "w"
[question.health]
labels = ["bad", "fair", "good"]
workload = "prefix"
missing = "answer"
prior = { bad = 1, fair = 3, good = 3, "no answer" = 1 }
[question.smokes]
labels = ["no", "yes"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SURVEY)
    people(900).to_csv("a.csv", index=False)
    return tmp_path


def test_the_commands(folder):
    cli_output("survey", "privatize", "s.toml", "a.csv", "--keep", "region", "-o", "r.csv")
    found = run_cli(
        "survey", "estimate", "s.toml", "r.csv", "--by", "region", "-o", "t.csv", "--plot", "p.png"
    )
    assert found.exit_code == 0
    assert "region is not protected" in found.stdout
    assert Path("p.png").stat().st_size > 10_000
    table = pd.read_csv("t.csv")
    assert list(table) == [
        "group",
        "question",
        "answer",
        "estimate",
        "std_error",
        "low",
        "high",
        "norm_sub",
        "n_reports",
    ]
    data = cli_json("survey", "estimate", "s.toml", "r.csv", "--by", "region")
    assert data["by"] == "region"
    assert [row["estimate"] for row in data["estimates"]] == table["estimate"].tolist()
    pairs = cli_json("survey", "estimate", "s.toml", "r.csv", "--pair", "smokes", "health")[
        "estimates"
    ]
    assert len(pairs) == 8
    assert sum(row["estimate"] for row in pairs) == pytest.approx(1)
    for options, words in (
        (
            ["--by", "place"],
            "unknown column 'place' | where: r.csv | do: keep it beside the reports",
        ),
        (["--by", "region", "--pair", "smokes", "health"], "the rows of one group"),
    ):
        answered = run_cli("survey", "estimate", "s.toml", "r.csv", *options)
        assert answered.exit_code == 2
        assert words in answered.stderr
    single = cli_json("survey", "plan", "s.toml", "--people", 2000)["questions"][0]["half_width"]
    effect = 900 * (people(900)["w"] ** 2).sum() / people(900)["w"].sum() ** 2
    for options in (["--weights-effect", effect], ["--weights", "a.csv", "w"]):
        wider = cli_json("survey", "plan", "s.toml", "--people", 2000, *options)["questions"][0][
            "half_width"
        ]
        assert wider == pytest.approx(single * math.sqrt(effect))
    weights = people(900)["w"]
    most = weights.max() / weights.mean()
    for question in cli_json(
        "survey", "plan", "s.toml", "--people", 2000, "--weights", "a.csv", "w"
    )["questions"]:
        ratio = question["half_width_at_most"] / question["half_width"]
        assert ratio == pytest.approx(math.sqrt(most / effect))
    assert set(data["design_effects"]) == set(Survey.from_toml("s.toml").questions)
    assert all(1 <= each <= most * 1.001 for each in data["design_effects"].values())


def test_missing_answers_are_left_out_as_the_reports_say(folder):
    Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"]).save("coin.json")
    pd.DataFrame({"q": ["no", "", "yes"] * 50}).to_csv("q.csv", index=False)
    answered = run_cli("privatize", "coin.json", "q.csv", "-c", "q", "-o", "r.csv")
    assert "--missing-answer LABEL" in answered.stderr
    assert "--missing leave_out" in answered.stderr
    cli_output(
        "privatize", "coin.json", "q.csv", "-c", "q", "-o", "r.csv", "--missing", "leave_out"
    )
    assert cli_json("estimate", "coin.json", "r.csv", "-c", "q")["n_reports"] == 100
    answered = run_cli("estimate", "coin.json", "r.csv", "-c", "q", "--missing", "refuse")
    assert answered.exit_code == 2
    assert "50 reports are missing" in answered.stderr


def test_a_codebook_has_each_report_and_the_answers_that_make_it_likely(folder):
    rows = cli_json("survey", "codebook", "s.toml", "-o", "book.csv")["reports"]
    one = Survey.from_toml("s.toml")
    for column, drawn in one.randomizers.items():
        own = [row for row in rows if row["column"] == column]
        assert [row["report"] for row in own] == list(map(str, drawn.outputs))
        for row, p in zip(own, drawn.channel.T, strict=True):
            likely = [
                str(drawn.inputs[x]) for x in np.flatnonzero(p > math.sqrt(p.max() * p.min()))
            ]
            assert sorted(row["likely"].split(", ")) == sorted(likely)
            assert row["times"] == pytest.approx(p.max() / p.min())
    assert len(pd.read_csv("book.csv")) == len(rows)
    both = Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, epsilon=1.0, scheme="joint")
    both.save("joint.json")
    rows = cli_json("survey", "codebook", "joint.json")["reports"]
    assert [row["likely"] for row in rows] == [
        f"the list has {q}: {a}" for q in "ab" for a in ("no", "yes")
    ]


def test_simulated_surveys_have_the_planned_errors(folder):
    Path("shares.toml").write_text("[smokes]\nno = 0.9\nyes = 0.1\n")
    rows = cli_json(
        "survey",
        "simulate",
        "s.toml",
        "--people",
        500,
        "--repeats",
        15,
        "--shares",
        "shares.toml",
        "--seed",
        1,
    )
    found = pd.DataFrame(rows["estimates"]).set_index(["question", "answer"])
    assert found["truth"]["health", "<= fair"] == pytest.approx(4 / 7)  # of the prior
    assert found["truth"]["smokes", "yes"] == pytest.approx(0.1)
    expected = Survey.from_toml("s.toml").precision("smokes", prior=[0.9, 0.1]).variances[1] / 500
    assert abs(found["rmse"]["smokes", "yes"] ** 2 / expected - 1) < 5 * math.sqrt(2 / 15)
    assert (np.abs(found["coverage"] - 0.95) < 4.5 * math.sqrt(0.0475 / 15) + 0.01).all()
    alone = run_cli("survey", "simulate", "s.toml", "--people", 50, "--repeats", 2)
    # not for health, which has a prior
    assert "equal shares of the answers are supposed for smokes" in alone.stderr
    assert "health" not in alone.stderr
    Path("shares.toml").write_text("[drinks]\nno = 1\n")
    answered = run_cli("survey", "simulate", "s.toml", "--people", 50, "--shares", "shares.toml")
    assert answered.exit_code == 2
    assert "'drinks', which is not a question" in answered.stderr
