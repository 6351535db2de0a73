"""Pages with measured figures name the script that made them, and the day."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for folder in ("docs/measurements", "benchmarks")
    for page in sorted((ROOT / folder).glob("*.md"))
    if re.search(r"^\|", page.read_text(encoding="utf-8"), re.M) and page.name != "README.md"
]


def test_there_are_pages() -> None:
    assert len(PAGES) > 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_figures_have_a_script_and_a_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.search(r"\b(benchmarks|examples|tests)/[\w/]+\.py\b", text), (
        "say which script made the figures"
    )
    assert re.search(r"\b20\d\d-\d\d-\d\d\b", text), "say when the figures were made"


def test_scripts_of_repeated_measurements_exist() -> None:
    for page in PAGES:
        if page.parent.name == "benchmarks":
            for name in re.findall(r"\bbenchmarks/\w+\.py\b", page.read_text(encoding="utf-8")):
                assert (ROOT / name).exists(), f"{page.name}: {name}"
