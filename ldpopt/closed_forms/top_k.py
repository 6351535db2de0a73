"""The n-ary theorem: randomized response among the k likeliest answers is optimal for any prior and
any delta.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.closed_forms.form import ResponseForm, exact_sum, read_delta
from ldpopt.foundation.budget import Budget, log_of
from ldpopt.foundation.numbers import Float, rational, real_number
from ldpopt.mechanism.exact_draws import Codes
from ldpopt.problem.prior import prior_and_inputs, read_prior


class Ranking:
    r"""Weights ``>= 0`` in descending order and the gaps :math:`G_k = \sum_{j<k} (\pi_{(j)} -
    \pi_{(k)})`.

    O(n log n). Reporting the k-th answer too is no loss if ``pi_(k) (alpha - 1) >= G_k``.
    """

    def __init__(self, weights: Float) -> None:
        # codes; for equal weights the lower one first
        self.order: Codes = np.argsort(-weights, kind="stable")
        self.sorted: Float = weights[self.order]
        # A running sum of non-negative terms k (pi_(k) - pi_(k+1)): no cancellation, ties give
        # exact zeros.
        self.gaps: Float = np.zeros(len(weights))
        np.cumsum(np.arange(1, len(weights)) * -np.diff(self.sorted), out=self.gaps[1:])
        self.support = int(np.count_nonzero(weights))  # number of positive weights

    def total(self, k: int | None = None) -> Fraction:
        r"""Return :math:`\Sigma_k` exactly; without ``k`` the sum of all weights."""
        return exact_sum(self.sorted[:k])

    def largest_k(self, alpha: Fraction) -> tuple[int, Fraction]:
        r"""Find the largest optimal number of members, and its :math:`\Sigma_k`, exactly.

        .. math:: k^* = \max \{ k : \pi_{(k)} > 0,\ \pi_{(k)} (\alpha + k - 2) \ge \Sigma_{k-1} \}

        Floats give a first guess. A search in rationals over blocks of equal weights corrects their
        rounding. The thresholds are monotone, so the search finds the optimum.
        """
        b = float(1 / alpha)
        joins = (self.sorted > 0) & (self.sorted * float(1 - 1 / alpha) >= b * self.gaps)
        k = int(np.argmin(joins)) if not joins.all() else len(joins)
        total = self.total(k)
        while k < self.support and self._joins(k + 1, total, alpha):
            weight = Fraction(float(self.sorted[k]))
            end = self._block(k)[1]
            total, k = total + weight * (end - k), end
        while k > 1:
            weight = Fraction(float(self.sorted[k - 1]))
            start = self._block(k - 1)[0]
            if self._joins(k, total - weight, alpha):
                break
            total, k = total - weight * (k - start), start
        return k, total

    def _joins(self, k: int, before: Fraction, alpha: Fraction) -> bool:
        """Whether the k-th answer is a member: ``pi_(k) (alpha + k - 2) >= Sigma_(k-1)``; equality
        is a tie.
        """
        return Fraction(float(self.sorted[k - 1])) * (alpha + k - 2) >= before

    def _block(self, index: int) -> tuple[int, int]:
        """Return the start and end of the block of weights equal to the one at ``index``."""
        weight = -self.sorted[index]
        ascending = -self.sorted
        return int(np.searchsorted(ascending, weight, "left")), int(
            np.searchsorted(ascending, weight, "right")
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class TopK(ResponseForm):
    """Result of `top_k`.

    Parameters
    ----------
    k : int
        Number of answers that the randomized response reports: the largest optimal number.
    ranking : Ranking
        The prior in descending order.
    """

    k: int
    prior: Float = field(repr=False)
    ranking: Ranking = field(repr=False)

    @property
    def members(self) -> Codes:
        """Codes of the ``k`` likeliest answers, the likeliest first."""
        return self.ranking.order[: self.k]

    @property
    def thresholds(self) -> Float:
        r"""The ratios :math:`t_k = \Sigma_{k-1}/\pi_{(k)} - (k-2)` at which the k-th answer joins,
        shape ``(n,)``.

        Non-decreasing, the first is 1, infinite for answers of weight zero (and on overflow): k
        members are optimal if and only if :math:`t_k \le e^\epsilon \le t_{k+1}`.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = 1 + self.ranking.gaps / self.ranking.sorted
        return np.where(self.ranking.sorted > 0, ratios, np.inf)

    @property
    def dual(self) -> Float:
        r"""Multipliers :math:`y` of the proof of optimality, shape ``(n,)``: non-negative, zero
        outside the members.

        .. math:: y_i = (\alpha \pi_i - u_0) / (\alpha - 1),
                  \quad \lambda_{ij} = y_i/\alpha \ (j \in T),
                  \quad \lambda_{ij} = y_i \pi_j / u_0 \ (j \notin T)

        where :math:`\lambda_{ij}` belongs to the row :math:`p_{jj} \le \alpha p_{ij} + \delta`. At
        budget 0 only the likeliest answer has a positive multiplier. `exact_dual` returns
        rationals.
        """
        multipliers = np.zeros(len(self.prior))
        members = self.members
        b = self.epsilon.b
        if not self.epsilon:
            multipliers[members[0]] = self.prior[members[0]]
            return multipliers
        # At small budgets all members have nearly equal weights: differences to the smallest avoid
        # cancellation.
        weights = self.prior[members]
        above = weights - weights[-1]
        lead = self.k * above - above.sum()
        multipliers[members] = np.maximum(
            (weights + lead * (b / self.epsilon.beta)) / (1 + (self.k - 1) * b), 0
        )
        return multipliers

    def exact_dual(self, alpha: Fraction | None = None) -> list[Fraction]:
        """Return `dual` in rationals, for one rational ``alpha = e**epsilon``; it sums to the
        optimal value at delta 0.

        Parameters
        ----------
        alpha : Fraction, optional
            ``alpha >= 1`` (default: the upper end of the enclosure, which bounds the real optimum
            from above).

        Raises
        ------
        StatementError
            If alpha is not a rational of at least 1.
        """
        alpha = (
            self.epsilon.enclosure()[1] if alpha is None else rational(alpha, "alpha", "ratio", 1)
        )
        k, total = self.ranking.largest_k(alpha)
        pure = alpha * total / (alpha + k - 1)
        multipliers = [Fraction(0)] * len(self.prior)
        for code in self.ranking.order[:k].tolist():
            weight = Fraction(float(self.prior[code]))
            multipliers[code] = (alpha * weight - pure) / (alpha - 1) if alpha > 1 else weight
            if alpha == 1:
                break
        return multipliers

    def exact_value(self) -> tuple[Fraction, Fraction]:
        """Return bounds ``low <= optimum <= high`` for the real ``e**epsilon``; equal if that is
        given as a rational.

        The prior is read exactly as its floats.
        """
        return _bounds(self.ranking, self.epsilon, self.delta)

    @property
    def response(self) -> tuple[Codes, NDArray[Any]]:
        """The members, and the position of each answer among them."""
        member_index = np.full(len(self.prior), -1, dtype=np.int32)
        member_index[self.members] = np.arange(self.k)
        return self.members, member_index


def top_k(prior: Any, epsilon: float | str, delta: float = 0.0) -> TopK:
    r"""Find the largest probability of a truthful report for a known prior: randomized response on
    the k likeliest.

    .. math:: u^* = \delta + (1-\delta) \max_k \frac{e^\epsilon \Sigma_k}{e^\epsilon + k - 1},
              \qquad
              \Sigma_k = \pi_{(1)} + \dots + \pi_{(k)}

    Parameters
    ----------
    prior : array_like, shape (n,), or mapping label -> weight
        Probabilities summing to 1 within 1e-9, used without normalization; the weights of a mapping
        are normalized.
    epsilon : float or str
        Privacy budget in nats, ``0 <= epsilon <= 10000``, or ``"log(3)"``.
    delta : float
        ``0 <= delta <= 1``; both meanings of delta, event-wise and entry-wise, have this optimum;
        default: ``0.0``.

    Returns
    -------
    TopK
        Value, ``k``, ``members``, ``thresholds``, ``dual``; channel ``(n, n)`` and sampler on
        request.

    Raises
    ------
    StatementError
        If the prior or the budget is ill posed.

    Utility
    -------
    Expected share of truthful reports: the identity gain.

    Notes
    -----
    The dual certificate bounds every channel with n outputs; the optimum also bounds the Bayes
    vulnerability of every event-wise private channel with any outputs. ``k`` is the largest optimal
    number: tied answers enter together, answers of weight zero never. Time O(n log n), memory O(n);
    O(n**2) for the matrix.

    References
    ----------
    Zhou, Lu and Wu 2019, section 5 (open problem). For delta = 0: Ghazi, Golowich, Kumar,
    Manurangsi and Zhang 2021 (RRTop-k); Kalantari, Sankar and Sarwate 2018.

    Examples
    --------
    >>> form = top_k([0.5, 0.3, 0.2], 1.0)
    >>> form.value, form.k
    (0.5848468629040039, 2)
    """
    budget, delta = Budget(epsilon), read_delta(delta)
    weights, inputs = prior_and_inputs(prior)
    ranking = Ranking(weights)
    k, _ = ranking.largest_k(budget.enclosure()[0])
    low, high = _bounds(ranking, budget, delta)
    value = float((low + high) / 2)
    return TopK(
        value=value, inputs=inputs, epsilon=budget, delta=delta, k=k, prior=weights, ranking=ranking
    )


def least_epsilon(prior: Any, value: float, delta: float = 0.0) -> float:
    r"""Find the smallest budget that reaches a given probability of truthful reports.

    .. math:: \epsilon = \ln \min_{k : \Sigma_k > v} \max\left(1,
              \frac{(k-1) v}{\Sigma_k - v}\right), \qquad
              v = \frac{u - \delta}{1 - \delta}

    Parameters
    ----------
    prior : array_like, shape (n,), or mapping label -> weight
        As in `top_k`.
    value : float
        Probability ``u`` of a truthful report, ``0 <= u <= 1``.
    delta : float
        ``0 <= delta <= 1``; default: ``0.0``.

    Returns
    -------
    float
        Nats, rounded up to the smallest float at which ``top_k`` reaches the value; 0 if a constant
        report reaches it, inf if no budget does.

    Raises
    ------
    StatementError
        If an argument is not a probability.

    Notes
    -----
    The minimum over k is found in floats and corrected in rationals: alternate between the budget
    of k members and the optimal k of that budget until both agree. O(n log n).

    References
    ----------
    Kalantari, Sankar and Sarwate 2018 for the formula.

    Examples
    --------
    >>> least_epsilon([0.5, 0.5], 0.75)
    1.0986122886681098
    """
    delta, weights = read_delta(delta), read_prior(prior)[0]
    value = real_number(value, "value", 0, 1, do="state a probability from 0 to 1")
    ranking = Ranking(weights)
    everything = ranking.total()
    if delta == 1 or ranking.support == 1:
        return 0.0
    # A prior that sums to more than 1 by rounding still cannot reach certainty.
    if value >= 1 or value >= everything:
        return math.inf
    target = (Fraction(value) - Fraction(delta) * everything) / (1 - Fraction(delta))
    if target <= Fraction(float(ranking.sorted[0])):
        return 0.0
    return _log_up(_least_ratio(ranking, target))


def _least_ratio(ranking: Ranking, target: Fraction) -> Fraction:
    """Least alpha with ``max_k alpha Sigma_k / (alpha + k - 1) >= target``, where ``pi_(1) < target
    < Sigma_n``.
    """
    sums = np.cumsum(ranking.sorted)
    goal = float(target)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(sums > goal, np.arange(len(sums)) * goal / (sums - goal), np.inf)
    k = int(np.argmin(ratios)) + 1
    total = ranking.total(k)
    if total <= target:
        k = ranking.support
        total = ranking.total()
    while True:
        alpha = max(Fraction(1), (k - 1) * target / (total - target))
        better, total = ranking.largest_k(alpha)
        if alpha * total == target * (alpha + better - 1):
            return alpha
        k = better


def _log_up(alpha: Fraction) -> float:
    """Return the smallest float whose exponential is provably at least ``alpha``."""
    log = log_of(alpha)
    while Budget(log).enclosure()[0] < alpha:
        log = math.nextafter(log, math.inf)
    while (lower := math.nextafter(log, 0.0)) < log and Budget(lower).enclosure()[0] >= alpha:
        log = lower
    return log


def _bounds(ranking: Ranking, epsilon: Budget, delta: float) -> tuple[Fraction, Fraction]:
    """Return the optimal value at both ends of the enclosure; weights are not normalized."""
    share = Fraction(delta)
    everything = ranking.total()
    ends = []
    for alpha in epsilon.enclosure():
        k, total = ranking.largest_k(alpha)
        ends.append(share * everything + (1 - share) * alpha * total / (alpha + k - 1))
    return ends[0], ends[1]
