r"""Sizes of sets, their values and two multipliers, for frequencies whose influence has a cap, in
floats.

In the unit of the frequencies and less 1/2, a set of size ``k`` has the value ``a`` for its answers
and ``b`` for the others, both at most ``B`` in size. With the probability :math:`\pi_k` of each
size

.. math:: \min \sum_k \pi_k \big( k a_k^2 + (n - k) b_k^2 \big), \qquad
          \sum_k \pi_k f_k (a_k - b_k) = 1, \qquad
          \sum_k \pi_k \big( k a_k + (n - k) b_k \big) = 1 - n / 2,

where :math:`f_k` is the probability that a set has the truth less that of another given answer: the
first equation is that of the difference between an answer's own number and any other one, the
second one that of the sum of all numbers. A linear program of three rows has the pairs of a size
and its two values as columns, which are added by their price: for two multipliers the best values
are clipped lines. The least ``B`` is that of the corners :math:`a = B, b = -B`: a bridge of a hull
in the plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpopt.certificate.frequency_certificate import best_size
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

ROUNDS = 100  # of pricing
LEAST_GAP = 1e-10  # smallest relative gap that floats reach
RARE = 1e-12  # probability of a size that is left out
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class SizesOptimum:
    """Sizes with their probabilities and values, and two multipliers."""

    sizes: Float  # ascending
    shares: Float  # of the sum 1
    values: Float  # a and b, shape (s, 2), in the unit of the frequencies less 1/2
    slope: tuple[float, float]  # of the two equations

    @property
    def reach(self) -> float:
        """The largest value in size."""
        return float(np.abs(self.values).max())


@dataclass(frozen=True, eq=False)
class LeastSizes:
    """The least ``B``, with a design that has it and the multipliers of the program."""

    reach: float
    sizes: Float
    shares: Float
    slope: tuple[float, float]  # their value at the right sides is 1, and no column costs more

    @property
    def columns(self) -> list[tuple[float, float, float]]:
        """Sizes and values of the design."""
        return [(float(size), self.reach, -self.reach) for size in self.sizes]


@dataclass(frozen=True, eq=False)
class Sizes:
    """The sets of all sizes of ``n`` answers, for a budget."""

    n: int
    epsilon: Budget

    @cached_property
    def base(self) -> float:
        """``e**-epsilon``."""
        return float(1 / self.epsilon.enclosure()[1])

    @cached_property
    def k(self) -> Float:
        """The sizes."""
        return np.arange(1.0, self.n)

    @cached_property
    def sums(self) -> Float:
        """The sum of a column whose entries are 1 and ``e**-epsilon``."""
        return np.asarray(self.k + (self.n - self.k) * self.base)

    @cached_property
    def differences(self) -> Float:
        """``f``: probability that a set has the truth less that of another given answer."""
        spread = float(1 - 1 / self.epsilon.enclosure()[1])  # of few digits as a float
        return np.asarray(self.k * (self.n - self.k) * spread / (self.sums * (self.n - 1)))

    @property
    def total(self) -> float:
        """The sum of all numbers less 1/2 each."""
        return 1 - self.n / 2

    def best_values(self, slope: tuple[float, float], limit: float) -> tuple[Float, Float, Float]:
        """The best values ``a`` and ``b`` of each size within a limit, and the price."""
        k = self.k
        others = self.n - k
        first, second = slope
        inside = first * self.differences / (2 * k) + second / 2
        outside = -first * self.differences / (2 * others) + second / 2
        a = np.clip(inside, -limit, limit)
        b = np.clip(outside, -limit, limit)
        return a, b, k * a * (a - 2 * inside) + others * b * (b - 2 * outside)

    def bound(self, slope: tuple[float, float], limit: float) -> float:
        """The bound of multipliers on the variance of all designs within a limit."""
        price = self.best_values(slope, limit)[2]
        return float(price.min()) + slope[0] + slope[1] * self.total - self.n / 4

    def variance(self, found: SizesOptimum) -> float:
        """The variance of a design, summed over the frequencies."""
        many = np.stack([found.sizes, self.n - found.sizes], axis=1)
        return float(found.shares @ (many * found.values**2).sum(axis=1)) - self.n / 4

    @cached_property
    def free(self) -> SizesOptimum:
        """The best design without a cap: sets of one size, in closed form."""
        size = best_size(self.n, self.epsilon)
        f = float(self.differences[size - 1])
        outside = (self.total - size / f) / self.n
        inside = outside + 1 / f
        first = 2 * size * (self.n - size) / (f * f * self.n)
        slope = (first, 2 * inside - first * f / size)
        values = np.array([[inside, outside]])
        return SizesOptimum(np.array([float(size)]), np.ones(1), values, slope)

    @cached_property
    def least(self) -> LeastSizes:
        """The least ``B``: the bridge over 0 of the points ``(p + q - 1, f)`` of all sizes.

        The values ``B`` and ``-B`` of a set are right on average if the first coordinates have the
        mean 0, and then ``B`` is one over twice the mean of the second ones. Reports that say
        nothing, of equal values, are the points (-1, 0) and (1, 0).
        """
        n = self.n
        p = self.k / self.sums
        x = np.concatenate([[-1.0], p + (self.k - p) / (n - 1) - 1, [1.0]])
        y = np.concatenate([[0.0], self.differences, [0.0]])
        sizes = np.concatenate([[1.0], self.k, [n - 1.0]])
        left = np.flatnonzero(x <= 0)
        right = np.flatnonzero(x > 0)

        def height(i: Any, j: Any) -> Any:
            return (y[i] * x[j] - y[j] * x[i]) / (x[j] - x[i])

        i = int(left[-1])
        j = int(right[0])
        while True:  # each step is higher; where both ends are the best of their side is the bridge
            to = int(right[np.argmax(height(i, right))])
            start = int(left[np.argmax(height(left, to))])
            if not height(start, to) > height(i, j):
                break
            i, j = start, to
        top = float(height(i, j))
        turn = float((y[j] - y[i]) / (x[j] - x[i]))
        share = float(x[j] / (x[j] - x[i]))
        reach = 1 / (2 * top)
        # y - turn x <= top for all points: the multipliers of the truth and of another answer
        truth = 1 - turn
        other = -1 - turn
        slope = (((n - 1) * truth - other) / n, (truth + other) / n)
        return LeastSizes(reach, sizes[[i, j]], np.array([share, 1 - share]), slope)

    def best(self, limit: float, gap: float, deadline: Deadline) -> SizesOptimum:
        """The best design whose values are within a limit that is not below the least one."""
        if self.free.reach <= limit:
            return self.free
        return _SizesProgram(self, max(limit, self.least.reach)).solved(gap, deadline)

    def multipliers(self, slope: tuple[float, float]) -> tuple[float, float]:
        """``d`` and ``o`` of the bound in `design_bound_sizes`, of multipliers of the two
        equations.
        """
        step = slope[0] / (2 * (self.n - 1))
        others = (slope[1] / 2 - step) / self.n
        return others + step, others


@dataclass(frozen=True, eq=False)
class _SizesProgram:
    """Columns of a size and two values, generated by their price."""

    sizes: Sizes
    limit: float

    def solved(self, gap: float, deadline: Deadline) -> SizesOptimum:
        """Add columns until the gap is reached, or floats reach no smaller one."""
        sizes = self.sizes
        least = sizes.least
        # columns: a size, and the values of answers in the set and of others
        corners = [
            (size, sign * self.limit, other * self.limit)
            for size in least.sizes.tolist()
            for sign, other in ((1, -1), (1, 1), (-1, -1))
        ]
        columns = [*least.columns, *corners]
        shares = np.concatenate([least.shares, np.zeros(len(corners))])
        slope = best_slope = sizes.free.slope
        best_bound = -np.inf
        for _ in range(ROUNDS):
            solved = self._restricted(np.array(columns))
            if solved is None:  # beyond the digits of floats: what is known so far
                break
            shares, slope, value = solved
            a, b, price = sizes.best_values(slope, self.limit)
            bound = sizes.bound(slope, self.limit)
            if bound > best_bound:
                best_bound, best_slope = bound, slope
            if value - best_bound <= max(gap, LEAST_GAP) * value or deadline.is_over:
                break
            # new are the sizes at which the price is no larger than at both neighbors, and those
            # beside the cheapest
            padded = np.concatenate([[np.inf], price, [np.inf]])
            fresh = set(np.flatnonzero((price <= padded[:-2]) & (price <= padded[2:])).tolist())
            lowest = int(price.argmin())
            fresh |= {max(lowest - 1, 0), min(lowest + 1, len(price) - 1)}
            columns += [(float(sizes.k[i]), float(a[i]), float(b[i])) for i in sorted(fresh)]
            shares = np.concatenate([shares, np.zeros(len(fresh))])
        return self._merged(np.array(columns), shares, best_slope)

    def _restricted(self, columns: Float) -> tuple[Float, tuple[float, float], float] | None:
        """The program of some columns: shares, multipliers and the variance; None if the solver
        fails.
        """
        from scipy import optimize

        linprog: Any = optimize.linprog
        n = self.sizes.n
        limit = self.limit
        size, a, b = columns.T
        f = self.sizes.differences[size.astype(np.int64) - 1]
        unit = float(self.sizes.differences.max())
        moments = size * a**2 + (n - size) * b**2
        sums = size * a + (n - size) * b
        # in units in which all entries are at most about 1
        rows = np.stack([np.ones(len(size)), f * (a - b) / (unit * limit), sums / (n * limit)])
        right = [1.0, 1 / (unit * limit), self.sizes.total / (n * limit)]
        cost = moments / (n * limit**2)
        for method in ("highs-ds", "highs-ipm"):
            solved = linprog(cost, A_eq=rows, b_eq=right, method=method, options=EXACT)
            if solved.status == 0:
                _, first, second = (solved.eqlin.marginals * n * limit**2).tolist()
                slope = (first / (unit * limit), second / (n * limit))
                return solved.x, slope, float(solved.x @ moments) - n / 4
        return None

    def _merged(self, columns: Float, shares: Float, slope: tuple[float, float]) -> SizesOptimum:
        """One column for each size, with the mean of its values: the variance is not larger."""
        kept = shares > RARE
        shares = shares[kept] / shares[kept].sum()
        every, place = np.unique(columns[kept, 0], return_inverse=True)
        each = np.asarray(np.bincount(place, shares), dtype=np.float64)
        values = [np.bincount(place, shares * columns[kept, i]) / each for i in (1, 2)]
        inside = np.clip(np.stack(values, axis=1), -self.limit, self.limit)
        return SizesOptimum(every, each, inside, slope)
