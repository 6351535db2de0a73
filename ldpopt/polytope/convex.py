r"""Convex utilities: the largest information of a private report, over channels with any number of
outputs.

A utility :math:`\sum_y \mu(P_{\cdot y})` with sublinear :math:`\mu` is largest for columns whose
entries take two values only; a linear program finds their weights. Values and bounds are floats,
correct to about ``1e-12``. Under other notions than pure privacy the columns are extreme rays, and
bounds are rationals (`convex_rays`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import Any, Literal

import numpy as np

from ldpopt.errors import LdpoptError, StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.display import Facts, HasFacts
from ldpopt.foundation.labelled import Labelled, Labels, positions_of, read_labelled
from ldpopt.foundation.labels import check_labels
from ldpopt.foundation.numbers import (
    Float,
    positive_seconds,
    require_choice,
    require_function,
    require_kind,
)
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.repair import repair
from ldpopt.mechanism.rounding import MAX_NOISE
from ldpopt.polytope.convex_rays import best_of_rays
from ldpopt.polytope.exact_utilities import ExactUtility
from ldpopt.polytope.points import ExtremePoints
from ldpopt.polytope.ray_certificate import RayCertificate
from ldpopt.polytope.staircase import Exact
from ldpopt.privacy import Notion, PureLDP
from ldpopt.problem.prior import read_prior

MAX_INPUTS = 10  # largest number of inputs; the linear program has ``2**n`` columns
# relative difference below which values count as equal, for regimes and ties
EQUAL_TOLERANCE = 1e-9
BATCH_CHANNELS = 4096
Regime = Literal["binary", "randomized response", "between"]
Divergence = Literal["kl", "total_variation", "chi_square", "squared_hellinger"]


@dataclass(frozen=True, eq=False)
class ConvexUtility:
    r"""A utility :math:`\sum_y \mu(P_{\cdot y})` with :math:`\mu` sublinear: convex, and linear
    along rays.

    Attributes
    ----------
    columns : callable
        :math:`\mu` of all columns: from shape ``(..., n, m)`` to ``(..., m)``.
    inputs : tuple of hashable, or None
        Labels of the inputs; channels with labels are put into this order. None if rows go by
        position.
    pair : tuple of ndarray, ndarray and str, or None
        p, q and the name of f, if :math:`\mu(c) = q \cdot c \, f(p \cdot c / q \cdot c)`.
    prior : ndarray, shape (n,), or None
        The prior of a mutual information; a notion that depends on a prior and states none takes
        it.
    """

    name: str
    n: int
    columns: Callable[[Float], Float] = field(repr=False)
    inputs: Labels | None = None
    pair: tuple[Float, Float, str] | None = field(default=None, repr=False)
    prior: Float | None = field(default=None, repr=False)

    @property
    def exact(self) -> ExactUtility | None:
        """The utility in rationals, if it is one of the library's."""
        if self.prior is not None:
            return ExactUtility.of("mutual_information", self.prior)
        return None if self.pair is None else ExactUtility.of(self.pair[2], *self.pair[:2])

    def value(self, channel: Any) -> Any:
        """Evaluate a row-stochastic channel (a float), or a stack of them, shape (N, n, m) (an
        array of N).
        """
        values = self._rows(channel)
        if values.ndim < 2 or values.shape[-2] != self.n:
            problem = f"a channel of shape {values.shape} does not have {self.n} inputs"
            raise StatementError(problem, code="shape", do=f"give {self.n} rows")
        total = self.columns(values).sum(axis=-1)
        return float(total) if total.ndim == 0 else total

    def _rows(self, channel: Any) -> Float:
        """Return the channel in floats; if both have labels, its rows are in the order of the
        inputs.
        """
        if isinstance(channel, Mechanism):
            table = Labelled(
                channel.channel, (channel.inputs, channel.outputs), "channel", ("input", "output")
            )
        else:
            table = read_labelled(channel, "channel")
        return table.to(self.inputs)


def mutual_information(prior: Any) -> ConvexUtility:
    r"""Mutual information between the true answer and its report, in nats.

    .. math:: \mu(c) = \sum_x \pi_x c_x \log \frac{c_x}{\sum_k \pi_k c_k}

    Parameters
    ----------
    prior : array_like, shape (n,), or mapping or Series label -> weight
        Probabilities of the answers.

    Raises
    ------
    StatementError
        If the prior is invalid.

    Examples
    --------
    >>> round(mutual_information([0.5, 0.5]).value([[1, 0], [0, 1]]), 12)
    0.69314718056
    """
    weights, labels = read_prior(prior)

    def columns(channel: Float) -> Float:
        mean = np.einsum("x,...xy->...y", weights, channel)
        return np.asarray(
            np.einsum("x,...xy->...y", weights, _kl_terms(channel, mean[..., None, :]))
        )

    return ConvexUtility("mutual information", len(weights), columns, labels, prior=weights)


def f_divergence(first: Any, second: Any, kind: Divergence = "kl") -> ConvexUtility:
    r"""Divergence between the reports of two populations: how well the reports distinguish two
    hypotheses.

    .. math:: D_f(M_1 \| M_0) = \sum_y M_0(y) f\!\left(\frac{M_1(y)}{M_0(y)}\right), \qquad
              M_1 = P^T \mathrm{first}, \quad M_0 = P^T \mathrm{second}

    Parameters
    ----------
    first, second : array_like, shape (n,), or mapping or Series label -> weight
        Distributions of the true answer under the two hypotheses.
    kind : {"kl", "total_variation", "chi_square", "squared_hellinger"}
        ``f(t)`` is ``t log t``, ``|t - 1| / 2``, ``(t - 1)**2``, ``(sqrt(t) - 1)**2``; default:
        ``"kl"``.

    Raises
    ------
    StatementError
        If a prior is invalid, their labels differ, or the kind is unknown.

    Examples
    --------
    >>> f_divergence([1, 0], [0, 1], "total_variation").value([[0.75, 0.25], [0.25, 0.75]])
    0.5
    """
    require_choice(kind, _DIVERGENCES, "kind")
    p, labels = read_prior(first, name="first prior")
    q, others = read_prior(second, labels, "second prior")
    if len(p) != len(q):
        raise StatementError(
            f"the hypotheses have {len(p)} and {len(q)} answers",
            code="hypotheses",
            do="give both over the same answers",
        )
    if (labels is None) != (others is None):
        raise StatementError(
            "one of the hypotheses has labels and the other has none", do="label both, or neither"
        )
    divergence = _DIVERGENCES[kind]

    def columns(channel: Float) -> Float:
        return divergence(*(np.einsum("x,...xy->...y", weights, channel) for weights in (p, q)))

    return ConvexUtility(kind, len(p), columns, labels, (p, q, kind))


@dataclass(frozen=True, eq=False)
class ConvexOptimum(HasFacts):
    """Best private channel for a convex utility.

    Attributes
    ----------
    value : float
        Utility of `mechanism` itself.
    bound : Fraction or float
        Upper bound for all private channels with any number of outputs: a rational with a
        `certificate`, else by the dual program, in floats.
    mechanism : Mechanism
        Exactly private; one output for each column.
    patterns : tuple of tuples of int, or None
        For each output, the inputs with the high probability (``e**epsilon`` times the low one);
        None if the notion is not pure.
    weights : ndarray, shape (outputs,)
        Largest entry of each output's column, before rounding to exact privacy.
    binary : float or None
        Best value of a channel with two outputs; None if the notion is not pure.
    randomized_response : float or None
        Value of randomized response over all ``n`` answers; None if the notion is not pure.
    columns : ndarray, shape (outputs, n)
        For each output, its column divided by its weight, before rounding to exact privacy.
    certificate : RayCertificate or None
        Proof of value and bound, in rationals; None under pure privacy, and for a utility of one's
        own.
    """

    value: float
    bound: Fraction | float
    mechanism: Mechanism
    patterns: tuple[tuple[int, ...], ...] | None
    weights: Float
    binary: float | None
    randomized_response: float | None
    columns: Float
    certificate: RayCertificate | None = None

    @property
    def gap(self) -> float:
        """``bound - value``: the largest possible improvement, up to rounding."""
        if self.certificate is not None:
            return float(self.certificate.gap)
        return float(self.bound) - self.value

    @property
    def regime(self) -> Regime | None:
        """Whether a binary channel or randomized response is optimal (within 1e-9); binary if both
        are, None if the notion is not pure.
        """
        if self.binary is None or self.randomized_response is None:
            return None
        threshold = float(self.bound) * (1 - EQUAL_TOLERANCE)
        if self.binary >= threshold:
            return "binary"
        return "randomized response" if self.randomized_response >= threshold else "between"

    def facts(self) -> Facts:
        """Value, bound, regime and the mechanism."""
        numbers: dict[str, Any] = {"value": self.value, "bound": float(self.bound)}
        if self.regime is not None:
            numbers |= {"regime": self.regime, "best of two reports": self.binary}
            numbers |= {"randomized response": self.randomized_response}
        if self.certificate is not None:
            numbers |= {"proved gap": self.gap, "extreme rays": self.certificate.rays}
        channel = self.mechanism.facts().parts
        return Facts("Private channel for a convex utility", [*numbers.items(), *channel])


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
        Of at most 10 inputs under pure privacy, else of at most 16.
    privacy : Notion, float or str
        Any notion that compares averages of single reports, such as GraphDP, PML, or ``a & b``; or
        the epsilon of pure privacy: nats, positive, or ``"log(3)"``. A notion that depends on a
        prior and states none takes that of a mutual information.
    inputs : sequence of hashable, optional
        Labels of the answers, in the order of the mechanism's rows; default: those of the utility,
        else of the notion.
    time_limit : float, optional
        Seconds for the list of rays and the program; default: no limit.

    Returns
    -------
    ConvexOptimum
        Mechanism, value, bound; under pure privacy the regime, under other notions a certificate in
        rationals for the library's utilities.

    Raises
    ------
    StatementError
        If there are too many inputs, epsilon is zero, or the utility is infinite.
    NotRepresentableError
        If the private columns do not form a cone, or its extreme rays are too many to list or not
        listed in time.

    Notes
    -----
    Theory: docs, "Convex utilities" and "Rays of any cone". At most n outputs are used. Under pure
    privacy a binary channel is optimal for small epsilon and randomized response for large epsilon.

    References
    ----------
    Kairouz, Oh and Viswanath 2016.

    Examples
    --------
    >>> best = best_channel(mutual_information([0.5, 0.5]), "log(3)")
    >>> best.patterns, round(best.value, 6), best.regime
    (((0,), (1,)), 0.130812, 'binary')
    """
    require_kind(utility, ConvexUtility, "best_channel()")
    deadline = Deadline.after(positive_seconds(time_limit))
    utility = arranged(utility, inputs)
    if isinstance(privacy, Notion) and not isinstance(privacy, PureLDP):
        return _best_in_cone(utility, privacy, deadline)
    budget = privacy.epsilon if isinstance(privacy, PureLDP) else privacy
    return _best_of_patterns(utility, Budget.positive(budget), deadline)


def arranged(utility: ConvexUtility, inputs: Sequence[Any] | None) -> ConvexUtility:
    """The utility of labelled answers in a given order; without one it keeps its labels."""
    if inputs is None:
        return utility
    names = check_labels(inputs, utility.n, "input", StatementError, "best_channel()")
    if utility.inputs is None:
        return replace(utility, inputs=names)
    order = positions_of(utility.inputs, names, "utility", "input")
    back = np.argsort(order)

    def columns(channel: Float) -> Float:
        return utility.columns(channel[..., back, :])

    pair = utility.pair
    if pair is not None:
        pair = (pair[0][order], pair[1][order], pair[2])
    prior = None if utility.prior is None else utility.prior[order]
    return ConvexUtility(utility.name, utility.n, columns, names, pair, prior)


def _best_in_cone(utility: ConvexUtility, privacy: Notion, deadline: Deadline) -> ConvexOptimum:
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
    options: Any = {"time_limit": deadline.left}
    cost = np.append(-column_values / scale, 0.0)
    result: Any = linprog(cost, A_eq=rows, b_eq=sides, method="highs", options=options)
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


def _kl_terms(p: Float, q: Float) -> Float:
    r""":math:`p \log(p/q) - p + q >= 0`, without cancellation near q; the last terms sum to 0 over
    a channel.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r = np.where(q > 0, (p - q) / q, 0.0)
        away = np.where(p > 0, p * np.log(p / q), 0.0) - p + q
    is_near = np.abs(r) < 0.03
    r = np.where(is_near, r, 0.0)
    terms = np.where(is_near, q * np.polyval(_SERIES, r) * r * r, away)
    return np.asarray(np.where(q > 0, terms, np.where(p > 0, np.inf, 0.0)))


# Coefficients of ``((1 + r) log(1 + r) - r) / r**2``, highest power first
_SERIES = [(-1) ** k / (k * (k - 1)) for k in range(12, 1, -1)]


def _chi_square(p: Float, q: Float) -> Float:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(p == q, 0.0, (p - q) ** 2 / q)


def _squared_hellinger(p: Float, q: Float) -> Float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p == q, 0.0, ((p - q) / (np.sqrt(p) + np.sqrt(q))) ** 2)


_DIVERGENCES: dict[str, Callable[[Float, Float], Float]] = {
    "kl": _kl_terms,
    "total_variation": lambda p, q: np.abs(p - q) / 2,
    "chi_square": _chi_square,
    "squared_hellinger": _squared_hellinger,
}
