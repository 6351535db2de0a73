"""Optimal levels for given layers: problems (5)-(7) of Wu, Xia and He as a linear-fractional
program.
"""

from dataclasses import dataclass, field
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import ArrayLike

from ldpopt import solvers
from ldpopt.errors import LimitReachedError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float, Int, frozen, real_array
from ldpopt.solvers.program import LinearProgram, Span

# Limit of Dinkelbach's iteration; its convergence is superlinear, three to six iterations are usual
MAX_ITERATIONS = 100
# largest precision; beyond ``epsilon T = 5500`` it may be too low for levels that only increase
MAX_DIGITS = 5000


@dataclass(frozen=True, eq=False)
class Levels:
    """Result of `optimal_levels`.

    Attributes
    ----------
    levels : int array, shape (T,)
        Optimal ``z``, from ``z[0] = 0``; neighbors differ by exactly one.
    value : float
        Expected loss at these levels.
    descending_value : float
        Expected loss at ``z_t = -t``, the levels of Theorem 1.
    program_value : float
        Optimum of the Charnes-Cooper program as reported by the solver: an independent check.
    layer_means : ndarray, shape (T,)
        Mean loss of each layer; nan if its measure is zero.
    """

    levels: Int
    value: float
    descending_value: float
    program_value: float
    layer_means: Float = field(repr=False)

    @property
    def is_monotone(self) -> bool:
        """Whether Lemma 3 holds: layer means do not decrease, layers of measure zero excluded."""
        means = self.layer_means[~np.isnan(self.layer_means)]
        return bool((np.diff(means) >= -1e-12 * np.abs(means[1:])).all())

    @property
    def is_descending(self) -> bool:
        """Whether Theorem 1 holds: ``z_t = -t`` is optimal up to rounding."""
        return self.descending_value <= self.value + 1e-12 * abs(self.value)


def optimal_levels(
    measures: ArrayLike, moments: ArrayLike, epsilon: float | str, *, solver: str = "highs"
) -> Levels:
    r"""Find the level of each layer that minimizes the expected loss.

    .. math:: \min_z \frac{\sum_t e^{\epsilon z_t} q_t}{\sum_t e^{\epsilon z_t} m_t}
              \quad\text{over } |z_t - z_{t+1}| \le 1

    Parameters
    ----------
    measures : array_like, shape (T,)
        Measure (or number of points) of each layer, non-negative, not all zero.
    moments : array_like, shape (T,)
        Integral (or sum) of the loss over each layer, non-negative; 0 if the measure is 0.
    epsilon : float or str
        Nats, ``0 < epsilon <= 10000``, or ``"log(3)"``.
    solver : str
        Solver of the Charnes-Cooper program, as in `solve`; default: ``"highs"``.

    Returns
    -------
    Levels
        Optimal levels, their value, that of Theorem 1's levels, and whether Lemma 3 and Theorem 1
        hold.

    Raises
    ------
    StatementError
        If the arrays have different lengths or the budget is not positive.
    LimitReachedError
        If the solver finds no optimum.

    Notes
    -----
    Dinkelbach's iteration, each trial ratio by a walk over the layers in O(T), in sufficient
    precision. A solver then confirms the value by the Charnes-Cooper program, scaled by these
    levels. If layer means do not decrease, tail means are at least head means and every step goes
    down: Theorem 1.

    References
    ----------
    Wu, Xia and He, problems (5)-(7), Lemma 3, Theorem 1; Charnes and Cooper 1962; Dinkelbach 1967.

    Examples
    --------
    >>> optimal_levels([1, 2, 2], [0, 2, 4], "log(2)").levels.tolist()
    [0, -1, -2]
    >>> optimal_levels([0, 70, 890], [0, 70, 840], 8.0).levels.tolist()
    [0, 1, 2]
    """
    budget, m, q = _read_layers(measures, moments, epsilon)
    down = -np.arange(len(m), dtype=np.int64)
    with localcontext() as context:
        # Increasing levels multiply rounding errors by e**(epsilon T): the precision is raised by
        # as many digits.
        context.prec = min(40 + int(0.9 * float(budget) * len(m)), MAX_DIGITS)
        exact = _DecimalLayers(
            list(map(Decimal, m.tolist())), list(map(Decimal, q.tolist())), _exp_epsilon(budget)
        )
        levels = down
        best = exact.ratio(down)
        descending = best
        for _ in range(MAX_ITERATIONS):
            trial = exact.best_walk(best)
            value = exact.ratio(trial)
            if value >= best * (1 - Decimal(10) ** -30):
                break
            levels, best = trial, value
    program = charnes_cooper(m, q, budget, levels)
    outcome = solvers.find(solver).solve(program)
    if outcome.status is not solvers.Status.OPTIMAL or outcome.point is None:
        raise LimitReachedError(
            f"the solver ended with {outcome.raw_status!r}", do="try another solver"
        )
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        means = np.where(m > 0, q / m, np.nan)
    program_value = float(program.objective @ outcome.point)
    return Levels(frozen(levels), float(best), float(descending), program_value, frozen(means))


@dataclass(frozen=True)
class _DecimalLayers:
    """Measures, moments and ``e**epsilon`` as decimals in the precision of the context."""

    measures: list[Decimal]
    moments: list[Decimal]
    growth: Decimal

    def ratio(self, levels: Int) -> Decimal:
        """Return the expected loss at given levels."""
        weights = [self.growth ** int(z) for z in levels]
        total = sum((u * q for u, q in zip(weights, self.moments, strict=True)), Decimal(0))
        return total / sum((u * m for u, m in zip(weights, self.measures, strict=True)), Decimal(0))

    def best_walk(self, value: Decimal) -> Int:
        """Return the best levels for the costs ``q - value m``: down before a tail of positive
        cost, else up.
        """
        tail_cost = Decimal(0)
        steps = []
        for m, q in zip(self.measures[::-1], self.moments[::-1], strict=True):
            steps.append(-1 if tail_cost >= 0 else 1)
            tail_cost = (
                q
                - value * m
                + (tail_cost / self.growth if tail_cost >= 0 else tail_cost * self.growth)
            )
        # The first entry is the step after the last layer, which does not exist.
        return np.concatenate([[0], np.cumsum(steps[:0:-1])]).astype(np.int64)


def charnes_cooper(
    measures: ArrayLike, moments: ArrayLike, epsilon: float | str, levels: ArrayLike | None = None
) -> LinearProgram:
    r"""Write the linear-fractional program as a linear one.

    .. math:: \min \sum_t s_t q_t v_t \quad\text{over } v \ge 0,\ \sum_t s_t m_t v_t = 1,\
              e^{-\epsilon} s_t v_t \le s_{t+1} v_{t+1} \le e^{\epsilon} s_t v_t,
              \qquad s_t = e^{\epsilon z_t}

    Parameters
    ----------
    measures, moments : array_like, shape (T,)
        As in `optimal_levels`.
    epsilon : float or str
        Nats.
    levels : array_like of int, shape (T,), optional
        Levels ``z`` to scale by, in steps of at most one (default: ``-t``). At these levels ``v``
        is constant.

    Returns
    -------
    LinearProgram
        ``T`` columns, ``2 T - 1`` rows; weights of the layers are ``s_t v_t``.

    Raises
    ------
    StatementError
        If the arrays have different lengths or the budget is not positive.

    Notes
    -----
    Weights of ``e**(-epsilon T)`` are below a solver's absolute tolerance. After scaling, the
    optimum is near constant.

    Examples
    --------
    >>> charnes_cooper([1, 2, 2], [0, 2, 4], 1.0).shape
    (5, 3)
    """
    budget, m, q = _read_layers(measures, moments, epsilon)
    count = len(m)
    z = -np.arange(count) if levels is None else np.asarray(levels, dtype=np.int64)
    if z.shape != m.shape or (np.abs(np.diff(z)) > 1).any():
        problem = "levels must be one number per layer, in steps of at most one"
        do = (
            "give one whole number for each measure, such as 0, -1, -2: each at most 1 from "
            "the one before"
        )
        raise StatementError(problem, code="levels", do=do)
    scale = np.exp(float(budget) * (z - z[m > 0].max()).clip(max=0))
    pairs = np.arange(count - 1)[:, None] + [0, 1]
    # Each row is divided by the larger of its coefficients, so that none is above 1.
    least, most = (np.exp(-float(budget) * (1 + side * np.diff(z))) for side in (1, -1))
    falls = np.stack([least, -np.ones(count - 1)], axis=1).ravel()
    rises = np.stack([-np.ones(count - 1), most], axis=1).ravel()
    start = np.concatenate([[0], count + 2 * np.arange(2 * count - 1)]).astype(np.int64)
    index = np.concatenate([np.arange(count), pairs.ravel(), pairs.ravel()]).astype(np.int64)
    low, high = (np.append(1.0, np.full(2 * count - 2, side)) for side in (-np.inf, 0.0))
    sides = (low, high, np.zeros(count), np.full(count, np.inf))
    rows = (Span("total", 0, 1), Span("falls", 1, count), Span("rises", count, 2 * count - 1))
    value = np.concatenate([scale * m, falls, rises])
    columns = (Span("level", 0, count),)
    return LinearProgram(scale * q, False, start, index, value, *sides, rows, columns)


def _exp_epsilon(budget: Budget) -> Decimal:
    """Return ``e**epsilon``, exact if epsilon was given as a logarithm."""
    if budget.ratio is not None:
        return Decimal(budget.ratio.numerator) / Decimal(budget.ratio.denominator)
    assert budget.nats is not None
    return (Decimal(budget.nats.numerator) / Decimal(budget.nats.denominator)).exp()


def _read_layers(
    measures: ArrayLike, moments: ArrayLike, epsilon: float | str
) -> tuple[Budget, Float, Float]:
    budget = Budget(epsilon)
    m = real_array(measures, "measures")
    q = real_array(moments, "moments")
    if not budget:
        raise StatementError(
            "at epsilon = 0 all levels have the same weight",
            code="zero-budget",
            do="state epsilon > 0",
        )
    if m.ndim != 1 or m.shape != q.shape or not m.size:
        problem = f"measures have shape {m.shape} and moments {q.shape}: both must be (T,), T >= 1"
        raise StatementError(problem, code="shape", do="give one number for each layer in both")
    if not (
        np.isfinite(m).all()
        and np.isfinite(q).all()
        and (m >= 0).all()
        and (q >= 0).all()
        and m.any()
    ):
        problem = (
            "measures and moments must be finite and non-negative, at least one measure positive"
        )
        raise StatementError(problem, code="measures", do="correct the sizes of the layers")
    if q[m == 0].any():
        problem = (
            f"layer {int(np.argmax((m == 0) & (q > 0)))} has the measure 0 and a positive moment"
        )
        raise StatementError(
            problem, code="empty-layer", do="give the layer a positive measure, or the moment 0"
        )
    return budget, m, q
