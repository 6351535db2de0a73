r"""The least influence that a private design can have, by a linear program.

In the weights :math:`\theta_A` of the columns and :math:`u_{Aj} = \theta_A V_{Aj} / \lambda`,

.. math:: \max 1 / \lambda \quad \text{subject to} \quad \sum_A \theta_A v_A = 1, \quad
          \sum_A u_{Aj} v_A = W_j / \lambda, \quad |u_{Aj}| \le b_j \theta_A,

is the least factor by which the limits ``b`` have to be multiplied. Columns are added by their
price, the slack of the dual condition :math:`\sum_j b_j |K_j \cdot v| \le y \cdot v`: first
around multipliers of an interior point method, which are in the middle of the best ones, so that
few rounds find the columns that matter. The end is a vertex of the same program in columns with
values at their limits, ``(v, sigma b)`` with signs ``sigma``, which has a row for each equation
only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpopt.certificate.design_bound import subset_sums
from ldpopt.designing.methods.capped.columns import CappedColumns
from ldpopt.designing.methods.capped.interior import solved
from ldpopt.designing.methods.capped.program import CappedProgram
from ldpopt.designing.methods.capped.vertex import SignedColumns
from ldpopt.designing.private_columns import ListedRays, Staircases, indicators, local_maxima
from ldpopt.errors import CertificateError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

ROUNDS = 200  # of pricing
CLOSE = 1e-11  # gap of the interior point method
ROUGH = 1e-5  # the same while columns are added
TOLERANCE = 1e-9  # gap of the end
PRICED = 1e-11  # price from which a column is added
CAP_TOLERANCE = 1e-10
TIGHT = 1e-5  # slack of columns that are in the first vertex, as a share of their sum
USED = 1e-8  # share of the largest weight from which a column is in it


@dataclass(frozen=True, eq=False)
class Least:
    """The least factor of the limits from above and from below, and a design that has it."""

    factor: float
    proved: float  # no design has less, but for the rounding of floats
    vectors: Float  # columns, shape (m, n)
    weights: Float  # theta, (m,)
    slope: Float  # K, (k, n), of the dual program
    line: Float  # y, of sum 1


def of_one_number(cone: Staircases, row: Float, limit: float) -> Least:
    r"""The least factor of the limit of one number under pure privacy, :math:`\coth(\epsilon / 2)`
    if that is half of its span: the columns are those of thresholds of the number, in proportion to
    the steps between its values.
    """
    places = np.unique(row)
    sets = np.array([row > place for place in places[:-1]], dtype=np.float64)
    share = np.diff(places) / (places[-1] - places[0]) / (1 + cone.base)
    vectors = cone.columns(np.vstack([sets, 1 - sets])).vectors
    half = (places[-1] - places[0]) / 2
    factor = (1 + cone.base) / cone.spread * half / limit
    line = np.zeros(len(row))
    line[[row.argmin(), row.argmax()]] = 0.5
    slope = np.zeros((1, len(row)))
    # sum_j b_j |K_j.v| <= y.v is an equation for sets with one of both
    slope[0, [row.argmin(), row.argmax()]] = np.array([-0.5, 0.5]) * factor / half
    return Least(factor, factor, vectors, np.concatenate([share, share]), slope, line)


def least_factor(
    columns: CappedColumns, rows: Float, limits: Float, start: Float, deadline: Deadline
) -> Least:
    """The least factor of the limits for which an unbiased design exists, by column generation:
    solve the program of some columns, price all others, add the worst.

    ``rows`` are those of the workload (k, n), ``limits`` its caps (k,), ``start`` the first
    columns (m, n). The result has ``K`` as ``slope`` and ``y`` as ``line``.
    """
    search = _LeastProgram(columns, rows, limits, deadline)
    inside = search.interior(np.unique(start, axis=0))
    return search.vertex(inside)


def least_cap(
    columns: CappedColumns, rows: Float, half: Float, start: Float, deadline: Deadline
) -> tuple[float, Least]:
    """The least common cap of rows with different halves of their spans, and its design: that at
    which the factor is 1, by Newton's method for one over the factor, which is linear in the cap if
    all spans are equal.
    """
    lowest = float(half.max())
    cap = 2 * lowest
    vectors = np.unique(start, axis=0)
    for _ in range(ROUNDS):
        search = _LeastProgram(columns, rows, cap - half, deadline)
        inside = search.interior(vectors)
        vectors = inside.columns
        moved = cap + (inside.low - 1) / float((inside.shares / search.limits).sum())
        if abs(moved - cap) <= CAP_TOLERANCE * cap or deadline.is_over:
            break
        cap = moved if moved > lowest * (1 + CAP_TOLERANCE) else (cap + lowest) / 2
    least = search.vertex(inside)
    return float((half + max(1.0, least.factor) * search.limits).max()), least


@dataclass(frozen=True, eq=False)
class _Inside:
    """A solution in the middle of the best ones."""

    low: float  # no design has a smaller factor
    factor: float  # of the design
    columns: Float  # all columns of the program
    weights: Float  # theta, of each
    parts: Float  # values over the limits, of each and number
    slope: Float
    line: Float
    shares: Float  # of each limit in the price of the design, of sum 1


@dataclass(frozen=True, eq=False)
class _LeastProgram:
    """The two stages of the linear program."""

    columns: CappedColumns
    rows: Float
    limits: Float
    deadline: Deadline

    def low(self, slope: Float, line: Float, over: float) -> float:
        """The bound of multipliers that are raised to hold for all columns."""
        return float((slope * self.rows).sum() / (line.sum() + max(over, 0.0) * len(line)))

    def interior(self, vectors: Float) -> _Inside:
        """Columns, and a solution in the middle of the best ones."""
        n = vectors.shape[1]
        unit = float(self.limits.max())
        each = self.limits / unit
        program = CappedProgram(vectors, self.rows / unit, each, np.full(n, 1 / n), is_least=True)
        enough = CLOSE if self.columns.is_complete else ROUGH
        for _ in range(ROUNDS):
            found = solved(program, enough, self.deadline)
            total = float(found.dual.line.sum())
            # 2 tr(K W) = 1 there
            slope = 2 * found.dual.slope / (total * unit)
            line = found.dual.line / total
            over, more = _priced(self.columns, slope, line, self.limits, 4 * n)
            fresh = program.fresh(more)
            # what is left to gain is below what the method leaves
            is_done = over * n <= enough or not len(fresh) or self.deadline.is_over
            if is_done and enough <= CLOSE:
                break
            enough = CLOSE if is_done else enough
            if len(fresh):
                program = program.with_columns(np.vstack([program.vectors, fresh]))
        point = found.point
        vectors = program.vectors[: len(point.theta)]
        spent = self.limits * (point.theta @ np.abs(vectors @ slope.T))
        return _Inside(
            self.low(slope, line, over),
            1 / float(point.size[0]) if point.size[0] > 0 else np.inf,
            vectors,
            point.theta,
            point.products / (each * point.theta[:, None]),
            slope,
            line,
            spent / spent.sum(),
        )

    def vertex(self, inside: _Inside) -> Least:
        """The vertex next to it, with columns added until it is the least of all."""
        low = inside.low
        slope = inside.slope
        line = inside.line
        program = SignedColumns(self.rows, self.limits)
        used = inside.weights > USED * inside.weights.max()
        program.add_mixed(inside.columns[used], inside.parts[used])
        spare = inside.columns @ line - np.abs(inside.columns @ slope.T) @ self.limits
        tight = inside.columns[spare <= TIGHT]
        program.add(tight, _signs(tight, slope))
        best: Least | None = None
        for _ in range(ROUNDS):
            end = program.solve()
            if end is None:
                break
            over, more = _priced(self.columns, end.slope, end.line, self.limits, 4 * len(line))
            if self.low(end.slope, end.line, over) > low:
                low = self.low(end.slope, end.line, over)
                slope = end.slope
                line = end.line
            best = Least(end.factor, low, end.vectors, end.weights, slope, line)
            is_done = end.factor - low <= TOLERANCE * end.factor or self.deadline.is_over
            if is_done or not program.add(more, _signs(more, end.slope)):
                break
        is_close = inside.factor - inside.low <= TOLERANCE * inside.low < np.inf
        if best is None and is_close:
            # no vertex in floats: the design in the middle of the best ones has more reports
            is_used = inside.weights > 0
            weights = inside.weights[is_used]
            return Least(inside.factor, low, inside.columns[is_used], weights, slope, line)
        if best is None:
            raise CertificateError(
                "the linear program for the least influence has no solution in floats",
                code="least-influence",
                do="choose another epsilon, or merge answers that are alike",
            )
        return best


def _signs(vectors: Float, slope: Float) -> Float:
    """The best signs of columns, (m, k)."""
    return np.where(vectors @ slope.T >= 0, 1.0, -1.0)


def _priced(
    columns: CappedColumns, slope: Float, line: Float, limits: Float, most: int
) -> tuple[float, Float]:
    """The largest excess of ``sum_j b_j |K_j.v|`` over ``y.v``, as a share of the sum of ``v``, and
    columns of large excess.
    """
    cone = columns.cone
    if isinstance(cone, ListedRays):
        vectors = cone.all.vectors
        costs = limits @ np.abs(slope @ vectors.T) - vectors @ line
        order = np.argsort(-costs)[:most]
        over = float((costs / vectors.sum(axis=1)).max())
        return over, vectors[order[costs[order] > PRICED]]
    n = cone.n
    costs = -(cone.base * line.sum() + cone.spread * subset_sums(line))
    for row, limit in zip(slope, limits, strict=True):
        costs += limit * np.abs(cone.base * row.sum() + cone.spread * subset_sums(row))
    sums = cone.base * n + cone.spread * subset_sums(np.ones(n))
    places = local_maxima(costs, n, TOLERANCE)
    places = places[np.argsort(-costs[places])][:most]
    return float((costs / sums).max()), cone.columns(indicators(places, n)).vectors
