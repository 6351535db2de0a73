"""Costs near 1: programs are scaled by powers of two, and multipliers are scaled back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from builders import dense_rows
from ldpopt.solvers import Outcome, Status
from ldpopt.solvers.guarded import UNSCALED_EXPONENT, in_costs, with_unit_costs

PROGRAM = dense_rows(np.ones(4), np.ones((1, 4)), 1, 1)


@pytest.mark.parametrize("exponent", [-1000, -11, -10, -9, 0, 9, 10, 11, 1000])
def test_costs_far_from_one_are_divided_by_a_power_of_two(exponent: int) -> None:
    costs = np.ldexp(np.array([0.5, -0.75, 0.0, 0.25]), exponent)
    made, by = with_unit_costs(replace(PROGRAM, objective=costs))
    assert by == (exponent if abs(exponent) > UNSCALED_EXPONENT else 0)
    assert UNSCALED_EXPONENT == 10
    assert np.ldexp(made.objective, by).tolist() == costs.tolist()
    outcome = Outcome(Status.OPTIMAL, "", np.zeros(4), np.array([1.0, -2.0]), None)
    scaled = in_costs(outcome, by)
    assert scaled.row_duals is not None
    assert scaled.row_duals.tolist() == np.ldexp([1.0, -2.0], by).tolist()
    assert scaled.column_duals is None
    huge = in_costs(replace(outcome, column_duals=np.array([-3.0, 3.0])), 1024).column_duals
    assert huge is not None
    assert huge.tolist() == [-np.finfo(float).max, np.finfo(float).max]
    assert with_unit_costs(replace(PROGRAM, objective=np.zeros(4)))[1] == 0
