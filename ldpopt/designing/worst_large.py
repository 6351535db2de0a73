"""Designs for the worst case of many answers: columns for the average at the hardest weights, then the saddle on them.

Weights and columns are improved in turn. The bound is that of the elliptope for the weights found, which bounds the
worst case as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ldpopt.designing.column_generation import Optimum, gap_of
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.methods.relaxation import generate_large
from ldpopt.designing.pricing import Staircases
from ldpopt.designing.symmetry import group
from ldpopt.designing.worst import least_weight, solve_minimax, worst_design
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.columns import Columns

ROUNDS = 5
"""Limit on rounds."""

FIRST = 3.0
"""Gap of the first round, in multiples of the gap asked for; later rounds use half of the gap asked for."""

KEPT = 1e-6
"""Share of the largest multiple below which a column is dropped between rounds."""

RARE = 0.01
"""Share of the average probability below which a column of the average's design is not taken over."""

SECONDS = 2e-11
"""Of a Newton step of the saddle, for each cube of the columns."""

STEPS = 20
"""Newton steps for which time has to be left; more columns are not taken over."""

USED = 1e-9
"""Probability below which a column is left out of the mechanism."""

LEAST = 1e-6
"""Smallest weight of an answer, in multiples of the average, for which columns are sought."""


def generate_worst_large(
    gram: Float,
    cone: Staircases,
    hints: Sequence[NDArray[np.int64]] = (),
    *,
    gap: float = 1e-3,
    deadline: Deadline = NO_LIMIT,
    candidates: Float | None = None,
) -> tuple[Optimum, float]:
    """Design for the largest variance over many answers.

    Shapes: ``gram`` (n, n), ``candidates`` (m, n).
    """
    n = len(gram)
    r, rounds, own = np.full(n, 1.0 / n), 0, FIRST * gap
    best: tuple[Optimum, float] | None = None
    dual: Optimum | None = None
    while True:
        rounds += 1
        contrasts = Contrasts(gram, r)
        half = deadline.share(0.5)
        found = generate_large(contrasts, cone, hints, gap=own, deadline=half, candidates=candidates)
        if dual is None or found.bound > dual.bound:
            dual = found
        if best is not None and gap_of(dual.bound, best[1]) <= gap:
            break
        columns = _pool(cone, found, candidates, deadline)
        least = least_weight(n, gap)
        saddle = solve_minimax(gram, columns, None, 0.9 * r + 0.1 / n, gap=gap / 10, least=least, deadline=deadline)
        now = worst_design(gram, columns, saddle, used=USED)
        best = now if best is None or now[1] < best[1] else best
        if gap_of(dual.bound, best[1]) <= gap or rounds == ROUNDS or deadline.is_over:
            break
        candidates = columns.shapes[saddle.theta > KEPT * saddle.theta.max()]
        r = _symmetric(contrasts, cone, saddle.r, hints)
        own = gap / 2
    return replace(best[0], dual=dual.dual, rounds=rounds), best[1]


def _pool(cone: Staircases, found: Optimum, candidates: Float | None, deadline: Deadline) -> Columns:
    """Columns of the average's design with the ones so far, and single answers: every direction is estimable."""
    often = np.argsort(-found.q)[: int((found.q > RARE / len(found.q)).sum())]
    if deadline.left is not None:
        most = int((deadline.left / (STEPS * SECONDS)) ** (1 / 3))
        often = often[: max(most - cone.n, cone.n)]
        candidates = None if candidates is None else candidates[: max(most - cone.n - len(often), 0)]
    shapes = [found.columns.shapes[often], np.eye(cone.n)]
    if candidates is not None:
        shapes.append(candidates)
    return cone.columns(np.unique(np.vstack(shapes), axis=0))


def _symmetric(contrasts: Contrasts, cone: Staircases, r: Float, hints: Sequence[NDArray[np.int64]]) -> Float:
    """Weights averaged over the symmetries of the workload, none of them 0."""
    n = len(r)
    plain = replace(contrasts, weights=np.full(n, 1.0 / n))
    r = np.mean([r[order] for order in group(plain, hints, cone)], axis=0)
    r = np.maximum(r / r.sum(), LEAST / n)
    return np.asarray(r / r.sum())
