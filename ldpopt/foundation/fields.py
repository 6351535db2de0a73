"""Finite fields: their elements as vectors modulo a prime, powers of a generator, and traces."""

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from ldpopt.foundation.numbers import Int


@dataclass(frozen=True, eq=False)
class Field:
    """The field of ``q = p**e`` elements, which are vectors of length ``e`` modulo ``p``."""

    p: int
    e: int
    powers: Int  # 1, a, a**2, ... for a generator a, shape (q - 1, e)

    @property
    def elements(self) -> Int:
        """All elements, zero first, shape ``(q, e)``."""
        return np.vstack([np.zeros((1, self.e), np.int64), self.powers])

    def numbers(self, elements: Int) -> Int:
        """Numbers whose digits in base ``p`` are the elements."""
        return np.asarray((elements % self.p) @ self.p ** np.arange(self.e))

    def trace(self, exponents: Int, size: int) -> Int:
        """Trace of powers of the generator down to the subfield of ``size`` elements."""
        total = np.zeros((len(exponents), self.e), np.int64)
        power = 1
        for _ in range(round(np.log(self.p**self.e) / np.log(size))):
            total += self.powers[exponents * power % len(self.powers)]
            power = power * size % len(self.powers)
        return np.asarray(total % self.p)


def prime_power(q: int) -> tuple[int, int] | None:
    """The prime ``p`` and the exponent ``e`` of ``q = p**e``; None if ``q`` is no such power."""
    p = next((d for d in range(2, q + 1) if q % d == 0), 1)
    e = round(np.log(q) / np.log(p)) if p > 1 else 0
    return (p, e) if q >= 2 and p**e == q else None


@cache
def field(q: int) -> Field | None:
    """The field of ``q`` elements; None if ``q`` is not a power of a prime."""
    if (power := prime_power(q)) is None:
        return None
    p, e = power
    for tail in product(range(p), repeat=e):
        if (powers := _powers(np.array(tail, np.int64), p, q)) is not None:
            return Field(p, e, powers)
    raise AssertionError("every finite field has a generator")


def _powers(tail: Int, p: int, q: int) -> Int | None:
    """Powers of ``a`` with ``a**e`` the vector ``tail``; None unless they are all elements but
    zero.
    """
    e = len(tail)
    if not tail[0]:
        return None  # multiples of the polynomial a have no constant term: a is not invertible
    element = np.zeros(e, np.int64)
    element[0] = 1
    powers = [element]
    for _ in range(q - 2):
        last, element = element[-1], np.concatenate([[0], element[:-1]])
        element = (element + last * tail) % p
        if np.array_equal(element, powers[0]):
            return None
        powers.append(element)
    return np.array(powers)
