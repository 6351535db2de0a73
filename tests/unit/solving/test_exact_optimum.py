"""The exact optimum: rationals near the exponential, sizes, and agreement with certificates."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import ldpopt as lo
from builders import refused
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.budget import Budget
from ldpopt.solving.certify import certify
from ldpopt.solving.exact.optimum import exact_optimum, ratio_between


@pytest.mark.parametrize("epsilon", ["0.1", 0.1, 1.0, 20.0, 90.0])
@pytest.mark.parametrize("distance", [Fraction(1), Fraction(1, 3), Fraction(5, 2)])
def test_rationals_near_the_exponential_are_on_the_right_sides(epsilon, distance):
    budget = Budget(epsilon)
    less, more = (ratio_between(budget, distance, up) for up in (True, False))
    with mpmath.workdps(100):
        exactly = mpmath.exp(
            -mpmath.mpf(budget.nats.numerator)
            / budget.nats.denominator
            * distance.numerator
            / distance.denominator
        )
        assert (
            mpmath.mpf(less.numerator) / less.denominator
            < exactly
            < mpmath.mpf(more.numerator) / more.denominator
        )
    assert more - less < less / 2**90
    assert more.denominator < 2 ** (100 + 1.5 * float(budget) * float(distance))


@pytest.mark.parametrize("epsilon", ["0.5", 1.0, 7.0])
@pytest.mark.parametrize("sense", ["gain", "loss"])
def test_the_optimum_of_a_coin_is_enclosed(epsilon, sense):
    utility = lo.Utility(np.eye(2) if sense == "gain" else 1 - np.eye(2), sense)
    low, high = exact_optimum(lo.Problem([0.5, 0.5], utility, lo.PureLDP(epsilon)))
    least, most = Budget(epsilon).enclosure()
    ends = (
        [least / (1 + least), most / (1 + most)]
        if sense == "gain"
        else [1 / (1 + most), 1 / (1 + least)]
    )
    assert low < ends[0] <= ends[1] < high
    assert high - low < Fraction(1, 2**90)


def test_larger_problems_are_refused():
    with refused("size", NotRepresentableError) as caught:
        exact_optimum(lo.Problem(np.full(9, 1 / 9), "identity", lo.PureLDP("log(3)")))
    assert "9 answers and 9" in str(caught.value)
    with refused("size", NotRepresentableError) as caught:
        exact_optimum(lo.Problem([0.5, 0.5], lo.Utility(np.ones((2, 9))), lo.PureLDP("log(3)")))
    assert "2 answers and 9" in str(caught.value)


def test_budgets_up_to_10000_nats_are_solved():
    coin = np.eye(2)
    assert exact_optimum(lo.Problem([0.5, 0.5], coin, lo.PureLDP(6000.0)))[1] <= 1
    with refused("distance", NotRepresentableError):
        exact_optimum(lo.Problem([0.5, 0.5], coin, lo.MetricDP(6000.0, [[0, 2], [2, 0]])))


def test_a_problem_of_the_largest_size_is_solved():
    low, high = exact_optimum(lo.Problem(np.full(8, 1 / 8), "identity", lo.PureLDP("log(3)")))
    assert low == high == Fraction(3, 10)


@pytest.mark.parametrize("sense", ["gain", "loss"])
@pytest.mark.parametrize("shift", [-3.0, 0.0, 3.0])
def test_the_exact_optimum_of_a_worst_case_agrees_with_its_certificate(sense, shift):
    utility = lo.Utility(np.random.default_rng(2).normal(size=(3, 3)) + shift, sense)
    problem = lo.Problem(None, utility, lo.ApproximateLDP("log(2)", 0.125), objective="worst_case")
    low, high = exact_optimum(problem)
    proof = certify(lo.solve(problem))
    assert low == high
    assert abs(proof.bound - low) < Fraction(1, 10**12)
