"""The command simulate."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ldpopt.cli.instruments import read_mechanism
from ldpopt.cli.output import (
    Json,
    find_model,
    number,
    print_table,
    printable,
    progress_bar,
    report,
    require_writable,
    say,
    thinned,
    wait_for,
)
from ldpopt.cli.running import (
    CheckpointFile,
    Dask,
    Deltas,
    Jobs,
    Models,
    People,
    Table,
    executor_of,
    names_of,
    parse_deltas,
    parse_grid,
    parse_people,
)
from ldpopt.cli.solving import Solver, TimeLimit
from ldpopt.errors import NoSolutionError, StatementError

if TYPE_CHECKING:
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.studies.simulate import Setting


class Name(NamedTuple):
    """A setting: the file's name, and what is varied of it."""

    file: str
    epsilon: float | None = None
    delta: float | None = None


def simulate(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL|MECHANISM...",
            help="Models (TOML), which are solved, or names of `ldpopt models`; or mechanisms (JSON).",
            callback=lambda names: [find_model(name) for name in names],
        ),
    ],
    people: People,
    repeats: Annotated[int, typer.Option(min=2, help="Surveys with each number of people.")] = 100,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed, for repeatable surveys; required with --checkpoint.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="GRID", help="Budgets, such as 0.5:2:4 (default: the models' own).")
    ] = None,
    delta: Deltas = None,
    prior: Annotated[
        str | None,
        typer.Option(metavar="LABEL=W,...", help="Shares of the answers (default: the model's; uniform without one)."),
    ] = None,
    jobs: Jobs = 1,
    dask: Dask = None,
    output: Table = None,
    solver: Solver = None,
    time_limit: TimeLimit = None,
    checkpoint: CheckpointFile = None,
    json: Json = None,
) -> None:
    """Simulate surveys with mechanisms, or with the solutions of models.

    Answers are drawn from the prior, reports from the mechanism. The table compares the average utility of the
    surveys with the expected one, and has the root mean squared error of the estimated shares, over surveys and
    answers. With a checkpoint, finished surveys are kept even if the process is killed, and the same command
    continues.
    """
    from ldpopt.studies.simulate import simulate_grid

    require_writable(output)
    sizes = parse_people(people)
    if checkpoint is not None and seed is None:
        raise typer.BadParameter("--checkpoint needs a --seed, so that the next start holds the same surveys")
    with executor_of(dask, jobs) as executor:
        settings = wait_for(
            lambda: dict(_settings(files, prior, epsilon, delta, solver, time_limit)), "solving the models"
        )
        with progress_bar(f"simulating {', '.join(dict.fromkeys(name.file for name in settings))}") as bar:
            grid = simulate_grid(
                settings,  # type: ignore[arg-type]  # a name is hashable
                sizes,
                repeats=repeats,
                rng=seed,
                jobs=jobs,
                executor=executor,
                checkpoint=checkpoint,
                progress=bar,
            )
    rows = [{**record.pop("setting")._asdict(), **record} for record in grid.records()]
    rows = [{key: row[key] for key in row if any(other[key] is not None for other in rows)} for row in rows]
    if output is not None:
        from ldpopt.studies.table import write_csv

        write_csv(rows, output)
    report({"seed": seed, "rows": rows}, json, lambda: _show(rows, repeats))


def _settings(
    files: list[str], prior: str | None, epsilon: str | None, delta: str | None, solver: str | None, limit: float | None
) -> Iterator[tuple[Name, Setting]]:
    """Mechanisms of all files at all budgets, with priors and utilities, in the order of the files."""
    if delta is not None and epsilon is None:
        raise StatementError("deltas are varied together with budgets", where="--delta", do="give --epsilon, too")
    found: dict[str, list[tuple[Name, Setting]]] = {}
    models = [file for file in files if Path(file).suffix.lower() != ".json"]
    for key, setting in _of_models(Models.read(models, solver, limit), epsilon, delta) if models else ():
        found.setdefault(key.file, []).append((key, setting))
    for name, file in zip(names_of(files), files, strict=True):
        if file in models:
            yield from ((key, _with_prior(setting, prior)) for key, setting in found[name])
            continue
        if epsilon is not None:
            do = "leave --epsilon out, or name the model that it is of"
            raise StatementError("a mechanism has a budget of its own", where=file, do=do)
        yield Name(name), _with_prior(_of_mechanism(read_mechanism(file)), prior)


def _of_models(models: Models, epsilon: str | None, delta: str | None) -> Iterator[tuple[Name, Setting]]:
    """The solutions of models."""
    from ldpopt.solving.solve import solve
    from ldpopt.studies.simulate import Setting
    from ldpopt.studies.sweep import sweep

    how: dict[str, Any] = {"solver": models.solver, "time_limit": models.time_limit}
    if epsilon is None:
        for name, problem in models.problems.items():
            yield Name(str(name)), Setting(solve(problem, **how).mechanism, problem.prior, problem.utility)
        return
    budgets, deltas = parse_grid(epsilon), None if delta is None else parse_deltas(delta)
    found = sweep(models.problems, budgets, deltas=deltas, keep=True, **how)
    for row, mechanism in zip(found.rows, found.mechanisms, strict=True):
        if mechanism is None:
            raise NoSolutionError(f"no mechanism: {row.status}", where=f"{row.model}, epsilon = {row.epsilon!r}")
        problem = models.problems[row.model]
        varied = None if math.isnan(row.delta) else row.delta
        yield Name(row.model, row.epsilon, varied), Setting(mechanism, problem.prior, problem.utility)


def _of_mechanism(mechanism: Mechanism) -> Setting:
    """A mechanism has no prior, and no utility but telling the truth."""
    from ldpopt.studies.simulate import Setting

    return Setting(mechanism, None, "identity" if mechanism.inputs == mechanism.outputs else None)


def _with_prior(setting: Setting, prior: str | None) -> Setting:
    """The prior that is stated; uniform where there is none."""
    inputs = setting.mechanism.inputs
    if prior is not None:
        return setting._replace(prior=_parse_prior(prior, inputs))
    if setting.prior is None:
        say(f"note: no prior is stated; the {len(inputs)} answers are drawn alike")
        return setting._replace(prior=dict.fromkeys(inputs, 1.0))
    return setting


def _parse_prior(text: str, inputs: tuple[Hashable, ...]) -> dict[Hashable, float]:
    """Weights by label, such as no=3,yes=1; labels are matched by their texts.

    Raises
    ------
    StatementError
        If it has another form.
    """
    from ldpopt.foundation.labels import text_of

    labels = {text_of(name): name for name in inputs}
    weights: dict[Hashable, float] = {}
    for part in text.split(","):
        text, _, weight = part.rpartition("=")
        label = labels.get(text.strip(), text.strip())
        do = "state a weight for each label, such as no=3,yes=1"
        if label in weights:
            raise StatementError(f"{text.strip()!r} has two weights", where="--prior", do=do)
        try:
            weights[label] = float(weight)
        except ValueError:
            raise StatementError(f"{part!r} is not a weight of a label", where="--prior", do=do) from None
    return weights


def _show(rows: list[dict[str, Any]], repeats: int) -> None:
    few, more = thinned(rows)
    shown = [{key: value for key, value in row.items() if key != "repeats"} for row in few]
    print_table(
        [key.replace("_", " ") for key in shown[0]],
        [[_text(value) for value in row.values()] for row in shown],
        title=f"{repeats} surveys for each row{more}",
    )


def _text(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return number(value) if isinstance(value, float) else printable(value)
