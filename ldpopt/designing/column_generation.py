"""Column generation: solve a master problem on some columns, price all others, add those that break the bound.

One loop for both objectives. A master finds the best design on given columns and its multipliers; the oracle is
`Cone.price`. Variances are compared, which is what a value exceeds the spread of the true values by.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.dual import Dual
from ldpopt.designing.masters import AverageMaster
from ldpopt.designing.pricing import Cone, Price, Priced
from ldpopt.designing.symmetry import Permutations, group, representatives, spread_out
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.columns import Columns

ROUNDS = 60
"""Limit on rounds of pricing."""

UNUSED = 1e-13
"""Probability below which a column is left out of the mechanism."""

FINEST = 1e-12
"""Gap that floats can reach, relative to the value."""

FIRST = 0.03
"""Gap of the first master."""

PROOF = 80.0
"""Time that is kept for the proof, in multiples of the quickest pricing: integers price all columns once more."""

FEWER = 0.5
"""Gap of the next master, in multiples of the gap that pricing found."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best design found, in the coordinates of its `Contrasts`.

    Attributes
    ----------
    contrasts : Contrasts
        The coordinates.
    columns : Columns
        Those with positive probability, all images listed.
    q : ndarray
        Their probabilities.
    value : float
        ``tr(W_c I^-1 W_c^T)``.
    dual : Dual
        What proves the bound, if all columns were priced.
    rounds : int
        Of pricing.
    notes : tuple of str
        What else was done, and why it ended.
    """

    contrasts: Contrasts
    columns: Columns
    q: Float
    value: float
    dual: Dual
    rounds: int
    notes: tuple[str, ...] = ()

    @property
    def bound(self) -> float:
        """Lower bound on the variance for the weights, and so on the largest variance."""
        return self.dual.bound - self.contrasts.spread


@dataclass(frozen=True, eq=False)
class Solved:
    """What a master finds on its columns.

    Attributes
    ----------
    x : ndarray, shape (m,)
        Multiples of the columns, in the master's own unit, to go on from.
    r : ndarray, shape (n,)
        Weights of the answers.
    price : Price
        Of every column.
    gap, off : float
        Relative gap on these columns, and error of the equations.
    optimum : Optimum
        The design with all images, and multipliers with the largest cost of these columns.
    variance : float
        Its average variance, or the largest.
    """

    x: Float
    r: Float
    price: Price
    gap: float
    off: float
    optimum: Optimum
    variance: float


class Master(Protocol):
    """A program on some of the columns, with the symmetries of the problem; ``room`` columns are enough for it."""

    symmetries: Permutations
    room: int

    def solve(self, columns: Columns, x: Float | None, r: Float, gap: float, deadline: Deadline) -> Solved:
        """Best design on the columns, starting from ``x`` and ``r``."""
        ...


def gap_of(bound: float, value: float) -> float:
    """Relative gap; 0 if floats cannot tell the value from 0, because no bound is then better than 0."""
    return 1 - bound / value if value > 0 else 0.0


def generate_columns(
    master: Master, cone: Cone, columns: Columns, r: Float, *, gap: float, deadline: Deadline
) -> tuple[Optimum, float]:
    """Add columns until the gap of the variance is closed; the best design with the best multipliers, its variance."""
    n, x, target, rounds, quickest = len(r), None, FIRST, 0, np.inf
    best: tuple[Optimum, float] | None = None
    proof: Optimum | None = None
    off = np.inf
    while True:
        rounds += 1
        solved = master.solve(columns, x, r, target, deadline.before(PROOF * quickest if rounds > 1 else 0.0))
        began, dual = time.perf_counter(), solved.optimum.dual
        most = max(60, 2 * n, master.room // 2)
        priced = cone.price(solved.price, dual.value * (1 + target / 4), columns, most)
        quickest = min(quickest, time.perf_counter() - began)
        stop = deadline.before((1 + PROOF) * quickest)
        now = replace(solved.optimum, dual=replace(dual, largest=max(priced.largest, dual.value)))
        if best is None or off > gap / 4 or solved.variance < best[1]:
            best, off = (now, solved.variance), solved.off
        proof, shapes = _steadied(cone, proof, now, columns, priced, stop)
        least = max(gap, FINEST * (1 + best[0].contrasts.spread / max(best[1], 1e-300)))
        if max(gap_of(proof.bound, best[1]), off) <= least or rounds == ROUNDS or stop.is_over:
            break
        fresh = fresh_ones(representatives(shapes, master.symmetries), columns, master.symmetries)
        if not len(fresh) and target <= least / 4:
            break
        reached = gap_of(now.bound, solved.variance)
        target = max(min(FEWER * reached, target if len(fresh) else target / 3), least / 4)
        kept = _kept(columns, solved, master.room)
        columns = columns.take(kept).with_more(fresh)
        x = np.concatenate([solved.x[kept], np.zeros(len(fresh))])
        x, r = 0.7 * x + 0.3 * x.sum() / len(x), 0.9 * solved.r + 0.1 / n
    return replace(best[0], dual=proof.dual, rounds=rounds), best[1]


def _steadied(
    cone: Cone, best: Optimum | None, now: Optimum, columns: Columns, priced: Priced, deadline: Deadline
) -> tuple[Optimum, Float]:
    """Stabilized pricing: if the new bound is lower than the best one, price at the mean of both multipliers too."""
    if best is None or now.bound >= best.bound:
        return now, priced.shapes
    if now.contrasts is not best.contrasts or deadline.is_over:
        return best, priced.shapes
    mixed = best.dual.mean(now.dual)
    price = Price(mixed.form(now.contrasts.centered), mixed.slope, mixed.weights)
    found = cone.price(price, mixed.value, columns, max(60, len(priced.shapes)))
    mixed = replace(mixed, largest=found.largest)
    shapes = np.unique(np.vstack([priced.shapes, found.shapes]), axis=0)
    return (replace(now, dual=mixed) if mixed.bound > best.dual.bound else best), shapes


def fresh_ones(shapes: Float, columns: Columns, symmetries: NDArray[np.int64]) -> Float:
    """Leave out columns that are there already."""
    known = {shape.tobytes() for shape in columns.shapes}
    new = [not any(shape[order].tobytes() in known for order in symmetries) for shape in shapes]
    return np.asarray(shapes[np.array(new, dtype=bool)]).reshape(-1, columns.shapes.shape[1])


def _kept(columns: Columns, solved: Solved, room: int) -> NDArray[np.int64]:
    """Drop columns that are neither used nor nearly worth it."""
    cost = solved.price.of(columns)
    short = 1 - cost / cost.max()
    alone = columns.shapes.sum(axis=1)
    # Single answers and their complements stay, so that every direction is estimable.
    useful = (alone == 1) | (alone == columns.shapes.shape[1] - 1)
    useful |= (short < 10 * max(solved.gap, 1e-9)) | (solved.x > 1e-6 * solved.x.sum() / len(columns))
    if len(columns) <= room:
        useful |= short < 0.1
    return np.flatnonzero(useful)


class _Average:
    """The average over given weights."""

    def __init__(self, contrasts: Contrasts, symmetries: Permutations) -> None:
        self.contrasts, self.symmetries = contrasts, symmetries
        self.images = contrasts.turned(symmetries)
        n = len(contrasts.weights)
        # Dimension of the invariant symmetric matrices; by Caratheodory no design needs more columns.
        self.room = max(n * (n + 1) // 2 // len(symmetries), n)

    def solve(self, columns: Columns, x: Float | None, r: Float, gap: float, deadline: Deadline) -> Solved:
        contrasts, symmetries, unit = self.contrasts, self.symmetries, self.contrasts.value(1.0)
        r = contrasts.weights
        master = AverageMaster(contrasts.atoms(columns), contrasts.reduced, self.images, contrasts.spread / unit)
        found = master.solve(start=x, gap=gap, deadline=deadline)
        price = Price(contrasts.whole(found.price) * unit, contrasts.whole(found.slope) * unit, r)
        shapes, q = spread_out(columns.shapes, found.q, symmetries)
        used, value = q > UNUSED, found.value * unit
        dual = Dual(r, contrasts.needed(found.inverse), value, value, price.slope - price.slope.sum() * r)
        columns, q = Columns(shapes[used], columns.base, columns.spread), q[used] / q[used].sum()
        optimum = Optimum(contrasts, columns, q, value, dual, 0)
        return Solved(found.q, r, price, found.gap, found.off, optimum, value - contrasts.spread)


def generate(
    contrasts: Contrasts,
    cone: Cone,
    hints: Sequence[NDArray[np.int64]] = (),
    *,
    gap: float = 1e-6,
    deadline: Deadline = NO_LIMIT,
) -> Optimum:
    """Design for the average over given weights."""
    symmetries = group(contrasts, hints, cone)
    columns = cone.first(contrasts.centered)
    columns = Columns(representatives(columns.shapes, symmetries), columns.base, columns.spread)
    contrasts = replace(contrasts, unit=float(np.abs(contrasts.atoms(columns)).max()))
    master = _Average(contrasts, symmetries)
    return generate_columns(master, cone, columns, contrasts.weights, gap=gap, deadline=deadline)[0]
