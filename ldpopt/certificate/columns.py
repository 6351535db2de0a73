"""Whether the bound of a design holds for every private column of a notion, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

from ldpopt.certificate.answer_classes import is_pure
from ldpopt.certificate.design_bound import Multipliers, Proof, Statement, price_form
from ldpopt.certificate.exactly import Exactly
from ldpopt.certificate.ray_bound import rays_hold
from ldpopt.foundation.budget import Budget
from ldpopt.privacy.cones.rays import Rays, definition_of, rays_of

BASE_BITS = 96
"""Bits of ``e**-epsilon``, rounded down, in a proof."""


def holds(
    statement: Statement, proof: Proof, privacy: Any, inputs: Sequence[Hashable], rays: Rays | None = None
) -> bool:
    """Whether ``v N v <= (y.v)(r.v)`` for every private column; ``rays`` are those of the notion if they are known."""
    if is_pure(privacy, inputs):
        return proof.costs_hold(statement, least_ratio(budget_of(privacy, inputs)))
    if not isinstance(proof, Multipliers):
        return False
    form, line = price_form(statement, proof.inverse), Exactly.of(proof.line)
    return rays_hold(form, line, statement.weights, rays_of(privacy, inputs) if rays is None else rays)


def budget_of(privacy: Any, inputs: Sequence[Hashable]) -> Budget:
    """Return epsilon of a notion that has a cone of columns."""
    return definition_of(privacy, inputs).budget


def least_ratio(epsilon: Budget) -> Fraction:
    """Return ``e**-epsilon`` rounded down to a short rational: a bound for smaller ratios holds for this one too."""
    smallest = 1 / epsilon.enclosure()[1]
    bits = BASE_BITS + max(0, smallest.denominator.bit_length() - smallest.numerator.bit_length())
    return Fraction(smallest.numerator * 2**bits // smallest.denominator, 2**bits)
