"""Writing of model files: tables of a problem, and their text."""

import math
import os
import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.files import replacing
from ldpopt.foundation.numbers import require_kind, short_repr
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.notion import to_table
from ldpopt.problem import constraints
from ldpopt.problem.design_problem import DesignProblem
from ldpopt.problem.modelfile.model import Model
from ldpopt.problem.modelfile.page import LARGEST_FILE
from ldpopt.problem.modelfile.read import own_inputs
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import name_of
from ldpopt.problem.workload import Workload

_PLAIN_KEY = re.compile("[A-Za-z0-9_-]+")


def save_model(problem: Problem | DesignProblem | Model, path: str | os.PathLike[str]) -> None:
    """Write a problem, or a model with its title and expectation, as a file that reads back equal;
    atomic.

    Parameters
    ----------
    problem : Problem or DesignProblem or Model
        A data set is written as its numbers, a grid as its edges, a distance as its matrix.
    path : path-like
        Written atomically.

    Raises
    ------
    StatementError
        If a part cannot be written to a model file: labels that are neither text nor numbers,
        another constraint.
    ModelFileError
        If the file cannot be written.
    """
    do = "pass solution.problem" if hasattr(problem, "problem") else "pass a Problem"
    require_kind(problem, (Problem, DesignProblem, Model), "save_model()", do)
    if not isinstance(problem, Model):
        problem = Model(problem) if isinstance(problem, Problem) else Model(None, design=problem)
    if len(text := format_tables(_tables(problem))) > LARGEST_FILE:
        fault = f"the model takes {len(text):,} bytes; a model file has at most {LARGEST_FILE:,}"
        raise StatementError(
            fault,
            code="file-size",
            do="describe large arrays by their kinds, such as a metric by its points",
        )
    try:
        with replacing(path) as stream:
            stream.write(text)
    except UnicodeEncodeError as error:
        fault = f"cannot write the model: {error}"
        raise ModelFileError(
            fault, where=os.fspath(path), do="name a file that can be written"
        ) from None


def _tables(model: Model) -> dict[str, Any]:
    """Tables of a file, in their order, in plain Python values."""
    problem, design = model.problem, model.design
    texts = {"title": model.title, "source": model.source}
    tables: dict[str, Any] = {key: text for key, text in texts.items() if text}
    if problem is None and design is None:
        if model.hypotheses is None:
            raise StatementError(
                "the model has neither a problem nor a workload nor distributions to test",
                code="empty-model",
                do="give a problem, a workload or hypotheses",
            )
        labels = _labels(model.inputs)
        tables |= {"alphabet": {"inputs": labels}}
        tables["privacy"] = to_table(model.privacy, model.inputs)
    elif problem is None:
        assert design is not None
        tables |= _design_tables(design)
    else:
        tables |= _problem_tables(problem, () if design is None else _own_inputs(design.workload))
        if design is not None:
            _require_alike(tables, _design_tables(design), problem)
            tables |= _workload_tables(design.workload)
    if (stated := model.hypotheses) is not None:
        if (stated.inputs, stated.privacy) != (model.inputs, model.privacy):
            raise StatementError(
                "the distributions to test are of other answers or another notion than the model",
                code="hypotheses",
                do="write them to a file of their own",
            )
        asked = {"level": stated.level, "power": stated.power, "kind": stated.kind}
        usual = {"level": 0.05, "power": 0.9, "kind": "kl"}
        tables["test"] = {"first": stated.first.tolist(), "second": stated.second.tolist()}
        tables["test"] |= {key: each for key, each in asked.items() if each != usual[key]}
    limit = {} if model.time_limit is None else {"time_limit": float(model.time_limit)}
    if model.solver != "auto" or limit:
        tables["solver"] = {"name": model.solver} | limit
    if model.expect is not None:
        numbers = {key: getattr(model.expect, key) for key in ("value", "variance", "tolerance")}
        tables["expect"] = {
            key: float(number) for key, number in numbers.items() if number is not None
        }
    return tables


def _problem_tables(problem: Problem, known: tuple[Hashable, ...]) -> dict[str, Any]:
    """Tables of a problem; without labels that are known from a workload."""
    tables: dict[str, Any] = (
        {} if problem.objective == "expected" else {"objective": problem.objective}
    )
    if not problem.inputs == problem.outputs == known:
        inputs = _labels(problem.inputs)
        outputs = _labels(problem.outputs)
        tables["alphabet"] = {"inputs": inputs} | (
            {} if outputs == inputs else {"outputs": outputs}
        )
    if problem.prior is not None:
        tables["prior"] = {"values": problem.prior.tolist()}
    tables["utility"] = _utility_table(problem)
    tables["privacy"] = to_table(problem.privacy, problem.inputs)
    tables["constraints"] = [_constraint_table(block, problem) for block in problem.constraints]
    return tables


def _design_tables(design: DesignProblem) -> dict[str, Any]:
    """Tables of a design problem."""
    inputs = design.workload.inputs
    tables: dict[str, Any] = (
        {} if design.objective == "average" else {"objective": design.objective}
    )
    if inputs != _own_inputs(design.workload):
        tables["alphabet"] = {"inputs": _labels(inputs)}
    if design.weights is not None:
        tables["prior"] = {"values": design.weights.tolist()}
    return (
        tables | _workload_tables(design.workload) | {"privacy": to_table(design.privacy, inputs)}
    )


def _own_inputs(workload: Workload) -> tuple[Hashable, ...]:
    """Answers that a file knows from the table of the workload alone."""
    return tuple(own_inputs(workload.to_plain()) or ())


def _workload_tables(workload: Workload) -> dict[str, Any]:
    """Table of a workload, or one for each part."""
    table = workload.to_plain()
    parts = table.get("part", [table])
    parts = [
        part | ({"names": _labels(part["names"])} if "names" in part else {}) for part in parts
    ]
    return {"workload.part": parts} if "part" in table else {"workload": parts[0]}


def _require_alike(program: dict[str, Any], design: dict[str, Any], problem: Problem) -> None:
    """Refuse a problem and a design problem that differ in what they share in a file."""
    uniform = {"values": [1 / len(problem.inputs)] * len(problem.inputs)}
    for key, default in (
        ("objective", None),
        ("alphabet", None),
        ("prior", uniform),
        ("privacy", None),
    ):
        mine = program.get(key, default)
        others = design.get(key, default)
        if key == "alphabet":
            # a workload whose own table names its answers states none, and has no outputs
            mine = (mine or {}).get("inputs")
            others = mine if others is None else others.get("inputs")
        if mine != others and not (problem.prior is None and key == "prior"):
            fault = f"the utility and the workload of a model differ in {key}"
            raise StatementError(fault, code="parts", do="write utility and workload to two files")


def _labels(names: Iterable[Hashable]) -> list[str | int | float]:
    plain: list[Any] = list(names)
    for name in plain:
        if not isinstance(name, (str, int, float)) or isinstance(name, bool):
            do = "name the letters of the alphabet by text or by number"
            raise StatementError(
                f"the label {name!r} cannot be written to a model file", code="labels", do=do
            )
    return plain


def _utility_table(problem: Problem) -> dict[str, Any]:
    """Name of a known utility, or else its matrix."""
    utility = problem.utility
    name = name_of(utility, problem.inputs, problem.outputs)
    return {"kind": name} if name else {utility.sense: utility.matrix.tolist()}


def _constraint_table(block: RowBlock, problem: Problem) -> dict[str, Any]:
    """Recognize `unbiased` and `linear` constraints by their rows; other rows cannot be written."""
    if len(block) == len(problem.inputs):
        first = block.row == 0
        outputs = np.zeros(len(problem.outputs))
        outputs[block.y[first]] = block.coefficient[first]
        if _is_same(constraints.unbiased(block.lower, outputs), block):
            return {"kind": "unbiased", "values": block.lower.tolist(), "outputs": outputs.tolist()}
    if len(block) == 1:
        matrix = np.zeros(problem.utility.shape)
        matrix[block.x, block.y] = block.coefficient
        lower = float(block.lower[0])
        upper = float(block.upper[0])
        if _is_same(constraints.linear(matrix, lower, upper, block.name), block):
            bounds = {
                key: bound
                for key, bound in (("lower", lower), ("upper", upper))
                if np.isfinite(bound)
            }
            return {"kind": "linear", "name": block.name, "coefficients": matrix.tolist()} | bounds
    do = "keep this constraint in Python: model files have those of ldpopt.constraints only"
    raise StatementError(
        f"the constraint {block.name!r} cannot be written to a model file", code="constraint", do=do
    )


def _is_same(block: RowBlock, other: RowBlock) -> bool:
    arrays = ("row", "x", "y", "coefficient", "lower", "upper")
    return block.name == other.name and all(
        np.array_equal(getattr(block, a), getattr(other, a)) for a in arrays
    )


def format_tables(tables: Mapping[str, Any]) -> str:
    """Text of tables, with one row of a matrix on each line."""
    plain = {key: value for key, value in tables.items() if isinstance(value, str)}
    lines = [f"{key} = {format_value(value)}" for key, value in plain.items()]
    for name, value in tables.items():
        for table in [value] if isinstance(value, Mapping) else value if name not in plain else []:
            lines += ["", f"[{name}]" if isinstance(value, Mapping) else f"[[{name}]]"]
            lines += [f"{_key(key)} = {format_value(entry)}" for key, entry in table.items()]
    return "\n".join(lines).lstrip("\n") + "\n"


def _key(name: str) -> str:
    """A key in TOML: quoted if it is a label with other characters than plain keys have."""
    return name if _PLAIN_KEY.fullmatch(name) else format_value(name)


def format_value(value: Any, *, flat: bool = False) -> str:
    """Text of a value in TOML; a matrix has one row on each line, unless it is ``flat``."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda c: f"\\u{ord(c[0]):04x}", escaped) + '"'
    if isinstance(value, Mapping):
        parts = (f"{_key(key)} = {format_value(entry, flat=True)}" for key, entry in value.items())
        return f"{{ {', '.join(parts)} }}"
    if isinstance(value, (list, tuple)):
        entries = [format_value(entry, flat=True) for entry in value]
        if not flat and value and isinstance(value[0], (list, tuple, Mapping)):
            return "[\n" + "".join(f"    {row},\n" for row in entries) + "]"
        return f"[{', '.join(entries)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)) and math.isfinite(value):
        return repr(value)
    problem = f"{short_repr(value)} cannot be written to a model file"
    raise StatementError(problem, do="use numbers, text, lists and tables only")
