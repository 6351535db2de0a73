r"""Multipliers of the bound by moments: a primal-dual interior point method on the moments themselves.

With ``W_j`` and the mass linear in the moments ``x``, the least of ``sum_j c_j / W_j + mass`` over the cone of moments
is sought, in place of fixing the mass: the value is homogeneous. The matrices of moments are computed from ``x``, and
hold at every step; after a full step of the multipliers, their equations hold up to rounding.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, sqrt

import numpy as np

from ldpopt.certificate.design_bound_moments import Levels, MomentBound
from ldpopt.certificate.moments import Block, Moments
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float

STEPS = 100  # limit on Newton steps; 20 to 40 are usual
TO_BORDER = 0.95  # share of the distance to the boundary that a step goes
LEAST = 0.03  # smallest factor of the gap in a step


@dataclass(frozen=True, eq=False)
class Pair:
    """A matrix of moments and its multiplier: ``F M F^T = 1`` and ``F^-T Z F^-1 = diag(theta)``."""

    frame: Float  # F
    theta: Float

    @classmethod
    def of(cls, matrix: Float, multiplier: Float) -> "Pair":
        """The frame of two positive definite matrices."""
        root = np.linalg.cholesky(matrix)
        theta, turn = np.linalg.eigh(root.T @ multiplier @ root)
        if not theta[0] > 0:
            raise np.linalg.LinAlgError
        return cls(turn.T @ np.linalg.inv(root), theta)

    def moved(self, move: Float, t: float) -> Float:
        """The multiplier after a full step in which the matrix becomes ``1 + move``, in the frame."""
        return t * np.eye(len(move)) - move * ((self.theta[:, None] + self.theta) / 2)

    def fall(self, end: Float) -> float:
        """Smallest eigenvalue of the change of the multiplier, relative to the multiplier."""
        half = np.sqrt(self.theta)
        return float(np.linalg.eigvalsh(end / (half[:, None] * half))[0]) - 1


class Search:
    """The program of moments for a workload, at a ratio ``base = e**-epsilon``."""

    def __init__(self, levels: Levels, base: Fraction) -> None:
        self.levels, self.base, d = levels, base, levels.d
        self.moments = Moments.of(d)
        # Matrices, each of shape (moments, size, size), and then lines; rows are scaled so that entries are near 1.
        dense = [self._dense(block) for block in self.moments.blocks]
        count = self.moments.squares
        self.scales = [1 / np.sqrt(np.abs(one).max(axis=0).diagonal()) for one in dense]
        scaled = [scale[:, None] * one * scale for scale, one in zip(self.scales, dense, strict=True)]
        self.squares, self.lines = scaled[:count], np.array([one[:, 0, 0] for one in scaled[count:]])
        b, n = float(base), 2.0**d
        weights = np.zeros((d + 1, len(self.moments)))
        weights[:, 1 : d + 2] = self.moments.weights.astype(np.float64) / n
        self.mass = (1 - b) ** 2 * weights[0]
        self.mass[0] += b * b
        self.mass[1] += 2 * b * (1 - b)
        self.used = np.array([j for j in range(1, d + 1) if levels.total[j] > 0])
        self.weights = weights[self.used]
        self.start = self._start()
        costs = np.array([float(levels.total[j] ** 2 / levels.largest[j]) for j in self.used])
        self.costs = costs / (costs / (self.weights @ self.start)).sum()

    def _dense(self, block: Block) -> Float:
        """A matrix of moments, shape ``(moments, size, size)``."""
        found = np.zeros((len(self.moments), block.size, block.size))
        np.add.at(found, (block.moments, block.rows, block.columns), block.factors.astype(np.float64))
        return found

    def _start(self) -> Float:
        """Moments of a mixture of sets that fix some answers, and of sets that have every answer independently."""
        d, b = self.levels.d, float(self.base)
        triples = np.array([(0, 0, 0), *self.moments.number])
        points = np.where(triples[:, 0] > 0, 3, 1 + (triples[:, 1] > 0))
        points[0] = 0
        sets = [share**points for share in (0.5, b / (1 + b))]
        for t in range(1, d):
            shares = np.array([comb(d - u, t) for u in triples.sum(axis=1) // 2]) / comb(d, t) / 2.0**t
            shares[0] = 1.0
            sets.append(shares)
        return np.asarray(np.mean([one / (self.mass @ one) for one in sets], axis=0))

    def bound(self, gap: float, deadline: Deadline = NO_LIMIT) -> MomentBound:
        """The multipliers of one of the last steps, with a level that holds in rationals."""
        found: list[tuple[Float, Float, list[Float]]] = []
        with np.errstate(invalid="ignore", divide="ignore"), suppress(np.linalg.LinAlgError):  # the end of the floats
            for multipliers in self._path(gap, deadline):
                found = [*found[-2:], multipliers]
        return max((self._multipliers(*one) for one in found), key=lambda one: one.value_of(self.levels))

    def _path(self, gap: float, deadline: Deadline) -> Iterator[tuple[Float, Float, list[Float]]]:
        """Follow the central path; prices of the ``W_j``, and multipliers whose equations hold, after whole steps."""
        x, share = self.start, 0.5
        values = self.lines @ x
        degree = len(values) + sum(square.shape[1] for square in self.squares)
        lines, matrices = 1 / (degree * values), [np.tensordot(x, square, 1) for square in self.squares]
        pairs = [Pair.of(matrix, np.linalg.inv(matrix) / degree) for matrix in matrices]
        for count in range(STEPS):
            left = float(lines @ values + sum(pair.theta.sum() for pair in pairs))
            t = share * left / degree
            step = self._step(x, lines * values, values, pairs, t)
            move, changes = self.lines @ step / values, [np.tensordot(step, square, 1) for square in self.squares]
            moves = [pair.frame @ change @ pair.frame.T for pair, change in zip(pairs, changes, strict=True)]
            line = (t / values) - move * lines
            ends = [pair.moved(own, t) for pair, own in zip(pairs, moves, strict=True)]
            slopes = [move.min(), (self.weights @ step / (self.weights @ x)).min()]
            slopes += [np.linalg.eigvalsh(own)[0] for own in moves]
            falls = [(line / lines).min() - 1, *(pair.fall(end) for pair, end in zip(pairs, ends, strict=True))]
            first, second = (TO_BORDER / max(TO_BORDER, -min(parts)) for parts in (slopes, falls))
            if second > 1 / 2 or not count:  # what is negative after a whole step is left out
                w, duals = self.weights @ x, [p.frame.T @ end @ p.frame for p, end in zip(pairs, ends, strict=True)]
                yield self.costs / w**2 * (1 - 2 * (self.weights @ step) / w), line, duals
                if left <= gap or deadline.is_over:
                    return
            parts = [(1 - second) * np.diag(pair.theta) + second * end for pair, end in zip(pairs, ends, strict=True)]
            duals = [pair.frame.T @ part @ pair.frame for pair, part in zip(pairs, parts, strict=True)]
            x, lines = x + first * step, lines + second * (line - lines)
            values, matrices = self.lines @ x, [np.tensordot(x, square, 1) for square in self.squares]
            pairs = [Pair.of(matrix, dual) for matrix, dual in zip(matrices, duals, strict=True)]
            share = max(LEAST, 1 - min(first, second))

    def _step(self, x: Float, theta: Float, values: Float, pairs: list[Pair], t: float) -> Float:
        """Newton step of the moments at a parameter ``t`` of centrality."""
        w, own = self.weights @ x, self.lines / values[:, None]
        gradient = self.mass - (self.costs / w**2) @ self.weights - t * own.sum(axis=0)
        hessian = (self.weights.T * (2 * self.costs / w**3)) @ self.weights + (own.T * theta) @ own
        for square, pair in zip(self.squares, pairs, strict=True):
            parts = pair.frame @ square @ pair.frame.T
            gradient -= t * np.trace(parts, axis1=1, axis2=2)
            i, j = np.triu_indices(len(pair.theta))
            flat = parts[:, i, j] * np.sqrt((pair.theta[i] + pair.theta[j]) / (1 + (i == j)))
            hessian += flat @ flat.T
        scale = 1 / np.sqrt(np.diag(hessian))
        step = np.asarray(-scale * np.linalg.solve(hessian * (scale[:, None] * scale), scale * gradient))
        if not np.isfinite(step).all():
            raise np.linalg.LinAlgError
        return step

    def _multipliers(self, prices: Float, line: Float, matrices: list[Float]) -> MomentBound:
        """The bound of the multipliers, of which those that are negative are left out."""
        levels, d = self.levels, self.levels.d
        sigma = np.zeros(d + 1)
        largest = [float(levels.largest[j]) for j in self.used]
        sigma[self.used] = np.sqrt(np.maximum(prices, 0.0) / largest) / (1 - float(self.base))
        root = float(sigma @ [float(total) for total in levels.total]) / 2**d
        every = [_root(matrix) for matrix in matrices] + list(np.sqrt(np.maximum(line, 0.0))[:, None, None])
        factors = [
            (scale[:, None] * factor * (root * sqrt(2**d)))[np.tril_indices(len(scale))]
            for scale, factor in zip(self.scales, every, strict=True)
        ]
        made = MomentBound(root * sigma, root * root, np.concatenate(factors))
        return replace(made, level=round_up(made.least_level(levels, self.base)))


def _root(matrix: Float) -> Float:
    """A lower triangle ``L`` with ``L L^T`` a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray(np.linalg.qr((vectors * np.sqrt(np.maximum(values, 0.0))).T)[1].T)
