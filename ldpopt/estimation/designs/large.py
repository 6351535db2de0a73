"""Designs for many answers: the bound from the elliptope first, then columns until the value is near it.

Prices of a restricted program are poor guides where it has few columns yet. Columns are therefore also sought at
mixtures of its prices with those of the relaxed optimum, among signs drawn from the moments that nearly break the
mixture's bound. Of all columns those with the largest probabilities stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ldpopt.estimation.designs.contrasts import Columns, Contrasts
from ldpopt.estimation.designs.generation import Optimum, finished, fresh_ones
from ldpopt.estimation.designs.pricing import Price, Priced, Staircases, climb
from ldpopt.estimation.designs.relaxation import Relaxed, proved, relax
from ldpopt.estimation.designs.restricted import Restricted, solve_restricted
from ldpopt.estimation.designs.symmetry import group, representatives
from ldpopt.foundation.checks import Float
from ldpopt.foundation.clock import Deadline

MIXTURES = (0.2, 0.5)
"""Shares of the restricted program's own inverse."""

ROUNDS = 200
"""Limit on rounds."""

KEPT = 1.3
"""Columns that stay, in multiples of the dimension of the invariant forms."""

LOOSE = 0.3
"""Gap of a restricted program against the gap that is left."""


def generate_large(
    contrasts: Contrasts,
    cone: Staircases,
    hints: Sequence[NDArray[np.int64]] = (),
    *,
    gap: float = 1e-3,
    deadline: Deadline,
    candidates: Float | None = None,
) -> tuple[Optimum, Relaxed]:
    """Design for staircase columns of many answers.

    Returns
    -------
    Optimum
        The design.
    Relaxed
        The bound.
    """
    symmetries = group(contrasts, hints, cone)
    relaxed = relax(contrasts, cone, gap, deadline)
    n = len(contrasts.weights)
    room = max(n * (n + 1) // 2 // len(symmetries), n)
    rng = np.random.default_rng(0)
    shapes = np.vstack([cone.first(contrasts.centered).shapes, _near(relaxed, cone, room // 2, rng)])
    if candidates is not None:
        shapes = np.vstack([shapes, candidates, 1 - candidates])
    columns = cone.columns(representatives(np.unique(shapes, axis=0), symmetries))
    contrasts = replace(contrasts, unit=float(np.abs(contrasts.atoms(columns)).max()))
    images, bound = contrasts.turned(symmetries), relaxed.dual.bound
    loose, q, rounds = 0.05, None, 0
    while True:
        rounds += 1
        found = solve_restricted(
            contrasts.atoms(columns), contrasts.reduced, images, start=q, gap=loose, deadline=deadline
        )
        value = contrasts.value(found.value)
        left = max((value - bound) / (value - contrasts.spread), found.off)
        if left <= gap or rounds == ROUNDS or deadline.is_over:
            break
        fresh = _fresh(contrasts, cone, columns, found, relaxed, room, rng, symmetries)
        if not len(fresh) and loose <= gap / 10:
            break
        loose = max(gap / 10, min(LOOSE * left, loose if len(fresh) else loose / 3))
        columns, q = _renewed(columns, found, fresh, int(KEPT * room))
    priced = Priced(found.value, False, columns.shapes[:0])
    return finished(contrasts, columns, found, symmetries, priced, rounds), relaxed


def _near(relaxed: Relaxed, cone: Staircases, count: int, rng: np.random.Generator) -> Float:
    """Sets that nearly break a bound: signs drawn from its moments, improved."""
    values, vectors = np.linalg.eigh(relaxed.moments)
    drawn = (vectors * np.sqrt(np.maximum(values, 0.0))) @ rng.standard_normal((len(values), count))
    sets = ((drawn[1:] > 0) == (drawn[0] > 0)).T.astype(np.float64)
    largest = relaxed.dual.largest
    price = Price(relaxed.form / largest, relaxed.dual.slope / largest, relaxed.dual.weights)
    return climb(price, 1.0, sets, cone.base, cone.spread)


def _fresh(
    contrasts: Contrasts,
    cone: Staircases,
    columns: Columns,
    found: Restricted,
    relaxed: Relaxed,
    room: int,
    rng: np.random.Generator,
    symmetries: NDArray[np.int64],
) -> Float:
    """New columns that the restricted program's own prices want, the dearest first."""
    own = Price(contrasts.whole(found.price), contrasts.whole(found.slope), contrasts.weights)
    basis = contrasts.basis
    best = basis.T @ relaxed.dual.inverse @ basis
    sets = []
    for share in MIXTURES:
        mixed = proved(
            replace(contrasts, unit=1.0),
            cone,
            (1 - share) * best + share * found.inverse / contrasts.unit**2,
            1e-2,
            Deadline(),
        )
        sets.append(_near(mixed, cone, 2 * room, rng))
    starts = columns.shapes[np.argsort(-own.of(columns))[: 2 * room]]
    least = found.value * (1 + found.gap / 4)
    sets.append(climb(own, least, starts, cone.base, cone.spread))
    shapes = np.unique(np.vstack(sets), axis=0)
    cost = own.of(cone.columns(shapes))
    order = np.argsort(-cost)
    order = order[cost[order] > least][: 2 * room]
    return fresh_ones(representatives(shapes[order], symmetries), columns, symmetries)[: room // 2]


def _renewed(columns: Columns, found: Restricted, fresh: Float, most: int) -> tuple[Columns, Float]:
    """Keep the columns with the largest probabilities, add the new ones; probabilities to begin with."""
    alone = columns.shapes.sum(axis=1)
    anchors = (alone == 1) | (alone == columns.shapes.shape[1] - 1)
    kept = np.where(anchors, np.inf, found.q)
    places = np.argsort(-kept)[:most]
    places = places[kept[places] > 0.003 / len(found.q)]
    q = np.concatenate([found.q[places], np.zeros(len(fresh))])
    return columns.take(places).with_more(fresh), 0.7 * q / q.sum() + 0.3 / len(q)
