"""A capped design problem in floats: rows less their middles, limits, columns, the least cap.

Constant rows are left out: their values are the constant, and their influence is 0. Limits are in
the unit of the workload divided by the largest half of a span, so that programs of all workloads
are of one size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpopt.certificate.design_statement import Cone, cone_of
from ldpopt.designing.design_form import DesignForm
from ldpopt.designing.methods.capped.barrier import CappedProgram
from ldpopt.designing.methods.capped.columns import CappedColumns
from ldpopt.designing.methods.capped.least import Least, least_factor, of_one_number
from ldpopt.designing.methods.capped.search import CappedOptimum, search
from ldpopt.designing.private_columns import Staircases
from ldpopt.errors import CertificateError
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

LARGEST = 1e5  # limit of multipliers, in units of the workload
ROUGH = 1e-4  # gap of the searches that find columns for the least influence
TRIES = 8  # of these
RAISED = 1e-11  # by which part the least influence is raised, so that designs have it
ABOVE = 1e-4  # by which part caps are raised in the last of these


@dataclass(frozen=True, eq=False)
class CappedTask:
    """Facts of a workload and a cone, for designs with caps."""

    form: DesignForm

    @cached_property
    def matrix(self) -> Float:
        """The workload of the classes of answers, shape (k, c)."""
        return np.asarray(self.form.problem.workload.matrix[:, self.form.classes.first])

    @cached_property
    def middle(self) -> Float:
        """Middle between the least and the largest of each row."""
        return np.asarray((self.matrix.min(axis=1) + self.matrix.max(axis=1)) / 2)

    @cached_property
    def half(self) -> Float:
        """Half of the span of each row."""
        return np.asarray(np.ptp(self.matrix, axis=1) / 2)

    @cached_property
    def used(self) -> np.ndarray:
        """Positions of the rows that are not constant."""
        return np.flatnonzero(self.half > 0)

    @cached_property
    def rows(self) -> Float:
        """Rows that are not constant, less their middles."""
        return np.asarray((self.matrix - self.middle[:, None])[self.used])

    @cached_property
    def columns(self) -> CappedColumns:
        """The columns to choose from."""
        return CappedColumns(self.form.private_columns.cone, len(self.used))

    @cached_property
    def start(self) -> Float:
        """Initial columns."""
        return self.columns.initial(self.form.gram)

    @cached_property
    def unit(self) -> float:
        """The unit of the workload in the program."""
        return float(self.half.max())

    @property
    def exact_cone(self) -> Cone:
        """The columns of the notion, as certificates check them."""
        rays = self.form.private_columns.rays
        problem = self.form.problem
        return cone_of(problem.privacy, problem.workload.inputs) if rays is None else rays

    def limits(self, caps: Float) -> Float:
        """``B`` of the rows that are not constant."""
        return np.asarray((caps - self.half)[self.used])

    def program(self, caps: Float) -> CappedProgram:
        """The program of some caps."""
        return CappedProgram(
            self.start,
            self.rows / self.unit,
            self.limits(caps) / self.unit,
            self.form.class_weights,
            LARGEST,
            self.form.is_worst_case,
        )

    def found(
        self, caps: Float, gap: float, deadline: Deadline, raised: float = 0.0
    ) -> CappedOptimum:
        """The best multipliers and columns, in the unit of the program; of caps that are raised by
        a part, with values that are moved to within the caps.
        """
        within = self.limits(caps) / self.unit
        return search(self.program(caps * (1 + raised)), self.columns, gap, deadline, within)

    def least_factor(
        self, capped: np.ndarray, limits: Float, deadline: Deadline
    ) -> tuple[CappedColumns, Least]:
        """The least factor of limits of some rows for which there is an unbiased design."""
        cone = self.form.private_columns.cone
        rows = self.rows[capped]
        columns = CappedColumns(cone, len(rows))
        if len(rows) == 1 and isinstance(cone, Staircases):
            return columns, of_one_number(cone, rows[0], float(limits[0]))
        start = self._columns(rows, limits, deadline)
        return columns, least_factor(columns, rows, limits, start, deadline)

    def least(self, capped: np.ndarray, deadline: Deadline) -> tuple[float, Least]:
        """The least common cap of some of the rows that are not constant, and a design with it."""
        half = self.half[self.used][capped]
        rows = self.rows[capped]
        if len(np.unique(half)) == 1:
            _, some = self.least_factor(capped, half, deadline)
            return float(half[0] * (1 + some.factor)), some
        columns = CappedColumns(self.form.private_columns.cone, len(rows))
        return _least_of_spans(columns, rows, half, self.start, deadline)

    def _columns(self, rows: Float, limits: Float, deadline: Deadline) -> Float:
        """Columns to begin with: all of few, else those of designs with caps near the least."""
        start = self.start
        cone = self.form.private_columns.cone
        if self.columns.is_complete and len(start) <= MOST_LISTED:
            return start
        columns = CappedColumns(cone, len(rows))
        factor = 1.0
        seen = [np.asarray(cone.initial(self.form.gram).vectors)]
        unit = float(limits.max())
        weights = np.full(rows.shape[1], 1 / rows.shape[1])
        for _ in range(TRIES):
            each = factor * limits / unit
            program = CappedProgram(start, rows / unit, each, weights, LARGEST)
            found = search(program, columns, ROUGH, deadline)
            seen.append(found.vectors)
            if found.is_bounded:
                break
            factor = (1 + ABOVE) * max(factor, _tangent(found, program))
        return np.vstack(seen)


MOST_LISTED = 300  # columns up to which the linear program has all of them


def _tangent(found: CappedOptimum, program: CappedProgram) -> float:
    """By what the limits have to be multiplied at least, given multipliers at their limit."""
    x = found.multipliers
    trace = 2 * float((x.slope * program.rows).sum())
    # h_B <= y.v gives 2 B |z| <= y.v + B^2 rho
    return trace / float(x.line.sum() + (program.limits**2).sum())


def _least_of_spans(
    columns: CappedColumns, rows: Float, half: Float, start: Float, deadline: Deadline
) -> tuple[float, Least]:
    """The least common cap of rows of different spans: that at which the factor is 1."""
    from scipy.optimize import brentq

    last: list[Least] = []

    def excess(cap: float) -> float:
        try:
            last.append(least_factor(columns, rows, cap - half, start, deadline))
        except CertificateError:  # hardly any room: no factor is found in floats
            return 1.0
        return last[-1].factor - 1

    low = float(half.max()) * (1 + 1e-9)
    high = 2 * low
    while excess(high) > 0:
        high *= 2
    cap = float(brentq(excess, low, high, xtol=1e-15 * high, rtol=1e-13))
    while excess(cap) > 1e-12:
        cap *= 1 + 1e-12
    return cap, last[-1]
