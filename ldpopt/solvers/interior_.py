r"""The interior point for compact channel programs: one small dense system for each step, whatever the utility.

For costs ``c`` (n, m), to be maximized, with the slack ``t`` of the caps and the multipliers ``y``, ``z``,

.. math::

    s_{xj} + t_{xj} - \beta M_j = \delta \;[z_{xj}], \qquad \sum_j s_{xj} + b \sum_j M_j = 1 \;[y_x], \qquad
    w_{xj} = y_x + z_{xj} - c_{xj},

the central path is :math:`s w = t z = M h = \mu`. Everything but ``y`` and ``M`` is eliminated entry by entry; what is
left is quasi-definite, and its Schur complement on the outputs has order m (docs, "The interior point"). Predictor and
corrector are Mehrotra's, with Gondzio's corrections of outlying products.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from ldpopt.errors import NotRepresentableError, SolverOptionError
from ldpopt.numbers import Float
from ldpopt.pricing import CHUNK, best_bound
from ldpopt.program import LinearProgram
from ldpopt.solvers import Outcome, Status
from ldpopt.solvers.threads import few_threads

GAP = 1e-11
"""Relative gap at which to stop: that of a safe bound to the value of a feasible channel."""

STEPS = 150
"""Steps at most; 10 to 40 are usual."""

PATIENCE = 6
"""Steps without a better gap, once the products are negligible, after which roundoff has won."""

ENOUGH = 1e-6
"""Relative gap up to which the end of the arithmetic counts as the optimum; beyond it the solve has failed."""

BOUNDARY = 0.995
"""Share of the way to the boundary that a step may go."""

CORRECTIONS = 3
"""Gondzio's corrections in a step, at most."""

SHORTER = 0.05
"""What a correction may take from the two step lengths together: better centered, the next step is longer."""

SPREAD = 10.0
"""Products are kept within this factor of their target."""

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
        gap: float = GAP,
        steps: int = STEPS,
        **options: Any,
    ) -> Outcome:
        """Solve a compact program, or go on with it from an earlier outcome's ``basis``.

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
        if structure is None or structure.form != "compact" or len(program.rows) != 2:
            raise NotRepresentableError(
                "the interior point solves compact programs: all pairs tied alike, an expected value, no side rows",
                do='use solver="highs"',
            )
        sign = 1.0 if structure.maximize else -1.0
        costs = sign * structure.weighted
        deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
        run = basis if isinstance(basis, _Run) else _Run.begin(costs, structure.b, structure.beta, structure.delta)
        with few_threads(costs.shape[1]):
            status = run.advance(gap, steps, deadline)
        best = run.best
        y, z = sign * best.y, sign * best.z
        point = np.concatenate([best.s.reshape(-1), best.m])
        rows = np.concatenate([y, z.reshape(-1)])
        below = structure.b * (structure.weighted.sum(axis=0) - y.sum()) + structure.beta * z.sum(axis=0)
        reduced = np.concatenate([(structure.weighted - y[:, None] - z).reshape(-1), below])
        return Outcome(status, f"{run.taken} steps, relative gap {best.gap:.1e}", point, rows, reduced, run)


@dataclass
class _Best:
    """The best point so far, in the units of the program."""

    s: Float
    m: Float
    y: Float
    z: Float
    gap: float


class _Run:
    """Where the path has come to: it can be followed further at any time."""

    def __init__(self, costs: Float, b: float, beta: float, delta: float) -> None:
        self.offset = costs.max(axis=1)
        shifted = costs - self.offset[:, None]
        self.unit = float(-shifted.min(initial=0.0)) or 1.0
        self.c = shifted / self.unit
        self.stake = float(-self.c.min(axis=1).sum()) / 100
        self.b, self.beta, self.delta = max(b, SMALLEST), beta, delta
        self.taken = 0
        self._start()
        if not self.c.any():
            # Every channel is as good as any, and the multipliers are known.
            self.y[:], self.z[:] = 0.0, 0.0
        self.best = self._read(math.inf if self.c.any() else 0.0)

    @classmethod
    def begin(cls, costs: Float, b: float, beta: float, delta: float) -> _Run:
        return cls(costs, b, beta, delta)

    def _start(self) -> None:
        """Uniform channel, half-way between floor and cap on the logarithmic scale; multipliers with some room."""
        n, k = self.c.shape
        b, beta = self.b, self.beta
        near = max(b, 1e-2)
        self.m = np.full(k, (1 + near) / (2 * near * k))
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

    def advance(self, gap: float, steps: int, deadline: float) -> Status:
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
    def scale(self) -> float:
        """What a relative gap is relative to."""
        return max(abs(float(self.y.sum() + self.offset.sum() / self.unit)), self.stake, 1e-300)

    @property
    def products(self) -> float:
        """Sum of all complementary products: the gap, were the point feasible."""
        return float(np.vdot(self.s, self.w) + np.vdot(self.t, self.z) + self.m @ self.h)

    def _read(self, gap: float) -> _Best:
        y = self.y * self.unit + self.offset
        return _Best(self.s.copy(), self.m.copy(), y, self.z * self.unit, gap)

    def _gap(self) -> float:
        """Relative gap between the safe bound of ``y`` and the channel made feasible by filling its rows up."""
        bound = best_bound(self.c, self.y, self.b, self.beta, self.delta)
        channel = self.s + self.b * self.m
        top = channel.max(axis=0)
        np.maximum(channel, self.b * (top - self.delta), out=channel)
        sums = channel.sum(axis=1)
        lack = float(sums.max() / sums.min()) - 1
        filler = int(np.argmax(top))
        # Rows that lack mass take it in one column, whose ratio a share of constant rows makes room for.
        room = (1 - self.b) / self.b if self.b < 1 else np.inf
        share = min(1.0, lack / (room + self.delta * (1 + room) + 1e-300) + lack)
        worth = float(np.vdot(self.c, channel)) / float(sums.max())
        worth += float((self.c[:, filler] * (1 - sums / sums.max())).sum())
        value = (1 - share) * worth + share * float(self.c[:, filler].sum())
        return (bound - value) / self.scale

    def _step(self) -> bool:
        """Take one step; False where the arithmetic has come to its end."""
        direction = _Direction(self)
        if not direction.solvable:
            return False
        primal, dual = direction.predict()
        mu = self.products / self.s.size / 2
        target = max(direction.predicted(primal, dual) / mu, 1e-4) ** 3 * mu
        direction.correct(target)
        primal, dual = direction.lengths()
        for _ in range(CORRECTIONS):
            if min(primal, dual) > 0.9:
                break
            better = direction.corrected(primal, dual, target)
            if better is None:
                break
            primal, dual = better
        for value, move in ((self.s, direction.ds), (self.t, direction.dt), (self.m, direction.dm)):
            value += primal * move
        for value, move in ((self.w, direction.dw), (self.z, direction.dz), (self.y, direction.dy)):
            value += dual * move
        if self.delta:
            self.h += dual * direction.dh
        return bool(np.isfinite(self.y).all() and np.isfinite(self.m).all())


class _Direction:
    """Newton directions from one point: the factors are made once, each right-hand side is a pass and two products."""

    def __init__(self, run: _Run) -> None:
        self.run = run
        n, k = run.s.shape
        rows = max(1, (CHUNK >> 4) // k)
        self.blocks = [slice(first, first + rows) for first in range(0, n, rows)]
        self.theta, self.tau, self.v, self.omega = (np.empty((n, k)) for _ in range(4))
        self.diagonal, across = np.empty(n), np.zeros(k)
        for r in self.blocks:
            theta = np.divide(run.s[r], run.w[r], out=self.theta[r])
            tau = np.divide(run.t[r], run.z[r], out=self.tau[r])
            v = np.divide(1.0, theta + tau, out=self.v[r])
            omega = np.multiply(theta, v, out=self.omega[r])
            self.diagonal[r] = np.einsum("ij,ij->i", omega, tau)
            across += v.sum(axis=0)
        self.diagonal = np.maximum(self.diagonal, 1e-280)
        self.pivots = run.beta**2 * across + (run.h / run.m if run.delta else 0.0)
        self.row_lack = 1 - run.s.sum(axis=1) - run.b * run.m.sum()
        self.column_lack = -(run.b * (run.c.sum(axis=0) - run.y.sum()) + run.beta * run.z.sum(axis=0) + run.h)
        self.solvable = self._factor()
        self.es, self.et, self.eh = -run.s, -run.t, -run.h

    def _factor(self) -> bool:
        """Cholesky factor of the Schur complement, scaled to a unit diagonal."""
        run, k = self.run, len(self.pivots)
        scaled = (run.b + run.beta * self.omega) / np.sqrt(self.diagonal)[:, None]
        schur = dsyrk(1.0, scaled.T, lower=1)
        diagonal = np.diag_indices(k)
        schur[diagonal] += self.pivots
        if not np.isfinite(schur[diagonal]).all() or not (schur[diagonal] > 0).all():
            return False
        self.equal = 1 / np.sqrt(schur[diagonal])
        schur *= self.equal[:, None]
        schur *= self.equal
        for regular in (1e-15, 1e-13, 1e-11, 1e-9):
            schur[diagonal] = 1 + regular
            try:
                self.factor = cho_factor(schur, lower=True, check_finite=False)
            except LinAlgError:
                continue
            return True
        return False

    def _across(self, x: Float) -> Float:
        """``A x`` for ``A = b + beta omega``."""
        result: Float = self.run.b * x.sum() + self.run.beta * (self.omega @ x)
        return result

    def _down(self, x: Float) -> Float:
        """``A.T x``."""
        result: Float = self.run.b * x.sum() + self.run.beta * (x @ self.omega)
        return result

    def _linear(self, q: Float, f: Float) -> tuple[Float, Float]:
        """Solve ``D dy - A dm = f, A.T dy + K dm = q``, refined twice."""
        dy, dm = np.zeros(len(f)), np.zeros(len(q))
        for _ in range(3):
            top = (f - self.diagonal * dy + self._across(dm)) / self.diagonal
            side = q - self._down(dy) - self.pivots * dm - self._down(top)
            move = cho_solve(self.factor, side * self.equal, check_finite=False) * self.equal
            dy, dm = dy + top + self._across(move) / self.diagonal, dm + move
        return dy, dm

    def _solve(self) -> None:
        """Direction for the right-hand sides at hand."""
        run = self.run
        q, f = self.eh - self.column_lack, -self.row_lack
        for r in self.blocks:
            v, es, et = self.v[r], self.es[r], self.et[r]
            q = q + run.beta * (v * (es + et)).sum(axis=0)
            f[r] += (v * (self.tau[r] * es - self.theta[r] * et)).sum(axis=1)
        self.dy, self.dm = self._linear(q, f)
        self.ds, self.dt, self.dw, self.dz = (np.empty_like(run.s) for _ in range(4))
        drop = run.beta * self.dm
        for r in self.blocks:
            dy, rest = self.dy[r, None], self.es[r] + self.et[r] - drop
            # Not dw = dy + dz: that would cancel where w is small.
            dw = np.multiply(self.v[r], rest + self.tau[r] * dy, out=self.dw[r])
            dz = np.multiply(self.v[r], rest - self.theta[r] * dy, out=self.dz[r])
            np.subtract(self.es[r], self.theta[r] * dw, out=self.ds[r])
            np.subtract(self.et[r], self.tau[r] * dz, out=self.dt[r])
        self.dh = self.eh - (run.h / run.m) * self.dm if run.delta else np.zeros_like(run.h)

    def predict(self) -> tuple[float, float]:
        """Affine direction, and how far it may go."""
        self._solve()
        return self.lengths(1.0)

    def lengths(self, share: float = BOUNDARY) -> tuple[float, float]:
        """Primal and dual step lengths that keep everything positive."""
        run, primal, dual = self.run, 0.0, 0.0
        for r in self.blocks:
            primal = max(primal, -float((self.ds[r] / run.s[r]).min()), -float((self.dt[r] / run.t[r]).min()))
            dual = max(dual, -float((self.dw[r] / run.w[r]).min()), -float((self.dz[r] / run.z[r]).min()))
        if run.delta:
            primal = max(primal, -float((self.dm / run.m).min()))
            dual = max(dual, -float((self.dh / run.h).min()))
        return min(1.0, share / max(primal, 1e-300)), min(1.0, share / max(dual, 1e-300))

    def predicted(self, primal: float, dual: float) -> float:
        """Mean product after a step, never negative."""
        run, total = self.run, 0.0
        for r in self.blocks:
            total += float(np.vdot(run.s[r] + primal * self.ds[r], run.w[r] + dual * self.dw[r]))
            total += float(np.vdot(run.t[r] + primal * self.dt[r], run.z[r] + dual * self.dz[r]))
        if run.delta:
            total += float((run.m + primal * self.dm) @ (run.h + dual * self.dh))
        return max(total, 0.0) / run.s.size / 2

    def correct(self, target: float) -> None:
        """Mehrotra's corrector: aim at equal products, second-order terms of the affine step included."""
        run = self.run
        for r in self.blocks:
            self.es[r] = (target - self.ds[r] * self.dw[r]) / run.w[r] - run.s[r]
            self.et[r] = (target - self.dt[r] * self.dz[r]) / run.z[r] - run.t[r]
        if run.delta:
            self.eh = (target - self.dm * self.dh) / run.m - run.h
        self._solve()

    def corrected(self, primal: float, dual: float, target: float) -> tuple[float, float] | None:
        """Gondzio's correction for a longer step; None, and nothing changed, where it shortens it."""
        run = self.run
        far, deep = min(1.0, 2 * primal + 0.1), min(1.0, 2 * dual + 0.1)
        low, high = target / SPREAD, target * SPREAD

        def pulled(product: Float) -> Float:
            moved: Float = np.maximum(np.clip(product, low, high) - product, -high)
            return moved

        before = {name: getattr(self, name) for name in ("es", "et", "eh", "ds", "dt", "dw", "dz", "dy", "dm", "dh")}
        self.es, self.et = np.empty_like(run.s), np.empty_like(run.t)
        for r in self.blocks:
            product = (run.s[r] + far * before["ds"][r]) * (run.w[r] + deep * before["dw"][r])
            self.es[r] = before["es"][r] + pulled(product) / run.w[r]
            product = (run.t[r] + far * before["dt"][r]) * (run.z[r] + deep * before["dz"][r])
            self.et[r] = before["et"][r] + pulled(product) / run.z[r]
        if run.delta:
            self.eh = self.eh + pulled((run.m + far * self.dm) * (run.h + deep * self.dh)) / run.m
        self._solve()
        longer = self.lengths()
        if sum(longer) < primal + dual - SHORTER:
            self.__dict__.update(before)
            return None
        return longer
