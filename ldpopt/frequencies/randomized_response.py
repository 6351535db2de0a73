r"""Generalized randomized response as a frequency protocol: the true label, or a uniform other
one.
"""

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.closed_forms import randomized_response
from ldpopt.closed_forms.form import ResponseSampler
from ldpopt.estimation.counts import Counts
from ldpopt.estimation.likelihood import likelihood_p_value
from ldpopt.estimation.reports import codes_in, counted, tally
from ldpopt.foundation.labels import Names, label_array
from ldpopt.foundation.numbers import Float, require_memory
from ldpopt.frequencies.protocol import FrequencyProtocol
from ldpopt.frequencies.rule import Positions
from ldpopt.mechanism.exact_draws import TOTAL
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.sampling import Random

MOST_LISTED = 16  # labels up to which the fit of reports is that of the channel


class RandomizedResponse(FrequencyProtocol, published=True):
    r"""Frequency protocol GRR (k-RR, direct encoding): truth with probability ``p``, each other
    label with ``q``.

    .. math:: p = \frac{E}{E + d - 1}, \quad q = \frac{1}{E + d - 1},
              \quad V(0) = \frac{d - 2 + E}{(E-1)^2},
              \quad E = e^\epsilon

    Parameters
    ----------
    inputs : int or sequence of hashable
        The ``d`` labels.
    epsilon : float or str
        Budget in nats, positive.

    Raises
    ------
    StatementError
        As `FrequencyProtocol`, and if the labels do not fit into the memory.

    Notes
    -----
    A report is a label. It is optimal for the probability of truth under a uniform prior, at every
    epsilon. For frequencies it is better than unary encoding and hashing only if ``d < 3 E + 2``.
    O(1) per report.

    References
    ----------
    Kairouz, Bonawitz and Ramage 2016 (k-RR); Wang, Blocki, Li and Jha 2017, section 4.1; Warner
    1965 for ``d = 2``.

    Examples
    --------
    >>> response = RandomizedResponse(["a", "b", "c"], "log(4)")
    >>> round(float(response.p), 12), response.audit().verdict
    (0.666666666667, 'certified')
    """

    def __init__(self, inputs: int | Names, epsilon: float | str) -> None:
        super().__init__(inputs, epsilon)
        require_memory(16 * len(self.inputs), f"the letters of {len(self.inputs)} labels")
        letters = np.arange(len(self.inputs))
        self._sampler = ResponseSampler(self.inputs, letters, letters, self.epsilon)
        self.p, self.q = kept_and_other(self._sampler)
        self._require_distinguishable()

    @cached_property
    def mechanism(self) -> Mechanism:
        """The channel, ``(d, d)``: the optimum that `solve` finds for ``identity`` utility and a
        uniform prior.
        """
        size = len(self.inputs)
        require_memory(40 * size * size, f"the {size} x {size} channel")
        return self._channel(randomized_response(size, self.epsilon).channel, self.inputs)

    @property
    def bits(self) -> int:
        """Bits of the position of a label."""
        return math.ceil(math.log2(len(self.inputs)))

    def _randomize(self, answers: Positions, rng: Random) -> NDArray[Any]:
        drawn = self._sampler.draw(answers, rng=rng)
        return drawn if isinstance(self.inputs, range) else label_array(self.inputs)[drawn]

    def _support(self, reports: Any, weights: Float | None) -> tuple[Any, int]:
        seen = counted(reports, self.inputs, weights)
        if seen is not None:
            return seen, int(seen.sum())
        positions, _ = codes_in(reports, self.inputs)
        if weights is None:
            return tally(positions, len(self.inputs)), len(positions)
        return np.bincount(positions, weights, minlength=len(self.inputs)), len(positions)

    def p_value(self, counts: Counts) -> float:
        """That of the channel, for few labels; else that of every protocol."""
        counts = self.own_counts(counts)
        size = len(self.inputs)
        if size > MOST_LISTED:
            return super().p_value(counts)
        if counts.values.sum() != counts.n_reports:
            return 0.0
        channel = np.full((size, size), float(self.q))
        np.fill_diagonal(channel, float(self.p))
        return likelihood_p_value(channel, counts.values.astype(np.int64))

    def _ratio(self) -> Fraction:
        return self.p / self.q

    def _delta(self, alpha: Fraction) -> Fraction:
        return self.p - alpha * self.q

    def _witness(self) -> Any:
        return self.inputs[0]


def kept_and_other(sampler: ResponseSampler) -> tuple[Fraction, Fraction]:
    """Return the exact probabilities of the true letter and of each other one."""
    size = len(sampler.members)
    kept = Fraction(1, size) if sampler.is_uniform else Fraction(sampler.truth_mass, TOTAL)
    return kept, (1 - kept) / (size - 1)
