r"""Subset selection: report ``k`` labels, which contain the true one with high probability."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.frequency_certificate import SubsetRandomizer
from ldpopt.errors import StatementError
from ldpopt.foundation.numbers import Float, loose_array, require_memory, whole_number
from ldpopt.frequencies.protocol import TOTAL, FrequencyProtocol, Positions, chunks
from ldpopt.frequencies.set_codec import SetCodec
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.sampling import Random, bit_source

MAX_LISTED_SETS = 4096
"""Largest number of subsets for which the channel is listed."""

FIRST_KEY, LAST_KEY = np.int64(-1), np.int64(TOTAL)
"""Keys below and above all random ones: they put the true label into the set or out of it."""


class SubsetSelection(FrequencyProtocol):
    r"""Report a set of ``k`` labels: with probability ``p`` the true one and ``k-1`` others, else ``k`` others.

    .. math:: p = \frac{k E}{k E + d - k}, \qquad
              q = p \frac{k-1}{d-1} + (1-p) \frac{k}{d-1}, \qquad \frac{P(S \ni x)}{P(S \not\ni x)} = E

    Parameters
    ----------
    inputs : int or sequence of hashable
        The ``d`` labels.
    epsilon : float or str
        Budget in nats, positive.
    size : int, optional
        ``k``, from 1 to ``d - 1`` (default: of the two integers next to ``d / (E + 1)`` the one with smaller
        `total_variance`). 1 is generalized randomized response.

    Notes
    -----
    A report is a row of ``k`` positions of labels, ascending, so that the order reveals nothing. A set that contains
    ``x`` but not ``x'`` has the ratio ``p (d-k) / ((1-p) k)`` of hypergeometric counts; ``p`` is rounded down.
    Up to the rounding of ``k`` no protocol has a smaller mean squared error for large ``N``: `ldpopt.design` for
    ``Workload.frequencies`` with equal weights proves it, with the same variance. O(d) per report.

    References
    ----------
    Ye and Barg 2018, and 2019 on its optimality; Wang et al. 2016 (arXiv 1607.08025).

    Examples
    --------
    >>> subset = SubsetSelection(["a", "b", "c", "d"], "log(3)", size=2)
    >>> round(float(subset.p), 12), subset.mechanism.channel.shape, subset.audit().verdict
    (0.75, (4, 6), 'certified')
    """

    def __init__(self, inputs: int | Sequence[Hashable], epsilon: float | str, *, size: int | None = None) -> None:
        super().__init__(inputs, epsilon)
        d = len(self.inputs)
        if size is None:
            least = max(1, min(d - 1, int(d / (self.epsilon.enclosure()[0] + 1))))
            candidates = sorted({least, min(d - 1, least + 1)})
        else:
            candidates = [whole_number(size, "size", 1, d - 1)]
        laws = [SubsetRandomizer.of(d, k, self.epsilon) for k in candidates]
        self.set_law = min((law for law in laws if law.p > law.q), key=lambda law: law.total_variance, default=laws[0])
        self.size, self.p, self.q = self.set_law.size, self.set_law.p, self.set_law.q
        self._require_distinguishable()

    def __repr__(self) -> str:
        """Number of labels, budget and size of the sets."""
        return f"SubsetSelection({len(self.inputs)} labels, epsilon={self.epsilon!r}, size={self.size})"

    @cached_property
    def mechanism(self) -> Mechanism:
        """The channel to all sets of ``k`` labels, as tuples; for at most 4096 sets."""
        d, k = len(self.inputs), self.size
        if math.comb(d, k) > MAX_LISTED_SETS:
            return super().mechanism
        sets = list(itertools.combinations(range(d), k))
        inside = np.zeros((len(sets), d), dtype=bool)
        inside[np.arange(len(sets))[:, None], sets] = True
        p = float(self.p)
        channel = np.where(inside.T, p / math.comb(d - 1, k - 1), (1 - p) / math.comb(d - 1, k))
        return self._channel(channel, [tuple(self.inputs[place] for place in row) for row in sets])

    @property
    def codec(self) -> SetCodec:
        """What reports look like in a table: positions with spaces between them."""
        return SetCodec(self)

    @property
    def bits(self) -> int:
        """Logarithm of the number of sets."""
        return math.ceil(math.log2(math.comb(len(self.inputs), self.size)))

    def _randomize(self, answers: Positions, rng: Random) -> NDArray[Any]:
        source = bit_source(rng)
        return self.choose(answers, lambda rows, count: source(len(rows) * count).reshape(-1, count))

    def choose(self, answers: Positions, words: Callable[[Positions, int], NDArray[np.uint64]]) -> NDArray[np.int32]:
        """Map uniform words to sets, so that the same words give the same sets.

        Parameters
        ----------
        answers : ndarray of int64, shape (N,)
            Positions of the true labels.
        words : callable
            ``words(rows, count)`` gives new words below ``2**53``, shape ``(len(rows), count)``, for some of the rows.

        Returns
        -------
        ndarray of int32, shape (N, k)
            Positions, ascending.
        """
        n, d, k = len(answers), len(self.inputs), self.size
        require_memory(4 * n * k, f"{n} reports of {k} labels")
        reports = np.empty((n, k), dtype=np.int32)
        mass = np.uint64(int(self.p * TOTAL))
        for part in chunks(n, d):
            own, waiting, rows = answers[part], np.arange(len(answers[part])), np.arange(n)[part]
            special = np.where(words(rows, 1)[:, 0] < mass, FIRST_KEY, LAST_KEY)
            chosen = np.empty((len(own), k), dtype=np.int32)
            while len(waiting):
                keys = words(rows[waiting], d).astype(np.int64)
                keys[np.arange(len(waiting)), own[waiting]] = special[waiting]
                order = np.argpartition(keys, k - 1, axis=1)[:, :k]
                last = np.take_along_axis(keys, order, axis=1).max(axis=1)
                # Equal keys at the border would favor some positions: such a row is drawn again.
                unique = (keys <= last[:, None]).sum(axis=1) == k
                chosen[waiting[unique]] = np.sort(order[unique], axis=1)
                waiting = waiting[~unique]
            reports[part] = chosen
        return reports

    def _support(self, reports: Any, weights: Float | None) -> tuple[Any, int]:
        array, d = loose_array(reports, "list of reports"), len(self.inputs)
        if array.ndim != 2 or array.shape[1] != self.size or array.dtype.kind not in "iu":
            raise StatementError(
                f"reports of shape {array.shape} are none; expected positions of shape (N, {self.size})",
                do="pass what privatize returned",
            )
        ordered = np.sort(array, axis=1)
        if array.size and (array.min() < 0 or array.max() >= d or (np.diff(ordered, axis=1) == 0).any()):
            raise StatementError(f"a report is not a set of {self.size} of the positions 0 .. {d - 1}")
        each = None if weights is None else np.repeat(weights, self.size)
        return np.bincount(array.ravel(), each, minlength=d), len(array)

    def _ratio(self) -> Fraction:
        return self.set_law.odds

    def _delta(self, alpha: Fraction) -> Fraction:
        return self.set_law.delta(alpha)

    def _witness(self) -> Any:
        return self.set_law.witness(self.inputs)[2]
