"""Facts: the description of an object, rendered as text for terminals and as HTML for notebooks."""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpopt.foundation.labels import text_of
from ldpopt.foundation.late import late
from ldpopt.foundation.sentences import above_text

if TYPE_CHECKING:
    import jinja2
    from matplotlib.axes import Axes

MAX_ROWS = 30  # largest number of rows of a table in a notebook, and of a thinned table
NAME_WIDTH = 20  # smallest width of the names in a list of named values
LABEL_WIDTH = 24  # largest number of characters of a label in a table
WORD_WIDTH = 12  # smallest width of a column of words that is folded


@dataclass(frozen=True)
class Table:
    """A table. The first column and columns of words are left-aligned and folded in text; the
    others hold numbers.
    """

    headings: Sequence[str]  # one for each column
    # cells: floats are rounded to ``digits`` significant digits, None and nan become dashes
    rows: Sequence[Sequence[Any]]
    title: str = ""  # the line above the table
    words: Collection[str] = ()  # headings of the further columns of words
    digits: int = 6  # number of significant digits
    cut: bool = False  # whether the last column is cut off to fit the terminal instead of folded
    narrow: Table | None = None  # replaces a table that is wider than the terminal

    def text(self, width: int) -> str:
        """Title and table. Columns move closer together before words are folded."""
        from rich import box
        from rich.cells import cell_len
        from rich.console import Console
        from rich.table import Table as Grid

        cells = [[printable(shown(cell, self.digits)) for cell in row] for row in self.rows]
        widths = [max(map(cell_len, column)) for column in zip(self.headings, *cells, strict=True)]
        if self.cut:
            _cut_last_column(cells, widths, width)
        paddings = ((1, 1), (0, 1), (0, 0))
        needed = [sum(widths) + (left + right + 1) * (len(widths) - 1) for left, right in paddings]
        left, right = next(
            (pad for pad, room in zip(paddings, needed, strict=True) if room <= width), paddings[-1]
        )
        if needed[-1] > width and self.narrow is not None:
            return self.narrow.text(width)
        is_folded = [
            not place or heading in self.words for place, heading in enumerate(self.headings)
        ]
        numbers = sum(
            w + left + right + 1 for w, folds in zip(widths, is_folded, strict=True) if not folds
        )
        # Words need some room; a terminal that is too narrow for that breaks the lines itself.
        room = max(width, numbers + WORD_WIDTH * sum(is_folded))
        # In a notebook rich would show an output of its own for each table, with escape codes.
        plain: Any = {"force_jupyter": False, "force_terminal": False, "color_system": None}
        plain |= dict.fromkeys(("markup", "highlight", "emoji"), False)
        console = Console(file=StringIO(), width=room, **plain)
        style = box.SIMPLE_HEAD if can_print_unicode() else box.ASCII2
        grid = Grid(box=style, show_edge=False, pad_edge=False, padding=(0, right, 0, left))
        for heading, folds in zip(self.headings, is_folded, strict=True):
            grid.add_column(
                heading, justify="left" if folds else "right", no_wrap=not folds, overflow="fold"
            )
        for row in cells:
            grid.add_row(*row)
        with console.capture() as text:
            console.print(grid)
        lines = [line.rstrip() for line in text.get().splitlines()]
        return "\n".join([folded(self.title, width)] * bool(self.title) + lines)

    def html(self) -> str:
        """Title, headings and the first rows."""
        more = (
            f" (the first {MAX_ROWS} of {len(self.rows):,} rows)"
            if len(self.rows) > MAX_ROWS
            else ""
        )
        head = "".join(f"<th>{escape(heading)}</th>" for heading in self.headings)
        body = "".join(_html_row(row, self.digits) for row in self.rows[:MAX_ROWS])
        return f"<table><caption>{escape(self.title + more)}</caption><tr>{head}</tr>{body}</table>"


def _cut_last_column(cells: list[list[str]], widths: list[int], width: int) -> None:
    """Shorten the cells of the last column, and its width, so that rows fit the terminal."""
    from rich.cells import cell_len, set_cell_size

    widths[-1] = max(WORD_WIDTH, min(widths[-1], width - sum(widths[:-1]) - 2 * len(widths)))
    for row in cells:
        if cell_len(row[-1]) > widths[-1]:
            row[-1] = set_cell_size(row[-1], widths[-1] - 3) + "..."


Part = tuple[str, Any] | Table | str
"""A named value, a table, or a remark."""


@dataclass(frozen=True)
class Facts:
    """A title, and under it named values, tables and remarks in the order of their display."""

    title: str
    parts: Sequence[Part] = ()

    def text(self, width: int | None = None) -> str:
        """Lines of at most ``width`` characters; default: the width of the terminal."""
        width = screen_width() if width is None else width
        indent = (
            max([NAME_WIDTH, *[len(part[0]) + 1 for part in self.parts if isinstance(part, tuple)]])
            + 1
        )
        lines = [folded(self.title, width)] if self.title else []
        before: Part | None = None
        for part in self.parts:
            if (
                before is not None
                and not isinstance(part, str)
                and Table in (type(before), type(part))
            ):
                lines.append("")
            if isinstance(part, tuple):
                lines.append(folded(f"{part[0] + ':':<{indent}}{shown(part[1])}", width, indent))
            else:
                lines.append(folded(part, width) if isinstance(part, str) else part.text(width))
            before = part
        return "\n".join(lines)

    def html(self) -> str:
        """Title, tables and remarks."""
        pieces = [f"<b>{escape(self.title)}</b>"]
        for kind, group in groupby(self.parts, type):
            parts: list[Any] = list(group)
            if kind is tuple:
                pieces.append(f"<table>{''.join(map(_html_row, parts))}</table>")
            else:
                pieces += [
                    part.html() if kind is Table else f"<p>{escape(part)}</p>" for part in parts
                ]
        return "".join(pieces)


class Described(ABC):
    """Base class of objects with a summary in text and a display in notebooks."""

    @abstractmethod
    def facts(self) -> Facts:
        """Title, named values, tables and remarks."""

    def summary(self) -> str:
        """The facts in lines of text that fit the terminal."""
        return self.facts().text()

    def _repr_html_(self) -> str:
        return self.facts().html()


class HasFacts(Described):
    """Base class of objects with a summary, a display in notebooks and a picture."""

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the picture that suits the object, on axes or on new ones, and return them; see
        `ldpopt.plot`.
        """
        axes: Axes = late("plot")(self, ax, **options)
        return axes


def shown(value: Any, digits: int = 6) -> str:
    """A cell as text: integers with commas, floats rounded, None and nan as a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return (
        f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else text_of(value)
    )


def privacy_text(privacy: Any) -> str:
    """Name and budget of a privacy notion, such as ``PureLDP(1.0)``."""
    delta = getattr(privacy, "delta", 0.0)
    epsilon = getattr(privacy, "epsilon", None)
    budget = "" if epsilon is None else f"({epsilon!r}{f', {delta:g}' if delta else ''})"
    if (mu := getattr(privacy, "mu", None)) is not None:
        budget = f"({mu!r})"
    return printable(f"{type(privacy).__name__}{budget}")


def label(name: Any) -> str:
    """A label on one line, in at most 24 characters."""
    text = printable(text_of(name))
    return text if len(text) <= LABEL_WIDTH else text[: LABEL_WIDTH - 1] + "~"


def printable(text: str) -> str:
    """Text as one line without control characters."""
    return "".join(c if c.isprintable() else " " if c.isspace() else repr(c)[1:-1] for c in text)


def folded(text: str, width: int, indent: int = 4) -> str:
    """Text in lines of at most ``width`` characters; all but the first are indented."""
    fold = textwrap.TextWrapper(
        width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
    return fold.fill(printable(text))


def filled(folder: Path, page: str = "page", /, **values: Any) -> str:
    """A template ``*.html.j2`` of a folder as HTML: values are escaped, and an unknown name is an
    error.
    """
    return _templates(folder).get_template(f"{page}.html.j2").render(**values)


@cache  # compiling a template takes as long as filling it three times
def _templates(folder: Path) -> jinja2.Environment:
    """The templates of a folder, each compiled once."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["number"] = format
    environment.filters["at_most"] = above_text
    return environment


def thinned(rows: Sequence[Any], most: int = MAX_ROWS) -> tuple[Sequence[Any], str]:
    """At most ``most`` evenly spaced rows, and words for the title of the table that say so."""
    step = max(1, -(-len(rows) // most))
    return rows[::step], f", one row in {step} shown" if step > 1 else ""


def screen_width() -> int:
    """Columns of the terminal; 80 if stdout is a file or a pipe."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80


def can_print_unicode() -> bool:
    """Whether the encoding of stdout has all characters."""
    return (getattr(sys.stdout, "encoding", None) or "ascii").lower().startswith("utf")


def _html_row(cells: Sequence[Any], digits: int = 6) -> str:
    return f"<tr>{''.join(f'<td>{escape(shown(cell, digits))}</td>' for cell in cells)}</tr>"
