"""The command vertices: the extreme points of a model's mechanisms."""

from itertools import islice
from typing import Annotated, Any

import typer

from ldpopt.cli import options
from ldpopt.cli.options import option
from ldpopt.cli.printing import say, show, working
from ldpopt.foundation.display import Facts, Part, Table, label


def vertices(
    model: options.ModelPath,
    list_all: Annotated[
        int, typer.Option("--list", metavar="N", min=0, help="Print the first N points.")
    ] = 0,
    fractions: Annotated[
        bool, option("--fractions", "Print exact fractions, not formulas (JSON has both).")
    ] = False,
    time_limit: Annotated[
        float | None,
        option(
            "--time-limit S",
            "Seconds for a list that is too long: print what is found by then.",
            min=1e-3,
        ),
    ] = None,
    json: options.Json = None,
) -> None:
    """List the extreme points of a model's private mechanisms.

    Prints their number by the number of reports in use, their orbits under permutations, and with
    --list the points. Entries are formulas in a = e^epsilon, which are exact for every epsilon. As
    a fraction, an entry for a decimal epsilon is that of a rational just below e^epsilon.
    """
    from ldpopt.polytope.vertices import extreme_points
    from ldpopt.problem.modelfile import read_model

    stated = read_model(model)
    problem = stated.require_problem(model)
    with working("extreme points"):
        points = extreme_points(
            problem.privacy, *problem.utility.shape, inputs=problem.inputs, time_limit=time_limit
        )
        if points.forecast:
            say(f"note: {points.forecast}")
        facts = points.facts(fractions=fractions)
        listed = list(islice(points, list_all))
        orbits = points.orbits if points.is_complete else ()
    parts: list[Part] = list(facts.parts)
    for point in listed:
        cells = [[str(v) if fractions else float(v) for v in row] for row in point.tolist()]
        rows = [[label(name), *row] for name, row in zip(problem.inputs, cells, strict=True)]
        parts.append(Table(["answer", *map(label, problem.outputs)], rows, point.formula, digits=4))
    keys = ("columns", "size", "stabilizer")
    data = {
        "count": points.count,
        "is_complete": points.is_complete,
        "counts_by_columns": points.counts_by_columns,
        "orbits": [
            {key: getattr(orbit, key) for key in keys}
            | {
                "formula": orbit.representative.formula,
                "representative": _strings(orbit.representative),
            }
            for orbit in orbits
        ],
        "vertices": [_strings(point) for point in listed],
    }
    show(Facts(stated.title or model, parts), data, json)


def _strings(point: Any) -> list[list[str]]:
    return [[str(value) for value in row] for row in point.tolist()]
