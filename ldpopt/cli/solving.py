"""The commands solve, export and solvers; what other commands share with them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ldpopt.cli.output import (
    Json,
    ModelPath,
    new_axes,
    number,
    print_folded,
    print_mechanism,
    print_table,
    printable,
    report,
    require_writable,
    save_figure,
    say,
    wait_for,
)
from ldpopt.cli.running import Dask, executor_of
from ldpopt.cli.shell import refuse
from ldpopt.errors import CertificateError
from ldpopt.foundation.files import replacing

if TYPE_CHECKING:
    from ldpopt.certificate import Certificate
    from ldpopt.problem.modelfile import Model
    from ldpopt.solving.solution import Solution

FormName = Literal["compact", "pairwise", "sifted"]
Form = Annotated[FormName | None, typer.Option("--form", help="Form of the linear program (default: by structure).")]
Solver = Annotated[str | None, typer.Option("--solver", metavar="NAME", help="See `ldpopt solvers`.")]
TimeLimit = Annotated[float | None, typer.Option("--time-limit", metavar="S", min=1e-3, help="Seconds for the solve.")]
Epsilon = Annotated[
    str | None, typer.Option("--epsilon", metavar="E", help="Use this budget, not the model's: nats, or 'log(3)'.")
]
SMALL_GAP = 1e-6
"""Largest gap that is accepted where none is stated; a larger one is also where the search may stop."""

Gap = Annotated[
    float, typer.Option("--gap", min=0.0, help="Largest certified relative gap to accept; the search may stop there.")
]


def solve(
    model: ModelPath,
    epsilon: Epsilon = None,
    solver: Solver = None,
    time_limit: TimeLimit = None,
    form: Form = None,
    output: Annotated[str | None, typer.Option("-o", "--output", metavar="FILE", help="Mechanism as JSON.")] = None,
    plot: Annotated[str | None, typer.Option("--plot", metavar="FILE", help="Heat map of the mechanism.")] = None,
    proof: Annotated[
        str | None, typer.Option("--certificate", metavar="FILE", help="Certificate as JSON, for `ldpopt certify`.")
    ] = None,
    gap: Gap = SMALL_GAP,
    dask: Dask = None,
    json: Json = None,
) -> None:
    """Solve a model: mechanism, value, certificate.

    The certificate bounds the value of every private mechanism; the audit is exact. Exit code 1 if the model's [expect]
    is not met or the certified gap is too large; 3 if there is no solution.
    """
    from ldpopt.estimation.inversion import why_not_estimable

    require_writable(output, proof, picture=plot)
    stated = read_at(model, epsilon)
    stated.require_problem(model)
    goal = gap if SMALL_GAP < gap < 1 else None
    with executor_of(dask, 1) as executor:
        solution, certificate = wait_for(
            lambda: solve_and_certify(stated, solver, time_limit, form, goal, executor),
            f"solving {Path(model).name}",
        )
    if solution.repaired is None:
        report(_no_mechanism(solution), "-" if json == "-" else None, lambda: None)
    mechanism = solution.mechanism  # without one, this is the error to report
    report(_answer(solution, certificate), json, lambda: _show(stated, solution, certificate))
    for note in solution.notes:
        if note not in solution.steps:
            say(f"note: {note}")
    if output is not None and (useless := why_not_estimable(mechanism)):
        say(f"warning: {useless}")
    _save_files(stated.title, solution, certificate, output, proof, plot)
    _require_gap(solution, certificate, gap)
    require_expected(stated, solution.value)


def _save_files(
    title: str,
    solution: Solution,
    certificate: Certificate | None,
    output: str | None,
    proof: str | None,
    plot: str | None,
) -> None:
    """Write the mechanism, its certificate and its heat map where a path is given."""
    from ldpopt.mechanism.files import write_mechanism

    if output is not None and solution.repaired is not None:
        write_mechanism(solution.mechanism, output, title, solution.repaired.audit)
    if proof is not None and certificate is not None:
        certificate.save(proof)
    if plot is not None:
        save_figure(plot, heat_map(solution.mechanism, solution.problem.privacy).figure)


def _require_gap(solution: Solution, certificate: Certificate | None, gap: float) -> None:
    """Refuse a solution without a certificate, or with a larger gap."""
    if certificate is None:
        refuse(f"{solution.solver} returned no duals, so there is no bound")
    if certificate.relative_gap > gap:
        refuse(f"the certified relative gap is {certificate.relative_gap:.3g}, more than {gap:g}")


def export(
    model: ModelPath,
    to: Annotated[
        Literal["lp", "mps"] | None, typer.Option("--to", help="Format (default: by the file's ending, or LP).")
    ] = None,
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="'-' for stdout.")] = "-",
    form: Annotated[
        Literal["compact", "pairwise"] | None, typer.Option("--form", help="Form of the linear program.")
    ] = None,
    json: Json = None,
) -> None:
    """Write a model's program as LP or MPS.

    Rows and columns have readable names.
    """
    import tempfile

    from ldpopt.problem.modelfile import read_model
    from ldpopt.solving.formulation import default_form, formulate

    if json == "-" and output == "-":
        raise typer.BadParameter("the program and the JSON cannot both go to stdout: add -o FILE")
    kind = to or ("mps" if output.lower().endswith(".mps") else "lp")
    problem = read_model(model).require_problem(model)
    chosen = default_form(problem) if form is None else form
    program = formulate(problem, chosen)
    if chosen == "compact" and problem.privacy.is_separated:
        say("note: this is the entry-wise relaxation; `ldpopt solve` adds violated events, the pairwise form has all")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"program.{kind}"
        program.write(path)
        text = path.read_text(encoding="utf-8")
    rows, columns = program.shape
    data = {"file": output, "format": kind, "form": chosen, "rows": rows, "columns": columns, "nonzeros": program.nnz}
    if output == "-":
        sys.stdout.write(text)
        report(data, json, lambda: None)
        return
    with replacing(output) as stream:
        stream.write(text)
    report(data, json, lambda: print(f"{output}: {chosen}, {rows} rows, {columns} columns, {program.nnz} non-zeros"))


def solvers(json: Json = None) -> None:
    """List the solvers, and what to install."""
    from ldpopt.solvers import installed

    found = installed()
    entries = [
        {"name": name, "installed": state == "installed", "install": None if state == "installed" else state}
        for name, state in found.items()
    ]
    rows = [list(row) for row in found.items()]
    report({"solvers": entries}, json, lambda: print_table(["solver", "state"], rows, words=["state"]))


def read_at(model: str, epsilon: str | None) -> Model:
    """Read a model, at its own budget or another."""
    from ldpopt.problem.modelfile import read_model

    stated = read_model(model)
    return stated if epsilon is None else stated.at(epsilon)


def require_expected(stated: Model, value: float) -> None:
    """Compare a value with the model's [expect], if there is one."""
    expect = stated.expect
    if expect is not None and expect.value is not None and not abs(value - expect.value) <= expect.tolerance:
        refuse(f"the model expects {expect.value!r} within {expect.tolerance:g}, the value is {value!r}")


def heat_map(mechanism: Any, privacy: Any = None) -> Any:
    """New axes with a mechanism, large enough for its labels and numbers, under its notion, or its audited epsilon."""
    from ldpopt import plotting as pictures
    from ldpopt.plotting.axes import name_privacy

    n, m = mechanism.channel.shape
    axes = new_axes((max(4.4, min(13.0, 2.2 + 0.62 * m)), max(3.4, min(12.0, 1.6 + 0.52 * n))))
    pictures.mechanism(mechanism, axes)
    audited = rf"Audit: true $\varepsilon$ = {mechanism.audit().epsilon:.4g}" if privacy is None else ""
    axes.set_title(audited or name_privacy(privacy), fontsize=10)
    return axes


def notion(privacy: Any) -> str:
    """Name and budget of a notion."""
    delta = getattr(privacy, "delta", 0.0)
    epsilon = getattr(privacy, "epsilon", None)
    budget = "" if epsilon is None else f"({epsilon!r}{f', {delta:g}' if delta else ''})"
    return printable(f"{type(privacy).__name__}{budget}")


def audit_record(audit: Any) -> dict[str, Any]:
    """An audit as JSON data."""
    return {"epsilon": audit.epsilon, "delta": audit.delta, "verdict": audit.verdict}


def solve_and_certify(
    stated: Model,
    solver: str | None,
    time_limit: float | None,
    form: FormName | None,
    gap: float | None = None,
    executor: Any = None,
) -> tuple[Solution, Certificate | None]:
    """Solve a model (default: with its own settings); no certificate if the solver returned no duals."""
    from ldpopt.solving.certify import certify
    from ldpopt.solving.solve import solve

    limit = stated.time_limit if time_limit is None else time_limit
    how = {"solver": solver or stated.solver, "time_limit": limit, "form": form, "gap": gap, "executor": executor}
    solution = solve(stated.require_problem(), **how)
    if solution.repaired is None:
        return solution, None
    try:
        return solution, certify(solution)
    except CertificateError:
        return solution, None


def _answer(solution: Solution, certificate: Certificate | None) -> dict[str, Any]:
    assert solution.repaired is not None
    return {
        "status": solution.status.value,
        "value": solution.value,
        "solver": solution.solver,
        "mechanism": solution.mechanism.to_dict(),
        "certificate": None if certificate is None else certificate.to_dict(),
        "audit": audit_record(solution.repaired.audit),
    }


def _no_mechanism(solution: Solution) -> dict[str, Any]:
    empty = dict.fromkeys(("status", "value", "solver", "mechanism", "certificate", "audit"))
    return empty | {"status": solution.status.value, "solver": solution.solver}


def _show(stated: Model, solution: Solution, certificate: Certificate | None) -> None:
    assert solution.repaired is not None
    problem, audit = solution.problem, solution.repaired.audit
    if stated.title:
        print_folded(stated.title)
    print_mechanism(solution.mechanism)
    worst = "worst-case" if problem.objective == "worst_case" else "expected"
    lines = [
        (f"{worst} {problem.utility.sense}", f"{solution.value:.12g}"),
        ("solver", f"{solution.solver}, {solution.status.value}, {solution.runtime:.3g} s"),
    ]
    if certificate is not None:
        gap = f"relative gap {certificate.relative_gap:.2g}"
        bounds = f"achieved {float(certificate.achieved):.12g}, bound {float(certificate.bound):.12g}"
        lines.append(("certificate", f"{bounds}, {gap}"))
        lines += [(f"constraint {name}", f"off by at most {off:.1e}") for name, off in certificate.residuals.items()]
    lines.append(("audit", f"epsilon {number(audit.epsilon, 9)}, delta {number(audit.delta, 9)}: {audit.verdict}"))
    if stated.expect is not None and stated.expect.value is not None:
        lines.append(("model expects", f"{stated.expect.value:.12g} within {stated.expect.tolerance:g}"))
    print()
    for name, text in lines:
        print_folded(f"{name + ':':<20} {text}", 21)
