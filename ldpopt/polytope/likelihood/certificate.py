"""The certificate of a best channel for a likelihood ratio: two rationals, and what proves them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ldpopt.auditing.audits import Audit
from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.display import Facts, HasFacts
from ldpopt.foundation.numbers import listed_items, require_kind
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.polytope.likelihood.bound import (
    LikelihoodPair,
    Membership,
    Pricing,
    PureCone,
    utility_of,
)
from ldpopt.privacy import PureLDP


@dataclass(frozen=True, eq=False)
class ConvexCertificate(HasFacts):
    r"""A proof that no private channel is better than a mechanism by more than a gap.

    Distributions are shares: their floats, exactly, divided by their exact sum. Logarithms,
    exponentials and roots are enclosed by rationals, and ``e**-epsilon`` is rounded down, so that
    both numbers hold for the real utility and the real epsilon.

    Attributes
    ----------
    achieved : Fraction
        At most the utility of the mechanism's integer masses.
    bound : Fraction
        At least the utility of every private channel, with any number of outputs.
    audit : Audit
        The exact check of the privacy claim.
    pair, epsilon, mechanism : LikelihoodPair, Budget, Mechanism
        The statement and the mechanism, for `recheck`.
    prices : tuple of Fraction
        Multipliers of the answers: any numbers give a bound.
    declared : tuple of Membership
        For each answer, the slopes of f between which its tangent plane is above its price.
    """

    achieved: Fraction
    bound: Fraction
    audit: Audit
    pair: LikelihoodPair = field(repr=False)
    epsilon: Budget
    mechanism: Mechanism = field(repr=False)
    prices: tuple[Fraction, ...] = field(repr=False)
    declared: tuple[Membership, ...] = field(repr=False)

    @classmethod
    def of(
        cls,
        pair: LikelihoodPair,
        epsilon: Budget,
        mechanism: Mechanism,
        prices: Sequence[Fraction],
        declared: Sequence[Membership],
    ) -> "ConvexCertificate":
        """Compute both numbers, and audit the mechanism."""
        require_kind(pair, LikelihoodPair, "ConvexCertificate.of()", "pass ConvexUtility.pair")
        require_kind(mechanism, Mechanism, "ConvexCertificate.of()")
        epsilon = Budget(epsilon)
        prices = listed_items(prices, "prices")
        declared = listed_items(declared, "declared")
        n = len(pair.z)
        are_parts = all(type(price) is Fraction for price in prices) and all(
            isinstance(member, Membership) for member in declared
        )
        if not are_parts or not len(prices) == len(declared) == n == len(mechanism.inputs):
            raise StatementError(
                f"prices and sets are not {n} of each",
                code="prices",
                do="give a Fraction and a Membership for each answer",
            )
        cone = PureCone.of(epsilon, pair.exact_form)
        achieved = utility_of(pair, mechanism.masses.tolist(), mechanism.denominator, cone.fixed)
        bound = Pricing.of(pair, cone, prices, declared).bound
        audit = PureLDP(epsilon).audit(mechanism)
        proof = (tuple(prices), tuple(declared))
        return cls(achieved, bound, audit, pair, epsilon, mechanism, *proof)

    def recheck(self) -> "ConvexCertificate":
        """Compute it once more, from the statement, the masses and the prices alone."""
        return self.of(self.pair, self.epsilon, self.mechanism, self.prices, self.declared)

    @property
    def gap(self) -> Fraction:
        """``bound - achieved``: no private channel improves the utility by more than this."""
        return self.bound - self.achieved

    def __repr__(self) -> str:
        """Both numbers and the gap as floats; the attributes are exact."""
        numbers = f"achieved={float(self.achieved):.12g}, bound={float(self.bound):.12g}"
        return f"ConvexCertificate({numbers}, gap={float(self.gap):.2g}, {self.audit.verdict})"

    def facts(self) -> Facts:
        """Both numbers and the audit."""
        numbers: dict[str, Any] = {"achieved": float(self.achieved), "bound": float(self.bound)}
        numbers |= {"gap": float(self.gap), "audit": self.audit.verdict}
        return Facts("Certificate of a private channel", [*numbers.items()])
