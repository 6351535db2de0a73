"""A problem in plain JSON values that read back as the same problem: what is trusted in a certificate's file."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.certificate.duals import KNOWN
from ldpopt.certificate.entries import Entry
from ldpopt.errors import CertificateError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.rows import RowBlock
from ldpopt.privacy import ApproximateLDP, GraphDP, MetricDP, PureLDP
from ldpopt.statement.problem import Problem
from ldpopt.statement.utility import Utility


def plain_problem(problem: Problem) -> dict[str, Any]:
    """Lay out a problem; floats are numbers of the shortest text that reads back the same.

    Raises
    ------
    CertificateError
        If the notion is a plug-in's, or a label is neither text nor a number.
    """
    return {
        "inputs": _plain_labels(problem.inputs),
        "outputs": _plain_labels(problem.outputs),
        "objective": problem.objective,
        "prior": None if problem.prior is None else problem.prior.tolist(),
        "sense": problem.utility.sense,
        "utility": problem.utility.matrix.tolist(),
        "privacy": _plain_privacy(problem.privacy, problem.inputs),
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
    inputs, outputs = _labels(table["inputs"]), _labels(table["outputs"])
    n, m = len(inputs), len(outputs)
    objective: Any = table["objective"].text("expected", "worst_case")
    prior = None if table["prior"].value is None else table["prior"].numbers(n)
    sense: Any = table["sense"].text("gain", "loss")
    matrix = table["utility"].numbers(n, m)
    try:
        privacy = _privacy(table["privacy"], inputs)
        blocks = [_block(block, n, m) for block in table["constraints"].list()]
        utility = Utility(matrix, sense)
        return Problem(prior, utility, privacy, inputs=inputs, outputs=outputs, objective=objective, constraints=blocks)
    except StatementError as error:
        if error.where:
            raise
        raise entry.error(error.what, error.do) from None


def _plain_labels(names: Sequence[Hashable]) -> list[str | int | float]:
    plain: list[str | int | float] = []
    for name in names:
        value = name.item() if isinstance(name, np.generic) else name
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise CertificateError(f"label {name!r} is neither text nor a number: it has no JSON form")
        plain.append(value)
    return plain


def _labels(entry: Entry) -> list[str | int | float]:
    rows = entry.list()
    return [
        row.value if isinstance(row.value, (str, int)) and not isinstance(row.value, bool) else row.number()
        for row in rows
    ]


def _plain_privacy(privacy: Any, inputs: Sequence[Hashable]) -> dict[str, Any]:
    if type(privacy) not in KNOWN:
        raise CertificateError(
            f"the privacy notion {type(privacy).__name__} has no form in a certificate's file",
            do=f"certify() holds in Python; files know {', '.join(notion.__name__ for notion in KNOWN)}",
        )
    stated: dict[str, Any] = {"kind": "pure", "epsilon": _plain_budget(privacy.epsilon)}
    if isinstance(privacy, ApproximateLDP):
        return stated | {"kind": "approximate", "delta": privacy.delta, "form": privacy.form}
    if isinstance(privacy, GraphDP):
        first, second = privacy.ties(inputs).pairs()
        edges = [[int(x), int(k)] for x, k in zip(first, second, strict=True) if x < k]
        return stated | {"kind": "graph", "edges": edges}
    if isinstance(privacy, MetricDP):
        return stated | {"kind": "metric", "distance": privacy.matrix(inputs).tolist()}
    return stated


def _privacy(entry: Entry, inputs: Sequence[Hashable]) -> Any:
    given = entry.value if isinstance(entry.value, dict) else {}
    keys = {"approximate": ("delta", "form"), "graph": ("edges",), "metric": ("distance",)}
    table = entry.table("kind", "epsilon", *keys.get(str(given.get("kind")), ()))
    kind = table["kind"].text("pure", *keys)
    stated = table["epsilon"]
    epsilon = stated.text() if isinstance(stated.value, str) else stated.number()
    if kind == "approximate":
        form: Any = table["form"].text("event", "entry")
        return ApproximateLDP(epsilon, table["delta"].number(), form)
    if kind == "graph":
        import networkx as nx

        graph: nx.Graph[Any] = nx.Graph()
        graph.add_nodes_from(inputs)
        n = len(inputs)
        for edge in table["edges"].list():
            graph.add_edge(*(inputs[end.whole(n)] for end in edge.list(2)))
        return GraphDP(epsilon, graph)
    if kind == "metric":
        return MetricDP(epsilon, table["distance"].numbers(len(inputs), len(inputs)))
    return PureLDP(epsilon)


def _plain_budget(epsilon: Budget) -> float | str:
    """State a number where the budget is that float exactly, else its own text if that is exact."""
    if epsilon.ratio is not None or Budget(epsilon.text).nats == epsilon.nats != Fraction(float(epsilon)):
        return epsilon.text
    return float(epsilon) if epsilon.nats == Fraction(float(epsilon)) else str(epsilon.nats)


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
