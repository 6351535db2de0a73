"""Noise on the integers: its own grid, a rational decay, and exact coins."""

from __future__ import annotations

from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpopt.closed_forms.samplers import TOTAL, Source
from ldpopt.errors import StatementError
from ldpopt.noise.noise import Noise

MOST_COINS = 1 << 20
"""Coins of one draw, on average: beyond it drawing takes minutes."""


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


def coins(weight: int, size: int, source: Source) -> NDArray[np.int64]:
    """Count coins of weight ``weight / 2**53`` until the first that fails: an exact geometric law on 0, 1, 2, ...

    Raises
    ------
    StatementError
        If a draw would take more than `MOST_COINS` on average.
    """
    if (TOTAL - weight) * MOST_COINS < TOTAL:
        raise StatementError(
            f"a draw would toss {TOTAL / (TOTAL - weight):.3g} coins", do="state a larger epsilon, or a coarser unit"
        )
    counted, alive = np.zeros(size, dtype=np.int64), np.arange(size)
    while len(alive):
        alive = alive[source(len(alive)) < np.uint64(weight)]
        counted[alive] += 1
    return counted
