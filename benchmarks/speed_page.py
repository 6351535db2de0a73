"""Write the results of benchmarks/speed.py: tables in speed.md, a plot in speed.png."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from speed_cases import CHOICE_SIZES, EPSILONS, GAINS, OTHERS, SIZES, key

PACKAGES = ("highspy", "cvxpy", "clarabel", "pulp", "linopy", "scipy", "qif", "numpy")
MIN_GROWTH = 2.0
"""Smallest memory above the imports, in MB, that counts for the fit of memory."""

Found = dict[str, Any]

HEAD = """# Speed

Written by `python benchmarks/speed.py`, in one run or in parts (`--keep`). Measured {date},
Python {python}, {machine}, {cores} cores shared with other work: the load average was {load} while
it ran. Where it exceeds {cores}, wall seconds are that much longer than on an idle machine; CPU
seconds, which compare methods, are much less affected. {versions}.

CPU seconds are those of the process and its children after imports and a first small solve;
medians of up to five runs where a case is short. Memory is the peak of a process that does
nothing else, imports included. `ldpopt` is `solve` and `certify` together, so its figures include
repair, exact audit and an exact bound, which no other method has; its gap is certified. `HiGHS,
compact` and `HiGHS, pairwise` are HiGHS at its own settings on the programs that `ldpopt`
formulates, `n**2 + n` and `n**2 (n - 1)` rows; all others are given the pairwise program, written
as their manuals suggest. A method stops at the first size that takes more than {limit} s of wall
time (">": what it had used by then; `qif` is given more at n = 80), or that would need as many
CPU seconds if its time grew no faster than its rows ("never"). {missing}

![CPU seconds and peak memory against n, random gain](speed.png)
"""

QIF = """
`qif` 1.6 declares no license in its metadata and ships none; it is measured here, not built upon.
"""


class Run:
    """The raw figures of a run, by case."""

    def __init__(self, done: dict[str, Found], limit: float) -> None:
        self.facts = done[""]
        self.limit = limit
        self.cases = [found for name, found in done.items() if name]
        self.by_key = done

    def get(
        self, method: str, n: int, gain: str, epsilon: float = 1, prior: str = "random"
    ) -> Found:
        one = {"method": method, "n": n, "gain": gain, "epsilon": epsilon, "prior": prior}
        return self.by_key.get(key(one), {})

    def measured(self, method: str) -> list[Found]:
        return [one for one in self.cases if one["method"] == method and "cpu" in one]


def middle(values: Iterable[float]) -> float:
    return statistics.median(values)


def digits(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def table(head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    head = list(map(str, head))
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def cell(found: Found, shown: Callable[[Found], str]) -> str:
    if "cpu" in found:
        return shown(found)
    if "used" in found:
        return "> " + shown(found | {"cpu": [found["used"]]})
    return "never" if "over" in found or "certain" in found else found.get("failed", "")


def summary(run: Run, shown: Callable[[Found], str]) -> str:
    parts = []
    for gain in GAINS:
        rows = []
        for method in ("ldpopt", *OTHERS):
            cells = [cell(run.get(method, n, gain), shown) for n in SIZES]
            if any(cells):
                rows.append([method, *cells])
        parts.append(f"{gain.capitalize()} gain:\n\n" + table(["n =", *SIZES], rows))
    return "\n".join(parts)


def share(found: Found) -> float:
    """Share of the time for mechanism, audit, repair and bound."""
    return middle(p / c for p, c in zip(found["proving"], found["cpu"], strict=True))


def all_of_ours(run: Run) -> str:
    rows = []
    for gain in GAINS:
        for epsilon in EPSILONS:
            for prior in ("uniform", "random"):
                found = [run.get("ldpopt", n, gain, epsilon, prior) for n in SIZES]
                gaps = [one["gap"] for one in found if "gap" in one] or [float("nan")]
                sure = all(one["verdict"] == "certified" for one in found if "gap" in one)
                cells = [cell(one, lambda o: f"{digits(middle(o['cpu']))}") for one in found]
                rows.append(
                    [gain, epsilon, prior, *cells, f"{max(gaps):.0e}", "yes" if sure else "NO"]
                )
    return table(
        ["gain", "epsilon", "prior", *(f"n = {n}" for n in SIZES), "largest gap", "all certified"],
        rows,
    )


def fit(run: Run, method: str, gain: str) -> tuple[str, str, str]:
    """Exponents of CPU seconds and of memory above the imports, and the sizes that they are fitted
    to."""
    found = [one for n in SIZES if "cpu" in (one := run.get(method, n, gain))][-4:]
    if len(found) < 2:
        return "", "", ""
    x = np.log([one["n"] for one in found])
    slope = np.polyfit(x, np.log([middle(one["cpu"]) for one in found]), 1)[0]
    above = [one["memory"] - one["base"] for one in found]
    seen = [k for k, value in enumerate(above) if value >= MIN_GROWTH]
    memory = (
        f"{np.polyfit(x[seen], np.log([above[k] for k in seen]), 1)[0]:.1f}"
        if len(seen) >= 2
        else ""
    )
    return ", ".join(str(one["n"]) for one in found), f"{slope:.1f}", memory


def growth(run: Run) -> str:
    rows = []
    for method in ("ldpopt", *OTHERS):
        for gain in GAINS:
            points, seconds, memory = fit(run, method, gain)
            if points:
                rows.append([method, gain, points, seconds, memory])
    return table(
        ["method", "gain", "fitted to n =", "CPU seconds", "memory above the imports"], rows
    )


def agreement(run: Run) -> str:
    """Differences of the values from ldpopt's certified ones, and exact audits of the channels."""
    rows = []
    for method in OTHERS:
        found = run.measured(method)
        if not found:
            continue
        own = [run.get("ldpopt", one["n"], one["gain"], one["epsilon"])["value"] for one in found]
        apart = max(
            abs(one["value"] - value) / abs(value) for one, value in zip(found, own, strict=True)
        )
        least = min(one["least"] for one in found)
        off = max(one["off"] for one in found)
        negative = sum(one["least"] < 0 for one in found)
        beyond = [one["excess"] for one in found if one["excess"] > 0]
        infinite = sum(excess == float("inf") for excess in beyond)
        most = max([excess for excess in beyond if excess < float("inf")], default=0.0)
        row = [
            method,
            len(found),
            f"{apart:.0e}",
            f"{negative} ({least:.0e})" if negative else 0,
            f"{off:.0e}",
        ]
        rows.append(
            [
                *row,
                f"{len(beyond)} ({most:.0e})" if len(beyond) > infinite else len(beyond),
                infinite,
            ]
        )
    head = [
        "method",
        "cases",
        "largest difference",
        "with negative entries (least)",
        "row sums off by at most",
    ]
    return table(
        [*head, "beyond epsilon (largest finite excess)", "of them with infinite epsilon"], rows
    )


def choice_rows(run: Run) -> tuple[list[Found], list[str]]:
    found = run.measured("choices")
    return found, ["simplex, compact", "simplex, sifted", "interior, compact", "interior, sifted"]


def ratio(one: Found, way: str) -> float:
    times = {name: middle(values) for name, values in one["cpu"].items()}
    return times.get(way, float("inf")) / min(
        value for name, value in times.items() if name != "auto"
    )


def automatic(run: Run) -> str:
    found, ways = choice_rows(run)
    rows = []
    for n in CHOICE_SIZES:
        here = [one for one in found if one["n"] == n]
        if not here:
            continue
        cells = []
        for way in ("auto", *ways):
            ratios = [ratio(one, way) for one in here]
            known = [value for value in ratios if value < float("inf")]
            text = f"{middle(known):.2f} (to {max(known):.2f})" if known else ""
            cells.append(
                text if len(known) == len(ratios) else f"{text} and over 10" if known else "over 10"
            )
        rows.append([n, *cells])
    return table(["n", "auto", *ways], rows)


def switches(run: Run) -> str:
    """Rules by size: one way below a, another below b, sifting with the interior point from
    there."""
    found, ways = choice_rows(run)
    if not found:
        return ""
    rows = []
    for a, b, way in product((0, *CHOICE_SIZES), (0, *CHOICE_SIZES), ways[1:3]):
        if a > b or (a == b and way != ways[1]):
            continue
        ratios = [
            ratio(o, ways[0] if o["n"] < a else way if o["n"] < b else ways[3]) for o in found
        ]
        middle_way = f"{way} for {a} <= n < {b}" if a < b else ""
        rows.append(
            [
                a,
                middle_way,
                f"{max(ratios):.2f}",
                f"{np.mean(ratios):.2f}",
                sum(r > 1.5 for r in ratios),
            ]
        )
    rows.sort(key=lambda row: (row[4], float(row[2])))
    plain = [row for row in rows if not row[1]]
    head = [
        "simplex, compact below",
        "between",
        "largest ratio",
        "mean",
        f"over 1.5, of {len(found)}",
    ]
    return table(head, rows[:6] + plain[:4])


def requirements(run: Run) -> str:
    rows: list[list[Any]] = []

    def add(what: str, measured: str, met: bool | None) -> None:
        rows.append(
            [what, measured, "not measured" if met is None else "met" if met else "**not met**"]
        )

    def group(what: str, cases: list[Found], wall: float, gap: float, memory: float) -> None:
        done = [one for one in cases if "wall" in one]
        if len(done) < len(cases):
            failed = any(one for one in cases if one and "wall" not in one)
            add(what, "over the limit" if failed else "no figure", False if failed else None)
            return
        slow = max(done, key=lambda one: middle(one["wall"]))
        times = middle(slow["wall"])
        most = max(one["memory"] for one in done)
        gaps = max(one["gap"] for one in done)
        text = (
            f"{digits(times)} s wall, {digits(max(middle(one['cpu']) for one in done))} s CPU, "
            f"gap {gaps:.0e}, "
        )
        text += (
            f"{most:.0f} MB ({slow['gain']}, epsilon {slow['epsilon']}, {slow['prior']} prior "
            "the slowest)"
        )
        add(what, text, times <= wall and gaps <= gap and most <= memory)

    at_320 = run.get("ldpopt", 320, "random")
    group("n = 320, random gain, epsilon 1: at most 0.5 s wall, gap 1e-9", [at_320], 0.5, 1e-9, 1e9)
    simplex = run.get("HiGHS, compact", 320, "random")
    if at_320 and simplex:
        least = middle(simplex.get("cpu", [simplex.get("used", simplex.get("certain", 0.0))]))
        times = least / middle(at_320["cpu"])
        mark = "" if "cpu" in simplex else "more than "
        add(
            "... 20 times less CPU than HiGHS on the compact form",
            f"{mark}{times:.0f} times",
            times >= 20,
        )
    for prior in ("random", "uniform"):
        for n, epsilons, wall, memory in (
            (1000, (0.1, 1), 4, 1024),
            (1000, (5,), 20, 1024),
            (2000, (1,), 15, 2048),
        ):
            cases = [
                run.get("ldpopt", n, gain, epsilon, prior) for gain in GAINS for epsilon in epsilons
            ]
            name = f"n = {n}, {prior} prior, all gains, epsilon {' and '.join(map(str, epsilons))}"
            group(
                f"{name}: at most {wall} s wall, 1e-9, {memory >> 10} GB", cases, wall, 1e-9, memory
            )
    cases = [run.get("ldpopt", 5000, g) for g in GAINS]
    group("n = 5000, all gains, epsilon 1: at most 120 s wall, 1e-8, 8 GB", cases, 120, 1e-8, 8192)
    for gain in ("identity", "random"):
        own = run.get("ldpopt", 80, gain)
        other = run.get("qif", 80, gain)
        used = other.get("cpu", [other["used"]] if "used" in other else [])
        if "cpu" not in own or not used:
            continue
        times = middle(used) / middle(own["cpu"])
        room = other["memory"] / own["memory"]
        more = "" if "cpu" in other else "more than "
        text = f"{more}{times:.0f} times, {more}{room:.1f} times, "
        apart = abs(other["value"] / own["value"] - 1) if "cpu" in other else 0.0
        text += f"{apart:.0e} apart" if "cpu" in other else "it had not ended"
        what = (
            f"n = 80, {gain} gain, against qif: 300 times less CPU, 5 times less memory, same "
            "value to 1e-12"
        )
        add(what, text, times >= 300 and room >= 5 and apart <= 1e-12)
    large = [share(one) for one in run.measured("ldpopt") if one["n"] >= 320]
    if large:
        text = f"n >= 320: median {100 * middle(large):.0f} %, largest {100 * max(large):.0f} %; "
        text += f"{sum(value >= 0.2 for value in large)} of {len(large)} cases over (all sizes)"
        add(
            "Mechanism, audit, repair and bound: less than 20 % of solve and certify",
            text,
            max(large) < 0.2,
        )
    found, _ = choice_rows(run)
    if found:
        ratios = [ratio(one, "auto") for one in found]
        text = (
            f"largest ratio {max(ratios):.2f}, {sum(r > 1.5 for r in ratios)} of {len(ratios)} over"
        )
        add(
            "auto never more than 1.5 times the best fixed choice, n = 10 to 320",
            text,
            max(ratios) <= 1.5,
        )
    built = run.get("formulate", 320, "random")
    if built:
        wall = middle(built["wall"])
        add("compact program for n = 320 built in 0.3 s", f"{wall:.3f} s wall", wall < 0.3)
    return table(["requirement", "measured", ""], rows)


def plot(run: Run, target: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    colors = plt.get_cmap("tab10").colors
    for k, method in enumerate(("ldpopt", *OTHERS)):
        found = [one for n in SIZES if "cpu" in (one := run.get(method, n, "random"))]
        if not found:
            continue
        style = {
            "color": colors[k],
            "marker": "osv^D<>Px"[k],
            "lw": 3 if k == 0 else 1.5,
            "ms": 6,
            "label": method,
        }
        n = [one["n"] for one in found]
        axes[0].loglog(n, [middle(one["cpu"]) for one in found], **style)
        axes[1].loglog(n, [one["memory"] for one in found], **style)
    for axis, name in zip(axes, ("CPU seconds", "peak memory, MB"), strict=True):
        axis.set(xlabel="answers n", ylabel=name, title=f"{name}: random gain, epsilon = 1")
        axis.set_xticks(SIZES, [str(n) if n != 640 else "" for n in SIZES])
        axis.minorticks_off()
        axis.grid(True, alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    figure.savefig(target, dpi=110)


def versions() -> str:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def write(done: dict[str, Found], options: argparse.Namespace, folder: Path) -> None:
    run = Run(done, options.limit)
    load = run.facts["load"] or [0.0]
    missing = [f"{m} (not installed)" for m in run.facts["missing"]]
    missing += [
        f"{m} with the {g} gain" for m in OTHERS for g in GAINS if not run.get(m, SIZES[0], g)
    ]
    head = HEAD.format(
        date=run.facts["began"],
        python=platform.python_version(),
        machine=platform.machine(),
        cores=os.cpu_count(),
        load=f"{min(load):.1f} to {max(load):.1f}",
        versions=versions(),
        limit=" or ".join(sorted({f"{one['over']:.0f}" for one in run.cases if "over" in one}))
        or f"{options.limit:.0f}",
        missing=f"Left out: {', '.join(missing)}." if missing else "Nothing was left out.",
    )
    parts = [
        head,
        "## Requirements\n\n" + requirements(run),
        "## Growth\n\nExponents of n, by least squares on the logarithms of the last sizes that "
        "each method ended "
        "(at most four), epsilon = 1, random prior. The simplex codes change regime between sizes, "
        "so theirs are rough."
        "\n\n" + growth(run),
        "## CPU seconds\n\nepsilon = 1, "
        "random prior.\n\n" + summary(run, lambda o: digits(middle(o["cpu"]))),
        "## Peak memory, MB\n\n" + summary(run, lambda o: f"{o['memory']:.0f}"),
        "## ldpopt, everything measured\n\nCPU seconds of solve and "
        "certify.\n\n" + all_of_ours(run),
        "## The same value, and privacy\n\nRelative difference between the value of the channel as "
        "returned and "
        "`ldpopt`'s certified value, and the exact audit of the channel after negative entries are "
        "set to 0 and rows "
        "are normalized. An excess of 1e-15 is rounding, and still above the requested epsilon.\n"
        + QIF
        + "\n"
        + agreement(run),
        "## Choosing a solver\n\nCPU seconds of `solve` over those of the best fixed choice: "
        "median (largest) over "
        'three gains and three epsilons, random prior. "over 10": so slow that it was '
        "left out.\n\n" + automatic(run),
        "Rules by size that would have done best on these figures (sifting with the interior point "
        "above them), and "
        "the best without anything between:\n\n" + switches(run),
    ]
    (folder / "speed.md").write_text("\n".join(parts))
    plot(run, folder / "speed.png")
