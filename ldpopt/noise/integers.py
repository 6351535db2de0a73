"""Noise on the integers: its own grid, a rational decay, and exact draws."""

from __future__ import annotations

from fractions import Fraction
from typing import Self

from ldpopt.closed_forms.samplers import TOTAL
from ldpopt.errors import StatementError
from ldpopt.noise.noise import Noise


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
        if step != 1:
            raise StatementError(f"step = {step!r}: this noise lives on the integers already", do="use step=1")
        return self
