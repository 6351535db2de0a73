r"""The best design for the average over given weights of the answers.

Its master program, in the coordinates of `Contrasts`: a column is a probability ``q`` of its report
and a score vector ``g``,

.. math:: \min_q \operatorname{tr}(G M^{-1}), \quad M = \sum_A q_A g_A g_A^T
          \qquad \text{subject to} \quad \sum_A q_A = 1, \quad \sum_A q_A g_A = 0, \quad q \ge 0 .

With ``S = M^-1`` and ``N = S G S`` the multipliers ``(eta, slope)`` of the equations prove a bound
if ``g N g <= eta + slope g`` for every column. A primal-dual interior point.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ldpopt.designing import column_generation as generation
from ldpopt.designing.column_generation import (
    CurvedPoint,
    CurvedSystem,
    MasterResult,
    Optimum,
    generate_columns,
)
from ldpopt.designing.coordinates import Contrasts
from ldpopt.designing.private_columns import Cone, Dual, Price
from ldpopt.designing.symmetry import Permutations, all_images, representatives, symmetry_group
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.privacy.cones.columns import Columns

STEPS = 100  # limit on Newton steps; 10 to 30 are usual
# first multiplier of the total, as a multiple of the largest price; the next one if a start fails
STARTS = 1.1, 10.0
# More columns than these, and than so many for each moment: their products are factored in place of
# the columns
FACTORED, RANK = 400, 1.5
VANISHED = 1e-12  # entries, relative to the largest, that are 0 up to rounding
FAILED = 1e-2  # relative error of the equations at which a start has failed
# largest share of the information on some direction that a step of a steady master may take away;
# on three answers in tests/unit/designing/test_masters.py 0.9 takes as many steps, 0.99 four times
LOST = 0.5


@dataclass(frozen=True, eq=False)
class AverageDesign:
    """A design on given columns."""

    q: Float  # probability of the report of each column, shared by its images, shape (m,)
    inverse: Float  # S, shape (d, d)
    price: Float  # N, shape (d, d)
    slope: Float  # multipliers of the centers, shape (d,)
    value: float  # tr(G S)
    gap: float  # relative gap of the variance on these columns, at least `off`
    off: float  # relative error of the equations; `value` has a meaning only if it is small


@dataclass(frozen=True, eq=False)
class _AveragePoint(CurvedPoint):
    q: Float  # (m,): probabilities
    slack: Float  # (m,): multipliers of q >= 0
    dual: Float  # multipliers of the equations

    PRIMAL: ClassVar[frozenset[str]] = frozenset({"q"})
    SLACKS: ClassVar[tuple[str, ...]] = ("q",)
    MULTIPLIERS: ClassVar[tuple[str, ...]] = ("slack",)


class _AverageState:
    """Information, value and prices at probabilities ``q``."""

    def __init__(self, master: "AverageMaster", q: Float) -> None:
        # the images of a column share its probability
        every = np.tile(q / len(master.images), len(master.images))
        self.half = generation.half_inverse(master.all_scores, every, master.gram)
        self.form = self.half.T @ master.gram @ self.half
        self.value = float(np.trace(self.form))
        self.white = master.all_scores @ self.half
        m = len(q)
        self.priced = self.white[:m] @ self.form
        self.prices = np.einsum("ad,ad->a", self.priced, self.white[:m])

    def hessian(self) -> Float:
        """Second derivatives of the value by the probabilities, shape ``(m, m)``."""
        m = len(self.prices)
        representatives = self.white[:m]
        total = np.zeros((m, m))
        for first in range(0, len(self.white), m):
            images = self.white[first : first + m].T
            part = representatives @ images
            part *= self.priced @ images
            total += part
        total *= 2.0 * m / len(self.white)
        return total

    def root(self) -> Float:
        """``V`` with ``V^T V`` the second derivatives: products of coordinates, at most ``d (d + 1)
        / 2`` by ``m``.
        """
        sizes, basis = np.linalg.eigh(self.form)
        first, second = np.triu_indices(len(sizes))
        share = np.sqrt(
            np.maximum(sizes[first] + sizes[second], 0.0) * np.where(first == second, 1.0, 2.0)
        )
        m = len(self.prices)
        turned = np.ascontiguousarray((self.white @ basis).T)
        total = np.zeros((len(first), m))
        for start in range(0, turned.shape[1], m):
            turned_part = turned[:, start : start + m]
            for k, rows in enumerate(np.split(total, np.flatnonzero(np.diff(first)) + 1)):
                rows += turned_part[k] * turned_part[k:]
        total *= share[:, None] * (m / turned.shape[1])
        size = np.abs(total).max(axis=1)
        # the others change sign under the images
        return np.asarray(total[size > VANISHED * size.max()])


class AverageMaster:
    """The master program for columns whose scores, shape ``(m, d)``, span the space.

    ``images``, shape ``(h, d, d)``, are orthogonal matrices under which the Gram matrix is
    invariant: each column stands for its images, which share its probability. ``spread`` is the
    value less the variance.

    A Newton step takes the prices to be linear in the probabilities. They are not if one column
    gives most of the information on a direction, as does a report that only an answer of weight 0
    sends, under a large budget: its price changes by orders of magnitude within a step, and the
    iteration jumps to and fro. A steady master therefore takes steps that keep a share of the
    information on every direction. It needs a few more steps, so it is used only where the usual
    steps have failed.
    """

    def __init__(
        self,
        scores: Float,
        gram: Float,
        images: Float,
        spread: float = 0.0,
        *,
        is_steady: bool = False,
    ) -> None:
        self.gram = gram
        self.images = images
        self.spread = spread
        self.is_steady = is_steady
        self.all_scores = np.vstack([scores @ image for image in images])
        # Equations: the total, and the center in the directions that the group fixes.
        kept, sizes, _ = np.linalg.svd(images.mean(axis=0))
        self.fixed = kept[:, sizes > 0.5]
        self.rows = np.vstack([np.ones(len(scores)), (scores @ self.fixed).T])
        self.largest = np.maximum(np.abs(self.rows).max(axis=1), 1e-300)
        self._known: tuple[_AveragePoint, _AverageState] | None = None

    def solve(
        self, *, start: Float | None = None, gap: float = 1e-11, deadline: Deadline = NO_LIMIT
    ) -> AverageDesign:
        """Minimize from positive probabilities, until the relative gap is reached; the best point
        found.
        """
        q = (
            np.full(self.rows.shape[1], 1.0 / self.rows.shape[1])
            if start is None
            else start / start.sum()
        )
        prices = _AverageState(self, q).prices
        best: AverageDesign | None = None
        for multiple in STARTS:
            dual = np.zeros(len(self.rows))
            dual[0] = multiple * prices.max()
            begin = _AveragePoint(q, dual @ self.rows - prices, dual)
            end = generation.follow(
                begin,
                lambda point: self._measured(point).gap,
                partial(_AverageSystem, self),
                (STEPS, generation.STALLED),
                gap=gap,
                deadline=deadline,
            )
            design = self._measured(end)
            best = design if best is None or design.gap < best.gap else best
            if best.off <= FAILED:
                break
        assert best is not None
        return best

    def state(self, point: _AveragePoint) -> _AverageState:
        """Derivatives at a point, computed once."""
        if self._known is None or self._known[0] is not point:
            self._known = point, _AverageState(self, point.q)
        return self._known[1]

    def _measured(self, point: _AveragePoint) -> AverageDesign:
        """The design at a point, with the gap of its bound, which is scaled to the largest cost of
        a column.
        """
        at = self.state(point)
        slope = point.dual[1:]
        offset = float(np.max(at.prices - slope @ self.rows[1:]))
        bound = at.value**2 / offset if offset > 0 else 0.0
        variance = max(at.value - self.spread, generation.RESOLVED * at.value)
        off = generation.relative_error(
            self.missing(point.q) / self.largest, point.dual * self.largest, variance
        )
        gap = max((at.value - bound) / variance, off)
        inverse = at.half @ at.half.T
        price = at.half @ at.form @ at.half.T
        return AverageDesign(point.q, inverse, price, self.fixed @ slope, at.value, gap, off)

    def missing(self, q: Float) -> Float:
        """How far the total is from 1 and the center from 0: right sides of the equations less
        their left sides.
        """
        return np.asarray(np.eye(len(self.rows))[0] - self.rows @ q)


class _AverageSystem(CurvedSystem[_AveragePoint]):
    """Newton steps of the average, by a Cholesky factor over the columns."""

    def __init__(self, master: AverageMaster, at: _AveragePoint) -> None:
        self.at = at
        self.is_steady = master.is_steady
        self.state = master.state(at)
        self.short = master.missing(at.q)
        rows = master.rows
        self.rows = rows
        self.scale = np.sqrt(at.q / at.slack)
        moments = len(master.gram) * (len(master.gram) + 1) / 2 / len(master.images)
        # Far more columns than moments: the second derivatives have a small rank
        self.root = (
            self.state.root() * self.scale if len(at.q) > max(RANK * moments, FACTORED) else None
        )
        if self.root is None:
            matrix = self.state.hessian()
            matrix *= self.scale
            matrix *= self.scale[:, None]
        else:
            matrix = self.root @ self.root.T
        matrix[np.diag_indices_from(matrix)] += 1.0
        self.factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
        scaled = rows * self.scale
        self.solved = self.solve(scaled.T)
        schur = scaled @ self.solved
        self.size = 1 / np.sqrt(np.maximum(np.diag(schur), np.finfo(float).tiny))
        self.schur = np.linalg.pinv(
            schur * self.size * self.size[:, None], rcond=1e-14, hermitian=True
        )

    def solve(self, right: Float) -> Float:
        """Solve with the scaled second derivatives plus 1."""
        if self.root is None:
            return np.asarray(cho_solve(self.factor, right, check_finite=False))
        return np.asarray(
            right - self.root.T @ cho_solve(self.factor, self.root @ right, check_finite=False)
        )

    def moved(self, step: _AveragePoint, share: float = 1.0) -> _AveragePoint | None:
        """The point after the step, which a steady master shortens before."""
        if self.is_steady:
            length = min(1.0, LOST / max(self._lost(step.q), LOST))
            step = _AveragePoint(length * step.q, length * step.slack, length * step.dual)
        return super().moved(step, share)

    def _lost(self, change: Float) -> float:
        """Largest share of the information on a direction that a change of probabilities takes."""
        white = self.state.white  # the information at this point is the unit matrix
        images = len(white) // len(change)
        matrix = (white.T * np.tile(change / images, images)) @ white
        return -float(np.linalg.eigvalsh(matrix)[0])

    def residual(self) -> float:
        """Dual residual of the probabilities; see `CurvedSystem.residual`."""
        at = self.at
        return float(at.q @ np.abs(at.dual @ self.rows - self.state.prices - at.slack))

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> _AveragePoint:
        """Newton step that changes the products by these amounts."""
        at = self.at
        (aim,) = aims
        right = self.scale * (self.state.prices - at.dual @ self.rows + at.slack + aim / at.q)
        dq = self.scale * self.solve(right)
        dual = np.zeros_like(self.short)
        for _ in range(1 + refine):
            more = self.size * (self.schur @ (self.size * (self.rows @ dq - self.short)))
            dual = dual + more
            dq = dq - self.scale * (self.solved @ more)
        return _AveragePoint(dq, (aim - at.slack * dq) / at.q, dual)


class _Average:
    """The average over given weights, as a `Master`."""

    def __init__(
        self, contrasts: Contrasts, symmetries: Permutations, *, is_steady: bool = False
    ) -> None:
        self.contrasts = contrasts
        self.symmetries = symmetries
        self.is_steady = is_steady
        self.images = contrasts.rotations(symmetries)
        n = len(contrasts.weights)
        # Dimension of the invariant symmetric matrices; by Caratheodory no design needs more
        # columns.
        self.room = max(n * (n + 1) // 2 // len(symmetries), n)

    def solve(
        self, columns: Columns, x: Float | None, r: Float, gap: float, deadline: Deadline
    ) -> MasterResult:
        contrasts = self.contrasts
        symmetries = self.symmetries
        unit = self.contrasts.value(1.0)
        r = contrasts.weights
        master = AverageMaster(
            contrasts.scores(columns),
            contrasts.reduced,
            self.images,
            contrasts.spread / unit,
            is_steady=self.is_steady,
        )
        if x is None and self.is_steady:
            x = columns.mass(r)
        best = master.solve(start=x, gap=gap, deadline=deadline)
        form = contrasts.over_answers(best.price) * unit
        slope = contrasts.over_answers(best.slope) * unit
        value = best.value * unit
        inverse = contrasts.needed(best.inverse)
        dual = Dual(r, inverse, value, value, slope - slope.sum() * r)
        shapes, q = all_images(columns.shapes, best.q, symmetries)
        used = q > generation.UNUSED
        columns = Columns(shapes[used], columns.base, columns.spread)
        q = q[used] / q[used].sum()
        return MasterResult(
            x=best.q,
            r=r,
            price=Price(form, slope, r),
            gap=best.gap,
            off=best.off,
            optimum=Optimum(contrasts, columns, q, value, dual),
            variance=value - contrasts.spread,
        )

    def profile(self, columns: Columns) -> Float | float:
        """All alike, or for steady steps the masses: over all sets these have the center 0."""
        if not self.is_steady:
            return 1.0
        mass = columns.mass(self.contrasts.weights)
        return np.asarray(mass / mass.mean())

    def steadier(self) -> "_Average | None":
        """The same with steady steps; see `AverageMaster`."""
        if self.is_steady:
            return None
        return _Average(self.contrasts, self.symmetries, is_steady=True)


def optimize_average(
    contrasts: Contrasts,
    cone: Cone,
    hints: Sequence[Int] = (),
    *,
    gap: float = 1e-6,
    deadline: Deadline = NO_LIMIT,
    start: Columns | None = None,
    begin: generation.Begin | None = None,
) -> Optimum:
    """Design for the average over given weights, by column generation; ``hints`` are possible
    symmetries.
    """
    symmetries = symmetry_group(contrasts, hints, cone)
    columns = cone.initial(contrasts.centered) if start is None else start
    columns = Columns(representatives(columns.shapes, symmetries), columns.base, columns.spread)
    contrasts = contrasts.scaled_to(columns)
    master = _Average(contrasts, symmetries)
    if begin is None:
        begin = generation.Begin(generation.FIRST if start is None else generation.FOUND)
    return generate_columns(
        master, cone, columns, contrasts.weights, gap=gap, deadline=deadline, begin=begin
    )[0]
