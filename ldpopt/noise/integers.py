"""Noise on the integers: its own grid, a rational decay, and exact draws."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self

from ldpopt.closed_forms.samplers import TOTAL
from ldpopt.errors import StatementError
from ldpopt.foundation.checks import is_whole, real_number, short_repr
from ldpopt.noise.noise import Noise

MOST_POWER = 100_000
"""Power of a decay that is written out: each takes 53 bits."""


def read_place(k: Any) -> int:
    """Read a place on the integers.

    Raises
    ------
    StatementError
        If it is no whole number.
    """
    if not is_whole(k):
        raise StatementError(f"k = {short_repr(k)} is no whole number", do="this noise lives on the integers")
    return int(k)


def power(decay: Fraction, k: int) -> Fraction:
    """Return an exact power.

    Raises
    ------
    StatementError
        If it takes too many digits.
    """
    if k > MOST_POWER:
        raise StatementError(
            f"an exact probability takes {short_repr(53 * k)} bits so far out", do="use pdf for a float"
        )
    return decay**k


class IntegerNoise(Noise):
    """Noise in whole numbers, drawn exactly."""

    _reach = Fraction(1)
    """Change of the answer that multiplies a probability by ``exp(-epsilon)`` at most."""

    @property
    def decay(self) -> Fraction:
        """The rational that is drawn for ``exp(-epsilon)`` over the steps that spend it, rounded up to ``2**-53``."""
        return Fraction(-int(-TOTAL / self.epsilon.enclosure(1 / self._reach)[0] // 1), TOTAL)

    @property
    def _coin(self) -> int:
        """Mass of `decay` over ``2**53``."""
        weight = int(self.decay * TOTAL)
        if weight == TOTAL:
            raise StatementError("epsilon is below 2**-53 a step: the noise has no finite law", do="state a larger one")
        return weight

    def on_grid(self, step: float) -> Self:
        """Return itself for ``step = 1``, its own grid.

        Raises
        ------
        StatementError
            If ``step`` is not 1.
        """
        if real_number(step, "step") != 1:
            raise StatementError(
                f"step = {short_repr(step)}: this noise lives on the integers already", do="use step=1"
            )
        return self
