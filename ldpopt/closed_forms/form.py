"""The classes of all closed forms: value, sampler, and a matrix that is built on request only.

Samplers draw exactly from rational probabilities, with 53-bit words and without a matrix.
"""

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.foundation.budget import Budget
from ldpopt.foundation.labels import Names, codes, label_array, read_positions
from ldpopt.foundation.numbers import Float, real_number, require_memory
from ldpopt.mechanism.exact_draws import (
    TOTAL,
    Codes,
    Source,
    round_decay_up,
    toss_lazily,
    two_sided_geometric_draws,
    uniform_below,
)
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.sampling import Random, bit_source, chunks
from ldpopt.privacy import ApproximateLDP, Notion, PureLDP


class Sampler(ABC):
    """Draws reports; each subclass has rational probabilities. ``inputs`` are the labels of answers
    and of reports.
    """

    def __init__(self, inputs: Names) -> None:
        self.inputs = inputs

    def sample(self, x: Any, *, rng: Random = None) -> NDArray[Any]:
        """Draw one report for each of the answers ``x``; ``rng=None`` uses the operating system's
        generator.
        """
        if isinstance(self.inputs, range):  # labels are their own codes: no table is needed
            return self.draw(x, rng=rng)
        return np.asarray(
            label_array(self.inputs)[self.draw(codes(x, self.inputs, "answer"), rng=rng)]
        )

    def draw(self, answers: Codes, *, rng: Random = None) -> Codes:
        """Draw one report code for each answer code ``0 <= code < n``; arguments as in `sample`."""
        answers = read_positions(answers, len(self.inputs), "answer")
        source = bit_source(rng)
        drawn = np.empty(len(answers), dtype=np.int64)
        draw = self._draw if rng is not None else self._draw_from_system
        for part in chunks(len(answers)):
            drawn[part] = draw(answers[part], source)
        return drawn

    @abstractmethod
    def probabilities(self, code: int) -> dict[int, Fraction]:
        """Return the exact positive probabilities of the reports to an answer, by code; they sum to
        1.
        """

    @abstractmethod
    def _draw(self, answers: Codes, source: Source) -> Codes:
        """Draw the reports to a chunk of answers that fits in the cache."""

    def _draw_from_system(self, answers: Codes, source: Source) -> Codes:
        """Draw as `_draw` from the system's bits, which are dear and never drawn again: a sampler
        may use fewer of them.
        """
        return self._draw(answers, source)


class ResponseSampler(Sampler):
    r"""With probability ``delta`` the truth; otherwise k-ary randomized response among the members.

    A member is reported truthfully with probability ``A / 2**53`` and otherwise replaced by a
    uniform other member,

    .. math:: A = \lfloor 2^{53} \alpha / (\alpha + k - 1) \rfloor

    with :math:`\alpha \le e^\epsilon` rational; a non-member becomes a uniform member. ``members``,
    shape ``(k,)``, are the codes that are reported; ``member_index``, shape ``(n,)``, has each
    input's position among them, or -1.

    The sampler is private for the real ``e**epsilon`` and the real ``delta``: ``A (k-1) <= alpha
    (2**53 - A)`` by the floor, ``A >= 2**53 / k`` is checked (otherwise reports are uniform), so
    each column lies between the mass of another member and ``alpha`` times that mass. Delta is
    rounded down to a multiple of ``2**-53``. Uniform choices reject the words beyond the last
    multiple of their range. O(1) words per draw, O(n) memory.
    """

    def __init__(
        self,
        inputs: Names,
        members: Codes,
        member_index: NDArray[Any],
        epsilon: Budget,
        delta: float = 0.0,
    ) -> None:
        super().__init__(inputs)
        self.members, self.member_index = members, member_index
        k = len(members)
        alpha = epsilon.enclosure()[0]
        self.truth_mass = int(alpha * TOTAL / (alpha + k - 1))
        self.is_uniform, self.delta_mass = self.truth_mass * k < TOTAL, int(Fraction(delta) * TOTAL)

    def probabilities(self, code: int) -> dict[int, Fraction]:
        """See `Sampler.probabilities`."""
        k = len(self.members)
        index = int(self.member_index[code])
        kept = Fraction(self.delta_mass, TOTAL)
        truth = Fraction(self.truth_mass, TOTAL)
        if index < 0 or self.is_uniform or k == 1:
            masses = {int(member): (1 - kept) / k for member in self.members}
        else:
            masses = {int(member): (1 - kept) * (1 - truth) / (k - 1) for member in self.members}
            masses[int(self.members[index])] = (1 - kept) * truth
        masses[code] = masses.get(code, Fraction(0)) + kept
        return {report: mass for report, mass in masses.items() if mass}

    def _draw(self, answers: Codes, source: Source) -> Codes:
        k = len(self.members)
        size = len(answers)
        position = uniform_below(k, size, source)
        if not self.is_uniform and k > 1:
            index = self.member_index[answers].astype(np.int64)
            other = uniform_below(k - 1, size, source)
            other += other >= index
            keeps = source(size) < np.uint64(self.truth_mass)
            position = np.where(index >= 0, np.where(keeps, index, other), position)
        return self._with_truths(self.members[position], answers, source)

    def _draw_from_system(self, answers: Codes, source: Source) -> Codes:
        """A byte for the truth, and a word only for an answer that is replaced."""
        k = len(self.members)
        if self.is_uniform or k == 1:
            return self._draw(answers, source)
        position = self.member_index[answers].astype(np.int64)
        keeps = np.empty(len(answers), bool)
        first = np.frombuffer(os.urandom(len(answers)), np.uint8)
        toss_lazily(self.truth_mass, first, source, keeps)
        is_member = position >= 0
        replaced = np.flatnonzero(is_member & ~keeps)
        other = uniform_below(k - 1, len(replaced), source)
        other += other >= position[replaced]
        position[replaced] = other
        if len(strangers := np.flatnonzero(~is_member)):
            position[strangers] = uniform_below(k, len(strangers), source)
        return self._with_truths(self.members[position], answers, source)

    def _with_truths(self, reports: Codes, answers: Codes, source: Source) -> Codes:
        """The reports, of which each is the answer itself with probability delta."""
        if self.delta_mass:
            reports = np.where(source(len(answers)) < np.uint64(self.delta_mass), answers, reports)
        return reports


class GeometricSampler(Sampler):
    r"""Two-sided geometric noise, clamped to the path ``0 .. n-1``, then remapped.

    .. math:: \Pr(z) = \frac{1-b}{1+b} b^{|z|},
              \qquad b = \lceil 2^{53} e^{-\epsilon} \rceil / 2^{53}

    ``remap``, shape ``(n,)``, is the report for each clamped position. Since ``1 / b <=
    e**epsilon``, neighbors on the path are private for the real ``e**epsilon``. About ten words per
    draw.
    """

    def __init__(self, inputs: Names, remap: Codes, epsilon: Budget) -> None:
        super().__init__(inputs)
        self.remap = remap
        self.step_mass = round_decay_up(epsilon)

    def probabilities(self, code: int) -> dict[int, Fraction]:
        """See `Sampler.probabilities`."""
        n = len(self.inputs)
        b = Fraction(self.step_mass, TOTAL)
        masses: dict[int, Fraction] = {}
        for position in range(n):
            weight = 1 / (1 + b) if position in (0, n - 1) else (1 - b) / (1 + b)
            mass = weight * b ** abs(position - code) if n > 1 else Fraction(1)
            report = int(self.remap[position])
            masses[report] = masses.get(report, Fraction(0)) + mass
        return {report: mass for report, mass in masses.items() if mass}

    def _draw(self, answers: Codes, source: Source) -> Codes:
        noise = two_sided_geometric_draws(self.step_mass, len(answers), source)
        return np.asarray(self.remap[np.clip(answers + noise, 0, len(self.inputs) - 1)])


class TableSampler(Sampler):
    """Draws from the alias tables of an exactly private mechanism, for families without a
    matrix-free sampler.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism.inputs)
        self.mechanism = mechanism

    def probabilities(self, code: int) -> dict[int, Fraction]:
        """See `Sampler.probabilities`."""
        row = self.mechanism.counts[code].tolist()
        return {report: Fraction(mass, TOTAL) for report, mass in enumerate(row) if mass}

    def _draw(self, answers: Codes, source: Source) -> Codes:
        return self.mechanism.sampler.choose(answers, source(len(answers)))


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
    inputs: Names = field(repr=False)
    epsilon: Budget
    delta: float = 0.0

    @property
    def privacy(self) -> Notion:
        """The notion that the mechanism satisfies."""
        return ApproximateLDP(self.epsilon, self.delta) if self.delta else PureLDP(self.epsilon)

    @property
    @abstractmethod
    def channel(self) -> Float:
        """The formula in floats, shape ``(n, n)``: computed at each access, private up to rounding
        only.
        """

    @cached_property
    def mechanism(self) -> Mechanism:
        """The channel as an exactly private `Mechanism`, shape ``(n, n)``, cached; `sampler` needs
        no matrix.
        """
        from ldpopt.mechanism.repair import repair

        n = len(self.inputs)
        require_memory(40 * n * n, f"the {n} x {n} matrix of this closed form")
        return repair(self.channel, self.privacy, inputs=self.inputs, outputs=self.inputs).mechanism

    @cached_property
    def sampler(self) -> Sampler:
        """Draws reports: ``.sample(labels, rng=None)`` or ``.draw(codes, rng=None)``; exactly
        private.

        Default: alias tables of the matrix, which is built. Most families have a sampler without a
        matrix.
        """
        return TableSampler(self.mechanism)


class ResponseForm(ClosedForm):
    """k-ary randomized response among some answers, the members; with probability delta the
    truth.
    """

    @property
    @abstractmethod
    def response(self) -> tuple[Codes, NDArray[Any]]:
        """Codes of the members, shape (k,); position among them of each answer's own report, shape
        (n,), or -1.
        """

    @property
    def channel(self) -> Float:
        """The formula in floats, shape ``(n, n)``; an answer without an own report gives a uniform
        member.
        """
        members, member_index = self.response
        k = len(members)
        n = len(member_index)
        b = self.epsilon.b
        channel = np.zeros((n, n))
        channel[:, members] = np.where(member_index < 0, 1 / k, b / (1 + (k - 1) * b))[:, None]
        reported = np.flatnonzero(member_index >= 0)
        channel[reported, members[member_index[reported]]] = 1 / (1 + (k - 1) * b)
        channel *= 1 - self.delta
        np.fill_diagonal(channel, channel.diagonal() + self.delta)
        return channel

    @cached_property
    def sampler(self) -> ResponseSampler:
        """Draws from rational probabilities, exactly private; no matrix. They differ from
        `mechanism` by rounding.
        """
        return ResponseSampler(self.inputs, *self.response, self.epsilon, self.delta)


def read_delta(delta: Any) -> float:
    """Read a delta from 0 to 1."""
    return real_number(delta, "delta", 0, 1, do="state a probability")


def exact_sum(values: Float) -> Fraction:
    """Sum floats without rounding; O(n), vectorized."""
    # Mantissas are split into halves of 27 and 26 bits and added by exponent: floats hold sums of
    # 2**26 terms exactly.
    mantissas, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    integers = np.ldexp(mantissas, 53).astype(np.int64)
    if not len(integers):
        return Fraction(0)
    lowest = int(exponents.min())
    high = np.bincount(exponents - lowest, weights=(integers >> 27).astype(np.float64))
    low = np.bincount(exponents - lowest, weights=(integers & ((1 << 27) - 1)).astype(np.float64))
    total = sum(
        (((int(h) << 27) + int(v)) << power)
        for power, (h, v) in enumerate(zip(high, low, strict=True))
    )
    shift = lowest - 53
    return Fraction(total << shift) if shift >= 0 else Fraction(total, 1 << -shift)
