"""An inventory beside a folder: what is complete, what may be repeated, what it must not tell."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from builders import cli_json, refused, run_cli, thorough_or
from ldpopt import (
    Counts,
    Mechanism,
    SecretKey,
    Survey,
    check_ids,
    count_folder,
    estimate_frequencies,
    privatize_folder,
)
from ldpopt.errors import LdpoptError, ModelFileError
from ldpopt.mechanism.privatizing import privatize_file
from ldpopt.studies import folders
from ldpopt.tables import inventory

pq = pytest.importorskip("pyarrow.parquet")

SURE = Mechanism([[1.0, 0.0], [0.0, 1.0]], inputs=["no", "yes"])
COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
QUESTION = {"smokes": COIN}
KEY = SecretKey(bytes(range(32)))


def write(folder: Path, files: int = 4, rows: int = 20) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        table(number, rows).to_parquet(folder / f"{number}.parquet")
    return folder


def table(number: int, rows: int = 20) -> pd.DataFrame:
    ids = [f"{number}-{row}" for row in range(rows)]
    return pd.DataFrame({"smokes": ["no", "yes"] * (rows // 2), "id": ids})


def stop_after(monkeypatch: pytest.MonkeyPatch, files: int) -> None:
    """End runs as a kill does, after some files of reports."""
    done = []
    draw = folders.privatize_file

    def drawing(*arguments: Any, **options: Any) -> int:
        if len(done) == files:
            raise KeyboardInterrupt
        done.append(arguments)
        return draw(*arguments, **options)

    monkeypatch.setattr(folders, "privatize_file", drawing)


def halfway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Path, Path]:
    """A run that ended after two of four files."""
    source = write(tmp_path / "in")
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            privatize_folder(source, tmp_path / "out", QUESTION, **options)
    return source, tmp_path / "out"


def test_an_unfinished_folder_is_not_counted(tmp_path, monkeypatch):
    source, target = halfway(tmp_path, monkeypatch)
    ways = (
        lambda: count_folder(target, QUESTION),
        lambda: Counts.of(COIN, str(target), column="smokes"),
        lambda: Survey(QUESTION).estimate(str(target)),
    )
    for way in ways:
        with refused("unfinished", ModelFileError) as caught:
            way()
        assert "40 of 80 reports" in str(caught.value)
        assert "2 of 4 files" in str(caught.value)
        assert "repeat the call" in caught.value.do
    first = {path.name: path.read_bytes() for path in target.iterdir()}
    assert privatize_folder(source, target, QUESTION) == 80
    assert count_folder(target, QUESTION)["smokes"].n_reports == 80
    assert Counts.of(COIN, str(target), column="smokes").n_reports == 80
    assert {name: (target / name).read_bytes() for name in first} == first
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "in",
        "out",
        "out.inventory.json",
        "out.sources.json",
    ]


def test_two_calls_do_not_write_into_one_folder(tmp_path, monkeypatch):
    """Of two calls that begin at the same moment one goes on."""
    source, target = write(tmp_path / "in"), tmp_path / "out"
    begin = folders.Plan.begin

    def overtaken(plan: Any) -> None:
        monkeypatch.setattr(folders.Plan, "begin", begin)
        assert privatize_folder(source, target, QUESTION) == 80
        begin(plan)

    monkeypatch.setattr(folders.Plan, "begin", overtaken)
    with refused("two-calls", ModelFileError):
        privatize_folder(source, target, QUESTION)
    assert count_folder(target, QUESTION)["smokes"].n_reports == 80
    assert privatize_folder(source, target, QUESTION) == 80


def test_what_was_not_drawn_yet_may_be_corrected(tmp_path, monkeypatch):
    source, target = halfway(tmp_path, monkeypatch)
    table(3, 6).to_parquet(source / "3.parquet")
    (source / "2.parquet").unlink()
    table(7, 8).to_parquet(source / "7.parquet")
    assert privatize_folder(source, target, QUESTION) == 54
    assert count_folder(target, QUESTION)["smokes"].n_reports == 54


def test_more_answers_are_added_later(tmp_path):
    source = write(tmp_path / "in", 2)
    target = tmp_path / "out"
    privatize_folder(source, target, QUESTION)
    before = [(target / f"{k}.parquet").read_bytes() for k in range(2)]
    table(2).to_csv(source / "2.csv", index=False)
    assert privatize_folder(source, target, QUESTION) == 60
    assert [(target / f"{k}.parquet").read_bytes() for k in range(2)] == before
    assert count_folder(target, QUESTION)["smokes"].n_reports == 60


def test_parts_are_written_beside_the_target_and_never_in_it(tmp_path, monkeypatch):
    seen = []
    draw = folders.privatize_file

    def drawing(*arguments: Any, **options: Any) -> int:
        seen.append(Path(arguments[1]))
        return draw(*arguments, **options)

    monkeypatch.setattr(folders, "privatize_file", drawing)
    target = tmp_path / "out"
    privatize_folder(write(tmp_path / "in"), target, QUESTION)
    assert len(seen) == 4
    assert all(target not in path.parents for path in seen)
    assert all(path.parent == tmp_path / "out.parts" for path in seen)
    assert not (tmp_path / "out.parts").exists()


def test_what_is_handed_out_tells_nothing_of_the_answers(tmp_path):
    """The digest of a file of few answers can be tried out: it stays with the owner."""
    source = tmp_path / "in"
    source.mkdir()
    (source / "1.csv").write_text("smokes\nno\nyes\n")
    privatize_folder(source, tmp_path / "out", QUESTION)
    private = tmp_path / "out.sources.json"
    assert stat.S_IMODE(os.stat(private).st_mode) == 0o600
    recorded = json.loads(private.read_text())["parts"][0]
    public = (tmp_path / "out.inventory.json").read_text()
    reports = (tmp_path / "out" / "1.csv.parquet").read_bytes()
    assert recorded["digest"] not in public
    assert recorded["digest"].encode() not in reports
    part = json.loads(public)["parts"][0]
    assert (part["rows"], part["bytes"]) == (2, len(reports))
    size = (source / "1.csv").stat().st_size
    assert recorded["bytes"] == size
    assert f'"bytes": {size}' not in public


def test_each_part_has_an_id_of_its_own(tmp_path):
    target = tmp_path / "out"
    privatize_folder(write(tmp_path / "in"), target, QUESTION)
    origins = [json.loads(pq.read_metadata(path).metadata[b"ldpopt"]) for path in target.iterdir()]
    assert len({origin["part"] for origin in origins}) == 4
    # A copy that another program wrote has other bytes, and the same id.
    loose = tmp_path / "loose"
    loose.mkdir()
    first = pq.read_table(target / "0.parquet")
    pq.write_table(first, loose / "a.parquet")
    pq.write_table(first, loose / "b.parquet", compression="gzip")
    with refused("copied-file", ModelFileError):
        count_folder(loose, QUESTION)


def test_a_key_gives_lost_reports_again_and_the_same_answers_the_same_id(tmp_path):
    options = {"key": KEY, "id": "id"}
    source, target = write(tmp_path / "in"), tmp_path / "out"
    privatize_folder(source, target, QUESTION, **options)
    counts = count_folder(target, QUESTION)["smokes"]
    (target / "1.parquet").unlink()
    assert privatize_folder(source, target, QUESTION, **options) == 80
    assert count_folder(target, QUESTION)["smokes"] == counts
    other = tmp_path / "other"
    privatize_folder(source, other, QUESTION, **options)
    loose = tmp_path / "loose"
    loose.mkdir()
    (target / "1.parquet").rename(loose / "a.parquet")
    (other / "1.parquet").rename(loose / "b.parquet")
    with refused("copied-file", ModelFileError):
        count_folder(loose, QUESTION)


def test_a_folder_of_an_earlier_version_is_continued_and_compared_by_rows(tmp_path):
    source, target = write(tmp_path / "in", 3), tmp_path / "out"
    target.mkdir()
    survey = Survey(QUESTION)
    for number in range(2):
        name = f"{number}.parquet"
        privatize_file(source / name, target / name, survey.asked)
    assert count_folder(target, QUESTION)["smokes"].n_reports == 40
    first = (target / "0.parquet").read_bytes()
    table(1, 30).to_parquet(source / "1.parquet")
    with refused("changed-source", ModelFileError) as caught:
        privatize_folder(source, target, QUESTION)
    assert "30 rows, and had 20" in str(caught.value)
    table(1).to_parquet(source / "1.parquet")
    assert privatize_folder(source, target, QUESTION) == 60
    assert (target / "0.parquet").read_bytes() == first
    assert count_folder(target, QUESTION)["smokes"].n_reports == 60


def test_a_lost_inventory_is_written_again(tmp_path):
    source, target = write(tmp_path / "in"), tmp_path / "out"
    privatize_folder(source, target, QUESTION)
    reports = {path.name: path.read_bytes() for path in target.iterdir()}
    (tmp_path / "out.inventory.json").unlink()
    assert privatize_folder(source, target, QUESTION) == 80
    assert {path.name: path.read_bytes() for path in target.iterdir()} == reports
    assert count_folder(target, QUESTION)["smokes"].n_reports == 80


def hive(folder: Path) -> Path:
    for number, country in enumerate(("de", "fr", "de")):
        path = folder / f"country={country}" / f"{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        table(number).to_parquet(path)
    return folder


def test_groups_in_the_names_of_folders_are_columns(tmp_path):
    source = hive(tmp_path / "in")
    kept, dropped = tmp_path / "kept", tmp_path / "dropped"
    assert privatize_folder(source, kept, {"smokes": SURE}, keep=["country"]) == 60
    counts = count_folder(kept, {"smokes": SURE}, by="country")["smokes"]
    assert {group: each.n_reports for group, each in counts.items()} == {"de": 40, "fr": 20}
    assert privatize_folder(source, dropped, {"smokes": SURE}) == 60
    assert not any("country" in str(path.relative_to(dropped)) for path in dropped.rglob("*"))
    with refused("column", LdpoptError):
        count_folder(dropped, {"smokes": SURE}, by="country")
    # A folder of reports of this form is counted as it is.
    assert count_folder(source, {"smokes": SURE}, by="country")["smokes"]["fr"].n_reports == 20
    found = Survey({"smokes": SURE}).estimate(str(kept), by="country")
    assert found.groups["fr"]["smokes"].values.tolist() == [0.5, 0.5]
    again = Survey({"smokes": SURE}).estimate(
        count_folder(kept, {"smokes": SURE}, by="country"), by="country"
    )
    assert again.entries() == found.entries()


def test_groups_are_the_same_in_texts_and_numbers(tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    table(0).assign(year=2024).to_parquet(folder / "0.parquet")
    table(1).assign(year=2024).to_csv(folder / "1.csv", index=False)
    table(2).assign(year=2024.0).to_parquet(folder / "2.parquet")
    counts = count_folder(folder, {"smokes": SURE}, by="year")["smokes"]
    assert [(str(group), each.n_reports) for group, each in counts.items()] == [("2024", 60)]


def test_the_commands_read_folders_of_all_kinds(tmp_path):
    COIN.save(tmp_path / "coin.json")
    source = hive(tmp_path / "in")
    (source / "more").mkdir()
    table(9).to_csv(source / "more" / "9.csv", index=False)
    coin = tmp_path / "coin.json"
    command = ("privatize", coin, source, "-c", "smokes", "-o", tmp_path / "out")
    assert "--recursive" in run_cli(*command).stderr
    done = run_cli(*command, "--recursive", "--check-ids", "id")
    assert "80 reports" in done.stdout
    found = cli_json("estimate", coin, tmp_path / "out", "-c", "smokes")
    assert found["n_reports"] == 80
    (source / "more" / "9.csv").unlink()
    (source / "more").rmdir()
    command = ("privatize", coin, source, "-c", "smokes", "-o", tmp_path / "by")
    assert run_cli(*command, "--keep", "country").exit_code == 0
    for jobs in thorough_or((2,), (1, 2)):
        found = cli_json(
            "estimate", coin, tmp_path / "by", "-c", "smokes", "--by", "country", "-j", jobs
        )
        assert {row["group"] for row in found["estimates"] if row.get("group")} == {"de", "fr"}
    (tmp_path / "by.inventory.json").unlink()
    said = run_cli("estimate", coin, tmp_path / "by", "-c", "smokes")
    assert (said.exit_code, "inventory" in said.stderr) == (2, True)


def test_folders_of_csv_are_read_with_the_stated_separator(tmp_path):
    COIN.save(tmp_path / "coin.json")
    source = tmp_path / "in"
    source.mkdir()
    for number in range(2):
        table(number).to_csv(source / f"{number}.csv", index=False, sep=";", encoding="utf-16")
    command = ("privatize", tmp_path / "coin.json", source, "-c", "smokes", "--separator", ";")
    for jobs in thorough_or((1,), (1, 2)):
        target = tmp_path / f"out{jobs}"
        done = run_cli(*command, "--encoding", "utf-16", "-o", target, "-j", jobs)
        assert "40 reports" in done.stdout, done.stderr
        assert count_folder(target, QUESTION)["smokes"].n_reports == 40


def test_ids_are_compared_across_files_in_little_memory(tmp_path):
    source = write(tmp_path / "in", 8, 1000)
    assert check_ids(source, "id", memory=4096) == 8000
    table(5, 1000).to_csv(source / "twice.csv", index=False)
    with refused("duplicate-id") as caught:
        check_ids(source, "id", memory=4096)
    said = str(caught.value)
    assert "5.parquet" in said
    assert "twice.csv" in said
    assert "5-0" not in said
    one = tmp_path / "one.csv"
    pd.DataFrame({"id": ["a"] * 5000}).to_csv(one, index=False)
    with refused("duplicate-id") as caught:
        check_ids(one, "id", memory=4096)
    assert "row 2 of one.csv and row 3 of one.csv" in str(caught.value)
    pd.DataFrame({"id": ["a", None]}).to_csv(one, index=False)
    with refused("missing-id"):
        check_ids(one, "id")


def test_hashes_that_are_the_same_by_chance_are_no_duplicates(tmp_path, monkeypatch):
    source = write(tmp_path / "in", 2, 500)
    monkeypatch.setattr("ldpopt.studies.ids.hash", lambda name: len(name), raising=False)
    assert check_ids(source, "id", memory=4096) == 1000


def test_the_memory_of_the_check_does_not_grow_with_the_ids(tmp_path, monkeypatch):
    """Never more hashes are sorted at once than the limit says."""
    sizes = []
    sort = np.sort
    monkeypatch.setattr(
        "ldpopt.studies.ids.np.sort", lambda hashes: sizes.append(hashes.nbytes) or sort(hashes)
    )
    source = write(tmp_path / "in", 3, 4000)
    assert check_ids(source, "id", memory=4096) == 12_000
    assert max(sizes) <= 4096
    assert sum(sizes) >= 8 * 12_000


def test_a_disk_that_is_full_and_one_that_is_not_shared_say_what_to_do(tmp_path, monkeypatch):
    source = write(tmp_path / "in")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("ldpopt.foundation.files.os.fsync", full)
        with refused("file", ModelFileError) as caught:
            privatize_folder(source, tmp_path / "out", QUESTION)
        assert "disk is full" in caught.value.do
    hidden = type("Hidden", (), {"kind": lambda self, path: ""})
    with monkeypatch.context() as patch:
        patch.setattr(folders, "store_of", lambda path: hidden())
        with refused("not-shared", ModelFileError) as caught:
            privatize_folder(source, tmp_path / "out", QUESTION)
        assert "workers share" in caught.value.do


def test_frequencies_are_those_of_all_files(tmp_path):
    target = tmp_path / "out"
    privatize_folder(write(tmp_path / "in", 6, 2000), target, QUESTION)
    found = estimate_frequencies(
        COIN, count_folder(target, QUESTION, jobs=thorough_or(1, 2))["smokes"]
    )
    assert abs(found.values[1] - 0.5) < 6 * found.std_error[1]
    assert inventory.Inventory.load(str(target)).finished
