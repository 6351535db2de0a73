"""Column generation: solve on some columns, price the others, add those that break the bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.dual import Dual
from ldpopt.designing.pricing import Cone, Price, Priced
from ldpopt.designing.restricted import Restricted, solve_restricted
from ldpopt.designing.symmetry import group, representatives, spread_out
from ldpopt.foundation.checks import Float
from ldpopt.foundation.clock import NO_LIMIT, Deadline
from ldpopt.privacy.cones.columns import Columns

ROUNDS = 60
"""Limit on rounds of pricing."""

UNUSED = 1e-13
"""Probability below which a column is left out of the mechanism."""

FINEST = 1e-12
"""Relative gap that floats can reach."""

FEWER = 0.5
"""How much the gap of a restricted program shrinks against the gap that pricing found."""


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


def generate(
    contrasts: Contrasts,
    cone: Cone,
    hints: Sequence[NDArray[np.int64]] = (),
    *,
    gap: float = 1e-6,
    deadline: Deadline = NO_LIMIT,
) -> Optimum:
    """Design for a cone of columns.

    Parameters
    ----------
    contrasts : Contrasts
        Workload and weights.
    cone : Cone
        Which columns are allowed.
    hints : sequence of permutations
        Possible symmetries. Default: ``()``.
    gap : float
        Relative gap of the average variance that is aimed at. Default: ``1e-6``.
    deadline : Deadline
        When to stop anyway, with what there is. Default: ``NO_LIMIT``.

    Returns
    -------
    Optimum
        The last round's design.
    """
    symmetries = group(contrasts, hints, cone)
    columns = cone.first(contrasts.centered)
    columns = Columns(representatives(columns.shapes, symmetries), columns.base, columns.spread)
    contrasts = replace(contrasts, unit=float(np.abs(contrasts.atoms(columns)).max()))
    n, images = len(contrasts.weights), contrasts.turned(symmetries)
    # Dimension of the forms that the symmetries leave alone: more columns than that are never needed.
    room = max(n * (n + 1) // 2 // len(symmetries), n)
    target, q, rounds = 0.03, None, 0
    best = dual = None
    off = np.inf
    while True:
        rounds += 1
        found = solve_restricted(
            contrasts.atoms(columns), contrasts.reduced, images, start=q, gap=target, deadline=deadline
        )
        price = Price(contrasts.whole(found.price), contrasts.whole(found.slope), contrasts.weights)
        priced = cone.price(price, found.value * (1 + target / 4), columns, max(60, 2 * n, room // 2))
        now = finished(contrasts, columns, found, symmetries, priced, rounds)
        if best is None or off > gap / 4 or now.value < best.value:
            best, off = now, found.off
        dual, shapes = _steadied(contrasts, cone, dual, now.dual, columns, priced)
        left = max(1 - dual.bound / best.value, off)
        goal = gap * (1 - contrasts.spread / best.value)
        if max(left, off) <= max(goal, FINEST) or rounds == ROUNDS or deadline.is_over:
            break
        fresh = fresh_ones(representatives(shapes, symmetries), columns, symmetries)
        if not len(fresh) and target <= max(goal / 4, FINEST):
            break
        reached = 1 - found.value / max(priced.largest, found.value)
        target = max(min(FEWER * reached, target if len(fresh) else target / 3), goal / 4, FINEST)
        columns, q = _renewed(columns, found, price, fresh, room)
    return replace(best, dual=dual, rounds=rounds)


def _steadied(
    contrasts: Contrasts, cone: Cone, best: Dual | None, now: Dual, columns: Columns, priced: Priced
) -> tuple[Dual, Float]:
    """Best multipliers so far, and columns to add: where bounds jump about, also those that their mean wants."""
    if best is None or now.bound >= best.bound:
        return now, priced.shapes
    mixed = best.mean(now)
    price = Price(mixed.form(contrasts.centered), mixed.slope, mixed.weights)
    found = cone.price(price, mixed.value, columns, max(60, len(priced.shapes)))
    mixed = replace(mixed, largest=found.largest)
    shapes = np.vstack([priced.shapes, found.shapes])
    return (mixed if mixed.bound > best.bound else best), np.unique(shapes, axis=0)


def fresh_ones(shapes: Float, columns: Columns, symmetries: NDArray[np.int64]) -> Float:
    """Leave out columns that are there already."""
    known = {shape.tobytes() for shape in columns.shapes}
    new = [not any(shape[order].tobytes() in known for order in symmetries) for shape in shapes]
    return np.asarray(shapes[np.array(new, dtype=bool)]).reshape(-1, columns.shapes.shape[1])


def _renewed(columns: Columns, found: Restricted, price: Price, fresh: Float, room: int) -> tuple[Columns, Float]:
    """Drop columns that are neither used nor nearly worth it, add the new ones; probabilities to begin with."""
    cost = price.of(columns)
    short = 1 - cost / cost.max()
    alone = columns.shapes.sum(axis=1)
    # Single answers and their complements stay, so that every direction is told by some column.
    anchors = (alone == 1) | (alone == columns.shapes.shape[1] - 1)
    useful = anchors | (short < 10 * max(found.gap, 1e-9)) | (found.q > 1e-6 / len(columns))
    if len(columns) <= room:
        useful |= short < 0.1
    places = np.flatnonzero(useful)
    q = np.concatenate([found.q[places], np.zeros(len(fresh))])
    q = 0.7 * q / q.sum() + 0.3 / len(q)
    return columns.take(places).with_more(fresh), q


def finished(
    contrasts: Contrasts,
    columns: Columns,
    found: Restricted,
    symmetries: NDArray[np.int64],
    priced: Priced,
    rounds: int,
) -> Optimum:
    """Write a restricted optimum out, with all images of its columns."""
    shapes, q = spread_out(columns.shapes, found.q, symmetries)
    used = q > UNUSED
    r, value = contrasts.weights, contrasts.value(found.value)
    slope = contrasts.whole(found.slope) * contrasts.value(1.0)
    largest = contrasts.value(max(priced.largest, found.value))
    dual = Dual(r, contrasts.needed(found.inverse), value, largest, slope - slope.sum() * r)
    return Optimum(
        contrasts, Columns(shapes[used], columns.base, columns.spread), q[used] / q[used].sum(), value, dual, rounds
    )
