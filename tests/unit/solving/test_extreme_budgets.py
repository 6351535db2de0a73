"""Extreme budgets, at which tolerances, floats and naive programs fail: exact values and certified
mechanisms."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import ldpopt as lo
from builders import where_installed

PRIORS = {
    "even": [1 / 6] * 6,
    "steep": [0.9, 0.05, 0.03, 0.01, 0.0099, 0.0001],
    "zeros": [0.5, 0.0, 0.25, 0.0, 0.25, 0.0],
}


def certified(problem):
    answer = lo.solve(problem)
    proof = lo.certify(answer)
    assert answer.mechanism.audit(problem.privacy).verdict == "certified"
    assert lo.audit(answer.mechanism.channel, problem.privacy).verdict == "certified"
    assert proof.achieved <= proof.bound
    assert proof.relative_gap <= 1e-9
    return answer


@pytest.mark.parametrize("form", ["compact", "pairwise"])
def test_epsilon_zero_gives_the_best_constant_report(form):
    gain = np.random.default_rng(0).random((6, 4))
    problem = lo.Problem(PRIORS["steep"], gain, lo.PureLDP(0))
    answer = lo.solve(problem, form=form)
    assert answer.value == pytest.approx((np.array(PRIORS["steep"]) @ gain).max(), abs=1e-14)
    assert (answer.mechanism.channel == answer.mechanism.channel[0]).all()
    assert answer.mechanism.audit().epsilon == 0


@pytest.mark.parametrize("epsilon", [800, 5000, 10_000])
def test_budgets_beyond_the_range_of_floats(epsilon):
    answer = certified(lo.Problem(PRIORS["even"], "identity", lo.PureLDP(epsilon)))
    assert 1 - 1e-14 < answer.value < 1
    assert (
        lo.solve(lo.Problem(PRIORS["even"], np.eye(6), lo.MetricDP(epsilon, 1 - np.eye(6)))).value
        > 1 - 1e-14
    )


def most_true_reports(prior, epsilon):
    """The optimum of the identity, from below by 1e-60 at most."""
    with mpmath.workdps(80):
        odds = mpmath.exp(epsilon)
        sums = np.cumsum(sorted(map(mpmath.mpf, prior), reverse=True))
        best = max(odds * total / (odds + k) for k, total in enumerate(sums))
        return Fraction(mpmath.nstr(best, 70)) - Fraction(1, 10**60)


@pytest.mark.parametrize("solver", where_installed("cbc", "cvxpy", "piqp"))
@pytest.mark.parametrize("epsilon", [1e-6, 5, 34, 100])
def test_mechanisms_of_rough_solvers_are_repaired(solver, epsilon):
    problem = lo.Problem(PRIORS["steep"], "identity", lo.PureLDP(epsilon))
    answer = lo.solve(problem, solver=solver)
    assert answer.mechanism.audit(problem.privacy).verdict == "certified"
    best = most_true_reports(PRIORS["steep"], epsilon)
    assert best - Fraction(1, 10**6) <= answer.value <= float(best) + 1e-15
    assert lo.certify(answer).bound >= best
