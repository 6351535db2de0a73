"""Questionnaires: budgets add up, one pass over a table, missing answers by question, weights,
counts of shards."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders import refused
from ldpopt import (
    Counts,
    Mechanism,
    Problem,
    PureLDP,
    SecretKey,
    Survey,
    Workload,
    design,
    estimate_frequencies,
)
from ldpopt.errors import StatementError
from ldpopt.mechanism.questions import Question

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
BEST = design(Workload.prefix(["low", "middle", "high"]), PureLDP(1.0))
PROBLEM = Problem({"no": 0.4, "yes": 0.6}, "identity", PureLDP("log(2)"))
SURVEY = Survey({"smokes": COIN, "income": BEST, "drinks": PROBLEM})
PEOPLE = pd.DataFrame(
    {
        "smokes": ["yes", "no", "no"] * 400,
        "income": ["low", "middle", "high"] * 400,
        "drinks": ["yes", "yes", "no"] * 400,
        "name": [f"person {k}" for k in range(1200)],
    }
)


def test_the_budget_is_the_sum():
    assert pytest.approx(math.log(3) + 1.0 + math.log(2)) == SURVEY.epsilon
    assert list(SURVEY.budgets) == ["smokes", "income", "drinks"]
    assert "2.79" in repr(SURVEY)


def test_one_pass_over_tables_and_files(tmp_path):
    reports = SURVEY.privatize(PEOPLE, rng=1)
    assert reports["name"].tolist() == PEOPLE["name"].tolist()
    PEOPLE.to_parquet(tmp_path / "in.parquet")
    assert SURVEY.privatize_file(tmp_path / "in.parquet", tmp_path / "out.csv", rng=1) == 1200
    written = pd.read_csv(tmp_path / "out.csv")
    assert list(written) == ["smokes", "income", "drinks"]
    assert written["smokes"].tolist() == reports["smokes"].tolist()
    found = SURVEY.estimate(reports)
    for other in (SURVEY.estimate(tmp_path / "out.csv"), SURVEY.estimate(pl.DataFrame(reports))):
        assert all(other[name].values == pytest.approx(found[name].values) for name in found)
    assert found["income"].labels == BEST.workload.names
    true = {"smokes": [2 / 3, 1 / 3], "income": [1 / 3, 2 / 3, 1.0], "drinks": [1 / 3, 2 / 3]}
    for name, shares in true.items():
        assert (np.abs(found[name].values - shares) <= 5 * found[name].std_error + 1e-9).all()


def test_counts_of_shards():
    reports = SURVEY.privatize(PEOPLE, rng=1)
    parts = [SURVEY.count(reports[:500]), SURVEY.count(reports[500:])]
    both = {name: parts[0][name] + parts[1][name] for name in SURVEY.questions}
    whole = SURVEY.estimate(reports)
    assert all(
        SURVEY.estimate(both)[name].values == pytest.approx(whole[name].values) for name in whole
    )
    with refused("missing-counts") as error:
        SURVEY.estimate({"smokes": both["smokes"]})
    assert "'income'" in str(error.value)
    with refused("question"):
        SURVEY.estimate({"smoke": both["smokes"]})
    with refused("source"):
        SURVEY.estimate(both | {"smokes": both["drinks"]})


def test_missing_answers_by_question():
    table = pd.DataFrame({"a": ["no", None, "yes"], "b": ["yes", "no", "no"]})
    survey = Survey({"a": Question(COIN, "leave_out"), "b": COIN})
    assert survey.unprotected == ("a",)
    reports = survey.privatize(table, rng=1)
    assert reports["a"].isna().tolist() == [False, True, False]
    assert survey.estimate(reports)["a"].n_reports == 2
    with refused("missing-answer"):
        Survey({"a": COIN}).privatize(table)


def test_a_question_with_a_design_keeps_its_estimator(tmp_path):
    survey = Survey({"income": Question(BEST, "leave_out")})
    survey.save(tmp_path / "s.json")
    table = pd.DataFrame({"income": ["low", None, "high"] * 200})
    reports = survey.privatize(table, rng=1)
    for one in (survey, Survey.load(tmp_path / "s.json")):
        found = one.estimate(reports)["income"]
        assert (found.labels, found.n_reports) == (BEST.workload.names, 400)


def test_weights():
    reports = SURVEY.privatize(PEOPLE, rng=1)
    weights = pd.Series(np.arange(1200.0), PEOPLE.index)
    found = SURVEY.estimate(reports, weights=weights.sample(frac=1, random_state=1))["smokes"]
    share = weights[reports["smokes"] == "no"].sum() / weights.sum()
    assert found.values[0] == pytest.approx((share - 0.25) / 0.5)


@pytest.mark.parametrize(
    ("questions", "code"),
    [
        ({}, "no-question"),
        ([], "no-question"),
        ({1: COIN}, "name"),
        ({"a": "coin"}, "type"),
    ],
)
def test_bad_surveys(questions, code):
    with refused(code):
        Survey(questions)


def test_a_question_alone_is_its_mechanism():
    reports = Survey({"smokes": COIN}).privatize(PEOPLE, rng=5)
    assert reports["smokes"].tolist() == COIN.sample(PEOPLE["smokes"].tolist(), rng=5).tolist()
    found = Survey({"smokes": COIN}).estimate(reports)["smokes"]
    assert found.values == pytest.approx(
        estimate_frequencies(COIN, reports["smokes"].tolist()).values
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_reports_that_are_sets_are_columns_of_texts(library: str, tmp_path) -> None:
    best = design(Workload.frequencies([f"a{k}" for k in range(30)]), PureLDP(1.0))
    survey = Survey({"answer": Question(COIN, "leave_out"), "place": best})
    plain = pd.DataFrame(
        {"answer": ["no", None, "yes"] * 500, "place": ["a3"] * 1500, "id": range(1500)}
    )
    table = {
        "pandas": lambda: plain,
        "polars": lambda: pl.from_pandas(plain),
        "pyarrow": lambda: pa.table(plain),
    }[library]()
    key = SecretKey(bytes(32))
    reports = survey.privatize(table, key=key, id="id")
    assert type(reports) is type(table)
    counts = survey.count(reports)
    assert counts["place"].n_reports == 1500
    found = survey.estimate(reports)["place"]
    assert abs(found.values[3] - 1) < 6 * found.std_error[3]
    # The same key, id and answer give the same set, in a file, in another order, beside other
    # people.
    pq.write_table(pa.table(plain), tmp_path / "answers.parquet")
    survey.privatize_file(
        tmp_path / "answers.parquet", tmp_path / "reports.parquet", key=key, id="id"
    )
    assert survey.count(tmp_path / "reports.parquet") == counts
    other = survey.privatize(plain[::-3], key=key, id="id")["place"].tolist()
    assert (
        other
        == list(reports["place"].to_pylist() if library == "pyarrow" else reports["place"])[::-3]
    )
    assert (
        survey.privatize(plain, key=SecretKey(bytes(31) + b"1"), id="id")["place"].tolist() != other
    )


NUMBERED = {"whole numbers": [0, 1, 2], "texts of whole numbers": ["0", "1", "2"]}
COLUMNS = {
    "texts": lambda codes: [str(code) for code in codes],
    "texts and None": lambda codes: [str(code) for code in codes] + [None],
    "whole numbers": lambda codes: list(codes),
    "floats beside a missing entry": lambda codes: [float(code) for code in codes] + [float("nan")],
    "whole numbers and None": lambda codes: [*codes, None],
}
LIBRARIES = {
    "pandas": pd.DataFrame,
    "objects": lambda columns: pd.DataFrame({"q": pd.Series(columns["q"], dtype=object)}),
    "categories": lambda columns: pd.DataFrame(columns).astype("category"),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "arrow": pa.table,
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("entries", COLUMNS)
@pytest.mark.parametrize("labels", NUMBERED)
def test_reports_of_whole_numbers_are_read_in_dataframes_as_in_files(
    labels, entries, library, tmp_path
):
    mechanism = Mechanism(np.full((3, 3), 0.25) + np.eye(3) / 4, NUMBERED[labels])
    codes = [0, 1, 2, 2, 1, 2] * 5
    table = LIBRARIES[library]({"q": COLUMNS[entries](codes)})
    survey = Survey({"q": Question(mechanism, "leave_out")})
    expected = Counts.of(mechanism, [mechanism.outputs[code] for code in codes])
    assert survey.count(table) == {"q": expected}
    assert Counts.of(mechanism, table, column="q", missing="leave_out") == expected
    (tmp_path / "q.csv").write_text("q\n" + "".join(f"{code}\n" for code in codes) + "NA\n")
    assert survey.count(tmp_path / "q.csv") == {"q": expected}
    if not isinstance(table, pd.DataFrame):
        pq.write_table(table if library == "arrow" else table.to_arrow(), tmp_path / "q.parquet")
        assert survey.count(tmp_path / "q.parquet") == {"q": expected}
    drawn = survey.privatize(table, rng=1)
    assert survey.count(drawn)["q"].n_reports == len(codes)


def test_reports_of_a_file_are_read_by_every_reader(tmp_path):
    mechanism = Mechanism(np.full((3, 3), 0.25) + np.eye(3) / 4)
    survey = Survey({"q": mechanism})
    pd.DataFrame({"q": [0, 1, 2] * 20}).to_csv(tmp_path / "in.csv", index=False)
    survey.privatize_file(tmp_path / "in.csv", tmp_path / "out.csv", rng=1)
    expected = survey.count(tmp_path / "out.csv")
    for table in (
        pd.read_csv(tmp_path / "out.csv"),
        pd.read_csv(tmp_path / "out.csv", dtype=str),
        pl.read_csv(tmp_path / "out.csv", infer_schema=False),
    ):
        assert survey.count(table) == expected
        assert Counts.of(mechanism, table["q"]) == expected["q"]
    assert Counts.of(mechanism, pd.Series(["0", "2"])) == Counts.of(mechanism, [0, 2])


@pytest.mark.parametrize("entry", ["1.0", "01", " 1", "1e0", 0.5, "3", True, "yes"])
def test_texts_that_are_not_labels_are_refused_as_in_files(entry, tmp_path):
    mechanism = Mechanism(np.full((3, 3), 0.25) + np.eye(3) / 4, ["0", "1", "2"])
    with pytest.raises(StatementError, match="unknown report"):
        Survey({"q": mechanism}).count(pd.DataFrame({"q": [entry]}))
    (tmp_path / "q.csv").write_text(f"q\n{entry}\n")
    with pytest.raises(StatementError, match="unknown report"):
        Survey({"q": mechanism}).count(tmp_path / "q.csv")


def test_labels_of_one_text_are_matched_by_type():
    both = Mechanism(np.eye(2), [1, "1"])
    for entries, counts in ((["1", "1"], [0, 2]), ([1, 1, 1], [3, 0])):
        assert Counts.of(both, pa.table({"q": entries}), column="q").values.tolist() == counts
