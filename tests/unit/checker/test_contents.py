"""The independent checker is read in the order of its table of contents, with its theorems at
hand."""

from __future__ import annotations

import re
from pathlib import Path

import ldpopt_check as checker

ROOT = Path(__file__).parents[3]
TEXT = Path(checker.__file__).read_text(encoding="utf-8")
HEAD = re.compile(r"# (\d+[a-z]?\. .+)")
ENTRY = re.compile(r"    (\d+[a-z]?\. .+?) \.+ +(\d+)")
WIDTH = 90


def test_the_table_of_contents_has_the_first_line_of_each_part() -> None:
    rows = TEXT.splitlines()
    parts = {head[1]: line for line, row in enumerate(rows, 1) if (head := HEAD.fullmatch(row))}
    entries = [entry for row in (checker.__doc__ or "").splitlines() if (entry := ENTRY.match(row))]
    stated = {entry[1]: int(entry[2]) for entry in entries}
    right = "\n".join(f"{f'    {name} ':.<{WIDTH}} {line:4}" for name, line in parts.items())
    assert list(stated.items()) == list(parts.items()), f"the table should be\n{right}"
    numbers = [name.partition(".")[0] for name in parts]
    assert numbers == sorted(numbers)
    assert {"1", "6a", "8"} <= {*numbers}


def test_theorems_that_the_checker_names_are_in_the_documentation() -> None:
    pages = "\n".join(
        page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "theory").glob("*.md"))
    )
    names = set(re.findall(r"\bthm(?:-[a-z0-9]+)+", TEXT))
    assert len(names) > 15
    assert not {name for name in names if f"({name})=" not in pages}
