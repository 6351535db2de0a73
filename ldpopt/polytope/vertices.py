r"""Extreme points of the polytope of private channels, exactly.

For pure privacy their structure is known (docs, "Extreme points"): the entries of a column are ``theta`` (low),
``e**epsilon theta`` (high), or *free* between the two. A row has at most one free entry. The rows without one form a
minimal balanced collection, whose sets are the high entries of the columns. The extreme points of other notions are
listed by the double description method.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.display import Facts, HasFacts, Part, Table, can_print_unicode
from ldpopt.foundation.numbers import Float, require_memory, whole_number
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair
from ldpopt.polytope.halfspaces import halfspaces, read_inputs, require_mutual, vertex_channels
from ldpopt.polytope.staircase import Exact, Pattern, entries_of, orders, patterns, row_images
from ldpopt.privacy.notion import with_epsilon
from ldpopt.problem.problem import Problem


@dataclass(frozen=True)
class Orbit:
    """Extreme points that are equal up to permutations of inputs and outputs.

    Attributes
    ----------
    representative : object array of Fractions, shape (n, m)
        One of them.
    size : int
        Number of points.
    columns : int
        Number of outputs in use.
    stabilizer : int
        Permutations of inputs and outputs that leave the representative unchanged; ``size * stabilizer == n! m!``.
    pattern : tuple of tuple of int
        Its used columns as levels: 0 low, 1 high, 2 free; empty for notions without this structure.
    """

    representative: Exact
    size: int
    columns: int
    stabilizer: int
    pattern: Pattern = ()


@dataclass(frozen=True)
class Best:
    """Best value over all extreme points, and all points that attain it.

    Attributes
    ----------
    value : Fraction
        In the utility's unit; floats of prior and utility are read exactly.
    vertices : tuple of object arrays
        All optimal extreme points; the optimal face is their convex hull.
    mechanism : Mechanism
        Their average, inside that face, rounded to masses that are exactly private.
    """

    value: Fraction
    vertices: tuple[Exact, ...]
    mechanism: Mechanism

    @property
    def is_unique(self) -> bool:
        """Whether exactly one extreme point is optimal."""
        return len(self.vertices) == 1


MAX_ENTRIES = 64
"""Largest number of entries of a channel for the double description method."""

RATIO_GRID = 2**40
"""Denominator of the rational that replaces ``e**epsilon`` if epsilon is a decimal."""

MAX_PERMUTED = 8
"""Largest number of inputs or outputs for orbits, which are found by trying all permutations."""


MAX_SHOWN_ORBITS = 20
"""Largest number of orbits that are shown."""


def entry_text(value: Fraction, fractions: bool) -> str:
    """A fraction as it is, or with four digits."""
    return str(value) if fractions else f"{float(value):.4g}"


class ExtremePoints(HasFacts, ABC):
    """All extreme points of the channels that a notion allows.

    Attributes
    ----------
    ties : Ties
        Pairs of inputs that the notion compares.
    count : int
        Number of extreme points.
    counts_by_columns : dict of int to int
        The same by number of outputs used.
    orbits : tuple of Orbit
        Classes under permutations of inputs and outputs.
    """

    def __init__(self, privacy: Any, shape: tuple[int, int], inputs: Sequence[Hashable]) -> None:
        self.privacy, self.shape, self.inputs = privacy, shape, tuple(inputs)
        self.ties = require_mutual(privacy, self.inputs)

    def __repr__(self) -> str:
        """Size of the list."""
        return f"ExtremePoints({self.count} points, {self.shape[0]} x {self.shape[1]}, {self.privacy!r})"

    def facts(self, *, fractions: bool = False) -> Facts:
        """Number of extreme points by the number of reports in use, and one representative of each orbit.

        Parameters
        ----------
        fractions : bool
            Whether entries are exact fractions; default: ``False``, four digits.
        """
        counts = [*self.counts_by_columns.items(), ("all", self.count)]
        orbits, has_levels = self.orbits[:MAX_SHOWN_ORBITS], any(orbit.pattern for orbit in self.orbits)
        alpha = "\u03b1" if can_print_unicode() else "a"
        rows: list[list[Any]] = []
        for orbit in orbits:
            entries = " / ".join(" ".join(entry_text(v, fractions) for v in row) for row in orbit.representative)
            levels = [" ".join(("1", alpha, "*")[column[x]] for column in orbit.pattern) for x in range(self.shape[0])]
            rows.append([str(orbit.columns), orbit.size, *([" / ".join(levels)] if has_levels else []), entries])
        headings = ["in use", "size", *(["levels"] if has_levels else []), "representative, row by row"]
        title = f"{len(self.orbits):,} orbits under permutations"
        parts: list[Part] = [
            Table(["reports in use", "extreme points"], counts), Table(headings, rows, title, words=headings[2:])
        ]  # fmt: skip
        if len(orbits) < len(self.orbits):
            parts.append(f"and {len(self.orbits) - len(orbits)} orbits more")
        if has_levels:
            free = "; *: what is left of the row" if any(2 in level for o in orbits for level in o.pattern) else ""
            parts.append(f"levels of a column: 1, and {alpha} = e^epsilon times as much{free}")
        return Facts(repr(self), parts)

    @property
    def count(self) -> int:
        """Number of extreme points."""
        return sum(self.counts_by_columns.values())

    @property
    def counts_by_columns(self) -> dict[int, int]:
        """Number of extreme points with one output in use, two outputs, ..."""
        counts: dict[int, int] = {}
        for orbit in self.orbits:
            counts[orbit.columns] = counts.get(orbit.columns, 0) + orbit.size
        return dict(sorted(counts.items()))

    @property
    @abstractmethod
    def orbits(self) -> tuple[Orbit, ...]:
        """Classes under permutations of inputs and outputs, by number of columns."""

    @property
    @abstractmethod
    def vertices(self) -> Iterator[Exact]:
        """Every extreme point once, shape (n, m) of Fractions, computed one by one."""

    def best(self, problem: Problem) -> Best:
        """Evaluate a problem at every extreme point.

        Parameters
        ----------
        problem : Problem
            A problem of the same notion and size, with an expected objective and without side constraints, so that an
            extreme point is optimal.

        Returns
        -------
        Best
            Value and optimal face, in rationals.

        Raises
        ------
        StatementError
            If sizes differ.
        NotRepresentableError
            If the optimum need not be an extreme point (a worst case, a side constraint).
        """
        if problem.utility.shape != self.shape:
            raise StatementError(f"the problem is {problem.utility.shape}, the extreme points are {self.shape}")
        if problem.prior is None or problem.constraints:
            raise NotRepresentableError(
                "with a worst case or a side constraint the optimum need not be an extreme point",
                do="solve the program",
            )
        rows = zip(problem.prior.tolist(), problem.utility.matrix.tolist(), strict=True)
        weights = np.array([[Fraction(p) * Fraction(g) for g in row] for p, row in rows])
        sign = 1 if problem.utility.sense == "gain" else -1
        value, vertices = self._best(weights * sign)
        average = np.sum(np.array(vertices), axis=0) / Fraction(len(vertices))
        fixed = repair(average.astype(float), problem.privacy, inputs=problem.inputs, outputs=problem.outputs)
        return Best(value * sign, tuple(vertices), fixed.mechanism)

    def _best(self, weights: Exact) -> tuple[Fraction, list[Exact]]:
        """Return the maximum of a linear function, and all points that attain it."""
        floats = _normalized_floats(weights)
        scale = float(np.abs(floats).sum()) or 1.0
        best, near = -math.inf, []
        for vertex in self.vertices:
            value = float((floats * vertex.astype(float)).sum())
            if value > best - 1e-9 * scale:
                best = max(best, value)
                near.append((value, vertex))
        values = [((weights * vertex).sum(), vertex) for value, vertex in near if value > best - 1e-9 * scale]
        top = max(value for value, _ in values)
        return top, [vertex for value, vertex in values if value == top]


class StaircasePoints(ExtremePoints):
    """Extreme points of pure privacy, from minimal balanced collections and free rows."""

    def __init__(self, privacy: Any, shape: tuple[int, int], inputs: Sequence[Hashable]) -> None:
        super().__init__(privacy, shape, inputs)
        budget = self.ties.budget
        self.alpha = budget.ratio if budget.ratio is not None else budget.enclosure()[0]

    @cached_property
    def orbits(self) -> tuple[Orbit, ...]:
        """Classes under permutations of inputs and outputs."""
        n, m = self.shape
        found = []
        # At epsilon = 0 all rows are equal, so one output is used.
        for pattern, images in patterns(n, m if self.alpha > 1 else 1):
            u = len(pattern)
            size = images * math.perm(m, u)
            stabilizer = math.factorial(n) * math.factorial(m) // size
            representative = _place_columns(entries_of(pattern, self.alpha), range(u), (n, m))
            found.append(Orbit(representative, size, u, stabilizer, pattern))
        return tuple(found)

    @property
    def vertices(self) -> Iterator[Exact]:
        """Every extreme point once: the distinct row orders of each orbit, with its columns at all outputs."""
        n, m = self.shape
        for orbit in self.orbits:
            for pattern in row_images(orbit.pattern, n):
                values = entries_of(pattern, self.alpha)
                for outputs in permutations(range(m), len(pattern)):
                    yield _place_columns(values, outputs, (n, m))

    def _best(self, weights: Exact) -> tuple[Fraction, list[Exact]]:
        """Score each column at each output, once per row order; the value of a point is then a sum of scores."""
        n, m = self.shape
        floats = _normalized_floats(weights)
        scale = float(np.abs(floats).sum()) or 1.0
        best, near = -math.inf, []
        for orbit in self.orbits:
            outputs = np.array(list(permutations(range(m), orbit.columns)))
            for pattern in row_images(orbit.pattern, n):
                values = entries_of(pattern, self.alpha)
                scores = values.astype(float).T @ floats
                totals = scores[np.arange(orbit.columns), outputs].sum(axis=1)
                best = max(best, float(totals.max()))
                near += [(totals[k], values, tuple(outputs[k])) for k in np.flatnonzero(totals > best - 1e-9 * scale)]
        exact = [
            (sum((weights[:, y] * values[:, j]).sum() for j, y in enumerate(chosen)), values, chosen)
            for total, values, chosen in near
            if total > best - 1e-9 * scale
        ]
        top = max(value for value, _, _ in exact)
        return top, [_place_columns(values, chosen, (n, m)) for value, values, chosen in exact if value == top]


class ListedPoints(ExtremePoints):
    """Extreme points of any other notion, by the double description method."""

    @cached_property
    def _list(self) -> tuple[Exact, ...]:
        if math.prod(self.shape) > MAX_ENTRIES:
            raise StatementError(
                f"the extreme points of {self.shape[0]} x {self.shape[1]} channels are too many to list",
                do=f"take at most {MAX_ENTRIES} entries, or pure privacy",
            )
        spaces = halfspaces(self._with_rational_ratio(), *self.shape, inputs=self.inputs)
        return tuple(np.array(vertex, dtype=object) for vertex in vertex_channels(spaces))

    def _with_rational_ratio(self) -> Any:
        """Return the notion with a rational ``e**epsilon``: just below the real number if epsilon is a decimal."""
        budget = self.ties.budget
        if budget.ratio is not None or not budget:
            return self.privacy
        below = Fraction(math.floor(budget.enclosure()[0] * RATIO_GRID), RATIO_GRID)
        return with_epsilon(self.privacy, Budget(f"log({max(below, Fraction(1))})"))

    @property
    def vertices(self) -> Iterator[Exact]:
        """Every extreme point once."""
        return iter(self._list)

    @property
    def counts_by_columns(self) -> dict[int, int]:
        """Number of extreme points with one output in use, two outputs, ..."""
        used = [int((vertex != 0).any(axis=0).sum()) for vertex in self._list]
        return {columns: used.count(columns) for columns in sorted(set(used))}

    @cached_property
    def orbits(self) -> tuple[Orbit, ...]:
        """Classes under the permutations of inputs and outputs that preserve the notion."""
        n, m = self.shape
        if max(n, m) > MAX_PERMUTED:
            raise StatementError(
                f"the permutations of {max(n, m)} labels are too many to enumerate", do="use .vertices or .count"
            )
        relabelings = [order for order in permutations(range(n)) if self._is_symmetry(order)]
        remaining = {tuple(vertex.flat): vertex for vertex in self._list}
        found = []
        while remaining:
            vertex = next(iter(remaining.values()))
            images = {tuple(vertex[list(rows)][:, columns].flat) for rows in relabelings for columns in orders(m)}
            for image in images:
                del remaining[image]
            columns = int((vertex.astype(float).max(axis=0) > 0).sum())
            found.append(Orbit(vertex, len(images), columns, len(relabelings) * math.factorial(m) // len(images)))
        return tuple(sorted(found, key=lambda orbit: orbit.columns))

    def _is_symmetry(self, order: tuple[int, ...]) -> bool:
        """Whether a permutation of the inputs preserves the ties."""
        ties = self.ties
        if ties.first is None or ties.second is None or ties.distance is None:
            return True
        tied = {(int(x), int(k)): float(d) for x, k, d in zip(ties.first, ties.second, ties.distance, strict=True)}
        return all(tied.get((order[x], order[k])) == d for (x, k), d in tied.items())


def extreme_points(
    privacy: Any, n: int, m: int | None = None, *, orbits: bool = False, inputs: Sequence[Hashable] | None = None
) -> ExtremePoints:
    r"""List the extreme points of the polytope of private channels.

    Parameters
    ----------
    privacy : privacy notion
        A float epsilon stands for a rational just below ``e**epsilon``; other distances than whole ones need epsilon
        as ``"log(p/q)"``.
    n : int
        Number of inputs.
    m : int, optional
        Number of outputs (default: ``n``).
    orbits : bool
        Compute the orbits now instead of on first use; default: ``False``.
    inputs : sequence of hashable, optional
        Labels in the order of the rows, for a notion with labels (default: a graph's nodes).

    Returns
    -------
    ExtremePoints
        Counts, orbits, an iterator over the exact points, and the best of them for a problem.

    Raises
    ------
    StatementError
        If there are too many to list; the message says what can be listed.

    Notes
    -----
    Pure privacy: complete, for ``n <= 6`` and any ``m`` (``n <= 8`` if ``m <= 3``); the number does not depend on
    ``epsilon > 0``. It is the sum over ``f`` and over the minimal balanced collections ``C`` of ``n - f`` points of
    ``binom(n, f) F(C)**f m! / (m - |C|)!``, where ``F(C)`` is the number of possible free entries of a row. For
    ``n = m = 5`` that is 150 425 points with two levels in every column, and 14 400 with a free entry.

    References
    ----------
    Zhou, Lu and Wu 2019, section 4; Kairouz, Oh and Viswanath 2016; Holohan, Leith and Mason 2017.

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> points = extreme_points(PureLDP("log(3)"), 3)
    >>> points.count, points.counts_by_columns, len(points.orbits)
    (33, {1: 3, 2: 18, 3: 12}, 4)
    """
    n = whole_number(n, "n", 1)
    m = n if m is None else whole_number(m, "m", 1)
    require_memory(512.0 * n * m, f"one extreme point of {n} inputs and {m} outputs")
    labels = read_inputs(privacy, n, inputs)
    ties = require_mutual(privacy, labels)
    kind = StaircasePoints if ties.is_complete and not ties.delta else ListedPoints
    points: ExtremePoints = kind(privacy, (n, m), labels)
    if orbits:
        _ = points.orbits
    return points


def _place_columns(values: Exact, outputs: Sequence[int], shape: tuple[int, int]) -> Exact:
    """Return a channel with these columns at these outputs, and zeros at the others."""
    matrix = np.full(shape, Fraction(0), dtype=object)
    matrix[:, list(outputs)] = values
    return matrix


def _normalized_floats(weights: Exact) -> Float:
    """Return floats scaled to a largest absolute value of 1, so that sums do not overflow."""
    return np.asarray(weights / (np.abs(weights).max() or 1), float)
