"""Tables of two questions, samples and regressions of a folder are those of its files as one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpopt import Mechanism, Sample, Survey, privatize_folder
from ldpopt.errors import ModelFileError
from tests.builders import refused

pytest.importorskip("pyarrow")
COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
SURVEY = Survey({"smokes": COIN, "drinks": COIN})
SAMPLED = Survey(
    {"smokes": COIN, "drinks": COIN},
    sample=Sample(strata="region", clusters="school", population={"1": 5000, "2": 9000}),
)
KEPT = ["region", "school", "age"]


def people(number: int) -> pd.DataFrame:
    """A file of answers; schools go on in the next file."""
    rng = np.random.default_rng(number)
    age = rng.normal(size=400).round(3)
    return pd.DataFrame(
        {
            "smokes": np.where(age + rng.normal(size=400) > 0, "yes", "no"),
            "drinks": rng.choice(["no", "yes"], 400),
            "region": rng.choice([1, 2], 400),
            "school": rng.integers(5 * number, 5 * number + 10, 400),
            "age": age,
        }
    )


@pytest.fixture
def drawn(tmp_path: Path) -> tuple[Path, pd.DataFrame]:
    """A folder of reports, and all its rows."""
    (tmp_path / "answers").mkdir()
    for number in range(3):
        people(number).to_csv(tmp_path / "answers" / f"{number}.csv", index=False)
    privatize_folder(tmp_path / "answers", tmp_path / "reports", SURVEY, keep=KEPT, rng=1)
    files = sorted((tmp_path / "reports").glob("*.parquet"))
    return tmp_path / "reports", pd.concat(map(pd.read_parquet, files), ignore_index=True)


ESTIMATES: dict[str, Callable[[Any], Any]] = {
    "pair": lambda table: SURVEY.estimate_pair(table, "smokes", "drinks").interval,
    "sample": lambda table: SAMPLED.estimate(table)["smokes"].interval,
    "sample by group": lambda table: SAMPLED.estimate(table, by="region").to_frame()["low"],
    "pair of a sample": lambda table: SAMPLED.estimate_pair(table, "smokes", "drinks").interval,
}


@pytest.mark.parametrize("name", ESTIMATES)
def test_a_folder_has_the_estimates_of_its_rows(
    name: str, drawn: tuple[Path, pd.DataFrame]
) -> None:
    folder, table = drawn
    table = table.astype({"region": str}) if name != "pair" else table
    assert np.array_equal(ESTIMATES[name](folder), ESTIMATES[name](table))


def test_a_unit_in_two_kinds_of_files_is_one(tmp_path: Path) -> None:
    """A school is a text in one file and a number in the other one."""
    table = SURVEY.privatize(people(0), rng=1).astype({"region": int, "school": int})
    whole = tmp_path / "whole.parquet"
    table.to_parquet(whole)
    parts = tmp_path / "parts"
    parts.mkdir()
    table[:200].to_csv(parts / "1.csv", index=False)
    table[200:].to_parquet(parts / "2.parquet")
    expected = SAMPLED.estimate(whole)["smokes"]
    found = SAMPLED.estimate(parts)["smokes"]
    assert np.allclose(found.interval, expected.interval, rtol=1e-13)


def test_a_folder_has_the_regression_of_its_rows(drawn: tuple[Path, pd.DataFrame]) -> None:
    pytest.importorskip("statsmodels")
    folder, table = drawn
    found, expected = (
        SURVEY.regress("smokes ~ age", each) for each in (folder, table.astype({"age": float}))
    )
    assert found.nobs == expected.nobs == 1200
    assert np.array_equal(found.params, expected.params)


def test_a_regression_has_the_columns_that_folders_name(tmp_path: Path) -> None:
    pytest.importorskip("statsmodels")
    frames = []
    for number, country in enumerate(("de", "fr")):
        frame = SURVEY.privatize(people(number), rng=number)
        (tmp_path / f"reports/country={country}").mkdir(parents=True)
        frame.to_csv(tmp_path / f"reports/country={country}/1.csv.gz", index=False)
        frames.append(frame.assign(country=country))
    found = SURVEY.regress("smokes ~ age + C(country)", tmp_path / "reports")
    expected = SURVEY.regress("smokes ~ age + C(country)", pd.concat(frames, ignore_index=True))
    assert np.array_equal(found.params, expected.params)


def test_what_is_not_the_table_is_refused(drawn: tuple[Path, pd.DataFrame]) -> None:
    folder, _ = drawn
    last = max(folder.glob("*.parquet"))
    rows = last.read_bytes()
    pairs = lambda: SURVEY.estimate_pair(folder, "smokes", "drinks")  # noqa: E731
    for call in (lambda: SURVEY.regress("smokes ~ age", folder), lambda: SAMPLED.count(folder)):
        last.unlink()
        for each in (call, pairs):
            with refused("missing-part", ModelFileError):
                each()
        last.write_bytes(rows[:-9] + b"changed" + rows[-2:])
        for each in (call, pairs):
            with pytest.raises(ModelFileError):
                each()
        last.write_bytes(rows)
        call()


def test_files_of_other_columns_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("statsmodels")
    table = SURVEY.privatize(people(0), rng=1)
    table.to_csv(tmp_path / "1.csv", index=False)
    table[::-1].drop(columns="age").to_csv(tmp_path / "2.csv", index=False)
    with refused("other-columns", ModelFileError):
        SURVEY.regress("smokes ~ drinks", tmp_path)
    table[::-1].assign(age="old").to_csv(tmp_path / "2.csv", index=False)
    with refused("mixed-column", ModelFileError):
        SURVEY.regress("smokes ~ age", tmp_path)
