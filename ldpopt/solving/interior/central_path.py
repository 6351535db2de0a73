"""The central path of a compact program, with Newton directions in blocks of inputs (docs, "The interior point")."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from ldpopt.certificate.compact import Prices
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.foundation.rows import Int
from ldpopt.solvers import Status
from ldpopt.solving.interior.pricing import best_bound, project_to_private
from ldpopt.solving.log import LOG

BLOCK = 1 << 14  # entries of one block of work, so that it fits in the processor's cache
REFINEMENTS = 2  # number of steps of iterative refinement for each solution of the small system
Aim = Callable[[slice], tuple[Float, Float]]
# Number of steps without a better gap, once the products are negligible, after which the iteration has stalled
NON_IMPROVING_STEPS = 6
STALLED_GAP = 1e-6  # gap accepted as optimal when the iteration has stalled; a larger one is a failure
STEP_TO_BOUNDARY = 0.995  # smallest length of a step, as a share of the distance to the boundary
# A step stops short of the boundary by this share of the distance, times the gap share of the affine step, or less
STEP_BACKOFF = 0.03
# The corrector aims at the current products times this power of the share that the affine step leaves
CENTERING_POWER = 6
# Largest number of points of the path that are stored for warm starts; their products differ by a factor of 5
CHECKPOINTS = 6
CHECKPOINT_NUMBERS = 1 << 24  # largest number of floats of all checkpoints
MAX_ADDED = 1.0  # largest mass of new outputs at a warm start, relative to that of the old ones
LOST_MASS = 0.01  # largest probability of an input's left-out outputs at a warm start
MIN_B = 2.0**-52  # smallest ``b`` that is used; a smaller one changes the result by less than rounding errors


@dataclass
class Direction:
    """A direction, and the lengths of a full step relative to the distance to the boundary."""

    ds: Float
    dt: Float
    dw: Float
    dz: Float
    dm: Float
    dy: Float
    dh: Float
    primal: float = 0.0
    dual: float = 0.0

    def lengths(self, share: float) -> tuple[float, float]:
        """Primal and dual step lengths: this share of the distance to the boundary, at most 1."""
        return min(1.0, share / max(self.primal, 1e-300)), min(1.0, share / max(self.dual, 1e-300))


class Newton:
    """The factored Newton equations at a point; ``solvable`` is False if the factorization failed."""

    def __init__(self, path: "CentralPath") -> None:
        self.path = path
        n, k = path.s.shape
        rows = max(1, BLOCK // k)
        self.blocks = [slice(first, first + rows) for first in range(0, n, rows)]
        self.theta, self.tau, self.v, self.scaled = (np.empty((n, k)) for _ in range(4))
        self.root = np.empty(n)
        across = sum(map(self._set_weights, self.blocks))
        self.pivots = path.beta**2 * across + (path.h / path.m if path.delta else 0.0)
        self.row_residual = 1 - path.s.sum(axis=1) - path.b * path.m.sum()
        self.output_residual = -(path.b * (path.c.sum(axis=0) - path.y.sum()) + path.beta * path.z.sum(axis=0) + path.h)
        self.solvable = self._factor()

    def _set_weights(self, r: slice) -> Float:
        """Compute theta, tau and v of these inputs, and their rows of ``A`` over the square root of ``D``."""
        path = self.path
        theta = np.divide(path.s[r], path.w[r], out=self.theta[r])
        tau = np.divide(path.t[r], path.z[r], out=self.tau[r])
        v = np.divide(1.0, theta + tau, out=self.v[r])
        scaled = np.multiply(theta, v, out=self.scaled[r])
        self.root[r] = np.sqrt(np.maximum(np.einsum("ij,ij->i", scaled, tau), 1e-280))
        scaled *= path.beta
        scaled += path.b
        scaled /= self.root[r, None]
        return np.asarray(v.sum(axis=0))

    def _factor(self) -> bool:
        """Cholesky factor of the Schur complement, scaled to a unit diagonal."""
        schur = dsyrk(1.0, self.scaled.T, lower=1)
        diagonal = np.diag_indices(len(schur))
        schur[diagonal] += self.pivots
        if not np.isfinite(schur[diagonal]).all() or not (schur[diagonal] > 0).all():
            return False
        self.schur_scale = 1 / np.sqrt(schur[diagonal])
        schur *= self.schur_scale[:, None]
        schur *= self.schur_scale
        for ridge in (1e-15, 1e-13, 1e-11, 1e-9):
            schur[diagonal] = 1 + ridge
            self.factor, failed = dpotrf(schur, lower=1, clean=0)
            if not failed:
                return True
        return False

    def _solve_schur(self, q: Float, f: Float) -> tuple[Float, Float]:
        """Solve for ``dy`` and ``dM``, with refinement of both rows of the system."""
        f = f / self.root
        u, dm = np.zeros(len(f)), np.zeros(len(q))
        for _ in range(1 + REFINEMENTS):
            top = f - u + self.scaled @ dm
            side = q - self.pivots * dm - (u + top) @ self.scaled
            move = dpotrs(self.factor, side * self.schur_scale, lower=1)[0] * self.schur_scale
            dm = dm + move
            u = u + top + self.scaled @ move
        return u / self.root, dm

    def solve(self, aim: Aim, eh: Float) -> Direction:
        """Direction for the residuals ``aim(rows)`` of the entries and ``eh`` of the outputs."""
        path, (n, k) = self.path, self.path.s.shape
        ds, dt, dw, dz = (np.empty((n, k)) for _ in range(4))
        move = Direction(ds, dt, dw, dz, np.empty(k), np.empty(n), np.zeros(k))
        down, across = zip(*(self._right_sides(move, aim, r) for r in self.blocks), strict=True)
        q = eh - self.output_residual + path.beta * sum(down)
        move.dy, move.dm = self._solve_schur(q, np.concatenate(across) - self.row_residual)
        cap_change = path.beta * move.dm
        primal, dual = zip(*(self._complete_direction(move, cap_change, r) for r in self.blocks), strict=True)
        move.primal, move.dual = max(0.0, *primal), max(0.0, *dual)
        if path.delta:
            move.dh = eh - (path.h / path.m) * move.dm
            move.primal = max(move.primal, -float((move.dm / path.m).min()))
            move.dual = max(move.dual, -float((move.dh / path.h).min()))
        return move

    def _right_sides(self, move: Direction, aim: Aim, r: slice) -> tuple[Float, Float]:
        """Set ``ds`` and ``dt`` of these inputs to the residuals; return their parts of the right-hand sides."""
        es, et, v = move.ds[r], move.dt[r], self.v[r]
        es[:], et[:] = aim(r)
        across = self.tau[r] * es
        across -= self.theta[r] * et
        return np.einsum("ij,ij->j", v, es + et), np.einsum("ij,ij->i", v, across)

    def _complete_direction(self, move: Direction, cap_change: Float, r: slice) -> tuple[float, float]:
        """Set the direction of these inputs; return its length relative to the distance to the boundary."""
        dy, ds, dt, dw, dz = move.dy[r, None], move.ds[r], move.dt[r], move.dw[r], move.dz[r]
        rest = ds + dt
        rest -= cap_change
        # dw = dy + dz would lose digits if w is small.
        np.multiply(self.tau[r], dy, out=dw)
        dw += rest
        dw *= self.v[r]
        np.multiply(self.theta[r], dy, out=dz)
        np.subtract(rest, dz, out=dz)
        dz *= self.v[r]
        ds -= np.multiply(self.theta[r], dw, out=rest)
        dt -= np.multiply(self.tau[r], dz, out=rest)
        moved = zip((ds, dt, dw, dz), self.path.pairs, strict=True)
        least = [float(np.divide(change, value[r], out=rest).min()) for change, value in moved]
        return -min(least[:2]), -min(least[2:])

    def predict(self) -> Direction:
        """The affine direction, which aims at products of zero."""
        path = self.path
        return self.solve(lambda r: (-path.s[r], -path.t[r]), -path.h)

    def duality_gap_share(self, affine: Direction) -> float:
        """Share of the products that remains after an affine step to the boundary, never negative."""
        path, (primal, dual) = self.path, affine.lengths(1.0)
        first = np.vdot(path.w, affine.ds) + np.vdot(path.z, affine.dt) + path.h @ affine.dm
        second = np.vdot(affine.ds, affine.dw) + np.vdot(affine.dt, affine.dz) + affine.dm @ affine.dh
        # To first order, the primal and dual parts of the affine direction together remove each product completely.
        change = float((primal - dual) * first + primal * dual * second) / path.products
        return max(1 - dual + change, 0.0)

    def correct(self, affine: Direction, target: float) -> Direction:
        """Mehrotra's corrector: aim at equal products, with the affine step's second-order terms."""
        # These terms are multiplied by the shorter affine step length, as in full they would spoil short steps.
        path = self.path
        share = min(affine.lengths(1.0))

        def aim(r: slice) -> tuple[Float, Float]:
            es, et = affine.ds[r] * affine.dw[r], affine.dt[r] * affine.dz[r]
            for lack, value, other in ((es, path.s[r], path.w[r]), (et, path.t[r], path.z[r])):
                lack *= -share
                lack += target
                lack /= other
                lack -= value
            return es, et

        eh = (target - share * affine.dm * affine.dh) / path.m - path.h if path.delta else -path.h
        return self.solve(aim, eh)


@dataclass
class BestPoint:
    """The best point so far, in the units of the program."""

    s: Float
    m: Float
    y: Float
    z: Float
    gap: float


@dataclass(frozen=True)
class Checkpoint:
    """A point of the path, in the units of the program; ``column`` is the position of each output in it, or -1."""

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
    """The central path of a program up to the current point; `iterate` continues it at any time."""

    c: Float  # (n, k): costs, at most 0, in the unit of the shifted program, as are all numbers of the point
    s: Float  # (n, k): slacks of the floors
    t: Float  # (n, k): slacks of the caps
    w: Float  # multipliers of s
    z: Float  # multipliers of t
    m: Float  # (k,): the column variables M
    h: Float  # (k,): multipliers of m, with delta > 0
    y: Float  # (n,): multipliers of the row sums

    def __init__(
        self,
        costs: Float,
        b: float,
        beta: float,
        delta: float,
        earlier_path: "CentralPath | None" = None,
        kept: Int | None = None,
    ) -> None:
        self.offset = costs.max(axis=1)
        shifted = costs - self.offset[:, None]
        self.unit = float(-shifted.min(initial=0.0)) or 1.0
        self.c = shifted / self.unit
        self.least_scale = float(-self.c.min(axis=1).sum()) / 100
        self.b, self.beta, self.delta = max(b, MIN_B), beta, delta
        self.steps_taken = 0
        self.checkpoints: list[Checkpoint] = []
        # With slack (delta > 0) every new output is used at once, so that no old point is near the path.
        uses_new_outputs = kept is not None and bool(delta) and bool((kept < 0).any())
        self.resumed = (
            earlier_path is not None and kept is not None and not uses_new_outputs and self._resume(earlier_path, kept)
        )
        if not self.resumed:
            self._start()
        if not self.c.any():
            # All channels have the same value, and the multipliers are known.
            self.y[:], self.z[:] = 0.0, 0.0
        self.best = self._best_point(math.inf if self.c.any() else 0.0)

    @property
    def pairs(self) -> tuple[Float, Float, Float, Float]:
        """Slacks of floors and caps, and their multipliers."""
        return self.s, self.t, self.w, self.z

    @property
    def products(self) -> float:
        """Sum of all complementary products, which is the gap at a feasible point."""
        return float(np.einsum("ij,ij->", self.s, self.w) + np.einsum("ij,ij->", self.t, self.z) + self.m @ self.h)

    def _start(self) -> None:
        """Start with a uniform channel between floors and caps, and with multipliers strictly inside their bounds."""
        n, k = self.c.shape
        b, beta = self.b, self.beta
        near = max(b, 1e-2)
        # The midpoint on the logarithmic scale; on the linear scale if the slack matters more than the ratio.
        half = (1 / k - min(self.delta, 1 / k) / 2) / (b + beta / 2)
        self.m = np.full(k, min((1 + near) / (2 * near * k), half if self.delta else np.inf))
        self.s = np.full((n, k), 1 / k - b * self.m[0])
        self.t = np.full((n, k), self.delta + beta * self.m[0]) - self.s
        room = max(float(-self.c.mean()), 1e-3)
        self.y = np.full(n, room)
        excess = (self.y[:, None] - self.c).mean(axis=0)
        ratio = b / beta if beta else 1.0
        # With slack, h balances an output if beta is so small that z cannot.
        share = min(1 / ratio, n / (n + 1)) if self.delta else 1.0
        self.z = np.full((n, k), 1.0) * np.maximum(share * ratio * excess, 1e-3 * room)
        self.w = self.y[:, None] + self.z - self.c
        self.h = b * n * excess * (1 - share) if self.delta else np.zeros(k)

    def _resume(self, earlier_path: "CentralPath", kept: Int) -> bool:
        """Start at the last point of another path at which added and removed outputs have little mass, if any."""
        earlier = [
            replace(checkpoint, column=np.where(kept < 0, -1, checkpoint.column[kept]))
            for checkpoint in earlier_path.checkpoints
        ]
        while earlier:
            checkpoint = earlier.pop()
            masses, new = self._masses(checkpoint), checkpoint.column < 0
            lost_mass = (
                np.delete(checkpoint.s + self.b * checkpoint.m, checkpoint.column[~new], axis=1).sum(axis=1).max()
            )
            if masses[new].sum() <= MAX_ADDED * checkpoint.m.sum() and lost_mass <= LOST_MASS:
                self.checkpoints = earlier
                self._start_from(checkpoint, masses)
                return True
        return False

    def _masses(self, checkpoint: Checkpoint) -> Float:
        """Estimate each output's ``M`` near the checkpoint; infinite for an output that violates the bound there."""
        masses = checkpoint.m[checkpoint.column].copy()
        new = checkpoint.column < 0
        if new.any():
            costs = self.c[:, new] * self.unit + self.offset[:, None]
            lack = -Prices.of(costs, checkpoint.y).gains(self.b, self.beta)
            masses[new] = np.divide(
                len(checkpoint.y) * checkpoint.mu, lack, out=np.full(len(lack), np.inf), where=lack > 0
            )
        return masses

    def _start_from(self, checkpoint: Checkpoint, masses: Float) -> None:
        """Copy a checkpoint, and place new outputs exactly on the path."""
        new, column = checkpoint.column < 0, checkpoint.column
        self.m, self.y, mu = masses, (checkpoint.y - self.offset) / self.unit, checkpoint.mu / self.unit
        self.s, self.t = checkpoint.s[:, column].copy(), checkpoint.t[:, column].copy()
        self.w, self.z = checkpoint.w[:, column] / self.unit, checkpoint.z[:, column] / self.unit
        self.h = checkpoint.h[column] / self.unit
        if new.any():
            cap, gap = self.beta * self.m[new] + self.delta, self.y[:, None] - self.c[:, new]
            far = np.abs(gap)
            less = (mu + 2 * mu * mu / (np.hypot(cap * far, 2 * mu) + cap * far)) / cap
            self.w[:, new] = less + np.maximum(gap, 0.0)
            self.z[:, new] = less + np.maximum(-gap, 0.0)
            self.s[:, new] = cap * (self.z[:, new] / (self.w[:, new] + self.z[:, new]))
            self.t[:, new] = cap * (self.w[:, new] / (self.w[:, new] + self.z[:, new]))
            self.h[new] = mu / self.m[new] if self.delta else 0.0

    def _keep_checkpoint(self) -> None:
        """Store this point if its products are much smaller than those of the last stored one."""
        mu = self.products * self.unit / self.s.size / 2
        if self.checkpoints and mu > self.checkpoints[-1].mu / 5:
            return
        s, t, w, z, m = (np.array(x) for x in (self.s, self.t, self.w * self.unit, self.z * self.unit, self.m))
        y, h = self.y * self.unit + self.offset, self.h * self.unit
        self.checkpoints.append(Checkpoint(mu, s, t, w, z, m, h, y, np.arange(len(m))))
        most = max(1, min(CHECKPOINTS, CHECKPOINT_NUMBERS // (4 * self.s.size)))
        self.checkpoints = self.checkpoints[-most:]

    def iterate(self, gap: float, steps: int, deadline: Deadline) -> Status:
        """Take steps until the gap is small enough or no longer improves, or time is over."""
        stale = 0
        while self.best.gap > gap and steps and stale < NON_IMPROVING_STEPS:
            if deadline.is_over:
                return Status.LIMIT
            if not self._step():
                stale = NON_IMPROVING_STEPS
                break
            self.steps_taken, steps = self.steps_taken + 1, steps - 1
            stale = self._keep_best(gap, stale)
            LOG.debug("interior point, step %d: gap %.2e", self.steps_taken, self.best.gap)
        return self._final_status(gap, stalled=stale >= NON_IMPROVING_STEPS)

    def _final_status(self, gap: float, *, stalled: bool) -> Status:
        """Status of the best point after the last step."""
        if not math.isfinite(self.best.gap):
            self.best = self._best_point(self._gap())
        if self.best.gap <= max(gap, STALLED_GAP if stalled else 1e-9):
            return Status.OPTIMAL
        return Status.FAILED if stalled else Status.LIMIT

    def _keep_best(self, gap: float, stale: int) -> int:
        """Keep this point if it has the smallest gap so far; return the number of steps since the last improvement."""
        if self.products > max(3 * gap, 1e-9) * self.scale:
            return stale
        found = self._gap()
        if found < self.best.gap:
            self.best = self._best_point(found)
            return 0
        return stale + (self.products <= 1e-9 * self.scale)

    @property
    def scale(self) -> float:
        """Denominator of relative gaps."""
        return max(abs(float(self.y.sum() + self.offset.sum() / self.unit)), self.least_scale, 1e-300)

    def _best_point(self, gap: float) -> BestPoint:
        y = self.y * self.unit + self.offset
        return BestPoint(self.s.copy(), self.m.copy(), y, self.z * self.unit, gap)

    def _gap(self) -> float:
        """Relative gap between the valid bound of ``y`` and the value of the channel made feasible."""
        bound = best_bound(self.c, self.y, self.b, self.beta, self.delta)
        channel = project_to_private(self.s + self.b * self.m, self.b, self.delta)
        return (bound - float(np.vdot(self.c, channel))) / self.scale

    def _step(self) -> bool:
        """Take one step; False on numerical failure."""
        newton = Newton(self)
        if not newton.solvable:
            return False
        affine = newton.predict()
        share = max(newton.duality_gap_share(affine), 1e-4)
        move = newton.correct(affine, share**CENTERING_POWER * self.products / self.s.size / 2)
        primal, dual = move.lengths(max(STEP_TO_BOUNDARY, 1 - STEP_BACKOFF * share))
        for value, change in ((self.s, move.ds), (self.t, move.dt), (self.m, move.dm)):
            value += primal * change
        for value, change in ((self.w, move.dw), (self.z, move.dz), (self.y, move.dy)):
            value += dual * change
        if self.delta:
            self.h += dual * move.dh
        self._keep_checkpoint()
        return bool(np.isfinite(self.y).all() and np.isfinite(self.m).all())
