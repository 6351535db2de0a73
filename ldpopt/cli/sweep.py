"""The command sweep: a model at many budgets, deltas and priors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli import options
from ldpopt.cli.interrupts import INTERRUPTED
from ldpopt.cli.options import new_picture, option
from ldpopt.cli.printing import NO_SOLUTION, save_picture, say, show
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.files import file_errors

if TYPE_CHECKING:
    from ldpopt.problem.problem import Problem
    from ldpopt.studies.sweep import SweepResult


def sweep(
    models: options.ModelPaths,
    epsilon: options.Epsilons,
    delta: options.Deltas = None,
    prior_grid: Annotated[
        int | None, option("--prior-grid N", "N priors from (0, 1) to (1, 0).", min=2)
    ] = None,
    jobs: options.Jobs = 1,
    dask: options.Dask = None,
    output: options.CsvTable = None,
    plot: Annotated[
        str | None, new_picture("--plot FILE", "Curves; a surface with --prior-grid.")
    ] = None,
    solver: options.Solver = None,
    time_limit: options.TimeLimit = None,
    checkpoint: options.CheckpointFile = None,
    keep: Annotated[
        str | None, option("--keep FOLDER", "New folder for mechanisms: ROW.json for each row.")
    ] = None,
    json: options.Json = None,
) -> None:
    """Solve a model, or several, at many budgets, deltas and priors.

    Each point is certified. After Ctrl-C or SIGTERM the finished rows are kept, but nothing is
    drawn. With a checkpoint they are kept even if the process is killed, and the same command
    continues.
    """
    from ldpopt.studies.sweep import sweep as sweep_grid

    _require_new_folder(keep)
    problems, limits = options.read_models(models, solver, time_limit)
    names = [str(name) for name in problems]
    alone = next(iter(problems.values()))
    with options.running(f"sweeping {', '.join(names)}", jobs, dask, checkpoint) as run:
        limits |= {"keep": keep is not None, "deltas": options.parse_deltas(delta)} | vars(run)
        swept = alone if len(names) == 1 else problems
        budgets = options.parse_grid(epsilon)
        result = sweep_grid(swept, budgets, _priors(alone, prior_grid), **limits)
    # the checkpoint has them: the next run writes all
    if keep is not None and not (result.interrupted and checkpoint):
        _save_mechanisms(result, keep, names)
    if output is not None:
        result.to_csv(output)
    show(result.facts(), {"interrupted": result.interrupted, "rows": list(result.records())}, json)
    if plot is not None and result.rows and not result.interrupted:
        from ldpopt import plotting as pictures

        has_surface = result.priors is not None and len(result.epsilons) > 1 and not result.cases
        save_picture(plot, (pictures.surface if has_surface else pictures.sweep)(result))
    _exit_unless_solved(result, output)


def _require_new_folder(folder: str | None) -> None:
    """Refuse a folder that has something in it, or cannot be made, before the work begins."""
    if folder is None:
        return
    with file_errors("cannot make the folder", folder, "name a new folder"):
        Path(folder).mkdir(exist_ok=True)
        is_new = not any(Path(folder).iterdir())
    if not is_new:
        raise ModelFileError(
            "the folder is not empty",
            code="folder",
            where=folder,
            do="name a new folder; no file is replaced",
        )


def _priors(problem: Problem, count: int | None) -> Any:
    """Evenly spaced priors of two answers, shape (count, 2)."""
    import numpy as np

    if count is None:
        return None
    if len(problem.inputs) != 2:
        message = f"--prior-grid is for two answers; this model has {len(problem.inputs)}"
        raise StatementError(
            message,
            code="prior-grid",
            do="leave --prior-grid out, or use ldpopt.sweep with a table of priors",
        )
    first = np.linspace(0.0, 1.0, count)
    return np.stack([first, 1 - first], axis=1)


def _save_mechanisms(result: SweepResult, folder: str, names: list[str]) -> None:
    """Write the mechanism of each row that has one under the number of the row, from 1."""
    digits = len(str(len(result.rows)))
    for number, (row, mechanism) in enumerate(
        zip(result.rows, result.mechanisms, strict=True), start=1
    ):
        if mechanism is not None:
            delta = "" if math.isnan(row.delta) else f", delta {row.delta!r}"
            title = f"{row.model or names[0]}, epsilon {row.epsilon!r}{delta}, prior {row.prior}"
            mechanism.save(Path(folder) / f"{number:0{digits}}.json", title=title)


def _exit_unless_solved(result: SweepResult, output: str | None) -> None:
    """End with an exit code if the sweep was interrupted or no point has a solution."""
    if result.interrupted:
        total = (
            len(result.epsilons)
            * (1 if result.priors is None else len(result.priors))
            * max(1, len(result.cases))
        )
        say(
            f"interrupted: {len(result.rows)} of {total} points are finished"
            + (f" and in {output}" if output else "")
        )
        raise typer.Exit(INTERRUPTED)
    if all(math.isnan(row.value) for row in result.rows):
        do = "solve one budget with `ldpopt solve`, which says why"
        say(f"no point has a solution: {result.rows[0].status} | do: {do}")
        raise typer.Exit(NO_SOLUTION)
