"""Damaged files: every reader refuses them on one line, at once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from builders import run_cli

COMMANDS = {
    "model": ("check", "FILE"),
    "mechanism": ("audit", "FILE"),
    "certificate": ("certify", "FILE"),
    "answers": ("privatize", "coin.json", "FILE", "-c", "answer", "-o", "out.csv"),
    "workload": ("design", "FILE"),
    "design": ("estimate", "FILE", "answers.csv", "-c", "answer"),
    "reports": ("estimate", "coin.json", "FILE", "-c", "answer"),
}

BRACKETS = "[" * 100_000
FILES = {
    "empty": b"",
    "nul bytes": b"\0" * 64,
    "nul in the middle": b"answer\nye\0s\n",
    "UTF-16": "answer\nyes\n".encode("utf-16"),
    "Latin-1": "answer\nj\xe4\n".encode("latin-1"),
    "a pickle": (
        b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94\x8c\x06system\x94\x93\x94."
    ),
    "deep JSON": BRACKETS.encode(),
    "deep objects": b'{"a":' * 50_000,
    "deep TOML": f"x = {BRACKETS}".encode(),
    "an open quote": b'answer\n"' + b"yes\n" * 100_000,
    "an integer of 10000 digits": b'{"channel": [['
    + b"9" * 10_000
    + b'], [1]], "inputs": [0, 1], "outputs": [0]}',
    "an integer of 400 digits": b'{"channel": [['
    + b"9" * 400
    + b'], [1]], "inputs": [0, 1], "outputs": [0]}',
    "TOML of 10000 digits": b"x = " + b"9" * 10_000,
    "nan": b'{"channel": [[NaN, 1.0], [0.5, 0.5]], "inputs": [0, 1], "outputs": [0, 1]}',
    "1e999": b'{"channel": [[1e999, 1.0], [0.5, 0.5]], "inputs": [0, 1], "outputs": [0, 1]}',
    "key twice": b'{"channel": [[1.0]], "channel": [[1.0]], "inputs": [0], "outputs": [0]}',
    "lists as labels": b'{"channel": [[1.0]], "inputs": [[0]], "outputs": [{}]}',
    "a mechanism within itself": b'{"mechanism": {"mechanism": {"channel": [[1.0]]}}}',
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_refused_on_one_line(folder: Path, command: str, name: str) -> None:
    Path("FILE").write_bytes(FILES[name])
    refusal_of(command)


@pytest.mark.parametrize("command", ["answers", "reports"])
def test_an_endless_line_does_not_fill_the_memory(folder: Path, command: str) -> None:
    Path("FILE").write_bytes(b"answer\n" + b"a" * (1 << 24))
    assert "after row 1" in refusal_of(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_and_a_missing_file_are_refused(folder: Path, command: str) -> None:
    refusal_of(command)
    Path("FILE").mkdir()
    refusal_of(command)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_named_pipe_is_not_waited_for(folder: Path, command: str) -> None:
    os.mkfifo("FILE")
    assert "named pipe" in refusal_of(command)


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="no /dev/stdin on this system")
def test_standard_input_is_read_as_a_file(folder: Path) -> None:
    import subprocess

    audit = [sys.executable, "-m", "ldpopt", "audit", "/dev/stdin", "--json", "-"]
    result = subprocess.run(
        audit, input=Path("coin.json").read_bytes(), capture_output=True, check=True
    )
    assert json.loads(result.stdout)["epsilon"] == pytest.approx(1.0986122886681098, abs=1e-15)


def test_a_byte_order_mark_is_ignored(folder: Path, coin: str) -> None:
    for name in ("coin.json", "coin.toml"):
        Path(name).write_bytes(b"\xef\xbb\xbf" + Path(name).read_bytes())
    for args in (("audit", "coin.json"), ("check", "coin.toml")):
        assert run_cli(*args).exit_code == 0


def refusal_of(command: str) -> str:
    """The message of a command that leaves no file behind."""
    before = sorted(os.listdir())
    result = run_cli(*COMMANDS[command])
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    assert result.stderr.startswith("ldpopt: ")
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 1000
    assert sorted(os.listdir()) == before
    return result.stderr
