"""Certificates of designs on the command line: checked again without a solver."""

from __future__ import annotations

from pathlib import Path

from ldpopt.cli.output import number, print_table, printable, report, wait_for
from ldpopt.cli.shell import refuse


def certify_design(file: str, gap: float | None, json: str | None) -> None:
    """Recheck the certificate of a design; exit 1 where it does not hold."""
    from ldpopt.estimation.designs import DesignCertificate

    proof = DesignCertificate.load(file)
    failures = wait_for(proof.recheck, f"checking {Path(file).name}")
    data = {
        "holds": not failures,
        "failures": list(failures),
        "objective": proof.objective,
        "epsilon": float(proof.privacy.epsilon),
        "achieved": float(proof.achieved),
        "bound": float(proof.bound),
        "relative_gap": proof.relative_gap,
        "audit": {"epsilon": proof.audit.epsilon, "verdict": proof.audit.verdict},
    }

    def show() -> None:
        (k, n), m = proof.workload.shape, len(proof.mechanism.outputs)
        print(printable(f"{file}: {k} numbers of {n} answers, {m} reports, {proof.privacy!r}"))
        rows = [[name, number(data[name], 15)] for name in ("achieved", "bound", "relative_gap")]  # type: ignore[arg-type]
        print_table(["", f"{proof.objective.replace('_', '-')} variance"], rows)
        print(f"\naudit: epsilon {number(proof.audit.epsilon, 12)}: {proof.audit.verdict}")
        if not failures:
            print("the certificate holds")

    report(data, json, show)
    if failures:
        refuse(f"the certificate does not hold: {'; '.join(failures)}")
    if gap is not None and proof.relative_gap > gap:
        refuse(f"the certified relative gap is {proof.relative_gap:.3g}, more than {gap:g}")
