r"""Newton's equations of the primal-dual method of `interior`.

The unknowns of each column are eliminated, as sums of squares without differences, which leaves
``R^T R`` for ``K``, ``y`` and, in the worst case, ``r``: ``R`` has a row for each value of a
column, ``v sqrt(2 / curve)``, and one for its weight. The matrix is summed and factored by
Cholesky, which is fast. Near the least influence the rows are many orders of magnitude apart, and
small ones, which alone tell some directions, vanish in the sum. Then ``R`` is factored instead, by
Householder's method with sorted rows and pivoted columns, which keeps the digits of each row (Cox
and Higham 1998).

A step is refined by what it leaves of the equations. Corrections are added to the step itself, not
to the multipliers of which it follows: these may be a billion times as large, and have lost the
digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from ldpopt.designing.methods.capped.program import CappedDual, CappedProgram
from ldpopt.foundation.numbers import Float

REFINED = 3  # times that a step is made more exact
REFINED_WELL = 5  # the same of a factor that keeps the digits of small rows
LIFTS = (1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-6)  # of the diagonal


@dataclass(frozen=True, eq=False)
class Position:
    """Unknowns, or a step of them."""

    theta: Float  # (m,)
    products: Float  # q, (m, k)
    room: Float  # B theta - q and B theta + q, (2, m, k); 1 without a cap
    u: Float  # (2, m, k); 0 without a cap
    slack: Float  # s, (m,)
    slope: Float  # K, (k, n)
    line: Float  # y, (n,)
    weights: Float  # r, (n,)
    spare: Float  # what each answer's error is below the largest, (n,); 0 in the average
    top: Float  # the largest error, (1,)
    size: Float  # factor of the workload, (1,)

    def moved(self, step: Position, length: float) -> Position:
        """The point after a step."""
        names = [field.name for field in fields(self)]
        return Position(*(getattr(self, name) + length * getattr(step, name) for name in names))

    @property
    def complementarity(self) -> float:
        """The gap, where the equations hold."""
        pairs = float(self.slack @ self.theta) + float(self.weights @ self.spare)
        return pairs + 2 * float((self.u * (self.room * (self.u > 0))).sum())

    def longest(self, step: Position) -> float:
        """How far a step may go before something is negative."""
        names = ("theta", "room", "u", "slack", "weights", "spare")
        length = np.inf
        for name in names:
            have = getattr(self, name)
            change = getattr(step, name)
            falls = change < 0
            if falls.any():
                length = min(length, float((-have[falls] / change[falls]).min()))
        return length

    @property
    def dual(self) -> CappedDual:
        """The multipliers, with weights of sum 1."""
        return CappedDual(self.slope, self.line, self.weights / self.weights.sum())


@dataclass(frozen=True, eq=False)
class Target:
    """What the products are to be: ``mu`` less the products of two steps."""

    mu: float
    second: Position | None = None

    def slack(self) -> Float | float:
        """The target of ``s theta``."""
        return self.mu - (self.second.slack * self.second.theta if self.second else 0.0)

    def u(self) -> Float | float:
        """The target of ``u`` times its room."""
        return self.mu / 2 - (self.second.u * self.second.room if self.second else 0.0)

    def spare(self) -> Float | float:
        """The target of ``r`` times what is spare."""
        return self.mu - (self.second.weights * self.second.spare if self.second else 0.0)


class Newton:
    """The linear equations of a step at a point, with the fast factor or the one that keeps the
    digits of small rows.
    """

    def __init__(self, program: CappedProgram, at: Position, keeps_digits: bool) -> None:
        self.program = program
        self.at = at
        self.keeps_digits = keeps_digits
        self.is_capped = np.isfinite(program.limits)
        self.limits = np.where(self.is_capped, program.limits, 0.0)
        v = program.vectors
        self.mass = np.zeros(len(v)) if program.is_least else v @ at.weights
        self.values = at.products / at.theta[:, None]
        self.squares = (self.values**2).sum(axis=1)
        spent = self.mass * self.squares + 2 * (at.u.sum(axis=0) @ self.limits)
        bend = v @ at.slope.T - at.u[0] + at.u[1] - self.mass[:, None] * self.values
        self.off_value = bend
        self.off_slack = v @ at.line - spent - at.slack
        self.off_sum = 1 - at.theta @ v
        self.off_rows = program.rows * at.size - at.products.T @ v
        true = (program.rows**2).sum(axis=0)
        self.off_top = at.top + true - (at.theta * self.squares) @ v - at.spare
        self._eliminate()

    def _eliminate(self) -> None:
        """The curvature of each column: weights of three values, their mean and their variance."""
        at = self.at
        limits = self.limits
        own = (self.mass / at.theta)[:, None]
        self.steep = at.u / at.room
        up, down = self.steep
        self.curve = own + up + down
        self.mean = (own * self.values + (up - down) * limits) / self.curve
        pairs = own * up * (limits - self.values) ** 2 + own * down * (limits + self.values) ** 2
        spread = (pairs + 4 * up * down * limits**2) / self.curve
        self.firm = at.slack / at.theta + 2 * spread.sum(axis=1)

    @property
    def off(self) -> float:
        """The largest error of the equations of the design."""
        return float(max(np.abs(self.off_sum).max(), np.abs(self.off_rows).max()))

    def prepare(self) -> None:
        """Factor the matrix of ``K``, ``y`` and ``r``."""
        n = len(self.program.weights)
        k = len(self.program.rows)
        parts = k + 1 + self.program.is_worst_case
        self.border = np.zeros(parts * n)
        if self.program.is_worst_case:
            self.border[(k + 1) * n :] = 1.0
        if self.program.is_least:
            self.border[: k * n] = -2 * self.program.rows.ravel()
        self.solve = _solver_of(self._rows()) if self.keeps_digits else _solver(self._matrix())
        self.bordered = self.solve(self.border) if self.border.any() else None

    def _sides(self) -> Float:
        """The row of the weight of each column, as factors of its vector, shape (m, parts)."""
        sides = [2 * self.mean, -np.ones((len(self.mean), 1))]
        if self.program.is_worst_case:
            last = self.squares - 2 * (self.mean * self.values).sum(axis=1)
            sides.append(last[:, None])
        return np.concatenate(sides, axis=1)

    def _matrix(self) -> Float:
        """``R^T R``."""
        v = self.program.vectors
        m, k = self.values.shape
        n = v.shape[1]
        side = self._sides()
        parts = side.shape[1]
        form = np.zeros((m, parts, parts))
        places = np.arange(k)
        form[:, places, places] = 2 / self.curve
        if self.program.is_worst_case:
            form[:, places, -1] = form[:, -1, places] = -2 * self.values / self.curve
            form[:, -1, -1] = (2 * self.values**2 / self.curve).sum(axis=1)
        form += side[:, :, None] * (side / self.firm[:, None])[:, None, :]
        matrix = _joined(form, v)
        if self.program.is_worst_case:
            last = np.arange((k + 1) * n, parts * n)
            matrix[last, last] += self.at.spare / self.at.weights
        return matrix

    def _rows(self) -> Float:
        """``R``: of each column a row for each value and one for its weight, and in the worst case
        one for each answer.
        """
        v = self.program.vectors
        m, k = self.values.shape
        n = v.shape[1]
        side = self._sides() / np.sqrt(self.firm)[:, None]
        parts = side.shape[1]
        rows = np.zeros((m, k + 1, parts, n))
        steep = np.sqrt(2 / self.curve)[:, :, None] * v[:, None, :]
        places = np.arange(k)
        rows[:, places, places] = steep
        rows[:, k] = side[:, :, None] * v[:, None, :]
        if not self.program.is_worst_case:
            return rows.reshape(-1, parts * n)
        rows[:, :k, -1] = -self.values[:, :, None] * steep
        last = np.zeros((n, parts * n))
        last[:, (k + 1) * n :] = np.diag(np.sqrt(self.at.spare / self.at.weights))
        return np.vstack([rows.reshape(-1, parts * n), last])

    def step(self, target: Target) -> Position:
        """The step to some products, refined by what it leaves of the equations."""
        step = self._columns(np.zeros_like(self.border), 0.0, target)
        for _ in range(REFINED_WELL if self.keeps_digits else REFINED):
            left, end = self._left(step)
            change = self.solve(left)
            more = 0.0
            if self.bordered is not None:
                more = float(self.border @ change - end) / float(self.border @ self.bordered)
                change = change - self.bordered * more
            step = step.moved(self._columns(change, more), 1.0)
        return step

    def _columns(self, x: Float, extra: float, target: Target | None = None) -> Position:
        """The step of everything, from that of the multipliers: to a target, or what is added to a
        step.
        """
        at = self.at
        v = self.program.vectors
        k, n = at.slope.shape
        slope, line, weights = _split(x, k, n)
        heavier = np.zeros(len(v)) if self.program.is_least else v @ weights
        bend = v @ slope.T - heavier[:, None] * self.values
        price = v @ line - heavier * self.squares
        pull: Float | float = 0.0
        lift: Float | float = 0.0
        if target is not None:
            pull = np.where(self.is_capped, target.u() / at.room - at.u, 0.0)
            lift = target.slack() / at.theta - at.slack
            bend += self.off_value - pull[0] + pull[1]
            price += self.off_slack - 2 * (pull.sum(axis=0) @ self.limits) - lift
        theta = (2 * (self.mean * bend).sum(axis=1) - price) / self.firm
        products = bend / self.curve + self.mean * theta[:, None]
        reach = self.limits * theta[:, None]
        room = np.stack([reach - products, reach + products]) * self.is_capped
        slack = lift - at.slack / at.theta * theta
        spare = np.zeros(n)
        if self.program.is_worst_case:
            spare = -at.spare / at.weights * weights
            spare += 0.0 if target is None else target.spare() / at.weights - at.spare
        top = np.full(1, extra if self.program.is_worst_case else 0.0)
        size = np.full(1, extra if self.program.is_least else 0.0)
        u = pull - self.steep * room
        return Position(theta, products, room, u, slack, slope, line, weights, spare, top, size)

    def _left(self, step: Position) -> tuple[Float, float]:
        """What a step leaves of the equations of the design, and of that at the border."""
        v = self.program.vectors
        rows = self.off_rows + self.program.rows * step.size - step.products.T @ v
        parts = [2 * rows.ravel(), step.theta @ v - self.off_sum]
        end = 0.0
        if self.program.is_worst_case:
            change = 2 * (self.values * step.products).sum(axis=1) - self.squares * step.theta
            parts.append(step.spare - self.off_top + change @ v - step.top)
            end = 1 - float((self.at.weights + step.weights).sum())
        if self.program.is_least:
            slope = self.at.slope + step.slope
            end = 2 * float((slope * self.program.rows).sum()) - 1
        return np.concatenate(parts), end


def _split(x: Float, k: int, n: int) -> tuple[Float, Float, Float]:
    """The parts of ``K``, ``y`` and ``r``, which is 0 where it is fixed."""
    parts = x.reshape(-1, n)
    return parts[:k], parts[k], parts[k + 1] if len(parts) > k + 1 else np.zeros(n)


def _joined(form: Float, v: Float) -> Float:
    """The second derivatives by ``K``, ``y`` and ``r`` from those of all columns."""
    parts = form.shape[1]
    n = v.shape[1]
    matrix = np.zeros((parts * n, parts * n))
    for i in range(parts):
        for j in range(i + 1):
            block = (v.T * form[:, i, j]) @ v
            matrix[i * n : (i + 1) * n, j * n : (j + 1) * n] = block
            matrix[j * n : (j + 1) * n, i * n : (i + 1) * n] = block.T
    return matrix


def _solver_of(rows: Float) -> Callable[[Float], Float]:
    """The solution of equations of ``R^T R``, from ``R``."""
    from scipy.linalg import qr, solve_triangular

    scale = 1 / np.sqrt((rows**2).sum(axis=0))
    scaled = rows * scale
    if not np.isfinite(scaled).all():
        raise np.linalg.LinAlgError
    # each row keeps its digits only if larger ones come first
    ordered = scaled[np.argsort(-np.abs(scaled).max(axis=1))]
    triangle, places = qr(ordered, mode="r", pivoting=True, overwrite_a=True, check_finite=False)
    triangle = triangle[: len(scale)]
    if not (np.diag(triangle) != 0).all():
        raise np.linalg.LinAlgError

    def solve(right: Float) -> Float:
        half = solve_triangular(triangle, (scale * right)[places], trans="T", check_finite=False)
        x = np.empty_like(half)
        x[places] = solve_triangular(triangle, half, check_finite=False)
        return np.asarray(scale * x)

    return solve


def _solver(matrix: Float) -> Callable[[Float], Float]:
    """The solution of equations, of a matrix that is scaled to the diagonal 1."""
    from scipy.linalg import cho_factor, cho_solve

    scale = 1 / np.sqrt(np.diag(matrix))
    scaled = matrix * scale[:, None] * scale
    if not np.isfinite(scaled).all():
        raise np.linalg.LinAlgError
    for lift in LIFTS:
        try:
            factor = cho_factor(scaled + lift * np.eye(len(scale)), check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return lambda right: np.asarray(
            scale * cho_solve(factor, scale * right, check_finite=False)
        )
    raise np.linalg.LinAlgError
