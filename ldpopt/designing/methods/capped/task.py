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
from ldpopt.designing.methods.capped.columns import CappedColumns
from ldpopt.designing.methods.capped.least import Least, least_cap, least_factor, of_one_number
from ldpopt.designing.methods.capped.program import CappedProgram
from ldpopt.designing.methods.capped.search import CappedOptimum, search
from ldpopt.designing.private_columns import Staircases
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

RAISED = 1e-11  # by which part the least influence is raised, so that designs have it


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
        return columns, least_factor(columns, rows, limits, self.start, deadline)

    def least(self, capped: np.ndarray, deadline: Deadline) -> tuple[float, Least]:
        """The least common cap of some of the rows that are not constant, and a design with it."""
        half = self.half[self.used][capped]
        rows = self.rows[capped]
        if len(np.unique(half)) == 1:
            _, some = self.least_factor(capped, half, deadline)
            return float(half[0] * (1 + some.factor)), some
        columns = CappedColumns(self.form.private_columns.cone, len(rows))
        return least_cap(columns, rows, half, self.start, deadline)
