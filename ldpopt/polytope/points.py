"""Extreme points as objects: one point with its formula, its class under permutations, and the
sequence of all.

The entries of an extreme point are fractions of polynomials in ``a = e**epsilon`` with whole
coefficients. Its square system is solved in rationals with a huge integer in place of ``a``; then
the digits of numerators and denominators in this base are the coefficients.
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
from itertools import islice
from typing import Any, overload

import numpy as np

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation import optional
from ldpopt.foundation.display import Facts, HasFacts, Part, Table, label, privacy_text
from ldpopt.foundation.labelled import positions_of, same_labels
from ldpopt.foundation.numbers import (
    Float,
    Int,
    is_whole,
    require_function,
    require_kind,
    require_memory,
    short_repr,
    truth,
)
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair
from ldpopt.polytope.halfspaces import require_polytope
from ldpopt.polytope.staircase import Exact, Pattern
from ldpopt.privacy import Comparisons, Ties
from ldpopt.problem.problem import Problem

MAX_SHOWN_ORBITS = 20  # largest number of orbits that are shown
MAX_SHOWN_POINTS = 3  # largest number of points in the text of a list
# Number in place of ``a``: without a remainder modulo small primes, so that few fractions can be
# reduced by chance
BASE = math.lcm(*range(1, 400))
BASES = 12  # bases that are tried, from `BASE` on


class ExtremePoint(np.ndarray[Any, np.dtype[np.object_]]):
    """An extreme point: an array of Fractions, shape (n, m), that is displayed as its formula."""

    points: ExtremePoints | None = None

    @property
    def formula(self) -> str:
        """The entries as expressions in ``a = e**epsilon``, row by row; four digits if they need
        roots of ``a``.
        """
        points = self.points
        return (
            repr(self.view(np.ndarray))
            if points is None
            else formula_of(self, points.ratio, points._at)
        )

    def __repr__(self) -> str:
        return self.formula

    __str__ = __repr__


@dataclass(frozen=True, eq=False)
class Orbit:
    """Extreme points that are equal up to permutations of inputs and outputs.

    Attributes
    ----------
    representative : ExtremePoint, shape (n, m)
        One of them; ``representative.formula`` is its text.
    columns : int
        Number of outputs in use.
    stabilizer : int
        Permutations of inputs and outputs that leave the representative unchanged; ``size *
        stabilizer == n! m!``.
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
        In the utility's unit; floats of prior and utility are read exactly. For a decimal epsilon
        it is the value at a rational that is below ``e**epsilon`` by less than one part in
        ``2**180``.
    vertices : tuple of ExtremePoint
        All optimal extreme points; the optimal face is their convex hull.
    mechanism : Mechanism
        Their average, inside that face, rounded to masses that are exactly private.
    """

    value: Fraction
    vertices: tuple[ExtremePoint, ...]
    mechanism: Mechanism

    def __repr__(self) -> str:
        more = ", ..." if len(self.vertices) > MAX_SHOWN_POINTS else ""
        shown = ", ".join(map(str, self.vertices[:MAX_SHOWN_POINTS]))
        return (
            f"Best({float(self.value):.9g} at {len(self.vertices)} of the extreme points: "
            f"{shown}{more})"
        )

    @property
    def is_unique(self) -> bool:
        """Whether exactly one extreme point is optimal."""
        return len(self.vertices) == 1


class ExtremePoints(HasFacts, ABC):
    """All extreme points of the channels that a notion allows, as a sequence of exact channels.

    Attributes
    ----------
    ties : Ties
        Pairs of inputs that the notion compares.
    ratio : Fraction
        ``e**epsilon``; for a decimal epsilon a rational that is below it by less than one part in
        ``2**180``.
    forecast : str
        What is known of a long list before it is computed: likely number and time; else empty.

    Examples
    --------
    >>> from ldpopt import PureLDP, extreme_points
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

    forecast = ""

    def __init__(self, privacy: Any, shape: tuple[int, int], inputs: Sequence[Hashable]) -> None:
        self.privacy = privacy
        self.shape = shape
        self.inputs = tuple(inputs)
        self.form = require_polytope(privacy, self.inputs)
        # of a notion with several budgets there is no ratio for formulas
        ties = self.ties
        self.ratio = Fraction(1) if ties is None else ties.budget.enclosure()[0]

    @property
    def ties(self) -> Ties | None:
        """Mutual ties of the notion; None if it compares averages."""
        return self.form if isinstance(self.form, Ties) else None

    def __repr__(self) -> str:
        more = ["..."] if self.count > MAX_SHOWN_POINTS else []
        return "\n  ".join([self._title(), *map(str, islice(self, MAX_SHOWN_POINTS)), *more])

    def _title(self) -> str:
        first, *others = self.counts_by_columns.items() or [(1, 0)]
        counts = [f"{first[1]:,} with {first[0]} report{'s' if first[0] > 1 else ''} in use"]
        counts += [f"{count:,} with {columns}" for columns, count in others]
        problem = (
            f"{'' if self.is_complete else 'at least '}{self.count:,} extreme "
            f"point{'s' * (self.count != 1)}"
        )
        return (
            f"{problem} of {privacy_text(self.privacy)}, {self.shape[0]} x {self.shape[1]}: "
            f"{', '.join(counts)}"
        )

    def __len__(self) -> int:
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
        if not is_whole(place):
            raise StatementError(
                f"{short_repr(place)} is not a position among the extreme points",
                code="point-position",
                do=f"give a whole number below {self.count}, or a slice of them",
            )
        position = operator.index(place)
        if not -self.count <= position < self.count:
            raise IndexError(
                f"there are {self.count:,} extreme points, and none has the position {position}"
            )
        return self._exact(self._entry(position % self.count))

    def iterate(self, progress: Callable[[int, int], None] | None = None) -> Iterator[ExtremePoint]:
        """Yield every extreme point once; ``progress(done, total)`` is called about a thousand
        times in all.
        """
        if progress is not None:
            require_function(progress, "progress")
        total = self.count
        step = max(1, total // 1000)
        for done, point in enumerate(self, start=1):
            yield point
            if progress is not None and (done % step == 0 or done == total):
                progress(done, total)

    def to_frame(self, *, formulas: bool = False) -> optional.pandas.DataFrame:
        """Return a table with a row for each point: the reports in use, and the entries ``P(x,y)``
        in floats.

        With ``formulas`` a last column has the formulas, at about a millisecond for each point.
        """
        formulas = truth(formulas, "formulas")
        n, m = self.shape
        require_memory(24.0 * n * m * self.count, f"a table of {self.count:,} extreme points")
        names = [f"P({label(x)},{y})" for x in self.inputs for y in range(m)]
        rows = np.array([entries.astype(float).ravel() for entries in self._entries()])
        table = optional.pandas.DataFrame(rows.reshape(-1, n * m), columns=names)
        table.insert(0, "in use", (rows.reshape(-1, n, m) > 0).any(axis=1).sum(axis=1))
        return table.assign(formula=list(map(str, self))) if formulas else table

    def column_counts(self) -> dict[tuple[Fraction, ...], int]:
        """Number of points that have each column, divided by its largest entry; the most frequent
        columns first.
        """
        counts: Counter[tuple[Fraction, ...]] = Counter()
        for entries in self._entries():
            for column in {tuple(column) for column in entries.T if any(column)}:
                counts[tuple(value / max(column) for value in column)] += 1
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def facts(self, *, fractions: bool = False) -> Facts:
        """Number of extreme points by the number of reports in use, and one representative of each
        orbit.

        Its entries are formulas, or exact ``fractions``.
        """
        counts = [*self.counts_by_columns.items(), ("all", self.count)]
        parts: list[Part] = [Table(["reports in use", "extreme points"], counts)]
        if not self.is_complete:
            return Facts(
                self._title(),
                [*parts, "the time limit ended the list: these are not all extreme points"],
            )
        fractions = truth(fractions, "fractions")
        orbits = self.orbits[:MAX_SHOWN_ORBITS]
        rows: list[list[Any]] = []
        for orbit in orbits:
            exact = "; ".join(" ".join(map(str, row)) for row in orbit.representative.tolist())
            rows.append(
                [
                    str(orbit.columns),
                    orbit.size,
                    f"[{exact}]" if fractions else orbit.representative.formula,
                ]
            )
        title = f"{len(self.orbits):,} orbits under permutations"
        headings = ["in use", "size", "representative: its rows, which end with semicolons"]
        parts.append(Table(headings, rows, title, words=headings[2:]))
        if len(orbits) < len(self.orbits):
            parts.append(f"and {len(self.orbits) - len(orbits)} orbits more")
        if any("a" in row[-1] for row in rows):
            parts.append(f"a = e^epsilon = {float(self.ratio):.6g}")
        return Facts(self._title(), parts)

    def _exact(self, entries: Exact) -> ExtremePoint:
        """A point of this list from its exact entries."""
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
        counts: Counter[int] = Counter()
        for orbit in self.orbits:
            counts[orbit.columns] += orbit.size
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
        """Evaluate a problem at every extreme point: value and optimal face, in rationals.

        Parameters
        ----------
        problem : Problem
            Of the same notion and size, with an expected objective, no side constraints: an extreme
            point is optimal. Inputs are aligned by label; points of a notion without labels have
            them by position.

        Returns
        -------
        Best
            Value and optimal face, in rationals.

        Raises
        ------
        StatementError
            If sizes, notions or labels differ, or a time limit ended the list.
        NotRepresentableError
            If the optimum need not be an extreme point (a worst case, a side constraint).
        """
        require_kind(problem, Problem, "best()")
        if problem.utility.shape != self.shape:
            fault = f"the problem is {problem.utility.shape}, the extreme points are {self.shape}"
            raise StatementError(
                fault, code="shape", do="list the extreme points of the problem's size"
            )
        self.require_complete()
        rows = zip(
            require_extreme_optimum(problem).tolist(), problem.utility.matrix.tolist(), strict=True
        )
        order = self._order(problem)
        weights = np.array([[Fraction(p) * Fraction(g) for g in row] for p, row in rows])[order]
        sign = 1 if problem.utility.sense == "gain" else -1
        value, vertices = self._best(weights * sign)
        average = np.sum(np.array(vertices), axis=0) / Fraction(len(vertices))
        channel = average[np.argsort(order)].astype(float)
        fixed = repair(channel, problem.privacy, inputs=problem.inputs, outputs=problem.outputs)
        return Best(value * sign, tuple(map(self._exact, vertices)), fixed.mechanism)

    def _order(self, problem: Problem) -> Int:
        """Position in the problem of the input of each row, shape (n,); another notion is
        refused.
        """
        has_labels = self.inputs != tuple(range(self.shape[0])) or same_labels(
            self.inputs, problem.inputs
        )
        labels = self.inputs if has_labels else problem.inputs
        order = positions_of(problem.inputs, labels, "problem", "input of the extreme points")
        if meaning(self.form) != meaning(require_polytope(problem.privacy, labels)):
            fault = (
                f"the problem has {problem.privacy!r}, the extreme points are those of "
                f"{self.privacy!r}"
            )
            raise StatementError(
                fault, code="notion", do="list the extreme points of the problem's notion"
            )
        return order

    def require_complete(self) -> None:
        """Refuse a list that was ended by a time limit."""
        if not self.is_complete:
            problem = (
                f"the list has {self.count:,} extreme points and is not complete: a time "
                "limit ended it"
            )
            raise StatementError(
                problem, code="time-limit", do="give more time, or solve the program"
            )

    @abstractmethod
    def _best(self, weights: Exact) -> tuple[Fraction, list[Exact]]:
        """The maximum of a linear function, and all points that attain it."""


def meaning(form: Ties | Comparisons) -> Any:
    """What two notions have in common that allow the same channels by the same conditions."""
    if isinstance(form, Ties):
        return form.budget.enclosure(), form.delta, form.is_shared, form.distances()
    parts = zip(form.over, form.under, form.enclosures, strict=True)
    return sorted((sorted(v.items()), sorted(u.items()), ends) for v, u, ends in parts)


def require_extreme_optimum(problem: Problem) -> Float:
    """Return the prior of a problem; one whose optimum need not be an extreme point is refused."""
    if problem.prior is None or problem.constraints:
        fault = "with a worst case or a side constraint the optimum need not be an extreme point"
        raise NotRepresentableError(fault, do="solve the program")
    return problem.prior


def formula_of(point: Exact, ratio: Fraction, at: Callable[[Exact, Fraction], Exact]) -> str:
    """Write an extreme point over a common denominator, from its points ``at`` other ratios; else
    with four digits.
    """
    try:
        tables = (
            _polynomials(at(point, Fraction(base)), base) for base in range(BASE, BASE + BASES)
        )
        numerators, below = next(table for table in tables if table is not None)
        pairs = zip(numerators.ravel().tolist(), point.ravel().tolist(), strict=True)
        is_exact = all(
            _value(above, ratio) == value * _value(below, ratio) for above, value in pairs
        )
    except (StopIteration, StatementError, NotRepresentableError):
        is_exact = False
    if not is_exact:
        return (
            "["
            + "; ".join(" ".join(f"{float(v):.4g}" for v in row) for row in point.tolist())
            + "]"
        )
    rows = "; ".join(" ".join(map(_text, row)) for row in numerators.tolist())
    divisor = _text(below)
    return f"[{rows}]" + (
        "" if divisor == "1" else f" / ({divisor})" if len(below) > 1 else f" / {divisor}"
    )


def _polynomials(entries: Exact, base: int) -> tuple[Exact, tuple[int, ...]] | None:
    """Coefficients of numerators, shape (n, m), and of their denominator, lowest first; None if
    some are large.
    """
    below = math.lcm(*(value.denominator for value in entries.ravel().tolist()))
    table = np.empty(entries.shape, dtype=object)
    for place, value in np.ndenumerate(entries):
        table[place] = _digits(int(value * below), base)
    every = [*table.flat, _digits(below, base)]
    return (
        (table, every[-1])
        if all(abs(digit) ** 3 < base for digits in every for digit in digits)
        else None
    )


def _digits(value: int, base: int) -> tuple[int, ...]:
    """Digits of an integer from ``-base/2`` to ``base/2``, lowest first."""
    digits = []
    while value:
        digit = (value + base // 2) % base - base // 2
        digits.append(digit)
        value = (value - digit) // base
    return tuple(digits)


def _value(coefficients: Sequence[int], ratio: Fraction) -> Fraction:
    return sum((digit * ratio**power for power, digit in enumerate(coefficients)), Fraction(0))


def _text(coefficients: Sequence[int]) -> str:
    """A polynomial in ``a``, highest power first."""
    terms = []
    for power, digit in reversed(list(enumerate(coefficients))):
        letter = "" if power == 0 else "a" if power == 1 else f"a^{power}"
        size = str(abs(digit)) if abs(digit) != 1 or not power else ""
        terms += [("-" if digit < 0 else "+") + size + letter] * (digit != 0)
    return "".join(terms).removeprefix("+") or "0"
