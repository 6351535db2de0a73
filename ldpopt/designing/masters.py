r"""The master problems of column generation: the best design on given columns, by primal-dual interior points.

Average: in the coordinates of `contrasts` a column is a probability ``q`` of its report and a vector ``g``:

.. math:: \min_q \operatorname{tr}(G M^{-1}), \quad M = \sum_A q_A g_A g_A^T
          \qquad \text{subject to} \quad \sum_A q_A = 1, \quad \sum_A q_A g_A = 0, \quad q \ge 0 .

With ``S = M^-1`` and ``N = S G S`` the multipliers ``(eta, slope)`` of the equations prove a bound if
``g N g <= eta + slope g`` for every column.

Worst case: a saddle point, convex in ``theta`` and concave in the weights ``r``:

.. math:: \min_{\theta \ge 0, \sum \theta_A v_A = 1} \; \max_{r \ge r_0, \sum r = 1} \;
          \operatorname{tr}\Big(G \big(\textstyle\sum_A \theta_A v_A v_A^T / (r \cdot v_A)\big)^{-1}\Big)
          - \sum_x r_x G_{xx} .
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self, TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dtrtri

from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.solving.interior.path_following import NewtonSystem, Point, follow_path

STEPS, SADDLE_STEPS = 100, 150
"""Limits on Newton steps; 10 to 30 are usual."""

STALLED = 20
"""Steps without a smaller gap before the iteration ends."""

CURVED, STRAIGHT = 0.3, 1e-3
"""Dual residual, as a share of the products: above, a step only restores dual feasibility; below, the prices are nearly
straight."""

CENTERING = (1e-3, 0.03)
"""Least share of the mean product that a step aims at, if prices are nearly straight and if not."""

LEVEL = 0.1
"""Products of slacks and multipliers that a saddle begins with."""

LEAST = 1e-10
"""Singular value of a design, relative to the largest, below which a direction counts as without information."""

NEEDED = 1e-8
"""Share of a workload in such directions that counts as needed."""

FINEST = 1e-15
"""Least variance relative to the value that floats can see."""


P = TypeVar("P", bound=Point)


@dataclass(frozen=True, eq=False)
class AverageDesign:
    """A design on given columns.

    Attributes
    ----------
    q : ndarray, shape (m,)
        Probability of the report of each column, shared by its images.
    inverse : ndarray, shape (d, d)
        ``S``.
    price : ndarray, shape (d, d)
        ``N``.
    slope : ndarray, shape (d,)
        Multipliers of the centers.
    value : float
        ``tr(G S)``.
    gap : float
        Relative gap of the variance on these columns, at least `off`.
    off : float
        What the errors of the equations are worth, relative; `value` has a meaning only if it is small.
    """

    q: Float
    inverse: Float
    price: Float
    slope: Float
    value: float
    gap: float
    off: float


@dataclass(frozen=True, eq=False)
class MinimaxDesign:
    """A point near the saddle.

    Attributes
    ----------
    theta : ndarray, shape (m,)
        Multiples of the columns.
    r : ndarray, shape (n,)
        Weights of the answers: the hardest ones.
    line : ndarray, shape (n,)
        Multipliers of ``sum theta v = 1``.
    gap, off : float
        Relative gap of variance and bound on these columns, at least what the errors of the sums are worth, `off`.
    """

    theta: Float
    r: Float
    line: Float
    gap: float
    off: float


class _CurvedPoint(Point):
    """A point of a program whose prices curve: primal and dual steps have the same length."""

    def lengths(self, step: Self) -> tuple[float, float]:
        both = min(super().lengths(step))
        return both, both


@dataclass(frozen=True, eq=False)
class _AveragePoint(_CurvedPoint):
    PRIMAL: ClassVar[frozenset[str]] = frozenset({"q"})

    q: Float
    slack: Float
    dual: Float

    @property
    def slacks(self) -> tuple[Float, ...]:
        return (self.q,)

    @property
    def multipliers(self) -> tuple[Float, ...]:
        return (self.slack,)


@dataclass(frozen=True, eq=False)
class _SaddlePoint(_CurvedPoint):
    """``r`` is what the weights exceed their least value by."""

    PRIMAL: ClassVar[frozenset[str]] = frozenset({"theta", "r"})

    theta: Float
    r: Float
    slack: Float
    spare: Float
    line: Float
    total: Float

    @property
    def slacks(self) -> tuple[Float, ...]:
        return self.theta, self.r

    @property
    def multipliers(self) -> tuple[Float, ...]:
        return self.slack, self.spare


def half_inverse(rows: Float, weights: Float, gram: Float) -> Float:
    """``R`` with ``R R^T`` the inverse of ``rows^T diag(weights) rows``, which is not formed: that would lose digits.

    The pseudo-inverse if some direction has no information; if the workload, of this Gram matrix, needs that direction,
    as much information as floats can tell from none, so that the value is huge.
    """
    root = np.sqrt(weights)[:, None] * rows
    size = np.linalg.norm(root, axis=0)
    if not np.isfinite(size).all():
        raise LinAlgError("information is not finite")
    size[size == 0] = 1.0
    if len(root) >= len(size):
        factor = np.linalg.qr(root / size, mode="r")
        if np.abs(np.diag(factor)).min() > LEAST:
            return np.asarray(dtrtri(factor)[0] / size[:, None])
    _, sizes, turned = np.linalg.svd(root / size)
    sizes = np.append(sizes, np.zeros(len(turned) - len(sizes)))
    kept = np.flatnonzero(sizes > LEAST * sizes[0])
    needed = np.abs(np.diag(turned @ (gram / size / size[:, None]) @ turned.T))
    if needed.sum() - needed[kept].sum() > NEEDED * needed.sum():
        return np.asarray(turned.T / np.maximum(sizes, LEAST * sizes[0]) / size[:, None])
    half = np.zeros_like(turned)
    half[:, kept] = turned[kept].T / sizes[kept]
    return np.asarray(half / size[:, None])


def _worth(short: Float, dual: Float, variance: float) -> float:
    """Errors of equations relative to their numbers, and by their multipliers relative to the variance; the larger."""
    errors = np.abs(short)
    return max(float(errors @ np.abs(dual)) / variance, float(errors.max()))


class _AverageState:
    """Information, value and prices at probabilities ``q``."""

    def __init__(self, master: AverageMaster, q: Float) -> None:
        # Averaging over the group: the images of a column share its probability.
        every = np.tile(q / len(master.images), len(master.images))
        self.half = half_inverse(master.turned, every, master.gram)
        self.form = self.half.T @ master.gram @ self.half
        self.value = float(np.trace(self.form))
        self.white = master.turned @ self.half
        m = len(q)
        self.priced = self.white[:m] @ self.form
        self.prices = np.einsum("ad,ad->a", self.priced, self.white[:m])

    @property
    def inverse(self) -> Float:
        """``S``."""
        return np.asarray(self.half @ self.half.T)

    @property
    def price(self) -> Float:
        """``N``."""
        return np.asarray(self.half @ self.form @ self.half.T)

    def hessian(self) -> Float:
        """Second derivatives of the value."""
        m = len(self.prices)
        own, total = self.white[:m], np.zeros((m, m))
        for first in range(0, len(self.white), m):
            turned = self.white[first : first + m].T
            part = own @ turned
            part *= self.priced @ turned
            total += part
        total *= 2.0 * m / len(self.white)
        return total


class AverageMaster:
    """The average over given columns.

    Parameters
    ----------
    atoms : ndarray, shape (m, d)
        The vectors ``g``, which span the space.
    gram : ndarray, shape (d, d)
        ``G``, invariant under the images.
    images : ndarray, shape (h, d, d)
        A group of orthogonal matrices; ``atoms @ image`` are the images of the columns.
    spread : float
        What the value exceeds the variance by. Default: ``0.0``.
    """

    def __init__(self, atoms: Float, gram: Float, images: Float, spread: float = 0.0) -> None:
        self.gram, self.images, self.spread = gram, images, spread
        self.turned = np.vstack([atoms @ image for image in images])
        # Equations: the total, and the center in the directions that the group does not move.
        kept, sizes, _ = np.linalg.svd(images.mean(axis=0))
        self.fixed = kept[:, sizes > 0.5]
        self.rows = np.vstack([np.ones(len(atoms)), (atoms @ self.fixed).T])
        self.largest = np.maximum(np.abs(self.rows).max(axis=1), 1e-300)
        self._known: tuple[_AveragePoint, _AverageState] | None = None

    def solve(self, *, start: Float | None = None, gap: float = 1e-11, deadline: Deadline = NO_LIMIT) -> AverageDesign:
        """Minimise from positive probabilities, until the relative gap is reached; the best point found."""
        q = np.full(self.rows.shape[1], 1.0 / self.rows.shape[1]) if start is None else start / start.sum()
        prices = _AverageState(self, q).prices
        dual = np.zeros(len(self.rows))
        dual[0] = 1.1 * prices.max()
        begin = _AveragePoint(q, dual @ self.rows - prices, dual)
        ended = follow_path(
            begin,
            lambda point: (self._measured(point).gap,) * 2,
            lambda point: _AverageSystem(self, point),
            gap=gap,
            steps=STEPS,
            stalled_steps=STALLED,
            deadline=deadline,
        )
        return self._measured(ended.point)

    def state(self, point: _AveragePoint) -> _AverageState:
        """Derivatives at a point, computed once."""
        if self._known is None or self._known[0] is not point:
            self._known = point, _AverageState(self, point.q)
        return self._known[1]

    def _measured(self, point: _AveragePoint) -> AverageDesign:
        """Gap of a point: its bound is scaled to the dearest column, its value to a total of 1."""
        at, slope = self.state(point), point.dual[1:]
        offset = float(np.max(at.prices - slope @ self.rows[1:]))
        bound = at.value**2 / offset if offset > 0 else 0.0
        variance = max(at.value - self.spread, FINEST * at.value)
        off = _worth(self._short(point.q) / self.largest, point.dual * self.largest, variance)
        gap = max((at.value - bound) / variance, off)
        return AverageDesign(point.q, at.inverse, at.price, self.fixed @ slope, at.value, gap, off)

    def _short(self, q: Float) -> Float:
        """What the equations miss."""
        return np.asarray(np.eye(len(self.rows))[0] - self.rows @ q)


class _CurvedSystem(NewtonSystem[P]):
    """Newton steps of a program whose prices curve."""

    corrections: ClassVar[int] = 0

    @abstractmethod
    def residual(self) -> float:
        """By how much the multipliers of the slacks differ from what the prices leave, as products."""

    def step(self) -> P | None:
        """Restore dual feasibility first if it is poor; else predict and correct."""
        at, share = self.at, self.residual() / self.at.products
        if share > CURVED:
            mean = at.products / sum(part.size for part in at.slacks)
            return self.moved(self.direction(tuple(mean - x * u for x, u in at.complementary_pairs)))
        self.centering = CENTERING[share > STRAIGHT]
        return super().step()


class _AverageSystem(_CurvedSystem[_AveragePoint]):
    """Newton steps of the average, by a Cholesky factor over the columns."""

    def __init__(self, master: AverageMaster, at: _AveragePoint) -> None:
        self.at, self.state, self.short, rows = at, master.state(at), master._short(at.q), master.rows
        self.rows, self.scale = rows, np.sqrt(at.q / at.slack)
        matrix = self.state.hessian()
        matrix *= self.scale
        matrix *= self.scale[:, None]
        matrix[np.diag_indices_from(matrix)] += 1.0
        self.factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
        scaled = rows * self.scale
        self.solved = cho_solve(self.factor, scaled.T, check_finite=False)
        schur = scaled @ self.solved
        self.size = 1 / np.sqrt(np.diag(schur))
        self.schur = np.linalg.pinv(schur * self.size * self.size[:, None], rcond=1e-14, hermitian=True)

    def residual(self) -> float:
        """Of the stationarity of the probabilities."""
        at = self.at
        return float(at.q @ np.abs(at.dual @ self.rows - self.state.prices - at.slack))

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> _AveragePoint:
        """Newton step that changes the products by these amounts."""
        at, (aim,) = self.at, aims
        right = self.scale * (self.state.prices - at.dual @ self.rows + at.slack + aim / at.q)
        dq, dual = self.scale * cho_solve(self.factor, right, check_finite=False), np.zeros_like(self.short)
        for _ in range(1 + refine):
            more = self.size * (self.schur @ (self.size * (self.rows @ dq - self.short)))
            dual, dq = dual + more, dq - self.scale * (self.solved @ more)
        return _AveragePoint(dq, (aim - at.slack * dq) / at.q, dual)


class _SaddleState:
    """Value and derivatives at multiples ``theta`` and weights ``r``."""

    def __init__(self, master: MinimaxMaster, theta: Float, r: Float) -> None:
        v = master.v
        self.mass = v @ r
        self.weight = theta / self.mass
        half = half_inverse(master.vectors, self.weight, master.gram)
        form = half.T @ master.gram @ half
        self.white, self.value = master.vectors @ half, float(np.trace(form))
        self.priced = self.white @ form
        self.cost = np.einsum("ax,ax->a", self.priced, self.white)
        self.bent = v * (self.weight / self.mass)[:, None]
        self.by_theta = -self.cost / self.mass
        self.by_r = self.bent.T @ self.cost - master.own

    def second(self, v: Float) -> tuple[Float, Float, Float]:
        """Second derivatives: twice by theta, by both, twice by the weights."""
        curved = 2 * (self.white @ self.white.T) * (self.priced @ self.white.T)
        cross = curved @ self.bent
        theta_theta = curved / self.mass / self.mass[:, None]
        theta_r = v * (self.cost / self.mass**2)[:, None] - cross / self.mass[:, None]
        r_r = self.bent.T @ cross - 2 * (v.T * (self.cost * self.weight / self.mass**2)) @ v
        return theta_theta, theta_r, r_r


class MinimaxMaster:
    """The worst case over given columns.

    Contrasts of the columns are stretched to about 1, with the Gram matrix that fits, so that small budgets lose no
    digits; sums to 1 stay sums to 1. The objective is divided by the square of the stretch.

    Parameters
    ----------
    v : ndarray, shape (m, n)
        The columns.
    gram : ndarray, shape (n, n)
        ``W^T W``, of trace about 1.
    least : float, optional
        Smallest weight of an answer. The bound is concave in the weights, so it loses a share of at most ``n least``;
        default: ``0.0``.
    """

    def __init__(self, v: Float, gram: Float, least: float = 0.0) -> None:
        n = v.shape[1]
        middle = v.mean(axis=1, keepdims=True)
        self.stretch = 1 / float(np.abs(v - middle).max())
        self.map = self.stretch * np.eye(n) + np.full((n, n), (1 - self.stretch) / n)
        self.v, self.vectors, self.least = v, middle + self.stretch * (v - middle), least
        self.gram = self.map @ gram @ self.map / self.stretch**2
        self.own = np.diag(gram) / self.stretch**2
        self._known: tuple[_SaddlePoint, _SaddleState] | None = None

    def solve(self, theta: Float, r: Float, *, gap: float = 1e-9, deadline: Deadline = NO_LIMIT) -> MinimaxDesign:
        """Find the saddle point from a positive point, until the relative gap is reached; the best point found."""
        r = np.maximum(r / r.sum() - self.least, 0.1 / len(r))
        level = LEVEL
        begin = _SaddlePoint(theta, r, level / theta, level / r, np.zeros(len(r)), np.zeros(1))
        ended = follow_path(
            begin,
            lambda point: (self._measured(point)[0],) * 2,
            lambda point: _SaddleSystem(self, point),
            gap=gap,
            steps=SADDLE_STEPS,
            stalled_steps=STALLED,
            deadline=deadline,
        )
        at, line = ended.point, self.map @ ended.point.line * self.stretch**2
        return MinimaxDesign(at.theta, self.least + at.r, line, *self._measured(at))

    def state(self, point: _SaddlePoint) -> _SaddleState:
        """Derivatives at a point, computed once."""
        if self._known is None or self._known[0] is not point:
            self._known = point, _SaddleState(self, point.theta, self.least + point.r)
        return self._known[1]

    def _measured(self, point: _SaddlePoint) -> tuple[float, float]:
        """Gap of the design's largest variance and of the bound at the weights, and the error of the sums."""
        try:
            at = self.state(point)
        except LinAlgError:
            return np.inf, np.inf
        r, worst = self.least + point.r, float(at.by_r.max())
        off = _worth(self.vectors.T @ point.theta - 1, point.line, max(worst, FINEST * at.value))
        # The least multiple of the weights is added with which no column costs more than the line allows.
        short = float(np.max((-at.by_theta - self.vectors @ point.line) / at.mass))
        largest = float(point.line.sum() + short * r.sum())
        bound = at.value**2 / largest - float(r @ self.own) if largest > 0 else 0.0
        return max(1 - bound / worst if worst > 0 else 0.0, off), off


class _SaddleSystem(_CurvedSystem[_SaddlePoint]):
    """Newton steps of the saddle, by a Cholesky factor over the columns."""

    def __init__(self, master: MinimaxMaster, at: _SaddlePoint) -> None:
        self.at, self.state, self.master = at, master.state(at), master
        v = master.vectors
        m, n = v.shape
        theta_theta, theta_r, r_r = self.state.second(master.v)
        self.scale = np.sqrt(at.theta / at.slack)
        matrix = theta_theta * self.scale * self.scale[:, None]
        matrix[np.diag_indices(m)] += 1.0
        self.factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
        self.across = np.column_stack([theta_r, v, np.zeros(m)]) * self.scale[:, None]
        self.solved = cho_solve(self.factor, self.across, check_finite=False)
        small = np.zeros((2 * n + 1, 2 * n + 1))
        small[:n, :n] = r_r - np.diag(at.spare / at.r)
        small[:n, -1] = small[-1, :n] = -1.0
        self.small = small - self.across.T @ self.solved
        self.size = np.ones(2 * n + 1)
        self.size[:n] = np.sqrt(at.r / at.spare)
        self.small = self.small * self.size * self.size[:, None]

    def residual(self) -> float:
        """Of the stationarity of multiples and weights."""
        at, state = self.at, self.state
        first = state.by_theta + self.master.vectors @ at.line - at.slack
        return float(at.theta @ np.abs(first) + at.r @ np.abs(state.by_r - at.total + at.spare))

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> _SaddlePoint:
        """Newton step that changes the products by these amounts."""
        at, state, v = self.at, self.state, self.master.vectors
        n = len(at.r)
        upper = self.scale * (at.slack - state.by_theta - v @ at.line + aims[0] / at.theta)
        lower = np.concatenate(
            [
                at.total - state.by_r - at.spare - aims[1] / at.r,
                1 - v.T @ at.theta,
                [at.r.sum() + n * self.master.least - 1],
            ]
        )
        base = cho_solve(self.factor, upper, check_finite=False)
        found = self.size * np.linalg.solve(self.small, self.size * (lower - self.across.T @ base))
        dtheta, dr = self.scale * (base - self.solved @ found), found[:n]
        dslack, dspare = (aims[0] - at.slack * dtheta) / at.theta, (aims[1] - at.spare * dr) / at.r
        return _SaddlePoint(dtheta, dr, dslack, dspare, found[n : 2 * n], found[2 * n :])
