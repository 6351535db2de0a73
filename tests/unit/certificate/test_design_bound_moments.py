"""The bound by moments: true moments of sets in integers, the condition for every set, forged
multipliers."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from ldpopt.certificate.moments import Moments, four_answers
from ldpopt.certificate.scheme import Scheme


def weight_of(d: int) -> Any:
    return np.array([x.bit_count() for x in range(2**d)])


def distances(answers: tuple[int, ...]) -> list[list[int]]:
    return [[(x ^ y).bit_count() for y in answers] for x in answers]


@functools.cache
def kinds_of_tuples(
    d: int, apart: tuple[int, ...]
) -> dict[tuple[int, ...], list[tuple[int, int, int]]]:
    """All ``(w, y, z)`` by what they are up to the order of the answers, shifts and exchanges of
    questions.

    Three answers have the same kind if they have the same distances; four, if the numbers of
    questions in which they differ in each way are the same in some order.
    """
    found: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
    for w, y, z in itertools.product(range(2**d if apart else 1), range(2**d), range(2**d)):
        if len({0, w, y, z}) < 4:
            far = distances((0, y, z))
            key = tuple(sorted((far[0][1], far[0][2], far[1][2])))
            if w == 0:
                found.setdefault(key, []).append((w, y, z))
        elif any(x.bit_count() in apart for x in (w, y, z, w ^ y, w ^ z, y ^ z)):
            orders = itertools.permutations((0, w, y, z))
            key = min(
                tuple(sorted(tuple((x ^ order[0]) >> bit & 1 for x in order) for bit in range(d)))
                for order in orders
            )
            found.setdefault(tuple(itertools.chain.from_iterable(key)), []).append((w, y, z))
    return found


def true_moments(d: int, inside: Any, apart: tuple[int, ...] = ()) -> list[F]:
    """Averages over all answers and all tuples of a kind, by definition."""
    moments = Moments.of(d, apart)
    x = np.arange(2**d)
    found = [F(1)] + [F(-1)] * (len(moments) - 1)
    for tuples in kinds_of_tuples(d, apart).values():
        w, y, z = np.array(tuples).T[:, :, None]
        share = F(
            int((inside[x] & inside[x ^ w] & inside[x ^ y] & inside[x ^ z]).sum()),
            2**d * len(tuples),
        )
        w, y, z = tuples[0]
        if w == 0:
            key: tuple[int, ...] = tuple(
                sorted((y.bit_count(), z.bit_count(), (y ^ z).bit_count()))
            )
        else:
            first = next(
                order
                for order in itertools.permutations((0, w, y, z))
                if distances(order)[0][1] in apart
            )
            w, y, z = (answer ^ first[0] for answer in first[1:])
            own, other = (
                ((y & part).bit_count(), (z & part).bit_count(), (y & z & part).bit_count())
                for part in (w, ~w & 2**d - 1)
            )
            key = four_answers(w.bit_count(), own, other)
        assert found[moments.number[key]] == -1  # no other kind has this number
        found[moments.number[key]] = share
    assert min(found) >= 0
    return found


def is_semidefinite(matrix: list[list[F]]) -> bool:
    """By elimination in fractions."""
    for k in range(len(matrix)):
        if matrix[k][k] < 0 or (matrix[k][k] == 0 and any(matrix[k][k:])):
            return False
        for i in range(k + 1, len(matrix)):
            if matrix[k][k]:
                factor = matrix[i][k] / matrix[k][k]
                matrix[i] = [
                    own - factor * other for own, other in zip(matrix[i], matrix[k], strict=True)
                ]
    return True


def values(block: Any, moments: list[F]) -> list[list[F]]:
    found = [[F(0)] * block.size for _ in range(block.size)]
    for i, j, moment, factor in zip(
        block.rows, block.columns, block.moments, block.factors, strict=True
    ):
        found[i][j] += int(factor) * moments[moment]
    return found


@pytest.mark.parametrize(
    "d, apart",
    [
        (3, ()),
        (3, (1, 2, 3)),
        (4, (2,)),
        (5, ()),
        pytest.param(7, (), marks=pytest.mark.long),
        pytest.param(4, (1, 2, 3, 4), marks=pytest.mark.long),
        pytest.param(5, (1, 2, 3, 4, 5), marks=pytest.mark.long),
    ],
)
def test_true_moments_of_sets_satisfy_every_matrix_exactly(d: int, apart: tuple[int, ...]) -> None:
    rng = np.random.default_rng(d)
    share = rng.choice([0.1, 0.5, 0.8])
    sets = [rng.random(2**d) < share, weight_of(d) <= rng.integers(d), rng.permutation(2**d) == 0]
    for inside in sets:
        moments = true_moments(d, inside, apart)
        for block in Moments.of(d, apart).blocks:
            found = values(block, moments)
            assert found == [list(row) for row in zip(*found, strict=True)]
            assert is_semidefinite(found)
        weights = [
            sum(int(c) * m for c, m in zip(row, moments[1:], strict=False))
            for row in Moments.of(d).weights
        ]
        energies = Scheme((2,) * d).energies(inside[None].astype(float)).ravel()
        expected = np.bincount(weight_of(d), energies)
        np.testing.assert_allclose([float(own) / 2**d for own in weights], expected, atol=1e-12)


def test_moments_that_no_set_has_are_refused() -> None:
    """Of a function with values 1/2: its squares are not its values."""
    half = [F(1, 2) ** power for power in [0, 1, *[2] * 4, *[3] * (len(Moments.of(4)) - 6)]]
    half[2:6] = [F(1, 8)] * 4
    assert not all(is_semidefinite(values(block, half)) for block in Moments.of(4).blocks)
