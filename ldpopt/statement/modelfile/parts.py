"""From the parts of a problem to the tables of a model file, in plain Python values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy import ApproximateLDP, GraphDP, MetricDP, PureLDP, installed, neighbors
from ldpopt.statement import constraints
from ldpopt.statement import utility as utilities
from ldpopt.statement.problem import Problem


def problem_tables(problem: Problem) -> dict[str, Any]:
    """Lay out the tables that state a problem, in the order of a file.

    Raises
    ------
    StatementError
        If a part has no form in a model file; the part is named.
    """
    inputs, outputs = _labels(problem.inputs), _labels(problem.outputs)
    tables: dict[str, Any] = {} if problem.objective == "expected" else {"objective": problem.objective}
    tables["alphabet"] = {"inputs": inputs} | ({} if outputs == inputs else {"outputs": outputs})
    if problem.prior is not None:
        tables["prior"] = {"values": problem.prior.tolist()}
    tables["utility"] = _utility_table(problem)
    tables["privacy"] = _privacy_table(problem.privacy, problem.inputs)
    tables["constraints"] = [_constraint_table(block, problem) for block in problem.constraints]
    return tables


def _labels(names: Iterable[Hashable]) -> list[str | int | float]:
    plain: list[str | int | float] = []
    for name in names:
        if not isinstance(name, (str, int, float)) or isinstance(name, bool):
            do = "name the letters of the alphabet by text or by number"
            raise StatementError(f"the label {name!r} has no form in a model file", do=do)
        plain.append(name)
    return plain


def _utility_table(problem: Problem) -> dict[str, Any]:
    """State the name of the utility where it is one of the known, else its numbers."""
    utility = problem.utility
    for name in utilities.NAMED:
        try:
            same = utilities.named(name, problem.inputs, problem.outputs)
        except StatementError:
            continue
        if same.sense == utility.sense and np.array_equal(same.matrix, utility.matrix):
            return {"kind": name}
    return {utility.sense: utility.matrix.tolist()}


def _privacy_table(privacy: Any, inputs: Sequence[Hashable]) -> dict[str, Any]:
    if not isinstance(privacy, (PureLDP, ApproximateLDP, GraphDP, MetricDP)):
        return _plugin_table(privacy)
    stated: dict[str, Any] = {"kind": "pure", "epsilon": _budget_table(privacy.epsilon)}
    if isinstance(privacy, ApproximateLDP):
        return stated | {"kind": "approximate", "delta": float(privacy.delta), "form": privacy.form}
    if isinstance(privacy, GraphDP):
        return stated | {"kind": "graph", "neighbors": _neighbors_table(privacy.graph, inputs)}
    if isinstance(privacy, MetricDP):
        return stated | {"kind": "metric", "distance": privacy.matrix(inputs).tolist()}
    return stated


def _budget_table(epsilon: Budget) -> float | str:
    """State a number where the budget is that float exactly, else the text of its exact value."""
    if epsilon.ratio is not None:
        return f"log({epsilon.ratio})"
    return float(epsilon) if epsilon.nats == Fraction(float(epsilon)) else str(epsilon.nats)


def _neighbors_table(graph: Any, inputs: Sequence[Hashable]) -> dict[str, Any]:
    edges = {frozenset(edge) for edge in graph.edges}
    for kind, build in (("path", neighbors.path), ("cycle", neighbors.cycle), ("complete", neighbors.complete)):
        # Two labels make no cycle, and a path has told them already.
        if (kind != "cycle" or len(inputs) > 2) and edges == {frozenset(edge) for edge in build(inputs).edges}:
            return {"kind": kind}
    place = {label: x for x, label in enumerate(inputs)}
    pairs = sorted(tuple(sorted(place[label] for label in edge)) for edge in edges if len(edge) == 2)
    return {"edges": [[inputs[x] for x in pair] for pair in pairs]}


def _plugin_table(privacy: Any) -> dict[str, Any]:
    """State an installed notion by its name and the fields of its dataclass."""
    for name, notion in installed().items():
        if notion is type(privacy) and is_dataclass(privacy):
            given = {field.name: getattr(privacy, field.name) for field in fields(privacy) if field.init}
            return {"kind": name} | {key: _plain(value) for key, value in given.items()}
    do = "install it under the entry-point group ldpopt.privacy, as a dataclass of plain values"
    raise StatementError(f"the privacy notion {type(privacy).__name__} has no form in a model file", do=do)


def _plain(value: Any) -> Any:
    if isinstance(value, Budget):
        return _budget_table(value)
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _constraint_table(block: RowBlock, problem: Problem) -> dict[str, Any]:
    """Read `unbiased` and `linear` constraints back out of their rows; other rows have no name."""
    if len(block) == len(problem.inputs):
        first = block.row == 0
        outputs = np.zeros(len(problem.outputs))
        outputs[block.y[first]] = block.coefficient[first]
        if _is_same(constraints.unbiased(block.lower, outputs), block):
            return {"kind": "unbiased", "values": block.lower.tolist(), "outputs": outputs.tolist()}
    if len(block) == 1:
        matrix = np.zeros(problem.utility.shape)
        matrix[block.x, block.y] = block.coefficient
        lower, upper = float(block.lower[0]), float(block.upper[0])
        if _is_same(constraints.linear(matrix, lower, upper, block.name), block):
            bounds = {key: bound for key, bound in (("lower", lower), ("upper", upper)) if np.isfinite(bound)}
            return {"kind": "linear", "name": block.name, "coefficients": matrix.tolist()} | bounds
    do = "keep it in Python: model files know the functions of ldpopt.constraints"
    raise StatementError(f"the constraint {block.name!r} has no form in a model file", do=do)


def _is_same(one: RowBlock, other: RowBlock) -> bool:
    arrays = ("row", "x", "y", "coefficient", "lower", "upper")
    return one.name == other.name and all(np.array_equal(getattr(one, a), getattr(other, a)) for a in arrays)
