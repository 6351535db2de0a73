"""Noise whose density falls by ``exp(-epsilon)`` from layer to layer of a partition; on the
integers drawn exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, Int, read_size, short_repr
from ldpopt.mechanism.exact_draws import TOTAL, geometric_draws, uniform_below
from ldpopt.mechanism.sampling import bit_source
from ldpopt.noise.integer_layers import IntegerLayers
from ldpopt.noise.interval_layers import IntervalLayers
from ldpopt.noise.noise import (
    IntegerNoise,
    Noise,
    Random,
    exact_power,
    read_integer,
    read_points,
    uniforms,
)

if TYPE_CHECKING:
    from ldpopt.noise.partition import NeighborPartition


def _require_partition(partition: Any, where: str) -> None:
    """Refuse what is not a partition; its class is in the file that makes this noise."""
    if not callable(getattr(partition, "level", None)) or not hasattr(partition, "sensitivity"):
        raise StatementError(
            f"{where} takes a NeighborPartition, not {short_repr(partition)}",
            code="type",
            do="use NeighborPartition(intervals, widening).noise(epsilon)",
        )


class LevelNoise(Noise):
    r"""Noise with density ``exp(-epsilon L(r)) / Z``; with ``x = exp(-epsilon)`` and moments ``m,
    q, s`` of the layers

    .. math:: Z = \sum_{t<n} x^t m_t + \frac{x^n m_n}{1-x}, \qquad
              Z E|r| = \sum_{t<n} x^t q_t + x^n \left(\frac{q_n}{1-x} + \frac{c x
              m_n}{(1-x)^2}\right)

    Parameters
    ----------
    partition : NeighborPartition
        Its layers and their moments.
    epsilon : float or str
        Nats, positive.

    Raises
    ------
    StatementError
        If ``partition`` is no `NeighborPartition`, or epsilon is not positive.

    Notes
    -----
    ``1 - x`` is computed by expm1 and powers by exp: stable for epsilon from 1e-6 to 700. `sample`
    is Algorithm 2 with the geometric distribution of the tail on {1, 2, ...}; from 0 on it would
    visit layer ``n`` twice and lose privacy. `sample` is for simulation; `on_grid` is exact.

    References
    ----------
    Wu, Xia and He, Algorithms 1 and 2.

    Examples
    --------
    >>> from ldpopt.noise import NeighborPartition
    >>> noise = NeighborPartition([(0, 1), (1000, 1001)], 0.5).noise(1.0)
    >>> round(noise.rate, 4), bool(noise.pdf(0.2) > noise.pdf(3.0))
    (1.2727, True)
    """

    def __init__(self, partition: NeighborPartition, epsilon: float | str) -> None:
        _require_partition(partition, type(self).__name__)
        super().__init__(partition.sensitivity, epsilon)
        self.partition = partition

    @property
    def normalizer(self) -> float:
        """``Z``: the sum of the layers' measures, each times its density relative to the peak."""
        return self._unit * self._sums[0]

    @property
    def expected_abs(self) -> float:
        """Expected absolute noise in closed form, tail included."""
        return self._unit * self._sums[1] / self._sums[0]

    @property
    def variance(self) -> float:
        """Variance in closed form, tail included."""
        return self._unit**2 * (self._sums[2] / self._sums[0])

    @property
    def _unit(self) -> float:
        """Power of two near the farthest end of layers 0 and 1; in this unit no sum overflows."""
        return math.ldexp(1.0, math.frexp(self.sensitivity + float(self.partition.widening))[1])

    @cached_property
    def _sums(self) -> tuple[float, float, float]:
        """Integrals of 1, ``|r|`` and ``r**2`` times the density scaled to peak 1, in `_unit`."""
        unit = self._unit
        m, q, s = (row / unit**power for power, row in enumerate(self.partition.moments, 1))
        eps = float(self.epsilon)
        c = self.sensitivity / unit
        n = len(m) - 1
        x = float(np.exp(-eps))
        y = float(-np.expm1(-eps))
        weights = np.exp(-eps * np.arange(n))
        far = float(np.exp(-eps * n))
        once = 1 / y
        twice = x / y**2
        thrice = x * (1 + x) / y**3
        mass = far * m[n] * once
        first = far * (q[n] * once + c * m[n] * twice)
        second = far * (s[n] * once + 2 * c * q[n] * twice + c * c * m[n] * thrice)
        return (
            float(weights @ m[:n] + mass),
            float(weights @ q[:n] + first),
            float(weights @ s[:n] + second),
        )

    def pdf(self, r: ArrayLike) -> Float:
        """See `Noise.pdf`."""
        return np.asarray(np.exp(-float(self.epsilon) * self.partition.level(r)) / self.normalizer)

    def cdf(self, r: ArrayLike) -> Float:
        """See `Noise.cdf`; O(log n) each, after one pass over the layers."""
        left, length, level = self._pieces
        before, end = self._cumulative_half_mass
        r = read_points(r)
        size = np.minimum(np.abs(r), end + self.sensitivity * 2.0**60)  # beyond, the mass is 0
        piece = np.clip(np.searchsorted(left, size, side="right") - 1, 0, None)
        density = np.exp(-float(self.epsilon) * level[piece]) / self.normalizer
        half = before[piece] + np.clip(size - left[piece], 0, length[piece]) * density
        blocks, offset = np.divmod(np.maximum(size - end, 0.0), self.sensitivity)
        n = self.partition.steps
        eps = float(self.epsilon)
        start = np.exp(-eps * (n + 1 + blocks)) / self.normalizer
        beyond = start * (self.sensitivity / -np.expm1(-eps) - offset)
        return np.asarray(0.5 + np.sign(r) * np.where(size >= end, 0.5 - beyond, half))

    @property
    def _pieces(self) -> tuple[Float, Float, Int]:
        """See `IntervalLayers.pieces`."""
        layers = self.partition.neighbor_layers
        assert isinstance(layers, IntervalLayers)
        return layers.pieces

    @cached_property
    def _cumulative_half_mass(self) -> tuple[Float, float]:
        """Mass between 0 and each piece, and the end of layer ``n``."""
        left, length, level = self._pieces
        mass = length * np.exp(-float(self.epsilon) * level) / self.normalizer
        return np.concatenate(([0.0], np.cumsum(mass))), float(left[-1] + length[-1])

    def sample(self, size: int, *, rng: Random = None) -> NDArray[Any]:
        """Draw for simulation: a piece or the tail, then a uniform point of it; see
        `Noise.sample`.
        """
        left, length, _ = self._pieces
        before, end = self._cumulative_half_mass
        u, point, sign, tail = uniforms(4 * read_size(size), rng).reshape(4, -1)
        piece = np.searchsorted(before, u / 2, side="right") - 1
        in_tail, piece = piece >= len(left), np.minimum(piece, len(left) - 1)
        far = end + self.sensitivity * (np.floor(np.log(tail) / -float(self.epsilon)) + point)
        inner = left[piece] + point * length[piece]
        return np.where(sign < 0.5, -1.0, 1.0) * np.where(in_tail, far, inner)

    def on_grid(self, step: float) -> IntegerLevelNoise:
        """Return the noise of the blocks rounded outward, so that rounded answers are covered; see
        `Noise`.
        """
        return IntegerLevelNoise(self.partition.on_grid(step), self.epsilon)


class IntegerLevelNoise(IntegerNoise, LevelNoise):
    r"""Noise on the integers with ``P(k)`` proportional to :math:`x^{L(k)}` for a partition, drawn
    exactly.

    Notes
    -----
    The draws have the rational decay :math:`\hat x = \lceil 2^{53} e^{-\epsilon} \rceil / 2^{53}
    \ge e^{-\epsilon}`, so it is private for the real ``e**epsilon`` (``partition.certify()`` proves
    the levels). A level is the number of heads in a row of a coin with probability ``x``. It is
    kept with probability ``m_t / max m``, a ratio of whole numbers. Then a member of the layer is
    chosen uniformly. The answer must be a whole number.
    """

    @property
    def _layers(self) -> IntegerLayers:
        layers = self.partition.neighbor_layers
        assert isinstance(layers, IntegerLayers)
        return layers

    def mass(self, k: int) -> Fraction:
        """Return the exact probability that `sample` draws ``k``."""
        x = self.decay
        n = self.partition.steps
        level = int(self.partition.level(read_integer(k)))
        m = [int(v) for v in self.partition.moments.measure]
        total = sum((x**t * m[t] for t in range(n)), Fraction(0)) + x**n * m[n] / (1 - x)
        return Fraction(exact_power(x, level)) / total

    def pdf(self, r: ArrayLike) -> Float:
        """Return the probability of each ``r``; 0 off the integers."""
        r = read_points(r)
        is_integer = r == np.floor(r)
        level = self.partition.level(np.where(is_integer, r, 0.0))
        return np.where(is_integer, np.exp(-float(self.epsilon) * level) / self.normalizer, 0.0)

    def cdf(self, r: ArrayLike) -> Float:
        """See `Noise.cdf`."""
        table = self._layers.table
        c = int(self.sensitivity)
        eps = float(self.epsilon)
        mass = np.exp(-eps * table) / self.normalizer
        beyond = float(mass[len(table) - c :].sum()) * np.exp(-eps) / -np.expm1(-eps)
        # P(noise >= k), k >= 0
        tail = np.concatenate((np.cumsum(mass[::-1])[::-1], [0.0])) + beyond
        k = np.floor(read_points(r))
        # P(noise <= k) = 1 - P(>= k+1) for k >= 0, and P(>= -k) below: both are tails at a positive
        # number. beyond, the mass is 0
        size = np.minimum(np.where(k >= 0, k + 1, -k), len(table) + c * 2.0**60)
        reduced = np.where(size > len(table), len(table) - np.mod(len(table) - size, c), size)
        value = tail[reduced.astype(np.int64)] * np.exp(-eps * np.rint((size - reduced) / c))
        return np.asarray(np.where(k >= 0, 1 - value, value))

    def sample(self, size: int, *, rng: Random = None) -> Int:
        """Draw exactly, in units of the grid, with the masses of `mass`; see `Noise.sample`."""
        source = bit_source(rng)
        n = self.partition.steps
        c = int(self.sensitivity)
        order, starts = self._layers.sorted_members
        counts = np.diff(starts)
        sizes = 2 * counts - (np.arange(n + 1) == 0)
        numerator = self._decay_numerator
        largest = int(sizes.max())
        if c * TOTAL > (TOTAL - numerator) << 53:
            raise StatementError(
                "draws would exceed 64-bit integers", do="state a larger epsilon, or a coarser grid"
            )
        drawn = np.zeros(read_size(size), dtype=np.int64)
        waiting = np.arange(size)
        while len(waiting):
            level = geometric_draws(numerator, len(waiting), source)
            layer = np.minimum(level, n)
            number = uniform_below(largest, len(waiting), source)
            kept = number < sizes[layer]
            layer, number, level = layer[kept], number[kept], level[kept]
            # Numbers 0 .. count-1 are the members >= 0 of the layer, later ones their mirror
            # images; 0 has none.
            right = number < counts[layer]
            index = np.where(right, number, number - counts[layer] + (layer == 0))
            value = order[starts[layer] + index] + c * (level - layer)
            drawn[waiting[kept]] = np.where(right, value, -value)
            waiting = waiting[~kept]
        return drawn
