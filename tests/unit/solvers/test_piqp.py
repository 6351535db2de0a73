"""PIQP as a named solver: agreement with HiGHS, proofs, settings, limits, and what its missing
package says."""

from __future__ import annotations

import sys
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import ldpopt as lo
from builders import distances, random_problem, refused, seconds
from ldpopt import constraints, solvers
from ldpopt.errors import SolverNotFoundError, SolverOptionError
from ldpopt.solvers import Status
from ldpopt.solving.formulation import formulate

pytest.importorskip("piqp", reason="an optional solver")

STEPS = np.abs(np.subtract.outer(np.arange(12.0), np.arange(12.0)))
WORST = {"objective": "worst_case"}
PROBLEMS = {
    "pure": random_problem(lo.PureLDP(1.0), 12, rng=1),
    "pure, worst case": lo.Problem(None, lo.Utility(STEPS, "loss"), lo.PureLDP(1.0), **WORST),
    "entry-wise": random_problem(lo.ApproximateLDP(1.0, 0.05, "entry"), 9, 7, rng=2),
    "event-wise": random_problem(lo.ApproximateLDP(1.0, 0.05), 6, rng=3),
    "path": random_problem(lo.GraphDP(0.5, nx.path_graph(14)), 14, rng=4, sense="loss"),
    "metric": random_problem(lo.MetricDP(1.0, distances(range(8))), 8, rng=5),
    "one-sided": random_problem(lo.OneSided(1.0, sensitive=[0, 1]), 6, rng=6),
    "utility-optimized": random_problem(lo.UtilityOptimizedLDP(1.0, sensitive=[0, 1]), 5, rng=7),
    "side constraint": replace(
        random_problem(lo.PureLDP(1.0), 5, rng=8),
        constraints=[constraints.linear(np.eye(5), upper=1.2, name="little truth")],
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_it_agrees_with_highs_and_is_proved(name):
    problem = PROBLEMS[name]
    found, other = (lo.solve(problem, solver=solver) for solver in ("piqp", "highs"))
    proof = lo.certify(found)
    assert found.status is Status.OPTIMAL
    assert found.solver.startswith("piqp (")
    assert found.value == pytest.approx(other.value, rel=1e-9)
    assert proof.relative_gap <= 1e-9
    assert proof.audit.verdict == "certified"
    sign = 1 if problem.utility.sense == "gain" else -1
    assert sign * lo.certify(other).bound >= sign * proof.achieved


def test_auto_never_chooses_it():
    for problem in PROBLEMS.values():
        assert all("piqp" not in str(step) for step in lo.plan(problem))


def test_a_refined_answer_has_smaller_residuals():
    program = formulate(PROBLEMS["pure, worst case"])
    piqp = solvers.find("piqp")
    rough, fine = (piqp.solve(program, refined=refined) for refined in (False, True))
    assert program.residual(fine.point) < 1e-11
    assert program.residual(rough.point) < 1e-7
    value = lo.solve(PROBLEMS["pure, worst case"]).value
    errors = [abs(answer.point @ program.objective - value) for answer in (rough, fine)]
    assert errors[1] < 1e-10
    assert errors[1] <= errors[0]


def test_the_same_program_has_the_same_answer():
    program = formulate(PROBLEMS["path"])
    first, second = (solvers.find("piqp").solve(program) for _ in range(2))
    assert np.array_equal(first.point, second.point)
    assert np.array_equal(first.row_duals, second.row_duals)


def test_settings_have_its_own_names():
    problem = PROBLEMS["pure"]
    ended = lo.solve(problem, solver="piqp", max_iter=2)
    assert ended.status is Status.LIMIT
    assert ended.raw_status == "PIQP_MAX_ITER_REACHED"
    assert ended.mechanism.audit(problem.privacy).verdict == "certified"
    assert lo.solve(problem, solver="piqp", tau=0.9).value == pytest.approx(
        lo.solve(problem).value, rel=1e-9
    )


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"tolerance": 1e-9}, "option"),
        ({"__class__": 1}, "option"),
        ({"max_iter": "many"}, "option-value"),
        ({"tau": -1.0}, "option-range"),
    ],
)
def test_wrong_settings_are_refused(options, code):
    with refused(code, SolverOptionError):
        lo.solve(PROBLEMS["pure"], solver="piqp", **options)


def test_conflicting_constraints_are_infeasible():
    rows = [
        constraints.linear(np.eye(5), lower=4.9, name="much"),
        constraints.linear(np.eye(5), upper=1.0, name="little"),
    ]
    problem = replace(random_problem(lo.PureLDP(1.0), 5, rng=9), constraints=rows)
    assert lo.solve(problem, solver="piqp").status is Status.INFEASIBLE


def test_a_large_program_runs_in_a_process_and_keeps_its_time_limit():
    far = np.abs(np.subtract.outer(np.arange(150.0), np.arange(150.0)))
    problem = lo.Problem(None, lo.Utility(far, "loss"), lo.PureLDP(1.0), objective="worst_case")
    ended = lo.solve(problem, solver="piqp", time_limit=0.2)
    assert ended.status is Status.LIMIT
    assert ended.runtime < seconds(10)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "piqp", None)
    monkeypatch.delitem(sys.modules, "ldpopt.solvers.piqp_", raising=False)
    with refused("package", SolverNotFoundError) as caught:
        lo.solve(PROBLEMS["pure"], solver="piqp")
    assert caught.value.do == 'pip install "ldpopt[piqp]"'
