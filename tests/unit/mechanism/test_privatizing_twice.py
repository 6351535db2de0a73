"""Reports are not privatized a second time unless requested, in every table that records their
origin."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from ldpopt.errors import LdpoptError, ModelFileError, StatementError
from ldpopt.mechanism.privatizing import privatize_file
from ldpopt.mechanism.questions import Question
from reported_files import ALREADY, COIN, ENDINGS, reported_file, write


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)


@pytest.fixture(params=ENDINGS)
def reports(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return reported_file(tmp_path, request.param)


def test_a_link_has_the_origin_of_its_file(reports: Path) -> None:
    link = reports.with_name("link" + reports.suffix)
    link.symlink_to(reports)
    with pytest.raises(ModelFileError, match=ALREADY):
        privatize_file(link, reports.with_name("out.csv"), {"a": Question(COIN)})


def test_a_renamed_column_is_refused_and_one_that_is_new_is_not(reports: Path) -> None:
    frame = read(reports)
    end = reports.with_name("end.csv")
    if reports.suffix == ".csv":
        changed = frame.rename(columns={"a": "smoker"}).assign(c=frame["b"])
        write(reports, changed)
    else:
        table = pq.read_table(reports)
        changed = table.rename_columns(["smoker", *table.column_names[1:]]).append_column(
            "c", table["b"]
        )
        # which renaming drops
        pq.write_table(changed.replace_schema_metadata(table.schema.metadata), reports)
    with pytest.raises(ModelFileError, match=r"'smoker' .* 'a'(.|\n)*again"):
        privatize_file(reports, end, {"smoker": Question(COIN)})
    assert privatize_file(reports, end, {"b": Question(COIN)}) == 200  # copied as it was
    write(reports, frame.assign(c=frame["b"]))
    assert privatize_file(reports, reports.with_name("new.csv"), {"c": Question(COIN)}) == 200


def test_a_failed_run_leaves_the_old_reports_with_their_origin(reports: Path) -> None:
    bad = write(reports.with_name("bad" + reports.suffix), pd.DataFrame({"a": ["no", "perhaps"]}))
    with pytest.raises(StatementError, match="unknown answer"):
        privatize_file(bad, reports, {"a": Question(COIN)})
    with pytest.raises(ModelFileError, match=ALREADY):
        privatize_file(reports, reports.with_name("end.csv"), {"a": Question(COIN)})


def test_an_unreadable_origin_is_refused(reports: Path) -> None:
    if reports.suffix == ".csv":
        beside = reports.with_name(reports.name + ".origin.json")
        beside.write_text(json.dumps({"format": "ldpopt reports 9"}))
        with pytest.raises(LdpoptError, match="another format"):
            privatize_file(reports, reports.with_name("end.csv"), {"a": Question(COIN)})
