"""Keys on the command line: made once, repeated, refused."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pandas as pd
import pytest

from builders import run_cli
from ldpopt import Mechanism, SecretKey
from ldpopt.errors import ModelFileError

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
KEY = SecretKey(bytes(range(32)))
IDS = list(range(400))
ANSWERS = ["yes" if place % 3 else "no" for place in IDS]


def test_the_command_line_repeats_and_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    COIN.save("coin.json")
    pd.DataFrame({"a": ANSWERS, "person": IDS}).to_csv("in.csv", index=False)
    made = run_cli("key", "secret.key")
    assert made.exit_code == 0
    key = SecretKey.load("secret.key")
    assert key.name in made.stdout
    command = ["privatize", "coin.json", "in.csv", "-c", "a"]
    for name in ("one.csv", "two.csv"):
        assert run_cli(*command, "-o", name, "--key", "secret.key", "--id", "person").exit_code == 0
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    expected = COIN.sample(ANSWERS, key=key, id=IDS, question="a").tolist()
    assert pd.read_csv("one.csv")["a"].tolist() == expected
    for extra, what in (
        (["--key", "secret.key"], "belong together"),
        (["--key", "secret.key", "--id", "person", "--seed", "1"], "not from both"),
        (
            ["--key", "in.csv", "--id", "person"],
            "others than its owner" if os.name == "posix" else "not a key",
        ),
    ):
        found = run_cli(*command, "-o", "three.csv", *extra)
        assert found.exit_code == 2
        assert what in found.stderr
    assert run_cli("key", "secret.key").exit_code == 2


@pytest.mark.parametrize("call", ["fsync", "write", "link"])
def test_a_full_disk_leaves_no_file_that_blocks_the_next_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "survey.key"
    with monkeypatch.context() as patch:
        if call == "write":
            patch.setattr(json, "dumps", full)
        else:
            patch.setattr(os, call, full)
        if call == "link":
            patch.setattr(os, "replace", full)
        with pytest.raises(ModelFileError, match="No space left"):
            KEY.save(path)
        assert "No space left" in run_cli("key", path).stderr
    assert list(tmp_path.iterdir()) == []
    assert run_cli("key", path).exit_code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["survey.key"]
