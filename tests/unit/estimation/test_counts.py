"""Counts: of shards as of the whole, saved and loaded, from every container, weighted; of another
mechanism refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cases, refused
from ldpopt import Counts, Mechanism, PureLDP, Workload, design, estimate_frequencies
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.frequencies import FrequencyProtocol, SubsetSelection, UnaryEncoding

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
OTHER = Mechanism([[0.7, 0.3], [0.3, 0.7]], inputs=["no", "yes"])
STARS = Mechanism([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
LABELS = ["a", "b", "c", "d", "e"]
PROTOCOLS = [kind(LABELS, 1.0) for kind in FrequencyProtocol.PUBLISHED]
REPORTS = ["no", "yes", "no", "no"]
PLAIN = Counts.of(COIN, REPORTS)


@cases(40)
@given(st.lists(st.sampled_from(["no", "yes"]), max_size=30), st.integers(0, 30))
def test_counts_of_parts_are_those_of_the_whole(reports, cut):
    parts = Counts.of(COIN, reports[:cut]) + Counts.of(COIN, reports[cut:])
    assert (
        parts
        == Counts.of(COIN, reports)
        == sum(Counts.of(COIN, [one]) for one in reports) + Counts.of(COIN, [])
    )
    assert parts.to_dict() == {label: reports.count(label) for label in ("no", "yes")}


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: type(protocol).__name__)
def test_counts_of_protocols(protocol, tmp_path):
    reports = protocol.privatize(["a", "b", "e", "e"] * 50, rng=1)
    parts = protocol.count(reports[:70]) + Counts.of(protocol, reports[70:])
    assert parts == protocol.count(reports)
    assert protocol.estimate(parts).values.tolist() == protocol.estimate(reports).values.tolist()
    parts.save(tmp_path / "counts.json")
    assert Counts.load(tmp_path / "counts.json") == parts
    assert protocol.estimate(Counts.load(tmp_path / "counts.json")).n_reports == 200
    with refused("source"):
        type(protocol)(LABELS, 2.0).estimate(parts)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: type(protocol).__name__)
def test_whole_weights_are_repetitions(protocol):
    reports = protocol.privatize(["a", "b", "e", "e"], rng=1)
    weights = np.array([1, 2, 0, 3])
    found = protocol.count(reports, weights=weights)
    repeated = protocol.count(np.repeat(reports, weights, axis=0))
    assert found.values.tolist() == repeated.values.tolist()
    assert (found.total, found.n_reports) == (6, 4)
    assert protocol.estimate(found).values == pytest.approx(protocol.estimate(repeated).values)


def test_every_container_of_labels(tmp_path):
    frame = pd.DataFrame({"r": REPORTS})
    frame.to_csv(tmp_path / "r.csv", index=False)
    frame.to_parquet(tmp_path / "r.parquet")
    vectors = [
        tuple(REPORTS),
        np.array(REPORTS),
        frame["r"],
        frame["r"].astype("category"),
        iter(REPORTS),
    ]
    vectors += [pl.Series(REPORTS), pa.array(REPORTS), pa.chunked_array([REPORTS[:1], REPORTS[1:]])]
    assert all(Counts.of(COIN, vector) == PLAIN for vector in vectors)
    tables = [
        frame,
        pl.DataFrame(frame),
        pa.table(frame),
        tmp_path / "r.csv",
        str(tmp_path / "r.parquet"),
    ]
    assert all(Counts.of(COIN, table, column="r") == PLAIN for table in tables)


def test_every_container_of_counts():
    series = pd.Series(REPORTS, name="r")
    column = pl.Series("r", REPORTS)
    tallies = [
        {"no": 3, "yes": 1},
        series.value_counts(),
        series.value_counts().reset_index(),
        PLAIN,
    ]
    tallies += [column.value_counts(), pl.DataFrame({"r": REPORTS}).group_by("r").len()]
    tallies += [
        pa.array(REPORTS).value_counts(),
        pa.chunked_array([REPORTS]).value_counts().slice(0),
    ]
    tallies += [pa.table({"r": REPORTS}).group_by("r").aggregate([([], "count_all")])]
    for tally in tallies:
        assert Counts.of(COIN, tally) == PLAIN
        assert estimate_frequencies(COIN, tally).values == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("tally", [pd.Series([1, 2], [1, 0]), pd.Series([1, 2, 0], [2, 1, 0])])
def test_an_ambiguous_series_is_refused(tally):
    with pytest.raises(StatementError, match="could hold reports"):
        Counts.of(STARS, tally)
    with pytest.raises(StatementError, match="give column="):
        Counts.of(STARS, pl.DataFrame({"a": [1, 2], "b": [0, 1]}))


def test_weighted_estimates_against_the_plain_formula():
    weights = np.array([1.0, 2.0, 0.5, 3.0])
    found = estimate_frequencies(COIN, Counts.of(COIN, REPORTS, weights=weights))
    # Each report counts for a column of the inverse of the channel.
    numbers = np.linalg.inv(COIN.channel.T)[:, [0, 1, 0, 0]]
    mean = numbers @ weights / weights.sum()
    spread = (numbers - mean[:, None]) * weights
    assert found.values == pytest.approx(mean)
    assert found.covariance == pytest.approx(spread @ spread.T / weights.sum() ** 2)
    assert found.n_reports == 4
    likely = estimate_frequencies(
        COIN, Counts.of(COIN, REPORTS, weights=weights), method="maximum_likelihood"
    )
    assert likely.values.min() >= 0


@cases(20)
@given(
    st.lists(st.tuples(st.sampled_from(["no", "yes"]), st.integers(0, 5)), min_size=1, max_size=20),
    st.randoms(),
)
def test_weights_go_by_the_index(pairs, random):
    reports, weights = (pd.Series(list(column), name="r") for column in zip(*pairs, strict=True))
    order = list(range(len(pairs)))
    random.shuffle(order)
    plain = Counts.of(COIN, reports.to_list(), weights=weights.to_list())
    assert Counts.of(COIN, reports, weights=weights.iloc[order]) == plain
    frame = pd.DataFrame({"r": reports, "w": weights}).iloc[order]
    assert Counts.of(COIN, frame, column="r", weights="w") == plain
    assert Counts.of(COIN, frame, column="r", weights=weights) == plain


@pytest.mark.parametrize(
    ("weights", "code", "shown"),
    [
        ([1, 2], "weights-shape", " 4 reports"),
        ([1, 2, 3, -1], "weight-value", "row 3"),
        ([1, 2, 3, np.inf], "weight-value", "row 3"),
    ],
)
def test_bad_weights(weights, code, shown):
    with refused(code) as error:
        Counts.of(COIN, REPORTS, weights=weights)
    assert shown in str(error.value)


def test_weights_are_numbers():
    with pytest.raises(StatementError, match="real numbers"):
        Counts.of(COIN, REPORTS, weights=["a"] * 4)


def test_weights_of_another_index_are_refused():
    with refused("weights-index"):
        Counts.of(COIN, pd.Series(REPORTS, index=list("abcd")), weights=pd.Series([1.0] * 4))
    with refused("weights-of-counts"):
        Counts.of(COIN, {"no": 1}, weights=[1.0])


def test_weights_in_files(tmp_path):
    frame = pd.DataFrame({"r": REPORTS, "w": [1.0, 2.0, 0.5, 3.0]})
    frame.to_csv(tmp_path / "r.csv", index=False)
    pq.write_table(pa.table(frame), tmp_path / "r.parquet")
    plain = Counts.of(COIN, REPORTS, weights=frame["w"])
    assert all(
        Counts.of(COIN, tmp_path / name, column="r", weights="w") == plain
        for name in ("r.csv", "r.parquet")
    )
    (tmp_path / "bad.csv").write_text("r,w\nno,1\nyes,heavy\n")
    with refused("non-number") as error:
        Counts.of(COIN, tmp_path / "bad.csv", column="r", weights="w")
    assert error.value.where.endswith("row 3")


def test_missing_reports_are_refused_or_left_out(tmp_path):
    (tmp_path / "r.csv").write_text("r,n\nno,1\n,2\nNA,3\nyes,4\n")
    with pytest.raises(StatementError, match=r"2 reports (.|\n)*row 3"):
        Counts.of(COIN, tmp_path / "r.csv", column="r")
    assert Counts.of(COIN, tmp_path / "r.csv", column="r", missing="leave_out").to_dict() == {
        "no": 1,
        "yes": 1,
    }
    frame = pl.DataFrame({"r": ["no", None]})
    with pytest.raises(StatementError, match="1 report "):
        Counts.of(COIN, frame, column="r")
    assert Counts.of(COIN, frame, column="r", missing="leave_out").n_reports == 1


def test_only_counts_of_the_same_mechanism_add_up():
    with refused("source"):
        PLAIN + Counts.of(OTHER, REPORTS)
    with refused("source"):
        estimate_frequencies(OTHER, PLAIN)
    again = Mechanism(COIN.channel.copy(), ["no", "yes"])
    assert (PLAIN + Counts.of(again, REPORTS)).n_reports == 8
    with pytest.raises(TypeError):
        PLAIN + 1


def test_designs_take_counts():
    best = design(Workload.frequencies(["no", "yes", "never"]), PureLDP(1.0))
    reports = best.mechanism.sample(["no", "yes", "never"] * 20, rng=1)
    parts = best.count(reports[:10]) + Counts.of(best, reports[10:])
    assert parts == Counts.of(best.mechanism, reports)
    assert best.estimate(parts).values == pytest.approx(best.estimate(reports).values)


def test_no_reports_are_refused_where_they_are_needed():
    with refused("no-reports"):
        estimate_frequencies(COIN, Counts.of(COIN, []))
    with refused("no-reports"):
        estimate_frequencies(COIN, Counts.of(COIN, ["no"], weights=[0.0]))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "ldpopt counts 2"}', '{"format": 1, "source": 2}']
)
def test_files_without_counts_are_refused(tmp_path, text):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(ModelFileError):
        Counts.load(tmp_path / "c.json")
    with pytest.raises(ModelFileError):
        Counts.load(tmp_path / "missing.json")


@pytest.mark.parametrize(
    "change", [("[3, 1]", "[3, -1]"), ("[3, 1]", "[3]"), ("[3, 1]", '[3, "1"]'), ("4", "true")]
)
def test_spoilt_files_are_refused(tmp_path, change):
    PLAIN.save(tmp_path / "c.json")
    (tmp_path / "c.json").write_text((tmp_path / "c.json").read_text().replace(*change))
    with pytest.raises(ModelFileError):
        Counts.load(tmp_path / "c.json")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_sets_in_a_column_are_counted_as_those_in_an_array(ending, tmp_path):
    protocol = SubsetSelection(LABELS, 1.0)
    answers = ["a", "b", "e", "e"] * 20
    sets = protocol.privatize(answers, rng=1)
    frame = pd.DataFrame(
        {"a": [" ".join(map(str, row)) for row in sets.tolist()], "w": range(len(sets))}
    )
    path = tmp_path / f"reports.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    for weights, numbers in ((None, None), ("w", np.arange(len(sets), dtype=float))):
        for table in (frame, pl.from_pandas(frame), path):
            assert Counts.of(protocol, table, column="a", weights=weights) == protocol.count(
                sets, weights=numbers
            )


def test_reports_without_a_form_in_tables_are_refused():
    with pytest.raises(StatementError, match="of a protocol"):
        Counts.of(UnaryEncoding(LABELS, 1.0), pd.DataFrame({"a": [1]}), column="a")
    with refused("randomizer"):
        Counts.of(3, ["a"])


def test_a_column_has_a_name_with_a_hash(tmp_path):
    """Also of its parts: a tuple has a hash only if all of them have one."""
    protocol = UnaryEncoding(LABELS, 1.0)
    (tmp_path / "r.csv").write_text("a\n1\n")
    for column in ([], ("a", [])):
        for table in (pd.DataFrame({"a": [1]}), tmp_path / "r.csv"):
            with refused("named-column"):
                Counts.of(protocol, table, column=column)
