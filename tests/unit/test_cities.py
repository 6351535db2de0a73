"""Synthetic cities: places that differ, a prior, and the same city from the same seed."""

import numpy as np
import pytest

from cities import synthetic_city
from ldpopt import solve
from ldpopt.errors import StatementError


@pytest.mark.parametrize("n", [1, 2, 50, 400])
def test_a_city_has_distinct_places_and_a_prior(n):
    city = synthetic_city(n, rng=n)
    assert city.points.shape == (n, 2)
    assert len(np.unique(city.points, axis=0)) == n
    assert city.prior.min() > 0
    assert city.prior.sum() == pytest.approx(1)
    again = synthetic_city(n, rng=np.random.default_rng(n))
    assert (again.points == city.points).all()
    assert (again.prior == city.prior).all()


def test_a_city_is_clustered():
    def nearest(points):
        apart = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
        return np.median(np.sort(apart, axis=1)[:, 1])

    even = np.random.default_rng(1).uniform(-10, 10, (400, 2))
    assert nearest(synthetic_city(400, rng=1).points) < 0.7 * nearest(even)


def test_a_city_states_its_problem():
    problem = synthetic_city(6, rng=3).problem("log(3)", "manhattan")
    assert problem.utility.sense == "loss"
    assert (problem.utility.matrix == problem.privacy.distance).all()
    assert solve(problem).value > 0
    with pytest.raises(StatementError, match="n = 0"):
        synthetic_city(0)
