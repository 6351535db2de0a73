"""The best influence for a share of liars, for frequencies of many answers: the intervals are those
of `capped.liars`, the designs sets of a few sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ldpopt.certificate.capped_frequency_certificate import CappedFrequencyCertificate
from ldpopt.certificate.liars_certificate import CapStep
from ldpopt.certificate.liars_frequency_certificate import LiarsFrequencyCertificate
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.capped.liars import (
    BELOW,
    FINE,
    GAP,
    Node,
    enough,
    require_average,
    split,
)
from ldpopt.designing.methods.capped_sizes.method import SizesTask, is_symmetric
from ldpopt.designing.methods.method import DesignLimits, DesignMethod, DesignTask
from ldpopt.errors import CertificateError
from ldpopt.foundation.budget import round_up

NEAR = 1e-9  # by which part the first design is above the least influence
RAISED_CAPS = (0.0, 1e-9, 1e-7, 1e-5)  # by which part the cap of the best design is raised, in turn


class FrequenciesAgainstLiars(DesignMethod):
    """The influence at which the error with liars is least, for frequencies of many answers."""

    name = "influence of frequencies for liars"
    is_optimal = True

    def because(self, form: DesignForm, limits: DesignLimits) -> str | None:
        """A share of liars, and plain frequencies of more answers than are listed."""
        n = form.problem.workload.shape[1]
        if form.problem.liars is None or not is_symmetric(form) or n <= limits.listed_answers:
            return None
        return (
            f"frequencies of more than {limits.listed_answers} answers with equal weights: the "
            "influence of least error with liars is found among sets of a few sizes"
        )

    def solve(self, task: DesignTask) -> LiarsFrequencyCertificate:
        """Split the interval with the least bound until the gap is reached."""
        require_average(task)
        return _SizesSearch(SizesTask.of(task.form), task).certificate()


@dataclass(frozen=True, eq=False)
class _SizesSearch:
    """The intervals of the influence, in spans, which are the unit of the frequencies."""

    sizes: SizesTask
    task: DesignTask

    def error(self, variance: float, spans: float) -> float:
        """The error of a variance, in this unit, with liars of some influence."""
        problem = self.task.form.problem
        g = float(problem.liars or 0.0)
        people = float(problem.people or 1)
        return (1 - g) * variance / (self.sizes.sizes.n * people) + (g * spans) ** 2

    def node(self, spans: float) -> Node:
        """The design at a limit; without a limit that at its own influence."""
        sizes = self.sizes.sizes
        limit = spans - 0.5
        gap = max(self.task.gap, GAP) * FINE
        optimum = sizes.best(limit, gap, self.task.deadline)
        reached = min(spans, optimum.reach + 0.5)
        error = self.error(sizes.variance(optimum), reached)
        bound = sizes.bound(optimum.slope, limit)
        return Node(spans if np.isfinite(spans) else reached, error, bound, optimum.slope)

    def certificate(self) -> LiarsFrequencyCertificate:
        """The best design with the proof."""
        least = 0.5 + self.sizes.sizes.least.reach
        free = self.node(np.inf)
        nodes = [self.node(least * (1 + NEAR))] if least * (1 + NEAR) < free.spans else []
        best = split(self, nodes, least, free)
        design = self.design(best.spans)
        problem = self.task.form.problem
        share = float(problem.liars or 0.0)
        people = int(problem.people or 1)
        steps = tuple(self.steps(least, nodes, enough(best.error, self.sizes.sizes.n, problem)))
        return LiarsFrequencyCertificate.with_liars(design, share, people, steps)

    def design(self, spans: float) -> CappedFrequencyCertificate:
        """The design at an influence; at budgets so small that the masses are far from the floats
        of the search it is a little larger.
        """
        exact = Fraction(spans) * abs(Fraction(self.sizes.unit))
        *others, last = RAISED_CAPS
        for part in others:
            try:
                return self.sizes.designed(round_up(exact * (1 + Fraction(part))), self.task)
            except CertificateError:
                continue
        return self.sizes.designed(round_up(exact * (1 + Fraction(last))), self.task)

    def steps(self, least: float, nodes: list[Node], scale: float) -> list[CapStep]:
        """Multipliers for all intervals, each proved; those below the least influence are
        multiplied by a large number.
        """
        sizes = self.sizes.sizes
        below = least * (1 - BELOW)
        steps = [self._step(below, sizes.least.slope, scale)]
        steps += [self._step(node.spans, node.dual) for node in nodes]
        return [*steps, self._step(np.inf, sizes.free.slope)]

    def _step(self, spans: float, slope: tuple[float, float], scale: float = 1.0) -> CapStep:
        """The bound of multipliers at a limit."""
        unit = abs(Fraction(self.sizes.unit))
        cap = None if spans == np.inf else Fraction(spans) * unit
        return CapStep(spans, self.sizes.bound(slope, cap, scale))
