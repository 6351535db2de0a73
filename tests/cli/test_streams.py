"""The command line in a process of its own: closed pipes and full disks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builders import seconds, start_cli, thorough_or
from ldpopt.cli.app import FREE_SPACE


def test_a_closed_pipe_ends_quietly(folder: Path, coin: str) -> None:
    Path("large.toml").write_text(coin.replace('["no", "yes"]', str(list(range(60)))))
    with start_cli("export", "large.toml", "--to", "lp") as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.stdout.close()
        assert program.stderr.read() == ""
        assert program.wait(seconds(20)) == 0


ALL = [
    ("--help",),
    ("solve", "coin.toml"),
    ("solve", "coin.toml", "--json", "-"),
    ("--version",),
]
COMMANDS = thorough_or(ALL[:1], ALL)


@pytest.fixture(
    params=thorough_or([""], ["", "1"]), ids=lambda value: "unbuffered" if value else "buffered"
)
def _buffering(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A buffer keeps text that could not be written; the interpreter writes it again when it
    ends."""
    monkeypatch.setenv("PYTHONUNBUFFERED", request.param)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.usefixtures("_buffering")
@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_a_full_disk_is_one_line(folder: Path, args: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full, start_cli(*args, stdout=full) as program:
        _, text = program.communicate(timeout=seconds(20))
    assert (program.returncode, text) == (2, f"ldpopt: No space left on device{FREE_SPACE}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.usefixtures("_buffering")
def test_a_message_that_cannot_be_written_changes_no_exit_code(folder: Path) -> None:
    codes = {}
    for model in thorough_or(
        ("coin.toml", "impossible.toml"), ("coin.toml", "missing.toml", "impossible.toml")
    ):
        with (
            Path("/dev/full").open("w") as full,
            start_cli("solve", model, stdout=full, stderr=full) as program,
        ):
            codes[model] = program.wait(seconds(20))
    assert codes.pop("impossible.toml") == 3
    assert set(codes.values()) == {2}


@pytest.mark.usefixtures("_buffering")
@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_a_missing_reader_is_not_an_error(folder: Path, args: tuple[str, ...]) -> None:
    """The reader is gone before anything is written, or there never was one."""
    for close in (False, True):
        read, write = os.pipe()
        os.close(read)
        with start_cli(
            *args, stdout=write, preexec_fn=(lambda: os.close(1)) if close else None
        ) as program:
            os.close(write)
            _, text = program.communicate(timeout=seconds(20))
        assert (program.returncode, text) == (0, "")
