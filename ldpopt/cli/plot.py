"""The command plot: a picture of a mechanism, a design or a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ldpopt.cli import options
from ldpopt.cli.compare import compare_model_designs, read_own
from ldpopt.cli.options import argument, new_picture, option
from ldpopt.cli.printing import save_picture, show, working
from ldpopt.cli.questions import read_mechanism
from ldpopt.cli.solve import heat_map
from ldpopt.errors import StatementError

if TYPE_CHECKING:
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.privacy import Notion

Kind = Literal["mechanism", "delta", "polytope", "design"]


def plot(
    file: Annotated[
        str,
        argument(
            "FILE",
            "A mechanism or design (JSON), or a model (TOML), which is solved.",
            callback=options.find_model,
        ),
    ],
    output: Annotated[str, new_picture("-o --output PICTURE", "PNG, SVG, PDF, ...")],
    kind: Annotated[
        Kind | None,
        option(
            "--kind",
            "Heat map, delta curve, polytope of a binary model, or variances of a design and of "
            "other mechanisms.",
        ),
    ] = None,
    mechanism: options.OwnMechanisms = None,
    json: options.Json = None,
) -> None:
    """Draw a mechanism, a design or a model's solution.

    By default a heat map. For a model with a workload and no utility: the variance of its design
    for every answer, compared with mechanisms from the literature, and with your own.
    """
    from ldpopt import plotting as pictures
    from ldpopt.plotting.axes import name_privacy
    from ldpopt.problem.modelfile import read_model

    if kind is None:
        kind = (
            "design"
            if Path(file).suffix.lower() == ".toml" and read_model(file).problem is None
            else "mechanism"
        )
    if mechanism and kind != "design":
        raise typer.BadParameter(
            f"--mechanism is drawn beside a design, not in a picture of kind {kind}: give "
            "--kind design, or leave it out"
        )
    if kind == "polytope":
        axes = _polytope(file)
    elif kind == "design":
        axes = _design(file, read_own(mechanism))
    else:
        drawn, privacy, title = _mechanism(file)
        is_map = kind == "mechanism"
        axes = heat_map(drawn, privacy, title) if is_map else pictures.delta_curve(drawn.audit())
        if kind == "delta":
            neighbors = f"\n{name_privacy(privacy)}" if privacy is not None else ""
            axes.set_title(
                f"{title or Path(file).stem}\n{axes.get_title()}{neighbors}", fontsize=10
            )
    save_picture(output, axes)
    show(output, {"file": output, "kind": kind}, json)


def _design(file: str, own: Mapping[str, Mechanism]) -> Any:
    """Draw a design, or that of a model, beside mechanisms of the literature and of the user."""
    from ldpopt import plotting as pictures
    from ldpopt.certificate.design_certificate import is_design
    from ldpopt.designing.comparison import compare_designs
    from ldpopt.designing.record import Design
    from ldpopt.designing.saved import load_design
    from ldpopt.problem.modelfile import read_model

    if Path(file).suffix.lower() == ".toml":
        model = read_model(file)
        model.require_design(file)
        with working(f"designing {Path(file).name}"):
            return pictures.design(compare_model_designs(model, None, model.time_limit, own))
    if not is_design(file):
        do = "write one with `ldpopt design MODEL -o FILE`"
        raise StatementError(
            "--kind design needs a design, and the file contains none",
            code="design",
            where=file,
            do=do,
        )
    design = load_design(file)
    options: dict[str, Any] = {"objective": design.objective, "best": design, "others": own}
    if isinstance(design, Design) and design.objective == "average":
        options["weights"] = design.weights
    with working(f"comparing {Path(file).name}"):
        return pictures.design(compare_designs(design.workload, design.privacy, **options))


def _mechanism(file: str) -> tuple[Mechanism, Notion | None, str]:
    """Mechanism, notion and title of a file; a model is solved, and the file of a mechanism alone
    has no notion.
    """
    from ldpopt.certificate.design_certificate import is_design
    from ldpopt.designing.saved import load_design
    from ldpopt.foundation.files import strict_object
    from ldpopt.problem.modelfile import read_model
    from ldpopt.solving.solve import solve

    if Path(file).suffix.lower() != ".toml":
        mechanism = read_mechanism(file)
        privacy = load_design(file).privacy if is_design(file) else None
        data = strict_object(file, Path(file).stat().st_size)
        # a design has its title in the table "about", a mechanism beside its channel
        return mechanism, privacy, str(data.get("about", data).get("title") or "")
    model = read_model(file)
    problem = model.require_problem(file)
    with working(f"solving {Path(file).name}"):
        solution = solve(problem, solver=model.solver, time_limit=model.time_limit)
    return solution.mechanism, problem.privacy, model.title


def _polytope(file: str) -> Any:
    """Draw all private mechanisms of a binary model, with level lines of its utility."""
    from ldpopt import plotting as pictures
    from ldpopt.polytope.vertices import extreme_points
    from ldpopt.problem.modelfile import load_model

    if Path(file).suffix.lower() == ".json":
        message = "--kind polytope draws all mechanisms of a model, and a JSON file has one"
        raise StatementError(message, code="model", where=file, do="name the model file (TOML)")
    problem = load_model(file)
    n, m = problem.utility.shape
    if (n, m) != (2, 2):
        message = f"a plot in the plane needs two answers and two reports, not {n} and {m}"
        raise StatementError(
            message, code="plane", where=file, do="leave --kind out for a heat map"
        )
    points = extreme_points(problem.privacy, 2, inputs=problem.inputs)
    has_level_lines = problem.prior is not None and not problem.constraints
    return pictures.corners(points, problem=problem if has_level_lines else None)
