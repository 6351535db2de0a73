"""The commands sweep and plot."""

from __future__ import annotations

import math
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ldpopt.cli.interrupts import INTERRUPTED
from ldpopt.cli.output import (
    Json,
    ModelPaths,
    find_model,
    new_axes,
    number,
    print_table,
    printable,
    progress_bar,
    report,
    require_writable,
    save_figure,
    say,
    wait_for,
)
from ldpopt.cli.shell import NO_SOLUTION
from ldpopt.cli.solving import Solver, TimeLimit, heat_map
from ldpopt.errors import ModelFileError, StatementError
from ldpopt.foundation.files import replacing

if TYPE_CHECKING:
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.privacy import Notion
    from ldpopt.statement.problem import Problem
    from ldpopt.studies.sweep import SweepResult

MAX_PRINTED_ROWS = 30
"""Largest number of printed rows of a sweep; the file has all rows."""

Kind = Literal["mechanism", "delta", "polytope", "design"]


def sweep(
    models: ModelPaths,
    epsilon: Annotated[str, typer.Option(metavar="GRID", help="start:stop:count, or a list such as 0.1,1,log(3).")],
    delta: Annotated[
        str | None, typer.Option(metavar="GRID", help="Deltas instead of the model's own, stated alike.")
    ] = None,
    prior_grid: Annotated[int | None, typer.Option(metavar="N", min=2, help="N priors of two answers.")] = None,
    jobs: Annotated[int, typer.Option("-j", "--jobs", metavar="N", help="Processes; -1 for all cores.")] = 1,
    output: Annotated[str | None, typer.Option("-o", "--output", metavar="FILE", help="The table as CSV.")] = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Curves; a surface with --prior-grid.")] = None,
    solver: Solver = None,
    time_limit: TimeLimit = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="FILE", help="Solved points are appended here, and not solved again.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="A new folder for the mechanisms; ROW.json is that of a row.")
    ] = None,
    json: Json = None,
) -> None:
    """Solve a model, or several, at many budgets, deltas and priors.

    Each point is certified. Ctrl-C and SIGTERM keep the finished rows, and draw nothing; with a checkpoint, any kill
    keeps them and the same command goes on.
    """
    from ldpopt.statement.modelfile import read_model
    from ldpopt.studies.sweep import sweep as run

    require_writable(output, json, picture=plot)
    _require_new_folder(keep)
    stated = [read_model(model) for model in models]
    names = _names(models)
    problems: dict[Hashable, Problem] = {
        name: one.require_problem(path) for name, one, path in zip(names, stated, models, strict=True)
    }
    alone = problems[next(iter(problems))]
    with progress_bar(f"sweeping {', '.join(names)}") as bar:
        result = run(
            alone if len(problems) == 1 else problems,
            parse_grid(epsilon),
            _priors(alone, prior_grid),
            deltas=None if delta is None else _deltas(delta),
            keep=keep is not None,
            solver=solver or _alike("solver", [one.solver for one in stated]),
            time_limit=_alike("time_limit", [one.time_limit for one in stated]) if time_limit is None else time_limit,
            jobs=jobs,
            checkpoint=checkpoint,
            progress=bar,
        )
    if keep is not None and not (result.interrupted and checkpoint):  # the checkpoint has them: the next run writes all
        _save_mechanisms(result, keep, names)
    if output is not None:
        with replacing(output) as stream:
            stream.write(result.to_csv())
    report({"interrupted": result.interrupted, "rows": list(result.records())}, json, lambda: _show(result))
    if plot is not None and result.rows and not result.interrupted:
        save_figure(plot, _drawn(result).figure)
    _exit_unless_solved(result, output)


def _names(models: list[str]) -> list[str]:
    """Names of model files in the table: without folder and ending.

    Raises
    ------
    StatementError
        If two are the same.
    """
    names = [Path(model).stem for model in models]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise StatementError(f"two models are called {twice!r}", where="sweep", do="rename one of the files")
    return names


def _alike(key: str, values: list[Any]) -> Any:
    """The value that all models state.

    Raises
    ------
    StatementError
        If two state different ones.
    """
    if any(value != values[0] for value in values):
        option = "--" + key.replace("_", "-")
        stated = ", ".join(map(repr, values))
        raise StatementError(
            f"the models state different values of {key}: {stated}", where="sweep", do=f"give {option}"
        )
    return values[0]


def _deltas(text: str) -> list[float]:
    """Deltas of a grid.

    Raises
    ------
    StatementError
        If one is no number.
    """
    try:
        return [float(part) for part in parse_grid(text, "--delta")]
    except ValueError:
        do = "state start:stop:count, or a list such as 0,0.05,0.1"
        raise StatementError(f"{text!r} has what is no number", where="--delta", do=do) from None


def _require_new_folder(folder: str | None) -> None:
    """Refuse a folder that has something in it, or cannot be made, before the work begins."""
    if folder is None:
        return
    try:
        Path(folder).mkdir(exist_ok=True)
        is_new = not any(Path(folder).iterdir())
    except OSError as error:
        why = error.strerror or str(error)
        raise ModelFileError(f"cannot make the folder: {why}", where=folder, do="name a new folder") from None
    if not is_new:
        raise ModelFileError("the folder is not empty", where=folder, do="name a new folder; no file is replaced")


def _save_mechanisms(result: SweepResult, folder: str, names: list[str]) -> None:
    """Write the mechanism of each row that has one under the number of the row, from 1."""
    digits = len(str(len(result.rows)))
    for number_, (row, mechanism) in enumerate(zip(result.rows, result.mechanisms, strict=True), start=1):
        if mechanism is not None:
            delta = "" if math.isnan(row.delta) else f", delta {row.delta!r}"
            title = f"{row.model or names[0]}, epsilon {row.epsilon!r}{delta}, prior {row.prior}"
            mechanism.save(Path(folder) / f"{number_:0{digits}}.json", title=title)


def _exit_unless_solved(result: SweepResult, output: str | None) -> None:
    """End with an exit code if the sweep was interrupted or no point has a solution."""
    if result.interrupted:
        total = len(result.epsilons) * (1 if result.priors is None else len(result.priors)) * max(1, len(result.cases))
        say(f"interrupted: {len(result.rows)} of {total} points are finished" + (f" and in {output}" if output else ""))
        raise typer.Exit(INTERRUPTED)
    if all(math.isnan(row.value) for row in result.rows):
        say(f"no point has a solution: {result.rows[0].status}")
        raise typer.Exit(NO_SOLUTION)


def plot(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A mechanism or design (JSON), or a model (TOML), which is solved.",
            callback=find_model,
        ),
    ],
    output: Annotated[str, typer.Option("-o", "--output", metavar="PICTURE", help="PNG, SVG, PDF, ...")],
    kind: Annotated[
        Kind | None,
        typer.Option(help="Heat map, delta curve, polytope of a binary model, or variances of a design beside others."),
    ] = None,
    json: Json = None,
) -> None:
    """Draw a mechanism, a design or a model's solution.

    By default a heat map; for a model with a workload and no utility, the variances of its design for every answer,
    beside those of the mechanisms of the literature.
    """
    from ldpopt import plot as pictures

    require_writable(json, picture=output)
    kind = kind or _default_kind(file)
    if kind == "polytope":
        axes = _polytope(file)
    elif kind == "design":
        axes = _design(file)
    else:
        mechanism, privacy = _mechanism(file)
        axes = pictures.delta_curve(mechanism.audit(), new_axes()) if kind == "delta" else heat_map(mechanism, privacy)
    save_figure(output, axes.figure)
    report({"file": output, "kind": kind}, json, lambda: print(printable(output)))


def _default_kind(file: str) -> Kind:
    if Path(file).suffix.lower() != ".toml":
        return "mechanism"
    from ldpopt.statement.modelfile import read_model

    return "design" if read_model(file).problem is None else "mechanism"


def _design(file: str) -> Any:
    """Draw a design, or that of a model, beside its peers."""
    from ldpopt.estimation.designs import compare_designs

    if Path(file).suffix.lower() == ".toml":
        from ldpopt.cli.peering import compare_peers
        from ldpopt.statement.modelfile import read_model

        stated = read_model(file)
        stated.require_design(file)
        return draw_design(wait_for(lambda: compare_peers(stated, None, stated.time_limit), f"designing {file}"))
    from ldpopt.estimation.designs import Design, load_design
    from ldpopt.estimation.designs.files import is_design
    from ldpopt.estimation.designs.subset_proof import is_frequency_design

    if not (is_design(file) or is_frequency_design(file)):
        do = "write one with `ldpopt design MODEL -o FILE`"
        raise StatementError("--kind design draws a design, and the file has none", where=file, do=do)
    found = load_design(file)
    how: dict[str, Any] = {"objective": found.objective, "best": found}
    if isinstance(found, Design) and found.objective == "average":
        how["weights"] = found.weights
    return draw_design(wait_for(lambda: compare_designs(found.workload, found.privacy, **how), f"comparing {file}"))


def draw_design(found: Any) -> Any:
    """Axes with a design, beside its peers where these are known."""
    from ldpopt import plot as pictures

    best = getattr(found, "best", found)
    return pictures.design(found, new_axes((max(6.5, min(12.0, 4.0 + 0.5 * best.workload.shape[1])), 4.4)))


def parse_grid(text: str, option: str = "--epsilon") -> list[str]:
    """Numbers of ``start:stop:count`` (both ends included), or of a list with commas.

    Raises
    ------
    StatementError
        If it is neither.

    Examples
    --------
    >>> parse_grid("0.5:2:4")
    ['0.5', '1.0', '1.5', '2.0']
    """
    if ":" not in text:
        return [part.strip() for part in text.split(",")]
    import numpy as np

    try:
        start, stop, count = text.split(":")
        ends, points = (float(start), float(stop)), int(count)
    except ValueError:
        ends, points = (math.nan, math.nan), 0
    if not all(map(math.isfinite, ends)) or not 1 <= points <= 1_000_000:
        raise StatementError(f"{text!r} is not a grid", where=option, do="state start:stop:count, such as 0.1:5:25")
    return [repr(value) for value in np.linspace(*ends, points).tolist()]


def _priors(problem: Problem, count: int | None) -> Any:
    import numpy as np

    if count is None:
        return None
    if len(problem.inputs) != 2:
        what = f"--prior-grid is for two answers; this model has {len(problem.inputs)}"
        raise StatementError(what, do="sweep its own prior, or use ldpopt.sweep with a table of priors")
    first = np.linspace(0.0, 1.0, count)
    return np.stack([first, 1 - first], axis=1)


def _drawn(result: SweepResult) -> Any:
    from ldpopt import plot as pictures

    is_surface = result.priors is not None and len(result.epsilons) > 1 and not result.cases
    if is_surface:
        return pictures.surface(result, new_axes((7.0, 5.2), "3d"))
    return pictures.sweep(result, new_axes())


def _show(result: SweepResult) -> None:
    step = max(1, -(-len(result.rows) // MAX_PRINTED_ROWS))
    models = any(row.model for row in result.rows)
    deltas = any(not math.isnan(row.delta) for row in result.rows)
    rows = []
    for row in result.rows[::step]:
        prior = [] if result.priors is None else [number(float(result.priors[row.prior, 0]))]
        case = ([printable(row.model)] if models else []) + ([number(row.delta)] if deltas else [])
        numbers = (number(row.value, 9), number(row.closed_form, 9), number(row.relative_gap, 2))
        rows.append([*case, number(row.epsilon), *prior, *numbers, printable(row.status)[:60]])
    headings = [
        *(["model"] if models else []),
        *(["delta"] if deltas else []),
        "epsilon",
        *([] if result.priors is None else ["first prior"]),
    ]
    title = f"{len(result.rows)} points" + (f", every {step}th shown" if step > 1 else "")
    print_table([*headings, result.sense, "closed form", "relative gap", "status"], rows, title=title)


def _mechanism(file: str) -> tuple[Mechanism, Notion | None]:
    """Read a mechanism, or solve a model, whose notion is known then."""
    from ldpopt.cli.instruments import read_mechanism

    if Path(file).suffix.lower() != ".toml":
        return read_mechanism(file), None
    from ldpopt.solving.solve import solve
    from ldpopt.statement.modelfile import read_model

    stated = read_model(file)
    problem = stated.require_problem(file)
    solution = wait_for(
        lambda: solve(problem, solver=stated.solver, time_limit=stated.time_limit), f"solving {Path(file).name}"
    )
    return solution.mechanism, problem.privacy


def _require_model(file: str, kind: str) -> None:
    """Refuse a mechanism or design where a picture is of a model."""
    if Path(file).suffix.lower() == ".json":
        what = f"--kind {kind} draws all mechanisms of a model, and a JSON file has one"
        raise StatementError(what, where=file, do="name the model file (TOML)")


def _polytope(file: str) -> Any:
    from ldpopt import plot as pictures
    from ldpopt.statement.modelfile import load_model

    _require_model(file, "polytope")
    problem = load_model(file)
    if len(problem.inputs) != 2 or len(problem.outputs) != 2:
        raise StatementError("only a model with two answers and two reports has a plot in the plane", where=file)
    import numpy as np

    is_truth = problem.prior is not None and np.array_equal(problem.utility.gain, np.eye(2))
    prior = problem.prior if is_truth else None
    return pictures.polytope(problem.privacy, new_axes((5.8, 5.4)), prior=None if prior is None else prior.tolist())
