r"""Frequencies with equal weights, of any number of answers: subset selection is optimal, in closed
form.

With all permutations as symmetries every information matrix is a multiple of the identity on
contrasts, and a set of ``k`` answers has the information

.. math:: t(k) = \frac{(1-b)^2 \, k (n-k) / n}{(b + (1-b) k / n)^2}, \quad b = e^{-\epsilon},

so that the least average variance is :math:`(n-1)^2 / \max_k t(k) - (1 - 1/n)`.
"""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb, lgamma, log
from operator import eq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.frequency_certificate import FrequencyCertificate
from ldpopt.designing.record import FormulaDesign
from ldpopt.errors import StatementError
from ldpopt.estimation.counts import Counts, read_rows
from ldpopt.estimation.estimate import Estimate
from ldpopt.estimation.influence import Influence, influence_of_support
from ldpopt.estimation.intervals import norm_sub
from ldpopt.estimation.liars import read_liars, widened
from ldpopt.foundation.display import Facts
from ldpopt.foundation.numbers import Float, frozen, shaped_array, whole_number
from ldpopt.frequencies.linear_hash import NEAR, LinearHash
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.frequencies.support import ScaledBand
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.sampling import Random
from ldpopt.tables.coding import Missing


class SetsDesign(FormulaDesign):
    """What designs for frequencies whose reports are sets of answers have in common."""

    @abstractmethod
    def frequencies(self, counts: Counts) -> Float:
        """Estimated frequencies of the answers, shape (n,), without negative ones."""

    @abstractmethod
    def second_moments(self, place: int) -> tuple[Float, Float]:
        """Means of ``v_i^2`` and ``v_i v_place`` over the reports of each answer, each (n, n)."""

    @property
    def _labels(self) -> int | Sequence[Hashable]:
        """The answers; if they are 0, 1, 2, ..., their number, from which protocols are made much
        faster.
        """
        names = self.workload.inputs
        return len(names) if all(map(eq, names, range(len(names)))) else names

    @property
    def spans(self) -> Float:
        """The unit of the workload, for every number."""
        return np.full(self.workload.shape[0], abs(self.workload.unit or 1.0))

    def ratio_squares(self, counts: Counts, rows: Any, missing: Any, ratios: Float) -> Float:
        """Means of ``(v_i - t_i (1 - v_missing))^2`` for answers of the estimated frequencies: the
        counts do not show which answers are in one set.
        """
        rows, missing = read_rows(self, rows, missing)
        ratios = shaped_array(ratios, "ratios", len(rows))
        moments = [self.second_moments(int(place)) for place in missing]
        squares = moments[0][0]
        products = np.sum([each for _, each in moments], axis=0)
        t = ratios[:, None]
        linear = 2 * t * (products[rows] - self.wanted[rows])
        square = products[missing].sum(axis=0) - 2 * self.wanted[missing].sum(axis=0) + 1
        return np.asarray((squares[rows] + linear + t**2 * square) @ self.frequencies(counts))


@dataclass(frozen=True, eq=False)
class FrequencyDesign(SetsDesign, certificate=FrequencyCertificate):
    """The optimal design for the frequencies of many answers, drawn by its own sampler.

    Made by `design` if the channel would be too large to list. It has what a `Design` has, but no
    matrix.

    Attributes
    ----------
    certificate : FrequencyCertificate
        Statement, size of the sets, value and bound; it can be saved and checked again.
    notes : tuple of str
        Rounds, reasons and warnings of the search.
    steps : tuple of Step
        The methods that ran, each with the reason for it; empty if the design was read from a file.
    """

    certificate: FrequencyCertificate
    notes: tuple[str, ...] = (
        "closed form: subset selection is optimal for frequencies with equal weights",
    )

    @cached_property
    def protocol(self) -> SubsetSelection:
        """The protocol that is used: a report is a set of answers.

        Raises
        ------
        StatementError
            If the certificate is for another probability of the truth than the protocol has.
        """
        claim = self.certificate
        protocol = SubsetSelection(self._labels, claim.privacy.epsilon, size=claim.size)
        if protocol.distribution != claim.randomizer:
            drawn = protocol.distribution.mass
            certified = claim.randomizer.mass
            problem = f"a set contains the truth with the mass {drawn}; certified is {certified}"
            raise StatementError(
                problem, code="masses", do="design again: this version of ldpopt draws other sets"
            )
        return protocol

    @cached_property
    def short_protocol(self) -> LinearHash | None:
        """A linear hash with shorter reports and at most 1.01 times the bound as its variance; None
        if there is none.

        Its `largest` estimates the largest of a million frequencies.
        """
        try:
            short = LinearHash(self._labels, self.privacy.epsilon)
        except StatementError:  # too many labels, or no field is large enough for the budget
            return None
        return short if short.bits < self.bits and self._ratio(short) <= NEAR else None

    @property
    def short_reports(self) -> str:
        """What the short protocol costs, in words; empty if there is none."""
        if self.short_protocol is None:
            return ""
        short = self.short_protocol
        return (
            f"frequencies.LinearHash, {short.bits} bits, {self._ratio(short):.4f} times the "
            "least variance"
        )

    def _ratio(self, protocol: LinearHash) -> float:
        """Variance of a protocol over the bound."""
        return (self.workload.unit or 1.0) ** 2 * protocol.total_variance / self.bound

    def facts(self) -> Facts:
        """Those of every design, and the short protocol."""
        facts = super().facts()
        short = self.short_reports
        parts = [*facts.parts[:-1], ("shorter reports", short), facts.parts[-1]]
        return replace(facts, parts=parts) if short else facts

    def __repr__(self) -> str:
        sets = f"{self.workload.shape[1]} answers, sets of {self.protocol.size}"
        return (
            f"FrequencyDesign({sets}, average variance {self.value:.6g}, relative gap "
            f"{self.relative_gap:.2g})"
        )

    @property
    def mechanism(self) -> Mechanism:
        """The channel, if its reports are few enough to list."""
        return self.protocol.mechanism

    @property
    def estimator(self) -> Float:
        """``V``, shape ``(n, m)``: the values of each report, if the reports are few enough to
        list.
        """
        channel = self.mechanism.channel
        n = self.workload.shape[1]
        from ldpopt.designing.realize import left_inverse  # searches, which drawing needs not

        return frozen((self.workload.unit or 1.0) * left_inverse(channel, np.full(n, 1.0 / n)))

    @property
    def n_reports(self) -> int:
        """Number of different reports."""
        return comb(self.workload.shape[1], self.protocol.size)

    @property
    def bits(self) -> int:
        """Bits of a report: the base-2 logarithm of the number of sets."""
        n = self.workload.shape[1]
        k = self.protocol.size
        return int(np.ceil((lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2)))

    def frequencies(self, counts: Counts) -> Float:
        """Estimated frequencies of the answers, shape (n,), without negative ones."""
        counts = self.own_counts(counts).require_some()
        p = float(self.protocol.p)
        q = float(self.protocol.q)
        return norm_sub((counts.values / counts.total - q) / (p - q))

    def second_moments(self, place: int) -> tuple[Float, Float]:
        """Means of ``v_i^2`` and ``v_i v_place`` over the reports of each answer, each (n, n)."""
        p = float(self.protocol.p)
        q = float(self.protocol.q)
        n = self.workload.shape[1]
        place = whole_number(place, "place", 0, n - 1)
        k = self.protocol.size
        inside = np.where(np.eye(n), p, q)
        is_same = np.eye(n, dtype=bool)
        # Both of two answers are in a set: one of them is the true one, or neither is.
        both = np.full((n, n), (k - 1) * (p * (k - 2) + (1 - p) * k) / ((n - 1) * (n - 2)))
        both[:, place] = both[is_same] = p * (k - 1) / (n - 1)
        both[place] = inside[place]
        scale = (self.workload.unit or 1.0) / (p - q)
        pairs = ((inside, inside), (both, inside[place]))
        squares, products = (each - q * inside - q * other + q * q for each, other in pairs)
        return scale**2 * squares, scale**2 * products

    def ratio_influence(self, rows: Any, missing: Any, ratios: Float) -> Float:
        """The influence of one report on ``a_i - t_i (1 - f)``, shape (k,), by whether a set has
        the answer ``i``, and how many of the missing answers.
        """
        rows, missing = read_rows(self, rows, missing)
        t = shaped_array(ratios, "ratios", len(rows))
        many = len(missing)
        p = float(self.protocol.p)
        q = float(self.protocol.q)
        size = self.protocol.size
        others = self.workload.shape[1] - 1 - many
        sets = [
            (has, absent)
            for has in (0, 1)
            for absent in range(many + 1)
            if 0 <= size - has - absent <= others
        ]
        values = np.stack([(has - q) + t * (absent - many * q) for has, absent in sets]) / (p - q)
        answers = np.stack([np.ones_like(t), t, np.zeros_like(t)])[: 3 if others else 2]
        raises = values.max(axis=0) - answers.min(axis=0)
        lowers = answers.max(axis=0) - values.min(axis=0)
        return np.asarray(abs(self.workload.unit or 1.0) * np.maximum(raises, lowers))

    def privatize(self, x: Any, *, rng: Random = None) -> NDArray[Any]:
        """Draw one report, a row of positions of answers, for each answer."""
        return self.protocol.privatize(x, rng=rng)

    @property
    def randomizer(self) -> SubsetSelection:
        """The protocol."""
        return self.protocol

    @property
    def unit_columns(self) -> Sequence[Hashable]:
        """The answers: a report is a set of them."""
        return self.protocol.unit_columns

    def in_table(self, reports: Any) -> tuple[Any, Any]:
        """Sets of positions."""
        return self.protocol.in_table(reports)

    def counts_of(self, reports: Any, weights: Any = None, missing: Missing = "refuse") -> Counts:
        """Counts of the sets that have each answer."""
        return self.protocol.counts_of(reports, weights, missing)

    def variances(self, prior: Any = None) -> Float:
        """Variances of the protocol's frequencies, in the unit of the workload."""
        return np.asarray((self.workload.unit or 1.0) ** 2 * self.protocol.variances(prior))

    @property
    def influence(self) -> Influence:
        """That of the protocol, in the unit of the workload."""
        drawn = self.protocol
        return influence_of_support(self.names, drawn.p, drawn.q, self.workload.unit or 1.0)

    def p_value(self, counts: Counts) -> float:
        """The p-value of the counts under the protocol."""
        return self.protocol.p_value(counts)

    def estimate(
        self,
        reports: Any,
        confidence: float = 0.95,
        *,
        simultaneous: bool = False,
        check_fit: bool = True,
        weights: Any = None,
        liars: float = 0.0,
    ) -> Estimate:
        """Estimate the workload from reports or `Counts`, without bias; see `Design.estimate`."""
        liars = read_liars(liars)
        options: dict[str, Any] = {"simultaneous": simultaneous, "check_fit": check_fit}
        frequencies = self.protocol.estimate(reports, confidence, weights=weights, **options)
        unit = self.workload.unit or 1.0
        band = frequencies.bounds if unit == 1 else ScaledBand(frequencies.bounds, unit)
        made: dict[str, Any] = {"values": band.values, "std_error": band.errors, "band": band}
        made |= {"is_distribution": unit == 1, "labels": self.workload.names}
        estimate = replace(frequencies, **made, method="design", covariance=None)
        return widened(estimate.at(confidence), liars, lambda: self.influence.each)
