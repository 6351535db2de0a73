"""Surveys drawn and counted by Spark and in batches, with the reports of one machine."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ldpopt as lo
from builders import refused, seconds
from executors import KEY, drawer_of, drawn, people
from ldpopt.errors import StatementError
from ldpopt.mechanism.questions import OneQuestion, Question
from ldpopt.tables.origin import origin_of_table, read_origin, text_of_origin
from ldpopt.tables.spark import IN_PARQUET, is_spark

COIN = lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
DIE = lo.Mechanism(np.full((3, 3), 0.2) + np.eye(3) * 0.4, inputs=[1, 2, 3])


@pytest.mark.parametrize("size", [7, 100, 1000])
def test_a_person_has_the_same_report_in_any_batch(size):
    frame = people()
    questions = {"smokes": Question(COIN), "class": Question(DIE)}
    reports = drawn(frame, drawer_of(frame, questions), size)
    plain = lo.Survey({"smokes": COIN, "class": DIE}).privatize(frame, key=KEY, id="id")
    assert reports.equals(plain)
    assert not reports["smokes"].equals(frame["smokes"])
    one = OneQuestion(2, fake_data=False)
    reports = drawn(frame, drawer_of(frame, questions, one_question=one), size)
    survey = lo.Survey({"smokes": COIN, "class": DIE}, scheme="one_question")
    plain = survey.privatize(frame, key=KEY, id="id")
    for name in questions:
        assert reports[name].isna().tolist() == plain[name].isna().tolist()
        assert reports[name].dropna().tolist() == plain[name].dropna().tolist()


def test_the_origin_is_read_from_files_that_spark_wrote(tmp_path):
    frame = pa.Table.from_pandas(people(), preserve_index=False)
    reports = COIN.privatize(frame, "smokes", key=KEY, id="id")
    note = text_of_origin(origin_of_table(reports))
    fields = [{"name": "smokes", "metadata": {"ldpopt": note}}, {"name": "id", "metadata": {}}]
    schema = json.dumps({"type": "struct", "fields": fields}).encode()
    path = str(tmp_path / "part-00000.snappy.parquet")
    pq.write_table(reports.replace_schema_metadata({IN_PARQUET: schema}), path)
    assert read_origin(path) == origin_of_table(reports)
    with refused("other-mechanism"):
        lo.Counts.of(lo.Mechanism(np.eye(2), ["no", "yes"]), path, column="smokes")
    for text in (b"{", b"[]", b'{"fields": [1]}'):
        pq.write_table(frame.replace_schema_metadata({IN_PARQUET: text}), path)
        assert read_origin(path) is None


# Spark itself


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of two threads, which writes the log of its events."""
    sql = pytest.importorskip("pyspark.sql", reason='needs pip install "ldpopt[spark]"')
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java")
    events = tmp_path_factory.mktemp("events")
    settings = {
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{events}",
        "spark.sql.shuffle.partitions": "3",
    }
    builder = sql.SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.events = events
    yield session
    session.stop()


def in_order(table: Any) -> pd.DataFrame:
    return table.toPandas().sort_values("id").reset_index(drop=True)


@pytest.mark.long
@pytest.mark.timeout(seconds(300))
@pytest.mark.filterwarnings("ignore")  # Spark warns of new versions of pandas
class TestSpark:
    def test_spark_draws_what_one_process_draws(self, spark):
        frame = people()
        table = spark.createDataFrame(frame).repartition(5)
        assert is_spark(table)
        reports = COIN.privatize(table, ["smokes"], key=KEY, id="id")
        plain = COIN.privatize(frame, "smokes", key=KEY, id="id").sort_values("id")
        for _ in range(2):  # a second action draws nothing anew
            assert in_order(reports).equals(plain.reset_index(drop=True))
        assert reports.columns == table.columns
        for bad in ({}, {"rng": 1}):
            with refused("drawn-again"):
                COIN.privatize(table, "smokes", **bad)
        with refused("ids-column"):
            COIN.privatize(table, "id", key=KEY, id="id")
        with refused("column"):
            COIN.privatize(table, "drinks", key=KEY, id="id")
        with refused("repeated-column"):
            COIN.privatize(table.join(table, "id"), "smokes", key=KEY, id="id")

    def test_the_origin_stays_with_the_column(self, spark, tmp_path):
        table = spark.createDataFrame(people())
        reports = COIN.privatize(table, "smokes", key=KEY, id="id")
        with refused("second-layer"):
            COIN.privatize(reports, "smokes", key=KEY, id="id")
        with refused("renamed-column"):
            COIN.privatize(reports.withColumnRenamed("smokes", "s"), "s", key=KEY, id="id")
        with refused("other-mechanism"):
            lo.Counts.of(lo.Mechanism(np.eye(2), ["no", "yes"]), reports, column="smokes")
        with refused("copied-column"):
            lo.Counts.of(COIN, reports, column="class")
        both = DIE.privatize(reports, "class", key=KEY, id="id")
        assert set(origin_of_table(both)["questions"]) == {"smokes", "class"}
        both.write.parquet(str(tmp_path / "reports"))
        again = spark.read.parquet(str(tmp_path / "reports"))
        assert origin_of_table(again) == origin_of_table(both)
        for path in Path(tmp_path / "reports").glob("*.parquet"):
            assert read_origin(str(path)) == origin_of_table(both)

    def test_counts_of_spark_are_those_of_one_table(self, spark):
        frame = people()
        survey = lo.Survey({"smokes": COIN, "class": DIE})
        plain = survey.privatize(frame, key=KEY, id="id")
        reports = survey.privatize(spark.createDataFrame(frame).repartition(3), key=KEY, id="id")
        assert survey.count(reports) == survey.count(plain)
        assert survey.count(reports, weights="weight") == survey.count(plain, weights="weight")
        groups = survey.counts_by_group(survey.columns, reports, "weight", "age")
        assert groups == survey.counts_by_group(survey.columns, plain, "weight", "age")
        sample = lo.Sample(clusters="age")
        found = survey.estimate(reports, sample=sample)["smokes"]
        wanted = survey.estimate(plain, sample=sample)["smokes"]
        assert found.std_error == pytest.approx(wanted.std_error)
        assert found.values == pytest.approx(wanted.values)
        empty = survey.privatize(spark.createDataFrame(frame).limit(0), key=KEY, id="id")
        assert survey.count(empty)["smokes"].n_reports == 0
        with refused("column-of-dask"):
            lo.Counts.of(COIN, reports, column="smokes", weights=plain["weight"])
        with refused("column"):
            lo.Counts.of(COIN, spark.createDataFrame(frame), column="drinks")
        with pytest.raises(StatementError, match="unknown report"):
            lo.Counts.of(COIN, spark.createDataFrame(frame.assign(smokes="x")), column="smokes")
        with refused("table-of-engine") as caught:
            survey.values(reports)
        assert "toArrow" in caught.value.do

    def test_sets_and_clear_columns_of_every_type_pass_through(self, spark):
        functions = pytest.importorskip("pyspark.sql.functions")
        design = lo.design(lo.Workload.frequencies(30), lo.PureLDP(1.0))
        frame = people().assign(place=np.arange(400) % 30, when=pd.Timestamp("2020-02-03 04:05"))
        table = (
            spark.createDataFrame(frame)
            .withColumn("list", functions.array("age", "class"))
            .withColumn("map", functions.create_map("id", "weight"))
            .withColumn("exact", functions.expr("CAST(age AS DECIMAL(20, 3))"))
            .withColumn("a.`b", functions.lit(1))
            .withColumn("smokes.often", functions.col("smokes"))
        )
        often = COIN.privatize(table, "smokes.often", key=KEY, id="id")
        counts = lo.Counts.of(COIN, often, column="smokes.often")
        assert counts.n_reports == 400
        survey = lo.Survey({"place": design})
        reports = survey.privatize(table, key=KEY, id="id")
        plain = survey.privatize(frame, key=KEY, id="id")
        assert survey.count(reports) == survey.count(plain)
        names = [name for name in table.columns if name != "place"]
        quoted = ["`" + name.replace("`", "``") + "`" for name in names]
        before, after = (in_order(each.select(*quoted)) for each in (table, reports))
        assert before.astype(str).equals(after.astype(str))
        kept = [name for name in table.schema if name.name != "place"]
        assert [each for each in reports.schema if each.name != "place"] == kept

    def test_an_error_quotes_nobody_and_the_key_is_in_no_log(self, spark):
        frame = people().assign(smokes="secretly")
        reports = COIN.privatize(spark.createDataFrame(frame), "smokes", key=KEY, id="id")
        with pytest.raises(Exception, match="unknown answer") as caught:
            reports.count()
        assert "secretly" not in str(caught.value)
        plan = reports._jdf.queryExecution().toString()
        logs = "".join(
            path.read_text(errors="replace") for path in spark.events.rglob("*") if path.is_file()
        )
        assert logs
        for text in (plan, logs):
            assert KEY._secret.hex() not in text
            assert str(KEY._secret) not in text
