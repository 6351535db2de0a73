r"""More digits for a proof: prices and slopes from floats are corrected in fixed-point numbers.

It is search: `bound` takes any prices and slopes.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from ldpopt.foundation.budget import Budget
from ldpopt.polytope.likelihood.bound import LikelihoodPair, Membership, Pricing, PureCone

PASSES = 3  # each lifts the prices by less; two leave no digit of a float
LARGEST_STEP = 20  # bits of the slopes' range beyond which a step of Newton is not taken
FINEST = Fraction(1, 2**60)  # of the total: a lift this small is not worth another pass


def polished(
    pair: LikelihoodPair,
    budget: Budget,
    prices: Sequence[Fraction],
    declared: Sequence[Membership],
) -> tuple[list[Fraction], list[Membership]]:
    """Prices raised by the least number that the sets allow, and slopes at their zeros."""
    cone = PureCone.of(budget, pair.exact_form)
    for _ in range(PASSES):
        pricing = _at_zeros(Pricing.of(pair, cone, prices, declared))
        unit = 1 << cone.fixed
        declared = [Membership(Fraction(a, unit), Fraction(c, unit)) for a, c in pricing.borders]
        pricing = Pricing.of(pair, cone, prices, declared)
        n = len(prices)
        lifts = (part / cone.column_sum(n, size) for part, size in pricing.excesses if size)
        lift = max(lifts, default=Fraction(0))
        prices = [price + lift for price in prices]
        if abs(lift) * n <= FINEST * abs(sum(prices, Fraction(0))):
            break
    return list(prices), list(declared)


def _at_zeros(pricing: Pricing) -> Pricing:
    """One step of Newton for each border within the range."""
    low, high = pricing.ends
    borders = []
    for x, (enter, leave) in enumerate(pricing.borders):
        if enter < leave:
            enter = enter if enter == low else _zero(pricing, x, enter)
            leave = leave if leave == high else _zero(pricing, x, leave)
        borders.append((enter, leave))
    return replace(pricing, borders=tuple(borders))


def _zero(pricing: Pricing, x: int, u: int) -> int:
    """The slope at which the tangent of an answer's plane is at its price, if it is near."""
    low, high = pricing.ends
    rise = sum(pricing.derivative(x, u))
    if rise == 0:
        return u
    above = sum(pricing.above(x, u))
    step = (above << pricing.cone.fixed) // rise
    return u - step if abs(step) << LARGEST_STEP <= high - low else u
