"""The command certify: recheck a certificate file without a solver, or certify a model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli.designing import certify_design, certify_design_of
from ldpopt.cli.output import (
    Json,
    find_model,
    number,
    print_folded,
    print_table,
    printable,
    report,
    require_writable,
    say,
    wait_for,
)
from ldpopt.cli.shell import refuse
from ldpopt.cli.solving import Form, Solver, TimeLimit, audit_record, notion, solve_and_certify
from ldpopt.errors import LdpoptError, ModelFileError

if TYPE_CHECKING:
    from ldpopt.certificate import Certificate, Recheck

NUMBERS = ("achieved", "bound", "gap", "relative_gap")


def certify(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A certificate (JSON), or a model (TOML) to certify.", callback=find_model),
    ],
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="For a model: the certificate as JSON.")
    ] = None,
    solver: Solver = None,
    time_limit: TimeLimit = None,
    form: Form = None,
    gap: Annotated[
        float | None, typer.Option("--gap", min=0.0, help="Largest relative gap to accept (default for a model: 1e-6).")
    ] = None,
    independent: Annotated[
        bool, typer.Option("--independent", help="Check it with ldpopt_check.py too, which shares no code with ldpopt.")
    ] = False,
    json: Json = None,
) -> None:
    """Recheck a certificate without a solver.

    Privacy, value and bound are recomputed from the problem, the probabilities and the multipliers in the file. Exit
    code 1 if a claim in the file does not hold. A model is solved and certified first.
    """
    if independent:
        _check_independently(file)
    from ldpopt.certificate import recheck
    from ldpopt.certificate.design_certificate import is_design

    require_writable(output)
    given = {"-o": output, "--solver": solver, "--time-limit": time_limit, "--form": form}
    if Path(file).suffix.lower() == ".toml" and _has_workload_alone(file):
        _refuse({key: given[key] for key in ("--solver", "--form")}, "a utility", file)
        certify_design_of(file, output, time_limit, gap, json)
        return
    if Path(file).suffix.lower() == ".toml":
        gap = 1e-6 if gap is None else gap
        claimed = _of_model(file, output, (solver, time_limit, form))
    else:
        _refuse(given, "a model", file)
        if is_design(file):
            certify_design(file, gap, json)
            return
        claimed = _load(file)
    checked = wait_for(lambda: recheck(claimed), f"checking {Path(file).name}")
    report(_record(checked), json, lambda: _show(checked, file))
    if not checked.holds:
        refuse(f"the certificate does not hold: {'; '.join(checked.failures)}")
    if gap is not None and claimed.relative_gap > gap:
        refuse(f"the certified relative gap is {claimed.relative_gap:.3g}, more than {gap:g}")


def _check_independently(file: str) -> None:
    """Run the checker that imports nothing of the library, in a process of its own; exit 1 where it refuses."""
    import ldpopt

    if Path(file).suffix.lower() == ".toml":
        raise typer.BadParameter("--independent is for a certificate: write one with -o first")
    checker = Path(ldpopt.__file__).parents[1] / "ldpopt_check.py"  # the one of this ldpopt, no other that is installed
    if not checker.is_file():
        refuse("ldpopt_check.py is not installed beside ldpopt")
    command = [sys.executable, "-I", str(checker), file]
    done = wait_for(lambda: subprocess.run(command, capture_output=True, text=True), "the independent checker")
    if done.returncode == 2:  # no file that it knows
        raise ModelFileError(f"the independent checker: {done.stdout.strip()}", do="pass a certificate of ldpopt")
    if done.returncode:
        refuse(f"the independent checker: {done.stdout.strip() or done.stderr.strip()}")
    say(f"the independent checker: {done.stdout.strip()}")


def _refuse(given: dict[str, Any], what: str, file: str) -> None:
    """Refuse options that are for something else."""
    useless = [name for name, value in given.items() if value is not None]
    if useless:
        raise typer.BadParameter(f"{useless[0]} is for {what}; {file} is none")


def _load(file: str) -> Certificate:
    """Read a certificate; for the file that `solve -o` writes, which has a channel and no bound, say what to do."""
    from ldpopt.certificate import Certificate
    from ldpopt.mechanism.mechanism import Mechanism

    try:
        return Certificate.load(file)
    except ModelFileError as error:
        refused = error
    try:
        Mechanism.load(file)
    except LdpoptError:
        raise refused from None
    do = f"write one with `ldpopt solve MODEL --certificate FILE`; for its privacy alone, `ldpopt audit {file}`"
    raise ModelFileError("this is a mechanism, not a certificate", where=file, do=do)


def _has_workload_alone(file: str) -> bool:
    from ldpopt.problem.modelfile import read_model

    return read_model(file).problem is None


def _of_model(file: str, output: str | None, how: tuple[Any, Any, Any]) -> Any:
    """Solve a model, certify it and write the certificate."""
    from ldpopt.problem.modelfile import read_model

    stated = read_model(file)
    solution, proof = wait_for(lambda: solve_and_certify(stated, *how), f"solving {Path(file).name}")
    if not solution.mechanism or proof is None:  # without a mechanism, .mechanism raises the reason
        refuse(f"{solution.solver} returned no duals, so there is no bound")
    for note in solution.notes:
        if note not in solution.steps:
            say(f"note: {note}")
    if output is not None:
        proof.save(output)
    return proof


def _record(checked: Recheck) -> dict[str, Any]:
    claimed, found = checked.claimed, checked.found
    assert claimed.problem is not None
    return {
        "holds": checked.holds,
        "failures": list(checked.failures),
        "privacy": notion(claimed.problem.privacy),
        "objective": claimed.problem.objective,
        "sense": claimed.problem.utility.sense,
        "claimed": claimed.to_dict(),
        "found": None if found is None else found.to_dict(),
        "residuals": claimed.residuals if found is None else found.residuals,
        "audit": audit_record(claimed.audit),
    }


def _show(checked: Recheck, file: str) -> None:
    claimed, found = checked.claimed, checked.found
    assert claimed.problem is not None
    problem, audit = claimed.problem, claimed.audit
    n, m = problem.utility.shape
    aim = f"{'worst-case' if problem.objective == 'worst_case' else 'expected'} {problem.utility.sense}"
    print_folded(f"{file}: {n} answers, {m} reports, {aim}, {notion(problem.privacy)}")
    rows = [[name, *(_proof_number(proof, name) for proof in (claimed, found))] for name in NUMBERS]
    for name in claimed.residuals:
        residuals = (number(proof.residuals[name], 3) if proof else "-" for proof in (claimed, found))
        rows.append([f"off {printable(name)} by", *residuals])
    print_table(["", "claimed", "recomputed"], rows)
    print(f"\naudit: epsilon {number(audit.epsilon, 12)}, delta {number(audit.delta, 12)}: {audit.verdict}")
    if checked.holds:
        print("the certificate holds" + ("" if checked.is_same else "; the recomputed numbers are better"))


def _proof_number(proof: Any, name: str) -> str:
    return "-" if proof is None else number(proof.to_dict()[name], 3 if "gap" in name else 15)
