"""The command solve: the best mechanism of a model, with its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ldpopt.cli import options, printing
from ldpopt.cli.options import new_file, new_picture, option
from ldpopt.cli.printing import audit_data, refuse, save_picture, say, show, working
from ldpopt.errors import CertificateError
from ldpopt.foundation.display import Facts, Table

if TYPE_CHECKING:
    from ldpopt.certificate import Certificate
    from ldpopt.problem.modelfile import Model
    from ldpopt.solving.solution import Solution

# largest gap that is accepted by default; a larger one is also where the search may stop
SMALL_GAP = 1e-6


def solve(
    model: options.ModelPath,
    epsilon: options.Epsilon = None,
    solver: options.Solver = None,
    time_limit: options.TimeLimit = None,
    form: options.Form = None,
    output: Annotated[str | None, new_file("-o --output FILE", "Mechanism as JSON.")] = None,
    plot: Annotated[str | None, new_picture("--plot FILE", "Heat map of the mechanism.")] = None,
    proof: Annotated[
        str | None, new_file("--certificate FILE", "Certificate as JSON, for `ldpopt certify`.")
    ] = None,
    gap: Annotated[
        float,
        option(
            "--gap G",
            "Largest certified relative gap to accept; the search may stop there.",
            min=0.0,
        ),
    ] = SMALL_GAP,
    dask: options.Dask = None,
    json: options.Json = None,
) -> None:
    """Solve a model: mechanism, value, certificate.

    The certificate bounds the value of every private mechanism; the audit is exact. Exit code 1 if
    the model's [expect] is not met or the certified gap is too large; 3 if there is no solution.
    """
    from ldpopt.estimation.inversion import why_not_estimable
    from ldpopt.mechanism.files import write_mechanism

    loaded = options.read_model_at(model, epsilon)
    loaded.require_problem(model)
    # a gap at which the search may stop; a smaller one is the solvers' own, 1 or more is no goal
    goal = gap if SMALL_GAP < gap < 1 else None
    with options.executor_of(dask, 1) as executor, working(f"solving {Path(model).name}"):
        solution, certificate = solve_and_certify(loaded, solver, time_limit, form, goal, executor)
    if solution.repaired is None:
        # JSON on stdout is the status of the search; a file gets the error, when it is raised
        show(None, _data(solution, None), "-" if json == "-" else None)
    mechanism = solution.mechanism  # raises the error to report if there is none
    assert solution.repaired is not None
    show(_facts(loaded, solution, certificate), _data(solution, certificate), json)
    say_notes(solution)
    if output is not None and (useless := why_not_estimable(mechanism)):
        say(f"warning: {useless}")
    if output is not None:
        privacy = solution.problem.privacy
        write_mechanism(mechanism, output, loaded.title, solution.repaired.audit, privacy)
    if proof is not None and certificate is not None:
        certificate.save(proof)
    if plot is not None:
        save_picture(plot, heat_map(mechanism, solution.problem.privacy, loaded.title))
    if certificate is None:
        refuse(f"{solution.solver} returned no duals, so there is no bound", "give --solver highs")
    printing.require_gap(certificate.relative_gap, gap)
    printing.require_expected(loaded, solution.value, "value")


def solve_and_certify(
    model: Model,
    solver: str | None,
    time_limit: float | None,
    form: options.FormName | None,
    gap: float | None = None,
    executor: Any = None,
) -> tuple[Solution, Certificate | None]:
    """Solve a model (default: with its own settings); no certificate if the solver returned no
    duals.
    """
    from ldpopt.solving.certify import certify
    from ldpopt.solving.solve import solve

    limit = model.time_limit if time_limit is None else time_limit
    arguments: Any = {
        "solver": solver or model.solver,
        "time_limit": limit,
        "form": form,
        "gap": gap,
        "executor": executor,
    }
    solution = solve(model.require_problem(), **arguments)
    if solution.repaired is None:
        return solution, None
    try:
        return solution, certify(solution)
    except CertificateError:
        return solution, None


def say_notes(solution: Solution) -> None:
    """Write the notes of a solution to stderr, without the steps of the plan."""
    for note in solution.notes:
        if note not in solution.steps:
            say(f"note: {note}")


def heat_map(mechanism: Any, privacy: Any = None, title: str = "") -> Any:
    """New axes with a mechanism under its title, and its notion or its audited epsilon."""
    from ldpopt import plotting as pictures
    from ldpopt.plotting.axes import name_privacy

    axes = pictures.mechanism(mechanism)
    audited = (
        rf"Audit over all pairs of answers: true $\varepsilon$ = {mechanism.audit().epsilon:.4g}"
    )
    under = audited if privacy is None else name_privacy(privacy)
    axes.set_title("\n".join(filter(None, [title.replace("$", r"\$"), under])), fontsize=10)
    return axes


def _data(solution: Solution, certificate: Certificate | None) -> dict[str, Any]:
    """A solution as JSON data."""
    repaired = solution.repaired
    data: dict[str, Any] = dict.fromkeys(
        ("status", "value", "solver", "mechanism", "certificate", "audit")
    )
    data |= {"status": solution.status.value, "solver": solution.solver}
    if repaired is not None:
        data |= {
            "value": solution.value,
            "mechanism": repaired.mechanism.to_dict(),
            "audit": audit_data(repaired.audit),
        }
    return data | {"certificate": None if certificate is None else certificate.to_dict()}


def _facts(model: Model, solution: Solution, certificate: Certificate | None) -> Facts:
    """The facts of a solution under the title of its model; notes go to stderr."""
    parts = [
        part
        for part in solution.facts(certificate).parts
        if isinstance(part, Table) or part[0] != "note"
    ]
    if model.expect is not None and model.expect.value is not None:
        parts.append(
            ("model expects", f"{model.expect.value:.12g} within {model.expect.tolerance:g}")
        )
    return Facts(model.title, parts)
