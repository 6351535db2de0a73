r"""Weights that are fitted to known margins of the population, and what that does to variances.

Iterative fitting (Deming and Stephan 1940) multiplies the weights of each category by what it
lacks, margin after margin, until all agree. With ``Z`` the indicators of the categories and ``N``
the sums of the fitted weights, the variance of an estimate is that of the residuals of the weighted
least squares of the values on ``Z`` (Deville and Saerndal 1992),
:math:`r = v - Z (Z^T N Z)^+ Z^T N v`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ldpopt.errors import LimitReachedError, StatementError
from ldpopt.estimation.sample import category_of
from ldpopt.foundation.labels import nearest
from ldpopt.foundation.numbers import Float, Int, short_repr

ROUNDS = 10_000
NEAR = 1e-12  # relative difference of the margins at which the fitting ends


def fitted_factors(codes: Int, totals: Float, targets: Sequence[Float]) -> Float:
    """Factors of the weights of some cells, shape (C,), so that each margin has its target.

    ``codes``, shape (C, d), are the categories of each cell, ``totals`` its sum of weights.
    """
    factors = np.ones(len(totals))
    for _ in range(ROUNDS):
        away = 0.0
        for code, target in zip(codes.T, targets, strict=True):
            now = np.bincount(code, totals * factors, len(target))
            away = max(away, float(np.abs(now / target - 1).max()))
            factors *= (target / now)[code]
        if away < NEAR:
            return factors
    raise LimitReachedError(
        f"the weights do not fit all margins after {ROUNDS} rounds: they are {away:.2g} away",
        code="raking",
        do="check that the margins are of one population; leave one out, or merge categories of "
        "which combinations do not occur",
    )


def targets_of(
    column: str, names: Sequence[Hashable], totals: Float, margin: Mapping[Any, float]
) -> Float:
    """The known sums of the weights in the categories of a column that the table has.

    Raises
    ------
    StatementError
        If the table has a category without a number, or none of a category with one.
    """
    texts = [category_of(name) for name in names]
    for text, name in zip(texts, names, strict=True):
        if text not in margin:
            raise StatementError(
                f"the margin of {column!r} has no number for {short_repr(name)}",
                code="margin-category",
                do=nearest(text, margin),
            )
    seen = {text for text, total in zip(texts, totals.tolist(), strict=True) if total > 0}
    for category in margin:
        if category not in seen:
            raise StatementError(
                f"nobody in {category!r} of {column!r} has a report and a weight above 0",
                code="unseen-category",
                do="merge it with another category, in the table and in the margin",
            )
    numbers = np.array([margin[text] for text in texts])
    return np.asarray(numbers / numbers.sum() * totals.sum())


def projection_on_margins(codes: Int, totals: Float) -> Float:
    r"""The matrix :math:`Z (Z^T N Z)^+ Z^T`, shape (C, C), which makes fitted values in cells from
    weighted sums in cells.
    """
    indicators = np.hstack([np.eye(int(code.max()) + 1)[code] for code in codes.T])
    gram = (indicators.T * totals) @ indicators
    return np.asarray(indicators @ np.linalg.pinv(gram, hermitian=True) @ indicators.T)
