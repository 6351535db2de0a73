"""Ctrl-C: the real command on a terminal, interrupted while it works, ends at once and keeps what
is done."""

from __future__ import annotations

import csv
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import run_cli, seconds, thorough_or
from ldpopt.studies.literature import methods

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

BOUND = seconds(3.0)
"""Seconds, on a machine that does other things as well; benchmarks/faults.py measures on a quiet
one."""


MODELS = Path(__file__).parents[2] / "models"

MOMENTS = int(os.environ.get("LDPOPT_MOMENTS", thorough_or(2, 10)))
"""Of the first second, at which a command is interrupted; as many as one asks for."""


def _heeds() -> None:
    """Heed Ctrl-C, whatever these tests were started by: jobs in the background are told to ignore
    it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Command:
    """A running command whose stderr is a terminal, where it shows its progress."""

    def __init__(self, *args: str, **options: object) -> None:
        self._terminal, theirs = os.openpty()
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
        pipes = {"stdout": subprocess.PIPE, "stderr": theirs, "env": environment} | options
        command = [sys.executable, "-m", "ldpopt", *args]
        self.process = subprocess.Popen(  # type: ignore[call-overload]
            command, preexec_fn=_heeds, start_new_session=True, **pipes
        )
        os.close(theirs)
        self.shown = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                self.shown += os.read(self._terminal, 1 << 16).decode(errors="replace")
            except OSError:  # the other end is closed
                return

    def interrupt(self, pattern: str = "", pause: float = 0.0) -> tuple[str, str]:
        """Press Ctrl-C after the terminal shows a pattern; check how it ends, and return stdout and
        the last line."""
        end = time.perf_counter() + seconds(60)
        while not re.search(pattern, self.shown):
            assert self.process.poll() is None, self.shown
            assert time.perf_counter() < end, self.shown
            time.sleep(0.02)
        time.sleep(pause)
        # as a terminal does, to all processes of the command
        os.killpg(self.process.pid, signal.SIGINT)
        out, _ = self.process.communicate(timeout=BOUND)
        self._reader.join(seconds(5))
        os.close(self._terminal)
        assert self.process.returncode == 130
        assert "Traceback" not in self.shown
        assert len(re.findall(r"ldpopt: (?!note)", self.shown)) == 1
        return out.decode(), self.shown.rstrip().splitlines()[-1]


def model(path: str, n: int, budget: str = "1.0") -> None:
    gain = np.random.default_rng(0).random((n, n)).round(3).tolist()
    head = f"[prior]\nuniform = true\n[privacy]\nkind = 'pure'\nepsilon = {budget}\n"
    Path(path).write_text(f"{head}[utility]\ngain = {gain}\n")


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(("-c", "from ldpopt.cli import main; main()"), id="script"),
        pytest.param(("-m", "ldpopt"), id="-m", marks=pytest.mark.long),
    ],
)
def test_any_moment_from_the_first_import_on(folder: Path, how: tuple[str, str]) -> None:
    """Python lists what it has imported: before ours begins it is starting itself, and has words of
    its own."""
    command = [sys.executable, "-X", "importtime", *how, "solve", str(MODELS / "anes96_party.toml")]
    moment = random.Random(0)
    for k in range(MOMENTS):
        with open("stderr", "w") as stderr:
            process = subprocess.Popen(
                command, preexec_fn=_heeds, stdout=subprocess.PIPE, stderr=stderr
            )
        while " ldpopt.cli\n" not in Path("stderr").read_text():
            assert process.poll() is None
            time.sleep(0.005)
        time.sleep((k + moment.random()) / MOMENTS)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=BOUND)
        said = Path("stderr").read_text()
        assert "Traceback" not in said
        if process.returncode == 0:
            assert b"certified" in out
        elif process.returncode != -signal.SIGINT:  # Python is ending, and hears nothing more
            assert (process.returncode, said.count("ldpopt: interrupted")) == (130, 1)


def test_a_solve_deep_in_the_simplex(folder: Path) -> None:
    model("slow.toml", 250)
    out, last = Command("solve", "slow.toml", "--solver", "highs").interrupt("solving")
    assert out == ""
    assert last.endswith("ldpopt: interrupted")


@pytest.mark.long
def test_a_list_of_extreme_points(folder: Path) -> None:
    model("slow.toml", 6, "'log(2)'")
    Command("vertices", "slow.toml").interrupt("extreme points")


def test_a_comparison_without_a_terminal_shows_the_methods_that_are_done(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve = methods._solve
    begun = []

    def interrupted(*arguments: Any) -> Any:
        begun.append(arguments)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return solve(*arguments)

    monkeypatch.setattr(methods, "_solve", interrupted)
    done = run_cli("compare", "coin.toml")
    assert done.exit_code == 130
    assert "highs" in done.stdout
    assert re.search(r"interrupted: [1-9] of \d+ methods are finished", done.stderr)


@pytest.mark.long
def test_a_comparison_shows_the_methods_that_are_done(folder: Path) -> None:
    pytest.importorskip("pulp")
    model("slow.toml", 70)
    out, last = Command("compare", "slow.toml").interrupt(r"cbc \(compact\)")
    assert "highs (compact)" in out
    assert re.search(r"interrupted: [12] of \d+ methods are finished", last)


def test_a_parallel_sweep_keeps_its_rows(folder: Path) -> None:
    args = ("sweep", "coin.toml", "--epsilon", "0.1:5:20000", "-j", "2", "-o", "out.csv")
    args += ("--checkpoint", "points", "--keep", "kept")
    out, last = Command(*args).interrupt(r"[1-9]\d*/20000")
    rows = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert 0 < len(rows) < 20_000
    assert all(row["status"] == "optimal" for row in rows)
    assert f"interrupted: {len(rows)} of 20000 points are finished and in out.csv" in last
    assert out
    assert not list(
        Path("kept").iterdir()
    )  # the same command, which goes on from the checkpoint, asks for a new folder


@pytest.mark.long
def test_workers_that_start_say_nothing(folder: Path) -> None:
    for pause in (0.0, 0.2):
        command = Command("sweep", "coin.toml", "--epsilon", "0.1:5:20000", "-j", "2")
        command.interrupt("0/20000", pause)


def test_privatize_leaves_the_old_file(folder: Path) -> None:
    Path("out.csv").write_text("old")
    command = Command(
        "privatize", "coin.json", "-", "-c", "answer", "-o", "out.csv", stdin=subprocess.PIPE
    )
    assert command.process.stdin is not None
    # more than a pipe holds: it is reading
    command.process.stdin.write(b"answer\n" + b"yes\nno\n" * 100_000)
    command.process.stdin.flush()
    command.interrupt()
    assert Path("out.csv").read_text() == "old"
    assert not [name for name in os.listdir() if name.startswith(".")]
