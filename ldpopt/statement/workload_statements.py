"""What a user states of a workload: tables, labels, numbers and attributes, read or refused in words."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation.checks import Float, is_whole, real_array, short_repr, whole_number
from ldpopt.foundation.labels import codes, labels, listed

MOST = 1e100
"""Largest entry whose square, summed over many rows, stays within the floats."""

Alphabet = int | Sequence[Hashable]


def read_table(matrix: Any, inputs: Any, names: Any) -> tuple[Float, Any, Any]:
    """Numbers, answers and names of what was given; a table brings its own labels."""
    columns = getattr(matrix, "columns", None)
    if columns is None:
        array = real_array(matrix, "workload")
        return (array[None] if array.ndim == 1 else array), inputs, names
    own = tuple(columns.tolist())
    names = tuple(matrix.index.tolist()) if names is None else names
    array = real_array(matrix.to_numpy(), "workload")
    if inputs is None:
        return array, own, names
    stated = labels_of(inputs, len(tuple(inputs)), "input")
    if set(stated) != set(own) or len(stated) != len(own):
        odd = next(iter(set(stated) ^ set(own)), own[0])
        raise StatementError(
            f"the table's columns and the inputs differ at {short_repr(odd)}",
            do=f"the columns are {listed(own)}, the inputs {listed(stated)}",
        )
    return array[:, codes(list(stated), own, "input")], stated, names


def require_entries(array: Float) -> None:
    """Refuse what asks for nothing."""
    if array.ndim != 2 or 0 in array.shape:
        raise StatementError(f"a workload of shape {array.shape} asks nothing", do="pass (numbers wanted, answers)")
    if array.shape[1] < 2:
        raise StatementError("one answer leaves nothing to ask", do="state at least two columns")
    bad = np.argwhere(~(np.abs(array) <= MOST))
    if len(bad):
        k, x = bad[0].tolist()
        raise StatementError(
            f"entry {array[k, x]} of the workload is not in [-{MOST:g}, {MOST:g}]", where=f"[{k}, {x}]"
        )
    if not array.any():
        raise StatementError("all entries of the workload are 0: it asks for nothing")


def labels_of(given: Sequence[Hashable] | None, size: int, kind: str) -> tuple[Hashable, ...]:
    """Check labels of answers or rows."""
    try:
        return labels(given, size, kind)
    except MechanismError as error:
        raise StatementError(error.what, where="the workload", do=error.do) from None


def alphabet(inputs: Alphabet) -> tuple[Hashable, ...]:
    """Labels of the answers, or of as many as stated."""
    if is_whole(inputs):
        return tuple(range(whole_number(inputs, "number of answers", 2, 10**8)))
    if isinstance(inputs, str) or not hasattr(inputs, "__len__"):
        raise StatementError(f"{short_repr(inputs)} is no list of answers", do="pass labels, or their number")
    names = labels_of(inputs, len(inputs), "input")  # type: ignore[arg-type]
    if len(names) < 2:
        raise StatementError("one answer leaves nothing to ask", do="state at least two")
    return names


def numbers(row: Any, inputs: Sequence[Hashable] | None) -> Float:
    """Numbers of the answers in their order."""
    if not isinstance(row, Mapping):
        return real_array(row, "list of numbers")
    known = list(row) if inputs is None else list(inputs)
    if set(known) != set(row):
        odd = next(iter(set(known) ^ set(row)))
        raise StatementError(f"the label {short_repr(odd)} has a number on one side only", where="a mean")
    return real_array([row[label] for label in known], "list of numbers")


def attributes(shape: Any) -> list[tuple[Hashable, tuple[Hashable, ...]]]:
    """Names and values of the attributes."""
    named = isinstance(shape, Mapping)
    if not named and (isinstance(shape, str) or not hasattr(shape, "__len__")):
        raise StatementError(f"{short_repr(shape)} is no list of attributes", do="pass [2, 3] or {name: labels}")
    pairs: Iterable[tuple[Any, Any]] = shape.items() if named else enumerate(shape)
    found = [(name, alphabet(values)) for name, values in pairs]
    if not found or math.prod(len(values) for _, values in found) > 10**6:
        raise StatementError("the attributes have no combinations, or more than a million", do="take fewer of them")
    return found


def stated_shape(parts: Sequence[tuple[Hashable, tuple[Hashable, ...]]]) -> Any:
    """Attributes as a model file states them."""
    levels = [len(values) if values == tuple(range(len(values))) else list(values) for _, values in parts]
    named = [name for name, _ in parts] != list(range(len(parts)))
    return {str(name): level for (name, _), level in zip(parts, levels, strict=True)} if named else levels


def tables_of(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Parts of a stated workload."""
    return [dict(part) for part in table.get("part", [table])]


def weighted(table: Mapping[str, Any] | None, factor: float) -> dict[str, Any] | None:
    """Stated workload times a number."""
    if table is None:
        return None
    parts = [part | {"weight": factor * part.get("weight", 1.0)} for part in tables_of(table)]
    return {"part": parts} if "part" in table else parts[0]
