r"""The program for a single mean with given report values ``t``: a linear program with a block for each answer.

.. math:: \min_{P, z} \sum_{x, j} r_x t_j^2 P_{xj} \quad \text{subject to} \quad
          b z_j \le P_{xj} \le z_j, \quad \sum_j P_{xj} (1, t_j) = (1, w_x)

or, for the worst case, the smallest ``tau`` with ``sum_j t_j^2 P_xj - w_x^2 <= tau`` for every answer. A primal-dual
interior point; the time of a step is linear in the number of answers.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldpopt.designing.masters import CurvedPoint
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.solving.interior.path_following import NewtonSystem, follow_path

STEPS = 120  # limit on Newton steps; 15 to 40 are usual
STALLED = 8  # steps without a smaller gap before the iteration ends
# Share of the trace added to the matrix of each answer, which is nearly singular if its multipliers are free
RIDGE = 1e-14
# Residual of the equations above which a step aims at no less than this share of the mean product
FEASIBLE, CENTERING = 1e-13, 1e-3


@dataclass(frozen=True, eq=False)
class Randomizer:
    """A randomizer with given report values, and the multipliers of its program."""

    largest: Float  # z, the largest probability of each report, shape (m,)
    channel: Float  # P, shape (n, m)
    line: Float  # multipliers of the sums, of the means, and minus the weights of the answers, shape (n, 3)


@dataclass(frozen=True, eq=False)
class _MeanPoint(CurvedPoint):
    """``P = b z + (1 - b) u``; multipliers ``low`` of ``u >= 0``, ``high`` of ``u <= z``, ``nu`` of the equations.

    For the worst case also ``tau``, and the slack of each answer below it; else ``spare`` is empty.
    """

    PRIMAL: ClassVar[frozenset[str]] = frozenset({"z", "u", "spare", "tau"})

    z: Float  # (m,)
    u: Float  # (n, m)
    low: Float  # (n, m)
    high: Float  # (n, m)
    nu: Float  # (n, 3)
    spare: Float  # (n,)
    tau: Float  # (1,)

    @property
    def slacks(self) -> tuple[Float, ...]:
        return (self.u, self.z - self.u, self.spare) if self.spare.size else (self.u, self.z - self.u)

    @property
    def multipliers(self) -> tuple[Float, ...]:
        return (self.low, self.high, -self.nu[:, 2]) if self.spare.size else (self.low, self.high)


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
        even, nu = np.full((n, m), 1.0 / n), np.zeros((n, 3))
        nu[:, 2] = -1.0 / n if self.r is None else -self.r
        spare = np.ones(n if self.r is None else 0)
        begin = _MeanPoint(np.full(m, 2.0 / m), np.full((n, m), 1.0 / m), even, even, nu, spare, np.ones(1))
        with np.errstate(all="ignore"):
            found = follow_path(
                begin,
                lambda point: (self._measured(point),) * 2,
                lambda point: _MeanSystem(self, point),
                gap=gap,
                steps=STEPS,
                stalled_steps=STALLED,
                deadline=deadline,
            )
        return Randomizer(found.point.z, self._polished(found.point), found.point.nu)

    def _polished(self, at: _MeanPoint) -> Float:
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

    def _measured(self, at: _MeanPoint) -> float:
        """The duality gap as a share of the value, at least the residual of the equations."""
        value = float(at.tau[0])
        if self.r is not None:
            value = float(self.r @ ((self.base * at.z + self.step * at.u) @ self.t**2))
        return max(at.products / abs(value), float(np.abs(self.short(at)).max()))

    def short(self, at: _MeanPoint) -> Float:
        """Residuals of the equations of every answer."""
        found = self.right - self.base * (at.z @ self.powers) - self.step * (at.u @ self.powers)
        if self.r is None:
            found[:, 2] += at.tau - at.spare
        return np.asarray(found[:, : self.free])


class _MeanSystem(NewtonSystem[_MeanPoint]):
    """Newton steps: the multipliers of each answer are eliminated first, then the largest probabilities."""

    def __init__(self, program: MeanProgram, at: _MeanPoint) -> None:
        self.at, self.program, self.short = at, program, program.short(at)
        self.centering = CENTERING * float(np.abs(self.short).max() > FEASIBLE)
        p, s, powers = program.free, program.step, program.powers[:, : program.free]
        self.stiff_high = at.high / (at.z - at.u)
        self.stiff = at.low / at.u + self.stiff_high
        self.share = self.stiff_high / self.stiff
        small = s * s * np.einsum("xj,jp,jq->xpq", 1 / self.stiff, powers, powers, optimize=True)
        if p == 3:
            small[:, 2, 2] -= at.spare / at.nu[:, 2]
        small += RIDGE * np.trace(small, axis1=1, axis2=2)[:, None, None] * np.eye(p)
        self.inverse = np.linalg.inv(small)
        self.ahead = s * self.share + program.base
        matrix = np.diag((self.stiff_high * (at.low / at.u) / self.stiff).sum(axis=0))
        for one in range(p):
            for two in range(p):
                part = (self.ahead * self.inverse[:, one, two, None]).T @ self.ahead
                matrix += part * np.outer(powers[:, one], powers[:, two])
        if p == 3:
            border = np.sum(self.ahead * (self.inverse[:, :, 2] @ powers.T), axis=0)
            corner = np.atleast_2d(-self.inverse[:, 2, 2].sum())
            matrix = np.block([[matrix, -border[:, None]], [border[None], corner]])
        self.scale = 1 / np.sqrt(np.abs(np.diag(matrix)))
        self.matrix = matrix * self.scale * self.scale[:, None]

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> _MeanPoint:
        """Newton step that changes the products by these amounts."""
        at, program = self.at, self.program
        p, b, s, powers = program.free, program.base, program.step, program.powers[:, : program.free]
        low, high = aims[0] / at.u, aims[1] / (at.z - at.u)
        price = -at.nu @ program.powers.T
        right_u = at.low + low - at.high - high - s * price
        right_z = (at.high + high).sum(axis=0) - b * price.sum(axis=0)
        rest = self.short - s * (right_u / self.stiff) @ powers
        spare = -aims[2] / at.nu[:, 2] if p == 3 else np.zeros(0)
        if p == 3:
            rest[:, 2] -= spare
        solved = np.einsum("xpq,xq->xp", self.inverse, rest)
        right = right_z + (self.share * right_u).sum(axis=0) + np.sum(self.ahead * (solved @ powers.T), axis=0)
        if p == 3:
            right = np.append(right, solved[:, 2].sum() + 1 + at.nu[:, 2].sum())
        found = self.scale * np.linalg.solve(self.matrix, right * self.scale)
        dz, dtau, dnu = found[: len(at.z)], found[len(at.z) :], np.zeros_like(at.nu)
        moved = rest - (self.ahead * dz) @ powers
        if p == 3:
            moved[:, 2] += dtau
        dnu[:, :p] = np.einsum("xpq,xq->xp", self.inverse, moved)
        du = (right_u + self.stiff_high * dz + s * (dnu[:, :p] @ powers.T)) / self.stiff
        dlow, dhigh = low - at.low / at.u * du, high - self.stiff_high * (dz - du)
        dspare = spare - at.spare / at.nu[:, 2] * dnu[:, 2] if p == 3 else spare
        return _MeanPoint(dz, du, dlow, dhigh, dnu, dspare, dtau if p == 3 else np.zeros(1))
