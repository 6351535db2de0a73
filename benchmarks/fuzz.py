"""Statements, files and command lines that are mostly wrong, by the hundred thousand; see tests/fuzz.

python benchmarks/fuzz.py                       # 100 000 with a new seed, ten minutes of one core; rewrites fuzz.md
python benchmarks/fuzz.py --count 20000 --seed 7 --page fuzz_7.md
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

WHAT = {
    "test_statements_are_answered_or_refused": "statements and calls in Python",
    "test_model_files": "model files",
    "test_mechanism_files": "mechanism files",
    "test_command_lines": "command lines",
}


def run(count: int, seed: int) -> tuple[str, dict[str, dict[str, Any]]]:
    """The report of pytest, shown as it comes, and the tally of each harness."""
    quiet = ["-o", "addopts=--import-mode=importlib -q", "-p", "no:cacheprovider", "-o", "timeout=0"]
    command = [sys.executable, "-m", "pytest", *quiet, f"--hypothesis-seed={seed}", "tests/fuzz"]
    with tempfile.TemporaryDirectory() as folder:
        tally = Path(folder) / "tally.json"
        places = os.environ | {"LDPOPT_FUZZ": str(count), "LDPOPT_FUZZ_TALLY": str(tally)}
        lines = []
        with subprocess.Popen(command, cwd=ROOT, env=places, stdout=subprocess.PIPE, text=True) as tests:
            assert tests.stdout is not None
            for line in tests.stdout:
                print(line, end="", flush=True)
                lines.append(line)
        return "".join(lines), json.loads(tally.read_text())


def page(count: int, seed: int, report: str, tally: dict[str, dict[str, Any]]) -> Iterator[str]:
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    failed = set(re.findall(r"^FAILED \S+::(\w+)", report, re.MULTILINE))
    yield f"""# Statements, files and commands made up

Written by `python benchmarks/fuzz.py`: hypothesis makes up calls, files and command lines, most of them wrong.
Each is answered (no nan, nothing infinite, certified within 1e-9 of the bound or of a hundredth of the largest gain)
or refused in words on one line, within 2 s of processor time; no traceback, no change of what was stated. A command
line refuses by its exit code, which counts as an answer here. A harness ends soon after a failure: a run with findings
has fewer calls.

Seed {seed}, {count:,} examples asked for, {used:.0f} CPU seconds, Python {platform.python_version()}.

| what | calls | answered | refused | slowest (CPU s) | findings |
|---|---|---|---|---|---|"""
    for name, what in WHAT.items():
        calls, refused, slowest = tally[name].values()
        found = "yes" if name in failed else "none"
        yield f"| {what} | {calls} | {calls - refused} | {refused} | {slowest:.2f} | {found} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="of hypothesis; printed")
    parser.add_argument("--page", type=Path, default=ROOT / "benchmarks" / "fuzz.md")
    options = parser.parse_args()
    print(f"{options.count} examples, seed {options.seed}", flush=True)
    report, tally = run(options.count, options.seed)
    options.page.write_text("\n".join(page(options.count, options.seed, report, tally)) + "\n")
    return int("FAILED" in report)


if __name__ == "__main__":
    sys.exit(main())
