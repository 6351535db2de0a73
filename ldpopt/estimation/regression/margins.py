r"""Known margins of the population in a regression: fitted weights, and scores without what the
margins explain.

With ``Z`` the indicators of the categories and ``w`` the fitted weights, the weighted score
:math:`w_i s_i` of a person becomes

.. math:: w_i \, (s_i - z_i^T b), \qquad b = (Z^T W Z)^+ Z^T W s

(Deville and Saerndal 1992), as the values of reports do in `ldpopt.estimation.raking`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.estimation.raking import fitted_factors, projection_on_margins, targets_of
from ldpopt.foundation.numbers import Float, Int


@dataclass(frozen=True, eq=False)
class Margin:
    """One column: the category of each person, and the known number or share of each."""

    column: str
    names: Sequence[Hashable]
    codes: Int  # (N,)
    known: Mapping[Any, float]

    def at(self, rows: Any) -> Margin:
        """That of some people, with the categories that they have."""
        seen, codes = np.unique(self.codes[rows], return_inverse=True)
        names = [self.names[place] for place in seen.tolist()]
        return Margin(self.column, names, np.asarray(codes, dtype=np.int64), self.known)


def fitted_weights(margins: Sequence[Margin], weights: Float) -> Float:
    """Weights of people, shape (N,), fitted to all margins."""
    cells, place = _cells(margins)
    targets = [
        targets_of(each.column, each.names, _sums(each.codes, weights), each.known)
        for each in margins
    ]
    return np.asarray(weights * fitted_factors(cells, _sums(place, weights), targets)[place])


def unexplained(people: Float, weights: Float, margins: Sequence[Margin]) -> Float:
    """Weighted scores of people, shape (N, d), without what the margins explain."""
    cells, place = _cells(margins)
    projection = projection_on_margins(cells, _sums(place, weights))
    sums = np.stack([_sums(place, column) for column in people.T], axis=-1)
    return np.asarray(people - weights[:, None] * (projection @ sums)[place])


def _cells(margins: Sequence[Margin]) -> tuple[Int, Int]:
    """The categories of each combination that occurs, shape (C, d), and that of each person."""
    codes = np.stack([each.codes for each in margins], axis=-1)
    cells, place = np.unique(codes, axis=0, return_inverse=True)
    return cells, np.ravel(place)


def _sums(place: Int, numbers: Float) -> Float:
    """Sums of numbers of people by place."""
    return np.bincount(place, numbers).astype(np.float64)
