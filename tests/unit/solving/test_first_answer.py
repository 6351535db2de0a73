"""The first answer of a solver is taken if it proves its gap, and refined only if it does not."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from ldpopt import GraphDP, Problem, PureLDP, Utility, certify, solve
from ldpopt.certificate import program_certificate
from ldpopt.solvers.highs_ import Highs
from ldpopt.solving import gap_check


def steps(n):
    return Utility(np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float), "loss")


@pytest.fixture
def refined(monkeypatch):
    """Programs that HiGHS refined."""
    programs = []
    usual = Highs.refine

    def refine(self, program, *arguments, **options):
        programs.append(program)
        return usual(self, program, *arguments, **options)

    monkeypatch.setattr(Highs, "refine", refine)
    return programs


def test_a_worst_case_is_not_refined(refined):
    problem = Problem(None, steps(20), PureLDP(1.0), objective="worst_case")
    assert certify(solve(problem)).relative_gap < 1e-12
    assert not refined


def test_a_path_is_refined_because_its_gap_is_open(refined):
    prior = np.random.default_rng(1030).dirichlet(np.ones(30))
    problem = Problem(prior, steps(30), GraphDP(1.0, nx.path_graph(30)))
    assert certify(solve(problem)).relative_gap <= 1e-9
    assert len(refined) == 1


def test_options_of_the_caller_decide_about_the_refinement(refined):
    problem = Problem(np.full(4, 0.25), steps(4), PureLDP(1.0))
    solve(problem, solver="highs", refined=True)
    assert len(refined) == 1
    solve(problem, solver="highs", refined=False)
    assert len(refined) == 1


def test_the_better_one_of_both_answers_is_kept(monkeypatch):
    problem = Problem(np.full(4, 0.25), steps(4), PureLDP(1.0))
    right = solve(problem)

    def spoil(self, program, outcome, **options):
        return replace(outcome, row_duals=np.zeros(len(outcome.row_duals)))

    monkeypatch.setattr(Highs, "refine", spoil)
    monkeypatch.setattr(gap_check, "REFINED_GAP", -1.0)
    assert solve(problem).value == pytest.approx(right.value, rel=1e-12)
    assert certify(solve(problem)).relative_gap < 1e-12


def test_the_certificate_is_proved_once(monkeypatch):
    calls = []
    usual = program_certificate.bound_of
    monkeypatch.setattr(
        program_certificate, "bound_of", lambda *given: calls.append(given) or usual(*given)
    )
    answer = solve(Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0)))
    proof = certify(answer)
    assert len(calls) == 1
    assert proof.recheck() == ()


def test_a_kept_certificate_is_not_that_of_other_numbers():
    problem = Problem([0.5, 0.3, 0.2], "identity", PureLDP(1.0))
    answer = solve(problem)
    other = solve(Problem([0.2, 0.3, 0.5], "identity", PureLDP(1.0)))
    duals = answer.outcome.row_duals
    changed = [
        replace(answer, outcome=replace(answer.outcome, row_duals=duals * 1.5)),
        replace(answer, repaired=other.repaired),
        replace(answer, problem=other.problem),
    ]
    for solution in changed:
        proof = certify(solution)
        assert proof.relative_gap > 1e-3
        assert proof.problem is solution.problem
        assert proof.mechanism is solution.mechanism
