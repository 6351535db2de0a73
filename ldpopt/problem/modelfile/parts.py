"""From the parts of a problem to the tables of a model file, in plain Python values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.notion import to_table
from ldpopt.problem import constraints
from ldpopt.problem import utility as utilities
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.modelfile.workload import stated_inputs
from ldpopt.problem.problem import Problem


def model_tables(problem: Problem | None, design: DesignProblem | None) -> dict[str, Any]:
    """Build the tables of a problem, a design problem, or both, in the order of a file."""
    if problem is None and design is None:
        raise StatementError("the model has neither a problem nor a workload", do="state one of them")
    if problem is None:
        assert design is not None
        return _design_tables(design)
    named = () if design is None else tuple(stated_inputs(design.workload.to_plain()) or ())
    tables = problem_tables(problem, alphabet=not tuple(problem.inputs) == tuple(problem.outputs) == named)
    if design is not None:
        _require_alike(tables, _design_tables(design), problem)
        tables |= _workload_tables(design)
    return tables


def _design_tables(design: DesignProblem) -> dict[str, Any]:
    """Tables that state what is to be estimated."""
    inputs = design.workload.inputs
    tables: dict[str, Any] = {} if design.objective == "average" else {"objective": design.objective}
    if inputs != tuple(stated_inputs(design.workload.to_plain()) or ()):
        tables["alphabet"] = {"inputs": _labels(inputs)}
    if design.weights is not None:
        tables["prior"] = {"values": design.weights.tolist()}
    return tables | _workload_tables(design) | {"privacy": to_table(design.privacy, inputs)}


def _workload_tables(design: DesignProblem) -> dict[str, Any]:
    """Write the table of a workload, or one for each part."""
    stated = design.workload.to_plain()
    if "part" in stated:
        return {"workload.part": [_written(part) for part in stated["part"]]}
    return {"workload": _written(stated)}


def _written(table: dict[str, Any]) -> dict[str, Any]:
    return table | ({"names": _labels(table["names"])} if "names" in table else {})


def _require_alike(one: dict[str, Any], other: dict[str, Any], problem: Problem) -> None:
    """Refuse a problem and a design problem that one file cannot state."""
    uniform = {"values": [1 / len(problem.inputs)] * len(problem.inputs)}
    for key, default in (("objective", None), ("alphabet", None), ("prior", uniform), ("privacy", None)):
        mine, others = one.get(key, default), other.get(key, default)
        if key == "alphabet":
            mine, others = (mine or {}).get("inputs"), (others or mine or {}).get("inputs")
        if problem.prior is None and key == "prior":
            continue
        if mine != others:
            what = f"the utility and the workload of a model differ in {key}"
            raise StatementError(what, do="write them to two files")


def problem_tables(problem: Problem, *, alphabet: bool = True) -> dict[str, Any]:
    """Build the tables that state a problem, in the order of a file; without the labels where a workload names them."""
    tables: dict[str, Any] = {} if problem.objective == "expected" else {"objective": problem.objective}
    if alphabet:
        inputs, outputs = _labels(problem.inputs), _labels(problem.outputs)
        tables["alphabet"] = {"inputs": inputs} | ({} if outputs == inputs else {"outputs": outputs})
    if problem.prior is not None:
        tables["prior"] = {"values": problem.prior.tolist()}
    tables["utility"] = _utility_table(problem)
    tables["privacy"] = to_table(problem.privacy, problem.inputs)
    tables["constraints"] = [_constraint_table(block, problem) for block in problem.constraints]
    return tables


def _labels(names: Iterable[Hashable]) -> list[str | int | float]:
    plain: list[str | int | float] = []
    for name in names:
        if not isinstance(name, (str, int, float)) or isinstance(name, bool):
            do = "name the letters of the alphabet by text or by number"
            raise StatementError(f"the label {name!r} cannot be written to a model file", do=do)
        plain.append(name)
    return plain


def _utility_table(problem: Problem) -> dict[str, Any]:
    """Return the name of a known utility, or else its matrix."""
    utility = problem.utility
    for name in utilities.NAMED:
        try:
            same = utilities.named(name, problem.inputs, problem.outputs)
        except StatementError:
            continue
        if same.sense == utility.sense and np.array_equal(same.matrix, utility.matrix):
            return {"kind": name}
    return {utility.sense: utility.matrix.tolist()}


def _constraint_table(block: RowBlock, problem: Problem) -> dict[str, Any]:
    """Recognize `unbiased` and `linear` constraints from their rows; other rows cannot be written."""
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
    raise StatementError(f"the constraint {block.name!r} cannot be written to a model file", do=do)


def _is_same(one: RowBlock, other: RowBlock) -> bool:
    arrays = ("row", "x", "y", "coefficient", "lower", "upper")
    return one.name == other.name and all(np.array_equal(getattr(one, a), getattr(other, a)) for a in arrays)
