r"""The functions f of likelihood ratios in integers: enclosures with a given number of bits.

No line is shared with `forms`, which searches in floats. As there, f enters less its
tangent: :math:`\mu(c) = q \cdot c \; g(z \cdot c / q \cdot c)`. A real v is enclosed by integers
``low <= 2**bits v <= high``.
"""

import math
from abc import ABC, abstractmethod
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import lru_cache

Enclosure = tuple[int, int]
DIGITS_PER_BIT = math.log10(2)
SPARE_DIGITS = 12


class ExactForm(ABC):
    """One convex g, with its slope and its conjugate, rounded outward."""

    has_steep_slopes = False  # whether large ratios differ in the last bits of their slopes only

    @abstractmethod
    def value(self, z: int, q: int, unit: int, bits: int) -> Enclosure:
        """Enclose :math:`q g(z/q)` for masses z and q over a unit, ``q > 0``."""

    @abstractmethod
    def slope(self, z: int, q: int, bits: int) -> Enclosure:
        """Enclose the subgradients of g at ``z/q``, ``q > 0``."""

    @abstractmethod
    def conjugate(self, u: int, bits: int) -> Enclosure:
        r"""Enclose :math:`g^*(u) = \max_r u r - g(r)` at ``u / 2**bits``."""

    @abstractmethod
    def ratio(self, u: int, bits: int) -> Enclosure:
        """Enclose the derivative of the conjugate."""


class SquaredRatio(ExactForm):
    """``r**2``: chi-square and Fisher information."""

    def value(self, z: int, q: int, unit: int, bits: int) -> Enclosure:
        """See the base class."""
        return _divided((z * z) << bits, q * unit)

    def slope(self, z: int, q: int, bits: int) -> Enclosure:
        """``2 r``."""
        return _divided(z << (bits + 1), q)

    def conjugate(self, u: int, bits: int) -> Enclosure:
        """``u**2 / 4``."""
        return _divided(u * u, 4 << bits)

    def ratio(self, u: int, bits: int) -> Enclosure:
        """``u / 2``."""
        return _divided(u, 2)


class Hellinger(ExactForm):
    """``(sqrt(1 + r) - 1)**2``: squared Hellinger distance."""

    has_steep_slopes = True

    def value(self, z: int, q: int, unit: int, bits: int) -> Enclosure:
        """``q g(z / q) = p + q - 2 sqrt(p q)`` with ``p = q + z``, in units of ``1 / 2**bits``."""
        p = q + z
        product = (p * q) << (2 * bits)
        root = math.isqrt(product)
        # the root is rounded down by less than 1: the value is at most `high`, and above high - 2
        high = ((p + q) << bits) - 2 * root
        return _outward(high - 2, high, unit)

    def slope(self, z: int, q: int, bits: int) -> Enclosure:
        """``1 - sqrt(q / p)``."""
        square = (q << (2 * bits)) // (q + z)
        high = (1 << bits) - math.isqrt(square)
        return high - 1, high

    def conjugate(self, u: int, bits: int) -> Enclosure:
        """``u**2 / (1 - u)``."""
        return _divided(u * u, (1 << bits) - u)

    def ratio(self, u: int, bits: int) -> Enclosure:
        """``u (2 - u) / (1 - u)**2``."""
        unit = 1 << bits
        part = u * (2 * unit - u)
        return _divided(part << bits, (unit - u) ** 2)


class TotalVariation(ExactForm):
    """``|r| / 2``."""

    def value(self, z: int, q: int, unit: int, bits: int) -> Enclosure:
        """See the base class."""
        return _divided(abs(z) << bits, 2 * unit)

    def slope(self, z: int, q: int, bits: int) -> Enclosure:
        """Minus or plus one half; between them at the kink."""
        half = 1 << (bits - 1)
        low = half if z > 0 else -half
        high = -half if z < 0 else half
        return low, high

    def conjugate(self, u: int, bits: int) -> Enclosure:
        """0, between the slopes."""
        return 0, 0

    def ratio(self, u: int, bits: int) -> Enclosure:
        """0: at the slopes themselves, the derivative from the inside."""
        return 0, 0


class KullbackLeibler(ExactForm):
    """``(1 + r) log(1 + r) - r``."""

    def value(self, z: int, q: int, unit: int, bits: int) -> Enclosure:
        """``p log(p / q) - z``."""
        p = q + z
        if p == 0:
            return _divided(q << bits, unit)
        low, high = _log(p, q, bits)
        difference = z << bits
        return _outward(p * low - difference, p * high - difference, unit)

    def slope(self, z: int, q: int, bits: int) -> Enclosure:
        """``log(p / q)``."""
        return _log(q + z, q, bits)

    def conjugate(self, u: int, bits: int) -> Enclosure:
        """``exp(u) - 1 - u``."""
        low, high = self.ratio(u, bits)
        return max(low - u, 0), high - u

    def ratio(self, u: int, bits: int) -> Enclosure:
        """``exp(u) - 1``."""
        return _exponential(u, bits)


def _divided(part: int, by: int) -> Enclosure:
    """Floor and ceiling of a quotient."""
    return _outward(part, part, by)


def _outward(low: int, high: int, by: int) -> Enclosure:
    """Quotients of two ends, rounded outward."""
    return low // by, -(-high // by)


def _digits(bits: int) -> Context:
    """Decimals with more digits than these bits; Python rounds their functions correctly."""
    digits = math.ceil(bits * DIGITS_PER_BIT)
    return Context(prec=digits + SPARE_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _log(p: int, q: int, bits: int) -> Enclosure:
    """Enclose ``log(p / q)``."""
    if p == q:
        return 0, 0
    size = abs(p.bit_length() - q.bit_length()) + 1
    digits = _digits(bits + size.bit_length())
    with localcontext(digits):
        ratio = Decimal(p) / Decimal(q)
        log = ratio.ln() * (1 << bits)
    return math.floor(log) - 1, math.ceil(log) + 1


@lru_cache(maxsize=65536)
def _exponential(u: int, bits: int) -> Enclosure:
    """Enclose ``exp(u / 2**bits) - 1``."""
    if u == 0:
        return 0, 0
    whole = max(0, u >> bits)  # twice as many bits as the exponential itself has
    with localcontext(_digits(bits + 2 * whole + 16)):
        exponent = Decimal(u) / (1 << bits)
        power = (exponent.exp() - 1) * (1 << bits)
    return math.floor(power) - 1, math.ceil(power) + 1


EXACT_FORMS: dict[str, ExactForm] = {
    "kl": KullbackLeibler(),
    "chi_square": SquaredRatio(),
    "fisher": SquaredRatio(),
    "squared_hellinger": Hellinger(),
    "total_variation": TotalVariation(),
}
