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
from numpy.typing import NDArray

from ldpopt.certificate.integers import Integers, Rationals, product
from ldpopt.foundation.numbers import Float

SIZES = 40  # number of sizes k of which the products of consecutive ones are used, for up to `LISTED` answers
LISTED = 512
Form = dict[int, int]  # a linear form: coefficient by the number of the moment


@dataclass(frozen=True, eq=False)
class Block:
    """A symmetric matrix of linear forms of moments, the sum of its entries; each array has one number for each."""

    size: int  # number of rows
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    moments: NDArray[np.int64]  # number of the moment
    factors: NDArray[np.int64]  # its coefficient

    @property
    def entries(self) -> int:
        """Number of entries of a lower triangle."""
        return self.size * (self.size + 1) // 2

    @classmethod
    def of(cls, matrix: list[list[Form]]) -> "Block":
        """A matrix of linear forms."""
        parts = [
            (i, j, moment, factor)
            for i, row in enumerate(matrix)
            for j, form in enumerate(row)
            for moment, factor in form.items()
            if factor
        ]
        return cls(len(matrix), *np.array(parts, dtype=np.int64).reshape(-1, 4).T)


class Moments:
    """The moments of sets of ``2**d`` answers, numbered, and the matrices of them that are positive semidefinite."""

    @staticmethod
    @lru_cache(maxsize=4)
    def of(d: int) -> "Moments":
        """The moments for ``d`` questions, made once."""
        return Moments(d)

    def __init__(self, d: int) -> None:
        self.d = d
        triples = [(0, i, i) for i in range(d + 1)]
        distances = range(1, d + 1)
        triples += [
            (a, b, c)
            for a in distances
            for b in range(a, d + 1)
            for c in range(b, min(a + b, 2 * d - a - b) + 1)
            if (a + b + c) % 2 == 0
        ]
        # The number 0 is the constant 1, `1 + i` is phi_i with m = phi_0; then follow the triples.
        self.number = {triple: 1 + place for place, triple in enumerate(triples)}

    def __len__(self) -> int:
        return 1 + len(self.number)

    def place(self, a: int, b: int, c: int) -> int:
        """Number of the moment of three answers with these distances from each other."""
        return self.number[tuple(sorted((a, b, c)))]  # type: ignore[index]

    @property
    def weights(self) -> NDArray[np.object_]:
        """``2**d W_j`` as a combination of ``phi_i``: ``C(d, i) K_j(i)``, shape ``(d + 1, d + 1)``."""
        d = self.d
        kravchuk = [[krawtchouk(d, j, i) * comb(d, i) for i in range(d + 1)] for j in range(d + 1)]
        return np.array(kravchuk, dtype=object)

    @cached_property
    def blocks(self) -> list[Block]:
        """All matrices, in the order of a certificate."""
        return [Block.of(matrix) for matrix in (*self._semidefinite(), *self._patterns(), *self._sizes())]

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

    def _semidefinite(self) -> Iterator[list[list[Form]]]:
        """Blocks of the matrices given an answer in the set, or one outside."""
        d = self.d
        for k in range(d // 2 + 1):
            size = d - 2 * k + 1
            inside: list[list[Form]] = [[{} for _ in range(size)] for _ in range(size)]
            outside: list[list[Form]] = [[{} for _ in range(size)] for _ in range(size)]
            for i, j, t, factor in terms(d, k):
                triple, pair = self.place(i, j, i + j - 2 * t), 1 + i + j - 2 * t
                _add(inside[i - k][j - k], triple, factor)
                _add(outside[i - k][j - k], pair, factor)
                _add(outside[i - k][j - k], triple, -factor)
            yield inside
            if k == 0:  # with a row for the constant in place of the one for x, which is 0
                border = [{1: comb(d, i), 1 + i: -comb(d, i)} for i in range(1, d + 1)]
                outside = [
                    [{0: 1, 1: -1}, *border],
                    *([e, *row[1:]] for e, row in zip(border, outside[1:], strict=True)),
                ]
            yield outside

    def _patterns(self) -> Iterator[list[list[Form]]]:
        """Shares of the patterns of membership of three answers."""
        for (a, b, c), triple in self.number.items():
            subsets = [0, 1, 1, 1 + a, 1, 1 + b, 1 + c, triple]  # by the bits of the answers in it
            for pattern in range(8 * (a > 0)):
                form: Form = {}
                for subset in range(8):
                    if subset & pattern == pattern:
                        _add(form, subsets[subset], (-1) ** (subset ^ pattern).bit_count())
                yield [[form]]

    def _sizes(self) -> Iterator[list[list[Form]]]:
        """``(|A| - k)(|A| - k - 1)``."""
        d, n = self.d, 2**self.d
        for k in range(min(n, SIZES) if n <= LISTED else 0):
            form = {1 + i: n * comb(d, i) for i in range(d + 1)}
            _add(form, 1, -(2 * k + 1) * n)
            _add(form, 0, k * (k + 1))
            yield [[form]]


def _add(form: Form, moment: int, factor: int) -> None:
    form[moment] = form.get(moment, 0) + factor


def krawtchouk(d: int, j: int, i: int) -> int:
    """Sum of the characters of weight ``j`` at an answer of weight ``i``."""
    return sum((-1) ** a * comb(i, a) * comb(d - i, j - a) for a in range(j + 1))


def terms(d: int, k: int) -> Iterator[tuple[int, int, int, int]]:
    """``i, j, t`` and the coefficient, in block ``k``, of two answers of weights ``i``, ``j`` with ``t`` common ones."""
    for i, j in itertools.product(range(k, d - k + 1), repeat=2):
        for t in range(max(0, i + j - d), min(i, j) + 1):
            yield (
                i,
                j,
                t,
                sum(
                    (-1) ** (u - t)
                    * comb(u, t)
                    * comb(d - 2 * k, u - k)
                    * comb(d - k - u, i - u)
                    * comb(d - k - u, j - u)
                    for u in range(max(t, k), min(i, j, d - k) + 1)
                ),
            )
