"""Pareto front of two groups of inputs: what one group loses where the other one gains, by linear
programs.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.display import Facts, HasFacts, Table
from ldpopt.foundation.labels import listed
from ldpopt.foundation.numbers import Float, frozen, require_kind, whole_number
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy.notion import read_labels, require_known
from ldpopt.problem.problem import Problem
from ldpopt.solving.solve import solve

LEAST_WEIGHT = 1e-3  # smallest weight of a group: at 0 its reports would be arbitrary
TOLERANCE = 1e-7  # a new corner lies beyond the known edge by this share of the range of the values

Corner = tuple[Float, float, Mechanism]
"""Mean losses of the two groups, the weight of the first one, and the mechanism."""


@dataclass(frozen=True, eq=False)
class ParetoFront(HasFacts):
    """Result of `pareto_front`: the corners of the front, from best for the group to best for the
    others.

    Attributes
    ----------
    values : ndarray, shape (k, 2)
        Mean gain or loss of the group, and of the other inputs, at each corner.
    weights : ndarray, shape (k,)
        A weight of the group at which the corner is optimal; that of the others is one minus it.
    mechanisms : tuple of Mechanism
        One for each corner, exactly private. Mixtures of two neighbors reach the edge between them.
    is_complete : bool
        Whether each edge is proved, up to rounding, by a linear program; else corners may be
        missing between two.
    problem : Problem
        The problem whose prior weighs the inputs within the group and within the others.
    """

    values: Float
    weights: Float = field(repr=False)
    mechanisms: tuple[Mechanism, ...] = field(repr=False)
    is_complete: bool
    group: tuple[Hashable, ...]
    problem: Problem = field(repr=False)

    def facts(self) -> Facts:
        """The corners: the weight of the group, and the means of the group and of the others."""
        sense = self.problem.utility.sense
        rows = np.column_stack([self.weights, self.values]).tolist()
        headings = ["corner", "weight of group", f"{sense} of group", f"{sense} of others"]
        table = Table(headings, [[k, *row] for k, row in enumerate(rows)])
        gaps = [] if self.is_complete else ["corners may be missing between two"]
        return Facts(f"Pareto front of the group {listed(self.group)}", [table, *gaps])


def pareto_front(
    problem: Problem, group: Iterable[Hashable], *, max_points: int = 50
) -> ParetoFront:
    r"""Find the Pareto front of the mean losses (or gains) of two groups of inputs.

    .. math:: \min_P \left( E[u \mid x \in G], \; E[u \mid x \notin G] \right)

    Parameters
    ----------
    problem : Problem
        With an expected objective; its prior holds within each group.
    group : iterable of hashable
        Inputs of the first group: some, not all.
    max_points : int
        Largest number of corners, at least 2; default: ``50``. The longest edges are divided first.

    Returns
    -------
    ParetoFront
        Values and mechanisms.

    Raises
    ------
    StatementError
        If the objective is the worst case, an input is unknown, or a group is empty or has prior 0.

    Notes
    -----
    Each point of the front is optimal for some weights of the groups. A linear program for the
    weights of the line through two corners finds a corner beyond that line, or proves the edge: at
    most ``2 k - 1`` programs for ``k`` corners. Weights range from 0.001 to 0.999.

    References
    ----------
    Wu, Xia and He, problems (1) and (2); Aneja and Nair 1979, for the search.

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> front = pareto_front(Problem([0.5, 0.5], "identity", PureLDP("log(3)")), [0])
    >>> front.values.round(6).tolist(), front.is_complete
    ([[1.0, 0.0], [0.75, 0.75], [0.0, 1.0]], True)
    """
    require_kind(problem, Problem, "pareto_front()")
    max_points = whole_number(max_points, "max_points", 2)
    if problem.prior is None:
        raise StatementError(
            "the worst case has no prior within the groups",
            code="worst-case",
            do='use objective="expected"',
        )
    members = read_labels(group, "the group")
    require_known(members, problem.inputs, "the group", "input")
    first, second = _priors_within(members, problem.inputs, problem.prior)
    sign = 1.0 if problem.utility.sense == "loss" else -1.0

    def best(weight: float) -> Corner:
        mechanism = solve(replace(problem, prior=weight * first + (1 - weight) * second)).mechanism
        means = [mechanism.expected(prior, problem.utility) for prior in (first, second)]
        return sign * np.array(means), weight, mechanism

    corners, is_complete = _search(best, max_points)
    means, weights, mechanisms = zip(*corners, strict=True)
    values = frozen(sign * np.array(means))
    return ParetoFront(values, frozen(np.array(weights)), mechanisms, is_complete, members, problem)


def _priors_within(
    members: Sequence[Hashable], inputs: Sequence[Hashable], prior: Float
) -> list[Float]:
    """The prior within the group, and that within the other inputs."""
    is_member = np.array([x in members for x in inputs])
    priors = [np.where(part, prior, 0.0) for part in (is_member, ~is_member)]
    if not all(weights.any() for weights in priors):
        raise StatementError(
            "the group or the other inputs have prior 0",
            code="zero-prior",
            do="put an input with a positive prior into each",
        )
    return [weights / weights.sum() for weights in priors]


def _search(best: Callable[[float], Corner], max_points: int) -> tuple[list[Corner], bool]:
    """Corners of a convex front to be minimized, and whether all edges between them are proved;
    ``best`` is the corner for a weight of the first group.
    """
    corners = [best(1 - LEAST_WEIGHT), best(LEAST_WEIGHT)]
    scale = float(np.abs(corners[0][0] - corners[1][0]).max())
    proved = [False]
    while not all(proved) and len(corners) < max_points:
        points = np.array([point for point, *_ in corners])
        # The normals of the edges; the widest unproved edge is next.
        normals = np.maximum(
            np.stack([points[:-1, 1] - points[1:, 1], points[1:, 0] - points[:-1, 0]], axis=1), 0.0
        )
        edge = int(np.argmax(np.where(proved, -1.0, normals.prod(axis=1))))
        normal = normals[edge]
        if normal.min() > 0:
            normal = normal / normal.sum()
            corner = best(float(normal[0]))
            if normal @ corner[0] < (points[edge : edge + 2] @ normal).min() - TOLERANCE * scale:
                corners.insert(edge + 1, corner)
                proved.insert(edge, False)
                continue
        proved[edge] = True
    if scale <= TOLERANCE * float(np.abs(corners[0][0]).max()):
        corners = corners[:1]
    return corners, all(proved)
