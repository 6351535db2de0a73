"""How objects show themselves in a notebook: a few facts, or a short table, as plain HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Any

from ldpopt.foundation.labels import text_of

MOST_ROWS = 20
"""Most rows of a table in a notebook."""


def facts_html(title: str, facts: Iterable[tuple[str, Any]]) -> str:
    """A title, and a table of names and values.

    Examples
    --------
    >>> facts_html("Coin", [("epsilon", "< 1")])
    '<table><caption>Coin</caption><tbody><tr><th>epsilon</th><td>&lt; 1</td></tr></tbody></table>'
    """
    rows = "".join(f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in facts)
    return f"<table><caption>{_text(title)}</caption><tbody>{rows}</tbody></table>"


def table_html(title: str, headings: Sequence[str], rows: Iterable[Sequence[Any]], total: int) -> str:
    """A title, and the first rows of a table."""
    head = "".join(f"<th>{_text(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in islice(rows, MOST_ROWS))
    more = f", the first {MOST_ROWS} of {total:,} rows" if total > MOST_ROWS else ""
    caption = f"<caption>{_text(title + more)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    return escape(f"{value:.6g}" if isinstance(value, float) else text_of(value))
