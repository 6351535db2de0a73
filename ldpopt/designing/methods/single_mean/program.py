r"""The program for a single mean with given report values ``t``: a linear program with a block for each answer.

.. math:: \min_{P, z} \sum_{x, j} r_x t_j^2 P_{xj} \quad \text{subject to} \quad
          b z_j \le P_{xj} \le z_j, \quad \sum_j P_{xj} (1, t_j) = (1, w_x)

or, for the worst case, the smallest ``tau`` with ``sum_j t_j^2 P_xj - w_x^2 <= tau`` for every answer. A primal-dual
interior point; the time of a step is linear in the number of answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float

STEPS = 120
"""Limit on Newton steps; 15 to 40 are usual."""

STALLED = 5
"""Steps without progress before the iteration ends."""

NEAR = 1e-3
"""Gap below which the iteration ends if it stalls."""

RIDGE = 1e-14
"""Share of the trace added to the matrix of each answer, which is nearly singular if its multipliers are free."""

TO_BORDER = 0.99
"""Share of the distance to the boundary that a step goes."""


@dataclass(frozen=True, eq=False)
class Randomizer:
    """A solution."""

    largest: Float  # z, the largest probability of each report, shape (m,)
    channel: Float  # P, shape (n, m)
    line: Float  # multipliers of the sums, of the means, and minus the weights of the answers, shape (n, 3)


@dataclass(eq=False)
class _Point:
    z: Float
    u: Float
    low: Float
    high: Float
    nu: Float
    spare: Float
    tau: float

    def moved(self, step: _Point, length: float) -> _Point:
        pairs = ((getattr(self, name), getattr(step, name)) for name in self.__dataclass_fields__)
        return _Point(*(own + length * more for own, more in pairs))

    def room(self, step: _Point, with_weights: bool) -> float:
        """Longest step, at most 1."""
        pairs = [(self.u, step.u), (self.low, step.low), (self.high, step.high), (self.z - self.u, step.z - step.u)]
        if with_weights:
            pairs += [(self.spare, step.spare), (-self.nu[:, 2], -step.nu[:, 2])]
        return min(_length(own, more) for own, more in pairs)


class MeanProgram:
    """Answers with numbers ``w``, report values ``t``, and either weights ``r`` or none for the worst case."""

    def __init__(self, w: Float, t: Float, base: float, r: Float | None, spent: tuple[float, float] = (0, 0)) -> None:
        self.w, self.t, self.base, self.r = w, t, base, r
        self.step = 1 - base
        self.powers = np.column_stack([np.ones(len(t)), t, t**2])
        # Less the probability and the mean of other reports.
        self.right = np.column_stack([np.full(len(w), 1.0 - spent[0]), w - spent[1], w**2])
        # With given weights the third multiplier is fixed.
        self.free = 2 if r is not None else 3

    def solve(self, gap: float, deadline: Deadline = NO_LIMIT) -> Randomizer:
        """Follow the central path until the duality gap is below a share of the value."""
        n, m = len(self.w), len(self.t)
        even = np.full((n, m), 1.0 / n)
        nu = np.tile([0.0, 0.0, -1.0 / n], (n, 1))
        at = _Point(np.full(m, 2.0 / m), np.full((n, m), 1.0 / m), even, even.copy(), nu, np.ones(n), 1.0)
        if self.r is not None:
            at.nu[:, 2] = -self.r
        best, stalled = None, 0
        for _ in range(STEPS):
            level, off = self._level(at), self._off(at)
            left = max(level * 2 * n * m / abs(self._value(at)), off)
            if best is None or left < best[0]:
                best, stalled = (left, at), 0
            elif best[0] < NEAR:
                stalled += 1
            if left <= gap or stalled == STALLED or deadline.is_over:
                break
            with np.errstate(all="ignore"):
                affine = self._step(at, 0.0, None)
                length = at.room(affine, self.free == 3)
                target = level * (1 - length) ** 3 + 1e-3 * level * (off > 1e-13)
                step = self._step(at, target, affine if length > 0.1 else None)
                at = at.moved(step, min(1.0, at.room(step, self.free == 3)))
            if not np.isfinite(at.z).all() or not (at.u > 0).all() or not (at.z > at.u).all():
                break
        assert best is not None
        at = best[1]
        return Randomizer(at.z, self._polished(at), at.nu)

    def _polished(self, at: _Point) -> Float:
        """Probabilities that satisfy the equations better: residuals are moved to the entries with most room."""
        channel = self.base * at.z + self.step * at.u
        room = np.minimum(at.u, at.z - at.u) ** 2
        powers = self.powers[:, :2]
        for _ in range(2):
            short = self.right[:, :2] - channel @ powers
            matrix = np.einsum("xj,jp,jq->xpq", room, powers, powers, optimize=True)
            matrix += RIDGE * np.trace(matrix, axis1=1, axis2=2)[:, None, None] * np.eye(2)
            channel = channel + room * (np.linalg.solve(matrix, short[:, :, None])[:, :, 0] @ powers.T)
        return np.asarray(channel)

    def _value(self, at: _Point) -> float:
        if self.r is None:
            return at.tau
        moments = (self.base * at.z + self.step * at.u) @ self.t**2
        return float(self.r @ moments)

    def _level(self, at: _Point) -> float:
        """Mean of the complementary products."""
        total = float(np.sum(at.low * at.u) + np.sum(at.high * (at.z - at.u)))
        if self.free == 3:
            total += float(at.spare @ -at.nu[:, 2])
        return total / (2 * at.u.size + (len(self.w) if self.free == 3 else 0))

    def _short(self, at: _Point) -> Float:
        """Residuals of the equations of every answer."""
        given = self.base * (at.z @ self.powers) + self.step * (at.u @ self.powers)
        found = self.right - given
        found[:, 2] += at.tau - at.spare
        return np.asarray(found[:, : self.free])

    def _off(self, at: _Point) -> float:
        return float(np.abs(self._short(at)).max())

    def _step(self, at: _Point, level: float, affine: _Point | None) -> _Point:
        """Newton step of the conditions, with all products at ``level``."""
        p, b, s = self.free, self.base, self.step
        powers, slack = self.powers[:, :p], at.z - at.u
        cross_low = cross_high = np.zeros_like(at.u)
        if affine is not None:
            cross_low, cross_high = affine.low * affine.u, affine.high * (affine.z - affine.u)
        low_target, high_target = (level - cross_low) / at.u, (level - cross_high) / slack
        price = -at.nu @ self.powers.T
        right_u = -s * price + low_target - high_target
        right_z = high_target.sum(axis=0) - b * price.sum(axis=0)
        stiff_high = at.high / slack
        stiff = at.low / at.u + stiff_high
        share = stiff_high / stiff
        # Multipliers first, then the largest probabilities.
        small = s * s * np.einsum("xj,jp,jq->xpq", 1 / stiff, powers, powers, optimize=True)
        rest = self._short(at) - s * (right_u / stiff) @ powers
        if p == 3:
            weight = -at.nu[:, 2]
            cross = affine.spare * -affine.nu[:, 2] if affine is not None else 0.0
            spare_target = (level - cross) / weight
            small[:, 2, 2] += at.spare / weight
            rest[:, 2] += at.spare - spare_target
        small += RIDGE * np.trace(small, axis1=1, axis2=2)[:, None, None] * np.eye(p)
        inverse = np.linalg.inv(small)
        ahead = s * share + b
        matrix = np.diag((stiff_high * (at.low / at.u) / stiff).sum(axis=0))
        for one in range(p):
            for two in range(p):
                part = (ahead * inverse[:, one, two, None]).T @ ahead
                matrix += part * np.outer(powers[:, one], powers[:, two])
        solved = np.einsum("xpq,xq->xp", inverse, rest)
        right = right_z + (share * right_u).sum(axis=0) + np.sum(ahead * (solved @ powers.T), axis=0)
        border = None
        if p == 3:
            border = np.sum(ahead * (inverse[:, :, 2] @ powers.T), axis=0)
            matrix = np.block([[matrix, -border[:, None]], [border[None], -np.atleast_2d(inverse[:, 2, 2].sum())]])
            right = np.append(right, solved[:, 2].sum() + 1 - weight.sum())
        scale = 1 / np.sqrt(np.abs(np.diag(matrix)))
        found = scale * np.linalg.solve(matrix * scale * scale[:, None], right * scale)
        dz, dtau = found[: len(self.t)], float(found[-1]) if p == 3 else 0.0
        dnu = np.zeros_like(at.nu)
        moved = rest - (ahead * dz) @ powers
        if p == 3:
            moved[:, 2] += dtau
        dnu[:, :p] = np.einsum("xpq,xq->xp", inverse, moved)
        du = (right_u + stiff_high * dz + s * (dnu[:, :p] @ powers.T)) / stiff
        dlow = low_target - at.low - at.low / at.u * du
        dhigh = high_target - at.high - stiff_high * (dz - du)
        dspare = spare_target - at.spare + at.spare / weight * dnu[:, 2] if p == 3 else np.zeros(len(self.w))
        return _Point(dz, du, dlow, dhigh, dnu, dspare, dtau)


def _length(point: Float, step: Float) -> float:
    shrinking = step < 0
    return min(1.0, TO_BORDER * float(np.min(-point[shrinking] / step[shrinking], initial=np.inf)))
