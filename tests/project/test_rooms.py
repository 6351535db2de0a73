"""The law of the house: `tests/rooms.py` finds nothing but what `rooms_left.txt` lists."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import rooms

LEFT = Path(__file__).with_name("rooms_left.txt")


def pattern_of(text: str) -> str:
    """What is wrong, without numbers of lines, counts, and the first place."""
    text = re.sub(r" \(first: .*\)", "", text)
    text = re.sub(r"\.py:\d+", ".py", text)
    return re.sub(r"\d+(\.\d+)?", "N", text)


@pytest.fixture(scope="module")
def breaks() -> Counter[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(rooms.ROOT)
        _, found = rooms.all_breaks()
    return Counter(f"{room}: {pattern_of(text)}" for room, text in found)


@pytest.fixture(scope="module")
def left() -> Counter[str]:
    lines = LEFT.read_text(encoding="utf-8").splitlines()
    return Counter(line for line in lines if line and not line.startswith("#"))


def test_no_new_break(breaks, left):
    assert not list((breaks - left).elements()), (
        "python tests/rooms.py names the places; a room that needs more tokens for something new "
        "has its budget, and for whom it was raised, in tests/project/rooms.toml"
    )


def test_what_is_mended_leaves_the_list(breaks, left):
    assert not list((left - breaks).elements()), f"remove these lines from {LEFT.name}"


def test_an_unknown_room_is_refused_with_those_that_exist(monkeypatch):
    monkeypatch.chdir(rooms.ROOT)
    with pytest.raises(SystemExit, match="nosuch") as caught:
        rooms.all_breaks({"nosuch"})
    assert "designing" in str(caught.value)
    lines, _ = rooms.all_breaks({"ldpopt/errors.py"})
    assert len(lines) == 2
