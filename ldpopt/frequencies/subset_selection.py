r"""Subset selection: a report is a set of ``k`` labels that contains the true one with high
probability.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.certificate.frequency_certificate import SubsetRandomizer
from ldpopt.errors import StatementError
from ldpopt.foundation import optional
from ldpopt.foundation.labels import text_of
from ldpopt.foundation.numbers import (
    Float,
    any_array,
    positions,
    quoted,
    require_function,
    require_memory,
    whole_number,
)
from ldpopt.frequencies.protocol import FrequencyProtocol
from ldpopt.frequencies.rule import Positions
from ldpopt.mechanism.codec import LabelCodec, Reader, answers_not_reports
from ldpopt.mechanism.exact_draws import TOTAL
from ldpopt.mechanism.keyed import Draws, KeyedDraws
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.mechanism.sampling import BITS, CHUNK, Random, chunks, whole_words
from ldpopt.native import choose_sets
from ldpopt.tables.coding import MISSING, Codes, is_missing
from ldpopt.tables.vectors import column_of_numbers, column_of_texts

MAX_LISTED_SETS = 4096  # largest number of subsets for which the channel is listed
# A uniform number below ``d`` takes one part of a word of 64 bits: number of parts and their bits,
# up to a ``d``
WORD_PARTS = {1 << 15: (3, 21), 1 << 31: (2, 32)}


class SubsetSelection(FrequencyProtocol, published=True):
    r"""Report a set of ``k`` labels: with probability ``p`` the true one and ``k-1`` others, else
    ``k`` others.

    .. math:: p = \frac{k E}{k E + d - k}, \qquad
              q = p \frac{k-1}{d-1} + (1-p) \frac{k}{d-1},
              \qquad \frac{P(S \ni x)}{P(S \not\ni x)} = E

    Parameters
    ----------
    inputs : int or sequence of hashable
        The ``d`` labels.
    epsilon : float or str
        Budget in nats, positive.
    size : int, optional
        ``k``, from 1 to ``d - 1`` (default: of the two integers next to ``d / (E + 1)`` the one
        with smaller `total_variance`). 1 is generalized randomized response.

    Raises
    ------
    StatementError
        As `FrequencyProtocol`, and if ``size`` is not from 1 to ``d - 1``.

    Notes
    -----
    A report is a row of ``k`` positions of labels, ascending, so that the order reveals nothing. A
    set that contains ``x`` but not ``x'`` has the ratio ``p (d-k) / ((1-p) k)`` of hypergeometric
    counts; ``p`` is rounded down. Up to the rounding of ``k`` no protocol has a smaller mean
    squared error for large ``N``: `ldpopt.design` for ``Workload.frequencies`` with equal weights
    proves it, with the same variance. O(k) per report, 21 random bits for each label of the set, or
    of its complement if that is smaller.

    References
    ----------
    Ye and Barg 2018, and 2019 on its optimality; Wang et al. 2016 (arXiv 1607.08025).

    Examples
    --------
    >>> subset = SubsetSelection(["a", "b", "c", "d"], "log(3)", size=2)
    >>> round(float(subset.p), 12), subset.mechanism.channel.shape, subset.audit().verdict
    (0.75, (4, 6), 'certified')
    """

    draws_each_label = True
    _shown = ("size",)

    def __init__(
        self, inputs: int | Sequence[Hashable], epsilon: float | str, *, size: int | None = None
    ) -> None:
        super().__init__(inputs, epsilon)
        d = len(self.inputs)
        if size is None:
            least = max(1, min(d - 1, int(d / (self.epsilon.enclosure()[0] + 1))))
            candidates = sorted({least, min(d - 1, least + 1)})
        else:
            candidates = [whole_number(size, "size", 1, d - 1)]
        distributions = [SubsetRandomizer.of(d, k, self.epsilon) for k in candidates]
        usable = [distribution for distribution in distributions if distribution.p > distribution.q]
        self.distribution = min(
            usable, key=lambda distribution: distribution.total_variance, default=distributions[0]
        )
        self.size, self.p, self.q = self.distribution.size, self.distribution.p, self.distribution.q
        self._require_distinguishable()

    @cached_property
    def mechanism(self) -> Mechanism:
        """The channel to all sets of ``k`` labels, as tuples; for at most 4096 sets."""
        d = len(self.inputs)
        k = self.size
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
        """How reports are written in a table: positions with spaces between them."""
        return SetCodec(self)

    @property
    def bits(self) -> int:
        """Bits of the number of a set."""
        return math.ceil(math.log2(math.comb(len(self.inputs), self.size)))

    def _randomize(self, answers: Positions, rng: Random) -> NDArray[Any]:
        source = whole_words(rng)
        return self.choose(
            answers, lambda rows, count: source(len(rows) * count).reshape(-1, count)
        )

    def choose(
        self, answers: Positions, words: Callable[[Positions, int], NDArray[np.uint64]]
    ) -> NDArray[np.int32]:
        """Map uniform words to sets, as rows of ascending positions: the same words give the same
        sets.

        ``words(rows, count)`` returns new words of 64 bits, shape ``(len(rows), count)``, for some
        of the rows.
        """
        answers = positions(answers, "answers", None, len(self.inputs))
        require_function(words, "words")
        n = len(answers)
        d = len(self.inputs)
        k = self.size
        require_memory(4 * n * k, f"{n} reports of {k} labels")
        reports = np.empty((n, k), dtype=np.int32)
        mass = np.uint64(int(self.p * TOTAL))
        parts, bits = next(part for most, part in WORD_PARTS.items() if d <= most)
        draws = min(k, d - k)
        # enough if twice as many are repeated as expected
        count = -(-(draws + 2 + (2 * draws * d >> bits)) // parts)
        for part in chunks(n, max(1, 2 * CHUNK // (count + 1))):
            truth = np.ascontiguousarray(answers[part], np.int64)
            waiting = np.arange(part.start, part.stop)
            is_held = words(waiting, 1)[:, 0] >> np.uint64(64 - BITS) < mass
            while len(waiting):
                chosen = np.empty((len(waiting), k), dtype=np.int32)
                is_done = np.empty(len(waiting), dtype=bool)
                choose_sets(
                    d,
                    parts,
                    bits,
                    words(waiting, count).view(np.int64),
                    truth,
                    is_held,
                    chosen,
                    is_done,
                )
                reports[waiting[is_done]] = chosen[is_done]
                truth, is_held, waiting = truth[~is_done], is_held[~is_done], waiting[~is_done]
        return reports

    @property
    def unit_columns(self) -> Sequence[Hashable]:
        """The answers: a report is a set of them."""
        return self.inputs

    def in_table(self, reports: Any) -> tuple[Any, Any]:
        """Sets of positions."""
        return self._checked(reports), slice(None)

    def _support(self, reports: Any, weights: Float | None) -> tuple[Any, int]:
        array = self._checked(reports)
        each = None if weights is None else np.repeat(weights, self.size)
        return np.bincount(array.ravel(), each, minlength=len(self.inputs)), len(array)

    def _checked(self, reports: Any) -> NDArray[Any]:
        """Sets of positions; anything else is refused."""
        array = any_array(reports, "list of reports")
        d = len(self.inputs)
        if array.ndim != 2 or array.shape[1] != self.size or array.dtype.kind not in "iu":
            problem = (
                f"reports have shape {array.shape}; expected positions of shape (N, {self.size})"
            )
            raise StatementError(problem, code="shape", do="pass what privatize returned")
        ordered = np.sort(array, axis=1)
        if array.size and (
            array.min() < 0 or array.max() >= d or (np.diff(ordered, axis=1) == 0).any()
        ):
            problem = f"a report is not a set of {self.size} of the positions 0 .. {d - 1}"
            raise StatementError(
                problem, code="set", do="pass what privatize of this protocol returned"
            )
        return array

    def _ratio(self) -> Fraction:
        return self.distribution.odds

    def _delta(self, alpha: Fraction) -> Fraction:
        return self.distribution.delta(alpha)

    def _witness(self) -> Any:
        return self.distribution.witness(self.inputs)[2]


class SetCodec(LabelCodec):
    """Reports that are sets of answers: texts of positions in tables, rows of positions in arrays,
    shape (N, k).
    """

    form: ClassVar[str] = "sets"
    randomizer: SubsetSelection

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the sets."""
        return (self.randomizer.size,)

    @property
    def no_reports(self) -> NDArray[np.int64]:
        """An empty array of reports."""
        return np.empty((0, self.randomizer.size), dtype=np.int64)

    def labels(self, as_text: bool) -> optional.pyarrow.Array:
        """Return the positions as texts."""
        return column_of_texts([str(place) for place in range(len(self.randomizer.inputs))])

    def entries(self, codes: Codes, source: Draws) -> tuple[Sequence[Hashable], Codes]:
        """Draw the reports of answers for a dataframe: texts, and the position of each entry among
        them.
        """
        texts = self.column(codes, self.labels(True), source).to_pylist()
        return [text or "" for text in texts], np.where(
            self.is_answered(codes), np.arange(len(codes)), MISSING
        )

    def is_answered(self, codes: Codes) -> NDArray[np.bool_]:
        """Which entries are not missing."""
        return np.asarray(codes != MISSING)

    def sets(self, codes: Codes, source: Draws) -> NDArray[Any]:
        """Draw the reports of answers, none of which is missing."""
        protocol = self.randomizer
        if isinstance(source, KeyedDraws):
            return protocol.choose(codes, source.streams(protocol.digest, codes))
        return protocol.privatize([protocol.inputs[code] for code in codes.tolist()], rng=source)

    def column(
        self, codes: Codes, labels: optional.pyarrow.Array, source: Draws
    ) -> optional.pyarrow.Array:
        """Draw the reports of answers as a column of texts; missing answers stay missing."""
        is_answered = self.is_answered(codes)
        answered = np.flatnonzero(is_answered)
        rows = self.sets(
            codes[answered], source.where(is_answered) if isinstance(source, KeyedDraws) else source
        )
        pa = optional.pyarrow
        starts, places = self.flat(rows)
        sets = pa.ListArray.from_arrays(
            column_of_numbers(starts), labels.take(column_of_numbers(places))
        )
        texts = optional.pyarrow_compute.binary_join(sets, " ")
        places = np.full(len(codes), -1)
        places[answered] = np.arange(len(answered))
        return texts.take(column_of_numbers(places, places < 0))

    def flat(self, rows: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """The entries of all sets one after another, and where each set starts and ends."""
        return np.arange(len(rows) + 1, dtype=np.int32) * self.randomizer.size, rows.ravel()

    def reader(self, as_text: bool) -> Reader:
        """Return the function that reads sets of positions; it refuses all other entries."""
        return self._read

    def _read(
        self, column: Any, where: str, first_row: int
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Read the sets in a column, shape (N, k), filled up with -1 if there are smaller ones, and
        which entries are not missing.
        """
        texts = column.to_list() if hasattr(column, "to_list") else column.to_pylist()
        known = self.sizes
        is_report = np.array([not is_missing(text, True) for text in texts], dtype=bool)
        rows = np.flatnonzero(is_report).tolist()
        sets = np.full((len(rows), max(known)), -1, dtype=np.int64)
        for place, row in enumerate(rows):
            parts = str(texts[row]).split(" ")
            if len(parts) not in known or not all(
                part.isascii() and part.isdigit() and len(part) < 10 for part in parts
            ):
                if {*texts} <= {text_of(answer) for answer in self.randomizer.inputs}:
                    raise answers_not_reports(where)
                size = " or ".join(map(str, known))
                raise StatementError(
                    f"the report{quoted(texts[row])} is not a set of {size} positions",
                    code="report-set",
                    where=f"{where}, row {first_row + row}",
                    do="pass what privatize wrote",
                )
            sets[place, : len(parts)] = [int(part) for part in parts]
        return sets, is_report
