"""Tables of spreadsheets and of other statistics software: Excel, Stata and SPSS, read whole, with
value labels; Stata and SPSS also written.
"""

from __future__ import annotations

import io
import math
import tempfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import IO, Any

from ldpopt.errors import ModelFileError
from ldpopt.foundation import optional
from ldpopt.foundation.files import replacing
from ldpopt.foundation.labels import listed, text_of
from ldpopt.tables.labels import FORMATS, variable_names
from ldpopt.tables.parquet import ParquetRows

ENDINGS = (".xlsx", ".dta", ".sav")
MOST = 8e307  # from which a number is missing in Stata
EXACT = 2**53  # largest whole number up to which floats have all of them


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


def write_sheet(
    path: str,
    columns: Mapping[str, Sequence[Any]],
    labels: Mapping[str, str] | None = None,
    values: Mapping[str, Mapping[int, str]] | None = None,
    title: str = "",
) -> dict[str, str]:
    """Write a table for SPSS (.sav) or Stata (.dta), whole or not at all.

    A column has numbers, days or texts, and None where an entry is missing; an infinite number is
    missing too, and its label says so.

    Parameters
    ----------
    path : str
        The file, ``.sav`` or ``.dta``.
    columns : mapping name -> sequence
        The entries of each column, all of one length.
    labels : mapping name -> str, optional
        What each variable is; default: its name, where the file has another one.
    values : mapping name -> mapping of int -> str, optional
        What each code of a column means; default: none.
    title : str
        Label of the file; default: ``""``.

    Returns
    -------
    dict name -> str
        The names of the variables: letters, digits and ``_``, at most 32 bytes, different in any
        case.

    Raises
    ------
    ModelFileError
        If the ending is another one, there is no column, or the file cannot be written.
    """
    form = FORMATS.get(Path(path).suffix.lower())
    if form is None or not columns:
        raise ModelFileError(
            "a labelled table has columns, and is a file .sav or .dta",
            code="sheet-kind",
            where=path,
            do="name a file of SPSS or Stata",
        )
    optional.pyreadstat  # noqa: B018 - a missing one is named before any work
    pandas = optional.pandas
    names = variable_names(columns, form.name)
    series = {}
    described = {}
    for name, variable in names.items():
        cells, kind, is_infinite = _cells(columns[name])
        series[variable] = pandas.Series(cells, dtype=kind)
        text = (labels or {}).get(name, "" if name == variable else name)
        if is_infinite:
            text = f"(missing: infinite) {text or name}"
        described[variable] = text
    options: dict[str, Any] = {
        "file_label": form.cut(title, form.title),
        "column_labels": form.variable_labels(described),
        "variable_value_labels": {
            names[name]: form.value_labels(codes) for name, codes in (values or {}).items() if codes
        },
    }
    _write(path, pandas.DataFrame(series), options)
    return names


def _write(path: str, frame: Any, options: Mapping[str, Any]) -> None:
    """Write a dataframe in the format of the file's ending."""
    ending = Path(path).suffix.lower()
    write = optional.pyreadstat.write_sav if ending == ".sav" else optional.pyreadstat.write_dta
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / f"table{ending}"
        why = ""
        try:
            write(frame, str(draft), **options)
        except Exception as error:  # of several kinds, whose texts may have entries of the table
            why = type(error).__name__
        if why:
            raise ModelFileError(
                f"the table cannot be written: {why}",
                code="sheet-entry",
                where=path,
                do="write it as .csv or .parquet",
            )
        with replacing(path, binary=True) as stream:
            stream.write(draft.read_bytes())


def _cells(entries: Sequence[Any]) -> tuple[list[Any], str, bool]:
    """Entries as both formats have them, the type of their column in a dataframe, and whether a
    number was infinite: all are numbers, all days or moments, or all texts.
    """
    plain = [entry.item() if hasattr(entry, "item") else entry for entry in entries]
    there = [entry for entry in plain if not _is_absent(entry)]
    if all(map(_is_number, there)):
        numbers = [math.nan if _is_absent(entry) else float(entry) for entry in plain]
        finite = [number if abs(number) < MOST else math.nan for number in numbers]
        return finite, "float64", any(abs(number) >= MOST for number in numbers)
    kinds = {type(entry) for entry in there}
    is_day = len(kinds) == 1 and isinstance(there[0], date)
    if is_day and getattr(there[0], "tzinfo", None) is None:  # neither format has time zones
        kind = "datetime64[us]" if isinstance(there[0], datetime) else "object"
        return [None if _is_absent(entry) else entry for entry in plain], kind, False
    return [None if _is_absent(entry) else text_of(entry) for entry in plain], "object", False


def _is_absent(entry: Any) -> bool:
    """Whether an entry is missing: None, nan or no moment."""
    return entry is None or bool(entry != entry)


def _is_number(entry: Any) -> bool:
    """Whether an entry is a number that a float has; a longer one, such as an id, is a text."""
    is_number = isinstance(entry, (Real, Decimal))
    return is_number and not (isinstance(entry, int) and abs(entry) > EXACT)
