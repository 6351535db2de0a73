r"""The certificate of a best channel over listed rays: two rationals, and what proves them.

For any prices ``eta`` of the answers, every private channel has at most the utility

.. math:: \sum_x \eta_x + n \max_j \frac{(\mu(c_j) - \eta \cdot c_j)^+}{\sum_x c_{jx}} ,

the maximum over all extreme rays: a sublinear utility is largest for sums of rays.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ldpopt.auditing.audits import Audit
from ldpopt.errors import StatementError
from ldpopt.foundation.display import Facts, HasFacts
from ldpopt.foundation.numbers import listed_items, require_kind
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.polytope.exact_utilities import ExactUtility
from ldpopt.privacy.cones.exact_rays import ColumnRays
from ldpopt.privacy.cones.rays import whole_rays_of
from ldpopt.privacy.notion import require_notion

GRID = 2**200  # a bound is rounded up to a multiple of its inverse: sums of rationals grow


@dataclass(frozen=True, eq=False)
class RayCertificate(HasFacts):
    r"""A proof that no private channel is better than a mechanism by more than a gap.

    Logarithms and roots are enclosed by rationals, and the rays are those of a cone that contains
    all private columns, so that both numbers hold for the real utility and the real budgets.

    Attributes
    ----------
    achieved : Fraction
        At most the utility of the mechanism's integer masses.
    bound : Fraction
        At least the utility of every private channel, with any number of outputs.
    audit : Audit
        The exact check of the privacy claim.
    rays : int
        Number of extreme rays.
    utility, privacy, inputs, mechanism : ExactUtility, Notion, tuple of hashable, Mechanism
        The statement and the mechanism, for `recheck`.
    prices : tuple of Fraction
        Multipliers of the answers: any numbers give a bound.
    """

    achieved: Fraction
    bound: Fraction
    audit: Audit
    rays: int
    utility: ExactUtility = field(repr=False)
    privacy: Any
    inputs: tuple[Hashable, ...] = field(repr=False)
    mechanism: Mechanism = field(repr=False)
    prices: tuple[Fraction, ...] = field(repr=False)

    @classmethod
    def of(
        cls,
        utility: ExactUtility,
        privacy: Any,
        inputs: Sequence[Hashable],
        mechanism: Mechanism,
        prices: Sequence[Fraction],
        rays: ColumnRays | None = None,
    ) -> RayCertificate:
        """Compute both numbers, and audit the mechanism; the rays are listed unless they are
        given.
        """
        require_kind(utility, ExactUtility, "RayCertificate.of()")
        require_kind(mechanism, Mechanism, "RayCertificate.of()")
        require_notion(privacy)
        prices = listed_items(prices, "prices")
        if len(prices) != len(mechanism.inputs) or any(type(p) is not Fraction for p in prices):
            raise StatementError(
                f"there are no {len(mechanism.inputs)} prices in rationals",
                code="prices",
                do="give a Fraction for each answer",
            )
        listed = whole_rays_of(privacy, inputs) if rays is None else rays
        return cls(
            achieved=achieved_by(utility, mechanism),
            bound=bound_over(utility, listed, prices),
            audit=mechanism.audit(privacy),
            rays=len(listed),
            utility=utility,
            privacy=privacy,
            inputs=tuple(inputs),
            mechanism=mechanism,
            prices=tuple(prices),
        )

    def recheck(self) -> RayCertificate:
        """Compute it once more, from the statement, the masses and the prices alone."""
        return self.of(self.utility, self.privacy, self.inputs, self.mechanism, self.prices)

    @property
    def gap(self) -> Fraction:
        """``bound - achieved``: no private channel improves the utility by more than this."""
        return self.bound - self.achieved

    def facts(self) -> Facts:
        """Both numbers, the number of rays, and the audit."""
        numbers = {"achieved": float(self.achieved), "bound": float(self.bound)}
        numbers |= {"gap": float(self.gap), "extreme rays": self.rays}
        return Facts(
            "Certificate of a private channel",
            [*numbers.items(), ("privacy", self.audit.verdict)],
        )


def achieved_by(utility: ExactUtility, mechanism: Mechanism) -> Fraction:
    """A rational that the utility of a mechanism is at least."""
    total = Fraction(0)
    for column in zip(*mechanism.masses.tolist(), strict=True):
        value = utility.value(column)
        if value is not None:  # an infinite value is at least any number
            total += value[0]
    return _on_grid(total / mechanism.denominator, -1)


def bound_over(utility: ExactUtility, rays: ColumnRays, prices: Sequence[Fraction]) -> Fraction:
    """A rational that the utility of every channel of these rays is at most.

    Raises
    ------
    ValueError
        If the utility is infinite at a ray.
    """
    most = Fraction(0)
    for ray in rays.whole.tolist():
        value = utility.value(ray)
        if value is None:
            raise ValueError("the utility is infinite at a ray")
        paid = sum(price * entry for price, entry in zip(prices, ray, strict=True) if entry)
        most = max(most, (value[1] - paid) / sum(ray))
    return _on_grid(sum(prices, Fraction(0)) + len(prices) * most, 1)


def _on_grid(value: Fraction, sign: int) -> Fraction:
    """The nearest multiple of the grid above (sign 1) or below (sign -1)."""
    return Fraction(sign * -(-sign * value.numerator * GRID // value.denominator), GRID)
