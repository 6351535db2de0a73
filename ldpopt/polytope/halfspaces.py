r"""The polytope of a notion's private channels as exact half-spaces.

The last entry of each row is eliminated, :math:`P_{x,m-1} = 1 - \sum_{y<m-1} P_{xy}`. In the
remaining ``n (m - 1)`` coordinates the polytope has an interior.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import Names
from ldpopt.foundation.numbers import listed_items, short_repr
from ldpopt.privacy import Comparisons, Notion, TiedNotion, Ties
from ldpopt.privacy.cones.double_description import Channel, Point
from ldpopt.privacy.cones.exact_rays import lowered_ratios
from ldpopt.privacy.notion import known_notions
from ldpopt.privacy.ties import no_rows

MAX_ROWS = 100_000  # largest number of rows between inputs
# largest denominator of a distance for which a rational power of ``e**epsilon`` is computed
MAX_ROOT_DEGREE = 64


@dataclass(frozen=True)
class Tie:
    r"""One ordered pair of inputs, :math:`P(x, S) \le \mathrm{factor} \cdot P(x', S) + \delta`."""

    first: int
    second: int
    factor: Fraction


@dataclass(frozen=True)
class Halfspaces:
    r"""Rows :math:`a \cdot x \le b` with rational coefficients over the first ``m - 1`` entries of
    each input's row.
    """

    n: int  # number of inputs
    m: int  # number of outputs
    ties: tuple[Tie, ...]  # pairs of inputs that the notion compares, with the exact factor of each
    delta: Fraction  # slack of the notion
    # a; coordinate ``x (m - 1) + y`` is ``P[x, y]``; shape (rows, n (m - 1))
    coefficients: tuple[Point, ...]
    bounds: Point  # b, shape (rows,)

    def channel(self, point: Sequence[Fraction]) -> Channel:
        """Restore the full (n, m) matrix from the coordinates of a point."""
        width = self.m - 1
        rows = (tuple(point[x * width : (x + 1) * width]) for x in range(self.n))
        return tuple((*row, 1 - sum(row, Fraction(0))) for row in rows)

    def point(self, channel: Any) -> Point:
        """Drop the last entry of each row of a channel whose rows sum to 1 exactly."""
        return tuple(Fraction(v) for row in channel for v in row[:-1])

    def slacks(self, channel: Any) -> Point:
        """Return the slack of each row, ``b - a . x``; negative if the row is violated."""
        point = self.point(channel)
        return tuple(
            b - sum((a * v for a, v in zip(row, point, strict=True) if a), Fraction(0))
            for row, b in zip(self.coefficients, self.bounds, strict=True)
        )


def halfspaces(
    privacy: Notion, n: int, m: int | None = None, *, inputs: Names | None = None
) -> Halfspaces:
    r"""Write a notion's polytope of channels as exact half-spaces.

    The notion needs a rational :math:`e^{\epsilon}`, given as ``"log(p/q)"``. Its delta is read as
    the decimal that it prints: 0.1 is 1/10. If this exceeds the float (as 0.3 does), an extreme
    point may exceed it by less than 1e-16.
    """
    m = n if m is None else m
    form = require_mutual(privacy, read_inputs(privacy, n, inputs))
    delta = Fraction(str(form.delta))
    ties = tuple(_exact_ties(form))
    if ties and not delta and all(tie.factor == 1 for tie in ties):
        problem = "epsilon = delta = 0: the polytope has no interior"
        raise StatementError(
            problem,
            code="interior",
            do=f"take a positive epsilon; at 0 the extreme points are the {m} constant channels",
        )
    events = _events(m, is_shared=form.is_shared)
    if len(ties) * len(events) > MAX_ROWS:
        raise no_rows("the polytope", len(ties) * len(events))
    rows = []
    for tie, event in product(ties, events):
        entries = {(tie.first, y): Fraction(1) for y in event} | {
            (tie.second, y): -tie.factor for y in event
        }
        rows.append(_row(entries, n, m))
    bounds = [bound + delta for _, bound in rows]
    # an input that is tied both ways has no negative entries anyway
    if delta or len({tie.first for tie in ties}) < n:
        signs = [_row({(x, y): Fraction(-1)}, n, m) for x in range(n) for y in range(m)]
        rows, bounds = rows + signs, bounds + [bound for _, bound in signs]
    return Halfspaces(n, m, ties, delta, tuple(row for row, _ in rows), tuple(bounds))


def read_inputs(privacy: Any, n: int, inputs: Names | None) -> tuple[Hashable, ...]:
    """Return labels in the order of the rows: those given, or those of the notion, or 0, 1, 2,
    ...
    """
    alphabet = privacy.alphabet if isinstance(privacy, Notion) else None
    known = alphabet if inputs is None else tuple(listed_items(inputs, "inputs"))
    names: tuple[Hashable, ...] = tuple(range(n)) if known is None else known
    if len(names) != n:
        raise StatementError(
            f"there are {len(names)} labels for {n} inputs",
            code="labels",
            do="give one label for each input",
        )
    return names


def require_mutual(privacy: Any, inputs: tuple[Hashable, ...]) -> Ties:
    """Return the ties of a notion; a notion that does not tie each pair both ways, for every
    report, raises.
    """
    if isinstance(privacy, type) or not isinstance(privacy, TiedNotion):
        problem = f"{short_repr(privacy)} is not a notion with ties"
        raise StatementError(problem, code="notion", do=known_notions(TiedNotion))
    ties = privacy.ties(inputs)
    if not ties.is_mutual:
        problem = (
            "extreme points need a notion that ties pairs both ways, for every report; "
            f"{privacy!r} does not"
        )
        raise NotRepresentableError(
            problem, code="one-way-ties", do="solve the program instead, or take another notion"
        )
    return ties


def require_polytope(privacy: Any, inputs: tuple[Hashable, ...]) -> Ties | Comparisons:
    """Return the mutual ties of a notion, or the comparisons of another one.

    Refused are notions whose channels are no polytope of their own: those that give some reports to
    one answer, and those that are neither.
    """
    if isinstance(privacy, type) or not isinstance(privacy, Notion):
        problem = f"{short_repr(privacy)} is not a privacy notion"
        raise StatementError(problem, code="notion", do=known_notions())
    ties = privacy.ties(inputs)
    if ties is not None and ties.is_mutual:
        return ties
    compared = privacy.comparisons(inputs)
    if compared is None or compared.units:
        why = "depends on all of them" if compared is None else "depends on whose report it is"
        raise NotRepresentableError(
            f"extreme points need a notion with one condition for every report; under {privacy!r} "
            f"it {why}",
            code="one-condition",
            do="solve the program instead, or take another notion",
        )
    return compared


def compared_halfspaces(comparisons: Comparisons, m: int) -> Halfspaces:
    r"""Write the polytope of the channels that satisfy comparisons of averages.

    :math:`e^{\epsilon}` is replaced by a rational below it where it is not one.
    """
    outputs = range(m)
    rows = [
        _row({(x, y): Fraction(-1)}, comparisons.n, m)
        for x in range(comparisons.n)
        for y in outputs
    ]
    ratios = lowered_ratios(comparisons)
    for ratio, over, under in zip(ratios, comparisons.over, comparisons.under, strict=True):
        weights = {
            x: over.get(x, Fraction(0)) - ratio * under.get(x, Fraction(0))
            for x in over.keys() | under.keys()
        }
        rows += [_row({(x, y): w for x, w in weights.items()}, comparisons.n, m) for y in outputs]
    if len(rows) > MAX_ROWS:
        raise no_rows("the polytope", len(rows))
    bounds = tuple(bound for _, bound in rows)
    return Halfspaces(comparisons.n, m, (), Fraction(0), tuple(row for row, _ in rows), bounds)


def exact_power(budget: Budget, exponent: Fraction) -> Fraction:
    r"""Find the rational :math:`e^{\epsilon d}`."""
    ratio = Fraction(1) if float(budget) == 0 else budget.ratio
    is_small = exponent.denominator <= MAX_ROOT_DEGREE and exponent.numerator <= MAX_ROOT_DEGREE**2
    if ratio is not None and is_small:
        roots = [_root(part, exponent.denominator) for part in (ratio.numerator, ratio.denominator)]
        if None not in roots:
            return Fraction(*roots) ** exponent.numerator  # type: ignore[arg-type]
    distance = "" if exponent == 1 else f" to the power {exponent}"
    problem = (
        f"e**{float(budget):.6g}{distance} is not a known rational, so the polytope has no "
        "exact description"
    )
    raise NotRepresentableError(
        problem,
        code="rational",
        do='state epsilon as "log(p/q)", say "log(3)", with whole distances',
    )


def _root(value: int, degree: int) -> int | None:
    """Return the integer root, or None if it is not an integer; by Newton's method in integers,
    from above.
    """
    if degree == 1 or value < 2:
        return value
    guess = 1 << -(-value.bit_length() // degree)
    while (lower := ((degree - 1) * guess + value // guess ** (degree - 1)) // degree) < guess:
        guess = lower
    return guess if guess**degree == value else None


def _exact_ties(form: Ties) -> Iterator[Tie]:
    first, second = form.pairs()
    distance = np.ones(len(first)) if form.distance is None else form.distance
    powers = {d: exact_power(form.budget, Fraction(d)) for d in set(distance.tolist())}
    for i, k, d in zip(first.tolist(), second.tolist(), distance.tolist(), strict=True):
        yield Tie(i, k, powers[d])


def _events(m: int, *, is_shared: bool) -> list[tuple[int, ...]]:
    """Return the single outputs, or if delta is shared by events all sets but the empty and the
    full one.
    """
    if not is_shared:
        return [(y,) for y in range(m)]
    if m > MAX_ROWS.bit_length():
        raise no_rows("event-wise privacy", 2.0**m)
    return list(chain.from_iterable(combinations(range(m), size) for size in range(1, m)))


def _row(entries: dict[tuple[int, int], Fraction], n: int, m: int) -> tuple[Point, Fraction]:
    """Return coefficients and bound of ``sum entries <= 0`` after the last entry of each row is
    eliminated.
    """
    row = [Fraction(0)] * (n * (m - 1))
    bound = Fraction(0)
    for (x, y), value in entries.items():
        if y < m - 1:
            row[x * (m - 1) + y] += value
        else:
            bound -= value
            for other in range(m - 1):
                row[x * (m - 1) + other] -= value
    return tuple(row), bound
