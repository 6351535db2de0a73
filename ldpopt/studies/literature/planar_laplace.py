"""The planar Laplace mechanism for places: noise in the plane, then the nearest place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.labelled import Labelled
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy import MetricDP, Ties
from ldpopt.privacy.places import read_points
from ldpopt.problem.problem import Problem
from ldpopt.studies.literature.cells import cell_masses
from ldpopt.studies.literature.statements import exactly_private, read_statement, require_plain_ties

PLANAR = 0.01
"""Largest share of a distance by which points found in the plane may miss it."""


def planar_laplace(statement: Any, points: Any = None) -> Mechanism:
    r"""Add planar Laplace noise to a place and report the place that is nearest to the result.

    .. math:: P(x, y) = \int_{V_y} \frac{\epsilon^2}{2 \pi} e^{-\epsilon \|z - p_x\|} \, dz

    where :math:`V_y` has the points that are nearer to place y than to any other.

    Parameters
    ----------
    statement : Problem or MetricDP
        Metric privacy; with ``points`` also graph or pure privacy.
    points : array_like, shape (n, 2), or DataFrame or mapping label -> coordinates, optional
        Places in a plane; default: computed from the distances, where they are those of a plane within one percent.

    Returns
    -------
    Mechanism
        Exactly private, shape ``(n, n)``: reports are inputs.

    Raises
    ------
    NotRepresentableError
        If there are no points in the plane, the notion is another one, epsilon is 0, or there are side constraints.
    StatementError
        If the points do not fit the inputs, or two coincide.

    Notes
    -----
    Points outside the region go to the nearest place as well: this truncation reads the noisy point only, so it costs
    no privacy. Before it the noise is off by ``2 / epsilon`` on average.

    Where the distance is not that of the points, the noise has the largest epsilon for which
    ``epsilon' |p_x - p_x'| <= epsilon d(x, x')`` holds for all tied pairs. The integral is computed along the borders
    of the cells, with an error of about 1e-15: O(n^2) integrals.

    References
    ----------
    Andres, Bordenabe, Chatzikokolakis and Palamidessi 2013, sections 4 and 5.

    Examples
    --------
    >>> from ldpopt import MetricDP
    >>> planar_laplace(MetricDP.of_points(1.0, [(0, 0), (1, 0), (0, 1)])).channel.round(4).tolist()
    [[0.4254, 0.2873, 0.2873], [0.2226, 0.5624, 0.215], [0.2226, 0.215, 0.5624]]
    """
    problem = read_statement(statement)
    ties = require_plain_ties(problem)
    places = points_in_plane(problem) if points is None else _read(points, problem)
    epsilon = noise_epsilon(ties, places)
    return exactly_private(problem, cell_masses(places, epsilon), problem.inputs)


def noise_epsilon(ties: Ties, places: Float) -> float:
    """Largest epsilon of noise in the plane that is private for the ties."""
    if not ties.budget:
        raise NotRepresentableError("at epsilon = 0 there is no planar Laplace noise", do="state epsilon > 0")
    first, second = ties.pairs()
    if not len(first):
        return float(ties.budget)
    apart = np.hypot(*(places[first] - places[second]).T)
    if not apart.all():
        raise StatementError("two places coincide", where="points", do="merge the two inputs or move them apart")
    length = np.ones(len(first)) if ties.distance is None else ties.distance
    return float(ties.budget) * float((length / apart).min())


def points_in_plane(problem: Problem) -> Float:
    """Find points in the plane that have the distances of a metric, shape (n, 2), by classical scaling.

    Notes
    -----
    The two largest eigenvectors of the doubly centered matrix of squared distances (Torgerson 1952); O(n^3).
    """
    if not isinstance(problem.privacy, MetricDP):
        what = f"it needs places in the plane, and {type(problem.privacy).__name__} has none"
        raise NotRepresentableError(what, do="pass points")
    distance = problem.privacy.matrix(problem.inputs)
    centered = distance**2 - (distance**2).mean(axis=0)
    centered = -(centered - centered.mean(axis=1, keepdims=True)) / 2
    roots, vectors = np.linalg.eigh((centered + centered.T) / 2)
    places = np.zeros((len(distance), 2))
    count = min(2, len(distance))
    places[:, :count] = vectors[:, ::-1][:, :count] * np.sqrt(np.maximum(roots[::-1][:count], 0.0))
    if len(distance) > 2 and np.ptp(places[:, 1]) <= PLANAR * PLANAR * np.ptp(places[:, 0]):
        raise NotRepresentableError("the places lie on a line, and the noise is for the plane", do="pass points")
    found = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    if not np.allclose(found, distance, rtol=PLANAR, atol=0.0):
        raise NotRepresentableError("the distances are not those of points in a plane", do="pass points")
    return places


def _read(points: Any, problem: Problem) -> Float:
    """Coordinates in the order of the inputs."""
    values, names = read_points(points)
    places = Labelled(values, (names, None), "list of points", ("input", "coordinate")).to(problem.inputs, None)
    if places.shape != (len(problem.inputs), 2):
        what = f"the points have shape {places.shape}; {len(problem.inputs)} places in the plane are needed"
        raise StatementError(what, do="pass one row of two coordinates for each input")
    return places
