r"""Extreme points of the polytope of private channels, exactly.

For pure privacy their structure is known (docs, "Extreme points"): the entries of a column are ``theta`` (low),
``e**epsilon theta`` (high), or *free* between the two. A row has at most one free entry. The rows without one form a
minimal balanced collection, whose sets are the high entries of the columns. The extreme points of other notions are
listed by the double description method.
"""

from __future__ import annotations

import math
import operator
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice, permutations
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.display import Facts, HasFacts, Part, Table, label, privacy_text
from ldpopt.foundation.numbers import Float, require_memory, whole_number
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair
from ldpopt.polytope.double_description import MAX_RAYS, enumerate_vertices, solve_rows
from ldpopt.polytope.formulas import formula_of
from ldpopt.polytope.halfspaces import Halfspaces, halfspaces, read_inputs, require_mutual
from ldpopt.polytope.staircase import (
    FREE,
    HIGH,
    LOW,
    Exact,
    Pattern,
    entries_of,
    orders,
    patterns,
    row_images,
    row_orders,
)  # fmt: skip
from ldpopt.privacy import PureLDP
from ldpopt.privacy.cones.rays import ZERO, rays_of
from ldpopt.privacy.notion import with_epsilon
from ldpopt.problem.problem import Problem

if TYPE_CHECKING:
    import pandas as pd


class ExtremePoint(np.ndarray[Any, np.dtype[np.object_]]):
    """An extreme point: an array of Fractions, shape (n, m), that is displayed as its formula."""

    points: ExtremePoints | None = None

    @property
    def formula(self) -> str:
        """The entries as expressions in ``a = e**epsilon``, row by row; four digits if they need roots of ``a``."""
        points = self.points
        return repr(self.view(np.ndarray)) if points is None else formula_of(self, points.ratio, points._at)

    def __repr__(self) -> str:
        """The formula."""
        return self.formula

    __str__ = __repr__


@dataclass(frozen=True)
class Orbit:
    """Extreme points that are equal up to permutations of inputs and outputs.

    Attributes
    ----------
    representative : ExtremePoint, shape (n, m)
        One of them; ``representative.formula`` is its text.
    size : int
        Number of points.
    columns : int
        Number of outputs in use.
    stabilizer : int
        Permutations of inputs and outputs that leave the representative unchanged; ``size * stabilizer == n! m!``.
    pattern : tuple of tuple of int
        Its used columns as levels: 0 low, 1 high, 2 free; empty for notions without this structure.
    """

    representative: ExtremePoint
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
        In the utility's unit; floats of prior and utility are read exactly. For a decimal epsilon it is the value at a
        rational that is below ``e**epsilon`` by less than one part in ``2**180``.
    vertices : tuple of ExtremePoint
        All optimal extreme points; the optimal face is their convex hull.
    mechanism : Mechanism
        Their average, inside that face, rounded to masses that are exactly private.
    """

    value: Fraction
    vertices: tuple[ExtremePoint, ...]
    mechanism: Mechanism

    def __repr__(self) -> str:
        """Value, and the formulas of the first optimal points."""
        more = ", ..." if len(self.vertices) > MAX_SHOWN_POINTS else ""
        shown = ", ".join(map(str, self.vertices[:MAX_SHOWN_POINTS]))
        return f"Best({float(self.value):.9g} at {len(self.vertices)} of the extreme points: {shown}{more})"

    @property
    def is_unique(self) -> bool:
        """Whether exactly one extreme point is optimal."""
        return len(self.vertices) == 1


MAX_ENTRIES = 64  # largest number of entries of a channel for the double description method
MAX_LISTED = 12_000  # largest number of rays, and of expected points, for a list without a time limit: about a minute
SAMPLED_SETS = 4000  # random sets of extreme rays from which the number of points is estimated
MAX_PERMUTED = 8  # largest number of inputs or outputs for orbits, which are found by trying all permutations
MAX_SHOWN_ORBITS = 20  # largest number of orbits that are shown
MAX_SHOWN_POINTS = 3  # largest number of points in the text of a list


class ExtremePoints(HasFacts, ABC):
    """All extreme points of the channels that a notion allows, as a sequence of exact channels.

    Attributes
    ----------
    ties : Ties
        Pairs of inputs that the notion compares.
    ratio : Fraction
        ``e**epsilon``; for a decimal epsilon a rational that is below it by less than one part in ``2**180``.

    Examples
    --------
    >>> from ldpopt import PureLDP
    >>> points = extreme_points(PureLDP(1.0), 2)
    >>> len(points), points[-1], points[-1].sum(axis=1).tolist()
    (4, [a 1; 1 a] / (a+1), [Fraction(1, 1), Fraction(1, 1)])
    >>> points
    4 extreme points of PureLDP(1.0), 2 x 2: 2 with 1 report in use, 2 with 2
      [1 0; 1 0]
      [0 1; 0 1]
      [1 a; a 1] / (a+1)
      ...
    """

    def __init__(self, privacy: Any, shape: tuple[int, int], inputs: Sequence[Hashable]) -> None:
        self.privacy, self.shape, self.inputs = privacy, shape, tuple(inputs)
        self.ties = require_mutual(privacy, self.inputs)
        self.ratio = self.ties.budget.enclosure()[0]

    def __repr__(self) -> str:
        """Number of points by reports in use, and the first formulas."""
        more = ["..."] if self.count > MAX_SHOWN_POINTS else []
        return "\n  ".join([self._title(), *map(str, islice(self, MAX_SHOWN_POINTS)), *more])

    def _title(self) -> str:
        first, *others = self.counts_by_columns.items() or [(1, 0)]
        counts = [f"{first[1]:,} with {first[0]} report{'s' if first[0] > 1 else ''} in use"]
        counts += [f"{count:,} with {columns}" for columns, count in others]
        what = f"{'' if self.is_complete else 'at least '}{self.count:,} extreme point{'s' * (self.count != 1)}"
        return f"{what} of {privacy_text(self.privacy)}, {self.shape[0]} x {self.shape[1]}: {', '.join(counts)}"

    def __len__(self) -> int:
        """Number of extreme points."""
        if self.count > sys.maxsize:
            raise OverflowError(f"{self.count} points are more than len() can return; use .count")
        return self.count

    def __iter__(self) -> Iterator[ExtremePoint]:
        """Every extreme point once, computed one by one."""
        return map(self._exact, self._entries())

    @overload
    def __getitem__(self, place: int) -> ExtremePoint: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[ExtremePoint, ...]: ...
    def __getitem__(self, place: int | slice) -> ExtremePoint | tuple[ExtremePoint, ...]:
        """The point at a position of the order of iteration, or a tuple of points."""
        if isinstance(place, slice):
            chosen = range(self.count)[place]
            size = (chosen[-1] - chosen[0]) // chosen.step + 1 if chosen else 0
            require_memory(512.0 * math.prod(self.shape) * size, f"{size:,} extreme points")
            return tuple(self._exact(self._entry(k)) for k in chosen)
        position = operator.index(place)
        if not -self.count <= position < self.count:
            raise IndexError(f"there are {self.count:,} extreme points, and none has the position {position}")
        return self._exact(self._entry(position % self.count))

    def iterate(self, progress: Callable[[int, int], None] | None = None) -> Iterator[ExtremePoint]:
        """Yield every extreme point once, and report the progress of a long list.

        Parameters
        ----------
        progress : callable, optional
            Called with (done, total), about a thousand times in all.
        """
        total = self.count
        step = max(1, total // 1000)
        for done, point in enumerate(self, start=1):
            yield point
            if progress is not None and (done % step == 0 or done == total):
                progress(done, total)

    def to_frame(self, *, formulas: bool = False) -> pd.DataFrame:
        """Return a table with a row for each point: the reports in use, and the entries ``P(x,y)`` in floats.

        Parameters
        ----------
        formulas : bool
            Whether a last column has the formulas, at about a millisecond for each point; default: ``False``.
        """
        from ldpopt.foundation.optional import pandas as pd

        n, m = self.shape
        require_memory(24.0 * n * m * self.count, f"a table of {self.count:,} extreme points")
        names = [f"P({label(x)},{y})" for x in self.inputs for y in range(m)]
        rows = np.array([entries.astype(float).ravel() for entries in self._entries()])
        table = pd.DataFrame(rows.reshape(-1, n * m), columns=names)
        table.insert(0, "in use", (rows.reshape(-1, n, m) > 0).any(axis=1).sum(axis=1))
        return table.assign(formula=list(map(str, self))) if formulas else table

    def column_counts(self) -> dict[tuple[Fraction, ...], int]:
        """Columns that occur, divided by their largest entry, and in how many points (often first)."""
        counts: Counter[tuple[Fraction, ...]] = Counter()
        for entries in self._entries():
            for column in {tuple(column) for column in entries.T if any(column)}:
                counts[tuple(value / max(column) for value in column)] += 1
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def facts(self, *, fractions: bool = False) -> Facts:
        """Number of extreme points by the number of reports in use, and one representative of each orbit.

        Parameters
        ----------
        fractions : bool
            Whether entries are exact fractions; default: ``False``, formulas.
        """
        counts = [*self.counts_by_columns.items(), ("all", self.count)]
        parts: list[Part] = [Table(["reports in use", "extreme points"], counts)]
        if not self.is_complete:
            return Facts(self._title(), [*parts, "the time limit ended the list: these are not all extreme points"])
        orbits = self.orbits[:MAX_SHOWN_ORBITS]
        rows: list[list[Any]] = []
        for orbit in orbits:
            exact = "; ".join(" ".join(map(str, row)) for row in orbit.representative.tolist())
            rows.append([str(orbit.columns), orbit.size, f"[{exact}]" if fractions else orbit.representative.formula])
        title = f"{len(self.orbits):,} orbits under permutations"
        headings = ["in use", "size", "representative: its rows, which end with semicolons"]
        parts.append(Table(headings, rows, title, words=headings[2:]))
        if len(orbits) < len(self.orbits):
            parts.append(f"and {len(self.orbits) - len(orbits)} orbits more")
        if any("a" in row[-1] for row in rows):
            parts.append(f"a = e^epsilon = {float(self.ratio):.6g}")
        return Facts(self._title(), parts)

    def _exact(self, entries: Exact) -> ExtremePoint:
        """The entries as a point of this list."""
        point = entries.view(ExtremePoint)
        point.points = self
        return point

    @abstractmethod
    def _entries(self) -> Iterator[Exact]:
        """Every extreme point once."""

    @abstractmethod
    def _entry(self, position: int) -> Exact:
        """The point at a position of this order."""

    @abstractmethod
    def _at(self, point: Exact, ratio: Fraction) -> Exact:
        """The point with the same tight constraints if ``e**epsilon`` is another number."""

    @property
    def is_complete(self) -> bool:
        """Whether the list has all extreme points; a time limit may have ended it."""
        return True

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
    def vertices(self) -> ExtremePoints:
        """The list itself, which is iterable."""
        return self

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
            If sizes differ, or a time limit ended the list.
        NotRepresentableError
            If the optimum need not be an extreme point (a worst case, a side constraint).
        """
        if problem.utility.shape != self.shape:
            raise StatementError(
                f"the problem is {problem.utility.shape}, the extreme points are {self.shape}",
                do="list the extreme points of the problem's size",
            )
        self.require_complete()
        prior = require_extreme_optimum(problem)
        rows = zip(prior.tolist(), problem.utility.matrix.tolist(), strict=True)
        weights = np.array([[Fraction(p) * Fraction(g) for g in row] for p, row in rows])
        sign = 1 if problem.utility.sense == "gain" else -1
        value, vertices = self._best(weights * sign)
        average = np.sum(np.array(vertices), axis=0) / Fraction(len(vertices))
        fixed = repair(average.astype(float), problem.privacy, inputs=problem.inputs, outputs=problem.outputs)
        return Best(value * sign, tuple(map(self._exact, vertices)), fixed.mechanism)

    def require_complete(self) -> None:
        """Refuse a list that was ended by a time limit."""
        if not self.is_complete:
            raise StatementError(
                f"the list has {self.count:,} extreme points and is not complete: a time limit ended it",
                do="give more time, or solve the program",
            )

    @abstractmethod
    def _best(self, weights: Exact) -> tuple[Fraction, list[Exact]]:
        """The maximum of a linear function, and all points that attain it."""


class StaircasePoints(ExtremePoints):
    """Extreme points of pure privacy, from minimal balanced collections and free rows."""

    @cached_property
    def orbits(self) -> tuple[Orbit, ...]:
        """Classes under permutations of inputs and outputs."""
        n, m = self.shape
        found = []
        # At epsilon = 0 all rows are equal, so one output is used.
        for pattern, images in patterns(n, m if self.ratio > 1 else 1):
            u = len(pattern)
            size = images * math.perm(m, u)
            stabilizer = math.factorial(n) * math.factorial(m) // size
            representative = _place_columns(entries_of(pattern, self.ratio), range(u), (n, m))
            found.append(Orbit(self._exact(representative), size, u, stabilizer, pattern))
        return tuple(found)

    def _entries(self) -> Iterator[Exact]:
        """The distinct row orders of each orbit, with its columns at all outputs."""
        n, m = self.shape
        for orbit in self.orbits:
            for pattern in row_images(orbit.pattern, n):
                values = entries_of(pattern, self.ratio)
                for outputs in permutations(range(m), len(pattern)):
                    yield _place_columns(values, outputs, (n, m))

    def _entry(self, position: int) -> Exact:
        """Find the orbit, the order of its rows and the outputs of its columns."""
        n, m = self.shape
        for orbit in self.orbits:
            if position < orbit.size:
                break
            position -= orbit.size
        rest, outputs = list(range(m)), []
        order, place = divmod(position, math.perm(m, orbit.columns))
        for column in range(orbit.columns):
            which, place = divmod(place, math.perm(m - column - 1, orbit.columns - column - 1))
            outputs.append(rest.pop(which))
        values = entries_of(row_orders(orbit.pattern, n)[order], self.ratio)
        return _place_columns(values, outputs, (n, m))

    def _at(self, point: Exact, ratio: Fraction) -> Exact:
        """Read the levels of each column, which do not depend on the ratio."""
        outputs = [y for y in range(self.shape[1]) if point[0, y]]
        levels = {y: {min(point[:, y]): LOW, min(point[:, y]) * self.ratio: HIGH} for y in outputs}
        pattern = tuple(tuple(levels[y].get(value, FREE) for value in point[:, y]) for y in outputs)
        return _place_columns(entries_of(pattern, ratio), outputs, self.shape)

    def _best(self, weights: Exact) -> tuple[Fraction, list[Exact]]:
        """Score each column at each output, once per row order; the value of a point is then a sum of scores."""
        n, m = self.shape
        floats = np.asarray(weights / (np.abs(weights).max() or 1), float)  # scaled: sums do not overflow
        scale = float(np.abs(floats).sum()) or 1.0
        best, near = -math.inf, []
        for orbit in self.orbits:
            outputs = np.array(list(permutations(range(m), orbit.columns)))
            for pattern in row_images(orbit.pattern, n):
                values = entries_of(pattern, self.ratio)
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

    def __init__(
        self, privacy: Any, shape: tuple[int, int], inputs: Sequence[Hashable], time_limit: float | None = None
    ) -> None:
        super().__init__(privacy, shape, inputs)
        self.time_limit = time_limit

    def _spaces(self, ratio: Fraction) -> Halfspaces:
        """The half-spaces of the notion if ``e**epsilon`` is a given rational."""
        notion = with_epsilon(self.privacy, Budget(f"log({ratio})")) if self.ties.budget else self.privacy
        return halfspaces(notion, *self.shape, inputs=self.inputs)

    @cached_property
    def _found(self) -> tuple[tuple[Exact, ...], bool]:
        """The points, and whether these are all."""
        if math.prod(self.shape) > MAX_ENTRIES:
            raise StatementError(
                f"the extreme points of {self.shape[0]} x {self.shape[1]} channels are too many to list",
                do=f"take at most {MAX_ENTRIES} entries, or pure privacy",
            )
        likely = self._likely_count() if self.time_limit is None else 0
        if likely > MAX_LISTED:
            raise StatementError(
                f"{privacy_text(self.privacy)} has about {likely:.1e} extreme points with {self.shape[0]} reports "
                f"in use{' even at delta = 0' * bool(self.ties.delta)}: more than {MAX_LISTED:,} take too long to list",
                do="take fewer inputs or outputs, or a time limit, within which some of the points are listed",
            )
        spaces, most = self._spaces(self.ratio), MAX_LISTED if self.time_limit is None else MAX_RAYS
        deadline = Deadline.after(self.time_limit)
        found = enumerate_vertices(spaces.coefficients, spaces.bounds, most=most, deadline=deadline)
        return tuple(np.array(spaces.channel(point), dtype=object) for point in found.points), found.is_complete

    @property
    def is_complete(self) -> bool:
        """Whether the list has all extreme points; a time limit may have ended it."""
        return self._found[1]

    def _likely_count(self) -> float:
        """Estimate how many points have an extreme ray of the cone of columns in each of n columns.

        Such a point is a set of n rays with positive weights under which they sum to the vector of ones; a share of
        random sets has them.
        """
        n, m = self.shape
        if m < n or (self.ties.delta and not self.ties.is_complete):
            return 0.0
        rays = rays_of(PureLDP(self.ties.budget) if self.ties.delta else self.privacy, self.inputs)
        columns = np.where(rays.below == ZERO, 0.0, np.exp(-float(rays.budget) * float(rays.unit) * rays.below))
        if len(columns) < n:
            return 0.0
        rng = np.random.default_rng(0)
        sets = columns[[rng.choice(len(columns), n, replace=False) for _ in range(SAMPLED_SETS)]].transpose(0, 2, 1)
        sets = sets[np.abs(np.linalg.det(sets)) > 1e-9]
        weights = np.linalg.solve(sets, np.ones((len(sets), n, 1)))
        share = (weights > 1e-9).all(axis=(1, 2)).sum() / SAMPLED_SETS
        return float(share) * math.comb(len(columns), n) * math.perm(m, n)

    def _entries(self) -> Iterator[Exact]:
        """The points in lexicographic order."""
        return iter(self._found[0])

    def _entry(self, position: int) -> Exact:
        """The point at a position of the list."""
        return self._found[0][position]

    def _best(self, weights: Exact) -> tuple[Fraction, list[Exact]]:
        """Evaluate every point exactly."""
        values = [(weights * entries).sum() for entries in self._entries()]
        top = max(values)
        return top, [e for e, value in zip(self._entries(), values, strict=True) if value == top]

    def _at(self, point: Exact, ratio: Fraction) -> Exact:
        """Solve the tight constraints of the point, with the other ratio."""
        slacks, spaces = self._spaces(self.ratio).slacks(point), self._spaces(ratio)
        tight = [k for k, slack in enumerate(slacks) if not slack]
        found = solve_rows([spaces.coefficients[k] for k in tight], [[spaces.bounds[k]] for k in tight])
        assert found is not None
        return np.array(spaces.channel([value for (value,) in found]), dtype=object)

    @cached_property
    def counts_by_columns(self) -> dict[int, int]:
        """Number of extreme points with one output in use, two outputs, ..."""
        used = [int((vertex != 0).any(axis=0).sum()) for vertex in self._found[0]]
        return {columns: used.count(columns) for columns in sorted(set(used))}

    @cached_property
    def orbits(self) -> tuple[Orbit, ...]:
        """Classes under the permutations of inputs and outputs that preserve the notion."""
        n, m = self.shape
        self.require_complete()
        if max(n, m) > MAX_PERMUTED:
            raise StatementError(
                f"the permutations of {max(n, m)} labels are too many to enumerate",
                do="use the points themselves, or .count",
            )
        relabelings = [order for order in permutations(range(n)) if self._is_symmetry(order)]
        remaining = {tuple(vertex.flat): vertex for vertex in self._found[0]}
        found = []
        while remaining:
            vertex = next(iter(remaining.values()))
            images = {tuple(vertex[list(rows)][:, columns].flat) for rows in relabelings for columns in orders(m)}
            for image in images:
                del remaining[image]
            columns = int((vertex.astype(float).max(axis=0) > 0).sum())
            found.append(
                Orbit(self._exact(vertex), len(images), columns, len(relabelings) * math.factorial(m) // len(images))
            )
        return tuple(sorted(found, key=lambda orbit: orbit.columns))

    def _is_symmetry(self, order: tuple[int, ...]) -> bool:
        """Whether a permutation of the inputs preserves the ties."""
        ties = self.ties
        if ties.first is None or ties.second is None or ties.distance is None:
            return True
        tied = {(int(x), int(k)): float(d) for x, k, d in zip(ties.first, ties.second, ties.distance, strict=True)}
        return all(tied.get((order[x], order[k])) == d for (x, k), d in tied.items())


def extreme_points(
    privacy: Any,
    n: int,
    m: int | None = None,
    *,
    orbits: bool = False,
    inputs: Sequence[Hashable] | None = None,
    time_limit: float | None = None,
) -> ExtremePoints:
    r"""List the extreme points of the polytope of private channels.

    Parameters
    ----------
    privacy : privacy notion
        Entries are exact for ``epsilon = "log(p/q)"``; for a decimal epsilon they are exact as formulas in
        ``a = e**epsilon``, and their Fractions have a rational that is below ``a`` by less than one part in ``2**180``.
        Other distances than whole ones need ``"log(p/q)"``.
    n : int
        Number of inputs.
    m : int, optional
        Number of outputs (default: ``n``).
    orbits : bool
        Compute the orbits now instead of on first use; default: ``False``.
    inputs : sequence of hashable, optional
        Labels in the order of the rows, for a notion with labels (default: a graph's nodes).
    time_limit : float, optional
        Seconds for the list of another notion than pure privacy, which then has the points that are found by then;
        default: none, and lists of more than about 12 000 points are refused.

    Returns
    -------
    ExtremePoints
        A sequence of the exact points, with counts, orbits, and the best of them for a problem.

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
    points: ExtremePoints
    if ties.is_complete and not ties.delta:
        points = StaircasePoints(privacy, (n, m), labels)
    else:
        points = ListedPoints(privacy, (n, m), labels, time_limit)
    if orbits:
        _ = points.orbits
    return points


def require_extreme_optimum(problem: Problem) -> Float:
    """Return the prior of a problem; one whose optimum need not be an extreme point is refused."""
    if problem.prior is None or problem.constraints:
        raise NotRepresentableError(
            "with a worst case or a side constraint the optimum need not be an extreme point", do="solve the program"
        )
    return problem.prior


def _place_columns(values: Exact, outputs: Sequence[int], shape: tuple[int, int]) -> Exact:
    """Return a channel with these columns at these outputs, and zeros at the others."""
    matrix = np.full(shape, Fraction(0), dtype=object)
    matrix[:, list(outputs)] = values
    return matrix
