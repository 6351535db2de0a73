r"""The linear model by moments: least squares of the unbiased values of the reports.

With a value :math:`v_i` of the outcome's report, whose mean is the number of the answer, and a
value :math:`u_{ic}` of the covariates' reports for each combination ``c`` of their answers, whose
mean is 1 for the person's own combination and else 0, coefficients solve

.. math:: \sum_i w_i \Big( x_i v_i - M_i b \Big) = 0, \qquad
          x_i = \sum_c u_{ic} x_i(c), \qquad
          M_i = \sum_c u_{ic} \, x_i(c) \, x_i(c)^T ,

which has mean 0 at the least squares of the answers themselves: no distribution is assumed. The
square of an indicator is itself, so that its value is in ``M`` once and never squared. Errors are
those of the equation, by sums over units.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldpopt.errors import LimitReachedError
from ldpopt.foundation.numbers import Float


def least_squares(
    matrices: Sequence[Float], cells: Float, values: Float, weights: Float
) -> tuple[Float, Float, Float]:
    """Coefficients, shape (k,), the inverse of ``M``, and the equation of each row, (M, k).

    Raises
    ------
    LimitReachedError
        If ``M`` is not positive: the reports are too few for these covariates.
    """
    square = sum(
        matrix.T @ (matrix * (weights * cells[c])[:, None]) for c, matrix in enumerate(matrices)
    )
    right = sum(matrix.T @ (weights * cells[c] * values) for c, matrix in enumerate(matrices))
    roots, vectors = np.linalg.eigh(np.asarray(square))
    if not roots[0] > 64 * len(roots) * np.finfo(float).eps * abs(roots[-1]):
        raise LimitReachedError(
            "the estimated squares of the covariates are not positive",
            code="squares",
            where="the linear model",
            do="leave out protected covariates, or ask more people",
        )
    inverse = np.asarray((vectors / roots) @ vectors.T)
    coefficients = inverse @ np.asarray(right)
    equations = np.zeros((len(weights), len(coefficients)))
    for c, matrix in enumerate(matrices):
        equations += matrix * (cells[c] * (values - matrix @ coefficients))[:, None]
    return coefficients, inverse, equations
