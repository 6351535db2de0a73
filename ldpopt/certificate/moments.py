r"""Matrices of moments that are positive semidefinite for every set of answers to ``d`` questions of two answers each.

With ``p`` the indicator of a set ``A``, ``x`` a uniform answer and ``y``, ``z`` answers at given distances, moments are

.. math:: m = E\, p_x, \quad \phi_i = E\, p_x p_{x+y}\ (|y| = i), \quad
          \tau_{abc} = E\, p_x p_{x+y} p_{x+z}\ (|y| = a, |z| = b, |y - z| = c) .

Given that ``x`` is in ``A`` (or is not), ``E (1, p_{x+y}) (1, p_{x+z})`` is positive semidefinite. Averaged over the
exchanges of questions it falls into blocks of at most ``d + 2`` rows (Schrijver 2005). Blocks of one row: the shares
of the eight patterns of membership of three answers, and ``(|A| - k)(|A| - k - 1)``. Theory: docs, "Products".
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb

import numpy as np

from ldpopt.certificate.integers import Integers, Rationals, product
from ldpopt.foundation.numbers import Float, Int

SIZES = 40  # number of sizes k of which the products of consecutive ones are used, for up to `LISTED` answers
LISTED = 512
Entry = tuple[int, int, int, int]  # row, column, number of a moment, coefficient


@dataclass(frozen=True, eq=False)
class Block:
    """A symmetric matrix of linear forms of moments, the sum of its entries; each array has one number for each."""

    size: int  # number of rows
    rows: Int
    columns: Int
    moments: Int  # number of the moment
    factors: Int  # its coefficient

    @property
    def entries(self) -> int:
        """Number of entries of a lower triangle."""
        return self.size * (self.size + 1) // 2


class Moments:
    """The moments of sets of ``2**d`` answers, numbered, and the matrices of them that are positive semidefinite."""

    @staticmethod
    @lru_cache(maxsize=4)
    def of(d: int) -> "Moments":
        """The moments for ``d`` questions, made once."""
        return Moments(d)

    def __init__(self, d: int) -> None:
        self.d, self.squares = d, 2 * (d // 2 + 1)  # number of matrices that are not single forms; they come first
        triples = [(0, i, i) for i in range(d + 1)]
        triples += [
            (a, b, c)
            for a, b, c in itertools.combinations_with_replacement(range(1, d + 1), 3)
            if (a + b + c) % 2 == 0 and c <= min(a + b, 2 * d - a - b)
        ]
        # The number 0 is the constant 1, `1 + i` is phi_i with m = phi_0; then follow the triples.
        self.number = {triple: 1 + place for place, triple in enumerate(triples)}

    def __len__(self) -> int:
        return 1 + len(self.number)

    @cached_property
    def weights(self) -> Integers:
        """``2**d W_j`` as a combination of ``phi_i``: ``C(d, i) K_j(i)``, shape ``(d + 1, d + 1)``."""
        d = self.d
        return np.array([[krawtchouk(d, j, i) * comb(d, i) for i in range(d + 1)] for j in range(d + 1)], dtype=object)

    @cached_property
    def blocks(self) -> list[Block]:
        """All matrices, in the order of a certificate."""
        every = itertools.chain(self._semidefinite(), self._patterns(), self._sizes())
        return [Block(size, *np.array(entries, dtype=np.int64).T) for size, entries in every]

    def combined(self, factors: Float) -> tuple[Integers, int]:
        """``sum tr(L^T M L)`` over the matrices ``M``: integer coefficients of the moments, and their denominator."""
        given = Rationals.of(factors)
        total, start = np.zeros(len(self), dtype=object), 0
        for block in self.blocks:
            lower = np.zeros((block.size, block.size), dtype=object)
            lower[np.tril_indices(block.size)] = given.whole[start : start + block.entries]
            start += block.entries
            square = product(lower, lower.T) if block.size > 1 else lower * lower
            np.add.at(total, block.moments, block.factors.astype(object) * square[block.rows, block.columns])
        return total, given.denominator**2

    def _semidefinite(self) -> Iterator[tuple[int, list[Entry]]]:
        """Blocks of the matrices given an answer in the set, or one outside."""
        d = self.d
        for k in range(d // 2 + 1):
            inside: list[Entry] = []
            outside: list[Entry] = [(0, 0, 0, 1), (0, 0, 1, -1)] * (k == 0)
            for i, j, t, factor in terms(d, k):
                place, pair = (i - k, j - k), 1 + i + j - 2 * t
                triple = self.number[tuple(sorted((i, j, pair - 1)))]  # type: ignore[index]
                inside.append((*place, triple, factor))
                if min(i, j) > 0:
                    outside += [(*place, pair, factor), (*place, triple, -factor)]
                elif max(i, j) > 0:  # the constant has the place of the given answer
                    outside += [(*place, 1, factor), (*place, pair, -factor)]
            yield d - 2 * k + 1, inside
            yield d - 2 * k + 1, outside

    def _patterns(self) -> Iterator[tuple[int, list[Entry]]]:
        """Shares of the patterns of membership of three answers."""
        for (a, b, c), triple in self.number.items():
            subsets = [0, 1, 1, 1 + a, 1, 1 + b, 1 + c, triple]  # by the bits of the answers in it
            for own in range(8 * (a > 0)):
                yield 1, [(0, 0, subsets[q], (-1) ** (q ^ own).bit_count()) for q in range(8) if q & own == own]

    def _sizes(self) -> Iterator[tuple[int, list[Entry]]]:
        """``(|A| - k)(|A| - k - 1)``."""
        d, n = self.d, 2**self.d
        for k in range(min(n, SIZES) if n <= LISTED else 0):
            square = [(0, 0, 1 + i, n * comb(d, i)) for i in range(d + 1)]
            yield 1, [*square, (0, 0, 1, -(2 * k + 1) * n), (0, 0, 0, k * (k + 1))]


def krawtchouk(d: int, j: int, i: int) -> int:
    """Sum of the characters of weight ``j`` at an answer of weight ``i``."""
    return sum((-1) ** a * comb(i, a) * comb(d - i, j - a) for a in range(j + 1))


def terms(d: int, k: int) -> Iterator[tuple[int, int, int, int]]:
    """``i, j, t`` and the coefficient, in block ``k``, of answers of weights ``i``, ``j`` with ``t`` common ones."""
    for i, j in itertools.product(range(k, d - k + 1), repeat=2):
        for t in range(max(0, i + j - d), min(i, j) + 1):
            found = 0
            for u in range(max(t, k), min(i, j, d - k) + 1):
                ways = comb(d - 2 * k, u - k) * comb(d - k - u, i - u) * comb(d - k - u, j - u)
                found += (-1) ** (u - t) * comb(u, t) * ways
            yield i, j, t, found
