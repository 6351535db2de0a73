"""Values of JSON documents at the ends of their ranges."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import pytest

from builders import refused
from ldpopt.errors import ModelFileError
from ldpopt.foundation.documents import Entry


def entry(value: Any) -> Entry:
    return Entry(value, "file", "key")


def test_whole_numbers_are_in_range() -> None:
    assert [entry(value).whole(3) for value in (0, 2)] == [0, 2]
    for wrong in (-1, 3, 1.0, True, "1"):
        with refused("whole-number", ModelFileError):
            entry(wrong).whole(3)
    assert entry([[0, 4], [4, 1]]).counts(2, 2, 4).tolist() == [[0, 4], [4, 1]]
    for wrong in (
        [[0, 5]],
        [[-1, 2]],
        [[1]],
        [[1, 2, 3]],
        [[1, 2], [3, 4]],
        [[True, 1]],
        [[1.0, 1]],
        3,
        [3],
    ):
        with pytest.raises(ModelFileError):
            entry(wrong).counts(1, 2, 4)


@pytest.mark.parametrize(
    "wrong", [[1.0, float("nan")], [1.0, float("inf")], [1.0], [1.0, "1"], [1, True], "ab", None]
)
def test_vectors_have_finite_numbers(wrong: Any) -> None:
    assert (
        entry([1.0, -2.5]).numbers(2).tolist()
        == entry([1, -2.5]).numbers(2).tolist()
        == [1.0, -2.5]
    )
    with pytest.raises(ModelFileError):
        entry(wrong).numbers(2)
    with pytest.raises(ModelFileError):
        entry([[1.0, 2.0], wrong]).numbers(2, 2)


def test_hexadecimal_numbers_and_rationals_are_limited_in_size() -> None:
    assert entry("-0x1.8p+1").hexadecimal() == -3.0
    assert entry("0x1p-1074").hexadecimal() == 5e-324
    for wrong in ("0x1p+1024", "0x2p+0", "1.5", "0x1p+1101", 1.0, "inf"):
        with pytest.raises(ModelFileError):
            entry(wrong).hexadecimal()
    assert entry("-3/4").rational() == F(-3, 4)
    for wrong in ("1/0", "1" + "0" * 400, "0.5", "1e3", 1, " 1"):
        with pytest.raises(ModelFileError):
            entry(wrong).rational()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x" * 58, repr("x" * 58)),
        ("x" * 59, repr("x" * 59)[:56] + " ..."),
        ([1], "list"),
        (3.5, "3.5"),
        (None, "NoneType"),
    ],
)
def test_messages_show_at_most_60_characters_of_a_value(value: Any, expected: str) -> None:
    assert entry(value)._shown() == expected
    with pytest.raises(ModelFileError) as caught:
        entry(value).whole(1)
    assert caught.value.what == f"{expected} should be an integer from 0 to 0"


def test_missing_and_unknown_keys_are_named() -> None:
    assert list(entry({"a": 1, "b": 2}).table("a", "b")) == ["a", "b"]
    for wrong, code, words in (
        ({"a": 1}, "missing-key", "'b'"),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, "unknown-key", "'c'"),
        ([], "object", "a, b"),
    ):
        with refused(code, ModelFileError) as caught:
            entry(wrong).table("a", "b")
        assert words in str(caught.value)
