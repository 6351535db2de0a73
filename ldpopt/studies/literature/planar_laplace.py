r"""The planar Laplace mechanism for places: noise in the plane, then the nearest place.

The density is minus the divergence of the field :math:`\frac{S(r)}{2 \pi r}`, :math:`S(r) = (1 +
\epsilon r) e^{-\epsilon r}`: the mass of a cell flows in through its walls, and 1 more in the cell
of the source. Through a wall at distance h the flow is :math:`\frac{1}{2\pi} \int S(h \cosh u) /
\cosh u \, du`, with :math:`t = h \sinh u` along it.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.labelled import Labelled
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy import MetricDP, Ties
from ldpopt.privacy.places import read_points
from ldpopt.problem.problem import Problem
from ldpopt.studies.literature.problems import exactly_private, read_problem, require_mutual_ties

# Gauss-Legendre rule of a panel of length 1 in ``u``: its error is below the rounding of floats
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
UNDERFLOW = 745.0  # exponent from which the exponential of its negative is 0
# largest relative error of the distances between the points that are found in the plane
PLANAR = 0.01


# smallest budget over the whole map; squares of its inverse, the width of the noise, are floats
LEAST_LOSS = 1e-140


def planar_laplace(problem: Any, points: Any = None) -> Mechanism:
    r"""Add planar Laplace noise to a place and report the place that is nearest to the result.

    .. math:: P(x, y) = \int_{V_y} \frac{\epsilon^2}{2 \pi} e^{-\epsilon \|z - p_x\|} \, dz

    where :math:`V_y`, the cell of y, has the points that are nearer to place y than to any other.

    Parameters
    ----------
    problem : Problem or MetricDP
        Metric privacy; with ``points`` also graph or pure privacy.
    points : array_like, shape (n, 2), or DataFrame or mapping label -> coordinates, optional
        Places in a plane; default: computed from the distances, if they are those of a plane within
        one percent.

    Returns
    -------
    Mechanism
        Exactly private, shape ``(n, n)``: reports are inputs.

    Raises
    ------
    NotRepresentableError
        If there are no points in the plane, the notion is another one, epsilon is 0, or there are
        side constraints.
    StatementError
        If the points do not fit the inputs, or two coincide.

    Notes
    -----
    The choice of the nearest place reads the noisy point only, so it costs no privacy. If the
    distance is not that of the points, the noise has the largest epsilon for which ``epsilon' |p_x
    - p_x'| <= epsilon d(x, x')`` holds for all tied pairs. The integral is computed along the
    borders of the cells, with an error of about 1e-15: O(n^2) integrals.

    References
    ----------
    Andres, Bordenabe, Chatzikokolakis and Palamidessi 2013, sections 4 and 5.

    Examples
    --------
    >>> from ldpopt import MetricDP
    >>> planar_laplace(MetricDP.of_points(1.0, [(0, 0), (1, 0), (0, 1)])).channel.round(4).tolist()
    [[0.4254, 0.2873, 0.2873], [0.2226, 0.5624, 0.215], [0.2226, 0.215, 0.5624]]
    """
    problem = read_problem(problem)
    ties = require_mutual_ties(problem)
    places = points_in_plane(problem) if points is None else coordinates(points, problem.inputs)
    epsilon = noise_epsilon(ties, places)
    unit = unit_of(places)  # the masses do not depend on the unit of the distances
    if epsilon * unit < LEAST_LOSS:
        what = f"epsilon times the largest distance is {epsilon * unit:.1e}"
        raise NotRepresentableError(
            f"{what}: the noise is too wide to be computed",
            code="small-budget",
            do="use a larger epsilon",
        )
    return exactly_private(problem, cell_masses(places / unit, epsilon * unit), problem.inputs)


def noise_epsilon(ties: Ties, places: Float) -> float:
    """Largest epsilon of noise in the plane that is private for the ties."""
    if not ties.budget:
        raise NotRepresentableError(
            "at epsilon = 0 there is no planar Laplace noise",
            code="zero-epsilon",
            do="use epsilon > 0",
        )
    first, second = ties.pairs()
    if not len(first):
        return float(ties.budget)
    apart = np.hypot(*(places[first] - places[second]).T)
    require_apart(places)
    return float(ties.budget) * float(
        ((np.ones(len(first)) if ties.distance is None else ties.distance) / apart).min()
    )


def require_apart(places: Float) -> None:
    """Refuse two places at the same point."""
    if len(np.unique(places, axis=0)) < len(places):
        raise StatementError(
            "two places coincide",
            code="coinciding-places",
            where="points",
            do="merge the two inputs or move them apart",
        )


def unit_of(lengths: Float) -> float:
    """A power of two near the largest of some lengths, 1 if all are 0: division by it is exact."""
    return float(np.ldexp(1.0, np.frexp(np.abs(lengths).max())[1]))


def points_in_plane(problem: Problem) -> Float:
    """Find points in the plane that have the distances of a metric, (n, 2), by classical scaling
    (Torgerson 1952).
    """
    if not isinstance(problem.privacy, MetricDP):
        kind = type(problem.privacy).__name__
        message = f"planar noise needs two coordinates of each input, and {kind} has none"
        raise NotRepresentableError(
            message, code="coordinates", do="pass points, a row of two coordinates for each input"
        )
    distance = problem.privacy.matrix(problem.inputs)
    unit = unit_of(distance)  # squares of very small or large distances are no floats
    distance = distance / unit
    centered = distance**2 - (distance**2).mean(axis=0)
    centered = -(centered - centered.mean(axis=1, keepdims=True)) / 2
    roots, vectors = np.linalg.eigh((centered + centered.T) / 2)
    places = np.zeros((len(distance), 2))
    count = min(2, len(distance))
    places[:, :count] = vectors[:, ::-1][:, :count] * np.sqrt(np.maximum(roots[::-1][:count], 0.0))
    if len(distance) > 2 and np.ptp(places[:, 1]) <= PLANAR * PLANAR * np.ptp(places[:, 0]):
        raise NotRepresentableError(
            "the places lie on a line, and the noise is for the plane",
            code="line",
            do="pass points",
        )
    if not np.allclose(
        np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)),
        distance,
        rtol=PLANAR,
        atol=0.0,
    ):
        raise NotRepresentableError(
            "the distances are not those of points in a plane", code="distance", do="pass points"
        )
    return np.asarray(places * unit)


def coordinates(points: Any, inputs: Sequence[Hashable]) -> Float:
    """Coordinates of places in the plane in the order of the inputs, shape (n, 2)."""
    values, names = read_points(points)
    places = Labelled(values, (names, None), "list of points", ("input", "coordinate")).to(
        inputs, None
    )
    if places.shape != (len(inputs), 2):
        problem = (
            f"the points have shape {places.shape}; {len(inputs)} places in the plane are needed"
        )
        raise StatementError(
            problem,
            code="shape",
            do="pass one row of two coordinates, east and north, for each input",
        )
    return places


def cell_masses(points: Float, epsilon: float) -> Float:
    """Probability, shape (n, n), that planar Laplace noise around a place x ends in the cell of a
    place y: 1 in the cell of x, and what flows from there through the walls.
    """
    masses = np.eye(len(points))
    for wall in walls(points):
        flow = wall.flow(points, epsilon)
        masses[:, wall.cell] -= flow
        masses[:, wall.other] += flow
    return np.maximum(masses, 0.0)


@dataclass(frozen=True, eq=False)
class Wall:
    """Border between the cells of two places: points ``middle + t along`` with ``low <= t <=
    high``.
    """

    cell: int
    other: int
    middle: Float
    along: Float
    low: float
    high: float

    def flow(self, sources: Float, epsilon: float) -> Float:
        """Mass of the noise that flows from ``cell`` into ``other``, for each source, shape
        (n,).
        """
        height = (self.middle - sources) @ np.array([-self.along[1], self.along[0]])
        foot = (sources - self.middle) @ self.along
        flows = np.zeros(len(sources))
        seen = np.flatnonzero((height != 0) & (epsilon * np.abs(height) < UNDERFLOW))
        if not len(seen):
            return flows
        h = np.abs(height[seen])
        reach = np.arccosh(np.maximum(UNDERFLOW / (epsilon * h), 1.0))
        start = np.clip(np.arcsinh((self.low - foot[seen]) / h), -reach, reach)
        end = np.clip(np.arcsinh((self.high - foot[seen]) / h), -reach, reach)
        panels = max(1, int(np.ceil((end - start).max())))
        half = (end - start) / (2 * panels)
        total = np.zeros(len(seen))
        for panel in range(panels):
            stretch = np.cosh((start + (2 * panel + 1) * half)[:, None] + half[:, None] * NODES)
            distance = epsilon * h[:, None] * stretch
            total += ((1 + distance) * np.exp(-distance) / stretch) @ WEIGHTS * half
        flows[seen] = np.sign(height[seen]) * total / (2 * np.pi)
        return flows


def walls(points: Float) -> Iterator[Wall]:
    """Yield the walls between the cells of the places: segments, rays or lines."""
    for cell, other in _neighbors(points):
        step = points[other] - points[cell]
        length = float(np.hypot(*step))
        # `Wall.flow` turns it to the left: from one to the other
        along = np.array([step[1], -step[0]]) / length
        others = np.delete(points, [cell, other], axis=0) - points[cell]
        slope = 2 * others @ along
        room = (others**2).sum(axis=1) - others @ step
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = room / slope
        low = ends[slope < 0].max(initial=-np.inf)
        high = ends[slope > 0].min(initial=np.inf)
        if low < high and (room[slope == 0] >= 0).all():
            yield Wall(cell, other, points[cell] + step / 2, along, float(low), float(high))


def _neighbors(points: Float) -> list[tuple[int, int]]:
    """Pairs of places whose cells may touch: the edges of the Delaunay triangulation."""
    # All pairs if it leaves out places, which happens if they are on a line or two almost coincide.
    from scipy.spatial import Delaunay, QhullError

    try:
        triangulation = Delaunay(points) if len(points) > 2 else None
    except QhullError:
        triangulation = None
    if triangulation is None or len(triangulation.coplanar):
        return list(combinations(range(len(points)), 2))
    triangles = triangulation.simplices
    ends = np.sort(
        np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]]), axis=1
    )
    return [(int(x), int(k)) for x, k in np.unique(ends, axis=0)]
