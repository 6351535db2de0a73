"""Runs of many points: every way gives the same results, and whatever dies costs no more than its
point."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from builders import THOROUGH, refused, sample_or_all, seconds
from ldpopt.errors import LdpoptError, ModelFileError
from ldpopt.processes import presence
from ldpopt.processes.checkpoint import Checkpoint
from ldpopt.processes.pool import Lost, run
from ldpopt.processes.run import RunOptions

sys.path.insert(0, str(Path(__file__).parent))
import tasks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")

POINTS = {k: k for k in range(60)}
SQUARES = {k: k * k for k in POINTS}


def record(path: Path, statement: str = "squares") -> Checkpoint:
    return Checkpoint(
        path,
        {"task": statement},
        f"{statement} of 60 numbers",
        pack=lambda x: x,
        unpack=lambda x: x,
    )


def test_processes_and_executors_give_the_same(tmp_path: Path) -> None:
    assert run(tasks.square, POINTS).results == SQUARES
    if THOROUGH:
        assert run(tasks.square, POINTS, RunOptions(jobs=3)).results == SQUARES
    with ThreadPoolExecutor(2) as pool:
        assert run(tasks.square, POINTS, RunOptions(executor=pool)).results == SQUARES
    offset = 3  # a function of this place is sent, too
    seen: list[tuple[int, int]] = []
    found = run(
        lambda x: x + offset,
        POINTS,
        RunOptions(jobs=2, progress=lambda done, total: seen.append((done, total))),
    )
    assert found.results == {k: k + 3 for k in POINTS}
    assert seen == [(k + 1, 60) for k in range(60)]
    assert not found.interrupted


def test_large_results_do_not_block() -> None:
    points = {k: (k, bytes(5000)) for k in range(200)}
    assert (
        sum(map(len, run(lambda p: bytes(100_000), points, RunOptions(jobs=2)).results.values()))
        == 20_000_000
    )


def test_a_worker_that_is_killed_costs_its_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    caplog.set_level("INFO", logger="ldpopt")
    points = {k: k for k in range(28, 68)}
    found = run(tasks.deadly, points, RunOptions(jobs=2, checkpoint=record(tmp_path / "out")))
    lost = found.results.pop(30)
    assert isinstance(lost, Lost)
    assert "3 workers died" in lost.reason
    assert any("a worker died" in line for line in caplog.messages)
    assert "40 of 40 points are finished" in caplog.messages[-1]
    assert "SIGKILL" in lost.reason
    assert found.results == {k: k for k in points if k != 30}
    with record(tmp_path / "out") as kept:
        assert kept.finished == found.results  # what is lost is tried again at the next start


@pytest.mark.long
def test_a_point_is_given_up_after_the_third_worker_that_died_at_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = run(tasks.counted_death, {29: 29, 30: 30}, RunOptions(jobs=2))
    assert isinstance(found.results[30], Lost)
    assert (tmp_path / "deaths").read_text().split() == ["dead"] * 3


def test_an_error_of_a_task_is_raised_as_it_is() -> None:
    with pytest.raises(ValueError, match="x is 20"):
        run(tasks.picky, POINTS)
    with pytest.raises(ValueError, match="x is 20"):
        run(tasks.picky, {k + 1000: k + 1000 for k in range(50)} | POINTS, RunOptions(jobs=2))
    with ThreadPoolExecutor(2) as pool, pytest.raises(ValueError, match="x is 20"):
        run(tasks.picky, POINTS, RunOptions(executor=pool))


def test_what_cannot_be_sent_or_is_no_executor_is_refused() -> None:
    with refused("argument"):
        run(threading.Lock().acquire, POINTS, RunOptions(jobs=2))
    with refused("executor"):
        run(tasks.square, POINTS, RunOptions(executor="two"))
    for jobs in (0, -2, 1.5, True):
        with refused("jobs"):
            run(tasks.square, POINTS, RunOptions(jobs=jobs))  # type: ignore[arg-type]


def test_a_task_that_no_worker_can_read_and_workers_that_do_not_start_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_this_process.py").write_text("def task(x): return x")
    monkeypatch.syspath_prepend(tmp_path)
    import of_this_process

    (tmp_path / "of_this_process.py").unlink()
    with refused("task") as error:
        run(of_this_process.task, POINTS, RunOptions(jobs=2))
    assert "ModuleNotFoundError" in error.value.what
    assert "a worker can import" in error.value.do
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with refused("workers", LdpoptError) as error:
        run(tasks.square, POINTS, RunOptions(jobs=2))
    assert "exit code 1" in error.value.what
    assert "jobs=1" in error.value.do


def test_a_broken_pool_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import multiprocessing

    monkeypatch.chdir(tmp_path)  # where the worker writes that it dies
    points = {k + 100: k + 100 for k in range(20)} | {30: 30}
    with (
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool,
        refused("executor-failed", LdpoptError),
    ):
        run(tasks.deadly, points, RunOptions(executor=pool, checkpoint=record(tmp_path / "out")))
    with record(tmp_path / "out") as kept:
        assert kept.finished


def test_a_lost_chunk_is_submitted_again_point_by_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Losing(ThreadPoolExecutor):
        """Loses every chunk that has more than one point, or the number 7."""

        def submit(self, function: Any, /, task: bytes, points: bytes) -> Any:  # type: ignore[override]
            numbers = pickle.loads(points)
            if len(numbers) == 1 and numbers != [7]:
                return super().submit(function, task, points)
            lost.append(numbers)
            return super().submit(self._die)

        def _die(self) -> None:
            raise OSError("the worker is gone")

    lost: list[list[int]] = []
    monkeypatch.setattr("ldpopt.processes.pool.CHUNK_SECONDS", 10.0)
    monkeypatch.setattr("ldpopt.processes.pool.MAX_RUNNING", 2)
    with Losing(2) as pool:
        found = run(tasks.square, POINTS, RunOptions(executor=pool))
    assert found.results.pop(7) == Lost(
        "3 workers died at this point; the last one: OSError: the worker is gone"
    )
    assert found.results == {k: k * k for k in POINTS if k != 7}
    assert max(map(len, lost)) > 1
    assert lost.count([7]) == 3


PARENT = """
import signal, sys
# A job in the background begins with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {folder!r})
import tasks
from ldpopt.processes.checkpoint import Checkpoint
from ldpopt.processes.pool import run
from ldpopt.processes.run import RunOptions
same = lambda x: x
record = Checkpoint("out", {{"task": "squares"}}, "squares of 60 numbers", pack=same, unpack=same)
found = run(tasks.slow_square, {{k: k for k in range(4000)}}, RunOptions(jobs=2, checkpoint=record))
print(found.interrupted, len(found.results))
"""


@pytest.mark.parametrize(
    "number",
    sample_or_all([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], 1),
    ids=lambda one: one.name,
)
def test_a_run_that_is_ended_leaves_its_points_and_no_process(
    number: signal.Signals, tmp_path: Path
) -> None:
    code = PARENT.format(folder=str(Path(__file__).parent))
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as parent:
        end = time.monotonic() + seconds(60)
        while not (children := descendants(parent.pid)) or lines(tmp_path / "out") < 100:
            assert time.monotonic() < end
            time.sleep(0.01)
        time.sleep(0.3)
        children |= descendants(parent.pid)
        parent.send_signal(number)
        said, _ = parent.communicate(timeout=seconds(20))
    assert len(children) >= 2
    while any(is_alive(child) for child in children):
        assert time.monotonic() < end
        time.sleep(0.01)
    with record(tmp_path / "out") as kept:
        assert kept.finished == {k: k * k for k in kept.finished}
        assert len(kept.finished) >= 100
        if number is not signal.SIGKILL:
            assert said.split() == ["True", str(len(kept.finished))]


def stopped(done: int, total: int) -> None:
    raise KeyboardInterrupt


def test_what_was_finished_at_an_interrupt_is_recorded() -> None:
    class AtOnce:
        """Has finished every chunk when it returns."""

        def submit(self, function: Any, /, task: bytes, points: bytes) -> Future[bytes]:
            given.extend(pickle.loads(points))
            future: Future[bytes] = Future()
            future.set_result(function(task, points))
            return future

    given: list[int] = []
    found = run(tasks.square, POINTS, RunOptions(executor=AtOnce(), progress=stopped))
    assert found.interrupted
    assert found.results == {k: SQUARES[k] for k in given}
    assert len(given) > 1


def test_an_interrupt_does_not_wait_for_points(tmp_path: Path) -> None:
    def leave(x: float) -> None:
        time.sleep(x)
        (tmp_path / f"{x:g}").touch()

    found = run(leave, {0: 0.0, 1: seconds(5)}, RunOptions(jobs=2, progress=stopped))
    assert (found.interrupted, found.results) == (True, {0: None})
    assert [path.name for path in tmp_path.iterdir()] == ["0"]


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def descendants(process: int) -> set[int]:
    """Children and their children."""
    found = subprocess.run(
        ["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout
    pairs = [tuple(map(int, line.split())) for line in found.splitlines()]
    known = {process}
    for _ in range(3):
        known |= {child for child, parent in pairs if parent in known}
    own = subprocess.run(
        ["ps", "-o", "pid=", "-C", "ps"], capture_output=True, text=True, check=False
    ).stdout.split()
    return known - {process} - set(map(int, own))


def is_alive(process: int) -> bool:
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
    )
    return state.stdout.strip() not in ("",) and not state.stdout.startswith("Z")


def test_a_checkpoint_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "out"

    def stop(done: int, total: int) -> None:
        if done == 10:
            raise KeyboardInterrupt

    found = run(tasks.square, POINTS, RunOptions(checkpoint=record(path), progress=stop))
    assert found.interrupted
    assert len(found.results) == 10
    with path.open("ab") as file:
        file.write(b"[10,10")  # the write of a full disk
    called: list[int] = []
    again = run(lambda x: called.append(x) or x * x, POINTS, RunOptions(checkpoint=record(path)))
    assert again.results == SQUARES
    assert called == list(range(10, 60))
    assert (
        run(
            lambda x: pytest.fail("done before"), POINTS, RunOptions(checkpoint=record(path))
        ).results
        == SQUARES
    )


def test_each_point_is_written_at_once_before_it_is_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    written: list[bytes] = []
    write = os.write
    monkeypatch.setattr(os, "write", lambda to, text: written.append(text) or write(to, text))

    def look(done: int, total: int) -> None:
        assert lines(path) == len(written) == 1 + done  # and the header

    run(tasks.square, POINTS, RunOptions(checkpoint=record(path), progress=look))
    monkeypatch.undo()
    assert b"".join(written) == path.read_bytes()
    assert len(written) == 1 + len(POINTS)


def test_foreign_and_damaged_checkpoints_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "out"
    run(tasks.square, POINTS, RunOptions(checkpoint=record(path)))
    before = path.read_bytes()
    with (
        refused("other-run", ModelFileError) as error,
        record(path, "cubes"),
    ):
        pass
    assert re.search(r"'squares of .* not 'cubes of", error.value.what)
    with record(path), refused("busy-checkpoint", ModelFileError), record(path):
        pass
    assert path.read_bytes() == before
    for line in (b"[7,", b"[7,48"):
        path.write_bytes(before.replace(b"[7,49", line))
        assert path.read_bytes() != before
        with refused("damaged-checkpoint", ModelFileError), record(path):
            pass
    for text in ("answers\n1\n", "answers", "{}\n"):
        path.write_text(text)
        with refused("checkpoint", ModelFileError), record(path):
            pass
        assert path.read_text() == text
    with refused("file", ModelFileError), record(tmp_path / "nowhere" / "out"):
        pass
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="named pipe"), record(tmp_path / "pipe"):
        pass


def test_a_cluster_without_workers_ends_the_run_and_its_checkpoint_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed", reason='needs pip install "ldpopt[dask]"')
    monkeypatch.setattr(presence, "WAIT_SECONDS", 0.2)
    monkeypatch.setattr(presence, "ASK_SECONDS", 0.1)
    path = tmp_path / "run.jsonl"
    done: list[int] = []
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def leave(finished: int, _: int) -> None:
            """All workers leave after the first results."""
            done.append(finished)
            if finished == 5:
                cluster.scale(0)

        with refused("no-workers", LdpoptError) as caught:
            run(tasks.slow_square, POINTS, RunOptions(1, client, record(path), leave))
        cluster.scale(1)
        client.wait_for_workers(1, timeout=30)
        # a worker that takes longer than the limit is there
        monkeypatch.setattr(presence, "WAIT_SECONDS", 0.0)
        assert run(tasks.late, {0: 0}, RunOptions(executor=client)).results == {0: 0}
    assert f"{done[-1]} of 60 points are finished" in str(caught.value)
    assert 5 <= done[-1] < 60
    assert "--checkpoint" in str(caught.value)
    with record(path) as kept:
        assert len(kept.finished) == done[-1]
    assert run(tasks.square, POINTS, RunOptions(checkpoint=record(path))).results == SQUARES
