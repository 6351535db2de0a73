"""The interface of additive noise: density, distribution, moments and sampler; and of noise on the
integers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import (
    Float,
    is_whole,
    read_size,
    real_array,
    real_number,
    short_repr,
)
from ldpopt.mechanism.exact_draws import TOTAL, round_decay_up
from ldpopt.mechanism.sampling import BITS, bit_source

Random = np.random.Generator | int | None
# smallest budget: below it the third power of ``1 - exp(-epsilon)`` underflows
MIN_EPSILON = 1e-100


class Noise(ABC):
    """Symmetric noise that is added to the answer of a query; each subclass is one distribution.

    Parameters
    ----------
    sensitivity : float
        Largest change of the answer between neighbors, in the unit of the answer, positive.
    epsilon : Budget
        Nats, positive.

    Raises
    ------
    StatementError
        If the sensitivity or epsilon is not positive, or so extreme that moments are not finite.

    Notes
    -----
    `sample` of a continuous distribution is for simulation only: the low bits of its floats reveal
    the answer. `on_grid` gives noise on a public grid, drawn exactly.

    References
    ----------
    Mironov 2012, on the significance of the least significant bits.
    """

    def __init__(self, sensitivity: float, epsilon: float | str) -> None:
        self.sensitivity = read_positive(sensitivity, "sensitivity")
        self.epsilon = read_noise_budget(epsilon)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(sensitivity={self.sensitivity:.6g}, epsilon={self.epsilon!r})"
        )

    @abstractmethod
    def pdf(self, r: ArrayLike) -> Float:
        """Return the density at each ``r``; for noise on a grid the probability, 0 off the grid."""

    @abstractmethod
    def cdf(self, r: ArrayLike) -> Float:
        """Return the probability of noise at most ``r``."""

    @abstractmethod
    def sample(self, size: int, *, rng: Random = None) -> NDArray[Any]:
        """Draw ``size`` independent values; those of continuous noise are for simulation only.

        Parameters
        ----------
        size : int
            Number of draws, ``size >= 0``.
        rng : numpy.random.Generator or int, optional
            Makes the draws repeatable (default: the operating system's generator).

        Raises
        ------
        StatementError
            If the size is not a whole number from 0 on, or ``rng`` is no seed.
        """

    @abstractmethod
    def on_grid(self, step: float) -> Noise:
        """Return noise in whole multiples of ``step``, drawn exactly; private for answers rounded
        to that grid.

        Parameters
        ----------
        step : float
            Grid, in the unit of the answer, positive.

        Raises
        ------
        StatementError
            If the step is not positive, or not 1 for noise that has integer values already.
        """

    @property
    @abstractmethod
    def expected_abs(self) -> float:
        """Expected absolute noise."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance; the mean is 0."""

    @property
    @abstractmethod
    def normalizer(self) -> float:
        """Integral (on a grid: sum) of the density scaled to peak 1."""

    @property
    def rate(self) -> float:
        r"""Expected absolute noise over that of the optimal staircase at the same sensitivity and
        budget.

        .. math:: \text{rate} = E|r| \, (e^\epsilon - 1) / (\Delta e^{\epsilon/2})
        """
        # The staircase's error is the sensitivity / (2 sinh(epsilon / 2)); sinh overflows, this
        # form does not.
        least = self.sensitivity * math.exp(-self.epsilon / 2) / -math.expm1(-self.epsilon)
        if least == 0:  # beyond 1400 nats its error underflows
            return math.inf if self.expected_abs > 0 else math.nan
        return self.expected_abs / least


class IntegerNoise(Noise):
    """Noise with integer values, drawn exactly."""

    # Share of epsilon: per unit step a probability falls at most by `exp(-share * epsilon)`
    _budget_share = Fraction(1)

    @property
    def decay(self) -> Fraction:
        """Factor of the probabilities per unit step, as a rational: rounded up to a multiple of
        ``2**-53``.
        """
        return Fraction(round_decay_up(self.epsilon, self._budget_share), TOTAL)

    @property
    def _decay_numerator(self) -> int:
        """Numerator of `decay` over ``2**53``."""
        weight = int(self.decay * TOTAL)
        if weight == TOTAL:
            problem = "epsilon is below 2**-53 per unit step: no finite noise exists"
            raise StatementError(problem, do="state a larger epsilon")
        return weight

    def on_grid(self, step: float) -> Self:
        """Return this noise, whose grid already has the step 1, if ``step`` is 1."""
        if real_number(step, "step") != 1:
            raise StatementError(
                f"step = {short_repr(step)}: this noise has integer values already", do="use step=1"
            )
        return self


def uniforms(size: int, rng: Random) -> Float:
    """Return floats strictly between 0 and 1, from 53-bit words; for simulation."""
    return np.asarray((bit_source(rng, BITS - 1)(read_size(size)) + 0.5) * 2.0 ** (1 - BITS))


# Largest sensitivity, step or radius; the smallest is ``1 / MAX_LENGTH``. Sums of 20 000 third
# powers stay finite.
MAX_LENGTH = 1e98


def read_positive(value: Any, name: str) -> float:
    """Read a positive finite number; ``name`` is for the message."""
    number = real_number(value, name)
    if not (number > 0 and math.isfinite(number)):
        raise StatementError(
            f"{name} = {number} is not positive and finite", do="give a number above 0"
        )
    if not 1 / MAX_LENGTH <= number <= MAX_LENGTH:
        problem = f"{name} = {number} is out of range"
        raise StatementError(
            problem, code="range", do=f"state a number from {1 / MAX_LENGTH:g} to {MAX_LENGTH:g}"
        )
    return number


def read_noise_budget(epsilon: float | str) -> Budget:
    """Read a budget at which noise has finite moments."""
    budget = Budget(epsilon)
    if not budget >= MIN_EPSILON:
        problem = f"epsilon = {budget!r} is too small: the noise would not be finite"
        raise StatementError(problem, do="state a larger epsilon")
    return budget


def read_points(r: ArrayLike) -> Float:
    """Read points of the real line; infinities are allowed."""
    array = real_array(r, "noise")
    if np.isnan(array).any():
        raise StatementError(
            "nan is not a noise value", do="pass real numbers; infinities are allowed"
        )
    return array


# largest exponent of an exact power of the decay: each factor takes 53 bits
MAX_EXACT_POWER = 100_000


def read_integer(k: Any) -> int:
    """Read a whole number."""
    if not is_whole(k):
        raise StatementError(
            f"k = {short_repr(k)} is not a whole number", do="this noise takes integer values only"
        )
    return int(k)


def exact_power(decay: Fraction, k: int) -> Fraction:
    """Return ``decay**k`` exactly."""
    if k > MAX_EXACT_POWER:
        problem = f"the exact probability of {short_repr(k)} takes {short_repr(53 * k)} bits"
        raise StatementError(problem, do="use pdf for a float")
    return decay**k
