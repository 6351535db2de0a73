"""Metric privacy: the budget grows with the distance between answers."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.auditing.audits import Audit, PairsOfTable
from ldpopt.auditing.divergence import max_divergence
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.labelled import Labelled, Labels, distinct_labels, read_labelled
from ldpopt.foundation.labels import Names, label_numbers, read_alphabet
from ldpopt.foundation.numbers import (
    Float,
    frozen,
    real_array,
    require_kind,
    require_memory,
    short_repr,
)
from ldpopt.privacy.notion import TiedNotion, shape_of
from ldpopt.privacy.places import METRICS, implied_pairs, network_distances, point_distances
from ldpopt.privacy.plain import MisstatedError, Table, plain_budget, required
from ldpopt.privacy.ties import TableTies, Ties

if TYPE_CHECKING:
    import networkx as nx

PointMetric = Literal["euclidean", "manhattan", "great_circle"]

NAMES = ("absolute", *METRICS)  # names of the distances that are measured between numbers or points


@dataclass(frozen=True, eq=False)
class MetricDP(TiedNotion):
    r"""Close answers are hard to tell apart: :math:`P(x, y) \le e^{\epsilon d(x, x')} P(x', y)`.

    Parameters
    ----------
    epsilon : float or str
        Nats per unit of distance, in [0, 10000], or ``"log(p/q)"``.
    distance : array_like, shape (n, n), or DataFrame or mapping of mappings, or callable
        Symmetric, zero on the diagonal and in [1e-300, 1e300] elsewhere; a callable takes two
        labels. If the triangle inequality fails, shortest paths replace the distance, which
        describes the same channels. As in a model file, also ``"absolute"``, the difference of
        labels that are numbers, or ``"euclidean"``, ``"manhattan"`` or ``"great_circle"`` between
        `points`.
    inputs : sequence of hashable, optional
        Labels of the rows and columns; default: those of a DataFrame or mapping. They are aligned
        with the inputs of a problem or mechanism; without labels the distance is read by position.
    points : array_like, shape (n,) or (n, d), DataFrame or mapping label -> coordinates, optional
        The points between which a named distance is measured, as in `of_points`.

    Raises
    ------
    StatementError
        If epsilon is out of range or the distance is not as above.

    Examples
    --------
    >>> MetricDP("log(2)", [[0, 2], [2, 0]]).audit([[0.8, 0.2], [0.2, 0.8]]).epsilon
    0.6931471805599454
    """

    kind: ClassVar[str] = "metric"
    epsilon: Budget
    distance: Float | Callable[[Any, Any], float]

    inputs: Labels | None

    def __init__(
        self,
        epsilon: float | str,
        distance: ArrayLike | Callable[[Any, Any], float] | Literal["absolute"] | PointMetric,
        inputs: Names | None = None,
        *,
        points: Any = None,
    ) -> None:
        if isinstance(distance, str) or points is not None:
            distance, inputs = _named_distance(distance, points, inputs)
        names = None if inputs is None else distinct_labels(inputs, "distance", "input")
        if not callable(distance):
            table = read_distance(distance, names)
            distance = frozen(table.values)
            names = table.axes[0]
        object.__setattr__(self, "epsilon", Budget(epsilon))
        object.__setattr__(self, "distance", distance)
        object.__setattr__(self, "inputs", names)

    @property
    def known_inputs(self) -> Labels | None:
        """Labels of the distance, or positions in its matrix; None of a function."""
        if self.inputs is not None or callable(self.distance):
            return self.inputs
        return tuple(range(len(self.distance)))

    @classmethod
    def of_points(
        cls,
        epsilon: float | str,
        points: Any,
        metric: PointMetric = "euclidean",
        inputs: Names | None = None,
    ) -> Self:
        """Metric privacy for places with coordinates.

        Parameters
        ----------
        epsilon, points
            As in the class; the rows of a DataFrame are the points.
        metric : {"euclidean", "manhattan", "great_circle"}
            The last: kilometers between (latitude, longitude) in degrees or by name; default:
            ``"euclidean"``.
        inputs : sequence of hashable, optional
            Labels of the points of an array; default: none, the points are read by position.

        Raises
        ------
        StatementError
            If a coordinate is not finite or out of range, two points coincide or the metric is
            unknown.

        Examples
        --------
        >>> MetricDP.of_points(1.0, {"home": (0, 0), "work": (3, 4)}).matrix(["home", "work"])[0, 1]
        np.float64(5.0)
        """
        table = point_distances(points, metric, inputs)
        return cls(epsilon, table.values, table.axes[0])

    @classmethod
    def of_network(cls, epsilon: float | str, graph: nx.Graph[Any], weight: str = "length") -> Self:
        """Metric privacy for the nodes of a network, with the lengths of shortest paths as
        distances.

        Parameters
        ----------
        epsilon : float or str
            Nats per unit of length.
        graph : networkx.Graph
            Undirected and in one piece; its nodes are the inputs' labels.
        weight : str
            Attribute of an edge that is its length, positive; default: ``"length"``.

        Raises
        ------
        StatementError
            If the graph is directed, empty or in several parts, or an edge has no positive length.

        Examples
        --------
        >>> import networkx as nx
        >>> roads = nx.Graph([("a", "b", {"length": 2.0}), ("b", "c", {"length": 0.5})])
        >>> MetricDP.of_network(1.0, roads).matrix(["a", "b", "c"])[0, 2]
        np.float64(2.5)
        """
        table = network_distances(graph, weight)
        return cls(epsilon, table.values, table.axes[0])

    def __repr__(self) -> str:
        name = (
            "callable"
            if callable(self.distance)
            else f"{len(self.distance)} x {len(self.distance)}"
        )
        return f"MetricDP(epsilon={self.epsilon!r}, distance=<{name}>)"

    def matrix(self, inputs: Names) -> Float:
        """Distances between the inputs, shape (n, n).

        Raises
        ------
        StatementError
            If the array has another size or other labels, or the callable does not return a metric.
        """
        inputs = read_alphabet(inputs)
        if callable(self.distance):
            require_memory(40.0 * len(inputs) ** 2, "the distances")
            return read_distance([[self.distance(x, k) for k in inputs] for x in inputs]).values
        if len(self.distance) != len(inputs):
            problem = f"the distance is {self.distance.shape} but there are {len(inputs)} inputs"
            raise StatementError(problem, do="give the distances of these inputs")
        if self.inputs is None or self.inputs == tuple(inputs):
            return self.distance
        return Labelled(self.distance, (self.inputs,) * 2, "distance", ("input",) * 2).to(
            inputs, inputs
        )

    def check(self, inputs: Names, outputs: Names) -> None:
        """Refuse a table of another size, and a callable that does not return a metric."""
        self.matrix(inputs)

    def ties(
        self, inputs: Names, outputs: Names | None = None, deadline: Deadline = NO_LIMIT
    ) -> Ties:
        """Pairs that no chain of shorter pairs implies."""
        distance = self.matrix(inputs)
        require_kind(deadline, Deadline, "ties()")
        is_implied = implied_pairs(distance, deadline)
        if np.count_nonzero(is_implied) == len(distance):  # the diagonal alone
            return TableTies(self.epsilon, distance)
        first, second = np.nonzero(~is_implied)
        return Ties(self.epsilon, len(inputs), first, second, distance[first, second])

    def ratios(self, inputs: Names | None = None) -> Float:
        """``exp(epsilon d)`` of the distinct distances d that are not implied, ascending; see
        `Notion.ratios`.
        """
        if inputs is None and self.inputs is None and not callable(self.distance):
            inputs = range(len(self.distance))
        ratios: Float = super().ratios(inputs)
        return ratios

    def definition(self, inputs: Names, outputs: Names | None = None) -> Ties:
        """All pairs of inputs."""
        return TableTies(self.epsilon, self.matrix(inputs))

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """``distance`` is a matrix, or the name of a distance between ``values`` or ``points``."""
        return ("epsilon", "distance", "values", "points")

    def to_plain(self, inputs: Names, *, explicit: bool = False) -> dict[str, Any]:
        """State the distances as a matrix."""
        return {"epsilon": plain_budget(self.epsilon), "distance": self.matrix(inputs).tolist()}

    @classmethod
    def from_plain(cls, table: Table, inputs: Names) -> Self:
        """Read a matrix, or distances of values (``"absolute"``) or points (``"euclidean"`` and
        other names).
        """
        epsilon = required(table, "epsilon")
        distance = required(table, "distance")
        values = table.get("values")
        points = table.get("points")
        if not isinstance(distance, str):
            if values is not None or points is not None:
                raise StatementError(
                    "values and points are not used with a distance matrix",
                    code="unused-values",
                    do="remove both",
                )
            return cls(epsilon, real_array(distance, "distance matrix"))
        if distance not in NAMES:
            known = ", ".join(map(repr, NAMES))
            problem = (
                f"privacy.distance = {short_repr(distance)}: should be one of {known}, or a matrix"
            )
            raise MisstatedError(problem, "distance", do="see `Model files` in the documentation")
        if distance == "absolute" and points is not None:
            raise StatementError(
                "points are for distance = 'euclidean'",
                code="points",
                do="give values, one number for each input",
            )
        if distance != "absolute" and (points is None) == (values is None):
            problem = f"distance = {distance!r} needs points"
            raise StatementError(
                problem, code="no-points", do="give points = [[x, y], ...], one for each input"
            )
        coordinates = _values_of_inputs(values, inputs) if points is None else points
        return cls(
            epsilon,
            point_distances(
                coordinates, "euclidean" if distance == "absolute" else distance, inputs
            ).values,
        )

    @classmethod
    def example(cls, epsilon: float | str, inputs: Names) -> Self:
        """The inputs on a line, at equal distances."""
        return cls.of_points(epsilon, list(range(len(read_alphabet(inputs)))), inputs=inputs)

    def audit(self, channel: Any) -> Audit:
        """Decide the claim for all pairs from the channel's numbers, exactly."""
        inputs, labelled = shape_of(channel)
        if not labelled and self.inputs is not None and len(inputs) == len(self.inputs):
            inputs = self.inputs  # a plain array is read in the order of the distance
        pairs = PairsOfTable(self.matrix(inputs))
        return max_divergence(
            channel, self.epsilon, pairs, f"epsilon = {self.epsilon!r} per unit of distance"
        )


# Smallest and largest distance; then sums of distances and logarithms divided by them are floats
DISTANCE_RANGE = 1e-300, 1e300


def read_distance(distance: Any, inputs: Labels | None = None) -> Labelled:
    """Read a table of distances, in the order of ``inputs`` if they are given, else in that of its
    rows.
    """
    table = read_labelled(distance, "distance", ("input", "input"))
    if (table.axes[0] is None) != (table.axes[-1] is None):
        raise StatementError(
            "the distance has labels on one side only",
            code="labels",
            do="label rows and columns, or neither",
        )
    names = inputs or table.axes[0]
    matrix = table.to(names, names)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        problem = f"the distance has shape {matrix.shape}; it needs (n, n)"
        raise StatementError(problem, do="give one row and one column for each input")
    is_off_diagonal = ~np.eye(len(matrix), dtype=bool)
    checks = (
        (
            ~np.isfinite(matrix),
            "is not finite: give separate problems for inputs that are infinitely far apart",
        ),
        (
            matrix != matrix.T,
            "differs from the distance in the other direction: make the two equal",
        ),
        (
            ~is_off_diagonal & (matrix != 0),
            "is not 0, but it is the distance of an input from itself",
        ),
        (
            is_off_diagonal & (matrix <= 0),
            "is not positive: merge the two inputs or move them apart",
        ),
        (
            is_off_diagonal & ((matrix < DISTANCE_RANGE[0]) | (matrix > DISTANCE_RANGE[1])),
            f"is not in {list(DISTANCE_RANGE)}: use another unit",
        ),
    )
    for bad, why in checks:
        if bad.any():
            x, k = map(int, np.argwhere(bad)[0])
            first, second = (
                short_repr(names[i]) if names is not None and len(names) > i else i for i in (x, k)
            )
            problem = f"distance[{first}, {second}] = {matrix[x, k]:g} {why}"
            raise StatementError(
                problem, do="correct the entry, or the function that computes distances"
            )
    if names is not None and len(names) != len(matrix):
        problem = f"{len(names)} input labels for a distance of shape {matrix.shape}"
        raise StatementError(problem, do="give one label for each row")
    return Labelled(matrix, (names, names), "distance", ("input", "input"))


def _named_distance(name: Any, points: Any, inputs: Names | None) -> tuple[Any, Names | None]:
    """Distance of a name, and its labels if it is a table."""
    if not isinstance(name, str) or name not in NAMES:
        problem = (
            f"unknown distance {short_repr(name)}"
            if isinstance(name, str)
            else "points beside a distance"
        )
        raise StatementError(
            problem,
            code="unknown-distance",
            do=f"name one of {', '.join(map(repr, NAMES))}; or pass a matrix, without points",
        )
    if points is None and name == "absolute":
        return _difference, inputs
    if points is None:
        do = "pass points={label: (x, y), ...}, one for each input"
        raise StatementError(f"distance = {name!r} needs points", code="no-points", do=do)
    table = point_distances(points, "euclidean" if name == "absolute" else name, inputs)
    return table.values, table.axes[0]


def _difference(x: Hashable, other: Hashable) -> float:
    """Absolute difference of two labels that are numbers."""
    if (numbers := label_numbers([x, other])) is None:
        problem = (
            f"distance = 'absolute' needs numbers, and {short_repr(x)} or {short_repr(other)} "
            "is not a number"
        )
        raise StatementError(problem, code="numbers", do="pass points={label: number, ...}")
    return float(abs(numbers[0] - numbers[1]))


def _values_of_inputs(values: Any, inputs: Names) -> Any:
    """Values of the inputs: the given ones, else numeric labels, else positions."""
    if values is not None:
        return values
    numbers = label_numbers(inputs)
    return list(range(len(inputs))) if numbers is None else numbers
