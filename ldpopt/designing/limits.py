"""Measured thresholds of designs: the sizes up to which a method is used."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ldpopt.certificate.design_bound import LISTED
from ldpopt.foundation.numbers import real_number


@dataclass(frozen=True)
class DesignLimits:
    """Thresholds for the choice of a method; `plan_design` and `design` accept other values.

    Attributes
    ----------
    listed_answers : int
        Most answers whose sets are all priced; beyond, the bound is from a relaxation.
    product_answers : int
        Most answers of a product alphabet.
    second_answers : int
        Most answers for which a second method is tried after one that ended above the gap.
    large_epsilon : float
        Budget in nats from which rounding errors can make a design worse than randomized response.
    """

    listed_answers: int = LISTED
    product_answers: int = 4096
    second_answers: int = 50
    large_epsilon: float = 10.0

    def __post_init__(self) -> None:
        """Refuse what is not a number."""
        for field in fields(self):
            real_number(getattr(self, field.name), field.name, 0)


DESIGN_LIMITS = DesignLimits()  # as measured on two cores (docs/measurements/estimation.md)
