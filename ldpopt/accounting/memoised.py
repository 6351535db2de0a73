r"""Memoised reports with a fresh layer: each answer has one permanent report, and every publication
is drawn from it.

.. math:: \Pr[y_1 \dots y_T \mid x] = \sum_z P_{xz} \prod_t R_{z y_t}

The numbers of the published reports are enough; their probabilities are integers over ``2**(53 (T +
1))``.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from operator import mul
from typing import Any, ClassVar

import numpy as np

from ldpopt.accounting.curve import PrivacyCurve, compose, read_channel, read_pairs
from ldpopt.accounting.privacy_loss import BITS, Channel, PrivacyLoss, Source, losses_of
from ldpopt.errors import StatementError
from ldpopt.foundation.labelled import is_labelled
from ldpopt.foundation.numbers import Int, whole_number
from ldpopt.mechanism.mechanism import Mechanism

MAX_TERMS = 3_000_000  # probabilities of reports that are compared: a few seconds


@dataclass(frozen=True, eq=False)
class Permanent(Source):
    """The published reports of one person."""

    channel: Channel  # draws the permanent report once
    fresh: Int  # masses of the fresh layer, (k, m)
    times: int

    kind: ClassVar[str] = "permanent"

    @cached_property
    def losses(self) -> tuple[PrivacyLoss, PrivacyLoss]:
        """An upper loss of all pairs, and that of one pair."""
        weights = []
        for reports in combinations_with_replacement(range(self.fresh.shape[1]), self.times):
            numbers = [reports.count(y) for y in range(self.fresh.shape[1])]
            ways = factorial(self.times) // prod(map(factorial, numbers))
            weights.append([ways * prod(map(pow, row, numbers)) for row in self.fresh.tolist()])
        rows = [
            [sum(map(mul, row, each)) for each in weights] for row in self.channel.counts.tolist()
        ]
        unit = 1 << BITS * (self.times + 1)
        return losses_of(
            np.array(rows, object), self.channel.first, self.channel.second, unit, MAX_TERMS
        )

    def plain(self) -> dict[str, Any]:
        """The statement as JSON data."""
        ratios = [str(Fraction(float(r)).limit_denominator(1 << 60)) for r in self.losses[0].ratios]
        layer = {"kind": self.kind, "fresh": self.fresh.tolist(), "publications": self.times}
        return {**self.channel.plain(), **layer, "ratios": ratios}


def permanent(first: Any, fresh: Any, times: int, *, pairs: Any = None) -> PrivacyCurve:
    r"""What repeated publications reveal if each draws afresh from one permanent report.

    .. math:: \Pr[y_1 \dots y_T \mid x] = \sum_z P_{xz} \prod_t R_{z y_t}

    Parameters
    ----------
    first : Mechanism, design or array of shape (n, k)
        Draws the permanent report, once, or with a key.
    fresh : Mechanism, design or array of shape (k, m)
        Draws every publication from the permanent report; an array is read in the order of the
        first one's reports.
    times : int
        Number of publications, at least 1.
    pairs : sequence of (answer, answer), or a notion, optional
        The ordered pairs that are compared; default: all.

    Returns
    -------
    PrivacyCurve
        For an answer that stays the same. Its epsilon never exceeds that of ``first``, nor
        ``times`` that of ``first.then(fresh)``. If the answer changes, the permanent report may
        change: then the publications are ``times`` reports of ``fresh``.

    Raises
    ------
    StatementError, MechanismError
        If the layers do not fit, or there are too many reports to compare.

    Notes
    -----
    Exact. All numbers of reports are listed: :math:`\binom{T + m - 1}{m - 1}` of them for ``m``
    reports.

    Examples
    --------
    >>> curve = permanent([[0.75, 0.25], [0.25, 0.75]], [[0.75, 0.25], [0.25, 0.75]], 10)
    >>> round(curve.epsilon(0.0), 4)
    1.0986
    """
    mechanism, layer, times = (
        read_channel(first),
        read_channel(fresh),
        whole_number(times, "times", 1),
    )
    (n, k), (inputs, m) = mechanism.counts.shape, layer.counts.shape
    if inputs != k:
        problem = f"the fresh layer has {inputs} inputs, and the permanent report is one of {k}"
        raise StatementError(
            problem, do="give a fresh layer for the outputs of the first mechanism"
        )
    channel = Channel(mechanism.counts, *read_pairs(mechanism, pairs))
    terms = comb(times + m - 1, m - 1) * (n * k + len(channel.first))
    if terms > MAX_TERMS:
        problem = f"{times} publications of {m} reports are {terms:,} probabilities to compare"
        raise StatementError(
            problem, do="take fewer publications, or a fresh layer with fewer reports"
        )
    has_labels = is_labelled(fresh) or isinstance(getattr(fresh, "mechanism", fresh), Mechanism)
    return compose(
        [Permanent(channel, layer.counts_after(mechanism) if has_labels else layer.counts, times)]
    )
