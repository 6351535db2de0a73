"""Conversion of notions to plain tables and back, for model files and certificates.

A table holds what TOML and JSON know: numbers, text, lists and tables. By default its keys are the parameters of the
notion's class; a notion with other parameters (such as a graph) overrides ``stated``, ``from_stated`` and ``keys``.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any, TypeGuard

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import short_repr
from ldpopt.privacy.approximate import ApproximateLDP
from ldpopt.privacy.graph import GraphDP
from ldpopt.privacy.metric import MetricDP
from ldpopt.privacy.notion import Notion, is_declared
from ldpopt.privacy.one_sided import OneSided
from ldpopt.privacy.pure import PureLDP
from ldpopt.privacy.tables import MisstatedError, Table, is_plain, parameters, plain_fields, read_fields
from ldpopt.privacy.utility_optimized import UtilityOptimizedLDP

BUILT_IN: tuple[type[Notion], ...] = (PureLDP, ApproximateLDP, GraphDP, MetricDP, OneSided, UtilityOptimizedLDP)
"""The library's own notions; others come by entry points."""


def installed() -> dict[str, type]:
    """Notions that packages offer under the entry point group ``ldpopt.privacy``, by name.

    One that cannot be loaded is left out, with a warning: it must not stop the others.
    """
    from importlib.metadata import entry_points

    found = {}
    for point in entry_points(group="ldpopt.privacy"):
        try:
            found[point.name] = point.load()
        except Exception as error:
            what = f"the plug-in notion {point.name!r} cannot be loaded: {type(error).__name__}: {error}"
            warnings.warn(what, stacklevel=2)
    return found


def kinds() -> tuple[str, ...]:
    """Names of all notions: the library's own, then the installed ones."""
    return tuple({**_own(), **installed()})


def kind_of(privacy: Any) -> str:
    """Kind of a notion; empty if its class is not known."""
    own = next((name for name, notion in _own().items() if notion is type(privacy)), "")
    return own or next((name for name, notion in installed().items() if notion is type(privacy)), "")


def notion_of(name: Any) -> type:
    """Class of a kind."""
    if isinstance(name, str) and name in _own():
        return _own()[name]
    known = _own() | installed()
    if not isinstance(name, str) or name not in known:
        raise MisstatedError(f"unknown privacy notion {short_repr(name)}", "kind", do=nearest(name, known))
    return known[name]


def _own() -> dict[str, type]:
    return {notion.kind: notion for notion in BUILT_IN}


def keys_of(notion: type) -> tuple[str, ...]:
    """Keys that a notion's table may have beside ``kind``."""
    return notion.keys() if _is_declared_class(notion) else parameters(notion)


def table_of(privacy: Any, inputs: Sequence[Hashable], *, explicit: bool = False) -> dict[str, Any]:
    """State a notion as a table with its kind; ``explicit`` tables name no family of graphs."""
    name = kind_of(privacy)
    what = type(privacy).__name__
    if not name:
        do = "install it under the entry-point group ldpopt.privacy, as a dataclass of plain values"
        raise StatementError(f"the privacy notion {what} cannot be written to a file", do=do)
    if not is_declared(privacy):
        table = plain_fields(privacy)
    else:
        table = privacy.explicit(inputs) if explicit else privacy.stated(inputs)
    if not isinstance(table, dict) or not all(isinstance(key, str) for key in table):
        raise StatementError(f"{what}.stated() returned {short_repr(table)}, not a dict of keys and plain values")
    for key, value in table.items():
        if not is_plain(value):
            raise StatementError(f"{what}.stated() returned {short_repr(value)} for {key!r}, which no file can hold")
    return {"kind": name} | table


def read_table(table: Table, inputs: Sequence[Hashable]) -> Any:
    """Make the notion that a table with a kind states."""
    notion = notion_of(table.get("kind"))
    tuples = {label for label in inputs if isinstance(label, tuple)} if not isinstance(inputs, range) else set()
    given = {key: _with_tuples(value, tuples) for key, value in table.items() if key != "kind"}
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


def _with_tuples(value: Any, tuples: set[Any]) -> Any:
    """Nested lists in which the labels that are tuples, which JSON and TOML write as lists, are tuples again."""
    if tuples and isinstance(value, dict):
        return {key: _with_tuples(part, tuples) for key, part in value.items()}
    if not tuples or not isinstance(value, list):
        return value
    parts = [_with_tuples(part, tuples) for part in value]
    return tuple(parts) if all(isinstance(part, Hashable) for part in parts) and tuple(parts) in tuples else parts


def _is_declared_class(notion: type) -> TypeGuard[type[Notion]]:
    return Notion in notion.__mro__
