"""Dataframes of pandas, polars and pyarrow, by narwhals, and of Dask: columns as codes, and codes
as labels.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation import optional
from ldpopt.foundation.labels import label_array, nearest
from ldpopt.tables.coding import MISSING, UNKNOWN, Coder, Codes, Texts, label_column
from ldpopt.tables.spark import gathered_from_spark, is_spark
from ldpopt.tables.vectors import column_of_numbers

# How a table of an engine becomes one in memory, by the engine's name in narwhals
IN_MEMORY = {
    "pyspark": "table.toArrow()",
    "pyspark_connect": "table.toArrow()",
    "dask": "table.compute()",
    "duckdb": "table.to_arrow_table()",
    "ibis": "table.to_pyarrow()",
    "polars": "table.collect()",
}


def as_frame(table: Any) -> optional.narwhals.DataFrame[Any]:
    """Read a dataframe of any library."""
    try:
        return optional.narwhals.from_native(table, eager_only=True)
    except TypeError:
        pass
    except optional.narwhals.exceptions.DuplicateError:
        raise StatementError(
            "two columns of the dataframe have the same name",
            code="repeated-column",
            do="give each column its own name",
        ) from None
    if (lazy := as_lazy(table)) is not None:
        engine = lazy.implementation.value
        raise StatementError(
            f"a {type(table).__name__} of {engine} is not in memory",
            code="table-of-engine",
            do=f"pass {IN_MEMORY.get(engine, 'what its method to collect returns')}",
        )
    do = "pass a dataframe of pandas, polars or pyarrow"
    if type(table).__name__ == "DuckDBPyConnection":
        do = 'pass a table of this connection, such as connection.table("reports")'
    raise StatementError(f"a {type(table).__name__} is not a dataframe", code="dataframe", do=do)


def as_lazy(table: Any) -> optional.narwhals.LazyFrame[Any] | None:
    """Read a table of an engine that is computed when it is needed: of polars, DuckDB, Ibis, Spark
    or Dask; None for any other object.
    """
    try:
        read = optional.narwhals.from_native(table, pass_through=True)
    except optional.narwhals.exceptions.DuplicateError:
        raise StatementError(
            "two columns of the table have the same name",
            code="repeated-column",
            do="give each column its own name",
        ) from None
    return read if isinstance(read, optional.narwhals.LazyFrame) else None


NAMES = (str, bytes, int, float, tuple, date)  # what can be the name of a column


def column_of(
    frame: optional.narwhals.DataFrame[Any], column: Any
) -> optional.narwhals.Series[Any]:
    """Find one column of a dataframe by its name."""
    known: list[Any] = list(frame.columns)
    times = known.count(column) if isinstance(column, NAMES) else 0
    if times != 1:
        problem = f"unknown column {column!r}"
        code = "column"
        do = nearest(column, known)
        if times > 1:
            problem = f"duplicate column {column!r}"
            code = "duplicate-column"
            do = "rename one of them"
        raise StatementError(problem, code=code, where="the table", do=do)
    return frame[column]  # type: ignore[no-any-return]


def as_arrow(values: Any) -> optional.pyarrow.Array | None:
    """Convert a Series of polars or pandas, or an arrow vector, to an arrow array; None if arrow
    has no type for it.
    """
    # None also for a list or numpy array, which has no type of labels.
    if (
        "pyarrow" not in sys.modules
        and not hasattr(values, "to_arrow")
        and not hasattr(values, "to_numpy")
    ):
        return None  # neither a series nor an arrow array
    column = values
    if not isinstance(values, (optional.pyarrow.Array, optional.pyarrow.ChunkedArray)):
        series = optional.narwhals.from_native(values, series_only=True, pass_through=True)
        if not isinstance(series, optional.narwhals.Series):
            return None
        try:
            column = series.to_arrow()
        except (optional.pyarrow.ArrowException, TypeError, ValueError, OverflowError):
            return None
    return column.combine_chunks() if isinstance(column, optional.pyarrow.ChunkedArray) else column


def codes_of(series: Any, coder: Coder, where: str, first_row: int = 0) -> Codes:
    """Codes of a column of any library."""
    column = series if isinstance(series, Texts) else as_arrow(series)
    if column is not None:
        return coder.codes(column, where, first_row)
    values = series.to_list()
    codes: Codes = np.fromiter(map(coder.code, values), np.int64, len(values))
    if (codes == UNKNOWN).any():
        row = int(np.argmax(codes == UNKNOWN))
        raise coder.unknown(values[row], f"{where}, row {first_row + row}")
    return codes


def with_labels(
    frame: optional.narwhals.DataFrame[Any], columns: Mapping[Any, tuple[Sequence[Hashable], Codes]]
) -> Any:
    """Replace columns by labels, given by their codes; other columns and the index are kept."""
    nw, pa = optional.narwhals, optional.pyarrow
    made = []
    for name, (labels, codes) in columns.items():
        values: Any
        if frame.implementation.is_pandas():
            values = label_array(labels)[codes]
            if (codes == MISSING).any():
                values = values.astype(object)
                values[codes == MISSING] = None
        else:
            if label_column(labels).type != pa.string() or all(
                isinstance(label, str) for label in labels
            ):
                values = label_column(labels).take(column_of_numbers(codes, codes == MISSING))
            else:
                do = "use labels of one kind, or a table of pandas"
                raise StatementError(
                    "the reports have labels of several kinds",
                    code="mixed-labels",
                    where=f"column {name!r}",
                    do=do,
                )
            if not frame.implementation.is_pyarrow():
                values = (
                    values.to_numpy(zero_copy_only=False)
                    if not values.null_count
                    else values.to_pylist()
                )
        made.append(nw.new_series(name, values, backend=frame.implementation))
    return frame.with_columns(*made).to_native()


def is_partitioned(table: Any) -> bool:
    """Whether a table is a dataframe of Dask or Spark, which is computed part by part."""
    return _is_dask(table) or is_spark(table)


def _is_dask(table: Any) -> bool:
    """Whether a table is a dataframe of Dask; does not import Dask."""
    if "dask" not in sys.modules or not type(table).__module__.startswith("dask"):
        return False
    import dask.dataframe as dd

    return isinstance(table, dd.DataFrame)


def mapped(table: Any, function: Callable[[Any, int], Any], like: Any) -> Any:
    """Replace each partition lazily by a function of it and its number; index and divisions
    stay.
    """
    import dask.dataframe as dd

    return dd.from_delayed(
        _called(table, function), meta=like, divisions=table.divisions, verify_meta=False
    )


def gathered(
    table: Any, function: Callable[[Any, int], Any], columns: Iterable[str | None]
) -> list[Any]:
    """Results of a function of each partition and its number, which needs some columns; only the
    results are sent here.
    """
    if is_spark(table):
        needed = dict.fromkeys(name for name in columns if name is not None)
        return gathered_from_spark(table, function, list(needed))
    import dask

    return list(dask.compute(*_called(table, function)))


class _Once:
    """Wrapper of a function, so that Dask sends it once for all partitions and does not take it for
    a task.
    """

    def __init__(self, function: Callable[[Any, int], Any]) -> None:
        self.function = function


def _called(table: Any, function: Callable[[Any, int], Any]) -> list[Any]:
    """Delayed calls of a function with each partition and its number."""
    import dask

    shared = dask.delayed(_Once(function), pure=False)
    return [
        shared.function(part, number, pure=False) for number, part in enumerate(table.to_delayed())
    ]


class Frame:
    """A dataframe in memory: its columns as codes, and columns of labels in their place."""

    def __init__(self, table: Any) -> None:
        self._frame = as_frame(table)

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def columns(self) -> list[Any]:
        """Names of the columns."""
        return list(self._frame.columns)

    def column(self, name: Any) -> optional.narwhals.Series[Any]:
        """One column, by its name."""
        return column_of(self._frame, name)

    def codes(self, name: Any, coder: Coder, where: str) -> Codes:
        """Codes of one column."""
        return codes_of(self.column(name), coder, where)

    def replaced(
        self, dropped: Sequence[Any], columns: Mapping[Any, tuple[Sequence[Hashable], Codes]]
    ) -> Any:
        """The table of the same library without some columns, and with columns of labels."""
        return with_labels(self._frame.drop(dropped), columns)


class Partitions:
    """A dataframe of Dask, which is computed part by part, and again whenever it is needed."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def mapped(self, function: Callable[[Any, int], Any]) -> Any:
        """Replace each part lazily by a function of it and its number, and of none for types."""
        return mapped(self._table, function, function(self._table._meta, 0))


def frame_of(table: Any) -> Frame | Partitions:
    """Enter a dataframe of any library; see `Frame` and `Partitions`."""
    return Partitions(table) if _is_dask(table) else Frame(table)
