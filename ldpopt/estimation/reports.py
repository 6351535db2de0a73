"""Reports as they come: vectors of labels, tables with a column, counts by label. Nothing is guessed."""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError, shows_values
from ldpopt.foundation.checks import Float, quoted, real_array, real_number, short_repr
from ldpopt.foundation.labelled import as_counts, is_labelled, is_series, read_labelled
from ldpopt.foundation.labels import codes
from ldpopt.tables.coding import MISSING, Coder, Codes, Missing, MissingAnswers, require_policy
from ldpopt.tables.files import place_of, reading
from ldpopt.tables.frames import as_arrow, as_frame, codes_of, column_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some reports: positions of their labels, and their weights."""

    codes: Codes
    weights: Float | None = None

    def answered(self) -> Chunk:
        """Those that are not missing."""
        there = self.codes != MISSING
        if there.all():
            return self
        return Chunk(self.codes[there], None if self.weights is None else self.weights[there])


def counted(reports: Any, alphabet: Sequence[Hashable]) -> NDArray[np.int64] | None:
    """Counts by label in the order of an alphabet; None where reports are labels themselves.

    Raises
    ------
    StatementError
        If a label is unknown, or a count is not a whole number.
    """
    tally = as_counts(reports, alphabet, "report")
    if tally is None:
        return None
    seen = np.zeros(len(alphabet), dtype=np.int64)
    for place, (label, count) in zip(codes(list(tally), alphabet, "report"), tally.items(), strict=True):
        seen[place] += _whole_count(label, count, sys.maxsize // len(alphabet))
    return seen


def chunks_of(
    reports: Any, alphabet: Sequence[Hashable], column: Any = None, weights: Any = None, missing: Missing = "refuse"
) -> Iterator[Chunk]:
    """Read labels in chunks, as positions in an alphabet.

    Raises
    ------
    StatementError
        If an entry is unknown or missing, or a weight does not fit.
    """
    require_policy(missing)
    if isinstance(reports, (str, os.PathLike)):
        yield from _file(os.fspath(reports), alphabet, column, weights, missing)
        return
    where, absent = "the reports", MissingAnswers("the reports", "report")
    if column is not None:
        frame = as_frame(reports)
        where, absent = f"column {column!r}", MissingAnswers(f"column {column!r}", "report")
        numbers = column_of(frame, weights).to_numpy() if isinstance(weights, str) else weights
        reports, weights = column_of(frame, column), report_weights(numbers, reports, len(frame))
    elif weights is not None:
        weights = report_weights(weights, reports, len(reports))
    chunk = Chunk(_positions(reports, alphabet, where), weights)
    if missing == "refuse":
        absent.add(chunk.codes, 0)
        absent.require_none()
    yield chunk.answered()


def _positions(reports: Any, alphabet: Sequence[Hashable], where: str) -> Codes:
    """Positions of labels in a vector of any library; missing ones have a code of their own."""
    if not isinstance(reports, (list, tuple, np.ndarray)) and as_arrow(reports) is not None:
        return codes_of(reports, Coder(alphabet, "report"), where)
    return codes(reports.to_list() if hasattr(reports, "to_list") else reports, alphabet, "report")


def _file(path: str, alphabet: Sequence[Hashable], column: Any, weights: Any, missing: Missing) -> Iterator[Chunk]:
    """Chunks of a column of a file."""
    if not isinstance(column, str) or not isinstance(weights, (str, type(None))):
        # A text that is no file may be an answer.
        where = path if shows_values() or os.path.exists(path) else ""
        what = "a file needs the names of its columns" if where else "a text names a file, which needs its columns"
        raise StatementError(what, where=where, do="state column=, and weights= by name; pass reports as a list")
    with reading(path) as table:
        place = place_of(table, column)
        beside = [] if weights is None else [place_of(table, weights)]
        where, row = f"{path}, column {column}", table.first_row
        coder, absent = Coder(alphabet, "report", as_text=table.is_text(place)), MissingAnswers(where, "report")
        for batch in table.batches([place], beside):
            found = coder.codes(batch[0], where, row)
            numbers = read_weights(batch[1], f"{path}, column {weights}", row) if beside else None
            if missing == "refuse":
                absent.add(found, row)
            row += len(found)
            yield Chunk(found, numbers).answered()
        absent.require_none()


def read_weights(column: pa.Array, where: str, first_row: int) -> Float:
    """Weights in a column of a file.

    Raises
    ------
    StatementError
        If one is not a finite number ``>= 0``.
    """
    return _checked(read_numbers(column, where, first_row, "weight"), where, first_row)


def read_numbers(column: pa.Array, where: str, first_row: int, what: str) -> Float:
    """Numbers in a column of a file; nan where one is missing in a file that knows missing numbers.

    Raises
    ------
    StatementError
        If one is no number.
    """
    import pyarrow as pa

    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), float)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = column.to_pylist()
        row = next((row for row, value in enumerate(values) if not _is_float(value)), None)
        if row is None:
            raise
    # Outside the block: the error of arrow has the entry, and would stay in the chain.
    raise StatementError(f"the {what}{quoted(values[row])} is not a number", where=f"{where}, row {first_row + row}")


def _is_float(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def report_weights(weights: Any, reports: Any, size: int) -> Float | None:
    """Weights in the order of the reports: a Series is aligned with the index of the reports, else with 0, 1, 2, ...

    Raises
    ------
    StatementError
        If the labels differ, there are too few or many, or one is not a finite number ``>= 0``.
    """
    if weights is None:
        return None
    if is_labelled(weights):
        index = reports.index if hasattr(reports, "to_numpy") and hasattr(reports, "index") else range(size)
        is_aligned = is_series(weights) and hasattr(index, "equals") and weights.index.equals(index)
        if not is_aligned:
            weights = _ordered(weights, index)
    values = real_array(weights.to_numpy() if is_series(weights) else weights, "weights")
    if values.shape != (size,):
        raise StatementError(f"the weights have shape {values.shape}; there are {size} reports")
    return _checked(values, "the weights", 0)


def _ordered(weights: Any, index: Any) -> Float:
    """Weights in the order of the reports' index; its labels may be persons' names or answers, and are not quoted."""
    try:
        return read_labelled(weights, "weights", ("report",)).to(tuple(index))
    except StatementError:
        if shows_values():
            raise
    do = "label each weight as its report; or pass .to_numpy(), which goes by position"
    raise StatementError("the weights have other labels than the index of the reports, or one twice", do=do)


def _checked(weights: Float, where: str, first_row: int) -> Float:
    bad = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(bad):
        what = f"the weight{quoted(float(weights[bad[0]]))} is not a finite number >= 0"
        raise StatementError(what, where=f"{where}, row {first_row + int(bad[0])}")
    return weights


def _whole_count(label: Hashable, count: Any, most: int) -> int:
    """A count as an integer, which a float such as 2.0 may be."""
    try:
        whole = int(count) if real_number(count, "count", 0, most) == count else -1
    except StatementError:
        whole = -1
    if whole < 0 or whole != count:
        raise StatementError(
            f"the count{quoted(count)} is not a whole number >= 0",
            where=f"report {short_repr(label)}",
            do="pass raw counts",
        )
    return whole
