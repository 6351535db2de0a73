"""Workloads as they are given and built: tables, labels and attributes are read; matrices and
symmetries are built.
"""

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.labelled import Labelled, read_labelled, take_labels
from ldpopt.foundation.labels import check_labels
from ldpopt.foundation.numbers import (
    Float,
    any_array,
    is_whole,
    real_array,
    require_memory,
    short_repr,
    whole_number,
)

Alphabet = int | Sequence[Hashable]
Permutation = NDArray[np.int64]
LARGEST = 1e100  # largest entry whose square, summed over many rows, stays within the floats
SMALLEST = 1e-100  # smallest value of the largest entry
MAX_PARITIES = 2000  # largest number of sets with which a design for marginals begins


def read_matrix(matrix: Any, inputs: Any, names: Any) -> tuple[Float, Any, Any]:
    """Matrix, answers and names of a workload; labelled tables are put into the order of the given
    labels.
    """
    plain, (rows, columns) = take_labels(_plain(matrix), "workload", ("name", "answer"))
    if any_array(plain, "workload").dtype == bool:
        plain = np.asarray(plain, np.float64)
    array = real_array(plain, "workload")
    if array.ndim == 1:
        array, rows, columns = array[None], None, rows
    if not array.ndim:
        raise StatementError(
            "the workload is a number",
            do="pass a Workload, or a matrix with a row for each estimate",
        )
    if rows == tuple(range(len(array))):
        rows = None  # row numbers are not names
    labelled = Labelled(array, (rows, columns), "workload", ("name", "answer"))
    wanted = (
        None
        if names is None
        else check_labels(names, len(array), "name", StatementError, "the workload")
    )
    answers = (
        None
        if inputs is None
        else check_labels(inputs, array.shape[-1], "input", StatementError, "the workload")
    )
    return labelled.to(wanted, answers), answers or columns, wanted or rows


def _plain(matrix: Any) -> Any:
    """Dense form of a sparse matrix."""
    if not hasattr(matrix, "toarray"):
        return matrix
    require_memory(8.0 * math.prod(matrix.shape), f"a dense workload of shape {matrix.shape}")
    return matrix.toarray()


def require_entries(array: Float) -> None:
    """Refuse workloads without numbers to be estimated, and entries out of range."""
    if array.ndim != 2 or 0 in array.shape:
        do = "pass a matrix (numbers to be estimated, answers)"
        raise StatementError(f"a workload of shape {array.shape} is empty", do=do)
    if array.shape[1] < 2:
        raise StatementError(
            "a workload needs at least two answers", do="give at least two columns"
        )
    bad = np.argwhere(~(np.abs(array) <= LARGEST))
    if len(bad):
        k, x = bad[0].tolist()
        problem = f"entry {array[k, x]} of the workload is not in [-{LARGEST:g}, {LARGEST:g}]"
        raise StatementError(problem, where=f"[{k}, {x}]", do="scale the row")
    if not array.any():
        problem = "all entries of the workload are 0: there is nothing to estimate"
        raise StatementError(problem, code="zero-matrix", do="give at least one row that is not 0")
    require_scale(float(np.abs(array).max()))


def require_scale(largest: float) -> None:
    """Refuse entries whose squares overflow or underflow."""
    if not SMALLEST <= largest <= LARGEST:
        problem = (
            f"the largest entry of the workload, {largest:g}, is not in [{SMALLEST:g}, {LARGEST:g}]"
        )
        raise StatementError(problem, do="use a unit in which the entries are closer to 1")


def read_answers(inputs: Alphabet) -> tuple[Hashable, ...]:
    """Labels of the answers, from a list or from their number."""
    if is_whole(inputs):
        return tuple(range(whole_number(inputs, "number of answers", 2, 10**8)))
    is_list = hasattr(inputs, "__len__") and getattr(inputs, "ndim", 1) == 1
    if isinstance(inputs, str) or not is_list:
        raise StatementError(
            f"{short_repr(inputs)} is not a list of answers", do="pass labels, or their number"
        )
    names = check_labels(
        inputs,  # type: ignore[arg-type]
        None,
        "input",
        StatementError,
        "the workload",
    )
    if len(names) < 2:
        raise StatementError("a workload needs at least two answers", do="give at least two")
    return names


def read_means(values: Mapping[Hashable, Any], inputs: Any) -> tuple[Float, Any]:
    """Several lists of numbers per answer as rows, and the order of the answers: by default of the
    first labels.
    """
    read = [read_labelled(row, "list of numbers", ("answer",)) for row in values.values()]
    if len({row.values.shape for row in read}) > 1 or read[0].values.ndim != 1:
        problem = "the lists of numbers are not vectors of the same length"
        raise StatementError(problem, do="give lists with one number for each answer")
    if inputs is None:
        inputs = next((row.axes[0] for row in read if row.has_labels), None)
    else:
        inputs = check_labels(inputs, len(read[0].values), "input", StatementError, "the workload")
    return np.array([row.to(inputs) for row in read]), inputs


def unique_names(names: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Make repeated names unique: "mean", "mean (2)"."""
    unique: dict[Hashable, None] = {}
    count: dict[Hashable, int] = {}
    for name in names:
        new = name
        while new in unique:
            count[name] = count.get(name, 1) + 1
            new = f"{name} ({count[name]})"
        unique[new] = None
    return tuple(unique)


def read_attributes(shape: Any) -> list[tuple[Hashable, tuple[Hashable, ...]]]:
    """Names and values of the attributes, from a list or a mapping."""
    named = isinstance(shape, Mapping)
    if not named and (isinstance(shape, str) or not hasattr(shape, "__len__")):
        raise StatementError(
            f"{short_repr(shape)} is not a list of attributes", do="pass [2, 3] or {name: labels}"
        )
    pairs: Iterable[tuple[Any, Any]] = shape.items() if named else enumerate(shape)
    attributes = [(name, read_answers(values)) for name, values in pairs]
    if not attributes or math.prod(len(values) for _, values in attributes) > 1 << 20:
        raise StatementError(
            "the attributes have no combinations, or more than 2**20", do="give 1 to 2**20"
        )
    return attributes


def plain_shape(parts: Sequence[tuple[Hashable, tuple[Hashable, ...]]]) -> Any:
    """Attributes as a model file writes them."""
    levels = [
        len(values) if values == tuple(range(len(values))) else list(values) for _, values in parts
    ]
    named = [name for name, _ in parts] != list(range(len(parts)))
    return (
        {str(name): level for (name, _), level in zip(parts, levels, strict=True)}
        if named
        else levels
    )


def tables_of(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tables of the parts of a workload, from its table in a model file."""
    return [dict(part) for part in table.get("part", [table])]


def scaled_table(table: Mapping[str, Any] | None, factor: float) -> dict[str, Any] | None:
    """Table of a workload times a number."""
    if table is None:
        return None
    parts = [part | {"weight": factor * part.get("weight", 1.0)} for part in tables_of(table)]
    return {"part": parts} if "part" in table else parts[0]


def prefix_gram(n: int) -> Float:
    """Gram matrix of the prefixes: the number of prefixes that have both answers."""
    place = np.arange(n)
    return n - np.maximum.outer(place, place).astype(np.float64)


def range_gram(n: int) -> Float:
    """Gram matrix of all ranges: the number of ranges that have both answers."""
    place = np.arange(n)
    return np.asarray((np.minimum.outer(place, place) + 1.0) * (n - np.maximum.outer(place, place)))


def range_rows(n: int) -> Float:
    """Rows of all ranges, by their first answer and then by their last."""
    low, high = np.triu_indices(n)
    place = np.arange(n)
    return ((place >= low[:, None]) & (place <= high[:, None])).astype(np.float64)


def marginal_rows(sizes: Sequence[int], cells: Sequence[dict[int, int]]) -> Float:
    """Rows of the cells of marginal tables; a cell maps attributes to values."""
    digits = np.indices(sizes).reshape(len(sizes), -1)
    return np.array(
        [np.all([digits[a] == value for a, value in cell.items()], axis=0) for cell in cells], float
    )


def reversal(n: int) -> Permutation:
    """The answers in reverse order."""
    return np.arange(n, dtype=np.int64)[::-1]


def parities(sizes: Sequence[int], k: int) -> Float:
    """Indicators of combinations with an odd number of values in given halves, for up to k
    attributes.
    """
    digits = np.indices(sizes).reshape(len(sizes), -1)
    indicators: list[NDArray[np.bool_]] = []
    for ways in range(1, k + 1):
        for chosen in itertools.combinations(range(len(sizes)), ways):
            halves = [
                itertools.combinations(range(sizes[place]), max(1, sizes[place] // 2))
                for place in chosen
            ]
            for parts in itertools.product(*halves):
                if len(indicators) == MAX_PARITIES:
                    return np.array(indicators, np.float64)
                inside = [
                    np.isin(digits[place], part) for place, part in zip(chosen, parts, strict=True)
                ]
                indicators.append(np.logical_xor.reduce(inside))
    return np.array(indicators, np.float64)


def product_symmetries(sizes: Sequence[int]) -> list[Permutation]:
    """Generators of the symmetries: swaps of two values of an attribute, and of two attributes of
    the same size.
    """
    cube = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes)
    generators = []
    for axis, size in enumerate(sizes):
        for low in range(size - 1):
            order = np.arange(size)
            order[[low, low + 1]] = low + 1, low
            generators.append(np.take(cube, order, axis=axis).ravel())
        if axis + 1 < len(sizes) and sizes[axis + 1] == size:
            generators.append(np.swapaxes(cube, axis, axis + 1).ravel())
    return generators
