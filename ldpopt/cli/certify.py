"""The command certify: recheck a certificate file without a solver, or certify a model."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli import options
from ldpopt.cli.design import run_design
from ldpopt.cli.options import argument, new_file, option
from ldpopt.cli.printing import audit_data, picked, refuse, require_gap, say, show, working
from ldpopt.cli.questions import is_survey, read_survey_file, refuse_options, survey_tables
from ldpopt.cli.solve import say_notes, solve_and_certify
from ldpopt.errors import ModelFileError
from ldpopt.foundation.display import Facts, label, privacy_text

if TYPE_CHECKING:
    from ldpopt.certificate import Certificate

UNTRUSTED = "do not use the mechanism; solve or design again"  # advice about a false certificate


def certify(
    file: Annotated[
        str,
        argument(
            "FILE",
            "A certificate or a survey (JSON), or a model or a survey (TOML) to certify.",
            callback=options.find_file,
        ),
    ],
    output: Annotated[
        str | None, new_file("-o --output FILE", "For a model: the certificate as JSON.")
    ] = None,
    solver: options.Solver = None,
    time_limit: options.TimeLimit = None,
    form: options.Form = None,
    gap: Annotated[
        float | None, option("--gap G", "Largest relative gap (default of a model: 1e-6).", min=0.0)
    ] = None,
    independent: Annotated[
        bool,
        option(
            "--independent", "Check it with ldpopt_check.py too, which shares no code with ldpopt."
        ),
    ] = False,
    json: options.Json = None,
) -> None:
    """Recheck a certificate without a solver.

    Privacy, value and bound are recomputed from the problem, the probabilities and the multipliers
    in the file. Exit code 1 if a claim in the file does not hold. A model is solved and certified
    first. Of a survey the certificates of all questions are rechecked.
    """
    from ldpopt.accounting.certificate import CurveCertificate, is_account
    from ldpopt.certificate import Certificate
    from ldpopt.certificate.design_certificate import is_design
    from ldpopt.designing.saved import save_design
    from ldpopt.problem.modelfile import read_model

    used = {"-o": output, "--solver": solver, "--time-limit": time_limit, "--form": form}
    if is_survey(file):
        refuse_options(used, file, "a model")
        _certify_survey(file, gap, independent, json)
        return
    if independent:
        _check_independently(file)
    if Path(file).suffix.lower() != ".toml":
        refuse_options(used, file, "a model")
        if is_account(file):
            account = CurveCertificate.load(file)
            claims = [
                {"epsilon": epsilon, "delta": float(delta)} for epsilon, delta in account.claims
            ]
            _recheck_claim(account, file, {"claims": claims}, json)
        elif is_design(file):
            _certify_design(file, gap, json)
        else:
            _recheck(Certificate.load(file), file, gap, json)
        return
    gap = 1e-6 if gap is None else gap
    model = read_model(file)
    if model.problem is not None:
        with working(f"solving {Path(file).name}"):
            solution, proof = solve_and_certify(model, solver, time_limit, form)
        # without a mechanism, .mechanism raises the reason
        if not solution.mechanism or proof is None:
            refuse(
                f"{solution.solver} returned no duals, so there is no bound", "give --solver highs"
            )
        say_notes(solution)
        if output is not None:
            proof.save(output)
        _recheck(proof, file, gap, json)
        return
    refuse_options({name: used[name] for name in ("--solver", "--form")}, file, "a utility")
    with tempfile.TemporaryDirectory() as folder:
        target = output or str(Path(folder) / f"{Path(file).stem}.json")
        with working(f"designing {Path(file).name}"):
            save_design(run_design(model, gap, time_limit), target, title=model.title)
        _certify_design(target, gap, json, output or file)


def _check_independently(file: str, name: str = "") -> None:
    """Run the checker that imports nothing of the library, in a process of its own; exit 1 if it
    refuses.

    A file may have another name in print.
    """
    if Path(file).suffix.lower() == ".toml":
        raise typer.BadParameter("--independent is for a certificate: write one with -o first")
    checker = Path(__file__).parents[2] / "ldpopt_check.py"  # not another installed one
    if not checker.is_file():
        refuse(
            "ldpopt_check.py is not installed beside ldpopt",
            "copy it from the repository, and run it on the file",
        )
    with working("the independent checker"):
        done = subprocess.run(
            [sys.executable, "-I", str(checker), file], capture_output=True, text=True
        )
    verdict = (done.stdout.strip() or done.stderr.strip()).replace(file, name or file)
    if done.returncode == 2:  # an unknown kind of file
        raise ModelFileError(
            f"the independent checker: {verdict}", code="checker", do="pass a certificate of ldpopt"
        )
    if done.returncode:
        refuse(f"the independent checker: {verdict}", UNTRUSTED)
    say(f"the independent checker: {verdict}")


def _recheck(claimed: Certificate, file: str, gap: float | None, json: str | None) -> None:
    """Recompute a certificate; exit 1 if it does not hold."""
    from ldpopt.certificate import recheck

    with working(f"checking {Path(file).name}"):
        checked = recheck(claimed)
    problem, recomputed = claimed.problem, checked.found
    assert problem is not None
    data = {
        "holds": checked.holds,
        "failures": list(checked.failures),
        "privacy": privacy_text(problem.privacy),
    }
    data |= {
        "objective": problem.objective,
        "sense": problem.utility.sense,
        "claimed": claimed.to_dict(),
    }
    data |= {
        "found": None if recomputed is None else recomputed.to_dict(),
        "audit": audit_data(claimed.audit),
    }
    data["residuals"] = (recomputed or claimed).residuals
    facts = checked.facts()
    show(Facts(f"{file}: {facts.title}", facts.parts), data, json)
    _require_truth(checked.failures)
    require_gap(claimed.relative_gap, gap)


def _certify_design(file: str, gap: float | None, json: str | None, name: str = "") -> None:
    """Recheck the file of a design, which may have another name in print; exit 1 if it does not
    hold.
    """
    from ldpopt.certificate.design_certificate import load_certificate

    claim = load_certificate(file)
    data: dict[str, Any] = {"objective": claim.objective, "privacy": privacy_text(claim.privacy)}
    data |= {"epsilon": float(claim.privacy.epsilon), "audit": audit_data(claim.audit)}
    data |= {
        key: float(value)
        for key, value in picked(claim, "achieved", "bound", "relative_gap", "bias").items()
    }
    data |= {key.replace(" ", "_"): text for key, text in claim.within}
    _recheck_claim(claim, name or file, data, json)
    require_gap(claim.relative_gap, gap)


def _certify_survey(file: str, gap: float | None, independent: bool, json: str | None) -> None:
    """Recheck the certificates of all questions of a survey; exit 1 if one does not hold."""
    from ldpopt.surveys.overview import spent_in_words

    survey = read_survey_file(file)
    failures = []
    with working("checking") as describe, tempfile.TemporaryDirectory() as folder:
        for place, (name, claim) in enumerate(survey.certificates.items()):
            describe(f"checking {name}")
            failures += [f"question {label(name)}: {failure}" for failure in claim.recheck()]
            if independent and hasattr(claim, "save"):
                path = str(Path(folder) / f"{place}.json")
                claim.save(path)
                _check_independently(path, f"question {label(name)}")
    tables, data = survey_tables(survey)
    spent = f"a person spends {spent_in_words(survey, 9)}"
    if survey.certificates:
        spent = f"{spent}, and all certificates hold"
    verdict = [] if failures else [spent]
    data |= {"holds": not failures, "failures": failures}
    show(Facts(f"{file}: {survey.title}", [*tables, *verdict]), data, json)
    _require_truth(failures)
    require_gap(
        max((claim.relative_gap for claim in survey.certificates.values()), default=0.0), gap
    )


def _recheck_claim(claim: Any, name: str, data: dict[str, Any], json: str | None) -> None:
    """Recheck a certificate of a design or of what reports reveal, and show it; exit 1 if it does
    not hold.
    """
    with working(f"checking {Path(name).name}"):
        failures = claim.recheck()
    facts = claim.facts()
    verdict = [] if failures else ["the certificate holds"]
    data = {"holds": not failures, "failures": list(failures)} | data
    show(Facts(f"{name}: {facts.title}", [*facts.parts, *verdict]), data, json)
    _require_truth(failures)


def _require_truth(failures: Any) -> None:
    """Exit 1 if a claim does not hold."""
    if failures:
        refuse(f"the certificate does not hold: {'; '.join(failures)}", UNTRUSTED)
