r"""Matrices of moments that are positive semidefinite for every set of answers to ``d`` questions
of two answers each.

With ``p`` the indicator of a set ``A``, ``x`` a uniform answer and ``y``, ``z`` answers at given
distances, moments are

.. math:: m = E\, p_x, \quad \phi_i = E\, p_x p_{x+y}\ (|y| = i), \quad
          \tau_{abc} = E\, p_x p_{x+y} p_{x+z}\ (|y| = a, |z| = b, |y - z| = c) .

Given that ``x`` is in ``A`` (or is not), ``E (1, p_{x+y}) (1, p_{x+z})`` is positive semidefinite.
Averaged over the exchanges of questions it falls into blocks of at most ``d + 2`` rows (Schrijver
2005). Given two answers at a distance ``a``, only exchanges among the ``a`` questions in which they
differ, and among the others, are left: blocks are products of those for ``a`` and for ``d - a``
questions (Gijswijt, Mittelmann and Schrijver 2012). Blocks of one row: the shares of the eight
patterns of membership of three answers, and ``(|A| - k)(|A| - k - 1)``. Theory: docs, "Products".
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import comb
from operator import itemgetter

import numpy as np

from ldpopt.certificate.integers import Integers, Rationals, product
from ldpopt.foundation.numbers import Float, Int

# number of sizes k of which the products of consecutive ones are used, for up to `LISTED` answers
SIZES = 40
LISTED = 512
Entry = tuple[int, int, int, int]  # row, column, number of a moment, coefficient


@cache
def lower_half(size: int) -> tuple[Int, Int]:
    """Rows and columns of the entries of a triangular matrix; a search asks for a few sizes
    thousands of times.
    """
    return np.tril_indices(size)


@dataclass(frozen=True, eq=False)
class MomentMatrix:
    """A symmetric matrix of linear forms of moments, the sum of its entries; each array has one
    number for each.
    """

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
    """The moments of sets of ``2**d`` answers, numbered, and the matrices of them that are positive
    semidefinite.

    ``apart`` are the distances of two given answers: for each, there are matrices with moments of
    four answers.
    """

    @staticmethod
    @lru_cache(maxsize=4)
    def of(d: int, apart: tuple[int, ...] = ()) -> "Moments":
        """The moments for ``d`` questions, made once."""
        return Moments(d, apart)

    def __init__(self, d: int, apart: tuple[int, ...] = ()) -> None:
        self.d, self.apart = d, apart
        # Number of matrices that are not single forms; they come first: for each block k of one
        # given answer 2 (in the set or not), for each pair of blocks of two given answers 3 (both
        # in it, one, none).
        self.squares = 2 * (d // 2 + 1) + sum(3 * (a // 2 + 1) * ((d - a) // 2 + 1) for a in apart)
        triples: list[tuple[int, ...]] = [(0, i, i) for i in range(d + 1)]
        triples += [
            (a, b, c)
            for a, b, c in itertools.combinations_with_replacement(range(1, d + 1), 3)
            if (a + b + c) % 2 == 0 and c <= min(a + b, 2 * d - a - b)
        ]
        # The number 0 is the constant 1, `1 + i` is phi_i with m = phi_0, the distances (0, i, i)
        # of two answers; then follow triples, ascending, then four answers.
        self.number = {triple: 1 + place for place, triple in enumerate(triples)}
        for a in apart:
            for inside, other in itertools.product(terms(a, 0), terms(d - a, 0)):
                # without the coefficient, the last of a term
                four = four_answers(a, inside[:3], other[:3])
                self.number.setdefault(four, len(self.number) + 1)

    def __len__(self) -> int:
        return 1 + len(self.number)  # the constant 1 has the number 0, and no key

    @cached_property
    def weights(self) -> Integers:
        """``2**d W_j`` as a combination of ``phi_i``: ``C(d, i) K_j(i)``, shape ``(d + 1, d +
        1)``.
        """
        d = self.d
        return np.array(
            [[krawtchouk(d, j, i) * comb(d, i) for i in range(d + 1)] for j in range(d + 1)],
            dtype=object,
        )

    @cached_property
    def blocks(self) -> list[MomentMatrix]:
        """All matrices, in the order of a certificate: given one answer, given two, then single
        forms.
        """
        pairs = itertools.chain.from_iterable(map(self._given_two, self.apart))
        every = itertools.chain(self._semidefinite(), pairs, self._patterns(), self._sizes())
        return [MomentMatrix(size, *np.array(entries, dtype=np.int64).T) for size, entries in every]

    @property
    def entries(self) -> int:
        """Number of entries of the lower triangles of all matrices."""
        return sum(block.entries for block in self.blocks)

    def combined(self, factors: Float) -> tuple[Integers, int]:
        """``sum tr(L^T M L)`` over the matrices ``M``: integer coefficients of the moments, and
        their denominator.
        """
        numbers = Rationals.of(factors)
        total = np.zeros(len(self), dtype=object)
        start = 0
        for block in self.blocks:
            lower = np.zeros((block.size, block.size), dtype=object)
            lower[lower_half(block.size)] = numbers.whole[start : start + block.entries]
            start += block.entries
            square = product(lower, lower.T) if block.size > 1 else lower * lower
            np.add.at(
                total,
                block.moments,
                block.factors.astype(object) * square[block.rows, block.columns],
            )
        return total, numbers.denominator**2

    def _semidefinite(self) -> Iterator[tuple[int, list[Entry]]]:
        """Blocks of the matrices given an answer in the set, or one outside."""
        d = self.d
        for k in range(d // 2 + 1):
            inside: list[Entry] = []
            outside: list[Entry] = [(0, 0, 0, 1), (0, 0, 1, -1)] * (k == 0)
            for i, j, t, factor in terms(d, k):
                place = (i - k, j - k)
                pair = 1 + i + j - 2 * t
                triple = self._triple(i, j, pair - 1)
                inside.append((*place, triple, factor))
                if min(i, j) > 0:
                    outside += [(*place, pair, factor), (*place, triple, -factor)]
                elif max(i, j) > 0:  # the constant has the place of the given answer
                    outside += [(*place, 1, factor), (*place, pair, -factor)]
            yield d - 2 * k + 1, inside
            yield d - 2 * k + 1, outside

    def _given_two(self, a: int) -> Iterator[tuple[int, list[Entry]]]:
        """Blocks of the matrices given two answers at a distance ``a``: both in the set, one of
        them, or none.
        """
        d = self.d
        for k, other in itertools.product(range(a // 2 + 1), range((d - a) // 2 + 1)):
            width = d - a - 2 * other + 1
            # The row of the second given answer, left out, is that of the first one or is 0.
            left_out = a * width if k == other == 0 else (a + 1) * width
            both: list[Entry] = []
            single: list[Entry] = []
            neither = self._constants(a) * (k == other == 0)
            for inside, outside in itertools.product(terms(a, k), terms(d - a, other)):
                (i, j, t, factor), (u, v, w, more) = inside, outside
                row = (i - k) * width + u - other
                column = (j - k) * width + v - other
                if left_out in (row, column):
                    continue
                place = (row - (row > left_out), column - (column > left_out))
                factor *= more
                pair = 1 + i + u + j + v - 2 * (t + w)
                near = self._triple(i + u, j + v, pair - 1)
                far = self._triple(a - i + u, a - j + v, pair - 1)
                all_four = self.number[four_answers(a, (i, j, t), (u, v, w))]
                both.append((*place, all_four, factor))
                single += [(*place, near, factor), (*place, all_four, -factor)]
                if min(i + u, j + v) > 0:
                    moments: tuple[tuple[int, int], ...]
                    moments = (pair, 1), (near, -1), (far, -1), (all_four, 1)
                elif max(i + u, j + v) > 0:  # the constant has the place of the first given answer
                    moments = self._beside_constant(a, i + j, u + v)
                else:
                    moments = ()
                neither += [(*place, moment, sign * factor) for moment, sign in moments]
            for entries in (both, single, neither):
                yield len({entry[0] for entry in entries}), entries

    def _constants(self, a: int) -> list[Entry]:
        """The share of pairs of answers at a distance ``a`` with none in the set: ``1 - 2 m +
        phi_a``.
        """
        return [(0, 0, 0, 1), (0, 0, 1, -2), (0, 0, self.number[0, a, a], 1)]

    def _beside_constant(self, a: int, near: int, beside: int) -> tuple[tuple[int, int], ...]:
        """Moments and their signs for an answer in the set, of ``near`` ones among the ``a``
        questions and ``beside`` others, if both given answers are not: ``m - phi - phi' + tau``.
        """
        distance = near + beside
        other = a - near + beside  # to the second given answer
        return (1, 1), (1 + distance, -1), (1 + other, -1), (self._triple(a, distance, other), 1)

    def _triple(self, *distances: int) -> int:
        """Number of the moment of three answers at given distances, in any order."""
        return self.number[tuple(sorted(distances))]

    def _patterns(self) -> Iterator[tuple[int, list[Entry]]]:
        """Shares of the patterns of membership of three answers."""
        for distances, triple in self.number.items():
            if len(distances) > 3:
                continue
            a, b, c = distances
            subsets = [0, 1, 1, 1 + a, 1, 1 + b, 1 + c, triple]  # by the bits of the answers in it
            for pattern in range(8 * (a > 0)):
                yield (
                    1,
                    [
                        (0, 0, subsets[q], (-1) ** (q ^ pattern).bit_count())
                        for q in range(8)
                        if q & pattern == pattern
                    ],
                )

    def _sizes(self) -> Iterator[tuple[int, list[Entry]]]:
        """``(|A| - k)(|A| - k - 1)``."""
        d = self.d
        n = 2**self.d
        for k in range(min(n, SIZES) if n <= LISTED else 0):
            square = [(0, 0, 1 + i, n * comb(d, i)) for i in range(d + 1)]
            yield 1, [*square, (0, 0, 1, -(2 * k + 1) * n), (0, 0, 0, k * (k + 1))]


def krawtchouk(d: int, j: int, i: int) -> int:
    """Sum of the characters of weight ``j`` at an answer of weight ``i``."""
    return sum((-1) ** a * comb(i, a) * comb(d - i, j - a) for a in range(j + 1))


def terms(d: int, k: int) -> Iterator[tuple[int, int, int, int]]:
    """``i, j, t`` and the coefficient, in block ``k``, of answers of weights ``i``, ``j`` with
    ``t`` common ones.
    """
    for i, j in itertools.product(range(k, d - k + 1), repeat=2):
        for t in range(max(0, i + j - d), min(i, j) + 1):
            coefficient = 0
            for u in range(max(t, k), min(i, j, d - k) + 1):
                ways = comb(d - 2 * k, u - k) * comb(d - k - u, i - u) * comb(d - k - u, j - u)
                coefficient += (-1) ** (u - t) * comb(u, t) * ways
            yield i, j, t, coefficient


# Four answers are described by the numbers of questions in which some of the last three differ from
# the first one: bits 1, 2 and 4. For two of the answers, the kinds of questions in which these
# differ; for an order, the kinds after.
DIFFERENT = {
    (x, y): [kind for kind in range(8) if (2 * kind >> x ^ 2 * kind >> y) & 1]
    for x, y in itertools.combinations(range(4), 2)
}
ORDERS = [
    itemgetter(
        *sorted(
            range(1, 8),
            key=lambda kind: [(2 * kind >> x ^ 2 * kind >> order[0]) & 1 for x in order[::-1]],
        )
    )
    for order in itertools.permutations(range(4))
]


@lru_cache(maxsize=1 << 16)
def four_answers(
    a: int, inside: tuple[int, int, int], other: tuple[int, int, int]
) -> tuple[int, ...]:
    """The same tuple for answers ``0, w, y, z`` in any order, shifted, and with questions
    exchanged.

    ``w`` has the weight ``a``; ``inside`` are the numbers of ones of ``y``, of ``z`` and of both in
    these ``a`` questions, ``other`` those in the other ones. If two answers are equal, it is the
    tuple of three distances.
    """
    (i, j, t), (u, v, w) = inside, other
    counts = [0, a - i - j + t, u - w, i - t, v - w, j - t, w, t]
    differ = {pair: sum(counts[kind] for kind in kinds) for pair, kinds in DIFFERENT.items()}
    for (_, last), distance in differ.items():
        if distance == 0:  # these two are equal
            return tuple(sorted(distance for pair, distance in differ.items() if last not in pair))
    return min(order(counts) for order in ORDERS)
