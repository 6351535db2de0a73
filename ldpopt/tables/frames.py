"""Dataframes of pandas, polars and pyarrow, through narwhals: columns read as codes, columns of labels put back."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import label_array, nearest
from ldpopt.tables.coding import MISSING, UNKNOWN, Coder, Codes, label_column

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa


def as_frame(table: Any) -> nw.DataFrame[Any]:
    """Read a dataframe of any library."""
    import narwhals as nw

    try:
        return nw.from_native(table, eager_only=True)
    except TypeError:
        do = "pass a dataframe of pandas, polars or pyarrow; collect a lazy one first"
        raise StatementError(f"a {type(table).__name__} is not a dataframe", do=do) from None


def column_of(frame: nw.DataFrame[Any], column: Any) -> nw.Series[Any]:
    """Find one column of a dataframe by its name."""
    known = list(frame.columns)
    if known.count(column) != 1:
        what = "unknown" if column not in known else "duplicate"
        do = nearest(column, known) if what == "unknown" else "rename one of them"
        raise StatementError(f"{what} column {column!r}", where="the table", do=do)
    found: nw.Series[Any] = frame[column]
    return found


def as_arrow(values: Any) -> pa.Array | None:
    """Turn a Series of polars or pandas, or an arrow vector, into an arrow array; None where arrow has no type for it.

    A list or numpy array has no labels' type of its own and gives None, too.
    """
    import sys

    import narwhals as nw

    if "pyarrow" not in sys.modules and not hasattr(values, "to_arrow") and not hasattr(values, "to_numpy"):
        return None  # neither a series nor an arrow array
    import pyarrow as pa

    found = values
    if not isinstance(values, (pa.Array, pa.ChunkedArray)):
        series = nw.from_native(values, series_only=True, pass_through=True)
        if not isinstance(series, nw.Series):
            return None
        try:
            found = series.to_arrow()
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return None
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def codes_of(series: Any, coder: Coder, where: str, first_row: int = 0) -> Codes:
    """Codes of the labels of a column of any library; `MISSING` where there is no answer."""
    column = as_arrow(series)
    if column is not None:
        return coder.codes(column, where, first_row)
    values = series.to_list()
    found: Codes = np.fromiter(map(coder.code, values), np.int64, len(values))
    if (found == UNKNOWN).any():
        row = int(np.argmax(found == UNKNOWN))
        raise coder.unknown(values[row], f"{where}, row {first_row + row}")
    return found


def with_labels(frame: nw.DataFrame[Any], columns: Mapping[Any, tuple[Sequence[Hashable], Codes]]) -> Any:
    """Put labels, given by codes, in place of columns; the rest of the table, and its index, stay."""
    import narwhals as nw
    import pyarrow as pa

    made = []
    for name, (labels, codes) in columns.items():
        values: Any
        if frame.implementation.is_pandas():
            values = label_array(labels)[codes]
            if (codes == MISSING).any():
                values = values.astype(object)
                values[codes == MISSING] = None
        else:
            if label_column(labels).type != pa.string() or all(isinstance(label, str) for label in labels):
                values = label_column(labels).take(pa.array(codes, mask=codes == MISSING))
            else:
                do = "use labels of one kind, or a table of pandas"
                raise StatementError("the reports have labels of several kinds", where=f"column {name!r}", do=do)
            if not frame.implementation.is_pyarrow():
                values = values.to_numpy(zero_copy_only=False) if not values.null_count else values.to_pylist()
        made.append(nw.new_series(name, values, backend=frame.implementation))
    return frame.with_columns(*made).to_native()
