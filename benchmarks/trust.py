"""Random problems of every kind: solve, certify, audit again, and report the certified gaps.

python benchmarks/trust.py                     # 10 000 problems, about ten minutes of one core;
rewrites trust.md python benchmarks/trust.py --count 500 --seed 3 -j 2 python benchmarks/trust.py
--events --count 600 -o trust_events.md   # worst cases of events, 9 to 12 answers

Exit code 1 if a mechanism is not certified, a gap is larger than 1e-9 (the median: 1e-12), or
anything is raised.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import ldpopt as lo
from ldpopt.problem.constraints import linear, unbiased

GAP, MEDIAN, SLOW = 1e-9, 1e-12, 2.0
NOTIONS = ("pure", "entry", "event", "graph", "metric")
PLAIN_SHARE = 10
"""One mechanism in so many is checked by `plain_audit` too."""


@dataclass(frozen=True)
class Result:
    """Result of one problem."""

    index: int
    notion: str
    gap: float = 0.0
    verdict: str = ""
    plain: str = ""
    error: str = ""
    seconds: float = 0.0
    text: str = ""

    @property
    def end(self) -> str:
        return f"gap {self.gap:.2g}, {self.seconds:.2f} s {self.verdict} {self.plain} {self.error}"

    @property
    def is_missed(self) -> bool:
        return (
            bool(self.error)
            or self.verdict != "certified"
            or self.plain == "violated"
            or not self.gap <= GAP
        )


def draw(seed: int, index: int) -> tuple[str, lo.Problem]:
    """The problem of that number: the same on every machine."""
    rng = np.random.default_rng([seed, index])
    notion = NOTIONS[index % len(NOTIONS)]
    n = int(rng.integers(2, 13))
    m = n if rng.random() < 0.5 else int(rng.integers(2, 13))
    utility = draw_utility(rng, n, m)
    worst = rng.random() < 0.3
    privacy = draw_privacy(rng, notion, n)
    objective = "worst_case" if worst else "expected"
    constraints = []
    if rng.random() < 0.1:
        coefficients = rng.normal(size=(n, m)).round(2)
        row = rng.dirichlet(np.ones(m))
        constraints.append(linear(coefficients, upper=float((coefficients @ row).sum()) + 0.01))
    elif rng.random() < 0.03 and m >= 3:
        # Numbers so far out that they suit every notion which forbids no output: a centered
        # constant suits them all.
        constraints.append(unbiased(np.zeros(n), np.linspace(-1, 1, m)))
    prior = None if worst else draw_prior(rng, n)
    return notion, lo.Problem(prior, utility, privacy, objective=objective, constraints=constraints)


def draw_events(seed: int, index: int) -> tuple[str, lo.Problem]:
    """The worst case of that number among 9 to 12 answers with an event-wise delta: the slowest
    kind."""
    rng = np.random.default_rng([7, seed, index])
    n = 9 + index % 4
    m = n if rng.random() < 0.6 else int(rng.integers(9, 13))
    utility = draw_utility(rng, n, m)
    privacy = lo.ApproximateLDP(draw_epsilon(rng), draw_delta(rng))
    return "event", lo.Problem(None, utility, privacy, objective="worst_case")


def draw_epsilon(rng: np.random.Generator) -> float | str:
    kind = rng.integers(0, 10)
    if kind == 0:
        return float(
            rng.choice(
                [1e-6, 1e-3, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 37.0, 50.0, 100.0, 700.0]
            )
        )
    if kind == 1:
        q = int(rng.integers(1, 20))
        return f"log({q + int(rng.integers(1, 60))}/{q})"
    return float(np.exp(rng.uniform(np.log(1e-6), np.log(700.0))))


def draw_delta(rng: np.random.Generator) -> float:
    kind = rng.integers(0, 4)
    if kind == 0:
        return float(rng.choice([0.0, 1e-300, 1e-15, 1e-9, 1e-6, 0.01, 0.1, 0.5, 1.0]))
    return float(np.exp(rng.uniform(np.log(1e-18), 0.0))) if kind < 3 else float(rng.random())


def draw_privacy(rng: np.random.Generator, notion: str, n: int) -> Any:
    epsilon = draw_epsilon(rng)
    if notion == "pure":
        return lo.PureLDP(epsilon)
    if notion in ("entry", "event"):
        return lo.ApproximateLDP(epsilon, draw_delta(rng), notion)
    if notion == "graph":
        return lo.GraphDP(epsilon, draw_graph(rng, n))
    return lo.MetricDP(epsilon, draw_distance(rng, n))


def draw_graph(rng: np.random.Generator, n: int) -> nx.Graph[int]:
    kind = rng.integers(0, 5)
    if kind == 3:
        rows = max(r for r in (1, 2, 3) if n % r == 0)
        return nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, n // rows))
    if kind == 4:
        graph = nx.random_labeled_tree(n, seed=int(rng.integers(2**31)))
        graph.add_edges_from((int(a), int(b)) for a, b in rng.integers(0, n, (n // 2, 2)) if a != b)
        return graph
    return (nx.path_graph, nx.cycle_graph, lambda size: nx.star_graph(size - 1))[kind](n)


def draw_distance(rng: np.random.Generator, n: int) -> np.ndarray:
    kind = rng.integers(0, 4)
    if kind == 0:
        points = np.cumsum(rng.integers(1, 4, n)).astype(float)
    elif kind == 1:
        points = np.cumsum(rng.exponential(size=n) + 1e-3)
    elif kind == 2:
        plane = rng.random((n, 2)) * 10.0 ** rng.integers(-2, 3)
        return np.hypot(*np.moveaxis(plane[:, None] - plane, 2, 0))
    else:
        table = rng.integers(1, 6, (n, n)) + (rng.random((n, n)) if rng.random() < 0.5 else 0.0)
        return np.triu(table, 1) + np.triu(table, 1).T
    return np.abs(np.subtract.outer(points, points))


def draw_utility(rng: np.random.Generator, n: int, m: int) -> lo.Utility:
    kind = rng.integers(0, 8)
    rows = np.sort(rng.random(n) * n)
    columns = np.sort(rng.random(m) * n)
    matrix = (
        lambda: np.eye(n, m),
        lambda: np.abs(np.subtract.outer(np.arange(n), np.arange(m))).astype(float),
        lambda: np.subtract.outer(rows, columns) ** 2,
        lambda: rng.normal(size=(n, m)),
        lambda: rng.random((n, m)) * (rng.random((n, m)) < 0.3),
        lambda: rng.integers(-2, 3, (n, m)).astype(float),
        lambda: np.outer(rng.normal(size=n), rng.normal(size=m)),
        lambda: np.exp(rng.uniform(-12, 3, (n, m))),
    )[kind]()
    if rng.random() < 0.3:
        matrix = matrix * 10.0 ** rng.uniform(-6, 6)
    sense = "loss" if kind in (1, 2) else rng.choice(["gain", "loss"])
    return lo.Utility(matrix, str(sense))


def draw_prior(rng: np.random.Generator, n: int) -> np.ndarray:
    kind = rng.integers(0, 6)
    weights = (
        lambda: np.ones(n),
        lambda: rng.dirichlet(np.ones(n)),
        lambda: rng.dirichlet(np.full(n, 0.3)) * (rng.random(n) < 0.6),
        lambda: rng.integers(0, 4, n).astype(float),
        lambda: np.eye(n)[rng.integers(n)],
        lambda: np.where(np.arange(n) == rng.integers(n), 1.0, 10.0 ** rng.uniform(-9, -1)),
    )[kind]()
    weights = weights if weights.sum() > 0 else np.ones(n)
    return weights / weights.sum()


def examine(task: tuple[int, int, bool]) -> Result:
    """Solve, certify and audit one problem; an exception is a result."""
    seed, index, events = task
    notion, problem = (draw_events if events else draw)(seed, index)
    kind = {"approximate": "entry"}.get(notion, notion)
    text = f"{problem!r} at most {np.abs(problem.utility.matrix).max():.2g}"
    began = time.process_time()
    try:
        answer = lo.solve(problem)
        proof = lo.certify(answer)
        verdict = lo.audit(answer.mechanism.channel, problem.privacy).verdict
    except Exception as error:
        spent = time.process_time() - began
        return Result(
            index, kind, error=f"{type(error).__name__}: {error}"[:300], seconds=spent, text=text
        )
    spent = time.process_time() - began
    plain = (
        plain_audit(problem, answer.mechanism.channel)
        if index // len(NOTIONS) % PLAIN_SHARE == 0
        else ""
    )
    return Result(index, kind, abs(proof.relative_gap), verdict, plain, seconds=spent, text=text)


def plain_audit(problem: lo.Problem, channel: np.ndarray) -> str:
    """The definition, pair by pair, in Fractions and 80 decimal digits: nothing is shared but the
    floats."""
    rows = [[Fraction(value) for value in row] for row in channel.tolist()]
    if any(sum(row) != 1 or min(row) < 0 for row in rows):
        return "violated"
    delta = Fraction(getattr(problem.privacy, "delta", 0))
    shared = getattr(problem.privacy, "form", "") == "event"
    for x, k, distance in plain_pairs(problem, len(rows)):
        ratio = plain_ratio(problem.privacy.epsilon, distance)
        excess = [max(p - ratio * q, Fraction(0)) for p, q in zip(rows[x], rows[k], strict=True)]
        if (sum(excess) if shared else max(excess)) > delta:
            return "violated"
    return "certified"


def plain_pairs(problem: lo.Problem, n: int) -> Iterator[tuple[int, int, Fraction]]:
    if isinstance(problem.privacy, lo.GraphDP):
        yield from (
            (x, k, Fraction(1)) for a, b in problem.privacy.graph.edges for x, k in ((a, b), (b, a))
        )
        return
    table = (
        problem.privacy.distance if isinstance(problem.privacy, lo.MetricDP) else np.ones((n, n))
    )
    yield from ((x, k, Fraction(float(table[x, k]))) for x in range(n) for k in range(n) if x != k)


def plain_ratio(epsilon: Any, distance: Fraction) -> Fraction:
    """A rational just below ``exp(epsilon distance)``; the number itself for whole powers of
    p/q."""
    if epsilon.ratio is not None and distance.denominator == 1:
        return Fraction(epsilon.ratio) ** distance.numerator
    digits = Context(prec=80)
    one = Fraction(1, 10**60)
    nats = Fraction(epsilon.nats) if epsilon.ratio is None else None
    if nats is None:
        top, bottom = (
            digits.ln(Decimal(v)) for v in (epsilon.ratio.numerator, epsilon.ratio.denominator)
        )
        nats = Fraction(digits.subtract(top, bottom))
    exponent = nats * distance
    decimal = digits.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    return Fraction(digits.exp(decimal)) * (1 - one)


def table(results: list[Result]) -> list[str]:
    """Lines of a Markdown table, one a notion and one for all."""
    head = [
        "notion",
        "problems",
        "certified",
        "plain audit",
        "raised",
        "median",
        "99 %",
        "99.9 %",
        "largest",
        "over 1e-9",
    ]
    lines = [f"| {' | '.join([*head, 'slowest (CPU s)'])} |", "|" + "---|" * (len(head) + 1)]
    for name in (*NOTIONS, "all"):
        part = [r for r in results if name in (r.notion, "all")]
        gaps = np.array([r.gap for r in part if not r.error] or [np.nan])
        count = Counter(r.verdict for r in part)
        plain = Counter(r.plain for r in part)
        quantiles = [f"{v:.2g}" for v in np.quantile(gaps, [0.5, 0.99, 0.999, 1.0])]
        cells = [
            name,
            len(part),
            count["certified"],
            f"{plain['certified']} of {plain.total() - plain['']}",
        ]
        cells += [sum(bool(r.error) for r in part), *quantiles, int((gaps > GAP).sum())]
        lines.append(
            f"| {' | '.join(map(str, cells))} | {max((r.seconds for r in part), default=0):.2f} |"
        )
    return lines


def report(results: list[Result], seed: int) -> tuple[list[str], bool]:
    """The page, and whether every promise was kept."""
    missed = [r for r in results if r.is_missed]
    median = float(np.median([r.gap for r in results if not r.error] or [np.inf]))
    slow = sorted((r for r in results if r.seconds > SLOW), key=lambda r: -r.seconds)
    lines = [
        f"Seed {seed}, {len(results)} problems, {sum(r.seconds for r in results):.0f} CPU seconds.",
        "",
    ]
    lines += table(results)
    for title, part in (("Missed", missed), (f"Slower than {SLOW:g} s", slow)):
        lines += ["", f"{title}: {len(part)}."] + [""] * bool(part)
        lines += [f"- {r.index}: {r.text}; {r.end}" for r in part]
    return [" ".join(line.split()) for line in lines], not missed and median <= MEDIAN


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).with_suffix(".md"))
    parser.add_argument(
        "--events", action="store_true", help="worst cases of events, 9 to 12 answers, only"
    )
    options = parser.parse_args()
    page = [*HEAD]
    kept = True
    for seed in options.seed:
        tasks = [(seed, index, options.events) for index in range(options.count)]
        with Pool(options.jobs) as pool:
            lines, fine = report(list(pool.imap(examine, tasks, chunksize=20)), seed)
        print("\n".join(lines), flush=True)
        page, kept = [*page, *lines, ""], kept and fine
    options.output.write_text("\n".join(page))
    return 0 if kept else 1


HEAD = (
    "# Certificates of random problems",
    "",
    "Written by `python benchmarks/trust.py`: 2 to 12 inputs and outputs, epsilon 1e-6 to 700, "
    "delta 0 to 1, gains and",
    "losses of scale 1e-6 to 1e6, expected and worst case, a tenth with a side constraint. Gaps "
    "are relative: the",
    "distance of the mechanism's exact value from the proved bound, over that bound or a hundredth "
    "of the stake.",
    "",
)

if __name__ == "__main__":
    sys.exit(main())
