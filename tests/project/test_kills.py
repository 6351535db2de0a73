"""Writers killed at any moment: the file is the old one or the new one; a hidden part may stay
beside it.

Six kills are usual and thirty in the thorough set, two thirds of them in the middle of a long text;
``LDPOPT_KILLS=200`` makes as many as one asks for.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from builders import thorough_or
from ldpopt import Mechanism
from ldpopt.foundation import files
from ldpopt.foundation.files import replacing
from ldpopt.problem.modelfile import load_model

KILLS = int(os.environ.get("LDPOPT_KILLS", thorough_or(3, 30)))

HEAD = """
import itertools, sys, numpy as np, ldpopt as lo
from ldpopt.foundation.files import replacing
rng = np.random.default_rng(0)
def forever(*writes):
    for k, write in enumerate(itertools.cycle(writes)):
        write()
        if k == 1:
            print("ready", flush=True)
"""

WRITERS = {
    "text": """
def text(letter):
    with replacing("out") as stream:
        for _ in range(100):
            stream.write(letter * (1 << 14))
        stream.write("end")
forever(lambda: text("a"), lambda: text("b"))
""",
    "mechanism": """
one, other = (lo.Mechanism(rng.dirichlet(np.ones(150), size=150)) for _ in range(2))
forever(lambda: one.save("out"), lambda: other.save("out"))
""",
    "model": """
from ldpopt.problem.modelfile import save_model
drawn = lambda: lo.Problem(rng.dirichlet(np.ones(80)), rng.random((80, 80)), lo.PureLDP(1.0))
one = drawn()
other = drawn()
forever(lambda: save_model(one, "out"), lambda: save_model(other, "out"))
""",
    "sweep": """
import dataclasses
from ldpopt.studies.sweep import sweep
short = sweep(lo.Problem([0.5, 0.5], "identity", lo.PureLDP(1.0)), [1.0])
one, other = (dataclasses.replace(short, rows=short.rows * size) for size in (4000, 5000))
forever(lambda: one.to_csv("out"), lambda: other.to_csv("out"))
""",
    "reports": """
from typer.testing import CliRunner
from ldpopt.cli.app import app
lo.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"]).save("../coin.json")
for name, size in (("short", 20000), ("long", 30000)):
    with open(f"../{name}.csv", "w") as stream:
        stream.write("answer\\n" + "yes\\n" * size)
def privatize(name):
    args = ["privatize", "../coin.json", f"../{name}.csv", "-c", "answer", "-o", "out"]
    assert CliRunner().invoke(app, args).exit_code == 0
forever(lambda: privatize("short"), lambda: privatize("long"))
""",
}


def is_whole(kind: str, path: Path) -> bool:
    """Whether the file is one of the two that are written."""
    if kind == "mechanism":
        return Mechanism.load(path).channel.shape == (150, 150)
    if kind == "model":
        return load_model(path).utility.shape == (80, 80)
    text = path.read_text()
    if kind == "reports":
        lines = text.splitlines()
        return (
            text.endswith("\n")
            and len(lines) in (20_001, 30_001)
            and set(lines[1:]) == {"no", "yes"}
        )
    if kind == "sweep":
        lines = text.splitlines()
        return text.endswith("\n") and len(lines) in (4001, 5001) and len(set(lines[1:])) == 1
    return text[:-3] in ("a" * (100 << 14), "b" * (100 << 14)) and text.endswith("end")


@pytest.mark.skipif(sys.platform == "win32", reason="kills of POSIX")
@pytest.mark.parametrize("kind", thorough_or(("text", "reports"), tuple(WRITERS)))
def test_no_kill_leaves_half_a_file(kind: str, tmp_path: Path) -> None:
    moment = random.Random(KILLS)
    tmp_path = tmp_path / "folder"
    tmp_path.mkdir()
    out = tmp_path / "out"
    cut = 0
    for _ in range(-(-KILLS * 2 // 3) if kind == "text" else -(-KILLS // 12)):
        code = [sys.executable, "-c", HEAD + WRITERS[kind]]
        with subprocess.Popen(code, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(moment.uniform(0.0, 0.1))
            writer.kill()
        assert is_whole(kind, out)
        parts = {path.name for path in tmp_path.iterdir()} - {"out", "out.origin.json"}
        assert all(name.startswith(".out.") and name.endswith(files._SUFFIX) for name in parts)
        cut += bool(parts)
        for name in parts:
            (tmp_path / name).unlink()
    print(f"{kind}: {cut} of the kills came while a part was open")


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    with replacing(tmp_path / "out") as slow:
        slow.write("slow")
        with replacing(tmp_path / "out") as quick:
            quick.write("quick")
        assert (tmp_path / "out").read_text() == "quick"
    assert (tmp_path / "out").read_text() == "slow"
    assert os.listdir(tmp_path) == ["out"]
