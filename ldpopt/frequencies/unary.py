r"""Unary encoding: one bit for each label, each randomized independently; symmetric (basic RAPPOR)
or optimized.
"""

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ldpopt.errors import StatementError
from ldpopt.foundation.labelled import distinct_labels, positions_of
from ldpopt.foundation.numbers import Float, any_array, require_choice, require_memory
from ldpopt.foundation.seeds import generator_of
from ldpopt.frequencies.protocol import FrequencyProtocol
from ldpopt.frequencies.rule import Positions
from ldpopt.mechanism.exact_draws import TOTAL, coin_tosses, toss_lazily
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.sampling import CHUNK, Random, bit_source, chunks, whole_words

Kind = Literal["optimized", "symmetric"]
# largest number of labels for which the channel with ``2**d`` reports is listed
MAX_LISTED_LABELS = 12


class UnaryEncoding(FrequencyProtocol, published=True):
    r"""One bit per label, independent: 1 with probability ``p`` for the true label, ``q`` for the
    others.

    .. math:: \text{optimized (OUE): } p = \frac12,\ q = \frac{1}{E + 1},\ V(0) =
              \frac{4E}{(E-1)^2}; \qquad
              \text{symmetric (SUE): } p = \frac{s}{s + 1},\ q = 1 - p,\ V(0) = \frac{s}{(s-1)^2}

    with ``E = exp(epsilon)`` and ``s = exp(epsilon / 2)``.

    Parameters
    ----------
    inputs : int or sequence of hashable
        The ``d`` labels.
    epsilon : float or str
        Budget in nats, positive.
    kind : {"optimized", "symmetric"}
        Least variance at frequency 0, or equal error probabilities of 0 and 1 (basic RAPPOR,
        permanent response); default: ``"optimized"``.

    Raises
    ------
    StatementError
        As `FrequencyProtocol`, and if the kind is unknown.

    Notes
    -----
    A report is a row of ``d`` bits. Two labels differ in two bits, so the true budget is the
    logarithm of the *product* ``p (1-q) / (q (1-p))``; masses are integers over ``2**53``, ``q``
    rounded up. O(d) per report, a random byte for a label, and 53 more bits for one in 256.

    References
    ----------
    Erlingsson, Pihur and Korolova 2014 (RAPPOR); Wang, Blocki, Li and Jha 2017, section 4.2.

    Examples
    --------
    >>> bits = UnaryEncoding(4, "log(3)")
    >>> float(bits.p), float(bits.q), round(bits.variance(), 9)
    (0.5, 0.25, 3.0)
    """

    draws_each_label = True
    _shown = ("kind",)

    def __init__(
        self, inputs: int | Sequence[Hashable], epsilon: float | str, *, kind: Kind = "optimized"
    ) -> None:
        super().__init__(inputs, epsilon)
        require_choice(kind, ("optimized", "symmetric"), "kind")
        self.kind = kind
        # (1 - q) / q <= root. The other factor is 1 for p = 1/2, and the same for p = 1 - q.
        root = self.epsilon.enclosure(1 if kind == "optimized" else Fraction(1, 2))[0]
        rare = math.ceil(TOTAL / (root + 1))
        self._masses = (TOTAL // 2 if kind == "optimized" else TOTAL - rare), rare
        self.p, self.q = Fraction(self._masses[0], TOTAL), Fraction(rare, TOTAL)
        self._require_distinguishable()

    @cached_property
    def mechanism(self) -> Mechanism:
        """The channel to all ``2**d`` reports, each the tuple of labels whose bit is 1; for ``d <=
        12``.
        """
        size = len(self.inputs)
        if size > MAX_LISTED_LABELS:
            return super().mechanism
        bits = np.array(list(itertools.product((0, 1), repeat=size)), dtype=bool)
        p = float(self.p)
        q = float(self.q)
        ones = bits.sum(axis=1)[None, :] - bits.T
        others = q**ones * (1 - q) ** (size - 1 - ones)
        outputs = [tuple(itertools.compress(self.inputs, row)) for row in bits.tolist()]
        return self._channel(np.where(bits.T, p, 1 - p) * others, outputs)

    def _randomize(self, answers: Positions, rng: Random) -> NDArray[Any]:
        """Bits, shape (N, d): all as for labels that are not the true one, then the true ones."""
        size = len(answers)
        width = len(self.inputs)
        require_memory(size * width, f"{size} reports of {width} bits")
        generator = None if rng is None else generator_of(rng)
        reports = np.empty((size, width), dtype=bool)
        words = bit_source(generator)  # of 53 bits
        first_words = whole_words(generator)  # of 64 bits: a byte for each coin, see `toss_lazily`
        true_mass, other_mass = self._masses
        for part in chunks(size, max(1, CHUNK // width)):
            truth = answers[part]
            bits = reports[part]
            first_bytes = first_words(-(-bits.size // 8)).view(np.uint8)[: bits.size]
            toss_lazily(other_mass, first_bytes, words, bits.reshape(-1))
            bits[np.arange(len(truth)), truth] = coin_tosses(true_mass, len(truth), words)
        return reports

    def _support(self, reports: Any, weights: Float | None) -> tuple[Any, int]:
        if hasattr(reports, "columns") and hasattr(reports, "to_numpy"):  # bits by label
            labels = distinct_labels(reports.columns, "reports", "input")
            reports = reports.to_numpy()[:, positions_of(labels, self.inputs, "reports", "input")]
        array = any_array(reports, "list of reports")
        if array.ndim != 2 or array.shape[1] != len(self.inputs) or array.dtype.kind not in "biu":
            problem = (
                f"reports have shape {array.shape}; expected bits of shape (N, {len(self.inputs)})"
            )
            raise StatementError(problem, code="shape", do="pass what privatize returned")
        if array.dtype.kind != "b":
            _require_bits(array)
        return _sums(array, weights), len(array)

    def _ratio(self) -> Fraction:
        return self.p * (1 - self.q) / (self.q * (1 - self.p))

    def _delta(self, alpha: Fraction) -> Fraction:
        # All other bits have the same distribution. Of the four values of these two bits only (1,
        # 0) is likelier.
        return self.p * (1 - self.q) - alpha * self.q * (1 - self.p)

    def _witness(self) -> Any:
        return (self.inputs[0],)


def _blocks(array: NDArray[Any]) -> Iterator[slice]:
    """Rows of a table in blocks of about `CHUNK` entries: what is computed of each is small beside
    the table.
    """
    return chunks(len(array), max(1, CHUNK // max(array.shape[1], 1)))


def _sums(array: NDArray[Any], weights: Float | None) -> Any:
    """The number of each bit, or the sum of its weights."""
    if weights is None:
        return array.sum(axis=0)
    total = np.zeros(array.shape[1])
    for part in _blocks(array):
        total += weights[part] @ array[part]  # of numbers with 64 bits, in place of bytes
    return total


def _require_bits(array: NDArray[Any]) -> None:
    """Refuse a table of whole numbers that are not all 0 or 1."""
    for part in _blocks(array):
        is_bits = ((array[part] == 0) | (array[part] == 1)).all(axis=1)
        if not is_bits.all():
            raise StatementError(
                "a report contains a number that is neither 0 nor 1",
                code="bits",
                where=f"report {part.start + int(is_bits.argmin())}",
                do="pass what privatize returned",
            )
