"""The table ``[workload]`` of a model file, read into a `Workload`, so that each error names its key."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.foundation.labels import label_numbers, nearest
from ldpopt.foundation.numbers import short_repr
from ldpopt.privacy.plain import MisstatedError
from ldpopt.problem.modelfile.schema import (
    WORKLOADS,
    Section,
    StatedMarginals,
    StatedMean,
    StatedMeans,
    StatedRows,
    StatedStack,
    check,
)
from ldpopt.problem.modelfile.text import Key, Page, dotted
from ldpopt.problem.workload import Workload
from ldpopt.problem.workload_matrices import read_attributes


def read_workload(page: Page, data: dict[str, Any], inputs: list[Any]) -> Workload:
    """Read one workload, or the stack of its parts."""
    if "part" not in data:
        return _one(page, data, inputs, ("workload",))
    stack = check(page, StatedStack, data, "workload")
    parts = [_one(page, part, inputs, ("workload", "part", place)) for place, part in enumerate(stack.part)]
    with page.at("workload"):
        return Workload.stack(*parts)


def _one(page: Page, data: dict[str, Any], inputs: list[Any], key: Key) -> Workload:
    kind = data.get("kind")
    if not isinstance(kind, str):
        what = f"the key {dotted((*key, 'kind'))} is missing or no text"
        raise page.error((*key, "kind"), what, f"state kind as one of {', '.join(WORKLOADS)}, or parts")
    if kind not in WORKLOADS:
        raise page.error((*key, "kind"), f"unknown workload {kind!r}", nearest(kind, WORKLOADS))
    stated: Any = check(page, WORKLOADS[kind], data, *key)
    with page.at(*key):
        workload = _made(kind, stated, inputs)
    if stated.weight == 1:
        return workload
    with page.at(*key, "weight"):
        return stated.weight * workload  # type: ignore[no-any-return]


def _made(kind: str, stated: Section, inputs: list[Any]) -> Workload:
    if isinstance(stated, StatedMean):
        return Workload.mean(_by_label(numbers_behind(stated.values, inputs, "values"), inputs, "values"), inputs)
    if isinstance(stated, StatedMeans):
        return Workload.means(
            {name: _by_label(row, inputs, "values", name) for name, row in stated.values.items()}, inputs
        )
    if isinstance(stated, StatedMarginals):
        shape: Any = stated.shape
        return Workload.marginals(shape, stated.k, inputs)
    if isinstance(stated, StatedRows):
        return _rows(stated, inputs)
    build = {"frequencies": Workload.frequencies, "prefix": Workload.prefix, "ranges": Workload.ranges}
    return build[kind](inputs)


def _rows(stated: StatedRows, inputs: list[Any]) -> Workload:
    if not isinstance(stated.rows, Mapping):
        return Workload(stated.rows, inputs, stated.names)
    if stated.names is not None:
        raise StatementError("names has no effect together with rows by name", do="remove names")
    rows: dict[Hashable, Any] = {name: _by_label(row, inputs, "rows", name) for name, row in stated.rows.items()}
    return Workload.means(rows, inputs)


def _by_label(row: Any, inputs: list[Any], *key: str) -> list[float]:
    """Numbers in the order of the answers: the keys of a TOML table are text."""
    if not isinstance(row, Mapping):
        if len(row) != len(inputs):
            raise MisstatedError(f"{len(row)} numbers for {len(inputs)} answers", *key)
        return list(row)
    known = {str(label): label for label in inputs}
    unknown, missing = [name for name in row if name not in known], [name for name in known if name not in row]
    if unknown:
        raise MisstatedError(
            f"{short_repr(unknown[0])} is not an answer", *key, unknown[0], do=nearest(unknown[0], known)
        )
    if missing:
        raise MisstatedError(f"the answer {short_repr(missing[0])} has no number", *key, do="add it")
    return [row[name] for name in known]


def numbers_behind(given: Any, labels: list[Any], name: str) -> Any:
    """Numbers behind labels: stated, or the labels themselves where they are numbers."""
    if given is None:
        numbers = label_numbers(labels)
        if numbers is None:
            raise StatementError(f"{name} is missing, and the labels are not numbers", do=f"add {name}")
        return numbers
    if len(given) != len(labels):
        raise StatementError(f"{name} has {len(given)} entries for {len(labels)} labels")
    return given


def stated_inputs(data: dict[str, Any]) -> list[Any] | None:
    """Answers that a workload states by itself: the combinations of its attributes, or as many as it has columns."""
    for part in _tables(data):
        shape = part.get("shape")
        if part.get("kind") == "marginals" and isinstance(shape, (list, dict)) and shape:
            try:
                return list(itertools.product(*(values for _, values in read_attributes(shape))))
            except TypeError:
                return None  # to be refused by name later
    for part in _tables(data):
        row = part.get("values", part.get("rows"))
        while isinstance(row, dict) and row and isinstance(next(iter(row.values())), (dict, list)):
            row = next(iter(row.values()))
        row = row[0] if isinstance(row, list) and row and isinstance(row[0], list) else row
        if isinstance(row, (list, dict)) and row:
            return list(row) if isinstance(row, dict) else list(range(len(row)))
    return None


def _tables(data: dict[str, Any]) -> list[dict[str, Any]]:
    parts = data.get("part", [data])
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
