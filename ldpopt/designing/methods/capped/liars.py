"""The best influence for a share of liars, by intervals.

Each design that is tried gives an upper end of the error with liars, and its bound, with the
influence of the design before it, a lower end for all designs between both. The interval with the
least lower end is split in half until the gap is reached. Few liars end at the free design, many at
the least influence; in both cases one of the outer intervals is the last one to be split.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ldpopt.certificate.capped_statement import CappedStatement
from ldpopt.certificate.design_bound_capped import CappedBound
from ldpopt.certificate.liars_certificate import CapStep, LiarsCertificate, caps_within
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.capped.method import bounds_of, designed
from ldpopt.designing.methods.capped.program import CappedDual
from ldpopt.designing.methods.capped.task import CappedTask
from ldpopt.designing.methods.method import DesignLimits, DesignMethod, DesignTask
from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float
from ldpopt.problem.design_problem import DesignProblem

GAP = 1e-3  # of the error with liars, at least
FINE = 0.1  # share of it that each design has
NODES = 200  # largest number of influences that are tried
BELOW = 1e-6  # part of the least influence below which no design is proved to be
SCALE = 1e10  # of the multipliers that prove it, at least


@dataclass(frozen=True, order=True)
class Node:
    """A design at a limit of its influence, in spans."""

    spans: float
    error: float = field(compare=False)  # its error
    bound: float = field(compare=False)  # on the variance of all designs within the limit
    dual: Any = field(compare=False)  # its multipliers


class AgainstLiars(DesignMethod):
    """The influence at which the error with liars is least, proved interval by interval."""

    name = "influence for liars"
    is_optimal = True

    def because(self, form: DesignForm, limits: DesignLimits) -> str | None:
        """A share of liars."""
        if form.problem.liars is None:
            return None
        return (
            "liars move an estimate by their share of the influence: the influence of least error "
            "is found, interval by interval"
        )

    def solve(self, task: DesignTask) -> LiarsCertificate:
        """Split the interval with the least bound until the gap is reached."""
        require_average(task)
        return _Search(CappedTask(task.form), task).certificate()


def enough(error: float, k: int, problem: DesignProblem) -> float:
    """A factor of the multipliers below the least influence with which their bound on the variance
    has more than an error with liars.
    """
    true = (1 - float(problem.liars or 0.0)) / float(problem.people or 1)
    return k * max(SCALE, 2 * error / (true * BELOW))


def require_average(task: DesignTask) -> None:
    """Refuse the worst case, which has no error with liars."""
    if task.form.is_worst_case:
        raise StatementError(
            "the error with liars is that of the average variance",
            code="liars-objective",
            do='use objective="average", or `influence` in place of `liars`',
        )


class Errors(Protocol):
    """What the search for an influence asks of a workload."""

    @property
    def task(self) -> DesignTask:
        """The problem, and the settings."""

    def error(self, variance: float, spans: float) -> float:
        """The error of a variance with liars of some influence."""

    def node(self, spans: float) -> Node:
        """The design at a limit."""


def split(search: Errors, nodes: list[Node], least: float, free: Node) -> Node:
    """Split intervals between the least influence and the free design, into the list of the nodes
    by rising influence, until the gap is reached; the best node.
    """
    gap = max(search.task.gap, GAP)
    best = min([*nodes, free], key=lambda node: node.error)
    for _ in range(NODES):
        ends = [least, *(node.spans for node in nodes), free.spans]
        bounds = [*(node.bound for node in nodes), free.bound, free.bound]
        lows = [search.error(max(b, 0.0), a) for a, b in zip(ends, bounds, strict=True)]
        best = min([*nodes, free], key=lambda node: node.error)
        place = int(np.argmin(lows))
        is_done = best.error - lows[place] <= gap * best.error * (1 - FINE)
        if is_done or place == len(ends) - 1 or search.task.deadline.is_over:
            break
        right = ends[place + 1]
        middle = (ends[place] + right) / 2
        if not ends[place] < middle < right:
            break
        insort(nodes, search.node(middle))
    return best


@dataclass(frozen=True, eq=False)
class _Search:
    """The intervals of the influence."""

    capped: CappedTask
    task: DesignTask

    def caps(self, spans: float) -> Float:
        """The caps of the numbers that are not constant; infinite for others."""
        return caps_within(spans, self.capped.matrix)

    def error(self, variance: float, spans: float) -> float:
        """The error of a variance with liars of some influence."""
        problem = self.task.form.problem
        g = float(problem.liars or 0.0)
        size = 2 * self.capped.half
        people = float(problem.people or 1)
        return float(
            (1 - g) * variance / (len(size) * people) + (g * spans) ** 2 * (size**2).mean()
        )

    def node(self, spans: float) -> Node:
        """The design at a limit; without a limit that at its own influence."""
        gap = max(self.task.gap, GAP) * FINE
        found = self.capped.found(self.caps(spans), gap, self.task.deadline)
        unit = self.capped.unit
        rows = self.capped.rows / unit
        bound = unit**2 * found.multipliers.value(rows)
        mass = found.weights * (found.vectors @ found.multipliers.weights)
        value = mass @ (found.values**2).sum(axis=0)
        value -= found.multipliers.weights @ (rows**2).sum(axis=0)
        half = self.capped.half[self.capped.used] / unit
        reach = (np.abs(found.values).max(axis=1) + half) / (2 * half)
        largest = float(reach.max())
        end = min(spans, largest) if np.isfinite(spans) else largest
        # values that were not moved into their caps prove nothing
        error = self.error(unit**2 * float(value), end) if found.is_unbiased else np.inf
        return Node(spans if np.isfinite(spans) else largest, error, bound, found.multipliers)

    def certificate(self) -> LiarsCertificate:
        """The best design with the proof."""
        capped = self.capped
        every = np.ones(len(capped.used), dtype=bool)
        least = self.least(every)
        free = self.node(np.inf)
        nodes = [self.node(least * (1 + 1e-9))] if least < free.spans else []
        best = split(self, nodes, least, free)
        caps = self.caps(best.spans * (1 + 1e-12))
        design = designed(capped, caps, self.task)
        problem = self.task.form.problem
        unit = self.capped.unit
        scale = enough(best.error / unit**2, len(self.capped.half), problem)
        steps = tuple(self.steps(least, nodes, free, scale))
        share = float(problem.liars or 0.0)
        return LiarsCertificate.with_liars(design, share, int(problem.people or 1), steps)

    def least(self, every: np.ndarray) -> float:
        """The least influence, in spans."""
        capped = self.capped
        half = capped.half[capped.used]
        _, found = capped.least_factor(every, half, self.task.deadline)
        return float((1 + found.proved) / 2)

    def steps(self, least: float, nodes: list[Node], free: Node, scale: float) -> list[CapStep]:
        """Multipliers for all intervals, each proved; those below the least influence are
        multiplied by a large number.
        """
        capped = self.capped
        half = capped.half[capped.used]
        _, found = capped.least_factor(np.ones(len(half), dtype=bool), half, self.task.deadline)
        unit = capped.unit
        ones = capped.form.class_weights
        below = least * (1 - BELOW)
        factor = (2 * below - 1) * (1 + BELOW / 10)
        line = 2 * scale * factor * found.line
        lowest = CappedDual(scale * found.slope / unit, line / unit**2, ones)
        steps = [self._step(below, lowest)]
        steps += [self._step(node.spans, node.dual) for node in nodes]
        return [*steps, self._step(np.inf, free.dual)]

    def _step(self, spans: float, dual: CappedDual) -> CapStep:
        """The first multipliers that hold exactly at a limit."""
        form = self.capped.form
        workload = form.problem.workload
        caps = caps_within(spans, workload.matrix)
        statement = CappedStatement.of(
            workload.matrix, form.problem.all_weights, caps, form.classes
        )
        cone = self.capped.exact_cone
        zero = CappedBound(np.zeros(self.capped.matrix.shape), np.zeros(form.n))
        each = (*bounds_of(self.capped, dual), zero)
        return CapStep(spans, next(b for b in each if b.holds(statement, cone)))
