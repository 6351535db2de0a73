r"""The best design for the largest variance over the answers.

A bound for any weights bounds the worst case too. The master program is a saddle point, convex in
``theta`` and concave in the weights ``r``:

.. math:: \min_{\theta \ge 0, \sum \theta_A v_A = 1} \; \max_{r \ge r_0, \sum r = 1} \;
          \operatorname{tr}\Big(G \big(\textstyle\sum_A \theta_A v_A v_A^T / (r \cdot
          v_A)\big)^{-1}\Big)
          - \sum_x r_x G_{xx} .
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ldpopt.designing import column_generation as generation
from ldpopt.designing.column_generation import (
    CurvedPoint,
    CurvedSystem,
    MasterResult,
    Optimum,
    generate_columns,
)
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.private_columns import Cone, Dual
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.privacy.cones.columns import Columns

STEPS = 150  # limit on Newton steps; 10 to 30 are usual
LEVEL = 0.1  # products of slacks and multipliers at the start
# share of the weights that is equal, in multiples of the gap aimed at: the bound loses no larger
# share
LEAST = 0.01
# least value of that share: reports of answers with smaller weights are beyond the floats
LEAST_WEIGHT = 1e-9


@dataclass(frozen=True, eq=False)
class MinimaxDesign:
    """A point near the saddle point: a design, and weights for which no design is much better."""

    theta: Float  # multiples of the columns, shape (m,)
    r: Float  # least favorable weights of the answers, shape (n,)
    line: Float  # multipliers of sum theta v = 1, shape (n,)
    gap: float  # relative gap of variance and bound on these columns, at least `off`
    off: float  # relative error of the sums


@dataclass(frozen=True, eq=False)
class _SaddlePoint(CurvedPoint):
    theta: Float  # (m,): multiples of the columns
    r: Float  # (n,): excess of the weights over their least value
    slack: Float  # (m,): multipliers of theta >= 0
    spare: Float  # (n,): multipliers of r >= 0
    line: Float  # (n,): multipliers of sum theta v = 1
    total: Float  # (1,): multiplier of the sum of the weights

    PRIMAL: ClassVar[frozenset[str]] = frozenset({"theta", "r"})
    SLACKS: ClassVar[tuple[str, ...]] = ("theta", "r")
    MULTIPLIERS: ClassVar[tuple[str, ...]] = ("slack", "spare")


class _SaddleState:
    """Value and derivatives at multiples ``theta`` and weights ``r``."""

    def __init__(self, master: "MinimaxMaster", theta: Float, r: Float) -> None:
        v = master.v
        self.mass = v @ r
        self.weight = theta / self.mass
        half = generation.half_inverse(master.vectors, self.weight, master.gram)
        form = half.T @ master.gram @ half
        self.white = master.vectors @ half
        self.value = float(np.trace(form))
        self.priced = self.white @ form
        self.cost = np.einsum("ax,ax->a", self.priced, self.white)
        self.bent = v * (self.weight / self.mass)[:, None]
        self.by_theta = -self.cost / self.mass
        self.by_r = self.bent.T @ self.cost - master.own

    def second(self, v: Float) -> tuple[Float, Float, Float]:
        """Second derivatives: twice by ``theta``, by ``theta`` and the weights, twice by the
        weights.
        """
        curved = 2 * (self.white @ self.white.T) * (self.priced @ self.white.T)
        cross = curved @ self.bent
        theta_theta = curved / self.mass / self.mass[:, None]
        theta_r = v * (self.cost / self.mass**2)[:, None] - cross / self.mass[:, None]
        r_r = self.bent.T @ cross - 2 * (v.T * (self.cost * self.weight / self.mass**2)) @ v
        return theta_theta, theta_r, r_r


class MinimaxMaster:
    """The master program for given columns and ``gram = W^T W`` with trace about 1.

    The columns ``v`` have the shape ``(m, n)``. A design for the least favorable weights is a
    design for the worst case, as in a game with two players: one chooses the multiples of the
    columns, the other one the weights of the answers. Neither of them gains by a change at the
    saddle point, where all answers with weights above the least have the same, largest variance.

    Contrasts of the columns are stretched to about 1, and the Gram matrix accordingly, so that
    small budgets lose no digits; sums to 1 stay sums to 1. The objective is divided by the square
    of the stretch. ``least`` is the smallest weight of an answer: the bound is concave in the
    weights, so it loses a share of at most ``n least``.
    """

    def __init__(self, v: Float, gram: Float, least: float = 0.0) -> None:
        n = v.shape[1]
        middle = v.mean(axis=1, keepdims=True)
        self.stretch = 1 / float(np.abs(v - middle).max())
        self.map = self.stretch * np.eye(n) + np.full((n, n), (1 - self.stretch) / n)
        self.v = v
        self.vectors = middle + self.stretch * (v - middle)
        self.least = least
        self.gram = self.map @ gram @ self.map / self.stretch**2
        self.own = np.diag(gram) / self.stretch**2
        self._known: tuple[_SaddlePoint, _SaddleState] | None = None

    def solve(
        self, theta: Float, r: Float, *, gap: float = 1e-9, deadline: Deadline = NO_LIMIT
    ) -> MinimaxDesign:
        """Find the saddle point from a positive point, until the relative gap is reached; the best
        point found.
        """
        r = np.maximum(r / r.sum() - self.least, 0.1 / len(r))
        begin = _SaddlePoint(theta, r, LEVEL / theta, LEVEL / r, np.zeros(len(r)), np.zeros(1))

        def gap_at(point: Any) -> float:
            return self._measured(point)[0]

        steps = (STEPS, generation.STALLED)
        at = generation.follow(
            begin, gap_at, partial(_SaddleSystem, self), steps, gap=gap, deadline=deadline
        )
        return MinimaxDesign(
            at.theta, self.least + at.r, self.map @ at.line * self.stretch**2, *self._measured(at)
        )

    def state(self, point: _SaddlePoint) -> _SaddleState:
        """Derivatives at a point, computed once."""
        if self._known is None or self._known[0] is not point:
            self._known = point, _SaddleState(self, point.theta, self.least + point.r)
        return self._known[1]

    def _measured(self, point: _SaddlePoint) -> tuple[float, float]:
        """Gap of the design's largest variance and of the bound at the weights, and the error of
        the sums.
        """
        try:
            at = self.state(point)
        except LinAlgError:
            return np.inf, np.inf
        r = self.least + point.r
        worst = float(at.by_r.max())
        short = self.vectors.T @ point.theta - 1
        variance = max(worst, generation.RESOLVED * at.value)
        off = generation.relative_error(short, point.line, variance)
        # Add the least multiple of the weights with which no column costs more than the line
        # allows.
        short = float(np.max((-at.by_theta - self.vectors @ point.line) / at.mass))
        largest = float(point.line.sum() + short * r.sum())
        bound = at.value**2 / largest - float(r @ self.own) if largest > 0 else 0.0
        return max(1 - bound / worst if worst > 0 else 0.0, off), off


class _SaddleSystem(CurvedSystem[_SaddlePoint]):
    """Newton steps of the saddle, by a Cholesky factor over the columns."""

    def __init__(self, master: MinimaxMaster, at: _SaddlePoint) -> None:
        """Factor the equations of the multiples ``theta``, (m,), and eliminate these.

        What is left, ``small``, is about the weights ``r``, (n,), the line, (n,), and the total.
        Both are scaled to diagonals of about 1.
        """
        self.at = at
        self.state = master.state(at)
        self.master = master
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
        """Dual residual of multiples and weights; see `CurvedSystem.residual`."""
        at = self.at
        state = self.state
        first = state.by_theta + self.master.vectors @ at.line - at.slack
        return float(at.theta @ np.abs(first) + at.r @ np.abs(state.by_r - at.total + at.spare))

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> _SaddlePoint:
        """Newton step that changes the products by these amounts."""
        at = self.at
        state = self.state
        v = self.master.vectors
        n = len(at.r)
        upper = self.scale * (at.slack - state.by_theta - v @ at.line + aims[0] / at.theta)
        short = 1 - v.T @ at.theta, [at.r.sum() + n * self.master.least - 1]
        lower = np.concatenate([at.total - state.by_r - at.spare - aims[1] / at.r, *short])
        base = cho_solve(self.factor, upper, check_finite=False)
        solved_small = self.size * np.linalg.solve(
            self.small, self.size * (lower - self.across.T @ base)
        )
        dtheta = self.scale * (base - self.solved @ solved_small)
        dr = solved_small[:n]
        dslack = (aims[0] - at.slack * dtheta) / at.theta
        dspare = (aims[1] - at.spare * dr) / at.r
        return _SaddlePoint(
            dtheta, dr, dslack, dspare, solved_small[n : 2 * n], solved_small[2 * n :]
        )


def least_weight(n: int, gap: float) -> float:
    """Smallest weight of one of ``n`` answers in a worst case, at which the bound loses next to
    nothing.
    """
    return max(LEAST * gap, LEAST_WEIGHT) / n


def solve_minimax(
    gram: Float,
    columns: Columns,
    theta: Float | None,
    r: Float,
    *,
    gap: float,
    least: float,
    deadline: Deadline,
) -> MinimaxDesign:
    """Saddle point on given columns, in the unit of the workload."""
    v = columns.vectors
    unit = float(np.trace(gram))
    start = np.full(len(v), 1 / v.sum(axis=0).max()) if theta is None else theta
    saddle = MinimaxMaster(v, gram / unit, least).solve(start, r, gap=gap, deadline=deadline)
    return replace(saddle, r=saddle.r / saddle.r.sum(), line=saddle.line * unit)


def minimax_optimum(
    gram: Float, columns: Columns, saddle: MinimaxDesign, *, used: float
) -> tuple[Optimum, float]:
    """Design of a saddle point with its multipliers, and its largest variance.

    The estimator is the best one on average over the weights of the saddle point. The largest
    variance is computed from its second moments under each answer, not from the saddle point, whose
    equations hold only up to an error.
    """
    # Columns with less than used of the largest multiple are left out.
    places = np.flatnonzero(saddle.theta > used * saddle.theta.max())
    columns = columns.take(places)
    contrasts = Contrasts(gram, saddle.r).scaled_to(columns)
    r = saddle.r
    scores = contrasts.scores(columns)
    mass = columns.mass(saddle.r)
    q = saddle.theta[places] * mass
    q /= q.sum()
    half = generation.half_inverse(scores, q, contrasts.reduced)
    inverse = half @ half.T
    value = contrasts.value(float(np.sum(inverse * contrasts.reduced)))
    needed = contrasts.needed(inverse)
    # the saddle point is for the workload itself: subtract its average over the weights
    mean = gram @ r
    line = saddle.line - 2 * needed.T @ (mean - r @ mean)
    dual = Dual(r, needed, value, value, line - r * line.sum())
    estimator = contrasts.basis / contrasts.unit @ (half @ (scores @ half).T)
    moments = np.einsum("xa,xa->a", contrasts.centered @ estimator, estimator)
    theta = q / mass
    second = (columns.vectors.T @ (theta * moments)) / (columns.vectors.T @ theta)
    return Optimum(contrasts, columns, q, value, dual), float(
        (second - np.diag(contrasts.centered)).max()
    )


class _WorstCase:
    """The largest variance over the answers, as a `Master`."""

    def __init__(self, gram: Float, gap: float) -> None:
        n = len(gram)
        self.gram = gram
        self.least = least_weight(n, gap)
        self.symmetries = np.arange(n)[None]
        self.room = n * (n + 1) // 2 + n

    def solve(
        self, columns: Columns, x: Float | None, r: Float, gap: float, deadline: Deadline
    ) -> MasterResult:
        saddle = solve_minimax(
            self.gram, columns, x, r, gap=gap, least=self.least, deadline=deadline
        )
        optimum, variance = minimax_optimum(self.gram, columns, saddle, used=generation.UNUSED)
        price = optimum.dual.price(optimum.contrasts.centered)
        return MasterResult(
            saddle.theta, optimum.dual.weights, price, saddle.gap, saddle.off, optimum, variance
        )

    def profile(self, columns: Columns) -> Float | float:
        """All columns start alike."""
        return 1.0

    def steadier(self) -> None:
        """There is no steadier form: no case is known that needs one."""
        return None


def optimize_worst_case(
    gram: Float,
    cone: Cone,
    *,
    gap: float = 1e-6,
    deadline: Deadline = NO_LIMIT,
    start: Optimum | None = None,
) -> tuple[Optimum, float]:
    """Design for the largest variance over the answers, by column generation, and that variance."""
    n = len(gram)
    columns = cone.initial(gram) if start is None else start.columns
    r = np.full(n, 1 / n) if start is None else 0.9 * start.contrasts.weights + 0.1 / n
    return generate_columns(_WorstCase(gram, gap), cone, columns, r, gap=gap, deadline=deadline)
