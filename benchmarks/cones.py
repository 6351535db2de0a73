"""Notions that compare averages: right values of another program beside the library's, and repairs.

    python benchmarks/cones.py               # about two CPU minutes
    python benchmarks/cones.py --repeat 2    # fewer noisy channels for each line of the repairs

Rewrites cones.md. The right values were computed apart from the library (scipy, a double
description, enumeration). CPU seconds are of one thread, after the imports. Exit code 1 if a value
is off by more than half a unit of its last digit, a gap is above its limit, or a repair moves more
than 1e-6.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import ldpopt as lo
from ldpopt.mechanism.repair import repair
from ldpopt.polytope.convex import best_channel, mutual_information

PAGE = Path(__file__).with_suffix(".md")
FALLING = {0: 4, 1: 3, 2: 2, 3: 1}
SECRETS = {"ill": [0.6, 0.2, 0.1, 0.1], "well": [0.1, 0.2, 0.3, 0.4]}
BUDGETS = {0: 0.5, 1: 1, 2: 2, 3: 3}
GAIN = [[1, 0.2, 0], [0, 1, 0.3], [0.4, 0, 1]]
PRIORS = ([0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.3, 0.6, 0.1])
EVEN = [0.25] * 4
LARGEST_MOVE = 1e-6


@dataclass(frozen=True)
class Line:
    """One value: what it is, the right one as text, and how the library computes value and gap."""

    name: str
    right: str
    compute: Callable[[], tuple[float, float]]
    largest_gap: float = 1e-12


def solved(prior: Any, gain: Any, notion: Any) -> tuple[float, float]:
    """Value and certified relative gap of a problem."""
    answer = lo.solve(lo.Problem(prior, gain, notion))
    return answer.value, lo.certify(answer).relative_gap


def informed(prior: Any, notion: Any) -> tuple[float, float]:
    """Largest mutual information, and its gap."""
    best = best_channel(mutual_information(prior), notion)
    return best.value, best.gap / best.value


def designed(n: int, notion: Any, gap: float, share: float) -> tuple[float, float]:
    """Variance of the frequencies, in a unit of its own, and the relative gap."""
    best = lo.design(lo.Workload.frequencies(n), notion, gap=gap)
    return best.value * share, best.relative_gap


def shelf() -> dict[str, Any]:
    """Four answers under five notions, for information and variances."""
    return {
        "leakage .2": lo.PML(0.2, FALLING),
        "information .5": lo.InformationPrivacy(0.5, FALLING),
        "pure 1.5 and path .7": lo.PureLDP(1.5) & lo.GraphDP(0.7, nx.path_graph(4)),
        "leakage 1": lo.PML(1.0, FALLING),
        "secrets .5": lo.Secrets(0.5, SECRETS),
    }


def lines() -> Iterator[Line]:
    """All lines of the first table."""
    three = [0.5, 0.3, 0.2]
    for notion, right in (
        (lo.PML(1.0), ".826193819"),
        (lo.InformationPrivacy(1.0), ".725799244"),
        (lo.PureLDP(1.0), ".584846863"),
        (lo.PML("log(3/2)"), ".6000000"),
    ):
        yield Line(f"truth, {notion!r}", right, lambda n=notion: solved(three, "identity", n))
    for kind, rights in (
        (lo.InformationPrivacy, (".644618653", ".76000000", ".693359795")),
        (lo.PML, (".691103594", ".76000000", ".732678278")),
    ):
        problem = lo.Problem(PRIORS[0], GAIN, kind(0.5))
        for prior, right in zip(PRIORS, rights, strict=True):
            moved = replace(problem, prior=prior)
            name = f"prior {prior}, {kind.__name__}(.5)"
            yield Line(name, right, lambda p=moved: solved(p.prior, p.utility, p.privacy))
    for rule, truth, information in (
        ("own", ".494632952", ".208722471"),
        ("min", ".412180318", ".088163600"),
        ("mean", ".611297012", ".350426010"),
    ):
        notion = lo.PairwiseLDP.of_answers(BUDGETS, rule)
        yield Line(f"budgets, {rule}: truth", truth, lambda n=notion: solved(EVEN, "identity", n))
        yield Line(f"budgets, {rule}: information", information, lambda n=notion: informed(EVEN, n))
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    yield Line(
        "truth, secrets .5", ".839215972", lambda: solved(prior, "identity", shelf()["secrets .5"])
    )
    informations = (".081411489", ".104432071", ".140404479", ".850511624", ".921216726")
    variances = ("4.013624", "2.635930", "2.578528", ".220682", ".399229")
    for (name, notion), bits, variance in zip(
        shelf().items(), informations, variances, strict=True
    ):
        yield Line(f"information, {name}", bits, lambda n=notion: informed(prior, n))
        yield Line(f"variance, {name}", variance, lambda n=notion: designed(4, n, 1e-7, 0.25), 1e-6)
    yield Line(
        "information, leakage log(6/5), three",
        ".043692120682",
        lambda: informed([1 / 3] * 3, lo.PML("log(6/5)", {0: 1, 1: 1, 2: 1})),
    )
    for n, right in ((5, ".228204375"), (6, ".290879021"), (7, ".353090460"), (8, ".414118657")):
        weights = np.arange(n, 0, -1) / (n * (n + 1) / 2)
        path = lo.GraphDP("log(2)", nx.path_graph(n))
        name = f"information, path of {n}"
        yield Line(name, right, lambda w=weights, p=path: informed(w, p))
    for n, s, epsilon, right in (
        (6, 2, "1", "2.617316131"),
        (5, 4, "log(1.9)", "21.818458"),
        (5, 4, "log(2.1)", "15.735537"),
        (5, 4, "log(3)", "6.200000"),
    ):
        notion = lo.UtilityOptimizedLDP(epsilon, range(s))
        name = f"variances, {s} of {n} sensitive, {epsilon}"
        yield Line(name, right, lambda n=n, u=notion: designed(n, u, 1e-9, 1.0), 1e-9)
    for n, mu, right in (
        (2, 1, ".69146246"),
        (3, "0.5", ".45692849"),
        (3, 1, ".57806162"),
        (4, 1, ".50846563"),
        (5, 1, ".45928378"),
    ):
        notion = lo.GaussianLDP(mu)
        yield Line(
            f"truth, Gaussian {mu}, {n} answers",
            right,
            lambda n=n, g=notion: solved([1 / n] * n, "identity", g),
            1e-8,
        )


def noisy(n: int, epsilon: float, noise: float, repeat: int) -> float:
    """The largest mass that a repair moves, of optima with the errors of a solver."""
    rng = np.random.default_rng(n)
    labels = range(n)
    worst = 0.0
    notions = [
        lo.PML.example(epsilon, labels),
        lo.InformationPrivacy.example(epsilon, labels),
        lo.Secrets.example(epsilon, labels),
        lo.PairwiseLDP.example(epsilon, labels),
        lo.ColumnCone.example(epsilon, labels),
        lo.PML.example(epsilon, labels) & lo.PureLDP(2 * epsilon),
    ]
    for notion, _ in product(notions, range(repeat)):
        best = lo.solve(lo.Problem([1 / n] * n, rng.random((n, n)), notion)).mechanism.channel
        spoilt = np.maximum(best + noise * rng.normal(size=best.shape), 0.0)
        fixed = repair(spoilt / spoilt.sum(axis=1, keepdims=True), notion)
        assert fixed.audit.verdict == "certified"
        worst = max(worst, fixed.moved)
    return worst


def main() -> int:
    """Compute both tables, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=5, help="noisy channels for each notion")
    repeat = parser.parse_args().repeat
    rows = []
    failed = []
    for line in lines():
        began = time.process_time()
        value, gap = line.compute()
        seconds = time.process_time() - began
        digits = len(line.right.partition(".")[2])
        is_right = abs(value - float(line.right)) <= 0.5000001 * 10.0**-digits
        if not is_right or gap > line.largest_gap:
            failed.append(line.name)
        rows.append(
            f"| {line.name} | {line.right} | {value:.{digits}f} | {gap:.1e} | {seconds:.3f} |"
        )
        print(rows[-1], flush=True)
    moves = []
    for n, epsilon in product((3, 5, 8), (1e-6, 1e-3, 0.1, 1.0, 5.0)):
        moved = [noisy(n, epsilon, noise, repeat) for noise in (0.0, 1e-9, 1e-7)]
        if max(moved) > LARGEST_MOVE:
            failed.append(f"repair of {n} answers at {epsilon:g}")
        moves.append(f"| {n} | {epsilon:g} | " + " | ".join(f"{part:.1e}" for part in moved) + " |")
        print(moves[-1], flush=True)
    PAGE.write_text(
        "# Notions that compare averages\n\nRight values were computed apart from the library. "
        f"Outside of their limits: {', '.join(failed) or 'none'}.\n\nMade by `python "
        f"benchmarks/cones.py`, {date.today()}, Python {platform.python_version()}, one thread.\n\n"
        "| what | right | got | relative gap | CPU s |\n|---|---|---|---|---|\n"
        + "\n".join(rows)
        + f"\n\n## Repairs\n\nThe largest mass that is moved in a row, of {6 * repeat} optima "
        "under six notions with errors of a solver in each entry. All are certified.\n\n"
        "| answers | epsilon | errors 0 | errors 1e-9 | errors 1e-7 |\n|---|---|---|---|---|\n"
        + "\n".join(moves)
        + "\n"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
