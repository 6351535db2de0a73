"""A problem in plain JSON values that read back as the same problem: the trusted part of a certificate's file."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpopt.certificate.documents import Entry, plain_labels
from ldpopt.errors import CertificateError, StatementError
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy.graph import GraphDP
from ldpopt.privacy.stated import table_of
from ldpopt.statement.problem import Problem
from ldpopt.statement.utility import Utility


def plain_problem(problem: Problem) -> dict[str, Any]:
    """Convert a problem to plain values; floats use the shortest text that reads back as the same float.

    Raises
    ------
    CertificateError
        If the notion cannot be written to a file, or a label is neither text nor a number.
    """
    return {
        "inputs": plain_labels(problem.inputs),
        "outputs": plain_labels(problem.outputs),
        "objective": problem.objective,
        "prior": None if problem.prior is None else problem.prior.tolist(),
        "sense": problem.utility.sense,
        "utility": problem.utility.matrix.tolist(),
        "privacy": _plain_privacy(problem),
        "constraints": [_plain_block(block) for block in problem.constraints],
    }


def read_problem(entry: Entry) -> Problem:
    """Read what `plain_problem` wrote.

    Raises
    ------
    ModelFileError
        With file and key, if it is anything else.
    """
    table = entry.table("inputs", "outputs", "objective", "prior", "sense", "utility", "privacy", "constraints")
    inputs, outputs = table["inputs"].labels(), table["outputs"].labels()
    n, m = len(inputs), len(outputs)
    objective: Any = table["objective"].text("expected", "worst_case")
    prior = None if table["prior"].value is None else table["prior"].numbers(n)
    sense: Any = table["sense"].text("gain", "loss")
    matrix = table["utility"].numbers(n, m)
    try:
        privacy = table["privacy"].privacy(inputs)
        blocks = [_block(block, n, m) for block in table["constraints"].list()]
        utility = Utility(matrix, sense)
        return Problem(prior, utility, privacy, inputs=inputs, outputs=outputs, objective=objective, constraints=blocks)
    except StatementError as error:
        if error.where:
            raise
        raise entry.error(error.what, error.do) from None


def _plain_privacy(problem: Problem) -> dict[str, Any]:
    """State the notion as a table.

    The notion must have ties: multipliers of other rows cannot be written to a file.
    """
    name = type(problem.privacy).__name__
    ties = problem.ties()
    if ties is None:
        do = "use certify() in Python; files support only notions that derive from TiedNotion"
        raise CertificateError(f"the privacy notion {name} cannot be written to a certificate file", do=do)
    try:
        table = table_of(problem.privacy, problem.inputs)
    except StatementError as error:
        raise CertificateError(error.what, do=error.do) from None
    if isinstance(problem.privacy, GraphDP):  # a family's name would ask a reader to know the family
        del table["neighbors"]
        table["edges"] = [[i, k] for i, k in zip(*(part.tolist() for part in ties.pairs()), strict=True) if i < k]
    return table


def _plain_block(block: RowBlock) -> dict[str, Any]:
    rows: list[list[list[float]]] = [[] for _ in range(len(block))]
    for r, x, y, a in zip(*(part.tolist() for part in (block.row, block.x, block.y, block.coefficient)), strict=True):
        rows[r].append([x, y, a])
    return {
        "name": block.name,
        "rows": rows,
        "lower": [side if np.isfinite(side) else None for side in block.lower.tolist()],
        "upper": [side if np.isfinite(side) else None for side in block.upper.tolist()],
    }


def _block(entry: Entry, n: int, m: int) -> RowBlock:
    table = entry.table("name", "rows", "lower", "upper")
    rows = table["rows"].list()
    terms = [(r, term.list(3)) for r, row in enumerate(rows) for term in row.list()]
    lower, upper = (
        np.array([none if side.value is None else side.number() for side in table[key].list(len(rows))], float)
        for key, none in (("lower", -np.inf), ("upper", np.inf))
    )
    return RowBlock(
        table["name"].text(),
        np.array([r for r, _ in terms], np.int64),
        np.array([parts[0].whole(n) for _, parts in terms], np.int64),
        np.array([parts[1].whole(m) for _, parts in terms], np.int64),
        np.array([parts[2].number() for _, parts in terms], float),
        lower,
        upper,
    )
