"""The command design: the mechanism from which a model's workload is estimated best; certificates of designs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli.designs import require_variance, run_design
from ldpopt.cli.drawing import draw_design
from ldpopt.cli.output import (
    Json,
    ModelPath,
    label,
    number,
    print_folded,
    print_mechanism,
    print_table,
    report,
    require_writable,
    save_figure,
    thinned,
    wait_for,
)
from ldpopt.cli.shell import refuse
from ldpopt.cli.solving import Epsilon, TimeLimit, audit_record, notion, read_at

if TYPE_CHECKING:
    from ldpopt.problem.modelfile import Model

LISTED = 20
"""Most answers and reports of a mechanism that is printed."""

SHOWN = 40
"""Most answers whose variances are printed."""

Outputs = Annotated[
    int | None, typer.Option("--outputs", metavar="M", min=2, help="Largest number of different reports.")
]


def design(
    model: ModelPath,
    epsilon: Epsilon = None,
    gap: Annotated[
        float | None,
        typer.Option(
            "--gap", min=0.0, help="Relative gap to reach (default: 1e-6); if stated, exit 1 if it is missed."
        ),
    ] = None,
    time_limit: TimeLimit = None,
    outputs: Outputs = None,
    by_answer: Annotated[bool, typer.Option("--by-answer", help="Print the variance for each true answer.")] = False,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Mechanism, estimator and proof in one JSON file."),
    ] = None,
    proof: Annotated[
        str | None, typer.Option("--certificate", metavar="FILE", help="The same file, for `ldpopt certify`.")
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Variance by answer (`ldpopt plot` also shows other mechanisms)."),
    ] = None,
    json: Json = None,
) -> None:
    """Find the mechanism that estimates a model's workload with the smallest variance.

    No private mechanism has a smaller variance than the bound. The file written by -o is all that a survey needs:
    `privatize`, `estimate`, `audit`, `plot` and `certify` read it. Exit code 1 if the model's [expect] is not met or a
    stated gap is missed; 3 if there is no design.
    """
    require_writable(output, proof, picture=plot)
    stated = read_at(model, epsilon)
    stated.require_design(model)
    found = wait_for(lambda: run_design(stated, gap, time_limit, outputs), f"designing {Path(model).name}")
    data = design_record(stated, found)
    report(data, json, lambda: _show(stated, model, found, data, by_answer))
    _save(found, stated.title, output, proof)
    if plot is not None:
        save_figure(plot, draw_design(found).figure)
    if gap is not None and found.relative_gap > gap:
        refuse(f"the certified relative gap is {found.relative_gap:.3g}, more than {gap:g}")
    require_variance(stated, found.value)


def design_record(stated: Model, found: Any) -> dict[str, Any]:
    """A design as JSON data; the mechanism is null where its reports are too many to list."""
    asked = stated.require_design()
    is_listed = found.codec.form == "labels"
    variances = found.variance()
    return {
        "title": stated.title,
        "objective": asked.objective,
        "privacy": notion(asked.privacy),
        "numbers": asked.workload.shape[0],
        "answers": asked.workload.shape[1],
        "value": found.value,
        "average_variance": found.average_variance,
        "worst_variance": found.worst_variance,
        "bound": found.bound,
        "relative_gap": found.relative_gap,
        "exact": found.exact,
        "reports": found.n_reports if is_listed else None,
        "bits": found.bits,
        "variances": [
            {"answer": answer, "variance": variance}
            for answer, variance in zip(asked.workload.inputs, variances.tolist(), strict=True)
        ],
        "mechanism": found.mechanism.to_dict() if is_listed else None,
        "audit": audit_record(found.certificate.audit),
    }


def _save(found: Any, title: str, *paths: str | None) -> None:
    from ldpopt.designing import save_design

    for path in paths:
        if path is not None:
            save_design(found, path, title=title)


def _show(stated: Model, model: str, found: Any, data: dict[str, Any], by_answer: bool) -> None:
    print_folded(f"{stated.title or model}: {data['numbers']:,} numbers of {data['answers']:,} answers")
    if data["mechanism"] is not None and max(data["answers"], data["reports"]) <= LISTED:
        print_mechanism(found.mechanism)
        print()
    kind = "largest" if data["objective"] == "worst_case" else "average"
    audit, reports = data["audit"], data["reports"]
    told = f"{reports:,}" if reports is not None else f"sets of {found.protocol.size:,} answers"
    lines = [
        ("privacy", data["privacy"]),
        ("average variance", number(data["average_variance"], 9)),
        ("largest variance", number(data["worst_variance"], 9)),
        ("certificate", f"{kind} at least {data['bound']:.9g}, relative gap {data['relative_gap']:.2g}"),
        ("reports", f"{told}, {data['bits']:,} bits"),
        ("audit", f"epsilon {number(audit['epsilon'], 9)}, delta {number(audit['delta'], 9)}: {audit['verdict']}"),
    ]
    if stated.expect is not None and stated.expect.variance is not None:
        lines.append(("model expects", f"{stated.expect.variance:.9g} within {stated.expect.tolerance:g}"))
    for name, text in lines:
        print_folded(f"{name + ':':<20} {text}", 21)
    print_folded(
        "(variances of one respondent's values, summed over the numbers; divide by the number of respondents)", 1
    )
    if by_answer:
        print()
        _show_by_answer(data["variances"])


def _show_by_answer(variances: list[dict[str, Any]]) -> None:
    few, more = thinned(variances, SHOWN)
    rows = [[label(entry["answer"]), number(entry["variance"], 9)] for entry in few]
    print_table(["answer", "variance"], rows, title=f"{len(variances):,} answers{more}" if more else "")


def certify_design_of(model: str, output: str | None, limit: float | None, gap: float | None, json: str | None) -> None:
    """Design for a model, write the file of the design where asked, and recheck it."""
    import tempfile

    from ldpopt.problem.modelfile import read_model

    stated = read_model(model)
    found = wait_for(lambda: run_design(stated, gap, limit), f"designing {Path(model).name}")
    with tempfile.TemporaryDirectory() as folder:
        file = output or str(Path(folder) / f"{Path(model).stem}.json")
        _save(found, stated.title, file)
        certify_design(file, 1e-6 if gap is None else gap, json)


def certify_design(file: str, gap: float | None, json: str | None) -> None:
    """Recheck the file of a design; exit 1 where it does not hold."""
    from ldpopt.certificate.design_certificate import load_certificate

    claim = load_certificate(file)
    failures = wait_for(claim.recheck, f"checking {Path(file).name}")
    data = {
        "holds": not failures,
        "failures": list(failures),
        "objective": claim.objective,
        "privacy": notion(claim.privacy),
        "epsilon": float(claim.privacy.epsilon),
        "achieved": float(claim.achieved),
        "bound": float(claim.bound),
        "relative_gap": claim.relative_gap,
        "bias": float(claim.bias),
        "notes": list(claim.notes),
        "audit": audit_record(claim.audit),
    }
    k, n = claim.workload.shape
    heading = f"{file}: {k:,} numbers of {n:,} answers, {claim.reports}, {data['privacy']}"
    report(data, json, lambda: _show_claim(heading, data))
    if failures:
        refuse(f"the certificate does not hold: {'; '.join(failures)}")
    if gap is not None and claim.relative_gap > gap:
        refuse(f"the certified relative gap is {claim.relative_gap:.3g}, more than {gap:g}")


def _show_claim(heading: str, data: dict[str, Any]) -> None:
    print_folded(heading)
    rows = [[name, number(data[name], 15)] for name in ("achieved", "bound", "relative_gap", "bias")]
    print_table(["", f"{data['objective'].replace('_', '-')} variance"], rows)
    print(f"\naudit: epsilon {number(data['audit']['epsilon'], 12)}: {data['audit']['verdict']}")
    for note in data["notes"]:
        print_folded(f"note: {note}", 6)
    if data["holds"]:
        print("the certificate holds")
