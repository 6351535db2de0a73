"""Codes of the labels in a column of a table: positions in an alphabet, and codes for missing and
unknown entries.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Literal, get_args

import numpy as np

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation import optional
from ldpopt.foundation.labels import no_label, text_of
from ldpopt.foundation.numbers import Int, any_array, short_repr
from ldpopt.tables.vectors import column_of_numbers, column_of_texts, looked_up, places_of

Codes = Int
Missing = Literal["refuse", "leave_out"]
TREATMENTS = get_args(Missing)
MISSING = -1  # code of a missing answer
UNKNOWN = -2  # code of an entry that is neither a label nor missing
# Texts that mean a missing answer in a file of text, except those that are labels
MISSING_TEXTS = frozenset(("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>"))
# A number as software writes it; one that begins with more zeros, such as 007, is a text
DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


class Texts:
    """A column of texts that needs no arrow: the distinct ones, None for null, and the place of
    each entry among them, shape (N,).
    """

    def __init__(self, entries: Sequence[str | None]) -> None:
        self.distinct = list(dict.fromkeys(entries))
        known = {entry: place for place, entry in enumerate(self.distinct)}
        self.places = np.fromiter(map(known.__getitem__, entries), np.int64, len(entries))

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, row: int) -> str | None:
        return self.distinct[int(self.places[row])]

    def repeated(self, counts: Int) -> Texts:
        """Return the column with each entry as often as a vector of counts says."""
        other = Texts(())
        other.distinct = self.distinct
        other.places = np.repeat(self.places, counts)
        return other

    def to_list(self) -> list[str | None]:
        """Return the entries."""
        return [self.distinct[place] for place in self.places.tolist()]

    def to_arrow(self) -> optional.pyarrow.Array:
        """Return the dictionary-encoded column."""
        labels = [text for text in self.distinct if text is not None]
        order = np.array([-1 if text is None else 0 for text in self.distinct] or [0], np.int32)
        order[order == 0] = np.arange(np.count_nonzero(order == 0), dtype=np.int32)
        places = order[self.places]
        column = column_of_numbers(places, places < 0 if (order < 0).any() else None)
        return optional.pyarrow.DictionaryArray.from_arrays(column, column_of_texts(labels))


class Coder:
    """Converts labels in columns, or with ``as_text`` their distinct texts, to codes; ``kind`` is
    for messages.
    """

    def __init__(self, alphabet: Sequence[Hashable], kind: str, *, as_text: bool = False) -> None:
        texts = list(map(text_of, alphabet))
        self.kind, self.as_text, self.alphabet = kind, as_text, alphabet
        self._texts = {text: code for code, text in enumerate(texts)}
        if as_text and len(self._texts) < len(texts):
            duplicate = next(text for text, count in Counter(texts).items() if count > 1)
            raise ModelFileError(
                f"duplicate {kind} label {duplicate!r} as text",
                code="same-text",
                do="rename one of them",
            )
        if len(self._texts) < len(texts):
            self._texts = {
                text: self._texts[text] for text, count in Counter(texts).items() if count == 1
            }
        numbers = [
            float(name)
            if isinstance(name, (int, float)) and not isinstance(name, bool)
            else math.nan
            for name in alphabet
        ]
        self._numbers = {number: code for code, number in enumerate(numbers) if number == number}
        self._position: dict[Any, int] = (
            {} if as_text else {label: code for code, label in enumerate(alphabet)}
        )

    def codes(
        self, column: optional.pyarrow.Array | Texts, where: str, first_row: int = 0
    ) -> Codes:
        """Codes of a column; an error names the first unknown entry."""
        if isinstance(column, Texts):
            coded: Codes = np.fromiter(map(self.code, column.distinct), np.int64)[column.places]
            self._require_known(coded, column, where, first_row)
            return coded
        if optional.pyarrow.types.is_nested(column.type):
            problem = f"the entries are of type {short_repr(str(column.type))}, not labels"
            raise StatementError(
                problem, code="entry-type", where=where, do="pass a column of labels"
            )
        if not optional.pyarrow.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        table = np.array([*map(self.code, column.dictionary.to_pylist()), MISSING])
        coded = looked_up(table, places_of(column))
        if (table == UNKNOWN).any():
            self._require_known(coded, column, where, first_row)
        return coded

    def _require_known(self, coded: Codes, column: Any, where: str, first_row: int) -> None:
        """Refuse a column with an entry that is not a label."""
        if (coded == UNKNOWN).any():
            row = int(np.argmax(coded == UNKNOWN))
            entry = column[row]
            value = entry.as_py() if hasattr(entry, "as_py") else entry
            raise self.unknown(value, f"{where}, row {first_row + row}")

    def _code_of_text(self, text: str) -> int | None:
        """Position of the label with a text, or of the label that is the number that it writes:
        1.0 is 1, as in a column of numbers with missing entries, and no label "1" that is a text.
        """
        if text in self._texts or not DECIMAL.fullmatch(text):
            return self._texts.get(text)
        return self._numbers.get(float(text))

    def unknown(self, value: Any, where: str) -> StatementError:
        """Error for an entry that is not a label."""
        return no_label(value, self._texts if self.as_text else self.alphabet, self.kind, where)

    def code(self, value: Any) -> int:
        """Position of a label, `MISSING` or `UNKNOWN`."""
        # A whole number that was read as text matches the label with this text, and the other way
        # round.
        try:
            code = self._position.get(value)
        except (TypeError, ValueError):  # not hashable
            return UNKNOWN
        if code is None:
            # A whole number is a float in a column with missing entries.
            text = (
                str(int(value))
                if type(value) is int or (type(value) is float and value.is_integer())
                else value
            )
            code = self._code_of_text(text) if isinstance(text, str) else None
        if code is None:
            code = MISSING if is_missing(value, self.as_text) else UNKNOWN
        return code


def is_missing(value: Any, as_text: bool) -> bool:
    """Whether an entry means that there is no answer: null, nan, and in text also ``NA`` and
    similar texts.
    """
    is_nan = isinstance(value, float) and math.isnan(value)
    return (
        value is None or is_nan or (as_text and isinstance(value, str) and value in MISSING_TEXTS)
    )


LEAVE_OUT_REPORTS = (
    'leave them out (--missing leave_out; in a survey missing = "leave", in Python Question('
    'mechanism, missing="leave_out")): the estimates are then about the people who have a report'
)
COUNT_OR_LEAVE_OUT = (
    'count them as an answer (--missing-answer LABEL; in a survey missing = "answer"), or leave '
    "them out, which shows who did not answer (--missing leave_out; in a survey missing = "
    '"leave")'
)


def read_codes(codes: Any, size: int) -> Codes:
    """Read positions of answers, shape (N,), or `MISSING`."""
    array = any_array(codes, "codes")
    fits = array.ndim == 1 and (array.dtype.kind in "iu" or not array.size)
    if not fits or (array.size and not MISSING <= array.min() <= array.max() < size):
        raise StatementError(
            f"the codes are not positions of {size} answers",
            code="positions",
            do="pass what a coder returned",
        )
    return array


class MissingAnswers:
    """Counts the missing entries of a column up to the end of the table, for the error message."""

    def __init__(self, where: str, kind: str) -> None:
        self.where = where
        self.kind = kind
        self.count = 0
        self.first = -1

    def add(self, codes: Codes, first_row: int) -> None:
        """Count the missing entries of a batch."""
        missing = codes == MISSING
        if not self.count and missing.any():
            self.first = first_row + int(np.argmax(missing))
        self.count += int(np.count_nonzero(missing))

    def require_none(self) -> None:
        """Refuse a column with missing entries."""
        if self.count:
            are, first = (
                (f"{self.kind} is", "")
                if self.count == 1
                else (f"{self.kind}s are", "the first in ")
            )
            do = LEAVE_OUT_REPORTS if self.kind == "report" else COUNT_OR_LEAVE_OUT
            raise StatementError(
                f"{self.count:,} {are} missing",
                code="missing-answer",
                where=f"{self.where}, {first}row {self.first}",
                do=do,
            )


def is_text(kind: optional.pyarrow.DataType) -> bool:
    """Whether a column has texts, dictionary-encoded or not."""
    pa = optional.pyarrow
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_string(plain)
        or pa.types.is_large_string(plain)
        or pa.types.is_string_view(plain)
    )


class TextRows:
    """A table whose columns are all read as texts: CSV, or a database; ``name`` is that of the
    table in messages.
    """

    name: str
    columns: list[str]

    def is_text(self, position: int) -> bool:
        """True, for every column."""
        return True

    def fields(self, positions: Sequence[int]) -> list[optional.pyarrow.Field]:
        """Names and types of columns."""
        return [
            optional.pyarrow.field(self.columns[position], optional.pyarrow.string())
            for position in positions
        ]


def label_column(labels: Sequence[Hashable], as_text: bool = False) -> optional.pyarrow.Array:
    """Labels as an arrow array: of their own type if all have the same one, else of text."""
    kinds = {type(name) for name in labels}
    if as_text or len(kinds) != 1 or not kinds <= {str, int, float, bool}:
        return column_of_texts(list(map(text_of, labels)))
    if kinds == {str}:
        return column_of_texts(list(map(str, labels)))
    plain = None if kinds == {bool} else np.array(labels)
    if plain is not None and plain.dtype in (np.int64, np.float64):
        return column_of_numbers(plain)
    return optional.pyarrow.array(labels)  # truth values, and whole numbers that are too large
