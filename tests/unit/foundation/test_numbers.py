"""Numbers as users state them: what is read, what is refused, and in which words."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from builders import refused
from ldpopt.errors import StatementError
from ldpopt.foundation import numbers
from ldpopt.foundation.labels import nearest, suggestion

DAY = np.datetime64("2020-01-01")
SPAN = np.timedelta64(3, "s")
HUGE = 10**5000
NON_NUMBERS = {
    "truth": True,
    "numpy's truth": np.bool_(True),
    "a table of one truth": np.array(True),
    "text": "1",
    "numpy's text": np.str_("1"),
    "bytes": b"1",
    "complex": 1 + 0j,
    "a date": DAY,
    "a time span": SPAN,
    "a time span in a table": np.array(SPAN),
    "nothing": None,
    "masked": np.ma.masked,
    "masked in a table": np.ma.array(1.0, mask=True),
    "pandas' nothing": pd.NaT,
    "a list": [1.0],
    "a type": float,
}


@pytest.fixture(params=NON_NUMBERS.values(), ids=NON_NUMBERS.keys())
def no_number(request):
    return request.param


class TestRealArray:
    @pytest.mark.parametrize(
        "values",
        [
            [[1, 2], [3, 4]],
            ((1, 2), (3, 4)),
            np.array([[1, 2], [3, 4]], np.uint8),
            pd.DataFrame([[1, 2], [3, 4]]),
            [[Fraction(1), Decimal(2)], [np.float32(3), 4]],
            [np.array([1, 2]), np.array([3, 4])],
        ],
    )
    def test_numbers_of_any_kind(self, values):
        array = numbers.real_array(values, "table")
        assert array.dtype == np.float64
        assert array.tolist() == [[1, 2], [3, 4]]

    def test_it_is_a_copy(self):
        given = np.zeros(2)
        numbers.real_array(given, "list")[0] = 1
        assert given[0] == 0

    @pytest.mark.parametrize(
        "wrap", [lambda v: [1.0, v], lambda v: [[1.0], [v]], lambda v: ((1.0, v),)]
    )
    def test_one_entry_that_is_not_a_number(self, wrap, no_number):
        with refused("rectangle") as caught:
            numbers.real_array(wrap(no_number), "table")
        assert "the table" in str(caught.value)

    @pytest.mark.parametrize("kind", [bool, str, bytes, complex, "datetime64[D]", "timedelta64[D]"])
    def test_arrays_of_other_types(self, kind):
        with refused("rectangle"):
            numbers.real_array(np.zeros(2, int).astype(kind), "table")

    @pytest.mark.parametrize(
        "values",
        [
            [[1], [1, 2]],
            [1, [2]],
            [10**400],
            {"a": 1},
            {1.0},
            np.array([1, True], object),
            np.array([1, "2"], object),
            np.ma.masked_less([0.5, -1.0], 0),
        ],
    )
    def test_ragged_lists_are_refused(self, values):
        with refused("rectangle"):
            numbers.real_array(values, "table")

    def test_a_list_within_itself(self):
        values = [1.0]
        values.append(values)
        with refused("rectangle"):
            numbers.real_array(values, "table")


class TestRealNumber:
    @pytest.mark.parametrize(
        "value", [0.5, Fraction(1, 2), Decimal("0.5"), np.float32(0.5), np.array(0.5)]
    )
    def test_numbers_of_any_kind(self, value):
        assert numbers.real_number(value, "delta", 0, 1) == 0.5

    def test_other_objects_are_refused(self, no_number):
        with refused("real-number") as caught:
            numbers.real_number(no_number, "delta")
        assert "delta = " in str(caught.value)

    @pytest.mark.parametrize(
        "value, code, words",
        [
            (1.5, "range", "1.5 is not in [0, 1]"),
            (np.inf, "range", "inf"),
            (np.nan, "real-number", "nan"),
            (10**400, "real-number", "10000"),
            (HUGE, "real-number", "too many digits (int)"),
        ],
        ids=["beyond", "infinite", "nan", "beyond floats", "huge"],
    )
    def test_out_of_range(self, value, code, words):
        with refused(code) as caught:
            numbers.real_number(value, "delta", 0, 1, do="state a share")
        assert words in str(caught.value)
        assert caught.value.do == "state a share"

    @pytest.mark.parametrize("value", [0, 1, -0.5, 1.5, np.inf])
    def test_a_share_is_strictly_between(self, value):
        assert numbers.inner_share(Fraction(1, 4), "confidence") == 0.25
        with refused("share"):
            numbers.inner_share(value, "confidence")


class TestWholeNumber:
    @pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
    def test_integers_of_any_kind(self, value):
        assert numbers.is_whole(value, 3, 3)
        assert type(numbers.whole_number(value, "size")) is int

    def test_other_objects_are_refused(self, no_number):
        assert not numbers.is_whole(no_number)
        with refused("whole-number") as caught:
            numbers.whole_number(no_number, "size")
        assert "size = " in str(caught.value)

    @pytest.mark.parametrize("value", [2.0, 2.5, np.float64(2), Fraction(2), np.array(2)])
    def test_numbers_that_are_not_whole_are_refused(self, value):
        assert not numbers.is_whole(value)

    @pytest.mark.parametrize(
        "least, most, fits",
        [(None, None, True), (5, None, True), (6, None, False), (None, 5, True), (None, 4, False)],
    )
    def test_ranges(self, least, most, fits):
        assert numbers.is_whole(5, least, most) is fits
        assert numbers.is_whole(np.int64(5), least, most) is fits

    @pytest.mark.parametrize(
        "value, limits, code, words, do",
        [
            (0, (1,), "range", "size = 0 is less", "give a whole number, at least 1"),
            (4, (1, 3), "range", "size = 4 is more", "give a whole number from 1 to 3"),
            (2.0, (1, 3), "whole-number", "size = 2.0", "give a whole number from 1 to 3"),
            (10**30, (), "range", "9223372036854775807", "give a whole number, at least 0"),
            (
                -HUGE,
                (),
                "range",
                "too many digits (int)",
                "give a whole number, at least 0",
            ),
        ],
        ids=["less", "more", "none", "beyond", "huge"],
    )
    def test_refusals_say_why(self, value, limits, code, words, do):
        with refused(code) as caught:
            numbers.whole_number(value, "size", *limits)
        assert words in str(caught.value)
        assert caught.value.do == do


def test_long_representations_are_shortened():
    for value in (HUGE, [HUGE], Fraction(1, HUGE), "9" * 100_000, list(range(10**5)), np.eye(3)):
        assert len(numbers.short_repr(value)) <= 60
        assert "\n" not in numbers.short_repr(value)


def test_short_representations_are_unchanged():
    assert numbers.short_repr("yes") == "'yes'"
    assert numbers.short_repr("9" * 58) == repr("9" * 58)


def test_frozen_arrays_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        numbers.frozen(np.zeros(2))[0] = 1


def test_arrays_larger_than_the_memory_are_refused():
    numbers.require_memory(1.0, "a byte")
    with refused("memory") as caught:
        numbers.require_memory(1e6 * 2**30, "a table")
    assert "1e+06 GiB" in str(caught.value)
    assert "smaller alphabet" in caught.value.do


@pytest.mark.parametrize(
    "name, meant",
    [
        ("Epsilom", "epsilon"),
        (" DELTA ", "delta"),
        ("heads", None),
        ("Heads", None),
        ("no", None),
        ("yse", "yes"),
    ],
)
def test_only_near_names_are_suggested(name, meant):
    known = ["epsilon", "delta", "yes"]
    assert suggestion(name, known) == (f"did you mean {meant!r}? " if meant else "")
    assert nearest(name, known).endswith("known: epsilon, delta, yes")


@pytest.mark.parametrize(
    "values, where",
    [
        ([[1, 2], [3]], "row 1 has 1 entries, row 0 has 2"),
        ([1, "half"], "entry 1 is of type str"),
        ([[1, 2], [3, True]], "entry 1, 1 is of type bool"),
        (lambda: 1, "all of it is of type function"),
        (np.array([1.0, None]), "entry 1 is of type NoneType"),
    ],
)
def test_the_entry_that_is_no_number_is_named_and_not_quoted(values, where):
    with pytest.raises(StatementError) as error:
        numbers.real_array(values, "table")
    assert error.value.where == where


@pytest.mark.parametrize(
    "text, share", [("5%", 0.05), (" 2.5 %", 0.025), ("5", None), ("x%", None), ("5%5", None)]
)
def test_percentages(text, share):
    assert numbers.percentage(text) == share
