"""Designs for many answers: the bound first, then sets drawn from its moments until the value is near it.

Each round finds the probabilities of the columns, keeps those with the largest ones, and adds neighbors of sets drawn
by them. Where the relaxed moments are those of a design, all sets cost the same at its prices; what counts is that the
columns can have these moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ldpopt.designing.column_generation import UNUSED, Optimum, fresh_ones
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.dual import Dual
from ldpopt.designing.methods.relaxation.coordinates import Coordinates, involutions
from ldpopt.designing.methods.relaxation.drawing import draw
from ldpopt.designing.methods.relaxation.relaxation import LEAST_GAP, relax
from ldpopt.designing.methods.relaxation.weighting import Weighted, Weighting
from ldpopt.designing.pricing import Price, Staircases, climb
from ldpopt.designing.symmetry import Permutations, group, representatives, spread_out
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.columns import Columns

ROUNDS = 60
"""Limit on rounds."""

DRAWN, KEPT, ADDED = 1.0, 1.0, 0.5
"""Columns drawn at first, kept and added in a round, in multiples of the dimension of the invariant forms."""

FINISHING = 2e-8
"""Seconds for each report and square of the answers that rounding and the proof of the value take."""

SHARE = 0.3
"""Share of the seconds left that is kept for them: few seconds allow few reports."""

SINGLES = 1e-3
"""Share of the sets of one answer at first: they tell every direction."""

STALLED, PROGRESS = 3, 0.95
"""Rounds in which the gap that is left has to fall below this share of what it was."""

REACHED = 0.95
"""Share of the gap aimed at that is left for the proof."""

WORTH = 0.3
"""Cost of a new column over the value, in multiples of the gap aimed at."""


@dataclass(frozen=True, eq=False)
class _Task:
    """What stays the same in all rounds."""

    contrasts: Contrasts
    cone: Staircases
    permutations: Permutations
    coordinates: Coordinates
    room: int
    gap: float
    deadline: Deadline
    rng: np.random.Generator


def generate_large(
    contrasts: Contrasts,
    cone: Staircases,
    hints: Sequence[NDArray[np.int64]] = (),
    *,
    gap: float = 1e-3,
    deadline: Deadline,
    candidates: Float | None = None,
) -> Optimum:
    """Design for staircase columns of many answers.

    Shapes: ``candidates`` (c, n).
    """
    permutations = involutions(group(contrasts, hints, cone))
    n = len(contrasts.weights)
    room = max(n * (n + 1) // 2 // len(permutations), n)
    if deadline.left is not None:
        reports = SHARE * deadline.left / (FINISHING * n**2)
        room = min(room, max(int(reports / len(permutations)), n))
        deadline = deadline.before(min(room * len(permutations) * FINISHING * n**2, 2 * SHARE * deadline.left))
    coordinates = Coordinates(contrasts, permutations, cone.spread)
    relaxed = relax(contrasts, cone, gap, deadline)
    # The gap is one of the variance, which is what the objective exceeds the spread by.
    share = max(gap * (1 - contrasts.spread / relaxed.dual.bound), LEAST_GAP)
    task = _Task(contrasts, cone, permutations, coordinates, room, share, deadline, np.random.default_rng(0))
    columns, q = _first(task, relaxed.shares, candidates)
    slope, best, history, end = None, None, list[float](), ""
    for number in range(1, ROUNDS + 1):
        weighting = Weighting(coordinates, coordinates.atoms(columns), 1e-3 * share**2)
        found = weighting.solve(q, slope, min(1e-7, share * 1e-4), deadline)
        if best is None or found.value < best.value:
            best = _written(task, columns, found, relaxed.dual, number)
        history.append((best.value - relaxed.dual.bound) / (best.value - contrasts.spread))
        end = _end(history, gap, deadline)
        if end:
            break
        fresh = _fresh(task, columns, found)
        slope, (columns, q) = found.slope, _renewed(task, columns, found.q, fresh)
    assert best is not None
    sets = f"{len(best.columns)} sets, drawn from the moments of the bound and changed answer by answer"
    return replace(best, rounds=number, notes=(sets, end or f"ended after {ROUNDS} rounds"))


def _first(task: _Task, shares: Float, candidates: Float | None) -> tuple[Columns, Float]:
    """Sets drawn from the moments, sets of one answer, and candidates."""
    drawn = [draw(shares, int(DRAWN * task.room), task.rng)]
    if candidates is not None:
        drawn += [candidates, 1 - candidates]
    n = len(task.contrasts.weights)
    singles = representatives(np.eye(n), task.permutations)
    shapes = np.unique(np.vstack(drawn).astype(np.float64), axis=0)
    columns = task.cone.columns(representatives(np.vstack([singles, shapes]), task.permutations))
    q = np.where(columns.shapes.sum(axis=1) == 1, SINGLES / len(columns), 1 / len(columns))
    return columns, q / q.sum()


def _end(history: Sequence[float], gap: float, deadline: Deadline) -> str:
    """Why to end, if there is a reason."""
    if history[-1] <= REACHED * gap:
        return "ended at the gap aimed at"
    if deadline.is_over:
        return "ended at the time limit"
    if len(history) > STALLED and history[-1] > PROGRESS * history[-1 - STALLED]:
        return f"ended because {STALLED} rounds gained little: the bound may be what is not tight"
    return ""


def _fresh(task: _Task, columns: Columns, found: Weighted) -> Float:
    """Neighbors of sets drawn by their probabilities, the dearest first."""
    coordinates = task.coordinates
    price = Price(coordinates.whole(found.price), coordinates.line(found.slope), task.contrasts.weights)
    parents = columns.shapes[task.rng.choice(len(columns), 2 * task.room, p=found.q)]
    turned = task.permutations[task.rng.integers(len(task.permutations), size=len(parents))]
    # At an optimum over few columns the prices are reliable only near the columns in use: one answer is exchanged.
    parents = np.take_along_axis(parents, turned, axis=1)
    shapes = climb(price, found.value, parents, task.cone.base, task.cone.spread, steps=1)
    shapes = fresh_ones(representatives(shapes, task.permutations), columns, task.permutations)
    cost = price.of(task.cone.columns(shapes))
    order = np.argsort(-cost)[: int(ADDED * task.room)]
    return np.asarray(shapes[order[cost[order] > found.value * (1 + WORTH * task.gap)]])


def _renewed(task: _Task, columns: Columns, q: Float, fresh: Float) -> tuple[Columns, Float]:
    """Keep the columns with the largest probabilities, add the new ones; probabilities to begin with."""
    kept = np.where(columns.shapes.sum(axis=1) == 1, np.inf, q)
    places = np.argsort(-kept)[: int(KEPT * task.room)]
    places = places[kept[places] > 3e-3 / len(q)]
    own = np.maximum(q[places], SINGLES / len(q))
    start = np.concatenate([0.8 * own / own.sum(), np.full(len(fresh), 0.2 / max(len(fresh), 1))])
    return columns.take(places).with_more(fresh), start / start.sum()


def _written(task: _Task, columns: Columns, found: Weighted, dual: Dual, rounds: int) -> Optimum:
    """The design with all images of its columns."""
    used = found.q > UNUSED
    shapes, q = spread_out(columns.shapes[used], found.q[used], task.permutations)
    return Optimum(task.contrasts, task.cone.columns(shapes), q / q.sum(), found.value, dual, rounds)
