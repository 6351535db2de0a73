"""Tables 4 to 10 of Liu and Zhou 2023: what follows from the printed numbers themselves.

    python examples/papers/liu_zhou_arithmetic.py [FOLDER]

The picture has Friedman's statistic as printed and as it follows from the printed ranks, and the
printed errors over the closed forms of the protocols. `tests/paper/test_liu_zhou_tables.py` asserts
the same.
"""

import argparse
import math
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from liu_zhou_printed import (
    BUDGETS,
    TABLE_4,
    TABLE_6,
    TABLE_7,
    TABLE_8,
    TABLE_9,
    friedman_statistic,
)
from scipy import stats
from shared import BLUE, GREEN, RED, Record, save, write_csv

from ldpopt import mean

TESTS, MEANS = "tests/paper/test_liu_zhou_tables.py", "docs/theory/mean.md"
P_VALUES = (
    "3.966e-11",
    "1.687e-12",
    "3.228e-11",
    "2.813e-9",
    "1.733e-8",
    "4.419e-5",
    "0.005911",
    "0.005015",
    "0.015300",
)


def friedman(folder, record):
    """R17, R19, R20: Friedman's test from printed means of ranks."""
    statistic, p = friedman_statistic([1.4, 3.833333, 3.7, 2.4, 3.666667], 30)
    record.value("R17", "Friedman from Table 5's means", statistic, "54.587", where="friedman.csv")
    record.value("R17", "its p", p, "3.966e-11", where="friedman.csv")
    ranks = ["".join(str(int(rank)) for rank in stats.rankdata(row)) for row in TABLE_4.values()]
    text = " ".join(ranks)
    record.claim(
        "R19",
        "ranks follow from Table 4",
        text == "13524 14523 23415 12435 14325 25341",
        text,
        where="friedman.csv",
    )
    rows = []
    for epsilon, row, statistic, p in zip(BUDGETS, TABLE_6, TABLE_7, P_VALUES, strict=True):
        again = friedman_statistic(row, 30)[0]
        total = sum(row)
        rows.append((epsilon, *row, total, statistic, again, p, stats.chi2.sf(statistic, 4)))
        because = (
            f"its ranks sum to {total:.2f}, not 15"
            if abs(total - 15) > 0.025
            else "ranks have two digits"
        )
        record.value(
            "R20",
            f"statistic from printed ranks, epsilon {epsilon:g}",
            again,
            f"{statistic:.3f}",
            where="friedman.csv",
            because=because,
            within=0.002,
        )
        record.value(
            "R20",
            f"p of the printed statistic, epsilon {epsilon:g}",
            float(stats.chi2.sf(statistic, 4)),
            p,
            where="friedman.csv",
            within=0.01,
        )
    header = (
        "epsilon",
        "Opt",
        "Multiple",
        "Duchi-EVP",
        "PM",
        "Harmony",
        "sum",
        "statistic",
        "from the ranks",
        "p",
        "p of the statistic",
    )
    write_csv(folder / "friedman.csv", header, rows)
    return [row[8] for row in rows]


def error_shares(record):
    """R21: Table 8 over the closed forms, for data of the mean and second moment that Opt and
    Multiple suggest."""
    kinds = {
        "Opt": lambda e: mean.rcp_multiple_opt(e, 36),
        "Multiple": lambda e: mean.rcp_multiple(e, 36),
        "Duchi": lambda e: mean.harmony(e, 36),
        "PM": lambda e: mean.sampled(mean.Piecewise(e), attributes=36, method="horvitz_thompson"),
        "Harmony": lambda e: mean.harmony(e, 36),
    }
    shares = {}
    for (name, make), column in zip(kinds.items(), np.array(TABLE_8).T, strict=True):
        shares[name] = [
            printed / theory_error(make(e)) for e, printed in zip(BUDGETS, column, strict=True)
        ]
        near = min(shares[name]) > 0.8 and max(shares[name]) < 1.25
        text = f"{min(shares[name]):.2f} to {max(shares[name]):.2f} of the closed form"
        because = "no data have these errors: another algorithm"
        what = f"Table 8, {name}, near its closed form"
        record.claim("R21", what, near, text, where="arithmetic.png", because=because)
    return shares


def costs(record):
    """R22, R24: bits of a report, and the analysis of variance."""
    record.value("R22", "bits of a report, attribute public", 1, "1", where=MEANS)
    reports = mean.sampled(mean.Duchi(1.0), attributes=36).privatize(np.zeros((72, 36)), rng=1)
    record.claim(
        "R22",
        "O(n / m) rounds in all",
        len(reports) <= 72 / 36,
        f"n reports; 1 + ceil(log2 36) = {1 + math.ceil(math.log2(36))} bits where users draw "
        "the attribute",
        where=MEANS,
        because="every user sends one report",
    )
    ratio = 56.095499 / 23.536762
    p = float(stats.f.sf(2.383314, 4, 45))
    record.value("R24", "F from the mean squares", ratio, "2.383314", where=TESTS)
    record.value("R24", "p with 45 degrees of freedom", p, "0.065394", where=TESTS)
    between = 10 * float(((np.array(TABLE_9) - np.mean(TABLE_9)) ** 2).sum())
    record.value(
        "R24",
        "sum of squares of Table 9's averages, 10 runs",
        between,
        "224.381995",
        where=TESTS,
        within=1e-6,
    )
    runs = 1 + 45 / 5  # five algorithms
    record.claim(
        "R24",
        "30 runs of each algorithm",
        runs == 30,
        f"45 degrees of freedom are 10 runs; with 30, p = {stats.f.sf(3 * ratio, 4, 145):.1e}",
        where=TESTS,
        because="the degrees of freedom are those of 10 runs",
    )


def theory_error(protocol, first=0.509, second=0.2924, n=800_000):
    """Closed form of the error for data of these moments: a variance is a quadratic, three values
    give it."""
    low, high = protocol.domain
    start, middle, end = (float(protocol.variance(x)) for x in (low, (low + high) / 2, high))
    bend = 2 * (start + end - 2 * middle)
    return math.sqrt((start + (end - start - bend) * first + bend * second) / n) / (high - low)


def draw(folder, again, shares):
    figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 4.4), layout="constrained")
    left.plot(BUDGETS, TABLE_7, "s-", color=BLUE, label="printed")
    left.plot(BUDGETS, again, "o--", color=RED, label="from the printed ranks")
    left.set(
        title="Friedman's statistic, Tables 6 and 7",
        ylabel=r"$\chi^2$ (4 degrees of freedom)",
        ylim=(0, None),
    )
    looks = (("black", "o-"), (GREEN, "v--"), (BLUE, "s-"), (RED, "^-."), ("#6baed6", "D:"))
    for (name, share), (color, look) in zip(shares.items(), looks, strict=True):
        right.plot(BUDGETS, share, look, color=color, label=name)
    right.axhspan(0.8, 1.25, color="#d9d9d9", zorder=0, label="ratio 0.8 to 1.25")
    right.set(
        title="Printed errors of Table 8 relative to closed forms", ylabel="printed / closed form"
    )
    for ax in (left, right):
        ax.set(xscale="log", xlabel=r"$\varepsilon$ (nats)")
        ax.set_xticks(BUDGETS, [f"{epsilon:g}" for epsilon in BUDGETS])
        ax.minorticks_off()
        ax.legend(frameon=False)
    save(figure, folder / "arithmetic.png")


def main():
    parser = argparse.ArgumentParser(description="Check the printed tables of Liu and Zhou.")
    parser.add_argument(
        "folder", nargs="?", type=Path, help="where to write (default: a temporary folder)"
    )
    folder = parser.parse_args().folder or Path(tempfile.mkdtemp(prefix="ldpopt-"))
    folder.mkdir(parents=True, exist_ok=True)
    record = Record(folder)
    again = friedman(folder, record)
    shares = error_shares(record)
    draw(folder, again, shares)
    assert abs(again[0] - TABLE_7[0]) < 0.1
    assert max(max(shares[name]) for name in ("Opt", "Multiple")) < 1.25 < min(shares["Duchi"])
    costs(record)
    record.save()


if __name__ == "__main__":
    main()
