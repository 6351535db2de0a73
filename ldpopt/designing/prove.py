"""Multipliers in floats made a proof: costs are raised by small margins until exact arithmetic confirms the bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ldpopt.certificate.columns import holds
from ldpopt.certificate.design_bound import Multipliers, Statement, bound_below
from ldpopt.designing.allowed import Allowed
from ldpopt.designing.dual import Dual

MARGINS = (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
"""Shares by which the largest cost is raised until the rationals agree that no column exceeds it."""


def bounded(statement: Statement, dual: Dual, allowed: Allowed) -> tuple[Multipliers, Fraction]:
    """Multipliers that hold in rationals, and the bound that they prove.

    Where no small margin makes them hold, which takes a budget at the end of the floats, they are zeros, whose bound
    says nothing.
    """
    for margin in MARGINS:
        multipliers = dual.multipliers(margin)
        if holds(statement, multipliers, allowed.privacy, allowed.inputs, allowed.rays):
            return multipliers, bound_below(statement, multipliers)
    n = len(dual.weights)
    return Multipliers(np.zeros((n, n)), np.zeros(n)), -statement.spread
