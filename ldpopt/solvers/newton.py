r"""Newton directions of the interior point for compact programs: one factor for each, a block of inputs at a time.

Pairs are eliminated entry by entry. With :math:`\theta = s/w`, :math:`\tau = t/z`, :math:`v = 1/(\theta + \tau)`
what is left for ``y`` and ``M`` is

.. math:: D\,dy - A\,dM = f, \qquad A^T dy + K\,dM = q, \qquad A = b + \beta\,\theta v, \quad D = \sum_j \theta v \tau,

of which the outputs' Schur complement is factored (docs, "The interior point").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from ldpopt.numbers import Float

if TYPE_CHECKING:
    from ldpopt.solvers.interior_ import CentralPath

BLOCK = 1 << 14
"""Entries worked on at a time, which stay in a processor's cache."""

REFINED = 2
"""Times that a solution of the small system is refined."""

SPREAD = 10.0
"""Gondzio's corrections keep products within this factor of their target."""

Aim = Callable[[slice], tuple[Float, Float]]


@dataclass
class Move:
    """A direction, what its pairs were aimed at, and how many times it leads to the boundary in a full step."""

    es: Float
    et: Float
    eh: Float
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
        """Primal and dual step lengths that go this share of the way to the boundary."""
        return min(1.0, share / max(self.primal, 1e-300)), min(1.0, share / max(self.dual, 1e-300))


class Newton:
    """The equations at one point, factored; ``solvable`` says whether they could be."""

    def __init__(self, path: CentralPath) -> None:
        self.path = path
        n, k = path.s.shape
        rows = max(1, BLOCK // k)
        self.blocks = [slice(first, first + rows) for first in range(0, n, rows)]
        self.theta, self.tau, self.v, self.scaled = (np.empty((n, k)) for _ in range(4))
        self.root = np.empty(n)
        across = sum(map(self._begin, self.blocks))
        self.pivots = path.beta**2 * across + (path.h / path.m if path.delta else 0.0)
        self.row_lack = 1 - path.s.sum(axis=1) - path.b * path.m.sum()
        self.column_lack = -(path.b * (path.c.sum(axis=0) - path.y.sum()) + path.beta * path.z.sum(axis=0) + path.h)
        self.solvable = self._factor()

    def _begin(self, r: slice) -> Float:
        """Weights of the pairs, and the rows of ``A`` over the square root of ``D``."""
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
        self.equal = 1 / np.sqrt(schur[diagonal])
        schur *= self.equal[:, None]
        schur *= self.equal
        for regular in (1e-15, 1e-13, 1e-11, 1e-9):
            schur[diagonal] = 1 + regular
            self.factor, failed = dpotrf(schur, lower=1, clean=0)
            if not failed:
                return True
        return False

    def _linear(self, q: Float, f: Float) -> tuple[Float, Float]:
        """Solve for ``dy`` and ``dM``, refined: every pass corrects both rows of the system."""
        f = f / self.root
        u, dm = np.zeros(len(f)), np.zeros(len(q))
        for _ in range(1 + REFINED):
            top = f - u + self.scaled @ dm
            side = q - self.pivots * dm - (u + top) @ self.scaled
            move = dpotrs(self.factor, side * self.equal, lower=1)[0] * self.equal
            dm = dm + move
            u = u + top + self.scaled @ move
        return u / self.root, dm

    def solve(self, aim: Aim, eh: Float) -> Move:
        """Direction for pairs that lack ``aim(rows)`` and outputs that lack ``eh``."""
        path, (n, k) = self.path, self.path.s.shape
        es, et, ds, dt, dw, dz = (np.empty((n, k)) for _ in range(6))
        move = Move(es, et, eh, ds, dt, dw, dz, np.empty(k), np.empty(n), np.zeros(k))
        down, across = zip(*(self._gather(move, aim, r) for r in self.blocks), strict=True)
        q = eh - self.column_lack + path.beta * sum(down)
        move.dy, move.dm = self._linear(q, np.concatenate(across) - self.row_lack)
        drop = path.beta * move.dm
        primal, dual = zip(*(self._spread(move, drop, r) for r in self.blocks), strict=True)
        move.primal, move.dual = max(0.0, *primal), max(0.0, *dual)
        if path.delta:
            move.dh = eh - (path.h / path.m) * move.dm
            move.primal = max(move.primal, -float((move.dm / path.m).min()))
            move.dual = max(move.dual, -float((move.dh / path.h).min()))
        return move

    def _gather(self, move: Move, aim: Aim, r: slice) -> tuple[Float, Float]:
        """Set what these inputs' pairs lack; return their parts of the right-hand sides, by outputs and by inputs."""
        es, et, v = move.es[r], move.et[r], self.v[r]
        es[:], et[:] = aim(r)
        across = self.tau[r] * es
        across -= self.theta[r] * et
        return np.einsum("ij,ij->j", v, es + et), np.einsum("ij,ij->i", v, across)

    def _spread(self, move: Move, drop: Float, r: slice) -> tuple[float, float]:
        """Set the direction of these inputs' pairs; return how many times it leads to the boundary."""
        dy, ds, dt, dw, dz = move.dy[r, None], move.ds[r], move.dt[r], move.dw[r], move.dz[r]
        rest = move.es[r] + move.et[r]
        rest -= drop
        # Not dw = dy + dz: that would cancel where w is small.
        np.multiply(self.tau[r], dy, out=dw)
        dw += rest
        dw *= self.v[r]
        np.multiply(self.theta[r], dy, out=dz)
        np.subtract(rest, dz, out=dz)
        dz *= self.v[r]
        np.multiply(self.theta[r], dw, out=ds)
        np.subtract(move.es[r], ds, out=ds)
        np.multiply(self.tau[r], dz, out=dt)
        np.subtract(move.et[r], dt, out=dt)
        moved = zip((ds, dt, dw, dz), self.path.pairs, strict=True)
        least = [float(np.divide(change, value[r], out=rest).min()) for change, value in moved]
        return -min(least[:2]), -min(least[2:])

    def predict(self) -> Move:
        """Affine direction: towards products of zero."""
        path = self.path
        return self.solve(lambda r: (-path.s[r], -path.t[r]), -path.h)

    def products(self, move: Move, primal: float, dual: float) -> float:
        """Sum of the products after a step, never negative."""
        path = self.path

        def after(r: slice) -> float:
            total = 0.0
            for a, da, b, db in ((path.s, move.ds, path.w, move.dw), (path.t, move.dt, path.z, move.dz)):
                total += np.einsum("ij,ij->", a[r] + primal * da[r], b[r] + dual * db[r])
            return float(total)

        total = sum(map(after, self.blocks))
        if path.delta:
            total += float((path.m + primal * move.dm) @ (path.h + dual * move.dh))
        return max(total, 0.0)

    def correct(self, affine: Move, target: float) -> Move:
        """Mehrotra's corrector: aim at equal products, second-order terms of the affine step included."""
        path = self.path

        def aim(r: slice) -> tuple[Float, Float]:
            es = (target - affine.ds[r] * affine.dw[r]) / path.w[r] - path.s[r]
            return es, (target - affine.dt[r] * affine.dz[r]) / path.z[r] - path.t[r]

        eh = (target - affine.dm * affine.dh) / path.m - path.h if path.delta else -path.h
        return self.solve(aim, eh)

    def lengthen(self, move: Move, primal: float, dual: float, target: float) -> Move:
        """Gondzio's correction: pull products that a longer step would leave outlying."""
        path = self.path
        far, deep = min(1.0, 2 * primal + 0.1), min(1.0, 2 * dual + 0.1)
        low, high = target / SPREAD, target * SPREAD

        def pulled(product: Float) -> Float:
            moved = np.clip(product, low, high)
            moved -= product
            return np.maximum(moved, -high, out=moved)

        def aim(r: slice) -> tuple[Float, Float]:
            es = pulled((path.s[r] + far * move.ds[r]) * (path.w[r] + deep * move.dw[r]))
            et = pulled((path.t[r] + far * move.dt[r]) * (path.z[r] + deep * move.dz[r]))
            es /= path.w[r]
            et /= path.z[r]
            es += move.es[r]
            et += move.et[r]
            return es, et

        eh = move.eh
        if path.delta:
            eh = eh + pulled((path.m + far * move.dm) * (path.h + deep * move.dh)) / path.m
        return self.solve(aim, eh)
