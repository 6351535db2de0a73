"""Synthetic cities: clustered places with a prior, for tests and benchmarks."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldpopt.foundation.numbers import Float, frozen, whole_number
from ldpopt.privacy.metric import MetricDP, PointMetric
from ldpopt.problem.problem import Problem
from ldpopt.problem.utility import Utility

RADIUS = 10.0  # radius in kilometers around the middle of the city that contains its centers
SPREAD = 1.0  # standard deviation of the places around a center, in kilometers
SCATTERED = 0.2  # share of the places that do not belong to a center


@dataclass(frozen=True, eq=False)
class City:
    """Places of a city in kilometers east and north of the middle, shape (n, 2), and their prior,
    shape (n,)."""

    points: Float = field(repr=False)
    prior: Float = field(repr=False)

    def problem(self, epsilon: float | str, metric: PointMetric = "euclidean") -> Problem:
        """Problem of metric privacy with ``epsilon`` nats per kilometer, and the distance as the
        loss."""
        privacy = MetricDP.of_points(epsilon, self.points, metric)
        return Problem(self.prior, Utility(privacy.matrix(range(len(self.prior))), "loss"), privacy)


def synthetic_city(n: int, rng: Any = None) -> City:
    """Draw a city: places around about ``sqrt(n) / 2`` centers of unequal weight, and some
    scattered ones."""
    n, source = whole_number(n, "n", 1), np.random.default_rng(rng)
    count = max(1, round(n**0.5 / 2))
    angle = source.uniform(0, 2 * np.pi, count)
    share = np.sqrt(source.random(count))
    centers = RADIUS * share[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    weights = source.dirichlet(np.full(count, 4.0))
    points = centers[source.choice(count, n, p=weights)] + SPREAD * source.standard_normal((n, 2))
    scattered = source.random(n) < SCATTERED
    points[scattered] = source.uniform(-RADIUS, RADIUS, (int(scattered.sum()), 2))
    apart = ((points[:, None] - centers[None]) ** 2).sum(axis=2)
    density = np.exp(-apart / (2 * SPREAD**2)) @ weights + 0.01
    prior = density * source.gamma(2.0, size=n)
    return City(frozen(points), frozen(prior / prior.sum()))
