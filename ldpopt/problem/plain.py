"""A problem in plain values, as JSON holds them, for certificates and checkpoints; floats and
budgets stay exact.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.documents import Entry, plain_labels
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.notion import from_table, to_table
from ldpopt.privacy.plain import MisstatedError
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility


def plain(problem: Problem) -> dict[str, Any]:
    """Labels, objective, prior, utility, notion and constraints of a problem in lists, numbers and
    text.
    """
    return {
        "inputs": plain_labels(problem.inputs),
        "outputs": plain_labels(problem.outputs),
        "objective": problem.objective,
        "prior": None if problem.prior is None else problem.prior.tolist(),
        "sense": problem.utility.sense,
        "utility": problem.utility.matrix.tolist(),
        "privacy": to_table(problem.privacy, problem.inputs, explicit=True),
        "constraints": [_plain_block(block) for block in problem.constraints],
    }


def from_plain(entry: Entry) -> Problem:
    """Read what `plain` returned; an error names the file and the key."""
    table = entry.table(
        "inputs", "outputs", "objective", "prior", "sense", "utility", "privacy", "constraints"
    )
    inputs = table["inputs"].labels()
    outputs = table["outputs"].labels()
    n = len(inputs)
    m = len(outputs)
    objective: Any = table["objective"].text("expected", "worst_case")
    prior = None if table["prior"].value is None else table["prior"].numbers(n)
    sense: Any = table["sense"].text("gain", "loss")
    try:
        privacy = read_notion(table["privacy"], inputs)
        blocks = [_read_block(block, n, m) for block in table["constraints"].list()]
        utility = Utility(table["utility"].numbers(n, m), sense)
        return Problem(
            prior,
            utility,
            privacy,
            inputs=inputs,
            outputs=outputs,
            objective=objective,
            constraints=blocks,
        )
    except StatementError as error:
        if error.where:
            raise
        raise entry.error(error.what, error.do) from None


def read_notion(entry: Entry, inputs: Sequence[Hashable]) -> Any:
    """Read a privacy notion from a table with its kind."""
    if not isinstance(entry.value, dict):
        raise entry.error("the privacy notion should be an object with its kind and its keys")
    try:
        return from_table(entry.value, inputs)
    except MisstatedError as error:
        below = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.key)
        raise Entry(None, entry.path, entry.key + below).error(error.what, error.do) from None
    except StatementError as error:
        raise entry.error(error.what, error.do) from None


def _plain_block(block: RowBlock) -> dict[str, Any]:
    rows: list[list[list[float]]] = [[] for _ in range(len(block))]
    for r, x, y, a in zip(
        *(part.tolist() for part in (block.row, block.x, block.y, block.coefficient)), strict=True
    ):
        rows[r].append([x, y, a])
    both = (block.lower, block.upper)
    lower, upper = (
        [side if np.isfinite(side) else None for side in sides.tolist()] for sides in both
    )
    return {"name": block.name, "rows": rows, "lower": lower, "upper": upper}


def _read_block(entry: Entry, n: int, m: int) -> RowBlock:
    table = entry.table("name", "rows", "lower", "upper")
    rows = table["rows"].list()
    terms = [(r, term.list(3)) for r, row in enumerate(rows) for term in row.list()]
    sides = [
        (table[key].list(len(rows)), none) for key, none in (("lower", -np.inf), ("upper", np.inf))
    ]
    lower, upper = (
        np.array([none if s.value is None else s.number() for s in side]) for side, none in sides
    )
    places = np.array(
        [(r, parts[0].whole(n), parts[1].whole(m)) for r, parts in terms], np.int64
    ).reshape(-1, 3)
    numbers = np.array([parts[2].number() for _, parts in terms], float)
    row, x, y = places.T
    return RowBlock(table["name"].text(), row, x, y, numbers, lower, upper, shape=(n, m))
