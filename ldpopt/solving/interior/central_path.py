"""The central path of a compact program: points and Newton systems, and warm starts (docs, "The
interior point").
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg.blas import dsyrk

from ldpopt.certificate.compact import OutputSums
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.solvers import Status
from ldpopt.solving.interior.path_following import Factor, Iterate, NewtonSystem, follow_path
from ldpopt.solving.interior.pricing import best_bound, project_to_private

REFINEMENTS = 2  # number of steps of iterative refinement for each solution of the small system
STALLED_STEPS = 10  # iterations without a smaller gap before stopping
# Gap accepted as optimal if the iteration has stalled, a larger one is a failure; and after the
# last step
STALLED_GAP, LAST_GAP = 1e-6, 1e-9
# Largest number of points of the path that are stored for warm starts; their products differ by a
# factor of 5
CHECKPOINTS = 6
CHECKPOINT_NUMBERS = 1 << 24  # largest number of floats of all checkpoints
MAX_ADDED = 1.0  # largest mass of new outputs at a warm start, relative to that of the old ones
LOST_MASS = 0.01  # largest probability of an input's left-out outputs at a warm start
# smallest ``b`` that is used; a smaller one changes the result by less than rounding errors
MIN_B = 2.0**-52


@dataclass(frozen=True)
class CompactPoint(Iterate):
    """A point of the path, or a step."""

    s: Float  # (n, k): slacks of the floors
    t: Float  # (n, k): slacks of the caps
    m: Float  # (k,): the column variables M
    w: Float  # multipliers of s
    z: Float  # multipliers of t
    h: Float  # multipliers of m, with delta > 0
    y: Float  # (n,): multipliers of the row sums, free

    PRIMAL: ClassVar[frozenset[str]] = frozenset({"s", "t", "m"})
    SLACKS: ClassVar[tuple[str, ...]] = ("s", "t", "m")
    MULTIPLIERS: ClassVar[tuple[str, ...]] = ("w", "z", "h")


class PurePoint(CompactPoint):
    """A point without delta, where ``s`` and ``t`` keep ``m`` positive."""

    SLACKS: ClassVar[tuple[str, ...]] = ("s", "t")
    MULTIPLIERS: ClassVar[tuple[str, ...]] = ("w", "z")


class CompactSystem(NewtonSystem[CompactPoint]):
    """The linear system of one iteration: all variables except ``y`` and ``M`` are eliminated entry
    by entry.
    """

    has_short_steps = True

    def __init__(self, path: "CentralPath", at: CompactPoint) -> None:
        """Eliminate slacks and multipliers of every entry, then ``y``, whose matrix is diagonal.

        ``theta`` and ``tau`` are the ratios of slacks and multipliers of floors and caps, (n, k);
        what is left is a system of order k for ``M``, the Schur complement.
        """
        self.path, self.at = path, at
        self.theta = at.s / at.w
        self.tau = at.t / at.z
        self.v = 1 / (self.theta + self.tau)
        part = self.theta * self.v
        self.root = np.sqrt(np.maximum(np.einsum("ij,ij->i", part, self.tau), 1e-280))
        self.scaled = (path.b + path.beta * part) / self.root[:, None]
        self.pivots = path.beta**2 * self.v.sum(axis=0) + at.h / at.m
        self.row_residual = 1 - at.s.sum(axis=1) - path.b * at.m.sum()
        self.output_residual = -(
            path.b * (path.c.sum(axis=0) - at.y.sum()) + path.beta * at.z.sum(axis=0) + at.h
        )
        schur = dsyrk(1.0, self.scaled.T, lower=1)
        schur[np.diag_indices(len(schur))] += self.pivots
        self.factor = Factor(schur, ridge=1e-15)

    def _solve_schur(self, q: Float, f: Float, refinements: int) -> tuple[Float, Float]:
        """Solve for ``dy`` and ``dM``, with refinement of both rows of the system."""
        f = f / self.root
        u = np.zeros(len(f))
        dm = np.zeros(len(q))
        for _ in range(1 + refinements):
            top = f - u + self.scaled @ dm
            side = q - self.pivots * dm - (u + top) @ self.scaled
            move = self.factor.solve(side)
            dm, u = dm + move, u + top + self.scaled @ move
        return u / self.root, dm

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> CompactPoint:
        """Newton step that changes the products of slacks and multipliers by these amounts."""
        at = self.at
        beta = self.path.beta
        theta, tau, v = (self.theta, self.tau, self.v)
        # changes of s, t and h by the aims alone; what dw, dz and dM change follows at the end
        ds = aims[0] / at.w
        dt = aims[1] / at.z
        dh = aims[2] / at.m if self.path.delta else np.zeros(len(at.m))
        q = (
            dh
            - self.output_residual
            + beta * (np.einsum("ij,ij->j", v, ds) + np.einsum("ij,ij->j", v, dt))
        )
        across = tau * ds
        # in place, because large temporary arrays take longer than their arithmetic
        across -= theta * dt
        f = np.einsum("ij,ij->i", v, across) - self.row_residual
        dy, dm = self._solve_schur(q, f, REFINEMENTS if refine else 0)
        shared = np.add(ds, dt, out=across)
        shared -= beta * dm
        # dw = dy + dz would lose digits if w is small
        dw = tau * dy[:, None]
        dz = theta * -dy[:, None]
        for part in (dw, dz):
            part += shared
            part *= v
        ds -= np.multiply(theta, dw, out=shared)
        dt -= np.multiply(tau, dz, out=shared)
        dh -= at.h / at.m * dm
        return type(at)(ds, dt, dm, dw, dz, dh, dy)


@dataclass(frozen=True)
class PathPoint:
    """A point of the path, in the units of the program; ``column`` is the position of each output
    in it, or -1.
    """

    mu: float
    at: CompactPoint
    column: Int


class CentralPath:
    """The central path of a program up to its best point; `iterate` continues it at any time."""

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
        # (n, k): at most 0, in the unit of the shifted program, as are points
        self.c = shifted / self.unit
        self.b = max(b, MIN_B)
        self.beta = beta
        self.delta = delta
        self.steps_taken, self.gap = 0, math.inf
        self.checkpoints: list[PathPoint] = []
        # With slack (delta > 0) every new output is used at once, so that no old point is near the
        # path.
        is_near = earlier_path is not None and kept is not None and not (delta and (kept < 0).any())
        resumed = (
            self._resume(earlier_path.checkpoints, kept)  # type: ignore[union-attr,arg-type]
            if is_near
            else None
        )
        self.resumed = resumed is not None
        self.at = self._start() if resumed is None else resumed
        if not self.c.any():  # all channels have the same value, and the multipliers are known
            self.at = replace(self.at, y=np.zeros(len(costs)), z=np.zeros(costs.shape))

    def _start(self) -> CompactPoint:
        """Start with a uniform channel between floors and caps, and with multipliers strictly
        inside their bounds.
        """
        n, k = self.c.shape
        b, beta = self.b, self.beta
        near = max(b, 1e-2)
        # Uniform reports are the harmonic mean of floor and cap, or the plain one if slack matters
        # more than the ratio.
        half = (1 / k - min(self.delta, 1 / k) / 2) / (b + beta / 2)
        m = np.full(k, min((1 + near) / (2 * near * k), half if self.delta else np.inf))
        s = np.full((n, k), 1 / k - b * m[0])
        room = max(float(-self.c.mean()), 1e-3)
        y = np.full(n, room)
        excess = (y[:, None] - self.c).mean(axis=0)
        ratio = b / beta if beta else 1.0
        # With slack, h balances an output if beta is so small that z cannot.
        share = min(1 / ratio, n / (n + 1)) if self.delta else 1.0
        z = np.full((n, k), 1.0) * np.maximum(share * ratio * excess, 1e-3 * room)
        h = b * n * excess * (1 - share) if self.delta else np.zeros(k)
        kind = CompactPoint if self.delta else PurePoint
        return kind(
            s, np.full((n, k), self.delta + beta * m[0]) - s, m, y[:, None] + z - self.c, z, h, y
        )

    def _resume(self, checkpoints: list[PathPoint], kept: Int) -> CompactPoint | None:
        """The last point of another path at which added and removed outputs have little mass, if
        there is one.
        """
        earlier = [
            replace(point, column=np.where(kept < 0, -1, point.column[kept]))
            for point in checkpoints
        ]
        while earlier:
            checkpoint = earlier.pop()
            masses = self._masses(checkpoint)
            new = checkpoint.column < 0
            old = checkpoint.at
            lost_mass = (
                np.delete(old.s + self.b * old.m, checkpoint.column[~new], axis=1).sum(axis=1).max()
            )
            if masses[new].sum() <= MAX_ADDED * old.m.sum() and lost_mass <= LOST_MASS:
                self.checkpoints = earlier
                return self._with_outputs(checkpoint, masses)
        return None

    def _masses(self, checkpoint: PathPoint) -> Float:
        """Estimate each output's ``M`` near the checkpoint; infinite for an output that violates
        the bound there.
        """
        masses = checkpoint.at.m[checkpoint.column].copy()
        new = checkpoint.column < 0
        y = checkpoint.at.y
        if new.any():
            lack = -OutputSums.of(self.c[:, new] * self.unit + self.offset[:, None], y).gains(
                self.b, self.beta
            )
            masses[new] = np.divide(
                len(y) * checkpoint.mu, lack, out=np.full(len(lack), np.inf), where=lack > 0
            )
        return masses

    def _with_outputs(self, checkpoint: PathPoint, masses: Float) -> CompactPoint:
        """A checkpoint with new outputs, which are placed exactly on the path."""
        new = checkpoint.column < 0
        old = checkpoint.at
        mu = checkpoint.mu / self.unit
        s, t, w, z = (
            part[:, checkpoint.column]
            for part in (old.s, old.t, old.w / self.unit, old.z / self.unit)
        )
        h = old.h[checkpoint.column] / self.unit
        y = (old.y - self.offset) / self.unit
        if new.any():
            cap = self.beta * masses[new] + self.delta
            gap = y[:, None] - self.c[:, new]
            far = np.abs(gap)
            less = (mu + 2 * mu * mu / (np.hypot(cap * far, 2 * mu) + cap * far)) / cap
            w[:, new] = less + np.maximum(gap, 0.0)
            z[:, new] = less + np.maximum(-gap, 0.0)
            s[:, new] = cap * (z[:, new] / (w[:, new] + z[:, new]))
            t[:, new] = cap * (w[:, new] / (w[:, new] + z[:, new]))
            h[new] = mu / masses[new] if self.delta else 0.0
        return type(old)(s, t, masses, w, z, h, y)

    def iterate(self, gap: float, steps: int, deadline: Deadline) -> Status:
        """Take steps until the gap is small enough or no longer improves, or time is over."""
        result = follow_path(
            self.at,
            lambda at: self._measure(at, max(3 * gap, LAST_GAP)),
            lambda at: CompactSystem(self, at),
            gap=gap,
            steps=steps,
            stalled_steps=STALLED_STEPS,
            deadline=deadline,
        )
        self.at, self.steps_taken = result.point, self.steps_taken + result.steps
        self.gap = (
            result.gap if math.isfinite(result.gap) else self._measure(result.point, math.inf)[1]
        )
        is_stalled = result.steps < steps and not result.timed_out
        if self.gap <= (
            gap if result.timed_out else max(gap, STALLED_GAP if is_stalled else LAST_GAP)
        ):
            return Status.OPTIMAL
        return Status.FAILED if is_stalled else Status.LIMIT

    def _measure(self, at: CompactPoint, largest: float) -> tuple[float, float]:
        """Gap of the bound of ``y`` to the channel made feasible, unless products are larger;
        stores checkpoints.
        """
        mu = at.products * self.unit / at.s.size / 2
        if not self.checkpoints or mu <= self.checkpoints[-1].mu / 5:
            most = max(1, min(CHECKPOINTS, CHECKPOINT_NUMBERS // (4 * at.s.size)))
            self.checkpoints = [
                *self.checkpoints,
                PathPoint(mu, self.in_units(at), np.arange(len(at.m))),
            ][-most:]
        bound = float(at.y.sum() + self.offset.sum() / self.unit)
        scale = max(abs(bound), float(-self.c.min(axis=1).sum()) / 100, 1e-300)
        if at.products > largest * scale:
            return math.inf, math.inf
        channel = project_to_private(at.s + self.b * at.m, self.b, self.delta)
        distance = best_bound(self.c, at.y, self.b, self.beta, self.delta) - float(
            np.vdot(self.c, channel)
        )
        return distance, distance / scale

    def in_units(self, at: CompactPoint) -> CompactPoint:
        """A point with multipliers in the units of the program."""
        unit = self.unit
        return replace(at, w=at.w * unit, z=at.z * unit, h=at.h * unit, y=at.y * unit + self.offset)
