"""Tables of spreadsheets and of other statistics software: Excel, Stata and SPSS, read whole, with
value labels.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO, Any

from ldpopt.errors import ModelFileError
from ldpopt.foundation import optional
from ldpopt.foundation.labels import listed
from ldpopt.tables.parquet import ParquetRows

ENDINGS = (".xlsx", ".dta", ".sav")


def sheet_rows(stream: IO[bytes], path: str) -> ParquetRows:
    """Rows of a file: of a workbook those of the only sheet with entries; an entry with a value
    label is that label.
    """
    ending = Path(path).suffix.lower()
    pandas = optional.pandas
    if ending != ".dta":
        # a missing one is named with its extra
        getattr(optional, "openpyxl" if ending == ".xlsx" else "pyreadstat")
    buffer = io.BytesIO()
    why = ""
    sheets: dict[str, Any] = {}
    try:
        if ending == ".xlsx":
            # Names and texts as they are: a reader of headers renames duplicates, and reads "007"
            # as 7.
            sheets = pandas.read_excel(
                stream, None, header=None, dtype=object, keep_default_na=False, na_values=[""]
            )
            cells = next((part for part in sheets.values() if part.size), pandas.DataFrame())
            frame = cells[1:].set_axis(cells[:1].fillna("").astype(str).to_numpy().ravel(), axis=1)
        else:
            frame = pandas.read_stata(stream) if ending == ".dta" else pandas.read_spss(path)
        columns = [_plain(frame.iloc[:, position]) for position in range(frame.shape[1])]
        arrow = optional.pyarrow.table(columns, names=list(map(str, frame.columns)))
        optional.pyarrow_parquet.write_table(arrow, buffer)
    except (
        Exception
    ) as error:  # readers raise errors of many kinds, whose texts may have entries of the table
        why = type(error).__name__
    _require_one_sheet(sheets, path)
    if why:
        raise ModelFileError(
            f"the table cannot be read: {why}",
            code="sheet",
            where=path,
            do="save it again, or as CSV in UTF-8",
        )
    rows = ParquetRows(buffer, path)
    rows.first_row = 2 if ending == ".xlsx" else 1
    return rows


def _require_one_sheet(sheets: dict[str, Any], path: str) -> None:
    """Refuse a workbook with entries in several sheets: which one has the answers is not known."""
    used = [name for name, part in sheets.items() if part.size]
    if len(used) > 1:
        raise ModelFileError(
            f"{len(used)} sheets have entries: {listed(used)}",
            code="several-sheets",
            where=path,
            do="save the sheet of the table as a file of its own, .xlsx or .csv",
        )


def _plain(column: Any) -> Any:
    """A column as arrow has it; numbers beside texts are texts too, the whole ones without a
    point.
    """
    values = column.astype(object) if str(column.dtype) == "category" else column
    if str(values.dtype) != "object":
        return optional.pyarrow.Array.from_pandas(values)
    cells = [None if optional.pandas.isna(value) else value for value in values]
    if any(isinstance(value, str) for value in cells):
        cells = [
            int(value) if isinstance(value, float) and value.is_integer() else value
            for value in cells
        ]
        cells = [value if value is None else str(value) for value in cells]
    return optional.pyarrow.array(cells)
