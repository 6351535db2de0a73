"""The method for a single mean: report values are added where the bound is violated, then masses
with exact means.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ldpopt.certificate.design_bound_mean import MeanBound
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.method import DesignLimits, DesignMethod, DesignTask, RawDesign
from ldpopt.designing.methods.single_mean.program import (
    MeanProgram,
    UnbiasedLaw,
    exact_channel,
    grid_bits,
    shifted,
)
from ldpopt.designing.realize import MARGINS
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

FIRST = 31  # number of report values in the first round
# largest report value, in multiples of the least one with which a randomizer can be unbiased
WIDEST = 1.5
ROUNDS = 100  # limit on rounds
# limit on the number of answers and report values, times the square of that of report values
WORK = 2e8
USED = 1e-6  # report values with less than this share of the average probability are left out
KEPT = 0.02  # report values with a slack below this share of the value stay
LOOSE = 0.01  # gap of a program, in multiples of the remaining gap
# time that is kept for rounding, which solves one more program, in multiples of the longest program
FINISHING = 2.0
# least distance of report values, in multiples of the root of the gap: nearer ones change too
# little
APART = 0.1


@dataclass(frozen=True, eq=False)
class _MeanDesign:
    """Report values with the solution of their program, and multipliers with the bound that they
    prove.
    """

    values: Float  # (m,): report values
    solution: UnbiasedLaw
    value: float  # variance of the solution
    r: Float  # (n,): weights of the answers
    slope: Float  # (n,): multipliers, for report values less the mean
    line: Float  # (n,)
    share: float  # best scale of the multipliers
    mean: float  # of the numbers over the weights
    bound: float


class SingleMean(DesignMethod):
    """A single mean of many numbers, average or worst case."""

    name = "single mean"

    def because(self, form: DesignForm, limits: DesignLimits) -> str | None:
        """All rows of the workload are exactly multiples of one row plus constants, and the numbers
        fit on a grid.
        """
        if form.problem.outputs is not None or not form.is_pure or form.n <= limits.listed_answers:
            return None
        numbers = shifted(form.single_row)
        # the largest report value is that of two reports: the largest number over tanh(epsilon / 2)
        if (
            numbers is None
            or grid_bits(numbers, float(np.abs(numbers).max() / np.tanh(form.epsilon / 2))) is None
        ):
            return None
        return (
            "all rows are multiples of one row, plus constants: report values are found for "
            "its mean"
        )

    def solve(self, task: DesignTask) -> RawDesign:
        """Report values, masses whose means are exact, and multipliers."""
        form = task.form
        numbers = shifted(task.form.single_row)
        epsilon = task.form.epsilon
        assert numbers is not None
        r = None if form.is_worst_case else form.class_weights
        middle = (numbers.max() + numbers.min()) / 2
        scale = WIDEST * float(numbers.max() - numbers.min()) / 2 / float(np.tanh(epsilon / 2))
        best, rounds = _search((numbers - middle) / scale, float(np.exp(-epsilon)), r, task)
        used = best.solution.largest > USED / len(best.values)
        used[[0, -1]] = True
        values = middle + scale * best.values[used]
        largest = best.solution.largest[used]
        gap = max(task.gap / 100, 1e-10)
        exact = exact_channel(numbers, values, largest, epsilon, r, gap, task.deadline)
        if exact is None:
            problem = (
                f"no integer masses with exact means were found for {len(numbers)} numbers: "
                "floats do not suffice"
            )
            raise NotRepresentableError(
                problem, code="exact-means", do="round the numbers to fewer digits"
            )
        weights = form.problem.all_weights if r is not None else form.weights_of(best.r)
        bounds = _bounds(
            form, weights, numbers, (best.share * best.slope, best.share**2 * best.line), scale
        )
        lever = (numbers - numbers.mean()) / np.sum((numbers - numbers.mean()) ** 2)
        inverse = best.r[:, None] + np.outer(lever, exact.values - float(best.r @ numbers))
        return RawDesign(
            np.ldexp(exact.counts.astype(np.float64), -53), inverse, weights, bounds, rounds
        )


def _search(w: Float, base: float, r: Float | None, task: DesignTask) -> tuple[_MeanDesign, int]:
    """Add report values until the gap is closed, or they are too many."""
    t = np.linspace(-1.0, 1.0, FIRST)
    best: _MeanDesign | None = None
    goal = task.gap / 2
    gap = 1.0
    tight = 1.0
    apart = APART * np.sqrt(max(goal, 1e-12))
    rounds, longest = 0, 0.0
    while rounds < ROUNDS:
        began = time.perf_counter()
        stop = task.deadline.before(FINISHING * longest)
        if best is not None and stop.is_over:
            break
        rounds += 1
        now = _solved(w, t, base, r, max(LOOSE * gap, goal / 10) * tight, stop)
        longest = max(longest, time.perf_counter() - began)
        best = now if best is None else _better(best, now)
        gap = 1 - best.bound / best.value
        if gap <= goal:
            break
        values, cost = pieces(now.slope, now.line, now.r, base).minima()
        values = values + now.mean
        left = slack_at(t - now.mean, now.slope, now.line, now.r, base)
        kept = t[(now.solution.largest > USED / len(t)) | (left < KEPT * now.value)]
        kept = np.unique(np.append(kept, [-1.0, 1.0]))
        fresh = [
            value
            for value in values[cost > -1e-3 * best.value]
            if np.abs(kept - value).min() > apart
        ]
        m = len(kept) + len(fresh)
        if (len(w) + m) * m**2 > WORK or (not fresh and apart < 1e-3 * goal):
            break
        if fresh:
            t = np.unique(np.append(kept, fresh))
        else:
            apart = apart / 4
            tight = tight / 10
    assert best is not None
    return best, rounds


def _solved(
    w: Float, t: Float, base: float, r: Float | None, gap: float, deadline: Deadline
) -> _MeanDesign:
    """Solve the program for the report values ``t``, and raise its multipliers until they prove a
    bound.
    """
    solution = MeanProgram(w, t, base, r).solve(gap, deadline)
    answer_weights = r if r is not None else np.maximum(-solution.line[:, 2], 0.0)
    answer_weights = answer_weights / answer_weights.sum()
    variance = solution.channel @ t**2 - w**2
    value = float(answer_weights @ variance) if r is not None else float(variance.max())
    mean = float(answer_weights @ w)  # relative to the average, where the bound has the best scale
    slope = solution.line[:, 1] / 2
    line = -solution.line[:, 0]
    line = line - 2 * slope * mean + answer_weights * mean**2
    slope = slope - answer_weights * mean
    line = raised(slope, line, answer_weights, base)
    linear = float(slope @ (w - mean))
    share = linear / max(float(line.sum()), 1e-300)
    bound = linear * share - float(answer_weights @ (w - mean) ** 2)
    return _MeanDesign(t, solution, value, answer_weights, slope, line, share, mean, bound)


def _better(first: _MeanDesign, second: _MeanDesign) -> _MeanDesign:
    """Report values of the better design, multipliers of the better bound."""
    design = first if first.value <= second.value else second
    dual = first if first.bound >= second.bound else second
    return replace(dual, values=design.values, solution=design.solution, value=design.value)


def _bounds(
    form: DesignForm, weights: Float, numbers: Float, multipliers: tuple[Float, Float], scale: float
) -> Iterator[MeanBound]:
    """Multipliers in the unit of the numbers, raised by growing margins."""
    slope = scale * multipliers[0]
    line = scale**2 * multipliers[1]
    r = np.bincount(form.classes.classes, weights=weights).astype(np.float64)
    for margin in (0.0, *MARGINS):
        line = line + margin * abs(line.sum()) * r
        yield MeanBound(numbers, slope, line)


@dataclass(frozen=True, eq=False)
class Pieces:
    """The costliest sets from the lowest to the highest report value, each between ``start`` and
    ``stop``.
    """

    start: Float
    stop: Float
    k: Float  # k.v of the column of the set
    y: Float  # y.v
    r: Float  # r.v

    @property
    def cost(self) -> Float:
        """``((k.v)^2 / (r.v) - y.v) / (r.v)``: the multiple of ``r`` that has to be added to
        ``y``.
        """
        return np.asarray((self.k**2 / self.r - self.y) / self.r)

    def minima(self) -> tuple[Float, Float]:
        """Report values at which the sum is locally smallest, and the cost there."""
        best = self.k / self.r
        inside = (best >= self.start) & (best <= self.stop)
        return best[inside], self.cost[inside]


def pieces(k: Float, y: Float, r: Float, base: float) -> Pieces:
    """The costliest sets in the order of report values; there are at most ``2 n + 1``."""
    # A column costs too much at t if the sum over x of min(a, b a) is negative, with a = r t^2 - 2
    # k t + y for x and b the base: the costliest set has the x with a < 0, which changes only at
    # the roots.
    flat = r <= 0
    square = k**2 - r * y
    hits = (square > 0) & ~flat
    root = np.sqrt(np.maximum(square, 0.0))
    far = k + np.copysign(root, k)  # the root of larger absolute value first, without cancellation
    with np.errstate(divide="ignore", invalid="ignore"):
        first = far / r
        second = np.where(far == 0, 0.0, y / far)
        alone = y / (2 * k)
    low = np.minimum(first, second)[hits]
    high = np.maximum(first, second)[hits]
    up = flat & (k > 0)
    down = flat & (k < 0)
    place = np.concatenate([low, high, alone[up], alone[down]])
    answer = np.concatenate(
        [np.flatnonzero(hits), np.flatnonzero(hits), np.flatnonzero(up), np.flatnonzero(down)]
    )
    sign = np.concatenate(
        [np.ones(hits.sum()), -np.ones(hits.sum()), np.ones(up.sum()), -np.ones(down.sum())]
    )
    order = np.argsort(place, kind="stable")
    place = place[order]
    answer = answer[order]
    sign = sign[order]
    at_first = down | (flat & (k == 0) & (y < 0))
    sums = []
    for vector in (k, y, r):
        begin = base * vector.sum() + (1 - base) * vector[at_first].sum()
        sums.append(begin + np.concatenate([[0.0], np.cumsum((1 - base) * sign * vector[answer])]))
    ends = np.concatenate([[-np.inf], place, [np.inf]])
    return Pieces(ends[:-1], ends[1:], *sums)


def raised(k: Float, y: Float, r: Float, base: float) -> Float:
    """``y`` plus the least multiple of ``r`` with which no set costs more than allowed."""
    total = float("inf")
    for _ in range(100):
        more = float(pieces(k, y, r, base).cost.max())
        if not more > 1e-15 * np.abs(y).sum() or more >= total:
            break
        y = y + more * r
        total = more
    return y


def slack_at(t: Float, k: Float, y: Float, r: Float, base: float) -> Float:
    """``sum_x min_v v a_x(t)`` at given report values: the slack of the costliest set."""
    a = np.multiply.outer(t**2, r) - 2 * np.multiply.outer(t, k) + y
    return np.asarray(np.minimum(a, base * a).sum(axis=1))
