"""Noise on the integers: a rational decay and exact draws."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import is_whole, real_number, short_repr
from ldpopt.mechanism.exact_draws import TOTAL, round_decay_up
from ldpopt.noise.noise import Noise

MAX_EXACT_POWER = 100_000
"""Largest exponent of an exact power of the decay: each factor takes 53 bits."""


def read_integer(k: Any) -> int:
    """Read a whole number."""
    if not is_whole(k):
        raise StatementError(f"k = {short_repr(k)} is not a whole number", do="this noise takes integer values only")
    return int(k)


def exact_power(decay: Fraction, k: int) -> Fraction:
    """Return ``decay**k`` exactly."""
    if k > MAX_EXACT_POWER:
        raise StatementError(
            f"the exact probability of {short_repr(k)} takes {short_repr(53 * k)} bits", do="use pdf for a float"
        )
    return decay**k


class IntegerNoise(Noise):
    """Noise with integer values, drawn exactly."""

    _change_per_epsilon = Fraction(1)
    """Change of the answer over which a probability falls by ``exp(-epsilon)`` at most."""

    @property
    def decay(self) -> Fraction:
        """Factor of the probabilities per unit step, as a rational: rounded up to a multiple of ``2**-53``."""
        return Fraction(round_decay_up(self.epsilon, 1 / self._change_per_epsilon), TOTAL)

    @property
    def _decay_numerator(self) -> int:
        """Numerator of `decay` over ``2**53``."""
        weight = int(self.decay * TOTAL)
        if weight == TOTAL:
            raise StatementError(
                "epsilon is below 2**-53 per unit step: no finite noise exists", do="state a larger epsilon"
            )
        return weight

    def on_grid(self, step: float) -> Self:
        """Return itself for ``step = 1``, its own grid.

        Raises
        ------
        StatementError
            If ``step`` is not 1.
        """
        if real_number(step, "step") != 1:
            raise StatementError(f"step = {short_repr(step)}: this noise has integer values already", do="use step=1")
        return self
