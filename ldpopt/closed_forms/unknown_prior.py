"""Unknown priors: the worst prior of a box or a ball, and the best mechanism for a polytope of
priors.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.closed_forms.form import ClosedForm, read_delta
from ldpopt.closed_forms.top_k import top_k
from ldpopt.errors import NoSolutionError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labelled import read_labelled
from ldpopt.foundation.labels import check_labels
from ldpopt.foundation.numbers import Float, frozen, real_number, summed
from ldpopt.problem.prior import read_prior, read_priors

SUM_TOLERANCE = 1e-9  # tolerance of the sums of a box's bounds


@dataclass(frozen=True, eq=False, kw_only=True)
class Robust(ClosedForm):
    """Result of `robust_value`.

    Parameters
    ----------
    worst_prior : ndarray, shape (n,)
        A mixture of the given priors for which the value of `top_k` is not larger; not always
        unique.
    diagonal : ndarray, shape (n,)
        Probabilities ``q`` of a truthful report at delta 0.
    vertices : ndarray, shape (l, n)
        The given priors.
    mixing : ndarray, shape (l,)
        Weights of the given priors in the worst one.
    """

    worst_prior: Float = field(repr=False)
    diagonal: Float = field(repr=False)
    vertices: Float = field(repr=False)
    mixing: Float = field(repr=False)

    def exact_value(self) -> tuple[Fraction, Fraction]:
        """Return bounds of the max-min value for the real ``e**epsilon``; their gap is due to the
        linear program.

        Low: the diagonal, scaled until it is attainable, at the worst vertex. High: `top_k` at the
        mixture.
        """
        share = Fraction(self.delta)
        alpha = self.epsilon.enclosure()[0]
        truth = [Fraction(float(q)) for q in self.diagonal]
        scale = max((alpha - 1) * max(truth) + sum(truth), alpha) / alpha
        rows = [[Fraction(float(weight)) for weight in row] for row in self.vertices]
        reached = [share + (1 - share) * q / scale for q in truth]
        low = min(_dot(row, reached) for row in rows)
        # The mixture was rounded: its entrywise deficit from the exact mixture is added to the
        # bound.
        weights = [Fraction(float(weight)) for weight in self.mixing]
        true = [_dot(weights, column) / sum(weights) for column in zip(*rows, strict=True)]
        pairs = zip(true, self.worst_prior.tolist(), strict=True)
        slack = sum((max(Fraction(0), t - Fraction(m)) for t, m in pairs), Fraction(0))
        return low, top_k(self.worst_prior, self.epsilon, self.delta).exact_value()[1] + slack

    @property
    def channel(self) -> Float:
        r"""A channel with that diagonal, shape ``(n, n)``: :math:`p_{ij} = q_j (b + (1-b)
        \theta_i)`, b = e^-epsilon.

        Every entry of column j lies between ``b q_j`` and ``q_j``; :math:`\theta_i` makes the row
        sum 1.
        """
        truth, b, beta = self.diagonal, self.epsilon.b, self.epsilon.beta
        others = truth.sum() - truth
        with np.errstate(divide="ignore", invalid="ignore"):
            theta = (
                np.where(others > 0, ((1 - truth) / others - b) / beta, 0.0)
                if beta
                else np.ones(len(truth))
            )
        channel = np.outer(b + beta * np.clip(theta, 0, 1), truth)
        np.fill_diagonal(channel, truth)
        channel *= (1 - self.delta) / channel.sum(axis=1, keepdims=True)
        np.fill_diagonal(channel, channel.diagonal() + self.delta)
        return channel


def worst_prior(lower: ArrayLike, upper: ArrayLike) -> Float:
    r"""Find the prior between two bounds with the smallest optimal value: the one nearest to
    uniform.

    .. math:: \hat\pi_i = \min(\max(c, \text{lower}_i), \text{upper}_i), \qquad \sum_i \hat\pi_i = 1

    Parameters
    ----------
    lower, upper : array_like, shape (n,), or mapping or Series label -> bound
        ``0 <= lower <= upper``, with ``sum(lower) <= 1 <= sum(upper)``.

    Returns
    -------
    ndarray, shape (n,)
        Sums to 1; the same prior is worst for every epsilon and delta. ``top_k`` of it is the
        max-min value and, with its largest optimal k, the max-min mechanism.

    Raises
    ------
    StatementError
        If no prior lies in the box.

    Notes
    -----
    The value of `top_k` is Schur-convex in the prior, and all priors in the box majorize this one.
    O(n log n).

    Examples
    --------
    >>> worst_prior([0, 0, 0.5], [1, 0.1, 1])
    array([0.4, 0.1, 0.5])
    """
    below = read_labelled(lower, "list of lower bounds")
    above = read_labelled(upper, "list of upper bounds")
    if below.has_labels != above.has_labels:
        raise StatementError(
            "one of the bounds has labels and the other has none", do="label both, or neither"
        )
    low = below.values
    high = above.to(below.axes[0])
    if low.ndim != 1 or not len(low) or low.shape != high.shape:
        problem = (
            f"the bounds have shapes {low.shape} and {high.shape}; expected one entry per answer"
        )
        raise StatementError(problem, do="give a lower and an upper bound for each answer")
    bad = np.flatnonzero(~((low >= 0) & (low <= high) & np.isfinite(high)))
    if len(bad):
        problem = f"bounds {low[bad[0]]} .. {high[bad[0]]} are not an interval"
        do = "give 0 <= lower <= upper"
        raise StatementError(problem, code="interval", where=f"answer {bad[0]}", do=do)
    least = summed(low)
    most = summed(high)
    if least > 1 + SUM_TOLERANCE or most < 1 - SUM_TOLERANCE:
        problem = (
            f"no prior is within the bounds: the lower ones sum to {least:.9g}, the upper ones "
            f"to {most:.9g}"
        )
        raise StatementError(
            problem,
            code="bounds",
            do="give lower bounds that sum to at most 1, and upper ones to at least 1",
        )
    high = np.maximum(low, np.minimum(high, 1.0))
    levels = np.sort(np.concatenate([low, high]))
    level = np.interp(1.0, low.sum() + _excess(levels, low) - _excess(levels, high), levels)
    return np.asarray(np.clip(level, low, high))


def worst_prior_in_ball(center: Any, radius: float) -> Float:
    r"""Find the prior within a total-variation ball with the smallest optimal value.

    .. math:: \hat\pi_i = \min(\max(\pi_i, a), c),
              \qquad \sum_i (\pi_i - c)^+ = \sum_i (a - \pi_i)^+ = \rho

    Parameters
    ----------
    center : array_like, shape (n,), or mapping label -> weight
        As in `top_k`.
    radius : float
        Total variation :math:`\rho \ge 0`: half the sum of absolute differences.

    Returns
    -------
    ndarray, shape (n,)
        Same sum as the center; uniform if the ball contains the uniform prior.

    Raises
    ------
    StatementError
        If the center is not a prior or the radius is negative.

    Notes
    -----
    Mass moves from the largest to the smallest weights; all priors in the ball majorize the result.
    O(n log n).

    Examples
    --------
    >>> worst_prior_in_ball([0.6, 0.3, 0.1], 0.1)
    array([0.5, 0.3, 0.2])
    """
    prior, _ = read_prior(center, name="center")
    radius = real_number(radius, "radius", do="state a total variation from 0 to 1")
    if radius < 0:
        raise StatementError(
            f"radius = {radius} is negative", do="state a total variation from 0 to 1"
        )
    mean = prior.mean()
    if radius >= np.maximum(prior - mean, 0).sum():
        return np.full(len(prior), mean)
    levels = np.sort(prior)
    floor = np.interp(radius, _excess(levels, prior), levels)
    # The excess above a level is the excess below its negative for negated values.
    ceiling = -np.interp(radius, _excess(-levels[::-1], -prior), -levels[::-1])
    return np.asarray(np.clip(prior, floor, ceiling))


def robust_value(
    vertices: Sequence[Any] | Float,
    epsilon: float | str,
    delta: float = 0.0,
    *,
    inputs: Sequence[Any] | None = None,
) -> Robust:
    r"""Find the mechanism with the largest minimal truth probability over several priors and all
    their mixtures.

    .. math:: \max_P \min_l \sum_i \pi^{(l)}_i p_{ii} = \delta + (1-\delta) V, \quad
              V = \max \{ v : v \le q \cdot \pi^{(l)},\ q \ge 0,\ (\alpha-1) q_i + \textstyle\sum_j
              q_j \le \alpha \}

    Parameters
    ----------
    vertices : array_like, shape (l, n)
        Priors, each summing to 1 within 1e-9.
    epsilon : float or str
        Privacy budget in nats, ``0 <= epsilon <= 10000``, or ``"log(3)"``.
    delta : float
        ``0 <= delta <= 1``; default: ``0.0``.
    inputs : sequence of hashable, optional
        Labels (default: 0, 1, 2, ...).

    Returns
    -------
    Robust
        Value, worst prior, diagonal; channel ``(n, n)``.

    Raises
    ------
    NoSolutionError
        If the linear program was not solved to optimality.

    Notes
    -----
    The diagonal lemma gives a linear program with n + 2 variables and n + l + 1 rows, in the scaled
    form ``beta q_i + b sum q <= 1``. Its duals are the weights of the worst prior.

    Examples
    --------
    >>> round(robust_value([[0.8, 0.2], [0.3, 0.7]], "log(3)").value, 9)
    0.75
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_array, csr_array, eye_array

    budget = Budget(epsilon)
    share = read_delta(delta)
    rows, names = read_priors(vertices, inputs)
    count, n = rows.shape
    # Variables q, their sum, and the value.
    worst: Any = [csr_array(-rows), None, csr_array(np.ones((count, 1)))]
    private: Any = [budget.beta * eye_array(n), csr_array(np.full((n, 1), budget.b)), None]
    total: Any = csr_array(np.concatenate([np.ones(n), [-1.0, 0.0]])[None, :])
    limits = np.concatenate([np.zeros(count), np.ones(n)])
    cost = np.concatenate([np.zeros(n + 1), [-1.0]])
    matrix: Any = block_array([worst, private])
    result: Any = linprog(
        cost, A_ub=matrix, b_ub=limits, A_eq=total, b_eq=np.zeros(1), method="highs"
    )
    if result.status != 0:
        problem = f"the linear program of the diagonal failed: {result.message}"
        raise NoSolutionError(problem, do="solve the worst case: Problem(None, 'identity', ...)")
    truth = np.clip(result.x[:n], 0, 1)
    truth /= max(1.0, float((budget.beta * truth + budget.b * truth.sum()).max()))
    room = 1 - truth  # the sum is raised to at least 1, so that rows can be filled
    truth += max(0.0, 1 - truth.sum()) * room / (room.sum() or 1.0)
    mixing = np.maximum(-result.ineqlin.marginals[:count], 0)
    mixing /= mixing.sum()
    common: Any = {
        "value": float(share + (1 - share) * (rows @ truth).min()),
        "epsilon": budget,
        "delta": share,
    }
    common["inputs"] = check_labels(names if inputs is None else inputs, n, "input")
    parts = {"worst_prior": mixing @ rows, "diagonal": truth, "vertices": rows, "mixing": mixing}
    return Robust(**common | {name: frozen(part) for name, part in parts.items()})


def _dot(weights: Iterable[Fraction], values: Iterable[Fraction]) -> Fraction:
    return sum((w * v for w, v in zip(weights, values, strict=True)), Fraction(0))


def _excess(levels: Float, values: Float) -> Float:
    """Return the sum of ``(level - value)^+`` over the values, for each level."""
    ascending = np.sort(values)
    sums = np.concatenate([[0.0], np.cumsum(ascending)])
    count = np.searchsorted(ascending, levels, "right")
    return np.asarray(levels * count - sums[count])
