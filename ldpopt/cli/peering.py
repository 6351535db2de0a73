"""The mechanisms of the literature in the command compare: beside the optimum of a utility, and of a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldpopt.cli.designs import require_variance, run_design
from ldpopt.cli.output import number, print_folded, print_table, say
from ldpopt.cli.shell import refuse

if TYPE_CHECKING:
    from ldpopt.designing import DesignComparison
    from ldpopt.mechanism.mechanism import Mechanism
    from ldpopt.problem.modelfile import Model
    from ldpopt.problem.problem import Problem

MAX_PEER_WORK = 2e8
"""Most ratios (inputs squared times outputs) for which the mechanisms of the literature are computed: a minute."""


def peers_of_optimum(problem: Problem, optimum: Mechanism | None) -> dict[str, Any] | None:
    """The mechanisms of the literature for a utility as JSON data; None without an optimum."""
    from ldpopt.studies.literature import compare

    if optimum is None:
        return None
    n, m = problem.utility.shape
    if n * n * m > MAX_PEER_WORK:
        return {"rows": [], "left_out": {"mechanisms of the literature": f"{n} inputs: ldpopt.compare computes them"}}
    found = compare(problem, best=optimum)
    keys = ("name", "value", "ratio", "epsilon", "verdict")
    return {"rows": [{key: getattr(row, key) for key in keys} for row in found.rows], "left_out": found.left_out}


def show_peers_of_optimum(problem: Problem, data: dict[str, Any] | None) -> None:
    """Print what `peers_of_optimum` returned."""
    if data is None:
        return
    rows = [
        [row["name"], number(row["value"], 9), f"{row['ratio']:.4f}", f"{row['epsilon']:.6g}", row["verdict"]]
        for row in data["rows"]
    ]
    print()
    if rows:
        print_table(["mechanism", problem.utility.sense, "ratio", "epsilon", "audit"], rows)
    reasons = data["left_out"]
    for why in dict.fromkeys(reasons.values()):
        names = ", ".join(name for name in reasons if reasons[name] == why)
        print_folded(f"does not apply: {names}: {why}")


def compare_peers(stated: Model, gap: float | None, time_limit: float | None) -> DesignComparison:
    """Design for a model's workload, and compute its peers."""
    from ldpopt.designing import compare_designs

    asked = stated.require_design()
    best = run_design(stated, gap, time_limit)
    return compare_designs(asked.workload, asked.privacy, weights=asked.weights, objective=asked.objective, best=best)


def peers_record(found: DesignComparison) -> dict[str, Any]:
    """A comparison as JSON data."""
    best, keys = found.best, ("name", "value", "ratio", "average", "worst", "note")
    others = [{key: getattr(peer, key) for key in keys} for peer in found.others]
    return {
        "objective": best.objective,
        "value": best.value,
        "average": best.average_variance,
        "worst": best.worst_variance,
        "bound": best.bound,
        "relative_gap": best.relative_gap,
        "peers": others,
        "left_out": found.left_out,
    }


def show_peers(stated: Model, model: str, data: dict[str, Any], *, is_first: bool) -> None:
    """Print a comparison, after an empty line where it is not the first."""
    if not is_first:
        print()
    kind = "largest variance" if data["objective"] == "worst_case" else "average variance"
    first = {"name": "optimum", "ratio": 1.0, "note": f"relative gap {data['relative_gap']:.2g}"}
    rows = [
        [row["name"], number(row["value"], 9), f"{row['ratio']:.4f}", row["note"]]
        for row in (data | first, *data["peers"])
    ]
    rows.append(["certified bound", number(data["bound"], 9), "", ""])
    k, n = stated.require_design().workload.shape
    title = f"{stated.title or model}: {k:,} numbers of {n:,} answers"
    print_table(["mechanism", kind, "ratio", "note"], rows, title=title, words=["note"])
    for name, why in data["left_out"].items():
        print_folded(f"left out: {name}: {why}")


def finish_peers(stated: Model, found: DesignComparison, gap: float | None) -> None:
    """End with an exit code where a claim does not hold."""
    better = [peer.name for peer in found.others if peer.value < found.best.value * (1 - 1e-9)]
    if better:
        say(f"note: the design is {found.best.relative_gap:.2g} from its bound, and {better[0]} is nearer")
    if gap is not None and found.best.relative_gap > gap:
        refuse(f"the certified relative gap is {found.best.relative_gap:.3g}, more than {gap:g}")
    require_variance(stated, found.best.value)
