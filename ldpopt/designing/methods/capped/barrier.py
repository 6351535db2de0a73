r"""The multipliers of a capped design by an interior point method over listed columns.

The bound of `design_bound_capped` is maximised over ``K`` and ``y`` with the logarithm of the slack
of each column,

.. math:: t \big( 2 \operatorname{tr}(K W^T) - 1 \cdot y \big) + \sum_A \log s_A, \quad
          s_A = y \cdot v_A - \sum_j h_{B_j}(K_j \cdot v_A, r \cdot v_A) .

At its maximum the weights :math:`\theta_A = 1 / (t s_A)` and the values :math:`V_{Aj} =
\operatorname{clip}(K_j \cdot v_A / r \cdot v_A, \pm B_j)` are an unbiased design within the caps,
whose variance is above the bound by the number of columns over ``t``. In the worst case the weights
``r`` are multipliers, too. The second derivative of ``h`` jumps at the caps, so that the steps are
those of a semismooth Newton method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

STEPS = 60  # largest number of Newton steps for one ``t``
FASTER = 8.0  # by which ``t`` grows
CENTERED = 1e-2  # square of the Newton decrement at which ``t`` grows
LAST = 1e-8  # the same for the last ``t``
ARMIJO = 0.1  # share of the predicted gain that a step must have
LEAST_STEP = 2.0**-40


@dataclass(frozen=True, eq=False)
class CappedProgram:
    """Columns, the centered workload, and the limits of its values."""

    vectors: Float  # v, shape (m, n)
    rows: Float  # W less the middle of each row, shape (k, n)
    limits: Float  # B, shape (k,); inf without a cap
    weights: Float  # r, shape (n,)
    largest: float  # limit of the entries of K: rows that no columns reach stay finite
    is_worst_case: bool = False
    is_refined: bool = False  # whether steps are by an orthogonal decomposition, with all digits

    def with_columns(self, vectors: Float) -> CappedProgram:
        """The program of other columns."""
        return replace(self, vectors=vectors)

    def start(self) -> CappedDual:
        """CappedDual at which every column has a slack."""
        n = len(self.weights)
        r = np.full(n, 1.0 / n) if self.is_worst_case else self.weights
        return CappedDual(np.zeros(self.rows.shape), np.ones(n), r)

    @property
    def constraints(self) -> int:
        """Number of logarithms: the gap is this over ``t``."""
        extra = len(self.weights) if self.is_worst_case else 0
        return len(self.vectors) + 2 * self.rows.size + extra


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

    values: Float  # V, (k, m)
    is_free: NDArray[np.bool_]
    mass: Float
    slack: Float
    box: tuple[Float, Float]  # distances of K from both ends

    @classmethod
    def at(cls, program: CappedProgram, x: CappedDual) -> _Point:
        """The point of some multipliers."""
        v = program.vectors
        mass = v @ x.weights
        z = x.slope @ v.T
        values = np.clip(z / mass, -program.limits[:, None], program.limits[:, None])
        slack = v @ x.line - (values * (2 * z - mass * values)).sum(axis=0)
        box = (program.largest - x.slope, program.largest + x.slope)
        return cls(values, np.abs(z) < program.limits[:, None] * mass, mass, slack, box)

    def merit(self, program: CappedProgram, x: CappedDual, t: float) -> float:
        """What is maximised; minus infinity outside."""
        parts = [self.slack, *self.box]
        if program.is_worst_case:
            parts.append(x.weights)
        if any(part.min() <= 0 for part in parts):
            return -np.inf
        logs = sum(float(np.log(part).sum()) for part in parts)
        return t * x.value(program.rows) + logs


def _direction(program: CappedProgram, x: CappedDual, point: _Point, t: float) -> Any:
    """The Newton step and the square of its decrement."""
    v = program.vectors
    k, n = x.slope.shape
    price = 1 / point.slack
    gradient = [
        (
            2 * (t * program.rows - (point.values * price) @ v)
            - 1 / point.box[0]
            + 1 / point.box[1]
        ).ravel(),
        price @ v - t,
    ]
    parts = [(-2 * value)[:, None] * v for value in point.values] + [v]
    if program.is_worst_case:
        squares = (point.values**2).sum(axis=0)
        parts.append(squares[:, None] * v)
        gradient.append(-t * (program.rows**2).sum(axis=0) + (price * squares) @ v + 1 / x.weights)
    a = np.hstack(parts) * price[:, None]
    slope = np.concatenate(gradient)
    if program.is_worst_case or program.is_refined:
        roots = np.vstack([a, _roots(program, x, point, price)])
        step = _orthogonal(roots, slope, n if program.is_worst_case else 0)
    else:
        hessian = a.T @ a
        _add_curvature(hessian, program, point, price)
        places = np.arange(k * n)
        hessian[places, places] += (1 / point.box[0] ** 2 + 1 / point.box[1] ** 2).ravel()
        step = _solved(hessian, slope)
    return step, float(step @ slope)


def _add_curvature(hessian: Float, program: CappedProgram, point: _Point, price: Float) -> None:
    """Add the second derivatives of ``h`` where values are not at a limit."""
    v = program.vectors
    n = v.shape[1]
    for j, is_free in enumerate(point.is_free):
        weight = price * is_free * 2 / point.mass
        own = slice(j * n, (j + 1) * n)
        hessian[own, own] += (v.T * weight) @ v


def _roots(program: CappedProgram, x: CappedDual, point: _Point, price: Float) -> Float:
    """Rows whose squares add up to the other second derivatives."""
    v = program.vectors
    k, n = x.slope.shape
    width = (k + 1 + program.is_worst_case) * n
    rows = []
    for j, (value, is_free) in enumerate(zip(point.values, point.is_free, strict=True)):
        root = np.sqrt(price * 2 / point.mass)[is_free]
        part = np.zeros((len(root), width))
        part[:, j * n : (j + 1) * n] = root[:, None] * v[is_free]
        if program.is_worst_case:
            part[:, (k + 1) * n :] = (-root * value[is_free])[:, None] * v[is_free]
        rows.append(part)
    edge = np.zeros((k * n, width))
    edge[:, : k * n] = np.diag(np.sqrt(1 / point.box[0] ** 2 + 1 / point.box[1] ** 2).ravel())
    if program.is_worst_case:
        last = np.zeros((n, width))
        last[:, (k + 1) * n :] = np.diag(1 / x.weights)
        rows.append(last)
    return np.vstack([*rows, edge])


def _orthogonal(roots: Float, slope: Float, n: int) -> Float:
    """The step by an orthogonal decomposition, since squares lose digits; one that keeps the sum of
    the last ``n`` numbers.
    """
    from scipy.linalg import solve_triangular

    basis = np.linalg.qr(np.ones((n, 1)), mode="complete")[0][:, 1:] if n else np.zeros((0, 0))
    most = len(slope) - n
    reduced = np.hstack([roots[:, :most], roots[:, most:] @ basis])
    right = np.concatenate([slope[:most], slope[most:] @ basis])
    size = np.linalg.norm(reduced, axis=0)
    order = np.argsort(-np.abs(reduced).max(axis=1))
    upper = np.linalg.qr((reduced / size)[order], mode="r")
    half = solve_triangular(upper, right / size, trans="T")
    step = solve_triangular(upper, half) / size
    return np.concatenate([step[:most], basis @ step[most:]])


def _solved(hessian: Float, slope: Float) -> Float:
    """The step, of a matrix that is scaled to the diagonal 1."""
    scale = 1 / np.sqrt(np.diag(hessian))
    scaled = hessian * scale[:, None] * scale
    for lift in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        try:
            from scipy.linalg import cho_factor, cho_solve

            factor = cho_factor(scaled + lift * np.eye(len(slope)), check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return np.asarray(scale * cho_solve(factor, scale * slope, check_finite=False))
    return np.asarray(scale * np.linalg.lstsq(scaled, scale * slope, rcond=1e-14)[0])


def maximise(
    program: CappedProgram,
    x: CappedDual,
    t: float,
    enough: float,
    deadline: Deadline,
) -> tuple[CappedDual, float, Float]:
    """CappedDual of a gap of ``enough`` times the value; with the last ``t``, and the weights
    ``theta`` of the columns.
    """
    while True:
        point = _Point.at(program, x)
        for _ in range(STEPS):
            step, decrement = _direction(program, x, point, t)
            x, point, is_moved = _searched(program, x, point, t, step, decrement)
            is_last = program.constraints / t <= enough * max(abs(x.value(program.rows)), 1e-300)
            if not is_moved or decrement < (LAST if is_last else CENTERED):
                break
        if is_last or deadline.is_over:
            return x, t, 1 / (t * point.slack)
        t *= FASTER


def _searched(
    program: CappedProgram, x: CappedDual, point: _Point, t: float, step: Float, decrement: float
) -> tuple[CappedDual, _Point, bool]:
    """The point after the longest step that raises the merit enough, and whether there is one."""
    have = point.merit(program, x, t)
    size = 1.0
    while size > LEAST_STEP:
        other = x.moved(step, size)
        there = _Point.at(program, other)
        gain = there.merit(program, other, t) - have
        if gain >= ARMIJO * size * decrement - 1e-12 * abs(have):
            return other, there, True
        size /= 2
    return x, point, False
