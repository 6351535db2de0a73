"""Speed of small problems, the usual case: does a change make them slower?

Run by the command in benchmarks/README.md, never with the tests.
"""

import numpy as np
import pytest

import ldpopt as lo

SIZES = (10, 20, 40)


def make_problem(n, gain):
    prior = np.random.default_rng(0).dirichlet(np.ones(n))
    utility = lo.Utility(np.random.default_rng(1).random((n, n))) if gain == "random" else gain
    return lo.Problem(prior, utility, lo.PureLDP(1.0))


@pytest.mark.parametrize("gain", ["identity", "absolute_error", "random"])
@pytest.mark.parametrize("n", SIZES)
def test_solve(benchmark, n, gain):
    assert benchmark(lo.solve, make_problem(n, gain)).status.value == "optimal"


@pytest.mark.parametrize("n", SIZES)
def test_certify(benchmark, n):
    assert benchmark(lo.certify, lo.solve(make_problem(n, "random"))).relative_gap < 1e-12


@pytest.mark.parametrize("n", SIZES)
def test_top_k(benchmark, n):
    prior = make_problem(n, "identity").prior
    answer = benchmark(lo.closed_forms.top_k, prior, 1.0)
    assert answer.value == pytest.approx(lo.solve(make_problem(n, "identity")).value, rel=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_sampling(benchmark, n):
    mechanism = lo.solve(make_problem(n, "random")).mechanism
    answers = np.random.default_rng(2).integers(n, size=10_000)
    assert len(benchmark(mechanism.sample, answers, rng=3)) == 10_000
