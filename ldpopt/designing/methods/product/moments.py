r"""Multipliers of the bound by moments: a primal-dual interior point method on the moments
themselves.

With ``W_j`` and the mass linear in the moments ``x``, the least of ``sum_j c_j / W_j + mass`` over
the cone of moments is sought, in place of fixing the mass: the value is homogeneous. The matrices
of moments are computed from ``x``, and hold at every step; after a full step of the multipliers,
their equations hold up to rounding.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, sqrt

import numpy as np

from ldpopt.certificate.design_bound_moments import MomentBound, MomentLevels
from ldpopt.certificate.moments import MomentMatrix, Moments, lower_half
from ldpopt.foundation.budget import round_up
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int

STEPS = 100  # limit on Newton steps; 20 to 40 are usual
TO_BORDER = 0.95  # share of the distance to the boundary that a step goes
PRECISION = 1e-4  # of what is left between a bound and the value of a design
HELPS = 0.99  # a bound by more moments that leaves more of the gap than this share is the last one
# largest number of questions for moments of all four answers: 5 s; 10 questions need 100 s
ALL_DISTANCES = 8
# largest number for moments of some four answers: 7 s for 10 questions, 50 s for 16
FOUR_ANSWERS = 11
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
        """The multiplier after a full Newton step; in the frame the matrix is 1, and ``1 + move``
        after the step.
        """
        return t * np.eye(len(move)) - move * ((self.theta[:, None] + self.theta) / 2)

    def unframed(self, end: Float) -> Float:
        """A multiplier of the matrix itself, from one in the frame."""
        return self.frame.T @ end @ self.frame

    def fall(self, end: Float) -> float:
        """Smallest eigenvalue of the change of the multiplier, relative to the multiplier."""
        half = np.sqrt(self.theta)
        return float(np.linalg.eigvalsh(end / (half[:, None] * half))[0]) - 1


@dataclass(frozen=True, eq=False)
class Square:
    """A symmetric matrix that is linear in some of the moments; rows are scaled so that entries are
    near 1.
    """

    used: Int  # numbers of the moments
    parts: Float  # their matrices, shape (used, size, size)
    scale: Float  # of the rows

    @classmethod
    def of(cls, block: MomentMatrix) -> "Square":
        """The matrix of a block."""
        used, place = np.unique(block.moments, return_inverse=True)
        parts = np.zeros((len(used), block.size, block.size))
        np.add.at(parts, (place, block.rows, block.columns), block.factors.astype(np.float64))
        scale = 1 / np.sqrt(np.abs(parts).max(axis=0).diagonal())
        return cls(used, scale[:, None] * parts * scale, scale)

    def at(self, x: Float) -> Float:
        """The matrix at moments ``x``."""
        return np.asarray(
            (x[self.used] @ self.parts.reshape(len(self.used), -1)).reshape(self.parts.shape[1:])
        )

    def framed(self, frame: Float) -> Float:
        """``F M F^T`` of every part ``M``, by two products of long matrices."""
        size = len(frame)
        half = (self.parts.reshape(-1, size) @ frame.T).reshape(self.parts.shape)
        return (half.transpose(0, 2, 1).reshape(-1, size) @ frame.T).reshape(self.parts.shape)


@dataclass(frozen=True, eq=False)
class PathStep:
    """Multipliers whose equations hold after a whole step, up to its second order."""

    left: float  # gap before the step
    prices: Float  # of the W_j
    line: Float  # multipliers of the forms
    matrices: list[Float]  # those of the matrices
    is_positive: bool  # whether none had to be made positive


@dataclass(frozen=True, eq=False)
class _Move:
    """A Newton step of the moments, the multipliers after a whole step, and the lengths to go."""

    step: Float  # of the moments
    line: Float  # multipliers of the forms
    matrices: list[Float]  # those of the matrices, in their frames
    primal: float  # length at which all moments stay inside
    dual: float  # length at which all multipliers stay positive


def best_bound(
    levels: MomentLevels, base: Fraction, value: float, gap: float, deadline: Deadline
) -> MomentBound:
    """The bound by three answers and, if a design of this value is not proved by it to ``gap``, by
    four answers.
    """
    best = Search(levels, base).bound(gap / 10, deadline, value)
    for apart in second_answers(levels.d):
        open_share = 1 - float(best.value_of(levels)) / value
        if open_share <= gap or deadline.is_over:
            break
        larger = Search(levels, base, apart).bound(gap / 10, deadline, value)
        best = max(best, larger, key=lambda bound: bound.value_of(levels))
        if 1 - float(best.value_of(levels)) / value > HELPS * open_share:
            break
    return best


def second_answers(d: int) -> list[tuple[int, ...]]:
    """Values of ``apart`` (see `Moments`) to try in turn: more distances give a larger bound, and
    take more time.
    """
    if d <= ALL_DISTANCES:
        return [(1,), tuple(range(1, d + 1))]
    return [(1,), (1, 2)][: max(0, FOUR_ANSWERS - d + 1)]


class Search:
    """The program of moments for a workload, at a ratio ``base = e**-epsilon``.

    The moments of a set are the shares of the pairs, triples and some fours of answers, by their
    distances, that are all in the set. Those of any set form positive semidefinite matrices (the
    squares) and nonnegative numbers (the lines), so that the least value over all numbers with
    these properties bounds all designs. ``apart`` chooses which fours of answers are among them, as
    in `Moments`.
    """

    def __init__(self, levels: MomentLevels, base: Fraction, apart: tuple[int, ...] = ()) -> None:
        self.levels = levels
        self.base = base
        d = levels.d
        self.moments = Moments.of(d, apart)
        every = [Square.of(block) for block in self.moments.blocks]
        self.scales = [square.scale for square in every]
        count = self.moments.squares
        self.squares = every[:count]
        lines = every[count:]  # of one row: a form for each, as a row over all moments
        self.lines = np.zeros((len(lines), len(self.moments)))
        for line, square in zip(self.lines, lines, strict=True):
            line[square.used] = square.parts[:, 0, 0]
        b = float(base)
        n = 2.0**d
        weights = np.zeros((d + 1, len(self.moments)))
        weights[:, 1 : d + 2] = self.moments.weights.astype(np.float64) / n
        # (b + (1 - b) m)^2 as a form of the moments, of which weights[0] is m^2
        self.mass = (1 - b) ** 2 * weights[0]
        self.mass[0] += b * b
        self.mass[1] += 2 * b * (1 - b)
        self.used = np.array([j for j in range(1, d + 1) if levels.total[j] > 0])
        self.weights = weights[self.used]
        self.start = self._start()
        costs = np.array([float(levels.total[j] ** 2 / levels.largest[j]) for j in self.used])
        self.costs = costs / (costs / (self.weights @ self.start)).sum()

    def _start(self) -> Float:
        """Moments of a mixture of sets that fix some answers, and of sets that have every answer
        independently.
        """
        d = self.levels.d
        b = float(self.base)
        # Number of different answers of each moment, and of questions in which they are not all
        # equal.
        points = [
            0,
            *(4 if len(key) == 7 else 1 + np.count_nonzero(key[:2]) for key in self.moments.number),
        ]
        differ = [0, *(sum(key) if len(key) == 7 else sum(key) // 2 for key in self.moments.number)]
        sets = [share ** np.array(points) for share in (0.5, b / (1 + b))]
        for t in range(1, d):
            shares = np.array([comb(d - u, t) for u in differ]) / comb(d, t) / 2.0**t
            shares[0] = 1.0
            sets.append(shares)
        return np.asarray(np.mean([moments / (self.mass @ moments) for moments in sets], axis=0))

    def bound(self, gap: float, deadline: Deadline = NO_LIMIT, value: float = 0.0) -> MomentBound:
        """The largest bound that multipliers of one of the last steps prove in rationals.

        A bound that stays far below ``value``, that of a known design, is not computed to the last
        digits.
        """
        last: list[PathStep] = []  # three, the best of which is not known before the proof
        positive: list[PathStep] = []  # the last one whose multipliers are all positive
        # floats too coarse
        with np.errstate(invalid="ignore", divide="ignore"), suppress(np.linalg.LinAlgError):
            for step in self._path(deadline):
                last = [*last[-2:], step]
                positive = [step] if step.is_positive else positive
                trace = self._eigenvalues(step.prices) @ [
                    float(total) for total in self.levels.total
                ]
                open_share = (
                    1 - trace**2 / 2**self.levels.d / value
                    if value > 0 and step.is_positive
                    else 0.0
                )
                if step.left <= max(gap, PRECISION * open_share):
                    break
        return max(
            map(self._multipliers, positive + last), key=lambda bound: bound.value_of(self.levels)
        )

    def _path(self, deadline: Deadline) -> Iterator[PathStep]:
        """Steps along the central path of the interior point method."""
        x = self.start
        share = 0.5  # of the gap, at which the next step aims
        values = self.lines @ x
        degree = len(values) + sum(len(square.scale) for square in self.squares)
        lines = 1 / (degree * values)
        matrices = [square.at(x) for square in self.squares]
        pairs = [Pair.of(matrix, np.linalg.inv(matrix) / degree) for matrix in matrices]
        for count in range(STEPS):
            left = float(lines @ values + sum(pair.theta.sum() for pair in pairs))
            move = self._move(x, lines, pairs, share * left / degree)
            if move.dual > 1 / 2 or not count:  # what is negative after a whole step is left out
                w = self.weights @ x
                prices = self.costs / w**2 * (1 - 2 * (self.weights @ move.step) / w)
                duals = [pair.unframed(end) for pair, end in zip(pairs, move.matrices, strict=True)]
                yield PathStep(left, prices, move.line, duals, move.dual == 1)
                if deadline.is_over:
                    return
            parts = [
                (1 - move.dual) * np.diag(pair.theta) + move.dual * end
                for pair, end in zip(pairs, move.matrices, strict=True)
            ]
            duals = [pair.unframed(part) for pair, part in zip(pairs, parts, strict=True)]
            x = x + move.primal * move.step
            lines = lines + move.dual * (move.line - lines)
            matrices = [square.at(x) for square in self.squares]
            pairs = [Pair.of(matrix, dual) for matrix, dual in zip(matrices, duals, strict=True)]
            values = self.lines @ x
            share = max(LEAST, 1 - min(move.primal, move.dual))

    def _move(self, x: Float, lines: Float, pairs: list[Pair], t: float) -> _Move:
        """The Newton step from moments and multipliers at a parameter ``t`` of centrality."""
        values = self.lines @ x
        step = self._step(x, lines * values, values, pairs, t)
        change = self.lines @ step / values
        line = (t / values) - change * lines
        changes = [
            pair.frame @ square.at(step) @ pair.frame.T
            for pair, square in zip(pairs, self.squares, strict=True)
        ]
        ends = [pair.moved(part, t) for pair, part in zip(pairs, changes, strict=True)]
        # Relative changes of what has to stay positive; -1 is the boundary.
        primal = [change.min(), (self.weights @ step / (self.weights @ x)).min()]
        primal += [np.linalg.eigvalsh(part)[0] for part in changes]
        dual = [(line / lines).min() - 1]
        dual += [pair.fall(end) for pair, end in zip(pairs, ends, strict=True)]
        lengths = [TO_BORDER / max(TO_BORDER, -min(slopes)) for slopes in (primal, dual)]
        return _Move(step, line, ends, *lengths)

    def _step(self, x: Float, theta: Float, values: Float, pairs: list[Pair], t: float) -> Float:
        """Newton step of the moments at a parameter ``t`` of centrality."""
        w = self.weights @ x
        lines = self.lines / values[:, None]
        gradient = self.mass - (self.costs / w**2) @ self.weights - t * lines.sum(axis=0)
        hessian = (self.weights.T * (2 * self.costs / w**3)) @ self.weights + (
            lines.T * theta
        ) @ lines
        for square, pair in zip(self.squares, pairs, strict=True):
            parts = square.framed(pair.frame)
            gradient[square.used] -= t * np.trace(parts, axis1=1, axis2=2)
            i, j = np.triu_indices(len(pair.theta))
            flat = parts[:, i, j] * np.sqrt((pair.theta[i] + pair.theta[j]) / (1 + (i == j)))
            hessian[np.ix_(square.used, square.used)] += flat @ flat.T
        scale = 1 / np.sqrt(np.diag(hessian))
        step = np.asarray(
            -scale * np.linalg.solve(hessian * (scale[:, None] * scale), scale * gradient)
        )
        if not np.isfinite(step).all():
            raise np.linalg.LinAlgError
        return step

    def _eigenvalues(self, prices: Float) -> Float:
        """The ``sigma`` of prices of the ``W_j``, for a level of 1."""
        sigma = np.zeros(self.levels.d + 1)
        largest = [float(self.levels.largest[j]) for j in self.used]
        sigma[self.used] = np.sqrt(np.maximum(prices, 0.0) / largest) / (1 - float(self.base))
        return sigma

    def _multipliers(self, step: PathStep) -> MomentBound:
        """The bound of the multipliers, of which those that are negative are left out."""
        levels = self.levels
        d = self.levels.d
        sigma = self._eigenvalues(step.prices)
        root = float(sigma @ [float(total) for total in levels.total]) / 2**d
        every = [_root(matrix) for matrix in step.matrices]
        every += list(np.sqrt(np.maximum(step.line, 0.0))[:, None, None])
        factors = [
            (scale[:, None] * factor * (root * sqrt(2**d)))[lower_half(len(scale))]
            for scale, factor in zip(self.scales, every, strict=True)
        ]
        made = MomentBound(root * sigma, root * root, np.concatenate(factors), self.moments.apart)
        return replace(made, level=round_up(made.least_level(levels, self.base)))


def _root(matrix: Float) -> Float:
    """A lower triangle ``L`` with ``L L^T`` a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray(np.linalg.qr((vectors * np.sqrt(np.maximum(values, 0.0))).T)[1].T)
