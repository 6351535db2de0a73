"""Ordinal losses: randomized response on a few bins, found by dynamic programming."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ldpopt.closed_forms.form import ResponseForm
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labelled import read_labelled
from ldpopt.foundation.numbers import Float, frozen, require_memory, short_repr
from ldpopt.mechanism.exact_draws import Codes
from ldpopt.problem.prior import read_prior
from ldpopt.problem.utility import Utility, absolute_error, squared_error

Loss = str | Callable[[float, float], float]


@dataclass(frozen=True, eq=False, kw_only=True)
class Bins(ResponseForm):
    """Result of `bins`; the value is a loss.

    Parameters
    ----------
    bins : ndarray of int64, shape (k,)
        Codes of the reports in use, by ascending value.
    bin_index : ndarray of int64, shape (n,)
        For each answer the position in ``bins`` of its best report.
    loss : ndarray, shape (n, n)
        Loss of each report for each answer.
    """

    bins: Codes
    bin_index: Codes = field(repr=False)
    loss: Float = field(repr=False)
    prior: Float = field(repr=False)

    @property
    def utility(self) -> Utility:
        """The loss as a `Utility`, ready for a `Problem`."""
        return Utility(self.loss, "loss")

    @property
    def response(self) -> tuple[Codes, Codes]:
        """The bins, and the bin of each answer."""
        return self.bins, self.bin_index


def bins(prior: Any, values: ArrayLike, epsilon: float | str, loss: Loss = "absolute") -> Bins:
    r"""Find the least expected error of a numeric answer for a known prior: randomized response on
    bins.

    .. math:: L_0 = \min_{k,\, d_1 < \dots < d_k} \frac{\sum_t \sum_i \pi_i l(i, d_t)
              + (\alpha-1) \sum_i \pi_i \min_t l(i, d_t)}{\alpha + k - 1},
              \qquad \alpha = e^\epsilon

    Parameters
    ----------
    prior : array_like, shape (n,), or mapping label -> weight
        As in `top_k`.
    values : array_like, shape (n,), or mapping or Series label -> number
        The number of each answer, distinct, in any order; reports are among them.
    epsilon : float or str
        Privacy budget in nats, ``0 <= epsilon <= 10000``, or ``"log(3)"``.
    loss : {"absolute", "squared"} or callable
        A callable is ``loss(value, reported value)``, finite; it must not decrease as the report
        moves away from the truth; default: ``"absolute"``.

    Returns
    -------
    Bins
        Value (a loss, in its own unit), the bins and the bin of each answer; channel ``(n, n)`` and
        sampler on request.

    Raises
    ------
    StatementError
        If the problem is ill posed, or the loss is not monotone on each side of the truth.

    Notes
    -----
    Dinkelbach's iteration minimizes the ratio. For a trial value L the best bins minimize numerator
    minus L times denominator: a shortest path over ascending bins, O(n**2) per iteration; few
    iterations are needed. The costs between two bins take O(n**3) once, O(n**2) memory.

    References
    ----------
    Ghazi, Kamath, Kumar, Leeman, Manurangsi, Varadarajan and Zhang 2023 (RR-on-bins).

    Examples
    --------
    >>> form = bins([0.25, 0.25, 0.25, 0.25], [0, 1, 2, 3], "log(3)")
    >>> form.value, form.bins
    (0.75, array([1, 2]))
    """
    budget = Budget(epsilon)
    labelled = read_labelled(values, "list of values", ("input",))
    weights, labels = read_prior(prior)
    inputs = labels or labelled.axes[0] or range(len(weights))
    numbers = labelled.to(inputs)
    if (
        numbers.shape != weights.shape
        or not np.isfinite(numbers).all()
        or len(set(numbers.tolist())) < len(numbers)
    ):
        problem = (
            f"bins needs {len(weights)} distinct finite values, one for each answer; "
            f"{numbers.size} are given"
        )
        raise StatementError(
            problem, code="values", do="give the number of each answer, no number twice"
        )
    table = _loss_matrix(numbers, loss)
    order = np.argsort(numbers)
    # a power of two in which sums of losses do not overflow
    unit = int(np.frexp(np.abs(table).max())[1])
    sorted_table = np.ldexp(table[np.ix_(order, order)], -unit)
    _check_monotone(sorted_table, numbers[order])
    value, chosen = _best_bins(weights[order], sorted_table, budget.b, budget.beta)
    common: Any = {
        "value": math.ldexp(value, unit),
        "inputs": inputs,
        "epsilon": budget,
        "prior": weights,
    }
    codes = frozen(order[chosen])
    loss_matrix = frozen(table)
    return Bins(
        **common, bins=codes, bin_index=frozen(np.argmin(table[:, codes], axis=1)), loss=loss_matrix
    )


def _best_bins(prior: Float, loss: Float, b: float, beta: float) -> tuple[float, list[int]]:
    """Return the least ratio ``(b sum total + beta cost) / (1 + (k-1) b)`` and its bins, by
    Dinkelbach's iteration.
    """
    # It is the ratio of the theorem, divided by alpha.
    total = prior @ loss
    head, between, tail = _segment_costs(prior, loss)
    start = int(np.argmin(total))
    chosen = [start]
    value = float(total[start])
    while True:
        chain = _cheapest_chain(b * (total - value), beta * head, beta * between, beta * tail)
        cost = head[chain[0]] + tail[chain[-1]] + sum(between[s, t] for s, t in pairwise(chain))
        better = float((b * total[chain].sum() + beta * cost) / (1 + (len(chain) - 1) * b))
        # Ratios decrease strictly until the optimum; smaller decreases are rounding.
        if better >= value - 1e-15 * abs(value):
            return (better, chain) if better < value else (value, chosen)
        chosen, value = chain, better


def _segment_costs(prior: Float, loss: Float) -> tuple[Float, Float, Float]:
    """Return the cost of answers before the first bin (n,), between bins ``s < t`` (n, n), and
    after the last (n,).
    """
    n = len(prior)
    summed = np.cumsum(prior[:, None] * loss, axis=0)
    positions = np.arange(n)
    head = summed[positions, positions]
    tail = summed[-1] - summed[positions, positions]
    between = np.zeros((n, n))
    for s in range(n - 1):
        nearer = prior[s + 1 :, None] * np.minimum(loss[s + 1 :, s, None], loss[s + 1 :, s + 1 :])
        between[s, s + 1 :] = np.cumsum(nearer, axis=0).diagonal()
    return head, between, tail


def _cheapest_chain(each: Float, head: Float, between: Float, tail: Float) -> list[int]:
    """Return the cheapest increasing sequence of bins."""
    # each is the cost of a bin; head, between and tail are costs of the answers around the bins.
    n = len(each)
    cost = each + head
    previous = np.full(n, -1)
    for t in range(1, n):
        through = cost[:t] + between[:t, t]
        s = int(np.argmin(through))
        if through[s] + each[t] < cost[t]:
            cost[t], previous[t] = through[s] + each[t], s
    chain = [int(np.argmin(cost + tail))]
    while previous[chain[-1]] >= 0:
        chain.append(int(previous[chain[-1]]))
    return chain[::-1]


def _loss_matrix(values: Float, loss: Loss) -> Float:
    """Return the loss of each report for each answer."""
    require_memory(40 * len(values) ** 2, f"the {len(values)} x {len(values)} losses")
    named = {"absolute": absolute_error, "squared": squared_error}
    if isinstance(loss, str) and loss in named:
        return np.array(named[loss](values).matrix)
    if not callable(loss):
        raise StatementError(
            f"unknown loss {short_repr(loss)}",
            code="loss",
            do="use 'absolute', 'squared' or loss(value, report)",
        )
    rows: Any = [[loss(v, w) for w in values.tolist()] for v in values.tolist()]
    return np.array(Utility(rows, "loss").matrix)


def _check_monotone(loss: Float, values: Float) -> None:
    """Check that the loss does not decrease as the report moves away from the truth."""
    steps = np.diff(loss, axis=1)
    positions = np.arange(len(loss))
    rightward = positions[None, :-1] >= positions[:, None]
    bad = np.argwhere(np.where(rightward, steps, -steps) < 0)
    if len(bad):
        x, y = map(int, bad[0])
        where = f"between reports {values[y]:g} and {values[y + 1]:g}"
        problem = f"for the true answer {values[x]:g} the loss falls away from the truth, {where}"
        raise StatementError(
            problem,
            code="monotonicity",
            do="use solve(Problem(prior, Utility(matrix, 'loss'), PureLDP(epsilon)))",
        )
