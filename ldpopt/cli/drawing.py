"""The command plot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ldpopt.cli.output import (
    Json,
    find_model,
    new_axes,
    printable,
    report,
    require_writable,
    save_figure,
    wait_for,
)
from ldpopt.cli.peering import compare_peers
from ldpopt.cli.solving import heat_map
from ldpopt.errors import StatementError

if TYPE_CHECKING:
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.privacy import Notion

Kind = Literal["mechanism", "delta", "polytope", "design"]


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
        typer.Option(
            help="Heat map, delta curve, polytope of a binary model, or variances of a design and of other mechanisms."
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Draw a mechanism, a design or a model's solution.

    By default a heat map. For a model with a workload and no utility: the variance of its design for every answer,
    compared with mechanisms from the literature.
    """
    from ldpopt import plotting as pictures

    require_writable(picture=output)
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
    from ldpopt.problem.modelfile import read_model

    return "design" if read_model(file).problem is None else "mechanism"


def _design(file: str) -> Any:
    """Draw a design, or that of a model, beside its peers."""
    from ldpopt.designing import compare_designs

    if Path(file).suffix.lower() == ".toml":
        from ldpopt.problem.modelfile import read_model

        stated = read_model(file)
        stated.require_design(file)
        return draw_design(wait_for(lambda: compare_peers(stated, None, stated.time_limit), f"designing {file}"))
    from ldpopt.certificate.design_certificate import is_design
    from ldpopt.designing import Design, load_design

    if not is_design(file):
        do = "write one with `ldpopt design MODEL -o FILE`"
        raise StatementError("--kind design needs a design, and the file contains none", where=file, do=do)
    found = load_design(file)
    how: dict[str, Any] = {"objective": found.objective, "best": found}
    if isinstance(found, Design) and found.objective == "average":
        how["weights"] = found.weights
    return draw_design(wait_for(lambda: compare_designs(found.workload, found.privacy, **how), f"comparing {file}"))


def draw_design(found: Any) -> Any:
    """Axes with a design, beside its peers where these are known."""
    from ldpopt import plotting as pictures

    best = getattr(found, "best", found)
    return pictures.design(found, new_axes((max(6.5, min(12.0, 4.0 + 0.5 * best.workload.shape[1])), 4.4)))


def _mechanism(file: str) -> tuple[Mechanism, Notion | None]:
    """Read a mechanism, or solve a model, whose notion is known then."""
    from ldpopt.cli.instruments import read_mechanism

    if Path(file).suffix.lower() != ".toml":
        return read_mechanism(file), None
    from ldpopt.problem.modelfile import read_model
    from ldpopt.solving.solve import solve

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
    from ldpopt import plotting as pictures
    from ldpopt.problem.modelfile import load_model

    _require_model(file, "polytope")
    problem = load_model(file)
    if len(problem.inputs) != 2 or len(problem.outputs) != 2:
        raise StatementError("only a model with two answers and two reports has a plot in the plane", where=file)
    import numpy as np

    is_truth = problem.prior is not None and np.array_equal(problem.utility.gain, np.eye(2))
    prior = problem.prior if is_truth else None
    return pictures.polytope(problem.privacy, new_axes((5.8, 5.4)), prior=None if prior is None else prior.tolist())
