"""What a user states of a workload: tables, labels, numbers and attributes, read or refused in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation.checks import Float, is_whole, short_repr, whole_number
from ldpopt.foundation.labelled import read_labelled
from ldpopt.foundation.labels import labels

MOST = 1e100
"""Largest entry whose square, summed over many rows, stays within the floats."""

Alphabet = int | Sequence[Hashable]


def read_table(matrix: Any, inputs: Any, names: Any) -> tuple[Float, Any, Any]:
    """Numbers, answers and names of what was given; what has labels is put into the order stated."""
    table = read_labelled(matrix, "workload", ("name", "answer"))
    if table.values.ndim == 1:
        table = read_labelled(matrix, "workload", ("answer",))
        return table.to(inputs)[None], table.axes[0] if inputs is None else inputs, names
    values = table.to(names, inputs)
    rows, columns = (*table.axes, None)[:2]
    return values, columns if inputs is None else inputs, rows if names is None else names


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
    part = read_labelled(row, "list of numbers", ("answer",))
    if part.values.ndim != 1:
        raise StatementError(f"a list of numbers has shape {part.values.shape}", do="pass one number for each answer")
    return part.to(inputs)


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


def distinct(names: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Names that differ: one that occurs again gets a number.

    Examples
    --------
    >>> distinct(["mean", "mean", "<= a"])
    ('mean', 'mean (2)', '<= a')
    """
    known, counts = set(names), Counter[Hashable]()
    found: list[Hashable] = []
    for name in names:
        counts[name] += 1
        unused: Hashable = name
        while counts[name] > 1 and (unused := f"{name} ({counts[name]})") in known:
            counts[name] += 1
        known.add(unused)
        found.append(unused)
    return tuple(found)


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
