"""The command compare: all methods for a utility side by side, and the mechanisms of the literature."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli import options
from ldpopt.cli.design import require_expected_variance, run_design
from ldpopt.cli.printing import BAD_STATEMENT, NO_SOLUTION, refuse, say, show, working
from ldpopt.cli.solve import require_expected_value
from ldpopt.errors import NoSolutionError
from ldpopt.foundation.display import Facts, Part

if TYPE_CHECKING:
    from ldpopt.designing import DesignComparison
    from ldpopt.problem.modelfile import Model
    from ldpopt.problem.problem import Problem
    from ldpopt.studies.literature.methods import MethodComparison

MAX_WORK = 2e8
"""Largest number of ratios (inputs squared times outputs) for the mechanisms of the literature: a minute."""


def compare(
    model: options.ModelPath,
    time_limit: options.TimeLimit = None,
    gap: Annotated[
        float | None,
        typer.Option(
            "--gap",
            metavar="G",
            min=0.0,
            help="Largest certified relative gap to accept (default for a utility: 1e-6).",
        ),
    ] = None,
    json: options.Json = None,
) -> None:
    """Compare all methods, and the mechanisms of the literature.

    For a utility: the closed forms that apply, and each installed solver in each form that it supports. If a method
    fails, the others continue. Then, for a utility and for a workload: the mechanisms from the literature, with the
    ratio of their value to the optimum. Exit code 1 if a mechanism is not private, a gap is too large, or the model's
    [expect] is not met.
    """
    from ldpopt.problem.modelfile import read_model
    from ldpopt.studies.literature.methods import compare_methods

    loaded = read_model(model)
    limit = loaded.time_limit if time_limit is None else time_limit
    data: dict[str, Any] = {}
    parts: list[Part] = []
    methods = designs = None
    if loaded.problem is not None:
        with working("comparing") as describe:
            methods = compare_methods(loaded.problem, time_limit=limit, progress=describe)
            describe("mechanisms of the literature")
            literature, literature_parts = _literature(loaded.problem, methods)
        data |= _methods_data(methods) | {"peers": literature}
        parts += [methods.table(loaded.title or model), *literature_parts]
    if loaded.design is not None and (methods is None or methods.finished == methods.planned):
        with working(f"comparing {Path(model).name}"):
            designs = compare_model_designs(loaded, gap, limit)
        data["design"] = _designs_data(designs)
        facts = designs.facts()
        table: Any = facts.parts[0]
        parts += [replace(table, title=f"{loaded.title or model}: {facts.title}"), *facts.parts[1:]]
    show(Facts("", parts), data, json)
    if methods is not None:
        _exit_unless_solved(methods, 1e-6 if gap is None else gap)
        require_expected_value(loaded, methods.best)
    if designs is not None:
        _exit_unless_reached(designs, gap)
        require_expected_variance(loaded, designs.best.value)


def compare_model_designs(model: Model, gap: float | None, time_limit: float | None) -> DesignComparison:
    """Design for a model's workload, and compute the mechanisms of the literature for it."""
    from ldpopt.designing import compare_designs

    problem, best = model.require_design(), run_design(model, gap, time_limit)
    how: dict[str, Any] = {"weights": problem.weights, "objective": problem.objective}
    return compare_designs(problem.workload, problem.privacy, **how, best=best)


def _literature(problem: Problem, methods: MethodComparison) -> tuple[dict[str, Any] | None, list[Part]]:
    """The mechanisms of the literature for a utility, as JSON data and in print; None without an optimum."""
    from ldpopt.studies.literature import compare

    if math.isnan(methods.best) or methods.finished < methods.planned:
        return None, []
    n, m = problem.utility.shape
    if n * n * m > MAX_WORK:
        why = f"{n} inputs: ldpopt.compare computes them"
        left_out = {"mechanisms of the literature": why}
        return {"rows": [], "left_out": left_out}, [f"left out: mechanisms of the literature: {why}"]
    found = compare(problem, best=methods.mechanism)
    keys = ("name", "value", "ratio", "epsilon", "verdict")
    rows = [{key: getattr(row, key) for key in keys} for row in found.rows]
    return {"rows": rows, "left_out": found.left_out}, list(found.facts().parts)


def _methods_data(methods: MethodComparison) -> dict[str, Any]:
    """Results of all methods as JSON data, in which nan is null."""
    numbers = ("value", "difference", "relative_gap")
    rows = [
        {"method": row.name}
        | {key: getattr(row, key) for key in numbers}
        | {"verdict": row.verdict or None, "seconds": row.seconds, "error": row.error or None, "applies": row.applies}
        for row in methods.rows
    ]
    return {"sense": methods.problem.utility.sense, "best": methods.best, "bound": methods.bound, "rows": rows}


def _exit_unless_solved(methods: MethodComparison, gap: float) -> None:
    """Say which methods failed; end with an exit code if no mechanism was found, or one is not private or not best."""
    failed = [row for row in methods.rows if row.error]
    for name, why in dict.fromkeys((r.name if r.applies else r.name.partition(" (")[0], r.error) for r in failed):
        say(f"note: {name}: {why}")
    if methods.finished < methods.planned:
        raise KeyboardInterrupt(f"{methods.finished} of {methods.planned} methods are finished")
    if math.isnan(methods.best):
        is_unsolvable = any(isinstance(row.failure, NoSolutionError) for row in methods.rows)
        raise typer.Exit(NO_SOLUTION if is_unsolvable else BAD_STATEMENT)
    for row in methods.rows:
        if row.mechanism is not None and row.verdict != "certified":
            refuse(f"the mechanism of {row.name} is {row.verdict}")
        if row.relative_gap > gap:
            refuse(f"the relative gap of {row.name} is {row.relative_gap:.3g}, more than {gap:g}")


def _designs_data(found: DesignComparison) -> dict[str, Any]:
    """A comparison of designs as JSON data."""
    best, keys = found.best, ("name", "value", "ratio", "average", "worst", "note")
    return {
        "objective": best.objective,
        "value": best.value,
        "average": best.average_variance,
        "worst": best.worst_variance,
        "bound": best.bound,
        "relative_gap": best.relative_gap,
        "peers": [{key: getattr(row, key) for key in keys} for row in found.others],
        "left_out": found.left_out,
    }


def _exit_unless_reached(found: DesignComparison, gap: float | None) -> None:
    """Say if another mechanism is better; end with an exit code if a given gap is missed."""
    better = [row.name for row in found.others if row.value < found.best.value * (1 - 1e-9)]
    if better:
        say(f"note: the design is {found.best.relative_gap:.2g} from its bound, and {better[0]} is nearer")
    if gap is not None and found.best.relative_gap > gap:
        refuse(f"the certified relative gap is {found.best.relative_gap:.3g}, more than {gap:g}")
