r"""The program for a single mean with given report values ``t``, and its solution in integer masses
with exact means.

It is a linear program with a block for each answer.

.. math:: \min_{P, z} \sum_{x, j} r_x t_j^2 P_{xj} \quad \text{subject to} \quad
          b z_j \le P_{xj} \le z_j, \quad \sum_j P_{xj} (1, t_j) = (1, w_x)

or, for the worst case, the smallest ``tau`` with ``sum_j t_j^2 P_xj - w_x^2 <= tau`` for every
answer. A primal-dual interior point; the time of a step is linear in the number of answers.

Rounding changes the sum and the mean of a row: two common reports correct both up to a remainder, a
few rare ones the remainder. Report values are integer multiples of a small step.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from ldpopt.certificate.integers import Rationals
from ldpopt.designing.column_generation import CurvedPoint, follow
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.deadline import NO_LIMIT, Deadline
from ldpopt.foundation.numbers import Float, Int
from ldpopt.solving.interior.path_following import NewtonSystem

STEPS = 120  # limit on Newton steps; 15 to 40 are usual
STALLED = 8  # steps without a smaller gap before the iteration ends
# share of the trace added to the matrix of an answer, nearly singular if its multipliers are free
RIDGE = 1e-14
# Residual of the equations above which a step aims at no less than this share of the mean product
FEASIBLE, CENTERING = 1e-13, 1e-3
MASSES = 1 << 53  # sum of the masses of a row
FINE = 22  # bits of the grid of report values, relative to the largest
LARGEST = 44  # largest number of bits of a report value in steps
DIGIT = 256  # the values of rare reports differ by its powers, in steps
# Factors of the gap of the last program, in turn: a rough solution may violate its equations by
# more than masses can correct
PRECISIONS = (1.0, 1e-2, 1e-4)
ROOM = 64  # masses by which each common report may move, in multiples of the number of reports


@dataclass(frozen=True, eq=False)
class UnbiasedLaw:
    """A randomizer with given report values, and the multipliers of its program."""

    largest: Float  # z, the largest probability of each report, shape (m,)
    channel: Float  # P, shape (n, m)
    # multipliers of the sums, of the means, and minus the weights of the answers, shape (n, 3)
    line: Float


@dataclass(frozen=True, eq=False)
class _MeanPoint(CurvedPoint):
    """``P = b z + (1 - b) u``; for the worst case also ``tau``, and the slack of each answer below
    it.
    """

    PRIMAL: ClassVar[frozenset[str]] = frozenset({"z", "u", "spare", "tau"})

    z: Float  # (m,)
    u: Float  # (n, m)
    low: Float  # (n, m): multipliers of u >= 0
    high: Float  # (n, m): multipliers of u <= z
    nu: Float  # (n, 3): multipliers of the equations
    spare: Float  # (n,) or empty
    tau: Float  # (1,)

    @property
    def slacks(self) -> tuple[Float, ...]:
        return (
            (self.u, self.z - self.u, self.spare) if self.spare.size else (self.u, self.z - self.u)
        )

    @property
    def multipliers(self) -> tuple[Float, ...]:
        return (self.low, self.high, -self.nu[:, 2]) if self.spare.size else (self.low, self.high)


class MeanProgram:
    """Answers with numbers ``w``, report values ``t``, and either weights ``r`` or none for the
    worst case.

    The report values are fixed: what is sought is the law of the reports under each answer. Each
    law has the sum 1 and the mean ``w_x``, so that the report value itself is an unbiased estimate;
    privacy ties the laws only through the largest probability ``z`` of each report. ``spent`` are
    probability and mean of reports that are added later.
    """

    def __init__(
        self, w: Float, t: Float, base: float, r: Float | None, spent: tuple[float, float] = (0, 0)
    ) -> None:
        self.w = w
        self.t = t
        self.base = base
        self.r = r
        self.step = 1 - base
        self.powers = np.column_stack([np.ones(len(t)), t, t**2])
        # Less the probability and the mean of other reports.
        self.right = np.column_stack([np.full(len(w), 1.0 - spent[0]), w - spent[1], w**2])
        # With given weights the third multiplier is fixed.
        self.free = 2 if r is not None else 3

    def solve(self, gap: float, deadline: Deadline = NO_LIMIT) -> UnbiasedLaw:
        """Follow the central path until the duality gap is below a share of the value."""
        n = len(self.w)
        m = len(self.t)
        even = np.full((n, m), 1.0 / n)
        nu = np.zeros((n, 3))
        nu[:, 2] = -1.0 / n if self.r is None else -self.r
        spare = np.ones(n if self.r is None else 0)
        begin = _MeanPoint(
            np.full(m, 2.0 / m), np.full((n, m), 1.0 / m), even, even, nu, spare, np.ones(1)
        )
        with np.errstate(all="ignore"):
            at = follow(
                begin,
                self._measured,
                partial(_MeanSystem, self),
                (STEPS, STALLED),
                gap=gap,
                deadline=deadline,
            )
        return UnbiasedLaw(at.z, self._polished(at), at.nu)

    def _polished(self, at: _MeanPoint) -> Float:
        """Probabilities ``P``, (n, m), that satisfy the equations of sum and mean better: residuals
        are moved to the entries with most room.

        For each answer it is the least change, measured by ``room``: two equations in the two
        multipliers of ``1`` and ``t``.
        """
        channel = self.base * at.z + self.step * at.u
        room = np.minimum(at.u, at.z - at.u) ** 2
        powers = self.powers[:, :2]
        for _ in range(2):  # the second pass corrects the rounding errors of the first
            short = self.right[:, :2] - channel @ powers
            matrix = np.einsum("xj,jp,jq->xpq", room, powers, powers, optimize=True)
            matrix += RIDGE * np.trace(matrix, axis1=1, axis2=2)[:, None, None] * np.eye(2)
            channel = channel + room * (
                np.linalg.solve(matrix, short[:, :, None])[:, :, 0] @ powers.T
            )
        return np.asarray(channel)

    def _measured(self, at: _MeanPoint) -> float:
        """The duality gap as a share of the value, at least the residual of the equations."""
        value = float(at.tau[0])
        if self.r is not None:
            value = float(self.r @ ((self.base * at.z + self.step * at.u) @ self.t**2))
        return max(at.products / abs(value), float(np.abs(self.short(at)).max()))

    def short(self, at: _MeanPoint) -> Float:
        """Residuals of the equations of every answer."""
        residuals = self.right - self.base * (at.z @ self.powers) - self.step * (at.u @ self.powers)
        if self.r is None:
            residuals[:, 2] += at.tau - at.spare
        return np.asarray(residuals[:, : self.free])


class _MeanSystem(NewtonSystem[_MeanPoint]):
    """Newton steps: the multipliers of each answer are eliminated first, then the largest
    probabilities.
    """

    def __init__(self, program: MeanProgram, at: _MeanPoint) -> None:
        self.at = at
        self.program = program
        self.short = program.short(at)
        self.centering = CENTERING * float(np.abs(self.short).max() > FEASIBLE)
        p = program.free
        s = program.step
        powers = program.powers[:, : program.free]
        self.stiff_high = at.high / (at.z - at.u)
        self.stiff = at.low / at.u + self.stiff_high
        self.share = self.stiff_high / self.stiff
        small = s * s * np.einsum("xj,jp,jq->xpq", 1 / self.stiff, powers, powers, optimize=True)
        if p == 3:
            small[:, 2, 2] -= at.spare / at.nu[:, 2]
        small += RIDGE * np.trace(small, axis1=1, axis2=2)[:, None, None] * np.eye(p)
        self.inverse = np.linalg.inv(small)
        self.ahead = s * self.share + program.base
        matrix = np.diag((self.stiff_high * (at.low / at.u) / self.stiff).sum(axis=0))
        for i in range(p):
            for j in range(p):
                part = (self.ahead * self.inverse[:, i, j, None]).T @ self.ahead
                matrix += part * np.outer(powers[:, i], powers[:, j])
        if p == 3:
            border = np.sum(self.ahead * (self.inverse[:, :, 2] @ powers.T), axis=0)
            matrix = np.block(
                [
                    [matrix, -border[:, None]],
                    [border[None], np.atleast_2d(-self.inverse[:, 2, 2].sum())],
                ]
            )
        self.scale = 1 / np.sqrt(np.abs(np.diag(matrix)))
        self.matrix = matrix * self.scale * self.scale[:, None]

    def direction(self, aims: tuple[Float, ...], *, refine: bool = True) -> _MeanPoint:
        """Newton step that changes the products by these amounts."""
        at = self.at
        program = self.program
        p = program.free
        b = program.base
        s = program.step
        powers = program.powers[:, :p]
        low = aims[0] / at.u
        high = aims[1] / (at.z - at.u)
        price = -at.nu @ program.powers.T
        right_u = at.low + low - at.high - high - s * price
        right_z = (at.high + high).sum(axis=0) - b * price.sum(axis=0)
        right_nu = self.short - s * (right_u / self.stiff) @ powers
        spare = -aims[2] / at.nu[:, 2] if p == 3 else np.zeros(0)
        if p == 3:
            right_nu[:, 2] -= spare
        dz, dtau = self._eliminated(right_u, right_z, right_nu)
        dnu = np.zeros_like(at.nu)
        moved = right_nu - (self.ahead * dz) @ powers
        if p == 3:
            moved[:, 2] += dtau
        dnu[:, :p] = np.einsum("xpq,xq->xp", self.inverse, moved)
        du = (right_u + self.stiff_high * dz + s * (dnu[:, :p] @ powers.T)) / self.stiff
        dlow = low - at.low / at.u * du
        dhigh = high - self.stiff_high * (dz - du)
        dspare = spare - at.spare / at.nu[:, 2] * dnu[:, 2] if p == 3 else spare
        return _MeanPoint(dz, du, dlow, dhigh, dnu, dspare, dtau if p == 3 else np.zeros(1))

    def _eliminated(self, right_u: Float, right_z: Float, right_nu: Float) -> tuple[Float, Float]:
        """Steps of the largest probabilities, and of ``tau`` or none, from the right sides of all
        equations.
        """
        at = self.at
        p = self.program.free
        solved = np.einsum("xpq,xq->xp", self.inverse, right_nu)
        right = (
            right_z
            + (self.share * right_u).sum(axis=0)
            + np.sum(self.ahead * (solved @ self.program.powers[:, :p].T), axis=0)
        )
        if p == 3:
            right = np.append(right, solved[:, 2].sum() + 1 + at.nu[:, 2].sum())
        steps = self.scale * np.linalg.solve(self.matrix, right * self.scale)
        return steps[: len(at.z)], steps[len(at.z) :]


@dataclass(frozen=True, eq=False)
class RoundedChannel:
    """A private channel with masses ``counts / 2**53`` and the report values whose mean is
    exact.
    """

    counts: Int
    values: Float


def shifted(row: Float | None) -> Float | None:
    """The row less one of its middle numbers; the row itself if the differences are not exact in
    floats.
    """
    # A constant changes no design, and would take bits from the differences.
    if row is None:
        return None
    read = Rationals.of(row)
    moved = read.whole - read.whole[np.argsort(row)[len(row) // 2]]
    numbers = (moved / read.denominator).astype(np.float64)
    integers = Rationals.of(numbers)
    same = integers.whole * read.denominator == moved * integers.denominator
    return numbers if same.all() else row


def grid_bits(numbers: Float, largest: float) -> int | None:
    """Fractional bits of the grid of report values; None if the numbers do not fit on it."""
    _, exponent = np.frexp(largest)
    bits = FINE - int(exponent)
    bits = max(bits, Rationals.of(numbers).denominator.bit_length() - 1 - 53)
    return bits if bits + int(exponent) <= LARGEST else None


def exact_channel(
    numbers: Float,
    values: Float,
    largest: Float,
    epsilon: Budget,
    r: Float | None,
    gap: float,
    deadline: Deadline,
) -> RoundedChannel | None:
    """Solve again for report values on the grid, and round so that every mean is exact.

    A mean that is wrong by a rounding error would be a bias, and no certificate holds for that. So
    the report values become multiples of a step of which all numbers are multiples over ``2**53``;
    the program is solved for these, with a ratio of masses a little below the allowed one as room
    for corrections; and each row is corrected by whole masses. None if the numbers do not fit on
    such a grid, or if no solution is accurate enough.
    """
    # numbers and r have the shape (n,), values and largest the shape (m,).
    bits = grid_bits(numbers, float(np.abs(values).max()))
    if bits is None:
        return None
    steps, place = np.unique(np.rint(np.ldexp(values, bits)).astype(np.int64), return_inverse=True)
    weight: Float = np.bincount(place, weights=largest).astype(np.float64)
    pair = _common(steps, weight)
    ratio = 1 / epsilon.enclosure()[0]
    rare = _Rare(
        abs(int(steps[pair[0]] - steps[pair[1]])),
        int(np.rint(np.ldexp(numbers.mean(), bits))),
        ratio,
    )
    room = ROOM * (len(steps) + 1)
    base = float(ratio) + 3 * room / (float(weight[list(pair)].min()) * 2.0**53)
    if not base < 1:
        return None
    scale = float(np.abs(values).max())
    middle = float(numbers.mean())
    spent = rare.mass * len(rare.steps) / 2.0**53
    moment = float(np.ldexp(rare.steps.astype(np.float64), -bits).sum() * rare.mass / 2.0**53)
    # Scaled to about 1 around the middle; the rare reports have their share already.
    moved = (np.ldexp(steps.astype(np.float64), -bits) - middle) / scale
    program = MeanProgram(
        (numbers - middle) / scale, moved, base, r, (spent, (moment - middle * spent) / scale)
    )
    for precision in PRECISIONS:
        law = program.solve(precision * gap, deadline)
        exact = _rounded(numbers, steps, bits, law.largest, law.channel, ratio, room, rare)
        if exact is not None or deadline.is_over:
            break
    return exact


def _common(steps: Int, weight: Float) -> tuple[int, int]:
    """Two reports that are common and whose values are far apart."""
    score = np.minimum.outer(weight, weight) * np.abs(np.subtract.outer(steps, steps))
    low, high = np.unravel_index(int(score.argmax()), score.shape)
    return int(low), int(high)


class _Rare:
    """Rare reports that correct remainders: their values are ``first``, ``first + 1``, ``first +
    256``, ...
    """

    def __init__(self, remainder: int, first: int, ratio: Fraction) -> None:
        self.digits = 1
        while DIGIT**self.digits < 2 * remainder + 2:
            self.digits += 1
        self.steps = np.array(
            [first, *(first + DIGIT**power for power in range(self.digits))], dtype=np.int64
        )
        most = DIGIT * (self.digits + 1)
        self.high = int(2 * most / (1 - ratio)) + 2
        self.low = -int(-(self.high * ratio) // 1)
        self.mass = (self.high + self.low) // 2

    def counts(self, remainder: int) -> list[int] | None:
        """Masses whose mean differs from the middle ones by the remainder, in steps; None if it is
        too large for them.

        The remainder is written with digits from -128 to 127, one for each power of 256; the report
        ``first`` takes their sum, so that the total stays.
        """
        digits = []
        total = 0
        for _ in range(self.digits):
            digit = (remainder + DIGIT // 2) % DIGIT - DIGIT // 2
            remainder = (remainder - digit) // DIGIT
            digits.append(self.mass + digit)
            total += digit
        digits.insert(0, self.mass - total)
        return (
            digits
            if all(self.low <= count <= self.high for count in digits) and remainder == 0
            else None
        )


def _rounded(
    numbers: Float,
    steps: Int,
    bits: int,
    largest: Float,
    channel: Float,
    ratio: Fraction,
    room: int,
    rare: _Rare,
) -> RoundedChannel | None:
    """Round a channel to masses with exact means: common reports take most of the remainder, rare
    ones the rest.
    """
    pair = _common(steps, largest)
    high = np.floor(np.ldexp(largest, 53)).astype(np.int64) + 2
    high[list(pair)] += room
    low = np.array([-int(-(int(top) * ratio) // 1) for top in high], dtype=np.int64)
    counts = np.clip(np.rint(np.ldexp(channel, 53)).astype(np.int64), low, high)
    w = Rationals.of(numbers)
    # in steps over 2**53: exact, since the grid is fine enough
    wanted = (w.whole << (53 + bits)) // w.denominator
    missing = MASSES - rare.mass * len(rare.steps) - counts.sum(axis=1)
    off = wanted - counts.astype(object) @ steps.astype(object) - rare.mass * int(rare.steps.sum())
    first, second = pair
    apart = int(steps[first] - steps[second])
    rows = []
    for x, (mass, mean) in enumerate(zip(missing.tolist(), off.tolist(), strict=True)):
        more = (2 * (mean - mass * int(steps[second])) + apart) // (2 * apart)
        counts[x, first] += more
        counts[x, second] += mass - more
        rows.append(
            rare.counts(mean - more * int(steps[first]) - (mass - more) * int(steps[second]))
        )
    if any(row is None for row in rows) or (counts < low).any() or (counts > high).any():
        return None
    values = np.ldexp(np.concatenate([steps, rare.steps]).astype(np.float64), -bits)
    return RoundedChannel(np.column_stack([counts, np.array(rows, dtype=np.int64)]), values)
