"""Tables at addresses: in the memory of this process, and in a store with the interface of S3 on
this machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pandas as pd
import pytest

from builders import cli_json, refused, run_cli, seconds, thorough_or
from ldpopt import (
    Counts,
    Mechanism,
    Survey,
    check_ids,
    count_folder,
    privatize_folder,
)
from ldpopt.errors import LdpoptError, ModelFileError, StatementError
from ldpopt.mechanism.privatizing import privatize_file
from ldpopt.studies import folders
from ldpopt.tables import places
from ldpopt.tables.files import kind_of, reading
from ldpopt.tables.origin import read_origin

fsspec = pytest.importorskip("fsspec", reason='needs pip install "ldpopt[remote]"')
pytest.importorskip("pyarrow")

SURE = Mechanism([[1.0, 0.0], [0.0, 1.0]], inputs=["no", "yes"])
QUESTION = {"smokes": SURE}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store with the interface of S3, on this machine only."""
    pytest.importorskip("moto", reason="needs pip install --group stores")
    pytest.importorskip("s3fs", reason="needs pip install --group stores")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("store") / "log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            stdout=stream,
            stderr=stream,
        )
        end = time.monotonic() + seconds(60)
        while time.monotonic() < end and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


STORES = thorough_or(("memory", "file"), ("memory", "s3", "file"))
"""The server of the store, and what speaks to it, take ten seconds to load."""


@pytest.fixture(params=STORES)
def root(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An empty place in each store, as an address."""
    if request.param == "file":
        return f"file://{tmp_path}/with%20space"
    name = f"b{uuid4().hex}"
    if request.param == "s3":
        environment = {
            "AWS_ENDPOINT_URL": request.getfixturevalue("server"),
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        for key, value in environment.items():
            monkeypatch.setenv(key, value)
        system = fsspec.filesystem("s3", skip_instance_cache=True)
        system.mkdir(name)
    return f"{request.param}://{name}"


def table(number: int, rows: int = 20) -> pd.DataFrame:
    ids = [f"{number}-{row}" for row in range(rows)]
    return pd.DataFrame({"smokes": ["no", "yes"] * (rows // 2), "id": ids})


def put(address: str, frame: pd.DataFrame) -> None:
    """Write a table, not by what is tested."""
    path = places.place_of(address)
    if not places.is_address(path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    content = frame.to_parquet() if path.endswith("parquet") else frame.to_csv(index=False).encode()
    with fsspec.open(path, "wb") as stream:
        stream.write(content)


def names(address: str) -> list[str]:
    """Names of all files below an address."""
    system, path = fsspec.core.url_to_fs(places.place_of(address))
    system.invalidate_cache()
    start = len(system._strip_protocol(path).rstrip("/")) + 1
    return sorted(name[start:] for name in system.find(path))


def test_folders_are_privatized_and_counted(root: str, tmp_path: Path) -> None:
    source, target = f"{root}/answers", f"{root}/reports"
    for number in range(2):
        put(f"{source}/{number}.parquet", table(number))
    put(f"{source}/country=de/2.csv", table(2))
    assert privatize_folder(source, target, QUESTION, keep=["id"]) == 60
    assert count_folder(target, QUESTION)["smokes"].n_reports == 60
    assert check_ids(target, "id") == 60
    assert Counts.of(SURE, target, column="smokes").n_reports == 60
    assert Survey(QUESTION).estimate(target)["smokes"].n_reports == 60
    before = names(root)
    assert len([name for name in before if name.startswith("reports/")]) == 3
    assert {"reports.inventory.json", "reports.sources.json"} < set(before)
    assert privatize_folder(source, target, QUESTION, keep=["id"]) == 60
    assert names(root) == before
    # From a folder of this machine, and to one.
    here = tmp_path / "here"
    assert privatize_folder(source, here, QUESTION) == 60
    assert count_folder(here, QUESTION)["smokes"].n_reports == 60
    put(f"{source}/1.parquet", table(1, 40))
    with refused("changed-source", ModelFileError):
        privatize_folder(source, target, QUESTION, keep=["id"])
    put(f"{target}/9.parquet", table(9))
    with refused("foreign-file", ModelFileError):
        count_folder(target, QUESTION)


def test_an_unfinished_folder_is_refused_and_finished(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = f"{root}/answers", f"{root}/reports"
    for number in range(3):
        put(f"{source}/{number}.parquet", table(number))
    draw = folders.privatize_file
    done: list[Any] = []

    def drawing(*arguments: Any, **options: Any) -> int:
        if done:
            raise KeyboardInterrupt
        done.append(0)
        return draw(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(folders, "privatize_file", drawing)
        with pytest.raises(KeyboardInterrupt):
            privatize_folder(source, target, QUESTION)
    with refused("unfinished", ModelFileError) as caught:
        count_folder(target, QUESTION)
    assert "20 of 60" in str(caught.value)
    assert privatize_folder(source, target, QUESTION) == 60
    assert count_folder(target, QUESTION)["smokes"].n_reports == 60


def test_a_file_in_a_store_is_never_replaced_and_appears_whole(root: str, tmp_path: Path) -> None:
    target = places.place_of(f"{root}/reports/1.parquet")
    store = places.store_of(target)
    parts = [tmp_path / "one", tmp_path / "two"]
    for part in parts:
        part.write_text(part.name)
    assert store.create(str(parts[0]), target)
    assert not store.create(str(parts[1]), target)
    with store.open(target) as stream:
        assert stream.read() == b"one"
    # A table whose end is refused is not there, not even in part.
    put(f"{root}/wrong.csv", pd.DataFrame({"smokes": ["no"] * 50 + ["perhaps"]}))
    with refused("unknown-label"):
        privatize_file(f"{root}/wrong.csv", f"{root}/part.csv", Survey(QUESTION).asked)
    assert "part.csv" not in names(root)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_single_tables_have_their_origin(root: str, ending: str, tmp_path: Path) -> None:
    put(f"{root}/answers.{ending}", table(0))
    reports = f"{root}/reports.{ending}"
    assert privatize_file(f"{root}/answers.{ending}", reports, Survey(QUESTION).asked) == 20
    origin = read_origin(reports)
    assert origin is not None
    assert list(origin["questions"]) == ["smokes"]
    assert Counts.of(SURE, reports, column="smokes").n_reports == 20
    with refused("other-mechanism", ModelFileError):
        other = Mechanism([[0.9, 0.1], [0.1, 0.9]], inputs=["no", "yes"])
        Counts.of(other, reports, column="smokes")


def test_commands_take_addresses(root: str, tmp_path: Path) -> None:
    SURE.save(tmp_path / "sure.json")
    survey = Survey(QUESTION)
    survey.save(tmp_path / "survey.json")
    for number in range(2):
        put(f"{root}/answers/{number}.parquet", table(number))
    sure, columns = tmp_path / "sure.json", ("-c", "smokes")
    done = run_cli("privatize", sure, f"{root}/answers", *columns, "-o", f"{root}/reports")
    assert done.exit_code == 0, done.stderr
    assert "40 reports" in done.stdout
    found = cli_json("estimate", sure, f"{root}/reports", *columns, "-o", f"{root}/table.csv")
    assert (found["n_reports"], found["origin_known"]) == (40, True)
    assert "table.csv" in names(root)
    one = (f"{root}/answers/0.parquet", "-o", f"{root}/one.csv")
    done = run_cli("survey", "privatize", tmp_path / "survey.json", *one)
    assert done.exit_code == 0, done.stderr
    for reports in ("reports", "one.csv"):
        done = run_cli("survey", "estimate", tmp_path / "survey.json", f"{root}/{reports}")
        assert done.exit_code == 0, done.stderr


@pytest.mark.long
def test_two_processes_share_a_store(root: str) -> None:
    source, target = f"{root}/answers", f"{root}/reports"
    for number in range(3):
        put(f"{source}/{number}.parquet", table(number))
    if root.startswith("memory"):
        with refused("memory", StatementError):
            privatize_folder(source, target, QUESTION, jobs=2)
        return
    assert privatize_folder(source, target, QUESTION, jobs=2) == 60
    assert count_folder(target, QUESTION, jobs=2)["smokes"].n_reports == 60


def test_an_address_does_not_become_a_folder_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(str(tmp_path / "answers" / "1.parquet"), table(1))
    assert privatize_folder("answers", "memory://somewhere/reports", QUESTION) == 20
    for address in ("ftp://host/reports", "https://host/reports", "sqlite:///reports"):
        with refused("scheme", ModelFileError) as caught:
            privatize_folder("answers", address, QUESTION)
        assert "s3://" in caught.value.do
        with refused("scheme", ModelFileError):
            privatize_folder(address, "reports", QUESTION)
    with refused("host", ModelFileError):
        privatize_folder("answers", "file://host/reports", QUESTION)
    with refused("root", ModelFileError):
        privatize_folder("answers", "memory://", QUESTION)
    with refused("database-kind", ModelFileError) as caught, reading("mysql://host/x"):
        pass
    assert "s3://" in caught.value.do
    assert sorted(os.listdir(tmp_path)) == ["answers"]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put(str(tmp_path / "answers" / "1.parquet"), table(1))
    for address, package, install in (
        ("memory://x/y", "fsspec", '"ldpopt[remote]"'),
        ("s3://x/y", "s3fs", "s3fs"),
        ("gs://x/y", "gcsfs", "gcsfs"),
        ("az://x/y", "adlfs", "adlfs"),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            with refused("package", LdpoptError) as caught:
                privatize_folder(tmp_path / "answers", address, QUESTION)
        assert package in str(caught.value)
        assert caught.value.do == f"pip install {install}"


def test_what_a_store_refuses_is_an_error_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with refused("store", ModelFileError):
        count_folder("memory://no-such-bucket/reports", QUESTION)
    put(str(tmp_path / "answers" / "1.parquet"), table(1))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("no-such-bucket is not yours")

    for name in ("find", "ls", "info", "open"):
        monkeypatch.setattr(fsspec.get_filesystem_class("memory"), name, refuse)
    with refused("store", ModelFileError) as caught:
        count_folder("memory://no-such-bucket/reports", QUESTION)
    assert "no-such-bucket is not yours" in str(caught.value)
    with refused("store", ModelFileError):
        privatize_folder(tmp_path / "answers", "memory://no-such-bucket/reports", QUESTION)


@pytest.mark.long
def test_a_store_that_is_not_there_is_an_error_of_ours(
    server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for key, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }.items():
        monkeypatch.setenv(key, value)
    with refused("store", ModelFileError) as caught:
        count_folder("s3://no-such-bucket/reports", QUESTION)
    assert "no-such-bucket" in str(caught.value)
    put(str(tmp_path / "answers" / "1.parquet"), table(1))
    with refused("store", ModelFileError):
        privatize_folder(tmp_path / "answers", "s3://no-such-bucket/reports", QUESTION)


def test_a_record_of_answers_is_beside_the_reports(root: str) -> None:
    put(f"{root}/answers/1.csv", table(1))
    privatize_folder(f"{root}/answers", f"{root}/reports", QUESTION)
    path = places.place_of(f"{root}/reports.sources.json")
    with places.store_of(path).open(path) as stream:
        (part,) = json.load(stream)["parts"]
    assert (part["name"], part["target"], part["rows"]) == ("1.csv", "1.csv.parquet", 20)


def test_kinds_of_packed_files_are_read_and_not_written() -> None:
    assert kind_of("a.csv.gz", (".xlsx",)) == "csv"
    with refused("ending", ModelFileError):
        kind_of("a.csv.gz")
    with refused("ending", ModelFileError):
        kind_of("a.parquet.gz", (".xlsx",))
