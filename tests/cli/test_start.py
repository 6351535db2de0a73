"""What a command imports: its start is fast if that is only what it needs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from builders import run_cli, run_python, sample_or_all
from ldpopt import PureLDP, Survey, Workload, design
from ldpopt.frequencies import RandomizedResponse

ANSWERS = ["never", "once", "often"]
RUN = """
import atexit, json, sys
from ldpopt.cli import main
sys.argv = ["ldpopt", *sys.argv[1:]]
atexit.register(lambda: print(json.dumps(list(sys.modules)), file=sys.stderr, flush=True))
main()
"""
OTHERS = ("pandas", "networkx", "matplotlib", "cvxpy", "pulp", "sqlalchemy", "narwhals")
SEARCHES = (
    "highspy",
    "ldpopt.designing.design",
    "ldpopt.designing.methods",
    "ldpopt.solving.solve",
)
TABLES = (*OTHERS, *SEARCHES, "scipy", "pyarrow.compute")
NUMBERS = ("numpy.f2py", "ldpopt.accounting", "ldpopt.estimation.regression")
# What none of the modules of a command's process may be
FORBIDDEN = {
    "--help": (*TABLES, *NUMBERS, "pyarrow", "pydantic", "rich", "cloudpickle", "ldpopt.privacy"),
    "key new.key": (*TABLES, *NUMBERS, "pyarrow", "rich", "ldpopt.privacy"),
    "estimate response.json reports.csv -c absence": (*TABLES, *NUMBERS),
    "privatize response.json answers.csv -o new.csv -c absence": TABLES,
    "privatize response.json answers.csv -o new.csv -c absence --key a.key --id name": (
        *OTHERS,
        *SEARCHES,
        "scipy",
    ),
    "estimate design.json numbers.csv -c absence": (*OTHERS, *SEARCHES, "pyarrow.compute"),
    "survey estimate survey.json reports.csv": (*TABLES, "ldpopt.estimation.regression"),
    "survey privatize survey.json answers.csv -o new.csv": TABLES,
    "account survey.json": (*OTHERS, *SEARCHES, "scipy", "pyarrow"),
    "audit response.json": (*TABLES, *NUMBERS, "pyarrow"),
    "plan response.json --people 1000": (*TABLES, *NUMBERS, "pyarrow"),
    "check coin": (*TABLES, *NUMBERS, "pyarrow"),
    "solve coin": (*OTHERS, "scipy", "pyarrow", "ldpopt.designing", "ldpopt.estimation.regression"),
    "certify coin.certificate.json": (*TABLES, "pyarrow", "ldpopt.estimation.regression"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Files for all commands, and a folder to run them in."""
    place = tmp_path_factory.mktemp("start")
    with chdir(place):
        response = RandomizedResponse(ANSWERS, 1.0).mechanism
        response.save("response.json")
        design(Workload.prefix(ANSWERS), PureLDP(1.0)).save("design.json")
        Survey({"absence": response}).save("survey.json")
        rows = [f"{ANSWERS[row % 3]},{row}" for row in range(99)]
        Path("answers.csv").write_text("\n".join(["absence,name", *rows, ""]))
        Path("reports.csv").write_text("\n".join(["absence", *(row.split(",")[0] for row in rows)]))
        Path("numbers.csv").write_text("\n".join(["absence", *"012" * 33]))
        for command in ("key a.key", "solve coin --certificate coin.certificate.json"):
            assert not run_cli(*command.split()).exit_code
        yield place


@pytest.mark.parametrize("command", sample_or_all(FORBIDDEN, 2))
def test_a_command_imports_what_it_needs(command: str, folder: Path) -> None:
    with chdir(folder):
        done = run_python(RUN, *command.split())
    assert done.returncode == 0, done.stderr[-2000:]
    modules = json.loads(done.stderr.splitlines()[-1])
    assert [name for name in FORBIDDEN[command] if name in modules] == []
