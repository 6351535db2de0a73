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
from ldpopt.foundation.seeds import generator_of, words_of
from ldpopt.mechanism.exact_draws import (
    TOTAL,
    Codes,
    Source,
    round_decay_up,
    two_sided_geometric_draws,
    uniform_below,
)
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.sampling import BITS, CHUNK, FIRST, Random, bit_source, chunks
from ldpopt.native import draw_responses, respond_early
from ldpopt.privacy import ApproximateLDP, Notion, PureLDP

LAST = (1 << FIRST) - 1  # the largest value of the first bits


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
        drawn = np.empty(len(answers), dtype=np.int64)
        self._write(np.ascontiguousarray(answers), rng, drawn)
        return drawn

    @abstractmethod
    def probabilities(self, code: int) -> dict[int, Fraction]:
        """Return the exact positive probabilities of the reports to an answer, by code; they sum to
        1.
        """

    @abstractmethod
    def _write(self, answers: Codes, rng: Random, drawn: Codes) -> None:
        """Write the report codes that are drawn for answers."""


class ChunkSampler(Sampler):
    """Draws the reports of chunks of answers that fit in the cache."""

    def _write(self, answers: Codes, rng: Random, drawn: Codes) -> None:
        source = bit_source(rng)
        for part in chunks(len(answers)):
            drawn[part] = self._draw(answers[part], source)

    @abstractmethod
    def _draw(self, answers: Codes, source: Source) -> Codes:
        """Draw the reports to a chunk of answers."""


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
            masses = dict.fromkeys(self.members.tolist(), (1 - kept) / k)
        else:
            masses = dict.fromkeys(self.members.tolist(), (1 - kept) * (1 - truth) / (k - 1))
            masses[int(self.members[index])] = (1 - kept) * truth
        masses[code] = masses.get(code, Fraction(0)) + kept
        return {report: mass for report, mass in masses.items() if mass}

    def _write(self, answers: Codes, rng: Random, drawn: Codes) -> None:
        if rng is None:
            for part in chunks(len(answers)):
                drawn[part] = self._draw_from_system(answers[part])
            return
        table = np.ascontiguousarray(self.member_index, np.int64)
        members = np.ascontiguousarray(self.members, np.int64)
        masses = self.truth_mass, self.is_uniform, self.delta_mass
        with words_of(generator_of(rng)) as generator:
            other = np.empty(CHUNK, np.int64)
            draw_responses(answers, table, members, *masses, *generator, other, drawn)

    def _draw_from_system(self, answers: Codes) -> Codes:
        """The system's bits are dear and never drawn again: 16 of them decide most of the rows."""
        source = bit_source(None)
        k = len(self.members)
        letters = answers if self._are_all else self.member_index[answers].astype(np.int64)
        strangers = np.zeros(0, np.int64) if self._are_all else np.flatnonzero(letters < 0)
        if self.is_uniform or k == 1:
            position = uniform_below(k, len(answers), source)
        else:
            firsts = np.frombuffer(os.urandom(2 * len(answers)), np.uint16)
            position = self._positions(letters, firsts, source)
            position[strangers] = uniform_below(k, len(strangers), source)
        reports = position if self._are_all else self.members[position]
        if self.delta_mass:  # each is the answer itself with this probability
            is_told = source(len(answers)) < np.uint64(self.delta_mass)
            reports = np.where(is_told, answers, reports)
        return reports

    def _positions(self, letters: Codes, firsts: NDArray[np.uint16], source: Source) -> Codes:
        """Draw positions of members, from 16 bits each; rows that these leave undecided draw the
        others.
        """
        others = len(self.members) - 1
        # The first values keep, the next one has what is left of the mass, and the others have
        # equal numbers of values for each other member, and an undecided rest.
        keeping, later = divmod(self.truth_mass, 1 << (BITS - FIRST))
        each = (LAST - keeping) // others
        position = np.empty(len(letters), np.int64)
        undecided = np.empty(len(letters), np.int64)
        late = undecided[
            : respond_early(letters, firsts, keeping, each, others, position, undecided)
        ]
        is_replaced = np.ones(len(late), bool)
        between = np.flatnonzero(firsts[late] == keeping)
        is_replaced[between] = source(len(between)) >> np.uint64(FIRST) >= np.uint64(later)
        replaced = late[is_replaced]
        other = uniform_below(others, len(replaced), source)
        position[late] = letters[late]
        position[replaced] = other + (other >= letters[replaced])
        return position

    @cached_property
    def _are_all(self) -> bool:
        """Whether every answer is a member, in the same order."""
        same = np.arange(len(self.inputs))
        return np.array_equal(self.members, same) and np.array_equal(self.member_index, same)


class GeometricSampler(ChunkSampler):
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


class TableSampler(ChunkSampler):
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
