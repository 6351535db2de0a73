"""Priors and budgets for which each mechanism is optimal: exact cells of the prior simplex, ranges
of epsilon.

The optimal value is a maximum of linear functions of the prior, one per extreme point (docs,
"Regions").
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.closed_forms.form import read_delta
from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import log_of
from ldpopt.foundation.numbers import Float
from ldpopt.polytope.points import ExtremePoints
from ldpopt.polytope.staircase import Exact
from ldpopt.polytope.vertices import extreme_points
from ldpopt.privacy.cones.double_description import Point, extreme_rays, primitive_integers, rank
from ldpopt.problem.prior import exact_prior
from ldpopt.problem.utility import Utility, resolve


@dataclass(frozen=True, eq=False)
class Region:
    r"""Priors for which one extreme point is best.

    Attributes
    ----------
    vertex : object array of Fractions, shape (n, m)
        The extreme point; one of them if several have the same utility for every input.
    merged : int
        Number of extreme points with the same utility for every input.
    utilities : tuple of Fraction, length n
        Its utility for each input, in the utility's own unit; its value under a prior is their
        average.
    corners : tuple of tuples of Fraction
        Corners of the cell, as priors: ascending in the first weight for n = 2, counterclockwise
        for n = 3.
    inequalities : tuple of tuples of int
        Normals ``a`` of its facets: the cell consists of the priors with ``a . prior >= 0`` for all
        of them.
    members : tuple of int or None
        The ``k`` answers that "top-k" reports; None unless the utility is the identity and
        all pairs of inputs are tied equally.
    """

    vertex: Exact
    merged: int
    utilities: Point
    corners: tuple[Point, ...]
    inequalities: tuple[tuple[int, ...], ...]
    members: tuple[int, ...] | None = field(default=None)

    def __repr__(self) -> str:
        return f"Region({self.label!r}, {len(self.corners)} corners)"

    @property
    def label(self) -> str:
        """Short name: ``"top-1: 2"``, ``"RR"``, or for other utilities ``"reports 0, 2"``."""
        if self.members is None:
            return "reports " + ", ".join(map(str, self.reports))
        if len(self.members) == len(self.utilities):
            return "RR"
        return f"top-{len(self.members)}: " + ", ".join(map(str, self.members))

    @property
    def reports(self) -> tuple[int, ...]:
        """Outputs in use at the vertex."""
        return tuple(y for y in range(self.vertex.shape[1]) if any(self.vertex[:, y]))

    @property
    def reported(self) -> tuple[int, ...]:
        """The members, if the cell has some; otherwise the reports."""
        return self.reports if self.members is None else self.members

    @property
    def share(self) -> Fraction:
        """Length (n = 2) or area (n = 3) of the cell, as a share of all priors."""
        first, *others = self.corners
        if len(first) > 3:
            problem = f"the share of a cell is computed for 2 and 3 inputs, not for {len(first)}"
            raise NotRepresentableError(problem, do="use its corners")
        if len(first) < 3:
            return Fraction(1) if len(first) == 1 else abs(first[0] - others[0][0])
        sides = [(corner[0] - first[0], corner[1] - first[1]) for corner in others]
        return sum((abs(a * d - b * c) for (a, b), (c, d) in pairwise(sides)), Fraction(0))

    def contains(self, prior: Sequence[Any]) -> bool:
        """Return whether the vertex is optimal for a prior, border included; Fractions and floats
        are read exactly.

        The prior is a sequence, mapping or Series as in `Problem`; the inputs are 0, 1, 2, ...
        """
        weights = exact_prior(prior, range(len(self.utilities)))
        return all(
            sum(a * w for a, w in zip(row, weights, strict=True)) >= 0 for row in self.inequalities
        )


def prior_regions(
    source: Any, n: int | None = None, utility: str | Utility | ArrayLike = "identity"
) -> tuple[Region, ...]:
    r"""Divide the prior simplex into the cells in which one extreme point is optimal.

    .. math:: C_v = \{ \pi : \pi \cdot g^v \ge \pi \cdot g^w \ \forall w \},
              \qquad g^v_x = \sum_y u(x, y) v(x, y)

    Parameters
    ----------
    source : privacy notion or ExtremePoints
        The notion, as in `extreme_points`, or the extreme points.
    n : int, optional
        Number of inputs; needed with a notion.
    utility : str, Utility or array_like, shape (n, m)
        Read exactly as its floats; a loss is minimized; default: ``"identity"``.

    Returns
    -------
    tuple of Region
        Cells with an interior, by number of reports in use; they cover the simplex and overlap on
        borders only.

    Raises
    ------
    StatementError
        If the shapes differ, or the number of inputs is missing.

    Notes
    -----
    The cone of all ``(prior, t)`` with ``t >= prior . g`` for every vertex is enumerated once; its
    extreme rays are the corners of all cells. For the identity and pure or approximate privacy with
    ``e**epsilon > 1`` and ``delta < 1`` there are ``2**n - 1`` cells, one for each set of reported
    answers.

    References
    ----------
    Zhou, Lu and Wu 2019, equations (4) and (15), for ``n = 2``.

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> for region in prior_regions(PureLDP("log(3)"), 2):
    ...     print(region.label, *(corner[0] for corner in region.corners))
    top-1: 0 3/4 1
    top-1: 1 0 1/4
    RR 1/4 3/4
    """
    points, utility = _points_and_utility(source, n, utility)
    sign = 1 if utility.sense == "gain" else -1
    n, m = points.shape
    is_identity = n == m and utility.sense == "gain" and np.array_equal(utility.matrix, np.eye(n))
    # the cells are those of the n-ary theorem
    is_top_k = is_identity and points.ties is not None and points.ties.is_complete
    vertices = _by_gains(points, sign * utility.matrix)
    cells = _cells(list(vertices))
    regions = []
    for gains, corners in cells.items():
        members = (
            tuple(x for x, gain in enumerate(gains) if gain == max(gains)) if is_top_k else None
        )
        utilities = tuple(sign * gain for gain in gains)
        outline = _counterclockwise(corners)
        regions.append(Region(*vertices[gains], utilities, outline, _facets(gains, cells), members))
    return tuple(sorted(regions, key=lambda region: (len(region.reported), region.reported)))


@dataclass(frozen=True)
class EpsilonRange:
    """Range of budgets in which the same number of reported answers is optimal.

    Attributes
    ----------
    k : int
        Number of reported answers: randomized response among the ``k`` likeliest ones is optimal.
    ratios : tuple of Fraction
        ``e**epsilon`` at both ends, exact; the upper one is None if unbounded.
    """

    k: int
    members: tuple[int, ...]
    ratios: tuple[Fraction, Fraction | None]

    @property
    def epsilons(self) -> tuple[float, float]:
        """Both ends in nats, correct to rounding; inf if unbounded."""
        low, high = self.ratios
        return log_of(low), math.inf if high is None else log_of(high)


def epsilon_breakpoints(prior: Any, delta: float = 0.0) -> tuple[EpsilonRange, ...]:
    r"""Divide the axis of epsilon into ranges in which one mechanism is optimal for the identity
    utility.

    .. math:: t_k \le e^\epsilon \le t_{k+1},
              \qquad t_k = \frac{\Sigma_{k-1}}{\pi_{(k)}} - (k - 2), \quad t_1 = 1

    Parameters
    ----------
    prior : array_like, shape (n,), or mapping label -> weight
        Fractions, integers and floats are read exactly.
    delta : float
        ``0 <= delta < 1``; breakpoints do not depend on it; default: ``0.0``.

    Returns
    -------
    tuple of EpsilonRange
        Ascending, from ``e**epsilon = 1``; in each, ``k`` answers are reported. A ``k`` that is
        optimal at one budget only has no range (equal weights enter together). Answers of weight
        zero are never reported.

    Raises
    ------
    StatementError
        If the prior is invalid, or ``delta`` is not in [0, 1).

    Notes
    -----
    Theory: docs, "The n-ary theorem". O(n log n) rational operations.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> [(r.k, str(r.ratios[0])) for r in epsilon_breakpoints([F(1, 2), F(3, 10), F(1, 5)])]
    [(1, '1'), (2, '5/3'), (3, '3')]
    """
    if read_delta(delta) == 1:
        raise StatementError(
            "at delta = 1 the truth is optimal for every epsilon", do="state delta < 1"
        )
    weights = exact_prior(prior)
    order = sorted((x for x, w in enumerate(weights) if w), key=lambda x: -weights[x])
    thresholds = [Fraction(1)]
    total = weights[order[0]]
    for k, x in enumerate(order[1:], start=2):
        thresholds.append(total / weights[x] - (k - 2))
        total += weights[x]
    ends: list[Fraction | None] = [*thresholds[1:], None]
    pairs = enumerate(zip(thresholds, ends, strict=True), start=1)
    used = [(k, low, high) for k, (low, high) in pairs if high is None or low < high]
    return tuple(EpsilonRange(k, tuple(order[:k]), (low, high)) for k, low, high in used)


def _points_and_utility(source: Any, n: int | None, utility: Any) -> tuple[ExtremePoints, Utility]:
    """Read the extreme points, and a utility of their shape."""
    if isinstance(source, ExtremePoints):
        if n is not None and n != source.shape[0]:
            problem = f"the points have {source.shape[0]} inputs, not {n}"
            raise StatementError(problem, code="shape", do=f"give {n} coordinates for each point")
        points = source
    else:
        if n is None:
            raise StatementError("the number of inputs is missing", code="inputs", do="pass n")
        table = utility if isinstance(utility, (str, Utility)) else Utility(utility, "gain")
        points = extreme_points(source, n, n if isinstance(table, str) else table.shape[1])
    return points, resolve(utility, tuple(range(points.shape[0])), tuple(range(points.shape[1])))


def _by_gains(points: ExtremePoints, gain: Float) -> dict[Point, tuple[Exact, int]]:
    """Return one vertex for each vector of gains by input, and the number of vertices with these
    gains.
    """
    exact = np.array([[Fraction(g) for g in row] for row in gain.tolist()], dtype=object)
    classes: dict[Point, tuple[Exact, int]] = {}
    points.require_complete()
    for vertex in points:
        gains = tuple(map(Fraction, (exact * vertex).sum(axis=1)))
        first, count = classes.get(gains, (vertex, 0))
        classes[gains] = first, count + 1
    return classes


def _cells(functions: Sequence[Point]) -> dict[Point, list[Point]]:
    """Return the corners of each function's cell, the priors where it is the largest, if the cell
    has an interior.
    """
    n = len(functions[0])
    rows = [primitive_integers([*(-g for g in function), Fraction(1)]) for function in functions]
    simplex = [[int(x == k) for k in range(n + 1)] for x in range(n)]
    rays = [[int(v) for v in ray] for ray in extreme_rays([*rows, *simplex])]
    rays = [ray for ray in rays if any(ray[:n])]
    corners = [tuple(Fraction(v, sum(ray[:n])) for v in ray[:n]) for ray in rays]
    tight = np.array(rows, dtype=object) @ np.array(rays, dtype=object).T == 0
    cells = {}
    for function, on in zip(functions, tight, strict=True):
        chosen = [corner for corner, is_on in zip(corners, on, strict=True) if is_on]
        if len(chosen) >= n and rank(chosen) == n:
            cells[function] = chosen
    return cells


def _facets(gains: Point, cells: Mapping[Point, list[Point]]) -> tuple[tuple[int, ...], ...]:
    """Return the inequalities of a cell: one for each cell that shares a facet, and those of the
    simplex.
    """
    n = len(gains)
    corners = cells[gains]
    near = [
        other
        for other, spots in cells.items()
        if other != gains and _spans([*set(corners) & set(spots)], n - 1)
    ]
    rows = [
        tuple(primitive_integers([a - b for a, b in zip(gains, other, strict=True)]))
        for other in near
    ]
    sides = [x for x in range(n) if _spans([corner for corner in corners if not corner[x]], n - 1)]
    return (*rows, *(tuple(int(k == x) for k in range(n)) for x in sides))


def _spans(corners: Sequence[Point], dimension: int) -> bool:
    return len(corners) >= dimension and (dimension == 0 or rank(corners) == dimension)


def _counterclockwise(corners: Sequence[Point]) -> tuple[Point, ...]:
    """Return the corners of a polygon in counterclockwise order; in other dimensions sorted."""
    if len(corners[0]) != 3:
        return tuple(sorted(corners))
    center = [sum(corner[x] for corner in corners) / len(corners) for x in range(3)]
    # Barycentric directions (1, 2) are affine coordinates of the triangle, so angles in them keep
    # the cyclic order.
    return tuple(
        sorted(
            sorted(corners),
            key=lambda c: math.atan2(float(c[2] - center[2]), float(c[1] - center[1])),
        )
    )
