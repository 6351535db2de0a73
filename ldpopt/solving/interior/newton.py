r"""Newton directions of the interior point for compact programs, with one factorization, in blocks of inputs.

Slacks and multipliers are eliminated entry by entry. With :math:`\theta = s/w`, :math:`\tau = t/z` and
:math:`v = 1/(\theta + \tau)` the equations for ``y`` and ``M`` are

.. math:: D\,dy - A\,dM = f, \qquad A^T dy + K\,dM = q, \qquad A = b + \beta\,\theta v, \quad D = \sum_j \theta v \tau,

whose Schur complement on the outputs is factored (docs, "The interior point").
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from ldpopt.foundation.numbers import Float

BLOCK = 1 << 14  # entries of one block of work, so that it fits in the processor's cache
REFINEMENTS = 2  # number of steps of iterative refinement for each solution of the small system
Aim = Callable[[slice], tuple[Float, Float]]


class Iterate:
    """A point of the iteration, in the units of the shifted program."""

    c: Float  # (n, k): costs, at most 0
    b: float  # numbers of the compact program
    beta: float
    delta: float
    s: Float  # (n, k): slacks of the floors
    t: Float  # (n, k): slacks of the caps
    w: Float  # multipliers of s
    z: Float  # multipliers of t
    m: Float  # (k,): the column variables M
    h: Float  # (k,): multipliers of m, with delta > 0
    y: Float  # (n,): multipliers of the row sums

    @property
    def pairs(self) -> tuple[Float, Float, Float, Float]:
        """Slacks of floors and caps, and their multipliers."""
        return self.s, self.t, self.w, self.z

    @property
    def products(self) -> float:
        """Sum of all complementary products, which is the gap at a feasible point."""
        return float(np.einsum("ij,ij->", self.s, self.w) + np.einsum("ij,ij->", self.t, self.z) + self.m @ self.h)


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

    def __init__(self, path: Iterate) -> None:
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
