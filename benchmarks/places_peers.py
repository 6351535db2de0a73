"""The same places for ldpopt and for solvers that people use today, side by side; writes benchmarks/places_peers.md.

    pip install "ldpopt[bench]"; python benchmarks/places_peers.py       # an hour; ``... '{"n": 64, ...}'`` for a case

A square grid of n places, privacy along its edges, random prior, Euclidean loss. Every solver gets the same sparse
program: one row for each pair and output. Its channel is then made private exactly by `repair`; the gap
compares its loss with the bound that ldpopt proves. Each row is a process of its own; imports do not count.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from places import grid_graph
from scipy import sparse

import ldpopt as lo
from ldpopt.mechanism.repair import repair

HERE = Path(__file__).parent
SECONDS = 600
SIDES, EPSILONS = (8, 10, 12, 15), (0.3, 1.0, 2.0)

Program = tuple[np.ndarray, sparse.csr_array, sparse.csr_array]


def stated(side: int, epsilon: float) -> lo.Problem:
    distance, privacy = grid_graph(side, epsilon)
    prior = np.random.default_rng(0).dirichlet(np.ones(len(distance)))
    return lo.Problem(prior, lo.utility.table(distance, sense="loss"), privacy)


def program(problem: lo.Problem) -> Program:
    """Costs, rows that sum to 1, and rows that are at most 0; the variable is the channel, read row by row."""
    n = len(problem.prior)
    first, second = problem.privacy.ties(problem.inputs).pairs()
    pairs = np.arange(len(first))
    each = sparse.csr_array((np.ones(len(pairs)), (pairs, first)), (len(pairs), n))
    other = sparse.csr_array((np.ones(len(pairs)), (pairs, second)), (len(pairs), n))
    private = sparse.kron(each - np.exp(float(problem.privacy.epsilon)) * other, sparse.eye_array(n), format="csr")
    sums = sparse.kron(sparse.eye_array(n), np.ones((1, n)), format="csr")
    return (problem.prior[:, None] * problem.utility.matrix).reshape(-1), sums, private


def clarabel(cost: np.ndarray, sums: sparse.csr_array, private: sparse.csr_array) -> np.ndarray:
    import clarabel as tool

    size = len(cost)
    rows = sparse.csc_array(sparse.vstack([sums, private, -sparse.eye_array(size)]))
    bounds = np.concatenate([np.ones(sums.shape[0]), np.zeros(private.shape[0] + size)])
    cones = [tool.ZeroConeT(sums.shape[0]), tool.NonnegativeConeT(private.shape[0] + size)]
    settings = tool.DefaultSettings()
    settings.verbose, settings.time_limit = False, float(SECONDS)
    nothing = sparse.csc_matrix((size, size))
    return np.array(tool.DefaultSolver(nothing, cost, sparse.csc_matrix(rows), bounds, cones, settings).solve().x)


def highs(method: str) -> Callable[..., np.ndarray]:
    def run(cost: np.ndarray, sums: sparse.csr_array, private: sparse.csr_array) -> np.ndarray:
        import highspy

        rows = sparse.csr_array(sparse.vstack([sums, private]))
        model, count = highspy.HighsLp(), rows.shape[0]
        model.num_col_, model.num_row_ = len(cost), count
        model.col_cost_, model.col_lower_ = cost, np.zeros(len(cost))
        model.col_upper_ = np.full(len(cost), highspy.kHighsInf)
        model.row_lower_ = np.concatenate([np.ones(sums.shape[0]), np.full(private.shape[0], -highspy.kHighsInf)])
        model.row_upper_ = np.concatenate([np.ones(sums.shape[0]), np.zeros(private.shape[0])])
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = rows.indptr, rows.indices, rows.data
        solver = highspy.Highs()
        for option, value in {"output_flag": False, "solver": method, "time_limit": SECONDS, "threads": 1}.items():
            solver.setOptionValue(option, value)
        solver.setOptionValue("run_crossover", "off")
        solver.passModel(model)
        solver.run()
        return np.array(solver.getSolution().col_value)

    return run


def ortools(cost: np.ndarray, sums: sparse.csr_array, private: sparse.csr_array) -> np.ndarray:
    from ortools.pdlp import solvers_pb2
    from ortools.pdlp.python import pdlp

    asked = solvers_pb2.PrimalDualHybridGradientParams()
    asked.termination_criteria.simple_optimality_criteria.eps_optimal_relative = 1e-6
    asked.termination_criteria.simple_optimality_criteria.eps_optimal_absolute = 1e-9
    asked.termination_criteria.time_sec_limit = SECONDS
    given = pdlp.QuadraticProgram()
    given.objective_vector = cost
    given.constraint_matrix = sparse.csc_matrix(sparse.vstack([sums, private]))
    given.constraint_lower_bounds = np.concatenate([np.ones(sums.shape[0]), np.full(private.shape[0], -np.inf)])
    given.constraint_upper_bounds = np.concatenate([np.ones(sums.shape[0]), np.zeros(private.shape[0])])
    given.variable_lower_bounds, given.variable_upper_bounds = np.zeros(len(cost)), np.full(len(cost), np.inf)
    return np.array(pdlp.primal_dual_hybrid_gradient(given, asked).primal_solution)


def qif(problem: lo.Problem) -> np.ndarray:
    from qif import mechanism

    loss, (place, side) = problem.utility.matrix, (np.arange(len(problem.prior)), int(len(problem.prior) ** 0.5))
    row, column = np.divmod(place, side)
    steps = np.abs(np.subtract.outer(row, row)) + np.abs(np.subtract.outer(column, column))
    epsilon = float(problem.privacy.epsilon)
    return np.array(
        mechanism.d_privacy.min_loss_given_d(
            problem.prior, len(loss), lambda a, b: epsilon * steps[a, b], lambda x, y: loss[x, y]
        )
    )


PEERS = {"Clarabel": clarabel, "HiGHS IPM": highs("ipm"), "HiGHS PDLP": highs("pdlp"), "OR-tools PDLP": ortools}
LARGEST = {"qif": 8, "HiGHS PDLP": 10, "OR-tools PDLP": 12}
"""Side beyond which a tool does not end in ten minutes, or only with a useless channel."""


def run(method: str, side: int, epsilon: float) -> dict[str, float | str | None]:
    """One case: seconds, memory, and the loss of a private channel."""
    problem = stated(side, epsilon)
    written = program(problem) if method in PEERS else None
    if method == "ldpopt":  # imports and compiled code do not count; OR-tools must not share a process with HiGHS
        lo.solve(stated(8, epsilon))
    elif written:
        PEERS[method](*program(stated(3, epsilon)))
    began, bound = time.process_time(), None
    if method == "ldpopt":
        answer = lo.solve(problem, gap=1e-6, time_limit=SECONDS)
        seconds = time.process_time() - began
        mechanism, bound = answer.mechanism, float(lo.certify(answer).bound)
    else:
        channel = PEERS[method](*written).reshape(side**2, -1) if written else qif(problem)
        seconds = time.process_time() - began
        mechanism = repair(channel, problem.privacy).mechanism
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    loss = mechanism.expected(problem.prior, problem.utility)
    return {"method": method, "seconds": seconds, "megabytes": memory, "loss": loss, "bound": bound}


def cases() -> list[dict[str, float | str]]:
    """Every method at every size it can be waited for."""
    return [
        {"method": method, "side": side, "epsilon": epsilon}
        for side in SIDES
        for epsilon in EPSILONS
        for method in ("ldpopt", *PEERS, "qif")
        if side <= LARGEST.get(method, SIDES[-1])
    ]


def measured(case: dict[str, float | str]) -> dict[str, float | str | None]:
    """A case in a process of its own; it ends in twice the solvers' own limit."""
    command = [sys.executable, __file__, json.dumps(case)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=2 * SECONDS)
    except subprocess.TimeoutExpired:
        return {**case, "ended": f"none in {2 * SECONDS} s"}
    except subprocess.CalledProcessError as error:
        return {**case, "ended": error.stderr.strip().splitlines()[-1]}
    return {**case, **json.loads(done.stdout.splitlines()[-1])}  # HiGHS prints its version before


def page(rows: list[dict[str, float | str | None]]) -> str:
    """The table; a gap compares with the bound of ldpopt's certificate for the same problem."""
    bounds = {(r["side"], r["epsilon"]): r["bound"] for r in rows if r.get("bound") is not None}
    lines = ["# Places, side by side", "", *__doc__.strip().splitlines()[4:], ""]
    lines += ["| n | epsilon | method | CPU s | gap of the private channel | MB |", "|---|---|---|---|---|---|"]
    for r in rows:
        start = f"| {int(r['side']) ** 2} | {r['epsilon']:g} | {r['method']} "
        bound = bounds.get((r["side"], r["epsilon"]))
        if "ended" in r or not bound:
            lines.append(f"{start}| {r.get('ended', '')} | | |")
        else:
            gap = (float(r["loss"]) - bound) / bound
            lines.append(f"{start}| {r['seconds']:.1f} | {max(gap, 0):.0e} | {r['megabytes']:.0f} |")
    return "\n".join([*lines, ""])


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(run(**json.loads(sys.argv[1]))))
        return
    rows = []
    for case in cases():
        rows.append(measured(case))
        (HERE / "places_peers.md").write_text(page(rows))
        print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
