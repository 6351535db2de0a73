"""Costs near 1 for every solver: their tolerances are absolute, and some call costs of 1e12 unbounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpopt.solvers.outcome import Outcome
from ldpopt.solvers.program import LinearProgram

UNSCALED_EXPONENT = 10
"""Largest costs between ``2**-10`` and ``2**10`` stay as they are."""


def with_unit_costs(program: LinearProgram) -> tuple[LinearProgram, int]:
    """Divide the costs by a power of two that brings the largest one near 1."""
    exponent = int(np.frexp(np.abs(program.objective).max(initial=0.0))[1])
    if abs(exponent) <= UNSCALED_EXPONENT:
        return program, 0
    return replace(program, objective=np.ldexp(program.objective, -exponent)), exponent


def in_costs(outcome: Outcome, exponent: int) -> Outcome:
    """Multiply the multipliers of a program with unit costs by ``2**exponent``; the point is the same."""
    if not exponent:
        return outcome
    largest = np.finfo(float).max  # any multipliers prove a bound; infinite ones prove none
    with np.errstate(over="ignore"):
        rows, columns = (
            None if duals is None else np.clip(np.ldexp(duals, exponent), -largest, largest)
            for duals in (outcome.row_duals, outcome.column_duals)
        )
    return replace(outcome, row_duals=rows, column_duals=columns)
