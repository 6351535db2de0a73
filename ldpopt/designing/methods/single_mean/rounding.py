"""Integer masses with exactly the right means.

Report values are integer multiples of a small step. Rounding changes the sum and the mean of a row; the masses of two
common reports are changed to correct both up to a remainder, and those of a few rare reports, whose values differ by
powers of 256 steps, to correct the remainder.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.integers import Rationals
from ldpopt.designing.methods.single_mean.program import MeanProgram
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import Deadline
from ldpopt.foundation.numbers import Float

MASSES = 1 << 53  # sum of the masses of a row
FINE = 22  # bits of the grid of report values, relative to the largest
LARGEST = 44  # largest number of bits of a report value in steps
DIGIT = 256  # the values of rare reports differ by its powers, in steps
# Factors of the gap of the last program, in turn: a rough solution may violate its equations by more than masses can
# correct
PRECISIONS = (1.0, 1e-2, 1e-4)
ROOM = 64  # masses by which each common report may move, in multiples of the number of reports


@dataclass(frozen=True, eq=False)
class Exact:
    """A private channel with masses ``counts / 2**53`` and the report values whose mean is exact."""

    counts: NDArray[np.int64]
    values: Float


def shifted(row: Float | None) -> Float | None:
    """The row less one of its middle numbers; the row itself if the differences are not exact in floats."""
    # A constant changes no design, and would take bits from the differences.
    if row is None:
        return None
    read = Rationals.of(row)
    moved = read.whole - read.whole[np.argsort(row)[len(row) // 2]]
    numbers = (moved / read.denominator).astype(np.float64)
    whole = Rationals.of(numbers)
    same = whole.whole * read.denominator == moved * whole.denominator
    return numbers if same.all() else row


def grid_bits(numbers: Float, largest: float) -> int | None:
    """Fractional bits of the grid of report values; None if the numbers do not fit on it."""
    _, exponent = np.frexp(largest)
    bits = FINE - int(exponent)
    needed = Rationals.of(numbers).denominator.bit_length() - 1 - 53
    bits = max(bits, needed)
    return bits if bits + int(exponent) <= LARGEST else None


def exact_channel(
    numbers: Float, values: Float, largest: Float, epsilon: Budget, r: Float | None, gap: float, deadline: Deadline
) -> Exact | None:
    """Solve again for report values on the grid, and round so that every mean is exact; None if that fails."""
    # numbers and r have the shape (n,), values and largest the shape (m,).
    bits = grid_bits(numbers, float(np.abs(values).max()))
    if bits is None:
        return None
    steps, place = np.unique(np.rint(np.ldexp(values, bits)).astype(np.int64), return_inverse=True)
    weight: Float = np.bincount(place, weights=largest).astype(np.float64)
    pair = _common(steps, weight)
    ratio = 1 / epsilon.enclosure()[0]
    rare = _Rare(abs(int(steps[pair[0]] - steps[pair[1]])), int(np.rint(np.ldexp(numbers.mean(), bits))), ratio)
    room = ROOM * (len(steps) + 1)
    base = float(ratio) + 3 * room / (float(weight[list(pair)].min()) * 2.0**53)
    if not base < 1:
        return None
    scale, middle = float(np.abs(values).max()), float(numbers.mean())
    spent = rare.mass * len(rare.steps) / 2.0**53
    moment = float(np.ldexp(rare.steps.astype(np.float64), -bits).sum() * rare.mass / 2.0**53)
    # Scaled to about 1 around the middle; the rare reports have their share already.
    moved = (np.ldexp(steps.astype(np.float64), -bits) - middle) / scale
    program = MeanProgram((numbers - middle) / scale, moved, base, r, (spent, (moment - middle * spent) / scale))
    for precision in PRECISIONS:
        found = program.solve(precision * gap, deadline)
        exact = _rounded(numbers, steps, bits, found.largest, found.channel, ratio, room, rare)
        if exact is not None or deadline.is_over:
            break
    return exact


def _common(steps: NDArray[np.int64], weight: Float) -> tuple[int, int]:
    """Two reports that are common and whose values are far apart."""
    score = np.minimum.outer(weight, weight) * np.abs(np.subtract.outer(steps, steps))
    low, high = np.unravel_index(int(score.argmax()), score.shape)
    return int(low), int(high)


class _Rare:
    """Rare reports that correct remainders: their values are ``first``, ``first + 1``, ``first + 256``, ..."""

    def __init__(self, remainder: int, first: int, ratio: Fraction) -> None:
        self.digits = 1
        while DIGIT**self.digits < 2 * remainder + 2:
            self.digits += 1
        self.steps = np.array([first, *(first + DIGIT**power for power in range(self.digits))], dtype=np.int64)
        most = DIGIT * (self.digits + 1)
        self.high = int(2 * most / (1 - ratio)) + 2
        self.low = -int(-(self.high * ratio) // 1)
        self.mass = (self.high + self.low) // 2

    def counts(self, remainder: int) -> list[int] | None:
        """Masses whose mean differs from the middle ones by the remainder, in steps."""
        found, total = [], 0
        for _ in range(self.digits):
            digit = (remainder + DIGIT // 2) % DIGIT - DIGIT // 2
            remainder = (remainder - digit) // DIGIT
            found.append(self.mass + digit)
            total += digit
        found.insert(0, self.mass - total)
        inside = all(self.low <= count <= self.high for count in found)
        return found if inside and remainder == 0 else None


def _rounded(
    numbers: Float,
    steps: NDArray[np.int64],
    bits: int,
    largest: Float,
    channel: Float,
    ratio: Fraction,
    room: int,
    rare: _Rare,
) -> Exact | None:
    """Round a channel to masses with exact means: common reports take most of the remainder, rare ones the rest."""
    pair = _common(steps, largest)
    high = np.floor(np.ldexp(largest, 53)).astype(np.int64) + 2
    high[list(pair)] += room
    low = np.array([-int(-(int(top) * ratio) // 1) for top in high], dtype=np.int64)
    counts = np.clip(np.rint(np.ldexp(channel, 53)).astype(np.int64), low, high)
    w = Rationals.of(numbers)
    # In steps over 2**53: exact, since the grid is fine enough.
    wanted = (w.whole << (53 + bits)) // w.denominator
    missing = MASSES - rare.mass * len(rare.steps) - counts.sum(axis=1)
    off = wanted - counts.astype(object) @ steps.astype(object) - rare.mass * int(rare.steps.sum())
    one, two = pair
    apart = int(steps[one] - steps[two])
    rows = []
    for x, (mass, mean) in enumerate(zip(missing.tolist(), off.tolist(), strict=True)):
        more = (2 * (mean - mass * int(steps[two])) + apart) // (2 * apart)
        counts[x, one] += more
        counts[x, two] += mass - more
        rows.append(rare.counts(mean - more * int(steps[one]) - (mass - more) * int(steps[two])))
    if any(row is None for row in rows) or (counts < low).any() or (counts > high).any():
        return None
    whole = np.column_stack([counts, np.array(rows, dtype=np.int64)])
    values = np.ldexp(np.concatenate([steps, rare.steps]).astype(np.float64), -bits)
    return Exact(whole, values)
