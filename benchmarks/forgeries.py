"""Forged and true files, read by the library, the command line and the checker.

python benchmarks/forgeries.py                # 3000 files, about ten minutes; rewrites forgeries.md
python benchmarks/forgeries.py --count 300

Files of designs and of accounts are changed as in ``tests/tampering.py``, with digests that fit.
The command line runs in this process, and for 100 of the files as a program. Exit code 1 if a false
file is accepted, or a true one refused, by any of them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1] / "tests"
sys.path += [str(TESTS), str(TESTS / "agreement"), str(TESTS.parent)]

import test_files as cases  # noqa: E402

from checker_cases import ALL_SETS, designs, saved  # noqa: E402
from tampering import account_tamperings, tamperings  # noqa: E402

PROGRAMS = 100
READERS = ("library", "command line", "checker", "program")


def originals() -> dict[str, Any]:
    """Designs and accounts as the library writes them."""
    files = {f"design {name}": saved(name) for name in designs() if name not in ALL_SETS}
    with tempfile.TemporaryDirectory() as folder:
        for name, make in cases.ACCOUNTS.items():
            path = Path(folder) / "a.json"
            make().prove(1e-3, 0.1).save(path)
            files[f"account {name}"] = path.read_text(encoding="utf-8")
    return {name: json.loads(text) for name, text in files.items()}


def forged(count: int) -> list[tuple[str, Any, bool]]:
    """About that many files, whether each is false, and from what it was made."""
    groups = []
    for name, data in originals().items():
        changes = account_tamperings if name.startswith("account") else tamperings
        groups.append([(name, other, is_false) for _, other, is_false in changes(data)])
    every = [file for group in groups for file in group]
    step = max(1, len(every) // count)
    return every[::step][:count]


def main() -> int:
    """Read all files, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("-o", "--output", default=str(Path(__file__).with_suffix(".md")))
    options = parser.parse_args()
    files = forged(options.count)
    numbers: Counter[tuple[str, bool, bool]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        for k, (_, data, is_false) in enumerate(files):
            with contextlib.redirect_stdout(io.StringIO()):
                verdicts = list(cases.is_accepted(path, data))
            if k % max(1, len(files) // PROGRAMS) == 0:
                command = [sys.executable, "-m", "ldpopt", "certify", str(path)]
                verdicts.append(subprocess.run(command, capture_output=True).returncode == 0)
            for reader, verdict in zip(READERS, verdicts, strict=False):
                numbers[reader, is_false, verdict] += 1
    rows = [
        f"| {reader} | {numbers[reader, True, False] + numbers[reader, True, True]} "
        f"| {numbers[reader, True, True]} "
        f"| {numbers[reader, False, False] + numbers[reader, False, True]} "
        f"| {numbers[reader, False, False]} |"
        for reader in READERS
    ]
    head = "| reader | false files | accepted | true files | refused |\n|---|---|---|---|---|"
    text = "\n".join(["# Forged files", "", head, *rows, ""])
    Path(options.output).write_text(text, encoding="utf-8")
    print(text)
    return int(
        any(numbers[reader, is_false, is_false] for reader in READERS for is_false in (True, False))
    )


if __name__ == "__main__":
    sys.exit(main())
