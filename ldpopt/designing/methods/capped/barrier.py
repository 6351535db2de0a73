r"""The multipliers of a capped design by an interior point method over listed columns.

The bound of `design_bound_capped` is maximised over ``K`` and ``y``. With two variables
:math:`u^+, u^- \ge 0` for each column and number, the price of a column becomes

.. math:: h_B(z, \rho) = \min_u \; (z - u^+ + u^-)^2 / \rho + 2 B (u^+ + u^-),

which is smooth, and what is maximised is

.. math:: t \big( 2 \operatorname{tr}(K W^T) - 1 \cdot y \big)
          + \sum_A \Big( \log s_A + \sum_j \log u^+_{Aj} u^-_{Aj} \Big)

with the slack :math:`s_A` of the price of each column. At its maximum the weights
:math:`\theta_A = 1 / (t s_A)` and the values :math:`V_{Aj} = (z - u^+ + u^-) / \rho` are an
unbiased design within the caps, whose variance is above the bound by the number of logarithms over
``t``. In the worst case the weights ``r`` are multipliers, too. The variables ``u`` of a column are
eliminated from each step, which leaves a matrix for ``K``, ``y`` and ``r``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

STEPS = 25  # largest number of Newton steps for one ``t``
FASTER = 5.0  # by which ``t`` grows
SLOWEST = 1.1  # the least factor after steps that did not reach the center
ROUNDS = 200  # of t
CENTERED = 0.1  # square of the Newton decrement at which ``t`` grows
LAST = 1e-10  # the same for the last ``t``
ARMIJO = 0.01  # share of the predicted gain that a step must have
INWARD = 0.9  # share of the way to the border that a step may go
LEAST_STEP = 2.0**-30


@dataclass(frozen=True, eq=False)
class CappedProgram:
    """Columns, the centered workload, and the limits of its values."""

    vectors: Float  # v, shape (m, n)
    rows: Float  # W less the middle of each row, shape (k, n)
    limits: Float  # B, shape (k,); inf without a cap
    weights: Float  # r, shape (n,)
    largest: float  # limit of the entries of K: rows that no columns reach stay finite
    is_worst_case: bool = False

    def with_columns(self, vectors: Float) -> CappedProgram:
        """The program of other columns."""
        return replace(self, vectors=vectors)

    def start(self) -> CappedDual:
        """Multipliers at which every column has a slack."""
        n = len(self.weights)
        r = np.full(n, 1.0 / n) if self.is_worst_case else self.weights
        return CappedDual(np.zeros(self.rows.shape), np.ones(n), r)

    @property
    def constraints(self) -> int:
        """Number of logarithms: the gap is this over ``t``."""
        extra = len(self.weights) if self.is_worst_case else 0
        capped = int(np.isfinite(self.limits).sum())
        return len(self.vectors) * (1 + 2 * capped) + 2 * self.rows.size + extra


@dataclass(frozen=True, eq=False)
class CappedDual:
    """``K``, ``y`` and the weights ``r``."""

    slope: Float
    line: Float
    weights: Float

    def moved(self, step: Float, size: float) -> CappedDual:
        """The multipliers after a step."""
        k, n = self.slope.shape
        slope = self.slope + size * step[: k * n].reshape(k, n)
        line = self.line + size * step[k * n : (k + 1) * n]
        weights = self.weights
        if len(step) > (k + 1) * n:
            weights = weights + size * step[(k + 1) * n :]
        return CappedDual(slope, line, weights)

    def value(self, rows: Float) -> float:
        """The bound, with the variance of the true values added in the mean and subtracted in the
        worst case.
        """
        squares = (rows**2).sum(axis=0)
        linear = 2 * float((self.slope * rows).sum()) - float(self.line.sum())
        return linear - float(self.weights @ squares)


def best_values(slope: Float, vectors: Float, mass: Float, limits: Float) -> Float:
    """The best values of columns within the limits, shape (k, m)."""
    values: Float = np.clip(slope @ vectors.T / mass, -limits[:, None], limits[:, None])
    return values


def costs_of(multipliers: CappedDual, vectors: Float, limits: Float) -> Float:
    """``sum_j h_j - y.v`` of columns: at most 0 where the multipliers hold."""
    mass = vectors @ multipliers.weights
    values = best_values(multipliers.slope, vectors, mass, limits)
    cost = (values * (2 * (multipliers.slope @ vectors.T) - mass * values)).sum(axis=0)
    return np.asarray(cost - vectors @ multipliers.line)


@dataclass(frozen=True, eq=False)
class _Point:
    """What a step needs at some multipliers."""

    x: CappedDual
    u: Float  # u+ and u-, shape (2, k, m); 0 without a cap
    values: Float  # V, (k, m)
    mass: Float
    slack: Float
    box: tuple[Float, Float]  # distances of K from both ends

    @classmethod
    def at(cls, program: CappedProgram, x: CappedDual, u: Float) -> _Point:
        """The point of some multipliers."""
        v = program.vectors
        mass = v @ x.weights
        values = (x.slope @ v.T - u[0] + u[1]) / mass
        limits = np.where(np.isfinite(program.limits), program.limits, 0.0)
        slack = v @ x.line - (mass * values**2).sum(axis=0) - 2 * limits @ u.sum(axis=0)
        box = (program.largest - x.slope, program.largest + x.slope)
        return cls(x, u, values, mass, slack, box)

    def merit(self, program: CappedProgram, t: float) -> float:
        """What is maximised; minus infinity outside."""
        u = self.u[:, np.isfinite(program.limits)]
        parts = [self.slack, *self.box, u]
        if program.is_worst_case:
            parts.append(self.x.weights)
        if any(part.min(initial=1.0) <= 0 for part in parts):
            return -np.inf
        logs = sum(float(np.log(part).sum()) for part in parts)
        return t * self.x.value(program.rows) + logs


def first_u(program: CappedProgram, x: CappedDual) -> Float:
    """Variables ``u`` at which every column has a slack, if the multipliers have one."""
    v = program.vectors
    mass = v @ x.weights
    limits = program.limits[:, None]
    is_capped = np.isfinite(limits)
    z = x.slope @ v.T
    values = np.clip(z / mass, -limits, limits)
    over = z - mass * values
    spare = v @ x.line - (values * (2 * z - mass * values)).sum(axis=0)
    least = spare / (8 * (1 + np.where(is_capped, limits, 0.0).sum()))
    least = np.minimum(least, 0.1 * mass * (1 + np.where(is_capped, limits, 0.0).max()))
    u = np.stack([np.maximum(over, 0.0), np.maximum(-over, 0.0)]) + least
    return np.asarray(np.where(is_capped, u, 0.0))


@dataclass(frozen=True, eq=False)
class _Reduced:
    """The second derivatives and the gradient of all columns by ``K v``, ``y.v`` and ``r.v``, after
    ``u`` is eliminated, and how ``u`` follows.

    With the diagonal blocks ``D`` of the second derivatives of ``u``, those by both, ``C``, and the
    gradients ``move`` and ``gamma`` of the slack: sums of squares, without differences.
    """

    form: Float  # (m, k + 2, k + 2)
    gradient: Float  # (m, k + 2)
    solved: Float  # how u follows the others, (m, 2, k, k + 2)
    first: Float  # its own step, (m, 2, k)
    pull: Float  # its gradient, (m, 2, k)

    @classmethod
    def of(cls, program: CappedProgram, point: _Point) -> _Reduced:
        """Eliminate ``u`` for each column apart."""
        k, m = point.values.shape
        value = point.values.T  # (m, k)
        s = point.slack
        is_capped = np.isfinite(program.limits)
        limits = np.where(is_capped, program.limits, 0.0)
        c = 2 / (point.mass * s)[:, None] * np.ones((m, k))
        move, curve = _derivatives(value)
        gamma = np.stack([2 * (value - limits), -2 * (value + limits)], axis=1) * is_capped
        blocks = _Blocks.of(point.u, c, is_capped)
        pull = (gamma / s[:, None, None] + 1 / blocks.u) * is_capped
        along = blocks.solved(gamma)
        own = blocks.solved(pull)
        size = s**2 + (gamma * along).sum(axis=(1, 2))
        inner = (gamma * own).sum(axis=(1, 2)) / size
        first = own - along * inner[:, None, None]
        # D^-1 C, a factor of each row of `curve`
        mixed = blocks.mixed
        bent = move - np.einsum("mij,mij,mja->ma", gamma, mixed, curve, optimize=True)
        form = np.einsum("mj,mja,mjb->mab", blocks.left, curve, curve, optimize=True)
        form += (bent / np.sqrt(size)[:, None])[:, :, None] * (bent / np.sqrt(size)[:, None])[
            :, None, :
        ]
        solved = mixed[..., None] * curve[:, None]
        solved = solved + along[..., None] * (bent / size[:, None])[:, None, None, :]
        back = c * (first[:, 1] - first[:, 0])
        gradient = move / s[:, None] - np.einsum("mj,mja->ma", back, curve)
        gradient -= move * inner[:, None]
        return cls(form, gradient, solved, first, pull)


def _derivatives(value: Float) -> tuple[Float, Float]:
    """Those of the slack, and of ``z - u`` less ``V`` times the mass, by ``z``, ``y`` and ``r``."""
    m, k = value.shape
    parts = [-2 * value, np.ones((m, 1)), (value**2).sum(axis=1, keepdims=True)]
    curve = np.zeros((m, k, k + 2))
    curve[:, np.arange(k), np.arange(k)] = 1.0
    curve[:, :, -1] = -value
    return np.concatenate(parts, axis=1), curve


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The second derivatives of ``u`` of one column and number, two by two."""

    u: Float  # (m, 2, k); 1 without a cap
    c: Float  # (m, k)
    over: Float  # one over the determinant, 0 without a cap
    left: Float  # the curvature that is left after u is eliminated

    @classmethod
    def of(cls, u: Float, c: Float, is_capped: Any) -> _Blocks:
        """The blocks ``[[a + c, -c], [-c, b + c]]`` with ``a`` and ``b`` one over the squares."""
        known = np.where(is_capped[:, None], u, 1.0).transpose(2, 0, 1)
        a = 1 / known[:, 0] ** 2
        b = 1 / known[:, 1] ** 2
        over = 1 / (a * b + c * (a + b))
        left = np.where(is_capped, c * a * b * over, c)
        return cls(known, c, over * is_capped, left)

    @property
    def mixed(self) -> Float:
        """The inverse times ``(-c, c)``, shape (m, 2, k)."""
        first = -self.c * self.over / self.u[:, 1] ** 2
        second = self.c * self.over / self.u[:, 0] ** 2
        return np.stack([first, second], axis=1)

    def solved(self, right: Float) -> Float:
        """The inverse times numbers of shape (m, 2, k)."""
        a = 1 / self.u[:, 0] ** 2
        b = 1 / self.u[:, 1] ** 2
        c = self.c
        first = self.over * ((b + c) * right[:, 0] + c * right[:, 1])
        second = self.over * (c * right[:, 0] + (a + c) * right[:, 1])
        return np.stack([first, second], axis=1)


def _direction(program: CappedProgram, point: _Point, t: float) -> tuple[Float, Float, float]:
    """The Newton step of the multipliers and of ``u``, and the square of its decrement.

    The multipliers are one after the other in a vector: the rows of ``K``, ``y`` and, in the worst
    case, ``r``, each with n entries. ``u`` is eliminated before, and follows from their step.
    """
    v = program.vectors
    k, n = point.x.slope.shape
    reduced = _Reduced.of(program, point)
    parts = k + 1 + program.is_worst_case
    hessian = _joined(reduced.form[:, :parts, :parts], v)
    slope = (reduced.gradient[:, :parts].T @ v).ravel()
    slope[: k * n] += (2 * t * program.rows - 1 / point.box[0] + 1 / point.box[1]).ravel()
    slope[k * n : (k + 1) * n] -= t
    places = np.arange(k * n)
    hessian[places, places] += (1 / point.box[0] ** 2 + 1 / point.box[1] ** 2).ravel()
    last = np.arange((k + 1) * n, parts * n)
    if program.is_worst_case:
        slope[last] += -t * (program.rows**2).sum(axis=0) + 1 / point.x.weights
        hessian[last, last] += 1 / point.x.weights**2
    if not (np.isfinite(hessian).all() and np.isfinite(slope).all()):
        return np.zeros(len(slope)), np.zeros(point.u.shape), 0.0  # beyond the floats
    step = _bordered(hessian, slope, last) if program.is_worst_case else _solved(hessian, slope)
    local = np.zeros((len(v), k + 2))
    local[:, :parts] = v @ step.reshape(parts, n).T
    u_step = reduced.first - np.einsum("mija,ma->mij", reduced.solved, local, optimize=True)
    decrement = float(step @ slope) + float((reduced.pull * reduced.first).sum())
    return step, u_step.transpose(1, 2, 0), decrement


def _joined(form: Float, v: Float) -> Float:
    """The second derivatives by ``K``, ``y`` and ``r`` from those of all columns."""
    parts = form.shape[1]
    n = v.shape[1]
    hessian = np.zeros((parts * n, parts * n))
    for i in range(parts):
        for j in range(i + 1):
            block = (v.T * form[:, i, j]) @ v
            hessian[i * n : (i + 1) * n, j * n : (j + 1) * n] = block
            hessian[j * n : (j + 1) * n, i * n : (i + 1) * n] = block.T
    return hessian


def _solved(hessian: Float, slope: Float) -> Float:
    """The step, of a matrix that is scaled to the diagonal 1."""
    from scipy.linalg import cho_factor, cho_solve

    scale = 1 / np.sqrt(np.diag(hessian))
    scaled = hessian * scale[:, None] * scale
    for lift in (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-8):
        try:
            factor = cho_factor(scaled + lift * np.eye(len(slope)), check_finite=False)
        except np.linalg.LinAlgError:
            continue
        step = cho_solve(factor, scale * slope, check_finite=False)
        step += cho_solve(factor, scale * slope - scaled @ step, check_finite=False)
        return np.asarray(scale * step)
    return np.asarray(scale * np.linalg.lstsq(scaled, scale * slope, rcond=1e-14)[0])


def _bordered(hessian: Float, slope: Float, places: Any) -> Float:
    """The step that keeps the sum of the weights."""
    n = len(places)
    most = len(slope) - n
    basis = np.linalg.qr(np.ones((n, 1)), mode="complete")[0][:, 1:]
    turn = np.zeros((len(slope), len(slope) - 1))
    turn[:most, :most] = np.eye(most)
    turn[most:, most:] = basis
    return np.asarray(turn @ _solved(turn.T @ hessian @ turn, turn.T @ slope))


def maximise(
    program: CappedProgram, x: CappedDual, t: float, enough: float, deadline: Deadline
) -> tuple[CappedDual, float, Float, Float]:
    """Multipliers of a gap of ``enough`` times the value; with the last ``t``, and the weights
    ``theta`` and values of the columns.
    """
    point = _Point.at(program, x, first_u(program, x))
    last: tuple[_Point, float] | None = None  # the last center, and its t
    faster = FASTER
    for _ in range(ROUNDS):
        for _ in range(STEPS):
            step, u_step, decrement = _direction(program, point, t)
            point, is_moved = _searched(program, point, t, (step, u_step), decrement)
            size = max(abs(point.x.value(program.rows)), 1e-300)
            is_last = program.constraints / t <= enough * size
            if not is_moved or not decrement > (LAST if is_last else CENTERED):
                break
        is_centered = decrement <= 1 or last is None
        if (is_last and is_centered) or deadline.is_over:
            break
        if not is_centered and last is not None and faster > SLOWEST:  # too far for Newton's method
            point, t = last
            faster = faster**0.5
        else:
            last = (point, t)
            faster = min(FASTER, faster * 1.2)
        t *= faster
    return point.x, t, 1 / (t * point.slack), point.values


def _searched(
    program: CappedProgram, point: _Point, t: float, step: tuple[Float, Float], decrement: float
) -> tuple[_Point, bool]:
    """The point after a step that raises the merit enough, and whether there is one: the longest
    such step is halved while the merit grows, because a long step may end at another border.
    """
    have = point.merit(program, t)
    best: _Point | None = None
    most = -np.inf
    size = 1.0
    while size > LEAST_STEP:
        other = _Point.at(program, point.x.moved(step[0], size), point.u + size * step[1])
        merit = other.merit(program, t)
        if best is not None and not merit > most:
            return best, True
        if merit - have >= ARMIJO * size * max(decrement, 0.0) - 1e-13 * abs(have):
            best = other
            most = merit
        size /= 2
    return (point, False) if best is None else (best, True)
