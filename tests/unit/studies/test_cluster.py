"""A survey on a local cluster of two workers: drawn once, counted where it lies, whatever dies in
between."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from builders import THOROUGH, refused, run_cli, seconds, thorough_or
from ldpopt import (
    Counts,
    Mechanism,
    Problem,
    PureLDP,
    SecretKey,
    Survey,
    Workload,
    count_folder,
    design,
    estimate_frequencies,
    privatize_folder,
    sweep,
)
from ldpopt.errors import LdpoptError, ModelFileError, StatementError
from ldpopt.mechanism.questions import Question
from ldpopt.tables.inventory import Inventory

distributed = pytest.importorskip("distributed", reason='needs pip install "ldpopt[dask]"')
dd = pytest.importorskip("dask.dataframe")

WIDE = Mechanism(np.full((3, 64), 1 / 64), inputs=["a", "b", "c"], outputs=range(64))
"""64 reports, so that draws which two partitions share would be seen at once."""

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])

KEY = SecretKey(bytes(range(32)))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers: processes in the thorough set, and otherwise threads."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=THOROUGH,
            protocol="tcp",
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def people(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    columns = {
        "answer": rng.choice(["no", "yes"], rows, p=[0.3, 0.7]),
        "weight": rng.random(rows),
        "age": range(rows),
    }
    return pd.DataFrame(
        {"id": [f"p{k}" for k in range(rows)], **columns}, index=pd.RangeIndex(10, 10 + rows)
    )


def test_a_second_computation_draws_nothing_anew(client: Any) -> None:
    answers = dd.from_pandas(people(), npartitions=4)
    reports = COIN.privatize(answers, "answer", key=KEY, id="id")
    first = reports.compute()
    second = reports.compute()
    assert first.equals(second)
    plain = COIN.privatize(people(), "answer", key=KEY, id="id")
    assert (first["answer"] == plain["answer"]).all()
    assert first.index.equals(plain.index)
    assert first["age"].tolist() == plain["age"].tolist()
    assert 0.15 < (first["answer"] != people()["answer"]).mean() < 0.35
    # In other partitions, and in another order, everybody has the same report.
    other = COIN.privatize(
        dd.from_pandas(people().iloc[::-1], npartitions=2, sort=False), "answer", key=KEY, id="id"
    )
    assert (other.compute().sort_index()["answer"] == plain["answer"]).all()
    with pytest.raises(StatementError, match="Dask") as caught:
        COIN.privatize(answers, "answer")
    assert "key=" in str(caught.value)
    assert "privatize_folder" in str(caught.value)


def test_one_seed_gives_each_partition_its_own_draws(client: Any) -> None:
    same = pd.DataFrame({"answer": ["a"] * 4000})
    answers = dd.from_pandas(same, npartitions=4)
    reports = WIDE.privatize(answers, "answer", rng=5)
    parts = [part.compute()["answer"].to_numpy() for part in reports.partitions]
    assert_independent(parts)
    again = WIDE.privatize(answers, "answer", rng=np.random.SeedSequence(5)).compute()
    assert again.equals(WIDE.privatize(answers, "answer", rng=np.random.SeedSequence(5)).compute())
    assert reports.compute()["answer"].tolist() == np.concatenate(parts).tolist()
    # Two columns of one table share nothing, either.
    two = WIDE.privatize(
        dd.from_pandas(same.assign(other="a"), npartitions=2), ["answer", "other"], rng=5
    ).compute()
    assert_independent([two["answer"].to_numpy()[:1000], two["other"].to_numpy()[:1000]])


def assert_independent(parts: list[Any]) -> None:
    """Uniform reports of 64 labels agree in 1 of 64 places; here below six standard errors from
    it."""
    for one, two in itertools.combinations(parts, 2):
        size = min(len(one), len(two))
        for shift in range(3):
            agreeing = np.mean(one[: size - shift] == two[shift:size])
            assert abs(agreeing - 1 / 64) < 6 * np.sqrt(1 / 64 / size)


def test_counts_and_estimates_are_those_of_one_table(client: Any) -> None:
    reports = COIN.privatize(people(), "answer", key=KEY, id="id")
    lazy = COIN.privatize(dd.from_pandas(people(), npartitions=4), "answer", key=KEY, id="id")
    counts = Counts.of(COIN, lazy, column="answer")
    assert counts == Counts.of(COIN, reports, column="answer")
    weighted, plain = (
        Counts.of(COIN, table, column="answer", weights="weight") for table in (lazy, reports)
    )
    assert weighted.values == pytest.approx(plain.values)
    assert estimate_frequencies(COIN, counts).values.sum() == pytest.approx(1)
    with pytest.raises(StatementError, match=r"Counts\.of"):
        Counts.of(COIN, lazy)
    with refused("unknown-label"):
        Counts.of(
            COIN,
            dd.from_pandas(people().replace({"answer": {"yes": "yes!"}}), npartitions=2),
            column="answer",
        )


def test_a_survey_with_missing_answers_and_a_design(client: Any) -> None:
    table = people().assign(grade=np.arange(600) % 4)
    table.loc[20:25, "answer"] = None
    best = design(Workload.prefix(4), PureLDP(1.0))
    survey = Survey({"answer": Question(COIN, "leave_out"), "grade": best})
    reports = survey.privatize(dd.from_pandas(table, npartitions=3), key=KEY, id="id")
    found = reports.compute()
    assert found["answer"].isna().sum() == 6
    assert reports.dtypes["answer"] == found["answer"].dtype
    plain = survey.privatize(table, key=KEY, id="id")
    assert found["grade"].tolist() == plain["grade"].tolist()
    assert survey.count(reports) == survey.count(plain)
    estimates = survey.estimate(reports)
    assert estimates["answer"].n_reports == 594
    assert estimates["grade"].values.tolist() == survey.estimate(plain)["grade"].values.tolist()


def write(folder: Path, files: int = 6, rows: int = 1000, answer: str = "a") -> Path:
    folder.mkdir()
    for k in range(files):
        pd.DataFrame(
            {"answer": [answer] * rows, "id": [f"{k}-{i}" for i in range(rows)]}
        ).to_parquet(folder / f"part{k}.parquet")
    return folder


def unfinish(target: Path) -> None:
    """Leave the inventory as a run does that was killed before its end."""
    stated = Inventory.load(str(target))
    assert stated is not None
    stated.finished = False
    stated.parts = {
        name: facts._replace(digest=None, size=None) for name, facts in stated.parts.items()
    }
    stated.save()


def reports_of(folder: Path) -> list[Any]:
    return [
        pd.read_parquet(path)["answer"].to_numpy(int) for path in sorted(folder.glob("*.parquet"))
    ]


def test_a_folder_is_drawn_once_by_the_random_numbers_of_each_worker(
    client: Any, tmp_path: Path
) -> None:
    source = write(tmp_path / "answers")
    target = tmp_path / "reports"
    assert privatize_folder(source, target, {"answer": WIDE}, executor=client) == 6000
    first = reports_of(target)
    assert_independent(first)
    counts = count_folder(target, {"answer": WIDE}, executor=client)["answer"]
    assert counts.values.tolist() == np.bincount(np.concatenate(first), minlength=64).tolist()
    assert count_folder(target, {"answer": WIDE})["answer"] == counts
    # A file that is lost is not drawn again; after a run that ended early a missing one is, and all
    # others stay.
    (target / "part3.parquet").unlink()
    with refused("missing-part", ModelFileError):
        privatize_folder(source, target, {"answer": WIDE})
    unfinish(target)
    (tmp_path / "reports.parts").mkdir()
    (tmp_path / "reports.parts" / "of-a-worker-that-was-killed").write_text("")
    assert privatize_folder(source, target, {"answer": WIDE}, jobs=thorough_or(1, 2)) == 6000
    second = reports_of(target)
    assert [np.array_equal(one, two) for one, two in zip(first, second, strict=True)] == [
        True
    ] * 3 + [False] + [True] * 2
    assert len(os.listdir(target)) == 6
    # A file that is there is not replaced.
    with refused("foreign-file", ModelFileError):
        privatize_folder(
            source, target, {"answer": Mechanism(np.full((3, 2), 0.5), ["a", "b", "c"])}
        )
    with refused("missing-source", ModelFileError):
        privatize_folder(write(tmp_path / "other", 2), target, {"answer": WIDE})
    with refused("same-folder", ModelFileError):
        privatize_folder(source, source, {"answer": WIDE})
    with refused("subfolder", ModelFileError):
        count_folder(tmp_path, {"answer": WIDE})
    (tmp_path / "empty").mkdir()
    with refused("empty-folder", ModelFileError):
        count_folder(tmp_path / "empty", {"answer": WIDE})
    with refused("file", ModelFileError):
        count_folder(tmp_path / "nowhere", {"answer": WIDE})


def test_a_folder_with_a_key_or_a_seed_is_the_same_on_every_machine(
    client: Any, tmp_path: Path
) -> None:
    source = write(tmp_path / "answers")
    for options in ({"rng": 7}, {"key": KEY, "id": "id"}):
        names = [f"{next(iter(options))}-{how}" for how in ("cluster", "here")]
        privatize_folder(source, tmp_path / names[0], {"answer": WIDE}, executor=client, **options)
        privatize_folder(source, tmp_path / names[1], {"answer": WIDE}, **options)
        one, two = (reports_of(tmp_path / name) for name in names)
        assert all(np.array_equal(*pair) for pair in zip(one, two, strict=True))
        assert_independent(one)


def test_reports_that_are_sets_are_counted_in_folders(client: Any, tmp_path: Path) -> None:
    best = design(Workload.frequencies([f"a{k}" for k in range(40)]), PureLDP(1.0))
    source = write(tmp_path / "answers", 3, 2000, "a7")
    privatize_folder(source, tmp_path / "reports", {"answer": best}, executor=client)
    counts = count_folder(tmp_path / "reports", {"answer": best}, executor=client)["answer"]
    found = best.estimate(counts)
    assert counts.n_reports == 6000
    assert abs(found.values[7] - 1) < 6 * found.std_error[7]


@pytest.mark.long
def test_a_worker_that_dies_costs_no_report(client: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "answers", 24, 20_000)
    target = tmp_path / "reports"
    seen: dict[str, tuple[int, int]] = {}

    def kill() -> None:
        end = time.monotonic() + seconds(60)
        while time.monotonic() < end and len(list(target.glob("[!.]*"))) < 3:
            time.sleep(0.005)
        for path in target.glob("[!.]*"):
            seen[path.name] = (path.stat().st_mtime_ns, path.stat().st_ino)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    assert privatize_folder(source, target, {"answer": WIDE}, executor=client) == 24 * 20_000
    killer.join()
    assert seen
    assert all(
        seen[name] == (os.stat(target / name).st_mtime_ns, os.stat(target / name).st_ino)
        for name in seen
    )
    assert len(os.listdir(target)) == 24
    client.wait_for_workers(2, timeout=seconds(60))
    assert (
        count_folder(target, {"answer": WIDE}, executor=client)["answer"].n_reports == 24 * 20_000
    )


def test_a_sweep_on_the_cluster(client: Any, tmp_path: Path) -> None:
    problem = Problem([0.3, 0.7], "identity", PureLDP(1.0), inputs=["no", "yes"])
    grid = np.linspace(0.1, 3, 12)
    found = sweep(problem, grid, executor=client, checkpoint=tmp_path / "points")
    assert found.column("value").tolist() == sweep(problem, grid).column("value").tolist()
    assert len((tmp_path / "points").read_text().splitlines()) == 13


def test_commands_work_on_the_cluster(client: Any, tmp_path: Path) -> None:
    COIN.save(tmp_path / "coin.json")
    source = write(tmp_path / "answers", 3, 50, "no")
    address = ("--dask", client.scheduler.address)
    simulate = (
        "simulate",
        tmp_path / "coin.json",
        "--people",
        50,
        "--repeats",
        3,
        "--seed",
        1,
        "--json",
        "-",
    )
    assert run_cli(*simulate, *address).stdout == run_cli(*simulate).stdout
    reports = ("-o", tmp_path / "reports", *address)
    assert (
        "150 reports"
        in run_cli("privatize", tmp_path / "coin.json", source, "-c", "answer", *reports).stdout
    )
    found = run_cli(
        "estimate", tmp_path / "coin.json", tmp_path / "reports", "-c", "answer", *address
    )
    assert (found.exit_code, found.stdout.startswith("150 reports"), found.stderr) == (0, True, "")


def test_errors_of_workers_are_ours(client: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "answers", 2, 10, "d")
    with refused("unknown-label", LdpoptError) as caught:
        privatize_folder(source, tmp_path / "reports", {"answer": WIDE}, executor=client)
    assert "part" in caught.value.where
    assert os.listdir(tmp_path / "reports") == []


def test_a_scheme_that_asks_one_question_does_so_in_folders_and_partitions(tmp_path):
    coin = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    survey = Survey({"a": coin, "b": coin}, scheme="one_question")
    frame = pd.DataFrame({"a": ["no"] * 2000, "b": ["yes"] * 2000, "id": range(2000)})
    key = SecretKey(bytes(32))
    parts = survey.privatize(dd.from_pandas(frame, npartitions=3), key=key, id="id").compute()
    (tmp_path / "in").mkdir()
    frame[:900].to_parquet(tmp_path / "in" / "1.parquet")
    frame[900:].to_parquet(tmp_path / "in" / "2.parquet")
    privatize_folder(tmp_path / "in", tmp_path / "out", survey, key=key, id="id")
    files = pd.concat(
        pd.read_parquet(path) for path in sorted((tmp_path / "out").glob("*.parquet"))
    )
    for found in (parts, files):
        assert (found[["a", "b"]].notna().sum(axis=1) == 1).all()
    assert files["a"].fillna("-").tolist() == parts["a"].fillna("-").tolist()
    told = survey.estimate(count_folder(tmp_path / "out", survey))
    assert told["a"].n_reports + told["b"].n_reports == 2000
    assert abs(told["b"].values[1] - 1) < 0.3
