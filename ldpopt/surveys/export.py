"""Reports for other programs: tables as they are, or labelled files of SPSS and Stata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ldpopt.errors import ModelFileError
from ldpopt.estimation.reports import count_file
from ldpopt.mechanism.files import require_drawn_by
from ldpopt.surveys.form_words import FormWords
from ldpopt.surveys.questionnaire import Questionnaire
from ldpopt.surveys.report_columns import ReportColumn, columns_of_form, columns_of_survey
from ldpopt.tables.coding import DECIMAL, MISSING, Coder, is_missing
from ldpopt.tables.database import ID, form_in_database, is_database, words_in_database
from ldpopt.tables.files import copy_reports, position_of, reading, result_kind
from ldpopt.tables.frames import codes_of
from ldpopt.tables.origin import read_origin
from ldpopt.tables.sheets import write_sheet

MAX_CODES = 1000  # most different reports that get codes where the mechanism is not known


@dataclass(frozen=True)
class Exported:
    """What was written: the number of reports, the name of the variable of each column where it
    differs, and whether the survey was known.
    """

    reports: int
    renamed: dict[str, str]
    is_known: bool


def export_reports(source: str, target: str, survey: Questionnaire | None = None) -> Exported:
    """Write the reports of a database or a table to a file, by its ending.

    Parameters
    ----------
    source, target : str
        Address of a database or path of a table, and the file: CSV, Parquet, ``.sav``, ``.dta``.
    survey : Questionnaire, optional
        What the reports are of; default: the form in the database, or what the origin of the
        table names.

    Raises
    ------
    ModelFileError
        If the reports are of another survey, or nothing says which columns have reports.
    StatementError
        If an entry is not a report.
    """
    columns = _columns(source, survey)
    for column in () if survey is None or columns is None else columns:
        require_drawn_by(source, column.name, column.digest)
    if result_kind(target) != "sheet":
        if survey is not None and not is_database(source):
            count_file(source, survey.columns, None, None)  # refuses what is no report
        return Exported(copy_reports(source, target), {}, True)
    if columns is None:
        columns = _columns_of_origin(source)
    table = _Table.read(source, columns, _numbers(source, survey))
    title = _title(source, survey)
    names = write_sheet(target, table.cells, table.labels, table.values, title)
    renamed = {name: variable for name, variable in names.items() if name != variable}
    return Exported(table.rows, renamed, all(column.digest for column in columns))


def _columns(source: str, survey: Questionnaire | None) -> list[ReportColumn] | None:
    """The columns of reports of a survey, or of the form in a database; None if none is known."""
    if survey is not None:
        return columns_of_survey(survey)
    form = form_in_database(source) if is_database(source) else None
    if form is None or "columns" not in form:
        return None
    stored = list(words_in_database(source).values())
    asked = FormWords.read(stored[-1]).first.questions if stored else {}
    return columns_of_form(form, asked)


def _columns_of_origin(source: str) -> list[ReportColumn]:
    """The columns that the origin of a table names, with the reports that are there."""
    origin = read_origin(source)
    if origin is None:
        raise ModelFileError(
            "the table does not say which of its columns are random reports",
            code="no-origin",
            where=source,
            do="name the survey: --survey FILE",
        )
    columns = []
    with reading(source) as rows:
        names = [name for name in origin["questions"] if name in rows.columns]
        for name, cells in _read(rows, names).items():
            known = sorted({cell for cell in cells if not is_missing(cell, True)}, key=str)
            meanings = tuple(f"“{report}”" for report in known)
            columns.append(ReportColumn(name, "", tuple(known), meanings))
    return [column for column in columns if 0 < len(column.reports) <= MAX_CODES]


def _numbers(source: str, survey: Questionnaire | None) -> set[str]:
    """Columns of weights, whose entries are numbers."""
    fields: Mapping[str, Sequence[str]] = getattr(survey, "fields", {}) or {}
    if is_database(source):
        fields = (form_in_database(source) or {}).get("fields", {})
    weights = [] if survey is None or survey.weights is None else [survey.weights]
    return {*weights, *(name for name, labels in fields.items() if not labels)}


def _title(source: str, survey: Questionnaire | None) -> str:
    """The title of the survey."""
    form = form_in_database(source) if survey is None and is_database(source) else None
    return survey.title if survey is not None else str((form or {}).get("title", ""))


@dataclass(frozen=True)
class _Table:
    """A table as a labelled file has it."""

    rows: int
    cells: dict[str, list[Any]]
    labels: dict[str, str]
    values: dict[str, dict[int, str]]
    taken: frozenset[str] = frozenset()  # names of the columns that are read

    @classmethod
    def read(cls, source: str, columns: Sequence[ReportColumn], numbers: set[str]) -> _Table:
        """Read a table whose columns of reports become codes."""
        by_name = {column.name: column for column in columns}
        with reading(source) as rows:
            table = cls(0, {}, {}, {}, frozenset(rows.columns))
            for column in columns:
                position_of(rows, column.name)
            others = [name for name in rows.columns if name != ID or not is_database(source)]
            for name, cells in _read(rows, others).items():
                where = f"{rows.name}, column {name}"
                if name in by_name:
                    table._add(by_name[name], cells, (where, rows.first_row))
                    continue
                is_numbers = name in numbers and all(map(_is_number, cells))
                table.cells[name] = [_number(cell) for cell in cells] if is_numbers else cells
                table.labels[name] = f"{name} (not protected)"
            count = len(cells) if others else 0
        return cls(count, table.cells, table.labels, table.values)

    def _add(self, column: ReportColumn, cells: list[Any], where: tuple[str, int]) -> None:
        """Add the codes of a column, or a column for each member of its sets."""
        if not column.is_set:
            coder = Coder(column.reports, "report", as_text=all(map(_is_text, cells)))
            codes = codes_of(_Cells(cells), coder, *where).tolist()
            self.cells[column.name] = [None if code == MISSING else code + 1 for code in codes]
            self.labels[column.name] = column.label
            self.values[column.name] = column.codes
            return
        sets = [_members(cell, len(column.meanings), where, row) for row, cell in enumerate(cells)]
        for place, member in enumerate(column.meanings):
            name = f"{column.name} {place + 1}"
            while name in self.taken:
                name += "'"
            self.cells[name] = [None if each is None else int(place in each) for each in sets]
            self.labels[name] = f"{column.label}: {member}"
            self.values[name] = {0: "not in the random list", 1: "in the random list"}


class _Cells:
    """Entries of a column, as `codes_of` reads them."""

    def __init__(self, cells: list[Any]) -> None:
        self.to_list = cells.copy


def _read(rows: Any, names: Sequence[str]) -> dict[str, list[Any]]:
    """Whole columns of a table, by name."""
    places = [position_of(rows, name) for name in names]
    cells_of: dict[str, list[Any]] = {name: [] for name in names}
    for batch in _batches(rows, places):
        for cells, part in zip(cells_of.values(), batch, strict=True):
            cells += part.to_list() if hasattr(part, "to_list") else part.to_pylist()
    return cells_of


def _batches(rows: Any, places: list[int]) -> Iterator[Any]:
    """Batches of columns in their own types."""
    yield from rows.batches([], places) if places else ()


def _members(cell: Any, count: int, where: tuple[str, int], row: int) -> set[int] | None:
    """The members of a set, which a table has as positions with spaces; None if it is missing."""
    if is_missing(cell, True):
        return None
    parts = str(cell).split(" ")
    if not all(part.isascii() and part.isdigit() and int(part) < count for part in parts):
        raise ModelFileError(
            f"the report is not a set of positions below {count}",
            code="set",
            where=f"{where[0]}, row {where[1] + row}",
            do="pass the reports of this survey",
        )
    return set(map(int, parts))


def _is_text(cell: Any) -> bool:
    """Whether an entry is a text or missing."""
    return cell is None or isinstance(cell, str)


def _is_number(cell: Any) -> bool:
    """Whether an entry is a number, perhaps written as a text, or missing."""
    is_written = isinstance(cell, str) and DECIMAL.fullmatch(cell) is not None
    return is_missing(cell, True) or is_written or isinstance(cell, (int, float))


def _number(cell: Any) -> float | None:
    """A number, or None for a missing one."""
    return None if is_missing(cell, True) else float(cell)
