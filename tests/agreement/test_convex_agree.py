"""Patterns with free outputs against every extreme point of the square polytope: n outputs are
enough."""

from __future__ import annotations

import numpy as np
import pytest

from builders import thorough_or
from ldpopt import PureLDP
from ldpopt.polytope.convex import best_channel, best_listed, f_divergence, mutual_information
from ldpopt.polytope.vertices import extreme_points


@pytest.mark.parametrize("n", thorough_or([2, 3], [2, 3, 4]))
@pytest.mark.parametrize("ratio", ["11/10", "3", "20"])
def test_patterns_and_extreme_points_have_the_same_maximum(n, ratio):
    rng = np.random.default_rng(n)
    points = extreme_points(PureLDP(f"log({ratio})"), n)
    first, second, prior = rng.dirichlet(np.ones(n), 3)
    for utility in (
        mutual_information(prior),
        mutual_information(np.full(n, 1 / n)),
        *(f_divergence(first, second, kind) for kind in ("kl", "total_variation", "chi_square")),
    ):
        found = best_channel(utility, f"log({ratio})")
        assert best_listed(points, utility).value == pytest.approx(found.bound, rel=1e-9)


def test_fewer_outputs_do_not_increase_the_maximum():
    utility = mutual_information([0.4, 0.3, 0.2, 0.1])
    values = [
        best_listed(extreme_points(PureLDP("log(9)"), 4, m), utility).value for m in (1, 2, 3, 4)
    ]
    assert values[0] == pytest.approx(0, abs=1e-15)
    assert (np.diff(values) >= -1e-12).all()
    found = best_channel(utility, "log(9)")
    assert values[1] == pytest.approx(found.binary)
    assert values[3] == pytest.approx(found.bound)
