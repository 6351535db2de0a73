"""The private columns of a notion: its cone, and which answers count as one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpopt.certificate.answer_classes import AnswerClasses, is_pure, merged_by
from ldpopt.designing.listed_rays import ListedRays
from ldpopt.designing.pricing import Staircases
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float
from ldpopt.privacy import PureLDP
from ldpopt.privacy.cones.columns import Columns
from ldpopt.privacy.cones.lengths import Int
from ldpopt.privacy.cones.rays import Rays, definition_of, rays_of, require_said

LEAST_RATIO = 2.0**-52
"""Smallest ratio of two entries of a column: masses are multiples of ``2**-53``."""


@dataclass(frozen=True, eq=False)
class Allowed:
    """The columns of a notion.

    Attributes
    ----------
    privacy : privacy notion
        For `repair`, on `inputs`.
    inputs : sequence of hashable
        Answers of which no two count as one.
    merged : AnswerClasses
        Classes of the workload's answers.
    cone : Staircases or ListedRays
        Extreme rays.
    """

    privacy: Any
    inputs: Sequence[Hashable]
    merged: AnswerClasses
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

    @property
    def rays(self) -> Rays | None:
        """All extreme rays, if they are listed."""
        return self.cone.rays if isinstance(self.cone, ListedRays) else None

    def require_said(self, weights: Float) -> None:
        """Refuse weights of 0 where reports may reveal the answer; see `rays.require_said`."""
        if isinstance(self.cone, ListedRays):
            require_said(self.cone.rays, weights, self.inputs)


def allowed_by(privacy: Any, matrix: Float, inputs: Sequence[Hashable], deadline: Deadline = NO_LIMIT) -> Allowed:
    """Find the cone of a notion, from its definition."""
    merged = merged_by(privacy, matrix, inputs)
    if is_pure(privacy, inputs):
        plain = PureLDP(privacy.epsilon)
        base = max(float(np.exp(-plain.epsilon)), LEAST_RATIO)
        cone = Staircases(len(merged.first), base, float(-np.expm1(-plain.epsilon)))
        return Allowed(plain, range(len(merged.first)), merged, cone)
    return Allowed(privacy, inputs, merged, ListedRays(rays_of(privacy, inputs, deadline=deadline)))
