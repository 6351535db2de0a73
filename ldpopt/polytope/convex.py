r"""Convex utilities: the largest information of a private report, over channels with any number of
outputs.

A utility :math:`\sum_y \mu(P_{\cdot y})` with sublinear :math:`\mu` is largest for columns whose
entries take two values only. Utilities of a likelihood ratio are maximized and proved for any
number of answers (`likelihood`); for others a linear program finds the weights of all columns, in
floats, correct to about ``1e-12``. Under other notions than pure privacy the columns are extreme
rays, and bounds are rationals (`convex_rays`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import (
    Float,
    positive_seconds,
    require_function,
    require_kind,
)
from ldpopt.mechanism.repair import repair
from ldpopt.mechanism.rounding import MAX_NOISE
from ldpopt.polytope.convex_optimum import EQUAL_TOLERANCE, ConvexOptimum
from ldpopt.polytope.convex_rays import best_of_rays
from ldpopt.polytope.convex_utility import (
    ConvexUtility,
    arranged,
    f_divergence,
    fisher_information,
    mutual_information,
    require_sublinear,
)
from ldpopt.polytope.likelihood.best import best_blocks
from ldpopt.polytope.likelihood.certificate import ConvexCertificate
from ldpopt.polytope.points import ExtremePoints
from ldpopt.polytope.ray_certificate import RayCertificate
from ldpopt.polytope.staircase import Exact
from ldpopt.privacy import PureLDP
from ldpopt.privacy.notion import Notion

__all__ = [
    "BestListed",
    "ConvexCertificate",
    "ConvexOptimum",
    "ConvexUtility",
    "RayCertificate",
    "best_channel",
    "best_listed",
    "f_divergence",
    "fisher_information",
    "mutual_information",
]

MAX_INPUTS = 10  # largest number of inputs; the linear program has ``2**n`` columns
BATCH_CHANNELS = 4096


def best_channel(
    utility: ConvexUtility,
    privacy: Notion | float | str,
    *,
    inputs: Sequence[Any] | None = None,
    time_limit: float | None = None,
) -> ConvexOptimum:
    r"""Maximize a convex utility over all private channels with any number of outputs.

    .. math:: \max_{\theta \ge 0} \sum_j \theta_j \mu(c_j) \quad \text{subject to} \quad
              \sum_j \theta_j c_j = 1

    over all extreme rays :math:`c_j` of the private columns; under pure privacy these are 1 on a
    set and :math:`e^{-\epsilon}` elsewhere.

    Parameters
    ----------
    utility : ConvexUtility
        Under pure privacy an f-divergence or a Fisher information of up to 2000 answers, or another
        utility of at most 10; under other notions any utility of at most 16 answers.
    privacy : Notion, float or str
        Any notion that compares averages of single reports, such as GraphDP, PML, or ``a & b``; or
        the epsilon of pure privacy: nats, positive, or ``"log(3)"``. A notion that depends on a
        prior and states none takes that of a mutual information.
    inputs : sequence of hashable, optional
        Labels of the answers, in the order of the mechanism's rows; default: those of the utility,
        else of the notion.
    time_limit : float, optional
        Seconds for the list of rays; under pure privacy for the search of the bound, which is then
        perhaps larger; default: no limit.

    Returns
    -------
    ConvexOptimum
        Mechanism, value, bound, under pure privacy the regime; for a likelihood ratio, and for the
        library's utilities under other notions, with a certificate in rationals.

    Raises
    ------
    StatementError
        If epsilon is zero, there are too many answers, the labels are not those of the utility, the
        utility is infinite, or it is not homogeneous and subadditive at 16 drawn columns.
    NotRepresentableError
        If the private columns do not form a cone, or its extreme rays are too many to list or not
        listed in time.

    Notes
    -----
    Theory: docs, "Convex utilities", "Extremal channels of any size" and "Rays of any cone". At
    most n outputs are used. A binary channel is optimal for small epsilon and randomized response
    for large epsilon. Of a likelihood ratio, ``O(n**2)`` operations for the channel, ``O(n log n)``
    for the proof.

    References
    ----------
    Kairouz, Oh and Viswanath 2016; Ghazi 2026 (arXiv 2606.07443).

    Examples
    --------
    >>> best = best_channel(mutual_information([0.5, 0.5]), "log(3)")
    >>> best.patterns, round(best.value, 6), best.regime
    (((0,), (1,)), 0.130812, 'binary')
    >>> scores = fisher_information([-1, 0, 1], [0.25, 0.5, 0.25])
    >>> round(float(best_channel(scores, "log(3)").bound), 9)
    0.066666667
    """
    require_kind(utility, ConvexUtility, "best_channel()")
    is_pure = isinstance(privacy, PureLDP) or not isinstance(privacy, Notion)
    budget = _pure_budget(privacy) if is_pure else None
    deadline = Deadline.after(positive_seconds(time_limit))
    utility = arranged(utility, inputs)
    require_sublinear(utility)
    if budget is None:
        return _best_in_cone(utility, privacy, deadline)
    if utility.pair is not None:
        return _best_of_pair(utility, utility.pair, budget, deadline)
    return _best_of_patterns(utility, budget, deadline)


def _pure_budget(privacy: Any) -> Budget:
    """Budget of a pure notion, or a budget itself."""
    if isinstance(privacy, PureLDP):
        return Budget.positive(privacy.epsilon)
    return Budget.positive(privacy)


def _best_in_cone(utility: ConvexUtility, privacy: Any, deadline: Deadline) -> ConvexOptimum:
    """The best sum of the rays of a notion."""
    if utility.inputs is None and privacy.known_inputs is not None:
        utility = arranged(utility, privacy.known_inputs)
    labels = tuple(range(utility.n)) if utility.inputs is None else utility.inputs
    notion = privacy.bound_to(utility.prior, labels)
    best = best_of_rays(utility.columns, utility.exact, notion, labels, deadline)
    value = utility.value(best.mechanism.channel)
    return ConvexOptimum(
        value=value if best.certificate is None else float(best.certificate.achieved),
        bound=best.bound,
        mechanism=best.mechanism,
        patterns=None,
        weights=best.weights,
        binary=None,
        randomized_response=None,
        columns=best.columns,
        certificate=best.certificate,
    )


def _best_of_pair(
    utility: ConvexUtility, pair: tuple[Float, Float, str], budget: Budget, deadline: Deadline
) -> ConvexOptimum:
    """Search blocks of answers in the order of their likelihood ratio."""
    best = best_blocks(pair, budget, utility.inputs, deadline)
    return ConvexOptimum(
        value=float(best.certificate.achieved),
        bound=best.certificate.bound,
        mechanism=best.certificate.mechanism,
        patterns=tuple(map(tuple, best.blocks)),
        weights=np.full(len(best.blocks), best.weight),
        binary=best.binary,
        randomized_response=best.randomized_response,
        columns=best.columns,
        certificate=best.certificate,
    )


def _best_of_patterns(utility: ConvexUtility, budget: Budget, deadline: Deadline) -> ConvexOptimum:
    """Solve the program over all ``2**n`` columns of two values."""
    n = utility.n
    if not 1 < n <= MAX_INPUTS:
        raise StatementError(
            f"{n} inputs: supported are 2 to {MAX_INPUTS}",
            code="many-inputs",
            do=f"take at most {MAX_INPUTS} inputs",
        )
    members = (np.arange(2**n - 1)[:, None] >> np.arange(n) & 1).astype(bool).T
    patterns = np.where(members, 1.0, budget.b)
    column_values = utility.columns(patterns)
    if not np.isfinite(column_values).all():
        raise StatementError(
            f"{utility.name} is infinite at epsilon = {budget}",
            code="infinite-value",
            do="state a smaller epsilon",
        )
    theta, bound = _solve(members, column_values, budget, deadline)
    used = np.flatnonzero(theta > MAX_NOISE)
    fixed = repair(
        patterns[:, used] * theta[used], PureLDP(budget), inputs=utility.inputs
    ).mechanism
    # Pattern j is a bit mask; its complement is at the mirrored position of the list.
    pairs = column_values[1:] + column_values[:0:-1]
    singles = column_values[1 << np.arange(n)].sum() if n > 2 else pairs[0]
    highs = tuple(tuple(map(int, np.flatnonzero(members[:, j]))) for j in used)
    binary = float(pairs.max() / (1 + budget.b))
    response = float(singles / (1 + (n - 1) * budget.b))
    return ConvexOptimum(
        utility.value(fixed.channel),
        bound,
        fixed,
        highs,
        theta[used],
        binary,
        response,
        patterns[:, used].T,
    )


@dataclass(frozen=True, eq=False)
class BestListed:
    """Largest value of a convex function over listed extreme points.

    Attributes
    ----------
    value : float
        The maximum, in floats.
    vertex : object array of Fractions, shape (n, m)
        The first extreme point that attains it.
    count : int
        Number of extreme points within a relative 1e-9 of it.
    """

    value: float
    vertex: Exact
    count: int


def best_listed(
    points: ExtremePoints, function: ConvexUtility | Callable[[Float], Any]
) -> BestListed:
    """Maximize a convex function of the channel over a polytope: it is largest at an extreme point.

    Parameters
    ----------
    points : ExtremePoints
        Extreme points of any notion.
    function : ConvexUtility or callable
        Convex in the channel (not checked); a callable takes a stack of shape ``(N, n, m)`` and
        returns ``N`` values.

    Returns
    -------
    BestListed
        Value and extreme point.

    Raises
    ------
    StatementError
        If a time limit ended the list, or the function does not return one number for each channel.

    Examples
    --------
    >>> from ldpopt.polytope.vertices import extreme_points
    >>> best = best_listed(extreme_points(PureLDP("log(3)"), 2), mutual_information([0.5, 0.5]))
    >>> round(best.value, 6), best.count
    (0.130812, 2)
    """
    require_kind(points, ExtremePoints, "best_listed()", "pass extreme_points(privacy, n)")
    require_function(getattr(function, "value", function), "the function to maximize")
    evaluate = function.value if isinstance(function, ConvexUtility) else function
    points.require_complete()
    vertices = iter(points)
    best = -math.inf
    first = None
    values = []
    while batch := list(islice(vertices, BATCH_CHANNELS)):
        batch_values = np.asarray(evaluate(np.array(batch, dtype=np.float64)), dtype=np.float64)
        if batch_values.shape != (len(batch),):
            problem = f"the function returned shape {batch_values.shape} for {len(batch)} channels"
            raise StatementError(problem, code="function", do="return one number for each channel")
        values.append(batch_values)
        if batch_values.max() > best:
            best = float(batch_values.max())
            first = batch[int(batch_values.argmax())]
    near = np.concatenate(values) >= best - EQUAL_TOLERANCE * abs(best)
    return BestListed(best, np.array(first, dtype=object), int(near.sum()))


def _solve(
    members: Any, column_values: Float, budget: Budget, deadline: Deadline
) -> tuple[Float, float]:
    """Return the weights of the patterns, and a dual bound."""
    # With w_A = b + beta 1_A: sum theta_A 1_A is a constant c, and b sum theta + beta c = 1; well
    # conditioned.
    from scipy.optimize import linprog

    (n, count), b, beta = members.shape, budget.b, budget.beta
    scale = float(np.abs(column_values).max()) or 1.0
    rows = np.vstack([np.hstack([members, -np.ones((n, 1))]), np.append(np.full(count, b), beta)])
    sides = np.append(np.zeros(n), 1.0)
    result: Any = linprog(
        np.append(-column_values / scale, 0.0),
        A_eq=rows,
        b_eq=sides,
        method="highs",
        options={} if deadline.left is None else {"time_limit": deadline.left},
    )
    if result.status != 0:
        problem = f"the program over {count} patterns was not solved: {result.message}"
        raise LdpoptError(problem, do="choose a smaller epsilon, or fewer inputs")
    # All prices with sum zero bound the optimum; the solver's give the best bound (docs, "Convex
    # utilities").
    prices = -result.eqlin.marginals[:n] * scale
    prices -= prices.mean()
    mean = b + beta * members.sum(axis=0) / n
    is_positive = mean > 0  # beyond epsilon = 745 the constant column underflows to 0
    bound = ((column_values - prices @ members)[is_positive] / mean[is_positive]).max()
    return np.asarray(result.x[:count]), float(bound)
