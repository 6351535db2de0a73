r"""Mass of the planar Laplace distribution in the cells of points that are nearest to a place.

The density :math:`\frac{\epsilon^2}{2\pi} e^{-\epsilon r}` is minus the divergence of the field
:math:`\frac{S(r)}{2 \pi r}` along the ray, :math:`S(r) = (1 + \epsilon r) e^{-\epsilon r}`. The mass of a cell is thus
what flows in through its walls, and 1 more in the cell of the source. Walls lie on lines: at distance h from the
source, with :math:`t = h \sinh u` along the line, the flow is :math:`\frac{1}{2\pi} \int S(h \cosh u) / \cosh u \, du`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ldpopt.foundation.numbers import Float

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
"""Gauss-Legendre rule of a panel of length 1 in ``u``: its error is below the rounding of floats."""

UNDERFLOW = 745.0
"""Exponent from which the exponential of its negative is 0."""


def cell_masses(points: Float, epsilon: float) -> Float:
    """Probability of each place to be the nearest to a point of planar Laplace noise around each place.

    Shapes: ``points`` (n, 2); result (n, n).
    """
    masses = np.eye(len(points))
    for wall in walls(points):
        flow = wall.flow(points, epsilon)
        masses[:, wall.one] -= flow
        masses[:, wall.other] += flow
    return np.maximum(masses, 0.0)


@dataclass(frozen=True, eq=False)
class Wall:
    """Border between the cells of two places: points ``middle + t along`` with ``low <= t <= high``."""

    one: int
    other: int
    middle: Float
    along: Float
    low: float
    high: float

    def flow(self, sources: Float, epsilon: float) -> Float:
        """Mass of the noise that flows from the cell of ``one`` into that of ``other``, for each source, shape (n,)."""
        across = np.array([-self.along[1], self.along[0]])
        height = (self.middle - sources) @ across
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
            u = (start + (2 * panel + 1) * half)[:, None] + half[:, None] * NODES
            stretch = np.cosh(u)
            distance = epsilon * h[:, None] * stretch
            total += ((1 + distance) * np.exp(-distance) / stretch) @ WEIGHTS * half
        flows[seen] = np.sign(height[seen]) * total / (2 * np.pi)
        return flows


def walls(points: Float) -> Iterator[Wall]:
    """Yield the walls between the cells of the places: segments, rays or lines."""
    for one, other in _neighbors(points):
        step = points[other] - points[one]
        length = float(np.hypot(*step))
        along = np.array([step[1], -step[0]]) / length  # `Wall.flow` turns it to the left: from one to the other
        others = np.delete(points, [one, other], axis=0) - points[one]
        slope, room = 2 * others @ along, (others**2).sum(axis=1) - others @ step
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = room / slope
        low, high = ends[slope < 0].max(initial=-np.inf), ends[slope > 0].min(initial=np.inf)
        if low < high and (room[slope == 0] >= 0).all():
            yield Wall(one, other, points[one] + step / 2, along, float(low), float(high))


def _neighbors(points: Float) -> list[tuple[int, int]]:
    """Pairs of places whose cells may touch: edges of the Delaunay triangulation; all pairs where it leaves out some.

    It does so for places on a line, and for two that almost coincide.
    """
    from scipy.spatial import Delaunay, QhullError

    try:
        triangulation = Delaunay(points) if len(points) > 2 else None
    except QhullError:
        triangulation = None
    if triangulation is None or len(triangulation.coplanar):
        return list(combinations(range(len(points)), 2))
    triangles = triangulation.simplices
    ends = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]]), axis=1)
    return [(int(x), int(k)) for x, k in np.unique(ends, axis=0)]
