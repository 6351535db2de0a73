"""The command vertices: the extreme points of a model's mechanisms."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli import options
from ldpopt.cli.printing import show, working
from ldpopt.foundation.display import Facts, Part, Table, label

if TYPE_CHECKING:
    from ldpopt.polytope.vertices import ExtremePoints


def vertices(
    model: options.ModelPath,
    list_all: Annotated[int, typer.Option("--list", metavar="N", min=0, help="Print the first N points.")] = 0,
    fractions: Annotated[
        bool, typer.Option("--fractions", help="Print exact fractions, not four digits (JSON always has them).")
    ] = False,
    json: options.Json = None,
) -> None:
    """List the extreme points of a model's private mechanisms.

    Prints their number by the number of reports in use, their orbits under permutations, and with --list the points.
    For pure privacy it also shows the levels of each orbit: an entry of a column is the smallest one (1), alpha =
    e^epsilon times as large, or what is left of its row (*). A decimal epsilon stands for a rational just below
    e^epsilon.
    """
    from ldpopt.polytope.vertices import entry_text, extreme_points
    from ldpopt.problem.modelfile import read_model

    found = read_model(model)
    problem = found.require_problem(model)
    points = extreme_points(problem.privacy, *problem.utility.shape, inputs=problem.inputs)
    with working("extreme points"):
        data = _data(points, list_all)
        parts: list[Part] = list(points.facts(fractions=fractions).parts)
    for vertex in data["vertices"]:
        entries = zip(problem.inputs, vertex, strict=True)
        rows = [[label(name), *(entry_text(value, fractions) for value in row)] for name, row in entries]
        parts.append(Table(["answer", *map(label, problem.outputs)], rows))
    show(Facts(found.title or model, parts), data, json)


def _data(points: ExtremePoints, most: int) -> dict[str, Any]:
    orbits = [
        {
            "columns": orbit.columns,
            "size": orbit.size,
            "stabilizer": orbit.stabilizer,
            "representative": _exact(orbit.representative),
        }
        for orbit in points.orbits
    ]
    return {
        "count": points.count,
        "counts_by_columns": points.counts_by_columns,
        "orbits": orbits,
        "vertices": [_exact(vertex) for vertex in islice(points.vertices, most)],
    }


def _exact(vertex: Any) -> list[list[str]]:
    return [[str(value) for value in row] for row in vertex]
