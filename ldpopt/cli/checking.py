"""The commands check and models: what a model file says, before anything is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ldpopt.cli.output import Json, ModelPath, label, print_folded, print_table, report
from ldpopt.cli.solving import notion
from ldpopt.errors import NotRepresentableError, StatementError

if TYPE_CHECKING:
    from ldpopt.problem.modelfile import Model
    from ldpopt.problem.problem import Problem


def check(model: ModelPath, json: Json = None) -> None:
    """Validate a model; print its size and the plan.

    For a utility: rows, columns, non-zeros and memory of each form of the linear program, and the methods that `solve`
    will try, in this order, with the reason. For a workload: its rows and rank, the answers that it distinguishes, its
    symmetries, and the method that `design` will use.
    """
    from ldpopt.problem.modelfile import read_model

    stated = read_model(model)
    data: dict[str, Any] = {"title": stated.title, "privacy": notion(stated.privacy)}
    shows: list[Callable[[], None]] = []
    if stated.problem is not None:
        data |= _problem_facts(stated)
        shows.append(lambda: _show_problem(stated, model, data))
    if stated.design is not None:
        found = data["workload"] = _workload_facts(stated)
        shows.append(lambda: _show_workload(stated, model, found))

    def show() -> None:
        for place, one in enumerate(shows):
            if place:
                print()
            one()

    report(data, json, show)


def _problem_facts(stated: Model) -> dict[str, Any]:
    """Sizes of the program, and the plan."""
    from ldpopt.solving.formulation import default_form
    from ldpopt.solving.plan import plan

    problem = stated.require_problem()
    sizes = {form: _size(problem, form) for form in ("compact", "pairwise")}
    n, m = problem.utility.shape
    return {
        "inputs": n,
        "outputs": m,
        "objective": problem.objective,
        "sense": problem.utility.sense,
        "default_form": default_form(problem),
        "forms": [{"form": form} | counted for form, counted in sizes.items() if counted],
        "plan": [{"method": step.method.name, "because": step.because} for step in plan(problem, stated.solver)],
    }


def _show_problem(stated: Model, model: str, data: dict[str, Any]) -> None:
    sizes_and_aim = f"{data['inputs']} answers, {data['outputs']} reports, {data['objective']} {data['sense']}"
    print_folded(f"{stated.title or model}: {sizes_and_aim}")
    print(f"privacy: {data['privacy']}")
    counted = {entry["form"]: entry for entry in data["forms"]}
    rows = [
        [f"{form} (default)" if form == data["default_form"] else form, *_shown_size(counted.get(form))]
        for form in ("compact", "pairwise")
    ]
    print_table(["program", "rows", "columns", "non-zeros", "memory"], rows)
    for k, step in enumerate(data["plan"]):
        print_folded(f"{'plan:' if not k else 'then:'} {step['method']}: {step['because']}", 6)


def _workload_facts(stated: Model) -> dict[str, Any]:
    """Sizes and symmetries, and the plan that `design` follows."""
    from ldpopt.designing.design_form import LARGEST, DesignForm
    from ldpopt.designing.plan import plan_design

    asked = stated.require_design()
    form, (rows, answers) = DesignForm(asked), asked.workload.shape
    is_listed = form.unit is None or answers <= LARGEST
    facts: dict[str, Any] = {"rows": rows, "answers": answers}
    facts |= {"rank": form.rank if is_listed else answers, "distinguished": form.n if is_listed else answers}
    try:
        plan = [{"method": step.method.name, "because": step.because} for step in plan_design(asked)]
    except (StatementError, NotRepresentableError) as error:
        plan = [{"method": "none", "because": error.what}]
        return facts | {"symmetries": 1, "is_symmetric": False, "plan": plan}
    facts |= {"symmetries": form.symmetries if is_listed else 1}
    return facts | {"is_symmetric": form.is_exchangeable if is_listed else True, "plan": plan}


def _show_workload(stated: Model, model: str, found: dict[str, Any]) -> None:
    asked = stated.require_design()
    aim = "worst-case" if asked.objective == "worst_case" else "average"
    print_folded(f"{stated.title or model}: {found['rows']:,} numbers of {found['answers']:,} answers, {aim} variance")
    print(f"privacy: {notion(asked.privacy)}")
    weights = "for the worst case" if aim == "worst-case" else "the prior" if asked.weights is not None else "equal"
    count = f"{found['distinguished']:,}" + ("" if found["distinguished"] < found["answers"] else ", all of them")
    lines = [
        ("weights", weights),
        ("rank", "not computed" if found["rank"] is None else f"{found['rank']:,}"),
        ("answers distinguished", count),
        ("symmetries found", f"{found['symmetries']:,}" + (", all permutations" if found["is_symmetric"] else "")),
        *(("then" if k else "plan", f"{step['method']}: {step['because']}") for k, step in enumerate(found["plan"])),
    ]
    for name, text in lines:
        print_folded(f"{name + ':':<23} {text}", 24)


def _size(problem: Problem, form: Any) -> dict[str, float] | None:
    from ldpopt.solving.formulation import size

    try:
        counted = size(problem, form)
    except NotRepresentableError:
        return None
    parts = {"rows": counted.rows, "columns": counted.columns, "nonzeros": counted.nonzeros}
    return {key: _whole(value) for key, value in parts.items()} | {"memory_bytes": counted.memory}


def _whole(value: float) -> float:
    return round(value) if value < 2**53 else value


def _shown_size(counted: dict[str, float] | None) -> list[str]:
    if counted is None:
        return ["not available", "", "", ""]
    counts, memory = [counted[key] for key in ("rows", "columns", "nonzeros")], counted["memory_bytes"]
    return [f"{count:,}" if isinstance(count, int) else label(f"{count:.3g}") for count in counts] + [_bytes(memory)]


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"
