"""The command experiment: protocols for means, compared on the numbers of a table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from ldpopt.cli import options
from ldpopt.cli.options import argument, option
from ldpopt.cli.printing import show
from ldpopt.errors import StatementError
from ldpopt.foundation.display import Facts, Table, shown, thinned

if TYPE_CHECKING:
    from ldpopt.studies.experiment import MeanExperiment


def experiment(
    answers: Annotated[
        str, argument("ANSWERS", "Table of numbers: CSV or Parquet; '-' for stdin.")
    ],
    column: Annotated[list[str], option("--column -c C", "Column of the table; may be repeated.")],
    bounds: Annotated[
        str, option("--range LOW:HIGH", "Range of the answers, known before the survey.")
    ],
    people: options.People,
    epsilon: options.Epsilons,
    protocol: Annotated[
        list[str] | None,
        option("--protocol NAME", "A protocol of ldpopt.mean; may be repeated (default: all)."),
    ] = None,
    sets: Annotated[
        int, option("--sets N", "Data sets drawn for each number of people.", min=1)
    ] = 30,
    seed: Annotated[int, option("--seed N", "Seed of the data sets and reports.", min=0)] = 0,
    jobs: options.Jobs = 1,
    dask: options.Dask = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    show_values: options.ShowValues = False,
    output: options.CsvTable = None,
    checkpoint: options.CheckpointFile = None,
    json: options.Json = None,
) -> None:
    """Compare protocols for means on the numbers of a table.

    People are drawn from the table with replacement, and each reports one of the columns. The
    result has the root mean squared error of the estimated means, in the unit of the answers, and
    its closed form. With a checkpoint, finished runs are kept even if the process is killed, and
    the same command continues.
    """
    from ldpopt.foundation.budget import Budget
    from ldpopt.foundation.files import write_csv
    from ldpopt.studies.experiment import PROTOCOLS, Resampled, compare_means_grid, protocols
    from ldpopt.tables.files import require_csv, require_other_file

    try:
        low, high = map(float, bounds.split(":"))
    except ValueError:
        raise StatementError(
            f"{bounds!r} is not a range",
            code="range",
            where="--range",
            do="write LOW:HIGH, as in 0:9",
        ) from None
    sizes = options.parse_people(people)
    budgets = [float(Budget(budget)) for budget in options.parse_grid(epsilon)]
    names = protocols(protocol or PROTOCOLS, len(column))
    require_other_file(answers, output or "-")
    require_csv([answers])
    data = Resampled(answers, column, low, high)
    task = f"comparing {len(names)} protocols"
    with options.running(task, jobs, dask, checkpoint) as run:
        experiments = compare_means_grid(
            names, data, users=sizes, epsilons=budgets, sets=sets, seed=seed, **vars(run)
        )
    rows = [row for each in experiments.values() for row in _rows(each, high - low)]
    if output is not None:
        write_csv(rows, output)
    few, more = thinned(rows)
    cells = [
        [shown(value, 6 if key == "epsilon" else 4) for key, value in list(row.items())[:-1]]
        for row in few
    ]
    headings = ["people", "epsilon", "protocol", "error", "std error", "theory"]
    title = f"root mean squared errors over {sets} data set{'s' if sets > 1 else ''}{more}"
    show(
        Facts(title, [Table(headings, cells)]),
        {"sets": sets, "seed": seed, "columns": column, "rows": rows},
        json,
    )


def _rows(errors: MeanExperiment, width: float) -> Iterator[dict[str, Any]]:
    """Root mean squares over data sets and columns, in the unit of the answers."""
    for i, epsilon in enumerate(errors.epsilons):
        for j, name in enumerate(errors.algorithms):
            squares = errors.rmse[:, i, j] ** 2
            error = math.sqrt(squares.mean())
            spread = (
                squares.std(ddof=1) / math.sqrt(len(squares)) / (2 * error)
                if len(squares) > 1
                else math.nan
            )
            yield {
                "people": errors.users,
                "epsilon": epsilon,
                "protocol": name,
                "error": width * error,
                "std_error": width * spread,
                "theory": width * math.sqrt((errors.theory[:, i, j] ** 2).mean()),
                "seconds": float(errors.seconds[:, i, j].mean()),
            }
