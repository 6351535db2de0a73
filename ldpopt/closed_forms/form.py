"""The class of all closed forms: value, sampler, and a matrix that is built on request only."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.closed_forms.samplers import ResponseSampler, Sampler, TableSampler
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.numbers import Float, real_number, require_memory
from ldpopt.mechanism.exact_draws import Codes
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy import ApproximateLDP, Notion, PureLDP


@dataclass(frozen=True, eq=False, kw_only=True)
class ClosedForm(ABC):
    """An optimal mechanism in closed form, with its value.

    Each family is a subclass with further results: thresholds, region, bins, dual.

    Parameters
    ----------
    value : float
        Expected gain or loss at the optimum, in the utility's own unit.
    inputs : sequence of hashable, length n
        Labels of the answers, and of the reports.
    epsilon : Budget
        Privacy budget in nats.
    delta : float
        Event-wise delta, ``0 <= delta <= 1``; default: ``0.0``.
    """

    value: float
    inputs: Sequence[Hashable] = field(repr=False)
    epsilon: Budget
    delta: float = 0.0

    @property
    def privacy(self) -> Notion:
        """The notion that the mechanism satisfies."""
        return ApproximateLDP(self.epsilon, self.delta) if self.delta else PureLDP(self.epsilon)

    @property
    @abstractmethod
    def channel(self) -> Float:
        """The formula in floats, shape ``(n, n)``: computed at each access, private up to rounding only."""

    @cached_property
    def mechanism(self) -> Mechanism:
        """The channel as an exactly private `Mechanism`, shape ``(n, n)``, cached; `sampler` needs no matrix."""
        from ldpopt.mechanism.repair import repair

        n = len(self.inputs)
        require_memory(40 * n * n, f"the {n} x {n} matrix of this closed form")
        return repair(self.channel, self.privacy, inputs=self.inputs, outputs=self.inputs).mechanism

    @cached_property
    def sampler(self) -> Sampler:
        """Draws reports: ``.sample(labels, rng=None)`` or ``.draw(codes, rng=None)``; exactly private.

        Default: alias tables of the matrix, which is built. Most families have a sampler without a matrix.
        """
        return TableSampler(self.mechanism)


class ResponseForm(ClosedForm):
    """k-ary randomized response among some answers, the members; with probability delta the truth."""

    @property
    @abstractmethod
    def response(self) -> tuple[Codes, NDArray[Any]]:
        """Codes of the members, shape (k,); position among them of each answer's own report, shape (n,), or -1."""

    @property
    def channel(self) -> Float:
        """The formula in floats, shape ``(n, n)``; an answer without an own report gives a uniform member."""
        members, member_index = self.response
        k, n, b = len(members), len(member_index), self.epsilon.b
        channel = np.zeros((n, n))
        channel[:, members] = np.where(member_index < 0, 1 / k, b / (1 + (k - 1) * b))[:, None]
        own = np.flatnonzero(member_index >= 0)
        channel[own, members[member_index[own]]] = 1 / (1 + (k - 1) * b)
        channel *= 1 - self.delta
        np.fill_diagonal(channel, channel.diagonal() + self.delta)
        return channel

    @cached_property
    def sampler(self) -> ResponseSampler:
        """Draws from rational probabilities, exactly private; no matrix. They differ from `mechanism` by rounding."""
        return ResponseSampler(self.inputs, *self.response, self.epsilon, self.delta)


def read_delta(delta: Any) -> float:
    """Read a delta from 0 to 1."""
    return real_number(delta, "delta", 0, 1, do="state a probability")


def exact_sum(values: Float) -> Fraction:
    """Sum floats without rounding; O(n), vectorized."""
    # Mantissas are split into halves of 27 and 26 bits and added by exponent: a float64 holds such sums of up to 2**26
    # terms exactly.
    mantissas, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    if not len(whole):
        return Fraction(0)
    lowest = int(exponents.min())
    high = np.bincount(exponents - lowest, weights=(whole >> 27).astype(np.float64))
    low = np.bincount(exponents - lowest, weights=(whole & ((1 << 27) - 1)).astype(np.float64))
    total = sum((((int(h) << 27) + int(v)) << power) for power, (h, v) in enumerate(zip(high, low, strict=True)))
    shift = lowest - 53
    return Fraction(total << shift) if shift >= 0 else Fraction(total, 1 << -shift)
