"""Tables become reports: the same seed gives the same reports in any library and file; missing
answers are treated."""

from __future__ import annotations

import io
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases, refused
from ldpopt import Mechanism
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.seeds import generator_of
from ldpopt.mechanism.privatizing import privatize_file
from ldpopt.mechanism.questions import Question

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
STARS = Mechanism([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]], [1, 2, 3])
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def listed(column):
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


def through_files(folder, frame, ending, rules, **options):
    source = folder / f"in.{ending}"
    target = folder / f"out.{ending}"
    if ending == "csv":
        frame.to_csv(source, index=False)
    else:
        frame.to_parquet(source)
    privatize_file(source, target, rules, **options)
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    return read(target, **({"keep_default_na": False} if ending == "csv" else {}))


def test_batches_of_one_seed_are_drawn_on_and_never_again(tmp_path, monkeypatch):
    monkeypatch.setattr("ldpopt.tables.parquet.ROWS", 1000)
    frame = pd.DataFrame({"a": ["no"] * 3000})
    for seed in (7, np.random.SeedSequence(7)):
        found = through_files(tmp_path, frame, "parquet", {"a": Question(COIN)}, rng=seed)["a"]
        assert found.tolist() == COIN.sample(frame["a"].tolist(), rng=7).tolist()
        assert found[:1000].tolist() != found[1000:2000].tolist()


@cases(20)
@given(st.lists(st.sampled_from(["no", "yes"]), min_size=1, max_size=50), st.integers(0, 2**32))
def test_one_seed_one_result_in_every_kind_of_table(tmp_path_factory, answers, seed):
    columns = {"a": answers, "b": answers[::-1], "n": list(range(len(answers)))}
    plain = [COIN.sample(answers, rng=child) for child in generator_of(seed).spawn(2)]
    for make in LIBRARIES.values():
        made = make(columns)
        found = COIN.privatize(made, ["a"], rng=seed)
        assert type(found) is type(made)
        assert listed(found["a"]) == COIN.sample(answers, rng=seed).tolist()
        assert listed(found["b"]) == columns["b"]
        both = COIN.privatize(made, ["a", "b"], rng=np.random.SeedSequence(seed))
        assert listed(both["a"]) == plain[0].tolist()
        assert listed(both["n"]) == columns["n"]
    folder = tmp_path_factory.mktemp("tables")
    for ending in ("csv", "parquet"):
        rules = {"a": Question(COIN), "b": Question(COIN)}
        found = through_files(folder, pd.DataFrame(columns), ending, rules, keep=["n"], rng=seed)
        assert found["a"].tolist() == plain[0].tolist()
        assert list(found) == ["a", "b", "n"]


def test_the_index_and_the_order_of_columns_stay():
    table = pd.DataFrame({"n": [1, 2, 3], "a": ["no", "yes", "no"]}, index=["x", "y", "x"])
    found = COIN.privatize(table, "a", rng=1)
    assert list(found) == ["n", "a"]
    assert found.index.tolist() == ["x", "y", "x"]
    assert table["a"].tolist() == ["no", "yes", "no"]
    series = COIN.sample(table["a"], rng=1)
    assert (series.index.tolist(), series.name) == (["x", "y", "x"], "a")
    assert series.tolist() == found["a"].tolist()


def test_labels_of_numbers_stay_numbers(tmp_path):
    for make in LIBRARIES.values():
        assert set(listed(STARS.privatize(make({"a": [1, 2, 3]}), "a")["a"])) <= {1, 2, 3}
    privatize_file(
        written(tmp_path, pa.table({"a": [1, 2, 3]})),
        tmp_path / "out.parquet",
        {"a": Question(STARS)},
    )
    assert pq.read_schema(tmp_path / "out.parquet").field("a").type == pa.int64()
    privatize_file(
        written(tmp_path, pa.table({"a": ["1", "2"]})),
        tmp_path / "out.parquet",
        {"a": Question(STARS)},
    )
    assert pq.read_schema(tmp_path / "out.parquet").field("a").type == pa.string()


def written(folder, table, name="in.parquet"):
    pq.write_table(table, folder / name)
    return folder / name


def test_labels_of_several_kinds_need_a_library_that_has_them():
    mixed = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", 1])
    assert set(mixed.privatize(pd.DataFrame({"a": ["no", 1]}), "a")["a"]) <= {"no", 1}
    with pytest.raises(StatementError, match="several kinds"):
        mixed.privatize(pl.DataFrame({"a": ["no", "no"]}), "a")


@pytest.mark.parametrize("library", LIBRARIES)
class TestMissing:
    """Refused with their number and row, given an answer of their own, or left out."""

    def test_refused(self, library):
        table = LIBRARIES[library]({"a": ["no", None, "yes", None]})
        with pytest.raises(StatementError, match=r"^2 (.|\n)*row 1"):
            COIN.privatize(table, "a")

    def test_an_answer_of_their_own(self, library):
        truth = Mechanism(np.eye(3), ["no", "yes", "no answer"])
        table = LIBRARIES[library]({"a": ["no", None, "yes"]})
        assert listed(truth.privatize(table, "a", missing_answer="no answer")["a"]) == [
            "no",
            "no answer",
            "yes",
        ]
        with refused("missing-input") as caught:
            truth.privatize(table, "a", missing_answer="nothing")
        assert "'nothing'" in str(caught.value)

    def test_left_out(self, library):
        found = listed(
            COIN.privatize(
                LIBRARIES[library]({"a": ["no", None, "yes"]}), "a", missing="leave_out"
            )["a"]
        )
        assert [pd.isna(report) for report in found] == [False, True, False]
        with refused("choice"):
            COIN.privatize(LIBRARIES[library]({"a": ["no"]}), "a", missing="drop")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_missing_answers_in_files(tmp_path, ending):
    frame = pd.DataFrame({"a": ["no", None, "yes", None], "n": [1, 2, 3, 4]})
    with refused("missing-answer") as caught:
        through_files(tmp_path, frame, ending, {"a": Question(COIN)})
    assert f"row {3 if ending == 'csv' else 2}" in str(caught.value)
    assert not (tmp_path / f"out.{ending}").exists()
    found = through_files(tmp_path, frame, ending, {"a": Question(COIN, "leave_out")}, keep=["n"])
    assert [report in ("", None) or pd.isna(report) for report in found["a"]] == [
        False,
        True,
        False,
        True,
    ]
    truth = Mechanism(np.eye(3), ["no", "yes", "none"])
    found = through_files(tmp_path, frame, ending, {"a": Question(truth, missing_answer="none")})
    assert found["a"].tolist() == ["no", "none", "yes", "none"]


BAD = {
    "a column of dictionaries": ({"a": [{"b": 1}]}, "not labels"),
    "mixed types": ({"a": ["no", 3]}, "unknown answer: "),
    "another case": ({"a": ["no", "Yes"]}, r"row 1(.|\n)*no, yes"),
    "no such column": ({"b": ["no"]}, "'a'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_dataframes(name):
    columns, words = BAD[name]
    for make in (pd.DataFrame, lambda columns: pl.DataFrame(columns, strict=False)):
        with pytest.raises(StatementError, match=words):
            COIN.privatize(make(columns), "a")


def test_other_tables_are_refused():
    with refused("table-of-engine"):
        COIN.privatize(pl.LazyFrame({"a": ["no"]}), "a")
    for other in ([1, 2], {"a": ["no"]}, "answers.csv", None):
        with pytest.raises(StatementError, match="not a dataframe"):
            COIN.privatize(other, "a")


def test_files_are_never_read_and_written_at_once_or_kept_and_protected(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\nno,1\n")
    with pytest.raises(ModelFileError, match="replace the file"):
        privatize_file(path, path, {"a": Question(COIN)})
    with refused("kept-column", ModelFileError):
        privatize_file(path, tmp_path / "b.csv", {"a": Question(COIN)}, keep=["a"])
    with pytest.raises(ModelFileError, match=r"'\.xlsx'"):
        privatize_file(path, tmp_path / "b.xlsx", {"a": Question(COIN)})
    nested = written(tmp_path, pa.table({"a": ["no"], "b": [[1, 2]]}))
    with pytest.raises(ModelFileError, match="CSV"):
        privatize_file(nested, tmp_path / "b.csv", {"a": Question(COIN)}, keep=["b"])
    assert sorted(part.name for part in tmp_path.iterdir()) == ["a.csv", "in.parquet"]


def test_from_stdin_to_stdout(monkeypatch, capfdbinary):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nno\nyes\n")))
    truth = Mechanism(np.eye(2), ["no", "yes"])
    assert privatize_file("-", "-", {"a": Question(truth)}) == 2
    assert capfdbinary.readouterr().out == b"a\nno\nyes\n"


def test_no_two_columns_share_draws():
    table = pd.DataFrame({"a": ["no"] * 4000, "b": ["no"] * 4000})
    found = COIN.privatize(table, ["a", "b"], rng=3)
    agreement = (found["a"] == found["b"]).mean()
    assert abs(agreement - (0.75**2 + 0.25**2)) < 5 * 0.5 / np.sqrt(4000)
