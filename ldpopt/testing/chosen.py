"""Which checks to run: all, or those that are named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import short_repr


def known_checks(only: Sequence[str] | None, known: Iterable[str]) -> tuple[str, ...]:
    """Return the checks to run: all, or those named, each of which has to be known."""
    names = tuple(known)
    for title in () if only is None else only:
        if title not in names:
            raise StatementError(f"unknown check {short_repr(title)}", do=nearest(title, names))
    return names if only is None else tuple(only)
