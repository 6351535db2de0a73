"""One case of benchmarks/speed.py, in a separate process: every method solves the same problem in
its own formulation.

python benchmarks/speed_methods.py '{"method": "ldpopt", "n": 40, "gain": "random", "epsilon": 1,
"prior": "random"}'

prints one line of JSON. The programs of others are written as their manuals suggest: one row for
each pair of inputs and each output, vectorised where the tool can. The measurement starts with the
problem's numbers in memory and ends with a channel as an array, after imports and a first solve of
four answers.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

# so that HiGHS's seconds and memory are this process's
os.environ.setdefault("LDPOPT_SOLVER_PROCESS", "0")

import numpy as np

import ldpopt as lo
from ldpopt.errors import LdpoptError
from ldpopt.solving import gap_check
from ldpopt.solving.formulation import formulate

Float = np.ndarray


def make_problem(n: int, gain: str, epsilon: float, prior: str) -> lo.Problem:
    """The same numbers in every run: identity and random gains, absolute error, a uniform or a
    random prior."""
    weights = (
        np.full(n, 1 / n) if prior == "uniform" else np.random.default_rng(0).dirichlet(np.ones(n))
    )
    if gain == "random":
        return lo.Problem(
            weights, lo.Utility(np.random.default_rng(1).random((n, n))), lo.PureLDP(epsilon)
        )
    return lo.Problem(
        weights, {"identity": "identity", "absolute": "absolute_error"}[gain], lo.PureLDP(epsilon)
    )


def costs(problem: lo.Problem) -> Float:
    """What every method maximizes."""
    sign = 1.0 if problem.utility.sense == "gain" else -1.0
    return sign * problem.prior[:, None] * problem.utility.matrix


def highs(problem: lo.Problem, form: str) -> Float:
    program = formulate(problem, form)
    model = program.to_highs(named=False)
    model.run()
    return program.structure.channel(np.array(model.getSolution().col_value))


def cvxpy(problem: lo.Problem, solver: str) -> Float:
    import cvxpy as cp

    gain = costs(problem)
    alpha = math.exp(problem.privacy.epsilon)
    n = len(gain)
    channel = cp.Variable((n, n), nonneg=True)
    ones = np.ones((n, 1))
    rows = [cp.sum(channel, axis=1) == 1]
    rows += [channel <= alpha * (ones @ channel[k : k + 1]) for k in range(n)]
    cp.Problem(cp.Maximize(cp.sum(cp.multiply(gain, channel))), rows).solve(solver=solver)
    return np.array(channel.value)


def pulp(problem: lo.Problem) -> Float:
    import pulp as p

    gain = costs(problem)
    alpha = math.exp(problem.privacy.epsilon)
    n = len(gain)
    model = p.LpProblem("channel", p.LpMaximize)
    channel = p.LpVariable.dicts("p", (range(n), range(n)), lowBound=0)
    model += p.lpSum(gain[x, y] * channel[x][y] for x in range(n) for y in range(n))
    for x in range(n):
        model += p.lpSum(channel[x][y] for y in range(n)) == 1
    for x in range(n):
        for k in range(n):
            if x != k:
                for y in range(n):
                    model += channel[x][y] <= alpha * channel[k][y]
    model.solve(cbc()(msg=False))
    return np.array([[channel[x][y].varValue for y in range(n)] for x in range(n)])


def cbc() -> Any:
    from ldpopt.solvers.cbc_ import _command

    return _command()


def linopy(problem: lo.Problem) -> Float:
    import linopy as lp
    import pandas as pd
    import xarray as xr

    gain = costs(problem)
    alpha = math.exp(problem.privacy.epsilon)
    inputs, outputs = (pd.RangeIndex(len(gain), name=name) for name in "xy")
    model = lp.Model()
    channel = model.add_variables(lower=0, coords=[inputs, outputs], name="channel")
    model.add_constraints(channel.sum("y") == 1)
    model.add_constraints(channel - alpha * channel.rename(x="k") <= 0)
    model.add_objective((channel * xr.DataArray(gain, coords=[inputs, outputs])).sum(), sense="max")
    model.solve("highs", io_api="direct", output_flag=False)
    return channel.solution.values


def scipy(problem: lo.Problem) -> Float:
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, eye_array, kron

    gain = costs(problem)
    alpha = math.exp(problem.privacy.epsilon)
    n = len(gain)
    one, other = np.nonzero(~np.eye(n, dtype=bool))
    pair = np.arange(len(one))
    ends = (np.r_[pair, pair], np.r_[one, other])
    differences = coo_array(
        (np.r_[np.ones(len(one)), np.full(len(one), -alpha)], ends), shape=(len(one), n)
    )
    rows = kron(differences, eye_array(n), format="csr")
    sums = kron(eye_array(n), np.ones((1, n)), format="csr")
    answer = linprog(
        -gain.reshape(-1), rows, np.zeros(rows.shape[0]), sums, np.ones(n), method="highs"
    )
    return answer.x.reshape(n, n)


def qif(problem: lo.Problem) -> Float:
    from qif import mechanism

    gain, epsilon = problem.utility.matrix, problem.privacy.epsilon
    loss = gain.max() - gain if problem.utility.sense == "gain" else gain
    return mechanism.d_privacy.min_loss_given_d(
        problem.prior, len(loss), lambda a, b: epsilon * (a != b), lambda x, y: loss[x, y]
    )


METHODS: dict[str, Callable[[lo.Problem], Float]] = {
    "HiGHS, compact": lambda problem: highs(problem, "compact"),
    "HiGHS, pairwise": lambda problem: highs(problem, "pairwise"),
    "cvxpy, HiGHS": lambda problem: cvxpy(problem, "HIGHS"),
    "cvxpy, Clarabel": lambda problem: cvxpy(problem, "CLARABEL"),
    "PuLP, CBC": pulp,
    "linopy, HiGHS": linopy,
    "scipy linprog": scipy,
    "qif": qif,
}

CHOICES: dict[str, dict[str, Any]] = {
    "simplex, compact": {"solver": "highs", "form": "compact"},
    "simplex, sifted": {"solver": "highs", "form": "sifted"},
    "interior, compact": {"solver": "interior", "form": "compact"},
    "interior, sifted": {"solver": "interior", "form": "sifted"},
}


def seconds() -> float:
    """CPU seconds of this process and of the processes it has waited for."""
    usage = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in usage)


def megabytes() -> float:
    """Peak of this process, or of the largest that it has waited for."""
    return (
        max(
            resource.getrusage(who).ru_maxrss
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        / 1024
    )


def timed(job: Callable[[], Any], most: int, spare: float) -> tuple[Any, list[float], list[float]]:
    """Run a job again while there is time; its last result, CPU seconds and wall seconds of every
    run."""
    cpu: list[float] = []
    wall: list[float] = []
    while not cpu or (len(cpu) < most and sum(wall) + wall[-1] < spare):
        result = None
        began = time.perf_counter()
        at = seconds()
        result = job()
        cpu.append(seconds() - at)
        wall.append(time.perf_counter() - began)
    return result, cpu, wall


def ours(problem: lo.Problem, most: int, spare: float) -> dict[str, Any]:
    """Solve and certify; which seconds go into mechanism, audit, repair and bound."""
    repair = gap_check.repair
    spent = []

    def watched(*args: Any, **options: Any) -> Any:
        at = seconds()
        result = repair(*args, **options)
        spent[-1] += seconds() - at
        return result

    def job() -> tuple[Any, Any]:
        spent.append(0.0)
        solution = lo.solve(problem)
        at = seconds()
        proof = lo.certify(solution)
        spent[-1] += seconds() - at
        return solution, proof

    gap_check.repair = watched
    try:
        (solution, proof), cpu, wall = timed(job, most, spare)
    finally:
        gap_check.repair = repair
    return {
        "cpu": cpu,
        "wall": wall,
        "proving": spent,
        "value": solution.value,
        "gap": proof.relative_gap,
        "verdict": proof.audit.verdict,
        "solver": solution.solver,
    }


def theirs(method: str, problem: lo.Problem, most: int, spare: float) -> dict[str, Any]:
    """Solve by another method; the value of its channel, and its exact audit."""
    channel, cpu, wall = timed(lambda: METHODS[method](problem), most, spare)
    found = {"cpu": cpu, "wall": wall, "memory": megabytes()}
    value = math.fsum(np.sort((costs(problem) * channel).reshape(-1)))
    value = value if problem.utility.sense == "gain" else -value
    found |= {
        "value": value,
        "least": float(channel.min()),
        "off": float(np.abs(channel.sum(axis=1) - 1).max()),
    }
    channel = np.maximum(channel, 0)
    channel /= channel.sum(axis=1, keepdims=True)
    return found | {"excess": audited(channel) - float(problem.privacy.epsilon)}


def audited(channel: Float) -> float:
    try:
        return float(lo.audit(channel).epsilon)
    except LdpoptError:
        return math.inf


def choices(n: int, gain: str, epsilon: float, prior: str, skip: list[str]) -> dict[str, Any]:
    """CPU seconds of auto and of every fixed choice, in turns."""
    problem = make_problem(n, gain, epsilon, prior)
    ways = {"auto": {}} | {name: way for name, way in CHOICES.items() if name not in skip}
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(7):
        for name, way in ways.items():
            if sum(cpu[name]) < 0.7:
                at = seconds()
                lo.solve(problem, **way)
                cpu[name].append(seconds() - at)
    return {"cpu": cpu}


def building(n: int) -> dict[str, Any]:
    problem = make_problem(n, "random", 1.0, "random")
    _, cpu, wall = timed(lambda: formulate(problem, "compact"), 5, 5.0)
    return {"cpu": cpu, "wall": wall}


def main() -> None:
    case = json.loads(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (int(case["memory"] * 2**30),) * 2)
    method = case["method"]
    most = case.get("repeat", 5)
    spare = case.get("spare", 3.0)
    small = make_problem(4, "identity", 1.0, "uniform")
    problem = make_problem(case["n"], case["gain"], case["epsilon"], case["prior"])
    if method in METHODS:
        METHODS[method](small)
    else:
        for name in ("interior", "highs"):
            lo.certify(lo.solve(small, solver=name))
    base = megabytes()
    if method == "choices":
        found = choices(case["n"], case["gain"], case["epsilon"], case["prior"], case["skip"])
    elif method == "formulate":
        found = building(case["n"])
    elif method == "ldpopt":
        found = ours(problem, most, spare)
    else:
        found = theirs(method, problem, most, spare)
    print(json.dumps({"memory": megabytes(), "base": base} | found))


if __name__ == "__main__":
    main()
