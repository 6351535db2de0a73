"""The verb vertices: the extreme points of a model's mechanisms."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli.output import Json, ModelPath, label, print_table, report, wait_for

if TYPE_CHECKING:
    from ldpopt.polytope.vertices import ExtremePoints


def vertices(
    model: ModelPath,
    list_all: Annotated[int, typer.Option("--list", metavar="N", min=0, help="Print the first N points, exactly.")] = 0,
    json: Json = None,
) -> None:
    """List the extreme points of the mechanisms that a model's privacy allows.

    Counts by number of reports in use, orbits under permutations, and on request the points as fractions. Except for
    pure privacy, epsilon must be stated as "log(p/q)".
    """
    from ldpopt.polytope.vertices import extreme_points
    from ldpopt.statement.modelfile import read_model

    stated = read_model(model)
    problem = stated.require_problem(model)
    shape = problem.utility.shape
    points = extreme_points(problem.privacy, *shape, inputs=problem.inputs)
    data = wait_for(lambda: _facts(points, list_all), "extreme points")
    report(data, json, lambda: _show(stated.title or model, data, problem.inputs, problem.outputs))


def _facts(points: ExtremePoints, most: int) -> dict[str, Any]:
    orbits = [
        {
            "columns": orbit.columns,
            "size": orbit.size,
            "stabilizer": orbit.stabilizer,
            "representative": _text(orbit.representative),
        }
        for orbit in points.orbits
    ]
    return {
        "count": points.count,
        "counts_by_columns": points.counts_by_columns,
        "orbits": orbits,
        "vertices": [_text(vertex) for vertex in islice(points.vertices, most)],
    }


def _text(vertex: Any) -> list[list[str]]:
    return [[str(value) for value in row] for row in vertex]


def _show(title: str, data: dict[str, Any], inputs: Any, outputs: Any) -> None:
    counts = data["counts_by_columns"]
    rows = [[str(columns), f"{count:,}"] for columns, count in counts.items()] + [["all", f"{data['count']:,}"]]
    print_table(["reports in use", "extreme points"], rows, title=title)
    print()
    orbits = [
        [str(orbit["columns"]), f"{orbit['size']:,}", " / ".join(" ".join(row) for row in orbit["representative"])]
        for orbit in data["orbits"]
    ]
    shown, rest = orbits[:20], len(orbits) - 20
    print_table(
        ["reports in use", "size", "representative, row by row"],
        shown,
        title=f"{len(orbits)} orbits under permutations",
    )
    if rest > 0:
        print(f"and {rest} more; use --json - for all")
    for vertex in data["vertices"]:
        print()
        table = [[label(name), *row] for name, row in zip(inputs, vertex, strict=True)]
        print_table(["answer", *(label(name) for name in outputs)], table)
