"""The command compare: all methods for a utility side by side, and the mechanisms of the
literature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli import options
from ldpopt.cli.design import run_design
from ldpopt.cli.options import option
from ldpopt.cli.printing import (
    BAD_STATEMENT,
    NO_SOLUTION,
    refuse,
    require_expected,
    require_gap,
    say,
    show,
    working,
)
from ldpopt.cli.questions import read_mechanism
from ldpopt.errors import NoSolutionError
from ldpopt.foundation.display import Facts, Part
from ldpopt.foundation.labels import first_duplicate

if TYPE_CHECKING:
    from ldpopt.designing.comparison import DesignComparison
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.problem.modelfile import Model
    from ldpopt.studies.literature import Comparison


def compare(
    model: options.ModelPath,
    time_limit: options.TimeLimit = None,
    gap: Annotated[
        float | None,
        option(
            "--gap G",
            "Largest certified relative gap to accept (default for a utility: 1e-6).",
            min=0.0,
        ),
    ] = None,
    mechanism: options.OwnMechanisms = None,
    json: options.Json = None,
) -> None:
    """Compare all methods, and the mechanisms of the literature.

    For a utility: the closed forms that apply, each installed solver in each form that it supports,
    and the best extreme point. If a method fails, the others continue. Then, for a utility and for
    a workload: the mechanisms from the literature, with the ratio of their value to the optimum.
    With a workload also mechanisms of your own, each beside the best design of its own epsilon.
    Exit code 1 if a mechanism is not private, a gap is too large, or the model's [expect] is not
    met.
    """
    from ldpopt.problem.modelfile import read_model
    from ldpopt.studies.literature import compare as compare_problem

    loaded = read_model(model)
    own = read_own(mechanism)
    if own and loaded.design is None:
        raise typer.BadParameter(
            f"--mechanism is compared with a design, and {model} has no [workload]: leave it out"
        )
    limit = loaded.time_limit if time_limit is None else time_limit
    data: dict[str, Any] = {}
    parts: list[Part] = []
    comparison = designs = None
    if loaded.problem is not None:
        with working("comparing") as describe:
            comparison = compare_problem(loaded.problem, time_limit=limit, progress=describe)
        data |= comparison.to_dict()
        parts += comparison.facts().parts
    if loaded.design is not None and (
        comparison is None or comparison.finished == comparison.planned
    ):
        with working(f"comparing {Path(model).name}"):
            designs = compare_model_designs(loaded, gap, limit, own)
        data["design"] = designs.to_dict()
        facts = designs.facts()
        table: Any = facts.parts[0]
        parts += [replace(table, title=facts.title), *facts.parts[1:]]
    show(Facts(loaded.title or model, parts), data, json)
    if comparison is not None:
        _exit_unless_solved(comparison, 1e-6 if gap is None else gap)
        require_expected(loaded, comparison.best.value, "value")
    if designs is not None:
        # the best is first
        peers = designs.literature
        if peers and peers[0].value < designs.best.value * (1 - 1e-9):
            gap_found, name = designs.best.relative_gap, peers[0].name
            say(
                f"note: the search ended at the relative gap {gap_found:.2g}, and {name} has a "
                "smaller variance"
            )
        require_gap(designs.best.relative_gap, gap)
        require_expected(loaded, designs.best.value, "variance")


def read_own(paths: list[str] | None) -> dict[str, Mechanism]:
    """The mechanisms of some files, by the names of the files."""
    names = [Path(path).stem for path in paths or ()]
    if (twice := first_duplicate(names)) is not None:
        raise typer.BadParameter(
            f"two files of --mechanism have the name {twice[0]}: rename one of them"
        )
    return dict(zip(names, map(read_mechanism, paths or ()), strict=True))


def compare_model_designs(
    model: Model, gap: float | None, time_limit: float | None, own: Mapping[str, Mechanism]
) -> DesignComparison:
    """Design for a model's workload, and compute the mechanisms of the literature for it, and those
    of the user.
    """
    from ldpopt.designing.comparison import compare_designs

    problem = model.require_design()
    best = run_design(model, gap, time_limit)
    aim: dict[str, Any] = {"weights": problem.weights, "objective": problem.objective}
    return compare_designs(
        problem.workload,
        problem.privacy,
        **aim,
        gap=1e-6 if gap is None else gap,
        time_limit=time_limit,
        best=best,
        others=own,
    )


def _exit_unless_solved(comparison: Comparison, gap: float) -> None:
    """End with an exit code if no mechanism was found, or one is not private or not best."""
    if comparison.finished < comparison.planned:
        # after Ctrl-C: what the finished methods found is shown, and now the command ends
        raise KeyboardInterrupt(
            f"{comparison.finished} of {comparison.planned} methods are finished"
        )
    if all(row.mechanism is None for row in comparison.methods):
        for note in dict.fromkeys(row.note for row in comparison.methods if row.applies):
            say(f"no mechanism: {note}")
        is_unsolvable = any(isinstance(row.failure, NoSolutionError) for row in comparison.methods)
        raise typer.Exit(NO_SOLUTION if is_unsolvable else BAD_STATEMENT)
    for row in comparison.methods:
        if row.mechanism is not None and row.verdict != "certified":
            refuse(f"the mechanism of {row.name} is {row.verdict}")
        if row.relative_gap > gap:
            refuse(f"the relative gap of {row.name} is {row.relative_gap:.3g}, more than {gap:g}")
