"""Products of privacy loss distributions on levels of the loss: how far the levels are apart, and
with how many digits.

Every question has its own step for its power; then all get a common one. If the losses of a
question are multiples of its step, nothing is moved, and both sides are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ldexp, log, sqrt

import numpy as np

from ldpopt.accounting.integers import power, scaled
from ldpopt.accounting.logarithms import GRAIN, loss_of
from ldpopt.accounting.losses import PrivacyLoss
from ldpopt.accounting.window import RESOLUTIONS, LowerWindow, Resolution, UpperWindow, Window
from ldpopt.foundation.numbers import Float

LEVELS = 1 << 16  # of all reports
MAX_STEPS = 64  # between the least and the largest loss of a question
OFF_LEVEL = 1e-9  # distance of a loss from a level, in steps, that is taken for rounding of masses
OWN_SHARE = 4  # by which a question without levels of its own has fewer
FINE_SHARE = 8  # by which one report of it has fewer
LEAST_STEP = GRAIN >> 100
MAX_SHOWN = 2000  # levels of a picture


@dataclass(frozen=True, eq=False)
class LevelProduct:
    """The product of some losses, on levels of their logarithms.

    The number of digits follows the excess that is asked for; each product is made once.
    """

    questions: tuple[tuple[PrivacyLoss, int], ...]
    certain: Fraction
    most: int  # levels
    is_upper: bool
    windows: dict[Resolution, Window] = field(default_factory=dict)

    is_on_levels = True

    def window(self, resolution: Resolution) -> Window:
        """The window of all reports."""
        if resolution not in self.windows:
            self.windows[resolution] = self._made(resolution)
        return self.windows[resolution]

    def _made(self, resolution: Resolution) -> Window:
        """Powers of the questions, then their products on common levels, the smallest first."""
        parts = [self._power(loss, times, resolution) for loss, times in self.questions]
        step = _common_step(parts, self.most)
        parts = [part if part.step == step else part.moved(step) for part in parts]
        while len(parts) > 1:
            parts.sort(key=lambda part: len(part.masses))
            joined = parts[0].times(parts[1])
            parts = [_within(joined, self.most), *parts[2:]]
            coarsest = max(part.step for part in parts)
            parts = [_at_step(part, coarsest) for part in parts]
        return parts[0]

    def _power(self, loss: PrivacyLoss, times: int, resolution: Resolution) -> Window:
        """The window of one question."""
        kind: type[Window] = UpperWindow if self.is_upper else LowerWindow
        up = self.is_upper
        atoms = [
            (loss_of(ratio, up=up), scaled(mass, up=up, bits=resolution.bits))
            for ratio, mass in zip(loss.ratios, loss.masses, strict=True)
        ]
        step, is_own = _own_step([x for x, _ in atoms], self.most)
        most = self.most if is_own else max(self.most // OWN_SHARE, 2)

        def joined(left: Window, right: Window) -> Window:
            coarser = max(left.step, right.step)
            return _within(_at_step(left, coarser).times(_at_step(right, coarser)), most)

        return power(kind.of(atoms, step, resolution), times, joined)

    def excess(self, a: Fraction) -> Fraction:
        """Bound on the excess at ``a``, by as few digits as are enough."""
        excess = Fraction(0)
        for resolution in RESOLUTIONS:
            window = self.window(resolution)
            if not a:
                excess = window.total
                break
            excess = window.excess(loss_of(a, up=not self.is_upper))
            if excess > resolution.least:
                break
        return self.certain + excess

    def _floats(self, resolution: Resolution) -> tuple[Float, Float, float]:
        """Levels, ascending, masses under the first answer, and the mass at infinity, in floats."""
        window = self.window(resolution)
        unit = -resolution.bits
        first = window.start / GRAIN
        levels = first + window.step / GRAIN * np.arange(len(window.masses))
        masses = np.array([ldexp(float(mass), unit) for mass in window.masses], float)
        lost = window.total - Fraction(sum(window.masses), 1 << resolution.bits)
        return np.asarray(levels, float), masses, float(lost)

    def above(self, levels: Float) -> tuple[Float, Float]:
        """Masses under both answers of losses above some levels, in floats."""
        logs, masses, lost = self._floats(RESOLUTIONS[0])
        with np.errstate(divide="ignore", under="ignore", over="ignore"):
            others = np.exp(np.log(masses) - logs)
        places = np.searchsorted(logs, levels, side="right")
        mass_above = np.append(np.cumsum(masses[::-1])[::-1], 0.0) + lost
        other_above = np.append(np.cumsum(others[::-1])[::-1], 0.0)
        return mass_above[places], other_above[places]

    def levels(self) -> Float:
        """Levels at which a picture of `above` is drawn, descending."""
        logs, _, _ = self._floats(RESOLUTIONS[0])
        shown = logs[:: -(-len(logs) // MAX_SHOWN)]
        half = (logs[1] - logs[0]) / 2 if len(logs) > 1 else 1.0
        return shown[::-1] - half

    def crossing(self, limit: float, most: float) -> float:
        """An epsilon up to ``most`` at which the excess without its certain part is about the
        limit, without proof.
        """
        resolution = next(each for each in RESOLUTIONS if limit > each.least or not each.least)
        logs, masses, lost = self._floats(resolution)
        low = 0.0
        high = most
        for _ in range(60):
            middle = (low + high) / 2
            with np.errstate(over="ignore", under="ignore"):
                shares = np.maximum(-np.expm1(middle - logs), 0.0)
            low, high = (middle, high) if lost + masses @ shares > limit else (low, middle)
        return high


def _own_step(losses: Sequence[int], most: int) -> tuple[int, bool]:
    """A step of which the losses are multiples from the least one on, up to the rounding of masses,
    and whether there is one; else a small one.
    """
    span = max(losses) - min(losses)
    if not span:
        return GRAIN, True  # one level
    shares = np.array([(loss - min(losses)) / span for loss in losses])
    for count in range(1, min(MAX_STEPS, most - 1) + 1):
        parts = shares * count
        if np.abs(parts - parts.round()).max() < OFF_LEVEL:
            return max(round(Fraction(span, count)), LEAST_STEP), True
    return max(span // max(most // FINE_SHARE, 2), LEAST_STEP), False


def _common_step(parts: Sequence[Window], most: int) -> int:
    """A step of which those of all parts are multiples, if the window of all has not too many
    levels of it, or else a step that fills the window.
    """
    if len({part.step for part in parts}) == 1:
        return parts[0].step
    deviation = sqrt(sum(_variance(part) for part in parts))
    tail = parts[0].resolution.tail
    reach = sum(part.step / GRAIN * len(part.masses) for part in parts)
    width = min(reach, 2 * sqrt(2 * tail * log(2)) * deviation)
    steps = [part.step / GRAIN for part in parts]
    common = steps[0]
    for step in steps[1:]:
        common = _common_measure(common, step)
    longest = max(part.step for part in parts)
    multiples = round(longest / GRAIN / common)
    if width / common <= most:
        return max(round(Fraction(longest, multiples)), LEAST_STEP)
    return max(int(width / most * GRAIN), LEAST_STEP)


def _common_measure(left: float, right: float) -> float:
    """The largest number of which two are multiples up to rounding, by Euclid's algorithm."""
    least = 1e-7 * min(left, right)
    while right > least:
        rest = left % right
        left, right = right, min(rest, right - rest)
    return left


def _variance(part: Window) -> float:
    """Variance of the losses, about."""
    masses = np.array([ldexp(float(mass), -part.resolution.bits) for mass in part.masses])
    places = np.arange(len(masses)) * (part.step / GRAIN)
    total = masses.sum() or 1.0
    mean = masses @ places / total
    return float(masses @ (places - mean) ** 2 / total)


def _at_step(window: Window, step: int) -> Window:
    """The window with a step that is its own times a power of 2."""
    while window.step < step:
        window = window.doubled()
    return window


def _within(window: Window, most: int) -> Window:
    """The window with at most so many levels."""
    while len(window.masses) > most:
        window = window.doubled()
    return window
