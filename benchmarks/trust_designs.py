"""Random designs of every kind: design, check the proof again, save, load, estimate; and the same
in plain Fractions.

    python benchmarks/trust_designs.py --keep designs.jsonl -j 2
        # 5000 designs; a stopped run continues
    python benchmarks/trust_designs.py --keep designs.jsonl -o benchmarks/trust_designs.md
        # the page of what is kept
    python benchmarks/trust_designs.py --only 17  # one design, with traceback and notes

Pure, graph (connected, in parts), metric (distances, places) and one-sided privacy; average and
worst case; epsilon from 1e-4 to 40; 2 to 8 answers; every kind of workload, some times a huge or
tiny number, some plus a large constant. The number of a design is its seed. Exit code 1 if anything
but a LdpoptError is raised, a fresh design fails its own recheck or the plain check, a saved design
differs from the one written, or a gap is above the one requested and no note gives a reason.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import trust

import ldpopt as lo
from ldpopt.errors import LdpoptError

NOTIONS = ("pure", "graph", "separate", "metric", "places", "one_sided")
LIMIT, HANGS = 10.0, 120.0
"""Time limit of `design`, and seconds after which the check of one design is given up."""

PLAIN = 5
"""Most answers for which variance and bias are computed in Fractions."""

BIAS, EXCESS, SHIFT = 1e-9, 1e-9, 1e-6
"""Largest bias of a number as a share of its range among the answers plus its largest standard
deviation, beside the rounding of the estimator's own numbers; largest share by which the plain
variance exceeds the proved one; largest share by which a constant added to the workload may change
the value."""

ROUTINE_NOTES = re.compile(
    r"(?:[\w ]+: )?[\d,]+ (rounds? of pricing|sets)\b.*|closed form.*|.* ended at a relative "
    r"gap of .*"
)
"""Notes that do not explain a gap."""

NAMED = ("frequencies", "prefix", "ranges")
WORKLOADS = (*NAMED, "mean", "marginals", "random", "sparse", "deficient", "scaled", "copies")


@dataclass(frozen=True)
class Drawn:
    """Arguments of `design`, and the constant that was added to the workload."""

    notion: str
    kind: str
    workload: lo.Workload
    privacy: Any
    options: dict[str, Any]
    constant: float

    def __str__(self) -> str:
        shown = {
            key: value
            for key, value in self.options.items()
            if key not in ("time_limit", "weights")
        }
        added = f" + {self.constant:g}" if self.constant else ""
        return f"{self.kind}{added} {self.workload.shape}, {self.privacy!r}, {shown}"


@dataclass
class Result:
    """Result of one design; a line of the kept file."""

    index: int
    notion: str
    kind: str
    objective: str
    text: str
    error: str = ""
    refused: str = ""
    value: float = 0.0
    bound: float = 0.0
    gap: float = 0.0
    requested: float = 0.0
    seconds: float = 0.0
    cpu: float = 0.0
    notes: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    is_plain: bool = False
    bias: float = 0.0
    excess: float = 0.0
    shift: float | None = None

    @property
    def is_designed(self) -> bool:
        return not self.error and not self.refused

    @property
    def is_wide(self) -> bool:
        return self.is_designed and not self.gap <= self.requested

    @property
    def reasons(self) -> list[str]:
        return [note for note in self.notes if not ROUTINE_NOTES.fullmatch(note)]

    @property
    def is_explained(self) -> bool:
        return bool(self.reasons)


def draw(seed: int, index: int) -> Drawn:
    """The design of that number: the same on every machine."""
    rng = np.random.default_rng([seed, index, 28])
    notion = NOTIONS[index % len(NOTIONS)]
    kind = str(rng.choice(WORKLOADS))
    constant = 0.0
    workload = draw_workload(rng, kind)
    if rng.random() < (0.4 if kind == "mean" else 0.1):
        constant = float(rng.choice([1.7e9, -1e6, 1e12, 1e4, 3e15]))
        workload = lo.Workload(workload.matrix + constant, workload.inputs)
    options: dict[str, Any] = {"gap": float(rng.choice([1e-6, 1e-6, 1e-3])), "time_limit": LIMIT}
    chance = rng.random()
    if chance < 0.4:
        options["objective"] = "worst_case"
    elif chance < 0.7:
        options["weights"] = draw_weights(rng, workload.shape[1])
    if rng.random() < 0.15:
        options["outputs"] = workload.shape[1] + int(rng.integers(0, 2 * workload.shape[1]))
    return Drawn(
        notion, kind, workload, draw_privacy(rng, notion, workload.inputs), options, constant
    )


def draw_weights(rng: np.random.Generator, n: int) -> np.ndarray:
    kind = rng.integers(0, 4)
    if kind == 0:
        return np.maximum(rng.integers(0, 3, n), np.eye(n)[0])
    if kind == 1:
        return 10.0 ** rng.uniform(-9, 0, n)
    return rng.dirichlet(np.ones(n)) if kind == 2 else 1.0 / np.arange(1, n + 1)


def draw_workload(rng: np.random.Generator, kind: str) -> lo.Workload:
    """A workload of 2 to 8 answers."""
    n = int(rng.integers(2, 9))
    labels: Any = [f"answer {x}" for x in range(n)] if rng.random() < 0.3 else n
    if kind in NAMED:
        return getattr(lo.Workload, kind)(labels)
    if kind == "mean":
        return lo.Workload.mean(
            np.arange(n) if rng.random() < 0.5 else rng.integers(-20, 21, n) + np.arange(n) / 8
        )
    if kind == "marginals":
        sizes = [(2, 2), (2, 2, 2), (2, 3), (2, 4)][rng.integers(4)]
        return lo.Workload.marginals(sizes, int(rng.integers(1, len(sizes) + 1)))
    k = int(rng.integers(1, 9))
    matrix = rng.normal(size=(k, n))
    if kind == "sparse":
        matrix = rng.integers(-2, 3, (k, n)) * (rng.random((k, n)) < 0.4).astype(float)
        matrix[0, :2] = 1.0, -1.0
    elif kind == "deficient":
        rank = int(rng.integers(1, 4))
        matrix = rng.normal(size=(k, rank)) @ rng.normal(size=(rank, n))
    elif kind == "scaled":
        matrix = matrix * 10.0 ** (rng.uniform(-8, 8) + rng.uniform(-4, 4, (k, 1)))
    elif kind == "copies":
        matrix = matrix[:, np.concatenate([[0, 1], rng.integers(0, n, n - 2)])]
    return lo.Workload(matrix)


def draw_privacy(rng: np.random.Generator, notion: str, inputs: tuple[Any, ...]) -> Any:
    n = len(inputs)
    epsilon: float | str = float(np.exp(rng.uniform(np.log(1e-4), np.log(40.0))))
    if rng.random() < 0.15:
        epsilon = str(rng.choice(["log(3)", "log(2)", "log(7/2)", "log(101/100)", "log(1000)"]))
    if notion == "pure":
        return lo.PureLDP(epsilon)
    if notion == "one_sided":
        chosen = rng.permutation(n)[: int(rng.integers(1, n + 1))]
        return lo.OneSided(epsilon, [inputs[x] for x in chosen])
    if notion == "graph":
        return lo.GraphDP(
            epsilon, nx.relabel_nodes(trust.draw_graph(rng, n), dict(enumerate(inputs)))
        )
    if notion == "separate":
        graph = nx.Graph()
        graph.add_nodes_from(inputs)
        cut = int(rng.integers(1, n))
        for part in (inputs[:cut], inputs[cut:]):
            mapping = dict(enumerate(part))
            graph.add_edges_from(nx.relabel_nodes(trust.draw_graph(rng, len(part)), mapping).edges)
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        return lo.GraphDP(epsilon, graph, parts="separate")
    if notion == "places":
        points = rng.random((n, int(rng.integers(1, 4)))) * 10.0 ** rng.integers(-2, 3)
        return lo.MetricDP.of_points(
            epsilon, points, str(rng.choice(["euclidean", "manhattan"])), inputs
        )
    distance = trust.draw_distance(rng, n)
    if rng.random() < 0.05 and n > 2:
        distance[0, 1] = distance[1, 0] = 1e-12
    return lo.MetricDP(epsilon, distance, inputs)


def examine(task: tuple[int, int]) -> Result:
    """Design and check the design of a number; an exception is a result."""
    seed, index = task
    drawn = draw(seed, index)
    result = Result(
        index, drawn.notion, drawn.kind, drawn.options.get("objective", "average"), str(drawn)
    )
    result.requested = drawn.options["gap"]
    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, HANGS)
    began = time.perf_counter()
    used = time.process_time()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            check(drawn, result, began, used)
        except LdpoptError as error:
            text = f"{type(error).__name__}: {' | '.join(str(error).splitlines())}"
            if result.seconds:
                result.failures.append(f"after the design: {text}")
            else:
                result.refused = text
        except Hang:
            result.error = f"Hang: no result in {HANGS:g} s"
        except Exception as error:
            result.error = (
                f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
                + f" ({_place(error)})"
            )
            if multiprocessing.parent_process() is None:
                traceback.print_exc()
    signal.setitimer(signal.ITIMER_REAL, 0)
    result.seconds, result.cpu = (
        result.seconds or time.perf_counter() - began,
        result.cpu or time.process_time() - used,
    )
    result.warned = sorted({f"{one.category.__name__}: {str(one.message)[:80]}" for one in heard})
    return result


class Hang(BaseException):
    """A design that takes far too long."""


def _give_up(*_: object) -> None:
    raise Hang


def _place(error: BaseException) -> str:
    """The last line of the library in a traceback."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if "/ldpopt/" in frame.filename
    ]
    return f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "not in ldpopt"


def check(drawn: Drawn, result: Result, began: float, used: float) -> None:
    """All checks of a new design."""
    made = lo.design(drawn.workload, drawn.privacy, **drawn.options)
    # from here on a LdpoptError is a failure
    result.cpu = time.process_time() - used
    result.seconds = time.perf_counter() - began
    result.value, result.bound, result.gap = made.value, made.bound, made.relative_gap
    result.notes = list(made.notes)
    if not np.isfinite(made.value):
        result.failures.append("the value is not finite")
    result.failures += [f"recheck: {text}" for text in made.certificate.recheck()]
    if not plain_privacy(drawn, made.mechanism):
        result.failures.append("plain check: the mechanism is not private")
    if drawn.workload.shape[1] <= PLAIN:
        result.is_plain = True
        result.bias, result.excess = plain_estimator(made)
        if not result.bias <= BIAS:
            result.failures.append(
                f"plain check: bias of {result.bias:.2g} of range and standard deviation"
            )
        if not result.excess <= EXCESS:
            result.failures.append(
                f"plain check: variance {result.excess:.2g} above the proved one"
            )
    if drawn.constant:
        centered = lo.Workload(drawn.workload.matrix - drawn.constant, drawn.workload.inputs)
        other = lo.design(centered, drawn.privacy, **drawn.options)
        apart = (
            abs(other.value - made.value) / made.value if made.value else float(bool(other.value))
        )
        result.shift = max(apart - max(other.relative_gap, 2 * result.requested), 0.0)
    for text in round_trip(drawn, made):
        result.failures.append(text)


def round_trip(drawn: Drawn, made: Any) -> Iterator[str]:
    """Differences after saving and loading, also of reports and counts of a few people."""
    inputs = drawn.workload.inputs
    answers = [inputs[x] for x in np.random.default_rng(0).integers(0, len(inputs), 50)]
    reports = made.mechanism.sample(answers, rng=0)
    estimate = made.estimate(reports)
    if not all(
        np.isfinite(part).all() for part in (estimate.values, estimate.std_error, estimate.interval)
    ):
        yield "estimate: a number is not finite"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "design.json")
        lo.save_design(made, path)
        loaded = lo.load_design(path)
        lo.Counts.of(made.mechanism, reports).save(Path(folder, "counts.json"))
        counts = lo.Counts.load(Path(folder, "counts.json"))
    yield from (f"recheck after loading: {text}" for text in loaded.certificate.recheck())
    if (loaded.value, loaded.bound) != (made.value, made.bound):
        yield (
            f"loaded: value {loaded.value!r}, bound {loaded.bound!r} for {made.value!r}, "
            f"{made.bound!r}"
        )
    for source in (reports, counts):
        again = loaded.estimate(source)
        if (
            not np.array_equal(again.values, estimate.values)
            or again.to_frame().shape != estimate.to_frame().shape
        ):
            yield "loaded: another estimate"


def plain_privacy(drawn: Drawn, mechanism: Any) -> bool:
    """Whether every pair is as close as the notion requires, in Fractions and 80 digits."""
    privacy, inputs = drawn.privacy, drawn.workload.inputs
    rows = [[Fraction(mass) for mass in row] for row in np.asarray(mechanism.masses).tolist()]
    if any(sum(row) != mechanism.denominator or min(row) < 0 for row in rows):
        return False
    n = len(rows)
    place = {label: x for x, label in enumerate(inputs)}
    if isinstance(privacy, lo.GraphDP):
        pairs = list(
            trust.plain_pairs(
                SimpleNamespace(
                    privacy=lo.GraphDP(1.0, nx.relabel_nodes(privacy.graph, place), "separate")
                ),
                n,
            )
        )
    elif isinstance(privacy, lo.MetricDP):
        table = privacy.matrix(inputs)
        pairs = [(x, k, Fraction(float(table[x, k]))) for x in range(n) for k in range(n) if x != k]
    else:
        sensitive = (
            map(place.get, privacy.sensitive) if isinstance(privacy, lo.OneSided) else range(n)
        )
        pairs = [(x, k, Fraction(1)) for x in sensitive for k in range(n) if x != k]
    for x, k, distance in pairs:
        ratio = trust.plain_ratio(privacy.epsilon, distance)
        if any(p > ratio * q for p, q in zip(rows[x], rows[k], strict=True)):
            return False
    return True


def plain_estimator(made: Any) -> tuple[float, float]:
    """Largest bias as `BIAS` measures it, and the share of the true variance above the proved
    one."""
    wanted = [[Fraction(v) for v in row] for row in np.asarray(made.workload.matrix).tolist()]
    # `estimate` works with differences from the first answer; `estimator` is this matrix, rounded.
    inverse = [[Fraction(v) for v in row] for row in made.certificate.left_inverse.tolist()]
    numbers = [
        [
            row[0] + sum((w - row[0]) * x for w, x in zip(row[1:], column[1:], strict=True))
            for column in zip(*inverse, strict=True)
        ]
        for row in wanted
    ]
    rounded = np.array([[float(v) for v in row] for row in numbers])
    if not np.allclose(made.estimator, rounded, rtol=1e-12, atol=1e-12 * np.abs(rounded).max()):
        return np.inf, np.inf
    scale = Fraction(1, made.mechanism.denominator)
    shares = [
        [scale * int(mass) for mass in row] for row in np.asarray(made.mechanism.masses).tolist()
    ]
    bias = 0.0
    variances = [Fraction(0)] * len(shares)
    for row, truth in zip(numbers, wanted, strict=True):
        means = [sum(p * v for p, v in zip(share, row, strict=True)) for share in shares]
        spreads = [
            sum(p * (v - mean) ** 2 for p, v in zip(share, row, strict=True))
            for share, mean in zip(shares, means, strict=True)
        ]
        variances = [total + spread for total, spread in zip(variances, spreads, strict=True)]
        scale_of_row = float(max(truth) - min(truth)) + float(max(spreads)) ** 0.5
        off = max(abs(mean - true) for mean, true in zip(means, truth, strict=True)) - max(
            map(abs, row)
        ) * Fraction(4, 2**53)
        if off > 0:
            bias = max(bias, float(off) / scale_of_row if scale_of_row else np.inf)
    weights = [Fraction(float(w)) for w in made.weights]
    average = sum(w * v for w, v in zip(weights, variances, strict=True)) / sum(weights)
    true = max(variances) if made.objective == "worst_case" else average
    achieved = Fraction(made.certificate.achieved)
    return bias, float(true / achieved - 1) if achieved else float(true)


def normalized(text: str) -> str:
    """A message without its numbers, labels and paths, for counting."""
    text = re.sub(r"/\S*/", "", re.sub(r"'[^']*'", "'...'", text))
    text = re.sub(
        r"\[.*\]+|\[.*\.\.\.", "[...]", re.sub(r"do: did you mean.*|\([#\d, ]+\)", "", text)
    )
    return re.sub(r"\d[\d.,]*(e[-+]?\d+)?", "#", text)[:170]


def counted(title: str, texts: list[tuple[str, int]]) -> list[str]:
    """Lines of one list: equal messages, their number, and the first numbers of designs."""
    found: dict[str, list[int]] = {}
    for text, index in texts:
        found.setdefault(normalized(text), []).append(index)
    lines = ["", f"## {title}: {len({index for _, index in texts})}", *([""] if texts else [])]
    for text, numbers in sorted(found.items(), key=lambda item: -len(item[1])):
        lines.append(f"- {len(numbers)} x {text} (numbers {str(numbers[:8])[1:-1]})")
    return lines


COLUMNS = {
    "designs": len,
    "refused": lambda part: sum(bool(r.refused) for r in part),
    "raised": lambda part: sum(bool(r.error) for r in part),
    "fails a check": lambda part: sum(bool(r.failures) for r in part),
    "gap too large": lambda part: sum(r.is_wide for r in part),
    "of these no note": lambda part: sum(r.is_wide and not r.is_explained for r in part),
    "largest gap": lambda part: f"{max((r.gap for r in part if r.is_designed), default=0):.2g}",
    "plain checks": lambda part: sum(r.is_plain for r in part),
    "largest bias": lambda part: f"{max((r.bias for r in part), default=0):.1g}",
    "largest excess": lambda part: f"{max((r.excess for r in part), default=0):.1g}",
    "slowest s": lambda part: f"{max((r.seconds for r in part), default=0):.1f}",
}


def page(results: list[Result], seed: int) -> list[str]:
    """The page."""
    results = sorted(results, key=lambda r: r.index)
    lines = ["# Random designs", "", *(__doc__ or "").split("\n\n")[2].splitlines(), ""]
    lines += [f"Seed {seed}, {len(results)} designs of `design(..., time_limit={LIMIT:g})`.", ""]
    lines += [f"| notion | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name in (*NOTIONS, "average", "worst_case", "all"):
        part = [r for r in results if name in (r.notion, r.objective, "all")]
        lines.append(f"| {name} | {' | '.join(str(cell(part)) for cell in COLUMNS.values())} |")
    over = [r.seconds - LIMIT for r in results]
    lines += [
        "",
        f"Largest overrun of the limit: {max([0.0, *over]):.1f} s; more than 1 s: "
        f"{sum(o > 1 for o in over)}.",
    ]
    moved = [r for r in results if r.shift is not None and r.shift > SHIFT]
    wide = [r for r in results if r.is_wide]
    lists = {
        "Raised, not a LdpoptError": [(r.error, r.index) for r in results if r.error],
        "Fails a check": [(text, r.index) for r in results for text in r.failures],
        "A constant added changes the value": [
            (f"{r.kind}, {r.notion}, {r.objective}", r.index) for r in moved
        ],
        "Gap too large, no note why": [
            (f"{r.notion}, {r.objective}", r.index) for r in wide if not r.is_explained
        ],
        "Gap too large, with a note": [(r.reasons[0], r.index) for r in wide if r.is_explained],
        "Refused with a LdpoptError": [(r.refused, r.index) for r in results if r.refused],
        "Warnings": [(text, r.index) for r in results for text in r.warned],
    }
    for title, texts in lists.items():
        lines += counted(title, texts)
    return lines


def is_kept(results: list[Result]) -> bool:
    """Whether every promise was kept."""
    return not any(r.error or r.failures or (r.is_wide and not r.is_explained) for r in results)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument(
        "--only", type=int, nargs="+", help="numbers, one after the other, with tracebacks"
    )
    parser.add_argument("--keep", type=Path, help="file of JSON lines that a stopped run continues")
    parser.add_argument(
        "-o", "--output", type=Path, help="write the page; without it, it is printed"
    )
    options = parser.parse_args()
    if options.only:
        results = [examine((options.seed, index)) for index in options.only]
        print("\n".join(json.dumps(vars(result), indent=1) for result in results))
        return 0 if is_kept(results) else 1
    lines = options.keep.read_text().splitlines() if options.keep and options.keep.exists() else []
    results = [Result(**json.loads(line)) for line in lines]
    known = {result.index for result in results}
    tasks = [(options.seed, index) for index in range(options.count) if index not in known]
    with multiprocessing.Pool(options.jobs, maxtasksperchild=100) as pool:
        for result in pool.imap_unordered(examine, tasks):
            results.append(result)
            if options.keep:
                with options.keep.open("a") as file:
                    file.write(json.dumps(vars(result)) + "\n")
    text = "\n".join(page(results, options.seed)) + "\n"
    if options.output:
        options.output.write_text(text)
    else:
        print(text)
    return 0 if is_kept(results) else 1


if __name__ == "__main__":
    sys.exit(main())
