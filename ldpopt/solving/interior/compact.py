r"""The interior point for compact channel programs: one small dense system for each step, whatever the utility.

For costs ``c`` (n, m), to be maximized, with the slack ``t`` of the caps and the multipliers ``y``, ``z``,

.. math::

    s_{xj} + t_{xj} - \beta M_j = \delta \;[z_{xj}], \qquad \sum_j s_{xj} + b \sum_j M_j = 1 \;[y_x], \qquad
    w_{xj} = y_x + z_{xj} - c_{xj},

the central path is :math:`s w = t z = M h = \mu`. Everything but ``y`` and ``M`` is eliminated entry by entry; what is
left is quasi-definite, and its Schur complement on the outputs has order m (docs, "The interior point"). Predictor and
corrector are Mehrotra's.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ldpopt.errors import NotRepresentableError, SolverOptionError
from ldpopt.foundation.checks import Float
from ldpopt.foundation.rows import Int
from ldpopt.solvers import Outcome, Status
from ldpopt.solvers.program import LinearProgram
from ldpopt.solving.interior.newton import Newton
from ldpopt.solving.interior.pricing import Prices, best_bound, made_private
from ldpopt.solving.interior.threads import few_threads

GAP = 1e-11
"""Relative gap at which to stop: that of a safe bound to the value of a feasible channel."""

STEPS = 300
"""Steps at most; 10 to 30 are usual."""

PATIENCE = 6
"""Steps without a better gap, once the products are negligible, after which roundoff has won."""

ENOUGH = 1e-6
"""Relative gap up to which the end of the arithmetic counts as the optimum; beyond it the solve has failed."""

BOUNDARY = 0.995
"""Share of the way to the boundary that a step may go, and ..."""

SHY = 0.03
"""... what it leaves of that way, in the share of the products that the affine step leaves, where that is less."""

EAGER = 6
"""Power of the affine step's reduction that is aimed at."""

MARKS = 6
"""Points along the path that are kept, to go on from with other outputs; their products are a factor 5 apart."""

MARKED = 1 << 24
"""Numbers kept for that, at most."""

COME = 1.0
"""Masses that new outputs may have, as a share of those there are, where a path goes on with other outputs."""

GONE = 0.01
"""Probability that an input may lose there, with outputs that are left out."""

SMALLEST = 2.0**-52
"""``b`` is not taken below this: what an exact ``b`` could add is less than roundoff."""


class Interior:
    """Primal-dual interior point for pure and entry-wise budgets; stops on the gap of its own safe bound."""

    name = "interior"
    paced = True
    quick = math.inf

    def solve(
        self,
        program: LinearProgram,
        *,
        time_limit: float | None = None,
        basis: Any = None,
        kept: Int | None = None,
        gap: float = GAP,
        steps: int = STEPS,
        **options: Any,
    ) -> Outcome:
        """Solve a compact program, or go on with it from an earlier outcome's ``basis``.

        With ``kept`` that outcome was of a program with other outputs: ``kept[j]`` is where output ``j`` stood in it,
        or -1.

        Raises
        ------
        NotRepresentableError
            If the program is not a plain compact one.
        SolverOptionError
            If an option is unknown, ``gap`` is no positive number or ``steps`` no positive integer.
        """
        if options:
            raise SolverOptionError(
                f"the interior point has no option {next(iter(options))!r}", do="its options are gap and steps"
            )
        if not (isinstance(gap, float) and gap > 0 and isinstance(steps, int) and steps > 0):
            raise SolverOptionError(
                f"gap = {gap!r}, steps = {steps!r}", do="gap is a positive float, steps a positive integer"
            )
        structure = program.structure
        if structure is None or not structure.is_complete or len(program.rows) != 2:
            raise NotRepresentableError(
                "the interior point solves compact programs: all pairs tied alike, an expected value, no side rows",
                do='use solver="highs"',
            )
        sign = 1.0 if structure.maximize else -1.0
        costs = sign * structure.weighted
        deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
        begin = partial(CentralPath, costs, structure.b, structure.beta, structure.delta)
        former = basis if isinstance(basis, CentralPath) else None
        path = former if former is not None and kept is None else begin(former, kept)
        # What overflows is told by the gap, or by a direction that is not finite.
        with few_threads(costs.shape[1]), np.errstate(all="ignore"):
            status = path.follow(gap, steps, deadline)
            if status is not Status.OPTIMAL and path.resumed and time.perf_counter() < deadline:
                path = begin()
                status = path.follow(gap, steps, deadline)
        best = path.best
        y, z = sign * best.y, sign * best.z
        point = np.concatenate([best.s.reshape(-1), best.m])
        rows = np.concatenate([y, z.reshape(-1)])
        below = structure.b * (structure.weighted.sum(axis=0) - y.sum()) + structure.beta * z.sum(axis=0)
        reduced = np.concatenate([(structure.weighted - y[:, None] - z).reshape(-1), below])
        return Outcome(status, f"{path.taken} steps, relative gap {best.gap:.1e}", point, rows, reduced, path)


@dataclass
class _Best:
    """The best point so far, in the units of the program."""

    s: Float
    m: Float
    y: Float
    z: Float
    gap: float


@dataclass(frozen=True)
class _Mark:
    """A point passed, in the units of the program, and where each output of the path's program stands in it, or -1."""

    mu: float
    s: Float
    t: Float
    w: Float
    z: Float
    m: Float
    h: Float
    y: Float
    column: Int


class CentralPath:
    """Where the central path of a program has been followed to: it can be followed further at any time."""

    def __init__(
        self,
        costs: Float,
        b: float,
        beta: float,
        delta: float,
        former: CentralPath | None = None,
        kept: Int | None = None,
    ) -> None:
        self.offset = costs.max(axis=1)
        shifted = costs - self.offset[:, None]
        self.unit = float(-shifted.min(initial=0.0)) or 1.0
        self.c = shifted / self.unit
        self.stake = float(-self.c.min(axis=1).sum()) / 100
        self.b, self.beta, self.delta = max(b, SMALLEST), beta, delta
        self.taken = 0
        self.marks: list[_Mark] = []
        # With slack every output is of use at once, whatever its M would be.
        at_once = kept is not None and bool(delta) and bool((kept < 0).any())
        self.resumed = former is not None and kept is not None and not at_once and self._resume(former, kept)
        if not self.resumed:
            self._start()
        if not self.c.any():
            # Every channel is as good as any, and the multipliers are known.
            self.y[:], self.z[:] = 0.0, 0.0
        self.best = self._read(math.inf if self.c.any() else 0.0)

    def _start(self) -> None:
        """Uniform channel between floor and cap, half-way at most; multipliers with some room."""
        n, k = self.c.shape
        b, beta = self.b, self.beta
        near = max(b, 1e-2)
        # Half-way on the logarithmic scale; where the slack outweighs the ratio, on the linear one.
        half = (1 / k - min(self.delta, 1 / k) / 2) / (b + beta / 2)
        self.m = np.full(k, min((1 + near) / (2 * near * k), half if self.delta else np.inf))
        self.s = np.full((n, k), 1 / k - b * self.m[0])
        self.t = np.full((n, k), self.delta + beta * self.m[0]) - self.s
        room = max(float(-self.c.mean()), 1e-3)
        self.y = np.full(n, room)
        excess = (self.y[:, None] - self.c).mean(axis=0)
        ratio = b / beta if beta else 1.0
        # With slack the balance of an output may be left to h, where beta is too small for z to keep it.
        share = min(1 / ratio, n / (n + 1)) if self.delta else 1.0
        self.z = np.full((n, k), 1.0) * np.maximum(share * ratio * excess, 1e-3 * room)
        self.w = self.y[:, None] + self.z - self.c
        self.h = b * n * excess * (1 - share) if self.delta else np.zeros(k)

    def _resume(self, former: CentralPath, kept: Int) -> bool:
        """Begin at the last point of another path at which the outputs that come or go matter little."""
        earlier = [replace(mark, column=np.where(kept < 0, -1, mark.column[kept])) for mark in former.marks]
        while earlier:
            mark = earlier.pop()
            masses, new = self._masses(mark), mark.column < 0
            lost = np.delete(mark.s + self.b * mark.m, mark.column[~new], axis=1).sum(axis=1).max()
            if masses[new].sum() <= COME * mark.m.sum() and lost <= GONE:
                self.marks = earlier
                self._begin(mark, masses)
                return True
        return False

    def _masses(self, mark: _Mark) -> Float:
        """What each output's ``M`` would be on the path near the mark: infinite where it is worth more than that."""
        masses = mark.m[mark.column].copy()
        new = mark.column < 0
        if new.any():
            costs = self.c[:, new] * self.unit + self.offset[:, None]
            lack = -Prices.of(costs, mark.y).gains(self.b, self.beta)
            masses[new] = np.divide(len(mark.y) * mark.mu, lack, out=np.full(len(lack), np.inf), where=lack > 0)
        return masses

    def _begin(self, mark: _Mark, masses: Float) -> None:
        """Take over the mark's pairs, and put those of new outputs on the path exactly."""
        new, column = mark.column < 0, mark.column
        self.m, self.y, mu = masses, (mark.y - self.offset) / self.unit, mark.mu / self.unit
        self.s, self.t = mark.s[:, column].copy(), mark.t[:, column].copy()
        self.w, self.z = mark.w[:, column] / self.unit, mark.z[:, column] / self.unit
        self.h = mark.h[column] / self.unit
        if new.any():
            cap, gap = self.beta * self.m[new] + self.delta, self.y[:, None] - self.c[:, new]
            far = np.abs(gap)
            less = (mu + 2 * mu * mu / (np.hypot(cap * far, 2 * mu) + cap * far)) / cap
            self.w[:, new] = less + np.maximum(gap, 0.0)
            self.z[:, new] = less + np.maximum(-gap, 0.0)
            self.s[:, new] = cap * (self.z[:, new] / (self.w[:, new] + self.z[:, new]))
            self.t[:, new] = cap * (self.w[:, new] / (self.w[:, new] + self.z[:, new]))
            self.h[new] = mu / self.m[new] if self.delta else 0.0

    def _mark(self) -> None:
        """Keep this point, where the products have become much smaller since the last."""
        mu = self.products * self.unit / self.s.size / 2
        if self.marks and mu > self.marks[-1].mu / 5:
            return
        s, t, w, z, m = (np.array(x) for x in (self.s, self.t, self.w * self.unit, self.z * self.unit, self.m))
        y, h = self.y * self.unit + self.offset, self.h * self.unit
        self.marks.append(_Mark(mu, s, t, w, z, m, h, y, np.arange(len(m))))
        most = max(1, min(MARKS, MARKED // (4 * self.s.size)))
        self.marks = self.marks[-most:]

    def follow(self, gap: float, steps: int, deadline: float) -> Status:
        """Follow the path until the gap is small enough."""
        idle, stalled = 0, False
        for _ in range(steps):
            if self.best.gap <= gap:
                return Status.OPTIMAL
            if time.perf_counter() > deadline:
                return Status.LIMIT
            stalled = not self._step()
            if stalled:
                break
            self.taken += 1
            if self.products <= max(3 * gap, 1e-9) * self.scale:
                found = self._gap()
                if found < self.best.gap:
                    self.best, idle = self._read(found), 0
                elif self.products <= 1e-9 * self.scale:
                    idle += 1
            stalled = idle >= PATIENCE
            if stalled:
                break
        if not math.isfinite(self.best.gap):
            self.best = self._read(self._gap())
        if self.best.gap <= max(gap, ENOUGH if stalled else 1e-9):
            return Status.OPTIMAL
        return Status.FAILED if stalled else Status.LIMIT

    @property
    def pairs(self) -> tuple[Float, Float, Float, Float]:
        """Slacks of floors and caps, and their multipliers."""
        return self.s, self.t, self.w, self.z

    @property
    def scale(self) -> float:
        """What a relative gap is relative to."""
        return max(abs(float(self.y.sum() + self.offset.sum() / self.unit)), self.stake, 1e-300)

    @property
    def products(self) -> float:
        """Sum of all complementary products: the gap, were the point feasible."""
        return float(np.einsum("ij,ij->", self.s, self.w) + np.einsum("ij,ij->", self.t, self.z) + self.m @ self.h)

    def _read(self, gap: float) -> _Best:
        y = self.y * self.unit + self.offset
        return _Best(self.s.copy(), self.m.copy(), y, self.z * self.unit, gap)

    def _gap(self) -> float:
        """Relative gap between the safe bound of ``y`` and the channel made feasible."""
        bound = best_bound(self.c, self.y, self.b, self.beta, self.delta)
        channel = made_private(self.s + self.b * self.m, self.b, self.delta)
        return (bound - float(np.vdot(self.c, channel))) / self.scale

    def _step(self) -> bool:
        """Take one step; False where the arithmetic has come to its end."""
        newton = Newton(self)
        if not newton.solvable:
            return False
        affine = newton.predict()
        left = max(newton.left(affine), 1e-4)
        move = newton.correct(affine, left**EAGER * self.products / self.s.size / 2)
        primal, dual = move.lengths(max(BOUNDARY, 1 - SHY * left))
        for value, change in ((self.s, move.ds), (self.t, move.dt), (self.m, move.dm)):
            value += primal * change
        for value, change in ((self.w, move.dw), (self.z, move.dz), (self.y, move.dy)):
            value += dual * change
        if self.delta:
            self.h += dual * move.dh
        self._mark()
        return bool(np.isfinite(self.y).all() and np.isfinite(self.m).all())
