"""The independent checker is read in the order of its table of contents."""

from __future__ import annotations

import re
from pathlib import Path

import ldpopt_check as checker

HEAD = re.compile(r"# (\d+[a-z]?\. .+)")
ENTRY = re.compile(r"    (\d+[a-z]?\. .+?) \.+ +(\d+)")
WIDTH = 90


def test_the_table_of_contents_has_the_first_line_of_each_part() -> None:
    rows = Path(checker.__file__).read_text(encoding="utf-8").splitlines()
    parts = {head[1]: number for number, row in enumerate(rows, 1) if (head := HEAD.fullmatch(row))}
    entries = [entry for row in (checker.__doc__ or "").splitlines() if (entry := ENTRY.match(row))]
    stated = {entry[1]: int(entry[2]) for entry in entries}
    right = "\n".join(f"{f'    {name} ':.<{WIDTH}} {line:4}" for name, line in parts.items())
    assert list(stated.items()) == list(parts.items()), f"the table should be\n{right}"
    numbers = [name.partition(".")[0] for name in parts]
    assert numbers == sorted(numbers)
    assert {"1", "6a", "8"} <= {*numbers}
