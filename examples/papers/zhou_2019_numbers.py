"""The formulas, proofs and examples of Zhou, Lu and Wu 2019, beside what ldpopt computes.

    python examples/papers/zhou_2019_numbers.py [FOLDER]

The picture answers the paper's open question: the optimum for three and five answers against
epsilon by formula and by linear program, with the budgets at which one more answer is reported.
`tests/paper/` checks the same in rationals.
"""

import argparse
import itertools
import math
import tempfile
from fractions import Fraction
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from shared import BLUE, GREEN, Record, save, write_csv

from ldpopt import (
    ApproximateLDP,
    Problem,
    PureLDP,
    audit,
    closed_forms,
    extreme_points,
    formulate,
    regions,
    solve,
)
from ldpopt.solving.exact.simplex import MODEL_I, MODEL_II, binary_standard_form, canonical_form

WHERE = "open_question.png"
CASES = "cases.csv"


def binary_cases(folder, record):
    """Z1 to Z6, Z10, Z13, Z15, Z22: the optimum in all regions, by formula (4) or (15) and by
    solver."""
    rows = []
    farthest = 0.0
    alpha = math.exp(0.1)
    for delta, first in itertools.product((0.0, 0.2), (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)):
        formula = max(
            first + (1 - first) * delta, (delta + alpha) / (alpha + 1), first * delta + 1 - first
        )
        form = closed_forms.binary([first, 1 - first], 0.1, delta)
        privacy = ApproximateLDP(0.1, delta) if delta else PureLDP(0.1)
        value = solve(Problem([first, 1 - first], "identity", privacy)).value
        rows.append((delta, first, formula, form.value, value, form.region))
        farthest = max(farthest, abs(form.value - formula), abs(value - formula))
    write_csv(
        folder / CASES,
        ("delta", "prior of 0", "paper's formula", "closed form", "solver", "region"),
        rows,
    )
    text = f"14 priors within {farthest:.0e}"
    whats = {
        "Z4": "model I as a linear program",
        "Z6": "(4) in its regions",
        "Z13": "model II as a linear program",
        "Z15": "(15) in its regions",
        "Z22": "the best of four extreme points",
    }
    for row, what in whats.items():
        record.claim(row, what, farthest < 1e-9, text, where=CASES)
    for row in ("Z1", "Z2", "Z3"):
        words = {
            "Z1": "definition, both forms of delta",
            "Z2": "utility 'identity'",
            "Z3": "the survey as a problem",
        }
        record.shown(row, words[row], where=CASES if row != "Z3" else "examples/01_survey.py")
    record.claim(
        "Z22",
        "case 2 as printed, pi0 >= 1/(E+1)",
        closed_forms.binary([0.9, 0.1], 0.1).value < 0.1 + 1e-9,
        "at pi0 = 0.9 the optimum is 0.9, not 0.1",
        where=CASES,
        because="the inequality must be turned",
    )


def bases(record):
    """Z8 to Z10, Z17: basic solutions and reduced costs in rationals."""
    alpha = Fraction(3)
    worst = 0
    for model, delta in ((MODEL_I, Fraction(0)), (MODEL_II, Fraction(1, 5))):
        for first in (Fraction(k, 20) for k in range(21)):
            second = 1 - first
            f = alpha**2 - 1
            s = (first - second * alpha) / f
            t = (second - first * alpha) / f
            printed = [{"x5": s, "x6": t}]
            if delta:
                printed += [
                    {"x6": -second, "x7": second * alpha - first},
                    {"x5": -first, "x8": first * alpha - second},
                ]
            else:
                printed += [{"x3": -t, "x5": s}, {"x4": -s, "x6": t}]
            for basis, costs in zip((model["B1"], model["B2"], model["B3"]), printed, strict=True):
                table = canonical_form(
                    binary_standard_form([first, second], delta=delta, alpha=alpha), basis.columns
                )
                worst += any(table.reduced_costs[key] != cost for key, cost in costs.items())
    where = "tests/paper/test_zhou_2019_simplex.py"
    for row, what in (("Z8", "standard form"), ("Z9", "(7)-(9)"), ("Z17", "(16)-(18)")):
        record.claim(row, what, worst == 0, "equal in rationals at 21 priors", where=where)
    form = [
        binary_standard_form(
            [Fraction(9, 10), Fraction(1, 10)], delta=Fraction(1, 5), alpha=3, printed=p
        )
        for p in (True, False)
    ]
    points = [canonical_form(f, MODEL_II["B2"].columns).basic_solution["x2"] for f in form]
    record.claim(
        "Z17",
        "right-hand side of model II as printed",
        points[0] == points[1],
        f"basis 2 gives p11 = {points[0]}, not delta",
        where=where,
        because="rows 3 and 4 need E + delta",
    )
    tie = closed_forms.binary([Fraction(3, 4), Fraction(1, 4)], "log(3)")
    a, b = np.array(tie.face)
    values = [
        float((share * a + (1 - share) * b) @ [0.75, 0.25]) for share in np.linspace(0, 1, 11)
    ]
    record.value(
        "Z10",
        "utility on the tied edge, 11 points",
        max(values, key=lambda v: abs(v - 0.75)),
        "0.75",
        where=CASES,
    )


def survey(record):
    """Z18, Z19: the worked example, and what delta does."""
    where = "examples/01_survey.py"
    record.value("Z19", "1 / (E + 1) at 0.1", 1 / (math.exp(0.1) + 1), "0.4750", where=where)
    pure = closed_forms.binary([0.2, 0.8], 0.1)
    loose = closed_forms.binary([0.2, 0.8], 0.1, 0.15)
    record.value("Z19", "expected share, pure", float(pure.value), "0.8", where=where)
    record.value("Z19", "expected share, delta 0.15", float(loose.value), "0.83", where=where)
    record.value("Z19", "p00 with delta", float(loose.channel[0, 0]), "0.15", where=where)
    record.claim(
        "Z18",
        "delta avoids deterministic mechanisms",
        audit(loose.channel).epsilon < math.inf,
        "one row stays (0, 1); 300 of 10 000 reports prove the answer",
        where=where,
        because="half true: only one of the two rows becomes random",
    )


def n_ary(record):
    """Z20, Z21, Z23: the size of the model, and its extreme points."""
    for n in (3, 5):
        pairwise = formulate(Problem(np.full(n, 1 / n), "identity", PureLDP(1.0)), "pairwise")
        counts = [pairwise.objective.size, *(span.stop - span.start for span in pairwise.rows)]
        whats = ("n^2 variables", "n row sums", "n^2 (n - 1) ratio rows")
        for what, count, printed in zip(whats, counts, (n * n, n, n * n * (n - 1)), strict=True):
            record.value("Z20", f"{what}, n = {n}", count, str(printed), where="numbers.csv")
    points = {n: extreme_points(PureLDP(1.0), n) for n in (2, 3)}
    record.value("Z21", "extreme points, n = 2", points[2].count, "4", where="numbers.csv")
    listed = f"{points[3].count}: {points[3].counts_by_columns} by non-zero columns"
    record.shown("Z21", "extreme points, n = 3", where="numbers.csv", ours=listed)
    whole = all(
        ((v == 0).all(axis=0) | (v > 0).all(axis=0)).all()
        for v in map(np.asarray, points[3].vertices)
    )
    record.claim(
        "Z21",
        "a column is all zero or all positive",
        whole,
        "at all 33 points",
        where="numbers.csv",
    )
    cells = regions.prior_regions(PureLDP(1.0), 3)
    words = f"exact simplex; {len(cells)} regions of priors for three answers"
    record.shown(
        "Z23",
        "what graphs, guessed bases and numbers leave out",
        where="examples/09_regions.py",
        ours=words,
    )


def open_question(folder, record):
    """Z24: the n-ary optimum in closed form, beside the linear program."""
    priors = {"three answers": [0.5, 0.3, 0.2], "five answers": [0.4, 0.25, 0.15, 0.12, 0.08]}
    figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
    rows = []
    farthest = 0.0
    epsilons = np.linspace(0.05, 4, 40)
    for (name, prior), color, marker in zip(priors.items(), (BLUE, GREEN), "os", strict=True):
        for delta, line in ((0.0, "-"), (0.1, "--")):
            formula = [float(closed_forms.top_k(prior, float(e), delta).value) for e in epsilons]
            ax.plot(epsilons, formula, line, color=color, label=rf"{name}, $\delta = {delta:g}$")
            for e, value in list(zip(epsilons, formula, strict=True))[3::6]:
                privacy = ApproximateLDP(float(e), delta) if delta else PureLDP(float(e))
                found = solve(Problem(prior, "identity", privacy)).value
                farthest = max(farthest, abs(found - value))
                rows.append((name, delta, e, value, found))
                ax.plot(e, found, marker, color="black", markerfacecolor="none", markersize=5)
        for k, threshold in enumerate(closed_forms.top_k(prior, 1.0).thresholds[1:], start=2):
            at = math.log(threshold)
            ax.plot(at, closed_forms.top_k(prior, at + 1e-9).value, "|", color=color, markersize=14)
            rows.append((name, "", at, f"{k} answers reported from here on", ""))
    ax.plot([], [], "o", color="black", markerfacecolor="none", label="linear program")
    ax.plot(
        [],
        [],
        "|",
        color="black",
        markersize=14,
        linestyle="none",
        label="one more answer is reported",
    )
    ax.set(
        title="The open question: largest expected share of true reports",
        xlabel=r"$\varepsilon$ (nats)",
        ylabel="expected share",
    )
    ax.legend(frameon=False, fontsize=8)
    save(figure, folder / WHERE)
    write_csv(
        folder / "open_question.csv",
        ("prior", "delta", "epsilon", "closed form", "linear program"),
        rows,
    )
    record.claim(
        "Z24",
        "closed form in prior and budget",
        farthest < 1e-9,
        f"answered; within {farthest:.0e}",
        where=WHERE,
    )
    for delta, value in ((0.0, "0.5848468629"), (0.1, "0.6263621766")):
        got = float(closed_forms.top_k([0.5, 0.3, 0.2], 1.0, delta).value)
        assert abs(got - float(value)) < 1e-10


def main():
    parser = argparse.ArgumentParser(description="Recompute the formulas of Zhou, Lu and Wu 2019.")
    parser.add_argument(
        "folder", nargs="?", type=Path, help="where to write (default: a temporary folder)"
    )
    folder = parser.parse_args().folder or Path(tempfile.mkdtemp(prefix="ldpopt-"))
    folder.mkdir(parents=True, exist_ok=True)
    record = Record(folder)
    binary_cases(folder, record)
    bases(record)
    survey(record)
    n_ary(record)
    open_question(folder, record)
    record.save()
    rows = [
        (row.row, row.what, row.printed, row.ours)
        for row in record.rows
        if row.where == "numbers.csv"
    ]
    write_csv(folder / "numbers.csv", ("row", "what", "printed", "ours"), rows)


if __name__ == "__main__":
    main()
