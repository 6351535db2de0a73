"""Plain tables of values that TOML and JSON can hold, and their conversion to the fields of a notion."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget

Table = Mapping[str, Any]


class MisstatedError(StatementError):
    """A value of a notion's table is wrong; ``key`` leads to it from the table."""

    def __init__(self, what: str, *key: str | int, do: str = "") -> None:
        super().__init__(what, do=do)
        self.key = key


def parameters(notion: type) -> tuple[str, ...]:
    """Names of a class's parameters."""
    return tuple(inspect.signature(notion).parameters)


def plain_fields(privacy: Any) -> dict[str, Any]:
    """State the fields of a dataclass; a field that is None is left out."""
    if not is_dataclass(privacy):
        do = "make it a dataclass of plain values, or give it stated() and from_stated()"
        raise StatementError(f"the privacy notion {type(privacy).__name__} cannot be written to a file", do=do)
    values = {field.name: getattr(privacy, field.name) for field in fields(privacy) if field.init}
    return {name: plain(value) for name, value in values.items() if value is not None}


def read_fields(notion: type, table: Table) -> Any:
    """Make an object whose parameters are the keys of a table."""
    for name, parameter in inspect.signature(notion).parameters.items():
        if parameter.default is parameter.empty:
            required(table, name)
    return notion(**table)


def required(table: Table, name: str) -> Any:
    """Value of a required key."""
    if name not in table:
        raise MisstatedError(f"the key privacy.{name} is missing", name, do="add it")
    return table[name]


def plain(value: Any) -> Any:
    """Convert a value to a type that files can hold."""
    if isinstance(value, Budget):
        return plain_budget(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [plain(part) for part in value] if isinstance(value, (tuple, list)) else value


def plain_budget(epsilon: Budget) -> float | str:
    """Return a number if the budget is exactly that float, else the text of its exact value."""
    if epsilon.ratio is not None or Budget(epsilon.text).nats == epsilon.nats != Fraction(float(epsilon)):
        return epsilon.text
    return float(epsilon) if epsilon.nats == Fraction(float(epsilon)) else str(epsilon.nats)


def is_plain(value: Any) -> bool:
    """Whether a file can hold the value."""
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(part) for key, part in value.items())
    return isinstance(value, (str, bool, int)) or (isinstance(value, float) and bool(np.isfinite(value)))
