r"""Multipliers, weights and values of a capped design over listed columns, by a primal-dual method.

With :math:`q_{Aj} = \theta_A V_{Aj}` the program is convex,

.. math:: \min \sum_A \rho_A |q_A|^2 / \theta_A \quad \text{subject to} \quad
          \sum_A \theta_A v_A = 1, \quad \sum_A q_{Aj} v_A = W_j, \quad |q_{Aj}| \le B_j \theta_A,

and Newton's method follows the solutions of its conditions

.. math:: \rho V = K v - u^+ + u^-, \quad
          s = y \cdot v - \rho |V|^2 - 2 \sum_j B_j (u_j^+ + u_j^-), \quad
          s \theta = 2 u^\pm_j (B_j \theta \mp q_j) = \mu

as ``mu`` falls, with a predictor and a corrector. Weights and multipliers move together and neither
has to be feasible before the end: near the least influence there is hardly any design within the
caps, and a method that keeps to the inside of either has no room. At the least influence itself
multipliers are as large as a hundred million; `newton` says how steps have digits there. For the
least limits there is no error to be small, and ``W`` has a factor that is to be large.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from ldpopt.designing.methods.capped.newton import Newton, Position, Target
from ldpopt.designing.methods.capped.program import CappedDual, CappedProgram, costs_of
from ldpopt.foundation.deadline import Deadline

STEPS = 100
MORE_STEPS = 400  # with steps that keep their digits
INWARD = 0.98  # share of the way to the border that a step may go
SHORT = 0.1  # a step below which the corrector is left out
LEAST_STEP = 1e-7
CENTER = 1e-4  # smallest part of mu that a step aims at
FEASIBLE = 1e-10  # error of the equations that is as good as none
WORSE = 30.0  # growth of that error at which rounding has taken over
TINY = 1e-300
FREE = 300.0  # cap of values without one, in units of the workload over the contrast of columns


def first_point(program: CappedProgram) -> Position:
    """A point in the middle of everything but the equations."""
    v = program.vectors
    m, n = v.shape
    k = len(program.rows)
    is_capped = np.isfinite(program.limits)
    limits = np.where(is_capped, program.limits, 0.0)
    theta = np.full(m, 1 / v.mean(axis=1).sum())
    squares = float((program.rows**2).sum(axis=0).mean())
    # an error like that of values at their caps: from a smaller one steps stop before the equations
    mu = 10 * max(squares, float((limits**2).sum())) / _pairs(program)
    reach = np.where(is_capped, limits * theta[:, None], 1.0)
    room = np.stack([reach, reach])
    u = np.where(is_capped, mu / (2 * room), 0.0)
    spent = 2 * (u.sum(axis=0) @ limits)
    line = np.full(n, float(((mu / theta + spent) / v.sum(axis=1)).max()))
    worst = program.is_worst_case
    return Position(
        theta=theta,
        products=np.zeros((m, k)),
        room=room,
        u=u,
        slack=v @ line - spent,
        slope=np.zeros((k, n)),
        line=line,
        weights=np.full(n, 1 / n) if worst else program.weights,
        spare=np.full(n, squares if worst else 0.0),
        top=np.zeros(1),
        size=np.full(1, 0.0 if program.is_least else 1.0),
    )


def _pairs(program: CappedProgram) -> int:
    """How many products there are of a size and its multiplier."""
    extra = len(program.weights) if program.is_worst_case else 0
    capped = int(np.isfinite(program.limits).sum())
    return len(program.vectors) * (1 + 2 * capped) + extra


@dataclass(frozen=True, eq=False)
class Solved:
    """Where the method ended."""

    dual: CappedDual  # the best multipliers, which hold for the columns of the program
    value: float  # their bound
    point: Position  # the best weights and values
    off: float  # the largest error of its equations
    gap: float  # its relative gap, where they hold


def solved(
    program: CappedProgram, enough: float, deadline: Deadline, keeps_digits: bool = False
) -> Solved:
    """Multipliers, weights and values of a relative gap, or the best that floats reach: with slow
    steps that keep their digits, floats reach more.
    """
    # a free value of a column of hardly any weight is beyond Newton's method: it has a large cap
    inner = replace(program, limits=np.minimum(program.limits, _large_cap(program)))
    point = first_point(inner)
    best: Solved | None = None
    with np.errstate(all="ignore"):
        for _ in range(MORE_STEPS if keeps_digits else STEPS):
            newton = Newton(inner, point, keeps_digits)
            # an error of the equations changes the value by that of the multipliers
            size = float(np.abs(point.slope).max()) if keeps_digits else 1.0
            off = newton.off * max(1.0, size)
            best = _better(best, program, point, off)
            mu = point.complementarity / _pairs(inner)
            is_close = point.complementarity <= enough * _size(best.value)
            is_spoilt = off > WORSE * best.off + FEASIBLE
            if deadline.is_over or (is_close and (off <= FEASIBLE or is_spoilt)):
                break
            try:
                newton.prepare()
            except np.linalg.LinAlgError:
                break
            step = _step(newton, mu)
            length = min(1.0, INWARD * point.longest(step))
            after = point.moved(step, length)
            if not length > LEAST_STEP or not np.isfinite(after.complementarity):
                break
            point = after
    assert best is not None
    return best


def _large_cap(program: CappedProgram) -> float:
    """A cap that no good values reach: they are as much larger than the numbers as the entries of a
    column are near to each other, which is one over epsilon for small ones.
    """
    v = program.vectors
    contrast = float((np.ptp(v, axis=1) / v.max(axis=1)).max())
    return FREE * float(np.abs(program.rows).max()) / max(contrast, TINY)


def _step(newton: Newton, mu: float) -> Position:
    """The step towards a smaller ``mu``, by what the way to 0 shows."""
    at = newton.at
    ahead = newton.step(Target(0.0))
    length = min(1.0, at.longest(ahead))
    reached = at.moved(ahead, length).complementarity / at.complementarity
    share = min(1.0, max(CENTER, reached**3))
    second = _scaled(ahead, length)
    step = newton.step(Target(share * mu, second))
    if at.longest(step) < SHORT:
        return newton.step(Target(max(share, 0.3) * mu))
    return step


def _scaled(step: Position, length: float) -> Position:
    """A step whose products with itself are those of a shorter one."""
    root = length**0.5
    return Position(*(root * getattr(step, field.name) for field in fields(step)))


def _better(best: Solved | None, program: CappedProgram, point: Position, off: float) -> Solved:
    """The better multipliers, and the better weights and values, of two."""
    dual, value = _bound(program, point)
    gap = point.complementarity / _size(value)
    if best is None:
        return Solved(dual, value, point, off, gap)
    if not value > best.value:
        dual = best.dual
        value = best.value
    if max(gap, off) < max(best.gap, best.off):
        return Solved(dual, value, point, off, gap)
    return Solved(dual, value, best.point, best.off, best.gap)


def _size(value: float) -> float:
    """What a gap is compared with."""
    return max(abs(value), TINY) if np.isfinite(value) else TINY


def _bound(program: CappedProgram, point: Position) -> tuple[CappedDual, float]:
    """The multipliers, raised so that they hold for the columns of the program, and their bound:
    for the least limits that on what is largest.
    """
    sums = program.vectors.sum(axis=1)
    dual = point.dual
    if not program.is_least:
        over = float((costs_of(dual, program.vectors, program.limits) / sums).max())
        dual = dual.raised(max(over, 0.0))
        return dual, dual.value(program.rows)
    trace = 2 * float((dual.slope * program.rows).sum())
    spent = 2 * np.abs(program.vectors @ dual.slope.T) @ program.limits
    over = float(((spent - program.vectors @ dual.line) / sums).max())
    dual = dual.raised(max(over, 0.0))
    if not trace > 0:
        return dual, -np.inf
    scaled = CappedDual(dual.slope / trace, dual.line / trace, dual.weights)
    return scaled, -float(scaled.line.sum())
