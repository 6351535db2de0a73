"""Counting by engines of SQL against counting in Python: the same counts of random surveys, the
same refusals."""

from __future__ import annotations

import os
import sqlite3
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, refused
from ldpopt.errors import StatementError
from ldpopt.estimation import tallies

duckdb = pytest.importorskip("duckdb")

COIN = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
# names that need quotes, and reports that a collation may take for equal
TABLE, COLUMN, GROUP, WEIGHT = 'a "b" c', "select", 'x"; DROP TABLE t; --', "w'1"
LABELS = [["no", "No", "NO "], [1, 2, 30], [True, False], [0.5, 1.0, -2.25], ['"', "'", "é", "e"]]


@st.composite
def surveys(draw: Any) -> tuple[lo.Mechanism, pd.DataFrame]:
    """A mechanism, and a table of its reports with weights and groups."""
    labels = draw(st.sampled_from(LABELS))
    rows = draw(st.integers(0, 40))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = len(labels)
    mechanism = lo.Mechanism(np.full((n, n), 1 / n), outputs=labels)
    reports = [labels[place] for place in rng.integers(n, size=rows)]
    groups = [["north", None, "North", "süd"][place] for place in rng.integers(4, size=rows)]
    columns = {COLUMN: reports, GROUP: groups, WEIGHT: rng.integers(0, 9, rows) / 4}
    return mechanism, pd.DataFrame(columns, dtype=None if rows else object)


def rows_of(engine: str, frame: pd.DataFrame, query: str) -> list[Any]:
    """Rows of a query over a table in an engine, whose texts ignore case unless a query says."""
    is_text = all(isinstance(entry, str) for entry in frame[COLUMN])
    text = "TEXT COLLATE NOCASE" if engine == "sqlite" else "VARCHAR COLLATE NOCASE"
    kinds = {bool: "BOOLEAN", int: "INTEGER", float: "DOUBLE PRECISION"}
    kind = text if is_text else kinds[type(frame[COLUMN].tolist()[0])]
    names = ['"' + name.replace('"', '""') + '"' for name in (COLUMN, GROUP, WEIGHT)]
    table = '"' + TABLE.replace('"', '""') + '"'
    with (sqlite3 if engine == "sqlite" else duckdb).connect(":memory:") as connection:
        kinds_of = zip(names, (kind, text, "DOUBLE PRECISION"), strict=True)
        connection.execute(f"CREATE TABLE {table} ({', '.join(map(' '.join, kinds_of))})")
        entries = [frame[name].tolist() for name in (COLUMN, GROUP, WEIGHT)]
        for row in zip(*entries, strict=True):
            connection.execute(f"INSERT INTO {table} VALUES (?, ?, ?)", row)
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
@cases(40)
@given(survey=surveys(), is_weighted=st.booleans())
def test_engines_count_as_python_does(engine, survey, is_weighted):
    mechanism, frame = survey
    weights = WEIGHT if is_weighted else None
    query = lo.counts_query(mechanism, TABLE, COLUMN, by=GROUP, weights=weights, dialect=engine)
    rows = rows_of(engine, frame, query)
    if not len(frame):
        assert lo.Counts.of_rows(mechanism, rows).n_reports == 0
        return
    plain = lo.Counts.of(mechanism, frame, column=COLUMN, weights=weights)
    counts = lo.Counts.of_rows(mechanism, rows)
    assert counts == plain
    assert counts.values.dtype == plain.values.dtype
    by_group = lo.Survey({COLUMN: mechanism}).counts_by_group(
        lo.Survey({COLUMN: mechanism}).columns, frame, weights, GROUP
    )[COLUMN]
    assert lo.Counts.by_group(mechanism, rows) == by_group


@cases(20)
@given(survey=surveys(), is_weighted=st.booleans())
def test_tables_of_engines_are_counted_where_they_lie(survey, is_weighted):
    mechanism, frame = survey
    if not len(frame):
        return
    weights = WEIGHT if is_weighted else None
    plain = lo.Counts.of(mechanism, frame, column=COLUMN, weights=weights)
    with duckdb.connect() as connection:
        connection.register("frame", pl.from_pandas(frame))
        relation = connection.table("frame")
        assert lo.Counts.of(mechanism, relation, column=COLUMN, weights=weights) == plain
        survey_of = lo.Survey({COLUMN: mechanism})
        assert survey_of.count(relation, weights=weights)[COLUMN] == plain
        query = lo.counts_query(mechanism, "frame", COLUMN, weights=weights)
        tables = (connection.sql(query), connection.sql(query).df(), connection.sql(query).pl())
        assert all(lo.Counts.of_rows(mechanism, table) == plain for table in tables)
    lazy = pl.from_pandas(frame).lazy()
    assert lo.Counts.of(mechanism, lazy, column=COLUMN, weights=weights) == plain


def test_sets_and_channels_are_counted_in_sql():
    best = lo.design(lo.Workload.frequencies(30), lo.PureLDP(1.0))
    assert best.randomizer.codec.form == "sets"
    survey = lo.Survey({"q": best})
    answers = pd.DataFrame({"q": np.arange(200) % 30, "w": [0.5, 1.0, 2.0, 0.0] * 50})
    reports = survey.privatize(answers, rng=1)
    with duckdb.connect() as connection:
        connection.register("reports", reports)
        drawn = survey.columns["q"][0]
        for weights in (None, "w"):
            rows = connection.execute(lo.counts_query(drawn, "reports", "q", weights=weights))
            plain = lo.Counts.of(drawn, reports, column="q", weights=weights)
            counts = lo.Counts.of_rows(drawn, rows.fetchall())
            assert counts == plain
            assert best.estimate(counts).values.tolist() == best.estimate(plain).values.tolist()
    model = lo.ReportModel(
        {
            "A": lo.Mechanism([[0.8, 0.2], [0.2, 0.8]], ["no", "yes"]),
            "B": lo.Mechanism([[0.6, 0.4], [0.4, 0.6]], ["no", "yes"]),
        },
        column="coin",
    )
    asked = lo.Survey({"q": model})
    table = asked.privatize(
        pd.DataFrame({"q": ["no", "yes"] * 100, "coin": ["A", "A", "B", "B"] * 50}), rng=2
    )
    with sqlite3.connect(":memory:") as connection:
        table.to_sql("t", connection)
        rows = connection.execute(
            lo.counts_query(asked.columns["q"][0], "t", "q", dialect="sqlite")
        )
        counts = lo.Counts.of_rows(asked.columns["q"][0], rows.fetchall())
    assert counts == asked.count(table)["q"]


UNUSED = (None,) * 5
WEIGHTED = ("yes", None, None, 2, 2, 0.5, 1.0, 1.5, 1.25)


def row(**changed: Any) -> tuple[Any, ...]:
    """A row with some other entries."""
    names = ("report", "channel", "of_group", "n", "weighted", "least", "most", "total", "squares")
    return tuple((dict(zip(names, WEIGHTED, strict=True)) | changed).values())


@pytest.mark.parametrize(
    "code, rows",
    [
        ("label", [("maybe", None, None, 3, *UNUSED)]),
        ("missing-answer", [(None, None, None, 3, *UNUSED)]),
        ("rows", [("yes", 3)]),
        ("rows", [("yes", None, None, 0, *UNUSED)]),
        ("rows", [("yes", None, None, 1.5, *UNUSED)]),
        ("rows", [("yes", None, None, True, *UNUSED)]),
        ("rows", "yes"),
        ("rows", pd.DataFrame({"report": ["yes"], "n": [3]})),
        ("weight-value", [row(weighted=1)]),
        ("weight-value", [row(least=-0.5)]),
        ("weight-value", [row(most=float("nan"))]),
        ("weight-value", [row(total=float("inf"))]),
        ("weight-text", [row(most="a")]),
    ],
)
def test_rows_that_are_no_counts_are_refused(code, rows):
    if code == "label":
        with pytest.raises(StatementError, match="unknown report"):
            lo.Counts.of_rows(COIN, rows)
        return
    with refused(code):
        lo.Counts.of_rows(COIN, rows)


def test_numbers_of_drivers_are_read():
    rows = [row(n=Decimal(2), weighted=Decimal(2), total=Decimal("1.5"), of_group=Decimal("3"))]
    assert lo.Counts.by_group(COIN, rows)[3].to_dict() == {"no": 0, "yes": 1.5}
    listed = [dict(zip(("report", "channel", "of_group", "n"), ("no", None, 2.0, 4), strict=True))]
    listed[0] |= dict.fromkeys(("weighted", "least", "most", "total", "squares"))
    assert lo.Counts.by_group(COIN, listed)[2].n_reports == 4
    left_out = lo.Counts.of_rows(COIN, [(None, None, None, 3, *UNUSED)], missing="leave_out")
    assert left_out.n_reports == 0


def test_texts_of_sqlite_are_no_weights_and_no_columns():
    """SQLite takes an unknown name in quotes for a text, and a text for 0 in a sum."""
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (q, w)")
        connection.execute("INSERT INTO t VALUES ('yes', 'three'), ('yes', 1)")
        query = lo.counts_query(COIN, "t", "q", weights="w", dialect="sqlite")
        with refused("weight-text"):
            lo.Counts.of_rows(COIN, connection.execute(query).fetchall())
        for wrong in ({"by": "yes"}, {"weights": "v"}):
            with pytest.raises(sqlite3.OperationalError):
                connection.execute(lo.counts_query(COIN, "t", "q", dialect="sqlite", **wrong))


def test_raw_answers_that_were_counted_in_sql_do_not_fit():
    rows = [("yes", None, None, 9000, *UNUSED), ("no", None, None, 100, *UNUSED)]
    with refused("fit"):
        lo.estimate_frequencies(COIN, lo.Counts.of_rows(COIN, rows))


def test_a_dialect_without_exact_texts_joins_no_reports(monkeypatch):
    mechanism = lo.Mechanism([[0.5, 0.5]], outputs=["a", "A"])
    monkeypatch.delitem(tallies.EXACT, "duckdb")
    with refused("collation"):
        lo.counts_query(mechanism, "t", "q", dialect="duckdb")


def test_other_engines_get_a_query_only_if_no_collation_can_join_reports():
    for labels in (["a", "A"], ["e", "é"], ["e", "e\u0301"]):
        mechanism = lo.Mechanism([[0.5, 0.5]], outputs=labels)
        with refused("collation"):
            lo.counts_query(mechanism, "t", "q", dialect="ansi")
        lo.counts_query(mechanism, "t", "q", dialect="postgresql")
    assert lo.counts_query(COIN, ["public", "t"], "q", dialect="ansi").splitlines()[-2:] == [
        'FROM "public"."t" AS r',
        'GROUP BY r."q"',
    ]
    with refused("sql-name"):
        lo.counts_query(COIN, "", "q")
    with refused("choice"):
        lo.counts_query(COIN, "t", "q", dialect="mysql")


def test_tables_of_engines_are_refused_with_what_to_do():
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT 'yes' AS q, 1.0 AS w")
        with refused("table-of-engine") as caught:
            COIN.privatize(relation, "q")
        assert "to_arrow_table" in caught.value.do
        with refused("dataframe") as caught:
            lo.Counts.of(COIN, connection, column="q")
        assert "connection.table" in caught.value.do
        with refused("column-of-dask"):
            lo.Counts.of(COIN, relation, column="q", weights=[1.0])
    lazy = pl.LazyFrame({"q": ["yes"], "w": [-1.0]})
    with refused("table-of-engine") as caught:
        lo.Survey({"q": COIN}).values(lazy)
    assert "collect" in caught.value.do
    with refused("column"):
        lo.Counts.of(COIN, lazy, column="p")
    with refused("weight-value"):
        lo.Counts.of(COIN, lazy, column="q", weights="w")
    with refused("weight-value"):
        lo.Counts.of(COIN, pl.LazyFrame({"q": ["yes"], "w": [np.nan]}), column="q", weights="w")


POSTGRES = os.environ.get("LDPOPT_POSTGRES")


@pytest.mark.skipif(POSTGRES is None, reason="LDPOPT_POSTGRES names no database")
def test_postgresql_counts_texts_that_its_collation_takes_for_equal():
    sqlalchemy = pytest.importorskip("sqlalchemy")
    mechanism = lo.Mechanism([[0.5, 0.25, 0.25]], outputs=["no", "No", "é"])
    frame = pd.DataFrame({"q": ["no", "No", "No", "é"], "w": [1, 2, 3, 10**9], "g": [1, 1, 2, 2]})
    engine = sqlalchemy.create_engine(POSTGRES)
    with engine.connect() as connection:  # is rolled back
        connection.exec_driver_sql(
            "CREATE COLLATION pg_temp.any_case "
            "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        connection.exec_driver_sql(
            "CREATE TEMP TABLE t (q text COLLATE pg_temp.any_case, w int, g int)"
        )
        for each in frame.itertuples(index=False):
            connection.exec_driver_sql(f"INSERT INTO t VALUES ('{each.q}', {each.w}, {each.g})")
        query = lo.counts_query(mechanism, "t", "q", by="g", weights="w", dialect="postgresql")
        rows = connection.exec_driver_sql(query).fetchall()
    engine.dispose()
    assert lo.Counts.of_rows(mechanism, rows) == lo.Counts.of(
        mechanism, frame, column="q", weights="w"
    )
