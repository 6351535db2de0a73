"""The command simulate: surveys that are simulated with mechanisms, or with the solutions of
models.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ldpopt.cli import options
from ldpopt.cli.options import argument, option
from ldpopt.cli.printing import progress_bar, say, show, working
from ldpopt.cli.questions import read_mechanism
from ldpopt.errors import NoSolutionError, StatementError
from ldpopt.foundation.display import Facts, Table, thinned
from ldpopt.foundation.labels import text_of
from ldpopt.processes.run import RunOptions

if TYPE_CHECKING:
    from ldpopt.problem.problem import Problem
    from ldpopt.studies.simulate import Setting


class Name(NamedTuple):
    """Name of a setting: its file, and the budget and delta if they are varied."""

    file: str
    epsilon: float | None = None
    delta: float | None = None


def simulate(
    files: Annotated[
        list[str],
        argument(
            "MODEL|MECHANISM...",
            "Models (TOML), which are solved, or names of `ldpopt models`; or mechanisms (JSON).",
            callback=options.find_models,
        ),
    ],
    people: options.People,
    repeats: Annotated[
        int, option("--repeats N", "Surveys with each number of people.", min=2)
    ] = 100,
    seed: Annotated[
        int | None, option("--seed N", "Repeatable surveys; required with --checkpoint.", min=0)
    ] = None,
    epsilon: Annotated[
        str | None, option("--epsilon GRID", "Budgets, as 0.5:2:4 (default: of the model).")
    ] = None,
    delta: options.Deltas = None,
    prior: Annotated[
        str | None,
        option(
            "--prior LABEL=W,...",
            "Shares of the answers (default: the model's; uniform without one).",
        ),
    ] = None,
    jobs: options.Jobs = 1,
    dask: options.Dask = None,
    output: options.CsvTable = None,
    solver: options.Solver = None,
    time_limit: options.TimeLimit = None,
    checkpoint: options.CheckpointFile = None,
    json: options.Json = None,
) -> None:
    """Simulate surveys with mechanisms or solved models.

    Answers are drawn from the prior, reports from the mechanism. The table compares the average
    utility of the surveys with the expected one, and has the root mean squared error of the
    estimated shares, over surveys and answers. With a checkpoint, finished surveys are kept even if
    the process is killed, and the same command continues.
    """
    from ldpopt.foundation.files import write_csv
    from ldpopt.studies.simulate import simulate_grid

    sizes = options.parse_people(people)
    if checkpoint is not None and seed is None:
        raise typer.BadParameter(
            "--checkpoint needs a --seed, so that the next run simulates the same surveys"
        )
    with options.executor_of(dask, jobs) as executor:
        with working("solving the models"):
            settings: Any = dict(_settings(files, prior, epsilon, delta, solver, time_limit))
        with progress_bar(
            f"simulating {', '.join(dict.fromkeys(name.file for name in settings))}"
        ) as progress:
            run = vars(RunOptions(jobs, executor, checkpoint, progress))
            grid = simulate_grid(settings, sizes, repeats=repeats, rng=seed, **run)
    rows = [{**record.pop("setting")._asdict(), **record} for record in grid.records()]
    rows = [
        {key: row[key] for key in row if any(other[key] is not None for other in rows)}
        for row in rows
    ]
    if output is not None:
        write_csv(rows, output)
    few, more = thinned(rows)
    keys = [key for key in few[0] if key != "repeats"]
    table = Table(
        [key.replace("_", " ") for key in keys], [[row[key] for key in keys] for row in few]
    )
    show(
        Facts(f"{repeats} surveys for each row{more}", [table]), {"seed": seed, "rows": rows}, json
    )


def _settings(
    files: list[str],
    prior: str | None,
    epsilon: str | None,
    delta: str | None,
    solver: str | None,
    limit: float | None,
) -> Iterator[tuple[Name, Setting]]:
    """Mechanisms of all files at all budgets, with priors and utilities, in the order of the
    files.
    """
    from ldpopt.studies.simulate import Setting

    if delta is not None and epsilon is None:
        raise StatementError(
            "deltas are varied together with budgets",
            code="delta",
            where="--delta",
            do="give --epsilon, too",
        )
    settings: dict[str, list[tuple[Name, Setting]]] = {}
    models = [file for file in files if Path(file).suffix.lower() != ".json"]
    solved = (
        _solve_models(*options.read_models(models, solver, limit), epsilon, delta) if models else ()
    )
    for name, setting in solved:
        settings.setdefault(name.file, []).append((name, setting))
    for file_name, file in zip(options.unique_names(files), files, strict=True):
        if file in models:
            yield from (
                (name, _with_prior(setting, prior)) for name, setting in settings[file_name]
            )
            continue
        if epsilon is not None:
            do = "leave --epsilon out, or name its model"
            raise StatementError(
                "a mechanism has a budget of its own", code="epsilon", where=file, do=do
            )
        mechanism = read_mechanism(file)
        utility = "identity" if mechanism.inputs == mechanism.outputs else None
        yield Name(file_name), _with_prior(Setting(mechanism, None, utility), prior)


def _solve_models(
    problems: dict[Hashable, Problem],
    limits: dict[str, Any],
    epsilon: str | None,
    delta: str | None,
) -> Iterator[tuple[Name, Setting]]:
    """The solutions of models."""
    from ldpopt.solving.solve import solve
    from ldpopt.studies.simulate import Setting
    from ldpopt.studies.sweep import sweep

    if epsilon is None:
        for name, problem in problems.items():
            yield (
                Name(str(name)),
                Setting(solve(problem, **limits).mechanism, problem.prior, problem.utility),
            )
        return
    solved = sweep(
        problems,
        options.parse_grid(epsilon),
        deltas=options.parse_deltas(delta),
        keep=True,
        **limits,
    )
    for row, mechanism in zip(solved.rows, solved.mechanisms, strict=True):
        if mechanism is None:
            where = f"{row.model}, epsilon = {row.epsilon!r}"
            do = "leave this budget out, or give a --time-limit"
            raise NoSolutionError(
                f"no mechanism: {row.status}", code="mechanism", where=where, do=do
            )
        problem = problems[row.model]
        varied = None if math.isnan(row.delta) else row.delta
        yield (
            Name(row.model, row.epsilon, varied),
            Setting(mechanism, problem.prior, problem.utility),
        )


def _with_prior(setting: Setting, prior: str | None) -> Setting:
    """The given prior; uniform if there is none."""
    inputs = setting.mechanism.inputs
    if prior is not None:
        return setting._replace(prior=_parse_prior(prior, inputs))
    if setting.prior is None:
        say(
            f"note: no prior is given; the {len(inputs)} answers are drawn with equal probabilities"
        )
        return setting._replace(prior=dict.fromkeys(inputs, 1.0))
    return setting


def _parse_prior(text: str, inputs: tuple[Hashable, ...]) -> dict[Hashable, float]:
    """Weights by label, such as no=3,yes=1; labels are matched by their texts."""
    labels = {text_of(name): name for name in inputs}
    weights: dict[Hashable, float] = {}
    do = "write a weight for each label, such as no=3,yes=1"
    for part in text.split(","):
        name, _, weight = part.rpartition("=")
        if (label := labels.get(name.strip(), name.strip())) in weights:
            raise StatementError(
                f"{name.strip()!r} has two weights", code="duplicate", where="--prior", do=do
            )
        try:
            weights[label] = float(weight)
        except ValueError:
            raise StatementError(
                f"{part!r} is not a weight of a label", code="weights", where="--prior", do=do
            ) from None
    return weights
