"""A program in a model of HiGHS that stays, whose costs and last row change between solves."""

from typing import Any, NamedTuple

import highspy
import numpy as np

from ldpopt.foundation.numbers import Float, Int
from ldpopt.solvers.highs_ import SCALE, SIMPLEX, TOLERANCES, WARM_ITERATIONS
from ldpopt.solvers.program import LinearProgram

DUAL, PRIMAL = 1, 4  # simplex methods of HiGHS
# From a basis the primal method takes less time than the dual one, as the point stays feasible in
# all rows but the last; by largest prices and without scaling or shifted bounds, each of which
# takes longer than it saves on so few iterations (`benchmarks/choices.py`).
SETTINGS: dict[str, Any] = {
    **TOLERANCES,
    **SIMPLEX,
    "simplex_scale_strategy": 0,
    "simplex_primal_edge_weight_strategy": 0,
    "primal_simplex_bound_perturbation_multiplier": 0.0,
}


class KeptAnswer(NamedTuple):
    """An optimal point, the multipliers of the rows, and the basis, from which a solve starts."""

    point: Float
    row_duals: Float
    basis: highspy.HighsBasis


class KeptProgram:
    """A program of which only costs and coefficients of the last row change.

    An answer depends on the numbers and on the basis from which it starts, not on what the model
    solved before.
    """

    def __init__(self, program: LinearProgram) -> None:
        self._rows, self._columns = program.shape
        self._last: Int = program.index[program.start[-2] :].astype(np.int32)
        self._highs = program.scaled_highs(SCALE)
        for option, value in SETTINGS.items():
            self._highs.setOptionValue(option, value)
        most = WARM_ITERATIONS + self._rows + self._columns
        self._highs.setOptionValue("simplex_iteration_limit", most)

    def solve(
        self, costs: Float, last_row: Float, basis: highspy.HighsBasis | None
    ) -> KeptAnswer | None:
        """Solve with these costs, shape (columns,), and coefficients of the last row; None if HiGHS
        does not call the answer optimal.
        """
        highs = self._highs
        highs.clearSolver()
        largest = float(np.abs(costs).max())
        scale = SCALE * 2.0 ** -int(np.frexp(largest)[1])
        columns = np.arange(self._columns, dtype=np.int32)
        highs.changeColsCost(self._columns, columns, costs * scale)
        for column, value in zip(self._last.tolist(), last_row.tolist(), strict=True):
            highs.changeCoeff(self._rows - 1, column, value)
        highs.setOptionValue("simplex_strategy", DUAL if basis is None else PRIMAL)
        if basis is not None:
            highs.setBasis(basis)
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = highs.getSolution()
        point = np.fromiter(solution.col_value, float) / SCALE
        return KeptAnswer(point, np.fromiter(solution.row_dual, float) / scale, highs.getBasis())
