r"""Multipliers, weights and values of a capped design over listed columns, by a primal-dual method.

With :math:`q_{Aj} = \theta_A V_{Aj}` the program is convex,

.. math:: \min \sum_A \rho_A |q_A|^2 / \theta_A \quad \text{subject to} \quad
          \sum_A \theta_A v_A = 1, \quad \sum_A q_{Aj} v_A = W_j, \quad |q_{Aj}| \le B_j \theta_A,

and Newton's method follows the solutions of its conditions

.. math:: \rho V = K v - u^+ + u^-, \quad
          s = y \cdot v - \rho |V|^2 - 2 \sum_j B_j (u_j^+ + u_j^-), \quad
          s \theta = 2 u^\pm_j (B_j \theta \mp q_j) = \mu

as ``mu`` falls, with a predictor and a corrector. Weights and multipliers move together and neither
has to be feasible before the end: near the least influence there is hardly any design within the
caps, and a method that keeps to the inside of either has no room. The unknowns of each column are
eliminated, as sums of squares without differences, which leaves a matrix for ``K``, ``y`` and, in
the worst case, ``r``. For the least limits there is no error to be small, and ``W`` has a factor
that is to be large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from ldpopt.designing.methods.capped.program import CappedDual, CappedProgram, costs_of
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

STEPS = 100
INWARD = 0.98  # share of the way to the border that a step may go
SHORT = 0.1  # a step below which the corrector is left out
LEAST_STEP = 1e-7
CENTER = 1e-4  # smallest part of mu that a step aims at
FEASIBLE = 1e-10  # error of the equations that is as good as none
WORSE = 30.0  # growth of that error at which rounding has taken over
REFINED = 3  # times that a step is made more exact
TINY = 1e-300
FREE = 300.0  # cap of values without one, in units of the workload over the contrast of columns
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


def first_point(program: CappedProgram) -> Position:
    """A point in the middle of everything but the equations."""
    v = program.vectors
    m, n = v.shape
    k = len(program.rows)
    is_capped = np.isfinite(program.limits)
    limits = np.where(is_capped, program.limits, 0.0)
    theta = np.full(m, 1 / v.mean(axis=1).sum())
    squares = float((program.rows**2).sum(axis=0).mean())
    # an error like that of values at their caps: from a smaller one steps stop before the equations
    mu = 10 * max(squares, float((limits**2).sum())) / _pairs(program)
    reach = np.where(is_capped, limits * theta[:, None], 1.0)
    room = np.stack([reach, reach])
    u = np.where(is_capped, mu / (2 * room), 0.0)
    spent = 2 * (u.sum(axis=0) @ limits)
    line = np.full(n, float(((mu / theta + spent) / v.sum(axis=1)).max()))
    worst = program.is_worst_case
    return Position(
        theta=theta,
        products=np.zeros((m, k)),
        room=room,
        u=u,
        slack=v @ line - spent,
        slope=np.zeros((k, n)),
        line=line,
        weights=np.full(n, 1 / n) if worst else program.weights,
        spare=np.full(n, squares if worst else 0.0),
        top=np.zeros(1),
        size=np.full(1, 0.0 if program.is_least else 1.0),
    )


def _pairs(program: CappedProgram) -> int:
    """How many products there are of a size and its multiplier."""
    extra = len(program.weights) if program.is_worst_case else 0
    capped = int(np.isfinite(program.limits).sum())
    return len(program.vectors) * (1 + 2 * capped) + extra


@dataclass(frozen=True, eq=False)
class _Target:
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


class _Newton:
    """The linear equations of a step at a point."""

    def __init__(self, program: CappedProgram, at: Position) -> None:
        self.program = program
        self.at = at
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
        v = self.program.vectors
        m, k = self.values.shape
        n = v.shape[1]
        parts = k + 1 + self.program.is_worst_case
        form = np.zeros((m, parts, parts))
        places = np.arange(k)
        form[:, places, places] = 2 / self.curve
        sides = [2 * self.mean, -np.ones((m, 1))]
        if self.program.is_worst_case:
            form[:, places, -1] = form[:, -1, places] = -2 * self.values / self.curve
            form[:, -1, -1] = (2 * self.values**2 / self.curve).sum(axis=1)
            last = self.squares - 2 * (self.mean * self.values).sum(axis=1)
            sides.append(last[:, None])
        side = np.concatenate(sides, axis=1)
        form += side[:, :, None] * (side / self.firm[:, None])[:, None, :]
        matrix = _joined(form, v)
        self.border = np.zeros(parts * n)
        if self.program.is_worst_case:
            last = np.arange((k + 1) * n, parts * n)
            matrix[last, last] += self.at.spare / self.at.weights
            self.border[last] = 1.0
        if self.program.is_least:
            self.border[: k * n] = -2 * self.program.rows.ravel()
        self.solve = _solver(matrix)
        self.bordered = self.solve(self.border) if self.border.any() else None

    def step(self, target: _Target) -> Position:
        """The step to some products, refined by what it leaves of the equations."""
        x = np.zeros_like(self.border)
        extra = 0.0
        for _ in range(REFINED):
            step = self._columns(target, x, extra)
            left, end = self._left(step, target, extra)
            change = self.solve(left)
            if self.bordered is not None:
                more = float(self.border @ change - end) / float(self.border @ self.bordered)
                change = change - self.bordered * more
                extra += more
            x = x + change
        return self._columns(target, x, extra)

    def _columns(self, target: _Target, x: Float, extra: float) -> Position:
        """The step of everything, from that of the multipliers."""
        at = self.at
        v = self.program.vectors
        k, n = at.slope.shape
        parts = x.reshape(-1, n)
        slope = parts[:k]
        line = parts[k]
        weights = parts[k + 1] if len(parts) > k + 1 else np.zeros(n)
        heavier = np.zeros(len(v)) if self.program.is_least else v @ weights
        pull = np.where(self.is_capped, target.u() / at.room - at.u, 0.0)
        lift = target.slack() / at.theta - at.slack
        bend = self.off_value - pull[0] + pull[1] + v @ slope.T - heavier[:, None] * self.values
        price = self.off_slack + v @ line - heavier * self.squares
        price = price - 2 * (pull.sum(axis=0) @ self.limits) - lift
        theta = (2 * (self.mean * bend).sum(axis=1) - price) / self.firm
        products = bend / self.curve + self.mean * theta[:, None]
        reach = self.limits * theta[:, None]
        room = np.stack([reach - products, reach + products]) * self.is_capped
        slack = lift - at.slack / at.theta * theta
        spare = np.zeros(n)
        top = 0.0
        size = 0.0
        if self.program.is_worst_case:
            spare = target.spare() / at.weights - at.spare - at.spare / at.weights * weights
            top = extra
        if self.program.is_least:
            size = extra
        ends = (spare, np.full(1, top), np.full(1, size))
        u = pull - self.steep * room
        return Position(theta, products, room, u, slack, slope, line, weights, *ends)

    def _left(self, step: Position, target: _Target, extra: float) -> tuple[Float, float]:
        """What a step leaves of the equations of the design, and of that at the border."""
        v = self.program.vectors
        rows = self.off_rows + self.program.rows * step.size - step.products.T @ v
        parts = [2 * rows.ravel(), step.theta @ v - self.off_sum]
        end = 0.0
        if self.program.is_worst_case:
            change = 2 * (self.values * step.products).sum(axis=1) - self.squares * step.theta
            parts.append(step.spare - self.off_top + change @ v - extra)
            end = 1 - float((self.at.weights + step.weights).sum())
        if self.program.is_least:
            slope = self.at.slope + step.slope
            end = 2 * float((slope * self.program.rows).sum()) - 1
        return np.concatenate(parts), end


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


@dataclass(frozen=True, eq=False)
class Solved:
    """Where the method ended."""

    dual: CappedDual  # the best multipliers, which hold for the columns of the program
    value: float  # their bound
    point: Position  # the best weights and values
    off: float  # the largest error of its equations
    gap: float  # its relative gap, where they hold


def solved(program: CappedProgram, enough: float, deadline: Deadline) -> Solved:
    """Multipliers, weights and values of a relative gap, or the best that floats reach."""
    # a free value of a column of hardly any weight is beyond Newton's method: it has a large cap
    inner = replace(program, limits=np.minimum(program.limits, _large_cap(program)))
    point = first_point(inner)
    best: Solved | None = None
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            newton = _Newton(inner, point)
            best = _better(best, program, point, newton.off)
            mu = point.complementarity / _pairs(inner)
            is_close = point.complementarity <= enough * _size(best.value)
            is_spoilt = newton.off > WORSE * best.off + FEASIBLE
            if deadline.is_over or (is_close and (newton.off <= FEASIBLE or is_spoilt)):
                break
            try:
                newton.prepare()
            except np.linalg.LinAlgError:
                break
            step = _step(newton, mu)
            length = min(1.0, INWARD * point.longest(step))
            after = point.moved(step, length)
            if not length > LEAST_STEP or not np.isfinite(after.complementarity):
                break
            point = after
    assert best is not None
    return best


def _large_cap(program: CappedProgram) -> float:
    """A cap that no good values reach: they are as much larger than the numbers as the entries of a
    column are near to each other, which is one over epsilon for small ones.
    """
    v = program.vectors
    contrast = float((np.ptp(v, axis=1) / v.max(axis=1)).max())
    return FREE * float(np.abs(program.rows).max()) / max(contrast, TINY)


def _step(newton: _Newton, mu: float) -> Position:
    """The step towards a smaller ``mu``, by what the way to 0 shows."""
    at = newton.at
    ahead = newton.step(_Target(0.0))
    length = min(1.0, at.longest(ahead))
    reached = at.moved(ahead, length).complementarity / at.complementarity
    share = min(1.0, max(CENTER, reached**3))
    second = _scaled(ahead, length)
    step = newton.step(_Target(share * mu, second))
    if at.longest(step) < SHORT:
        return newton.step(_Target(max(share, 0.3) * mu))
    return step


def _scaled(step: Position, length: float) -> Position:
    """A step whose products with itself are those of a shorter one."""
    root = length**0.5
    return Position(*(root * getattr(step, field.name) for field in fields(step)))


def _better(best: Solved | None, program: CappedProgram, point: Position, off: float) -> Solved:
    """The better multipliers, and the better weights and values, of two."""
    dual, value = _bound(program, point)
    gap = point.complementarity / _size(value)
    if best is None:
        return Solved(dual, value, point, off, gap)
    if not value > best.value:
        dual = best.dual
        value = best.value
    if max(gap, off) < max(best.gap, best.off):
        return Solved(dual, value, point, off, gap)
    return Solved(dual, value, best.point, best.off, best.gap)


def _size(value: float) -> float:
    """What a gap is compared with."""
    return max(abs(value), TINY) if np.isfinite(value) else TINY


def _bound(program: CappedProgram, point: Position) -> tuple[CappedDual, float]:
    """The multipliers, raised so that they hold for the columns of the program, and their bound:
    for the least limits that on what is largest.
    """
    sums = program.vectors.sum(axis=1)
    dual = point.dual
    if not program.is_least:
        over = float((costs_of(dual, program.vectors, program.limits) / sums).max())
        dual = dual.raised(max(over, 0.0))
        return dual, dual.value(program.rows)
    trace = 2 * float((dual.slope * program.rows).sum())
    spent = 2 * np.abs(program.vectors @ dual.slope.T) @ program.limits
    over = float(((spent - program.vectors @ dual.line) / sums).max())
    dual = dual.raised(max(over, 0.0))
    if not trace > 0:
        return dual, -np.inf
    scaled = CappedDual(dual.slope / trace, dual.line / trace, dual.weights)
    return scaled, -float(scaled.line.sum())
