"""Multipliers in floats made a proof: costs are raised by small margins until exact arithmetic confirms the bound."""

from __future__ import annotations

from fractions import Fraction

from ldpopt.certificate.design_bound import LISTED, Bound, NoBound, Statement, cone_of
from ldpopt.certificate.design_bound_product import ProductBound, Spectrum
from ldpopt.certificate.scheme import Scheme
from ldpopt.designing.allowed import Allowed
from ldpopt.designing.dual import Dual

MARGINS = (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
"""Shares by which the largest cost is raised until the rationals agree that no column exceeds it."""


def bounded(statement: Statement, dual: Dual, allowed: Allowed) -> Bound:
    """Multipliers that hold in rationals.

    If no small margin makes those of the search hold, which takes a budget at the end of the floats, they are none.
    """
    cone = cone_of(allowed.privacy, allowed.inputs) if allowed.rays is None else allowed.rays
    if isinstance(cone, Fraction) and dual.shift is None and len(dual.weights) > LISTED:
        # Too many answers to list their sets: that is for those that are all alike.
        spectrum = Spectrum.of(statement, Scheme((len(dual.weights),)))
        return NoBound() if spectrum is None else ProductBound.best(spectrum, cone)
    for margin in MARGINS:
        multipliers = dual.multipliers(margin)
        if multipliers.holds(statement, cone):
            return multipliers
    return NoBound()
