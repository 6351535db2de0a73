"""What a notion allows: its cone of columns, which answers count as one, and the exact check of a bound."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.estimation.designs.cones.check import rays_hold
from ldpopt.estimation.designs.cones.lengths import Int
from ldpopt.estimation.designs.cones.listed import ListedRays
from ldpopt.estimation.designs.cones.rays import definition_of, rays_of, require_said
from ldpopt.estimation.designs.contrasts import Columns
from ldpopt.estimation.designs.exactly import Exactly
from ldpopt.estimation.designs.merging import Merged, merge
from ldpopt.estimation.designs.pricing import Staircases
from ldpopt.estimation.designs.proof import Multipliers, Statement, costs_hold, price_form
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.checks import Float
from ldpopt.foundation.clock import NO_LIMIT, Deadline
from ldpopt.privacy import PureLDP

LEAST_RATIO = 2.0**-52
"""Smallest ratio of two entries of a column: masses are multiples of ``2**-53``."""

BASE_BITS = 96
"""Bits of ``e**-epsilon``, rounded down, in a proof."""


@dataclass(frozen=True, eq=False)
class Allowed:
    """The columns of a notion.

    Attributes
    ----------
    privacy : privacy notion
        For `repair`, on `inputs`.
    inputs : sequence of hashable
        Answers of which no two count as one.
    merged : Merged
        Classes of the workload's answers.
    cone : Staircases or ListedRays
        Extreme rays.
    """

    privacy: Any
    inputs: Sequence[Hashable]
    merged: Merged
    cone: Staircases | ListedRays

    @property
    def response(self) -> Columns:
        """Columns of some randomized response."""
        if isinstance(self.cone, ListedRays):
            return self.cone.response
        return self.cone.columns(np.eye(self.cone.n))

    @property
    def ties(self) -> tuple[Int, Int, Float]:
        """Pairs ``x, z`` with ``c_x <= e**nats c_z``, and these nats."""
        ties = definition_of(self.privacy, self.inputs)
        first, second = ties.pairs()
        distance = np.ones(len(first)) if ties.distance is None else ties.distance
        return first, second, float(ties.budget) * distance

    def hold(self, statement: Statement, multipliers: Multipliers) -> bool:
        """Whether ``v N v <= (y.v)(r.v)`` for every column, in exact arithmetic."""
        if isinstance(self.cone, Staircases):
            return costs_hold(statement, multipliers, least_ratio(self.privacy.epsilon))
        form, line = price_form(statement, multipliers.inverse), Exactly.of(multipliers.line)
        return rays_hold(form, line, statement.weights, self.cone.rays)

    def require_said(self, weights: Float) -> None:
        """Refuse weights of 0 where reports may reveal the answer; see `rays.require_said`."""
        if isinstance(self.cone, ListedRays):
            require_said(self.cone.rays, weights, self.inputs)


def budget_of(privacy: Any, inputs: Sequence[Hashable]) -> Budget:
    """Return epsilon of a notion that has a cone of columns."""
    return definition_of(privacy, inputs).budget


def allowed_by(privacy: Any, matrix: Float, inputs: Sequence[Hashable], deadline: Deadline = NO_LIMIT) -> Allowed:
    """Find the cone of a notion, from its definition.

    Raises
    ------
    NotRepresentableError
        If its columns are no cone, or the extreme rays are too many to list.
    """
    merged = merged_by(privacy, matrix, inputs)
    if is_pure(privacy, inputs):
        plain = PureLDP(privacy.epsilon)
        base = max(float(np.exp(-plain.epsilon)), LEAST_RATIO)
        cone = Staircases(len(merged.first), base, float(-np.expm1(-plain.epsilon)))
        return Allowed(plain, range(len(merged.first)), merged, cone)
    return Allowed(privacy, inputs, merged, ListedRays(rays_of(privacy, inputs, deadline=deadline)))


def merged_by(privacy: Any, matrix: Float, inputs: Sequence[Hashable]) -> Merged:
    """Classes of answers that count as one: where all pairs are tied alike, those with equal columns of the workload.

    Under other notions the average of two rows may break a tie with a third.
    """
    everyone = np.arange(len(inputs))
    return merge(matrix) if is_pure(privacy, inputs) else Merged(everyone, everyone)


def is_pure(privacy: Any, inputs: Sequence[Hashable]) -> bool:
    """Whether all answers are tied alike, at distance 1."""
    ties = definition_of(privacy, inputs)
    return ties.is_complete and ties.distance is None


def least_ratio(epsilon: Budget) -> Fraction:
    """Return ``e**-epsilon`` rounded down to a short rational: a bound for smaller ratios holds for this one too."""
    smallest = 1 / epsilon.enclosure()[1]
    bits = BASE_BITS + max(0, smallest.denominator.bit_length() - smallest.numerator.bit_length())
    return Fraction(smallest.numerator * 2**bits // smallest.denominator, 2**bits)
