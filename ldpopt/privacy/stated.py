"""Notions as plain tables, and back: the one codec of model files and certificates.

A table holds what TOML and JSON know: numbers, text, lists and tables. By default its keys are the parameters of the
notion's class; a notion whose parameters are richer (a graph) overrides ``stated``, ``from_stated`` and ``keys``.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.checks import short_repr
from ldpopt.foundation.labels import nearest

if TYPE_CHECKING:
    from ldpopt.privacy.notion import Notion

Table = Mapping[str, Any]


class MisstatedError(StatementError):
    """A value of a notion's table is wrong; ``key`` leads to it from the table."""

    def __init__(self, what: str, *key: str | int, do: str = "") -> None:
        super().__init__(what, do=do)
        self.key = key


def installed() -> dict[str, type]:
    """Notions that packages offer under the entry point group ``ldpopt.privacy``, by name."""
    from importlib.metadata import entry_points

    return {point.name: point.load() for point in entry_points(group="ldpopt.privacy")}


def kinds() -> dict[str, type]:
    """Every known notion by its kind: the library's own, then the installed ones."""
    from ldpopt.privacy import BUILT_IN

    own = {notion.kind: notion for notion in BUILT_IN}
    return own | {name: notion for name, notion in installed().items() if name not in own}


def kind_of(privacy: Any) -> str:
    """Name under which a notion is stated; empty where its class is not known."""
    return next((name for name, notion in kinds().items() if notion is type(privacy)), "")


def notion_of(name: Any) -> type:
    """Class of a kind.

    Raises
    ------
    MisstatedError
        If there is none; the nearest known kind is named.
    """
    known = kinds()
    if not isinstance(name, str) or name not in known:
        raise MisstatedError(f"unknown privacy notion {short_repr(name)}", "kind", do=nearest(name, known))
    return known[name]


def keys_of(notion: type) -> tuple[str, ...]:
    """Keys that a notion's table may have beside ``kind``."""
    return notion.keys() if _is_declared_class(notion) else parameters(notion)


def table_of(privacy: Any, inputs: Sequence[Hashable]) -> dict[str, Any]:
    """State a notion as a table with its kind.

    Raises
    ------
    StatementError
        If its class is not known, or its statement is not a table of plain values.
    """
    from ldpopt.privacy.notion import is_declared

    name = kind_of(privacy)
    what = type(privacy).__name__
    if not name:
        do = "install it under the entry-point group ldpopt.privacy, as a dataclass of plain values"
        raise StatementError(f"the privacy notion {what} has no form in a file", do=do)
    table = privacy.stated(inputs) if is_declared(privacy) else plain_fields(privacy)
    if not isinstance(table, dict) or not all(isinstance(key, str) for key in table):
        raise StatementError(f"{what}.stated() returned {short_repr(table)}, not a dict of keys and plain values")
    for key, value in table.items():
        if not _is_plain(value):
            raise StatementError(f"{what}.stated() returned {short_repr(value)} for {key!r}, which no file can hold")
    return {"kind": name} | table


def read_table(table: Table, inputs: Sequence[Hashable]) -> Any:
    """Make the notion that a table with a kind states.

    Raises
    ------
    StatementError
        If the kind or a key is unknown, a key is missing or a value is wrong; as MisstatedError where the key is known.
    """
    from ldpopt.privacy.notion import Notion

    notion = notion_of(table.get("kind"))
    given = {key: value for key, value in table.items() if key != "kind"}
    known = keys_of(notion)
    for key in given:
        if key not in known:
            raise MisstatedError(f"unknown key {key!r}", key, do=nearest(key, known))
    try:
        found = notion.from_stated(given, inputs) if _is_declared_class(notion) else read_fields(notion, given)
    except (LdpoptError, ArithmeticError):
        raise
    except Exception as error:
        what = f"{notion.__name__} refused its keys: {type(error).__name__}: {error}"
        raise StatementError(what) from error
    if not isinstance(found, Notion):
        raise StatementError(f"{notion.__name__}.from_stated() returned {short_repr(found)}, not a privacy notion")
    return found


def parameters(notion: type) -> tuple[str, ...]:
    """Names of a class's parameters."""
    return tuple(inspect.signature(notion).parameters)


def plain_fields(privacy: Any) -> dict[str, Any]:
    """State the fields of a dataclass; a field that is None is left out.

    Raises
    ------
    StatementError
        If it is not a dataclass.
    """
    if not is_dataclass(privacy):
        do = "make it a dataclass of plain values, or give it stated() and from_stated()"
        raise StatementError(f"the privacy notion {type(privacy).__name__} has no form in a file", do=do)
    values = {field.name: getattr(privacy, field.name) for field in fields(privacy) if field.init}
    return {name: plain(value) for name, value in values.items() if value is not None}


def read_fields(notion: type, table: Table) -> Any:
    """Make an object whose parameters are the keys of a table.

    Raises
    ------
    MisstatedError
        If a parameter without a default is missing.
    """
    for name, parameter in inspect.signature(notion).parameters.items():
        if parameter.default is parameter.empty:
            required(table, name)
    return notion(**table)


def required(table: Table, name: str) -> Any:
    """Value of a key that has to be there."""
    if name not in table:
        raise MisstatedError(f"the key privacy.{name} is missing", name, do="add it")
    return table[name]


def plain(value: Any) -> Any:
    """Return a value as files hold it."""
    if isinstance(value, Budget):
        return plain_budget(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [plain(part) for part in value] if isinstance(value, (tuple, list)) else value


def plain_budget(epsilon: Budget) -> float | str:
    """State a number where the budget is that float exactly, else the text of its exact value."""
    if epsilon.ratio is not None or Budget(epsilon.text).nats == epsilon.nats != Fraction(float(epsilon)):
        return epsilon.text
    return float(epsilon) if epsilon.nats == Fraction(float(epsilon)) else str(epsilon.nats)


def _is_declared_class(notion: type) -> TypeGuard[type[Notion]]:
    from ldpopt.privacy.notion import Notion

    return Notion in notion.__mro__


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(part) for key, part in value.items())
    return isinstance(value, (str, bool, int)) or (isinstance(value, float) and bool(np.isfinite(value)))
