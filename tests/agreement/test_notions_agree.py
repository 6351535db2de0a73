"""One-sided and utility-optimized privacy: compact program, pairwise program, rationals and scipy on the definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import ldpopt as lo
from ldpopt.solving.exact.optimum import exact_optimum
from ldpopt.solving.formulation import formulate, size
from ldpopt.testing.solvers import Tolerances, check_solver


def plain(problem, sensitive, own=()):
    """Optimal value by scipy, from the definition; ``own`` are outputs that only the input of their name reports."""
    matrix, (n, m) = problem.utility.matrix, problem.utility.shape
    sign = -1.0 if problem.utility.sense == "gain" else 1.0
    b, rows = np.exp(-float(problem.privacy.epsilon)), []
    for x, k in itertools.permutations(range(n), 2):
        for y in range(m):
            if problem.inputs[x] in sensitive and problem.outputs[y] not in own:
                row = np.zeros((n, m))
                row[x, y], row[k, y] = b, -1.0
                rows.append(np.append(row.ravel(), 0.0))
    cost = np.zeros(n * m + 1)
    if problem.prior is None:
        cost[-1] = 1.0
        for x in range(n):
            row = np.zeros((n, m))
            row[x] = sign * matrix[x]
            rows.append(np.append(row.ravel(), -1.0))
    else:
        cost[:-1] = sign * (problem.prior[:, None] * matrix).ravel()
    sums = np.hstack([np.kron(np.eye(n), np.ones(m)), np.zeros((n, 1))])
    forbidden = [y in own and x != y for x in problem.inputs for y in problem.outputs]
    bounds = [(0, 0 if zero else None) for zero in forbidden] + [(None, None)]
    kept = (np.array(rows), np.zeros(len(rows))) if rows else (None, None)
    found = linprog(cost, *kept, sums, np.ones(n), bounds)
    assert found.status == 0
    return sign * found.fun


def statement(seed, kind, epsilon):
    """A random problem, its sensitive inputs and the reports with an owner."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    inputs = list(range(n))
    sensitive = sorted(rng.choice(n, int(rng.integers(0, n + 1)), replace=False).tolist())
    if kind == "one-sided":
        outputs, notion, own = list(range(int(rng.integers(1, 6)))), lo.OneSided(epsilon, sensitive), []
    else:
        more = [f"r{k}" for k in range(int(rng.integers(1 if seed % 2 else 0, 3)))]
        outputs = [*rng.permutation(inputs).tolist(), *more]
        loose = [x for x in inputs if x not in sensitive and rng.random() < 0.3] if seed % 3 == 0 else []
        protected = None if not loose else [*sensitive, *more, *loose]
        notion = lo.UtilityOptimizedLDP(epsilon, sensitive, protected)
        own = [x for x in inputs if x not in sensitive and x not in loose]
    utility = lo.Utility(rng.normal(size=(n, len(outputs))), "gain" if rng.random() < 0.5 else "loss")
    prior = None if seed % 4 == 3 else rng.dirichlet(np.ones(n))
    objective = "worst_case" if prior is None else "expected"
    problem = lo.Problem(prior, utility, notion, inputs=inputs, outputs=outputs, objective=objective)
    return problem, inputs if kind != "one-sided" else sensitive, own


CASES = [(kind, seed) for kind in ("one-sided", "utility-optimized") for seed in range(12)]


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.5, 5.0])
@pytest.mark.parametrize("kind, seed", CASES)
def test_compact_pairwise_and_plain_programs_agree(kind, seed, epsilon):
    problem, tied, own = statement(seed, kind, epsilon)
    value = plain(problem, tied, own)
    for form in ("compact", "pairwise"):
        answer = lo.solve(problem, form=form, solver="highs")
        assert answer.value == pytest.approx(value, abs=1e-8)
        proof = lo.certify(answer)
        assert proof.relative_gap < 1e-8
        counted, built = size(problem, form), formulate(problem, form)
        assert (counted.rows, counted.columns) == built.shape
        assert counted.nonzeros >= built.nnz or problem.prior is None


@pytest.mark.parametrize("kind, seed", CASES[::2])
def test_exact_optima_lie_between_value_and_bound(kind, seed):
    problem, _, _ = statement(seed, kind, "log(3)" if seed % 4 else 0.7)
    low, high = exact_optimum(problem)
    proof = lo.certify(lo.solve(problem, solver="highs"))
    sign = 1 if problem.utility.sense == "gain" else -1
    assert sign * proof.achieved <= sign * (high if sign > 0 else low)
    assert sign * (low if sign > 0 else high) <= sign * proof.bound
    assert abs(proof.bound - proof.achieved) < 1e-9


@pytest.mark.parametrize("solver", ["highs", "cbc", "cvxpy"])
def test_every_solver_agrees(solver):
    check_solver(solver, Tolerances(value=1e-6, residual=1e-6), only=["optimum of a maximum"])
    for kind in ("one-sided", "utility-optimized"):
        problem, tied, own = statement(1, kind, 1.0)
        answer = lo.solve(problem, solver=solver)
        assert answer.value == pytest.approx(plain(problem, tied, own), abs=1e-6)
        assert lo.certify(answer).relative_gap < 1e-5


def test_side_constraints_count():
    problem, _, _ = statement(1, "utility-optimized", 1.0)
    n, m = problem.utility.shape
    row = lo.constraints.linear(np.eye(n, m), upper=0.5 * n, name="half")
    stated = lo.Problem(
        problem.prior, problem.utility, problem.privacy, inputs=problem.inputs, outputs=problem.outputs, constraints=row
    )
    answers = [lo.solve(stated, form=form) for form in ("compact", "pairwise")]
    assert answers[0].value == pytest.approx(answers[1].value, abs=1e-9)
    assert all(lo.certify(answer).relative_gap < 1e-9 for answer in answers)
