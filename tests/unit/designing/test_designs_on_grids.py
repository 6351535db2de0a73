"""Designs for a mean on a grid: the audit at the points is that of all numbers."""

import pytest

from ldpopt import PureLDP, Workload, design
from ldpopt.mechanism.exact_draws import TOTAL
from ldpopt.mechanism.grids import RoundingGrid


@pytest.mark.parametrize("epsilon", [0.5, "log(3)", 4.0])
def test_the_audit_at_the_points_is_that_of_all_numbers(epsilon) -> None:
    points = (18, 26, 34, 58, 99)
    law = design(Workload.mean(list(map(float, points)), inputs=points), PureLDP(epsilon)).mechanism
    grid = RoundingGrid(points, range(18, 100))
    rows = [grid.masses(code, law.counts) for code in range(82)]
    assert {sum(row) for row in rows} == {TOTAL}
    odds = max(max(column) / min(column) for column in zip(*rows, strict=True))
    assert odds == law.odds  # exactly, and attained at two points
