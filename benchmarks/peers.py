"""Peers beside ldpopt in one run: solvers of linear programs, samplers of frequency protocols;
rewrites peers.md.

    pip install ldpopt, and in an environment of their own: scipy ortools clarabel highspy
        qif multi-freq-ldpy pure-ldp "xxhash<4" scikit-learn statsmodels opendp
    python benchmarks/peers.py --peers ENVIRONMENT/bin/python
        # about 15 minutes; --part samplers: one section
    python benchmarks/peers.py --rows all   # the table of all rows, see peers_rows.py

Solvers read the very program that ldpopt formulates, as arrays in a file, and are timed from these
arrays to a point. ldpopt is timed from the problem to an exactly private mechanism. CPU seconds of
a process with one thread, imports left out, medians of three runs after a first one; a solver stops
at the first size that takes longer than the limit. Samplers: reports a second.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import peers_rows

HERE = Path(__file__).parent
RUNS, LIMIT = 3, 40.0
SIZES = {"random gain": (20, 60, 120), "grid of places": (25, 49, 81, 225)}
OURS = ("ldpopt", "ldpopt, certified")
LABELS, EPSILON = 1000, 1.0
THREADS = {
    name: "1"
    for name in (
        "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "RAYON_NUM_THREADS",
    )
}


def problem_of(family: str, n: int) -> Any:
    """The problem of a family with n answers, the same in every run."""
    import networkx as nx

    from ldpopt import GraphDP, Problem, PureLDP, Utility

    rng = np.random.default_rng(n)
    prior = rng.dirichlet(np.ones(n))
    if family == "random gain":
        return Problem(prior, Utility(rng.random((n, n)), "gain"), PureLDP(EPSILON))
    graph = nx.grid_2d_graph(math.isqrt(n), math.isqrt(n))
    places = np.array(list(graph), float)
    steps = np.abs(places[:, None] - places).sum(axis=2)
    return Problem(
        prior,
        Utility(steps, "loss"),
        GraphDP(EPSILON, graph),
        inputs=list(graph),
        outputs=list(graph),
    )


def write_program(family: str, n: int, path: Path) -> None:
    """Write the program as arrays, to be minimized."""
    from ldpopt import formulate

    program = formulate(problem_of(family, n))
    sign = -1.0 if program.maximize else 1.0
    names = ("start", "index", "value", "row_lower", "row_upper", "column_lower", "column_upper")
    arrays = {name: np.asarray(getattr(program, name)) for name in names}
    np.savez(path, objective=sign * program.objective, sign=sign, **arrays)


def highs(data: Any, **options: Any) -> float:
    """Solve by HiGHS with these options."""
    import highspy

    model = highspy.HighsLp()
    model.num_row_ = len(data["row_lower"])
    model.num_col_ = len(data["objective"])
    model.col_cost_, model.col_lower_, model.col_upper_ = (
        data[name] for name in ("objective", "column_lower", "column_upper")
    )
    model.row_lower_ = data["row_lower"]
    model.row_upper_ = data["row_upper"]
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = (
        data[name] for name in ("start", "index", "value")
    )
    solver = highspy.Highs()
    for option, value in {"output_flag": False, **options}.items():
        solver.setOptionValue(option, value)
    solver.passModel(model)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(solver.modelStatusToString(solver.getModelStatus()))
    return float(data["objective"] @ np.array(solver.getSolution().col_value))


def clarabel(data: Any) -> float:
    """Solve by Clarabel: equations, and upper and lower bounds of rows and columns as
    inequalities."""
    import clarabel
    from scipy import sparse

    size = len(data["objective"])
    rows = sparse.csr_array(
        (data["value"], data["index"], data["start"]), shape=(len(data["row_lower"]), size)
    )
    whole = sparse.vstack([rows, sparse.eye_array(size)], format="csr")
    lower = np.concatenate([data["row_lower"], data["column_lower"]])
    upper = np.concatenate([data["row_upper"], data["column_upper"]])
    is_equal = lower == upper
    above = np.isfinite(upper) & ~is_equal
    below = np.isfinite(lower) & ~is_equal
    matrix = sparse.vstack([whole[is_equal], whole[above], -whole[below]], format="csc")
    cones = [
        clarabel.ZeroConeT(int(is_equal.sum())),
        clarabel.NonnegativeConeT(int(above.sum() + below.sum())),
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    sides = np.concatenate([lower[is_equal], upper[above], -lower[below]])
    none = sparse.csc_array((size, size))
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(none),
        data["objective"],
        sparse.csc_matrix(matrix),
        sides,
        cones,
        settings,
    ).solve()
    if "Solved" not in str(found.status):
        raise RuntimeError(str(found.status))
    return float(data["objective"] @ np.array(found.x))


def ortools_pdlp(data: Any) -> float:
    """Solve by PDLP of OR-tools, to a relative gap of 1e-8 and residuals of 1e-8."""
    from ortools.pdlp import solve_log_pb2, solvers_pb2
    from ortools.pdlp.python import pdlp
    from scipy import sparse

    program = pdlp.QuadraticProgram()
    program.objective_vector = data["objective"]
    shape = len(data["row_lower"]), len(data["objective"])
    program.constraint_matrix = sparse.csc_matrix(
        sparse.csr_array((data["value"], data["index"], data["start"]), shape=shape)
    )
    program.constraint_lower_bounds = data["row_lower"]
    program.constraint_upper_bounds = data["row_upper"]
    program.variable_lower_bounds = data["column_lower"]
    program.variable_upper_bounds = data["column_upper"]
    settings = solvers_pb2.PrimalDualHybridGradientParams()
    wanted = settings.termination_criteria.simple_optimality_criteria
    wanted.eps_optimal_absolute, wanted.eps_optimal_relative = 1e-8, 1e-8
    settings.termination_criteria.time_sec_limit = LIMIT
    found = pdlp.primal_dual_hybrid_gradient(program, settings)
    if found.solve_log.termination_reason != solve_log_pb2.TERMINATION_REASON_OPTIMAL:
        raise RuntimeError("limit")
    return float(data["objective"] @ found.primal_solution)


def qif(data: Any) -> float:
    """Solve by qif, which builds its own program of all pairs."""
    from qif import mechanism

    prior = data["prior"]
    loss = data["loss"]
    channel = mechanism.d_privacy.min_loss_given_d(
        prior, len(loss), lambda a, b: EPSILON * (a != b), lambda x, y: loss[x, y]
    )
    return float((prior[:, None] * loss * channel).sum())


SOLVERS: dict[str, Callable[[Any], float]] = {
    "HiGHS simplex": lambda data: highs(data, solver="simplex"),
    "HiGHS IPM": lambda data: highs(data, solver="ipm"),
    "HiGHS PDLP": lambda data: highs(data, solver="pdlp"),
    "Clarabel": clarabel,
    "OR-tools PDLP": ortools_pdlp,
}


def multi_freq(kind: str) -> Callable[[Any], Any]:
    """A client of multi-freq-ldpy: one report of one answer."""
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE

    return {
        "randomized response": lambda x: GRR.GRR_Client(x, LABELS, EPSILON),
        "local hashing": lambda x: LH.LH_Client(x, LABELS, EPSILON, True),
        "bits (OUE)": lambda x: UE.UE_Client(x, LABELS, EPSILON, True),
        "sets": lambda x: SS.SS_Client(x, LABELS, EPSILON),
    }[kind]


def pure_ldp(kind: str) -> Callable[[Any], Any]:
    """A client of pure-ldp: one report of one answer, from 1 on."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient
    from pure_ldp.frequency_oracles.local_hashing import LHClient
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    client = {
        "randomized response": lambda: DEClient(EPSILON, LABELS),
        "local hashing": lambda: LHClient(EPSILON, LABELS, use_olh=True),
        "bits (OUE)": lambda: UEClient(EPSILON, LABELS, use_oue=True),
    }[kind]()
    return lambda x: client.privatise(x + 1)


def opendp(kind: str) -> Callable[[Any], Any]:
    """A measurement of OpenDP: one report of one answer."""
    import opendp.prelude as dp

    if kind != "randomized response":
        raise KeyError(kind)
    dp.enable_features("contrib")
    probability = math.exp(EPSILON) / (math.exp(EPSILON) + LABELS - 1)
    return dp.m.make_randomized_response(categories=list(range(LABELS)), prob=probability)


CLIENTS = {"multi-freq-ldpy": multi_freq, "pure-ldp": pure_ldp, "opendp": opendp}
KINDS = ("randomized response", "local hashing", "bits (OUE)", "sets")
PARTS = {family: f"{family.capitalize()}: CPU seconds" for family in SIZES} | {
    "qif": "Random gain, all pairs: CPU seconds",
    "samplers": f"Reports a second: {LABELS} labels, epsilon {EPSILON:g}",
}
PACKAGES = ("ortools", "clarabel", "highspy", "qif", "multi-freq-ldpy", "pure-ldp", "opendp")


def seconds() -> float:
    """CPU seconds of this process and its children."""
    usage = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in usage)


def timed(job: Callable[[], float]) -> dict[str, Any]:
    """Median seconds of three runs after a first one; of the first alone if it takes more than a
    third of the limit."""
    spent: list[float] = []
    for _ in range(1 + RUNS):
        at = seconds()
        most = math.ceil(at + LIMIT)
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        value = job()
        spent.append(seconds() - at)
        if spent[0] > LIMIT / RUNS:
            break
    return {"seconds": median(spent[1:] or spent), "value": value}


def one(order: dict[str, Any]) -> dict[str, Any]:
    """What one process measures."""
    if order["do"] == "versions":
        found = {}
        for name in PACKAGES:
            try:
                found[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                found[name] = "not installed"
        return found
    if order["do"] in OURS:
        os.environ["LDPOPT_SOLVER_PROCESS"] = "0"
        from ldpopt import certify, solve

        problem = problem_of(order["family"], order["n"])
        if order["do"] == "ldpopt":
            return timed(lambda: solve(problem).value)
        return timed(lambda: float(certify(solve(problem)).achieved))
    if order["do"] == "ours":
        return {"rows": our_rate(order["kind"])}
    if order["do"] == "client":
        return {"rows": client_rate(CLIENTS[order["peer"]](order["kind"]))}
    data = dict(np.load(order["file"]))
    if order["do"] == "qif":
        return timed(lambda: qif(data))
    return timed(lambda: float(data["sign"]) * SOLVERS[order["do"]](data))


def client_rate(client: Callable[[Any], Any]) -> float:
    """Reports a second of a client that draws one report for one answer."""
    answers = np.random.default_rng(0).integers(0, LABELS, 1 << 16).tolist()
    for x in answers[:50]:
        client(x)
    at = seconds()
    drawn = 0
    while seconds() - at < 3 and drawn + 200 <= len(answers):
        for x in answers[drawn : drawn + 200]:
            client(x)
        drawn += 200
    return drawn / (seconds() - at)


def our_rate(kind: str) -> float:
    """Reports a second of the protocol with the same law, drawn together."""
    from ldpopt.frequencies import LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding

    protocol = dict(
        zip(KINDS, (RandomizedResponse, LocalHashing, UnaryEncoding, SubsetSelection), strict=True)
    )[kind](LABELS, EPSILON)
    answers = np.random.default_rng(0).integers(0, LABELS, 1 << 16)
    protocol.privatize(answers, rng=1)
    at = seconds()
    drawn = 0
    while seconds() - at < 2:
        protocol.privatize(answers, rng=1)
        drawn += len(answers)
    return drawn / (seconds() - at)


def ask(python: str, order: dict[str, Any]) -> dict[str, Any]:
    """Run one process; what failed is named by its last line."""
    environment = os.environ | THREADS
    command = [python, str(HERE / "peers.py"), "--one", json.dumps(order)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode == -signal.SIGXCPU:
        return {"failed": f"> {LIMIT:.0f}"}
    if done.returncode:
        last = (done.stderr.strip() or "killed").splitlines()[-1]
        return {"failed": "no such protocol" if "KeyError" in last else last[:60]}
    return json.loads(done.stdout.splitlines()[-1])


def exponent(sizes: list[int], spent: list[float]) -> str:
    """Exponent of growth in n, by least squares on logarithms."""
    return "" if len(sizes) < 2 else f"{np.polyfit(np.log(sizes), np.log(spent), 1)[0]:.1f}"


def solver_lines(python: str, folder: Path, family: str) -> list[str]:
    """The table of solvers of a family's programs."""
    sizes = SIZES[family]
    values = dict[int, float]()
    lines = [
        f"| | {' | '.join(f'n = {n}' for n in sizes)} | exponent of n | largest difference of "
        "the value |"
    ]
    lines.append("|---" * (len(sizes) + 3) + "|")
    for solver in (*OURS, *SOLVERS):
        cells = []
        done = []
        spent = []
        worst = 0.0
        for n in sizes:
            path = folder / f"{n}.npz"
            if not path.exists():
                write_program(family, n, path)
            order = {"do": solver, "family": family, "n": n, "file": str(path)}
            is_over = len(done) < len(cells)
            found = (
                {"failed": ""}
                if is_over
                else ask(sys.executable if solver in OURS else python, order)
            )
            cells.append(found["failed"] if "failed" in found else f"{found['seconds']:.2g}")
            if "seconds" in found:
                done.append(n)
                spent.append(found["seconds"])
                values.setdefault(n, found["value"])
                worst = max(worst, abs(found["value"] / values[n] - 1))
        lines.append(f"| {solver} | {' | '.join(cells)} | {exponent(done, spent)} | {worst:.0e} |")
        print(lines[-1], flush=True)
    return lines


def qif_lines(python: str, folder: Path) -> list[str]:
    """The table of qif, for programs that it can build."""
    sizes = (10, 20, 40)
    lines = [f"| | {' | '.join(f'n = {n}' for n in sizes)} | exponent of n |"]
    lines.append("|---" * (len(sizes) + 2) + "|")
    for solver in ("ldpopt", "qif"):
        cells = []
        done = []
        spent = []
        for n in sizes:
            problem = problem_of("random gain", n)
            path = folder / f"qif{n}.npz"
            np.savez(
                path,
                prior=problem.prior,
                loss=problem.utility.matrix.max() - problem.utility.matrix,
            )
            order = {"do": solver, "family": "random gain", "n": n, "file": str(path)}
            found = ask(sys.executable if solver == "ldpopt" else python, order)
            cells.append(found.get("failed") or f"{found['seconds']:.2g}")
            if "seconds" in found:
                done.append(n)
                spent.append(found["seconds"])
        lines.append(f"| {solver} | {' | '.join(cells)} | {exponent(done, spent)} |")
        print(lines[-1], flush=True)
    return lines


def sampler_lines(python: str) -> list[str]:
    """The table of samplers."""
    lines = [f"| | {' | '.join(KINDS)} |", "|---" * (len(KINDS) + 1) + "|"]
    for name in ("ldpopt", *CLIENTS):
        cells = []
        for kind in KINDS:
            do = "ours" if name == "ldpopt" else "client"
            found = ask(
                sys.executable if name == "ldpopt" else python,
                {"do": do, "peer": name, "kind": kind},
            )
            cells.append(found.get("failed") or f"{found['rows']:.2g}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


NOTES = """
`python benchmarks/peers.py` {versions}; {machine}, one thread.

The solvers solve the same program, which ldpopt formulates; their time is that from its arrays to
a point. "ldpopt" is `solve`: from the problem to an exactly private mechanism whose gap is known
in integers; the next row adds `certify`, the proof in rationals. The points of the others are
private up to their tolerances (see [speed.md](speed.md) for their audits). HiGHS and Clarabel
have their own default tolerances, OR-tools' PDLP 1e-8. ">" marks the limit in seconds; larger
sizes are left empty. Differences are relative to ldpopt's value.

Samplers: peers draw one report a call, in a loop as their manuals have it; ldpopt draws a vector,
with exact masses.
"""


def main() -> None:
    """Measure and write the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--peers", default=sys.executable, help="Python of the environment with the peers"
    )
    options.add_argument(
        "--part", choices=PARTS, help="measure one section of the page again; default: all"
    )
    options.add_argument(
        "--rows", nargs="+", help="'all': the table of all rows; else print those of these names"
    )
    options.add_argument("--rounds", type=int, default=peers_rows.ROUNDS, help="of --rows")
    options.add_argument("--one")
    options.add_argument("--row")
    given = options.parse_args()
    if given.row is not None:
        print("\n" + json.dumps(peers_rows.measure(json.loads(given.row))))
        return
    if given.rows is not None:
        text = peers_rows.compared(given.rows, given.peers, given.rounds)
        print(text)
        if "all" in given.rows:
            write_page({peers_rows.TITLE: text})
        return
    if given.one is not None:
        print("\n" + json.dumps(one(json.loads(given.one))))
        return
    versions = ", ".join(
        f"{name} {version}" for name, version in ask(given.peers, {"do": "versions"}).items()
    )
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    found = {}
    for part, title in PARTS.items():
        if given.part not in (None, part):
            continue
        with tempfile.TemporaryDirectory() as folder:
            if part in SIZES:
                lines = solver_lines(given.peers, Path(folder), part)
            else:
                lines = (
                    qif_lines(given.peers, Path(folder))
                    if part == "qif"
                    else sampler_lines(given.peers)
                )
        found[title] = "\n".join(lines)
    head = "# Peers\n" + NOTES.format(versions=f"({versions})", machine=machine)
    write_page(found, head)


def write_page(found: dict[str, str], head: str | None = None) -> None:
    """Write sections into the page, whose other sections stay."""
    page = HERE / "peers.md"
    old_head, *old = page.read_text().split("\n## ") if page.exists() else [""]
    sections = {
        title: text.strip("\n") for title, _, text in (section.partition("\n") for section in old)
    } | found
    titles = (peers_rows.TITLE, *PARTS.values())
    text = "".join(f"\n## {title}\n\n{sections[title]}\n" for title in titles if title in sections)
    page.write_text((old_head if head is None else head) + text)


if __name__ == "__main__":
    main()
