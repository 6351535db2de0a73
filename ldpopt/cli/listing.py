"""The verb vertices: the extreme points of a model's mechanisms."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli.output import Json, ModelPath, label, print_table, report, wait_for

if TYPE_CHECKING:
    from ldpopt.polytope.vertices import ExtremePoints
    from ldpopt.problem.problem import Problem

MAX_ORBITS = 20
"""Most orbits that are printed."""


def vertices(
    model: ModelPath,
    list_all: Annotated[int, typer.Option("--list", metavar="N", min=0, help="Print the first N points.")] = 0,
    fractions: Annotated[
        bool, typer.Option("--fractions", help="Print exact fractions, not four digits (JSON always has them).")
    ] = False,
    json: Json = None,
) -> None:
    """List the extreme points of the set of mechanisms that are private for a model.

    Prints their number by the number of reports in use, their orbits under permutations, and with --list the points.
    For pure privacy it also shows the levels of each orbit: an entry of a column is the smallest one (1), alpha =
    e^epsilon times as large, or what is left of its row (*). A decimal epsilon stands for a rational just below
    e^epsilon.
    """
    from ldpopt.polytope.vertices import extreme_points
    from ldpopt.problem.modelfile import read_model

    stated = read_model(model)
    problem = stated.require_problem(model)
    shape = problem.utility.shape
    points = extreme_points(problem.privacy, *shape, inputs=problem.inputs)
    data = wait_for(lambda: _facts(points, list_all), "extreme points")
    report(data, json, lambda: _show(stated.title or model, points, data, problem, fractions))


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


def _show(title: str, points: ExtremePoints, data: dict[str, Any], problem: Problem, fractions: bool) -> None:
    counts = data["counts_by_columns"]
    rows = [[str(columns), f"{count:,}"] for columns, count in counts.items()] + [["all", f"{data['count']:,}"]]
    print_table(["reports in use", "extreme points"], rows, title=title)
    print()
    _show_orbits(points, fractions)
    for vertex in data["vertices"]:
        print()
        table = [
            [label(name), *(_entry(value, fractions) for value in row)]
            for name, row in zip(problem.inputs, vertex, strict=True)
        ]
        print_table(["answer", *(label(name) for name in problem.outputs)], table)


def _show_orbits(points: ExtremePoints, fractions: bool) -> None:
    """One row for each orbit: how many points it has, the levels of one of them, and its entries."""
    shown, rest = points.orbits[:MAX_ORBITS], len(points.orbits) - MAX_ORBITS
    has_levels = any(orbit.pattern for orbit in shown)
    rows = []
    for orbit in shown:
        entries = " / ".join(" ".join(_entry(value, fractions) for value in row) for row in orbit.representative)
        levels = " / ".join(" ".join(_level(column[x]) for column in orbit.pattern) for x in range(points.shape[0]))
        rows.append([str(orbit.columns), f"{orbit.size:,}", *([levels] if has_levels else []), entries])
    headings = ["in use", "size", *(["levels"] if has_levels else []), "representative, row by row"]
    print_table(headings, rows, title=f"{len(points.orbits)} orbits under permutations", words=headings[2:])
    if rest > 0:
        print(f"and {rest} more; use --json - for all")
    if has_levels:
        free = "; *: what is left of the row" if any(2 in column for o in shown for column in o.pattern) else ""
        print(f"levels of a column: 1, and {_level(1)} = e^epsilon times as much{free}")


def _level(level: int) -> str:
    """Symbol of a level: low, high or free."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    high = "\u03b1" if encoding.lower().startswith("utf") else "a"
    return ("1", high, "*")[level]


def _entry(value: Any, fractions: bool) -> str:
    """A fraction as it is, or with four digits."""
    return str(value) if fractions else f"{float(Fraction(value)):.4g}"
