"""Extreme points of the polytope of private channels, exactly.

For pure privacy an entry of a column is low, high (``e**epsilon`` times as large) or *free*; a row
has at most one free entry, and the others form a minimal balanced collection. Those of other
notions are listed by double description.
"""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.display import privacy_text
from ldpopt.foundation.numbers import positive_seconds, require_memory, truth, whole_number
from ldpopt.polytope import staircase
from ldpopt.polytope.halfspaces import (
    Halfspaces,
    compared_halfspaces,
    halfspaces,
    read_inputs,
    require_polytope,
)
from ldpopt.polytope.points import ExtremePoints, Orbit, meaning
from ldpopt.privacy import Comparisons, PureLDP
from ldpopt.privacy.cones.columns import RayList
from ldpopt.privacy.cones.double_description import MAX_RAYS, enumerate_vertices, solve_rows
from ldpopt.privacy.cones.rays import rays_of
from ldpopt.privacy.notion import with_epsilon

MAX_ENTRIES = 64  # largest number of entries of a channel for the double description method
# largest number of rays, and of expected points, for a list without a time limit: about a minute
MAX_LISTED = 12_000
SAMPLED_SETS = 4000  # random sets of extreme rays from which the number of points is estimated
# measured for pure privacy, by inputs and reports in use
SECONDS = {(8, 3): 10.0, (6, 5): 20.0, (6, 6): 160.0}
# largest number of inputs or outputs for orbits, which are found by trying all permutations
MAX_PERMUTED = 8


class StaircasePoints(ExtremePoints):
    """Extreme points of pure privacy, from minimal balanced collections and free rows."""

    @cached_property
    def orbits(self) -> tuple[Orbit, ...]:
        """Classes under permutations of inputs and outputs."""
        n, m = self.shape
        orbits = []
        # At epsilon = 0 all rows are equal, so one output is used.
        for pattern, images in staircase.patterns(n, m if self.ratio > 1 else 1):
            u = len(pattern)
            size = images * math.perm(m, u)
            stabilizer = math.factorial(n) * math.factorial(m) // size
            representative = _place_columns(
                staircase.entries_of(pattern, self.ratio), range(u), (n, m)
            )
            orbits.append(Orbit(self._exact(representative), size, u, stabilizer, pattern))
        return tuple(orbits)

    def _entries(self) -> Iterator[staircase.Exact]:
        """The distinct row orders of each orbit, with its columns at all outputs."""
        n, m = self.shape
        for orbit in self.orbits:
            for pattern in staircase.row_orders(orbit.pattern, n):
                values = staircase.entries_of(pattern, self.ratio)
                for outputs in permutations(range(m), len(pattern)):
                    yield _place_columns(values, outputs, (n, m))

    def _entry(self, position: int) -> staircase.Exact:
        """Find the orbit, the order of its rows and the outputs of its columns."""
        n, m = self.shape
        for orbit in self.orbits:
            if position < orbit.size:
                break
            position -= orbit.size
        unused = list(range(m))
        outputs = []
        order, place = divmod(position, math.perm(m, orbit.columns))
        for column in range(orbit.columns):
            which, place = divmod(place, math.perm(m - column - 1, orbit.columns - column - 1))
            outputs.append(unused.pop(which))
        values = staircase.entries_of(staircase.row_orders(orbit.pattern, n)[order], self.ratio)
        return _place_columns(values, outputs, (n, m))

    def _at(self, point: staircase.Exact, ratio: Fraction) -> staircase.Exact:
        """Read the levels of each column, which do not depend on the ratio."""
        outputs = [y for y in range(self.shape[1]) if point[0, y]]
        levels = {
            y: {min(point[:, y]): staircase.LOW, min(point[:, y]) * self.ratio: staircase.HIGH}
            for y in outputs
        }
        pattern = tuple(
            tuple(levels[y].get(value, staircase.FREE) for value in point[:, y]) for y in outputs
        )
        return _place_columns(staircase.entries_of(pattern, ratio), outputs, self.shape)

    def _best(self, weights: staircase.Exact) -> tuple[Fraction, list[staircase.Exact]]:
        """Score each column at each output, once per row order; the value of a point is then a sum
        of scores.
        """
        n, m = self.shape
        # scaled: sums do not overflow
        floats = np.asarray(weights / (np.abs(weights).max() or 1), float)
        scale = float(np.abs(floats).sum()) or 1.0
        best = -math.inf
        near = []
        for orbit in self.orbits:
            outputs = np.array(list(permutations(range(m), orbit.columns)))
            for pattern in staircase.row_orders(orbit.pattern, n):
                values = staircase.entries_of(pattern, self.ratio)
                scores = values.astype(float).T @ floats
                totals = scores[np.arange(orbit.columns), outputs].sum(axis=1)
                best = max(best, float(totals.max()))
                near += [
                    (totals[k], values, tuple(outputs[k]))
                    for k in np.flatnonzero(totals > best - 1e-9 * scale)
                ]
        exact = [
            (
                sum((weights[:, y] * values[:, j]).sum() for j, y in enumerate(chosen)),
                values,
                chosen,
            )
            for total, values, chosen in near
            if total > best - 1e-9 * scale
        ]
        top = max(value for value, _, _ in exact)
        return top, [
            _place_columns(values, chosen, (n, m))
            for value, values, chosen in exact
            if value == top
        ]


class ListedPoints(ExtremePoints):
    """Extreme points of any other notion of mutual ties, by the double description method."""

    def __init__(
        self,
        privacy: Any,
        shape: tuple[int, int],
        inputs: Sequence[Hashable],
        time_limit: float | None = None,
    ) -> None:
        super().__init__(privacy, shape, inputs)
        self.time_limit = time_limit
        if time_limit is not None:
            self.forecast = f"the extreme points are listed for at most {time_limit:g} s"
        elif math.prod(shape) <= MAX_ENTRIES and 1000 < self._likely_count <= MAX_LISTED:
            self.forecast = (
                f"about {self._likely_count:,.0f} extreme points have {shape[0]} "
                "reports: up to a minute"
            )

    def spaces_at(self, ratio: Fraction) -> Halfspaces:
        """The half-spaces of the notion if ``e**epsilon`` is a given rational."""
        notion = (
            with_epsilon(self.privacy, Budget(f"log({ratio})"))
            if self.ties is not None and self.ties.budget
            else self.privacy
        )
        return halfspaces(notion, *self.shape, inputs=self.inputs)

    @cached_property
    def _found(self) -> tuple[tuple[staircase.Exact, ...], bool]:
        """The points, and whether these are all."""
        if math.prod(self.shape) > MAX_ENTRIES:
            problem = (
                f"the extreme points of {self.shape[0]} x {self.shape[1]} channels are too "
                "many to list"
            )
            raise StatementError(problem, do=f"take at most {MAX_ENTRIES} entries, or pure privacy")
        likely = self._likely_count if self.time_limit is None else 0
        if likely > MAX_LISTED:
            raise StatementError(
                f"{privacy_text(self.privacy)} has about {likely:.1e} extreme points with "
                f"{self.shape[0]} reports "
                f"in use{' even at delta = 0' * self._has_delta}: more than {MAX_LISTED:,} "
                "take too long to list",
                code="many-points",
                do="take fewer inputs or outputs, or list some of them within a time limit, such "
                "as 60 seconds",
            )
        spaces = self.spaces_at(self.ratio)
        most = MAX_LISTED if self.time_limit is None else MAX_RAYS
        deadline = Deadline.after(self.time_limit)
        points, is_complete = enumerate_vertices(
            spaces.coefficients, spaces.bounds, most=most, deadline=deadline
        )
        return tuple(np.array(spaces.channel(point), dtype=object) for point in points), is_complete

    @property
    def is_complete(self) -> bool:
        """Whether the list has all extreme points; a time limit may have ended it."""
        return self._found[1]

    @cached_property
    def _likely_count(self) -> float:
        """Estimated number of points: sets of n extreme rays with positive weights that make their
        sum constant.
        """
        n, m = self.shape
        if m < n or (rays := self._likely_rays) is None:
            return 0.0
        columns = rays.columns.vectors
        if len(columns) < n:
            return 0.0
        rng = np.random.default_rng(0)
        sets = columns[
            [rng.choice(len(columns), n, replace=False) for _ in range(SAMPLED_SETS)]
        ].transpose(0, 2, 1)
        sets = sets[np.abs(np.linalg.det(sets)) > 1e-9]
        weights = np.linalg.solve(sets, np.ones((len(sets), n, 1)))
        share = (weights > 1e-9).all(axis=(1, 2)).sum() / SAMPLED_SETS
        return float(share) * math.comb(len(columns), n) * math.perm(m, n)

    @property
    def _has_delta(self) -> bool:
        """Whether the notion has a delta."""
        return self.ties is not None and bool(self.ties.delta)

    @property
    def _likely_rays(self) -> RayList | None:
        """Extreme rays for the estimate; with a delta those without, None if they are not known."""
        if self.ties is None or not self.ties.delta:
            return rays_of(self.privacy, self.inputs)
        return rays_of(PureLDP(self.ties.budget), self.inputs) if self.ties.is_complete else None

    def _entries(self) -> Iterator[staircase.Exact]:
        """The points in lexicographic order."""
        return iter(self._found[0])

    def _entry(self, position: int) -> staircase.Exact:
        """The point at a position of the list."""
        return self._found[0][position]

    def _best(self, weights: staircase.Exact) -> tuple[Fraction, list[staircase.Exact]]:
        """Evaluate every point exactly."""
        values = [(weights * entries).sum() for entries in self._entries()]
        top = max(values)
        return top, [e for e, value in zip(self._entries(), values, strict=True) if value == top]

    def _at(self, point: staircase.Exact, ratio: Fraction) -> staircase.Exact:
        """Solve the tight constraints of the point, with the other ratio."""
        slacks = self.spaces_at(self.ratio).slacks(point)
        spaces = self.spaces_at(ratio)
        tight = [k for k, slack in enumerate(slacks) if not slack]
        solution = solve_rows(
            [spaces.coefficients[k] for k in tight], [[spaces.bounds[k]] for k in tight]
        )
        assert solution is not None
        return np.array(spaces.channel([value for (value,) in solution]), dtype=object)

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
            problem = f"the permutations of {max(n, m)} labels are too many to enumerate"
            raise StatementError(problem, do="use the points themselves, or .count")
        relabelings = [order for order in permutations(range(n)) if self._is_symmetry(order)]
        remaining = {tuple(vertex.flat): vertex for vertex in self._found[0]}
        orbits = []
        while remaining:
            vertex = next(iter(remaining.values()))
            images = {
                tuple(vertex[list(rows)][:, order].flat)
                for rows in relabelings
                for order in staircase.orders(m)
            }
            for image in images:
                del remaining[image]
            columns = int((vertex.astype(float).max(axis=0) > 0).sum())
            stabilizer = len(relabelings) * math.factorial(m) // len(images)
            orbits.append(Orbit(self._exact(vertex), len(images), columns, stabilizer))
        return tuple(sorted(orbits, key=lambda orbit: orbit.columns))

    def _is_symmetry(self, order: tuple[int, ...]) -> bool:
        """Whether a permutation of the inputs preserves the ties."""
        ties = self.ties
        assert ties is not None
        if ties.first is None or ties.second is None or ties.distance is None:
            return True
        tied = {
            (int(x), int(k)): float(d)
            for x, k, d in zip(ties.first, ties.second, ties.distance, strict=True)
        }
        return all(tied.get((order[x], order[k])) == d for (x, k), d in tied.items())


class ComparedPoints(ListedPoints):
    """Extreme points of a notion that compares averages, by the double description method.

    Columns of a point lie inside faces of the cone of columns; they need not be extreme rays.
    """

    def spaces_at(self, ratio: Fraction) -> Halfspaces:
        """The half-spaces of the notion, whose budgets are its own."""
        assert isinstance(self.form, Comparisons)
        return compared_halfspaces(self.form, self.shape[1])

    def _at(self, point: staircase.Exact, ratio: Fraction) -> staircase.Exact:
        """Refused: entries are numbers, and no formulas in one ratio."""
        raise NotRepresentableError(
            "entries under this notion are no formulas in one ratio",
            code="formula",
            do="use the entries, which are fractions",
        )

    def _is_symmetry(self, order: tuple[int, ...]) -> bool:
        """Whether a permutation of the inputs preserves the comparisons."""
        form = self.form
        assert isinstance(form, Comparisons)
        moved = [
            [{order[x]: w for x, w in part.items()} for part in side]
            for side in (form.over, form.under)
        ]
        permuted = replace(form, over=tuple(moved[0]), under=tuple(moved[1]))
        return bool(meaning(permuted) == meaning(form))


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
        One with the same condition for every report. Entries are exact for ``epsilon =
        "log(p/q)"``; for a decimal epsilon they are exact as formulas in ``a = e**epsilon``, and
        their Fractions have a rational that is below ``a`` by less than one part in ``2**180``.
        Other distances than whole ones need ``"log(p/q)"``. Under notions that compare averages,
        such as PML, or pairs in one direction, entries are such Fractions without formulas.
    n : int
        Number of inputs.
    m : int, optional
        Number of outputs (default: ``n``).
    orbits : bool
        Compute the orbits now instead of on first use; default: ``False``.
    inputs : sequence of hashable, optional
        Labels in the order of the rows, for a notion with labels (default: a graph's nodes).
    time_limit : float, optional
        Seconds for the list of another notion than pure privacy, which then has the points that are
        found by then; default: none, and lists of more than about 12 000 points are refused. For
        pure privacy a list that is known to take longer is refused.

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
    Pure privacy: complete, for ``n <= 6`` and any ``m`` (``n <= 8`` if ``m <= 3``); the number does
    not depend on ``epsilon > 0`` (docs, "Extreme points"). For ``n = m = 5`` there are 150 425
    points with two levels in every column, and 14 400 with a free entry.

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
    orbits = truth(orbits, "orbits")
    time_limit = positive_seconds(time_limit)
    require_memory(512.0 * n * m, f"one extreme point of {n} inputs and {m} outputs")
    labels = read_inputs(privacy, n, inputs)
    form = require_polytope(privacy, labels)
    points: ExtremePoints
    if isinstance(form, Comparisons):
        points = ComparedPoints(privacy, (n, m), labels, time_limit)
    elif form.is_complete and not form.delta:
        points = StaircasePoints(privacy, (n, m), labels)
        seconds = SECONDS.get((n, min(n, m)), 0.0)
        if time_limit is not None and time_limit < seconds:
            needed = f"about {seconds:g} s, more than {time_limit:g} s"
            problem = f"the extreme points of {n} inputs and {m} outputs take {needed}"
            raise StatementError(
                problem, code="time-limit", do="give more seconds, or take fewer inputs or outputs"
            )
        points.forecast = f"the extreme points take about {seconds:g} s" if seconds else ""
    else:
        points = ListedPoints(privacy, (n, m), labels, time_limit)
    if orbits:
        _ = points.orbits
    return points


def _place_columns(
    values: staircase.Exact, outputs: Sequence[int], shape: tuple[int, int]
) -> staircase.Exact:
    """Return a channel with these columns at these outputs, and zeros at the others."""
    matrix = np.full(shape, Fraction(0), dtype=object)
    matrix[:, list(outputs)] = values
    return matrix
