"""ClosedForm: the value at once, the matrix only when asked for, and a sampler that needs no matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.closed_forms.samplers import Sampler, TableSampler
from ldpopt.foundation.budget import Budget
from ldpopt.foundation.checks import Float, real_number, require_memory
from ldpopt.mechanism.mechanism import Mechanism

if TYPE_CHECKING:
    from ldpopt.privacy import Notion


@dataclass(frozen=True, eq=False, kw_only=True)
class ClosedForm(ABC):
    """An optimal mechanism that is known in closed form, with what it is worth.

    Each family is a subclass of its own, which adds the family's facts: thresholds, region, bins, dual.

    Parameters
    ----------
    value : float
        Expected gain or loss at the optimum, in the utility's own unit.
    inputs : sequence of hashable, length n
        Labels of the answers; the reports carry the same ones.
    epsilon : Budget
        Privacy budget in nats.
    delta : float
        Event-wise delta, ``0 <= delta <= 1``.
    """

    value: float
    inputs: Sequence[Hashable] = field(repr=False)
    epsilon: Budget
    delta: float = 0.0

    @property
    def privacy(self) -> Notion:
        """The notion that the mechanism satisfies."""
        from ldpopt.privacy import ApproximateLDP, PureLDP

        return ApproximateLDP(self.epsilon, self.delta) if self.delta else PureLDP(self.epsilon)

    @property
    @abstractmethod
    def channel(self) -> Float:
        """The formula in floats, shape ``(n, n)``: built anew at each call, and private only up to rounding."""

    @cached_property
    def mechanism(self) -> Mechanism:
        """The channel as an exactly private `Mechanism`, shape ``(n, n)``; built at the first call, then kept.

        Raises
        ------
        StatementError
            If the matrix would not fit into memory; `sampler` needs none.
        """
        n = len(self.inputs)
        require_memory(40 * n * n, f"the {n} x {n} matrix of this closed form")
        return exactly_private(self.channel, self.privacy, self.inputs)

    @cached_property
    def sampler(self) -> Sampler:
        """Draws reports: ``.sample(labels, rng=None)`` or ``.draw(codes, rng=None)``; exactly private.

        Unless the family says otherwise it is the matrix's own alias table, and so it builds the matrix.
        """
        return TableSampler(self.mechanism)


def exactly_private(channel: Float, privacy: Notion, inputs: Sequence[Hashable]) -> Mechanism:
    """Round a channel of floats to masses over ``2**53`` that are private for the real ``e**epsilon``."""
    from ldpopt.mechanism.repair import repair

    mechanism: Mechanism = repair(channel, privacy, inputs=inputs, outputs=inputs).mechanism
    return mechanism


def read_delta(delta: Any) -> float:
    """Check ``0 <= delta <= 1``.

    Raises
    ------
    StatementError
        If it is no number in that range.
    """
    return real_number(delta, "delta", 0, 1, do="state a probability")


def exact_sum(values: Float) -> Fraction:
    """Sum floats without rounding; O(n), vectorized.

    Mantissas are split into halves of 27 and 26 bits and added by exponent: a float64 holds such sums of up to
    ``2**26`` terms exactly.
    """
    mantissas, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    if not len(whole):
        return Fraction(0)
    lowest = int(exponents.min())
    high = np.bincount(exponents - lowest, weights=(whole >> 27).astype(np.float64))
    low = np.bincount(exponents - lowest, weights=(whole & ((1 << 27) - 1)).astype(np.float64))
    total = sum((((int(h) << 27) + int(v)) << place) for place, (h, v) in enumerate(zip(high, low, strict=True)))
    shift = lowest - 53
    return Fraction(total << shift) if shift >= 0 else Fraction(total, 1 << -shift)
