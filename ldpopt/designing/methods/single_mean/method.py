"""The method for a single mean: report values are added where the bound is broken, then masses with exact means."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ldpopt.certificate.design_bound import Bound, NoBound, Statement, least_ratio
from ldpopt.certificate.design_bound_mean import MeanBound
from ldpopt.certificate.integers import Exactly
from ldpopt.designing.methods.single_mean.pricing import pieces, raised, slack_at
from ldpopt.designing.methods.single_mean.program import MeanProgram, Randomizer
from ldpopt.designing.methods.single_mean.rounding import exact_channel, steps_of
from ldpopt.designing.pricing import LISTED
from ldpopt.designing.prove import MARGINS
from ldpopt.designing.record import Design
from ldpopt.designing.task import Task
from ldpopt.foundation.checks import Float
from ldpopt.foundation.clock import Deadline

FIRST = 31
"""Report values to begin with."""

WIDEST = 1.5
"""Largest report value, in multiples of the least that any unbiased randomizer needs."""

ROUNDS = 25
"""Limit on rounds."""

WORK = 2e8
"""Limit on answers plus report values, times the square of the report values."""

USED = 1e-6
"""Report values with less than this share of the average probability are left out."""

KEPT = 0.02
"""Report values whose bound is nearly broken stay, up to this share of the value."""

LOOSE = 0.01
"""Gap of a program against the gap that is left."""

APART = 0.1
"""Least distance of report values, in multiples of the root of the gap: nearer ones change the value by less."""


@dataclass(frozen=True, eq=False)
class _Found:
    """Report values with their program's solution, multipliers and their best share, and both ends of the gap.

    Multipliers are those of report values less the mean of the numbers.
    """

    values: Float
    solution: Randomizer
    value: float
    r: Float
    slope: Float
    line: Float
    share: float
    mean: float
    bound: float


@dataclass(frozen=True)
class Means:
    """A single mean of many numbers, average or worst case."""

    least: int = LISTED + 1

    def suits(self, task: Task) -> bool:
        """All rows of the workload are multiples of one and a constant, exactly; the numbers fit on a grid."""
        if not task.is_pure or task.n < self.least:
            return False
        numbers = _only_row(task.workload.matrix[:, task.merged.first])
        if numbers is None:
            return False
        return steps_of(numbers, float(np.abs(numbers).max() / np.tanh(task.epsilon / 2))) is not None

    def solve(self, task: Task) -> Design | None:
        """Design and proof; None where floats fail."""
        numbers, epsilon = _only_row(task.workload.matrix[:, task.merged.first]), task.epsilon
        assert numbers is not None
        r = task.class_weights if task.objective == "average" else None
        middle = (numbers.max() + numbers.min()) / 2
        scale = WIDEST * float(numbers.max() - numbers.min()) / 2 / float(np.tanh(epsilon / 2))
        w = (numbers - middle) / scale
        found, rounds = _search(w, float(np.exp(-epsilon)), r, task)
        used = found.solution.largest > USED / len(found.values)
        used[[0, -1]] = True
        values = middle + scale * found.values[used]
        exact = exact_channel(numbers, values, found.solution.largest[used], epsilon, r, max(task.gap / 100, 1e-10))
        if exact is None:
            return None
        weights = task.weights if r is not None else task.hardest(found.r)
        proof = _proof(task, weights, numbers, (found.share * found.slope, found.share**2 * found.line), scale)
        channel = np.ldexp(exact.counts.astype(np.float64), -53)
        mean = float(found.r @ numbers)
        lever = (numbers - numbers.mean()) / np.sum((numbers - numbers.mean()) ** 2)
        inverse = found.r[:, None] + np.outer(lever, exact.values - mean)
        return task.finish(channel, inverse, proof, weights, f"{rounds} rounds of pricing")


def _only_row(matrix: Float) -> Float | None:
    """The row of which all others are multiples plus a constant, exactly; None where there is none."""
    centered = matrix - matrix[:, :1]
    pivot = int(np.abs(centered).max(axis=1).argmax())
    place = int(np.abs(centered[pivot]).argmax())
    if not centered[pivot, place]:
        return None
    guess = np.outer(centered[:, place] / centered[pivot, place], centered[pivot])
    if np.abs(centered - guess).max() > 1e-9 * np.abs(centered).max():
        return None
    whole = Exactly.of(matrix).whole
    whole = whole - whole[:, :1]
    if (whole * whole[pivot, place] != np.outer(whole[:, place], whole[pivot])).any():
        return None
    return np.asarray(matrix[pivot])


def _search(w: Float, base: float, r: Float | None, task: Task) -> tuple[_Found, int]:
    """Report values until the gap is closed, or too many."""
    t = np.linspace(-1.0, 1.0, FIRST)
    best: _Found | None = None
    goal, gap, tight = task.gap / 2, 1.0, 1.0
    apart = APART * np.sqrt(max(goal, 1e-12))
    rounds = 0
    while rounds < ROUNDS:
        rounds += 1
        now = _solved(w, t, base, r, max(LOOSE * gap, goal / 10) * tight, task.deadline)
        best = now if best is None else _better(best, now)
        gap = 1 - best.bound / best.value
        if gap <= goal or task.deadline.is_over:
            break
        values, cost = pieces(now.slope, now.line, now.r, base).minima()
        values = values + now.mean
        left = slack_at(t - now.mean, now.slope, now.line, now.r, base)
        kept = t[(now.solution.largest > USED / len(t)) | (left < KEPT * now.value)]
        kept = np.unique(np.append(kept, [-1.0, 1.0]))
        fresh = [value for value in values[cost > -1e-3 * best.value] if np.abs(kept - value).min() > apart]
        m = len(kept) + len(fresh)
        if (len(w) + m) * m**2 > WORK or (not fresh and apart < 1e-3 * goal):
            break
        if fresh:
            t = np.unique(np.append(kept, fresh))
        else:
            apart, tight = apart / 4, tight / 10
    assert best is not None
    return best, rounds


def _solved(w: Float, t: Float, base: float, r: Float | None, gap: float, deadline: Deadline) -> _Found:
    found = MeanProgram(w, t, base, r).solve(gap, deadline)
    own = r if r is not None else np.maximum(-found.line[:, 2], 0.0)
    own = own / own.sum()
    variance = found.channel @ t**2 - w**2
    value = float(own @ variance) if r is not None else float(variance.max())
    # Around the average, where the bound is best scaled.
    mean = float(own @ w)
    slope, line = found.line[:, 1] / 2, -found.line[:, 0]
    line = line - 2 * slope * mean + own * mean**2
    slope = slope - own * mean
    line = raised(slope, line, own, base)
    told = float(slope @ (w - mean))
    share = told / line.sum()
    bound = told * share - float(own @ (w - mean) ** 2)
    return _Found(t, found, value, own, slope, line, share, mean, bound)


def _better(one: _Found, two: _Found) -> _Found:
    """Report values of the better design, multipliers of the better bound."""
    design, dual = (one if one.value <= two.value else two), (one if one.bound >= two.bound else two)
    return replace(dual, values=design.values, solution=design.solution, value=design.value)


def _proof(
    task: Task,
    weights: Float,
    numbers: Float,
    multipliers: tuple[Float, Float],
    scale: float,
) -> Bound:
    """Multipliers in the unit of the numbers, raised until they hold in rationals."""
    statement = Statement.of(task.workload.matrix, weights, task.merged)
    slope, line = scale * multipliers[0], scale**2 * multipliers[1]
    r = np.bincount(task.merged.classes, weights=weights).astype(np.float64)
    proof = MeanBound(numbers, slope, line)
    for margin in (0.0, *MARGINS):
        proof = replace(proof, line=line + margin * abs(line.sum()) * r)
        if proof.holds(statement, least_ratio(task.epsilon)):
            return proof
    return NoBound()
