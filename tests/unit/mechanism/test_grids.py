"""Numbers that are rounded to a grid at random: the law of a report is an exact mixture of audited
rows, and the draws have it."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpopt import SecretKey
from ldpopt.mechanism.exact_draws import TOTAL
from ldpopt.mechanism.grids import RoundingGrid
from ldpopt.mechanism.keyed import KeyedDraws
from ldpopt.tables.coding import MISSING

DIGEST = "00" * 32
POINTS = (3, 9, 23, 43)
GRID = RoundingGrid(POINTS, range(3, 44, 2), others=1)


def plain_rounding(points: tuple[int, ...], number: int) -> dict[int, Fraction]:
    """The point or the two points around a number, with their probabilities."""
    if number in points:
        return {number: Fraction(1)}
    low = max(point for point in points if point < number)
    high = min(point for point in points if point > number)
    return {low: Fraction(high - number, high - low), high: Fraction(number - low, high - low)}


@given(st.data())
def test_the_law_of_a_number_is_the_mixture_of_two_rows(data: st.DataObject) -> None:
    step = data.draw(st.integers(1, 5))
    numbers = range(2, 2 + step * data.draw(st.integers(3, 40)), step)
    inner = data.draw(st.sets(st.sampled_from(numbers[1:-1]), max_size=6))
    points = (numbers[0], *sorted(inner), numbers[-1])
    grid = RoundingGrid(points, numbers, others=1)
    rows = np.random.default_rng(1).integers(1, 2**40, size=(len(points) + 1, 3))
    for code, number in enumerate(numbers):
        law = plain_rounding(points, number)
        expected = [
            sum(share * int(rows[points.index(point)][y]) for point, share in law.items())
            for y in range(3)
        ]
        assert grid.masses(code, rows) == expected
        mean = sum(share * point for point, share in law.items())
        assert mean == number
        variance = sum(share * (point - number) ** 2 for point, share in law.items())
        step_of_grid = max(law) - min(law)
        assert variance <= Fraction(step_of_grid, 2) ** 2
    assert grid.masses(len(numbers), rows) == rows[-1].tolist()


def test_shares_of_the_points_are_the_expected_ones_and_spread_back() -> None:
    answers = np.random.default_rng(2).dirichlet(np.ones(22))
    expected = np.zeros(5)
    for code, number in enumerate(GRID.numbers):
        for point, share in plain_rounding(POINTS, number).items():
            expected[POINTS.index(point)] += answers[code] * float(share)
    expected[4] = answers[21]
    np.testing.assert_allclose(GRID.shares(answers), expected, atol=1e-15)
    spread = GRID.spread(expected)
    assert spread.sum() == pytest.approx(1)
    assert spread[21] == answers[21]
    np.testing.assert_allclose(GRID.shares(GRID.spread(np.full(5, 0.2))).sum(), 1)
    ends = GRID.spread(np.array([0.5, 0.0, 0.0, 0.3, 0.2]))
    assert ends[GRID.numbers.index(9)] == ends[GRID.numbers.index(23)] == 0.0


def chi_square(codes: np.ndarray, number: int) -> float:
    """Distance of the drawn points from their law, with one degree of freedom."""
    law = plain_rounding(POINTS, number)
    seen = Counter(codes.tolist())
    assert set(seen) <= {POINTS.index(point) for point in law}
    means = {POINTS.index(point): float(share) * len(codes) for point, share in law.items()}
    return sum((seen[place] - mean) ** 2 / mean for place, mean in means.items())


@pytest.mark.parametrize("number", [3, 5, 11, 21, 23, 29, 43])
def test_draws_have_the_law(number: int) -> None:
    codes = np.full(20_000, GRID.numbers.index(number))
    keyed = KeyedDraws(SecretKey(bytes(32)), "age", [f"{k}".encode() for k in range(20_000)])
    for source in (np.random.default_rng(3), keyed, None):
        assert chi_square(GRID.place(codes, source, DIGEST), number) < 24  # chance 1e-6


def test_a_record_has_its_own_words() -> None:
    codes = np.array([0, 1, 1, 21, MISSING, 20, 7] * 50)
    whole = GRID.place(codes, np.random.default_rng(4), DIGEST)
    rng = np.random.default_rng(4)
    parts = [GRID.place(part, rng, DIGEST) for part in np.split(codes, [3, 10, 200])]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(whole[codes == MISSING], MISSING)
    np.testing.assert_array_equal(whole[codes == 21], 4)
    ids = [f"{k}".encode() for k in range(len(codes))]
    key = SecretKey(bytes(32))
    keyed = GRID.place(codes, KeyedDraws(key, "age", ids), DIGEST)
    order = np.random.default_rng(5).permutation(len(codes))
    mixed = KeyedDraws(key, "age", [ids[place] for place in order])
    np.testing.assert_array_equal(GRID.place(codes[order], mixed, DIGEST), keyed[order])
    other = GRID.place(codes, KeyedDraws(key, "age", ids), "11" * 32)
    assert (other != keyed).any()  # another mechanism has other draws


class LateWords(KeyedDraws):
    """The first words lie in the last, incomplete period."""

    def streams(self, digest, codes):  # type: ignore[no-untyped-def]
        words = iter([TOTAL - 1, TOTAL - 1, 1, 0])

        def give(rows, count):  # type: ignore[no-untyped-def]
            taken = [next(words) for _ in rows]
            return np.array(taken, dtype=np.uint64)[:, None] << np.uint64(11)

        return give


def test_words_in_an_incomplete_period_are_drawn_again() -> None:
    """Between 9 and 23 a word decides modulo 14, and TOTAL is no multiple of it."""
    assert TOTAL % 14
    late = LateWords(SecretKey(bytes(32)), "age", [b"a", b"b"])
    codes = np.array([GRID.numbers.index(11), GRID.numbers.index(9)])
    assert GRID.place(codes, late, DIGEST).tolist() == [2, 1]
