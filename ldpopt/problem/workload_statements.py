"""What a user states of a workload: tables, labels, numbers and attributes, read or refused in words."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation.labelled import Labelled, read_labelled, take_labels
from ldpopt.foundation.labels import labels
from ldpopt.foundation.numbers import (
    Float,
    is_whole,
    loose_array,
    real_array,
    require_memory,
    short_repr,
    whole_number,
)

MOST = 1e100
"""Largest entry whose square, summed over many rows, stays within the floats."""

LEAST = 1e-100
"""Smallest number that the largest entry may be."""

Alphabet = int | Sequence[Hashable]


def read_table(matrix: Any, inputs: Any, names: Any) -> tuple[Float, Any, Any]:
    """Numbers, answers and names of what was given; what has labels is read by them."""
    plain, (rows, columns) = take_labels(_plain(matrix), "workload", ("name", "answer"))
    if loose_array(plain, "workload").dtype == bool:
        plain = np.asarray(plain, np.float64)
    array = real_array(plain, "workload")
    if array.ndim == 1:
        array, rows, columns = array[None], None, rows
    if rows == tuple(range(len(array))):
        rows = None  # row numbers, which may be given names
    given = Labelled(array, (rows, columns), "workload", ("name", "answer"))
    stated = None if names is None else labels_of(names, len(array), "name")
    answers = None if inputs is None else labels_of(inputs, array.shape[-1], "input")
    return given.to(stated, answers), columns if answers is None else answers, rows if stated is None else stated


def _plain(matrix: Any) -> Any:
    """Dense form of a sparse matrix."""
    if not hasattr(matrix, "toarray"):
        return matrix
    require_memory(8.0 * math.prod(matrix.shape), f"a dense workload of shape {matrix.shape}")
    return matrix.toarray()


def require_entries(array: Float) -> None:
    """Refuse what asks for nothing."""
    if array.ndim != 2 or 0 in array.shape:
        raise StatementError(f"a workload of shape {array.shape} asks nothing", do="pass (numbers wanted, answers)")
    if array.shape[1] < 2:
        raise StatementError("a workload needs at least two answers", do="state at least two columns")
    bad = np.argwhere(~(np.abs(array) <= MOST))
    if len(bad):
        k, x = bad[0].tolist()
        raise StatementError(
            f"entry {array[k, x]} of the workload is not in [-{MOST:g}, {MOST:g}]", where=f"[{k}, {x}]"
        )
    if not array.any():
        raise StatementError("all entries of the workload are 0: it asks for nothing")
    require_unit(float(np.abs(array).max()))


def require_unit(largest: float) -> None:
    """Refuse entries whose squares leave the floats."""
    if not LEAST <= largest <= MOST:
        raise StatementError(
            f"the largest entry of the workload, {largest:g}, is not in [{LEAST:g}, {MOST:g}]", do="use another unit"
        )


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
        raise StatementError(f"{short_repr(inputs)} is not a list of answers", do="pass labels, or their number")
    names = labels_of(inputs, len(inputs), "input")  # type: ignore[arg-type]
    if len(names) < 2:
        raise StatementError("a workload needs at least two answers", do="state at least two")
    return names


def numbers(values: Mapping[Hashable, Any], inputs: Any) -> tuple[Float, Any]:
    """Lists of numbers of the answers, in the order of the inputs, and these: those of the first list with labels."""
    read = [read_labelled(row, "list of numbers", ("answer",)) for row in values.values()]
    if len({row.values.shape for row in read}) > 1 or read[0].values.ndim != 1:
        raise StatementError("the lists of numbers are not vectors of the same length")
    if inputs is None:
        inputs = next((row.axes[0] for row in read if row.has_labels), None)
    else:
        inputs = labels_of(inputs, len(read[0].values), "input")
    return np.array([row.to(inputs) for row in read]), inputs


def apart(names: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Tell names that occur again apart: "mean", "mean (2)"."""
    found: dict[Hashable, None] = {}
    count: dict[Hashable, int] = {}
    for name in names:
        new = name
        while new in found:
            count[name] = count.get(name, 1) + 1
            new = f"{name} ({count[name]})"
        found[new] = None
    return tuple(found)


def attributes(shape: Any) -> list[tuple[Hashable, tuple[Hashable, ...]]]:
    """Names and values of the attributes."""
    named = isinstance(shape, Mapping)
    if not named and (isinstance(shape, str) or not hasattr(shape, "__len__")):
        raise StatementError(f"{short_repr(shape)} is not a list of attributes", do="pass [2, 3] or {name: labels}")
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
